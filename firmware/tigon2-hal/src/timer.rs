//! The free-running microsecond timer and each CPU's reference (docs/tigon2.md, section 1).
//!
//! The `TIMER` event is set from the moment at which the timer reaches the reference until a later
//! reference is written.

use crate::cpu::Cpu;
use crate::regs;

/// Current timer value in microseconds; wraps.
#[inline(always)]
#[must_use]
pub fn now_us() -> u32 {
    regs::read(regs::TIMER)
}

/// Whether `time_us` is past. Correct for times less than 2^31 us away.
#[inline(always)]
#[must_use]
pub fn is_past(time_us: u32) -> bool {
    now_us().wrapping_sub(time_us) as i32 >= 0
}

/// Sets CPU `C`'s `TIMER` event in `delay_us`; clears it until then.
#[inline(always)]
pub fn set_after<C: Cpu>(delay_us: u32) {
    set_at::<C>(now_us().wrapping_add(delay_us));
}

/// Sets CPU `C`'s `TIMER` event at `time_us`; clears it until then.
#[inline(always)]
pub fn set_at<C: Cpu>(time_us: u32) {
    regs::write(C::TIMER_REFERENCE, time_us);
}
