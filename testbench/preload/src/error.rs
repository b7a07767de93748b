//! Errors as C has them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use lanigon_requests::Refusal;
use libc::c_int;

/// A result, or the number of an error.
pub type CallResult<T> = Result<T, c_int>;

/// The number of a refusal.
pub const fn number(refusal: Refusal) -> c_int {
    match refusal {
        Refusal::WouldBlock => libc::EAGAIN,
        Refusal::InProgress => libc::EINPROGRESS,
        Refusal::Already => libc::EALREADY,
        Refusal::Refused => libc::ECONNREFUSED,
        Refusal::Reset => libc::ECONNRESET,
        Refusal::Broken => libc::EPIPE,
        Refusal::TimedOut => libc::ETIMEDOUT,
        Refusal::Unreachable => libc::EHOSTUNREACH,
        Refusal::InUse => libc::EADDRINUSE,
        Refusal::NoPort => libc::EADDRNOTAVAIL,
        Refusal::NotConnected => libc::ENOTCONN,
        Refusal::IsConnected => libc::EISCONN,
        Refusal::NoSocket => libc::EBADF,
        Refusal::Invalid => libc::EINVAL,
    }
}

/// Sets the number of the last error.
pub fn set(number: c_int) {
    // SAFETY: the place belongs to this thread.
    unsafe { *libc::__errno_location() = number };
}

/// The number of the last error.
pub fn last() -> c_int {
    // SAFETY: the place belongs to this thread.
    unsafe { *libc::__errno_location() }
}

/// Return value in C: the value, or -1 and the number of the error.
pub fn value_for_c<T: TryInto<isize>>(done: CallResult<T>) -> isize {
    match done {
        Ok(value) => value.try_into().unwrap_or(isize::MAX),
        Err(number) => {
            set(number);
            -1
        }
    }
}

/// As [`value_for_c`], for functions that return `int`.
pub fn int_for_c<T: TryInto<isize>>(done: CallResult<T>) -> c_int {
    value_for_c(done) as c_int
}

/// Says once that something is not supported.
pub fn unsupported(what: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(what.to_owned()) {
        let text = format!("{what} not supported on emulated hosts (docs/sockets.md)");
        lanigon_line::say("sockets", &text);
    }
}
