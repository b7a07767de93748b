//! Scenarios: files that describe a run completely.
//!
//! A file is parsed into a checked [`Scenario`] without reading other files. An error has a line, a key and
//! a reason. [`crate::simulation`] builds the world from the scenario.

mod acenic;
mod buffers;
mod cables;
mod control;
mod costs;
mod emp;
mod error;
pub mod faults;
mod fm;
mod gm;
pub mod limits;
mod network;
pub mod nodes;
pub mod programs;
pub mod reference;
mod routes;
mod settings;
pub mod table;
#[cfg(test)]
mod tests;
mod topology;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use emulator::sim::time::SimTime;

pub use acenic::AcenicSettings;
pub use control::ControlSettings;
pub use costs::Cost;
pub use emp::EmpSettings;
pub use error::{Position, ScenarioError, is_near, nearest, unknown};
pub use fm::FmSettings;
pub use gm::GmSettings;
pub use network::{CrossbarSpec, Forwarding, LinkEnd, LinkSpec, Network, SwitchSpec};
pub use nodes::{ImageName, LARGE_IMAGE, MOST_NODES, Node, ProfileName};
pub use settings::ProtocolSettings;

use crate::boards::Protocol;
use crate::programs::content::LABEL_BYTES;
use crate::programs::plan::memory_bytes;
use acenic::TAG_BYTES;
use faults::FaultSpec;
use nodes::Defaults;
use programs::{Program, ProgramSpec};
use table::{SourceText, Table};

use crate::files::input::Input;
use crate::files::own::{self, DataLocation};
use crate::files::wanted::{self, WantedArgument};
use crate::workload::{Workload, Workloads};

/// The usual time after which a run is quiet: longer than any pause of a protocol between two tries.
const QUIET: SimTime = SimTime::from_us(10_000_000);
/// Largest number of messages of a run, whose records are kept in memory.
const MOST_MESSAGES: u64 = 10_000_000;

/// A checked scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Description in one line.
    pub description: String,
    /// Base folder of relative file names.
    pub folder: PathBuf,
    /// The file that it was read from, if it was one.
    pub source: Option<PathBuf>,
    /// Random seed.
    pub seed: u64,
    /// Position of the scenario's root, for errors of the whole network.
    pub place: Position,
    /// Time limit of the run, relative to the start of the programs.
    pub max_time: Option<SimTime>,
    /// The run ends when nothing but timers has happened for this time.
    pub quiet: Option<SimTime>,
    /// Nodes by their numbers.
    pub nodes: Vec<Node>,
    /// The network of the nodes.
    pub network: Network,
    /// Host programs.
    pub programs: Vec<ProgramSpec>,
    /// Faults in the order of the file.
    pub faults: Vec<FaultSpec>,
    /// Nodes with a mapper of GM.
    pub mappers: Vec<usize>,
    /// The kinds of workloads that its programs may name.
    pub workloads: Workloads,
    /// Warnings for the user: settings without an effect.
    pub warnings: Vec<String>,
}

