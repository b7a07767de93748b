//! `lanigon myrinet`: a control program for a real Myrinet adapter, with the host that it expects: a scenario of one node.

mod report;

use std::num::NonZeroUsize;

use anyhow::{Context, anyhow};
use emulator::sim::world::RunEnd;
use host_lib::myrinet::Journal;
use lanigon_analysis::trace::record;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::myrinet::program::{ControlProgram, Format, ProgramError, read_file};
use lanigon_worlds::myrinet::{self, HostKind, WayBack};
use lanigon_worlds::scenario::{Scenario, ScenarioError};
use lanigon_worlds::simulation::{RunOptions, Simulation};

use super::Status;
use crate::cli::myrinet::MyrinetArgs;
use crate::progress::ProgressLine;
use crate::{logging, output};
use report::{MyrinetReport, Setup};

/// Runs the command.
///
/// # Errors
/// If the request is invalid, or a result cannot be written.
pub fn run(args: &MyrinetArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    output::one_file_each(
        &[("--firmware", &args.firmware)],
        &[("--trace", args.record.trace.as_deref())],
    )?;
    let file = read_file(&args.firmware)?;
    let format = args
        .format
        .map_or_else(|| Format::detect(&file), Format::from);
    let kind = args
        .host
        .map_or_else(|| HostKind::for_format(format), HostKind::from);
    let ways = myrinet::ways_back(kind, args.way_back.map(Into::into));
    let last = ways.len() - 1;
    for (index, way_back) in ways.into_iter().enumerate() {
        let scenario = scenario(args, format, kind, way_back)?;
        let node = &scenario.nodes[0];
        let program = ControlProgram::parse(&file, Some(format), args.skip, node.sram_bytes());
        let program = program.map_err(|problem| ProgramError {
            path: args.firmware.clone(),
            problem,
        })?;
        let setup = Setup {
            program,
            board: &args.board,
            kind,
            way_back,
        };
        let (report, end) = play(&scenario, setup, args, interrupt, index == 0)?;
        let again = index < last && end == RunEnd::Completed && report.needs_other_way();
        match (again, args.json) {
            (true, true) => {}
            (true, false) => {
                let way = way_back.name();
                output::print(&format!("no packet came back ({way}); once more\n\n"))?;
            }
            (false, true) => output::print_json(&report.json())?,
            (false, false) => output::print(&report.text())?,
        }
        if !again {
            return Ok(status(&report, &end));
        }
    }
    Ok(Status::Failed)
}

/// The scenario of one node with the control program.
fn scenario(
    args: &MyrinetArgs,
    format: Format,
    kind: HostKind,
    way_back: WayBack,
) -> anyhow::Result<Scenario> {
    let path = std::path::absolute(&args.firmware);
    let path = path.with_context(|| args.firmware.display().to_string())?;
    let path = path.to_str().context("--firmware: the path is no UTF-8")?;
    // Strings of JSON are strings of TOML.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = format!(
        "board = {}\nimage = {}\n",
        quoted(&args.board),
        quoted(path)
    );
    if let Some(bytes) = args.sram_bytes {
        text += &format!("board_memory_kb = {}\n", bytes >> 10);
    }
    let (topology, run) = (way_back.topology(), kind.program());
    text += &format!("[network]\ntopology = \"{topology}\"\nnodes = 1\n");
    let format = format.name();
    text += &format!("[[program]]\nrun = \"{run}\"\nnodes = 0\nformat = \"{format}\"\n");
    if let Some(bytes) = args.skip {
        text += &format!("skip_bytes = {bytes}\n");
    }
    Scenario::parse("myrinet", &text).map_err(|error| refused(&error))
}

/// The reason of an error, without the place in a scenario that is no file.
fn refused(error: &ScenarioError) -> anyhow::Error {
    match error.key.rsplit('.').next() {
        Some("board_memory_kb") => anyhow!("--sram: {}", error.reason),
        Some("skip_bytes") => anyhow!("--skip: {}", error.reason),
        _ => anyhow!("{}", error.reason),
    }
}

fn status(report: &MyrinetReport<'_>, end: &RunEnd) -> Status {
    match end {
        RunEnd::Interrupted => Status::Interrupted,
        _ if report.is_good() => Status::Done,
        _ => Status::Failed,
    }
}

/// Lets program and host run; shows the host's progress unless a document is wanted.
fn play<'a>(
    scenario: &Scenario,
    setup: Setup<'a>,
    args: &MyrinetArgs,
    interrupt: &Interrupt,
    first: bool,
) -> anyhow::Result<(MyrinetReport<'a>, RunEnd)> {
    let mut simulation = Simulation::new(scenario).map_err(|error| refused(&error))?;
    for warning in simulation.warnings.iter().filter(|_| first) {
        output::print_aside(&format!("warning: {warning}\n"));
    }
    logging::show_trace(&mut simulation.world.nodes[0].trace);
    let host = simulation.hosts.get(&0).cloned();
    let host = host.context("the scenario has no host")?;
    let recording = args.record.begin(&mut simulation.world, || {
        let run = format!("myrinet {}", args.firmware.display());
        record::of_scenario(&run, scenario, &simulation.images)
    })?;
    let progress = ProgressLine::run("", 0);
    let options = RunOptions {
        max_time: Some(args.max_time),
        interrupt: Some(interrupt.flag()),
        clock: progress.clock(),
        threads: NonZeroUsize::MIN,
    };
    let mut shown = ShownEntries {
        entries: 0,
        quiet: args.json,
        outcome: Ok(()),
    };
    progress.around(|| shown.print(&report::title(&setup)));
    let summary = simulation.run(&options, |_| {
        progress.set(0);
        shown.show(&host.journal, &progress);
    });
    shown.show(&host.journal, &progress);
    drop(progress);
    shown.outcome?;
    // The report lets the chip go on.
    simulation.world.finish_observing();
    let report = MyrinetReport::new(&mut simulation, &host, setup, &summary);
    recording.finish()?;
    Ok((report, summary.end))
}

/// Position in the journal: entries that are shown already.
struct ShownEntries {
    entries: usize,
    /// Entries are not shown.
    quiet: bool,
    outcome: Result<(), output::WriteError>,
}

impl ShownEntries {
    /// Shows new entries.
    fn show(&mut self, journal: &Journal, progress: &ProgressLine) {
        let entries = journal.entries_from(self.entries);
        self.entries += entries.len();
        let text: String = entries.iter().map(report::line).collect();
        if !text.is_empty() {
            progress.around(|| self.print(&text));
        }
    }

    fn print(&mut self, text: &str) {
        if self.outcome.is_ok() && !self.quiet && !text.is_empty() {
            self.outcome = output::print(text);
        }
    }
}
