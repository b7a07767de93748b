//! Two nodes with fake NICs, a wire between them that loses, repeats and reorders frames, and hosts that
//! post messages and check their results.

pub mod engine;
pub mod memory;
pub mod nic;

use std::collections::VecDeque;

use defs::emp::control::{
    ACK_GROUP, COMMAND, COMMAND_START, COUNTERS, Counter, EPOCH, FRAME_BYTES, MAILBOX_RECEIVE,
    MAILBOX_TRANSMIT, NODE, READY, READY_MAGIC, RECEIVE_TIMEOUT_US, RETRY_LIMIT, ROUTE_COUNT,
    TIMEOUT_US,
};
use defs::emp::descriptor::{
    Code, DESCRIPTOR_BYTES, Form, RECEIVE_DESCRIPTORS, SEND_DESCRIPTORS, STATUS_LENGTH_MASK,
    STATUS_NEXT_NONE, STATUS_NIC_OWNS, node_tag, page_entry, status_posted,
};
use emp::MemoryPlan;
use emp::nic::Event;

use engine::{Engine, Records};
use memory::Random;
use nic::{Chip, SHARED_BASE};

/// The hosts' settings.
#[derive(Clone, Copy)]
pub struct Settings {
    pub ack_group: u32,
    pub frame_bytes: u32,
    pub timeout_us: u32,
    pub retry_limit: u32,
    /// 0: never.
    pub receive_timeout_us: u32,
    pub host_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ack_group: 3,
            frame_bytes: 1500,
            timeout_us: 2000,
            retry_limit: 10,
            receive_timeout_us: 0,
            // A chip that runs the tests (`emulator/tests/lanai/emp.rs`) has less memory than a host.
            host_bytes: if cfg!(target_os = "none") {
                16 << 20
            } else {
                64 << 20
            },
        }
    }
}

/// Memory of a message: pieces of host memory in sequence.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub pieces: Vec<(u64, u16)>,
    pub form: Form,
}

/// A descriptor owned by the NIC.
pub struct Posting {
    pub head: u32,
    chain: Vec<u32>,
    pub buffer: Buffer,
}

/// The status that the NIC wrote back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    pub code: Code,
    pub node: u16,
    pub tag: u16,
    pub length: u32,
}

/// A node: the protocol, its NIC and its host.
pub struct Node<'a> {
    pub emp: Box<dyn Engine + 'a>,
    free_sends: VecDeque<u32>,
    free_receives: VecDeque<u32>,
}

impl Node<'static> {
    /// A node whose records are never freed.
    pub fn start(number: u32, nodes: u32, epoch: u32, settings: &Settings) -> Self {
        let tables = Box::leak(Box::new(Records::new()));
        Self::start_in(tables, number, nodes, epoch, settings)
    }
}

impl<'a> Node<'a> {
    pub fn start_in(
        tables: &'a mut Records,
        number: u32,
        nodes: u32,
        epoch: u32,
        settings: &Settings,
    ) -> Self {
        let mac = 0x0260_0000_0000 + u64::from(number);
        let chip = Chip::new(mac, settings.host_bytes);
        let mut emp = tables.engine(chip);
        assert!(!emp.start());
        let nic = emp.nic_mut();
        assert_eq!(nic.load(READY), READY_MAGIC);
        let routes = MemoryPlan::at(SHARED_BASE).routes();
        for peer in 0..nodes {
            nic.store(routes + 16 * peer, 0x0260);
            nic.store(routes + 16 * peer + 4, peer);
        }
        for (word, value) in [
            (NODE, number),
            (ROUTE_COUNT, nodes),
            (EPOCH, epoch),
            (ACK_GROUP, settings.ack_group),
            (FRAME_BYTES, settings.frame_bytes),
            (TIMEOUT_US, settings.timeout_us),
            (RETRY_LIMIT, settings.retry_limit),
            (RECEIVE_TIMEOUT_US, settings.receive_timeout_us),
            (COMMAND, COMMAND_START),
        ] {
            nic.store(word, value);
        }
        assert!(emp.start());
        assert_eq!(emp.nic().load(COMMAND), 0);
        Self {
            emp,
            free_sends: (0..SEND_DESCRIPTORS).collect(),
            free_receives: (SEND_DESCRIPTORS..SEND_DESCRIPTORS + RECEIVE_DESCRIPTORS).collect(),
        }
    }

