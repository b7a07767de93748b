//! Puts the linker script into the link search path of every image.

use std::env;

fn main() {
    let here = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo:rustc-link-search={here}");
    println!("cargo:rerun-if-changed=tigon2.x");
    // The build scripts set it: a changed linker links all images anew.
    println!("cargo:rerun-if-env-changed=LANIGON_TIGON2_LINKER_HASH");
}
