//! SEND: packets that are passed on, one after the other.
//!
//! | state | what happens | next |
//! |-------|--------------|------|
//! | `IDLE` | the ring is empty | the next entry: `LOADING`, or `WAITING` if the packet is in SRAM |
//! | `LOADING` | DMA from host memory | `WAITING` |
//! | `WAITING` | the packet is in the list of acks | `LEAVING` |
//! | `WAITING_LOCAL` | the packet waits for the buffer of members on this node | `WAITING` |
//! | `LEAVING` | SEND sends it | the next hop of the same packet, more bytes of the same step, or `IDLE` |
use defs::gm::event::{BAD_SEND_MEMORY, Status};
use defs::gm::gossip::{
    DOUBLING, EXCHANGED, GOSSIP_BUFFER, GOSSIP_BYTES, MISSING, PASS_BYTES, PASS_COUNT, PASSES,
    SPREAD, WORD_BLOCK, WORD_PLACE,
};
use defs::gm::map::{BUFFER_HEADER, ROUTE_VALID};
use defs::gm::mapping::PROBE;
use defs::gm::packet::{HEADER_BYTES, MTU, first_word};
use defs::gm::port::PORT_COUNT;

use super::came::{Held, LOCAL_PACKET};
use super::group::staging;
use super::state::{
    Group, IDLE, LEAVING, LOADING, Members, PASS_BLOCK, PASS_HELD, PASS_PLACE, PASS_WHAT, WAITING,
    WAITING_LOCAL, before_of, behind, block_offset, exponent_of, length_of, operation_of,
    operation_word, origin_of, step_of, step_part,
};
use crate::places::Places;
use crate::state::{ACKS, Connection, Peer, SENDING_PASS, connection, peer, port_number};
use crate::transmit::padded;
use crate::{Gm, Nic};

/// The place of the packet in SEND's list of acks.
pub const PASSER: u32 = PROBE + 0x40;

/// Flag of an entry: recursive doubling.
pub const STEP: u32 = 1;
/// Flag of an entry: one hop only.
pub const ONE_HOP: u32 = 2;
/// Flag of an entry: the own block goes to the staging memory.
pub const STAGE: u32 = 4;
/// Flag of an entry: asks for the packet.
pub const ASK: u32 = 8;
/// All flags of an entry: they are the low bits of its group's address.
const FLAGS: u32 = 15;

const _: () = assert!(PASSES.is_multiple_of(PASS_BYTES) && PASS_COUNT.is_power_of_two());

impl<N: Nic> Gm<N> {
    /// Adds a packet to pass on. `what`: number of the operation, and `DOUBLING`.
    pub(super) fn add_pass(&mut self, group: Group, what: u32, place: u32, length: u32, held: u32) {
        let flags = if what & DOUBLING == 0 { 0 } else { STEP };
        self.add_flagged(group.address() | flags, what, place, length, held);
    }

    /// Adds an entry to the ring: a group with flags.
    pub(super) fn add_flagged(
        &mut self,
        flagged: u32,
        operation: u32,
        place: u32,
        length: u32,
        held: u32,
    ) {
        let at = self.pass_in();
        if self.pass_state() == IDLE && self.pass_out() == at {
            // Nothing waits before it.
            self.set_pass_what(flagged);
            self.set_pass_place(place);
            self.set_pass_held(held);
            self.set_pass_block(operation_word(operation, length));
            return self.begin_pass(Group::at(flagged & !FLAGS));
        }
        let next = next_entry(at);
        if next == self.pass_out() {
            // Its receiver asks for it.
            if held != 0 {
                self.release_held(held);
            }
            return;
        }
        self.nic.store(at, flagged);
        self.nic.store(at + 4, place);
        self.nic.store(at + 8, held);
        self.nic.store(at + 12, operation_word(operation, length));
        self.set_pass_in(next);
        self.start_pass();
    }

    /// Takes the next packet to pass on.
    fn start_pass(&mut self) {
        while self.pass_state() == IDLE {
            let at = self.pass_out();
            if at == self.pass_in() {
                return;
            }
            self.set_pass_out(next_entry(at));
            for (word, place) in [
                (PASS_WHAT, 0),
                (PASS_PLACE, 4),
                (PASS_HELD, 8),
                (PASS_BLOCK, 12),
            ] {
                let value = self.nic.load(at + place);
                self.nic.store(word, value);
            }
            let group = Group::at(self.pass_what() & !FLAGS);
            self.begin_pass(group);
        }
    }

