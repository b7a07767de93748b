//! `lanigon exec`: runs an image or raw MIPS code on one board, without a host.

mod memory;
pub(super) mod report;
mod stop;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use emulator::image::Image;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::inspect::probes::ProbeTable;
use emulator::tigon2::map::{self, Place};

use super::Status;
use crate::cli::ExecArgs;
use crate::{logging, output};
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::{images, profile};
use report::Report;
use stop::Stop;

/// Host memory in megabytes, for code that starts a DMA; there is no host program.
const HOST_MEGABYTES: u32 = 1;

/// Runs the command.
///
/// # Errors
/// If the request is invalid, or the result cannot be written.
pub fn run(args: &ExecArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let timing = profile::load(&args.profile)?.timing;
    let mut node = Node::new(
        0,
        Tigon2::new(args.sram, timing),
        &timing.host,
        HOST_MEGABYTES,
    );
    node.board_mut::<Tigon2>().instruction_limit = args.max_instructions;
    let image = match &args.image {
        Some(path) => Some(load_image(&mut node, path, args)?),
        None => None,
    };
    load_files(node.board_mut::<Tigon2>(), args)?;
    check_dumps(&node, args)?;
    let entry = image.as_ref().map(|image| image.entry);
    let pc = args.pc.or(entry).context("--pc is missing")?;
    check_start(node.board::<Tigon2>(), pc, args)?;

    logging::show_trace(&mut node.trace);
    node.with_board::<Tigon2, _>(|board, ctx| board.start_core(args.cpu.index(), pc, ctx));
    let max_time = args.max_time.unwrap_or(SimTime::MAX);
    let cause = stop::run(&mut node, max_time, interrupt);
    let symbols = image.map(|image| image.symbols).unwrap_or_default();
    let ending = stop::Ending::new(node.board::<Tigon2>(), cause, &symbols);
    let report = Report::new(&node, ending, args)?;
    if args.json {
        output::print_json(&report.json())?;
    } else {
        output::print(&report.text(&symbols))?;
    }
    Ok(match report.ending.stop {
        Stop::Break | Stop::Limit => Status::Done,
        Stop::Fault => Status::Failed,
        Stop::Interrupted => Status::Interrupted,
    })
}

fn load_image(node: &mut Node, path: &Path, args: &ExecArgs) -> anyhow::Result<Image> {
    let image = images::read_image(path, args.sram)?;
    for (address, bytes) in image.load_parts() {
        node.board_mut::<Tigon2>()
            .fabric
            .sram
            .copy_in(address, bytes);
    }
    node.board_mut::<Tigon2>().probes = ProbeTable::new(image.probes.clone());
    Ok(image)
}

fn load_files(board: &mut Tigon2, args: &ExecArgs) -> anyhow::Result<()> {
    for load in &args.load {
        let bytes = read_at_most(&load.file, board.fabric.sram.size_bytes() as u64)?;
        let name = || format!("--load {:#x}={}", load.address, load.file.display());
        memory::write(board, args.cpu, load.address, &bytes).with_context(name)?;
    }
    Ok(())
}

/// Reads at most `most` + 1 bytes of a file.
fn read_at_most(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    let bytes = read().with_context(|| path.display().to_string())?;
    ensure!(!bytes.is_empty(), "{}: the file is empty", path.display());
    Ok(bytes)
}

/// Refuses an invalid dump before the run.
fn check_dumps(node: &Node, args: &ExecArgs) -> anyhow::Result<()> {
    for (index, dump) in args.dump.iter().enumerate() {
        let name = || format!("--dump {}:{}", dump.name, dump.length_bytes);
        ensure!(
            args.dump[..index]
                .iter()
                .all(|other| other.name != dump.name),
            "{}: two dumps have the name {}",
            name(),
            dump.name
        );
        memory::read(node, args.cpu, dump.address, dump.length_bytes).with_context(name)?;
    }
    Ok(())
}

fn check_start(board: &Tigon2, pc: u32, args: &ExecArgs) -> anyhow::Result<()> {
    let who = board.cores[args.cpu.index()].private.who;
    if !pc.is_multiple_of(4) {
        bail!("--pc {pc:#x}: an instruction begins at a multiple of 4");
    }
    match map::place(who, pc) {
        Place::Sram | Place::Scratchpad => Ok(()),
        _ => bail!(
            "--pc {pc:#x}: no memory to execute ({})",
            map::probe(who, pc)
        ),
    }
}