    pub fn nic(&mut self) -> &mut Chip {
        self.emp.nic_mut()
    }

    pub fn counter(&self, counter: Counter) -> u32 {
        self.emp.nic().load(COUNTERS + 4 * counter as u32)
    }

    pub fn events(&self, event: Event) -> u32 {
        self.emp.nic().events.get()[event as usize]
    }

    /// Runs the handler of the most urgent event; `false` if there is none.
    pub fn dispatch(&mut self) -> bool {
        self.emp.dispatch([true; 2])
    }

    /// Host memory for `length` bytes in a form, in random pieces.
    pub fn buffer(&mut self, random: &mut Random, length: usize, form: Form) -> Buffer {
        let entries = match form {
            Form::Short => 1,
            Form::Chained => 7,
            Form::Indirect => 512,
        };
        let mut pieces = Vec::new();
        let mut left = length;
        while left > 0 {
            // The remaining bytes must fit the remaining entries.
            let least = left.div_ceil(entries - pieces.len());
            let most = match form {
                Form::Short => left,
                _ if random.chance(20) => left.min(least + 40),
                _ => left.min(least.max(4096)),
            };
            let piece = least + random.below((most - least + 1) as u64) as usize;
            let gap = random.below(70) as usize;
            let address = self.nic().host.allocate(piece, gap);
            pieces.push((address, piece as u16));
            left -= piece;
        }
        Buffer { pieces, form }
    }

    /// Writes descriptors for a buffer; `None` if there are not enough.
    pub fn prepare(
        &mut self,
        receive: bool,
        node_tag: u32,
        length: u32,
        buffer: Buffer,
    ) -> Option<Posting> {
        let continuations = match buffer.form {
            Form::Chained => buffer.pieces.len().saturating_sub(1).div_ceil(2),
            _ => 0,
        };
        let free = if receive {
            &mut self.free_receives
        } else {
            &mut self.free_sends
        };
        if free.len() <= continuations {
            return None;
        }
        let head = free.pop_front()?;
        let chain: Vec<u32> = free.drain(..continuations).collect();
        let entry = |piece: Option<&(u64, u16)>| {
            piece.map_or([0, 0], |&(address, length)| page_entry(address, length))
        };
        let first = match buffer.form {
            Form::Indirect => {
                let list: Vec<u8> = buffer
                    .pieces
                    .iter()
                    .flat_map(|&(address, length)| page_entry(address, length))
                    .flat_map(u32::to_be_bytes)
                    .collect();
                let host = &mut self.emp.nic_mut().host;
                let at = host.allocate(list.len(), 0);
                assert!(host.write(at, &list));
                page_entry(at, list.len() as u16)
            }
            _ => entry(buffer.pieces.first()),
        };
        let next = |position: usize| chain.get(position).copied().unwrap_or(STATUS_NEXT_NONE);
        let status = status_posted(buffer.form, next(0));
        self.write_descriptor(head, [first[0], first[1], node_tag, length, status]);
        for (position, &index) in chain.iter().enumerate() {
            let one = entry(buffer.pieces.get(1 + 2 * position));
            let two = entry(buffer.pieces.get(2 + 2 * position));
            let link = next(position + 1);
            self.write_descriptor(index, [one[0], one[1], two[0], two[1], link]);
        }
        Some(Posting {
            head,
            chain,
            buffer,
        })
    }

    pub fn write_descriptor(&mut self, index: u32, words: [u32; 5]) {
        let at = descriptor_address(index);
        for (word, value) in words.into_iter().enumerate() {
            self.nic().store(at + 4 * word as u32, value);
        }
    }

    pub fn mailbox_free(&self, receive: bool) -> bool {
        self.emp.nic().mailbox_free(mailbox(receive))
    }

