//! The firmware's trace buffer in SRAM (docs/tigon2-driver.md, section 7).

use std::fmt;

use defs::acenic::trace::{
    ARGUMENT_COUNT, ARGUMENTS, CODE, NAME, NAME_BYTES, RECORD_BYTES, TIME, VENDOR_END, VENDOR_START,
};
use defs::acenic::{TRACE_LENGTH, TRACE_NEXT, TRACE_START};
use defs::tigon2::map::SRAM_LIMIT;

use super::memory::WORD_BYTES;

/// A record of the trace buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Name; unprintable characters are dots.
    pub name: String,
    /// Number that identifies the place in the firmware.
    pub code: u32,
    /// Timer value in us. The firmware zeroes its timer early in its start.
    pub time_us: u32,
    /// Values that the firmware recorded at the place.
    pub arguments: [u32; ARGUMENT_COUNT as usize],
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<8} {:#010x} {:>10}",
            self.name, self.code, self.time_us
        )?;
        for argument in self.arguments {
            write!(f, " {argument:08x}")?;
        }
        Ok(())
    }
}

/// Longest trace buffer that is accepted.
const MOST_BYTES: u32 = 0x1_0000;

/// Address range of a trace buffer, and the next slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TraceRange {
    pub(super) start: u32,
    pub(super) end: u32,
    next: u32,
}

impl TraceRange {
    fn new(start: u32, end: u32, next: u32) -> Option<Self> {
        let records = start.is_multiple_of(WORD_BYTES)
            && start < end
            && end <= SRAM_LIMIT
            && end - start <= MOST_BYTES
            && (end - start).is_multiple_of(RECORD_BYTES);
        let place = Self { start, end, next };
        let inside = (start..end).contains(&next) && (next - start).is_multiple_of(RECORD_BYTES);
        (records && inside).then_some(place)
    }

    /// The range that the firmware reports, or else that of release 12.4.11.
    pub(super) fn find(next: u32, start: u32, length: u32) -> Option<Self> {
        let told = start
            .checked_add(length)
            .and_then(|end| Self::new(start, end, next));
        told.or_else(|| Self::new(VENDOR_START, VENDOR_END, next))
    }

    /// The slots from the oldest to the newest. The firmware writes downwards. The next slot holds no record: release
    /// 12.4.11 marks it, and other firmware has its oldest record there.
    fn slots(self) -> impl Iterator<Item = u32> {
        let slots = (self.end - self.start) / RECORD_BYTES;
        let from = (self.next - self.start) / RECORD_BYTES;
        (1..slots)
            .map(move |back| (from + slots - back) % slots)
            .map(move |slot| self.start + slot * RECORD_BYTES)
    }
}

/// Reads all records, oldest first. `word` reads SRAM. `None` if the firmware has no trace buffer, or has
/// not initialised it yet.
pub fn decode(mut word: impl FnMut(u32) -> u32) -> Option<Vec<Record>> {
    let place = TraceRange::find(word(TRACE_NEXT), word(TRACE_START), word(TRACE_LENGTH))?;
    Some(records(place, word))
}

/// The records of a trace buffer.
pub(super) fn records(place: TraceRange, mut word: impl FnMut(u32) -> u32) -> Vec<Record> {
    let records = place.slots().filter_map(|slot| record(slot, &mut word));
    records.collect()
}

