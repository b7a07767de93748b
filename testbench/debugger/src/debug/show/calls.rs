//! Display of the call stack.

use emulator::image::Frame;

use super::{address, code, text};
use crate::debug::session::{Focus, Session};

/// The active functions of a CPU, innermost first, and the reason if the list is incomplete.
fn frames(session: &Session, focus: Focus) -> (Vec<Frame>, Option<String>) {
    let registers = session.board().registers(focus.cpu);
    let pc = session.cpu_of(focus).pc;
    let word = |at: u32| match at & 3 {
        0 => code::word(session, focus, at),
        _ => None,
    };
    let image = session.image();
    let who = session.info(focus).initiator;
    let (frames, error) = image.unwind(who, pc, registers, word);
    (frames, error.map(|error| error.to_string()))
}

/// The caller of the focused CPU's current function.
pub(in crate::debug) fn caller(session: &Session) -> Option<Frame> {
    let (frames, _) = frames(session, session.focus);
    frames.get(1).copied()
}

/// The current handler of a CPU, from its stack: event bit and name.
pub(super) fn handler(session: &Session, focus: Focus) -> Option<(u32, &str)> {
    let (frames, _) = frames(session, focus);
    let mut functions = frames
        .iter()
        .rev()
        .filter_map(|frame| address::function(session, focus, frame.address));
    functions.find_map(|function| {
        let mut handlers = session.image().handlers.iter();
        let is = handlers.find(|handler| {
            handler.cpu == focus.cpu.index() && handler.address == function.address
        })?;
        is.event.map(|event| (event, &is.name[..]))
    })
}

/// The active functions of the focused CPU, innermost first, with inlined ones.
#[must_use]
pub fn backtrace(session: &Session) -> String {
    let focus = session.focus;
    let (frames, error) = frames(session, focus);
    let mut lines = Vec::new();
    let mut number = 0;
    for frame in frames {
        let at = frame.address;
        let own = address::function(session, focus, at).map(|symbol| &symbol.name[..]);
        let source = address::source_for(session, focus, at);
        let inlined = source.len().saturating_sub(1);
        for inline in &source[..inlined] {
            lines.push(format!("#{number:<2} inlined   {inline}"));
            number += 1;
        }
        let symbol = || address::describe_for(session, focus, at);
        let name = own.map_or_else(symbol, address::plain_name);
        let place = source.last();
        let place = place.map_or(String::new(), |place| {
            format!(" at {}:{}", place.file, place.line)
        });
        lines.push(format!("#{number:<2} {at:08x}  {name}{place}"));
        number += 1;
    }
    lines.extend(error.map(|error| format!("({error})")));
    text(lines)
}
