//! The options of the `lanigon` command.

pub mod exec;
pub mod launch;
pub mod ledger;
pub mod linux;
pub mod myrinet;
pub mod observe;
pub mod plan;
pub mod profile;
pub mod run;
pub mod sweep;
pub mod timeline;
pub mod trace;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use emulator::sim::time::SimTime;

use lanigon_experiments::paper::Paper;
use lanigon_papers::PAPERS;
use lanigon_worlds::boards::{DEFAULT, KB};
use lanigon_worlds::files::own;

use exec::ExecArgs;
use launch::LaunchArgs;
use ledger::LedgerArgs;
use linux::LinuxArgs;
use myrinet::MyrinetArgs;
use profile::ProfileArgs;
use run::RunArgs;
use sweep::SweepArgs;
use timeline::ConvertArgs;
use trace::{RecordArgs, TraceArgs};

/// Run NIC firmware on emulated programmable NICs.
#[derive(Debug, Parser)]
#[command(name = "lanigon", version, after_help = EXIT_CODES)]
pub struct Cli {
    /// Show the trace on standard error (-vv: more; RUST_LOG=warn,dma_read=info: one block)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// Take images, scenarios, sweeps and profiles from this folder; what it lacks comes from the program (see `lanigon unpack`)
    #[arg(long, global = true, value_name = "DIR", env = "LANIGON_DATA")]
    pub data: Option<PathBuf>,
    /// Commands.
    #[command(subcommand)]
    pub command: Command,
}

/// Text that the command without arguments shows.
pub const START: &str = "\
Lanigon runs the firmware of programmable network adapters on emulated boards, in simulated time.

Three commands to try:
  lanigon run pair               two nodes exchange messages over EMP: latency, load of the CPUs, trace hash
  lanigon debug star-with-loss   stop at any time, look inside, step, and go back
  lanigon new my-nic             a project of your own: firmware and its tests

`lanigon list` shows what there is to run, `lanigon --help` all commands, `lanigon doctor` what this machine has.
";

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 a check failed or the guest faulted, 2 wrong request, 130 interrupted.
`lanigon COMMAND --help` shows examples.";

/// Commands of `lanigon`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Reproduce the published results of a paper
    Reproduce(ReproduceArgs),
    /// Run a scenario: nodes, a network, host programs, faults
    Run(RunArgs),
    /// Launch MPI or socket programs of this machine on emulated hosts
    Launch(LaunchArgs),
    /// Open the console of a Linux host on this terminal
    Linux(LinuxArgs),
    /// Run a scenario with many values: on all cores, resumable, with tables and plots
    Sweep(SweepArgs),
    /// Plan an operation and predict its times
    #[command(subcommand)]
    Plan(plan::Plan),
    /// Debug a scenario: stop at any time, look, step, and go back
    Debug(DebugArgs),
    /// Debug a node of a scenario with gdb
    Gdb(GdbArgs),
    /// Analyse a recorded trace
    Trace(TraceArgs),
    /// Show where the time of messages is spent
    Ledger(LedgerArgs),
    /// Draw a recorded trace as a timeline for ui.perfetto.dev
    Timeline(ConvertArgs),
    /// Run an image or raw machine code on a board without a host
    Exec(ExecArgs),
    /// Run Ethernet adapter firmware on two directly connected boards
    Acenic(AcenicArgs),
    /// Run a control program for a Myrinet adapter with the host that it expects
    Myrinet(MyrinetArgs),
    /// Show the contents of a firmware image, and check it
    Image(ImageArgs),
    /// Print the Wireshark dissector for EMP frames, and for Myrinet packets with GM or FM
    #[command(after_help = "\
Examples:
  lanigon dissector > emp.lua
  tshark -X lua_script:emp.lua -r run.pcapng")]
    Dissector,
    /// List experiments, images, profiles, scenarios and sweeps
    List(ListArgs),
    /// Show which optional tools are on this machine, and how to get the others
    Doctor(DoctorArgs),
    /// Write the built-in images, scenarios, sweeps and profiles into a folder, to change them
    #[command(after_help = "\
Examples:
  lanigon unpack my-data
  lanigon --data my-data run pair
  LANIGON_DATA=my-data lanigon list")]
    Unpack(UnpackArgs),
    /// Create a project: your own firmware with tests
    New(NewArgs),
    /// Show where CPU time is spent: functions, waits, callers
    Profile(ProfileArgs),
    /// Measure the speed of the emulator on this machine
    Bench(BenchArgs),
    /// Print completions for a shell
    #[command(after_help = "\
Examples:
  lanigon completions bash > ~/.local/share/bash-completion/completions/lanigon
  lanigon completions fish > ~/.config/fish/completions/lanigon.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the JSON schema of scenarios, for editors
    #[command(after_help = "\
