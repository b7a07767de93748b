//! Display of general registers.

use super::{address, text};
use crate::debug::session::Session;

/// Width of a column.
const WIDTH: usize = 50;
/// Longer names are shown without path.
const LONGEST_NAME: usize = 32;

/// General registers and program counter of the focused CPU, with symbols of addresses.
#[must_use]
pub fn registers(session: &Session) -> String {
    let registers = session.board().registers(session.focus.cpu);
    let names = session.info(session.focus).architecture.registers();
    let cell = |name: &str, value: u32| {
        let known = address::named(session, session.focus, value);
        let known = known.map_or(String::new(), |name| match name.len() {
            ..=LONGEST_NAME => format!("<{name}>"),
            _ => format!("<{}>", address::short_name(&name)),
        });
        format!("{:<5} {value:08x} {known}", format!("${name}"))
    };
    let rows = names.len() / 2;
    let general = (0..rows).map(|row| {
        let [left, right] = [row, row + rows].map(|index| cell(names[index], registers[index]));
        // The left column is truncated to its width.
        let left: String = left.chars().take(WIDTH - 2).collect();
        format!("{left:WIDTH$}{right}")
    });
    let pc = address::with_symbol(session, session.focus, session.cpu().pc);
    text(general.chain([format!("pc    {pc}")]))
}
