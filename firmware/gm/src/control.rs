//! Start of the protocol; opening and closing of ports; the driver's other commands.
//!
//! SEND takes a command and does its half, then RECV does its own. A command that ends the use of memory (closing a port,
//! forgetting a page) ends when all DMA that began before it is complete: DMA in each direction is complete in order, so
//! SEND reads a word, and RECV writes one.
use defs::gm::atomic::GUARD_LOW;
use defs::gm::map::{
    ARGUMENT_HIGH, ARGUMENT_LOW, COMMAND_ACCEPT, COMMAND_ALLOW, COMMAND_BUSY, COMMAND_CLOSE,
    COMMAND_OPEN, COMMAND_START, COMMAND_UNCACHE, CONNECTION_BYTES, COUNTER_COUNT, COUNTERS,
    JOB_BYTES, JOB_COUNT, PEER_ROUTE, READY, RECEIVER_COUNTERS, RECEIVER_JOBS, RECORD_BYTES,
    RECORD_COUNT, RECORDS, REPLY_COUNT, SENDER_JOBS, STATE, TOKEN_BYTES, TOKENS, page_key,
};
use defs::gm::mapping::{PROBES_TAKEN, PROBES_TAKEN_MAGIC};
use defs::gm::port::{
    PORT_COUNT, PORT_SIGNALS, RECEIVE_READY_WORD, RECEIVE_SLOTS, SEND_SLOTS, SEND_TYPE,
    control_block, receive_slot, send_slot,
};

use crate::collective::COLLECTIVE_STATE_END;
use crate::nic::HostAddress;
use crate::places::Places;
use crate::remote::REPLIES;
use crate::state::{
    Connection, EVENT_BUFFERS, FREE, LAST_WRITE, OPEN_PORT, Peer, PortBlock, RECEIVE_PORT,
    RECEIVER_JOB, RECEIVER_JOB_IN, REPORT_BUFFERS, REPORT_GROUP_BYTES, Record, SEND_BUCKET,
    SEND_BUFFERS, SEND_OTHER, SENDER_JOB, SENDER_JOB_IN, SendBuffer, Token, connection, peer,
};
use crate::{Gm, Nic};

impl<N: Nic> Gm<N> {
    /// Clears the words of SRAM from `from` to `to`.
    pub(crate) fn clear(&mut self, from: u32, to: u32) {
        let mut at = from;
        while at < to {
            self.nic.store(at, 0);
            at += 4;
        }
    }

    /// Makes a list of free items.
    pub(crate) fn free_list(&mut self, from: u32, count: u32, bytes: u32, next: u32) {
        let mut at = from;
        for _ in 1..count {
            self.nic.store(at + next, at + bytes);
            at += bytes;
        }
        self.nic.store(at + next, 0);
    }

    /// Prepares SRAM: all of it on SEND's CPU, which starts first.
    #[cold]
    #[inline(never)]
    pub(crate) fn prepare(&mut self) {
        if !N::ROLE.sends() {
            return self.forget_pages();
        }
        self.forget_pages();
        self.clear(COUNTERS, COUNTERS + 4 * COUNTER_COUNT);
        if !N::ROLE.receives() {
            self.clear(RECEIVER_COUNTERS, RECEIVER_COUNTERS + 4 * COUNTER_COUNT);
        }
        self.clear(STATE, COLLECTIVE_STATE_END);
        self.prepare_mapping();
        for port in 0..PORT_COUNT {
            PortBlock::at(control_block(port)).set_open(self, false);
            PortBlock::at(control_block(port)).set_receives(self, false);
        }
        for record in 0..RECORD_COUNT + REPLY_COUNT {
            self.nic
                .store(RECORDS + record * RECORD_BYTES + Record::KIND, 0);
            self.nic
                .store(RECORDS + record * RECORD_BYTES + Record::TOKEN, 0);
        }
        for job in 0..JOB_COUNT {
            self.nic.store(RECEIVER_JOBS + job * JOB_BYTES, 0);
            self.nic.store(SENDER_JOBS + job * JOB_BYTES, 0);
        }
        self.free_list(RECORDS, RECORD_COUNT, RECORD_BYTES, Record::NEXT);
        self.free_list(REPLIES, REPLY_COUNT, RECORD_BYTES, Record::NEXT);
        self.set_free_records(Record::at(RECORDS));
        self.set_free_replies(Record::at(REPLIES));
        self.set_fill_buffer(SendBuffer::at(SEND_BUFFERS));
        self.set_leave_buffer(SendBuffer::at(SEND_BUFFERS));
        self.set_report_buffer(REPORT_BUFFERS);
        self.set_next_event_buffer(EVENT_BUFFERS);
        for (word, value) in [
            (SENDER_JOB, SENDER_JOBS),
            (SENDER_JOB_IN, SENDER_JOBS),
            (RECEIVER_JOB, RECEIVER_JOBS),
            (RECEIVER_JOB_IN, RECEIVER_JOBS),
            (REPORT_BUFFERS, FREE),
            (REPORT_BUFFERS + REPORT_GROUP_BYTES, FREE),
            (SEND_BUFFERS + SendBuffer::STATE, FREE),
            ((SEND_BUFFERS ^ SEND_OTHER) + SendBuffer::STATE, FREE),
        ] {
            self.nic.store(word, value);
        }
        self.set_command_word(0);
        self.nic.store(READY, N::READY_MAGIC);
    }

