//! A debug session: a scenario's world at any time.

use emulator::board::{CpuId, CpuInfo, CpuView, Inspect};
use emulator::sim::node::Node;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use emulator::debug::{DebugError, History, TimeDirection};
use emulator::image::{ELF_FORM, Image, Lines, LinesError, SourceFrame};
use emulator::observe::file::Header;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};

use anyhow::ensure;

use super::condition::Condition;
use super::show::address::own_line;
use super::stop::{Scope, Stop, StopCondition};
use lanigon_analysis::trace::filter::{Filter, Term};
use lanigon_analysis::trace::record;
use lanigon_worlds::files::own::DataLocation;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::races::RaceReport;
use lanigon_worlds::scenario::programs::ProgramSpec;
use lanigon_worlds::scenario::{self, ImageName, Scenario};
use lanigon_worlds::simulation::Images;
use lanigon_worlds::simulation::{Blueprint, Simulation};
use lanigon_worlds::stopped::CpuCode;
use lanigon_worlds::workload::{Workload, Workloads};

/// The focused CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Focus {
    /// Number of the node.
    pub node: usize,
    /// CPU that commands are about.
    pub cpu: CpuId,
}

/// Longest run: eleven days.
const FAR: SimTime = SimTime::from_ps(1_000_000_000_000_000_000);

/// Start of a session.
struct Origin<'a> {
    name: &'a str,
    text: &'a str,
    scenario: &'a Scenario,
    blueprint: Arc<Blueprint>,
    snapshot: Option<(Vec<u8>, PathBuf)>,
}

/// A scenario being debugged.
#[derive(Debug)]
pub struct Session {
    /// History of its world.
    pub history: History,
    /// Images on the boards.
    pub images: Images,
    /// Names of nodes, probes, stages and functions, as in a trace.
    pub header: Header,
    /// The focused CPU.
    pub focus: Focus,
    /// Set when the user interrupts.
    pub interrupt: Interrupt,
    /// Source lines of each image.
    lines: Vec<Result<Lines, LinesError>>,
    blueprint: Arc<Blueprint>,
    /// The snapshot with which the session began: its bytes, and the base folder of its scenario.
    snapshot: Option<(Vec<u8>, PathBuf)>,
    scenario: Scenario,
    text: String,
    stops: Vec<Arc<Stop>>,
    last_number: u32,
}

impl Session {
    /// Starts a session at the start of a scenario. `name` is its file name, `text` its text.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn new(
        name: &str,
        text: &str,
        scenario: &Scenario,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Self> {
        let blueprint = Arc::new(Blueprint::new(scenario)?);
        let mut simulation = blueprint.build()?;
        simulation.keep_logs();
        let origin = Origin {
            name,
            text,
            scenario,
            blueprint,
            snapshot: None,
        };
        Self::begin_at(simulation.world, origin, interrupt)
    }

    /// Starts a session at a snapshot's time, from the bytes of its file; files of its scenario are
    /// relative to `folder`, its programs may be these workloads. The history begins at that time.
    ///
    /// # Errors
    /// If the bytes are no valid snapshot, or other inputs are installed here.
    pub fn from_snapshot(
        workloads: Workloads,
        file: Vec<u8>,
        folder: &Path,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Self> {
        let (simulation, scenario, label) = Simulation::load(workloads, &file, folder)?;
        let origin = Origin {
            name: &label.scenario,
            text: &label.text,
            scenario: &scenario,
            blueprint: Arc::new(Blueprint::new(&scenario)?),
            snapshot: Some((file, folder.into())),
        };
        Self::begin_at(simulation.world, origin, interrupt)
    }

    fn begin_at(world: World, origin: Origin<'_>, interrupt: &Interrupt) -> anyhow::Result<Self> {
        let Origin {
            name,
            text,
            scenario,
            blueprint,
            snapshot,
        } = origin;
        let images = blueprint.images.clone();
        let header = record::of_scenario(name, scenario, &images);
        // What was built once can be built again. (An empty world could not be loaded into.)
        let builder = Arc::clone(&blueprint);
        let build = move || {
            let world = builder.build().map(|simulation| simulation.world);
            world.unwrap_or_default()
        };
        let mut workloads = scenario.programs.iter().filter_map(ProgramSpec::workload);
        let runs_once = workloads.any(Workload::waits_outside);
        let flag = Some(interrupt.flag());
        Ok(Self {
            history: match scenario.check_saving() {
                Ok(()) => History::from_moment(world, build, flag)?,
                Err(_) if runs_once => History::of_one_run(world, flag)?,
                Err(_) => History::of_processes(world, build, flag)?,
            },
            lines: images.all().map(|(_, image)| image.lines()).collect(),
            images,
            header,
            focus: Focus::default(),
            interrupt: interrupt.clone(),
            scenario: scenario.clone(),
            text: text.into(),
            blueprint,
            snapshot,
            stops: Vec::new(),
            last_number: 0,
        })
    }

    /// Image of the focused node.
    #[must_use]
    pub fn image(&self) -> &Image {
        self.images.image_of(self.focus.node)
    }

    /// Source lines of the focused node's image.
    ///
    /// # Errors
    /// If it has none.
    pub fn lines(&self) -> Result<&Lines, LinesError> {
        let lines = &self.lines[self.images.index_of(self.focus.node)];
        lines.as_ref().map_err(Clone::clone)
    }

    /// Start addresses of code from other source lines than that of the current instruction.
    ///
    /// # Errors
    /// If the image has no lines.
    pub fn other_lines(&self) -> Result<Vec<u32>, LinesError> {
        let lines = self.lines()?;
        let here = lines.at(self.cpu().pc)?;
        let here = own_line(&here);
        let mut others = Vec::new();
        let sections = self.image().sections.iter();
        for section in sections.filter(|section| section.executable) {
            let end = section.run_address.saturating_add(section.size_bytes);
            for address in (section.run_address..end).step_by(4) {
                let frames = lines.at(address)?;
                let line = own_line(&frames).filter(|frame| frame.line > 0);
                let place = |frame: &SourceFrame| (Arc::clone(&frame.file), frame.line);
                if line.is_some() && line.map(place) != here.map(place) {
                    others.push(address);
                }
            }
        }
        Ok(others)
    }

    /// Current time.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.history.now()
    }

