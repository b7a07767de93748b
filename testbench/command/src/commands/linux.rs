//! `lanigon linux`: the console of a Linux host on this terminal.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context, anyhow, ensure};
use emulator::sim::world::RunEnd;
use lanigon_analysis::capture;
use lanigon_analysis::trace::record;
use lanigon_workloads::{Terminal, open_console};
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::simulation::{RunOptions, Simulation};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use super::Status;
use super::run::report::RunReport;
use super::run::{ObserverArgs, Observers, warn};
use crate::cli::linux::LinuxArgs;
use crate::output;

/// Runs the command.
///
/// # Errors
/// If the request or the scenario is invalid, or an output cannot be written.
pub fn run(args: &LinuxArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let pcap = args.pcap.as_deref();
    ensure!(
        !pcap.is_some_and(capture::is_stdout),
        "--pcap: standard output is the guest's"
    );
    let name = args.scenario.display().to_string();
    let mut scenario = lanigon_workloads::load(&args.scenario)?;
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    let written = [
        ("--trace", args.record.trace.as_deref()),
        ("--pcap", pcap),
        ("--timeline", args.timeline.timeline.as_deref()),
    ];
    output::apart_from_scenario(&scenario, &written)?;
    let mut nodes = scenario.nodes.iter();
    let node = nodes.position(|node| node.name == args.node);
    let node = node.with_context(|| format!("--node: {name} has no node {}", args.node))?;
    let terminal: Arc<Mutex<dyn Terminal>> = match io::stdin().is_terminal() {
        true => Arc::new(Mutex::new(Person::new(&args.node)?)),
        false => Arc::new(Mutex::new(Pipe)),
    };
    open_console(&mut scenario, node, terminal).map_err(|error| anyhow!("{name}: {error}"))?;
    let mut simulation = Simulation::new(&scenario)?;
    warn(&simulation);
    let known = record::of_scenario(&name, &scenario, &simulation.images);
    let observed = ObserverArgs {
        record: &args.record,
        timeline: &args.timeline,
        pcap,
    };
    let observers = Observers::begin(&observed, &mut simulation.world, &known)?;
    let options = RunOptions {
        interrupt: Some(interrupt.flag()),
        ..RunOptions::default()
    };
    let outcome = simulation.run(&options, |_| ());
    let report = RunReport {
        file: Path::new(&name),
        scenario: &scenario,
        outcome: &outcome,
    };
    observers.recording.results(report.results());
    let written = observers.finish(&mut simulation.world);
    if !outcome.is_good() {
        output::print_aside(&report.text());
    }
    written?;
    Ok(match outcome.end {
        RunEnd::Interrupted => Status::Interrupted,
        _ if outcome.is_good() => Status::Done,
        _ => Status::Failed,
    })
}

fn show(line: &str) {
    // Standard output may be closed; the guest goes on.
    let _ = output::print(&format!("{line}\n"));
}

/// A person at a terminal.
struct Person {
    editor: DefaultEditor,
    prompt: String,
}

impl Person {
    fn new(node: &str) -> anyhow::Result<Self> {
        Ok(Self {
            editor: DefaultEditor::new().context("the terminal")?,
            prompt: format!("node {node} # "),
        })
    }
}

impl Terminal for Person {
    fn show(&mut self, line: &str) {
        show(line);
    }

    fn ask(&mut self) -> Option<String> {
        match self.editor.readline(&self.prompt) {
            Ok(line) => {
                // A history that is full or off is no reason to stop.
                let _ = self.editor.add_history_entry(line.trim());
                Some(line)
            }
            // As in a shell, Ctrl-C gives up a line.
            Err(ReadlineError::Interrupted) => Some(String::new()),
            Err(_) => None,
        }
    }
}

/// Lines from a pipe or a file.
struct Pipe;

impl Terminal for Pipe {
    fn show(&mut self, line: &str) {
        show(line);
    }

    fn ask(&mut self) -> Option<String> {
        let line = io::stdin().lock().lines().next()?.ok()?;
        show(&format!("# {line}"));
        Some(line)
    }
}
