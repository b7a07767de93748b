//! `lanigon ledger`: where the time of messages is spent.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use emulator::observe::stream::Observer;
use emulator::profile::Profile;
use emulator::sim::world::RunEnd;

use super::Status;
use super::run::{scenario, warn};
use crate::cli::ledger::LedgerArgs;
use crate::output::{self, NewFile};
use crate::progress::ProgressLine;
use lanigon_analysis::ledger::follow::{Account, Follower};
use lanigon_analysis::ledger::{average, select, svg, text};
use lanigon_analysis::trace::open::{Ending, broken, open};
use lanigon_worlds::boards::{self, BoardType, DEFAULT, Protocol};
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::profile;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::scenario::programs::{Program, ProgramSpec};
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// Messages and activities of a run.
struct RunMessages {
    account: Account,
    status: Status,
}

/// Runs the command.
///
/// # Errors
/// If the request, the scenario or the trace is invalid, or a result cannot be written.
pub fn run(args: &LedgerArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let source = ("the scenario or trace", args.source.as_path());
    output::one_file_each(&[source], &[("--svg", args.svg.as_deref())])?;
    let has_extension = |path: &Path| path.extension().is_some_and(|end| end == "toml");
    // What is no file may be the name of a built-in scenario.
    let is_name = !args.source.exists() && args.source.as_os_str() != "-";
    let is_scenario = has_extension(&args.source) || is_name;
    ensure!(
        !(is_scenario && args.profile.is_some()),
        "--profile is for traces: a scenario names the timing profile itself"
    );
    let scenario = is_scenario.then(|| scenario(&args.source, interrupt, args.json));
    let scenario = scenario.transpose()?;
    if let Some(scenario) = &scenario {
        output::apart_from_scenario(scenario, &[("--svg", args.svg.as_deref())])?;
    }
    let svg_file = args.svg.as_deref().map(NewFile::begin).transpose()?;
    let found = match scenario {
        Some(scenario) => of_scenario(&scenario, interrupt)?,
        None => of_trace(&args.source, args.profile.as_deref(), interrupt)?,
    };
    let shown = || args.source.display().to_string();
    let Account { messages, ledgers } = found.account;
    let messages = &messages;
    let (table, document, drawing) = match &args.message {
        Some(name) => {
            let ledger = select::one(name, messages, ledgers).with_context(shown)?;
            (
                text::of_one(&ledger),
                text::one_json(&ledger),
                svg::of_one(&ledger),
            )
        }
        None => {
            let ledgers =
                select::many(args.from, args.to, messages, ledgers).with_context(shown)?;
            let classes = average::classes(&ledgers);
            let drawing = svg::of_many(&classes[0]);
            (text::of_many(&classes), text::many_json(&classes), drawing)
        }
    };
    if args.json {
        output::print_json(&document)?;
    } else {
        output::print(&table)?;
    }
    // An output error must not hide results.
    if let Some(file) = svg_file {
        file.write(drawing.as_bytes())?;
    }
    Ok(found.status)
}

/// The protocol whose messages the boards of this type exchange.
fn protocol(board: &BoardType) -> anyhow::Result<Protocol> {
    match board.protocol() {
        Some(protocol) => Ok(protocol),
        None => bail!("boards of type {} run no message protocol", board.name),
    }
}

fn account(follower: &Follower, profile: &Profile, status: Status) -> anyhow::Result<RunMessages> {
    let account = follower.account(profile)?;
    Ok(RunMessages { account, status })
}

fn of_scenario(scenario: &Scenario, interrupt: &Interrupt) -> anyhow::Result<RunMessages> {
    let mut simulation = Simulation::new(scenario)?;
    warn(&simulation);
    let profile = Arc::clone(&simulation.profiles[0]);
    let found = scenario.nodes.first().and_then(|node| node.protocol);
    let Some(found) = found else {
        bail!("the boards run no message protocol");
    };
    let follower = Follower::new(found, &profile);
    simulation.world.observe(Box::new(follower.clone()));
    let progress = ProgressLine::run("messages", scenario.messages());
    let options = RunOptions {
        interrupt: Some(interrupt.flag()),
        clock: progress.clock(),
        ..RunOptions::default()
    };
    let outcome = simulation.run(&options, |received| progress.set(received));
    drop(progress);
    simulation.world.finish_observing();
    let status = match outcome.end {
        RunEnd::Interrupted => Status::Interrupted,
        _ => Status::Done,
    };
    let found = account(&follower, &profile, status)?;
    let repeats = |spec: &ProgramSpec| matches!(spec.program, Program::Replay { .. });
    ensure!(
        !found.account.ledgers.is_empty() || !scenario.programs.iter().any(repeats),
        "its host programs are recordings, which repeat accesses to the boards and make no calls of the host library: \
         a ledger is of the time from a message's call to its return (let the test record them: `details(Details::HOST | Details::FRAMES)` and `trace_to`)"
    );
    Ok(found)
}

fn of_trace(
    path: &Path,
    profile: Option<&str>,
    interrupt: &Interrupt,
) -> anyhow::Result<RunMessages> {
    let mut status = Status::Done;
    let trace = open(path)?;
    let first = trace.header.nodes.first();
    let board = first.and_then(|node| boards::board_type(&node.board));
    let board = board.unwrap_or(DEFAULT);
    let profile = profile::load(profile.unwrap_or(board.profile))?;
    let mut follower = Follower::new(protocol(board)?, &profile);
    ensure!(
        trace.header.details.iter().any(|detail| detail == "frames"),
        "{}: it has no heads of frames, by which messages are followed: record it with --details host,frames",
        path.display()
    );
    let _progress = ProgressLine::steps("reading the trace", 0);
    for event in trace.into_events() {
        if interrupt.requested() {
            status = Status::Interrupted;
            break;
        }
        match event {
            Ok(event) => follower.event(&event),
            Err(error) => {
                if broken(path, error)? == Ending::Broken {
                    status = Status::Failed;
                }
                break;
            }
        }
    }
    account(&follower, &profile, status)
}
