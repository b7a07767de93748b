//! Options of `lanigon exec`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use emulator::sim::time::SimTime;

use super::{BoardArgs, CpuArg, microseconds, number};

/// Largest value of `--max-instructions`: hours of simulated time, without overflow of any clock.
const MOST_INSTRUCTIONS: u64 = 1_000_000_000_000;
/// Options of `exec`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("program").args(["image", "load"]).required(true).multiple(true))]
#[command(after_help = "\
A run ends when each CPU that runs has stopped (the end of the program, a fault, halted) or has
executed --max-instructions. A CPU that was not started stays halted.

A program ends by `stop` of its hardware abstraction, machine code of --load by any
`break`. Exit code 1: a panic, a fault, another `break` of an image, or a CPU that is busy after 10 million
instructions if no limit was asked for.

Examples:
  lanigon exec --load 0x4000=prog.bin --pc 0x4000 --dump 0x70000:16 --json
  lanigon exec --cpu b --load 0xc00000=hot.bin --pc 0xc00000
  lanigon exec -v hello
  lanigon exec --board lanai9.2-200 --load 0=prog.bin --pc 0")]
pub struct ExecArgs {
    /// Image to load and start: ELF, or the Linux format of AceNIC firmware
    pub image: Option<PathBuf>,
    /// ELF file with symbols, lines and probes of the image's code
    #[arg(long, value_name = "FILE", requires = "image")]
    pub symbols: Option<PathBuf>,
    /// Load a raw binary into SRAM or into the scratchpad of --cpu (repeatable)
    #[arg(long, value_name = "ADDR=FILE", value_parser = load)]
    pub load: Vec<Load>,
    /// Start address
    #[arg(long, value_name = "ADDR", value_parser = number)]
    pub pc: Option<u32>,
    /// The CPU to start, a or b
    #[arg(long, value_enum, default_value_t = CpuArg::A, hide_possible_values = true)]
    pub cpu: CpuArg,
    /// Limit of instructions per CPU: a CPU may still run there [default: 10000000, an error if one does]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MOST_INSTRUCTIONS))]
    pub max_instructions: Option<u64>,
    /// Limit of simulated microseconds: a CPU may still run there
    #[arg(long, value_name = "US", value_parser = microseconds)]
    pub max_time: Option<SimTime>,
    /// The board.
    #[command(flatten)]
    pub board: BoardArgs,
    /// Timing profile (see `lanigon list`; default: that of the board)
    #[arg(long, value_name = "NAME|FILE")]
    pub profile: Option<String>,
    /// Show memory at the end, as seen by --cpu (repeatable)
    #[arg(long, value_name = "ADDR:LEN", value_parser = dump)]
    pub dump: Vec<Dump>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `--load ADDR=FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Address.
    pub address: u32,
    /// File.
    pub file: PathBuf,
}

/// `--dump ADDR:LEN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dump {
    /// The address as given, used as the name of the dump.
    pub name: String,
    /// Address.
    pub address: u32,
    /// Length.
    pub length_bytes: u32,
}

fn load(text: &str) -> Result<Load, String> {
    let (address, file) = text.split_once('=').ok_or("expected ADDR=FILE")?;
    if file.is_empty() {
        return Err("expected ADDR=FILE".into());
    }
    Ok(Load {
        address: number(address)?,
        file: file.into(),
    })
}

fn dump(text: &str) -> Result<Dump, String> {
    let (address, length) = text.split_once(':').ok_or("expected ADDR:LEN")?;
    Ok(Dump {
        name: address.into(),
        address: number(address)?,
        length_bytes: number(length)?,
    })
}
