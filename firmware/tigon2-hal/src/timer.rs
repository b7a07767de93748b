//! The free-running microsecond timer and each CPU's reference (docs/tigon2.md, section 1).
//!
//! The `TIMER` event stands from the moment at which the timer reaches the reference until a later
//! reference is written.

use crate::cpu::Cpu;
use crate::regs;

/// Microseconds since some start; wraps.
#[inline(always)]
#[must_use]
pub fn now_us() -> u32 {
    regs::read(regs::TIMER)
}

/// Whether `time_us` has come. Right for times less than 2^31 us away.
#[inline(always)]
#[must_use]
pub fn is_past(time_us: u32) -> bool {
    now_us().wrapping_sub(time_us) as i32 >= 0
}

/// Raises CPU `C`'s `TIMER` event in `delay_us`, and clears it until then.
#[inline(always)]
pub fn set_after<C: Cpu>(delay_us: u32) {
    set_at::<C>(now_us().wrapping_add(delay_us));
}

/// Raises CPU `C`'s `TIMER` event at `time_us`, and clears it until then.
#[inline(always)]
pub fn set_at<C: Cpu>(time_us: u32) {
    regs::write(C::TIMER_REFERENCE, time_us);
}
