//! RECV: packets of all-to-all broadcasts go into the channels of their groups.
//!
//! A channel is the process's memory for the blocks of one operation. A packet whose DMA there is not the end of it (it is passed on, or
//! completes a step) gets a [`Held`] entry: the cookie of its DMA names the entry, and [`Gm::held_written`] does the rest when the DMA is
//! complete.
use defs::gm::event::BAD_RECEIVE_MEMORY;
use defs::gm::gossip::{
    BLOCK_BYTES, DOUBLING, EXCHANGED, GOSSIP_BYTES, GOSSIP_LOCAL, GROUP_COUNT, HELD, HELD_BYTES,
    HELD_COUNT, LEVELS, MISSING, WORD_BLOCK, WORD_PLACE,
};
use defs::gm::map::{BUFFER_HEADER, Counter};
use defs::gm::packet::{HEADER_BYTES, MTU};
use defs::gm::port::PORT_COUNT;
use defs::record;

use super::group::staging;
use super::state::{
    Group, OPEN, Received, before_of, behind, block_offset, exponent_of, group, operation_word,
    origin_of, step_of, wide_received_bytes,
};
use super::steps::step_bytes;
use crate::places::Places;
use crate::receive::Packet;
use crate::state::{Connection, LAST_WRITE, port_block};
use crate::transmit::padded;
use crate::{Gm, Nic};

/// First cookie of a DMA whose packet has an entry: a cookie for each 8 bytes of entries' addresses.
pub const HELD_COOKIES: u32 = LAST_WRITE + 4;
/// Last cookie of DMA whose packet has an entry.
pub const HELD_COOKIES_END: u32 = LAST_WRITE + 4 * HELD_COUNT;

record! {
    /// Entry of a received packet whose DMA is not the end of it.
    pub struct Held {
        /// Address of the packet, 0 for an answer without one; of a free entry the next free one.
        packet, set_packet, PACKET: u32 = 0;
        /// DMA and passing on that the packet waits for, and the news that SEND gets then.
        state, set_state: u32 = 4;
        /// Group of the packet.
        group, set_group: Group = 8;
        /// [`News::place`] for SEND.
        place, set_place: u32 = 12;
        /// [`News::block`] for SEND.
        block, set_block: u32 = 16;
    }
}

/// State of an entry: its DMA is under way.
const WRITTEN: u32 = 1;
/// State of an entry: it is being passed on.
const PASSED: u32 = 2;
/// State of an entry: it is passed on from host memory after its DMA.
const PASS_LATER: u32 = 4;
/// State of an entry: it completes a step.
const ENDS_STEP: u32 = 8;
/// State of an entry: its packet is of this node; nothing follows its DMA.
const OF_THIS_NODE: u32 = 128;
/// Position of what a member asks for, in the state of an entry without a packet.
const ASKED_SHIFT: u32 = 4;

const _: () = assert!(HELD_BYTES == 1 << 5);

/// The cookie of the DMA of a packet with an entry.
#[inline(always)]
const fn cookie_of(held: u32) -> u32 {
    HELD_COOKIES + ((held - HELD) >> 3)
}

/// The entry that the cookie of a DMA names.
#[inline(always)]
const fn held_of(cookie: u32) -> u32 {
    HELD + ((cookie - HELD_COOKIES) << 3)
}

/// Most received packets that are kept to be passed on from their memory: other packets need receive buffers too. Further ones are passed
/// on from host memory.
const KEEP_LIMIT: u32 = 8;

/// News of a packet that RECV has for SEND.
#[derive(Clone, Copy)]
pub struct News {
    /// The group, and what has happened ([`NEWS_MASK`]).
    pub what: u32,
    /// Word 6 of the packet (`Piece::place`); of a complete step its number.
    pub place: u32,
    /// Operation and length of a block ([`operation_word`]).
    pub block: u32,
}

