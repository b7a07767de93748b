//! Runs that several processes share: `--processes`, `--rank` with `--at`, and processes of `mpirun`.

mod mpi;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use emulator::sim::ranks::{Ranks, Transport};
use log::LevelFilter;

use super::report::Report;
use super::start::{self, Start};
use super::{Status, status};
use crate::cli::run::RunArgs;
use crate::logging;
use crate::output;
use crate::progress::Progress;
use lanigon_worlds::files::own;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::ranks::{Identity, Meeting, MeetingError, RankOf, Tcp, join};
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, inputs, shared};

/// Where the ranks of one machine meet.
const LOOPBACK: &str = "127.0.0.1:0";
/// For so long other processes may end by themselves after an error.
const FAREWELL: Duration = Duration::from_secs(1);

/// Whether several processes are to share the run.
pub(super) fn is_wanted(args: &RunArgs) -> bool {
    args.shared.processes.is_some() || args.shared.rank.is_some() || mpi::is_wanted(args)
}

/// Runs the command as one of several processes.
///
/// # Errors
/// If the request or the scenario is invalid, the processes do not fit, or one of them ends early.
pub(super) fn run(args: &RunArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    if mpi::is_wanted(args) {
        return mpi::run(args, interrupt);
    }
    let (mut start, identity) = prepare(args)?;
    let (mut children, transport) = match meet(args, &identity, interrupt) {
        Ok(met) => met,
        Err(MeetingError::Interrupted) => return Ok(Status::Interrupted),
        Err(error) => return Err(error.into()),
    };
    let first = transport.rank() == 0;
    let outcome = execute(args, interrupt, &mut start, Box::new(transport))?;
    // The others end by themselves.
    children.wait();
    if first {
        show(args, &start, &outcome)?;
    }
    Ok(status(&outcome))
}

/// Builds the world, and says what the run depends on.
fn prepare(args: &RunArgs) -> anyhow::Result<(Start, Identity)> {
    check(args)?;
    let start = start::begin(args)?;
    let scenario = &start.scenario;
    shared::check(scenario)?;
    let limit = args.max_time.map_or("none".into(), |time| time.to_string());
    let identity = Identity::default()
        .with("version", lanigon_sweep::VERSION)
        .with_long("scenario", &start.text)
        .with("seed", scenario.seed.to_string())
        .with_long("set of images and costs", &inputs::describe(scenario)?)
        .with("time limit", limit);
    Ok((start, identity))
}

/// Carries out this rank's part of the run.
fn execute(
    args: &RunArgs,
    interrupt: &Interrupt,
    start: &mut Start,
    transport: Box<dyn Transport>,
) -> anyhow::Result<RunSummary> {
    let simulation = &mut start.simulation;
    let mut ranks = Ranks::new(transport, &mut simulation.world);
    log::info!(target: "ranks", "rank {}: all ranks have come", ranks.rank());
    for node in &mut simulation.world.nodes {
        logging::show_trace(&mut node.trace);
    }
    let options = RunOptions {
        max_time: args.max_time,
        interrupt: Some(interrupt.flag()),
        threads: args.threads,
    };
    let first = ranks.rank() == 0;
    let progress = first.then(|| Progress::steps("messages", start.scenario.messages()));
    let watch = |received| {
        if let Some(progress) = &progress {
            progress.set(received);
        }
    };
    let outcome = simulation.run_shared(&mut ranks, &options, watch);
    drop(progress);
    let outcome = outcome.with_context(|| format!("rank {} cannot go on", ranks.rank()))?;
    let exchanged = ranks.exchanged();
    log::info!(
        target: "ranks",
        "rank {}: {} rounds, {} exchanges, {} bytes announced",
        ranks.rank(), exchanged.rounds, exchanged.exchanges, exchanged.bytes
    );
    Ok(outcome)
}

/// Prints the report of the whole run.
fn show(args: &RunArgs, start: &Start, outcome: &RunSummary) -> anyhow::Result<()> {
    let report = Report {
        file: Path::new(&start.name),
        scenario: &start.scenario,
        outcome,
    };
    match args.json {
        true => output::print_json(&report.json())?,
        false => output::print(&report.text())?,
    }
    Ok(())
}

