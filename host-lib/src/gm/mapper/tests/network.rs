//! A network that exists in the test only: crossbars, cables, and nodes that answer.

use std::collections::{BTreeMap, BTreeSet};

use defs::gm::mapping::{LOOP, SCOUT, first_word};

use super::NO_NUMBER;
use crate::gm::mapper::error::MapError;
use crate::gm::mapper::map::UniqueId;
use crate::gm::mapper::packets::{MapperAnswer, MapperPacket, Patience, Prober};

/// Random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// End of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plug {
    Crossbar(usize, u8),
    Host(usize),
    Nothing,
}

#[derive(Debug)]
pub struct Host {
    pub id: UniqueId,
    pub node: u16,
    pub version: u32,
    pub plug: Plug,
    pub answers: bool,
}

pub struct Network {
    /// Ports of each crossbar.
    pub sizes: Vec<u8>,
    pub ends: BTreeMap<(usize, u8), Plug>,
    pub hosts: Vec<Host>,
    pub mapper: usize,
    /// Lost packets, of 256 on each way.
    pub loss: usize,
    pub random: Random,
    pub packets: u64,
}

impl Network {
    fn new(sizes: Vec<u8>) -> Self {
        Self {
            sizes,
            ends: BTreeMap::new(),
            hosts: Vec::new(),
            mapper: 0,
            loss: 0,
            random: Random(1),
            packets: 0,
        }
    }

    fn host(&mut self, plug: Plug) {
        let index = self.hosts.len();
        if let Plug::Crossbar(crossbar, port) = plug {
            self.ends.insert((crossbar, port), Plug::Host(index));
        }
        self.hosts.push(Host {
            id: UniqueId([0, 0x60, 0xDD, 0, 0, index as u8]),
            node: NO_NUMBER,
            version: 0,
            plug,
            answers: true,
        });
    }

    fn cable(&mut self, a: (usize, u8), b: (usize, u8)) {
        self.ends.insert(a, Plug::Crossbar(b.0, b.1));
        self.ends.insert(b, Plug::Crossbar(a.0, a.1));
    }

    pub fn pair() -> Self {
        let mut network = Self::new(Vec::new());
        network.host(Plug::Host(1));
        network.host(Plug::Host(0));
        network
    }

    /// Leaves with nodes at their lower half and a cable to each crossbar of the spine.
    pub fn clos(ports: u8, leaves: u8) -> Self {
        let half = ports / 2;
        let mut network = Self::new(vec![ports; usize::from(leaves + half)]);
        for leaf in 0..leaves {
            for port in 0..half {
                network.host(Plug::Crossbar(leaf.into(), port));
                network.cable((leaf.into(), half + port), ((leaves + port).into(), leaf));
            }
        }
        network
    }

    /// Crossbars in a row, each with a node.
    pub fn chain(crossbars: usize) -> Self {
        let mut network = Self::new(vec![8; crossbars]);
        for crossbar in 0..crossbars {
            network.host(Plug::Crossbar(crossbar, 3));
            if crossbar > 0 {
                network.cable((crossbar - 1, 7), (crossbar, 1));
            }
        }
        network
    }

    fn free_port(&self, crossbar: usize, random: &mut Random) -> Option<(usize, u8)> {
        let ports = 0..self.sizes[crossbar];
        let free: Vec<u8> = ports
            .filter(|&port| !self.ends.contains_key(&(crossbar, port)))
            .collect();
        let port = *free.get(random.below(free.len()))?;
        Some((crossbar, port))
    }

    /// At most `most` crossbars that are all joined.
    pub fn random(random: &mut Random, most: usize) -> Self {
        let count = 1 + random.below(most);
        let sizes = (0..count).map(|_| [4, 5, 8, 12, 16][random.below(5)]);
        let mut network = Self::new(sizes.collect());
        network.random = Random(random.0);
        for crossbar in 1..count {
            let from = network.free_port(random.below(crossbar), random);
            let to = network.free_port(crossbar, random).expect("a free port");
            // A full crossbar is left alone: then this one cannot be reached.
            if let Some(from) = from {
                network.cable(from, to);
            }
        }
        for _ in 0..random.below(2 * count + 1) {
            let ends = [(); 2].map(|()| network.free_port(random.below(count), random));
            if let [Some(a), Some(b)] = ends
                && a != b
            {
                network.cable(a, b);
            }
        }
        for _ in 0..2 + random.below(4 * count) {
            if let Some((crossbar, port)) = network.free_port(random.below(count), random) {
                network.host(Plug::Crossbar(crossbar, port));
                let answers = random.below(8) != 0;
                network.hosts.last_mut().expect("a host").answers = answers;
            }
        }
        if network.hosts.is_empty() {
            return Self::random(random, most);
        }
        network.mapper = random.below(network.hosts.len());
        network.hosts[network.mapper].answers = true;
        network
    }