Examples:
  lanigon schema > scenario.schema.json
  lanigon schema --reference | less")]
    Schema {
        /// Print the reference of all keys as Markdown instead
        #[arg(long)]
        reference: bool,
    },
    /// Write manual pages into a folder
    #[command(after_help = "\
Examples:
  lanigon man ~/.local/share/man/man1
  man lanigon-run")]
    Man {
        /// The folder
        folder: PathBuf,
    },
}

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Options of `unpack`.
#[derive(Debug, Args)]
pub struct UnpackArgs {
    /// The folder, new or empty
    pub folder: PathBuf,
}

/// Subject of `reproduce`: a paper, or all of them.
#[derive(Debug, Clone, Copy)]
pub struct Papers(pub Option<&'static Paper>);

/// Word for all papers.
const ALL: &str = "all";

/// Names of the papers, and `all`.
fn papers() -> impl TypedValueParser<Value = Papers> {
    let values = PAPERS
        .iter()
        .map(|paper| PossibleValue::new(paper.name).help(paper.about));
    let all = PossibleValue::new(ALL).help("All of them, with a summary");
    let parser = PossibleValuesParser::new(values.into_iter().chain([all]));
    parser.map(|name| Papers(PAPERS.iter().copied().find(|paper| paper.name == name)))
}

/// Help on the names.
fn papers_help() -> String {
    let names: Vec<_> = PAPERS.iter().map(|paper| paper.name).collect();
    let names = names.join(", ");
    format!("Which results: {names}; {ALL}: all of them, with a summary")
}

/// Options of `reproduce`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lanigon reproduce emp --quick
  lanigon reproduce emp --out results
  lanigon reproduce emp --figure emp-004 --json
  lanigon reproduce emp --figure 3.5
  lanigon reproduce emp --explain base
  lanigon reproduce emp --size 4 --size 1500 --profile my-nic.toml
  lanigon reproduce gm --profile lanai9.1-133 --out results
  lanigon reproduce gm --profile lanai9.1-133 --explain
  lanigon reproduce barrier --explain
  lanigon reproduce all --quick --out results")]
pub struct ReproduceArgs {
    /// Papers to reproduce.
    #[arg(value_name = "PAPER", hide_possible_values = true, value_parser = papers(), help = papers_help())]
    pub papers: Papers,
    /// Only this figure (3.5), table (table-3.1), number or claim (emp-004, emp-178)
    #[arg(long, value_name = "ID", conflicts_with = "explain")]
    pub figure: Option<String>,
    /// Show the ledger of a message or of a collective operation; for emp of a scheme (base, so, ro, dsr, sr), with the limit of bandwidth
    #[arg(long, value_name = "SCHEME", conflicts_with = "sizes", num_args = 0..=1, default_missing_value = "")]
    pub explain: Option<String>,
    /// Fewer sizes and rounds
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// As many rounds as in the paper
    #[arg(long)]
    pub full: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Write a report (report.html, report.md), tables, JSON and figures (SVG, PDF) into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Timing profile (see `lanigon list`)
    #[arg(long, value_name = "NAME|FILE")]
    pub profile: Option<String>,
    /// End each simulation after this many microseconds
    #[arg(long, value_name = "US", value_parser = microseconds)]
    pub max_time: Option<SimTime>,
    /// Message size (repeatable)
    #[arg(long = "size", value_name = "BYTES", value_parser = number)]
    pub sizes: Vec<u32>,
}

/// Options of `debug`.
#[derive(Debug, Args)]
#[command(after_help = "\
Commands come from the terminal, from standard input, or from a script; `help` lists them. All nodes stop at once,
and time goes backwards too. A script ends at the first command that cannot be carried out (exit code 2), and where
`expect TEXT` does not find its text in what the last command showed (exit code 1).

Examples:
  lanigon debug scenarios/pair.toml
  lanigon debug scenarios/pair.toml --script find-it.txt
  lanigon debug --from fault.snap
  lanigon debug scenarios/pair.toml -e 'break probe frame sent' -e continue -e where
  echo 'goto +30us' | lanigon debug scenarios/pair.toml")]
pub struct DebugArgs {
    /// Scenario or snapshot.
    #[command(flatten)]
    pub what: DebugWhat,
    /// Execute the commands in this file, and exit
    #[arg(short = 'x', long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Execute this command, and exit (repeatable; after --script)
    #[arg(short, long = "execute", value_name = "COMMAND")]
    pub execute: Vec<String>,
}

/// Scenario or snapshot of a debugger.
#[derive(Debug, Args)]
pub struct DebugWhat {
    /// The scenario's file (TOML)
    #[arg(value_name = "SCENARIO", required_unless_present = "from")]
    pub scenario: Option<PathBuf>,
    /// Begin at this snapshot, which contains its scenario
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "seed"])]
    pub from: Option<PathBuf>,
    /// Random seed, instead of the scenario's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub seed: Option<u64>,
}