    /// The packet is passed on, unless its group is closed or it has no hop.
    #[inline(always)]
    fn begin_pass(&mut self, group: Group) {
        if group.number(self) == 0 || !self.load_pass(group) {
            self.end_pass();
        }
    }

    /// Brings the packet into SRAM, if it is not there. Returns whether there is one.
    fn load_pass(&mut self, group: Group) -> bool {
        let what = self.pass_what();
        let place = self.pass_place();
        let word = self.pass_block();
        let (operation, block) = (operation_of(word), length_of(word));
        if what & ASK != 0 {
            return self.wait_for_send(GOSSIP_BUFFER + BUFFER_HEADER, 0);
        }
        if what & (STEP | STAGE) == 0 {
            let held = self.pass_held();
            if !self.has_hop(group, place) {
                return false;
            }
            if held != 0 {
                let packet = Held::at(held).packet(self);
                return self.wait_for_send(packet, block);
            }
            let before = block_offset(origin_of(place));
            return self.read_pass(group, operation, before, block, PAYLOAD);
        }
        let step = step_of(place);
        if self.is_staged(group, block) {
            let port = group.port(self);
            let staged = staging(port, self.number_of(group), operation);
            if what & STAGE != 0 {
                return self.read_pass(group, operation, 0, block, staged);
            }
            let all = self.bytes_of_step(group, step, block);
            return self.wait_for_send(staged - GOSSIP_BYTES - HEADER_BYTES, all);
        }
        let all = self.bytes_of_step(group, step, block);
        let before = before_of(place);
        if before >= all {
            return false;
        }
        let bytes = (all - before).min(MTU);
        self.read_pass(group, operation, before, bytes, PAYLOAD)
    }

    /// Reads bytes of a channel from host memory.
    fn read_pass(
        &mut self,
        group: Group,
        operation: u32,
        before: u32,
        bytes: u32,
        to: u32,
    ) -> bool {
        let channel = group.channel(operation & 1);
        let base = channel.low(self);
        let low = base.wrapping_add(before);
        let carry = u32::from(low < base);
        let high = channel.high(self).wrapping_add(carry);
        let key = group.key(self);
        let Some(pieces) = self.pieces(high, low, key, bytes) else {
            let port = group.port(self);
            self.violation(port, BAD_SEND_MEMORY, high, low);
            self.break_port(port, Status::PermissionDenied as u32);
            return false;
        };
        self.set_pass_state(LOADING);
        self.set_pass_length(bytes);
        self.start_reads(&pieces, to, bytes, GOSSIP_BUFFER);
        true
    }

    /// The packet waits for SEND, in its list of acks.
    fn wait_for_send(&mut self, header: u32, bytes: u32) -> bool {
        self.set_pass_header(header);
        self.set_pass_length(bytes);
        self.set_pass_state(WAITING);
        self.append(ACKS, PASSER, Connection::ACK_NEXT);
        true
    }

    /// The packet has come from host memory.
    #[cold]
    #[inline(never)]
    pub(crate) fn pass_loaded(&mut self) {
        let what = self.pass_what();
        if what & STAGE != 0 {
            self.set_pass_state(IDLE);
            self.own_staged(Group::at(what & !FLAGS));
            return self.start_pass();
        }
        let bytes = self.pass_length();
        self.wait_for_send(GOSSIP_BUFFER + BUFFER_HEADER, bytes);
    }

    /// Whether a block goes on to the member `2^exponent` ranks further: the tree of its origin has one for each exponent, while that does not
    /// lead around the group to the origin.
    fn has_hop(&self, group: Group, place: u32) -> bool {
        let size = group.size(self);
        let rank = group.rank(self);
        let (origin, exponent) = (origin_of(place), exponent_of(place));
        let behind = behind(rank, origin, size);
        exponent < N::LEVELS && behind + (1 << exponent) < size
    }