    /// Pulls a cable out of a crossbar and plugs it in elsewhere, or nowhere. Returns whether it did.
    pub fn replug(&mut self, random: &mut Random) -> bool {
        let ends: Vec<(usize, u8)> = self.ends.keys().copied().collect();
        let from = ends[random.below(ends.len())];
        let other = self.ends[&from];
        let is_own = other == Plug::Host(self.mapper);
        if is_own || other == Plug::Crossbar(from.0, from.1) {
            return false;
        }
        let to = self.free_port(random.below(self.sizes.len()), random);
        self.ends.remove(&from);
        let to = to.filter(|_| random.below(4) != 0);
        let plug = to.map_or(Plug::Nothing, |(crossbar, port)| {
            Plug::Crossbar(crossbar, port)
        });
        match (other, to) {
            (Plug::Host(host), _) => self.hosts[host].plug = plug,
            (Plug::Crossbar(crossbar, port), Some(_)) => {
                self.ends.insert((crossbar, port), plug);
            }
            (Plug::Crossbar(crossbar, port), None) => {
                self.ends.remove(&(crossbar, port));
            }
            (Plug::Nothing, _) => {}
        }
        if let Some(to) = to {
            self.ends.insert(to, other);
        }
        true
    }

    pub fn host_of(&self, id: UniqueId) -> usize {
        let found = self.hosts.iter().position(|host| host.id == id);
        found.expect("a host with this id")
    }

    /// The channels that a packet takes from a host: the end of each cable at a crossbar where it leaves; and the host at its end.
    pub fn walk(&self, from: usize, route: &[u8]) -> (Vec<(usize, u8)>, Option<usize>) {
        let (mut way, mut plug) = (vec![(usize::MAX, from as u8)], self.hosts[from].plug);
        for byte in route {
            let Plug::Crossbar(crossbar, ingress) = plug else {
                return (way, None);
            };
            let delta = (byte << 2).cast_signed() >> 2;
            let egress = ingress.checked_add_signed(delta);
            let Some(egress) = egress.filter(|&port| port < self.sizes[crossbar]) else {
                return (way, None);
            };
            way.push((crossbar, egress));
            plug = self
                .ends
                .get(&(crossbar, egress))
                .copied()
                .unwrap_or(Plug::Nothing);
        }
        match plug {
            Plug::Host(host) => (way, Some(host)),
            _ => (way, None),
        }
    }

    /// The crossbar and port to which a route from the mapper leads.
    pub fn arrival(&self, route: &[u8]) -> (usize, u8) {
        let (way, _) = self.walk(self.mapper, route);
        assert_eq!(way.len(), route.len() + 1, "{route:x?}");
        let plug = match way.last() {
            Some(&(usize::MAX, _)) => self.hosts[self.mapper].plug,
            Some(end) => self.ends[end],
            None => Plug::Nothing,
        };
        match plug {
            Plug::Crossbar(crossbar, port) => (crossbar, port),
            other => panic!("{route:x?} leads to {other:?}"),
        }
    }

    /// The crossbars that are joined with that of the mapper.
    pub fn reachable_crossbars(&self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut next = vec![self.hosts[self.mapper].plug];
        while let Some(plug) = next.pop() {
            if let Plug::Crossbar(crossbar, _) = plug
                && found.insert(crossbar)
            {
                let ends = self.ends.range((crossbar, 0)..=(crossbar, u8::MAX));
                next.extend(ends.map(|(_, plug)| *plug));
            }
        }
        found
    }

    fn is_lost(&mut self) -> bool {
        self.random.below(256) < self.loss
    }

    fn answer(&mut self, packet: &MapperPacket) -> Option<MapperAnswer> {
        assert!(packet.is_sound() && packet.route.len() <= 32);
        self.packets += 1;
        let (_, end) = self.walk(self.mapper, &packet.route);
        let end = end.filter(|_| !self.is_lost())?;
        let words = &packet.words;
        if words[0] == first_word(LOOP) {
            let own = &self.hosts[self.mapper];
            let (id, node, version) = (own.id, own.node, own.version);
            let answer = MapperAnswer {
                id,
                node,
                version,
                nodes: 0,
            };
            return (end == self.mapper).then_some(answer);
        }
        assert_eq!((words[0], words.len()), (first_word(SCOUT), 10));
        let length = words[5] as usize;
        let bytes: Vec<u8> = words[6..10]
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect();
        let (_, back) = self.walk(end, &bytes[16 - length..]);
        let host = &self.hosts[end];
        let (id, node, version) = (host.id, host.node, host.version);
        let answers = host.answers && back == Some(self.mapper) && !self.is_lost();
        answers.then_some(MapperAnswer {
            id,
            node,
            version,
            nodes: 0,
        })
    }
}

impl Prober for Network {
    async fn ask(
        &mut self,
        packets: &[MapperPacket],
        patience: Patience,
    ) -> Result<Vec<Option<MapperAnswer>>, MapError> {
        let mut answers = vec![None; packets.len()];
        for _ in 0..patience.tries {
            for (packet, answer) in packets.iter().zip(&mut answers) {
                if answer.is_none() {
                    *answer = self.answer(packet);
                }
            }
            if patience.first && answers.iter().any(Option::is_some) {
                break;
            }
        }
        Ok(answers)
    }
}
