//! A node of the tests: firmware and a host that posts and checks.

use std::collections::BTreeMap;

use crate::board::{Board, Cpus};
use crate::nic::HIGH;
use defs::gm::event::{
    COMPLETED, FAST, HIGH as HIGH_EVENT, LAST_WORD, NEW, NOTICES, PEER, QUEUE_BYTES, RECEIVE,
    SENT_TOKENS, SLOT_BYTES, SLOTS,
};
use defs::gm::map::{
    ARGUMENT_HIGH, ARGUMENT_LOW, BUCKET_ENTRIES, COLLECTIVE_TICKS, COMMAND, COMMAND_ACCEPT,
    COMMAND_ALLOW, COMMAND_CLOSE, COMMAND_OPEN, COMMAND_START, COMMAND_UNCACHE, COUNTERS, Counter,
    FATAL_TICKS, NODE, NODES, PAGE_BYTES, PAGE_ENTRY_BYTES, PAGE_TABLE_HIGH, PAGE_TABLE_LOW,
    PAGE_TABLE_MASK, PEER_ROUTE, READY, RECEIVER_COUNTERS, RESEND_TICKS, ROUTE_VALID, ROUTE_WORDS,
    SESSION, page_hash, page_key, page_tag,
};
use defs::gm::mapping::PEER_LIMIT;
use defs::gm::port::{
    PORT_PROCESS, PORT_QUEUE_HIGH, PORT_QUEUE_LOW, RECEIVE_ADDRESS_HIGH, RECEIVE_ADDRESS_LOW,
    RECEIVE_READY, RECEIVE_READY_WORD, RECEIVE_SLOTS, RECEIVE_TAG, RECEIVE_TOKENS, SEND,
    SEND_ADDRESS_HIGH, SEND_ADDRESS_LOW, SEND_LENGTH, SEND_REMOTE_HIGH, SEND_REMOTE_LOW,
    SEND_SLOTS, SEND_TOKEN, SEND_TOKENS, SEND_TYPE, control_block, receive_slot, send_slot,
};

/// Ticks before packets are sent again, and before a send fails, in tests.
pub const RESEND: u32 = 5;
pub const FATAL: u32 = 2000;
/// Ticks before a collective operation fails.
pub const COLLECTIVE: u32 = 1500;

/// The page table, behind the scratch words.
pub const TABLE: u32 = 0xC_1000;
const BUCKETS: u32 = 1024;
/// Buffers are taken from here, in turn.
const BUFFERS: u32 = 0x10_0000;
const BUFFERS_END: u32 = 0x50_0000;
/// Programs' addresses have this upper half.
pub const PROGRAM: u32 = 0x7F;
/// All ports of a node belong to this process unless said otherwise.
pub const PROCESS: u32 = 3;

/// Host address of a page of a program: the pages are not adjacent.
pub const fn physical(address: u32) -> u32 {
    address ^ PAGE_BYTES
}

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
    pub next_slot: u32,
    sends: u32,
    next_token: u32,
    tokens: u32,
    next_event: u32,
    /// Send tokens under way.
    under_way: BTreeMap<u32, u32>,
}

impl Port {
    /// Whether no send is under way.
    pub const fn is_idle(&self) -> bool {
        self.sends == 0
    }
}

pub struct Node {
    pub gm: Board,
    /// Places of the counters of each CPU.
    counters: &'static [u32],
    pub number: u32,
    pub cpus: Cpus,
    pub ports: [Port; 8],
    /// Messages received, in order.
    pub received: Vec<Message>,
    /// Results of sends: port, number of the send on this node, status.
    pub sent: Vec<(u32, u32, u32)>,
    sends: u32,
    next_buffer: u32,
    /// Tags of each buffer that was posted.
    tags: BTreeMap<u32, Vec<u32>>,
    /// Notices: port, type, address.
    pub notices: Vec<(u32, u32, u32)>,
    /// Ends of collective operations: port, number, status, value.
    pub ended: Vec<(u32, u32, u32, u64)>,
}

pub const fn queue(port: u32) -> u32 {
    port * 0x1_8000
}

impl Node {
    pub fn new(number: u32, nodes: u32, session: u32) -> Self {
        Self::of(Cpus::One, number, nodes, session)
    }

