//! The trace buffer: records that grow downwards and wrap to the top (docs/tigon2-driver.md, section 7).

use defs::acenic::trace::{ARGUMENTS, CODE, NAME, NAME_BYTES, RECORD_BYTES, TIME};
use defs::acenic::{TRACE_LENGTH, TRACE_NEXT, TRACE_START};
use tigon2_hal::{sram, timer};

use crate::tables::{self, TRACE_BYTES};

/// Clears the buffer.
pub fn initialise() {
    let start = tables::trace();
    sram::clear(start, TRACE_BYTES);
    sram::write(TRACE_START, start);
    sram::write(TRACE_LENGTH, TRACE_BYTES);
    sram::write(TRACE_NEXT, start + TRACE_BYTES - RECORD_BYTES);
}

/// The two words of a record's name.
pub const fn name(text: &str) -> [u32; 2] {
    let text = text.as_bytes();
    assert!(
        text.len() <= NAME_BYTES as usize,
        "eight characters at most"
    );
    let mut words = [0; 2];
    let mut at = 0;
    while at < NAME_BYTES as usize {
        let byte = if at < text.len() { text[at] } else { b' ' };
        words[at / 4] = words[at / 4] << 8 | byte as u32;
        at += 1;
    }
    words
}

/// Writes a record: `trace!("linkUP", state, 0)`, with a code and up to four arguments.
#[macro_export]
macro_rules! trace {
    ($name:literal, $code:expr $(, $argument:expr)* $(,)?) => {
        $crate::trace::record(
            const { $crate::trace::name($name) },
            $code,
            &[$($argument),*],
        )
    };
}

/// Implements [`trace!`](crate::trace!).
#[inline(never)]
pub fn record(name: [u32; 2], code: u32, arguments: &[u32]) {
    let slot = sram::read(TRACE_NEXT);
    let start = tables::trace();
    let offset = slot.wrapping_sub(start);
    if offset >= TRACE_BYTES || !offset.is_multiple_of(RECORD_BYTES) {
        // Not initialised, or overwritten by the host.
        return;
    }
    let [first, second] = name;
    sram::write(slot + NAME, first);
    sram::write(slot + NAME + 4, second);
    sram::write(slot + CODE, code);
    sram::write(slot + TIME, timer::now_us());
    let mut at = slot + ARGUMENTS;
    let mut rest = arguments.iter();
    while at != slot + RECORD_BYTES {
        sram::write(at, rest.next().copied().unwrap_or(0));
        at += 4;
    }
    let next = if slot == start {
        start + TRACE_BYTES - RECORD_BYTES
    } else {
        slot - RECORD_BYTES
    };
    sram::write(TRACE_NEXT, next);
}
