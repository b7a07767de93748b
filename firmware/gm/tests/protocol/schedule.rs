//! Random schedules of what hosts and the wire do, against the model.

use std::collections::BTreeSet;

use cases::cases;
use defs::gm::event::Status;
use defs::gm::packet::size_for;
use defs::gm::port::{DROP, GET, PUT, RESUME};
use proptest::prelude::*;

use crate::model::{Ledger, Post, Stream, What};
use crate::mutations::Mutation;
use crate::node::{FATAL, Message, Node};
use crate::world::{Faults, World};

const NODES: u32 = 3;
const PORTS: [u32; 2] = [2, 5];
/// Memory of puts and gets.
const REMOTE: u32 = 0x50_0000;
const REMOTE_BYTES: u32 = 0x8_0000;
/// Bytes of buffers that a node's life can use.
const MEMORY: u32 = 0x20_0000;
const GUARD: u32 = 32;

/// An action.
#[derive(Debug, Clone)]
pub enum Op {
    /// Ports of the sender and target, priority, length, size beyond the smallest one; when its buffer comes.
    Send([u32; 4], u32, u32, u32, u32),
    /// Ports, length, whether it is a get, place in a word.
    Remote([u32; 4], u32, bool, u32),
    Provide(u32, u32, u32, u32),
    Allow(u32, u32, bool),
    Close(u32, u32),
    Open(u32, u32),
    Restart(u32),
    Faults(u32, u32, u32),
    Slow(u32, bool),
    Stir(u32),
    Tick(u32),
    Receive(u32),
    Resume([u32; 4], u32, bool),
}

fn ends() -> impl Strategy<Value = [u32; 4]> {
    [0..NODES, 0..2_u32, 1..NODES, 0..2_u32]
}

fn length() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => 0..200_u32,
        3 => 200..4097_u32,
        2 => 4097..20_000_u32,
        1 => prop::sample::select(vec![0, 1, 128, 129, 4095, 4096, 4097, 8192, 12_288, 16_376]),
    ]
}

/// A schedule, which is shown in one line.
#[derive(Clone)]
pub struct Ops(pub Vec<Op>);

impl std::fmt::Debug for Ops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for op in &self.0 {
            write!(f, "{op:?} ")?;
        }
        Ok(())
    }
}

pub fn ops() -> impl Strategy<Value = Ops> {
    let node = || 0..NODES;
    let port = || 0..2_u32;
    let op = prop_oneof![
        16 => (ends(), 0..2_u32, length(), 0..2_u32, 0..5_u32)
            .prop_map(|(ends, priority, length, more, provide)| {
                Op::Send(ends, priority, length, more, provide)
            }),
        4 => (ends(), length(), any::<bool>(), 0..4_u32)
            .prop_map(|(ends, length, get, place)| Op::Remote(ends, length, get, place)),
        3 => (node(), port(), 4..15_u32, 0..2_u32)
            .prop_map(|(node, port, size, priority)| Op::Provide(node, port, size, priority)),
        2 => (node(), port(), any::<bool>()).prop_map(|(node, port, on)| Op::Allow(node, port, on)),
        2 => (node(), port()).prop_map(|(node, port)| Op::Close(node, port)),
        3 => (node(), port()).prop_map(|(node, port)| Op::Open(node, port)),
        1 => node().prop_map(Op::Restart),
        3 => (0..60_u32, 0..30_u32, 0..30_u32).prop_map(|(a, b, c)| Op::Faults(a, b, c)),
        1 => (node(), any::<bool>()).prop_map(|(node, slow)| Op::Slow(node, slow)),
        12 => (0..250_u32).prop_map(Op::Stir),
        4 => (0..25_u32).prop_map(Op::Tick),
        4 => node().prop_map(Op::Receive),
        4 => (ends(), 0..2_u32, any::<bool>())
            .prop_map(|(ends, priority, drop)| Op::Resume(ends, priority, drop)),
    ];
    prop::collection::vec(op, 1..70).prop_map(Ops)
}

pub struct Run {
    pub world: World,
    ledger: Ledger,
    time: u32,
    /// State of each node: its life, hosts that take no events, bytes of memory that were used.
    lives: [u32; 3],
    slow: [bool; 3],
    used: [u32; 3],
    /// Open ports: the number of the send at which each of them was opened.
    open: BTreeSet<(u32, u32)>,
    allowed: BTreeSet<(u32, u32)>,
    /// Next place for puts and gets of each node.
    place: [u32; 3],
    id: u32,
    memory: u32,
    mutation: Option<Mutation>,
}

