//! Sizes of recursive doubling, and copies in SRAM.
use defs::gm::gossip::STAGING_BYTES;

use crate::{Gm, Nic};

const FOUR: [u32; 4] = [0, 4, 8, 12];

/// Bytes of a step: those of `2^step` blocks, of the last step those that are left.
#[inline(always)]
pub fn step_bytes(size: u32, step: u32, block: u32) -> u32 {
    let all = size - (1 << step);
    if all >= 1 << step {
        block << step
    } else {
        product(all, block)
    }
}

/// Number of steps.
#[inline(always)]
pub const fn steps(size: u32) -> u32 {
    let mut steps = 0;
    while 1 << steps < size {
        steps += 1;
    }
    steps
}

/// Longest block of which those of all members fit into the staging memory.
pub fn longest_staged(size: u32) -> u32 {
    let (mut most, mut left) = (0, STAGING_BYTES);
    while left >= size << 2 {
        left -= size << 2;
        most += 4;
    }
    most
}

/// Product of a number of members and a length: the LANai has no multiplication.
fn product(members: u32, length: u32) -> u32 {
    let (mut left, mut part, mut sum) = (members, length, 0_u32);
    while left != 0 {
        if left & 1 != 0 {
            sum = sum.wrapping_add(part);
        }
        part <<= 1;
        left >>= 1;
    }
    sum
}

impl<N: Nic> Gm<N> {
    /// Copies payload of a received packet, which may go on at the start of the receive buffer.
    #[inline(always)]
    pub(super) fn copy_received(&mut self, from: u32, to: u32, bytes: u32) {
        let Some(ring) = N::RECEIVE_RING else {
            return self.copy_words(from, to, bytes);
        };
        let (mut from, mut at, mut left) = (from, to, bytes);
        loop {
            let part = left.min(ring.limit.wrapping_sub(from));
            self.copy_words(from, at, part);
            left -= part;
            if left == 0 {
                return;
            }
            at += part;
            from = ring.base;
        }
    }

    /// Copies bytes in SRAM, in whole words.
    #[inline(always)]
    pub(super) fn copy_words(&mut self, from: u32, to: u32, bytes: u32) {
        let (mut from, mut at) = (from, to);
        let end = to + bytes;
        // Four loads, then four stores: no store waits for the load before it.
        while at + 16 <= end {
            let words = FOUR.map(|place| self.nic.load(from + place));
            for (place, word) in FOUR.into_iter().zip(words) {
                self.nic.store(at + place, word);
            }
            at += 16;
            from += 16;
        }
        while at < end {
            let word = self.nic.load(from);
            self.nic.store(at, word);
            at += 4;
            from += 4;
        }
    }
}