impl Scenario {
    /// Reads and parses a scenario file.
    ///
    /// # Errors
    /// If the file cannot be read or contains an error.
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        Ok(Self::load_with(Workloads::default(), path)?.0)
    }

    /// Reads and parses a scenario file, or the example that has the name if there is no such file; returns its text too.
    pub(crate) fn load_with(workloads: Workloads, path: &Path) -> anyhow::Result<(Self, String)> {
        let name = path.display().to_string();
        let example = path.to_str().filter(|_| path.symlink_metadata().is_err());
        let found = example.and_then(own::scenario);
        if let Some(reason) = wanted::refused(path, WantedArgument::Scenario) {
            bail!("{name}: {reason}");
        }
        let path = match &found {
            Some(DataLocation::File(path)) => path,
            _ => path,
        };
        let (text, source) = match &found {
            Some(DataLocation::Embedded(bytes)) => {
                (String::from_utf8_lossy(bytes).into_owned(), None)
            }
            _ => {
                let text = Input::Scenario.read_text(path);
                (text.with_context(|| name.clone())?, Some(path.into()))
            }
        };
        let mut scenario = Self::parse_with(workloads, &name, &text)?;
        scenario.source = source;
        scenario.folder = path.parent().unwrap_or(Path::new("")).into();
        Ok((scenario, text))
    }

    /// All files that the scenario names: images, their symbols, timing profiles, and recordings.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let replays = self.replays().map(|(_, file, _)| self.folder.join(file));
        let of_nodes = self.nodes.iter().flat_map(|node| {
            let image = node.image.file(&self.folder);
            let symbols = node.symbols.as_ref();
            let symbols = symbols.and_then(|symbols| symbols.file(&self.folder));
            let profile = node.profile.is_file();
            let profile = profile.then(|| self.folder.join(&node.profile.name));
            image.into_iter().chain(symbols).chain(profile)
        });
        of_nodes.chain(replays)
    }

    /// Nodes that repeat a recording, its file, and its position.
    pub(crate) fn replays(&self) -> impl Iterator<Item = (usize, &Path, &Position)> {
        self.programs.iter().filter_map(|spec| match &spec.program {
            Program::Replay { node, file } => Some((*node, file.as_path(), &spec.place)),
            _ => None,
        })
    }

    /// Parses the text of a scenario whose programs are messages, frames or control programs; `name` is its file name, for messages.
    /// [`Workloads::parse`] knows other programs too.
    ///
    /// # Errors
    /// The first error.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::parse_with(Workloads::default(), name, text)
    }

    pub(crate) fn parse_with(
        workloads: Workloads,
        name: &str,
        text: &str,
    ) -> Result<Self, ScenarioError> {
        let source = SourceText::new(name, text);
        let document = source.parse(text)?;
        let root = || Table::root(&source, document.get_ref(), reference::table(""));
        Self::read(root(), workloads).map_err(|error| {
            // What follows from a misspelled key says less than its name.
            let doc = reference::table("");
            let misspelled = doc.and_then(|doc| root().misspelled(doc, workloads));
            misspelled.unwrap_or(error)
        })
    }

    fn read(mut root: Table<'_>, workloads: Workloads) -> Result<Self, ScenarioError> {
        let description = match root.get("description") {
            Some(item) => item.text()?.trim().to_owned(),
            None => String::new(),
        };
        let seed = root.integer("seed", 1)?;
        let max_time = match root.get("max_time_us") {
            Some(item) => Some(item.time()?),
            None => None,
        };
        let quiet = match root.get("quiet_us") {
            Some(item) => Some(item.time()?),
            None => None,
        };
        let defaults = Defaults::read(&mut root)?;
        let (mut nodes, network, count) = network::read(&mut root, &defaults)?;
        let tables = root.tables("program")?;
        let programs = tables
            .into_iter()
            .map(|table| programs::read(table, &nodes, workloads));
        let programs: Vec<_> = programs.collect::<Result<_, _>>()?;
        if programs.is_empty() {
            return Err(root.place.refuse("no [[program]]: nothing would happen"));
        }
        nodes.choose_protocols(&programs);
        emp::check_nodes(&nodes.all, &programs, &count)?;
        nodes.choose_images(&programs);
        let usual_quiet = || {
            let mut workloads = programs.iter().filter_map(ProgramSpec::workload);
            (!workloads.any(Workload::may_be_quiet_for_long)).then_some(QUIET)
        };
        let place = root.place.clone();
        let rates = root.table("faults")?;
        let tables = root.tables("fault")?;
        root.finish()?;
        let mut faults = Vec::new();
        if let Some(rates) = rates {
            faults.push(faults::read_rates(rates, &network)?);
        }
        let islands = routes::islands(&network, nodes.all.len());
        let count = islands.iter().flatten().collect::<BTreeSet<_>>().len();
        for table in tables {
            let (fault, place) = faults::read(table, &nodes, &network, count)?;
            check_reset(&fault, &programs, &nodes, &place)?;
            faults.push(fault);
        }
        let mappers = gm::mappers(&nodes.all, &programs, &islands, &place)?;
        let scenario = Self {
            mappers,
            workloads,
            description,
            folder: PathBuf::new(),
            source: None,
            seed,
            place,
            max_time,
            quiet: quiet
                .or_else(usual_quiet)
                .filter(|quiet| *quiet != SimTime::ZERO),
            warnings: settings::warnings(&nodes.all),
            nodes: nodes.all,
            network,
            programs,
            faults,
        };
        scenario.check_programs(&islands)?;
        Ok(scenario)
    }

    /// Number of messages of all programs.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.programs.iter().map(total).sum()
    }

    /// Whether nodes are restarted: then the number of expected messages is unknown.
    #[must_use]
    pub fn resets(&self) -> bool {
        let reset = |fault: &FaultSpec| matches!(fault, FaultSpec::Reset { .. });
        self.faults.iter().any(reset)
    }

    /// Whether any host uses the firmware of a message protocol: EMP or GM.
    #[must_use]
    pub fn uses_protocol(&self) -> bool {
        self.programs.iter().any(ProgramSpec::uses_protocol)
    }

    /// The program that is the host of a node's control program, if it runs one.
    #[must_use]
    pub fn control(&self, node: usize) -> Option<&ProgramSpec> {
        let mut specs = self.programs.iter();
        specs.find(|spec| spec.control().is_some() && spec.nodes().contains(&node))
    }

    /// Whether messages of a node with GM to itself have a way: its crossbar sends them back, by a computed route.
    #[must_use]
    pub fn has_own_route(&self, node: usize) -> bool {
        let network = &self.network;
        let ends = network.link_of(node).map(|link| network.links[link].ends);
        let switched = |end: &LinkEnd| matches!(end, LinkEnd::Port { .. });
        ends.is_some_and(|ends| ends.iter().any(switched))
            && network.medium == crate::boards::Medium::Myrinet
            && !self.nodes[node].settings.gm.mapped
    }

    /// Whether a program exchanges messages on one of these nodes.
    #[must_use]
    pub fn has_messages_on(&self, nodes: &[usize]) -> bool {
        let mut specs = self.programs.iter().filter(|spec| spec.sends_messages());
        specs.any(|spec| spec.nodes().iter().any(|node| nodes.contains(node)))
    }

    /// Checks that every program can run.
    fn check_programs(&self, islands: &[Option<usize>]) -> Result<(), ScenarioError> {
        let mut used: Vec<Vec<&ProgramSpec>> = vec![Vec::new(); self.nodes.len()];
        let mut messages: u64 = 0;
        for spec in &self.programs {
            let place = &spec.place;
            let nodes = spec.nodes();
            for &node in &nodes {
                let name = &self.nodes[node].name;
                self.check_protocol(spec, node)?;
                let mut others = used[node].iter();
                if let Some(reason) = others.find_map(|other| refused_beside(spec, other)) {
                    return Err(place.refuse(format!("node {name} runs {reason}")));
                }
                used[node].push(spec);
                let first = islands[nodes[0]];
                match islands[node] {
                    None if spec.exchanges_messages() || spec.exchanges_frames() => {
                        return Err(place.refuse(format!("node {name} has no cable")));
                    }
                    island
                        if island != first
                            && (spec.exchanges_messages() || spec.exchanges_frames()) =>
                    {
                        let first = &self.nodes[nodes[0]].name;
                        let reason = format!("there is no way from node {first} to node {name}");
                        return Err(place.refuse(reason));
                    }
                    _ => {}
                }
            }
            messages = messages.saturating_add(total(spec));
            if messages > MOST_MESSAGES {
                let reason = format!("{messages} messages in all; {MOST_MESSAGES} can be checked");
                return Err(place.refuse(reason));
            }
            self.check_memory(spec)?;
            buffers::check(spec, &self.nodes, &self.network)?;
            self.check_workload(spec)?;
        }
        Ok(())
    }

    /// Checks that snapshots can have the state of all hosts.
    ///
    /// # Errors
    /// The first program of which that is not so.
    pub fn check_saving(&self) -> Result<(), ScenarioError> {
        for spec in &self.programs {
            if let Some(reason) = spec
                .workload()
                .and_then(|workload| workload.cannot_be_saved())
            {
                let reason = format!("no snapshot: {reason}");
                return Err(spec.place.refuse(reason));
            }
        }
        Ok(())
    }

    /// Checks a workload against the scenario.
    fn check_workload(&self, spec: &ProgramSpec) -> Result<(), ScenarioError> {
        let checked = spec
            .workload()
            .map_or(Ok(()), |workload| workload.check(self));
        checked.map_err(|reason| spec.place.refuse(reason))
    }

    /// Checks that the board of a node runs the protocol of its program, and that its packets are those of the first node.
    fn check_protocol(&self, spec: &ProgramSpec, node: usize) -> Result<(), ScenarioError> {
        if spec.control().is_some() {
            return control::check(spec, &self.nodes[node]);
        }
        if !spec.uses_protocol() {
            return Ok(());
        }
        let of = |node: usize| {
            let node = &self.nodes[node];
            (&node.name, node.board, node.protocol)
        };
        let (name, board, protocol) = of(node);
        let (first_name, first, first_protocol) = of(spec.nodes()[0]);
        let frames = spec.sends_frames();
        let reason = if frames && protocol != Some(Protocol::Acenic) {
            format!(
                "{} needs protocol = \"acenic\", and node {name} runs {}",
                spec.name,
                protocol.map_or("none", Protocol::name)
            )
        } else if let Some(needed) = missing_protocol(spec, protocol) {
            format!(
                "{} needs {needed}, and node {name} runs {}",
                spec.name,
                protocol.map_or("none", Protocol::name)
            )
        } else if spec.sends_messages() && protocol == Some(Protocol::Acenic) {
            format!(
                "{} needs EMP or GM, and node {name} runs {}: use run = \"frames\"",
                spec.name,
                Protocol::Acenic.name()
            )
        } else if protocol.is_none() {
            format!(
                "{} needs EMP or GM, and the board of node {name} ({}) runs neither; run = \"start\" starts any firmware",
                spec.name, board.name
            )
        } else if spec.exchanges_messages() && protocol != first_protocol {
            format!("nodes {first_name} and {name} do not run the same protocol")
        } else if spec.exchanges_messages() && !board.understands(first) {
            format!(
                "the boards of nodes {first_name} ({}) and {name} ({}) check their packets differently: neither accepts those of the other",
                first.name, board.name
            )
        } else {
            return Ok(());
        };
        Err(spec.place.refuse(reason))
    }

    /// Checks that the buffers fit the hosts' memory.
    fn check_memory(&self, spec: &ProgramSpec) -> Result<(), ScenarioError> {
        if spec.sends_frames() {
            return self.check_frames(spec);
        }
        let needed_mb = memory_bytes(spec).div_ceil(1 << 20);
        for node in spec
            .nodes()
            .into_iter()
            .filter(|_| spec.exchanges_messages())
        {
            let node = &self.nodes[node];
            if needed_mb > u64::from(node.memory_mb) {
                let reason = format!(
                    "its buffers take {needed_mb} MB of node {}, whose host_memory_mb is {}",
                    node.name, node.memory_mb
                );
                return Err(spec.place.refuse(reason));
            }
        }
        Ok(())
    }
}

