//! A node of the tests: firmware and a host that posts and checks.

use std::collections::BTreeMap;

use defs::gm::event::{
    FAST, HIGH as HIGH_EVENT, LAST_WORD, NEW, PEER, QUEUE_BYTES, RECEIVE, SENT_TOKENS, SLOT_BYTES,
    SLOTS,
};
use defs::gm::map::{
    COMMAND, COMMAND_CLOSE, COMMAND_OPEN, COMMAND_START, COUNTERS, Counter, FATAL_TICKS, NODE,
    NODES, READY, READY_MAGIC, RESEND_TICKS, ROUTE_BYTES, ROUTE_VALID, ROUTES, SESSION,
};
use defs::gm::port::{
    PORT_QUEUE_HIGH, PORT_QUEUE_LOW, RECEIVE_ADDRESS_HIGH, RECEIVE_ADDRESS_LOW, RECEIVE_READY,
    RECEIVE_READY_WORD, RECEIVE_SLOTS, RECEIVE_TAG, RECEIVE_TOKENS, SEND, SEND_ADDRESS_HIGH,
    SEND_ADDRESS_LOW, SEND_LENGTH, SEND_SLOTS, SEND_TOKEN, SEND_TOKENS, SEND_TYPE, control_block,
    receive_slot, send_slot,
};
use gm::Gm;

use crate::nic::{Fake, HIGH};

/// Ticks before packets are sent again, and before a send fails, in tests.
pub const RESEND: u32 = 5;
pub const FATAL: u32 = 60;

const BUFFERS: u32 = 0x10_0000;
/// Bytes of a message's buffer.
const BUFFER_BYTES: u32 = 0x1000;

/// A message as its sender made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub node: u32,
    pub port: u32,
    pub target_node: u32,
    pub target_port: u32,
    pub priority: u32,
    pub size: u32,
    pub data: Vec<u8>,
}

#[derive(Debug, Default)]
pub struct Port {
    next_slot: u32,
    sends: u32,
    next_token: u32,
    tokens: u32,
    next_event: u32,
    /// Send tokens under way.
    under_way: BTreeMap<u32, u32>,
}

pub struct Node {
    pub gm: Gm<Fake>,
    pub number: u32,
    pub ports: [Port; 8],
    /// Messages received, in order.
    pub received: Vec<Message>,
    /// Results of sends: port, number of the send on this node, status.
    pub sent: Vec<(u32, u32, u32)>,
    sends: u32,
    next_buffer: u32,
    /// Tag of each buffer that was posted.
    tags: BTreeMap<u32, u32>,
}

fn queue(port: u32) -> u32 {
    port * 0x1_8000
}

impl Node {
    pub fn new(number: u32, nodes: u32, session: u32) -> Self {
        let mut node = Self {
            gm: Gm::new(Fake::new()),
            number,
            ports: Default::default(),
            received: Vec::new(),
            sent: Vec::new(),
            sends: 0,
            next_buffer: 0,
            tags: BTreeMap::new(),
        };
        let fake = node.gm.nic_mut();
        assert_eq!(fake.word(READY), READY_MAGIC);
        for (word, value) in [
            (NODE, number),
            (NODES, nodes),
            (SESSION, session),
            (RESEND_TICKS, RESEND),
            (FATAL_TICKS, FATAL),
        ] {
            fake.set_word(word, value);
        }
        for other in 0..nodes {
            // Routes of 1 to 5 bytes, whose last one names the node.
            let length = 1 + other % 5;
            let entry = ROUTES + other * ROUTE_BYTES;
            let valid = if other == number { 0 } else { ROUTE_VALID };
            fake.set_word(entry, valid | length);
            fake.set_word(entry + ROUTE_BYTES - 8, 0x8182_8384);
            fake.set_word(entry + ROUTE_BYTES - 4, 0x8586_8700 | 0x80 | other);
        }
        node.command(COMMAND_START);
        node
    }

    pub fn command(&mut self, command: u32) {
        self.gm.nic_mut().set_word(COMMAND, command);
        for _ in 0..4 {
            self.gm.step();
        }
    }

    pub fn open(&mut self, port: u32) {
        self.ports[port as usize] = Port::default();
        let at = queue(port) as usize;
        self.gm.nic_mut().host[at..at + QUEUE_BYTES as usize].fill(0);
        let block = control_block(port);
        self.gm.nic_mut().set_word(block + PORT_QUEUE_HIGH, HIGH);
        self.gm
            .nic_mut()
            .set_word(block + PORT_QUEUE_LOW, queue(port));
        self.command(COMMAND_OPEN | port << 8);
        assert_eq!(self.gm.nic().word(COMMAND), 0);
    }

    pub fn close(&mut self, port: u32) {
        self.command(COMMAND_CLOSE | port << 8);
    }

    pub fn counter(&self, counter: Counter) -> u32 {
        self.gm.nic().word(COUNTERS + 4 * counter as u32)
    }

    fn buffer(&mut self) -> u32 {
        self.next_buffer = (self.next_buffer + 1) % 700;
        BUFFERS + self.next_buffer * (BUFFER_BYTES + 4)
    }

    /// Whether a send token of the port is free.
    pub fn can_send(&self, port: u32) -> bool {
        self.ports[port as usize].sends < SEND_TOKENS
    }

