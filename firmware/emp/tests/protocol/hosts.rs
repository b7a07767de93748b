//! The hosts of a network: they post messages, collect results, and keep the ledger.

use std::collections::VecDeque;

use crate::common::memory::{HostMemory, Random};
use crate::common::nic::Entry;
use crate::common::{Buffer, Settings, descriptor_address};
use crate::network::Network;
use crate::service::{Ledger, Received, Sent};
use defs::emp::control::MAILBOX_CANCEL;
use defs::emp::descriptor::{ANY_NODE, ANY_TAG, Code, Form, node_tag};
use defs::emp::frame::{data_frame_capacity, header_frame_capacity};
use emp::nic::Event;

/// Time limit for everything to end on a fault-free wire.
const PATIENCE_US: u64 = 3_000_000;
/// Tag of the messages that finish a case.
const LAST_TAG: u16 = 0x7A57;

/// Parameters of a send.
#[derive(Clone, Copy)]
pub struct SendRequest {
    pub from: usize,
    pub to: usize,
    pub tag: u16,
    pub length: usize,
    /// Part of its memory is missing.
    pub hole: bool,
}

/// Parameters of a receive.
#[derive(Clone, Copy)]
pub struct ReceiveRequest {
    pub at: usize,
    pub from: Option<u16>,
    pub tag: Option<u16>,
    pub capacity: usize,
    pub hole: bool,
}

/// Descriptors that wait for their mailbox, as positions in the ledger.
#[derive(Default)]
struct Waiting {
    sends: VecDeque<usize>,
    receives: VecDeque<usize>,
}

pub struct Hosts<'a> {
    pub network: Network<'a>,
    pub ledger: Ledger,
    settings: Settings,
    random: Random,
    waiting: Vec<Waiting>,
    /// Sends given to each node's NIC whose identifier is not known yet.
    unnamed: Vec<VecDeque<usize>>,
    open_sends: Vec<usize>,
    open_receives: Vec<usize>,
}

impl<'a> Hosts<'a> {
    pub fn new(network: Network<'a>, settings: Settings, seed: u64) -> Self {
        let nodes = network.stations.len();
        let ledger = Ledger {
            lives: vec![0; nodes],
            ..Ledger::default()
        };
        Self {
            network,
            ledger,
            settings,
            random: Random::new(seed),
            waiting: (0..nodes).map(|_| Waiting::default()).collect(),
            unnamed: vec![VecDeque::new(); nodes],
            open_sends: Vec::new(),
            open_receives: Vec::new(),
        }
    }

    /// Memory for a message, in pieces; with a missing part if requested.
    fn buffer(&mut self, node: usize, length: usize, hole: bool) -> Buffer {
        let form = match self.random.below(3) {
            0 if length <= 65_535 => Form::Short,
            1 => Form::Chained,
            _ => Form::Indirect,
        };
        let node = &mut self.network.stations[node].node;
        let mut buffer = node.buffer(&mut self.random, length, form);
        if hole && !buffer.pieces.is_empty() {
            let piece = self.random.below(buffer.pieces.len() as u64) as usize;
            buffer.pieces[piece].0 = HostMemory::NOWHERE;
        }
        buffer
    }

    /// Prepares a send, unless descriptors have run out.
    pub fn send(&mut self, request: SendRequest) {
        let SendRequest {
            from,
            to,
            tag,
            length,
            hole,
        } = request;
        let bytes = self.random.bytes(length);
        let buffer = self.buffer(from, length, hole);
        let faulty = is_faulty(&buffer);
        let station = &mut self.network.stations[from];
        if !faulty {
            station.node.fill(&buffer, &bytes);
        }
        let key = node_tag(to as u16, tag);
        let Some(posting) = station.node.prepare(false, key, length as u32, buffer) else {
            return;
        };
        let header = header_frame_capacity(self.settings.frame_bytes) as usize;
        let data = data_frame_capacity(self.settings.frame_bytes) as usize;
        let index = self.ledger.sent.len();
        self.waiting[from].sends.push_back(index);
        self.open_sends.push(index);
        self.ledger.sent.push(Sent {
            from,
            life: station.life,
            to,
            tag,
            bytes,
            frames: 1 + length.saturating_sub(header).div_ceil(data) as u32,
            faulty,
            posting,
            id: None,
            code: None,
            refused: false,
            forgotten: false,
        });
    }

