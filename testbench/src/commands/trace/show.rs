//! `lanigon trace show`: events, a line each.

use super::Status;
use crate::output::Lines;
use crate::trace::args::ShowArgs;
use crate::trace::open::{Ending, broken, open};
use crate::trace::rows::{Rows, Style};

/// Runs the command.
pub(super) fn run(args: &ShowArgs) -> anyhow::Result<Status> {
    let trace = open(&args.file)?;
    let style = match args.json {
        true => Style::default(),
        false => Style::of_stdout(),
    };
    let mut rows = Rows::new(&trace.header, style);
    let mut lines = Lines::default();
    let mut text = Vec::new();
    let mut ending = Ending::Whole;
    for event in trace.events() {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                lines.finish()?;
                ending = broken(&args.file, error)?;
                break;
            }
        };
        text.clear();
        match args.json {
            true => rows.json(&event, &mut text),
            false => rows.text(&event, &mut text),
        }
        if !lines.write(&text)? {
            return Ok(Status::Done);
        }
    }
    lines.finish()?;
    Ok(match ending {
        Ending::Whole => Status::Done,
        Ending::Broken => Status::Failed,
    })
}
