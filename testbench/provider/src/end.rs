//! The end of the program's use of MPI: preloaded, this library stands for `MPI_Finalize` and `MPI_Abort`.
//!
//! A process in `MPI_Finalize` may sleep until all others have come to it too. The world learns that nothing else outside ends this wait. After
//! `MPI_Abort` the starter ends the other processes: the world learns which one has called it.

use std::ffi::c_int;

use crate::collective::{FAILED, MpiLibrary};
use crate::process::{begin_abort, begin_finalize};

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

/// Stands for `MPI_Abort` of C. A communicator is a number or an address, by library.
#[unsafe(no_mangle)]
extern "C" fn MPI_Abort(communicator: usize, code: c_int) -> c_int {
    begin_abort(code);
    let real = MpiLibrary::get().abort;
    // SAFETY: the function has this type.
    real.map_or(FAILED, |real| unsafe { real(communicator, code) })
}

/// Stands for the function by which libraries for Fortran do the same.
#[unsafe(no_mangle)]
extern "C" fn PMPI_Abort(communicator: usize, code: c_int) -> c_int {
    MPI_Abort(communicator, code)
}
