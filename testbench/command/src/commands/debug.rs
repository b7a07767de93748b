//! `lanigon debug`: the debugger.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};

use super::Status;
use crate::cli::{DebugArgs, DebugWhat};
use crate::logging;
use lanigon_debugger::busy::BusyLine;
use lanigon_debugger::debug::Session;
use lanigon_debugger::debug::console::{ConsoleEnd, DebugConsole};
use lanigon_processes::Output;
use lanigon_worlds::files::input::Input;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::simulation::snapshot;

/// Runs the command.
///
/// # Errors
/// If the scenario is invalid, or a command of a script fails.
pub fn run(args: &DebugArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let script = args.script.as_ref().map(|file| {
        let name = file.display().to_string();
        let text = Input::Script
            .read_text(file)
            .with_context(|| name.clone())?;
        anyhow::Ok((name, text))
    });
    let script = script.transpose()?;
    let mut console = DebugConsole::new(session(&args.what, interrupt)?);
    if script.is_none() && args.execute.is_empty() {
        return Ok(status(console.standard_input()?));
    }
    if let Some((name, text)) = script {
        let end = console.script(&name, &text)?;
        if end != ConsoleEnd::Done {
            return Ok(status(end));
        }
    }
    let end = console.script("--execute", &args.execute.join("\n"))?;
    Ok(status(end))
}

const fn status(end: ConsoleEnd) -> Status {
    match end {
        ConsoleEnd::Done => Status::Done,
        ConsoleEnd::Failed => Status::Failed,
        ConsoleEnd::Interrupted => Status::Interrupted,
    }
}

/// Starts a session. Guest mistakes are events in the session, and not logged repeatedly.
///
/// # Errors
/// If the scenario or the snapshot is invalid.
pub(super) fn session(what: &DebugWhat, interrupt: &Interrupt) -> anyhow::Result<Session> {
    logging::without_guests();
    let _busy = BusyLine::loading();
    if let Some(path) = &what.from {
        let name = path.display().to_string();
        let file = snapshot::read(path).with_context(|| name.clone())?;
        let folder = path.parent().unwrap_or(Path::new(""));
        return Session::from_snapshot(lanigon_workloads::ALL, file, folder, interrupt)
            .context(name);
    }
    let Some(path) = &what.scenario else {
        bail!("neither a scenario nor a snapshot is named");
    };
    let name = path.display().to_string();
    let (mut scenario, text) = lanigon_workloads::ALL.load_with_text(path)?;
    if let Some(seed) = what.seed {
        scenario.seed = seed;
    }
    // An interrupt pauses the world; its processes wait meanwhile.
    lanigon_processes::prepare(&mut scenario, Arc::default, Output::Standard)?;
    Session::new(&name, &text, &scenario, interrupt)
}
