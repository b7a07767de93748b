//! Counters of one-sided operations that are complete.

use std::ffi::{c_int, c_void};

use crate::fabric::{close, closes};
use crate::ffi::error::TIMEDOUT;
use crate::ffi::{CLASS_CNTR, Counter, CounterOps, Domain, Fid, Ops};
use crate::process::{self, Count, lock};

static COUNTER: Ops = closes(close::<Counter>);

static COUNTER_OPS: CounterOps = CounterOps {
    size: size_of::<CounterOps>(),
    read,
    readerr: read_errors,
    add,
    set,
    wait,
    adderr: add_errors,
    seterr: set_errors,
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
    let mut process = lock();
    process.counts.push(Count::default());
    let opened = Counter {
        fid: Fid {
            class: CLASS_CNTR,
            context,
            ops: &raw const COUNTER,
        },
        ops: &raw const COUNTER_OPS,
        index: process.counts.len() - 1,
    };
    // SAFETY: the caller has room for the answer.
    unsafe { counter.write(Box::into_raw(Box::new(opened))) };
    0
}

/// Does something with the count of a counter.
unsafe fn with<T>(counter: *mut Counter, act: impl FnOnce(&mut Count) -> T) -> T {
    // SAFETY: the caller's object, here and below.
    act(&mut lock().counts[unsafe { (*counter).index }])
}

unsafe extern "C" fn read(counter: *mut Counter) -> u64 {
    unsafe { with(counter, |count| count.done) }
}

unsafe extern "C" fn read_errors(counter: *mut Counter) -> u64 {
    unsafe { with(counter, |count| count.failed) }
}

unsafe extern "C" fn add(counter: *mut Counter, value: u64) -> c_int {
    unsafe { with(counter, |count| count.done = count.done.wrapping_add(value)) };
    0
}

unsafe extern "C" fn set(counter: *mut Counter, value: u64) -> c_int {
    unsafe { with(counter, |count| count.done = value) };
    0
}

unsafe extern "C" fn add_errors(counter: *mut Counter, value: u64) -> c_int {
    unsafe {
        with(counter, |count| {
            count.failed = count.failed.wrapping_add(value)
        })
    };
    0
}

unsafe extern "C" fn set_errors(counter: *mut Counter, value: u64) -> c_int {
    unsafe { with(counter, |count| count.failed = value) };
    0
}

/// Looks whether a value is reached, now or after a poll.
unsafe extern "C" fn wait(counter: *mut Counter, threshold: u64, _: c_int) -> c_int {
    unsafe {
        if read(counter) < threshold {
            process::poll();
        }
        match read(counter) >= threshold {
            true => 0,
            false => -TIMEDOUT,
        }
    }
}