    /// Writes a prepared descriptor's address into the mailbox.
    pub fn post(&mut self, receive: bool, head: u32) {
        assert!(self.mailbox_free(receive));
        self.nic()
            .write_mailbox(mailbox(receive), descriptor_address(head));
    }

    /// Result of a posting, once the NIC has returned it.
    pub fn outcome(&self, head: u32) -> Option<Outcome> {
        let nic = self.emp.nic();
        let at = descriptor_address(head);
        let status = nic.load(at + 16);
        if status & STATUS_NIC_OWNS != 0 {
            return None;
        }
        let node_tag = nic.load(at + 8);
        Some(Outcome {
            code: Code::from_status(status).expect("a code"),
            node: (node_tag >> 16) as u16,
            tag: node_tag as u16,
            length: status & STATUS_LENGTH_MASK,
        })
    }

    /// Frees the descriptors of a finished posting.
    pub fn retire(&mut self, receive: bool, posting: &Posting) {
        let free = if receive {
            &mut self.free_receives
        } else {
            &mut self.free_sends
        };
        free.push_back(posting.head);
        free.extend(&posting.chain);
    }

    pub fn fill(&mut self, buffer: &Buffer, bytes: &[u8]) {
        let mut at = 0;
        for &(address, length) in &buffer.pieces {
            let length = usize::from(length);
            assert!(self.nic().host.write(address, &bytes[at..at + length]));
            at += length;
        }
    }

    pub fn contents(&self, buffer: &Buffer) -> Vec<u8> {
        let host = &self.emp.nic().host;
        buffer
            .pieces
            .iter()
            .flat_map(|&(address, length)| host.read(address, usize::from(length)).expect("mapped"))
            .collect()
    }
}

pub fn mailbox(receive: bool) -> u32 {
    if receive {
        MAILBOX_RECEIVE
    } else {
        MAILBOX_TRANSMIT
    }
}

pub fn descriptor_address(index: u32) -> u32 {
    SHARED_BASE + DESCRIPTOR_BYTES * index
}

/// Fault rates of wire and DMA, in percent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    pub loss: u64,
    pub duplication: u64,
    pub reordering: u64,
    pub damage: u64,
    /// Probability that a DMA channel pauses for a step.
    pub slow_dma: u64,
}

/// Nodes and the wire between them.
pub struct World {
    pub nodes: Vec<Node<'static>>,
    pub random: Random,
    pub faults: Faults,
    /// Selects frames that the wire loses in addition to random losses.
    pub loses: fn(&[u8]) -> bool,
    /// A node whose MAC sends nothing.
    pub stalled: Option<usize>,
    /// Frames in flight to each node.
    wires: Vec<VecDeque<Vec<u8>>>,
}

impl World {
    pub fn new(nodes: u32, seed: u64, settings: &Settings, faults: Faults) -> Self {
        Self {
            nodes: (0..nodes)
                .map(|number| Node::start(number, nodes, 1, settings))
                .collect(),
            random: Random::new(seed),
            faults,
            loses: |_| false,
            stalled: None,
            wires: (0..nodes).map(|_| VecDeque::new()).collect(),
        }
    }

    /// Advances time by about a microsecond.
    pub fn step(&mut self) {
        let faults = self.faults;
        for index in 0..self.nodes.len() {
            let nic = self.nodes[index].nic();
            nic.now_us = nic.now_us.wrapping_add(1);
            if !self.random.chance(faults.slow_dma) {
                nic.step_read();
            }
            if !self.random.chance(faults.slow_dma) {
                nic.step_write();
            }
            if self.random.chance(60) && self.stalled != Some(index) {
                nic.step_mac();
            }
            let sent = std::mem::take(&mut nic.sent);
            for frame in sent {
                self.carry(frame);
            }
            for _ in 0..=self.random.below(3) {
                self.nodes[index].dispatch();
            }
        }
        for index in 0..self.nodes.len() {
            if self.wires[index].is_empty() || !self.random.chance(60) {
                continue;
            }
            let reorder = self.random.chance(faults.reordering);
            let length = self.wires[index].len() as u64;
            let position = if reorder {
                self.random.below(length)
            } else {
                0
            };
            let intact = !self.random.chance(faults.damage);
            if let Some(frame) = self.wires[index].remove(position as usize) {
                self.nodes[index].nic().receive(&frame, intact);
            }
        }
    }