    /// Carries out the host's command. The firmware clears the word when it has.
    #[cold]
    #[inline(never)]
    pub(crate) fn command(&mut self, command: u32) -> bool {
        let port = command >> 8;
        let high = self.nic.load(ARGUMENT_HIGH);
        let low = self.nic.load(ARGUMENT_LOW);
        let known = port < PORT_COUNT;
        match command & 0xFF {
            COMMAND_BUSY => return false,
            COMMAND_START => self.start(),
            COMMAND_OPEN if known && self.open(port) => {
                return self.begin_command(command, high, low);
            }
            COMMAND_CLOSE if known && self.close(port) => {
                return self.begin_command(command, high, low);
            }
            COMMAND_ACCEPT | COMMAND_ALLOW if known => {
                return self.begin_command(command, high, low);
            }
            COMMAND_UNCACHE => {
                self.forget_page(high, low);
                return self.begin_command(command, high, low);
            }
            _ => {}
        }
        self.set_command_word(0);
        true
    }

    /// Reads a word behind all DMA from the host, and gives RECV its half. The command word says meanwhile that there is
    /// nothing to begin.
    fn begin_command(&mut self, command: u32, high: u32, low: u32) -> bool {
        let host = HostAddress {
            high: self.page_table_high(),
            low: self.page_table_low(),
        };
        self.nic.fetch(host, SEND_BUCKET, 16);
        self.set_command_word(command | COMMAND_BUSY);
        self.hand_command(command, high, low);
        true
    }

    /// The host's command is carried out.
    pub(crate) fn sender_command_done(&mut self) {
        self.set_command_word(0);
    }

    /// RECV's half of a command.
    pub(crate) fn receiver_command(&mut self, command: u32, high: u32, low: u32) {
        let port = PortBlock::at(control_block(command >> 8 & (PORT_COUNT - 1)));
        match command & 0xFF {
            COMMAND_OPEN => self.open_receives(port),
            COMMAND_ACCEPT => {
                port.set_accept(self, 0, low);
                port.set_accept(self, 1, high);
            }
            COMMAND_ALLOW => port.set_allow(self, low),
            COMMAND_CLOSE => return self.close_receives(port),
            _ => {
                self.forget_page(high, low);
                return self.last_write();
            }
        }
        self.command_done();
    }

    /// Writes a word behind all other DMA to the host; its end ends the command.
    fn last_write(&mut self) {
        self.scratch_write(LAST_WRITE);
    }

    /// Writes a word before the page table, behind all other DMA to the host.
    pub(crate) fn scratch_write(&mut self, cookie: u32) {
        let host = HostAddress {
            high: self.page_table_high(),
            low: self.page_table_low() - defs::gm::map::PAGE_TABLE_SCRATCH,
        };
        self.nic.start_write(host, LAST_WRITE, 4, cookie);
    }

    /// Starts the protocol, when the host has written the numbers of nodes and the own node.
    fn start(&mut self) {
        if self.started() != 0 || self.nodes() > N::NODES {
            return;
        }
        let node = self.node();
        self.prepare_peers(0, self.nodes());
        self.prepare_collectives();
        self.set_own_bits(node << 17);
        self.set_started(1);
        self.nic.store(PROBES_TAKEN, PROBES_TAKEN_MAGIC);
    }

    /// Prepares the connections of peers; their routes stay.
    pub(crate) fn prepare_peers(&mut self, from: u32, to: u32) {
        let session = self.session() << 16;
        let mut at = connection::<N>(2 * from).address();
        while at < connection::<N>(2 * to).address() {
            self.clear(at, at + PEER_ROUTE);
            Connection::at(at).set_send(self, session);
            at += CONNECTION_BYTES;
        }
        for node in from..to {
            Peer::at(peer::<N>(node)).set_atomics(self, 0);
        }
    }

