//! The mapper of GM: finds out how the network is wired and gives routes to all nodes (docs/gm-mapper.md).
//!
//! [`Mapper::map`] explores the network with packets of its own, numbers the nodes, computes routes, and sends each node its
//! routes over the network. [`Mapper::maintain`] looks whether the network has changed since, and then maps it again. The
//! firmware of all nodes answers by itself; only one host needs a mapper. It works beside the programs of its
//! node, with accesses of its own to the board. A program on a node without routes of its own waits with
//! [`Gm::await_map`](super::Gm::await_map).
//!
//! | module | contents |
//! |--------|----------|
//! | `map` | [`Map`]: crossbars, nodes, cables |
//! | `packets` | packets of a mapper |
//! | `explore` | exploration |
//! | `verify` | check of a map |
//! | `routes` | [`routes()`]: routes without deadlocks |
//! | `board` | packets through the board's outbox and inbox |
//! | `distribute` | routes to all nodes |
//!
//! ```
//! use host_lib::gm::mapper::{Mapper, Settings};
//! use host_lib::lanai::Family;
//! use host_lib::window::{AnySystem, AnyWindow, System};
//!
//! /// Maps the network once the firmware runs, and every 10 ms looks for changes.
//! async fn mapper(
//!     window: AnyWindow,
//!     system: AnySystem,
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     let mut mapper = Mapper::new(window, system, Family::Later, Settings::default());
//!     mapper.await_start().await;
//!     let report = mapper.map().await?;
//!     println!("{}: {} nodes", report.version, report.nodes);
//!     loop {
//!         mapper.system_mut().sleep(10_000_000).await;
//!         mapper.maintain().await?;
//!     }
//! }
//! ```

mod board;
mod distribute;
mod error;
mod explore;
mod map;
mod packets;
mod routes;
#[cfg(test)]
mod tests;
mod verify;

pub use error::MapError;
pub use map::{Crossbar, CrossbarPort, Map, MappedNode, NumberError, UniqueId};
pub use routes::{Routes, routes};

use board::MapperPort;
use explore::{ExplorationTerms, Findings};
use verify::Change;

use crate::lanai::Family;
use crate::window::{AnySystem, AnyWindow, SystemPort};

/// Explorations whose answers contradict each other before a mapper gives up.
const ATTEMPTS: u32 = 4;

/// Settings of a mapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Time after the last packet of a group until its answers are taken as missing, in microseconds. It becomes longer while
    /// answers take long.
    pub timeout_us: u32,
    /// Times that a packet is sent before its answer is taken as missing. Four times as many while packets are lost.
    pub tries: u32,
    /// Most ports of a crossbar: at most 32.
    pub most_ports: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout_us: 300,
            tries: 3,
            most_ports: 32,
        }
    }
}

/// Results of a mapper's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Version of the routes that all nodes have now.
    pub version: u32,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of crossbars.
    pub crossbars: usize,
    /// Cables between crossbars.
    pub links: usize,
    /// Packets that the mapper has sent for it.
    pub packets: u64,
    /// Time that it took, in nanoseconds.
    pub time_ns: u64,
    /// Nodes that did not take their routes.
    pub silent: Vec<u16>,
}

/// A mapper on the host of a node.
#[derive(Debug)]
pub struct Mapper {
    port: MapperPort,
    settings: Settings,
    /// The map and the version of its routes.
    current: Option<(Map, u32)>,
    /// Number of nodes that got routes so far.
    nodes: u16,
}

impl Mapper {
    /// A mapper for the board behind `window`, on which the firmware of GM is or will be started by another program.
    pub fn new(window: AnyWindow, system: AnySystem, family: Family, settings: Settings) -> Self {
        let settings = Settings {
            tries: settings.tries.max(1),
            most_ports: settings.most_ports.clamp(2, 32),
            ..settings
        };
        Self {
            port: MapperPort::new(window, system, family, settings.timeout_us),
            settings,
            current: None,
            nodes: 0,
        }
    }

    /// The host system.
    pub fn system_mut(&mut self) -> &mut dyn SystemPort {
        self.port.system_mut()
    }

    /// The latest map.
    #[must_use]
    pub fn current(&self) -> Option<&Map> {
        self.current.as_ref().map(|(map, _)| map)
    }

    /// Waits until the firmware has been started.
    pub async fn await_start(&mut self) {
        self.port.await_start().await;
    }

    async fn terms(&mut self) -> ExplorationTerms {
        let (own, node) = self.port.own().await;
        ExplorationTerms {
            own,
            node,
            tries: self.settings.tries,
            most_ports: self.settings.most_ports,
        }
    }

    /// Explores the network, without changing any routes. Nodes without a number get one in the map.
    ///
    /// # Errors
    /// [`MapError`].
    pub async fn explore(&mut self) -> Result<Map, MapError> {
        Ok(self.findings().await?.map)
    }

    async fn findings(&mut self) -> Result<Findings, MapError> {
        let terms = self.terms().await;
        for _ in 0..ATTEMPTS {
            if let Some(mut findings) = explore::explore(&mut self.port, terms).await? {
                findings.map.number()?;
                return Ok(findings);
            }
        }
        Err(MapError::Inconsistent { attempts: ATTEMPTS })
    }

    /// Explores the network and gives routes to all nodes that were found.
    ///
    /// # Errors
    /// [`MapError`].
    pub async fn map(&mut self) -> Result<Report, MapError> {
        let (packets, begin_ps) = (self.port.sent(), self.port.now_ps());
        let Findings {
            map,
            version,
            nodes,
        } = self.findings().await?;
        let own = self.port.version().await;
        let known = [version, own, self.current.as_ref().map_or(0, |(_, of)| *of)];
        let version = known.into_iter().fold(0, later).wrapping_add(1).max(1);
        let nodes = u16::try_from(nodes).unwrap_or(0);
        self.nodes = self.nodes.max(nodes).max(map.number_count());
        let silent = distribute::distribute(
            &mut self.port,
            &map,
            version,
            self.nodes,
            self.settings.tries,
        );
        let silent = silent.await?;
        let report = Report {
            version,
            nodes: map.hosts.len(),
            crossbars: map.crossbars.len(),
            links: map.links.len(),
            packets: self.port.sent() - packets,
            time_ns: (self.port.now_ps() - begin_ps) / 1000,
            silent,
        };
        self.current = Some((map, version));
        Ok(report)
    }

    /// Looks whether the network still is what the latest map says, and whether all nodes have its routes.
    ///
    /// # Errors
    /// [`MapError`].
    pub async fn verify(&mut self) -> Result<bool, MapError> {
        let terms = self.terms().await;
        let (map, version) = self.current.as_ref().ok_or(MapError::NoMap)?;
        let change = verify::verify(&mut self.port, map, terms, *version).await?;
        let own = self.port.version().await;
        Ok(change == Change::None && own == *version)
    }

    /// Maps the network if it is not mapped yet or [`verify`](Self::verify) finds a change.
    ///
    /// # Errors
    /// [`MapError`].
    pub async fn maintain(&mut self) -> Result<Option<Report>, MapError> {
        self.port.forget_losses();
        if self.current.is_some() && self.verify().await? {
            return Ok(None);
        }
        self.map().await.map(Some)
    }
}

/// The later of two versions, which wrap; 0 is before all others.
const fn later(a: u32, b: u32) -> u32 {
    if a == 0 || (b != 0 && b.wrapping_sub(a) < 1 << 31) {
        b
    } else {
        a
    }
}
