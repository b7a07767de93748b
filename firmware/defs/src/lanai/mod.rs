//! Myricom's LANai and its boards: special registers, status bits and DMA blocks as the firmware uses them (docs/lanai.md,
//! sections 3.2, 3.3 and 3.9); the host's [`window`].

pub mod window;

/// Special registers and status bits of a LANai 4.
pub mod l4 {
    /// Address of the first register.
    pub const BASE: u32 = 0xFFFF_FF00;
    /// Interrupt status.
    pub const ISR: u32 = 0x28;
    /// Interrupts of the host.
    pub const EIMR: u32 = 0x2C;
    /// Interval timer.
    pub const IT: u32 = 0x30;
    /// Real-time clock.
    pub const RTC: u32 = 0x34;
    /// Host address of DMA.
    pub const EAR: u32 = 0x3C;
    /// Local address of DMA.
    pub const LAR: u32 = 0x40;
    /// Bytes of DMA; a write starts.
    pub const DMA_CTR: u32 = 0x44;
    /// Receive pointer.
    pub const RMP: u32 = 0x48;
    /// Receive limit.
    pub const RML: u32 = 0x4C;
    /// Send pointer.
    pub const SMP: u32 = 0x50;
    /// Send limit with a tail: address of the last word.
    pub const SMLT: u32 = 0x58;
    /// Bytes that the sender skips.
    pub const SA: u32 = 0x6C;
    /// Direction of DMA: 1 from the host.
    pub const DMA_DIR: u32 = 0x80;
    /// Options of the port.
    pub const MYRINET: u32 = 0x8C;
    /// Status: the timer has passed 0.
    pub const TIME: u32 = 1 << 5;
    /// Status: the DMA is complete.
    pub const DMA: u32 = 1 << 4;
    /// Status: bytes of the last word behind a packet.
    pub const OFF_BY_SHIFT: u32 = 8;
    /// Mask of the number at [`OFF_BY_SHIFT`], after the shift.
    pub const OFF_BY_MASK: u32 = 3;
    /// Option of the port: CRC-8 both ways.
    pub const CRC: u32 = 2;
}

/// Special registers and status bits of LANai 7 and 9.
pub mod l9 {
    /// Address of the first register.
    pub const BASE: u32 = 0xFFFF_FE00;
    /// Interrupt status.
    pub const ISR: u32 = 0x50;
    /// Interrupts of the host.
    pub const EIMR: u32 = 0x58;
    /// Interval timer 0.
    pub const IT0: u32 = 0x60;
    /// Real-time clock.
    pub const RTC: u32 = 0x68;
    /// Starts chains of DMA.
    pub const PULSE: u32 = 0xB8;
    /// Interval timer 1.
    pub const IT1: u32 = 0xC0;
    /// Interval timer 2.
    pub const IT2: u32 = 0xC8;
    /// Receive pointer.
    pub const RMP: u32 = 0xE0;
    /// Receive limit.
    pub const RML: u32 = 0xE8;
    /// Send pointer.
    pub const SMP: u32 = 0xF0;
    /// End of the routing header.
    pub const SMH: u32 = 0xF8;
    /// Send limit with a tail: one past the last byte.
    pub const SMLT: u32 = 0x108;
    /// Bytes that the sender skips.
    pub const SA: u32 = 0x118;
    /// Options of the port.
    pub const MYRINET: u32 = 0x130;
    /// Status: a block with [`BLOCK_WAKE`](super::BLOCK_WAKE) is done.
    pub const WAKE: u32 = 1 << 12;
    /// Status: bytes of the last unit behind a packet.
    pub const OFF_BY_SHIFT: u32 = 8;
    /// Mask of the number at [`OFF_BY_SHIFT`], after the shift.
    pub const OFF_BY_MASK: u32 = 7;
    /// Status: timer 0 has passed 0.
    pub const TIME0: u32 = 1 << 6;
    /// Status: timer 1 has passed 0.
    pub const TIME1: u32 = 1 << 7;
    /// Options of the port: CRC-32 both ways.
    pub const CRC: u32 = 2;
    /// Value of [`PULSE`]: channel 0.
    pub const PULSE_0: u32 = 2;
    /// Value of [`PULSE`]: channel 2.
    pub const PULSE_2: u32 = 4;
}

/// Status: the LANai signals the host.
pub const HOST_SIG: u32 = 1 << 30;
/// Status: the segment has left.
pub const SEND: u32 = 1 << 3;
/// Status: the receive limit came before the tail.
pub const BUFF: u32 = 1 << 2;
/// Status: the tail is stored.
pub const RECV: u32 = 1 << 1;

/// Word of a DMA block: next block and flags.
pub const BLOCK_NEXT: u32 = 0;
/// Word of a DMA block: sums.
pub const BLOCK_SUM: u32 = 4;
/// Word of a DMA block: length.
pub const BLOCK_LENGTH: u32 = 8;
/// Word of a DMA block: local address.
pub const BLOCK_LOCAL: u32 = 12;
/// Word of a DMA block: host address, upper half.
pub const BLOCK_HOST_HIGH: u32 = 16;
/// Word of a DMA block: host address, lower half.
pub const BLOCK_HOST_LOW: u32 = 20;
/// Flag of a DMA block: from the host.
pub const BLOCK_FROM_HOST: u32 = 1;
/// Flag of a DMA block: the engine waits here.
pub const BLOCK_TERMINAL: u32 = 2;
/// Flag of a DMA block: raises WAKE.
pub const BLOCK_WAKE: u32 = 4;
