//! The host programs of a scenario, and their parameters.

use std::path::PathBuf;
use std::sync::Arc;

use defs::acenic::SEND_ENTRIES;
use host_lib::acenic::JUMBO_MTU;

use super::acenic::TAG_BYTES;
use super::control::{self, ControlSettings};
use super::error::{Position, ScenarioError, unknown};
use super::limits::Limits;
use super::nodes::Nodes;
use super::table::{Item, Table};
use crate::myrinet::HostKind;
use crate::programs::frame::SHORTEST_BYTES;
use crate::workload::{Workload, WorkloadType, Workloads};

/// Largest number of messages of a program's node.
pub(super) const MOST_MESSAGES: u64 = 10_000_000;
/// Longest time of a program, in us.
pub const LONGEST_US: f64 = 1e9;
/// Default number of transmits posted at a time (emp-149).
pub(super) const DEFAULT_WINDOW: usize = 2;

/// Lengths of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sizes {
    /// A list, used cyclically.
    List(Vec<u32>),
    /// Random lengths up to a limit.
    UpTo(u32),
}

impl Sizes {
    /// The length of message `index`.
    #[must_use]
    pub fn nth(&self, index: u64) -> u32 {
        match self {
            Self::List(sizes) => sizes[(index % sizes.len() as u64) as usize],
            Self::UpTo(most) => *most,
        }
    }
}

/// A host program.
#[derive(Debug, Clone)]
pub enum Program {
    /// Ping-pong: the first node sends, the second one answers.
    PingPong {
        /// The two nodes.
        nodes: [usize; 2],
    },
    /// Stream: one direction at full speed.
    Stream {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
    },
    /// All-to-all: each node sends to each other one.
    AllToAll {
        /// Nodes that run the program.
        nodes: Vec<usize>,
    },
    /// Random: each node sends to random others, with tags and wildcards.
    Random {
        /// Nodes that run the program.
        nodes: Vec<usize>,
        /// Number of tags.
        tags: u16,
    },
    /// Incast: bursts from many nodes to one.
    Incast {
        /// The senders.
        from: Vec<usize>,
        /// The receiver.
        to: usize,
        /// Number of bursts.
        bursts: u64,
        /// Pause between two bursts of a sender, in ns.
        pause_ns: u64,
    },
    /// Frames of Ethernet: each sender sends to each receiver.
    Frames {
        /// The senders.
        from: Vec<usize>,
        /// The receivers.
        to: Vec<usize>,
    },
    /// A workload.
    Workload(&'static WorkloadType, Arc<dyn Workload>),
    /// Boots the firmware of the board's protocol and does nothing.
    Idle {
        /// Nodes that run the program.
        nodes: Vec<usize>,
    },
    /// Repeats the recorded actions of a host program, recorded faults, and recorded arrivals.
    Replay {
        /// Node that repeats a recording.
        node: usize,
        /// The file of the recording, relative to the scenario's folder.
        file: PathBuf,
    },
    /// Hosts of control programs of real Myrinet adapters.
    Control {
        /// Nodes that run the program.
        nodes: Vec<usize>,
        /// The host and the file.
        settings: ControlSettings,
    },
    /// Loads and starts any firmware, without further accesses to the board.
    Start {
        /// Nodes that run the program.
        nodes: Vec<usize>,
    },
}

/// Settings of frames that a program sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameSettings {
    /// Descriptors of a frame.
    pub fragments: u32,
    /// VLAN tag that boards insert and take out.
    pub vlan: Option<u16>,
    /// Whether frames are UDP packets whose checksums boards compute.
    pub checksum: bool,
    /// Shortest time between two frames of a sender, in ns.
    pub gap_ns: u64,
    /// Silence after which a receiver takes missing frames for lost, in ns.
    pub patience_ns: u64,
}

impl Default for FrameSettings {
    fn default() -> Self {
        Self {
            fragments: 1,
            vlan: None,
            checksum: false,
            gap_ns: 0,
            patience_ns: 20_000_000,
        }
    }
}

