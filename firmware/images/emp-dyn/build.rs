//! The load copies of the scratchpads' parts lie in memory that EMP uses once both CPUs have copied them: four engines leave little.

fn main() {
    println!("cargo:rustc-link-arg=--defsym=__scratch_load_late=1");
    println!("cargo:rerun-if-changed=build.rs");
}