    /// Writes a send slot; returns the number of the send.
    pub fn send(&mut self, message: &Message) -> u32 {
        let address = self.buffer();
        let at = address as usize;
        let fake = self.gm.nic_mut();
        fake.host[at..at + message.data.len()].copy_from_slice(&message.data);
        let port = &mut self.ports[message.port as usize];
        assert!(port.sends < SEND_TOKENS);
        port.sends += 1;
        let slot = port.next_slot;
        port.next_slot = (slot + 1) % SEND_SLOTS;
        let token = (0..SEND_TOKENS)
            .find(|token| !port.under_way.contains_key(token))
            .expect("a token");
        port.under_way.insert(token, self.sends);
        let word = message.target_node << 16
            | (message.target_port << 1 | message.priority) << 8
            | (SEND + message.size);
        let at = send_slot(message.port, slot);
        assert_eq!(fake.word(at + SEND_TYPE), 0);
        fake.set_word(at + SEND_TOKEN, token);
        fake.set_word(at + SEND_ADDRESS_HIGH, HIGH);
        fake.set_word(at + SEND_ADDRESS_LOW, address);
        fake.set_word(
            at + SEND_LENGTH,
            u32::try_from(message.data.len()).expect("in range"),
        );
        fake.set_word(at + SEND_TYPE, word);
        self.sends += 1;
        self.sends - 1
    }

    /// Whether a receive token of the port is free.
    pub fn can_provide(&self, port: u32) -> bool {
        self.ports[port as usize].tokens < RECEIVE_TOKENS
    }

    pub fn provide(&mut self, port: u32, size: u32, priority: u32, tag: u32) {
        let address = self.buffer();
        self.tags.insert(address, tag);
        let port_state = &mut self.ports[port as usize];
        assert!(port_state.tokens < RECEIVE_TOKENS);
        port_state.tokens += 1;
        let slot = port_state.next_token;
        port_state.next_token = (slot + 1) % RECEIVE_SLOTS;
        let at = receive_slot(port, slot);
        let fake = self.gm.nic_mut();
        assert_eq!(fake.word(at + RECEIVE_READY_WORD), 0);
        fake.set_word(at + RECEIVE_ADDRESS_HIGH, HIGH);
        fake.set_word(at + RECEIVE_ADDRESS_LOW, address);
        fake.set_word(at + RECEIVE_TAG, tag);
        let word = RECEIVE_READY | priority << 8 | size;
        fake.set_word(at + RECEIVE_READY_WORD, word);
    }

    fn host_word(&self, at: u32) -> u32 {
        let at = at as usize;
        u32::from_be_bytes(self.gm.nic().host[at..at + 4].try_into().expect("in range"))
    }

    /// Takes the next event of a port, if there is one.
    pub fn receive(&mut self, port: u32) -> bool {
        let slot = queue(port) + self.ports[port as usize].next_event * SLOT_BYTES;
        let word = self.host_word(slot + LAST_WORD);
        if word & NEW == 0 {
            return false;
        }
        self.gm.nic_mut().host[(slot + LAST_WORD + 3) as usize] = 0;
        let state = &mut self.ports[port as usize];
        state.next_event = (state.next_event + 1) % SLOTS;
        match word & 0x7F {
            SENT_TOKENS => self.take_reports(port, slot, word),
            kind => self.take_message(port, slot, word, kind),
        }
        true
    }

    fn take_reports(&mut self, port: u32, slot: u32, word: u32) {
        let count = word >> 8 & 0xFF;
        for index in 0..count {
            let at = (slot + SLOT_BYTES - 4 - 2 * index) as usize;
            let host = &self.gm.nic().host;
            let (sent, status) = (u32::from(host[at]), u32::from(host[at + 1]));
            let state = &mut self.ports[port as usize];
            let number = state.under_way.remove(&sent).expect("under way");
            state.sends -= 1;
            self.sent.push((port, number, status));
        }
    }

    fn take_message(&mut self, port: u32, slot: u32, word: u32, kind: u32) {
        let field = |offset: u32| self.host_word(slot + SLOT_BYTES - 32 + offset);
        assert_eq!((field(0), field(8)), (HIGH, HIGH));
        let (message, buffer, length, node_tag) = (field(4), field(12), field(16), field(20));
        assert_eq!(self.tags.remove(&buffer), Some(node_tag & 0xFFFF));
        let fast = length <= 128;
        assert_eq!(fast, message != buffer);
        let (sender, target) = (word >> 16 & 0xFF, word >> 8 & 0xFF);
        assert_eq!((target >> 1, target & 1), (port, sender & 1));
        let peer = if sender >> 1 == port { PEER } else { 0 };
        let expected = RECEIVE + (sender & 1) * HIGH_EVENT + peer + if fast { FAST } else { 0 };
        assert_eq!(kind, expected);
        let from = message as usize;
        let data = self.gm.nic().host[from..from + length as usize].to_vec();
        self.received.push(Message {
            node: node_tag >> 16,
            port: sender >> 1,
            target_node: self.number,
            target_port: port,
            priority: sender & 1,
            size: word >> 24,
            data,
        });
        self.ports[port as usize].tokens -= 1;
    }
}
