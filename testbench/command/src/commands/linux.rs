//! `lanigon linux`: the console of a Linux host on this terminal.

use std::io::{self, BufRead, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, anyhow};
use lanigon_workloads::{Terminal, open_console};
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::simulation::RunOptions;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use super::Status;
use super::run::{Observed, status};
use crate::cli::linux::LinuxArgs;
use crate::output;

/// Runs the command.
///
/// # Errors
/// If the request or the scenario is invalid, or an output cannot be written.
pub fn run(args: &LinuxArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let name = args.scenario.display().to_string();
    let mut scenario = lanigon_workloads::load(&args.scenario)?;
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    let mut nodes = scenario.nodes.iter();
    let node = nodes.position(|node| node.name == args.node);
    let node = node.with_context(|| format!("--node: {name} has no node {}", args.node))?;
    let wishes = Wishes::of(interrupt);
    let terminal: Arc<Mutex<dyn Terminal>> = match io::stdin().is_terminal() {
        true => Arc::new(Mutex::new(Person::new(&args.node, wishes.clone())?)),
        false => Arc::new(Mutex::new(Pipe(wishes.clone()))),
    };
    open_console(&mut scenario, node, terminal).map_err(|error| anyhow!("{name}: {error}"))?;
    let mut observed = Observed::begin(&args.observe, &name, &scenario)?;
    let options = RunOptions {
        interrupt: Some(Arc::clone(&wishes.end)),
        ..RunOptions::default()
    };
    let outcome = observed.run(&options);
    let (report, written) = observed.finish(&outcome);
    if !outcome.is_good() {
        output::print_aside(&report);
    }
    written?;
    Ok(status(&outcome))
}

fn show(line: &str) {
    // Standard output may be closed; the guest goes on.
    let _ = output::print(&format!("{line}\n"));
}

/// Meaning of Ctrl-C: the first ends the guest's command, another one before that has ended the run.
#[derive(Clone)]
struct Wishes {
    interrupt: Interrupt,
    /// The command is to end.
    breaks: bool,
    end: Arc<AtomicBool>,
}

impl Wishes {
    fn of(interrupt: &Interrupt) -> Self {
        Self {
            interrupt: interrupt.clone(),
            breaks: false,
            end: Arc::default(),
        }
    }

    /// Whether the command is to end from now on.
    fn breaks(&mut self) -> bool {
        if !self.interrupt.requested() {
            return false;
        }
        self.interrupt.clear();
        let again = std::mem::replace(&mut self.breaks, true);
        self.end.fetch_or(again, Ordering::Relaxed);
        !again
    }
}

/// A person at a terminal.
struct Person {
    editor: DefaultEditor,
    prompt: String,
    wishes: Wishes,
}

impl Person {
    fn new(node: &str, wishes: Wishes) -> anyhow::Result<Self> {
        Ok(Self {
            editor: DefaultEditor::new().context("the terminal")?,
            prompt: format!("node {node} # "),
            wishes,
        })
    }
}

impl Terminal for Person {
    fn show(&mut self, line: &str) {
        show(line);
    }

    fn breaks(&mut self) -> bool {
        self.wishes.breaks()
    }

    fn ask(&mut self) -> Option<String> {
        self.wishes.breaks = false;
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
struct Pipe(Wishes);

impl Terminal for Pipe {
    fn show(&mut self, line: &str) {
        show(line);
    }

    fn breaks(&mut self) -> bool {
        self.0.breaks()
    }

    fn ask(&mut self) -> Option<String> {
        self.0.breaks = false;
        let line = io::stdin().lock().lines().next()?.ok()?;
        show(&format!("# {line}"));
        Some(line)
    }
}
