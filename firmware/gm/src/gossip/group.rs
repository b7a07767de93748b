//! SEND: groups that are opened, operations that are posted, and how far they are.

use defs::gm::collective::DESCRIPTOR_COUNT;
use defs::gm::event::Status;
use defs::gm::gossip::{
    BLOCK_BYTES, DOUBLING, GROUP_COUNT, GROUP_LIMIT, GROUP_NUMBER, GROUP_USED_BYTES, LEVELS,
    STAGING, STAGING_HEADER, STAGING_ROOM,
};
use defs::gm::map::{COLLECTIVE_TICKS, Counter, RESEND_TICKS};

use super::state::{
    G_ACTIVE, G_ALL, G_BLOCK, G_COUNTS, G_DEADLINE, G_FATAL, G_KEY, G_NUMBER, G_PORT, G_POSTED,
    G_RANK, G_RECEIVED, G_SIZE, G_STAGED_MOST, G_STEP, G_STEPS, RECEIVED_BYTES, counts, group,
};
use super::steps::{longest_staged, step_bytes, steps};
use crate::collective::{NO_VALUE, block};
use crate::state::{NOW, Port, port_number};
use crate::{Gm, Nic};

/// Number of a port's first group among its operations.
pub const GROUP_OPERATIONS: u32 = 1 + DESCRIPTOR_COUNT;

/// Staging memory of a channel, where a packet's header begins to have room; 0 if the group has none.
#[inline(always)]
pub const fn staging(port: Port, number: u32, operation: u32) -> u32 {
    const { assert!(STAGING_ROOM == (1 << 12) + (1 << 6) && STAGING_HEADER == 1 << 6) }
    if number != 0 {
        return 0;
    }
    let place = (port_number(port) << 1) + (operation & 1);
    STAGING + (place << 12) + (place << 6) + STAGING_HEADER
}

impl<N: Nic> Gm<N> {
    /// A process has posted a group.
    #[inline(never)]
    pub(crate) fn post_group(&mut self, port: Port, number: u32) {
        if number >= GROUP_COUNT || self.nic.load(COLLECTIVE_TICKS) == 0 {
            return self.count(Counter::BadPosts);
        }
        let group = group(port, number);
        let from = defs::gm::gossip::group_descriptor(port_number(port), number);
        // RECV sees the group last.
        self.nic.store(group + G_NUMBER, 0);
        let mut at = 4;
        while at < GROUP_USED_BYTES {
            let word = self.nic.load(from + at);
            self.nic.store(group + at, word);
            at += 4;
        }
        let word = self.nic.load(from + GROUP_NUMBER);
        let (size, rank) = ((word & 0xFF) + 1, word >> 8 & 0xFF);
        let key = port.key(self);
        let staged = match number {
            0 => longest_staged(size),
            _ => 0,
        };
        for (place, value) in [
            (G_STEPS, steps(size)),
            (G_STAGED_MOST, staged),
            (G_SIZE, size),
            (G_RANK, rank),
            (G_POSTED, 0),
            (G_ACTIVE, 0),
            (G_PORT, port.address()),
            (G_KEY, key),
        ] {
            self.nic.store(group + place, value);
        }
        self.clear(group + G_COUNTS, group + G_COUNTS + 16);
        self.clear(group + G_RECEIVED, group + G_RECEIVED + 2 * RECEIVED_BYTES);
        const { assert!(GROUP_LIMIT == 1 << LEVELS && LEVELS == 8) }
        if rank < size {
            self.nic.store(group + G_NUMBER, word >> 16 | 1 << 16);
        } else {
            self.count(Counter::BadPosts);
        }
    }

    /// A process has posted an all-to-all broadcast.
    #[inline(never)]
    pub(crate) fn post_gossip(&mut self, port: Port, word: u32, length: u32) {
        let number = word >> 8 & 0xFF;
        if number >= GROUP_COUNT || self.nic.load(COLLECTIVE_TICKS) == 0 {
            return self.count(Counter::BadPosts);
        }
        let group = group(port, number);
        let operation = GROUP_OPERATIONS + number;
        let broken = block(port).broken(self);
        if self.nic.load(group + G_ACTIVE) != 0 {
            return self.count(Counter::BadPosts);
        }
        if broken != 0 {
            return self.finish(port, operation, broken - 1, NO_VALUE);
        }
        let sound = length != 0 && length & 3 == 0 && length <= BLOCK_BYTES;
        if self.nic.load(group + G_NUMBER) == 0 || !sound {
            return self.finish(port, operation, Status::InvalidParameter as u32, NO_VALUE);
        }
        let posted = self.nic.load(group + G_POSTED).wrapping_add(1) & 0xFFFF;
        let all = if word & DOUBLING == 0 {
            self.nic.load(group + G_SIZE) - 1
        } else {
            (1 << self.nic.load(group + G_STEPS)) - 1
        };
        let now = self.nic.load(NOW);
        let ask = now.wrapping_add(self.nic.load(RESEND_TICKS));
        let fatal = now.wrapping_add(self.nic.load(COLLECTIVE_TICKS));
        for (place, value) in [
            (G_POSTED, posted),
            (G_ACTIVE, 1),
            (G_ALL, all),
            (G_BLOCK, length | word & DOUBLING),
            (G_DEADLINE, ask),
            (G_FATAL, fatal),
            (G_STEP, 0),
        ] {
            self.nic.store(group + place, value);
        }
        self.watch(port);
        self.begin_counts(group, posted);
        if word & DOUBLING == 0 {
            let rank = self.nic.load(group + G_RANK);
            self.add_pass(group, posted, rank << 16, length, 0);
        } else {
            self.begin_doubling(group, posted, length);
        }
        self.look_at_group(group);
    }

