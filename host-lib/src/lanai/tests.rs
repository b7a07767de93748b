use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::*;
use crate::at_once::{AnswersAtOnce, block_on, port_at_once};
use crate::window::{MachineAnswer, PolledWord};

/// A window that stores words and notes writes; clones are the same window.
#[derive(Debug, Clone, Default)]
struct Words(Arc<Mutex<StoredWords>>);

#[derive(Debug, Default)]
struct StoredWords {
    words: BTreeMap<u32, u32>,
    writes: Vec<(u32, u32)>,
}

impl Words {
    fn lock(&self) -> MutexGuard<'_, StoredWords> {
        self.0.lock().expect("no test thread panics meanwhile")
    }
}

impl AnswersAtOnce for Words {
    fn read(&self, offset: u32) -> u32 {
        self.lock().words.get(&offset).copied().unwrap_or(!0)
    }

    fn write_burst(&self, offset: u32, values: &[u32]) {
        let mut stored = self.lock();
        for (offset, value) in (offset..).step_by(4).zip(values) {
            stored.words.insert(offset, *value);
            stored.writes.push((offset, *value));
        }
    }

    fn poll(&self, words: &[PolledWord], _: Option<u64>, _: &'static str) -> MachineAnswer {
        match words {
            [PolledWord::Window(watch)] => MachineAnswer::Word(self.read(watch.offset)),
            _ => panic!("one word of the window is polled"),
        }
    }

    fn pass(&self, _: u64) {}
}

port_at_once!(Words);

/// A window with the EEPROM of a board.
fn board(family: Family, version: u32, sram_bytes: u32) -> (LanaiBoard, Words) {
    let at = family.eeprom();
    let words = Words::default();
    let record = [
        (0, 0xA0),
        (4, version << 16 | 0x024C),
        (8, 0x616E_0003),
        (12, sram_bytes),
        (72, 4),
    ];
    words
        .lock()
        .words
        .extend(record.map(|(offset, word)| (at + offset, word)));
    (LanaiBoard::new(words.clone().into(), family), words)
}

#[test]
fn bring_up_follows_the_family() {
    let check = |family, version: u16, sram_bytes, writes: &[(u32, u32)]| {
        let (mut board, words) = board(family, version.into(), sram_bytes);
        let record = block_on(board.reset()).unwrap();
        let expected = BoardRecord {
            clock: 0xA0,
            version,
            address: [0x02, 0x4C, 0x61, 0x6E, 0, 3],
            sram_bytes,
            serial: 4,
        };
        assert_eq!(record, expected);
        let segments = vec![(0, vec![1, 2, 3, 4, 5])];
        let firmware = Firmware { segments, entry: 0 };
        block_on(board.load(&firmware)).unwrap();
        block_on(board.release());
        assert_eq!(words.lock().writes, writes, "{family:?}");
    };
    let load = [(0, 0x0102_0304), (4, 0x0500_0000)];
    check(
        Family::Four,
        0x0403,
        0x8_0000,
        &[
            (0xE_0000, 1 << 30 | 1 << 28),
            (0xC_00FC, 0xA0),
            load[0],
            load[1],
            (0xE_0000, 1 << 31),
        ],
    );
    check(
        Family::Later,
        0x0901,
        0x20_0000,
        &[
            (0x80_0040, 1 << 27 | 1 << 30),
            (0x80_0040, 1 << 30 | 1 << 24),
            (0x80_41F8, 0xA0),
            load[0],
            load[1],
            (0x80_0040, 1 << 31),
        ],
    );
}

#[test]
fn records_of_other_boards_are_refused() {
    let check = |family, version: u16, sram_bytes, expected| {
        let (mut board, _words) = board(family, version.into(), sram_bytes);
        assert_eq!(block_on(board.reset()), Err(expected));
    };
    let wrong = |version, family| LanaiError::Version { version, family };
    check(Family::Four, 0x0901, 0x8_0000, wrong(0x0901, Family::Four));
    check(
        Family::Later,
        0x0403,
        0x8_0000,
        wrong(0x0403, Family::Later),
    );
    check(Family::Later, 0xFFFF, !0, wrong(0xFFFF, Family::Later));
    check(Family::Later, 0x0702, 0, LanaiError::Sram(0));
    check(Family::Four, 0x0403, 0x20_0000, LanaiError::Sram(0x20_0000));
}

#[test]
fn firmware_that_does_not_fit_is_refused_before_anything_is_written() {
    let check = |entry, address, length_bytes, expected| {
        let (mut board, words) = board(Family::Four, 0x0403, 0x4_0000);
        block_on(board.reset()).unwrap();
        let before = words.lock().writes.len();
        let segments = vec![(0, vec![1; 4]), (address, vec![0; length_bytes])];
        let firmware = Firmware { segments, entry };
        assert_eq!(block_on(board.load(&firmware)), Err(expected));
        assert_eq!(words.lock().writes.len(), before);
    };
    let outside = |address, length_bytes| LanaiError::OutsideSram {
        address,
        length_bytes,
        sram_bytes: 0x4_0000,
    };
    check(0, 2, 4, LanaiError::Unaligned { address: 2 });
    check(0, 0x3_FFFC, 5, outside(0x3_FFFC, 5));
    check(0, 0xFFFF_FFFC, 8, outside(0xFFFF_FFFC, 8));
    check(4, 0x100, 4, LanaiError::Entry(4));
}

#[test]
fn large_memories_of_a_lanai_4_are_seen_at_two_places() {
    let (mut board, words) = board(Family::Four, 0x0403, 0x10_0000);
    block_on(board.write_sram_burst(0x7_FFF8, &[1, 2, 3]));
    let places = words.lock().writes.clone();
    assert_eq!(places, [(0x7_FFF8, 1), (0x7_FFFC, 2), (0x18_0000, 3)]);
}
