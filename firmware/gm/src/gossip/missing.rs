//! SEND: what RECV tells of packets, and what a member asks for that has not come.
use defs::gm::gossip::{DOUBLING, GROUP_COUNT, GROUPS, PASSES};

use super::came::{ASKED, ASKED_STEP, BLOCK_CAME, LOCAL_FREE, News, PASS_ON, STEP_CAME};
use super::group::OWN_STAGING;
use super::pass::{ASK, ONE_HOP, STAGE, STEP, STEP_BITS};
use super::state::{Group, group, received};
use crate::state::Port;
use crate::timer::is_reached;
use crate::{Gm, Nic};

/// Blocks that a member asks for at a time.
const ASK_LIMIT: u32 = 4;

const _: () = assert!(LOCAL_FREE < 8);

impl<N: Nic> Gm<N> {
    /// Prepares the words of all-to-all broadcasts.
    pub(crate) fn prepare_gossip(&mut self) {
        self.set_pass_in(PASSES);
        self.set_pass_out(PASSES);
        self.set_pass_state(0);
        self.set_local_busy(0);
        let mut group = GROUPS;
        while group < PASSES {
            Group::at(group).set_number(self, 0);
            Group::at(group).set_active(self, 0);
            group += defs::gm::gossip::GROUP_BYTES;
        }
        self.prepare_held();
    }

    /// RECV has taken a packet.
    #[inline(never)]
    pub(crate) fn take_news(&mut self, news: News) {
        let group = Group::at(news.what & !7);
        let (operation, length) = (news.block >> 16, news.block & 0xFFFF);
        match news.what & 7 {
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
        let at = received(group.address(), operation);
        let bits = self.nic.load(at + 4 + ((rank >> 5) << 2));
        let came = self.nic.load(at) == operation && bits >> (rank & 31) & 1 != 0;
        came || rank == group.rank(self)
    }

    /// Sends a block again to a member that asks for it.
    fn answer_block(&mut self, group: Group, operation: u32, place: u32, length: u32) {
        let origin = place >> 16;
        if self.has_block(group, operation, origin) {
            self.add_flagged(group.address() | ONE_HOP, operation, place, length, 0);
        }
    }

    /// Sends the bytes of a step again, if those of all steps before are here.
    fn answer_step(&mut self, group: Group, operation: u32, place: u32, length: u32) {
        let step = place & ((1 << STEP_BITS) - 1);
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
    pub(crate) fn look_at_groups(&mut self, port: Port, now: u32) -> bool {
        let mut late = false;
        for number in 0..GROUP_COUNT {
            let group = group(port, number);
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
                let behind = if rank >= origin {
                    rank - origin
                } else {
                    rank + size - origin
                };
                let mut hop = 0;
                while behind >> (hop + 1) != 0 {
                    hop += 1;
                }
                let place = origin << 16 | hop;
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
        let received = group.received(operation);
        let got = match received.operation(self) == operation {
            true => received.word(self, step),
            false => 0,
        };
        let place = got << STEP_BITS | step;
        self.add_flagged(group.address() | ASK | STEP, operation, place, length, 0);
    }
}
