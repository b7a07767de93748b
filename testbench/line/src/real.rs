//! The system's own functions, behind those that a preloaded library stands for, and real time.

use std::ffi::CStr;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

/// Stack of a thread of this library.
const STACK_BYTES: usize = 256 << 10;

/// The function of this name that this library stands for. `place` keeps its address: threads that look at the same time find the same one, so
/// its loads and stores are relaxed.
///
/// # Safety
/// `F` is the type of the function.
pub unsafe fn real<F: Copy>(name: &CStr, place: &AtomicUsize) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let mut address = place.load(Ordering::Relaxed);
    if address == 0 {
        // SAFETY: the name ends with 0.
        address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
        place.store(address, Ordering::Relaxed);
    }
    // SAFETY: the caller's promise.
    (address != 0).then(|| unsafe { std::mem::transmute_copy(&address) })
}

/// As [`real`], for a function of conditions: its newest version.
///
/// # Safety
/// `F` is its type.
pub unsafe fn newest<F: Copy>(name: &CStr, place: &AtomicUsize) -> Option<F> {
    for version in [c"GLIBC_2.3.2", c"GLIBC_2.17"] {
        if place.load(Ordering::Relaxed) == 0 {
            // SAFETY: both names end with 0.
            let found = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()) };
            place.store(found as usize, Ordering::Relaxed);
        }
    }
    // SAFETY: the caller's promise.
    unsafe { real(name, place) }
}

/// Real time of a clock in ns.
#[must_use]
pub fn real_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes a time.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Sleeps in real time, in ns.
pub fn real_sleep(ns: u64) {
    let time = libc::timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    };
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: the call reads the time.
    unsafe { libc::syscall(libc::SYS_ppoll, none, 0, &raw const time, none, 8) };
}

/// Number of the thread.
#[must_use]
pub fn thread() -> libc::c_long {
    // SAFETY: a call without arguments.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

/// Starts a thread that is none of the program's: signals are for others. `None`: there can be no more.
pub fn start_helper(work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    // SAFETY: sets of signals may be zero; the calls fill them.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, _) = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let helper = Builder::new().stack_size(STACK_BYTES).spawn(work);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        helper.ok()
    }
}

/// Whether all other threads of the process sleep, but for some that are known to wait.
#[must_use]
pub fn others_sleep(waiting: &[libc::c_long]) -> bool {
    let skipped = |name: &str| {
        let thread = name.parse().unwrap_or(0);
        thread == self::thread() || waiting.contains(&thread)
    };
    let first = asleep(skipped);
    first.is_some() && first == asleep(skipped)
}

/// Number of times that each thread that is not skipped has gone to sleep; `None` if one does not sleep.
fn asleep(is_skipped: impl Fn(&str) -> bool) -> Option<Vec<(String, String)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_skipped(&name) {
            continue;
        }
        // A thread that ends goes on until it is gone.
        let text = fs::read_to_string(entry.path().join("status")).ok()?;
        let field = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(name).map(|rest| rest.trim().to_owned()))
        };
        if !field("State:")?.starts_with('S') {
            return None;
        }
        let switches = field("voluntary_ctxt_switches:")?;
        all.push((name, switches));
    }
    // The system lists threads in any order; two looks are compared.
    all.sort();
    Some(all)
}
