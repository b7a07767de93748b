//! Driver program of each node: start, report, open, exchange, statistics.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emulator::host::machine::Machine;
use emulator::sim::node::Node;
use host_lib::acenic::{
    AceNic, Command, CommandError, Config, Event, LinkChange, MemoryError, Reported, SendError,
    StartError, Statistics, WaitError,
};
use host_lib::firmware::Firmware;

use super::Nic;
use super::exchange::{self, ExchangeCounts};

/// Timeout of the link's start.
const LINK_TIMEOUT_NS: u64 = 5_000_000_000;

/// Plan of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangePlan {
    /// Number of the node, 0 or 1.
    pub node: u16,
    /// Number of data frames in each direction.
    pub frames: u32,
    /// Length of frames; `None`: a mix.
    pub size: Option<u32>,
}

/// A node could not finish its plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeFailure {
    /// The start of the board failed.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A wait failed.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// Host memory is missing.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A command could not be given.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A frame could not be sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// CPU A is halted.
    #[error("CPU A has halted at pc {0:#x}, during the exchange")]
    Halted(u32),
    /// No frame of the other side arrived.
    #[error("no greeting was answered within {0} ms")]
    NoAnswer(u64),
}

/// Current results of a node.
#[derive(Debug, Clone, Default)]
pub struct AcenicResults {
    /// Time of CPU A's release, in picoseconds since the start.
    pub released_ps: Option<u64>,
    /// Time of the firmware's start report.
    pub running_ps: Option<u64>,
    /// Time of the first link-up report.
    pub link_up_ps: Option<u64>,
    /// Events of the firmware.
    pub events: Vec<Reported>,
    /// Counts of the exchange.
    pub counts: ExchangeCounts,
    /// Number of mistakes of the firmware.
    pub mistakes: u64,
    /// Descriptions of the first mistakes.
    pub first_mistakes: Vec<String>,
    /// Last reported statistics.
    pub statistics: Option<Statistics>,
    /// Reason of a failure.
    pub failure: Option<NodeFailure>,
    /// The program has ended.
    pub ended: bool,
}

/// Shared results of a node, written by its program.
#[derive(Debug, Clone, Default)]
pub struct NodeLog(Arc<Mutex<AcenicResults>>);

impl NodeLog {
    fn lock(&self) -> MutexGuard<'_, AcenicResults> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Current results.
    #[must_use]
    pub fn record(&self) -> AcenicResults {
        self.lock().clone()
    }

    /// Number of received data frames.
    #[must_use]
    pub fn received(&self) -> u32 {
        self.lock().counts.received
    }

    /// Events from number `first` on, and their time base.
    #[must_use]
    pub fn events_from(&self, first: usize) -> (Vec<Reported>, u64) {
        let record = self.lock();
        let events = record.events.get(first..).unwrap_or_default().to_vec();
        (events, record.released_ps.unwrap_or(0))
    }

    pub(super) fn counts(&self, counts: &ExchangeCounts) {
        self.lock().counts.clone_from(counts);
    }

    /// Copies the driver's history and mistakes.
    pub(super) fn work(&self, nic: &Nic) {
        let mut record = self.lock();
        let (mistakes, first) = nic.mistakes();
        record.mistakes = mistakes;
        record.first_mistakes = first.iter().map(ToString::to_string).collect();
        let known = record.events.len();
        record
            .events
            .extend_from_slice(nic.history().get(known..).unwrap_or_default());
        let when = |event| {
            let reported = nic.history().iter().find(|item| item.event == event);
            reported.map(|item| item.time_ps)
        };
        record.running_ps = when(Event::FirmwareRunning);
        record.link_up_ps = when(Event::Link(LinkChange::Up));
    }
}

/// Spawns a node's program with a plan; returns its results.
pub fn spawn(
    node: &mut Node,
    firmware: &Arc<Firmware>,
    config: &Config,
    plan: ExchangePlan,
) -> NodeLog {
    let log = NodeLog::default();
    let shared = log.clone();
    let firmware = Arc::clone(firmware);
    let config = config.clone();
    node.programs.spawn("driver", move |machine| async move {
        let result = drive(machine, &firmware, config, plan, &shared).await;
        let mut record = shared.lock();
        record.failure = result.err();
        record.ended = true;
    });
    log
}

async fn drive(
    machine: Machine,
    firmware: &Firmware,
    config: Config,
    plan: ExchangePlan,
    log: &NodeLog,
) -> Result<(), NodeFailure> {
    let mut nic = AceNic::start(machine.clone().into(), machine.into(), firmware, config).await?;
    log.lock().released_ps = Some(nic.released_ps());
    let result = operate(&mut nic, plan, log).await;
    log.work(&nic);
    let statistics = nic.statistics()?;
    log.lock().statistics = Some(statistics);
    result
}

/// Executes the plan on a firmware that has just been started.
async fn operate(nic: &mut Nic, plan: ExchangePlan, log: &NodeLog) -> Result<(), NodeFailure> {
    nic.wait_running().await?;
    log.work(nic);
    nic.fill_rings().await?;
    nic.command_taken(Command::StackUp).await?;
    wait_for_link(nic, log).await?;
    exchange::run(nic, &plan, log).await?;
    nic.next_statistics().await?;
    log.work(nic);
    Ok(())
}

async fn wait_for_link(nic: &mut Nic, log: &NodeLog) -> Result<(), NodeFailure> {
    let up = Event::Link(LinkChange::Up);
    if nic.history().iter().any(|reported| reported.event == up) {
        return Ok(());
    }
    nic.wait_for(up, "the link to come up", LINK_TIMEOUT_NS)
        .await?;
    log.work(nic);
    Ok(())
}