/// The record in a slot; `None` if the slot was never written.
fn record(slot: u32, word: &mut impl FnMut(u32) -> u32) -> Option<Record> {
    let name: Vec<u8> = (0..NAME_BYTES)
        .step_by(WORD_BYTES as usize)
        .flat_map(|offset| word(slot + NAME + offset).to_be_bytes())
        .collect();
    if name.iter().all(|&byte| byte == 0) {
        return None;
    }
    let printable = |&byte: &u8| match byte {
        b' '..=b'~' => char::from(byte),
        _ => '.',
    };
    let length = name
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |last| last + 1);
    Some(Record {
        name: name[..length].iter().map(printable).collect(),
        code: word(slot + CODE),
        time_us: word(slot + TIME),
        arguments: std::array::from_fn(|index| word(slot + ARGUMENTS + index as u32 * WORD_BYTES)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Writes records downwards into a buffer, as firmware does; returns SRAM.
    fn sram(start: u32, end: u32, names: &[&str], told: bool) -> BTreeMap<u32, u32> {
        let mut sram = BTreeMap::new();
        let mut next = end - RECORD_BYTES;
        for (time, name) in names.iter().enumerate() {
            let mut bytes = [0; 8];
            bytes[..name.len()].copy_from_slice(name.as_bytes());
            let (high, low) = bytes.split_at(4);
            for (offset, bytes) in [(NAME, high), (NAME + 4, low)] {
                sram.insert(next + offset, u32::from_be_bytes(bytes.try_into().unwrap()));
            }
            sram.insert(next + CODE, 7);
            sram.insert(next + TIME, time as u32);
            sram.insert(next + ARGUMENTS + 12, 0xABC);
            next = if next == start { end } else { next } - RECORD_BYTES;
        }
        sram.insert(TRACE_NEXT, next);
        if told {
            sram.insert(TRACE_START, start);
            sram.insert(TRACE_LENGTH, end - start);
        }
        sram
    }

    /// The firmware's mark in the next slot.
    fn mark_next(sram: &mut BTreeMap<u32, u32>) {
        let next = sram[&TRACE_NEXT];
        sram.insert(next + NAME, u32::from_be_bytes(*b"NEXT"));
    }

    fn names(sram: &BTreeMap<u32, u32>) -> Option<Vec<String>> {
        let records = decode(|address| sram.get(&address).copied().unwrap_or(0))?;
        Some(records.into_iter().map(|record| record.name).collect())
    }

    #[test]
    fn records_come_in_the_order_of_their_writing() {
        let check = |written: &[&str], expected: &[&str]| {
            for (start, end, told) in [(0x5000, 0x5080, true), (0x17050, 0x19050, false)] {
                let sram = sram(start, end, written, told);
                let all = names(&sram).unwrap();
                let expected = if told { expected } else { written };
                assert_eq!(all, expected, "from {start:#x}");
            }
        };
        check(&[], &[]);
        check(&["probeMem", "hwVer"], &["probeMem", "hwVer"]);
        check(&["a", "b", "c", "d"], &["b", "c", "d"]);
        check(&["a", "b", "c", "d", "e", "f"], &["d", "e", "f"]);
    }

    #[test]
    fn the_mark_of_the_next_slot_is_no_record() {
        for (written, expected) in [
            (&["a", "b"][..], &["a", "b"][..]),
            (&["a", "b", "c", "d", "e"], &["c", "d", "e"]),
        ] {
            let mut sram = sram(0x5000, 0x5080, written, true);
            mark_next(&mut sram);
            assert_eq!(names(&sram).unwrap(), expected);
        }
    }

    #[test]
    fn a_record_is_a_line() {
        let sram = sram(0x5000, 0x5080, &["**DAWN_A"], true);
        let records = decode(|address| sram.get(&address).copied().unwrap_or(0)).unwrap();
        assert_eq!(
            records[0].to_string(),
            "**DAWN_A 0x00000007          0 00000000 00000000 00000000 00000abc"
        );
    }

    #[test]
    fn a_name_of_garbage_is_shown_as_dots() {
        let mut sram = sram(0x5000, 0x5080, &["name"], true);
        sram.insert(0x5060, 0x0041_FF0A);
        assert_eq!(names(&sram).unwrap(), [".A.."]);
    }

    #[test]
    fn nonsense_is_no_trace_buffer() {
        let check = |next, start, length| {
            let sram = BTreeMap::from([
                (TRACE_NEXT, next),
                (TRACE_START, start),
                (TRACE_LENGTH, length),
            ]);
            assert_eq!(names(&sram), None, "{next:#x} {start:#x} {length:#x}");
        };
        check(0, 0, 0);
        check(0x5010, 0x5000, 0x80);
        check(0x5080, 0x5000, 0x80);
        check(0x5000, 0x5000, 0x90);
        check(0x5002, 0x5002, 0x80);
        check(0xFFFF_FFE0, 0xFFFF_FF00, 0x100);
        check(0x5000, 0x5000, u32::MAX);
        check(0x7F_FFE0, 0x7F_FF00, 0x200);
        check(0x1704C, 0, 0);
    }
}