/// Bits of [`News::what`] that say what has happened; the others are the group's address.
pub const NEWS_MASK: u32 = 7;
/// News: a block has come.
pub const BLOCK_CAME: u32 = 0;
/// News: a step is complete.
pub const STEP_CAME: u32 = 1;
/// News: a packet is to be passed on from host memory.
pub const PASS_ON: u32 = 2;
/// News: a member asks for a packet.
pub const ASKED: u32 = 3;
/// News: a member asks for bytes of a step.
pub const ASKED_STEP: u32 = 4;
/// News: the buffer for members on this node is free.
pub const LOCAL_FREE: u32 = 5;

const _: () = assert!(ASKED_STEP << ASKED_SHIFT < OF_THIS_NODE);

/// A packet for a member on this node, where a header is before its payload.
pub const LOCAL_PACKET: u32 = GOSSIP_LOCAL + BUFFER_HEADER;

/// A packet of a group that is open.
struct Piece {
    group: Group,
    /// The low 16 bits of the operation's number.
    operation: u32,
    /// Word 6 of the packet: of a block a [`hop`](super::state::hop), of a step's bytes a [`step_part`](super::state::step_part).
    place: u32,
    /// Length of a block.
    block: u32,
    /// Bytes of payload.
    bytes: u32,
}

impl<N: Nic> Gm<N> {
    /// A packet of an all-to-all broadcast. Returns whether its memory is still used, so that the caller must not release it.
    #[inline(never)]
    pub(crate) fn gossip_packet(&mut self, packet: &Packet) -> bool {
        let bytes = packet.payload_bytes();
        let asks = packet.subtype == MISSING;
        let sound = packet.length == HEADER_BYTES + GOSSIP_BYTES + padded(bytes)
            && (bytes == 0) == asks
            && bytes <= MTU;
        if !sound {
            self.count(Counter::BadLength);
            return false;
        }
        let block = self.nic.load(packet.at + WORD_BLOCK);
        let Some(group) = self.find_group(packet) else {
            self.count(Counter::ClosedPort);
            return false;
        };
        let piece = Piece {
            group,
            operation: packet.sequence & 0xFFFF,
            place: self.nic.load(packet.at + WORD_PLACE),
            block: block & 0xFFFF,
            bytes,
        };
        // 0: of the operation that was posted last. 1: of the next one, which others may have posted already. 0xFFFF: of the one before.
        let ahead = piece.operation.wrapping_sub(group.posted(self)) & 0xFFFF;
        if piece.block == 0 || piece.block > BLOCK_BYTES || piece.block & 3 != 0 {
            self.count(Counter::BadLength);
            return false;
        }
        if asks {
            let what = if block & DOUBLING == 0 {
                ASKED
            } else {
                ASKED_STEP
            };
            // Only what is here now is answered: a block that comes later could be read before its DMA is complete.
            let origin = origin_of(piece.place);
            let has = what == ASKED_STEP || self.has_block(group, piece.operation, origin);
            if has && (ahead == 0 || ahead == 0xFFFF) {
                self.answer_later(&piece, what);
            }
            return false;
        }
        if ahead > 1 {
            // The operation is over.
            self.count(Counter::Duplicates);
            return false;
        }
        if packet.subtype == EXCHANGED {
            self.step_came(packet, &piece)
        } else {
            self.block_came(packet, &piece)
        }
    }

    /// A packet of a member on this node is in [`LOCAL_PACKET`].
    pub(crate) fn take_own_packet(&mut self, subtype: u32, sequence: u32, lengths: u32) {
        let packet = Packet {
            at: LOCAL_PACKET,
            length: HEADER_BYTES + GOSSIP_BYTES + padded(lengths >> 16),
            number: 0,
            connection: Connection::NONE,
            sequence,
            lengths,
            subtype,
        };
        if self.gossip_packet(&packet) {
            return;
        }
        // The buffer is free at an event, after which SEND looks for what waits.
        let held = self.hold_until_written(LOCAL_PACKET);
        if held == 0 {
            return self.free_memory(LOCAL_PACKET);
        }
        Held::at(held).set_state(self, WRITTEN | OF_THIS_NODE);
        self.scratch_write(cookie_of(held));
    }

