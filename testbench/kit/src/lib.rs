//! The test kit: short regression tests for user firmware.
//!
//! A [`Kit`] is a small world: nodes with firmware, a network, faults. A test gives each node a host
//! program, runs the world, and checks the events. Every run of a test gives equal events at equal times,
//! on every machine.
//!
//! ```
//! use lanigon_kit::{Kit, KitError, us};
//!
//! # fn main() -> Result<(), KitError> {
//! # let image = lanigon_kit::image_folder().join("mailbox-echo");
//! // One node, whose firmware writes what comes in a mailbox, plus one, into a word of SRAM.
//! let mut kit = Kit::alone().firmware(image).build()?;
//! let word = kit.run_host(0, "asker", |mut host| async move {
//!     host.mailbox(3, 41).await;
//!     let word = host.poll(0x20C, "an answer", us(100), |word| word != 0).await?;
//!     Ok(word)
//! })?;
//! assert_eq!(word, 42);
//! kit.events().mistakes().never();
//! # Ok(())
//! # }
//! ```
//!
//! | to ... | use |
//! |--------|-----|
//! | describe the world | [`Kit::alone`], [`Kit::pair`], [`Kit::star`], then [`KitBuilder`] |
//! | choose the boards | [`KitBuilder::board`], [`KitBuilder::profile`] |
//! | program a host | [`Kit::host`], [`Kit::run_host`], [`HostNode`] |
//! | run | [`Kit::run`] until all programs have ended, [`Kit::run_for`] a time |
//! | check events | [`Kit::events`], [`Events`] |
//! | compare a trace with an earlier one | [`Events::snapshot`] with `insta::assert_snapshot!` |
//! | inject one exact fault | [`FrameFault`]; [`Fault`](lanigon_worlds::faults::Fault) for EMP, [`PacketFault`](lanigon_worlds::faults::PacketFault) for GM |
//! | search for failures of a protocol | [`Search`], [`Schedules`], [`Schedule`] |
//! | send and receive single frames | [`Kit::inject`], [`Kit::frames_from`] |
//! | debug a failed test | the line that it prints: `lanigon debug target/lanigon/TEST/world.toml` |
//! | inspect details | [`KitBuilder::trace_to`] and `lanigon trace`, [`KitBuilder::pcap_to`], [`KitBuilder::observe`] |
//!
//! Host programs begin at [`START`], when every board has booted. `docs/tutorial.md` leads from an empty
//! folder to such tests; `examples/echo` is its result.

mod builder;
mod error;
mod events;
mod failed;
mod fault;
mod host;
mod log;
mod schedule;
mod search;

use std::future::Future;
use std::sync::Arc;

use emulator::host::machine::Machine;
use emulator::image::Image;
use emulator::sim::world::{RunEnd, RunLimits, World};
use host_lib::firmware::Firmware;
use host_lib::window::System;

pub use builder::KitBuilder;
pub use error::{HostError, KitError};
pub use events::{Events, MOST_SNAPSHOT_LINES, Times};
pub use fault::{FrameFault, KitFault};
pub use host::{Buffer, HostNode};
pub use log::SentFrame;
pub use schedule::{Schedule, Schedules, Step};
pub use search::{FailedSchedule, Search};

/// The result of a host program.
pub use lanigon_worlds::end::ResultSlot;
/// Faults that know EMP or GM.
pub use lanigon_worlds::faults;
/// Folder in which the build of the project's own firmware leaves its images.
pub use lanigon_worlds::images::image_folder;
/// Start time of host programs.
pub use lanigon_worlds::nodes::START;
/// Races between accesses to a board's memory and registers.
pub use lanigon_worlds::races::RaceReport;

use failed::FailureRecords;
use lanigon_analysis::capture::Capture;
use lanigon_analysis::trace::record::Recording;
use lanigon_worlds::boards::BoardType;
use lanigon_worlds::builder::inject;
use lanigon_worlds::faults::Strikes;
use lanigon_worlds::images;
use lanigon_worlds::running::Running;
use lanigon_worlds::stopped::Stopped;
use log::{EventLog, Tap};

/// Kinds of events that are recorded on request only.
pub use emulator::observe::event::Details;
/// A time or a duration.
pub use emulator::sim::time::SimTime;

/// A duration in microseconds.
#[must_use]
pub const fn us(us: u64) -> SimTime {
    SimTime::from_us(us)
}