/// A program and its parameters.
#[derive(Debug, Clone)]
pub struct ProgramSpec {
    /// Program with its own settings.
    pub program: Program,
    /// Name of the program in scenarios.
    pub name: &'static str,
    /// Number of messages per pair, node or burst, depending on the program.
    pub messages: u64,
    /// Lengths of the messages.
    pub sizes: Sizes,
    /// Largest number of posted transmits per node.
    pub window: usize,
    /// Number of posted receives per node.
    pub receives: Option<usize>,
    /// Settings of the frames.
    pub frames: FrameSettings,
    /// Start delay, in ns.
    pub start_ns: u64,
    /// Position in the scenario.
    pub place: Position,
}

impl ProgramSpec {
    /// The nodes of the program.
    #[must_use]
    pub fn nodes(&self) -> Vec<usize> {
        match &self.program {
            Program::PingPong { nodes } => nodes.to_vec(),
            Program::Stream { from, to } => vec![*from, *to],
            Program::Replay { node, .. } => vec![*node],
            Program::AllToAll { nodes }
            | Program::Random { nodes, .. }
            | Program::Control { nodes, .. }
            | Program::Idle { nodes }
            | Program::Start { nodes } => nodes.clone(),
            Program::Workload(_, workload) => workload.nodes(),
            Program::Frames { from, to } => {
                let others = to.iter().filter(|node| !from.contains(node));
                from.iter().chain(others).copied().collect()
            }
            Program::Incast { from, to, .. } => {
                from.iter().copied().chain(std::iter::once(*to)).collect()
            }
        }
    }

    /// Whether its nodes exchange messages.
    #[must_use]
    pub const fn exchanges_messages(&self) -> bool {
        self.uses_protocol() && !matches!(self.program, Program::Idle { .. })
    }

    /// The workload, if it is one.
    #[must_use]
    pub fn workload(&self) -> Option<&dyn Workload> {
        match &self.program {
            Program::Workload(_, workload) => Some(&**workload),
            _ => None,
        }
    }

    /// Whether its nodes exchange messages as planned, which are checked one by one.
    #[must_use]
    pub fn sends_messages(&self) -> bool {
        self.exchanges_messages() && self.workload().is_none() && !self.sends_frames()
    }

    /// Whether the deliveries of its messages are a part of the result.
    #[must_use]
    pub fn shows_messages(&self) -> bool {
        let of_workload = self.workload().map(Workload::messages);
        self.uses_protocol() && of_workload != Some(0)
    }

    /// Whether its nodes exchange frames of Ethernet.
    #[must_use]
    pub const fn sends_frames(&self) -> bool {
        matches!(self.program, Program::Frames { .. })
    }

    /// Whether it uses a message protocol, EMP, GM or FM, whose firmware reports to the host when it is ready.
    #[must_use]
    pub const fn uses_protocol(&self) -> bool {
        use Program::{Control, Replay, Start};
        !matches!(self.program, Start { .. } | Replay { .. } | Control { .. })
    }

    /// Length of the longest message.
    #[must_use]
    pub fn longest(&self) -> u32 {
        match &self.sizes {
            Sizes::List(sizes) => sizes.iter().copied().max().unwrap_or_default(),
            Sizes::UpTo(most) => *most,
        }
    }

    /// Length of the shortest message.
    #[must_use]
    pub fn shortest(&self) -> u32 {
        match &self.sizes {
            Sizes::List(sizes) => sizes.iter().copied().min().unwrap_or_default(),
            Sizes::UpTo(_) => 0,
        }
    }
}

/// Names of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    PingPong,
    Stream,
    AllToAll,
    Random,
    Incast,
    Frames,
    Control(HostKind),
    Idle,
    Start,
    Replay,
}

pub(super) const NAMES: [(&str, Name); 11] = [
    ("ping-pong", Name::PingPong),
    ("stream", Name::Stream),
    ("all-to-all", Name::AllToAll),
    ("random", Name::Random),
    ("incast", Name::Incast),
    ("frames", Name::Frames),
    ("mcp-mailbox", Name::Control(HostKind::Mailbox)),
    ("mcp-shmem", Name::Control(HostKind::Mcpshmem)),
    ("idle", Name::Idle),
    ("start", Name::Start),
    ("replay", Name::Replay),
];

