//! The CPU on which a thread waits for the world.
//!
//! World and process take turns, and to wake a thread on another CPU takes longer than most turns. So where the world asks for it, the process waits
//! on the CPU of the world's thread. The program's own code, and what it starts, has the CPUs that it chose.

use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_long, cpu_set_t};

/// No CPU.
const NONE: u32 = u32::MAX;
/// The CPU of the world's thread, as its last answer told. Relaxed: the number is all that threads learn.
static CPU: AtomicU32 = AtomicU32::new(NONE);

/// The world's thread is on this CPU; `None`: threads wait where they are.
pub(crate) fn tell(cpu: Option<u32>) {
    CPU.store(cpu.unwrap_or(NONE), Ordering::Relaxed);
}

/// Sets the CPUs of the calling thread; whether that was allowed.
fn set(cpus: &cpu_set_t) -> bool {
    let (size, cpus) = (size_of::<cpu_set_t>(), std::ptr::from_ref(cpus));
    // SAFETY: the call reads the set.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size, cpus) == 0 }
}

/// Keeps the calling thread on the CPU of the world's thread while it lives.
pub(crate) struct Stay {
    /// The thread's own CPUs, if they were others.
    own: Option<cpu_set_t>,
}

impl Stay {
    pub(crate) fn begin() -> Self {
        let cpu = CPU.load(Ordering::Relaxed) as usize;
        if cpu >= 8 * size_of::<cpu_set_t>() {
            return Self { own: None };
        }
        // SAFETY: sets may be zero; the first call fills one of them, and the CPU is in its range.
        let (own, only) = unsafe {
            let (mut own, mut only): (cpu_set_t, cpu_set_t) = std::mem::zeroed();
            let size = size_of::<cpu_set_t>();
            let known: c_long = libc::syscall(libc::SYS_sched_getaffinity, 0, size, &raw mut own);
            // A thread that is bound to other CPUs, or to one, stays there.
            let may_come = known > 0 && libc::CPU_ISSET(cpu, &own) && libc::CPU_COUNT(&own) > 1;
            libc::CPU_SET(cpu, &mut only);
            (may_come.then_some(own), only)
        };
        Self {
            own: own.filter(|_| set(&only)),
        }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        if let Some(own) = &self.own {
            // The thread had these before: nothing forbids them.
            set(own);
        }
    }
}
