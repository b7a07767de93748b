//! Display of general registers.

use emulator::cpu::mips::disasm::REGISTER_NAMES;

use super::{address, text};
use crate::debug::session::Session;

/// Width of a column.
const WIDTH: usize = 50;
/// Longer names are shown without path.
const LONGEST_NAME: usize = 32;

/// General registers and program counter of the focused CPU, with symbols of addresses.
#[must_use]
pub fn registers(session: &Session) -> String {
    let core = session.core();
    let cell = |name: &str, value: u32| {
        let names = address::named(session, session.focus, value);
        let names = names.map_or(String::new(), |name| match name.len() {
            ..=LONGEST_NAME => format!("<{name}>"),
            _ => format!("<{}>", address::short_name(&name)),
        });
        format!("{:<5} {value:08x} {names}", format!("${name}"))
    };
    let rows = REGISTER_NAMES.len() / 2;
    let general = (0..rows).map(|row| {
        let [left, right] =
            [row, row + rows].map(|index| cell(REGISTER_NAMES[index], core.register(index)));
        // The left column is truncated to its width.
        let left: String = left.chars().take(WIDTH - 2).collect();
        format!("{left:WIDTH$}{right}")
    });
    let pc = address::with_symbol(session, session.focus, core.pc());
    text(general.chain([format!("pc    {pc}")]))
}
