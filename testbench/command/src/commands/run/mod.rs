//! `lanigon run`: runs a scenario.

pub(super) mod report;
mod shared;
mod start;

use std::path::Path;

use anyhow::ensure;
use emulator::observe::file::Header;
use emulator::sim::world::{RunEnd, World};

use super::Status;
use crate::cli::observe::ObserveArgs;
use crate::cli::run::RunArgs;
use crate::cli::timeline::TimelineArgs;
use crate::cli::trace::RecordArgs;
use crate::logging;
use crate::output::{self, NewFile, WriteError};
use crate::progress::ProgressLine;
use lanigon_analysis::capture::{self, Capture};
use lanigon_analysis::trace::record::{self, Recording};
use lanigon_processes::Output;
use lanigon_timeline::drawing::Drawing;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};
use report::RunReport;
use start::{SaveAt, Start};

/// Runs the command.
///
/// # Errors
/// If the request or the scenario is invalid, or a result cannot be written.
pub fn run(args: &RunArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let piped = args.pcap.as_deref().is_some_and(capture::is_stdout);
    ensure!(
        !(piped && args.json),
        "standard output cannot take both the capture (--pcap -) and the document (--json)"
    );
    if shared::is_wanted(args) {
        return shared::run(args, interrupt);
    }
    let snapshot = args.snapshot_at.as_deref().map(SaveAt::parse).transpose()?;
    one_file_each(args, snapshot.as_ref(), None)?;
    let Start {
        name,
        text,
        scenario,
        mut simulation,
        snapshot: _,
    } = start::begin(args, interrupt)?;
    one_file_each(args, snapshot.as_ref(), Some(&scenario))?;
    if let Some(at) = &snapshot {
        at.check(&simulation, &scenario, args.max_time)?;
        simulation.keep_logs();
    }
    if args.races {
        simulation.look_for_races()?;
    }
    warn(&simulation);
    let known = record::of_scenario(&name, &scenario, &simulation.images);
    let snapshot_file = snapshot.as_ref().map(|at| NewFile::begin(&at.file));
    let snapshot_file = snapshot_file.transpose()?;
    let observers = Observers::begin(&args.into(), &mut simulation.world, &known)?;
    let progress = ProgressLine::run("messages", scenario.messages());
    let options = RunOptions {
        max_time: args.max_time,
        interrupt: Some(interrupt.flag()),
        clock: progress.clock(),
        threads: args.threads,
    };
    let saved = snapshot.as_ref().zip(snapshot_file).map(|(at, file)| {
        at.run_and_save(
            file,
            &mut simulation,
            &options,
            |received| progress.set(received),
            |simulation| simulation.save(&name, &text, &scenario),
        )
    });
    let mut outcome = simulation.run(&options, |received| progress.set(received));
    drop(progress);
    add_calls(args, &mut outcome, &simulation, &scenario, interrupt)?;
    let report = RunReport {
        file: Path::new(&name),
        scenario: &scenario,
        outcome: &outcome,
    };
    observers.recording.results(report.results());
    // An output error must not hide results.
    let written = observers.finish(&mut simulation.world);
    print(&report, args.json, piped)?;
    match saved {
        // The user interrupted the run before the snapshot.
        Some(Err(error)) if outcome.end == RunEnd::Interrupted => {
            output::print_aside(&format!("warning: {error:#}\n"));
        }
        Some(Err(error)) => return Err(error),
        Some(Ok(())) | None => {}
    }
    written?;
    Ok(status(&outcome))
}

/// Loads a scenario, whose processes will run with it. `is_taken`: standard output is a document.
pub(super) fn scenario(
    path: &Path,
    interrupt: &Interrupt,
    is_taken: bool,
) -> anyhow::Result<Scenario> {
    let mut scenario = lanigon_workloads::load(path)?;
    let output = Output::beside(is_taken);
    lanigon_processes::prepare(&mut scenario, || interrupt.flag(), output)?;
    Ok(scenario)
}

/// Prints the report, beside standard output if that takes a capture.
fn print(report: &RunReport<'_>, json: bool, piped: bool) -> Result<(), WriteError> {
    match (json, piped) {
        (true, _) => output::print_json(&report.json()),
        (false, true) => {
            output::print_aside(&report.text());
            Ok(())
        }
        (false, false) => output::print(&report.text()),
    }
}

/// Adds the calls that led to races, by a second run of the scenario, if it can run twice.
fn add_calls(
    args: &RunArgs,
    outcome: &mut RunSummary,
    simulation: &Simulation,
    scenario: &Scenario,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    if let Some(races) = &mut outcome.races
        && args.from.is_none()
        && !simulation.waits_outside()
    {
        races.add_calls(scenario, &interrupt.flag())?;
    }
    Ok(())
}

