//! `lanigon debug`: a scenario that stops anywhere.

use anyhow::Context;

use super::Status;
use crate::cli::DebugArgs;
use crate::debug::Session;
use crate::debug::console::Console;
use crate::interrupt::Interrupt;
use crate::logging;
use crate::scenario::Scenario;

/// Runs the command.
///
/// # Errors
/// If the scenario is wrong, or a command of a script cannot be carried out.
pub fn run(args: &DebugArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let name = args.scenario.display().to_string();
    let text = std::fs::read_to_string(&args.scenario).with_context(|| name.clone())?;
    let mut scenario = Scenario::load(&args.scenario)?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    let script = args.script.as_ref().map(|file| {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).with_context(|| name.clone())?;
        anyhow::Ok((name, text))
    });
    let script = script.transpose()?;
    logging::without_guests();
    let mut console = Console::new(Session::new(&name, &text, &scenario, interrupt)?);
    if script.is_none() && args.execute.is_empty() {
        return console.standard_input();
    }
    if let Some((name, text)) = script {
        let status = console.script(&name, &text)?;
        if status != Status::Done {
            return Ok(status);
        }
    }
    console.script("--execute", &args.execute.join("\n"))
}