/// A world under test.
#[derive(Debug)]
pub struct Kit {
    world: World,
    board: &'static BoardType,
    nodes: Vec<NodeState>,
    log: EventLog,
    taps: Vec<Tap>,
    strikes: Vec<Strikes>,
    /// Records that a failed test writes; `None` if it writes nothing.
    records: Option<FailureRecords>,
    end: SimTime,
    recording: Recording,
    capture: Option<Capture>,
}

/// State of a node.
#[derive(Debug)]
struct NodeState {
    image: Option<Image>,
    firmware: Option<Arc<Firmware>>,
    pauses: Vec<SimTime>,
    /// Name of its program.
    program: Option<String>,
    /// Time and reason of the program's failure.
    failure: ResultSlot<(SimTime, HostError)>,
}

impl NodeState {
    fn new(image: Option<Image>, pauses: Vec<SimTime>) -> Self {
        let firmware = image.as_ref().map(images::firmware).map(Arc::new);
        Self {
            image,
            firmware,
            pauses,
            program: None,
            failure: ResultSlot::default(),
        }
    }
}

impl Kit {
    /// One node. The test is at the other end of its cable: [`Kit::inject`], [`Kit::frames_from`].
    #[must_use]
    pub fn alone() -> KitBuilder {
        // Node 1 is a board that is never started: it receives frames and does nothing.
        KitBuilder::alone()
    }

    /// Two nodes, 0 and 1, connected by a cable.
    #[must_use]
    pub fn pair() -> KitBuilder {
        KitBuilder::new(2, false)
    }

    /// `nodes` nodes on a switch, node n at port n. The address of node n is 02:4c:61:6e and n in two bytes. On Myrinet the switch
    /// is a crossbar, and packets to another node begin with a route byte (docs/myrinet.md, section 1).
    #[must_use]
    pub fn star(nodes: u16) -> KitBuilder {
        KitBuilder::new(usize::from(nodes).max(1), true)
    }

    /// Gives a node its host program. The program begins at [`START`], after its firmware has been loaded
    /// and started. Its result can be taken from the outcome after [`Kit::run`]. Nodes without a program
    /// only load their firmware.
    ///
    /// # Errors
    /// If the node does not exist, or has a program already.
    pub fn host<T, P, F>(
        &mut self,
        node: usize,
        name: &str,
        program: P,
    ) -> Result<ResultSlot<T>, KitError>
    where
        T: Send + 'static,
        P: FnOnce(HostNode) -> F + Send + 'static,
        F: Future<Output = Result<T, HostError>> + Send + 'static,
    {
        if self.now() > SimTime::ZERO {
            self.doubt("a host program began while the world ran");
        }
        let last = self.nodes.len() - 1;
        let state = self.nodes.get_mut(node);
        let state = state.ok_or(KitError::NoSuchNode { node, last })?;
        if let Some(program) = state.program.clone() {
            return Err(KitError::SecondProgram { node, program });
        }
        state.program = Some(name.into());
        let outcome = ResultSlot::default();
        let (left, failure) = (outcome.clone(), state.failure.clone());
        let (firmware, pauses) = (state.firmware.clone(), state.pauses.clone());
        let view = self.board.host_view;
        let programs = &mut self.world.nodes[node].programs;
        programs.spawn(name, move |machine| async move {
            let host = HostNode::new(node as u16, view, machine.clone(), pauses);
            let result = match boot(host, machine.clone(), firmware).await {
                Ok(host) => program(host).await,
                Err(error) => Err(error),
            };
            match result {
                Ok(value) => left.set(value),
                Err(error) => failure.set((machine.now(), error)),
            }
        });
        Ok(outcome)
    }

    /// [`Kit::host`] and [`Kit::run`]; returns the program's result.
    ///
    /// # Errors
    /// Errors of these two.
    pub fn run_host<T, P, F>(&mut self, node: usize, name: &str, program: P) -> Result<T, KitError>
    where
        T: Send + 'static,
        P: FnOnce(HostNode) -> F + Send + 'static,
        F: Future<Output = Result<T, HostError>> + Send + 'static,
    {
        let outcome = self.host(node, name, program)?;
        self.run()?;
        outcome.take().ok_or_else(|| KitError::TimeLimit {
            at: self.now(),
            waits: vec![format!("node {node}: {name} left nothing")],
        })
    }

