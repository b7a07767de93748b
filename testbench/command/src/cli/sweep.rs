//! Options of `sweep`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use lanigon_sweep::store::Shard;

use super::threads;

/// Largest number of parts of a sweep.
const MOST_SHARDS: usize = 1_000_000;

/// Options of `sweep`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
A sweep names a scenario, axes with values for its keys, seeds, and measures. Runs whose results are in the folder
already are skipped, so an interrupted sweep goes on when it is started again. docs/sweep.md tells more.

Examples:
  lanigon sweep loss --out results
  lanigon sweep one-fast-cpu --dry-run
  lanigon sweep my-sweep.toml --out part-2 --shard 2/8
  lanigon sweep merge part-1 part-2 --out results
  lanigon sweep my-sweep.toml --print 17 > run-17.toml")]
pub struct SweepArgs {
    /// Other work on sweeps.
    #[command(subcommand)]
    pub command: Option<SweepCommand>,
    /// The sweep's file (TOML), or the name of an example (lanigon list)
    #[arg(value_name = "SWEEP", required = true)]
    pub file: Option<PathBuf>,
    /// Folder of the results (default: the file's name without .toml, with -results)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of threads, one run on each (default: as many as the machine runs at once)
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZeroUsize>,
    /// Run part I of N only
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Discard the results that this part of the sweep has in the folder
    #[arg(long)]
    pub fresh: bool,
    /// List the runs, and whether they have results; run nothing
    #[arg(long, conflicts_with_all = ["print", "fresh"])]
    pub dry_run: bool,
    /// Print the scenario of a run, for `lanigon run`; run nothing
    #[arg(long, value_name = "RUN", conflicts_with_all = ["out", "shard", "fresh", "json"])]
    pub print: Option<usize>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Other work on sweeps.
#[derive(Debug, Subcommand)]
pub enum SweepCommand {
    /// Join the results of several folders
    Merge(MergeArgs),
}

/// Options of `sweep merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Folders of different sweeps are refused: each run must have the same scenario, images, profiles and emulator. Exit
code 1 if runs are missing; they are named.

Examples:
  lanigon sweep merge part-* --out results
  lanigon sweep merge shared --out shared")]
pub struct MergeArgs {
    /// Folders with results
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Folder for all results; may be one of them
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

fn shard(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/');
    let number = |text: &str| text.parse::<usize>().ok();
    let numbers = numbers.and_then(|(index, count)| Some((number(index)?, number(count)?)));
    match numbers {
        Some((index, count)) if (1..=count).contains(&index) && count <= MOST_SHARDS => {
            Ok(Shard { index, count })
        }
        _ => Err("expected I/N, with I from 1 to N".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let check = |text, expected: Option<(usize, usize)>| {
            let found = shard(text).ok().map(|shard| (shard.index, shard.count));
            assert_eq!(found, expected, "{text}");
        };
        check("1/1", Some((1, 1)));
        check("8/8", Some((8, 8)));
        for wrong in [
            "0/8",
            "9/8",
            "1",
            "1/",
            "a/2",
            "1/0",
            "-1/2",
            "1/2/3",
            "1/1000001",
        ] {
            check(wrong, None);
        }
    }
}
