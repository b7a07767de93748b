//! Puts the linker script where the link of every image finds it.

use std::env;

fn main() {
    let here = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo:rustc-link-search={here}");
    println!("cargo:rerun-if-changed=tigon2.x");
}
