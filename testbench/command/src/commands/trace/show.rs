//! `lanigon trace show`: events, one per line.

use super::{Status, status};
use crate::cli::trace::ShowArgs;
use crate::output::Lines;
use lanigon_analysis::trace::open::open;
use lanigon_analysis::trace::rows::{Rows, Style};
use lanigon_analysis::trace::select::{Selection, each};

/// Runs the command.
pub(super) fn run(args: &ShowArgs) -> anyhow::Result<Status> {
    let trace = open(&args.file)?;
    let style = match args.json {
        true => Style::default(),
        false => Style::of_stdout(),
    };
    let mut selection = Selection::new(&args.filter.wanted(), &trace.header)?;
    let mut rows = Rows::new(&trace.header, style);
    let mut lines = Lines::default();
    let mut text = Vec::new();
    let ending = each(&args.file, trace, &mut selection, |event| {
        text.clear();
        match args.json {
            true => rows.json(event, &mut text),
            false => rows.text(event, &mut text),
        }
        Ok(lines.write(&text)?)
    })?;
    lines.finish()?;
    Ok(status(ending))
}
