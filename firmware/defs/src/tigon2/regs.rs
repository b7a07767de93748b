//! Register offsets and their bits (docs/tigon2-registers.md, section 2). A CPU adds `REGISTER_BASE`; for the host an
//! offset is a window offset.

use bitflags::bitflags;

/// Host control: chip revision, interrupt, reset, swapping.
pub const HOST_CONTROL: u32 = 0x040;
/// Local control: host interrupt, EEPROM and PHY lines, serdes.
pub const LOCAL_CONTROL: u32 = 0x044;
/// Semaphore, side A.
pub const SEMAPHORE_A: u32 = 0x048;
/// Semaphore, side B.
pub const SEMAPHORE_B: u32 = 0x04C;
/// Timer prescale, SRAM kind, MAC clock selection.
pub const MISC_CONFIG: u32 = 0x050;
/// Free-running microsecond timer.
pub const TIMER: u32 = 0x054;
/// Timer reference of CPU A.
pub const TIMER_REFERENCE_A: u32 = 0x058;
/// PCI state: the host's DMA limits.
pub const PCI_STATE: u32 = 0x05C;
/// Event register of CPU A.
pub const EVENT_A: u32 = 0x060;
/// Mailbox event register of CPU A, write one to clear.
pub const MAILBOX_EVENT_A: u32 = 0x064;
/// SRAM address of the 2 KB view (its low 11 bits are ignored).
pub const WINDOW_BASE: u32 = 0x068;
/// The SRAM word at the view's base.
pub const WINDOW_DATA: u32 = 0x06C;
/// Event register of CPU B.
pub const EVENT_B: u32 = 0x070;
/// Mailbox event register of CPU B, write one to clear.
pub const MAILBOX_EVENT_B: u32 = 0x074;
/// Timer reference of CPU B.
pub const TIMER_REFERENCE_B: u32 = 0x078;
/// Serial port, not used.
pub const SERIAL: u32 = 0x07C;
/// DMA write (NIC to host): host address, high word.
pub const WRITE_HOST_HIGH: u32 = 0x080;
/// DMA write: host address, low word.
pub const WRITE_HOST_LOW: u32 = 0x084;
/// DMA read (host to NIC): host address, high word.
pub const READ_HOST_HIGH: u32 = 0x090;
/// DMA read: host address, low word.
pub const READ_HOST_LOW: u32 = 0x094;
/// DMA read: bytes left.
pub const READ_LENGTH: u32 = 0x09C;
/// DMA write: state.
pub const WRITE_STATE: u32 = 0x0A0;
/// DMA write: local address.
pub const WRITE_LOCAL: u32 = 0x0A4;
/// DMA write: checksum.
pub const WRITE_CHECKSUM: u32 = 0x0A8;
/// DMA write: bytes left.
pub const WRITE_LENGTH: u32 = 0x0AC;
/// DMA read: state.
pub const READ_STATE: u32 = 0x0B0;
/// DMA read: local address.
pub const READ_LOCAL: u32 = 0x0B4;
/// DMA read: checksum.
pub const READ_CHECKSUM: u32 = 0x0B8;
/// Receive buffer: first address (it ends at `RX_BUFFER_LIMIT`).
pub const RX_BUFFER_BASE: u32 = 0x0C0;
/// Receive buffer: producer, moved by the MAC.
pub const RX_BUFFER_PRODUCER: u32 = 0x0C4;
/// Receive buffer: consumer (RxBufCons).
pub const RX_BUFFER_CONSUMER: u32 = 0x0C8;
/// Transmit buffer: first address (it ends at the receive buffer's base).
pub const TX_BUFFER_BASE: u32 = 0x0D0;
/// Transmit buffer: producer (TxBufProd): releases frames to the MAC.
pub const TX_BUFFER_PRODUCER: u32 = 0x0D4;
/// Transmit buffer: consumer, moved by the MAC.
pub const TX_BUFFER_CONSUMER: u32 = 0x0D8;
/// Receive descriptors: producer, moved by the MAC.
pub const RX_DESCRIPTOR_PRODUCER: u32 = 0x0E0;
/// Receive descriptors: reference (end of the descriptors that the firmware has read).
pub const RX_DESCRIPTOR_REFERENCE: u32 = 0x0E4;
/// Receive descriptors: consumer (end of the descriptors that the MAC may reuse).
pub const RX_DESCRIPTOR_CONSUMER: u32 = 0x0E8;
/// Receive ring configuration; stored.
pub const RX_RING_CONFIG: u32 = 0x0EC;
/// Transmit descriptors: producer, moved by the firmware.
pub const TX_DESCRIPTOR_PRODUCER: u32 = 0x0F0;
/// Transmit descriptors: reference, moved by the MAC.
pub const TX_DESCRIPTOR_REFERENCE: u32 = 0x0F4;
/// Transmit descriptors: consumer.
pub const TX_DESCRIPTOR_CONSUMER: u32 = 0x0F8;
/// Transmit descriptors, read only: address of the free slot, 0 when the ring is full.
pub const TX_DESCRIPTOR_FREE: u32 = 0x0FC;
/// Read-DMA ring: producer, moved by the firmware.
pub const READ_RING_PRODUCER: u32 = 0x100;
/// Read-DMA ring: reference, moved by the assist.
pub const READ_RING_REFERENCE: u32 = 0x104;
/// Read-DMA ring: consumer, moved by the firmware.
pub const READ_RING_CONSUMER: u32 = 0x108;
/// Read-DMA ring, read only: address of the free slot, 0 when the ring is full.
pub const READ_RING_FREE: u32 = 0x10C;
/// State of the hardware DMA assist.
pub const ASSIST_STATE: u32 = 0x11C;
/// Write-DMA ring: producer.
pub const WRITE_RING_PRODUCER: u32 = 0x120;
/// Write-DMA ring: reference.
pub const WRITE_RING_REFERENCE: u32 = 0x124;
/// Write-DMA ring: consumer.
pub const WRITE_RING_CONSUMER: u32 = 0x128;
/// Write-DMA ring, read only: address of the free slot, 0 when the ring is full.
pub const WRITE_RING_FREE: u32 = 0x12C;
/// CPU state. CPU B's register is at `CPU_B` + this offset.
pub const CPU_STATE: u32 = 0x140;
/// Program counter; writable while the CPU is halted.
pub const CPU_PC: u32 = 0x144;
/// Stack-overflow map of the CPU.
pub const STACK_MAP: u32 = 0x150;
/// Scratchpad access: address.
pub const SCRATCH_ADDRESS: u32 = 0x154;
/// Scratchpad access: data.
pub const SCRATCH_DATA: u32 = 0x158;
/// The 32 general registers of the CPU, read only.
pub const CPU_REGISTERS: u32 = 0x180;
/// Number of general registers.
pub const CPU_REGISTER_COUNT: u32 = 32;
/// Added to a CPU-private offset (`CPU_PRIVATE..CPU_PRIVATE_END`) for CPU B.
pub const CPU_B: u32 = 0x100;
/// The first register that belongs to CPU A alone.
pub const CPU_PRIVATE: u32 = CPU_STATE;
/// End of the registers that belong to CPU A alone.
pub const CPU_PRIVATE_END: u32 = CPU_REGISTERS + 4 * CPU_REGISTER_COUNT;
/// MAC transmit state.
pub const MAC_TX_STATE: u32 = 0x200;
/// Autonegotiation word to send.
pub const TX_CONFIG_WORD: u32 = 0x204;
/// Own MAC address, high 16 bits.
pub const MAC_ADDRESS_HIGH: u32 = 0x208;
/// Own MAC address, low 32 bits.
pub const MAC_ADDRESS_LOW: u32 = 0x20C;
/// High half: the protocol word of an inserted VLAN tag.
pub const VLAN_TAG_TYPE: u32 = 0x214;
/// Transmit thresholds; stored.
pub const MAC_THRESHOLDS: u32 = 0x21C;
/// MAC receive state.
pub const MAC_RX_STATE: u32 = 0x220;
/// Received autonegotiation word.
pub const RX_CONFIG_WORD: u32 = 0x224;
/// Multicast hash, bits 127:96; three more words follow.
pub const MULTICAST_HASH: u32 = 0x228;
/// Words of the multicast hash.
pub const MULTICAST_HASH_WORDS: u32 = 4;
/// End of the registers of MAC and serdes.
pub const MAC_END: u32 = MULTICAST_HASH + 4 * MULTICAST_HASH_WORDS;
/// Bytes of the copy of the PCI configuration header, which begins the register file; read only.
pub const PCI_HEADER_BYTES: u32 = 64;

