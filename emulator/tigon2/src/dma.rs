//! The two DMA channels (docs/tigon2-io.md, section 5). Read = host to NIC, write = NIC to host.
//!
//! A channel moves bursts of at most 64 bytes that do not cross a 64-byte line of host memory.
//! The board determines the costs.

pub mod stall;
pub(super) mod transfer;

use defs::tigon2::regs::DmaState;
use defs::tigon2::rings::BURST_BYTES;

use emulator_base::time::SimTime;
pub use emulator_board::DmaDirection as Direction;
use emulator_state::state;
use emulator_state::value_struct;

/// A part of the local address space in which the channel's address wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalRegion {
    /// First address.
    pub base: u32,
    /// The address that is replaced by `base`.
    pub limit: u32,
}

impl LocalRegion {
    /// Whether `address` lies inside.
    #[must_use]
    pub const fn holds(&self, address: u32) -> bool {
        self.base <= address && address < self.limit
    }
}

/// A burst: the part of a transfer that takes the PCI bus at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// Host address.
    pub host: u64,
    /// Local address.
    pub local: u32,
    /// Bytes, 1 to 64.
    pub length: u32,
}

value_struct!(Burst {
    host: host,
    local: local,
    length: length
});

/// A channel's registers.
#[derive(Debug, Default)]
pub struct Channel {
    /// Host address.
    pub host: u64,
    /// Local address; advances.
    pub local: u32,
    /// Bytes left.
    pub length: u32,
    /// State bits without START.
    state: DmaStateBits,
    /// Checksum register.
    pub checksum: u32,
    /// The sum has an odd number of bytes.
    odd: bool,
    active: bool,
    /// The assist loaded this transfer.
    pub by_assist: bool,
    /// Number of starts and resets, to recognise events of earlier transfers.
    generation: u32,
    /// Start of the current or last transfer.
    began: SimTime,
    /// Total duration of complete transfers.
    busy: SimTime,
    /// Number of transfers that failed.
    failures: u64,
}

state!(Channel {
    host,
    local,
    length,
    state,
    checksum,
    odd,
    active,
    by_assist,
    generation,
    began,
    busy,
    failures
});

type DmaStateBits = u32;

impl Channel {
    /// Whether a transfer is active.
    #[must_use]
    pub const fn active(&self) -> bool {
        self.active
    }

    /// The current transfer's number.
    #[must_use]
    pub const fn generation(&self) -> u32 {
        self.generation
    }

    /// Whether an error is latched.
    #[must_use]
    pub const fn failed(&self) -> bool {
        self.state & DmaState::ERRORS.bits() != 0
    }

    /// Whether the current transfer has this bit in its state word.
    #[must_use]
    pub const fn has(&self, bit: DmaState) -> bool {
        self.state & bit.bits() != 0
    }

    /// The state register.
    #[must_use]
    pub const fn state(&self) -> u32 {
        self.state
            | if self.active {
                DmaState::START.bits()
            } else {
                0
            }
    }

    /// Writes the state register; returns whether a transfer must be started.
    pub fn write_state(&mut self, value: u32) -> bool {
        if value & DmaState::RESET.bits() != 0 {
            self.abort();
            return false;
        }
        let start = value & DmaState::START.bits() != 0 && !self.active;
        if !self.active {
            self.state = value & !DmaState::START.bits();
        }
        if start {
            self.begin();
        }
        start
    }

    fn begin(&mut self) {
        self.active = true;
        self.generation = self.generation.wrapping_add(1);
        if self.has(DmaState::CHECKSUM_NEW) {
            self.checksum = 0;
            self.odd = false;
        }
    }

    /// Loads and starts a transfer on behalf of the assist.
    pub fn load(&mut self, host: u64, local: u32, length: u32, state: u32) {
        self.host = host;
        self.local = local;
        self.length = length;
        self.state = state & !(DmaState::START.bits() | DmaState::RESET.bits());
        self.by_assist = true;
        self.begin();
    }

    /// Stops the transfer and clears the errors.
    pub fn abort(&mut self) {
        self.active = false;
        self.by_assist = false;
        self.state = 0;
        self.generation = self.generation.wrapping_add(1);
    }

    /// The next burst; `None` when all bytes are moved.
    #[must_use]
    pub fn next_burst(&self, region: Option<LocalRegion>) -> Option<Burst> {
        if self.length == 0 {
            return None;
        }
        let line = BURST_BYTES - (self.host % u64::from(BURST_BYTES)) as u32;
        let wrap = match region {
            Some(region) if region.holds(self.local) => region.limit - self.local,
            _ => u32::MAX,
        };
        Some(Burst {
            host: self.host,
            local: self.local,
            length: self.length.min(line).min(wrap),
        })
    }

