//! `lanigon exec`: runs an image or raw machine code on one board, without a host.

mod memory;
pub(super) mod report;
mod stop;

use std::path::Path;

use anyhow::{Context, anyhow, bail, ensure};
use emulator::board::{CpuId, ProbeTable};
use emulator::image::{Image, ImageError};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;

use super::Status;
use super::board::{self, BoardChoice};
use crate::cli::exec::ExecArgs;
use crate::{logging, output};
use lanigon_worlds::boards::Parts;
use lanigon_worlds::files::input;
use lanigon_worlds::images::FirmwareError;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::nodes;
use report::ExecReport;

/// Host memory in megabytes, for code that starts a DMA; there is no host program.
const HOST_MEGABYTES: u32 = 1;

/// Limit of instructions per CPU, if none was asked for.
const USUAL_INSTRUCTIONS: u64 = 10_000_000;

/// Runs the command.
///
/// # Errors
/// If the request is invalid, or the result cannot be written.
pub fn run(args: &ExecArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let image = args.image.as_deref();
    let BoardChoice {
        board,
        profile,
        sram_bytes,
    } = board::choose(&args.board, args.profile.as_deref(), image)?;
    let limit = args.max_instructions.unwrap_or(USUAL_INSTRUCTIONS);
    let symbols = args.symbols.as_deref();
    let image = image.map(|path| {
        let image = board::read_image(board, path, symbols, sram_bytes);
        image.map_err(|error| with_remedy(error, path))
    });
    let image = image.transpose()?;
    let probes = match &image {
        Some(image) => nodes::probes(image, &[]),
        None => ProbeTable::loading([]),
    };
    let parts = Parts {
        profile: &profile,
        probes: Some(&probes),
        sram_bytes,
        memory_megabytes: HOST_MEGABYTES,
        original: image.as_ref().is_some_and(nodes::is_original),
    };
    let mut node = board.node(0, &parts)?;
    let cpus = node.inspect().cpus().len();
    ensure!(
        args.cpu.index() < cpus,
        "--cpu: a {} has no second CPU",
        board.title
    );
    for cpu in 0..cpus {
        let board = node.inspect_mut();
        board.hold_after(CpuId::new(cpu), limit);
    }
    for (address, bytes) in image.iter().flat_map(Image::load_parts) {
        node.poke(CpuId::new(0), address, bytes)?;
    }
    load_files(&mut node, args, sram_bytes)?;
    check_dumps(&node, args)?;
    let entry = image.as_ref().map(|image| image.entry);
    let pc = args.pc.or(entry).with_context(|| missing_start(args))?;
    check_start(&node, pc, args)?;

    interrupt.watch();
    logging::show_trace(&mut node.trace);
    node.start_cpu(CpuId::new(args.cpu.index()), pc);
    let max_time = args.max_time.unwrap_or(SimTime::MAX);
    let cause = stop::run(&mut node, limit, max_time, interrupt);
    let ending = stop::Ending::new(&node, cause, limit, image.as_ref());
    let symbols = image.map(|image| image.symbols).unwrap_or_default();
    let report = ExecReport::new(&node, ending, args)?;
    let has_limit = args.max_instructions.is_some() || args.max_time.is_some();
    if args.json {
        output::print_json(&report.json())?;
    } else {
        output::print(&report.text(&symbols))?;
    }
    Ok(report.ending.status(has_limit))
}

/// Error text where the start of raw machine code is missing: it says which option to give.
fn missing_start(args: &ExecArgs) -> String {
    let first = args.load.first();
    let address = first.map_or(0, |load| load.address);
    format!("raw machine code needs the address of its first instruction, as --pc {address:#x}")
}

/// A file that is no image may be raw machine code.
fn with_remedy(error: FirmwareError, path: &Path) -> anyhow::Error {
    let is_no_elf = matches!(
        error,
        FirmwareError::Image {
            error: ImageError::NotElf { .. },
            ..
        }
    );
    let error = anyhow::Error::from(error);
    if !is_no_elf {
        return error;
    }
    let path = path.display();
    anyhow!("{error}; if it is raw machine code: lanigon exec --load 0x4000={path} --pc 0x4000")
}

fn load_files(node: &mut Node, args: &ExecArgs, sram_bytes: u32) -> anyhow::Result<()> {
    for load in &args.load {
        let bytes = read_at_most(&load.file, u64::from(sram_bytes))?;
        let name = || format!("--load {:#x}={}", load.address, load.file.display());
        memory::write(node, CpuId::new(args.cpu.index()), load.address, &bytes)
            .with_context(name)?;
    }
    Ok(())
}

/// Reads at most `most` + 1 bytes of a file.
fn read_at_most(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let bytes = input::read_at_most(path, most).with_context(|| path.display().to_string())?;
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
        memory::read(
            node,
            CpuId::new(args.cpu.index()),
            dump.address,
            dump.length_bytes,
        )
        .with_context(name)?;
    }
    Ok(())
}

fn check_start(node: &Node, pc: u32, args: &ExecArgs) -> anyhow::Result<()> {
    if !pc.is_multiple_of(4) {
        bail!("--pc {pc:#x}: an instruction begins at a multiple of 4");
    }
    let (board, cpu) = (node.inspect(), CpuId::new(args.cpu.index()));
    match board.area(cpu, pc) {
        Some(area) if area.memory => Ok(()),
        _ => bail!(
            "--pc {pc:#x}: no memory to execute ({})",
            board.describe_address(cpu, pc)
        ),
    }
}