/// Refuses what needs all nodes in one process.
fn check(args: &RunArgs) -> anyhow::Result<()> {
    for (option, is_given) in [
        ("--from", args.from.is_some()),
        ("--snapshot-at", args.snapshot_at.is_some()),
        ("--trace", args.record.trace.is_some()),
        ("--pcap", args.pcap.is_some()),
        ("--timeline", args.timeline.timeline.is_some()),
    ] {
        ensure!(
            !is_given,
            "{option} needs one process: it is not possible with --processes, --rank or mpirun"
        );
    }
    Ok(())
}

/// Connects the processes; with `--processes` starts the others.
fn meet(
    args: &RunArgs,
    identity: &Identity,
    interrupt: &Interrupt,
) -> Result<(Children, Tcp), MeetingError> {
    let mut children = Children::default();
    let awake = || match interrupt.requested() {
        true => Err(MeetingError::Interrupted),
        false => Ok(()),
    };
    if let (Some(of), Some(at)) = (args.shared.rank, &args.shared.at) {
        let transport = match of.rank {
            0 => Meeting::begin(at)?.complete(of.ranks, identity, &mut || awake())?,
            _ => join(of, at, identity, &mut || awake())?,
        };
        return Ok((children, transport));
    }
    let ranks = args.shared.processes.map_or(1, std::num::NonZero::get);
    let meeting = Meeting::begin(LOOPBACK)?;
    children.start(args, ranks, &meeting.at().to_string())?;
    let mut check = || {
        awake()?;
        children.check()
    };
    let transport = meeting.complete(ranks, identity, &mut check)?;
    Ok((children, transport))
}

/// The processes that this one has started. They end with it.
#[derive(Debug, Default)]
struct Children(Vec<(RankOf, Child)>);

impl Children {
    /// Starts this program again for each rank but the first.
    fn start(&mut self, args: &RunArgs, ranks: usize, at: &str) -> Result<(), MeetingError> {
        let refused = |error: std::io::Error| {
            MeetingError::Refused(format!("another process cannot be started: {error}"))
        };
        let program = std::env::current_exe().map_err(refused)?;
        for rank in 1..ranks {
            let of = RankOf { rank, ranks };
            let child = Command::new(&program)
                .args(arguments(args, of, at))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn();
            self.0.push((of, child.map_err(refused)?));
        }
        Ok(())
    }

    /// Whether all still run.
    fn check(&mut self) -> Result<(), MeetingError> {
        for (of, child) in &mut self.0 {
            if let Ok(Some(status)) = child.try_wait() {
                let reason = format!("rank {of} has ended before the run: {status}");
                return Err(MeetingError::Refused(reason));
            }
        }
        Ok(())
    }

    /// Waits until they have ended.
    fn wait(&mut self) {
        for (of, child) in &mut self.0 {
            if let Err(error) = child.wait() {
                log::warn!("rank {of}: {error}");
            }
        }
        self.0.clear();
    }
}

impl Drop for Children {
    /// After an error they end by themselves, with a message each, or are ended.
    fn drop(&mut self) {
        let until = Instant::now() + FAREWELL;
        for (_, child) in &mut self.0 {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
                thread::sleep(FAREWELL / 100);
            }
            // It may have ended meanwhile.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The arguments of another rank: those of this one that determine the run.
fn arguments(args: &RunArgs, of: RankOf, at: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["run".into()];
    words.extend(
        args.scenario
            .iter()
            .map(|path| path.clone().into_os_string()),
    );
    let mut option = |name: &str, value: OsString| words.extend([name.into(), value]);
    option("--rank", of.to_string().into());
    option("--at", at.into());
    option("--threads", args.threads.to_string().into());
    if let Some(seed) = args.seed {
        option("--seed", seed.to_string().into());
    }
    if let Some(time) = args.max_time {
        option("--max-time", time.us().to_string().into());
    }
    if let Some(folder) = own::folder() {
        option("--data", folder.into());
    }
    let verbose = match log::max_level() {
        LevelFilter::Info => Some("-v"),
        LevelFilter::Debug => Some("-vv"),
        LevelFilter::Trace => Some("-vvv"),
        LevelFilter::Off | LevelFilter::Error | LevelFilter::Warn => None,
    };
    words.extend(verbose.map(Into::into));
    words
}
