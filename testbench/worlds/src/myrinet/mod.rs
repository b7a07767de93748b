//! A Myrinet adapter with a control program for real hardware, driven by the host that the program expects
//! (docs/control-programs.md).

pub mod diagnosis;
pub mod program;

use emulator::lanai::board::Lanai;
use emulator::lanai::chip::Generation;
use emulator::lanai::timing::{PROFILES_4, PROFILES_7, PROFILES_9, Timing};
use emulator::profile::{Catalog, ProfileError};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use emulator::wire::myrinet::{CrossbarConfig, Link, MyrinetError};
use host_lib::myrinet::{Adapter, Chip, HostError, Journal, mailbox, mcpshmem};

use crate::outcome::ResultSlot;
use diagnosis::Diagnosis;
use program::{ControlProgram, Format};

/// Host memory, in megabytes.
const HOST_MEGABYTES: u32 = 64;
/// Length of the cable.
const CABLE_METRES: u64 = 3;
/// Ports of the switch at which packets turn back.
const CROSSBAR_PORTS: usize = 8;

/// The host that a control program expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKind {
    /// A mailbox at a fixed address, as the program of 1996 has it.
    Mailbox,
    /// A shared structure, as the programs of Cplant have it.
    Mcpshmem,
}

impl HostKind {
    /// The usual host for programs in this format.
    #[must_use]
    pub const fn of(format: Format) -> Self {
        match format {
            Format::Raw => Self::Mailbox,
            Format::Coff => Self::Mcpshmem,
        }
    }

    /// Name in options and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mailbox => "mailbox",
            Self::Mcpshmem => "mcpshmem",
        }
    }

    /// The usual way back of its packets.
    #[must_use]
    pub const fn way_back(self) -> WayBack {
        match self {
            Self::Mailbox => WayBack::Cable,
            Self::Mcpshmem => WayBack::Switch,
        }
    }

    /// The usual memory of its adapters, in bytes.
    #[must_use]
    pub const fn sram_bytes(self) -> u32 {
        match self {
            Self::Mailbox => 256 << 10,
            Self::Mcpshmem => 1 << 20,
        }
    }

    /// Names of the milestones that a program must reach, in order.
    #[must_use]
    pub const fn milestones(self, generation: Generation) -> &'static [&'static str] {
        match (self, generation) {
            (Self::Mailbox, _) => mailbox::MILESTONES,
            (Self::Mcpshmem, Generation::L4) => mcpshmem::MILESTONES_4,
            (Self::Mcpshmem, _) => mcpshmem::MILESTONES_7_9,
        }
    }
}

/// The way of packets from the adapter's port back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayBack {
    /// A cable from the port to itself: packets come back as they left.
    Cable,
    /// A switch at which packets turn back: it takes the first byte of their route.
    Switch,
    /// Nothing is plugged in.
    None,
}

impl WayBack {
    /// Name in options and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cable => "cable",
            Self::Switch => "switch",
            Self::None => "none",
        }
    }
}

/// The ways back that a run tries in turn: the given one, or the usual one and then the other one.
#[must_use]
pub fn ways_back(kind: HostKind, given: Option<WayBack>) -> Vec<WayBack> {
    match (given, kind.way_back()) {
        (Some(way), _) => vec![way],
        (None, WayBack::Switch) => vec![WayBack::Switch, WayBack::Cable],
        (None, _) => vec![WayBack::Cable, WayBack::Switch],
    }
}

/// Names of the boards on which control programs can run: their timing profiles.
pub fn boards() -> impl Iterator<Item = &'static str> {
    let all = [&PROFILES_4, &PROFILES_7, &PROFILES_9];
    all.into_iter()
        .flat_map(|profiles| profiles.built_in.iter().map(|(name, _)| *name))
}

/// The costs of the board with this name.
///
/// # Errors
/// [`ProfileError::Unknown`].
pub fn timing(board: &str) -> Result<Timing, ProfileError> {
    let catalog = Catalog::new([&PROFILES_4, &PROFILES_7, &PROFILES_9]);
    Timing::of(&catalog.built_in(board)?)
}

const fn chip(generation: Generation) -> Chip {
    match generation {
        Generation::L4 => Chip::L4,
        Generation::L7 => Chip::L7,
        Generation::L9 => Chip::L9,
    }
}