    /// Sends the packet that waits, the first of the list of acks.
    #[cold]
    #[inline(never)]
    pub(crate) fn send_pass(&mut self) {
        let next = Connection::at(PASSER).ack_next(self);
        ACKS.set_first(self, next);
        let what = self.pass_what();
        let group = Group::at(what & !FLAGS);
        let place = self.pass_place();
        let word = self.pass_block();
        // Asking goes the other way.
        let back = u32::from(what & STEP != 0) ^ u32::from(what & ASK != 0);
        // The exponent of a step is its number.
        let exponent = if what & STEP == 0 {
            exponent_of(place)
        } else {
            step_of(place)
        };
        // The two directions follow each other.
        let members = Members::at(group.address() + N::MEMBERS + ((back * N::MEMBER_SLOTS) << 2));
        let to = members.member(self, exponent & (N::MEMBER_SLOTS - 1));
        let (node, port) = (to >> 16, to >> 8 & 0xFF);
        let known = node < self.nodes() && port < PORT_COUNT;
        let is_local = node == self.node();
        let has_way = is_local || Peer::at(peer::<N>(node)).route(self) & ROUTE_VALID != 0;
        if !known || !has_way {
            return self.pass_left();
        }
        let bytes = self.pass_length();
        let own = port_number(group.port(self)) << 1;
        let number = group.number(self) & 0xFFFF;
        let subtype = if what & ASK != 0 {
            MISSING
        } else if what & STEP != 0 {
            EXCHANGED
        } else {
            SPREAD
        };
        // In place of a session and a sequence number.
        let sequence = number << 16 | operation_of(word);
        let lengths = bytes << 16 | port << 9 | own;
        let block = length_of(word) | if what & STEP == 0 { 0 } else { DOUBLING };
        if is_local {
            return self.pass_local(subtype, sequence, lengths, block);
        }
        let header = self.pass_header();
        let to = connection::<N>(node << 1);
        let start = self.packet_header(header, to, first_word(subtype), sequence, lengths);
        self.nic.store(header + WORD_PLACE, place);
        self.nic.store(header + WORD_BLOCK, block);
        self.set_pass_state(LEAVING);
        let end = header + HEADER_BYTES + GOSSIP_BYTES + padded(bytes);
        self.nic.send(start, header, end);
        self.set_sending(SENDING_PASS);
    }

    /// Gives a packet to a member on this node: RECV gets a copy, since the memory of the packet may be needed for its next hop.
    #[cold]
    #[inline(never)]
    fn pass_local(&mut self, subtype: u32, sequence: u32, lengths: u32, block: u32) {
        if self.local_busy() != 0 {
            return self.set_pass_state(WAITING_LOCAL);
        }
        self.set_local_busy(1);
        let place = self.pass_place();
        self.nic.store(LOCAL_PACKET + WORD_PLACE, place);
        self.nic.store(LOCAL_PACKET + WORD_BLOCK, block);
        let header = self.pass_header();
        let payload = HEADER_BYTES + GOSSIP_BYTES;
        self.copy_words(header + payload, LOCAL_PACKET + payload, lengths >> 16);
        self.set_pass_state(LEAVING);
        self.hand_local(subtype, sequence, lengths);
        self.pass_left();
    }

    /// The buffer for members on this node is free: a packet that waits for it can leave.
    pub(super) fn local_is_free(&mut self) {
        self.set_local_busy(0);
        if self.pass_state() == WAITING_LOCAL {
            self.set_pass_state(WAITING);
            self.append(ACKS, PASSER, Connection::ACK_NEXT);
        }
    }

    /// A hop is done: the next one, more bytes of the step, or the next packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn pass_left(&mut self) {
        let what = self.pass_what();
        let group = Group::at(what & !FLAGS);
        let place = self.pass_place();
        let is_open = group.number(self) != 0;
        if is_open && what & (STEP | ONE_HOP | ASK) == 0 && self.has_hop(group, place + 1) {
            // The next exponent.
            self.set_pass_place(place + 1);
            self.set_pass_state(WAITING);
            return self.append(ACKS, PASSER, Connection::ACK_NEXT);
        }
        if is_open && what & (STEP | ASK) == STEP && self.pass_header() == PACKET {
            let sent = self.pass_length();
            self.set_pass_place(place + step_part(sent, 0));
            if self.load_pass(group) {
                return;
            }
        }
        self.end_pass();
        self.start_pass();
    }

    /// Ends the passing on of a packet and releases the buffer that held it.
    fn end_pass(&mut self) {
        self.set_pass_state(IDLE);
        let held = self.pass_held();
        if held != 0 {
            self.release_held(held);
        }
    }
}

/// A packet that comes from host memory, and its payload.
const PACKET: u32 = GOSSIP_BUFFER + BUFFER_HEADER;
const PAYLOAD: u32 = PACKET + HEADER_BYTES + GOSSIP_BYTES;

/// The entry behind this one in the ring.
const fn next_entry(at: u32) -> u32 {
    PASSES | (at + PASS_BYTES) & (PASS_COUNT * PASS_BYTES - 1)
}

const _: () = assert!(PASSES.is_multiple_of(PASS_COUNT * PASS_BYTES));
