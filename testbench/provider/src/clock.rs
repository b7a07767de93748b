//! Who reads simulated time, in a process to which this library is preloaded.
//!
//! The main thread reads simulated time, once it has connected. Other threads, and the event loops of MPI libraries, which wait for what happens outside,
//! have real time: how often they read it depends on the machine.

use std::ffi::{CStr, c_long, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::process::{is_connected, now_ns};

/// Parts of the names of libraries with event loops.
const OUTSIDE: [&str; 8] = [
    "libevent",
    "libopen-",
    "libpmix",
    "libprrte",
    "mca_",
    "libfabric",
    "libucp",
    "libucs",
];

/// Whether the code at this address belongs to a library with an event loop.
fn is_outside(caller: *const c_void) -> bool {
    // Programs read the clock at few places. A collision costs another search.
    const PLACES: usize = 64;
    static KNOWN: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];
    let address = caller as usize;
    // The highest bit of an address in a process is 0: here it is the answer.
    let mark = 1 << (usize::BITS - 1);
    let place = &KNOWN[(address >> 2) % PLACES];
    // Relaxed: the word is the whole answer, and each thread finds the same one.
    let known = place.load(Ordering::Relaxed);
    if known & !mark == address {
        return known & mark != 0;
    }
    // SAFETY: the call fills the structure if it succeeds, with a string that stays.
    let outside = unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        let is_known = libc::dladdr(caller, &raw mut found) != 0 && !found.dli_fname.is_null();
        is_known && {
            let name = CStr::from_ptr(found.dli_fname).to_string_lossy();
            OUTSIDE.iter().any(|part| name.contains(part))
        }
    };
    place.store(address | if outside { mark } else { 0 }, Ordering::Relaxed);
    outside
}

/// Simulated time in ns, if who calls from this address reads it.
pub fn read(caller: *const c_void) -> Option<u64> {
    // SAFETY: calls without arguments.
    let is_main = || unsafe { libc::syscall(libc::SYS_gettid) == c_long::from(libc::getpid()) };
    (is_connected() && is_main() && !is_outside(caller)).then(now_ns)
}
