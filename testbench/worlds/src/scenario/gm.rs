//! Settings of GM.

use std::collections::BTreeMap;

use defs::gm::map::{DEFAULT_FATAL_TICKS, DEFAULT_RESEND_TICKS, TICK_HALF_US};
use host_lib::gm::Config;

use super::error::{Position, ScenarioError};
use super::nodes::Node;
use super::programs::{Program, ProgramSpec};
use super::table::Table;
use crate::boards::Protocol;

/// A tick of the firmware's timer, in us.
pub(super) const TICK_US: u32 = TICK_HALF_US / 2;
/// Longest time before packets are sent again, in us: 10 s.
pub(super) const LONGEST_RESEND_US: u64 = 10_000_000;
/// Longest time before a send fails, in us: 10 minutes.
pub(super) const LONGEST_FATAL_US: u64 = 600_000_000;

/// Default pause after which a mapper looks for changes, in us.
const DEFAULT_VERIFY_US: u32 = 10_000;

/// GM settings of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GmSettings {
    /// Time after which unacknowledged packets are sent again, in us.
    pub resend_us: u32,
    /// Time without progress after which a send fails, in us.
    pub fatal_us: u32,
    /// Time after which a collective operation of the board fails that is not complete, in us.
    pub collective_us: u32,
    /// Whether a mapper gives the routes; otherwise the hosts compute them.
    pub mapped: bool,
    /// Whether this node's host is to be the mapper.
    pub mapper: bool,
    /// Pause after which a mapper looks for changes of the network, in us; 0: it does not.
    pub verify_us: u32,
}

/// Values of `routes`: whether a mapper gives them.
pub(super) const ROUTES: [(&str, bool); 2] = [("computed", false), ("mapper", true)];

impl Default for GmSettings {
    fn default() -> Self {
        Self {
            resend_us: DEFAULT_RESEND_TICKS * TICK_US,
            fatal_us: DEFAULT_FATAL_TICKS * TICK_US,
            collective_us: DEFAULT_FATAL_TICKS * TICK_US,
            mapped: false,
            mapper: false,
            verify_us: DEFAULT_VERIFY_US,
        }
    }
}

impl GmSettings {
    /// Copies the settings into a node's configuration, in whole ticks of the firmware's timer: parts of a tick count as one.
    pub const fn apply(&self, config: &mut Config) {
        config.resend_ticks = self.resend_us.div_ceil(TICK_US);
        config.fatal_ticks = self.fatal_us.div_ceil(TICK_US);
        config.collective_ticks = self.collective_us.div_ceil(TICK_US);
    }

    /// These settings with the changes of a table.
    pub(super) fn read(self, table: Option<Table<'_>>) -> Result<Self, ScenarioError> {
        let Some(mut table) = table else {
            return Ok(self);
        };
        let mapped = table.choice("routes", "source of routes", &ROUTES, self.mapped)?;
        let settings = Self {
            mapped,
            mapper: table.flag("mapper", self.mapper)?,
            verify_us: table.integer("verify_us", self.verify_us)?,
            resend_us: table.integer("resend_us", self.resend_us)?,
            fatal_us: table.integer("fatal_us", self.fatal_us)?,
            collective_us: table.integer("collective_us", self.collective_us)?,
        };
        if settings.mapper && !mapped {
            let reason = "a mapper, but routes are not \"mapper\"";
            return Err(table.place.refuse(reason));
        }
        if settings.fatal_us < settings.resend_us {
            let (fatal, resend) = (settings.fatal_us, settings.resend_us);
            let reason = format!(
                "a send would fail after {fatal} us (fatal_us), before its packets are sent again, after {resend} us (resend_us)"
            );
            return Err(table.place.refuse(reason));
        }
        table.finish()?;
        Ok(settings)
    }
}

/// The nodes with a mapper: for each part of the network that of its choice, or its last one.
pub(super) fn mappers(
    nodes: &[Node],
    programs: &[ProgramSpec],
    islands: &[Option<usize>],
    place: &Position,
) -> Result<Vec<usize>, ScenarioError> {
    let mut found: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, (node, island)) in nodes.iter().zip(islands).enumerate() {
        let starts = |spec: &ProgramSpec| match &spec.program {
            Program::Start { nodes } | Program::Control { nodes, .. } => nodes.contains(&index),
            Program::Replay { node, .. } => *node == index,
            _ => false,
        };
        let runs_gm = node.board.protocol() == Some(Protocol::Gm) && !programs.iter().any(starts);
        let Some(island) = island.filter(|_| node.settings.gm.mapped && runs_gm) else {
            continue;
        };
        let chosen = found
            .get(&island)
            .filter(|other| nodes[**other].settings.gm.mapper);
        match chosen {
            Some(&other) if node.settings.gm.mapper => {
                let (other, name) = (&nodes[other].name, &node.name);
                let reason = format!("nodes {other} and {name} are both to be the mapper");
                return Err(place.refuse(reason));
            }
            Some(_) => {}
            None => {
                found.insert(island, index);
            }
        }
    }
    let any = programs.iter().any(ProgramSpec::uses_protocol);
    Ok(found.into_values().filter(|_| any).collect())
}
