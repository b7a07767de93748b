//! Options of `lanigon myrinet`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use emulator::lanai::sram::is_size;
use emulator::sim::time::SimTime;
use lanigon_worlds::boards::KB;
use lanigon_worlds::myrinet::program::Format;
use lanigon_worlds::myrinet::{self, HostKind, WayBack};

use super::microseconds;
use super::trace::RecordArgs;

/// Limit of simulated time, in microseconds.
const USUAL_MAX_TIME: &str = "120000000";

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Contents of memory from address 0 on
    Raw,
    /// COFF
    Coff,
}

/// Host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HostArg {
    /// Mailbox at a fixed address
    Mailbox,
    /// Shared structure whose address the program publishes
    Mcpshmem,
}

/// Way of packets back to the adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LoopArg {
    /// A cable from the port to itself
    Cable,
    /// A switch at which packets turn back
    Switch,
    /// Nothing is plugged in
    None,
}

/// Options of `myrinet`.
#[derive(Debug, Args)]
#[command(after_help = "\
The program is loaded and started as its driver does it, on the chip's own pipeline; host and program go through their
handshake, and data must come back unchanged. A raw image is played the host with a mailbox (the program of 1996 that
Linux loads into SBus adapters), COFF the host with a shared structure (Cplant). Each milestone is a line with its
time; if one is missing, the last writes of special registers and the CPU's loop follow. docs/control-programs.md
describes all of it.

Examples:
  lanigon myrinet --firmware lanai.bin --board lanai4.3-33
  lanigon myrinet --firmware rtsmcp.7 --board lanai7.2-66 --json
  lanigon myrinet --firmware image.raw --skip 0 --board lanai4.3-33 --loop none --max-time 100000")]
pub struct MyrinetArgs {
    /// Control program
    #[arg(long, value_name = "FILE")]
    pub firmware: PathBuf,
    /// Board
    #[arg(long, value_name = "NAME", value_parser = board)]
    #[arg(help = format!("Board: {}", myrinet::boards().collect::<Vec<_>>().join(", ")))]
    pub board: String,
    /// Format of the file: raw or coff (default: the file tells)
    #[arg(long, value_enum, hide_possible_values = true)]
    pub format: Option<FormatArg>,
    /// Bytes of a raw file in front of the image (default: the file tells)
    #[arg(long, value_name = "BYTES")]
    pub skip: Option<usize>,
    /// Host: mailbox or mcpshmem (default: by format)
    #[arg(long, value_enum, hide_possible_values = true)]
    pub host: Option<HostArg>,
    /// Way of packets back: cable, switch or none (default: cable for mailbox and switch for mcpshmem, then the other one)
    #[arg(
        long = "loop",
        value_name = "WAY",
        value_enum,
        hide_possible_values = true
    )]
    pub way_back: Option<LoopArg>,
    /// Local memory, a power of two from 256 to 8192 (default: 256 for mailbox, 1024 for mcpshmem)
    #[arg(long = "sram", value_name = "KB", value_parser = sram)]
    pub sram_bytes: Option<u32>,
    /// Options of the trace.
    #[command(flatten)]
    pub record: RecordArgs,
    /// End the run after this many simulated microseconds
    #[arg(long, visible_alias = "time", value_name = "US", default_value = USUAL_MAX_TIME, value_parser = microseconds)]
    pub max_time: SimTime,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Raw => Self::Raw,
            FormatArg::Coff => Self::Coff,
        }
    }
}

impl From<HostArg> for HostKind {
    fn from(host: HostArg) -> Self {
        match host {
            HostArg::Mailbox => Self::Mailbox,
            HostArg::Mcpshmem => Self::Mcpshmem,
        }
    }
}

impl From<LoopArg> for WayBack {
    fn from(way: LoopArg) -> Self {
        match way {
            LoopArg::Cable => Self::Cable,
            LoopArg::Switch => Self::Switch,
            LoopArg::None => Self::None,
        }
    }
}

fn board(text: &str) -> Result<String, String> {
    let names: Vec<_> = myrinet::boards().collect();
    match names.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("there are: {}", names.join(", "))),
    }
}

fn sram(text: &str) -> Result<u32, String> {
    let kilobytes: u32 = text.parse().unwrap_or_default();
    let bytes = kilobytes.saturating_mul(KB);
    is_size(bytes)
        .then_some(bytes)
        .ok_or_else(|| "it is a power of two from 256 to 8192".to_owned())
}
