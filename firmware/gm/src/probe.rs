//! Mapping packets: answers to a mapper, routes that it gives, and the packets of a mapper on the own host
//! (`defs::gm::mapping`).
//!
//! They need no port, no DMA and no buffer of their own. What is to be sent waits as one more entry in the list of acks and is built in
//! the buffer of acks, so the sender has one more comparison for each ack and none elsewhere. An answer that waits is replaced
//! by the next one: its mapper asks again.
use defs::gm::map::{
    BUFFER_HEADER, Counter, PEER_ROUTE, ROUTE_LIMIT, ROUTE_VALID, ROUTE_WORDS, peer,
};
use defs::gm::mapping::{
    ENTRY_BYTES, ENTRY_LENGTH, ENTRY_LIMIT, ENTRY_VALID, HEADER_BYTES, INBOX, INBOX_NEXT,
    INBOX_SLOT_BYTES, INBOX_SLOTS, LOOP, MAP_VERSION, MAPPER, MAPPING, NO_NODE, OUT, OUT_HEADER,
    OUT_LOCAL, OUT_SEND, OWN_HIGH, OWN_LOW, PACKET_LIMIT, PEER_LIMIT, PROBE, PROBE_LIMIT,
    PROBE_STATE, REPLY, ROUTES, ROUTES_BYTES, ROUTES_VERSION, SCOUT, SCOUT_BYTES, SIZES_BACK,
    SIZES_COMPLETE, SIZES_COUNT, WORD_BACK, WORD_HIGH, WORD_LOW, WORD_NONCE, WORD_NUMBERS,
    WORD_SIZES, WORD_TYPE, WORD_VERSION, first_word,
};

use crate::state::{ACK_BUFFER, ACKS, Connection, SENDING_ACK};
use crate::{Gm, Nic};

/// Packets of the mapper that wait to be sent, a flag for each: [`F_REPLY`], [`F_OUT`].
const FLAGS: u32 = PROBE_STATE;
/// Nonce of the answer that waits.
const REPLY_NONCE: u32 = PROBE_STATE + 4;
/// Length of its route.
const REPLY_LENGTH: u32 = PROBE_STATE + 8;
/// The route of the answer that waits; it ends where these words end.
const REPLY_ROUTE: u32 = PROBE_STATE + 16;

const _: () = assert!(INBOX_NEXT == PROBE_STATE + 12);
const _: () = assert!(REPLY_ROUTE + ROUTE_LIMIT <= OUT);
const _: () = assert!(PROBE_LIMIT <= BUFFER_HEADER && ROUTE_LIMIT.is_multiple_of(4));

/// An answer waits.
const F_REPLY: u32 = 1;
/// The packet of the host waits.
const F_OUT: u32 = 2;

