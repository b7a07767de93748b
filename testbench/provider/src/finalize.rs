//! The end of the program's use of MPI: preloaded, this library stands for `MPI_Finalize`.
//!
//! A process in it may sleep until all others have come to it too. The world learns that nothing else outside ends this wait.

use std::ffi::c_int;

use crate::collective::MpiLibrary;
use crate::process::begin_finalize;

/// `MPI_ERR_OTHER` of all libraries.
const FAILED: c_int = 15;

/// Stands for `MPI_Finalize` of C.
#[unsafe(no_mangle)]
extern "C" fn MPI_Finalize() -> c_int {
    begin_finalize();
    let real = MpiLibrary::get().finalize;
    // SAFETY: the function has this type.
    real.map_or(FAILED, |real| unsafe { real() })
}

/// Stands for `MPI_Finalize` of Fortran.
///
/// # Safety
/// The error is an integer of Fortran.
#[unsafe(no_mangle)]
unsafe extern "C" fn mpi_finalize_(error: *mut c_int) {
    begin_finalize();
    match MpiLibrary::get().finalize_fortran {
        // SAFETY: the function has this type.
        Some(real) => unsafe { real(error) },
        // SAFETY: the caller's promise.
        None => unsafe { *error = FAILED },
    }
}