/// [`HOST_CONTROL`], read: position of the chip revision.
pub const REVISION_SHIFT: u32 = 28;
/// Chip revision of a Tigon2.
pub const REVISION_TIGON2: u32 = 6;

bitflags! {
    /// Bits of [`HOST_CONTROL`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct HostControl: u32 {
        /// Read: the interrupt is asserted.
        const INTERRUPT = 1 << 0;
        /// Write: clear the interrupt.
        const CLEAR_INTERRUPT = 1 << 1;
        /// Write: hard reset.
        const RESET = 1 << 3;
        /// Swap bytes.
        const BYTE_SWAP = 1 << 4;
        /// Swap words.
        const WORD_SWAP = 1 << 5;
        /// Mask interrupts.
        const MASK_INTERRUPTS = 1 << 6;
    }

    /// Bits of [`LOCAL_CONTROL`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct LocalControl: u32 {
        /// Write: raise the host interrupt; reads 0.
        const RAISE_INTERRUPT = 1 << 2;
        /// SRAM banks of 512 KB (a two-bit field; board makers differ).
        const SRAM_BANK_512K = 2 << 8;
        /// EEPROM write enable.
        const EEPROM_WRITE_ENABLE = 1 << 4;
        /// PHY and serdes reset, active low pulse.
        const PHY_RESET = 1 << 7;
        /// MDIO clock.
        const MDIO_CLOCK = 1 << 16;
        /// MDIO: the board drives the data wire.
        const MDIO_DRIVE = 1 << 17;
        /// MDIO data out.
        const MDIO_OUT = 1 << 18;
        /// MDIO data in, read only.
        const MDIO_IN = 1 << 19;
        /// EEPROM clock.
        const EEPROM_CLOCK = 1 << 20;
        /// EEPROM: the board drives the data wire.
        const EEPROM_DRIVE = 1 << 21;
        /// EEPROM data out.
        const EEPROM_OUT = 1 << 22;
        /// EEPROM data in, read only.
        const EEPROM_IN = 1 << 23;
        /// Serdes loopback (all four bits).
        const SERDES_LOOPBACK = 0xF000;
    }

    /// Bits of [`MISC_CONFIG`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct MiscConfig: u32 {
        /// The SRAM is synchronous; set by the host at start-up.
        const SYNCHRONOUS_SRAM = 1 << 20;
    }

    /// Bits of [`PCI_STATE`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct PciState: u32 {
        /// All DMA writes are aligned.
        const WRITE_ALL_ALIGN = 1 << 23;
    }

    /// Bits of a DMA channel's state word.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct DmaState: u32 {
        /// Reset or abort the channel.
        const RESET = 1 << 0;
        /// Keep the values of 32-bit words (otherwise keep byte order).
        const NO_BYTE_SWAP = 1 << 1;
        /// Write: start; read: active.
        const START = 1 << 2;
        /// Compute a checksum.
        const CHECKSUM = 1 << 9;
        /// Start a new checksum.
        const CHECKSUM_NEW = 1 << 10;
        /// Write the checksum to the descriptor.
        const CHECKSUM_DELIVER = 1 << 11;
        /// Read: on completion TX_BUFFER_PRODUCER takes the local end address.
        const RELEASE_TX = 1 << 17;
        /// Write: on completion RX_BUFFER_CONSUMER takes the local end address.
        const FREE_RX = 1 << 19;
        /// Error: master abort, no target at the host address.
        const MASTER_ABORT = 1 << 25;
        /// All error bits.
        const ERRORS = 0xFF00_0000;
    }

    /// Bits of [`ASSIST_STATE`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct AssistState: u32 {
        /// The hardware assist runs the rings.
        const ENABLE = 1 << 0;
        /// Pause between descriptors.
        const PAUSE = 1 << 1;
        /// One DMA at a time.
        const ONE_DMA = 1 << 2;
        /// Set by all known firmware.
        const ALWAYS = 1 << 5;
        /// Status: the write channel is busy.
        const WRITE_BUSY = 1 << 8;
        /// Status: the write ring is not empty.
        const WRITE_PENDING = 1 << 11;
        /// Status: the read channel is busy.
        const READ_BUSY = 1 << 12;
        /// Status: the read ring is not empty.
        const READ_PENDING = 1 << 15;
    }

    /// Bits of [`CPU_STATE`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct CpuState: u32 {
        /// Reset.
        const RESET = 1 << 0;
        /// Single step.
        const STEP = 1 << 1;
        /// Set by each CPU's firmware at start; storage only.
        const STARTED = 1 << 2;
        /// ROM self-test failed.
        const ROM_FAIL = 1 << 4;
        /// The CPU is halted.
        const HALT = 1 << 16;
    }

    /// Bits of [`MAC_TX_STATE`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct MacTxState: u32 {
        /// Reset.
        const RESET = 1 << 0;
        /// Enable.
        const ENABLE = 1 << 1;
        /// Stop.
        const STOP = 1 << 2;
        /// Full duplex.
        const FULL_DUPLEX = 1 << 5;
        /// Attention bits, write one to clear.
        const ATTENTIONS = 0x3F00_0000;
    }

    /// Bits of [`MAC_RX_STATE`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct MacRxState: u32 {
        /// Reset.
        const RESET = 1 << 0;
        /// Enable.
        const ENABLE = 1 << 1;
        /// Stop.
        const STOP = 1 << 2;
        /// Accept every frame.
        const PROMISCUOUS = 1 << 3;
        /// Obey pause frames.
        const PAUSE = 1 << 16;
        /// Signal present, read only.
        const SIGNAL = 1 << 18;
        /// The partner sends configuration words, read only.
        const PARTNER_CONFIG = 1 << 19;
        /// Link attention.
        const ATTENTION_LINK = 1 << 24;
        /// Sync attention.
        const ATTENTION_SYNC = 1 << 25;
        /// The received configuration word changed.
        const ATTENTION_CONFIG = 1 << 26;
        /// Receive buffer attention.
        const ATTENTION_BUFFER = 1 << 30;
        /// Attention bits, write one to clear.
        const ATTENTIONS = 0xF700_0000;
    }
}
