//! Mapping packets: answers to a mapper, routes that it gives, and the packets of a mapper on the own host
//! (`defs::gm::mapping`).
//!
//! They need no port, no DMA and no buffer of their own. What is to be sent waits as one more entry in the list of acks and is built in
//! the buffer of acks, so the sender has one more comparison for each ack and none elsewhere. An answer that waits is replaced
//! by the next one: its mapper asks again.
use defs::gm::map::{BUFFER_HEADER, Counter, ROUTE_LIMIT, ROUTE_VALID, ROUTE_WORDS};
use defs::gm::mapping::{
    ENTRY_BYTES, ENTRY_LENGTH, ENTRY_LIMIT, ENTRY_VALID, HEADER_BYTES, INBOX, INBOX_NEXT,
    INBOX_SLOT_BYTES, INBOX_SLOTS, LOOP, MAP_VERSION, MAPPER, MAPPING, NO_NODE, OUT, OUT_HEADER,
    OUT_LOCAL, OUT_SEND, OWN_HIGH, OWN_LOW, PACKET_LIMIT, PEER_LIMIT, PROBE, PROBE_LIMIT,
    PROBE_STATE, REPLY, ROUTES, ROUTES_BYTES, ROUTES_VERSION, SCOUT, SCOUT_BYTES, SIZES_BACK,
    SIZES_COMPLETE, SIZES_COUNT, WORD_BACK, WORD_HIGH, WORD_LOW, WORD_NONCE, WORD_NUMBERS,
    WORD_SIZES, WORD_TYPE, WORD_VERSION, first_word,
};
use defs::record::Memory;
use defs::{record, words};

use crate::state::{ACK_BUFFER, ACKS, Connection, Peer, SENDING_ACK, peer};
use crate::{Gm, Nic};

words! {
    impl Gm<N: Nic>;
    /// Packets of mapping that wait to be sent: [`F_REPLY`], [`F_OUT`].
    mapping_flags, set_mapping_flags: u32 = PROBE_STATE;
    /// Nonce of the answer that waits.
    reply_nonce, set_reply_nonce: u32 = PROBE_STATE + 4;
    /// Bytes of the route of the answer that waits.
    reply_length, set_reply_length: u32 = PROBE_STATE + 8;
    /// Slot of the inbox that is written next.
    inbox_next, set_inbox_next: u32 = INBOX_NEXT;
    /// Packet of the mapper on the own host: what to do with it, bytes of its route, length; 0 if there is none.
    outbox, set_outbox: u32 = OUT;
    /// Own address, upper half; written by the host.
    own_high: u32 = OWN_HIGH;
    /// Own address, lower half; written by the host.
    own_low: u32 = OWN_LOW;
    /// Version of the routes that were taken last; 0 if none is known.
    routes_version, set_routes_version: u32 = ROUTES_VERSION;
    /// Version of the routes when all of them had come.
    map_version, set_map_version: u32 = MAP_VERSION;
    /// Address of the mapper whose routes were taken last, upper half.
    mapper_high, set_mapper_high: u32 = MAPPER;
    /// Address of the mapper whose routes were taken last, lower half.
    mapper_low, set_mapper_low: u32 = MAPPER + 4;
    /// Most nodes; written by the host.
    peer_limit: u32 = PEER_LIMIT;
}

record! {
    /// Header of a packet of mapping.
    struct MappingHeader {
        /// Type and subtype.
        kind: u32 = WORD_TYPE;
        /// Nonce of a question, which its answer repeats.
        nonce: u32 = WORD_NONCE;
        /// Address of the sender or mapper, upper half, and a node's number.
        high: u32 = WORD_HIGH;
        /// Address of the sender or mapper, lower half.
        low: u32 = WORD_LOW;
        /// Version of routes.
        version: u32 = WORD_VERSION;
        /// Bytes of the route back; number of routes.
        sizes: u32 = WORD_SIZES;
        /// Number of the node; number of nodes.
        numbers: u32 = WORD_NUMBERS;
    }
}

/// The route of the answer that waits; it ends where these words end.
const REPLY_ROUTE: u32 = PROBE_STATE + 16;

const _: () = assert!(INBOX_NEXT == PROBE_STATE + 12);
const _: () = assert!(REPLY_ROUTE + ROUTE_LIMIT <= OUT);
const _: () = assert!(PROBE_LIMIT <= BUFFER_HEADER && ROUTE_LIMIT.is_multiple_of(4));

/// An answer waits.
const F_REPLY: u32 = 1;
/// The packet of the host waits.
const F_OUT: u32 = 2;

/// Copies the bytes of a route that end at `from` so that they end at `to`.
fn copy_route(memory: &mut impl Memory, from: u32, to: u32, length: u32) {
    let mut at = 0;
    while at < length {
        at += 4;
        let word = memory.load(from - at);
        memory.store(to - at, word);
    }
}

