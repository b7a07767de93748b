//! Sections whose computation takes time: preloaded, this library stands for `MPI_Pcontrol`, which does nothing in MPI libraries.
//!
//! Level 0 leaves out what follows, any other level takes it in, as at the begin. That matters only if computation takes any time
//! ([`lanigon_line::compute`]).

use std::ffi::c_int;

use crate::process::count_computation;

/// Stands for `MPI_Pcontrol` of C. Its further arguments are for other libraries.
#[unsafe(no_mangle)]
extern "C" fn MPI_Pcontrol(level: c_int) -> c_int {
    count_computation(level != 0);
    0
}

/// Stands for `MPI_Pcontrol` of Fortran.
///
/// # Safety
/// The level is an integer of Fortran.
#[unsafe(no_mangle)]
unsafe extern "C" fn mpi_pcontrol_(level: *const c_int) {
    // SAFETY: the caller's promise.
    count_computation(unsafe { *level } != 0);
}