/// Options of `gdb`.
#[derive(Debug, Args)]
#[command(after_help = "\
The line to type in another terminal is printed. The CPUs of the node are gdb's threads 1 and 2; all other nodes go
along. When gdb detaches, the scenario stays where it is and waits for the next one; `kill` in gdb, or Ctrl-C here,
ends it. docs/gdb.md tells more.

Examples:
  lanigon gdb scenarios/pair.toml
  lanigon gdb scenarios/pair.toml --node 1 --port 1234
  lanigon gdb scenarios/pair.toml --socket nic.sock
  lanigon gdb --from fault.snap")]
pub struct GdbArgs {
    /// Scenario or snapshot.
    #[command(flatten)]
    pub what: DebugWhat,
    /// The node, by number or name
    #[arg(long, value_name = "N", default_value = "0")]
    pub node: String,
    /// Local TCP port for gdb (default: any free port)
    #[arg(long, value_name = "P")]
    pub port: Option<u16>,
    /// Unix socket for gdb, instead of a port
    #[arg(long, value_name = "PATH", conflicts_with = "port")]
    pub socket: Option<PathBuf>,
}

/// A CPU of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CpuArg {
    /// CPU A
    A,
    /// CPU B
    B,
}

impl CpuArg {
    /// Index in tables with an entry for each core: 0 = A, 1 = B.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Options that name a board.
#[derive(Debug, Args)]
pub struct BoardArgs {
    /// Type of board or its profile (see `lanigon list`; default: by the image)
    #[arg(long, value_name = "NAME")]
    pub board: Option<String>,
    /// Installed SRAM (default: the usual size of the board)
    #[arg(long = "sram", value_name = "KB")]
    pub sram_kilobytes: Option<u32>,
}

/// Largest value of `--max-time` in microseconds: eleven days.
const MOST_MICROSECONDS: f64 = 1e12;
/// Largest value of `--threads`.
const MOST_THREADS: usize = 256;

/// Owner of the DMA rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Assist {
    /// The chip
    Hw,
    /// CPU B
    Sw,
}

/// Options of `acenic`.
#[derive(Debug, Args)]
#[command(after_help = with_images("\
Each board is driven as an AceNIC driver does it: bring-up, receive rings, \"stack up\", link, frames both
ways with every byte compared, statistics. The firmware is a file in the Linux form (12 bytes of header)
or ELF. Times count from the release of CPU A.

Examples:
  lanigon acenic --firmware acenic/tg2.bin
  lanigon acenic --firmware tg2.bin --frames 1000 --size 1514 --assist hw --json
  lanigon acenic --firmware IMAGES/acenic --negotiate --trace trace.txt"))]
pub struct AcenicArgs {
    /// Firmware for both boards: a file, or a built-in image (see `lanigon list`)
    #[arg(long, value_name = "FILE|NAME")]
    pub firmware: PathBuf,
    /// Number of frames in each direction
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub frames: u32,
    /// Length of frames without FCS, 60 to 9014 (default: a mix up to 1514; above that, with the jumbo
    /// ring)
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(60..=9014))]
    pub size: Option<u32>,
    /// Installed SRAM
    #[arg(long = "sram", value_name = "KB", default_value = usual_sram(), value_parser = sram)]
    #[arg(help = format!("Installed SRAM: {}", DEFAULT.sram_kilobytes()))]
    pub sram_bytes: u32,
    /// DMA assist: the chip (hw) or CPU B (sw)
    #[arg(long, value_enum, default_value_t = Assist::Sw, hide_possible_values = true)]
    pub assist: Assist,
    /// Negotiate the link instead of fixed settings
    #[arg(long)]
    pub negotiate: bool,
    /// Options of the trace.
    #[command(flatten)]
    pub record: RecordArgs,
    /// End the run after this many simulated microseconds from power-on (CPU A is released after about 10 000)
    #[arg(long, value_name = "US", value_parser = microseconds)]
    pub max_time: Option<SimTime>,
    /// Timing profile (see `lanigon list`)
    #[arg(long, value_name = "NAME|FILE", default_value = DEFAULT.profile)]
    pub profile: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Options of `image`.
#[derive(Debug, Args)]
#[command(after_help = with_images("\
Example:
  lanigon image IMAGES/hello"))]
