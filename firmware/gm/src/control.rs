//! Start of the protocol; opening and closing of ports.

use defs::gm::map::{
    COMMAND, COMMAND_CLOSE, COMMAND_OPEN, COMMAND_START, CONNECTION_BYTES, CONNECTIONS,
    COUNTER_COUNT, COUNTERS, NODE, NODE_LIMIT, NODES, READY, READY_MAGIC, RECORD_BYTES,
    RECORD_COUNT, RECORDS, ROUTE_BYTES, ROUTES, SESSION, STATE, TOKEN_BYTES, TOKENS,
};
use defs::gm::mapping::{PROBES_TAKEN, PROBES_TAKEN_MAGIC};
use defs::gm::packet::{NULL, first_word};
use defs::gm::port::{
    PORT_COUNT, PORT_QUEUE_LOW, RECEIVE_READY_WORD, RECEIVE_SLOTS, SEND_SLOTS, SEND_TYPE,
    control_block, receive_slot, send_slot,
};

use crate::state::{
    ACTIVE, ARMED, BUFFER_STATE, C_ACTIVE_NEXT, C_EXPECTED, C_FIRST, C_NEXT, C_NUMBERS, C_ROUTE,
    FILL, FREE, FREE_RECORD, LEAVE, OPEN_PORT, P_EVENT, P_FREE_TOKEN, P_LISTS, P_NEXT, P_OPEN,
    P_REPORT_IN, P_REPORT_OUT, P_SEND, P_TOKEN, R_LENGTH, R_NEXT, R_TOKEN, R_TYPE, RECEIVE_BUFFERS,
    RECEIVE_OTHER, REPORT_BUFFERS, REPORT_FILL, REPORT_OTHER, REPORTS, SEND_BUFFERS, SEND_OTHER,
    STARTED, T_NEXT,
};
use crate::{Gm, Nic};

impl<N: Nic> Gm<N> {
    fn clear(&mut self, from: u32, to: u32) {
        let mut at = from;
        while at < to {
            self.nic.store(at, 0);
            at += 4;
        }
    }