    /// A node whose firmware runs on one CPU or two.
    pub fn of(cpus: Cpus, index: u32, nodes: u32, session: u32) -> Self {
        let number = cpus.node(index);
        let layout = cpus.layout();
        let mut node = Self {
            counters: match cpus {
                Cpus::One | Cpus::Large => &[COUNTERS],
                Cpus::Two | Cpus::Lending => &[COUNTERS, RECEIVER_COUNTERS],
            },
            gm: Board::new(cpus, u64::from(number)),
            number,
            cpus,
            ports: Default::default(),
            received: Vec::new(),
            sent: Vec::new(),
            sends: 0,
            next_buffer: BUFFERS,
            tags: BTreeMap::new(),
            notices: Vec::new(),
            ended: Vec::new(),
        };
        assert_eq!(node.gm.word(READY), layout.ready_magic);
        for (word, value) in [
            (NODE, number),
            (NODES, cpus.node(0).max(nodes - 1) + 1),
            (SESSION, session),
            (RESEND_TICKS, RESEND),
            (FATAL_TICKS, FATAL),
            (COLLECTIVE_TICKS, COLLECTIVE),
            (PAGE_TABLE_HIGH, HIGH),
            (PAGE_TABLE_LOW, TABLE),
            (PAGE_TABLE_MASK, BUCKETS - 1),
            (PEER_LIMIT, 256),
        ] {
            node.gm.set_word(word, value);
        }
        for other in 0..nodes {
            // Routes of 1 to 5 bytes, whose last one names the node.
            let length = 1 + other % 5;
            let valid = if other == index { 0 } else { ROUTE_VALID };
            let peer = layout.peer(cpus.node(other));
            node.gm.set_word(peer + PEER_ROUTE, valid | length);
            node.gm
                .set_word(peer + ROUTE_WORDS[0], 0x8586_8700 | 0x80 | other);
            node.gm.set_word(peer + ROUTE_WORDS[1], 0x8182_8384);
        }
        node.register(BUFFERS, BUFFERS_END - BUFFERS, PROCESS);
        node.command(COMMAND_START);
        node
    }

    /// Enters pages into the page table.
    pub fn register(&mut self, from: u32, bytes: u32, process: u32) {
        for page in (from..from + bytes).step_by(PAGE_BYTES as usize) {
            let tag = page_tag(page, page_key(process));
            let place = self.entry(tag, 0);
            for (index, word) in (0..).zip([PROGRAM, tag, HIGH, physical(page)]) {
                let at = place + 4 * index;
                self.gm.nic_mut().host[at..at + 4].copy_from_slice(&word.to_be_bytes());
            }
        }
    }

    /// Takes a page out of the page table.
    pub fn deregister(&mut self, page: u32, process: u32) {
        let tag = page_tag(page, page_key(process));
        let place = self.entry(tag, tag);
        self.gm.nic_mut().host[place..place + 16].fill(0);
        self.gm.nic_mut().set_word(ARGUMENT_HIGH, PROGRAM);
        self.gm.nic_mut().set_word(ARGUMENT_LOW, tag);
        self.command(COMMAND_UNCACHE);
    }

    /// Place of the entry with a tag in the bucket of another one.
    fn entry(&self, bucket: u32, tag: u32) -> usize {
        let base = TABLE
            + (page_hash(PROGRAM, bucket) & (BUCKETS - 1)) * BUCKET_ENTRIES * PAGE_ENTRY_BYTES;
        let mut places = (0..BUCKET_ENTRIES).map(|index| base + index * PAGE_ENTRY_BYTES);
        let place = places.find(|&place| self.host_word(place + 4) == tag);
        place.expect("room in the bucket") as usize
    }

    /// Bytes of a program.
    pub fn memory(&self, address: u32, length: u32) -> Vec<u8> {
        let byte = |at| self.gm.nic().host[physical(at) as usize];
        (address..address + length).map(byte).collect()
    }

    pub fn set_memory(&mut self, address: u32, bytes: &[u8]) {
        for (at, byte) in (address..).zip(bytes) {
            self.gm.nic_mut().host[physical(at) as usize] = *byte;
        }
    }

    pub fn command(&mut self, command: u32) {
        self.gm.nic_mut().set_word(COMMAND, command);
        for _ in 0..8 {
            self.gm.step();
            self.gm.nic_mut().write();
        }
        // Posts come first.
        for _ in 0..2000 {
            if self.gm.nic().word(COMMAND) != 0 {
                self.gm.step();
                self.gm.nic_mut().write();
            }
        }
    }

    /// Lets other nodes use the memory of a port's process, or not.
    pub fn allow(&mut self, port: u32, allowed: bool) {
        self.gm.nic_mut().set_word(ARGUMENT_LOW, allowed.into());
        self.command(COMMAND_ALLOW | port << 8);
    }

    pub fn open(&mut self, port: u32) {
        self.open_for(port, PROCESS);
    }

