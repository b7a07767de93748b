//! `lanigon gdb`: a gdb server for a scenario.

use std::path::PathBuf;

use anyhow::{Context, bail};

use super::{Status, debug};
use crate::cli::GdbArgs;
use crate::output;
use lanigon_debugger::debug::Session;
use lanigon_debugger::gdb::server::{self, Listener};
use lanigon_debugger::gdb::target::Cpus;
use lanigon_worlds::files::output as output_file;
use lanigon_worlds::files::own::DataLocation;
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
    let image = session.symbols_file(node);
    let image = image.map(|image| file_of(image, &session, node));
    let image = image.transpose()?;
    // An ELF file tells gdb the byte order.
    let (order, file) = match &image {
        Some(image) => ("", format!(" {}", image.display())),
        None => ("-ex 'set endian big' ", String::new()),
    };
    output::print(&format!(
        "{}; in another terminal type:\n  gdb-multiarch {order}-ex 'target remote {}'{file}\n",
        described(&session, node),
        listener.name(),
    ))?;
    let mut cpus = Cpus::new(session, node, image);
    server::serve(&listener, &mut cpus, interrupt)?;
    Ok(match interrupt.requested() {
        true => Status::Interrupted,
        false => Status::Done,
    })
}

/// The file of an image for gdb. One that is in this program is written into a folder for temporary files, by its identity.
fn file_of(image: DataLocation, session: &Session, node: usize) -> anyhow::Result<PathBuf> {
    let bytes = match image {
        // The file was read before.
        DataLocation::File(path) => return Ok(path.canonicalize().unwrap_or(path)),
        DataLocation::Embedded(bytes) => bytes,
    };
    let image = session.symbols_name(node);
    let identity = crc32fast::hash(bytes);
    let folder = std::env::temp_dir().join(format!("lanigon-{identity:08x}"));
    let path = folder.join(image);
    std::fs::create_dir_all(&folder)
        .and_then(|()| output_file::write(&path, bytes))
        .with_context(|| path.display().to_string())?;
    Ok(path)
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
            "there is no node {wanted}: the last one is {}",
            nodes.len().saturating_sub(1)
        );
    };
    Ok(node)
}
