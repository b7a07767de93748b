//! Chains of DMA blocks in local memory, for LANai 7 and 9 (docs/lanai.md, section 3.9).

use super::host_dma::{Transfer, fold};
use super::sram::Sram;
use emulator_cpu::lanai::bus::Width;
use emulator_state::state;

/// Number of channels.
pub const CHANNELS: usize = 4;

/// Bytes of a block: next and flags, two sums of 16 bits, length, local address, upper and lower host address.
pub const BLOCK_BYTES: u32 = 24;

/// Flag of a block: from the host to the LANai.
pub const FROM_HOST: u32 = 1;
/// Flag of a block: the engine waits here.
pub const TERMINAL: u32 = 2;
/// Flag of a block: raises WAKE once it is done.
pub const WAKE: u32 = 4;

const FLAGS: u32 = 7;

/// The channels.
#[derive(Debug, Default)]
pub struct Chains {
    /// Address of the next block of each channel.
    pointers: [u32; CHANNELS],
    /// Whether the channel looks for blocks.
    awake: [bool; CHANNELS],
    /// The channel that is asked first.
    first: usize,
}

state!(Chains {
    pointers,
    awake,
    first
});

impl Chains {
    /// Address of a channel's next block.
    #[must_use]
    pub fn pointer(&self, channel: usize) -> u32 {
        self.pointers.get(channel).copied().unwrap_or(0)
    }

    /// Sets the address of a channel's next block.
    pub fn set_pointer(&mut self, channel: usize, address: u32) {
        if let Some(pointer) = self.pointers.get_mut(channel) {
            *pointer = address;
        }
    }

    /// Makes channels look for blocks: a bit for each.
    pub fn wake(&mut self, channels: u32) {
        for (channel, awake) in self.awake.iter_mut().enumerate() {
            *awake |= channels >> channel & 1 != 0;
        }
    }

    /// The next block: channels take turns, block by block. A channel that finds TERMINAL rests.
    pub fn next(&mut self, sram: &Sram) -> Option<Transfer> {
        for turn in 0..CHANNELS {
            let channel = (self.first + turn) % CHANNELS;
            if !self.awake[channel] {
                continue;
            }
            let at = self.pointers[channel] & !FLAGS;
            let word = |index: u32| sram.word(at.wrapping_add(4 * index));
            let flags = word(0);
            if flags & TERMINAL != 0 {
                self.awake[channel] = false;
                continue;
            }
            self.first = (channel + 1) % CHANNELS;
            return Some(Transfer {
                to_host: flags & FROM_HOST == 0,
                left: word(2),
                local: word(3),
                host: u64::from(word(4)) << 32 | u64::from(word(5)),
                sum: 0,
                block: Some((channel as u8, at)),
            });
        }
        None
    }

    /// A block is done: it becomes TERMINAL, and the channel goes on with the next one. Returns whether WAKE comes up.
    pub fn done(&mut self, channel: u8, block: u32, sum: u32, sram: &mut Sram) -> bool {
        let next = sram.word(block);
        sram.write(block.wrapping_add(6), Width::Half, fold(sum).into());
        sram.set_word(block, next | TERMINAL);
        // The last block of a chain stays the channel's.
        if next & !FLAGS != 0 {
            self.set_pointer(channel.into(), next & !FLAGS);
        }
        next & WAKE != 0
    }

    /// Host memory did not answer: the channel rests at the block.
    pub fn fail(&mut self, channel: u8) {
        if let Some(awake) = self.awake.get_mut(usize::from(channel)) {
            *awake = false;
        }
    }
}

/// The channels of a value of PULSE, a bit for each: 2 is channel 0, 4 is channel 2.
#[must_use]
pub const fn pulsed(value: u32) -> u32 {
    (value >> 1 & 1) | (value & 1) << 1 | (value >> 2 & 1) << 2 | (value >> 3 & 1) << 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_take_turns_up_to_terminal() {
        let mut sram = Sram::new(256 << 10);
        let block = |sram: &mut Sram, at: u32, next, length| {
            for (index, word) in [next, 0xAAAA_BBBB, length, 0x800, 1, 0x1000]
                .into_iter()
                .enumerate()
            {
                sram.set_word(at + 4 * index as u32, word);
            }
        };
        block(&mut sram, 0x100, 0x118 | WAKE, 1);
        block(&mut sram, 0x118, 0x100 | FROM_HOST, 2);
        block(&mut sram, 0x200, FROM_HOST, 3);
        let mut chains = Chains::default();
        chains.set_pointer(0, 0x100);
        chains.set_pointer(2, 0x200);
        assert_eq!(chains.next(&sram), None);
        chains.wake(pulsed(2) | pulsed(4));
        let mut seen = Vec::new();
        while let Some(transfer) = chains.next(&sram) {
            let (channel, at) = transfer.block.unwrap();
            assert_eq!((transfer.host, transfer.local), (0x1_0000_1000, 0x800));
            let wake = chains.done(channel, at, 0x0002_0003, &mut sram);
            seen.push((channel, at, transfer.to_host, transfer.left, wake));
        }
        let expected = [
            (0, 0x100, true, 1, true),
            (2, 0x200, false, 3, false),
            (0, 0x118, false, 2, false),
        ];
        assert_eq!(seen, expected);
        assert_eq!((chains.pointer(0), chains.pointer(2)), (0x100, 0x200));
        assert_eq!(sram.word(0x104), 0xAAAA_0005);
        assert_eq!(sram.word(0x118), 0x100 | FROM_HOST | TERMINAL);
    }

    #[test]
    fn pulse_bits() {
        let check = |value, channels| assert_eq!(pulsed(value), channels);
        check(2, 1);
        check(4, 1 << 2);
        check(1, 1 << 1);
        check(8, 1 << 3);
        check(0xFFFF_FFF0, 0);
    }
}
