//! The options of `lanigon launch`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use emulator::sim::time::SimTime;
use lanigon_processes::MOST_PER_NODE;

use super::microseconds;
use super::observe::ObserveArgs;

/// Most ranks of a program.
const MOST_RANKS: u64 = 1024;

/// Largest factor between processor time and simulated time.
const MOST_FACTOR: f64 = 1e6;

/// A factor between processor time and simulated time.
fn factor(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    match (0.0..=MOST_FACTOR).contains(&factor) {
        true => Ok(factor),
        false => Err(format!("it must lie between 0 and {MOST_FACTOR}")),
    }
}

/// Options of `launch`.
#[derive(Debug, Args)]
#[command(after_help = "\
The program is one of this machine, built with any MPI library that loads providers of libfabric: Open MPI, MPICH,
mpi4py over them. Each rank has an emulated host, its messages go over the host's board, and it reads simulated time.
Its own computation takes none, unless --compute gives it some.

Examples:
  lanigon launch -n 16 -- ./program arguments
  lanigon launch -n 2 --pcap run.pcapng -- python3 ping.py
  lanigon launch -n 4 --scenario net.toml --mpiexec ~/venv/bin/mpiexec -- ./program

With --sockets the programs have TCP sockets instead, on hosts named node0, node1, ... (10.0.0.1, 10.0.0.2, ...):
  lanigon launch --sockets -- python3 -m http.server 80 : -n 3 python3 client.py
  lanigon launch --sockets --scenario emp.toml -- nc -lN 5000 : nc -N node0 5000")]
pub struct LaunchArgs {
    /// Number of ranks; with --sockets, the sum of those of all programs if it is not given
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_RANKS), required_unless_present = "sockets")]
    pub ranks: Option<u64>,
    /// Give the programs stream sockets over the boards, without MPI. Several programs are separated by `:`, each with `-n N` before it for several ranks
    #[arg(long, conflicts_with = "mpiexec")]
    pub sockets: bool,
    /// With --sockets: each rank begins so many simulated microseconds after the one before
    #[arg(long, value_name = "US", value_parser = microseconds, default_value = "1000", requires = "sockets", conflicts_with = "mpiexec")]
    pub apart: SimTime,
    /// With --sockets: the rank that reads standard input; the others have none
    #[arg(
        long,
        value_name = "RANK",
        default_value_t = 0,
        requires = "sockets",
        conflicts_with = "mpiexec"
    )]
    pub stdin: u64,
    /// Boards and network (TOML), with a node for each rank at least; without it: LANai 9.2 boards with GM on one crossbar or a Clos network
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// Ranks of a node, whose CPUs and board they share: of boards with GM on Myrinet
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_PER_NODE as u64), default_value_t = 1, conflicts_with = "sockets")]
    pub per_node: u64,
    /// Random seed, instead of the scenario's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Give the program places for so many ranks: those beyond -n are for processes that MPI_Comm_spawn starts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_RANKS), conflicts_with = "sockets")]
    pub universe: Option<u64>,
    /// Let the programs' own computation take time: the processor time of this machine times this factor, but for sections behind MPI_Pcontrol(0), up to MPI_Pcontrol(1). Without it, computation takes none, and results repeat
    #[arg(long, value_name = "FACTOR", value_parser = factor, allow_hyphen_values = true)]
    pub compute: Option<f64>,
    /// The starter of the MPI library
    #[arg(long, value_name = "FILE", default_value = "mpiexec")]
    pub mpiexec: PathBuf,
    /// Barriers of MPI_COMM_WORLD, and reductions (MPI_Allreduce) of one number, are those of the boards, which run GM
    #[arg(long, conflicts_with_all = ["sockets", "per_node", "universe"])]
    pub nic_collectives: bool,
    /// Files that the run writes.
    #[command(flatten)]
    pub observe: ObserveArgs,
    /// End the run after this many simulated microseconds
    #[arg(long, value_name = "US", value_parser = microseconds)]
    pub max_time: Option<SimTime>,
    /// The program and its arguments; with --sockets also several, separated by `:`
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}
