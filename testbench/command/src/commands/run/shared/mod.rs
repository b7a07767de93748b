//! Runs that several processes share: `--processes`, `--rank` with `--at`, and processes of `mpirun`.

mod mpi;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use emulator::sim::ranks::{RankError, Ranks, Transport};
use emulator::sim::world::RunEnd;
use log::LevelFilter;

use super::report::RunReport;
use super::start::{self, SaveAt, Start};
use super::{Status, one_file_each, status};
use crate::cli::run::RunArgs;
use crate::logging;
use crate::output::{self, NewFile};
use crate::progress::ProgressLine;
use lanigon_worlds::files::own;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::ranks::{Identity, Meeting, MeetingError, RankOf, Tcp, join};
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, inputs, shared};

/// Address at which the ranks of one machine meet; the system chooses the port.
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
    let save_at = save_at(args)?;
    let first = args.shared.rank.is_none_or(|of| of.rank == 0);
    let prepared = prepare(args, interrupt, save_at.as_ref(), first)?;
    let (mut children, transport) = match meet(args, &prepared.identity, interrupt) {
        Ok(met) => met,
        Err(MeetingError::Interrupted) => return Ok(Status::Interrupted),
        Err(error) => return Err(error.into()),
    };
    let done = execute(args, interrupt, prepared, Box::new(transport))?;
    // The others end by themselves.
    children.wait();
    done.end(args)
}

/// The snapshot that is to be saved.
fn save_at(args: &RunArgs) -> anyhow::Result<Option<SaveAt>> {
    args.snapshot_at.as_deref().map(SaveAt::parse).transpose()
}

/// A rank before the run.
struct Prepared<'a> {
    start: Start,
    /// Everything that the run depends on, which must be equal at all ranks.
    identity: Identity,
    save_at: Option<&'a SaveAt>,
    /// The file of the snapshot, at rank 0.
    file: Option<NewFile<'a>>,
}

/// Builds the world, and says what the run depends on. `first`: this is rank 0.
fn prepare<'a>(
    args: &RunArgs,
    interrupt: &Interrupt,
    save_at: Option<&'a SaveAt>,
    first: bool,
) -> anyhow::Result<Prepared<'a>> {
    check(args)?;
    one_file_each(args, save_at, None)?;
    let mut start = start::begin(args, interrupt)?;
    shared::check(&start.scenario)?;
    let (simulation, scenario) = (&mut start.simulation, &start.scenario);
    if let Some(at) = save_at {
        one_file_each(args, save_at, Some(scenario))?;
        at.check(simulation, scenario, args.max_time)?;
        simulation.keep_logs();
    }
    let file = save_at.filter(|_| first).map(|at| NewFile::begin(&at.file));
    let or_none = |number: Option<String>| number.unwrap_or_else(|| "none".into());
    let limit = or_none(args.max_time.map(|time| time.to_string()));
    let identity = Identity::default()
        .with("version", lanigon_sweep::VERSION)
        .with_long("scenario", &start.text)
        .with("seed", scenario.seed.to_string())
        .with_long("set of images and costs", &inputs::describe(scenario)?)
        .with("time limit", limit)
        .with(
            "time of a snapshot",
            or_none(save_at.map(|at| at.time.to_string())),
        )
        .with(
            "snapshot to begin with",
            or_none(start.snapshot.map(|sum| format!("{sum:08x}"))),
        );
    Ok(Prepared {
        file: file.transpose()?,
        start,
        identity,
        save_at,
    })
}

/// A rank after the run.
struct FinishedRank {
    first: bool,
    start: Start,
    outcome: RunSummary,
    /// Whether the snapshot was saved, if there was to be one.
    saved: anyhow::Result<()>,
}

impl FinishedRank {
    /// Rank 0 prints the report of the whole run. Returns the status of this rank.
    fn end(self, args: &RunArgs) -> anyhow::Result<Status> {
        if self.first {
            show(args, &self.start, &self.outcome)?;
        }
        match self.saved {
            // The user interrupted the run before the snapshot.
            Err(error) if self.outcome.end == RunEnd::Interrupted => {
                if self.first {
                    output::print_aside(&format!("warning: {error:#}\n"));
                }
            }
            Err(error) if self.first => return Err(error),
            // Rank 0 says it for all.
            Err(_) => return Ok(Status::Refused),
            Ok(()) => {}
        }
        Ok(status(&self.outcome))
    }
}

/// Carries out this rank's part of the run.
fn execute(
    args: &RunArgs,
    interrupt: &Interrupt,
    prepared: Prepared<'_>,
    transport: Box<dyn Transport>,
) -> anyhow::Result<FinishedRank> {
    let Prepared {
        mut start,
        save_at,
        file,
        ..
    } = prepared;
    let simulation = &mut start.simulation;
    let mut ranks = Ranks::new(transport, &mut simulation.world);
    log::info!(target: "ranks", "rank {}: all ranks have come", ranks.rank());
    for node in &mut simulation.world.nodes {
        logging::show_trace(&mut node.trace);
    }
    let first = ranks.rank() == 0;
    let progress = first.then(|| ProgressLine::run("messages", start.scenario.messages()));
    let options = RunOptions {
        max_time: args.max_time,
        interrupt: Some(interrupt.flag()),
        clock: progress.as_ref().and_then(ProgressLine::clock),
        threads: args.threads,
    };
    let watch = |received| {
        if let Some(progress) = &progress {
            progress.set(received);
        }
    };
    let gone_on = || -> Result<_, RankError> {
        let saved = match save_at {
            Some(at) => at.run_and_save_shared(file, &mut start, &mut ranks, &options, watch)?,
            None => Ok(()),
        };
        let outcome = start.simulation.run_shared(&mut ranks, &options, watch)?;
        Ok((saved, outcome))
    };
    let gone_on = gone_on();
    drop(progress);
    let (saved, outcome) =
        gone_on.with_context(|| format!("rank {} cannot go on", ranks.rank()))?;
    let exchanged = ranks.exchanged();
    log::info!(
        target: "ranks",
        "rank {}: {} rounds, {} exchanges, {} bytes announced",
        ranks.rank(), exchanged.rounds, exchanged.exchanges, exchanged.bytes
    );
    Ok(FinishedRank {
        first,
        start,
        outcome,
        saved,
    })
}

/// Prints the report of the whole run.
fn show(args: &RunArgs, start: &Start, outcome: &RunSummary) -> anyhow::Result<()> {
    let report = RunReport {
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
    children.start(args, ranks, &meeting.address().to_string())?;
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
    if let Some([us, file]) = args.snapshot_at.as_deref() {
        words.extend(["--snapshot-at", us, file].map(Into::into));
    }
    let mut option = |name: &str, value: OsString| words.extend([name.into(), value]);
    if let Some(path) = &args.from {
        option("--from", path.into());
    }
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
