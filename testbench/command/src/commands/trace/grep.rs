//! `lanigon trace grep`: the events whose line matches a pattern.

use anyhow::Context;
use regex::bytes::Regex;

use super::Status;
use crate::cli::trace::GrepArgs;
use crate::output::{self, Lines};
use lanigon_analysis::trace::grep::Context as Around;
use lanigon_analysis::trace::open::{Ending, open};
use lanigon_analysis::trace::rows::{Rows, Style};
use lanigon_analysis::trace::select::{Selection, each};

/// Runs the command.
pub(super) fn run(args: &GrepArgs) -> anyhow::Result<Status> {
    let pattern = Regex::new(&args.pattern).context("PATTERN")?;
    let trace = open(&args.file)?;
    let mut selection = Selection::new(&args.filter.wanted(), &trace.header)?;
    let style = Style::of_stdout();
    // The whole line is searched, but the display may be truncated.
    let mut plain = Rows::new(&trace.header, Style::default());
    let mut shown = Rows::new(&trace.header, style);
    let mut around = Around::new(args.lines_before, args.lines_after);
    let mut lines = Lines::default();
    let (mut line, mut matches) = (Vec::new(), 0_u64);
    let ending = each(&args.file, trace, &mut selection, |event| {
        line.clear();
        plain.text(event, &mut line);
        let matching = pattern.is_match(line.trim_ascii_end());
        matches += u64::from(matching);
        if args.count {
            return Ok(true);
        }
        if style != Style::default() {
            line.clear();
            shown.text(event, &mut line);
        }
        let mut outcome = Ok(true);
        around.take_line(&line, matching, |line| {
            if matches!(outcome, Ok(true)) {
                outcome = lines.write(line);
            }
        });
        Ok(outcome?)
    })?;
    if args.count {
        output::print(&format!("{matches}\n"))?;
    }
    lines.finish()?;
    Ok(match (ending, matches) {
        (Ending::Whole, 1..) => Status::Done,
        _ => Status::Failed,
    })
}