    /// Opens a port for a process.
    pub fn open_for(&mut self, port: u32, process: u32) {
        self.ports[port as usize] = Port::default();
        let at = queue(port) as usize;
        self.gm.nic_mut().host[at..at + QUEUE_BYTES as usize].fill(0);
        let block = control_block(port);
        self.gm.nic_mut().set_word(block + PORT_PROCESS, process);
        self.gm.nic_mut().set_word(block + PORT_QUEUE_HIGH, HIGH);
        self.gm
            .nic_mut()
            .set_word(block + PORT_QUEUE_LOW, queue(port));
        self.command(COMMAND_OPEN | port << 8);
        assert_eq!(self.gm.nic().word(COMMAND), 0);
    }

    pub fn close(&mut self, port: u32) {
        self.command(COMMAND_CLOSE | port << 8);
        assert_eq!(self.gm.nic().word(COMMAND), 0);
    }

    /// Opens a port that was closed; what was under way is forgotten.
    pub fn reopen(&mut self, port: u32) {
        self.ports[port as usize] = Port::default();
        self.open(port);
    }

    /// Fills the receive queue of a closed port with a pattern.
    pub fn mark_queue(&mut self, port: u32) {
        let at = queue(port) as usize;
        self.gm.nic_mut().host[at..at + QUEUE_BYTES as usize].fill(0x55);
    }

    /// Whether the queue holds the pattern; one that is changed is an error.
    pub fn is_marked(&self, port: u32) -> bool {
        let at = queue(port) as usize;
        let bytes = &self.gm.nic().host[at..at + QUEUE_BYTES as usize];
        let marked = bytes[0] == 0x55;
        assert!(
            !marked || bytes.iter().all(|&byte| byte == 0x55),
            "an event for a closed port"
        );
        marked
    }

    /// Whether the next send slot can be written.
    pub fn slot_is_free(&self, port: u32) -> bool {
        let at = send_slot(port, self.ports[port as usize].next_slot);
        self.gm.nic().word(at + SEND_TYPE) == 0
    }

    /// Address of the next buffer; none if there is no room.
    pub const fn next_buffer(&self) -> u32 {
        self.next_buffer
    }

    /// Packets that were dropped, whatever the reason.
    pub fn bad(&self) -> u32 {
        let counters = [
            Counter::BadPackets,
            Counter::BadLength,
            Counter::BadType,
            Counter::BadAddress,
        ];
        counters
            .into_iter()
            .map(|counter| self.counter(counter))
            .sum()
    }

    pub fn counter(&self, counter: Counter) -> u32 {
        let of = |counters: &u32| self.gm.nic().word(counters + 4 * counter as u32);
        self.counters.iter().map(of).sum()
    }

    /// A buffer of `bytes`, which no other one of the last ones overlaps. Not aligned.
    pub fn buffer(&mut self, bytes: u32) -> u32 {
        if self.next_buffer + bytes > BUFFERS_END {
            self.next_buffer = BUFFERS;
        }
        let buffer = self.next_buffer;
        self.next_buffer += (bytes + 20) & !3;
        buffer
    }

    /// Whether a send token of the port is free.
    pub fn can_send(&self, port: u32) -> bool {
        self.ports[port as usize].sends < SEND_TOKENS
    }

    /// Writes a send slot; returns the number of the send.
    pub fn send(&mut self, message: &Message) -> u32 {
        let address = self.buffer(u32::try_from(message.data.len()).expect("in range"));
        self.set_memory(address, &message.data);
        let word = message.target_node << 16
            | (message.target_port << 1 | message.priority) << 8
            | (SEND + message.size);
        let length = u32::try_from(message.data.len()).expect("in range");
        self.post(message.port, word, address, length, 0)
    }

    /// Writes a slot that needs no token: node, port, priority and length as the type asks for.
    pub fn control(&mut self, port: u32, word: u32, length: u32) {
        let state = &mut self.ports[port as usize];
        let at = send_slot(port, state.next_slot);
        state.next_slot = (state.next_slot + 1) % SEND_SLOTS;
        let mut fake = self.gm.nic_mut();
        assert_eq!(fake.word(at + SEND_TYPE), 0);
        fake.set_word(at + SEND_LENGTH, length);
        fake.set_word(at + SEND_TYPE, word);
    }

    /// The stream of a message goes on.
    pub fn resume(&mut self, of: &Message, kind: u32) {
        let subport = of.target_port << 1 | of.priority;
        self.control(of.port, of.target_node << 16 | subport << 8 | kind, 0);
        self.gm.step();
    }

