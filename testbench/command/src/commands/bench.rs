//! `lanigon bench`: speed of the emulator on this machine.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Map, Value};

use super::{Status, instructions};
use crate::bench::boards::Boards;
use crate::bench::busy::{BusyBoard, Polling};
use crate::bench::debug::{BusyStopping, IdleCondition, ReverseSteps, Snapshots, Stopping};
use crate::bench::emp::{EmpLoad, Realtime, Star, Threads, Traced};
use crate::bench::instructions::Instructions;
use crate::bench::{Measurement, Pace, Quantity, Sample, median};
use crate::cli::BenchArgs;
use crate::output;
use crate::progress::ProgressLine;
use emulator::image::Image;
use emulator::profile::Profile;
use lanigon_worlds::boards::DEFAULT;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::{images, nodes, profile};

/// Number of rounds of each measurement, and duration of a round.
const ROUNDS: (u64, Duration) = (9, Duration::from_millis(400));
/// Rounds with `--quick`.
const QUICK_ROUNDS: (u64, Duration) = (3, Duration::from_millis(150));

/// Runs the command.
///
/// # Errors
/// If a measurement fails, or the result cannot be written.
pub fn run(args: &BenchArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    if let Some(name) = &args.work {
        output::print_json(&crate::bench::work::run_named(name)?)?;
        return Ok(Status::Done);
    }
    if args.instructions {
        return instructions::run(args);
    }
    let profile = profile::built_in(DEFAULT.profile)?;
    let image = images::own_image("emp-base", nodes::EMP_SRAM_BYTES)?;
    // Boards first: memory left by earlier worlds would be reused.
    let mut boards = Boards::new(&image, &profile);
    let (rounds, span) = if args.quick { QUICK_ROUNDS } else { ROUNDS };
    let pace = Pace { span, interrupt };
    let progress = ProgressLine::steps("rounds", rounds);
    let mut samples = boards.round(&pace)?;
    let Some(mut measurements) = prepare(&image, &profile, interrupt)? else {
        return Ok(Status::Interrupted);
    };
    for round in 0..rounds {
        for measurement in &mut measurements {
            samples.extend(measurement.round(&pace)?);
        }
        progress.set(round + 1);
    }
    drop(progress);
    let mut quantities: Vec<Quantity> = Vec::new();
    for measurement in &measurements {
        quantities.extend(measurement.quantities());
    }
    quantities.extend(boards.quantities());
    if interrupt.requested() {
        quantities.retain(|&quantity| median(&samples, quantity).is_some());
    }
    if args.json {
        let mut document = document(&quantities, &samples);
        if args.breakdown && !interrupt.requested() {
            let counts = serde_json::to_value(instructions::counted()?)?;
            document.insert("host_instructions".into(), counts);
        }
        output::print_json(&document)?;
    } else {
        output::print(&table(&quantities, &samples))?;
        if !interrupt.requested() {
            output::print(&format!("\n{}", instructions::breakdown(args.breakdown)?))?;
        }
    }
    Ok(if interrupt.requested() {
        Status::Interrupted
    } else {
        Status::Done
    })
}

/// Prepares all measurements, of which each may take a second; `None` if the user interrupts.
fn prepare(
    image: &Image,
    profile: &Profile,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Vec<Box<dyn Measurement>>>> {
    type Prepared = anyhow::Result<Box<dyn Measurement>>;
    fn boxed(measurement: anyhow::Result<impl Measurement + 'static>) -> Prepared {
        Ok(Box::new(measurement?))
    }
    let others: [&dyn Fn() -> Prepared; 15] = [
        &|| boxed(Realtime::new(image, profile, EmpLoad::PingPong)),
        &|| boxed(Realtime::new(image, profile, EmpLoad::Stream)),
        &|| boxed(Realtime::new(image, profile, EmpLoad::Idle)),
        &|| boxed(Polling::new(profile)),
        &|| boxed(Traced::new(image, profile)),
        &|| boxed(Instructions::new(profile)),
        &|| boxed(Threads::pairs(image, profile)),
        &|| boxed(Threads::star(Star::Small)),
        &|| boxed(Threads::star(Star::Large)),
        &|| boxed(Snapshots::new()),
        &|| boxed(ReverseSteps::new()),
        &|| boxed(Stopping::new(IdleCondition::Breakpoint)),
        &|| boxed(Stopping::new(IdleCondition::Watchpoint)),
        &|| boxed(BusyStopping::new(profile, IdleCondition::Breakpoint)),
        &|| boxed(BusyStopping::new(profile, IdleCondition::Watchpoint)),
    ];
    let mut measurements: Vec<Box<dyn Measurement>> = Vec::new();
    for busy in BusyBoard::all()? {
        measurements.push(Box::new(busy));
    }
    for prepare in others {
        if interrupt.requested() {
            return Ok(None);
        }
        measurements.push(prepare()?);
    }
    Ok(Some(measurements))
}

fn document(quantities: &[Quantity], samples: &[Sample]) -> Map<String, Value> {
    let member = |&quantity: &Quantity| {
        let value = median(samples, quantity);
        (quantity.key.into(), value.into())
    };
    quantities.iter().map(member).collect()
}

fn table(quantities: &[Quantity], samples: &[Sample]) -> String {
    let mut text = format!("{:<31}{:>12}  {:<8}\n", "quantity", "median", "target");
    for &quantity in quantities {
        let value = median(samples, quantity);
        let shown = value.map_or("-".into(), |value| match value {
            // More digits for small values.
            ..0.05 => format!("{value:.4}"),
            _ => format!("{value:.2}"),
        });
        let missed = value.is_some_and(|value| !quantity.target.reached_by(value));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<31}{shown:>12}  {:<8} {:<7} {}",
            quantity.key,
            quantity.target.to_string(),
            if missed { "missed" } else { "" },
            quantity.what,
        );
    }
    text
}
