//! Display of event registers: pending events and their causes.

use defs::tigon2::event::{self, HARDWARE_MASK};
use defs::tigon2::regs;
use emulator::tigon2::map::register_address;

use super::{address, text};
use crate::debug::session::{Focus, Session};

/// Register that holds the dispatch mask of our firmware.
const MASK: usize = 26;

/// Event register and mailbox event register of the focused CPU: pending events, their known causes, and
/// the next handler.
#[must_use]
pub fn event_register(session: &Session) -> String {
    let focus = session.focus;
    let letter = session.info(focus).letter.to_uppercase();
    let [value, mailboxes] = [regs::EVENT_A, regs::MAILBOX_EVENT_A]
        .map(|offset| register(session, offset + 0x10 * focus.cpu.index() as u32));
    let mut lines = vec![match value {
        0 => format!("event register of CPU {letter}: 00000000, nothing is due"),
        _ => format!("event register of CPU {letter}: {value:08x}"),
    }];
    let due = (0..u32::BITS).rev().filter(|bit| value >> bit & 1 != 0);
    for bit in due.clone() {
        let name = event::name(bit).unwrap_or("");
        lines.push(format!(
            "  {bit:2} {name:20} {}",
            cause(session, focus, bit)
        ));
    }
    let mask = session.register(MASK);
    let masked = due.clone().filter(|bit| mask >> bit & 1 == 0);
    let masked = masked.fold(0, |bits, bit| bits | 1 << bit);
    if masked != 0 {
        let numbers = numbers(masked);
        lines.push(format!("masked by $k0: {numbers}"));
    }
    if let Some(bit) = due.clone().find(|bit| masked >> bit & 1 == 0) {
        lines.push(format!(
            "{bit} comes first: {}",
            handler(session, focus, bit)
        ));
    }
    lines.push(match mailboxes {
        0 => "mailbox event register: 00000000, no mailbox was written".into(),
        _ => {
            let numbers = numbers(mailboxes);
            format!("mailbox event register: {mailboxes:08x}, mailboxes {numbers}")
        }
    });
    text(lines)
}

/// A chip register, by offset.
pub(super) fn register(session: &Session, offset: u32) -> u32 {
    let address = register_address(offset);
    let value = session
        .board()
        .peek(session.focus.cpu, address, session.now());
    value.unwrap_or_default()
}

fn numbers(bits: u32) -> String {
    let set = (0..u32::BITS).filter(|bit| bits >> bit & 1 != 0);
    set.map(|bit| bit.to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Cause of a set bit.
fn cause(session: &Session, focus: Focus, bit: u32) -> String {
    let read = |offset| register(session, offset);
    let own = focus.cpu.index() as u32;
    match bit {
        event::TIMER => {
            let reference =
                [regs::TIMER_REFERENCE_A, regs::TIMER_REFERENCE_B][focus.cpu.index() & 1];
            let (count, reference) = (read(regs::TIMER), read(reference));
            format!("the timer, at {count} us, has passed the reference {reference}")
        }
        event::MAILBOX => {
            let mailboxes = read(regs::MAILBOX_EVENT_A + 0x10 * own);
            format!("the host has written mailboxes {}", numbers(mailboxes))
        }
        event::RX_COMPLETE => "the MAC: received frames wait".into(),
        event::READ_DMA_DONE => "the DMA assist: descriptors of the read ring are done".into(),
        event::WRITE_DMA_DONE => "the DMA assist: descriptors of the write ring are done".into(),
        event::READ_DMA_ATTENTION => "the DMA read channel: an error".into(),
        event::WRITE_DMA_ATTENTION => "the DMA write channel: an error".into(),
        event::MAC_RX_ATTENTION => "the receive side of the MAC: an attention bit".into(),
        event::MAC_TX_ATTENTION => "the transmit side of the MAC: an attention bit".into(),
        _ if HARDWARE_MASK >> bit & 1 != 0 => "hardware".into(),
        _ => "software: a write to this register".into(),
    }
}

/// Handler of a bit.
fn handler(session: &Session, focus: Focus, bit: u32) -> String {
    let mut handlers = session.image.handlers.iter();
    let found = handlers.find(|one| one.cpu == focus.cpu.index() && one.event == Some(bit));
    match found {
        Some(handler) => address::with_symbol(session, focus, handler.address),
        None => "the image has no handler for it".into(),
    }
}
