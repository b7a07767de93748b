//! The CPUs that execute EMP: one to eight of a board `tigon-n`.

use emp::roles::Roles;
use tigon2_hal::any;
use tigon2_hal::cpu::{A, B, Executing};
use tigon2_hal::layout::Layout;
use tigon2_hal::{regs, sram, timer};

use crate::chip::NEVER_US;
use crate::roles::{self, Matcher, Sender};

pub use tigon2_hal::any::each_event_register;
/// The CPU that starts the protocol.
pub use tigon2_hal::cpu::Any as First;

/// Most CPUs: words of a claim.
pub const CPUS: u32 = defs::tigon2::banks::MOST_CPUS as u32;
/// End of the memory that is free, on a board with 1 MB; the times of the timers of sender and matcher lie there.
pub const FREE_END: u32 = (Layout::DEFAULT.rings() & 0xF_FFFF) - 4 * TIMERS;
/// Roles with a timer.
const TIMERS: u32 = 2;

/// Clears bits in the mailbox event registers of CPUs other than A and B. These show which role has taken its mail; the others only
/// tell their CPU that there is some.
#[inline(always)]
pub fn clear_further_mailboxes(bits: u32) {
    any::each_further_mailbox_register(|register| regs::write(register, bits));
}

/// Whether the CPU with an index sees, in its own mailbox event register, mail of the sender that the matcher gets too, and
/// likewise mail of the matcher.
#[inline(always)]
#[must_use]
pub fn sees_common_mail(index: u32) -> (bool, bool) {
    (index != 1, index != 0 || First::cpus() == 1)
}

/// Sets the time of a role's timer: the sender's is that of CPU A, the matcher's that of CPU B. A CPU by itself serves both at the
/// earlier time.
#[inline(always)]
pub fn arm_timer<R: Roles>(at_us: u32) {
    if First::cpus() == 1 {
        arm_alone(FREE_END + if R::SENDER { 0 } else { 4 }, at_us);
    } else if R::SENDER {
        timer::set_at::<A>(at_us);
    } else {
        timer::set_at::<B>(at_us);
    }
}

/// Handles the event of a CPU's timer. The arguments do work with an engine.
pub fn on_timer(sender: fn(fn(&mut Sender)) -> bool, matcher: fn(fn(&mut Matcher)) -> bool) {
    let index = First::index();
    if index == 0 {
        sender(roles::on_timer);
    }
    if index == 1 || First::cpus() == 1 {
        matcher(roles::on_timer);
    }
    if index > 1 {
        any::set_timer(timer::now_us().wrapping_add(NEVER_US));
    }
}

#[inline(never)]
fn arm_alone(word: u32, at_us: u32) {
    sram::write(word, at_us);
    let now = timer::now_us();
    let left = |word| sram::read(word).wrapping_sub(now) as i32;
    let first = left(FREE_END).min(left(FREE_END + 4));
    timer::set_at::<A>(now.wrapping_add(first as u32));
}

/// Whether the board has 1 MB of SRAM: less repeats. Before any other use of memory that is free.
#[cold]
#[must_use]
pub fn has_memory() -> bool {
    sram::write(FREE_END, 1);
    sram::write(FREE_END - 512 * 1024, 0);
    sram::read(FREE_END) == 1
}

/// Disarms all timers, on the first CPU.
#[cold]
pub fn reset_timers() {
    let never = timer::now_us().wrapping_add(NEVER_US);
    for role in 0..TIMERS {
        sram::write(FREE_END + 4 * role, never);
    }
}
