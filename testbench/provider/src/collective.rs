//! Collective operations of unchanged programs on the boards: preloaded, this library stands for `MPI_Barrier`, `MPI_Ibarrier` and `MPI_Allreduce`.
//!
//! If the launch asks for it ([`COLLECTIVES_VARIABLE`]), operations of `MPI_COMM_WORLD` are those of the boards, reductions if they are of one integer
//! or double ([`reduction`]); all others are the MPI library's own. While the boards work, the MPI library gets its turn: another rank may need it
//! before it comes to the operation.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use lanigon_requests::{COLLECTIVES_VARIABLE, ValueReduction};

use crate::process::{begin_collective, poll, take_result, takes_part};

mod library;
mod reduction;

pub use library::MpiLibrary;

/// `MPI_ERR_OTHER` of all libraries.
pub const FAILED: c_int = 15;
/// Room for a status, in words.
const STATUS_WORDS: usize = 32;

/// MPI requests of barriers that have not ended, by the barrier's name.
static REQUESTS: Mutex<BTreeMap<u64, usize>> = Mutex::new(BTreeMap::new());

/// Whether the boards execute operations of this communicator.
fn is_of_boards(library: &MpiLibrary, communicator: usize) -> bool {
    static IS_WANTED: OnceLock<bool> = OnceLock::new();
    *IS_WANTED.get_or_init(|| env::var_os(COLLECTIVES_VARIABLE).is_some())
        && library.is_world(communicator)
        && takes_part()
}

/// Waits for the end of an operation; gives its result, or the MPI library's error.
fn wait(library: &MpiLibrary, communicator: usize, token: u64) -> Result<u64, c_int> {
    loop {
        let (mut found, mut status) = (0, [0_u64; STATUS_WORDS]);
        if let Some(probe) = library.probe {
            // SAFETY: there is room for the results; any rank and tag may be asked for.
            let done = unsafe { probe(0, 0, communicator, &raw mut found, status.as_mut_ptr()) };
            if done != 0 {
                return Err(done);
            }
        }
        if let Some(result) = take_result(token) {
            return Ok(result);
        }
        poll();
    }
}

/// Stands for `MPI_Barrier` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Barrier(communicator: usize) -> c_int {
    let library = MpiLibrary::get();
    if !is_of_boards(library, communicator) {
        // SAFETY: the caller keeps the promises of the function.
        let real = library.barrier.map(|real| unsafe { real(communicator) });
        return real.unwrap_or(FAILED);
    }
    let token = begin_collective(None);
    wait(library, communicator, token).map_or_else(|error| error, |_| 0)
}

/// Stands for `MPI_Allreduce` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allreduce(
    from: *const c_void,
    to: *mut c_void,
    count: c_int,
    datatype: usize,
    operation: usize,
    communicator: usize,
) -> c_int {
    let library = MpiLibrary::get();
    let is_one = count == 1 && !to.is_null() && is_of_boards(library, communicator);
    let reduction = is_one.then(|| reduction::find(library, datatype, operation));
    let Some((number, operation_number)) = reduction.flatten() else {
        let real = library.all_reduce;
        // SAFETY: the caller keeps the promises of the function.
        let done =
            real.map(|real| unsafe { real(from, to, count, datatype, operation, communicator) });
        return done.unwrap_or(FAILED);
    };
    let from = if library::is_in_place(from) {
        to.cast_const()
    } else {
        from
    };
    // SAFETY: there is one number of this type at both places.
    let value = unsafe { reduction::read(number, from) };
    let token = begin_collective(Some(ValueReduction {
        operation: operation_number,
        value,
    }));
    match wait(library, communicator, token) {
        Ok(result) => {
            // SAFETY: as above.
            unsafe { reduction::write(number, result, to) };
            0
        }
        Err(error) => error,
    }
}

/// Stands for `MPI_Ibarrier` of C: its request is a generalized one, which [`ended`] completes.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Ibarrier(communicator: usize, request: *mut usize) -> c_int {
    let library = MpiLibrary::get();
    let begin = library
        .begin_request
        .filter(|_| is_of_boards(library, communicator));
    let Some(begin) = begin else {
        let real = library.begin_barrier;
        // SAFETY: the caller keeps the promises of the function.
        let done = real.map(|real| unsafe { real(communicator, request) });
        return done.unwrap_or(FAILED);
    };
    // SAFETY: the caller's request has room for a handle; the functions need no state.
    let done = unsafe { begin(nothing, freed, nothing, ptr::null_mut(), request) };
    if done != 0 {
        return done;
    }
    // SAFETY: the library has written the handle.
    let handle = unsafe { library.read_handle(communicator, request) };
    let mut requests = REQUESTS.lock().unwrap_or_else(PoisonError::into_inner);
    requests.insert(begin_collective(None), handle);
    0
}

/// Completes the MPI request of an operation that has ended, if it has one.
pub fn ended(token: u64) {
    let mut requests = REQUESTS.lock().unwrap_or_else(PoisonError::into_inner);
    let request = requests.remove(&token);
    drop(requests);
    let Some(request) = request else { return };
    take_result(token);
    if let Some(complete) = MpiLibrary::get().complete_request {
        // SAFETY: the request was begun and is not complete.
        unsafe { complete(request) };
    }
}

/// Status, and cancellation, of a request: there is nothing to say or to do.
extern "C" fn nothing(_state: *mut c_void, _what: *mut c_void) -> c_int {
    0
}

/// State of a request: there is none.
extern "C" fn freed(_state: *mut c_void) -> c_int {
    0
}
