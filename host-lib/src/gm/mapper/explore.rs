//! Exploration: breadth first from the own port.
//!
//! The mapper sees ports only as distances. It numbers the ports of a crossbar from the one at which it came in, which is 0; a
//! route over the crossbar out of its port `p` has the byte `p`, and the way back `-p`.
//!
//! * A node is at the end of a route if a scout is answered, a crossbar if a packet comes back that is turned round there.
//! * Behind a port with a crossbar is either a new one or one that is known. If it is known, its cable ends at a port of a known
//!   crossbar at which a crossbar was found and nothing else is known. Let that be port `q` of crossbar `z`: a packet that goes to
//!   the unknown crossbar, leaves it `-q` ports further, and then takes the way back from `z` comes back. The way back of a
//!   packet from the own port is determined by its bytes, so no other packet does.
//! * Each packet may be lost, so nothing is there only if several were.
//!
//! A packet that is to come back has at most 61 bytes on the wire, and each slack buffer takes 48 before it stops its sender. So one
//! whose route turns out to be a circle over several crossbars does not wait for itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use defs::gm::map::ROUTE_LIMIT;

use super::error::MapError;
use super::map::{Crossbar, CrossbarPort, Map, MappedNode, UniqueId};
use super::packets::{MapperAnswer, MapperPacket, Patience, Prober, reversed, route_byte};

/// Terms of an exploration: the mapper's identity, its patience, and the size of crossbars.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExplorationTerms {
    /// The own node.
    pub(super) own: UniqueId,
    /// Number of the own node.
    pub(super) node: u16,
    /// Times that a packet is sent before its answer is taken as missing.
    pub(super) tries: u32,
    /// Most ports of a crossbar.
    pub(super) most_ports: u8,
}

/// Device that is plugged into a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PluggedDevice {
    Host(UniqueId, u16),
    /// A crossbar of which nothing else is known yet.
    Open,
    /// A port of a crossbar, counted from where its route comes in.
    Crossbar(usize, i8),
}

/// A crossbar that was found.
#[derive(Debug)]
struct FoundCrossbar {
    /// The route to it.
    route: Vec<i8>,
    /// Ports with cables, and the devices behind them.
    ports: BTreeMap<i8, PluggedDevice>,
}

impl FoundCrossbar {
    /// The route out of a port.
    fn out(&self, port: i8) -> Vec<i8> {
        let mut route = self.route.clone();
        route.push(port);
        route
    }
}

/// An exploration under way.
#[derive(Debug)]
struct Explorer<'a, P> {
    prober: &'a mut P,
    terms: ExplorationTerms,
    crossbars: Vec<FoundCrossbar>,
    /// Ports with a crossbar behind that is not explored.
    queue: VecDeque<(usize, i8)>,
    /// Nodes that were found.
    ids: BTreeSet<UniqueId>,
    /// A node was found twice: a crossbar was not recognised, or a cable was moved meanwhile.
    contradicts: bool,
}

/// Results of an exploration: the map, in which nodes still have the numbers that they had, and the highest version of routes and number of
/// nodes that any node knows.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) map: Map,
    pub(super) version: u32,
    pub(super) nodes: u32,
}

/// Explores a network. `None` if the answers contradict each other.
///
/// # Errors
/// [`MapError`] of the prober.
pub(super) async fn explore<P: Prober>(
    prober: &mut P,
    terms: ExplorationTerms,
) -> Result<Option<Findings>, MapError> {
    let mut explorer = Explorer {
        prober,
        terms,
        crossbars: Vec::new(),
        queue: VecDeque::new(),
        ids: BTreeSet::from([terms.own]),
        contradicts: false,
    };
    let mut seen = HighestNumbers::default();
    let first = explorer.ask(&[MapperPacket::scout(&[])]).await?;
    if let [Some(answer)] = first[..] {
        seen.note(&answer);
        return Ok(Some(seen.findings(explorer.lone(Some(answer)))));
    }
    if explorer.ask(&[MapperPacket::echo(&[])]).await? == [None] {
        return Ok(Some(seen.findings(explorer.lone(None))));
    }
    let own = PluggedDevice::Host(terms.own, terms.node);
    explorer.add(Vec::new(), own, &mut seen).await?;
    while let Some((crossbar, port)) = explorer.queue.pop_front() {
        explorer.follow(crossbar, port, &mut seen).await?;
        if explorer.contradicts {
            return Ok(None);
        }
    }
    Ok(Some(seen.findings(explorer.map())))
}

/// The highest numbers in all answers.
#[derive(Debug, Default)]
struct HighestNumbers {
    version: u32,
    nodes: u32,
}

impl HighestNumbers {
    fn note(&mut self, answer: &MapperAnswer) {
        // Versions wrap; none is 0.
        let ahead = answer.version.wrapping_sub(self.version);
        if answer.version != 0 && (self.version == 0 || ahead < 1 << 31) {
            self.version = answer.version;
        }
        self.nodes = self.nodes.max(answer.nodes);
    }

    const fn findings(self, map: Map) -> Findings {
        Findings {
            map,
            version: self.version,
            nodes: self.nodes,
        }
    }
}

