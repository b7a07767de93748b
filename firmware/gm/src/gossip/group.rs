//! SEND: groups that are opened, operations that are posted, and how far they are.
use defs::gm::collective::DESCRIPTOR_COUNT;
use defs::gm::event::Status;
use defs::gm::gossip::{
    BLOCK_BYTES, DOUBLING, GROUP_COUNT, GROUP_LIMIT, GROUP_MEMBERS, GROUP_NUMBER, LEVELS, STAGING,
    STAGING_HEADER, STAGING_ROOM, WIDE_GROUP_LAST,
};
use defs::gm::map::Counter;

use super::state::{Group, OPEN, group, hop};
use super::steps::{longest_staged, step_bytes, steps};
use crate::collective::{NO_VALUE, block};
use crate::places::Places;
use crate::slot::slot_subport;
use crate::state::{PortBlock, port_number};
use crate::{Gm, Nic};

/// Number of a port's first group among its operations.
pub const GROUP_OPERATIONS: u32 = 1 + DESCRIPTOR_COUNT;

/// Staging memory of a channel, where a packet's header begins to have room; 0 if the group has none.
#[inline(always)]
pub const fn staging(port: PortBlock, number: u32, operation: u32) -> u32 {
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
    pub(crate) fn post_group(&mut self, port: PortBlock, number: u32) {
        if number >= GROUP_COUNT || !self.has_operations() {
            return self.count(Counter::BadPosts);
        }
        let group = group::<N>(port, number);
        let from = defs::gm::gossip::group_descriptor(port_number(port), number);
        // RECV sees the group last.
        group.set_number(self, 0);
        let mut at = 4;
        while at < N::GROUP_COPIED {
            let word = self.nic.load(from + at);
            self.nic.store(group.address() + at, word);
            at += 4;
        }
        let word = self.nic.load(from + GROUP_NUMBER);
        let (mut size, mut rank) = ((word & 0xFF) + 1, word >> 8 & 0xFF);
        if N::WIDE_GROUPS {
            (size, rank) = self.wide_group(group, from);
        }
        let key = port.key(self);
        let staged = match number {
            0 => longest_staged(size),
            _ => 0,
        };
        group.write(
            self,
            [
                (Group::STEPS, steps(size)),
                (Group::STAGED_MOST, staged),
                (Group::SIZE, size),
                (Group::RANK, rank),
                (Group::POSTED, 0),
                (Group::ACTIVE, 0),
                (Group::PORT, port.address()),
                (Group::KEY, key),
            ],
        );
        for (from, to) in N::COUNTED {
            self.clear(group.address() + from, group.address() + to);
        }
        const { assert!(GROUP_LIMIT == 1 << LEVELS && LEVELS == 8) }
        if rank < size {
            group.set_number(self, word >> 16 | OPEN);
        } else {
            self.count(Counter::BadPosts);
        }
    }

    /// The members of a wide group have a place of their own, with room for more of them. Returns the number of members and the own rank.
    fn wide_group(&mut self, group: Group, from: u32) -> (u32, u32) {
        let levels = N::LEVELS << 2;
        for back in 0..2 {
            let to = group.address() + N::MEMBERS + ((back * N::MEMBER_SLOTS) << 2);
            let first = from + GROUP_MEMBERS + if back == 0 { 0 } else { levels };
            self.copy_words(first, to, levels);
        }
        let last = self.nic.load(from + WIDE_GROUP_LAST) & ((1 << N::LEVELS) - 1);
        let rank = self.nic.load(from + GROUP_NUMBER) & 0xFFFF;
        (last + 1, rank)
    }

    /// A process has posted an all-to-all broadcast.
    #[inline(never)]
    pub(crate) fn post_gossip(&mut self, port: PortBlock, word: u32, length: u32) {
        let number = slot_subport(word);
        if number >= GROUP_COUNT || !self.has_operations() {
            return self.count(Counter::BadPosts);
        }
        let group = group::<N>(port, number);
        let operation = GROUP_OPERATIONS + number;
        let broken = block(port).broken(self);
        if group.active(self) != 0 {
            return self.count(Counter::BadPosts);
        }
        if broken != 0 {
            return self.finish(port, operation, broken - 1, NO_VALUE);
        }
        let sound = length != 0 && length & 3 == 0 && length <= BLOCK_BYTES;
        if group.number(self) == 0 || !sound {
            return self.finish(port, operation, Status::InvalidParameter as u32, NO_VALUE);
        }
        let posted = group.posted(self).wrapping_add(1) & 0xFFFF;
        let all = if word & DOUBLING == 0 {
            group.size(self) - 1
        } else {
            (1 << group.steps(self)) - 1
        };
        let now = self.now();
        let ask = now.wrapping_add(self.resend_ticks());
        let fails_at = now.wrapping_add(self.collective_ticks());
        group.write(
            self,
            [
                (Group::POSTED, posted),
                (Group::ACTIVE, 1),
                (Group::ALL, all),
                (Group::BLOCK, length | word & DOUBLING),
                (Group::DEADLINE, ask),
                (Group::FAILS_AT, fails_at),
                (Group::STEP, 0),
            ],
        );
        self.watch(port);
        self.begin_counts(group, posted);
        if word & DOUBLING == 0 {
            let rank = group.rank(self);
            self.add_pass(group, posted, hop(rank, 0), length, 0);
        } else {
            self.begin_doubling(group, posted, length);
        }
        self.look_at_group(group);
    }

    /// Counts blocks of an operation in its channel.
    fn begin_counts(&mut self, group: Group, operation: u32) {
        let counts = group.counts_of(operation);
        if counts.operation(self) != operation {
            counts.set_operation(self, operation);
            counts.set_done(self, 0);
        }
    }

    /// Whether blocks of this length are combined in staging memory.
    #[inline(always)]
    pub(super) fn is_staged(&self, group: Group, length: u32) -> bool {
        length <= group.staged_most(self)
    }

    /// The number of a group among those of its port.
    #[inline(always)]
    pub(super) fn number_of(&self, group: Group) -> u32 {
        group.address() >> N::GROUP_BITS & 1
    }

    /// The first bytes of recursive doubling: the own block is staged, or sent from host memory.
    fn begin_doubling(&mut self, group: Group, operation: u32, length: u32) {
        if self.is_staged(group, length) {
            self.stage_own(group, operation, length);
        } else {
            self.next_step(group);
        }
    }

    /// A block has come, or a step is complete.
    pub(super) fn take_block(&mut self, group: Group, operation: u32, doubling: bool, step: u32) {
        if group.number(self) == 0 {
            return;
        }
        self.begin_counts(group, operation);
        let counts = group.counts_of(operation);
        let count = counts.done(self);
        let after = if doubling {
            count | 1 << step
        } else {
            count + 1
        };
        counts.set_done(self, after);
        if group.active(self) == 0 || group.posted(self) != operation {
            return self.count(Counter::Unexpected);
        }
        let now = self.now();
        let ask = now.wrapping_add(self.resend_ticks());
        group.set_deadline(self, ask);
        if doubling && group.step(self) & OWN_STAGING == 0 {
            self.next_step(group);
        }
        self.look_at_group(group);
    }

    /// Sends the steps of recursive doubling whose bytes are there.
    pub(super) fn next_step(&mut self, group: Group) {
        let steps = group.steps(self);
        let operation = group.posted(self);
        let length = group.block(self) & !DOUBLING;
        let done = group.counts_of(operation).done(self);
        let mut step = group.step(self) & !OWN_STAGING;
        while step < steps && done & ((1 << step) - 1) == (1 << step) - 1 {
            self.add_pass(group, operation | DOUBLING, step, length, 0);
            step += 1;
        }
        group.set_step(self, step);
    }

    /// The operation is complete if all blocks are there.
    pub(super) fn look_at_group(&mut self, group: Group) {
        let operation = group.posted(self);
        let count = group.counts_of(operation).done(self);
        if count != group.all(self) || group.step(self) & OWN_STAGING != 0 {
            return;
        }
        group.set_active(self, 0);
        let port = group.port(self);
        let number = self.number_of(group);
        let word = group.block(self);
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
    pub(super) fn own_staged(&mut self, group: Group) {
        let step = group.step(self) & !OWN_STAGING;
        group.set_step(self, step);
        if group.active(self) != 0 {
            self.next_step(group);
            self.look_at_group(group);
        }
    }

    /// Bytes of a step of the group's operation.
    pub(super) fn bytes_of_step(&self, group: Group, step: u32, length: u32) -> u32 {
        if step + 1 < group.steps(self) {
            return length << step;
        }
        step_bytes(group.size(self), step, length)
    }

    /// The groups of a port are closed.
    pub(crate) fn close_groups(&mut self, port: PortBlock) {
        for number in 0..GROUP_COUNT {
            let group = group::<N>(port, number);
            group.set_number(self, 0);
            group.set_active(self, 0);
        }
    }

    /// Whether a group of a port has an operation under way.
    pub(crate) fn has_gossip(&self, port: PortBlock) -> bool {
        group::<N>(port, 0).active(self) | group::<N>(port, 1).active(self) != 0
    }

    /// The operations of a port's groups fail.
    pub(crate) fn break_groups(&mut self, port: PortBlock, status: u32) {
        for number in 0..GROUP_COUNT {
            let group = group::<N>(port, number);
            if group.active(self) != 0 {
                group.set_active(self, 0);
                self.finish(port, GROUP_OPERATIONS + number, status, NO_VALUE);
            }
        }
    }
}

/// In `Group::STEP`: the own block is on its way to the staging memory.
pub const OWN_STAGING: u32 = 1 << 31;