impl<N: Nic> Gm<N> {
    /// Empties outbox and inbox; no version of routes is known.
    pub(crate) fn prepare_mapping(&mut self) {
        let mut at = MAPPING;
        while at < OUT_HEADER {
            self.nic.store(at, 0);
            at += 4;
        }
        let mut slot = INBOX;
        for _ in 0..INBOX_SLOTS {
            self.nic.store(slot, 0);
            slot += INBOX_SLOT_BYTES;
        }
        self.set_inbox_next(INBOX);
    }

    /// Takes what the host has posted outside of its ports: a packet of a mapper, a command.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_words(&mut self) -> bool {
        if N::VECTORS && self.take_computed() {
            return true;
        }
        let acked = self.acked_count() != 0;
        if acked {
            self.take_acked();
        }
        let taken = self.take_out() || acked;
        let command = self.command_word();
        command != 0 && self.command(command) || taken
    }

    /// Takes the mapper's packet. Returns whether there was a new one.
    pub(crate) fn take_out(&mut self) -> bool {
        let word = self.outbox();
        if word == 0 || self.mapping_flags() & F_OUT != 0 || self.started() == 0 {
            return false;
        }
        let (route, length) = (word >> 8 & 0xFF, word >> 16);
        let known = length.wrapping_sub(HEADER_BYTES) <= PACKET_LIMIT - HEADER_BYTES;
        let sound = known && length & 3 == 0 && route <= PROBE_LIMIT;
        match word & 0xFF {
            OUT_SEND if sound => {
                self.queue_probe(F_OUT);
                return true;
            }
            OUT_LOCAL if sound && self.take_routes(OUT_HEADER, length) => {}
            _ => self.count(Counter::BadPosts),
        }
        self.set_outbox(0);
        true
    }

    /// A packet of mapping waits for SEND, as `flag` says: the answer to a probe, or what the host has posted.
    fn queue_probe(&mut self, flag: u32) {
        let flags = self.mapping_flags();
        self.set_mapping_flags(flags | flag);
        if flags == 0 {
            self.append(ACKS, PROBE, Connection::ACK_NEXT);
        }
    }

    /// Sends the answer or packet that waits, the first of the list of acks.
    #[cold]
    #[inline(never)]
    pub(crate) fn send_probe(&mut self) {
        let next = Connection::at(PROBE).ack_next(self);
        ACKS.set_first(self, next);
        let flags = self.mapping_flags();
        let header = ACK_BUFFER + BUFFER_HEADER;
        let (route, length) = match flags & F_REPLY {
            0 => self.fill_from_outbox(header),
            _ => self.fill_reply(header),
        };
        let left = match flags & F_REPLY {
            0 => flags & !F_OUT,
            _ => flags & !F_REPLY,
        };
        self.set_mapping_flags(left);
        if left != 0 {
            self.append(ACKS, PROBE, Connection::ACK_NEXT);
        }
        self.nic.send(header - route, header, header + length);
        self.set_sending(SENDING_ACK);
    }

    /// Copies the packet that the host has posted. Returns the lengths of route and packet.
    fn fill_from_outbox(&mut self, header: u32) -> (u32, u32) {
        // The host may have changed the word since it was checked.
        let word = self.outbox();
        let route = (word >> 8 & 0xFF).min(PROBE_LIMIT);
        let length = (word >> 16 & !3).clamp(HEADER_BYTES, PACKET_LIMIT);
        copy_route(self, OUT_HEADER, header, route);
        let mut at = 0;
        while at < length {
            let word = self.nic.load(OUT_HEADER + at);
            self.nic.store(header + at, word);
            at += 4;
        }
        self.set_outbox(0);
        (route, length)
    }

    /// Writes the answer to a probe. Returns the lengths of route and packet.
    fn fill_reply(&mut self, header: u32) -> (u32, u32) {
        let route = self.reply_length();
        copy_route(self, REPLY_ROUTE + ROUTE_LIMIT, header, route);
        let high = self.own_high() | self.node() & NO_NODE;
        for (word, value) in [
            (WORD_TYPE, first_word(REPLY)),
            (WORD_NONCE, self.reply_nonce()),
            (WORD_HIGH, high),
            (WORD_LOW, self.own_low()),
            (WORD_VERSION, self.routes_version()),
            (WORD_SIZES, self.nodes()),
        ] {
            self.nic.store(header + word, value);
        }
        (route, HEADER_BYTES)
    }

    /// Handles a packet of mapping.
    #[cold]
    #[inline(never)]
    pub(crate) fn mapping_packet(&mut self, buffer: u32, length: u32) {
        let first = MappingHeader::at(buffer).kind(self);
        let sound = match first & 0xFFFF {
            SCOUT => length == SCOUT_BYTES && self.answer_probe(buffer),
            REPLY => length == HEADER_BYTES && self.put_in_inbox(buffer),
            LOOP => length == HEADER_BYTES && self.is_own(buffer) && self.put_in_inbox(buffer),
            ROUTES => self.take_routes(buffer, length) && self.answer_probe(buffer),
            _ => false,
        };
        if !sound {
            self.count(Counter::BadPackets);
        }
    }

    /// Lets an answer to the packet at `at` wait. Returns whether its route back is possible.
    fn answer_probe(&mut self, at: u32) -> bool {
        let header = MappingHeader::at(at);
        let length = header.sizes(self) & SIZES_BACK;
        if length > ROUTE_LIMIT {
            return false;
        }
        let nonce = header.nonce(self);
        self.set_reply_nonce(nonce);
        self.set_reply_length(length);
        let (from, to) = (at + WORD_BACK + ROUTE_LIMIT, REPLY_ROUTE + ROUTE_LIMIT);
        copy_route(self, from, to, length);
        self.queue_probe(F_REPLY);
        true
    }

    /// Whether the header at `at` has the address of this board.
    fn is_own(&self, at: u32) -> bool {
        let header = MappingHeader::at(at);
        let high = header.high(self) ^ self.own_high();
        high >> 16 == 0 && header.low(self) == self.own_low()
    }

    /// Copies the header at `at` into the next slot, the first word last. Returns whether the slot was free.
    fn put_in_inbox(&mut self, at: u32) -> bool {
        let slot = self.inbox_next();
        if self.nic.load(slot) != 0 {
            return false;
        }
        let mut word = HEADER_BYTES;
        while word != 0 {
            word -= 4;
            let value = self.nic.load(at + word);
            self.nic.store(slot + word, value);
        }
        let next = slot + INBOX_SLOT_BYTES;
        let end = INBOX + INBOX_SLOTS * INBOX_SLOT_BYTES;
        let next = if next == end { INBOX } else { next };
        self.set_inbox_next(next);
        true
    }

    /// Takes routes, unless they are older than those that are known or for another node. Returns whether the packet is sound.
    fn take_routes(&mut self, at: u32, length: u32) -> bool {
        let header = MappingHeader::at(at);
        let sizes = header.sizes(self);
        let count = sizes >> SIZES_COUNT & 0xFF;
        let numbers = header.numbers(self);
        let (node, nodes) = (numbers >> 16, numbers & 0xFFFF);
        let limit = self.peer_limit();
        if length < ROUTES_BYTES || count > ENTRY_LIMIT || nodes > limit || node >= nodes {
            return false;
        }
        let first = at + ROUTES_BYTES;
        let mut end = first;
        for _ in 0..count {
            let entry = self.nic.load(end);
            if entry >> 16 >= limit || entry & ENTRY_LENGTH > ROUTE_LIMIT {
                return false;
            }
            end += ENTRY_BYTES;
        }
        if first + length - ROUTES_BYTES != end {
            return false;
        }
        if !self.accepts_version(at) || !self.takes_number(node) {
            return true;
        }
        let mut entry = first;
        while entry != end {
            self.set_route(entry);
            entry += ENTRY_BYTES;
        }
        let known = self.nodes();
        if nodes > known {
            self.prepare_peers(known, nodes);
            self.set_nodes(nodes);
        }
        if sizes & SIZES_COMPLETE != 0 {
            let version = header.version(self);
            self.set_map_version(version);
        }
        true
    }

    /// Whether routes are of a later version than those before, or of the same one and mapper. Then this is the version from now on.
    fn accepts_version(&mut self, at: u32) -> bool {
        let header = MappingHeader::at(at);
        let version = header.version(self);
        let known = self.routes_version();
        let high = header.high(self) & !NO_NODE;
        let low = header.low(self);
        let same = self.mapper_high() == high && self.mapper_low() == low;
        let later = known == 0 || version.wrapping_sub(known).wrapping_sub(1) < 1 << 31;
        if version == 0 || !(later || version == known && same) {
            return false;
        }
        self.set_routes_version(version);
        self.set_mapper_high(high);
        self.set_mapper_low(low);
        true
    }

    /// Whether `node` is the own number. A node without a number takes it.
    fn takes_number(&mut self, node: u32) -> bool {
        let own = self.node();
        if own != NO_NODE {
            return own == node;
        }
        self.set_node(node);
        self.set_own_bits(node << 17);
        true
    }

    /// Writes the entry of a route table that lies at `at`.
    fn set_route(&mut self, at: u32) {
        let word = self.nic.load(at);
        let length = word & ENTRY_LENGTH;
        let to = peer::<N>(word >> 16);
        let valid = match word & ENTRY_VALID {
            0 => 0,
            _ => ROUTE_VALID,
        };
        let mut from = at + ENTRY_BYTES;
        for place in ROUTE_WORDS {
            from -= 4;
            let bytes = self.nic.load(from);
            self.nic.store(to + place, bytes);
        }
        Peer::at(to).set_route(self, valid | length);
    }
}