    /// Counts blocks of an operation in its channel.
    fn begin_counts(&mut self, group: u32, operation: u32) {
        let at = counts(group, operation);
        if self.nic.load(at) != operation {
            self.nic.store(at, operation);
            self.nic.store(at + 4, 0);
        }
    }

    /// Whether blocks of this length are combined in staging memory.
    #[inline(always)]
    pub(super) fn is_staged(&self, group: u32, length: u32) -> bool {
        length <= self.nic.load(group + G_STAGED_MOST)
    }

    /// The number of a group among those of its port.
    #[inline(always)]
    pub(super) fn number_of(&self, group: u32) -> u32 {
        group >> 9 & 1
    }

    /// The first bytes of recursive doubling: the own block is staged, or sent from host memory.
    fn begin_doubling(&mut self, group: u32, operation: u32, length: u32) {
        if self.is_staged(group, length) {
            self.stage_own(group, operation, length);
        } else {
            self.next_step(group);
        }
    }

    /// A block has come, or a step is complete.
    pub(super) fn take_block(&mut self, group: u32, operation: u32, doubling: bool, step: u32) {
        if self.nic.load(group + G_NUMBER) == 0 {
            return;
        }
        self.begin_counts(group, operation);
        let at = counts(group, operation) + 4;
        let count = self.nic.load(at);
        let after = if doubling {
            count | 1 << step
        } else {
            count + 1
        };
        self.nic.store(at, after);
        if self.nic.load(group + G_ACTIVE) == 0 || self.nic.load(group + G_POSTED) != operation {
            return self.count(Counter::Unexpected);
        }
        let now = self.nic.load(NOW);
        let ask = now.wrapping_add(self.nic.load(RESEND_TICKS));
        self.nic.store(group + G_DEADLINE, ask);
        if doubling && self.nic.load(group + G_STEP) & OWN_STAGING == 0 {
            self.next_step(group);
        }
        self.look_at_group(group);
    }

    /// Sends the steps of recursive doubling whose bytes are there.
    pub(super) fn next_step(&mut self, group: u32) {
        let steps = self.nic.load(group + G_STEPS);
        let operation = self.nic.load(group + G_POSTED);
        let length = self.nic.load(group + G_BLOCK) & !DOUBLING;
        let done = self.nic.load(counts(group, operation) + 4);
        let mut step = self.nic.load(group + G_STEP) & !OWN_STAGING;
        while step < steps && done & ((1 << step) - 1) == (1 << step) - 1 {
            self.add_pass(group, operation | DOUBLING, step, length, 0);
            step += 1;
        }
        self.nic.store(group + G_STEP, step);
    }

    /// The operation is complete if all blocks are there.
    pub(super) fn look_at_group(&mut self, group: u32) {
        let operation = self.nic.load(group + G_POSTED);
        let count = self.nic.load(counts(group, operation) + 4);
        if count != self.nic.load(group + G_ALL) || self.nic.load(group + G_STEP) & OWN_STAGING != 0
        {
            return;
        }
        self.nic.store(group + G_ACTIVE, 0);
        let port = Port::at(self.nic.load(group + G_PORT));
        let number = self.number_of(group);
        let word = self.nic.load(group + G_BLOCK);
        let length = word & !DOUBLING;
        if word & DOUBLING != 0 && self.is_staged(group, length) {
            self.hand_staged(group, operation, length);
        }
        self.finish(
            port,
            GROUP_OPERATIONS + number,
            Status::Success as u32,
            NO_VALUE,
        );
    }

    /// The own block is in the staging memory.
    pub(super) fn own_staged(&mut self, group: u32) {
        let step = self.nic.load(group + G_STEP) & !OWN_STAGING;
        self.nic.store(group + G_STEP, step);
        if self.nic.load(group + G_ACTIVE) != 0 {
            self.next_step(group);
            self.look_at_group(group);
        }
    }

    /// Bytes of a step of the group's operation.
    pub(super) fn bytes_of_step(&self, group: u32, step: u32, length: u32) -> u32 {
        if step + 1 < self.nic.load(group + G_STEPS) {
            return length << step;
        }
        step_bytes(self.nic.load(group + G_SIZE), step, length)
    }

    /// The groups of a port are closed.
    pub(crate) fn close_groups(&mut self, port: Port) {
        for number in 0..GROUP_COUNT {
            let group = group(port, number);
            self.nic.store(group + G_NUMBER, 0);
            self.nic.store(group + G_ACTIVE, 0);
        }
    }

    /// Whether a group of a port has an operation under way.
    pub(crate) fn has_gossip(&self, port: Port) -> bool {
        self.nic.load(group(port, 0) + G_ACTIVE) | self.nic.load(group(port, 1) + G_ACTIVE) != 0
    }

    /// The operations of a port's groups fail.
    pub(crate) fn break_groups(&mut self, port: Port, status: u32) {
        for number in 0..GROUP_COUNT {
            let group = group(port, number);
            if self.nic.load(group + G_ACTIVE) != 0 {
                self.nic.store(group + G_ACTIVE, 0);
                self.finish(port, GROUP_OPERATIONS + number, status, NO_VALUE);
            }
        }
    }
}

/// In `G_STEP`: the own block is on its way to the staging memory.
pub const OWN_STAGING: u32 = 1 << 31;
