//! `lanigon gdb`: a gdb server for a scenario.

use anyhow::bail;

use super::{Status, debug};
use crate::cli::GdbArgs;
use crate::output;
use lanigon_debugger::debug::Session;
use lanigon_debugger::gdb::server::{self, Listener};
use lanigon_debugger::gdb::target::Cpus;
use lanigon_worlds::interrupt::Interrupt;

/// Runs the command.
///
/// # Errors
/// If the request or the scenario is invalid, or the world cannot continue.
pub fn run(args: &GdbArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let listener = match &args.socket {
        Some(path) => Listener::unix(path)?,
        None => Listener::tcp(args.port)?,
    };
    // gdb's interrupt ends a run; the user's interrupt ends the server.
    let session = debug::session(&args.what, &Interrupt::default())?;
    let node = node(&session, &args.node)?;
    check_processor(&session, node)?;
    let image = session.image_file(node);
    // The file was read before.
    let image = std::fs::canonicalize(&image).unwrap_or(image);
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

/// The number of MIPS in ELF files. gdb knows no LANai.
const MIPS: u16 = 8;

fn check_processor(session: &Session, node: usize) -> anyhow::Result<()> {
    let board = session.history.world().nodes[node].inspect();
    match board
        .cpus()
        .iter()
        .find(|cpu| cpu.architecture.elf_machine() != MIPS)
    {
        None => Ok(()),
        Some(cpu) => bail!(
            "gdb does not know the code of node {} ({}): use `lanigon debug`",
            session.node_name(node),
            cpu.architecture.name()
        ),
    }
}

fn described(session: &Session, node: usize) -> String {
    format!("{}, node {}", session.header.run, session.node_name(node))
}

/// Finds a node by name or number.
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
