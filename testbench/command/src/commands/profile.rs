//! `lanigon profile`: where CPU time is spent.

use anyhow::{bail, ensure};
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;

use super::Status;
use super::run::{scenario, warn};
use crate::cli::profile::ProfileArgs;
use crate::output::{self, NewFile};
use crate::progress::ProgressLine;
use lanigon_analysis::profiler::{Cores, Profiler, flame, report};
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::nodes::START;
use lanigon_worlds::races::RaceReport;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// Runs the command.
///
/// # Errors
/// If the request or the scenario is invalid, or a result cannot be written.
pub fn run(args: &ProfileArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let source = ("the scenario", args.scenario.as_path());
    let written = [
        ("--flame", args.flame.as_deref()),
        ("--folded", args.folded.as_deref()),
    ];
    output::one_file_each(&[source], &written)?;
    let from = args.from.map_or(START, |time| time.resolve(START));
    let until = args.until.map_or(SimTime::MAX, |time| time.resolve(START));
    ensure!(from < until, "--from {from} is not before --until {until}");
    let scenario = scenario(&args.scenario, interrupt, args.json)?;
    output::apart_from_scenario(&scenario, &written)?;
    let flame_file = args.flame.as_deref().map(NewFile::begin).transpose()?;
    let folded_file = args.folded.as_deref().map(NewFile::begin).transpose()?;
    let node = args.node.as_deref().map(|name| find(&scenario, name));
    let node = node.transpose()?;
    let mut simulation = Simulation::new(&scenario)?;
    if args.races {
        simulation.look_for_races()?;
    }
    warn(&simulation);
    let profiler = Profiler::new(&simulation.images, from, until);
    simulation.world.observe(profiler.observer());
    let progress = ProgressLine::run("messages", scenario.messages());
    let options = RunOptions {
        max_time: args.until.map(|_| until.saturating_sub(START)),
        interrupt: Some(interrupt.flag()),
        clock: progress.clock(),
        ..RunOptions::default()
    };
    let outcome = simulation.run(&options, |received| progress.set(received));
    drop(progress);
    simulation.world.finish_observing();
    let mut cores = profiler.finish();
    cores.retain(|&(number, _), core| node.is_none_or(|node| number == node) && core.span() > 0);
    if cores.is_empty() && outcome.end == RunEnd::Interrupted {
        output::print_aside("interrupted: nothing was profiled yet\n");
        return Ok(Status::Interrupted);
    }
    ensure!(
        !cores.is_empty(),
        "nothing ran from {from} on: the run was over at {}",
        simulation.world.now()
    );
    show(args, &cores, outcome.races.as_ref())?;
    for problem in outcome.problems.iter().chain(&outcome.failures) {
        output::print_aside(&format!("PROBLEM   {problem}\n"));
    }
    // An output error must not hide results.
    if let Some(file) = flame_file {
        let title = args.scenario.display().to_string();
        file.write(flame::svg(&cores, &title).as_bytes())?;
    }
    if let Some(file) = folded_file {
        file.write(flame::folded(&cores).as_bytes())?;
    }
    let has_races = outcome
        .races
        .as_ref()
        .is_some_and(|races| !races.is_empty());
    Ok(match outcome.end {
        RunEnd::Interrupted => Status::Interrupted,
        // The requested time was reached.
        RunEnd::TimeLimit(_) if args.until.is_some() && !has_races => Status::Done,
        _ if outcome.is_good() => Status::Done,
        _ => Status::Failed,
    })
}

/// Shows where time was spent, and races if they were looked for.
fn show(args: &ProfileArgs, cores: &Cores, races: Option<&RaceReport>) -> anyhow::Result<()> {
    match args.json {
        true => output::print_json(&report::json(cores))?,
        false => output::print(&report::text(cores, args.all))?,
    }
    match (races, args.json) {
        (Some(races), true) => output::print_aside(&races.text()),
        (Some(races), false) => output::print(&races.text_or_none())?,
        (None, _) => {}
    }
    Ok(())
}

/// Finds a node by name or number.
fn find(scenario: &Scenario, name: &str) -> anyhow::Result<u16> {
    let named = scenario.nodes.iter().position(|node| node.name == name);
    let number = named.or_else(|| name.parse().ok());
    match number.filter(|&number| number < scenario.nodes.len()) {
        Some(number) => Ok(number as u16),
        None => {
            let names: Vec<_> = scenario
                .nodes
                .iter()
                .map(|node| node.name.as_str())
                .collect();
            bail!(
                "there is no node \"{name}\" (there are: {})",
                names.join(", ")
            )
        }
    }
}