    /// Makes a list of free items.
    fn free_list(&mut self, from: u32, count: u32, bytes: u32, next: u32) {
        let mut at = from;
        for _ in 1..count {
            self.nic.store(at + next, at + bytes);
            at += bytes;
        }
        self.nic.store(at + next, 0);
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn prepare(&mut self) {
        self.clear(COUNTERS, COUNTERS + 4 * COUNTER_COUNT);
        self.clear(STATE, STATE + 0x80);
        self.prepare_mapping();
        for port in 0..PORT_COUNT {
            self.nic.store(control_block(port) + P_OPEN, 0);
        }
        self.free_list(RECORDS, RECORD_COUNT, RECORD_BYTES, R_NEXT);
        for (word, value) in [
            (FREE_RECORD, RECORDS),
            (FILL, SEND_BUFFERS),
            (LEAVE, SEND_BUFFERS),
            (REPORT_FILL, REPORT_BUFFERS),
            (REPORT_BUFFERS, FREE),
            (REPORT_BUFFERS ^ REPORT_OTHER, FREE),
            (SEND_BUFFERS + BUFFER_STATE, FREE),
            ((SEND_BUFFERS ^ SEND_OTHER) + BUFFER_STATE, FREE),
            (RECEIVE_BUFFERS + BUFFER_STATE, FREE),
            ((RECEIVE_BUFFERS ^ RECEIVE_OTHER) + BUFFER_STATE, FREE),
            (COMMAND, 0),
            (READY, READY_MAGIC),
        ] {
            self.nic.store(word, value);
        }
    }

    /// Carries out the host's command.
    #[cold]
    #[inline(never)]
    pub(crate) fn command(&mut self, command: u32) -> bool {
        let port = command >> 8;
        match command & 0xFF {
            COMMAND_START => self.start(),
            COMMAND_OPEN if port < PORT_COUNT => self.open(port),
            COMMAND_CLOSE if port < PORT_COUNT && self.is_writing() => return false,
            COMMAND_CLOSE if port < PORT_COUNT => self.close(port),
            _ => {}
        }
        self.nic.store(COMMAND, 0);
        true
    }

    /// Whether DMAs to the host are under way.
    fn is_writing(&self) -> bool {
        let buffers = [
            RECEIVE_BUFFERS + BUFFER_STATE,
            (RECEIVE_BUFFERS ^ RECEIVE_OTHER) + BUFFER_STATE,
            REPORT_BUFFERS,
            REPORT_BUFFERS ^ REPORT_OTHER,
        ];
        let mut writing = false;
        for buffer in buffers {
            writing |= self.nic.load(buffer) != FREE;
        }
        writing
    }

    fn start(&mut self) {
        if self.nic.load(STARTED) != 0 || self.nic.load(NODES) > NODE_LIMIT {
            return;
        }
        let node = self.nic.load(NODE) & (NODE_LIMIT - 1);
        let session = self.nic.load(SESSION) << 16;
        let mut at = CONNECTIONS;
        for number in 0..2 * NODE_LIMIT {
            self.clear(at, at + CONNECTION_BYTES);
            let own = node << 1 | number & 1;
            let route = ROUTES + (number >> 1) * ROUTE_BYTES;
            self.nic.store(at + C_NEXT, session);
            self.nic.store(at + C_EXPECTED, 0);
            self.nic.store(at + C_ROUTE, route);
            self.nic.store(at + C_NUMBERS, own << 16 | number);
            at += CONNECTION_BYTES;
        }
        self.nic.store(STARTED, 1);
        self.nic.store(PROBES_TAKEN, PROBES_TAKEN_MAGIC);
        self.nic.arm(RECEIVE_BUFFERS);
        self.nic.store(ARMED, RECEIVE_BUFFERS);
    }

    fn open(&mut self, port: u32) {
        let block = control_block(port);
        if self.nic.load(block + P_OPEN) != 0 || self.nic.load(STARTED) == 0 {
            return;
        }
        for slot in 0..SEND_SLOTS {
            self.nic.store(send_slot(port, slot) + SEND_TYPE, 0);
        }
        for slot in 0..RECEIVE_SLOTS {
            let word = receive_slot(port, slot) + RECEIVE_READY_WORD;
            self.nic.store(word, 0);
        }
        let tokens = TOKENS + port * 256 * TOKEN_BYTES;
        self.free_list(tokens, 256, TOKEN_BYTES, T_NEXT);
        self.clear(block + P_LISTS, block + P_LISTS + 512);
        let queue = self.nic.load(block + PORT_QUEUE_LOW);
        for (word, value) in [
            (P_FREE_TOKEN, tokens),
            (P_SEND, send_slot(port, 0)),
            (P_TOKEN, receive_slot(port, 0)),
            (P_EVENT, queue),
            (P_REPORT_IN, 0),
            (P_REPORT_OUT, 0),
            (P_OPEN, 1),
        ] {
            self.nic.store(block + word, value);
        }
        match self.nic.load(OPEN_PORT) {
            0 => {
                self.nic.store(block + P_NEXT, block);
                self.nic.store(OPEN_PORT, block);
            }
            first => {
                let second = self.nic.load(first + P_NEXT);
                self.nic.store(block + P_NEXT, second);
                self.nic.store(first + P_NEXT, block);
            }
        }
    }

    fn close(&mut self, port: u32) {
        let block = control_block(port);
        if self.nic.load(block + P_OPEN) == 0 {
            return;
        }
        self.nic.store(block + P_OPEN, 0);
        let next = self.nic.load(block + P_NEXT);
        let mut before = next;
        // The circle has at most as many links as there are ports.
        for _ in 0..PORT_COUNT {
            let link = self.nic.load(before + P_NEXT);
            if link == block {
                break;
            }
            before = link;
        }
        self.nic.store(before + P_NEXT, next);
        let first = if next == block { 0 } else { next };
        self.nic.store(OPEN_PORT, first);
        let reports = self.nic.load(REPORTS) & !(1 << port);
        self.nic.store(REPORTS, reports);
        self.give_up_sends(block);
    }

    /// The sends of a closed port carry nothing from now on.
    fn give_up_sends(&mut self, block: u32) {
        let mut connection = self.nic.load(ACTIVE);
        while connection != 0 {
            let mut record = self.nic.load(connection + C_FIRST);
            while record != 0 {
                if self.nic.load(record + R_TOKEN) & !0x7FF == block {
                    self.make_null(record);
                }
                record = self.nic.load(record + R_NEXT);
            }
            connection = self.nic.load(connection + C_ACTIVE_NEXT);
        }
    }

    /// A record only keeps its sequence number.
    pub(crate) fn make_null(&mut self, record: u32) {
        self.nic.store(record + R_TOKEN, 0);
        self.nic.store(record + R_TYPE, first_word(NULL));
        self.nic.store(record + R_LENGTH, 0);
    }
}