impl Run {
    /// Nodes whose firmware makes a mistake, or none.
    pub fn mutated(seed: u64, mutation: Option<Mutation>) -> Self {
        let mut run = Self {
            world: World::new(NODES, seed),
            ledger: Ledger::default(),
            time: 0,
            lives: [0; 3],
            slow: [false; 3],
            used: [0; 3],
            open: BTreeSet::new(),
            allowed: BTreeSet::new(),
            place: [REMOTE; 3],
            id: 1,
            memory: MEMORY,
            mutation,
        };
        for node in 0..NODES {
            run.begin(node);
        }
        run
    }

    fn begin(&mut self, node: u32) {
        let at = &mut self.world.nodes[node as usize];
        at.gm.nic_mut().mutation = self.mutation;
        at.register(REMOTE, REMOTE_BYTES, crate::node::PROCESS);
        for port in PORTS {
            self.open(node, port);
        }
    }

    fn open(&mut self, node: u32, port: u32) {
        if self.open.insert((node, port)) {
            self.world.nodes[node as usize].reopen(port);
            if let Some(last) =
                (self.ledger.closed.iter_mut().rev()).find(|last| (last.0, last.1) == (node, port))
            {
                last.3 = self.time;
            }
            self.ledger.denied.push((node, port, self.time, u32::MAX));
        }
    }

    fn close(&mut self, node: u32, port: u32) {
        if self.open.remove(&(node, port)) {
            self.allowed.remove(&(node, port));
            self.world.nodes[node as usize].close(port);
            self.take(node);
            self.ledger.forget(node, Some(port));
            self.ledger.closed.push((node, port, self.time, u32::MAX));
            self.ledger.denied.push((node, port, self.time, u32::MAX));
            self.world.nodes[node as usize].mark_queue(port);
        }
    }

    fn restart(&mut self, node: u32) {
        let at = node as usize;
        // What the board has written reaches the host.
        while self.world.nodes[at].gm.nic_mut().write() {}
        self.take(node);
        for port in PORTS {
            if self.open.remove(&(node, port)) {
                self.ledger.closed.push((node, port, self.time, u32::MAX));
            }
            self.allowed.remove(&(node, port));
            self.ledger.denied.push((node, port, self.time, u32::MAX));
        }
        self.ledger.forget(node, None);
        // Its memory is new: puts into it are not checked.
        for post in &mut self.ledger.posts {
            let source = post.stream[2] == node;
            if let What::Remote { at: to, .. } = &mut post.what
                && (to.0 == node || source)
            {
                to.1 = 0;
            }
        }
        self.lives[at] += 1;
        self.used[at] = 0;
        // Puts from before the restart may come still: their places are not used again.
        self.world.nodes[at] = Node::new(node, NODES, self.lives[at] * 500 + 1);
        self.begin(node);
    }

    /// The host takes all events.
    fn take(&mut self, node: u32) {
        let at = &mut self.world.nodes[node as usize];
        for &(of, port) in &self.open {
            while of == node && at.receive(port) {}
        }
        for port in PORTS {
            if !self.open.contains(&(node, port)) {
                // Events that came before the port was closed.
                while !at.is_marked(port) && at.receive(port) {}
            }
        }
        let life = self.lives[node as usize];
        for one in at.received.drain(..) {
            self.ledger.receive(one, life);
        }
        let sent: Vec<(u32, u32, u32)> = at.sent.drain(..).collect();
        assert!(at.notices.is_empty(), "{:?}", at.notices);
        for (port, number, status) in sent {
            self.ledger
                .end(node, life, port, number, (status, self.time));
        }
    }

    fn target([node, port, other, target_port]: [u32; 4], priority: u32) -> Stream {
        let to = (node + other) % NODES;
        [
            node,
            PORTS[port as usize],
            to,
            PORTS[target_port as usize],
            priority,
        ]
    }

    fn post(&mut self, stream: Stream, what: What, number: u32) {
        self.ledger.posts.push(Post {
            what,
            stream,
            life: self.lives[stream[0] as usize],
            number,
            posted: self.time,
            ended: None,
            forgotten: false,
            dropped: false,
            arrived: Vec::new(),
        });
    }

    fn can_post(&mut self, stream: Stream, length: u32) -> bool {
        let [node, port, ..] = stream;
        let used = &mut self.used[node as usize];
        let can = self.open.contains(&(node, port))
            && *used + length < self.memory
            && self.world.nodes[node as usize].can_send(port);
        if can {
            *used += length + 24;
        }
        can
    }

