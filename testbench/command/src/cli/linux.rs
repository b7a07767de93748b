//! The options of `lanigon linux`.

use std::path::PathBuf;

use clap::Args;

use super::observe::ObserveArgs;

/// Options of `linux`.
#[derive(Debug, Args)]
#[command(after_help = "\
The host's script runs first; then each line that you type runs in its shell. Simulated time stands while you type, and the
same lines give the same run. Ctrl-D, or `exit`, ends it. `make linux` builds the kernel once.

Examples:
  lanigon linux
  lanigon linux net.toml --node 3 --pcap run.pcapng
  echo 'ping -c 1 10.0.0.2' | lanigon linux")]
pub struct LinuxArgs {
    /// Scenario (TOML) with `run = \"linux\"` on the node
    #[arg(value_name = "SCENARIO", default_value = "linux-console")]
    pub scenario: PathBuf,
    /// The node whose console it is
    #[arg(long, value_name = "NODE", default_value = "0")]
    pub node: String,
    /// Random seed, instead of the scenario's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Files that the run writes.
    #[command(flatten)]
    pub observe: ObserveArgs,
}