/// An adapter with its host, before and after a run.
#[derive(Debug)]
pub struct Session {
    /// The world of one node.
    pub world: World,
    /// The host's progress.
    pub journal: Journal,
    kind: HostKind,
    generation: Generation,
    result: ResultSlot<Result<(), HostError>>,
}

/// The adapter and the network of a [`Session`].
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Costs of the board.
    pub timing: Timing,
    /// Local memory, in bytes.
    pub sram_bytes: u32,
    /// Host.
    pub kind: HostKind,
    /// Way of packets back to the adapter.
    pub way_back: WayBack,
}

/// Outcome of a [`Session`].
#[derive(Debug)]
pub struct Outcome {
    /// Milestones that were not reached, in order.
    pub missing: Vec<&'static str>,
    /// The host's error.
    pub error: Option<HostError>,
    /// The state of the chip, if a milestone is missing.
    pub diagnosis: Option<Diagnosis>,
    /// Executed instructions.
    pub instructions: u64,
    /// DMA transfers: from the host, to the host.
    pub dma_transfers: [u64; 2],
    /// Simulated time.
    pub time: SimTime,
}

impl Session {
    /// Builds an adapter with a control program and its host.
    ///
    /// # Errors
    /// If the cable cannot be plugged in.
    pub fn new(program: &ControlProgram, setup: &Setup) -> Result<Self, MyrinetError> {
        let timing = setup.timing;
        let generation = timing.generation;
        let board = Lanai::new(setup.sram_bytes, timing, generation.pipeline());
        let node = Node::new(0, board, &timing.host, HOST_MEGABYTES);
        let mut world = World::new(vec![node]);
        let cable = match generation {
            Generation::L4 | Generation::L7 => Link::at_1_28_gbps(CABLE_METRES),
            Generation::L9 => Link::at_2_gbps(CABLE_METRES),
        };
        match setup.way_back {
            WayBack::Cable => world.connect_myrinet(0, 0, cable)?,
            WayBack::Switch => {
                let crossbar = world.add_crossbar(&CrossbarConfig::new(CROSSBAR_PORTS))?;
                world.connect_myrinet(0, (crossbar, 0), cable)?;
            }
            WayBack::None => {}
        }
        let journal = Journal::default();
        let result = ResultSlot::default();
        let (shared, left) = (journal.clone(), result.clone());
        let image = program.firmware.clone();
        let kind = setup.kind;
        let programs = &mut world.nodes[0].programs;
        programs.spawn("host", move |machine| async move {
            let chip = chip(generation);
            let mut adapter = Adapter::take(machine.clone(), machine, chip, shared).await;
            left.set(match kind {
                HostKind::Mailbox => mailbox::run(&mut adapter, &image).await,
                HostKind::Mcpshmem => mcpshmem::run(&mut adapter, &image).await,
            });
        });
        Ok(Self {
            world,
            journal,
            kind,
            generation,
            result,
        })
    }

    /// Runs up to the host's end or a limit. `look` is called between slices of time, with the journal.
    pub fn run(&mut self, limits: &RunLimits, mut look: impl FnMut(&Journal) + Send) -> RunEnd {
        let journal = self.journal.clone();
        let end = self.world.run_until(limits, || {
            look(&journal);
            false
        });
        look(&journal);
        end
    }

    /// The outcome after a run. If a milestone is missing, the chip executes some further instructions, which show
    /// where it loops.
    #[must_use]
    pub fn outcome(&mut self) -> Outcome {
        let time = self.world.now();
        let milestones = self.kind.milestones(self.generation).iter().copied();
        let missing: Vec<_> = milestones
            .filter(|milestone| !self.journal.has(milestone))
            .collect();
        let error = self.result.take().and_then(Result::err);
        let board = self.world.nodes[0].board::<Lanai>();
        let instructions = board.core.instructions();
        let dma_transfers = board.fabric.dma_transfers();
        let failed = !missing.is_empty() || error.is_some();
        Outcome {
            missing,
            error,
            diagnosis: failed.then(|| Diagnosis::of(&mut self.world)),
            instructions,
            dma_transfers,
            time,
        }
    }
}

impl Outcome {
    /// Whether the program reached all milestones up to the first packet that must come back, and not that one.
    #[must_use]
    pub fn needs_other_way(&self) -> bool {
        let first = self.missing.first().copied();
        let timed_out = matches!(self.error, Some(HostError::TimedOut { .. }));
        timed_out && matches!(first, Some("self_test" | "frame_received"))
    }

    /// Whether all milestones were reached.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.missing.is_empty() && self.error.is_none()
    }
}