impl<P: Prober> Explorer<'_, P> {
    /// Sends packets, and again those that were not answered.
    async fn ask(
        &mut self,
        packets: &[MapperPacket],
    ) -> Result<Vec<Option<MapperAnswer>>, MapError> {
        self.prober
            .ask(packets, Patience::all(self.terms.tries))
            .await
    }

    /// A map without crossbars.
    fn lone(&self, other: Option<MapperAnswer>) -> Map {
        let own = (self.terms.own, self.terms.node);
        let other = other.map(|answer| (answer.id, answer.node));
        // A cable may lead back to the own port.
        let other = other.filter(|(id, _)| *id != self.terms.own);
        let hosts = [Some(own), other].into_iter().flatten();
        Map {
            mapper: self.terms.own,
            crossbars: Vec::new(),
            hosts: hosts
                .map(|(id, node)| MappedNode { id, node, at: None })
                .collect(),
            links: Vec::new(),
            beyond: Vec::new(),
        }
    }

    /// Adds a crossbar, behind whose port 0 `end` is, and looks what is plugged into its other ports.
    async fn add(
        &mut self,
        route: Vec<i8>,
        end: PluggedDevice,
        seen: &mut HighestNumbers,
    ) -> Result<usize, MapError> {
        let index = self.crossbars.len();
        let mut found = FoundCrossbar {
            route,
            ports: BTreeMap::from([(0, end)]),
        };
        let most = self.terms.most_ports.cast_signed();
        let ports: Vec<i8> = (1 - most..most).filter(|&port| port != 0).collect();
        let scouts: Vec<MapperPacket> = ports
            .iter()
            .map(|&port| MapperPacket::scout(&found.out(port)))
            .collect();
        let answers = self.ask(&scouts).await?;
        let mut silent = Vec::new();
        for (&port, answer) in ports.iter().zip(answers) {
            match answer {
                Some(answer) => {
                    seen.note(&answer);
                    self.contradicts |= !self.ids.insert(answer.id);
                    let host = PluggedDevice::Host(answer.id, answer.node);
                    found.ports.insert(port, host);
                }
                None => silent.push(port),
            }
        }
        // Behind the last crossbar of the longest route there can only be nodes.
        if found.route.len() + 1 < ROUTE_LIMIT as usize {
            let echoes: Vec<MapperPacket> = silent
                .iter()
                .map(|&port| MapperPacket::echo(&found.out(port)))
                .collect();
            let answers = self.ask(&echoes).await?;
            for (port, _) in silent.into_iter().zip(answers).filter(|(_, a)| a.is_some()) {
                found.ports.insert(port, PluggedDevice::Open);
                self.queue.push_back((index, port));
            }
        }
        self.crossbars.push(found);
        Ok(index)
    }

    /// Finds out which crossbar is behind a port.
    async fn follow(
        &mut self,
        from: usize,
        port: i8,
        seen: &mut HighestNumbers,
    ) -> Result<(), MapError> {
        if self.crossbars[from].ports.get(&port) != Some(&PluggedDevice::Open) {
            return Ok(());
        }
        let route = self.crossbars[from].out(port);
        let end = match self.known(&route).await? {
            Some(end) => end,
            None => {
                let behind = PluggedDevice::Crossbar(from, port);
                (self.add(route, behind, seen).await?, 0)
            }
        };
        self.join((from, port), end);
        Ok(())
    }

    fn join(&mut self, a: (usize, i8), b: (usize, i8)) {
        for ((crossbar, port), end) in [(a, b), (b, a)] {
            let end = PluggedDevice::Crossbar(end.0, end.1);
            self.crossbars[crossbar].ports.insert(port, end);
        }
    }

    /// The known port into which a cable is plugged that leads to the end of a route, if a crossbar is there that is known.
    async fn known(&mut self, route: &[i8]) -> Result<Option<(usize, i8)>, MapError> {
        let mut candidates = Vec::new();
        for (index, crossbar) in self.crossbars.iter().enumerate() {
            let open = crossbar
                .ports
                .iter()
                .filter(|(_, end)| **end == PluggedDevice::Open);
            candidates.extend(open.map(|(&port, _)| (index, port)));
        }
        let packets: Vec<MapperPacket> = candidates
            .iter()
            .map(|&(crossbar, port)| compare(route, &self.crossbars[crossbar].route, port))
            .collect();
        let patience = Patience {
            tries: self.terms.tries,
            first: true,
        };
        let answers = self.prober.ask(&packets, patience).await?;
        let found = answers.iter().position(Option::is_some);
        Ok(found.map(|index| candidates[index]))
    }

    /// The map of everything that was found.
    fn map(&self) -> Map {
        let lowest = |found: &FoundCrossbar| found.ports.keys().next().copied().unwrap_or(0);
        let entries: Vec<i8> = self.crossbars.iter().map(|found| -lowest(found)).collect();
        let place = |crossbar: usize, port: i8| CrossbarPort {
            crossbar,
            port: (port + entries[crossbar]).cast_unsigned(),
        };
        let mut map = Map {
            mapper: self.terms.own,
            crossbars: Vec::new(),
            hosts: Vec::new(),
            links: Vec::new(),
            beyond: Vec::new(),
        };
        for (index, found) in self.crossbars.iter().enumerate() {
            map.crossbars.push(Crossbar {
                route: found.route.iter().map(|&port| route_byte(port)).collect(),
                entry: entries[index].cast_unsigned(),
            });
            for (&port, &end) in &found.ports {
                let at = place(index, port);
                match end {
                    PluggedDevice::Host(id, node) => map.hosts.push(MappedNode {
                        id,
                        node,
                        at: Some(at),
                    }),
                    PluggedDevice::Open => map.beyond.push(at),
                    PluggedDevice::Crossbar(other, port) => {
                        let to = place(other, port);
                        if at <= to {
                            map.links.push([at, to]);
                        }
                    }
                }
            }
        }
        map
    }
}

/// Comes back if a route leads into port `port` of the crossbar to which the other route leads.
pub(super) fn compare(route: &[i8], other: &[i8], port: i8) -> MapperPacket {
    let there = route.iter().copied();
    MapperPacket::circle(there.chain([-port]).chain(reversed(other)))
}