/// Shows what a user should know before the run.
pub(super) fn warn(simulation: &Simulation) {
    for warning in &simulation.warnings {
        output::print_aside(&format!("warning: {warning}\n"));
    }
}

/// The exit code of a run with this result.
pub(super) fn status(outcome: &RunSummary) -> Status {
    match outcome.end {
        RunEnd::Interrupted => Status::Interrupted,
        _ if outcome.is_good() => Status::Done,
        _ => Status::Failed,
    }
}

/// Options of the files that are written while the world runs.
struct ObserverArgs<'a> {
    record: &'a RecordArgs,
    timeline: &'a TimelineArgs,
    pcap: Option<&'a Path>,
}

impl<'a> From<&'a RunArgs> for ObserverArgs<'a> {
    fn from(args: &'a RunArgs) -> Self {
        Self {
            record: &args.record,
            timeline: &args.timeline,
            pcap: args.pcap.as_deref(),
        }
    }
}

/// A world that others than this command take part in, and its files.
pub(super) struct Observed<'s> {
    name: &'s str,
    scenario: &'s Scenario,
    simulation: Simulation,
    observers: Observers,
    json: Option<NewFile<'s>>,
}

impl<'s> Observed<'s> {
    /// The world of a scenario, with these files.
    pub(super) fn begin(
        args: &'s ObserveArgs,
        name: &'s str,
        scenario: &'s Scenario,
    ) -> anyhow::Result<Self> {
        let written = [
            ("--trace", args.record.trace.as_deref()),
            ("--pcap", args.pcap.as_deref()),
            ("--timeline", args.timeline.timeline.as_deref()),
            ("--json", args.json.as_deref()),
        ];
        output::apart_from_scenario(scenario, &written)?;
        let json = args.json.as_deref().map(NewFile::begin).transpose()?;
        let mut simulation = Simulation::new(scenario)?;
        warn(&simulation);
        let known = record::of_scenario(name, scenario, &simulation.images);
        let observers = ObserverArgs {
            record: &args.record,
            timeline: &args.timeline,
            pcap: args.pcap.as_deref(),
        };
        let observers = Observers::begin(&observers, &mut simulation.world, &known)?;
        Ok(Self {
            name,
            scenario,
            simulation,
            observers,
            json,
        })
    }

    pub(super) fn run(&mut self, options: &RunOptions) -> RunSummary {
        self.simulation.run(options, |_| ())
    }

    /// The report, and whether the files could be written.
    pub(super) fn finish(mut self, outcome: &RunSummary) -> (String, Result<(), WriteError>) {
        let report = RunReport {
            file: Path::new(self.name),
            scenario: self.scenario,
            outcome,
        };
        self.observers.recording.results(report.results());
        let written = self.observers.finish(&mut self.simulation.world);
        let document = self.json.map_or(Ok(()), |file| {
            file.write(output::json_text(&report.json())?.as_bytes())
        });
        (report.text(), written.and(document))
    }
}

/// Files that are written while the world runs.
struct Observers {
    recording: Recording,
    drawing: Drawing,
    capture: Option<Capture>,
}

impl Observers {
    fn begin(args: &ObserverArgs<'_>, world: &mut World, known: &Header) -> anyhow::Result<Self> {
        let recording = args.record.begin(world, || known.clone())?;
        let drawing = args.timeline.begin(world, || known.clone())?;
        let capture = args.pcap.map(|path| Capture::start(path, world));
        for node in &mut world.nodes {
            logging::show_trace(&mut node.trace);
        }
        Ok(Self {
            recording,
            drawing,
            capture: capture.transpose()?,
        })
    }

    fn finish(self, world: &mut World) -> Result<(), WriteError> {
        world.finish_observing();
        let captured = self.capture.map_or(Ok(()), |capture| capture.finish(world));
        captured
            .and_then(|()| self.recording.finish())
            .and_then(|()| self.drawing.finish())
    }
}

/// Checks that every output has its own file, and none is one that the scenario names.
fn one_file_each(
    args: &RunArgs,
    snapshot: Option<&SaveAt>,
    scenario: Option<&Scenario>,
) -> anyhow::Result<()> {
    let read = [("the scenario", &args.scenario), ("--from", &args.from)];
    let read = read.map(|(name, file)| file.as_deref().map(|file| (name, file)));
    let read: Vec<_> = read.into_iter().flatten().collect();
    let capture = args.pcap.as_deref();
    let written = [
        ("--trace", args.record.trace.as_deref()),
        ("--pcap", capture.filter(|path| !capture::is_stdout(path))),
        ("--timeline", args.timeline.timeline.as_deref()),
        ("--snapshot-at", snapshot.map(|snapshot| &*snapshot.file)),
    ];
    match scenario {
        Some(scenario) => output::apart_from_scenario(scenario, &written),
        None => output::one_file_each(&read, &written),
    }
}