    /// The memory of a packet is free.
    fn free_memory(&mut self, packet: u32) {
        if packet != LOCAL_PACKET {
            return self.nic.release(packet);
        }
        self.hand_news(News {
            what: LOCAL_FREE,
            place: 0,
            block: 0,
        });
    }

    /// A member asks for a packet, which may be on its way to host memory: it is read from there behind all that is written now.
    #[cold]
    #[inline(never)]
    fn answer_later(&mut self, piece: &Piece, what: u32) {
        if self.answering() != 0 {
            // The member asks again.
            return;
        }
        let held = self.hold_until_written(0);
        if held == 0 {
            return;
        }
        self.set_answering(1);
        Held::at(held).set_state(self, WRITTEN | what << ASKED_SHIFT);
        Held::at(held).set_group(self, piece.group);
        Held::at(held).set_place(self, piece.place);
        let block = operation_word(piece.operation, piece.block);
        Held::at(held).set_block(self, block);
        self.scratch_write(cookie_of(held));
    }

    /// The open group that a packet is for.
    fn find_group(&mut self, packet: &Packet) -> Option<Group> {
        let local = packet.lengths >> 9 & 0x7F;
        if local >= PORT_COUNT || !self.has_operations() {
            return None;
        }
        let port = port_block(local);
        if !port.receives(self) {
            return None;
        }
        let wanted = packet.sequence >> 16 | OPEN;
        (0..GROUP_COUNT)
            .map(|number| group::<N>(port, number))
            .find(|&group| group.number(self) == wanted)
    }

    /// Address of the words that say what of an operation has come: a bit for each block, or a word for the bytes of each step. Those of
    /// an earlier operation are cleared.
    fn channel(&mut self, piece: &Piece) -> u32 {
        let received = piece.group.received::<N>(piece.operation);
        if received.operation(self) != piece.operation {
            received.set_operation(self, piece.operation);
            let words = received.address() + Received::WORDS;
            let bytes = if N::WIDE_GROUPS {
                wide_received_bytes::<N>(piece.group.size(self))
            } else {
                4 * LEVELS
            };
            self.clear(words, words + bytes);
        }
        received.address() + Received::WORDS
    }

    /// A block of concurrent broadcasting has come. Returns whether its memory is still used.
    fn block_came(&mut self, packet: &Packet, piece: &Piece) -> bool {
        let group = piece.group;
        let size = group.size(self);
        let rank = group.rank(self);
        let (origin, exponent) = (origin_of(piece.place), exponent_of(piece.place));
        if origin >= size || origin == rank || piece.bytes != piece.block || exponent >= N::LEVELS {
            self.count(Counter::BadLength);
            return false;
        }
        let bits = self.channel(piece) + ((origin >> 5) << 2);
        let word = self.nic.load(bits);
        if word >> (origin & 31) & 1 != 0 {
            self.count(Counter::Duplicates);
            return false;
        }
        // The next hop, as `has_hop` finds it: of the next exponent.
        let goes_on = behind(rank, origin, size) + (2 << exponent) < size;
        let next = piece.place + 1;
        let (state, held) = if goes_on {
            self.hold(packet.at)
        } else {
            (0, 0)
        };
        let cookie = match held {
            0 => packet.at,
            held => cookie_of(held),
        };
        if !self.write_piece(packet, piece, block_offset(origin), cookie) {
            self.drop_held(held);
            if state & PASSED != 0 {
                self.one_kept_less();
            }
            return false;
        }
        self.nic.store(bits, word | 1 << (origin & 31));
        let block = operation_word(piece.operation, piece.block);
        if held != 0 {
            Held::at(held).set_state(self, state);
            Held::at(held).set_group(self, group);
            Held::at(held).set_place(self, next);
            Held::at(held).set_block(self, block);
            if state & PASSED != 0 {
                self.add_pass(group, piece.operation, next, piece.block, held);
            }
        }
        self.hand_news(News {
            what: group.address() | BLOCK_CAME,
            place: piece.place,
            block,
        });
        true
    }