    /// Runs until all host programs have ended.
    ///
    /// # Errors
    /// If a program failed, a CPU stopped, nothing can happen any more, or the time limit is reached.
    pub fn run(&mut self) -> Result<(), KitError> {
        let done = self.run_to_the_end();
        self.noted(done)
    }

    fn run_to_the_end(&mut self) -> Result<(), KitError> {
        self.boot_the_others()?;
        let end = self.world.run(&RunLimits {
            max_time: Some(self.end),
            ..RunLimits::default()
        });
        self.judge()?;
        let at = self.now();
        let with_cpus = |mut waits: Vec<String>| {
            waits.extend(self.running());
            waits
        };
        match end {
            RunEnd::Completed | RunEnd::Interrupted => Ok(()),
            RunEnd::Deadlock(waits) | RunEnd::Quiet(waits) => Err(KitError::Deadlock {
                at,
                waits: with_cpus(waits),
            }),
            RunEnd::TimeLimit(waits) => Err(KitError::TimeLimit {
                at,
                waits: with_cpus(waits),
            }),
        }
    }

    /// One line per CPU that does not idle: where it stands.
    fn running(&self) -> Vec<String> {
        let nodes = self.world.nodes.iter().zip(&self.nodes).enumerate();
        nodes
            .flat_map(|(index, (node, state))| {
                Running::lines(node, state.image.as_ref(), &index.to_string())
            })
            .collect()
    }

    /// Lets time pass, with or without running programs.
    ///
    /// # Errors
    /// If a program failed or a CPU stopped.
    pub fn run_for(&mut self, span: SimTime) -> Result<(), KitError> {
        let until = self.now().saturating_add(span);
        self.run_until(until)
    }

    /// Lets time pass until `time`; programs begin at [`START`].
    ///
    /// # Errors
    /// If a program failed or a CPU stopped.
    pub fn run_until(&mut self, time: SimTime) -> Result<(), KitError> {
        let done = self.pass_time(time);
        self.noted(done)
    }

    fn pass_time(&mut self, time: SimTime) -> Result<(), KitError> {
        self.boot_the_others()?;
        self.world.pass_time(&RunLimits {
            max_time: Some(time),
            ..RunLimits::default()
        });
        self.judge()
    }

