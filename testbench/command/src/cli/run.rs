//! The options of `lanigon run`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use emulator::sim::time::SimTime;
use lanigon_worlds::ranks::{MOST_RANKS, RankOf};

use super::timeline::TimelineArgs;
use super::trace::RecordArgs;
use super::{microseconds, threads};

/// Options of a run that several processes share.
#[derive(Debug, Args)]
pub struct SharedArgs {
    /// Share the run among this many processes on this machine; results do not depend on it
    #[arg(long, value_name = "N", value_parser = processes, conflicts_with_all = ["rank", "at"])]
    pub processes: Option<NonZeroUsize>,
    /// Share the run with processes on other machines: this one is number I, from 0, of N
    #[arg(long, value_name = "I/N", requires = "at")]
    pub rank: Option<RankOf>,
    /// ... where rank 0 listens, and the others find it
    #[arg(long, value_name = "HOST:PORT", requires = "rank")]
    pub at: Option<String>,
    /// Share the run among the processes that mpirun has started, over MPI; without this option too if they are several
    #[arg(long)]
    pub mpi: bool,
}

fn processes(text: &str) -> Result<NonZeroUsize, String> {
    let processes = text.parse().ok().and_then(NonZeroUsize::new);
    let processes = processes.filter(|processes| processes.get() <= MOST_RANKS);
    processes.ok_or_else(|| format!("expected a number between 1 and {MOST_RANKS}"))
}

/// Options of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
A scenario names nodes, links, switches, host programs and faults; `lanigon list` shows examples. Every message is
checked: it must arrive once, in order, with each byte as sent, or its sender must be told that it failed. Times
count from the start of the host programs; in the trace they count from power-on, 20 000 us before.

Examples:
  lanigon run scenarios/pair.toml
  lanigon run scenarios/star-with-loss.toml --seed 7 --json
  lanigon run scenarios/exact-fault.toml --trace fault.trace
  lanigon run scenarios/exact-fault.toml --pcap run.pcapng
  lanigon run scenarios/exact-fault.toml --pcap - | tshark -r -
  lanigon run scenarios/exact-fault.toml --snapshot-at 2500 fault.snap
  lanigon run scenarios/race.toml --races
  lanigon run --from fault.snap --trace rest.trace
  lanigon run scenarios/all-to-all-256.toml --processes 2
  lanigon run scenarios/all-to-all-256.toml --rank 0/2 --at 0.0.0.0:7000
  lanigon run scenarios/all-to-all-256.toml --rank 1/2 --at first-machine:7000
  mpirun -n 2 lanigon run scenarios/all-to-all-256.toml")]
pub struct RunArgs {
    /// The scenario's file (TOML)
    #[arg(value_name = "SCENARIO", required_unless_present = "from")]
    pub scenario: Option<PathBuf>,
    /// Continue from this snapshot, which contains its scenario
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "seed"])]
    pub from: Option<PathBuf>,
    /// Save a snapshot at this time (in us from the start of the programs) into this file, and continue
    #[arg(long, num_args = 2, value_names = ["US", "FILE"])]
    pub snapshot_at: Option<Vec<String>>,
    /// Random seed, instead of the scenario's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Number of threads; results do not depend on it
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads)]
    pub threads: NonZeroUsize,
    /// Options of several processes.
    #[command(flatten)]
    pub shared: SharedArgs,
    /// Options of the trace.
    #[command(flatten)]
    pub record: RecordArgs,
    /// Write the frames on all wires into this file (pcapng, for Wireshark; - is standard output)
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Options of the timeline.
    #[command(flatten)]
    pub timeline: TimelineArgs,
    /// Look for races: accesses of CPUs, DMA, MAC and host to one word of a Tigon2 that nothing orders; results do not change
    #[arg(long, conflicts_with_all = ["processes", "rank", "mpi"])]
    pub races: bool,
    /// End the run after this many simulated microseconds
    #[arg(long, value_name = "US", value_parser = microseconds)]
    pub max_time: Option<SimTime>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
