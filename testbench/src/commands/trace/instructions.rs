//! `lanigon trace instructions`: every instruction of a trace, a line each.

use emulator::sim::time::SimTime;

use super::Status;
use crate::output::Lines;
use crate::trace::args::InstructionArgs;
use crate::trace::instructions::{Listing, Wanted, split};
use crate::trace::open::{Ending, broken, open};

/// Runs the command.
pub(super) fn run(args: &InstructionArgs) -> anyhow::Result<Status> {
    let (header, chunks) = split(open(&args.file)?);
    let wanted = Wanted {
        node: args.node,
        cpu: args.cpu.map(crate::cli::Cpu::index),
        from: args.from.unwrap_or(SimTime::ZERO),
        until: args.until.unwrap_or(SimTime::MAX),
    };
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