/// Reads a `[[program]]`.
pub(super) fn read(
    mut table: Table<'_>,
    nodes: &Nodes,
    workloads: Workloads,
) -> Result<ProgramSpec, ScenarioError> {
    let run = table.need("run")?;
    let (program, text, name) = match workloads.find(run.text()?) {
        Some((kind, text)) => {
            let workload = (kind.read)(text, &mut table, nodes)?;
            (Program::Workload(kind, workload), text, None)
        }
        None => {
            let (name, text) = own_name(&run, workloads)?;
            (read_program(name, &mut table, nodes)?, text, Some(name))
        }
    };
    let mut spec = ProgramSpec {
        program,
        name: text,
        messages: 0,
        sizes: Sizes::List(vec![0]),
        window: DEFAULT_WINDOW,
        receives: None,
        frames: FrameSettings::default(),
        start_ns: match name {
            // A recording has its own times.
            Some(Name::Replay) => 0,
            _ => table.nanoseconds("start_us", 0)?,
        },
        place: run.place,
    };
    if spec.exchanges_frames() {
        control::read_exchange(&mut spec, &mut table)?;
    } else if spec.sends_frames() {
        read_frames(&mut spec, &mut table)?;
    } else if spec.sends_messages() {
        let limits = Limits::for_program(&spec, nodes);
        let random = name == Some(Name::Random);
        read_traffic(&mut spec, &mut table, random, limits)?;
    }
    table.finish()?;
    Ok(spec)
}

/// The program of this crate that `run` names.
fn own_name(run: &Item<'_>, workloads: Workloads) -> Result<(Name, &'static str), ScenarioError> {
    let text = run.text()?;
    if let Some((own, name)) = NAMES.iter().find(|(own, _)| *own == text) {
        return Ok((*name, own));
    }
    let own = NAMES.iter().map(|(name, _)| *name);
    let others = workloads.0.iter().flat_map(|kind| kind.names).copied();
    Err(run
        .place
        .refuse(unknown("program", text, own.chain(others))))
}

fn read_program(
    name: Name,
    table: &mut Table<'_>,
    nodes: &Nodes,
) -> Result<Program, ScenarioError> {
    Ok(match name {
        Name::PingPong => {
            let item = table.need("nodes")?;
            let pair: [usize; 2] = nodes.resolve(&item)?.try_into().map_err(|all: Vec<_>| {
                let reason = format!("ping-pong takes two nodes, not {}", all.len());
                item.place.refuse(reason)
            })?;
            Program::PingPong { nodes: pair }
        }
        Name::Stream => {
            let from = nodes.resolve_one(&table.need("from")?)?;
            let item = table.need("to")?;
            let to = nodes.resolve_one(&item)?;
            if to == from {
                return Err(item.place.refuse("a node does not stream to itself"));
            }
            Program::Stream { from, to }
        }
        Name::AllToAll => Program::AllToAll {
            nodes: several(table, nodes)?,
        },
        Name::Random => Program::Random {
            nodes: several(table, nodes)?,
            tags: table.integer("tags", 4)?,
        },
        Name::Incast => incast(table, nodes)?,
        Name::Frames => frames(table, nodes)?,
        Name::Control(host) => control::read(host, table, nodes)?,
        Name::Idle => Program::Idle {
            nodes: nodes.resolve(&table.need("nodes")?)?,
        },
        Name::Start => Program::Start {
            nodes: nodes.resolve(&table.need("nodes")?)?,
        },
        Name::Replay => Program::Replay {
            node: nodes.resolve_one(&table.need("node")?)?,
            file: table.need("file")?.text()?.into(),
        },
    })
}

/// Reads the nodes and bursts of an incast.
fn incast(table: &mut Table<'_>, nodes: &Nodes) -> Result<Program, ScenarioError> {
    let to_item = table.need("to")?;
    let to = nodes.resolve_one(&to_item)?;
    let item = table.need("from")?;
    let from = nodes.resolve(&item)?;
    if from.contains(&to) {
        let name = &nodes.all[to].name;
        let reason = format!("node {name} is the one that the others send to");
        return Err(item.place.refuse(reason));
    }
    Ok(Program::Incast {
        from,
        to,
        bursts: table.integer("bursts", 1)?,
        pause_ns: table.nanoseconds("pause_us", 0)?,
    })
}

