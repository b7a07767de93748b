//! The chip's one semaphore (docs/tigon2.md, section 4).
//!
//! A write to a CPU's side toggles: it takes a free semaphore, releases an own one, and does nothing
//! while the other side owns it. So it must not be locked twice. It guards whatever both CPUs change:
//! event registers, rings, common SRAM.

use crate::cpu::Cpu;
use crate::regs;

/// Takes the semaphore for CPU `C`, however long the other CPU holds it. The whole of it is a wait.
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

/// Gives the semaphore back; only after [`spin_lock`] on the same CPU.
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
