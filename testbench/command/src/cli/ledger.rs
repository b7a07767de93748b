//! Options of `lanigon ledger`.

use std::path::PathBuf;

use clap::Args;

use lanigon_analysis::ledger::select::MessageName;

/// Options of `ledger`.
#[derive(Debug, Args)]
#[command(after_help = "\
A message is named FROM:NUMBER or FROM:TO:NUMBER: nodes by their numbers, messages from 0 in the order in which FROM
posted them to TO; #1 behind it: after the sender's first reset. Without --message all messages are averaged.

Examples:
  lanigon ledger scenarios/pair.toml
  lanigon ledger scenarios/exact-fault.toml --message 0:16 --svg message.svg
  lanigon ledger scenarios/star-with-loss.toml --from 2 --to 0 --json
  lanigon ledger pair.trace --message 0:1:999")]
pub struct LedgerArgs {
    /// A scenario (TOML), or a trace recorded with --details host,frames
    #[arg(value_name = "SCENARIO|TRACE")]
    pub source: PathBuf,
    /// Show one message, span by span
    #[arg(long, value_name = "FROM:[TO:]NUMBER", conflicts_with_all = ["from", "to"])]
    pub message: Option<MessageName>,
    /// Only messages from this node
    #[arg(long, value_name = "NODE")]
    pub from: Option<u16>,
    /// Only messages to this node
    #[arg(long, value_name = "NODE")]
    pub to: Option<u16>,
    /// Timing profile of a trace's boards (see `lanigon list`); a scenario contains its own
    #[arg(long, value_name = "NAME|FILE")]
    pub profile: Option<String>,
    /// Draw the message's spans, or the averages, into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