    /// SEND's half of opening a port. Returns whether it is open now.
    fn open(&mut self, number: u32) -> bool {
        let port = PortBlock::at(control_block(number));
        if port.is_open(self) || self.started() == 0 {
            return false;
        }
        for slot in 0..SEND_SLOTS {
            self.nic.store(send_slot(number, slot) + SEND_TYPE, 0);
        }
        let process = port.process(self) & (PORT_COUNT - 1);
        port.write(
            self,
            [
                (PortBlock::SEND_SLOT, send_slot(number, 0)),
                (PortBlock::SENDS, 0),
                (PortBlock::STREAM_COUNT, 0),
                (PortBlock::WAITING, 0),
                (PortBlock::KEY, page_key(process)),
                (PortBlock::ATOMICS, 0),
                (PORT_SIGNALS, 0),
                (PortBlock::OPEN, 1),
            ],
        );
        self.link(OPEN_PORT, PortBlock::NEXT, port);
        self.open_collectives(port);
        true
    }

    /// RECV's half of opening a port.
    fn open_receives(&mut self, port: PortBlock) {
        let number = crate::state::port_number(port);
        for slot in 0..RECEIVE_SLOTS {
            let word = receive_slot(number, slot) + RECEIVE_READY_WORD;
            self.nic.store(word, 0);
        }
        let tokens = TOKENS + number * 256 * TOKEN_BYTES;
        self.free_list(
            tokens,
            defs::gm::port::RECEIVE_TOKENS,
            TOKEN_BYTES,
            Token::NEXT,
        );
        self.clear(
            port.address() + PortBlock::LISTS,
            port.address() + PortBlock::LISTS + 512,
        );
        let queue = port.queue_low(self);
        let process = port.process(self) & (PORT_COUNT - 1);
        port.write(
            self,
            [
                (PortBlock::FREE_TOKEN, tokens),
                (PortBlock::TOKEN_SLOT, receive_slot(number, 0)),
                (PortBlock::EVENT, queue),
                (PortBlock::REPORT_IN, 0),
                (PortBlock::REPORT_OUT, 0),
                (PortBlock::ACCEPT, u32::MAX),
                (PortBlock::ACCEPT + 4, u32::MAX),
                (PortBlock::ALLOW, 0),
                (GUARD_LOW, 0),
                (PortBlock::ALL_NOTICES, 0),
                (PortBlock::RECEIVE_KEY, page_key(process)),
                (PortBlock::RECEIVES, 1),
            ],
        );
        if !N::ROLE.sends() {
            self.link(RECEIVE_PORT, PortBlock::RECEIVE_NEXT, port);
        }
    }

    /// Puts a port into the circle of open ones.
    fn link(&mut self, circle: u32, next: u32, port: PortBlock) {
        match self.nic.load(circle) {
            0 => {
                self.nic.store(port.address() + next, port.address());
                self.nic.store(circle, port.address());
            }
            first => {
                let second = self.nic.load(first + next);
                self.nic.store(port.address() + next, second);
                self.nic.store(first + next, port.address());
            }
        }
    }

    /// Takes a port out of the circle of open ones.
    fn unlink_port(&mut self, circle: u32, next: u32, port: PortBlock) {
        let after = self.nic.load(port.address() + next);
        let mut before = after;
        // The circle has at most as many links as there are ports.
        for _ in 0..PORT_COUNT {
            let link = self.nic.load(before + next);
            if link == port.address() {
                break;
            }
            before = link;
        }
        self.nic.store(before + next, after);
        self.nic
            .store(circle, if after == port.address() { 0 } else { after });
    }

    /// SEND's half of closing a port. Returns whether it was open.
    fn close(&mut self, number: u32) -> bool {
        let port = PortBlock::at(control_block(number));
        if !port.is_open(self) {
            return false;
        }
        port.set_open(self, false);
        self.unlink_port(OPEN_PORT, PortBlock::NEXT, port);
        let alarms = self.alarms() & !(1 << number);
        self.set_alarms(alarms);
        self.give_up_port(port);
        self.close_collectives(port);
        true
    }

    /// RECV's half of closing a port.
    fn close_receives(&mut self, port: PortBlock) {
        let number = crate::state::port_number(port);
        port.set_receives(self, false);
        if !N::ROLE.sends() {
            self.unlink_port(RECEIVE_PORT, PortBlock::RECEIVE_NEXT, port);
        }
        let reports = self.reports() & !(1 << number);
        self.set_reports(reports);
        let tokens = TOKENS + number * 256 * TOKEN_BYTES;
        let mut at = N::PEERS;
        for _ in 0..2 * self.nodes() {
            let connection = Connection::at(at);
            let token = connection.partial(self);
            if token.address().wrapping_sub(tokens) < 256 * TOKEN_BYTES {
                connection.set_partial(self, Token::NONE);
            }
            at += CONNECTION_BYTES;
        }
        self.last_write();
    }
}
