//! Numbers of the orders, and the registers that stand for them.

use defs::tigon2::banks::{self, MOST_CPUS};
use defs::tigon2::event as bit;
use defs::tigon2::map::{MAILBOX_BASE, MAILBOX_COUNT, REGISTER_BYTES};
use defs::tigon2::regs as r;
use emulator_board::races::Order;

/// Registers of the chip.
const CHIP_REGISTERS: u32 = REGISTER_BYTES / 4;
/// All registers: those of the chip, then those of further CPUs.
pub(super) const REGISTERS: u32 = CHIP_REGISTERS + (banks::BANKS_END - banks::BANKS) / 4;
/// Most entries of a ring that hardware takes.
pub(super) const RING_ENTRIES: u32 = 256;

// Numbers of the orders.
pub(super) const HOST_MEMORY: Order = Order(0);
/// A frame that comes in may answer any that was sent before.
pub(super) const NETWORK: Order = Order(1);
/// Software bits of the event registers.
pub(super) const EVENT_BITS: u32 = 2;
/// Registers as software has written them.
pub(super) const BY_SOFTWARE: u32 = EVENT_BITS + 32 * MOST_CPUS as u32;
/// Registers as hardware has moved them.
pub(super) const BY_HARDWARE: u32 = BY_SOFTWARE + REGISTERS;
/// Entries of the rings.
pub(super) const ENTRIES: u32 = BY_HARDWARE + REGISTERS;
/// Declared words.
pub(super) const PUBLISHED: u32 = ENTRIES + 3 * RING_ENTRIES;

/// Number of the register at an offset.
pub(super) const fn number_of(offset: u32) -> u32 {
    match offset {
        ..REGISTER_BYTES => offset / 4,
        _ => CHIP_REGISTERS + (offset - banks::BANKS) / 4,
    }
}

/// Offset of the register with this number.
pub(super) const fn offset_of(number: u32) -> u32 {
    match number {
        ..CHIP_REGISTERS => 4 * number,
        _ => banks::BANKS + 4 * (number - CHIP_REGISTERS),
    }
}

/// The CPU whose event register is at an offset.
pub(super) const fn event_owner(offset: u32) -> Option<u32> {
    match (offset, banks::in_bank(offset)) {
        (r::EVENT_A, _) => Some(0),
        (r::EVENT_B, _) => Some(1),
        (_, Some((cpu, banks::EVENT))) => Some(cpu as u32),
        _ => None,
    }
}

/// Whether a side of a semaphore is at an offset.
pub(super) const fn is_semaphore(offset: u32) -> bool {
    banks::side_at(offset).is_some()
}

pub(super) const fn by_software(offset: u32) -> Order {
    Order(BY_SOFTWARE + number_of(offset))
}

pub(super) const fn by_hardware(offset: u32) -> Order {
    Order(BY_HARDWARE + number_of(offset))
}

pub(super) const fn event_bit(cpu: u32, bit: u32) -> Order {
    Order(EVENT_BITS + 32 * cpu + bit)
}

/// A ring whose entries hardware takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakenRing {
    /// Descriptors of DMA reads.
    DmaRead,
    /// Descriptors of DMA writes.
    DmaWrite,
    /// Descriptors of frames to send.
    Transmit,
}

impl TakenRing {
    /// The ring whose producer this register is.
    pub(super) const fn with_producer(offset: u32) -> Option<Self> {
        Some(match offset {
            r::READ_RING_PRODUCER => Self::DmaRead,
            r::WRITE_RING_PRODUCER => Self::DmaWrite,
            r::TX_DESCRIPTOR_PRODUCER => Self::Transmit,
            _ => return None,
        })
    }

    pub(super) const fn entry(self, index: u32) -> Order {
        Order(ENTRIES + self as u32 * RING_ENTRIES + index % RING_ENTRIES)
    }
}

/// The register that hardware moves when it sets a bit of the event registers.
pub(super) const fn moved_with(bit: u32) -> Option<u32> {
    Some(match bit {
        bit::RX_COMPLETE => r::RX_DESCRIPTOR_PRODUCER,
        bit::WRITE_DMA_DONE => r::WRITE_RING_REFERENCE,
        bit::READ_DMA_DONE => r::READ_RING_REFERENCE,
        bit::WRITE_DMA_ATTENTION => r::WRITE_STATE,
        bit::READ_DMA_ATTENTION => r::READ_STATE,
        bit::MAILBOX => r::MAILBOX_EVENT_A,
        _ => return None,
    })
}

/// The register that hardware moves, if this one shows it too.
pub(super) const fn shown_by(offset: u32) -> u32 {
    if let Some((_, banks::MAILBOX_EVENT)) = banks::in_bank(offset) {
        return r::MAILBOX_EVENT_A;
    }
    match offset {
        r::TX_DESCRIPTOR_FREE => r::TX_DESCRIPTOR_CONSUMER,
        r::READ_RING_FREE => r::READ_RING_REFERENCE,
        r::WRITE_RING_FREE => r::WRITE_RING_REFERENCE,
        // One host writes the mailboxes of all CPUs.
        r::MAILBOX_EVENT_B => r::MAILBOX_EVENT_A,
        _ => offset,
    }
}

/// The register by which software frees the slot that this one shows.
pub(super) const fn freed_by(offset: u32) -> Option<u32> {
    match offset {
        r::READ_RING_FREE => Some(r::READ_RING_CONSUMER),
        r::WRITE_RING_FREE => Some(r::WRITE_RING_CONSUMER),
        _ => None,
    }
}

/// Whether a register only stores what is written.
pub(super) const fn is_storage(offset: u32) -> bool {
    matches!(
        offset,
        r::MISC_CONFIG
            | r::PCI_STATE
            | r::SERIAL
            | r::RX_RING_CONFIG
            | r::VLAN_TAG_TYPE
            | r::MAC_THRESHOLDS
    )
}

/// Whether any order of its writes is right: each writer has bits of its own there, or hardware joins them.
pub(super) const fn joins_writes(offset: u32) -> bool {
    matches!(
        offset,
        0..r::MISC_CONFIG
            | r::TIMER
            | r::TIMER_REFERENCE_A
            | r::TIMER_REFERENCE_B
            | r::MAILBOX_EVENT_A
            | r::MAILBOX_EVENT_B
            | r::WINDOW_BASE
            | r::WINDOW_DATA
    ) || matches!(
        banks::in_bank(offset),
        Some((_, banks::TIMER_REFERENCE | banks::MAILBOX_EVENT))
    )
}

/// Whether the firmware or the host writes mailboxes there.
pub(super) const fn is_mailbox(address: u32) -> bool {
    address.wrapping_sub(MAILBOX_BASE) < 8 * MAILBOX_COUNT
}