pub struct ImageArgs {
    /// Image: ELF, or the Linux format of AceNIC firmware
    #[arg(value_name = "FILE")]
    pub image: PathBuf,
    /// ELF file with symbols, lines and probes of the image's code
    #[arg(long, value_name = "FILE")]
    pub symbols: Option<PathBuf>,
    /// The board that the image must fit.
    #[command(flatten)]
    pub board: BoardArgs,
    /// Write the image in the Linux format of AceNIC firmware
    #[arg(long, value_name = "FILE")]
    pub linux_form: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Options of `new`.
#[derive(Debug, Args)]
#[command(after_help = "\
The folder must not exist or be empty; the project takes its name. What is written builds at once, with this
clone of Lanigon: docs/tutorial.md and docs/lanai-tutorial.md go on from there.

Examples:
  lanigon new my-nic && cd my-nic && firmware/build.sh && cargo test
  lanigon new --board lanai my-nic && cd my-nic && make test")]
pub struct NewArgs {
    /// The project's folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Type of board that the firmware is for, or its profile (see `lanigon list`; default: tigon2)
    #[arg(long, value_name = "NAME")]
    pub board: Option<String>,
    /// The clone of Lanigon whose libraries the project uses (default: the one in which this program was built)
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
}

/// Options of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Options of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Fewer and shorter rounds
    #[arg(long)]
    pub quick: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Also count host instructions by cause, with valgrind, if that is installed
    #[arg(long, conflicts_with = "instructions")]
    pub breakdown: bool,
    /// Only count host instructions by cause
    #[arg(long)]
    pub instructions: bool,
    /// Fail if host instructions deviate by more than 3 % from those in this file
    #[arg(long, value_name = "FILE", requires = "instructions")]
    pub baseline: Option<PathBuf>,
    /// Write host instructions into this file
    #[arg(long, value_name = "FILE", requires = "instructions")]
    pub write_baseline: Option<PathBuf>,
    /// Carry out one of the works whose host instructions are counted
    #[arg(long, hide = true, value_name = "NAME")]
    pub work: Option<String>,
}

/// Parses a number: hexadecimal with `0x`, else decimal.
fn number(text: &str) -> Result<u32, String> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let plain = |digits: &str| !digits.starts_with('+');
    match hexadecimal {
        Some(digits) if plain(digits) => u32::from_str_radix(digits, 16).ok(),
        None if plain(text) => text.parse().ok(),
        _ => None,
    }
    .ok_or_else(|| format!("\"{text}\" is not a 32-bit number (decimal, or hexadecimal with 0x)"))
}

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads = text.parse().ok().and_then(NonZeroUsize::new);
    let threads = threads.filter(|threads| threads.get() <= MOST_THREADS);
    threads.ok_or_else(|| format!("expected a number between 1 and {MOST_THREADS}"))
}

fn sram(text: &str) -> Result<u32, String> {
    let kilobytes: u32 = text.parse().unwrap_or_default();
    let checked = DEFAULT.check_sram(kilobytes.saturating_mul(KB));
    checked.map_err(|error| error.to_string())
}

/// A help text with the folder of the images that the project builds in place of `IMAGES`.
fn with_images(text: &str) -> String {
    let folder = own::project_images(DEFAULT.images);
    let folder = folder.strip_prefix(own::project()).unwrap_or(&folder);
    text.replace("IMAGES", &folder.display().to_string())
}

fn usual_sram() -> &'static str {
    static KILOBYTES: LazyLock<String> =
        LazyLock::new(|| (DEFAULT.usual_sram_bytes / KB).to_string());
    &KILOBYTES
}

pub(crate) fn microseconds(text: &str) -> Result<SimTime, String> {
    let us: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    if !(1e-6..=MOST_MICROSECONDS).contains(&us) {
        return Err(format!(
            "it must lie between 0.000001 and {MOST_MICROSECONDS}"
        ));
    }
    Ok(SimTime::from_ps((us * 1e6).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn numbers() {
        let check = |text, expected: Option<u32>| assert_eq!(number(text).ok(), expected, "{text}");
        check("0x4000", Some(0x4000));
        check("0Xc00000", Some(0xC0_0000));
        check("16384", Some(16384));
        check("0xffffffff", Some(u32::MAX));
        for wrong in [
            "",
            "0x",
            "4000h",
            "0x100000000",
            "-1",
            "+1",
            "0x+1",
            "4294967296",
            " 1",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn times() {
        let check = |text, ps: Option<u64>| {
            assert_eq!(microseconds(text).ok().map(SimTime::ps), ps, "{text}");
        };
        check("100", Some(100_000_000));
        check("0.5", Some(500_000));
        for wrong in ["0", "-1", "nan", "inf", "1e13", "soon", ""] {
            check(wrong, None);
        }
    }
}
