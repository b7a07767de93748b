//! Counters of remote memory operations. There are none of these: a counter has what its owner has set.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fabric::{close, closes};
use crate::ffi::error::AGAIN;
use crate::ffi::{CLASS_CNTR, Counter, CounterOps, Domain, Fid, Ops};

static COUNTER: Ops = closes(close::<Counter>);

static COUNTER_OPS: CounterOps = CounterOps {
    size: size_of::<CounterOps>(),
    read,
    readerr: read_errors,
    add,
    set,
    wait,
    adderr: ignore,
    seterr: ignore,
};

/// Opens a counter.
///
/// # Safety
/// As `fi_cntr_open` says.
pub unsafe extern "C" fn open(
    _: *mut Domain,
    _: *mut c_void,
    counter: *mut *mut Counter,
    context: *mut c_void,
) -> c_int {
    let opened = Counter {
        fid: Fid {
            class: CLASS_CNTR,
            context,
            ops: &raw const COUNTER,
        },
        ops: &raw const COUNTER_OPS,
        value: AtomicU64::new(0),
    };
    // SAFETY: the caller has room for the answer.
    unsafe { counter.write(Box::into_raw(Box::new(opened))) };
    0
}

unsafe extern "C" fn read(counter: *mut Counter) -> u64 {
    // Relaxed: a counter is a number of its own, which announces no data. SAFETY: the caller's object, here and below.
    unsafe { (*counter).value.load(Ordering::Relaxed) }
}

unsafe extern "C" fn read_errors(_: *mut Counter) -> u64 {
    0
}

unsafe extern "C" fn add(counter: *mut Counter, value: u64) -> c_int {
    unsafe { (*counter).value.fetch_add(value, Ordering::Relaxed) };
    0
}

unsafe extern "C" fn set(counter: *mut Counter, value: u64) -> c_int {
    unsafe { (*counter).value.store(value, Ordering::Relaxed) };
    0
}

unsafe extern "C" fn ignore(_: *mut Counter, _: u64) -> c_int {
    0
}

/// Waits for a value: only the owner counts, so a value that is not reached now is not reached by waiting.
unsafe extern "C" fn wait(counter: *mut Counter, threshold: u64, _: c_int) -> c_int {
    match unsafe { read(counter) } >= threshold {
        true => 0,
        false => -AGAIN,
    }
}