/// The protocols that a workload needs, if a node's is none of them.
fn missing_protocol(spec: &ProgramSpec, protocol: Option<Protocol>) -> Option<String> {
    let needed = spec.workload()?.protocols();
    let has = protocol.is_some_and(|protocol| needed.contains(&protocol));
    let names = needed.iter().map(|protocol| protocol.name());
    (!has).then(|| names.collect::<Vec<_>>().join(" or "))
}

/// Reason for which a program cannot run on a node beside another one; `None` if it can. Programs that send frames share a driver; some
/// workloads and messages are two processes with GM.
fn refused_beside(spec: &ProgramSpec, other: &ProgramSpec) -> Option<String> {
    let beside = |spec: &ProgramSpec, other: &ProgramSpec| {
        let workload = spec.workload();
        workload.is_some_and(Workload::runs_beside_messages) && other.sends_messages()
    };
    if beside(spec, other) || beside(other, spec) {
        return None;
    }
    if !(spec.sends_frames() && other.sends_frames()) {
        let name = other.name;
        return Some(format!(
            "{name} already: a board serves one process of its host"
        ));
    }
    let of_board = |spec: &ProgramSpec| (spec.frames.checksum, spec.frames.vlan);
    (of_board(spec) != of_board(other)).then(|| {
        "frames with another checksum or vlan already: these are settings of its board".into()
    })
}

