//! `lanigon timeline`: converts a recorded trace to a timeline.

use emulator::observe::stream::Observer;

use super::Status;
use crate::cli::timeline::ConvertArgs;
use crate::output;
use crate::progress::ProgressLine;
use lanigon_analysis::trace::open::{Ending, broken, open};
use lanigon_timeline::drawing::begin;
use lanigon_worlds::interrupt::Interrupt;

/// Runs the command.
///
/// # Errors
/// If the request is invalid, a file is no trace, or the timeline cannot be written.
pub fn run(args: &ConvertArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    output::one_file_each(&[("the trace", &args.file)], &[("--out", Some(&args.out))])?;
    let trace = open(&args.file)?;
    let header = trace.header.clone();
    let (mut timeline, drawing) = begin(&args.out, &args.filter.wanted(), args.limit, header)?;
    let _progress = ProgressLine::steps("drawing the trace", 0);
    let mut ending = Ending::Whole;
    for event in trace.into_events() {
        if interrupt.requested() {
            break;
        }
        match event {
            Ok(event) => timeline.event(&event),
            Err(error) => {
                ending = broken(&args.file, error)?;
                break;
            }
        }
    }
    // The error is reported by `drawing`.
    let _ = timeline.finish();
    drawing.finish()?;
    Ok(match ending {
        _ if interrupt.requested() => Status::Interrupted,
        Ending::Whole => Status::Done,
        Ending::Broken => Status::Failed,
    })
}