    /// Bytes of a step of recursive doubling have come. Returns whether their memory is still used.
    fn step_came(&mut self, packet: &Packet, piece: &Piece) -> bool {
        let group = piece.group;
        let (before, step) = (before_of(piece.place), step_of(piece.place));
        let steps = group.steps(self);
        if step >= steps {
            self.count(Counter::BadLength);
            return false;
        }
        let got = self.channel(piece) + (step << 2);
        let is_last = step + 1 == steps;
        let all = if is_last {
            step_bytes(group.size(self), step, piece.block)
        } else {
            piece.block << step
        };
        if before != self.nic.load(got) || piece.bytes > all - before {
            self.count(Counter::Duplicates);
            return false;
        }
        let after = before + piece.bytes;
        let news = News {
            what: group.address() | STEP_CAME,
            place: step,
            block: operation_word(piece.operation, piece.block),
        };
        // What the last step brings is not sent on: it goes to host memory only, before the event of the operation.
        if is_last {
            let at = (piece.block << step) + before;
            if !self.write_piece(packet, piece, at, packet.at) {
                return false;
            }
            self.nic.store(got, after);
            if after == all {
                self.hand_news(news);
            }
            return true;
        }
        if self.is_staged(group, piece.block) {
            let port = group.port(self);
            let staged = staging(port, self.number_of(group), piece.operation);
            let from = packet.at + HEADER_BYTES + GOSSIP_BYTES;
            self.copy_received(from, staged + (piece.block << step) + before, piece.bytes);
            self.nic.store(got, after);
            if after == all {
                self.hand_news(news);
            }
            return false;
        }
        self.written_step(packet, piece, &news, got, after == all)
    }

    /// Bytes of a step that go to host memory, from which the next step takes them. `got`: the word that counts them.
    fn written_step(
        &mut self,
        packet: &Packet,
        piece: &Piece,
        news: &News,
        got: u32,
        ends: bool,
    ) -> bool {
        let held = match ends {
            true => self.hold_until_written(packet.at),
            false => 0,
        };
        if ends && held == 0 {
            return false;
        }
        let cookie = match held {
            0 => packet.at,
            held => cookie_of(held),
        };
        let before = before_of(piece.place);
        let at = (piece.block << news.place) + before;
        if !self.write_piece(packet, piece, at, cookie) {
            self.drop_held(held);
            return false;
        }
        self.nic.store(got, before + piece.bytes);
        if held != 0 {
            Held::at(held).set_state(self, WRITTEN | ENDS_STEP);
            Held::at(held).set_group(self, piece.group);
            Held::at(held).set_place(self, news.place);
            Held::at(held).set_block(self, news.block);
        }
        true
    }

    /// Starts the DMA of a packet's payload to offset `at` of its channel. Returns whether the channel is the process's memory.
    fn write_piece(&mut self, packet: &Packet, piece: &Piece, at: u32, cookie: u32) -> bool {
        let local = packet.at + HEADER_BYTES + GOSSIP_BYTES;
        let (group, operation) = (piece.group, piece.operation);
        if cookie != LOCAL_PACKET {
            return self.write_channel(group, operation, at, local, piece.bytes, cookie);
        }
        let held = self.hold_until_written(packet.at);
        if held == 0 {
            return false;
        }
        Held::at(held).set_state(self, WRITTEN | OF_THIS_NODE);
        let cookie = cookie_of(held);
        let written = self.write_channel(group, operation, at, local, piece.bytes, cookie);
        if !written {
            self.drop_held(held);
        }
        written
    }

    /// Starts the DMA of bytes at `local` to offset `at` of an operation's channel. Returns whether the channel is the process's memory.
    fn write_channel(
        &mut self,
        group: Group,
        operation: u32,
        at: u32,
        local: u32,
        bytes: u32,
        cookie: u32,
    ) -> bool {
        let channel = group.channel(operation & 1);
        let base = channel.low(self);
        let low = base.wrapping_add(at);
        let carry = u32::from(low < base);
        let high = channel.high(self).wrapping_add(carry);
        let key = group.key(self);
        let Some(pieces) = self.pieces(high, low, key, bytes) else {
            let port = group.port(self);
            self.violation(port, BAD_RECEIVE_MEMORY, high, low);
            return false;
        };
        self.start_writes(&pieces, local, bytes, cookie);
        true
    }

