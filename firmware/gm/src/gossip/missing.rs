//! SEND: what RECV tells of packets, and what a member asks for that has not come.
use defs::gm::gossip::{DOUBLING, GROUP_COUNT, PASSES};

use super::came::{ASKED, ASKED_STEP, BLOCK_CAME, LOCAL_FREE, NEWS_MASK, News, PASS_ON, STEP_CAME};
use super::group::OWN_STAGING;
use super::pass::{ASK, ONE_HOP, STAGE, STEP};
use super::state::{
    Group, behind, group, groups_end, hop, length_of, operation_of, origin_of, step_of, step_part,
};
use crate::places::Places;
use crate::state::PortBlock;
use crate::timer::is_reached;
use crate::{Gm, Nic};

/// Blocks that a member asks for at a time.
const ASK_LIMIT: u32 = 4;

const _: () = assert!(LOCAL_FREE <= NEWS_MASK);

impl<N: Nic> Gm<N> {
    /// Prepares the words of all-to-all broadcasts.
    pub(crate) fn prepare_gossip(&mut self) {
        self.set_pass_in(PASSES);
        self.set_pass_out(PASSES);
        self.set_pass_state(0);
        self.set_local_busy(0);
        let mut group = N::GROUPS;
        let end = groups_end::<N>();
        while group < end {
            Group::at(group).set_number(self, 0);
            Group::at(group).set_active(self, 0);
            group += 1 << N::GROUP_BITS;
        }
        self.prepare_held();
    }

    /// RECV has taken a packet.
    #[inline(never)]
    pub(crate) fn take_news(&mut self, news: News) {
        let group = Group::at(news.what & !NEWS_MASK);
        let (operation, length) = (operation_of(news.block), length_of(news.block));
        match news.what & NEWS_MASK {
            BLOCK_CAME => self.take_block(group, operation, false, 0),
            STEP_CAME => self.take_block(group, operation, true, news.place),
            PASS_ON => self.add_pass(group, operation, news.place, length, 0),
            ASKED => self.answer_block(group, operation, news.place, length),
            ASKED_STEP => self.answer_step(group, operation, news.place, length),
            LOCAL_FREE => self.local_is_free(),
            _ => {}
        }
    }

    /// Whether the block of a rank is here.
    pub(super) fn has_block(&self, group: Group, operation: u32, rank: u32) -> bool {
        if rank >= group.size(self) {
            return false;
        }
        let received = group.received::<N>(operation);
        let bits = received.word(self, rank >> 5);
        let came = received.operation(self) == operation && bits >> (rank & 31) & 1 != 0;
        came || rank == group.rank(self)
    }

    /// Sends a block again to a member that asks for it.
    fn answer_block(&mut self, group: Group, operation: u32, place: u32, length: u32) {
        let origin = origin_of(place);
        if self.has_block(group, operation, origin) {
            self.add_flagged(group.address() | ONE_HOP, operation, place, length, 0);
        }
    }

    /// Sends the bytes of a step again, if those of all steps before are here.
    fn answer_step(&mut self, group: Group, operation: u32, place: u32, length: u32) {
        let step = step_of(place);
        let counts = group.counts_of(operation);
        let known = counts.operation(self) == operation && step < group.steps(self);
        let before = (1 << step) - 1;
        let own = group.step(self) & OWN_STAGING;
        if known && own == 0 && counts.done(self) & before == before {
            self.add_pass(group, operation | DOUBLING, place, length, 0);
        }
    }

    /// The own block goes to the staging memory.
    pub(super) fn stage_own(&mut self, group: Group, operation: u32, length: u32) {
        group.set_step(self, OWN_STAGING);
        self.add_flagged(group.address() | STAGE, operation, 0, length, 0);
    }

    /// A tick: the groups of a port ask for what is missing. Returns whether an operation has taken too long.
    pub(crate) fn look_at_groups(&mut self, port: PortBlock, now: u32) -> bool {
        let mut late = false;
        for number in 0..GROUP_COUNT {
            let group = group::<N>(port, number);
            if group.active(self) != 0 {
                let fails_at = group.fails_at(self);
                late |= is_reached(fails_at, now);
                let deadline = group.deadline(self);
                if is_reached(deadline, now) {
                    let next = now.wrapping_add(self.resend_ticks());
                    group.set_deadline(self, next);
                    self.ask(group);
                }
            }
        }
        late
    }

    /// Asks for packets that have not come.
    fn ask(&mut self, group: Group) {
        let operation = group.posted(self);
        let word = group.block(self);
        let length = word & !DOUBLING;
        let step = group.step(self);
        if word & DOUBLING == 0 {
            self.ask_for_blocks(group, operation, length);
        } else if step & OWN_STAGING != 0 {
            // The entry may have found no place in the ring.
            self.add_flagged(group.address() | STAGE, operation, 0, length, 0);
        } else {
            self.ask_for_step(group, operation, length);
        }
    }

    /// Asks for the first blocks that have not come, each from the member one hop before this one on its tree.
    fn ask_for_blocks(&mut self, group: Group, operation: u32, length: u32) {
        let size = group.size(self);
        let rank = group.rank(self);
        let mut left = ASK_LIMIT;
        let mut origin = 0;
        while origin < size && left != 0 {
            if !self.has_block(group, operation, origin) {
                // The last hop to this member goes over the highest power of two in the number of ranks that it is behind.
                let behind = behind(rank, origin, size);
                let mut exponent = 0;
                while behind >> (exponent + 1) != 0 {
                    exponent += 1;
                }
                let place = hop(origin, exponent);
                self.add_flagged(group.address() | ASK, operation, place, length, 0);
                left -= 1;
            }
            origin += 1;
        }
    }

    /// Asks for the bytes of the first step that is not complete, from those on that have come.
    fn ask_for_step(&mut self, group: Group, operation: u32, length: u32) {
        let done = group.counts_of(operation).done(self);
        let mut step = 0;
        while done >> step & 1 != 0 {
            step += 1;
        }
        let steps = group.steps(self);
        if step >= steps {
            return;
        }
        let received = group.received::<N>(operation);
        let got = match received.operation(self) == operation {
            true => received.word(self, step),
            false => 0,
        };
        let place = step_part(got, step);
        self.add_flagged(group.address() | ASK | STEP, operation, place, length, 0);
    }
}
