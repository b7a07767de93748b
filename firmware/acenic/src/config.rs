//! The host's information block and its validation (docs/tigon2-driver.md, section 8).

use defs::acenic::descriptor::{RECEIVE_BYTES, SEND_BYTES};
use defs::acenic::info::{self, RECEIVE_FLAGS_ALIKE, RingFlags};
use defs::acenic::{Mode, RETURN_ENTRIES};
use defs::tigon2::regs::REVISION_TIGON2;

/// Start of the send ring or its cache.
pub const SEND_AREA: u32 = 0x2000;
/// End of the send ring or its cache.
pub const SEND_AREA_END: u32 = 0x4000;

/// An address in host memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostAddress {
    /// High word.
    pub high: u32,
    /// Low word.
    pub low: u32,
}

impl HostAddress {
    /// The address `bytes` further on.
    #[inline(always)]
    #[must_use]
    pub const fn plus(self, bytes: u32) -> Self {
        let (low, carry) = self.low.overflowing_add(bytes);
        Self {
            high: self.high.wrapping_add(carry as u32),
            low,
        }
    }
}

/// A ring control block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingControl {
    /// Host address of the ring.
    pub address: HostAddress,
    /// Longest buffer, or entries of a send or return ring.
    pub length: u32,
    /// Properties that the host chose for the ring.
    pub flags: RingFlags,
}

impl RingControl {
    /// Control block of an unused ring.
    pub const UNUSED: Self = Self {
        address: HostAddress { high: 0, low: 0 },
        length: 0,
        flags: RingFlags::DISABLED,
    };

    fn read(at: u32, word: impl Fn(u32) -> u32) -> Self {
        let length_flags = word(at + info::RING_LENGTH_FLAGS);
        Self {
            address: HostAddress {
                high: word(at + info::RING_HIGH),
                low: word(at + info::RING_LOW),
            },
            length: length_flags >> 16,
            flags: RingFlags::from_bits_retain(length_flags & 0xFFFF),
        }
    }

    /// Whether the ring is used.
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        !self.flags.contains(RingFlags::DISABLED)
    }

    /// Whether checksums are enabled.
    #[must_use]
    pub const fn wants_sums(&self) -> bool {
        self.flags
            .intersects(RingFlags::TCP_UDP_SUM.union(RingFlags::IP_SUM))
    }
}

/// Contents of the information block.
#[derive(Debug, Clone)]
pub struct Info {
    /// Event ring.
    pub event: RingControl,
    /// Send ring.
    pub send: RingControl,
    /// Standard receive ring.
    pub standard: RingControl,
    /// Jumbo receive ring.
    pub jumbo: RingControl,
    /// Mini receive ring.
    pub mini: RingControl,
    /// Return ring.
    pub returned: RingControl,
    /// Address at which the event producer is reported.
    pub event_producer: HostAddress,
    /// Address at which the return producer is reported.
    pub return_producer: HostAddress,
    /// Address at which the send consumer is reported.
    pub send_consumer: HostAddress,
    /// Address at which statistics are reported.
    pub statistics: HostAddress,
    /// The block is that of the protocol of firmware 12.1.
    pub is_older: bool,
}

impl Info {
    /// Contents before the block has been read.
    pub const UNKNOWN: Self = Self {
        event: RingControl::UNUSED,
        send: RingControl::UNUSED,
        standard: RingControl::UNUSED,
        jumbo: RingControl::UNUSED,
        mini: RingControl::UNUSED,
        returned: RingControl::UNUSED,
        event_producer: HostAddress { high: 0, low: 0 },
        return_producer: HostAddress { high: 0, low: 0 },
        send_consumer: HostAddress { high: 0, low: 0 },
        statistics: HostAddress { high: 0, low: 0 },
        is_older: false,
    };

