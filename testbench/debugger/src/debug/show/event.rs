//! Display of event registers: pending events and their causes.

use super::{address, text};
use crate::debug::session::{Focus, Session};

/// Event register of the focused CPU: pending events, their known causes, and the next handler.
///
/// # Errors
/// If the board has no such register.
pub fn event_register(session: &Session) -> anyhow::Result<String> {
    let (focus, board, now) = (session.focus, session.board(), session.now());
    let names = board.names();
    let register = names.event_registers.get(focus.cpu.index());
    let value = register.and_then(|&register| board.peek(focus.cpu, register, now));
    let Some(value) = value else {
        anyhow::bail!("a board of type {} has no event registers", board.name());
    };
    let cpu = session.info(focus).name;
    let mut lines = vec![match value {
        0 => format!("event register of {cpu}: 00000000, nothing is due"),
        _ => format!("event register of {cpu}: {value:08x}"),
    }];
    let due = (0..u32::BITS).rev().filter(|bit| value >> bit & 1 != 0);
    for bit in due.clone() {
        let name = (names.event)(bit).unwrap_or("");
        let cause = board.event_cause(focus.cpu, bit, now);
        lines.push(format!("  {bit:2} {name:20} {cause}"));
    }
    let mut masked = 0;
    if let Some((name, mask)) = board.event_mask(focus.cpu, now) {
        masked = value & !mask;
        if masked != 0 {
            lines.push(format!("masked by {name}: {}", numbers(masked)));
        }
    }
    if let Some(bit) = due.clone().find(|bit| masked >> bit & 1 == 0) {
        let handler = handler(session, focus, bit);
        lines.push(format!("{bit} comes first: {handler}"));
    }
    lines.extend(board.event_notes(focus.cpu, now));
    Ok(text(lines))
}

fn numbers(bits: u32) -> String {
    let set = (0..u32::BITS).filter(|bit| bits >> bit & 1 != 0);
    set.map(|bit| bit.to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Handler of a bit.
fn handler(session: &Session, focus: Focus, bit: u32) -> String {
    let mut handlers = session.image().handlers.iter();
    let found = handlers.find(|one| one.is_on(focus.cpu.index()) && one.event == Some(bit));
    match found {
        Some(handler) => address::with_symbol(session, focus, handler.address),
        None => "the image has no handler for it".into(),
    }
}