    fn data(&mut self, length: u32) -> Vec<u8> {
        self.id += 1;
        let id = self.id;
        (0..length)
            .map(|at| match at {
                0 => id as u8,
                1 => (id >> 8) as u8,
                _ => (at.wrapping_mul(31) ^ id.wrapping_mul(77) ^ at >> 8) as u8,
            })
            .collect()
    }

    fn provide(&mut self, node: u32, port: u32, size: u32, priority: u32) {
        // No message is longer.
        let room = defs::gm::packet::capacity(size).min(20_480) + 24;
        let at = &mut self.world.nodes[node as usize];
        let used = &mut self.used[node as usize];
        if self.open.contains(&(node, port)) && at.can_provide(port) && *used + room < self.memory {
            *used += room;
            let buffer = at.buffer(room);
            at.provide_at(buffer, port, size, priority, self.id & 0xFFFF);
        }
    }

    fn send(&mut self, stream: Stream, length: u32, more: u32, provide: u32) {
        if !self.can_post(stream, length) {
            return;
        }
        let [node, port, target_node, target_port, priority] = stream;
        let one = Message {
            node,
            port,
            target_node,
            target_port,
            priority,
            size: size_for(length) + more,
            data: self.data(length),
        };
        if provide < 3 {
            self.provide(target_node, target_port, one.size, priority);
        }
        let number = self.world.send(&one);
        self.post(stream, What::Message(one), number);
    }

    fn remote(&mut self, stream: Stream, length: u32, get: bool, place: u32) {
        let [node, port, to, target_port, _] = stream;
        let there = self.place[to as usize] + GUARD + place;
        let end = there + length + GUARD + 4;
        if end > REMOTE + REMOTE_BYTES || !self.can_post(stream, length + 64) {
            return;
        }
        self.place[to as usize] = end & !3;
        let data = self.data(length);
        let here = self.world.nodes[node as usize].buffer(length + 40) + 16 + (3 - place);
        let (from, at) = if get {
            ((to, there), (node, here))
        } else {
            ((node, here), (to, there))
        };
        self.world.nodes[from.0 as usize].set_memory(from.1, &data);
        let kind = if get { GET } else { PUT };
        let bytes = [here, length, there];
        let number = self.world.nodes[node as usize].remote(kind, port, (to, target_port), bytes);
        self.post(stream, What::Remote { get, data, at }, number);
    }

    fn resume(&mut self, stream: Stream, drop: bool) {
        let [node, port, to, target_port, priority] = stream;
        if !self.open.contains(&(node, port)) {
            return;
        }
        let at = &mut self.world.nodes[node as usize];
        if !at.slot_is_free(port) {
            return;
        }
        let kind = if drop { DROP } else { RESUME };
        let subport = target_port << 1 | priority;
        at.control(port, to << 16 | subport << 8 | kind, 0);
        for post in &mut self.ledger.posts {
            post.dropped |= drop && post.stream == stream && post.ended.is_none();
        }
    }

    pub fn act(&mut self, op: &Op) {
        self.time += 1;
        match *op {
            Op::Send(ends, priority, length, more, provide) => {
                self.send(Self::target(ends, priority), length, more, provide);
            }
            Op::Remote(ends, length, get, place) => {
                self.remote(Self::target(ends, 0), length, get, place);
            }
            Op::Provide(node, port, size, priority) => {
                self.provide(node, PORTS[port as usize], size, priority);
            }
            Op::Allow(node, port, on) => self.allow(node, PORTS[port as usize], on),
            Op::Close(node, port) => self.close(node, PORTS[port as usize]),
            Op::Open(node, port) => self.open(node, PORTS[port as usize]),
            Op::Restart(node) => self.restart(node),
            Op::Faults(lost, damaged, doubled) => {
                self.world.faults = Faults {
                    lost,
                    damaged,
                    doubled,
                };
            }
            Op::Slow(node, slow) => self.slow[node as usize] = slow,
            Op::Stir(count) => self.world.stir(count),
            Op::Tick(count) => self.world.pass(count),
            Op::Receive(node) => {
                if !self.slow[node as usize] {
                    self.take(node);
                }
            }
            Op::Resume(ends, priority, drop) => self.resume(Self::target(ends, priority), drop),
        }
    }

    fn allow(&mut self, node: u32, port: u32, on: bool) {
        if !self.open.contains(&(node, port)) {
            return;
        }
        self.world.nodes[node as usize].allow(port, on);
        if on {
            self.allowed.insert((node, port));
            for one in &mut self.ledger.denied {
                if (one.0, one.1) == (node, port) && one.3 == u32::MAX {
                    one.3 = self.time;
                }
            }
        } else if self.allowed.remove(&(node, port)) {
            self.ledger.denied.push((node, port, self.time, u32::MAX));
        }
    }

