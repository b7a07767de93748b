//! Mailboxes: words of low SRAM; a host write to one raises the `MAILBOX` event (docs/tigon2-registers.md, section
//! 2).
//!
//! ```ignore
//! while let Some(mailbox) = mailbox::next::<A>() {
//!     let value = mailbox::take::<A>(mailbox);
//!     // ...
//!     mailbox::acknowledge(mailbox);
//! }
//! ```

use defs::tigon2::map::mailbox_low;

use crate::cpu::Cpu;
use crate::{event, regs, sram};

/// The lowest mailbox that the host has written and CPU `C` has not taken.
#[inline(always)]
#[must_use]
pub fn next<C: Cpu>() -> Option<u32> {
    event::lowest(regs::read(C::MAILBOX_EVENT)).checked_sub(1)
}

/// Clears the mailbox's bit and then returns its value: a host write in between raises the bit again.
#[inline(always)]
#[must_use]
pub fn take<C: Cpu>(mailbox: u32) -> u32 {
    regs::write(C::MAILBOX_EVENT, 1 << mailbox);
    value(mailbox)
}

/// The mailbox's value (low word).
#[inline(always)]
#[must_use]
pub fn value(mailbox: u32) -> u32 {
    sram::read(mailbox_low(mailbox))
}

/// Writes 0 into the mailbox: tells a waiting host that the value was taken.
#[inline(always)]
pub fn acknowledge(mailbox: u32) {
    sram::write(mailbox_low(mailbox), 0);
}