    /// Writes a send slot; returns the number of the send.
    pub fn post(&mut self, port: u32, word: u32, address: u32, length: u32, remote: u32) -> u32 {
        let port_number = port;
        let mut fake = self.gm.nic_mut();
        let port = &mut self.ports[port as usize];
        assert!(port.sends < SEND_TOKENS);
        port.sends += 1;
        let slot = port.next_slot;
        port.next_slot = (slot + 1) % SEND_SLOTS;
        let token = (0..SEND_TOKENS)
            .find(|token| !port.under_way.contains_key(token))
            .expect("a token");
        port.under_way.insert(token, self.sends);
        let at = send_slot(port_number, slot);
        assert_eq!(fake.word(at + SEND_TYPE), 0);
        for (offset, value) in [
            (SEND_REMOTE_HIGH, PROGRAM),
            (SEND_REMOTE_LOW, remote),
            (SEND_TOKEN, token),
            (SEND_ADDRESS_HIGH, PROGRAM),
            (SEND_ADDRESS_LOW, address),
            (SEND_LENGTH, length),
            (SEND_TYPE, word),
        ] {
            fake.set_word(at + offset, value);
        }
        self.sends += 1;
        self.sends - 1
    }

    /// Sets the sizes that a port accepts: a bit for each, of low and high priority.
    pub fn accept(&mut self, port: u32, low: u32, high: u32) {
        self.gm.nic_mut().set_word(ARGUMENT_LOW, low);
        self.gm.nic_mut().set_word(ARGUMENT_HIGH, high);
        self.command(COMMAND_ACCEPT | port << 8);
    }

    /// Posts a put or a get between addresses of programs.
    pub fn remote(&mut self, kind: u32, port: u32, to: (u32, u32), bytes: [u32; 3]) -> u32 {
        let [local, length, remote] = bytes;
        let word = to.0 << 16 | to.1 << 9 | kind;
        self.post(port, word, local, length, remote)
    }

    /// Receive tokens that were provided.
    pub const fn tokens(&self, port: u32) -> u32 {
        self.ports[port as usize].tokens
    }

    /// Whether a receive token of the port is free.
    pub fn can_provide(&self, port: u32) -> bool {
        self.ports[port as usize].tokens < RECEIVE_TOKENS
    }

    pub fn provide(&mut self, port: u32, size: u32, priority: u32, tag: u32) {
        let room = defs::gm::packet::capacity(size).min(0x4_0000);
        let address = self.buffer(room);
        self.provide_at(address, port, size, priority, tag);
    }

    pub fn provide_at(&mut self, address: u32, port: u32, size: u32, priority: u32, tag: u32) {
        self.tags.entry(address).or_default().push(tag);
        let port_state = &mut self.ports[port as usize];
        assert!(port_state.tokens < RECEIVE_TOKENS);
        port_state.tokens += 1;
        let slot = port_state.next_token;
        port_state.next_token = (slot + 1) % RECEIVE_SLOTS;
        let at = receive_slot(port, slot);
        let mut fake = self.gm.nic_mut();
        assert_eq!(fake.word(at + RECEIVE_READY_WORD), 0);
        fake.set_word(at + RECEIVE_ADDRESS_HIGH, PROGRAM);
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
            kind if NOTICES.contains(&kind) => {
                let address = self.host_word(slot + SLOT_BYTES - 8);
                self.notices.push((port, kind, address));
            }
            COMPLETED => {
                let field = |offset| self.host_word(slot + SLOT_BYTES - 20 + offset);
                let value = u64::from(field(0)) << 32 | u64::from(field(4));
                let status = field(12);
                self.ended.push((port, word >> 8 & 0xFF, status, value));
            }
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
        let field = |offset: u32| self.host_word(slot + SLOT_BYTES - 20 + offset);
        assert_eq!(field(0), PROGRAM);
        let (buffer, length, node_tag) = (field(4), field(8), field(12));
        let tag = self.tags.get_mut(&buffer).and_then(Vec::pop);
        assert_eq!(tag, Some(node_tag & 0xFFFF));
        let fast = (kind - RECEIVE) & FAST != 0;
        let (sender, target) = (word >> 16 & 0xFF, word >> 8 & 0xFF);
        assert_eq!((target >> 1, target & 1), (port, sender & 1));
        let peer = if sender >> 1 == port { PEER } else { 0 };
        let expected = RECEIVE + (sender & 1) * HIGH_EVENT + peer + if fast { FAST } else { 0 };
        assert_eq!(kind, expected);
        let data = if fast {
            let from = (slot + SLOT_BYTES - 20 - length.next_multiple_of(4)) as usize;
            self.gm.nic().host[from..from + length as usize].to_vec()
        } else {
            self.memory(buffer, length)
        };
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
