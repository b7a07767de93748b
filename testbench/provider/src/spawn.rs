//! Processes that the program starts: preloaded, this library stands for `MPI_Comm_spawn` and `MPI_Comm_spawn_multiple`.
//!
//! The MPI library's own functions do the work. The world is told before and after it how many processes come, so that it can let them begin at a time
//! that does not depend on the machine.

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use crate::collective::{FAILED, MpiLibrary};
use crate::process::{begin_spawn, end_spawn, takes_part};

/// Calls a function that starts processes, of which the root of the communicator says how many.
fn start(
    root: c_int,
    communicator: usize,
    count: impl FnOnce() -> c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let mut rank = -1;
    if let Some(own_rank) = MpiLibrary::get().own_rank {
        // SAFETY: there is room for the rank; the library refuses what is no communicator.
        unsafe { own_rank(communicator, &raw mut rank) };
    }
    let is_root = rank == root && takes_part();
    // The threads of a process start others one after the other.
    static STARTS: Mutex<()> = Mutex::new(());
    let _turn = is_root.then(|| STARTS.lock().unwrap_or_else(PoisonError::into_inner));
    if is_root {
        begin_spawn(u32::try_from(count()).unwrap_or_default());
    }
    let done = real();
    if is_root {
        end_spawn();
    }
    done
}

/// Stands for `MPI_Comm_spawn` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_spawn(
    command: *const c_char,
    arguments: *mut c_void,
    most: c_int,
    info: usize,
    root: c_int,
    communicator: usize,
    children: *mut c_void,
    errors: *mut c_int,
) -> c_int {
    let real = MpiLibrary::get().spawn;
    let real = || {
        // SAFETY: the caller keeps the promises of the function.
        let done = real.map(|real| unsafe {
            real(
                command,
                arguments,
                most,
                info,
                root,
                communicator,
                children,
                errors,
            )
        });
        done.unwrap_or(FAILED)
    };
    start(root, communicator, || most, real)
}

/// Stands for `MPI_Comm_spawn_multiple` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_spawn_multiple(
    count: c_int,
    commands: *mut c_void,
    arguments: *mut c_void,
    most: *const c_int,
    infos: *const c_void,
    root: c_int,
    communicator: usize,
    children: *mut c_void,
    errors: *mut c_int,
) -> c_int {
    let real = MpiLibrary::get().spawn_multiple;
    let real = || {
        // SAFETY: the caller keeps the promises of the function.
        let done = real.map(|real| unsafe {
            real(
                count,
                commands,
                arguments,
                most,
                infos,
                root,
                communicator,
                children,
                errors,
            )
        });
        done.unwrap_or(FAILED)
    };
    let all = || {
        let commands = usize::try_from(count).unwrap_or_default();
        // SAFETY: the root gives a number for each command.
        (0..commands)
            .map(|at| unsafe { most.add(at).read() })
            .fold(0, c_int::saturating_add)
    };
    start(root, communicator, all, real)
}