    /// Prepares a receive, unless descriptors have run out.
    pub fn receive(&mut self, request: ReceiveRequest) {
        let ReceiveRequest {
            at,
            from,
            tag,
            capacity,
            hole,
        } = request;
        let buffer = self.buffer(at, capacity, hole);
        let faulty = is_faulty(&buffer);
        let station = &mut self.network.stations[at];
        let key = node_tag(from.unwrap_or(ANY_NODE), tag.unwrap_or(ANY_TAG));
        let Some(posting) = station.node.prepare(true, key, capacity as u32, buffer) else {
            return;
        };
        let index = self.ledger.received.len();
        self.waiting[at].receives.push_back(index);
        self.open_receives.push(index);
        self.ledger.received.push(Received {
            at,
            life: station.life,
            from,
            tag,
            capacity,
            faulty,
            posting,
            posted: false,
            cancelled: false,
            result: None,
            forgotten: false,
        });
    }

    /// Cancels one of a host's posted receives, if no message has begun to fill it.
    pub fn cancel(&mut self, node: usize, pick: usize) {
        let received = &self.ledger.received;
        let is_posted = |&&index: &&usize| received[index].at == node && received[index].posted;
        let posted: Vec<usize> = self
            .open_receives
            .iter()
            .filter(is_posted)
            .copied()
            .collect();
        let nic = self.network.stations[node].node.nic();
        if !posted.is_empty() && nic.mailbox_free(MAILBOX_CANCEL) {
            let received = &mut self.ledger.received[posted[pick % posted.len()]];
            received.cancelled = true;
            nic.write_mailbox(MAILBOX_CANCEL, descriptor_address(received.posting.head));
        }
    }

    /// Restarts a node with empty memory; its host forgets all posted messages.
    pub fn restart(&mut self, node: usize) {
        self.read_log(node);
        self.network.restart(node);
        self.ledger.lives[node] = self.network.stations[node].life;
        self.waiting[node] = Waiting::default();
        self.unnamed[node].clear();
        let ledger = &mut self.ledger;
        self.open_sends.retain(|&index| {
            let sent = &mut ledger.sent[index];
            sent.forgotten = sent.from == node;
            !sent.forgotten
        });
        self.open_receives.retain(|&index| {
            let received = &mut ledger.received[index];
            received.forgotten = received.at == node;
            !received.forgotten
        });
    }

    /// Lets time pass, but not beyond `until_us`.
    pub fn step(&mut self, until_us: u64) {
        for node in 0..self.waiting.len() {
            self.ring_mailboxes(node);
        }
        self.network.step(until_us);
        for node in 0..self.waiting.len() {
            self.read_log(node);
        }
        self.take_sends();
        self.take_receives();
    }

    fn ring_mailboxes(&mut self, number: usize) {
        let node = &mut self.network.stations[number].node;
        if node.mailbox_free(true)
            && let Some(index) = self.waiting[number].receives.pop_front()
        {
            let received = &mut self.ledger.received[index];
            received.posted = true;
            node.post(true, received.posting.head);
        }
        if node.mailbox_free(false)
            && let Some(index) = self.waiting[number].sends.pop_front()
        {
            node.post(false, self.ledger.sent[index].posting.head);
            self.unnamed[number].push_back(index);
        }
    }

    /// Reads identifiers of messages and accepted frames from a node's log.
    fn read_log(&mut self, node: usize) {
        let life = self.network.stations[node].life;
        for entry in self.network.take_log(node) {
            let Entry { peer, id, .. } = entry;
            match entry.event {
                Event::PostTransmit => {
                    let index = self.unnamed[node].pop_front().expect("it was posted");
                    self.ledger.sent[index].id = Some(id as u16);
                }
                Event::FrameMatched => {
                    let source = (peer as usize, self.network.life_of(entry.epoch));
                    let accepted = &mut self.ledger.accepted;
                    let frames = accepted.entry(((node, life), source, id as u16));
                    let new = frames.or_default().insert(entry.third);
                    assert!(new, "frame {} of message {id} came twice", entry.third);
                }
                Event::NackReceived => {
                    let sent = self.ledger.sent_by((node, life), peer as usize, id as u16);
                    sent.expect("it was posted").refused = true;
                }
                Event::Retransmit => {
                    let sent = self.ledger.sent_by((node, life), peer as usize, id as u16);
                    let refused = sent.expect("it was posted").refused;
                    assert!(!refused, "message {id}, given up, is sent again");
                }
                _ => {}
            }
        }
    }

    /// Collects finished sends. Their memory is the user's again and is overwritten.
    fn take_sends(&mut self) {
        let (network, ledger) = (&mut self.network, &mut self.ledger);
        self.open_sends.retain(|&index| {
            let sent = &mut ledger.sent[index];
            let node = &mut network.stations[sent.from].node;
            let Some(outcome) = node.outcome(sent.posting.head) else {
                return true;
            };
            sent.code = Some(outcome.code);
            node.retire(false, &sent.posting);
            if !sent.faulty {
                node.fill(&sent.posting.buffer, &vec![0xA5; sent.bytes.len()]);
            }
            false
        });
    }

