//! Debug sessions: language, stops, displays, and absence of side effects.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod command;
mod harmless;
mod raised;
mod saved;
mod show;
mod stops;

use emulator::sim::time::SimTime;
use lanigon_debugger::debug::Session;
use lanigon_debugger::debug::command::execute;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::Simulation;

/// Two nodes with ping-pong, both CPUs of each in use.
const PAIR: &str = "image = \"emp-so\"\n[network]\ntopology = \"pair\"
    [[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 8\nbytes = [10, 5000]\n";

/// A late time before the end.
const END: SimTime = SimTime::from_us(20_700);

fn scenario(text: &str) -> Scenario {
    Scenario::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn simulation(text: &str) -> Simulation {
    Simulation::new(&scenario(text)).unwrap_or_else(|error| panic!("{error}"))
}

fn session(text: &str) -> Session {
    let interrupt = Interrupt::default();
    Session::new("test.toml", text, &scenario(text), &interrupt).unwrap()
}

/// Output of a command.
#[track_caller]
fn shows(session: &mut Session, line: &str) -> String {
    let mut out = String::new();
    match execute(session, line, &mut out) {
        Ok(_) => out,
        Err(error) => panic!("{line}: {error:#}"),
    }
}

/// Commands of a text, with their output.
#[track_caller]
fn transcript(session: &mut Session, lines: &str) -> String {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut all = String::new();
    for line in lines {
        all += &format!("> {line}\n{}", shows(session, line));
    }
    all
}
