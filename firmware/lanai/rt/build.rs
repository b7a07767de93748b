//! Puts the assembly into the linker's search path. A change of it, or of the linker, makes every image anew.

use std::env;

fn main() {
    let here = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo:rustc-link-search={here}");
    println!("cargo:rerun-if-changed=crt0.s");
    println!("cargo:rerun-if-changed=runtime.s");
    println!("cargo:rerun-if-env-changed=LANIGON_LANAI_LINKER_HASH");
}