    /// Start time of the host programs.
    #[must_use]
    pub const fn start(&self) -> SimTime {
        SimTime::from_ps(self.header.start_ps)
    }

    /// Time limit of forward motion: that of the scenario, or a long time.
    #[must_use]
    pub fn last_time(&self) -> SimTime {
        let last = self
            .scenario
            .max_time
            .map(|time| self.start().saturating_add(time));
        last.unwrap_or(FAR).max(self.now())
    }

    /// Time limit of motion in a direction.
    #[must_use]
    pub fn farthest(&self, direction: TimeDirection) -> SimTime {
        match direction {
            TimeDirection::Forward => self.last_time(),
            TimeDirection::Backward => SimTime::ZERO,
        }
    }

    /// Board of the focused node.
    #[must_use]
    pub fn board(&self) -> &dyn Inspect {
        self.history.world().nodes[self.focus.node].inspect()
    }

    /// The CPU one looks at, as it is now.
    #[must_use]
    pub fn cpu(&self) -> CpuView {
        self.cpu_of(self.focus)
    }

    /// A CPU as it is now.
    ///
    /// # Panics
    /// If there is no such CPU.
    #[must_use]
    pub fn cpu_of(&self, focus: Focus) -> CpuView {
        let board = self.history.world().nodes[focus.node].inspect();
        match board.cpu(focus.cpu) {
            Some(view) => view,
            None => panic!("node {} has no CPU {}", focus.node, focus.cpu.index()),
        }
    }

    /// Constant properties of a CPU.
    #[must_use]
    pub fn info(&self, focus: Focus) -> &'static CpuInfo {
        let board = self.history.world().nodes[focus.node].inspect();
        &board.cpus()[focus.cpu.index()]
    }

    /// A general register of the CPU one looks at.
    #[must_use]
    pub fn register(&self, index: usize) -> u32 {
        let registers = self.board().registers(self.focus.cpu);
        registers.get(index).copied().unwrap_or_default()
    }

    /// All CPUs of a node.
    pub fn cpus(&self, node: usize) -> impl Iterator<Item = Focus> + use<> {
        let cpus = self.history.world().nodes[node].inspect().cpus().len();
        (0..cpus)
            .map(CpuId::new)
            .map(move |cpu| Focus { node, cpu })
    }

    /// The CPU of the focused node that commands call so: `a`.
    ///
    /// # Errors
    /// If there is none.
    pub fn cpu_called(&self, letter: &str) -> anyhow::Result<CpuId> {
        let cpus = self.board().cpus();
        let called = |cpu: &CpuInfo| cpu.letter.eq_ignore_ascii_case(letter);
        if let Some(index) = cpus.iter().position(called) {
            return Ok(CpuId::new(index));
        }
        let known: Vec<_> = cpus
            .iter()
            .map(|cpu| format!("cpu {}", cpu.letter))
            .collect();
        anyhow::bail!("cpu {letter}: expected {}", known.join(" or "))
    }

    /// The CPU that acts as an initiator.
    #[must_use]
    pub fn cpu_named(&self, node: usize, who: Initiator) -> Option<CpuId> {
        let cpus = self.history.world().nodes.get(node)?.inspect().cpus();
        cpus.iter()
            .position(|cpu| cpu.initiator == who)
            .map(CpuId::new)
    }

    /// The file that names a node's code: that of the symbols, else the image.
    fn named(&self, node: usize) -> &ImageName {
        let node = &self.scenario.nodes[node];
        node.symbols.as_ref().unwrap_or(&node.image)
    }

    /// Name of the file that names a node's code.
    #[must_use]
    pub fn symbols_name(&self, node: usize) -> &str {
        &self.named(node).name
    }

    /// The ELF file that names a node's code; `None` if its image is of a form without names.
    #[must_use]
    pub fn symbols_file(&self, node: usize) -> Option<DataLocation> {
        let scenario::Node { board, symbols, .. } = &self.scenario.nodes[node];
        let is_elf = symbols.is_some() || self.images.image_of(node).form == ELF_FORM;
        is_elf.then(|| self.named(node).find(board, &self.scenario.folder))
    }

    /// Name of a node.
    #[must_use]
    pub fn node_name(&self, node: usize) -> &str {
        self.header.nodes.get(node).map_or("", |node| &node.name)
    }
}

