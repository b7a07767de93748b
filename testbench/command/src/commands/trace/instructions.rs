//! `lanigon trace instructions`: recorded instructions, one per line.

use anyhow::ensure;
use emulator::sim::time::SimTime;

use super::Status;
use crate::cli::trace::InstructionArgs;
use crate::output::Lines;
use lanigon_analysis::trace::filter::node;
use lanigon_analysis::trace::instructions::{InstructionSelection, Listing, split};
use lanigon_analysis::trace::open::{Ending, broken, open};

/// Runs the command.
pub(super) fn run(args: &InstructionArgs) -> anyhow::Result<Status> {
    let (header, chunks) = split(open(&args.file)?);
    let node = args.node.as_ref().map(|name| node(name, &header));
    let start = SimTime::from_ps(header.start_ps);
    let wanted = InstructionSelection {
        place: node.transpose()?,
        cpu: args.cpu.map(crate::cli::CpuArg::index),
        from: args.from.map_or(SimTime::ZERO, |time| time.resolve(start)),
        until: args.until.map_or(SimTime::MAX, |time| time.resolve(start)),
    };
    let (from, until) = (wanted.from, wanted.until);
    ensure!(from < until, "--from {from} is not before --until {until}");
    let mut lines = Lines::default();
    let mut failed = None;
    let mut shown = 0_u64;
    let read = Listing::new(&header, wanted).show(chunks, |line| {
        shown += 1;
        match lines.write(line.as_bytes()) {
            Ok(more) => more,
            Err(error) => {
                failed = Some(error);
                false
            }
        }
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    lines.finish()?;
    let ending = match read {
        Ok(()) => Ending::Whole,
        Err(error) => broken(&args.file, error)?,
    };
    if shown == 0 {
        log::warn!("no such instruction was recorded (lanigon run --trace FILE --instructions)");
    }
    Ok(match ending {
        Ending::Whole => Status::Done,
        Ending::Broken => Status::Failed,
    })
}
