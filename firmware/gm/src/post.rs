//! What the host has posted: send slots and receive tokens.

use defs::gm::event::Status;
use defs::gm::map::{
    COMMAND, CONNECTIONS, Counter, FATAL_TICKS, NODES, RESEND_TICKS, ROUTE_VALID, ROUTES,
};
use defs::gm::mapping::OUT;
use defs::gm::packet::{DATA, MTU, SIZES, capacity, first_word};
use defs::gm::port::{
    PORT_COUNT, RECEIVE_ADDRESS_HIGH, RECEIVE_ADDRESS_LOW, RECEIVE_READY_WORD, RECEIVE_SLOT_BYTES,
    RECEIVE_SLOTS, RECEIVE_TAG, SEND, SEND_ADDRESS_HIGH, SEND_ADDRESS_LOW, SEND_LENGTH,
    SEND_SLOT_BYTES, SEND_TOKEN, SEND_TYPE,
};

use crate::nic::Event;
use crate::state::{
    ACTIVE, C_ACTIVE_NEXT, C_CURSOR, C_DEADLINE, C_FATAL, C_FIRST, C_FLAGS, C_LAST, C_NEXT,
    C_READY_NEXT, F_ACTIVE, F_HELD, F_READY, FREE_RECORD, NOW, OPEN_PORT, P_FREE_TOKEN, P_LISTS,
    P_NEXT, P_SEND, P_TOKEN, R_HIGH, R_LENGTH, R_LOW, R_NEXT, R_SEQUENCE, R_TOKEN, R_TYPE,
    READY_LOW, T_HIGH, T_LOW, T_NEXT, T_TAG,
};
use crate::{Gm, Nic};

/// Bytes of a port's send slots, less 1.
const SEND_QUEUE_MASK: u32 = 0x7FF;
/// Offset of the end of a port's receive tokens in its queue.
const TOKENS_END: u32 = RECEIVE_SLOTS * RECEIVE_SLOT_BYTES;

/// The sequence word behind `word`: the session in the upper half stays.
#[inline(always)]
pub const fn next_sequence(word: u32) -> u32 {
    word & 0xFFFF_0000 | word.wrapping_add(1) & 0xFFFF
}

/// The control block of the port with a number.
#[inline(always)]
pub const fn port_block(port: u32) -> u32 {
    defs::gm::map::PORTS + (port << 11)
}

const _: () = assert!(defs::gm::map::PORT_BYTES == 1 << 11);
const _: () = assert!(defs::gm::map::CONNECTION_BYTES == 1 << 6);
const _: () = assert!(defs::gm::map::ROUTE_BYTES == 1 << 5);

/// The connection with a number.
#[inline(always)]
pub const fn connection(number: u32) -> u32 {
    CONNECTIONS + (number << 6)
}

impl<N: Nic> Gm<N> {
    /// Takes one post of the host: a command, a send or a receive token. Returns whether there was one.
    #[inline(always)]
    pub(crate) fn posted(&mut self) -> bool {
        let first = self.nic.load(OPEN_PORT);
        if first != 0 {
            let mut port = first;
            loop {
                let slot = self.nic.load(port + P_SEND);
                let word = self.nic.load(slot + SEND_TYPE);
                if word != 0 {
                    self.take_send(port, slot, word);
                    return true;
                }
                let slot = self.nic.load(port + P_TOKEN);
                if self.nic.load(slot + RECEIVE_READY_WORD) != 0 {
                    self.take_token(port);
                    return true;
                }
                port = self.nic.load(port + P_NEXT);
                if port == first {
                    break;
                }
            }
        }
        (self.nic.load(COMMAND) | self.nic.load(OUT)) != 0 && self.take_words()
    }