/// Changes and snapshots.
impl Session {
    /// Changes the node one looks at, now.
    ///
    /// # Errors
    /// If the world cannot be saved.
    pub fn change_node<T>(&mut self, change: impl FnOnce(&mut Node) -> T) -> Result<T, DebugError> {
        let node = self.focus.node;
        self.history.change(|world| change(&mut world.nodes[node]))
    }

    /// The code of a CPU.
    pub(crate) fn code_of(&self, focus: Focus) -> CpuCode<'_> {
        CpuCode {
            board: self.history.world().nodes[focus.node].inspect(),
            cpu: focus.cpu,
            image: Some(self.images.image_of(focus.node)),
            lines: self.lines[self.images.index_of(focus.node)].as_ref().ok(),
            now: self.now(),
        }
    }

    /// Saves the current time as the bytes of a snapshot, for `lanigon run`.
    ///
    /// # Errors
    /// If a host program cannot be saved, or the operation is interrupted.
    pub fn snapshot(&mut self) -> anyhow::Result<Vec<u8>> {
        self.scenario.check_saving()?;
        let now = self.now();
        let mut simulation = match &self.snapshot {
            Some((file, folder)) => Simulation::load(self.scenario.workloads, file, folder)?.0,
            None => self.blueprint.build()?,
        };
        while let Some(time) = simulation.next_look_before(now) {
            self.history.go_to(time)?;
            simulation.look(self.history.world());
        }
        self.history.go_to(now)?;
        let (text, scenario) = (&self.text, &self.scenario);
        Ok(simulation.save_world(self.history.world(), &self.header.run, text, scenario)?)
    }

    /// Races before the current time. Another run looks for them, without what the session has changed: its world has no detector, and goes back.
    ///
    /// # Errors
    /// If the scenario cannot run twice, no board can look for races, or the operation is interrupted.
    pub fn races(&self) -> anyhow::Result<RaceReport> {
        let mut simulation = match &self.snapshot {
            Some((file, folder)) => Simulation::load(self.scenario.workloads, file, folder)?.0,
            None => self.blueprint.build()?,
        };
        ensure!(
            !simulation.waits_outside(),
            "the processes of this scenario run once: lanigon run --races looks for races beside them"
        );
        simulation.look_for_races()?;
        simulation.world.run(&RunLimits {
            max_time: Some(self.now()),
            interrupt: Some(self.interrupt.flag()),
            ..RunLimits::default()
        });
        let mut report = simulation.races().unwrap_or_default();
        if self.snapshot.is_none() {
            report.add_calls(&self.scenario, &self.interrupt.flag())?;
        }
        ensure!(!self.interrupt.requested(), DebugError::Interrupted);
        Ok(report)
    }
}

/// Stops of the session.
impl Session {
    /// Events that match a filter with these terms.
    ///
    /// # Errors
    /// If a name is unknown.
    pub fn events(&self, terms: &[Term]) -> anyhow::Result<StopCondition> {
        let filter = Filter::new(terms, &self.header)?;
        Ok(StopCondition::Event(Box::new(Mutex::new(filter))))
    }

    /// The stops, by number.
    #[must_use]
    pub fn stops(&self) -> &[Arc<Stop>] {
        &self.stops
    }

    /// Adds a stop with a condition; returns its number.
    pub fn add_stop_if(
        &mut self,
        what: StopCondition,
        scope: Scope,
        condition: Option<Condition>,
        text: impl Into<String>,
    ) -> u32 {
        self.last_number += 1;
        self.stops.push(Arc::new(Stop {
            number: self.last_number,
            text: text.into(),
            scope,
            what,
            condition,
        }));
        self.last_number
    }

    /// Removes a stop; returns whether it existed.
    pub fn remove_stop(&mut self, number: u32) -> bool {
        let before = self.stops.len();
        self.stops.retain(|stop| stop.number != number);
        self.stops.len() < before
    }
}
