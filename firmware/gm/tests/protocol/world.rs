//! Nodes and the links between them.

use std::collections::VecDeque;

use crate::board::Cpus;
use crate::nic::Wire;
use crate::node::{Message, Node};

/// Random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self, below: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).expect("in range") % below.max(1)
    }
}

/// Fault of a packet, and how often it happens among 256.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    pub lost: u32,
    pub damaged: u32,
    pub doubled: u32,
}

pub struct World {
    pub nodes: Vec<Node>,
    /// Packets under way to each node.
    pub links: Vec<VecDeque<Wire>>,
    pub faults: Faults,
    pub random: Random,
    /// Packets with these numbers are lost; all packets are counted.
    pub lose: Vec<usize>,
    pub packets: usize,
    /// Packets that were lost, damaged or doubled.
    pub faulty: usize,
}

impl World {
    pub fn new(nodes: u32, seed: u64) -> Self {
        Self::of(Cpus::One, nodes, seed)
    }

    /// Nodes whose firmware runs on one CPU or two.
    pub fn of(cpus: Cpus, nodes: u32, seed: u64) -> Self {
        let mut all = Vec::new();
        for number in 0..nodes {
            all.push(Node::of(cpus, number, nodes, 1));
        }
        Self {
            links: all.iter().map(|_| VecDeque::new()).collect(),
            nodes: all,
            faults: Faults::default(),
            random: Random(seed),
            lose: Vec::new(),
            packets: 0,
            faulty: 0,
        }
    }

    /// Members, nodes by index, as their firmware knows them.
    pub fn named(&self, members: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let named = |&(node, port): &(u32, u32)| (self.nodes[node as usize].number, port);
        members.iter().map(named).collect()
    }

    fn put(&mut self, mut packet: Wire) {
        let target = packet.route.pop().expect("a route");
        let to = usize::from(target & 0x3F);
        assert_eq!(packet.route.len(), to % 5, "length of the route");
        packet.route.clear();
        self.packets += 1;
        let chance = self.random.next(256);
        let Faults {
            lost,
            damaged,
            doubled,
        } = self.faults;
        if chance < lost + damaged || chance >= 256 - doubled {
            self.faulty += 1;
        }
        if chance < lost || self.lose.contains(&(self.packets - 1)) {
            return;
        }
        packet.intact = chance >= lost + damaged;
        if chance >= 256 - doubled {
            self.links[to].push_back(packet.clone());
        }
        self.links[to].push_back(packet);
    }

    /// One action of a node; returns whether there was one.
    pub fn act(&mut self, node: usize, action: u32) -> bool {
        let gm = &self.nodes[node].gm;
        match action {
            0 => gm.nic_mut().read(),
            1 => gm.nic_mut().write(),
            2 => {
                let packet = gm.nic_mut().leave();
                packet.is_some_and(|packet| {
                    self.put(packet);
                    true
                })
            }
            3 => {
                let can = gm.nic().has_room() && !self.links[node].is_empty();
                if can {
                    let packet = self.links[node].pop_front().expect("in range");
                    gm.nic_mut().come(&packet);
                    gm.step();
                }
                can
            }
            5 => gm.nic_mut().ack_tick(),
            4 => gm.step_one(false),
            _ => gm.step_one(true),
        }
    }

    /// Random actions.
    pub fn stir(&mut self, count: u32) {
        for _ in 0..count {
            let nodes = u32::try_from(self.nodes.len()).expect("in range");
            let node = self.random.next(nodes) as usize;
            let action = self.random.next(8);
            self.act(node, action);
            if self.random.next(40) == 0 {
                self.nodes[node].gm.nic_mut().tick();
            }
        }
    }

    /// Everything happens that can happen without time.
    pub fn settle(&mut self) {
        loop {
            let mut any = false;
            for node in 0..self.nodes.len() {
                for action in [4, 6, 0, 1, 2, 3, 4, 6, 5] {
                    while self.act(node, action) {
                        any = true;
                    }
                }
            }
            if !any {
                return;
            }
        }
    }

    /// Lets the nodes do all that they can, then again after each of up to `ticks` ticks.
    pub fn run(&mut self, ticks: u32) {
        self.settle();
        for _ in 0..ticks {
            let mut any = false;
            for node in &mut self.nodes {
                any |= node.gm.nic_mut().tick();
            }
            if !any {
                break;
            }
            self.settle();
        }
        assert!(self.nodes.iter().all(|node| node.gm.nic().is_quiet()));
    }

    /// The hosts take all events.
    pub fn receive(&mut self) {
        for node in &mut self.nodes {
            for port in 0..8 {
                while node.receive(port) {}
            }
        }
    }

    /// Acks on their way reach their senders; no other packet leaves.
    pub fn settle_acks(&mut self) {
        self.act(1, 5);
        for action in [4, 1, 4, 2, 4, 2] {
            self.act(1, action);
        }
        while self.act(0, 3) {}
    }

    /// Packets of node 0 reach node 1; nothing comes back.
    pub fn settle_request(&mut self) {
        for _ in 0..20 {
            for action in [4, 0, 2] {
                while self.act(0, action) {}
            }
            while self.act(1, 3) {}
        }
    }

    /// Everything happens that can happen without time, and all that leaves `nodes` is lost.
    pub fn settle_without(&mut self, nodes: &[usize]) {
        for _ in 0..400 {
            for node in 0..self.nodes.len() {
                for action in [4, 0, 1, 2, 3, 4, 5] {
                    if action == 2 && nodes.contains(&node) {
                        let _ = self.nodes[node].gm.nic_mut().leave();
                    } else {
                        self.act(node, action);
                    }
                }
            }
        }
    }

    /// Ticks pass at all nodes whose timers run; everything else goes on at once.
    pub fn pass(&mut self, ticks: u32) {
        for _ in 0..ticks {
            for node in &mut self.nodes {
                node.gm.nic_mut().tick();
            }
            self.settle();
        }
    }

    pub fn send(&mut self, message: &Message) -> u32 {
        self.nodes[message.node as usize].send(message)
    }
}

/// A message between the same ports of nodes 0 and 1.
pub fn message(port: u32, length: usize) -> Message {
    let data: Vec<u8> = (0..length).map(|at| (at * 7 + length) as u8).collect();
    Message {
        node: 0,
        port,
        target_node: 1,
        target_port: port,
        priority: 0,
        size: defs::gm::packet::size_for(u32::try_from(length).expect("in range")),
        data,
    }
}
