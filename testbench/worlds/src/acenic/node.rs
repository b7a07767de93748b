//! What the driver of each node does: start, report, open, exchange, statistics.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emulator::host::machine::Machine;
use emulator::sim::node::Node;
use host_lib::acenic::{
    AceNic, Command, CommandError, Config, Event, LinkChange, MemoryError, Reported, SendError,
    StartError, Statistics, WaitError,
};
use host_lib::firmware::Firmware;

use super::Nic;
use super::exchange::{self, Counts};

/// How long the link may take to come up.
const LINK_TIMEOUT_NS: u64 = 5_000_000_000;

/// What a node is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Its number, 0 or 1.
    pub node: u16,
    /// Data frames each way.
    pub frames: u32,
    /// Their length; `None`: a mix.
    pub size: Option<u32>,
}

/// Why a node did not come to the end of its plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The board did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Something did not come.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// Host memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A command could not be given.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A frame could not be sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// CPU A stands still.
    #[error("CPU A has halted at pc {0:#x}, during the exchange")]
    Halted(u32),
    /// No frame of the other side came.
    #[error("no greeting was answered within {0} ms")]
    NoAnswer(u64),
}

/// What is known of a node, while it goes on.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// When CPU A was released, in picoseconds since the start.
    pub released_ps: Option<u64>,
    /// When the firmware reported that it runs.
    pub running_ps: Option<u64>,
    /// When it first reported that the link is up.
    pub link_up_ps: Option<u64>,
    /// Its events.
    pub events: Vec<Reported>,
    /// The exchange.
    pub counts: Counts,
    /// What no sound firmware does: how often, and the first cases.
    pub mistakes: u64,
    /// The first of them.
    pub first_mistakes: Vec<String>,
    /// Statistics as last reported.
    pub statistics: Option<Statistics>,
    /// Why it did not come to the end.
    pub failure: Option<Failure>,
    /// It has come to the end, well or not.
    pub ended: bool,
}

/// A node's record, which its program writes and others read.
#[derive(Debug, Clone, Default)]
pub struct Log(Arc<Mutex<Record>>);

impl Log {
    fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known now.
    #[must_use]
    pub fn record(&self) -> Record {
        self.lock().clone()
    }

    /// Data frames received so far.
    #[must_use]
    pub fn received(&self) -> u32 {
        self.lock().counts.received
    }

    /// The events from number `first` on, and the time that they are counted from.
    #[must_use]
    pub fn events_from(&self, first: usize) -> (Vec<Reported>, u64) {
        let record = self.lock();
        let events = record.events.get(first..).unwrap_or_default().to_vec();
        (events, record.released_ps.unwrap_or(0))
    }

    pub(super) fn counts(&self, counts: &Counts) {
        self.lock().counts.clone_from(counts);
    }

    /// Takes over what the driver has found.
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

/// Has a node carry out its plan; its record tells what comes of it.
pub fn spawn(node: &mut Node, firmware: &Arc<Firmware>, config: &Config, plan: Plan) -> Log {
    let log = Log::default();
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
    plan: Plan,
    log: &Log,
) -> Result<(), Failure> {
    let mut nic = AceNic::start(machine.clone(), machine, firmware, config).await?;
    log.lock().released_ps = Some(nic.released_ps());
    let result = operate(&mut nic, plan, log).await;
    log.work(&nic);
    let statistics = nic.statistics()?;
    log.lock().statistics = Some(statistics);
    result
}

/// From a firmware that has just been started to the end of the plan.
async fn operate(nic: &mut Nic, plan: Plan, log: &Log) -> Result<(), Failure> {
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

async fn wait_for_link(nic: &mut Nic, log: &Log) -> Result<(), Failure> {
    let up = Event::Link(LinkChange::Up);
    if nic.history().iter().any(|reported| reported.event == up) {
        return Ok(());
    }
    nic.wait_for(up, "the link to come up", LINK_TIMEOUT_NS)
        .await?;
    log.work(nic);
    Ok(())
}
