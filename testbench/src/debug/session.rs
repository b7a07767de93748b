//! What is debugged: a scenario's world, at any moment of it.

use std::cell::Cell;
use std::sync::Arc;

use emulator::cpu::mips::exec::Core;
use emulator::debug::History;
use emulator::image::{Image, Lines, LinesError};
use emulator::observe::file::Header;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::tigon2::board::Tigon2;

use super::stop::{Scope, Stop, What};
use crate::interrupt::Interrupt;
use crate::scenario::Scenario;
use crate::simulation::Blueprint;
use crate::trace::record;

/// The CPU one looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Focus {
    /// The node's number.
    pub node: usize,
    /// The CPU: 0 = A, 1 = B.
    pub cpu: usize,
}

impl Focus {
    /// The CPU as an initiator.
    #[must_use]
    pub const fn who(self) -> Initiator {
        match self.cpu {
            0 => Initiator::CpuA,
            _ => Initiator::CpuB,
        }
    }

    /// The CPU's letter.
    #[must_use]
    pub const fn letter(self) -> char {
        match self.cpu {
            0 => 'A',
            _ => 'B',
        }
    }
}

/// A scenario that is debugged.
#[derive(Debug)]
pub struct Session {
    /// All moments of its world.
    pub history: History,
    /// What all boards run.
    pub image: Arc<Image>,
    /// Names of nodes, probes, stages and functions, as a trace of it would have them.
    pub header: Header,
    /// The CPU one looks at.
    pub focus: Focus,
    /// Set when the user interrupts.
    pub interrupt: Interrupt,
    lines: Result<Lines, LinesError>,
    stops: Vec<Arc<Stop>>,
    last_number: u32,
}

impl Session {
    /// Begins to debug a scenario, at its begin. `name` is that of its file.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn new(name: &str, scenario: &Scenario, interrupt: &Interrupt) -> anyhow::Result<Self> {
        let blueprint = Blueprint::new(scenario)?;
        let image = Arc::clone(&blueprint.image);
        let header = record::of_scenario(name, scenario, &image);
        // What was built once can be built again. (Nothing could be loaded into an empty world.)
        let first = Cell::new(Some(blueprint.build()?.world));
        let build = move || {
            let again = || blueprint.build().map(|simulation| simulation.world);
            let world = first.take().or_else(|| again().ok());
            world.unwrap_or_else(|| World::new(Vec::new()))
        };
        Ok(Self {
            history: History::new(build, Some(interrupt.flag()))?,
            lines: image.lines(),
            image,
            header,
            focus: Focus { node: 0, cpu: 0 },
            interrupt: interrupt.clone(),
            stops: Vec::new(),
            last_number: 0,
        })
    }

    /// The source lines of the image.
    ///
    /// # Errors
    /// If it has none.
    pub fn lines(&self) -> Result<&Lines, LinesError> {
        self.lines.as_ref().map_err(Clone::clone)
    }

    /// The present time.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.history.now()
    }

    /// The board one looks at.
    #[must_use]
    pub fn board(&self) -> &Tigon2 {
        &self.history.world().nodes[self.focus.node].board
    }

    /// The core one looks at.
    #[must_use]
    pub fn core(&self) -> &Core {
        &self.board().cores[self.focus.cpu].core
    }

    /// The name of a node.
    #[must_use]
    pub fn node_name(&self, node: usize) -> &str {
        self.header.nodes.get(node).map_or("", |node| &node.name)
    }
}

/// What stops it.
impl Session {
    /// The stops that are set, by number.
    #[must_use]
    pub fn stops(&self) -> &[Arc<Stop>] {
        &self.stops
    }

    /// Sets one; gives the number by which it is known.
    pub fn add_stop(&mut self, what: What, scope: Scope, text: impl Into<String>) -> u32 {
        self.last_number += 1;
        self.stops.push(Arc::new(Stop {
            number: self.last_number,
            text: text.into(),
            scope,
            what,
        }));
        self.last_number
    }

    /// Removes one; tells whether there was such a number.
    pub fn remove_stop(&mut self, number: u32) -> bool {
        let before = self.stops.len();
        self.stops.retain(|stop| stop.number != number);
        self.stops.len() < before
    }
}
