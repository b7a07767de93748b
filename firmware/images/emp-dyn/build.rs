//! On the chip, the load copies of the scratchpads' parts lie in memory that EMP uses once both CPUs have copied them: four engines
//! leave little. The image for any number of CPUs has a stack for each of eight.

fn main() {
    println!("cargo:rustc-link-arg-bin=emp-dyn=--defsym=__scratch_load_late=1");
    println!("cargo:rustc-link-arg-bin=emp-dyn-n=--defsym=__cpus=8");
    println!("cargo:rerun-if-changed=build.rs");
}