    /// Takes an entry for a packet that is passed on: from its memory if few are, else from host memory. Returns its state and address;
    /// (0, 0) if no entry is free.
    fn hold(&mut self, packet: u32) -> (u32, u32) {
        let held = self.hold_until_written(packet);
        if held == 0 {
            return (0, 0);
        }
        let kept = self.kept();
        if N::PASSES_RECEIVED && kept < KEEP_LIMIT && packet != LOCAL_PACKET {
            self.set_kept(kept + 1);
            (WRITTEN | PASSED, held)
        } else {
            (WRITTEN | PASS_LATER, held)
        }
    }

    /// Takes an entry for a packet, 0 for none. Returns the entry's address; 0 if no entry is free.
    fn hold_until_written(&mut self, packet: u32) -> u32 {
        let held = self.free_held();
        if held != 0 {
            let free = Held::at(held).packet(self);
            self.set_free_held(free);
            Held::at(held).set_packet(self, packet);
            Held::at(held).set_state(self, 0);
        }
        held
    }

    /// An entry, if there is one, is free again. The caller cares for the packet's memory.
    fn drop_held(&mut self, held: u32) {
        if held != 0 {
            let free = self.free_held();
            Held::at(held).set_packet(self, free);
            self.set_free_held(held);
        }
    }

    /// The DMA of a packet with an entry is complete.
    #[cold]
    #[inline(never)]
    pub(crate) fn held_written(&mut self, cookie: u32) {
        let held = held_of(cookie);
        let state = Held::at(held).state(self) & !WRITTEN;
        Held::at(held).set_state(self, state);
        if state & PASSED != 0 {
            return;
        }
        let packet = Held::at(held).packet(self);
        let group = Held::at(held).group(self);
        let place = Held::at(held).place(self);
        let block = Held::at(held).block(self);
        self.drop_held(held);
        if packet == 0 {
            self.set_answering(0);
        } else {
            self.free_memory(packet);
        }
        let news = match state {
            OF_THIS_NODE => return,
            _ if packet == 0 => state >> ASKED_SHIFT,
            PASS_LATER => PASS_ON,
            ENDS_STEP => STEP_CAME,
            _ => {
                // It was kept, and has been passed on.
                return self.one_kept_less();
            }
        };
        self.hand_news(News {
            what: group.address() | news,
            place,
            block,
        });
    }

    /// The memory of a packet that was kept to be passed on is free.
    fn one_kept_less(&mut self) {
        let kept = self.kept();
        self.set_kept(kept - 1);
    }

    /// A kept packet has been passed on.
    pub(super) fn release_held(&mut self, held: u32) {
        let state = Held::at(held).state(self) & !PASSED;
        Held::at(held).set_state(self, state);
        if state & WRITTEN != 0 {
            return;
        }
        let packet = Held::at(held).packet(self);
        self.drop_held(held);
        self.nic.release(packet);
        self.one_kept_less();
    }

    /// Prepares the entries of packets.
    pub(super) fn prepare_held(&mut self) {
        self.free_list(HELD, HELD_COUNT, HELD_BYTES, Held::PACKET);
        self.set_free_held(HELD);
        self.set_kept(0);
        self.set_answering(0);
    }

    /// RECV: the staged bytes of an operation go to host memory. The own block is there already, and the bytes of the last step go there
    /// without staging.
    pub(crate) fn write_staged(&mut self, group: Group, operation: u32, block: u32) {
        let steps = group.steps(self);
        if steps < 2 {
            return;
        }
        let port = group.port(self);
        let staged = staging(port, self.number_of(group), operation) + block;
        let bytes = (block << (steps - 1)) - block;
        self.write_channel(group, operation, block, staged, bytes, 0);
    }
}
