//! The CPUs that execute EMP: CPU A and CPU B of the chip.

use emp::roles::Roles;
use tigon2_hal::cpu::{A, B, Cpu};
use tigon2_hal::layout::Layout;
use tigon2_hal::timer;

/// The CPU that starts the protocol.
pub use tigon2_hal::cpu::A as First;

/// Most CPUs: words of a claim.
pub const CPUS: u32 = 2;
/// End of the memory that is free.
pub const FREE_END: u32 = Layout::DEFAULT.free_end();

/// Changes the event register of each CPU: `change` gets its offset.
#[inline(always)]
pub fn each_event_register(change: impl Fn(u32)) {
    change(A::EVENT);
    change(B::EVENT);
}

/// Clears bits in the mailbox event registers of CPUs other than A and B: there are none.
#[inline(always)]
pub fn clear_further_mailboxes(_: u32) {}

/// Whether the CPU with an index sees, in its own mailbox event register, mail of the sender that the matcher gets too, and
/// likewise mail of the matcher.
#[inline(always)]
#[must_use]
pub fn sees_common_mail(index: u32) -> (bool, bool) {
    (index == 0, index != 0)
}

/// Sets the time of a role's timer. The chip has a reference per CPU, hence one for each role that waits for times.
#[inline(always)]
pub fn arm_timer<R: Roles>(at_us: u32) {
    if R::SENDER {
        timer::set_at::<A>(at_us);
    } else {
        timer::set_at::<B>(at_us);
    }
}