    /// Time passes; hosts take what comes.
    fn pass(&mut self, ticks: u32) {
        self.time += 1;
        self.world.pass(ticks);
        for node in 0..NODES {
            self.take(node);
        }
    }

    /// All faults end; what is missing comes; everything ends; the model is asked. With `never`, no receive tokens come.
    pub fn finish(&mut self, never: bool) {
        self.world.faults = Faults::default();
        self.time += 1;
        for node in 0..NODES {
            for port in PORTS {
                self.open(node, port);
            }
        }
        self.pass(120);
        if never {
            self.ledger.fatal_at = Some(self.time);
            for _ in 0..2 * self.ledger.open().count() + 2 {
                self.pass(FATAL);
                self.resume_all();
            }
        } else {
            self.memory = 0x3F_0000;
            self.provide_all();
            for _ in 0..40 {
                self.pass(8);
                self.resume_all();
                self.pass(8);
                if self.ledger.open().count() == 0 {
                    break;
                }
            }
            self.pass(200);
            self.expire_gets();
        }
        self.check_remote();
        self.ledger.check();
    }

    /// Gets whose target has restarted after their requests were acknowledged get no answer: they fail at their time.
    fn expire_gets(&mut self) {
        let lost =
            |post: &Post| matches!(&post.what, What::Remote { get: true, at, .. } if at.1 == 0);
        if self.ledger.open().next().is_some() && self.ledger.open().all(lost) {
            self.ledger.fatal_at = Some(self.time + 1);
            self.pass(FATAL + 10);
        }
    }

    fn provide_all(&mut self) {
        let missing: Vec<Message> = self
            .ledger
            .open()
            .filter_map(|post| match &post.what {
                What::Message(one) => Some(one.clone()),
                What::Remote { .. } => None,
            })
            .collect();
        for one in missing {
            self.provide(one.target_node, one.target_port, one.size, one.priority);
        }
    }

    fn resume_all(&mut self) {
        let streams: BTreeSet<Stream> = self.ledger.open().map(|post| post.stream).collect();
        for stream in streams {
            self.resume(stream, false);
        }
    }

    /// Bytes of puts and gets that succeeded.
    fn check_remote(&self) {
        for post in &self.ledger.posts {
            let What::Remote { data, at, get } = &post.what else {
                continue;
            };
            let ok = Status::Success as u32;
            if post.ended.is_none_or(|(status, _)| status != ok) || at.1 == 0 {
                continue;
            }
            let length = u32::try_from(data.len()).expect("in range");
            let node = &self.world.nodes[at.0 as usize];
            let same = node.memory(at.1, length) == *data;
            assert!(same, "bytes of a get ({get}): {post:?}");
            for guard in [at.1 - 8, at.1 + length] {
                assert_eq!(node.memory(guard, 8), [0; 8], "beside {post:?}");
            }
        }
    }
}

fn check(ops: &[Op], seed: u64, never: bool) {
    let mut run = Run::mutated(seed, None);
    for op in ops {
        run.act(op);
    }
    run.finish(never);
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn every_schedule_keeps_the_guarantees(ops in ops(), seed in any::<u64>()) {
        check(&ops.0, seed, false);
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn sends_without_tokens_time_out(ops in ops(), seed in any::<u64>()) {
        check(&ops.0, seed, true);
    }
}

/// An answer of an unknown session leaves after a packet of the session was accepted: it acknowledges that packet, and the
/// message is not sent anew.
#[test]
fn a_late_answer_of_an_unknown_session() {
    let ops = [
        Op::Stir(44),
        Op::Send([1, 0, 1, 0], 0, 0, 0, 0),
        Op::Faults(37, 9, 0),
        Op::Close(2, 1),
        Op::Stir(208),
        Op::Send([0, 0, 2, 1], 0, 4097, 0, 0),
        Op::Send([2, 0, 1, 0], 0, 1, 0, 0),
        Op::Stir(48),
        Op::Send([2, 0, 1, 0], 0, 0, 0, 3),
        Op::Stir(216),
        Op::Send([0, 0, 1, 0], 1, 8193, 0, 0),
        Op::Faults(28, 21, 8),
        Op::Stir(106),
        Op::Stir(192),
        Op::Send([0, 0, 1, 0], 0, 0, 0, 0),
        Op::Send([1, 0, 1, 0], 0, 0, 0, 0),
        Op::Send([0, 0, 1, 0], 0, 0, 0, 0),
    ];
    check(&ops, 15_593_785_359_573_025_956, false);
}
