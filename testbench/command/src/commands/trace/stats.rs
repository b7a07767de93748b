//! `lanigon trace stats`: statistics of a trace.

use super::{Status, status};
use crate::cli::trace::StatsArgs;
use crate::output;
use crate::progress::ProgressLine;
use lanigon_analysis::trace::open::open;
use lanigon_analysis::trace::select::{Selection, each};
use lanigon_analysis::trace::stats::Stats;

/// Runs the command.
pub(super) fn run(args: &StatsArgs) -> anyhow::Result<Status> {
    let trace = open(&args.file)?;
    let header = &trace.header;
    let mut selection = Selection::new(&args.filter.wanted(), header)?;
    let mut stats = Stats::new(header);
    let title = format!(
        "run       {}, seed {}, {} nodes\n",
        header.run,
        header.seed,
        header.nodes.len()
    );
    let progress = ProgressLine::steps("reading the trace", 0);
    let ending = each(&args.file, trace, &mut selection, |event| {
        stats.add(event);
        Ok(true)
    })?;
    drop(progress);
    if args.json {
        output::print_json(&stats.document())?;
    } else {
        output::print(&(title + &stats.text()))?;
    }
    Ok(status(ending))
}
