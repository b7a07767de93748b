//! The chip's one semaphore (docs/tigon2.md, section 4).
//!
//! A write to a CPU's side toggles: it takes a free semaphore, releases an owned one, and does nothing
//! while the other side owns it. So a CPU must not lock it twice. It guards everything that both CPUs
//! change: event registers, rings, common SRAM.

use crate::cpu::Cpu;
use crate::regs;

/// Takes the semaphore for CPU `C`, and spins while the other CPU holds it. Its time counts as a wait.
#[inline(always)]
pub fn spin_lock<C: Cpu>() {
    crate::wait_enter!("semaphore");
    loop {
        regs::write(C::SEMAPHORE, 0);
        if regs::read(C::SEMAPHORE) != 0 {
            break;
        }
    }
    crate::wait_exit!("semaphore");
}

/// Releases the semaphore; only after [`spin_lock`] on this CPU.
#[inline(always)]
pub fn spin_unlock<C: Cpu>() {
    regs::write(C::SEMAPHORE, 0);
}

/// Runs `critical` with the semaphore held.
#[inline(always)]
pub fn locked<C: Cpu, R>(critical: impl FnOnce() -> R) -> R {
    spin_lock::<C>();
    let result = critical();
    spin_unlock::<C>();
    result
}

/// [`locked`] for code that either CPU executes: `side` is that CPU's [`Cpu::SEMAPHORE`].
#[inline(always)]
pub fn locked_at<R>(side: u32, critical: impl FnOnce() -> R) -> R {
    spin_lock_at(side);
    let result = critical();
    spin_unlock_at(side);
    result
}

/// [`spin_lock`] for code that either CPU executes.
#[inline(always)]
pub fn spin_lock_at(side: u32) {
    crate::wait_enter!("semaphore");
    loop {
        regs::write(side, 0);
        if regs::read(side) != 0 {
            break;
        }
    }
    crate::wait_exit!("semaphore");
}

/// [`spin_unlock`] for code that either CPU executes.
#[inline(always)]
pub fn spin_unlock_at(side: u32) {
    regs::write(side, 0);
}

/// Takes the semaphore if it is free, without a wait; returns whether it was. For code that either CPU executes.
#[inline(always)]
#[must_use]
pub fn try_lock_at(side: u32) -> bool {
    regs::write(side, 0);
    regs::read(side) != 0
}
