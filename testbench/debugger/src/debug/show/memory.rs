//! Display of memory.

use super::text;
use crate::debug::session::{Focus, Session};

/// Number of bytes per row.
const ROW_BYTES: u32 = 16;
/// Largest number of bytes.
const MOST_BYTES: u32 = 0x1_0000;

pub(super) fn nothing_at(session: &Session, focus: Focus, address: u32) -> anyhow::Error {
    anyhow::anyhow!(
        "nothing is at {address:#010x} for {}",
        session.info(focus).name
    )
}

/// Words and characters from `address` on, as the focused CPU sees them: SRAM, its scratchpad, registers.
/// Reading has no side effects. Ends at unmapped memory.
///
/// # Errors
/// If `address` is unmapped.
pub fn memory(session: &Session, address: u32, length: u32) -> anyhow::Result<String> {
    let focus = session.focus;
    let word = |at: u32| session.board().peek(focus.cpu, at, session.now());
    let first = address & !3;
    if word(first).is_none() {
        return Err(nothing_at(session, focus, first));
    }
    let length = length.clamp(1, MOST_BYTES).saturating_add(address & 3);
    let mut lines = Vec::new();
    for offset in (0..length).step_by(ROW_BYTES as usize) {
        let rest = (length - offset).min(ROW_BYTES);
        let words = (0..rest).step_by(4).map_while(|at| {
            let at = first.checked_add(offset + at)?;
            word(at)
        });
        let words: Vec<u32> = words.collect();
        if words.is_empty() {
            break;
        }
        let digits: Vec<_> = words.iter().map(|word| format!("{word:08x}")).collect();
        let bytes = words.iter().flat_map(|word| word.to_be_bytes());
        let shown: String = bytes.map(character).collect();
        let at = first.wrapping_add(offset);
        lines.push(format!("{at:08x}  {:<37} {shown}", digits.join(" ")));
    }
    Ok(text(lines))
}

fn character(byte: u8) -> char {
    match byte {
        b' '..=b'~' => byte.into(),
        _ => '.',
    }
}