impl Scenario {
    /// Checks that frames fit the MTU of their nodes, and that these can make sums.
    fn check_frames(&self, spec: &ProgramSpec) -> Result<(), ScenarioError> {
        let needed = spec.longest() + TAG_BYTES;
        for node in spec.nodes().into_iter().map(|node| &self.nodes[node]) {
            if needed > node.settings.acenic.mtu {
                let reason = format!(
                    "frames of {} bytes need [acenic] mtu = {needed} (with room for a tag); that of node {} is {}",
                    spec.longest(),
                    node.name,
                    node.settings.acenic.mtu
                );
                return Err(spec.place.refuse(reason));
            }
            // Firmware of the user's own may know better.
            if spec.frames.checksum && node.settings.acenic.hardware_assist && !node.image.given {
                let reason = format!(
                    "checksum = true and [acenic] assist = \"hardware\" of node {} exclude each other: the chip's assist makes no sums over the board's synchronous SRAM",
                    node.name
                );
                return Err(spec.place.refuse(reason));
            }
        }
        Ok(())
    }
}

/// Checks that a fault, if it is a reset, is one that the programs bear.
fn check_reset(
    fault: &FaultSpec,
    programs: &[ProgramSpec],
    nodes: &nodes::Nodes,
    place: &Position,
) -> Result<(), ScenarioError> {
    match *fault {
        FaultSpec::Reset { .. } => check_labels(programs, place),
        FaultSpec::BoardReset { node, .. } => check_driver(programs, node, nodes, place),
        _ => Ok(()),
    }
}

