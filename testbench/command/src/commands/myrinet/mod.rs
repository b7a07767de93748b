//! `lanigon myrinet`: a control program for a real Myrinet adapter, with the host that it expects.

mod report;

use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::myrinet::Journal;
use lanigon_analysis::trace::record;
use lanigon_worlds::boards;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::myrinet::program::{ControlProgram, Format, ProgramError, read_file};
use lanigon_worlds::myrinet::{self, HostKind, Session, Setup};

use super::Status;
use crate::cli::myrinet::MyrinetArgs;
use crate::{logging, output};
use report::Report;

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
    let format = args.format.map_or_else(|| Format::of(&file), Format::from);
    let kind = args
        .host
        .map_or_else(|| HostKind::of(format), HostKind::from);
    let sram_bytes = args.sram_bytes.unwrap_or(kind.sram_bytes());
    let program = ControlProgram::parse(&file, Some(format), args.skip, sram_bytes);
    let program = program.map_err(|problem| ProgramError {
        path: args.firmware.clone(),
        problem,
    })?;
    let timing = myrinet::timing(&args.board)?;
    if let Some(warning) = program.warning(timing.generation) {
        eprintln!("warning: {}: {warning}", args.firmware.display());
    }
    let ways = myrinet::ways_back(kind, args.way_back.map(Into::into));
    let last = ways.len() - 1;
    for (index, way_back) in ways.into_iter().enumerate() {
        let setup = Setup {
            timing,
            sram_bytes,
            kind,
            way_back,
        };
        let (report, end) = play(&program, &setup, args, interrupt)?;
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

fn status(report: &Report<'_>, end: &RunEnd) -> Status {
    match end {
        RunEnd::Interrupted => Status::Interrupted,
        _ if report.is_good() => Status::Done,
        _ => Status::Failed,
    }
}

/// Lets program and host run; shows the host's progress unless a document is wanted.
fn play<'a>(
    program: &'a ControlProgram,
    setup: &Setup,
    args: &'a MyrinetArgs,
    interrupt: &Interrupt,
) -> anyhow::Result<(Report<'a>, RunEnd)> {
    let mut session = Session::new(program, setup)?;
    logging::show_trace(&mut session.world.nodes[0].trace);
    let board = boards::board_type(setup.timing.generation.board()).unwrap_or(boards::DEFAULT);
    let recording = args.record.begin(&mut session.world, || {
        let run = format!("myrinet {}", args.firmware.display());
        record::header(&run, 0, [("node 0".into(), board)])
    })?;
    let limits = RunLimits {
        max_time: Some(args.max_time),
        interrupt: Some(interrupt.flag()),
        ..RunLimits::default()
    };
    let mut shown = Shown {
        entries: 0,
        outcome: Ok(()),
    };
    if !args.json {
        output::print(&report::title(program, setup, &args.board))?;
    }
    let end = session.run(&limits, |journal| {
        if !args.json {
            shown.show(journal);
        }
    });
    shown.outcome?;
    // The report lets the chip go on.
    session.world.finish_observing();
    let report = Report::new(&mut session, program, setup, &args.board, &end);
    recording.finish()?;
    Ok((report, end))
}

/// Number of entries of the journal that are shown already.
struct Shown {
    entries: usize,
    outcome: Result<(), output::WriteError>,
}

impl Shown {
    /// Shows new entries.
    fn show(&mut self, journal: &Journal) {
        let entries = journal.entries_from(self.entries);
        self.entries += entries.len();
        let text: String = entries.iter().map(report::line).collect();
        if self.outcome.is_ok() && !text.is_empty() {
            self.outcome = output::print(&text);
        }
    }
}
