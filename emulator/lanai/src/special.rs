//! Special registers: their places in each generation, and those that only store (docs/lanai.md, section 3.2).

use super::chip::Generation;
use emulator_state::state;

/// The function of a special register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// Interrupt status.
    Isr,
    /// Mask of the host's interrupt.
    Eimr,
    /// Interval timer.
    Timer(usize),
    /// Real-time clock.
    Rtc,
    /// Cycles of the CPU.
    Cycles,
    /// Checksum of DMA.
    Checksum,
    /// Host address of DMA.
    HostAddress,
    /// Local address of DMA.
    LocalAddress,
    /// Bytes of DMA.
    Count,
    /// Start of chains of DMA.
    Pulse,
    /// Pointer of the receiver.
    ReceivePointer,
    /// Limit of the receiver.
    ReceiveLimit,
    /// Pointer of the sender.
    SendPointer,
    /// Limit of the sender, without a tail.
    SendLimit,
    /// Limit of the sender, with a tail.
    SendLimitTail,
    /// Bytes that the sender skips.
    SendAlign,
    /// End of the routing header in memory.
    SendHeader,
    /// Direction of DMA.
    Direction,
    /// Options of the network port.
    Network,
    /// Stores what was written.
    Storage,
    /// Moves single bytes, halves or words of packets, which the model lacks.
    Programmed,
    /// Belongs to a context of the CPU, of which the model has one.
    Context,
}

/// A special register of a generation.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Offset from the first register.
    pub offset: u32,
    /// Function.
    pub special: Special,
    /// Name in tools.
    pub name: &'static str,
    /// The hardware block of the register.
    pub block: &'static str,
}

const fn row(offset: u32, special: Special, name: &'static str, block: &'static str) -> Row {
    Row {
        offset,
        special,
        name,
        block,
    }
}

use Special as S;

const L4: &[Row] = &[
    row(0x00, S::Context, "context0", "cpu"),
    row(0x04, S::Context, "context1", "cpu"),
    row(0x08, S::Context, "context2", "cpu"),
    row(0x0C, S::Context, "context3", "cpu"),
    row(0x10, S::Context, "context4", "cpu"),
    row(0x14, S::Context, "context5", "cpu"),
    row(0x18, S::Context, "context6", "cpu"),
    row(0x1C, S::Context, "context7", "cpu"),
    row(0x20, S::Context, "context8", "cpu"),
    row(0x24, S::Context, "context9", "cpu"),
    row(0x28, S::Isr, "isr", "isr"),
    row(0x2C, S::Eimr, "eimr", "isr"),
    row(0x30, S::Timer(0), "it", "timers"),
    row(0x34, S::Rtc, "rtc", "timers"),
    row(0x38, S::Checksum, "cks", "host_dma"),
    row(0x3C, S::HostAddress, "ear", "host_dma"),
    row(0x40, S::LocalAddress, "lar", "host_dma"),
    row(0x44, S::Count, "dma_ctr", "host_dma"),
    row(0x48, S::ReceivePointer, "rmp", "receiver"),
    row(0x4C, S::ReceiveLimit, "rml", "receiver"),
    row(0x50, S::SendPointer, "smp", "transmitter"),
    row(0x54, S::SendLimit, "sml", "transmitter"),
    row(0x58, S::SendLimitTail, "smlt", "transmitter"),
    row(0x60, S::Programmed, "rb", "receiver"),
    row(0x64, S::Programmed, "rh", "receiver"),
    row(0x68, S::Programmed, "rw", "receiver"),
    row(0x6C, S::SendAlign, "sa", "transmitter"),
    row(0x70, S::Programmed, "sb", "transmitter"),
    row(0x74, S::Programmed, "sh", "transmitter"),
    row(0x78, S::Programmed, "sw", "transmitter"),
    row(0x7C, S::Programmed, "st", "transmitter"),
    row(0x80, S::Direction, "dma_dir", "host_dma"),
    row(0x84, S::Storage, "dma_sts", "host_dma"),
    row(0x88, S::Storage, "timeout", "port"),
    row(0x8C, S::Network, "myrinet", "port"),
    row(0x90, S::Storage, "hw_debug", "control"),
    row(0x94, S::Storage, "led", "control"),
    row(0x98, S::Storage, "version", "control"),
    row(0x9C, S::Storage, "write_enable", "control"),
    row(0xFC, S::Storage, "clock", "control"),
];

