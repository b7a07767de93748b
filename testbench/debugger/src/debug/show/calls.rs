//! Display of the call stack.

use emulator::image::Frame;

use super::{address, text};
use crate::debug::session::{Focus, Session};

/// The active functions of a CPU, innermost first, and the reason if the list is incomplete.
fn frames(session: &Session, focus: Focus) -> (Vec<Frame>, Option<String>) {
    session.code_of(focus).frames()
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
            handler.is_on(focus.cpu.index()) && handler.address == function.address
        })?;
        is.event.map(|event| (event, &is.name[..]))
    })
}

/// The active functions of the focused CPU, innermost first, with inlined ones.
#[must_use]
pub fn backtrace(session: &Session) -> String {
    text(session.code_of(session.focus).backtrace())
}