    /// Reads the block; `word(offset)` returns its word at an offset. An older block is recognised by the length of a return
    /// ring where the mini ring should be, and by none where the return ring should be.
    pub fn read(word: impl Fn(u32) -> u32) -> Self {
        let ring = |at| RingControl::read(at, &word);
        let (mini, returned) = (ring(info::MINI_RING), ring(info::RETURN_RING));
        let is_older = returned.length == 0 && info::RETURN_LENGTHS.contains(&mini.length);
        let earlier = if is_older { info::OLDER_BYTES } else { 0 };
        let pointer = |at| HostAddress {
            high: word(at - earlier),
            low: word(at - earlier + 4),
        };
        Self {
            event: ring(info::EVENT_RING),
            send: ring(info::SEND_RING),
            standard: ring(info::STANDARD_RING),
            jumbo: ring(info::JUMBO_RING),
            mini: if is_older { RingControl::UNUSED } else { mini },
            returned: if is_older { mini } else { returned },
            event_producer: pointer(info::EVENT_PRODUCER_POINTER),
            return_producer: pointer(info::RETURN_PRODUCER_POINTER),
            send_consumer: pointer(info::SEND_CONSUMER_POINTER),
            statistics: pointer(info::STATISTICS_POINTER),
            is_older,
        }
    }

    /// Whether checksums are enabled for any frame.
    const fn wants_sums(&self) -> bool {
        self.send.wants_sums() || self.standard.wants_sums()
    }
}

/// Properties of the board that the block does not contain.
#[derive(Debug, Clone, Copy)]
pub struct Board {
    /// The chip's revision.
    pub revision: u32,
    /// The host's modes.
    pub mode: Mode,
    /// The SRAM is synchronous.
    pub synchronous_sram: bool,
    /// The host requires aligned DMA writes.
    pub write_all_align: bool,
}

/// Configuration errors. The numbers appear in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum ConfigError {
    /// The chip is no Tigon2.
    Revision = 1,
    /// The receive rings' flags differ.
    ReceiveFlags = 2,
    /// The send ring does not fit into its SRAM area.
    SendRing = 3,
    /// The return ring cannot hold all buffers.
    ReturnRing = 4,
    /// Checksums together with the hardware assist and synchronous SRAM.
    AssistSums = 5,
    /// Receive checksums together with aligned writes.
    AlignedSums = 6,
    /// The host speaks the protocol of firmware 12.1.
    OlderHost = 7,
}

/// Checks a configuration.
///
/// # Errors
/// The first error found.
pub fn check(info: &Info, board: &Board) -> Result<(), ConfigError> {
    let rules = [
        (board.revision == REVISION_TIGON2, ConfigError::Revision),
        (!info.is_older, ConfigError::OlderHost),
        (receive_flags_agree(info), ConfigError::ReceiveFlags),
        (send_ring_fits(&info.send), ConfigError::SendRing),
        (return_ring_suffices(info), ConfigError::ReturnRing),
        (
            !(info.wants_sums() && board.mode.contains(Mode::ONE_DMA) && board.synchronous_sram),
            ConfigError::AssistSums,
        ),
        (
            !(info.standard.wants_sums() && board.write_all_align),
            ConfigError::AlignedSums,
        ),
    ];
    for (kept, error) in rules {
        if !kept {
            return Err(error);
        }
    }
    Ok(())
}

fn receive_flags_agree(info: &Info) -> bool {
    let alike = info.standard.flags.bits() & RECEIVE_FLAGS_ALIKE;
    [&info.jumbo, &info.mini]
        .into_iter()
        .all(|ring| !ring.is_enabled() || ring.flags.bits() & RECEIVE_FLAGS_ALIKE == alike)
}

const fn send_ring_fits(send: &RingControl) -> bool {
    let start = if send.flags.contains(RingFlags::HOST_RING) {
        SEND_AREA
    } else {
        send.address.low
    };
    const SHIFT: u32 = SEND_BYTES.trailing_zeros();
    let room = SEND_AREA_END.saturating_sub(start) >> SHIFT;
    start >= SEND_AREA && start.is_multiple_of(4) && send.length <= room && send.length > 1
}

const fn return_ring_suffices(info: &Info) -> bool {
    match info.returned.length {
        RETURN_ENTRIES => true,
        // Half of the ring holds the buffers of the standard and the jumbo ring.
        entries => 2 * entries == RETURN_ENTRIES && !info.mini.is_enabled(),
    }
}

/// Bytes of `count` receive descriptors.
#[inline(always)]
#[must_use]
pub const fn receive_bytes(count: u32) -> u32 {
    count << RECEIVE_BYTES.trailing_zeros()
}