    /// Takes a send slot: it becomes a record of its connection.
    #[inline(always)]
    fn take_send(&mut self, port: u32, slot: u32, word: u32) {
        // The next port comes first the next time.
        let next_port = self.nic.load(port + P_NEXT);
        self.nic.store(OPEN_PORT, next_port);
        let next = slot & !SEND_QUEUE_MASK | (slot + SEND_SLOT_BYTES) & SEND_QUEUE_MASK;
        self.nic.store(port + P_SEND, next);
        self.nic.store(slot + SEND_TYPE, 0);
        let token = port | self.nic.load(slot + SEND_TOKEN) & 0x3F;
        let node = word >> 16;
        let subport = word >> 8 & 0xFF;
        let size = (word & 0xFF).wrapping_sub(SEND);
        let length = self.nic.load(slot + SEND_LENGTH);
        let valid = size < SIZES && length <= MTU && length <= capacity(size);
        if !valid || subport >= 2 * PORT_COUNT {
            return self.refuse(token, Status::InvalidParameter);
        }
        let connection = connection(node << 1 | subport & 1);
        let route = ROUTES + (node << 5);
        if node >= self.nic.load(NODES) || self.nic.load(route) & ROUTE_VALID == 0 {
            return self.refuse(token, Status::NodeUnreachable);
        }
        let record = self.nic.load(FREE_RECORD);
        if record == 0 {
            return self.refuse(token, Status::InvalidParameter);
        }
        let free = self.nic.load(record + R_NEXT);
        self.nic.store(FREE_RECORD, free);
        let high = self.nic.load(slot + SEND_ADDRESS_HIGH);
        let low = self.nic.load(slot + SEND_ADDRESS_LOW);
        let sequence = self.nic.load(connection + C_NEXT);
        self.nic.store(connection + C_NEXT, next_sequence(sequence));
        let own = (port - defs::gm::map::PORTS) >> 10 | subport & 1;
        self.nic.store(record + R_HIGH, high);
        self.nic.store(record + R_LOW, low);
        self.nic
            .store(record + R_LENGTH, length << 16 | subport << 8 | own);
        self.nic.store(record + R_SEQUENCE, sequence);
        self.nic.store(record + R_TYPE, first_word(DATA + size));
        self.nic.store(record + R_TOKEN, token);
        self.nic
            .mark(Event::TokenTaken, node << 1 | subport & 1, sequence);
        self.add_record(connection, record, subport & 1);
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, token: u32, status: Status) {
        self.count(Counter::BadPosts);
        self.report(token, status as u32);
    }

    /// Appends a record to its connection, which becomes ready and active.
    #[inline(always)]
    fn add_record(&mut self, connection: u32, record: u32, priority: u32) {
        let mut flags = self.nic.load(connection + C_FLAGS);
        self.nic.store(record + R_NEXT, 0);
        if self.nic.load(connection + C_FIRST) == 0 {
            self.nic.store(connection + C_FIRST, record);
            let now = self.nic.load(NOW);
            let resend = now.wrapping_add(self.nic.load(RESEND_TICKS));
            let fatal = now.wrapping_add(self.nic.load(FATAL_TICKS));
            self.nic.store(connection + C_DEADLINE, resend);
            self.nic.store(connection + C_FATAL, fatal);
            if flags & F_ACTIVE == 0 {
                flags |= F_ACTIVE;
                let active = self.nic.load(ACTIVE);
                self.nic.store(connection + C_ACTIVE_NEXT, active);
                self.nic.store(ACTIVE, connection);
                if active == 0 {
                    self.nic.set_timer();
                }
            }
        } else {
            let last = self.nic.load(connection + C_LAST);
            self.nic.store(last + R_NEXT, record);
        }
        self.nic.store(connection + C_LAST, record);
        if self.nic.load(connection + C_CURSOR) == 0 {
            self.nic.store(connection + C_CURSOR, record);
        }
        if flags & (F_READY | F_HELD) == 0 {
            flags |= F_READY;
            self.append(READY_LOW + (priority << 3), connection, C_READY_NEXT);
        }
        self.nic.store(connection + C_FLAGS, flags);
    }

    /// Takes one receive token of a port, if there is one: it goes into the list of its priority and size.
    #[inline(never)]
    pub(crate) fn take_token(&mut self, port: u32) -> bool {
        let slot = self.nic.load(port + P_TOKEN);
        let word = self.nic.load(slot + RECEIVE_READY_WORD);
        if word == 0 {
            return false;
        }
        self.nic.store(slot + RECEIVE_READY_WORD, 0);
        let next = slot + RECEIVE_SLOT_BYTES;
        let end = next & 0xFFF == TOKENS_END;
        let next = if end { next & !0xFFF } else { next };
        self.nic.store(port + P_TOKEN, next);
        let token = self.nic.load(port + P_FREE_TOKEN);
        if token == 0 {
            self.count(Counter::BadPosts);
            return true;
        }
        let free = self.nic.load(token + T_NEXT);
        self.nic.store(port + P_FREE_TOKEN, free);
        let high = self.nic.load(slot + RECEIVE_ADDRESS_HIGH);
        let low = self.nic.load(slot + RECEIVE_ADDRESS_LOW);
        let tag = self.nic.load(slot + RECEIVE_TAG);
        self.nic.store(token + T_HIGH, high);
        self.nic.store(token + T_LOW, low);
        self.nic.store(token + T_TAG, tag);
        let kind = (word >> 3 & 0x20) | word & 0x1F;
        self.append(port + P_LISTS + (kind << 3), token, T_NEXT);
        true
    }
}
