//! A stack for each of eight CPUs.

fn main() {
    println!("cargo:rustc-link-arg=--defsym=__cpus=8");
    println!("cargo:rerun-if-changed=build.rs");
}
