//! Options of `lanigon plan`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use host_lib::fm::predict::LinearCost;

/// Longest time of an option, in us.
const LONGEST_US: f64 = 1e9;

/// Operation that is planned.
#[derive(Debug, Subcommand)]
pub enum Plan {
    /// The tree of a multicast over FM, and when each node has the message
    Multicast(PlanMulticastArgs),
}

/// Shapes of trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// The best one of the postal model
    Optimal,
    /// The binomial one
    Binomial,
    /// The root sends to all
    Star,
}

/// Options of `plan multicast`.
#[derive(Debug, Args)]
#[command(after_help = "\
A cost is that of a packet, as A,B: A us and B us for each byte. Without costs those of the dissertation are taken, or with
--measured those of short runs on emulated nodes.

Examples:
  lanigon plan multicast --nodes 16 --bytes 16384 --pipelined
  lanigon plan multicast --nodes 8 --bytes 1536 --lambda 2 --measured
  lanigon plan multicast --nodes 4 --bytes 64 --send 2.8,0.0106")]
pub struct PlanMulticastArgs {
    /// Number of nodes, with the root
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=256))]
    pub nodes: u16,
    /// Length of the message
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(0..=16_777_208))]
    pub bytes: u32,
    /// Shape of the tree
    #[arg(long, value_name = "SHAPE", default_value = "optimal")]
    pub tree: Shape,
    /// Lambda of the optimal tree (default: the one with the earliest last delivery)
    #[arg(long, value_name = "L", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub lambda: Option<u32>,
    /// The host sends to each child by itself, without multi-sends
    #[arg(long)]
    pub unicast: bool,
    /// Nodes send on each packet when it comes, not the whole message
    #[arg(long)]
    pub pipelined: bool,
    /// Take costs from short runs on emulated nodes
    #[arg(long, conflicts_with_all = ["send", "transmit", "receive", "handle"])]
    pub measured: bool,
    /// Cost of the host that sends
    #[arg(long, value_name = "A,B", value_parser = line)]
    pub send: Option<LinearCost>,
    /// Cost of the board that transmits
    #[arg(long, value_name = "A,B", value_parser = line)]
    pub transmit: Option<LinearCost>,
    /// Cost from the start of a transmission until the receiving host has handled the packet
    #[arg(long, value_name = "A,B", value_parser = line)]
    pub receive: Option<LinearCost>,
    /// The part of it in which the receiving host is busy
    #[arg(long, value_name = "A,B", value_parser = line)]
    pub handle: Option<LinearCost>,
    /// Draw the deliveries into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Reads a cost.
fn line(text: &str) -> Result<LinearCost, String> {
    let wrong = || format!("\"{text}\": a cost is A,B: us, and us for each byte, such as 2.8,0.03");
    let (fixed, byte) = text.split_once(',').ok_or_else(wrong)?;
    let ps = |text: &str| {
        let us: f64 = text.trim().parse().ok()?;
        (0.0..=LONGEST_US)
            .contains(&us)
            .then(|| (us * 1e6).round() as u64)
    };
    Ok(LinearCost {
        fixed_ps: ps(fixed).ok_or_else(wrong)?,
        per_byte_ps: ps(byte).ok_or_else(wrong)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_two_numbers() {
        let expected = LinearCost {
            fixed_ps: 2_800_000,
            per_byte_ps: 30_100,
        };
        assert_eq!(line("2.8, 0.0301"), Ok(expected));
        for wrong in ["", "1", "1,", "a,b", "-1,0", "1,nan", "1e12,0", "1,2,3"] {
            let error = line(wrong).expect_err("no cost");
            assert!(error.contains("a cost is A,B"), "{error}");
        }
    }
}