    fn take_receives(&mut self) {
        let (network, ledger) = (&mut self.network, &mut self.ledger);
        self.open_receives.retain(|&index| {
            let received = &mut ledger.received[index];
            let node = &mut network.stations[received.at].node;
            let Some(outcome) = node.outcome(received.posting.head) else {
                return true;
            };
            let bytes = match received.faulty {
                true => Vec::new(),
                false => node.contents(&received.posting.buffer),
            };
            received.result = Some((outcome, bytes));
            node.retire(true, &received.posting);
            false
        });
    }

    pub fn pass(&mut self, us: u64) {
        let until_us = self.network.now_us + us;
        while self.network.now_us < until_us {
            self.step(until_us);
        }
    }

    fn run_until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let until_us = self.network.now_us + PATIENCE_US;
        while !done(self) {
            assert!(self.network.now_us < until_us, "{what}");
            self.step(until_us);
        }
    }

    /// Whether every send has ended and nothing is in progress.
    fn is_settled(&self) -> bool {
        self.open_sends.is_empty() && self.network.is_settled()
    }

    /// Repairs the wire, waits for everything to end, and checks the remaining state.
    pub fn finish(&mut self) {
        self.network.repair();
        for index in self.open_sends.clone() {
            let sent = &self.ledger.sent[index];
            let (from, tag) = (Some(sent.from as u16), Some(sent.tag));
            self.receive(ReceiveRequest {
                at: sent.to,
                from,
                tag,
                capacity: sent.bytes.len(),
                hole: false,
            });
        }
        self.run_until("a send does not end", Self::is_settled);
        self.greet_everybody();
        self.serve_receives();
        for station in &mut self.network.stations {
            assert!(!station.node.dispatch(), "an event stands for nothing");
            assert!(station.node.emp.nic().buffers_are_free());
            assert!(station.node.emp.is_at_rest(), "a record was lost");
        }
        self.check_memory();
        self.ledger.check();
    }

    /// Sends a message on every path: it ends earlier incomplete messages of its source.
    fn greet_everybody(&mut self) {
        let nodes = self.waiting.len();
        let mut sends = Vec::new();
        for (from, to) in (0..nodes * nodes).map(|way| (way / nodes, way % nodes)) {
            if from != to {
                self.receive(ReceiveRequest {
                    at: to,
                    from: Some(from as u16),
                    tag: Some(LAST_TAG),
                    capacity: 100,
                    hole: false,
                });
                sends.push((from, to, LAST_TAG, 100));
            }
        }
        self.send_last(&sends);
    }

    /// Sends a message for every receive that is still posted, oldest first, so that none takes another's.
    fn serve_receives(&mut self) {
        let nodes = self.waiting.len();
        while let Some(&index) = self.open_receives.first() {
            let received = &self.ledger.received[index];
            let (to, length) = (received.at, received.capacity.min(100));
            let from = received.from.map_or((to + 1) % nodes, usize::from);
            self.send_last(&[(from, to, received.tag.unwrap_or(LAST_TAG), length)]);
            let ended = self.ledger.received[index].result.is_some();
            assert!(ended, "receive {index} does not end");
        }
    }

    /// Sends messages (from, to, tag, length) that have posted receives.
    fn send_last(&mut self, sends: &[(usize, usize, u16, usize)]) {
        self.run_until("a receive is not posted", |hosts| {
            let mut waiting = hosts.waiting.iter();
            waiting.all(|waiting| waiting.receives.is_empty())
        });
        let first = self.ledger.sent.len();
        for &(from, to, tag, length) in sends {
            self.send(SendRequest {
                from,
                to,
                tag,
                length,
                hole: false,
            });
        }
        self.run_until("a send does not end", Self::is_settled);
        for (index, sent) in self.ledger.sent.iter().enumerate().skip(first) {
            assert_eq!(sent.code, Some(Code::Done), "send {index}, on a good wire");
        }
    }

    /// Checks that buffers have not changed since the end of their receives.
    fn check_memory(&self) {
        for received in &self.ledger.received {
            let station = &self.network.stations[received.at];
            if received.life == station.life
                && !received.faulty
                && let Some((_, bytes)) = &received.result
            {
                let now = station.node.contents(&received.posting.buffer);
                assert!(now == *bytes, "a buffer changed after its receive ended");
            }
        }
    }
}

fn is_faulty(buffer: &Buffer) -> bool {
    let mut pieces = buffer.pieces.iter();
    pieces.any(|piece| piece.0 == HostMemory::NOWHERE)
}