/// The registers that LANai 7 and 9 have in common, and the own ones of a generation.
macro_rules! later {
    ($($own:expr),*) => {
        &[
            row(0x50, S::Isr, "isr", "isr"),
            row(0x58, S::Eimr, "eimr", "isr"),
            row(0x60, S::Timer(0), "it0", "timers"),
            row(0x68, S::Rtc, "rtc", "timers"),
            row(0x70, S::Storage, "lar", "host_dma"),
            row(0xB8, S::Pulse, "pulse", "host_dma"),
            row(0xC0, S::Timer(1), "it1", "timers"),
            row(0xC8, S::Timer(2), "it2", "timers"),
            row(0xD0, S::Storage, "rmw", "receiver"),
            row(0xD8, S::Storage, "rmc", "receiver"),
            row(0xE0, S::ReceivePointer, "rmp", "receiver"),
            row(0xE8, S::ReceiveLimit, "rml", "receiver"),
            row(0xF0, S::SendPointer, "smp", "transmitter"),
            row(0xF8, S::SendHeader, "smh", "transmitter"),
            row(0x100, S::SendLimit, "sml", "transmitter"),
            row(0x108, S::SendLimitTail, "smlt", "transmitter"),
            row(0x110, S::Storage, "smc", "transmitter"),
            row(0x118, S::SendAlign, "sa", "transmitter"),
            row(0x130, S::Network, "myrinet", "port"),
            row(0x138, S::Storage, "debug", "control"),
            row(0x140, S::Storage, "led", "control"),
            row(0x150, S::Storage, "write_enable", "control"),
            row(0x1F8, S::Storage, "clock", "control"),
            $($own),*
        ]
    };
}

const L7: &[Row] = later!(
    row(0x78, S::Storage, "dma_ctr", "host_dma"),
    row(0x128, S::Storage, "link", "port")
);
const L9: &[Row] = later!(row(0x78, S::Cycles, "cpuc", "timers"));

/// Number of places for registers.
const PLACES: usize = 64;

/// No register.
const NONE: u8 = u8::MAX;

const fn index(rows: &[Row], spacing: u32) -> [u8; PLACES] {
    let mut places = [NONE; PLACES];
    let mut at = 0;
    while at < rows.len() {
        places[(rows[at].offset / spacing) as usize] = at as u8;
        at += 1;
    }
    places
}

static L4_INDEX: [u8; PLACES] = index(L4, 4);
static L7_INDEX: [u8; PLACES] = index(L7, 8);
static L9_INDEX: [u8; PLACES] = index(L9, 8);

/// The special registers of a generation.
#[must_use]
pub const fn rows(generation: Generation) -> &'static [Row] {
    match generation {
        Generation::L4 => L4,
        Generation::L7 => L7,
        Generation::L9 => L9,
    }
}

/// The register at an offset from the first one; `None` if there is none, and in the upper half of a place.
#[must_use]
pub fn find(generation: Generation, offset: u32) -> Option<&'static Row> {
    let index = match generation {
        Generation::L4 => &L4_INDEX,
        Generation::L7 => &L7_INDEX,
        Generation::L9 => &L9_INDEX,
    };
    let place = index.get((offset / generation.register_spacing()) as usize)?;
    let row = rows(generation).get(usize::from(*place))?;
    (row.offset == offset & !3).then_some(row)
}

/// The offset of a CPU's address from the first special register, if it is one of theirs.
#[must_use]
#[inline]
pub const fn offset_of(generation: Generation, address: u32) -> Option<u32> {
    let base = generation.register_base();
    if address >= base {
        Some(address - base)
    } else {
        None
    }
}

/// Values of registers without a block of their own.
#[derive(Debug, Default)]
pub struct Storage {
    values: Vec<u32>,
}

state!(Storage { values });

impl Storage {
    /// The stored value of a register.
    #[must_use]
    pub fn get(&self, row: &Row) -> u32 {
        let at = row.offset as usize / 4;
        self.values.get(at).copied().unwrap_or(0)
    }

    /// Stores a value.
    pub fn set(&mut self, row: &Row, value: u32) {
        let at = row.offset as usize / 4;
        if self.values.len() <= at {
            self.values.resize(at + 1, 0);
        }
        self.values[at] = value;
    }

    /// Sets all values to 0.
    pub fn reset(&mut self) {
        self.values.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_register_has_a_place_and_a_name_of_its_own() {
        for generation in Generation::ALL {
            let rows = rows(generation);
            for (index, row) in rows.iter().enumerate() {
                let found = find(generation, row.offset).unwrap();
                assert_eq!(found.name, row.name);
                assert!(row.offset.is_multiple_of(generation.register_spacing()));
                assert!(!rows[..index].iter().any(|other| other.name == row.name));
            }
        }
    }

    #[test]
    fn registers_stand_where_programs_look_for_them() {
        let check = |generation, address, name: Option<&str>| {
            let offset = offset_of(generation, address);
            let row = offset.and_then(|offset| find(generation, offset));
            assert_eq!(row.map(|row| row.name), name, "{address:#x}");
        };
        check(Generation::L4, 0xFFFF_FF44, Some("dma_ctr"));
        check(Generation::L4, 0xFFFF_FF5C, None);
        check(Generation::L4, 0xFFFF_FE50, None);
        check(Generation::L7, 0xFFFF_FE50, Some("isr"));
        check(Generation::L7, 0xFFFF_FE54, None);
        check(Generation::L7, 0xFFFF_FE78, Some("dma_ctr"));
        check(Generation::L9, 0xFFFF_FE78, Some("cpuc"));
        check(Generation::L9, 0xFFFF_FF28, None);
        check(Generation::L9, 0xFFFF_FFF8, Some("clock"));
        check(Generation::L9, 0xFFFF_FDFC, None);
    }
}