/// Checks that the host of a board that is reset has a driver of its own: this project's libraries know of no reset.
fn check_driver(
    programs: &[ProgramSpec],
    node: usize,
    nodes: &nodes::Nodes,
    reset: &Position,
) -> Result<(), ScenarioError> {
    let mut workloads = programs.iter().filter_map(ProgramSpec::workload);
    let has_driver =
        |workload: &dyn Workload| workload.has_driver() && workload.nodes().contains(&node);
    match workloads.any(has_driver) {
        true => Ok(()),
        false => Err(reset.refuse(format!(
            "no driver of node {} sets its board up again: only hosts with Linux have one",
            nodes.all[node].name
        ))),
    }
}

/// Checks that messages are long enough for a label, which identifies the incarnation of a restarted
/// sender.
fn check_labels(programs: &[ProgramSpec], reset: &Position) -> Result<(), ScenarioError> {
    let executes = |spec: &&ProgramSpec| spec.workload().is_some() || spec.control().is_some();
    if let Some(spec) = programs.iter().find(executes) {
        let reason = format!("{} does not go on without one of its nodes", spec.name);
        return Err(reset.refuse(reason));
    }
    let short = |spec: &&ProgramSpec| spec.exchanges_messages() && spec.shortest() < LABEL_BYTES;
    match programs.iter().find(short) {
        None => Ok(()),
        Some(spec) => Err(reset.refuse(format!(
            "messages of {} are shorter than the {LABEL_BYTES} bytes that tell the lives of a node apart",
            spec.name
        ))),
    }
}

/// Total number of a program's messages.
fn total(spec: &ProgramSpec) -> u64 {
    let nodes = spec.nodes().len() as u64;
    let times = match &spec.program {
        Program::PingPong { .. } => 2,
        Program::Stream { .. } => 1,
        Program::AllToAll { .. } => nodes * (nodes - 1),
        Program::Random { .. } => nodes,
        Program::Incast { bursts, .. } => (nodes - 1) * bursts,
        Program::Frames { from, to } => {
            let both = from.iter().filter(|node| to.contains(node)).count();
            (from.len() * to.len() - both) as u64
        }
        Program::Workload(_, workload) => return workload.messages(),
        Program::Idle { .. }
        | Program::Start { .. }
        | Program::Control { .. }
        | Program::Replay { .. } => 0,
    };
    spec.messages.saturating_mul(times)
}