/// Reads the nodes of a program that sends frames: senders and receivers, or nodes of which each sends to each other one.
fn frames(table: &mut Table<'_>, nodes: &Nodes) -> Result<Program, ScenarioError> {
    let from = table.get("from");
    if from.is_none() {
        let all = several(table, nodes)?;
        let to = all.clone();
        return Ok(Program::Frames { from: all, to });
    }
    let from = nodes.resolve(&table.need("from")?)?;
    let item = table.need("to")?;
    let to = nodes.resolve(&item)?;
    if from == to && from.len() == 1 {
        return Err(item.place.refuse("a node sends no frames to itself"));
    }
    Ok(Program::Frames { from, to })
}

/// Reads a list of two or more nodes.
fn several(table: &mut Table<'_>, nodes: &Nodes) -> Result<Vec<usize>, ScenarioError> {
    let item = table.need("nodes")?;
    let found = nodes.resolve(&item)?;
    if found.len() < 2 {
        return Err(item.place.refuse("it takes two nodes at least"));
    }
    Ok(found)
}

/// Largest number of frames of a sender in the send ring, whose last entry stays free.
const MOST_FRAMES: u64 = SEND_ENTRIES as u64 - 1;
/// Default number of these.
const DEFAULT_FRAMES: usize = 128;

/// Reads the parameters of a program that sends frames.
fn read_frames(spec: &mut ProgramSpec, table: &mut Table<'_>) -> Result<(), ScenarioError> {
    spec.messages = table.integer("frames", 1)?;
    let lengths = u64::from(SHORTEST_BYTES)..=u64::from(JUMBO_MTU - TAG_BYTES);
    let item = table.need("bytes")?;
    let sizes = item.list();
    if sizes.is_empty() {
        return Err(item.place.refuse("no length"));
    }
    let sizes = sizes.iter().map(|item| item.integer(lengths.clone()));
    spec.sizes = Sizes::List(sizes.collect::<Result<_, _>>()?);
    let usual = FrameSettings::default();
    let fragments = table.integer("fragments", usual.fragments)?;
    let window = table.get("window");
    spec.window = match &window {
        Some(item) => item.integer(1..=MOST_FRAMES)?,
        None => DEFAULT_FRAMES.min((MOST_FRAMES / u64::from(fragments)) as usize),
    };
    if let Some(item) = window
        && spec.window as u64 * u64::from(fragments) > MOST_FRAMES
    {
        let reason = format!(
            "{} frames of {fragments} fragments are more than the {MOST_FRAMES} descriptors of a send ring",
            spec.window
        );
        return Err(item.place.refuse(reason));
    }
    spec.frames = FrameSettings {
        fragments,
        vlan: match table.get("vlan") {
            Some(item) => Some(item.whole()?),
            None => None,
        },
        checksum: table.flag("checksum", usual.checksum)?,
        gap_ns: table.nanoseconds("gap_us", usual.gap_ns)?,
        patience_ns: table.nanoseconds("patience_us", usual.patience_ns)?,
    };
    Ok(())
}

/// Reads the parameters common to all programs that send messages.
fn read_traffic(
    spec: &mut ProgramSpec,
    table: &mut Table<'_>,
    random: bool,
    limits: Limits,
) -> Result<(), ScenarioError> {
    spec.messages = table.integer("messages", 1)?;
    let list = table.get("bytes");
    let most = if random { table.get("max_bytes") } else { None };
    spec.sizes = match (&list, most) {
        (Some(_), Some(item)) => {
            return Err(item
                .place
                .refuse("the lengths are given by \"bytes\" already"));
        }
        (None, Some(item)) => Sizes::UpTo(limits.length(&item)?),
        (Some(item), None) => {
            let sizes = item.list();
            if sizes.is_empty() {
                return Err(item.place.refuse("no length"));
            }
            let sizes = sizes.iter().map(|item| limits.length(item));
            Sizes::List(sizes.collect::<Result<_, _>>()?)
        }
        (None, None) => return Err(table.place.refuse("\"bytes\" is missing")),
    };
    let longest = spec.longest();
    let most = limits.transmits(longest) as u64;
    spec.window = match table.get("window") {
        Some(item) => item.integer(1..=most)?,
        None => DEFAULT_WINDOW,
    };
    let most = limits.receives(longest) as u64;
    spec.receives = match table.get("receives") {
        Some(item) => Some(item.integer(1..=most)?),
        None => None,
    };
    Ok(())
}