    /// Current time.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.world.now()
    }

    /// All events before [`Kit::now`].
    #[must_use]
    pub fn events(&self) -> Events {
        Events::new(self.log.events())
    }

    /// Number of hits of each fault, in the order of their definition; those of a schedule are last. A test
    /// that relies on a fault should check it: a fault without hits tests nothing.
    #[must_use]
    pub fn fault_strikes(&self) -> Vec<u32> {
        self.strikes.iter().map(Strikes::count).collect()
    }

    /// Delivers a frame to a node, with its first bit at this time (or now, if that is past), as from the
    /// other end of the cable. It is padded to 60 bytes and has a correct FCS. On Myrinet it is a packet without a route, with a
    /// correct CRC-8; like any packet it leaves the other end when the packets there before it have, and when the node lets it.
    ///
    /// # Errors
    /// If the node does not exist, or has no cable.
    pub fn inject(&mut self, node: usize, time: SimTime, bytes: &[u8]) -> Result<(), KitError> {
        let last = self.nodes.len() - 1;
        let target = self.world.nodes.get(node);
        let target = target.ok_or(KitError::NoSuchNode { node, last })?;
        let time = time.max(target.now());
        inject(&mut self.world, self.board.medium, node, time, bytes)?;
        if let Some(records) = &mut self.records {
            records.arrives(node, time, bytes);
        }
        Ok(())
    }

    /// The frames, or packets, that a node has sent so far, without those dropped by a fault.
    #[must_use]
    pub fn frames_from(&self, node: usize) -> Vec<SentFrame> {
        self.taps.get(node).map(Tap::frames).unwrap_or_default()
    }

    /// Accesses of CPUs, DMA, MAC and host to one word of a Tigon2 that nothing has ordered so far, if
    /// [they are looked for](KitBuilder::look_for_races).
    ///
    /// ```no_run
    /// # use lanigon_kit::{Kit, KitError};
    /// # fn main() -> Result<(), KitError> {
    /// let mut kit = Kit::alone().firmware("path/to/image").look_for_races().build()?;
    /// kit.run()?;
    /// let races = kit.races();
    /// assert!(races.is_empty(), "{}", races.text());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn races(&self) -> RaceReport {
        let names: Vec<_> = (0..self.nodes.len()).map(|node| node.to_string()).collect();
        let nodes = self.world.nodes.iter().zip(&self.nodes).zip(&names);
        RaceReport::new(nodes.map(|((node, state), name)| (&**name, node, state.image.as_ref())))
    }

    /// Trace hash: equal for equal runs.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.world.trace_hash()
    }

    /// The world, for operations without a method here. What a test changes there is not recorded for `lanigon debug`.
    pub fn world(&mut self) -> &mut World {
        self.doubt("the test used Kit::world()");
        &mut self.world
    }

    /// Notes why the recorded world may differ from this one.
    fn doubt(&mut self, why: &'static str) {
        if let Some(records) = &mut self.records {
            records.doubt(why);
        }
    }

    /// Notes how a run ended.
    fn noted(&mut self, done: Result<(), KitError>) -> Result<(), KitError> {
        if let Some(records) = &mut self.records {
            records.failed = done.is_err();
        }
        done
    }

    /// Ends trace, capture and other observers.
    ///
    /// # Errors
    /// If one of them could not be written.
    pub fn finish(mut self) -> Result<(), KitError> {
        self.finish_observing()
    }

    fn finish_observing(&mut self) -> Result<(), KitError> {
        let observed = self.world.finish_observing();
        let recorded = std::mem::take(&mut self.recording).finish();
        let capture = self.capture.take();
        let captured = capture.map_or(Ok(()), |capture| capture.finish(&mut self.world));
        let written = recorded.and(captured);
        written.map_err(|error| KitError::Trace(format!("{:#}", anyhow::Error::from(error))))?;
        match observed.into_iter().next() {
            Some(error) => Err(KitError::Trace(error.to_string())),
            None => Ok(()),
        }
    }

    /// Starts nodes without a program.
    fn boot_the_others(&mut self) -> Result<(), KitError> {
        for node in 0..self.nodes.len() {
            let state = &self.nodes[node];
            if state.firmware.is_some() && state.program.is_none() {
                self.host(node, "idle", |_| async { Ok(()) })?;
            }
        }
        Ok(())
    }

    /// Checks for stopped CPUs and failed programs. A stopped CPU takes precedence over the failure of its
    /// program.
    fn judge(&self) -> Result<(), KitError> {
        for (node, state) in self.nodes.iter().enumerate() {
            self.check_cpus(node)?;
            if let Some((at, error)) = state.failure.with(|failure| failure.clone()) {
                let running = match error {
                    HostError::TimedOut { .. } => self.running(),
                    _ => Vec::new(),
                };
                return Err(KitError::Program {
                    node,
                    program: state.program.clone().unwrap_or_default(),
                    at,
                    error,
                    running,
                });
            }
        }
        Ok(())
    }

    fn check_cpus(&self, node: usize) -> Result<(), KitError> {
        let image = self.nodes[node].image.as_ref();
        let stopped = Stopped::all(&self.world.nodes[node], image);
        let Some(stopped) = stopped.first() else {
            return Ok(());
        };
        let cpus = self.world.nodes[node].inspect().cpus().iter();
        let cpu = { cpus }.find(|cpu| cpu.id == stopped.id);
        let cpu = cpu.map_or("", |cpu| cpu.id);
        let calls = stopped.backtrace.iter();
        let calls: String = calls.map(|line| format!("\n  {line}")).collect();
        let reason = format!("{stopped}{calls}");
        Err(KitError::CpuStopped { node, cpu, reason })
    }
}

impl Drop for Kit {
    /// Completes the files, also after a panic of the test, and writes the recording of a failed test.
    fn drop(&mut self) {
        if let Some(records) = self.records.take() {
            records.leave(&self.world);
        }
        if let Err(error) = self.finish_observing() {
            ::log::error!("{error}");
        }
    }
}

/// Loads and starts the firmware, and waits for [`START`].
async fn boot(
    mut host: HostNode,
    mut machine: Machine,
    firmware: Option<Arc<Firmware>>,
) -> Result<HostNode, HostError> {
    if let Some(firmware) = firmware {
        host.boot(&firmware).await?;
    }
    let rest = START.saturating_sub(machine.now());
    machine.compute(rest.ps() / 1000).await;
    Ok(host)
}