    /// Accounts for a moved burst; `bytes` are in the order of the wire. The registers of the running channel may
    /// have been written: addresses continue from the burst, and the length ends at 0.
    pub fn advance(&mut self, burst: Burst, region: Option<LocalRegion>, bytes: &[u8]) {
        self.host = burst.host.wrapping_add(u64::from(burst.length));
        self.length = self.length.saturating_sub(burst.length);
        let end = burst.local.wrapping_add(burst.length);
        self.local = match region {
            Some(region) if region.holds(burst.local) && end == region.limit => region.base,
            _ => end,
        };
        if self.has(DmaState::CHECKSUM) {
            self.sum(bytes);
        }
    }

    /// Adds bytes to the one's-complement sum of big-endian halfwords, continued with byte parity.
    fn sum(&mut self, bytes: &[u8]) {
        let mut sum = self.checksum;
        for &byte in bytes {
            sum += u32::from(byte) << if self.odd { 0 } else { 8 };
            sum = (sum & 0xFFFF) + (sum >> 16);
            self.odd = !self.odd;
        }
        self.checksum = sum;
    }

    /// Sets the start of the current transfer.
    pub const fn begins_at(&mut self, now: SimTime) {
        self.began = now;
    }

    /// Total duration of its transfers, from their starts to their last bytes, without aborted ones.
    #[must_use]
    pub const fn busy(&self) -> SimTime {
        self.busy
    }

    /// Completes the transfer.
    pub fn finish(&mut self, now: SimTime) {
        self.active = false;
        self.busy += now.saturating_sub(self.began);
    }

    /// Number of transfers that failed so far; resets do not clear it.
    #[must_use]
    pub const fn failures(&self) -> u64 {
        self.failures
    }

    /// Ends the transfer with these error bits.
    pub fn fail(&mut self, errors: DmaState) {
        self.active = false;
        self.state |= errors.bits();
        self.failures += 1;
    }
}

/// Reverses the bytes of each whole word, which preserves the values of words
/// between a little-endian host and the big-endian NIC.
pub fn swap_words(bytes: &mut [u8]) {
    for word in bytes.chunks_exact_mut(4) {
        word.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(host: u64, local: u32, length: u32, state: DmaState) -> Channel {
        let mut channel = Channel::default();
        channel.load(host, local, length, (state | DmaState::START).bits());
        channel
    }

    fn run(channel: &mut Channel, region: Option<LocalRegion>) -> Vec<(u64, u32, u32)> {
        let mut bursts = Vec::new();
        while let Some(burst) = channel.next_burst(region) {
            bursts.push((burst.host, burst.local, burst.length));
            channel.advance(burst, region, &vec![1; burst.length as usize]);
        }
        bursts
    }

    #[test]
    fn bursts_keep_to_host_lines() {
        let mut channel = started(0x1030, 0x100, 100, DmaState::empty());
        assert_eq!(
            run(&mut channel, None),
            [
                (0x1030, 0x100, 16),
                (0x1040, 0x110, 64),
                (0x1080, 0x150, 20)
            ]
        );
        assert_eq!(channel.local, 0x164);
    }

    #[test]
    fn local_address_wraps_in_its_buffer_only() {
        let region = Some(LocalRegion {
            base: 0x1000,
            limit: 0x2000,
        });
        let mut inside = started(0, 0x1FF0, 0x20, DmaState::empty());
        assert_eq!(
            run(&mut inside, region),
            [(0, 0x1FF0, 0x10), (0x10, 0x1000, 0x10)]
        );
        let mut ends_there = started(0, 0x1FF0, 0x10, DmaState::empty());
        run(&mut ends_there, region);
        assert_eq!(ends_there.local, 0x1000);
        let mut outside = started(0, 0x0FF0, 0x20, DmaState::empty());
        run(&mut outside, region);
        assert_eq!(outside.local, 0x1010);
    }

    #[test]
    fn checksum_carries_over_odd_fragments() {
        let whole = [1u8, 2, 3, 4, 5, 6, 7];
        let sum = |parts: &[&[u8]]| {
            let mut channel = Channel::default();
            for (i, part) in parts.iter().enumerate() {
                let new = if i == 0 {
                    DmaState::CHECKSUM_NEW
                } else {
                    DmaState::empty()
                };
                channel.load(0, 0, part.len() as u32, (DmaState::CHECKSUM | new).bits());
                while let Some(burst) = channel.next_burst(None) {
                    channel.advance(burst, None, part);
                }
                channel.finish(SimTime::ZERO);
            }
            channel.checksum
        };
        assert_eq!(sum(&[&whole]), 0x0102 + 0x0304 + 0x0506 + 0x0700);
        assert_eq!(sum(&[&whole[..3], &whole[3..]]), sum(&[&whole]));
    }

    #[test]
    fn reset_forgets_an_error() {
        let mut channel = started(0, 0, 64, DmaState::empty());
        let generation = channel.generation();
        channel.fail(DmaState::MASTER_ABORT);
        assert!(channel.failed() && !channel.active());
        channel.write_state(DmaState::RESET.bits());
        assert!(!channel.failed());
        assert_ne!(channel.generation(), generation);
    }
}