/// Bytes of `count` send descriptors.
#[inline(always)]
#[must_use]
pub const fn send_bytes(count: u32) -> u32 {
    count << SEND_BYTES.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Configuration of a Linux driver, with a change.
    fn checked(change: impl Fn(&mut Info, &mut Board)) -> Result<(), ConfigError> {
        let ring = |length, flags| RingControl {
            address: HostAddress::default(),
            length,
            flags: RingFlags::from_bits_retain(flags),
        };
        let mut info = Info {
            send: ring(256, 0x59),
            standard: ring(1538, 0x19),
            mini: ring(128, 0x19),
            jumbo: ring(0, 0x19),
            returned: ring(2048, 0),
            ..Info::UNKNOWN
        };
        let mut board = Board {
            revision: 6,
            mode: Mode::from_bits_retain(0x4000_021C),
            synchronous_sram: true,
            write_all_align: false,
        };
        change(&mut info, &mut board);
        check(&info, &board)
    }

    #[test]
    fn each_rule_is_checked() {
        use ConfigError::*;
        type Change = fn(&mut Info, &mut Board);
        let cases: [(Change, Result<(), ConfigError>); 17] = [
            (|_, _| {}, Ok(())),
            (|_, board| board.revision = 5, Err(Revision)),
            (|info, _| info.is_older = true, Err(OlderHost)),
            (
                |info, _| info.mini.flags = RingFlags::empty(),
                Err(ReceiveFlags),
            ),
            (|info, _| info.mini.flags = RingFlags::DISABLED, Ok(())),
            (
                |info, _| info.jumbo.flags = RingFlags::TCP_UDP_SUM,
                Err(ReceiveFlags),
            ),
            (
                |info, _| info.jumbo.flags.insert(RingFlags::COALESCED_INTERRUPTS),
                Ok(()),
            ),
            (|info, _| info.send.length = 512, Ok(())),
            (|info, _| info.send.length = 513, Err(SendRing)),
            (|info, _| nic_ring(info, 0x3000, 128), Ok(())),
            (|info, _| nic_ring(info, 0x3810, 128), Err(SendRing)),
            (|info, _| nic_ring(info, 0x1000, 128), Err(SendRing)),
            (|info, _| info.returned.length = 1024, Err(ReturnRing)),
            (
                |info, _| {
                    info.returned.length = 1024;
                    info.mini.flags = RingFlags::DISABLED;
                },
                Ok(()),
            ),
            (|_, board| board.mode |= Mode::ONE_DMA, Err(AssistSums)),
            (
                |_, board| {
                    board.mode |= Mode::ONE_DMA;
                    board.synchronous_sram = false;
                },
                Ok(()),
            ),
            (|_, board| board.write_all_align = true, Err(AlignedSums)),
        ];
        for (number, (change, expected)) in cases.into_iter().enumerate() {
            assert_eq!(checked(change), expected, "case {number}");
        }
    }

    fn nic_ring(info: &mut Info, low: u32, length: u32) {
        info.send.flags = RingFlags::empty();
        info.send.address = HostAddress { high: 0, low };
        info.send.length = length;
    }

    #[test]
    fn host_addresses_carry() {
        let address = HostAddress {
            high: 1,
            low: 0xFFFF_FFF0,
        };
        assert_eq!(address.plus(0x20), HostAddress { high: 2, low: 0x10 });
    }

    #[test]
    fn a_block_is_read() {
        let info = Info::read(|offset| offset);
        assert_eq!(
            info.send.address,
            HostAddress {
                high: 0x420,
                low: 0x424
            }
        );
        assert_eq!(info.returned.flags.bits(), 0x468);
        assert!(!info.is_older);
        assert_eq!(
            info.statistics,
            HostAddress {
                high: 0x488,
                low: 0x48C
            }
        );
    }

    #[test]
    fn an_older_block_is_recognised() {
        let of_length = |length: u32| {
            Info::read(|offset| match offset {
                0x458 => length << 16,
                // The older block's pointers begin with their high words.
                0x460 | 0x468 | 0x470 | 0x478 => 0,
                low => low,
            })
        };
        for length in [1024, 2048] {
            let older = of_length(length);
            assert!(older.is_older);
            assert!(!older.mini.is_enabled());
            assert_eq!(older.returned.length, length);
            let low = |address: HostAddress| (address.high, address.low);
            assert_eq!(low(older.event_producer), (0, 0x464));
            assert_eq!(low(older.statistics), (0, 0x47C));
        }
        let newer = of_length(128);
        assert!(!newer.is_older);
        assert_eq!(newer.event_producer.low, 0x474);
    }
}