/// The bytes of a route that end at `from` are copied so that they end at `to`.
fn copy_route<N: Nic>(nic: &mut N, from: u32, to: u32, length: u32) {
    let mut at = 0;
    while at < length {
        at += 4;
        let word = nic.load(from - at);
        nic.store(to - at, word);
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
        self.nic.store(INBOX_NEXT, INBOX);
    }

    /// Takes what the host has posted outside of its ports: a packet of a mapper, a command.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_words(&mut self) -> bool {
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
        let word = self.nic.load(OUT);
        if word == 0 || self.nic.load(FLAGS) & F_OUT != 0 || self.started() == 0 {
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
        self.nic.store(OUT, 0);
        true
    }

    fn queue_probe(&mut self, flag: u32) {
        let flags = self.nic.load(FLAGS);
        self.nic.store(FLAGS, flags | flag);
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
        let flags = self.nic.load(FLAGS);
        let header = ACK_BUFFER + BUFFER_HEADER;
        let (route, length) = match flags & F_REPLY {
            0 => self.fill_from_outbox(header),
            _ => self.fill_reply(header),
        };
        let left = match flags & F_REPLY {
            0 => flags & !F_OUT,
            _ => flags & !F_REPLY,
        };
        self.nic.store(FLAGS, left);
        if left != 0 {
            self.append(ACKS, PROBE, Connection::ACK_NEXT);
        }
        self.nic.send(header - route, header, header + length);
        self.set_sending(SENDING_ACK);
    }

    fn fill_from_outbox(&mut self, header: u32) -> (u32, u32) {
        // The host may have changed the word since it was checked.
        let word = self.nic.load(OUT);
        let route = (word >> 8 & 0xFF).min(PROBE_LIMIT);
        let length = (word >> 16 & !3).clamp(HEADER_BYTES, PACKET_LIMIT);
        copy_route(&mut self.nic, OUT_HEADER, header, route);
        let mut at = 0;
        while at < length {
            let word = self.nic.load(OUT_HEADER + at);
            self.nic.store(header + at, word);
            at += 4;
        }
        self.nic.store(OUT, 0);
        (route, length)
    }

    fn fill_reply(&mut self, header: u32) -> (u32, u32) {
        let route = self.nic.load(REPLY_LENGTH);
        copy_route(&mut self.nic, REPLY_ROUTE + ROUTE_LIMIT, header, route);
        let high = self.nic.load(OWN_HIGH) | self.node() & NO_NODE;
        for (word, value) in [
            (WORD_TYPE, first_word(REPLY)),
            (WORD_NONCE, self.nic.load(REPLY_NONCE)),
            (WORD_HIGH, high),
            (WORD_LOW, self.nic.load(OWN_LOW)),
            (WORD_VERSION, self.nic.load(ROUTES_VERSION)),
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
        let first = self.nic.load(buffer + WORD_TYPE);
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
        let length = self.nic.load(at + WORD_SIZES) & SIZES_BACK;
        if length > ROUTE_LIMIT {
            return false;
        }
        let nonce = self.nic.load(at + WORD_NONCE);
        self.nic.store(REPLY_NONCE, nonce);
        self.nic.store(REPLY_LENGTH, length);
        let (from, to) = (at + WORD_BACK + ROUTE_LIMIT, REPLY_ROUTE + ROUTE_LIMIT);
        copy_route(&mut self.nic, from, to, length);
        self.queue_probe(F_REPLY);
        true
    }

    fn is_own(&self, at: u32) -> bool {
        let high = self.nic.load(at + WORD_HIGH) ^ self.nic.load(OWN_HIGH);
        high >> 16 == 0 && self.nic.load(at + WORD_LOW) == self.nic.load(OWN_LOW)
    }

    /// Copies the header at `at` into the next slot, the first word last. Returns whether the slot was free.
    fn put_in_inbox(&mut self, at: u32) -> bool {
        let slot = self.nic.load(INBOX_NEXT);
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
        self.nic.store(INBOX_NEXT, next);
        true
    }

    /// Takes routes, unless they are older than those that are known or for another node. Returns whether the packet is sound.
    fn take_routes(&mut self, at: u32, length: u32) -> bool {
        let sizes = self.nic.load(at + WORD_SIZES);
        let count = sizes >> SIZES_COUNT & 0xFF;
        let numbers = self.nic.load(at + WORD_NUMBERS);
        let (node, nodes) = (numbers >> 16, numbers & 0xFFFF);
        let limit = self.nic.load(PEER_LIMIT);
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
            let version = self.nic.load(at + WORD_VERSION);
            self.nic.store(MAP_VERSION, version);
        }
        true
    }

    /// Whether routes are of a later version than those before, or of the same one and mapper. Then this is the version from now on.
    fn accepts_version(&mut self, at: u32) -> bool {
        let version = self.nic.load(at + WORD_VERSION);
        let known = self.nic.load(ROUTES_VERSION);
        let high = self.nic.load(at + WORD_HIGH) & !NO_NODE;
        let low = self.nic.load(at + WORD_LOW);
        let same = self.nic.load(MAPPER) == high && self.nic.load(MAPPER + 4) == low;
        let later = known == 0 || version.wrapping_sub(known).wrapping_sub(1) < 1 << 31;
        if version == 0 || !(later || version == known && same) {
            return false;
        }
        self.nic.store(ROUTES_VERSION, version);
        self.nic.store(MAPPER, high);
        self.nic.store(MAPPER + 4, low);
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
        let to = peer(word >> 16);
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
        self.nic.store(to + PEER_ROUTE, valid | length);
    }
}
