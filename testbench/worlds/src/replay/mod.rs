//! Recordings of nodes: what a host program of any kind did, what fault layers did to the node's frames, and frames that came from
//! outside. `run = "replay"` in a scenario repeats them.
//!
//! The kit writes them for a failed test, whose programs are closures that no scenario can name. In a world with the same boards,
//! images, timing and network the recording has the same effects at the same times: program and world determine each other, and
//! nothing else acts. So the trace hash is that of the recorded run up to its end.

mod file;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use emulator::host::tape::{Recording, TapeError};
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::state::StateError;
use emulator::wire::strikes::{RepeatedStrikes, Strike};

use crate::boards::Medium;
use crate::builder::{WorldError, add_layer, inject};
use crate::files::input::Input;
use crate::scenario::{Scenario, ScenarioError};

pub use file::{MAGIC, RecordedNode, VERSION};

/// Bytes are no recording of a node.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file is not a recording.
    #[error("this is no recording of a node")]
    Foreign,
    /// The file has another version.
    #[error("this recording has version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// The file is cut off or damaged.
    #[error("this recording is cut short or damaged")]
    Damaged,
    /// The parts of a recording cannot be read.
    #[error("this recording is damaged: {0}")]
    State(#[from] StateError),
    /// The actions of a program cannot be read.
    #[error("this recording is damaged: {0}")]
    Tape(#[from] TapeError),
    /// A frame is longer than any medium carries.
    #[error("this recording is damaged: a frame of {0} bytes")]
    Frame(usize),
}

/// A checked recording of a node.
#[derive(Debug)]
pub struct Replay {
    /// The host program's name and actions.
    program: Option<(String, Arc<Recording>)>,
    /// Frames from outside: time of the first bit, and bytes.
    arrivals: Vec<(SimTime, Vec<u8>)>,
    /// Actions of each fault layer of the node's port.
    layers: Vec<Vec<Strike>>,
    /// Checksum of the file.
    pub checksum: u32,
}

impl Replay {
    /// Puts the recording of node `index` into a world.
    fn install(&self, world: &mut World, medium: Medium, index: usize) -> Result<(), WorldError> {
        for strikes in &self.layers {
            add_layer(world, medium, index, RepeatedStrikes::new(strikes.clone()))?;
        }
        for (time, bytes) in &self.arrivals {
            inject(world, medium, index, *time, bytes)?;
        }
        if let Some((name, recording)) = &self.program {
            let recording = Arc::clone(recording);
            let programs = &mut world.nodes[index].programs;
            programs.spawn(name.as_str(), move |machine| recording.replay(machine));
        }
        Ok(())
    }
}

/// The recordings of a scenario, by node.
#[derive(Debug, Clone, Default)]
pub struct Replays(BTreeMap<usize, Arc<Replay>>);

impl Replays {
    /// Reads the recordings that a scenario names.
    ///
    /// # Errors
    /// If one cannot be read; with the position in the scenario.
    pub fn read(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let one = |(node, file, place): (usize, &Path, _)| {
            let path = scenario.folder.join(file);
            let refuse = |reason: &dyn std::fmt::Display| {
                let place: &crate::scenario::Position = place;
                place.refuse(format!("{}: {reason}", path.display()))
            };
            let bytes = Input::Replay.read(&path).map_err(|error| refuse(&error))?;
            let replay = Replay::parse(&bytes).map_err(|error| refuse(&error))?;
            Ok((node, Arc::new(replay)))
        };
        let all: Result<_, ScenarioError> = scenario.replays().map(one).collect();
        all.map(Self)
    }

    /// Puts the recordings into the world of their scenario.
    pub(crate) fn install(&self, world: &mut World, scenario: &Scenario) -> Result<(), WorldError> {
        for (&node, replay) in &self.0 {
            replay.install(world, scenario.nodes[node].board.medium, node)?;
        }
        Ok(())
    }

    /// Whether there is any.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Checksums of the files, in the order of their nodes.
    pub fn checksums(&self) -> impl Iterator<Item = u32> {
        self.0.values().map(|replay| replay.checksum)
    }
}
