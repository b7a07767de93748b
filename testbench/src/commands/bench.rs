//! `lanigon bench`: how fast the emulator is on this machine. The only code that reads a wall clock.

use std::time::{Duration, Instant};

use emulator::sim::time::SimTime;
use emulator::tigon2::timing::{Profile, Timing};
use serde::Serialize;

use super::Status;
use crate::cli::BenchArgs;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::{kernel, output};

/// Runs of each measurement; the median counts.
const ROUNDS: u64 = 9;
/// What a run takes.
const ROUND_TIME: Duration = Duration::from_millis(400);
/// Simulated time between two looks at the clock.
const SLICE: SimTime = SimTime::from_us(1_000);

/// The JSON document.
#[derive(Serialize)]
struct Document {
    /// Million instructions a second of both CPUs together: code in scratchpads, data in SRAM.
    busy_mips: Option<f64>,
    /// The same with code in SRAM.
    busy_mips_sram: Option<f64>,
    /// Real time for a span of simulated time in which both CPUs are busy with code in scratchpads.
    busy_slowdown: Option<f64>,
}

/// A run's result.
#[derive(Debug, Clone, Copy)]
struct Speed {
    mips: f64,
    slowdown: f64,
}

/// Runs the command.
///
/// # Errors
/// If the kernel does not assemble, or the result cannot be written.
pub fn run(args: &BenchArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let timing = Profile::built_in("tigon2-88mhz")?.timing;
    let progress = Progress::steps("rounds", 2 * ROUNDS);
    let (mut scratchpad, mut sram) = (Vec::new(), Vec::new());
    // Alternating, so that another load of the machine meets both alike.
    for round in 0..ROUNDS {
        scratchpad.extend(measure(timing, false, interrupt)?);
        progress.set(2 * round + 1);
        sram.extend(measure(timing, true, interrupt)?);
        progress.set(2 * round + 2);
    }
    drop(progress);
    let document = Document {
        busy_mips: median(&scratchpad, |speed| speed.mips),
        busy_mips_sram: median(&sram, |speed| speed.mips),
        busy_slowdown: median(&scratchpad, |speed| speed.slowdown),
    };
    if args.json {
        output::print_json(&document)?;
    } else {
        output::print(&document.text())?;
    }
    Ok(if interrupt.requested() {
        Status::Interrupted
    } else {
        Status::Done
    })
}

/// One run of the busy kernel; `None` when interrupted.
fn measure(
    timing: Timing,
    code_in_sram: bool,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Speed>> {
    let mut node = kernel::busy_node(timing, code_in_sram)?;
    // Decodes the code once.
    node.run_until(SLICE);
    let (instructions, start) = (kernel::instructions(&node), node.now());
    let clock = Instant::now();
    while clock.elapsed() < ROUND_TIME {
        if interrupt.requested() {
            return Ok(None);
        }
        node.run_until(node.now() + SLICE);
    }
    let wall_s = clock.elapsed().as_secs_f64();
    let done = kernel::instructions(&node) - instructions;
    Ok(Some(Speed {
        mips: done as f64 / wall_s / 1e6,
        slowdown: wall_s * 1e6 / (node.now() - start).us(),
    }))
}

/// The median of a quantity; `None` if an interrupt came before the first run's end.
fn median(speeds: &[Speed], quantity: impl Fn(&Speed) -> f64) -> Option<f64> {
    let mut values: Vec<f64> = speeds.iter().map(quantity).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

impl Document {
    fn text(&self) -> String {
        let shown = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
        format!(
            "both CPUs busy, data in SRAM\n  \
             code in scratchpads {:>10} million instructions a second\n  \
             code in SRAM        {:>10} million instructions a second\n  \
             slowdown            {:>10} times simulated time (code in scratchpads)\n",
            shown(self.busy_mips),
            shown(self.busy_mips_sram),
            shown(self.busy_slowdown)
        )
    }
}
