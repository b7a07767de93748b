//! `lanigon gdb`: a scenario under gdb.

use std::path::PathBuf;

use anyhow::{Context, bail};

use super::Status;
use crate::cli::GdbArgs;
use crate::cluster::image_folder;
use crate::debug::Session;
use crate::gdb::server::{self, Listener};
use crate::gdb::target::Cpus;
use crate::interrupt::Interrupt;
use crate::logging;
use crate::output;
use crate::scenario::Scenario;

/// Runs the command.
///
/// # Errors
/// If the request or the scenario is wrong; if the world cannot go on.
pub fn run(args: &GdbArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let name = args.scenario.display().to_string();
    let text = std::fs::read_to_string(&args.scenario).with_context(|| name.clone())?;
    let scenario = Scenario::load(&args.scenario)?;
    logging::without_guests();
    let listener = match &args.socket {
        Some(path) => Listener::unix(path)?,
        None => Listener::tcp(args.port)?,
    };
    // What gdb interrupts is a run; what the user interrupts is the server.
    let session = Session::new(&name, &text, &scenario, &Interrupt::default())?;
    let node = node(&session, &args.node)?;
    let image = image(&scenario);
    output::print(&format!(
        "{}; in another terminal type:\n  gdb-multiarch -ex 'target remote {}' {}\n",
        described(&session, node),
        listener.name(),
        image.display(),
    ))?;
    let mut cpus = Cpus::new(session, node, image);
    server::serve(&listener, &mut cpus, interrupt)?;
    Ok(match interrupt.requested() {
        true => Status::Interrupted,
        false => Status::Done,
    })
}

fn described(session: &Session, node: usize) -> String {
    format!("{}, node {}", session.header.run, session.node_name(node))
}

/// The node with this name or number.
fn node(session: &Session, wanted: &str) -> anyhow::Result<usize> {
    let nodes = &session.header.nodes;
    let named = nodes.iter().position(|node| node.name == wanted);
    let numbered = || {
        let number = wanted.parse().ok();
        number.filter(|&number: &usize| number < nodes.len())
    };
    let Some(node) = named.or_else(numbered) else {
        bail!(
            "there is no node {wanted}: there are {}, numbered from 0",
            nodes.len()
        );
    };
    Ok(node)
}

/// The file of what the boards run.
fn image(scenario: &Scenario) -> PathBuf {
    let path = scenario
        .image_file()
        .unwrap_or_else(|| image_folder().join(&scenario.image));
    // It was read a moment ago.
    std::fs::canonicalize(&path).unwrap_or(path)
}