    /// Puts a frame on the wire to its destination.
    pub fn carry(&mut self, frame: Vec<u8>) {
        let destination = nic::word_of(&frame, 1) >> 16;
        let wire = &mut self.wires[destination as usize];
        if (self.loses)(&frame) || self.random.chance(self.faults.loss) {
            return;
        }
        if self.random.chance(self.faults.duplication) {
            wire.push_back(frame.clone());
        }
        wire.push_back(frame);
    }

    /// Steps until `done`, at most `limit` times.
    pub fn run(&mut self, limit: u32, mut done: impl FnMut(&mut Self) -> bool) {
        for _ in 0..limit {
            if done(self) {
                return;
            }
            self.step();
        }
        panic!("not done after {limit} steps");
    }

    /// Steps until nothing is in progress.
    pub fn settle(&mut self) {
        self.run(1_000_000, |world| {
            world.wires.iter().all(VecDeque::is_empty)
                && world.nodes.iter().all(|node| {
                    let nic = node.emp.nic();
                    nic.is_quiet() && !nic.timer_armed()
                })
        });
        for node in &mut self.nodes {
            assert!(
                !node.dispatch(),
                "an event stands although nothing is to do"
            );
            assert!(node.emp.nic().buffers_are_free());
        }
    }

    /// Waits for a posting of `node`.
    pub fn await_outcome(&mut self, node: usize, head: u32) -> Outcome {
        self.run(3_000_000, |world| world.nodes[node].outcome(head).is_some());
        self.nodes[node].outcome(head).expect("it is there")
    }

    /// Posts as soon as the mailbox is free.
    pub fn post(&mut self, node: usize, receive: bool, head: u32) {
        self.run(100_000, |world| world.nodes[node].mailbox_free(receive));
        self.nodes[node].post(receive, head);
    }

    /// Posts a transmit of `bytes` in a form.
    pub fn send(&mut self, from: usize, to: u16, tag: u16, bytes: &[u8], form: Form) -> Posting {
        let node = &mut self.nodes[from];
        let buffer = node.buffer(&mut self.random, bytes.len(), form);
        node.fill(&buffer, bytes);
        let posting = node
            .prepare(false, node_tag(to, tag), bytes.len() as u32, buffer)
            .expect("descriptors");
        self.post(from, false, posting.head);
        posting
    }

    /// Posts a receive of `capacity` bytes in a form.
    pub fn receive(
        &mut self,
        at: usize,
        from: u16,
        tag: u16,
        capacity: usize,
        form: Form,
    ) -> Posting {
        let node = &mut self.nodes[at];
        let buffer = node.buffer(&mut self.random, capacity, form);
        let posting = node
            .prepare(true, node_tag(from, tag), capacity as u32, buffer)
            .expect("descriptors");
        self.post(at, true, posting.head);
        posting
    }

    /// The bytes that a receive got.
    pub fn received(&self, node: usize, posting: &Posting, outcome: Outcome) -> Vec<u8> {
        let mut bytes = self.nodes[node].contents(&posting.buffer);
        bytes.truncate(outcome.length as usize);
        bytes
    }

    /// Sends a message between two nodes and expects it to arrive.
    pub fn check_exchange(&mut self, from: usize, to: usize, length: usize) {
        let bytes = self.random.bytes(length);
        let receive = self.receive(to, from as u16, 77, length, Form::Chained);
        let send = self.send(from, to as u16, 77, &bytes, Form::Chained);
        let outcome = self.await_outcome(to, receive.head);
        assert_eq!(outcome.code, Code::Done);
        assert!(self.received(to, &receive, outcome) == bytes);
        assert_eq!(self.await_outcome(from, send.head).code, Code::Done);
        self.nodes[to].retire(true, &receive);
        self.nodes[from].retire(false, &send);
    }
}
