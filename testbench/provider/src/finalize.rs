//! The end of the program's use of MPI: preloaded, this library stands for `MPI_Finalize`.
//!
//! A process in it may sleep until all others have come to it too. The world learns that nothing else outside ends this wait.

use std::ffi::c_int;

use crate::collective::{FAILED, MpiLibrary};
use crate::process::begin_finalize;

/// Stands for `MPI_Finalize` of C.
#[unsafe(no_mangle)]
extern "C" fn MPI_Finalize() -> c_int {
    begin_finalize();
    let real = MpiLibrary::get().finalize;
    // SAFETY: the function has this type.
    real.map_or(FAILED, |real| unsafe { real() })
}

/// Stands for the function by which libraries for Fortran do the same.
#[unsafe(no_mangle)]
extern "C" fn PMPI_Finalize() -> c_int {
    MPI_Finalize()
}
