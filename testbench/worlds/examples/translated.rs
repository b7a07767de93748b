//! Fixed work with and without translated code, alternately, in one process:
//! `target/release/examples/translated WORK [MICROSECONDS [TIMES [on|off]]]`
//!
//! `one` and `two` are one and two busy CPUs of a board with code in scratchpads; `ping-pong` and `stream` are EMP's, on two nodes. Prints
//! the shortest time of each way, and what translated code did. The kernel counts processor time in steps of some milliseconds: spans
//! that take less than a tenth of a second say nothing.

use std::time::Duration;

use anyhow::{Context, bail};
use defs::tigon2::regs::{CPU_STATE, CpuState};
use emulator::cpu::translation::{Translations, Usage};
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::cores::{CoreUnit, write_control};
use lanigon_worlds::kernel::{self, Code};
use lanigon_worlds::profile::built_in;
use lanigon_worlds::simulation::Blueprint;

/// Time before the measured part, in which code is translated.
const BEFORE: SimTime = SimTime::from_us(300_000);

const PING_PONG: &str = "run = \"ping-pong\"\nnodes = [0, 1]\nmessages = 4000000\nbytes = 4\n";
const STREAM: &str = "run = \"stream\"\nfrom = 0\nto = 1\nmessages = 100000\nbytes = 65536\n";

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let work = arguments.next().unwrap_or_default();
    let span = arguments
        .next()
        .map_or(Ok(1_000_000), |text| text.parse())?;
    let times = arguments.next().map_or(Ok(7), |text| text.parse())?;
    let ways = match arguments.next().as_deref() {
        None => vec![false, true],
        Some("on") => vec![true],
        Some("off") => vec![false],
        Some(other) => bail!("{other:?}: on or off"),
    };
    let mut best = [Duration::MAX; 2];
    for _ in 0..times {
        for &on in &ways {
            let taken = measure(&work, SimTime::from_us(span), on)?;
            best[usize::from(on)] = best[usize::from(on)].min(taken);
        }
    }
    println!("interpreted {:?}, translated {:?}", best[0], best[1]);
    Ok(())
}

fn world(work: &str) -> anyhow::Result<World> {
    let profile = built_in("tigon2-88mhz")?;
    let emp = |program: &str| -> anyhow::Result<World> {
        let text = format!("[network]\ntopology = \"pair\"\n[[program]]\n{program}");
        let scenario = lanigon_workloads::parse("work", &text)?;
        Ok(Blueprint::new(&scenario)?.build()?.world)
    };
    Ok(match work {
        "ping-pong" => emp(PING_PONG)?,
        "stream" => emp(STREAM)?,
        "one" | "two" => {
            let mut node = kernel::busy_node(&profile, Code::Private)?;
            if work == "one" {
                let Tigon2 { cores, fabric, .. } = node.board_mut();
                let CoreUnit { core, private } = &mut cores[1];
                let halt = CpuState::HALT.bits();
                write_control(core, private, &mut fabric.sram, CPU_STATE, halt);
            }
            World::new(vec![node])
        }
        _ => bail!("{work:?}: one, two, ping-pong or stream"),
    })
}

/// The time for which this thread has had a processor (Linux), in which the load of the machine counts less.
fn processor_time() -> anyhow::Result<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let ns = text.split_whitespace().next().context("a time")?;
    Ok(Duration::from_nanos(ns.parse()?))
}

fn pass_time(world: &mut World, span: SimTime) {
    world.pass_time(&RunLimits {
        max_time: Some(world.now() + span),
        ..RunLimits::default()
    });
}

fn measure(work: &str, span: SimTime, on: bool) -> anyhow::Result<Duration> {
    let mut world = world(work)?;
    let translations = Translations::new(100, false);
    world.translate(on.then_some(&translations));
    pass_time(&mut world, BEFORE);
    let before = usage(&world);
    let start = processor_time()?;
    pass_time(&mut world, span);
    let taken = processor_time()?.saturating_sub(start);
    let after = usage(&world);
    let instructions: u64 = world.nodes.iter().map(kernel::instructions).sum();
    println!(
        "{work} {on}: {taken:?}, {instructions} instructions, hash {:#x}, {} entries, {} cycles in them, {:?}",
        world.trace_hash(),
        after.entries - before.entries,
        after.cycles - before.cycles,
        translations.made(),
    );
    Ok(taken)
}

fn usage(world: &World) -> Usage {
    let boards = world.nodes.iter().filter_map(|node| node.try_board());
    let cores = boards.flat_map(Tigon2::translated);
    cores.fold(Usage::default(), |sum, core| Usage {
        entries: sum.entries + core.entries,
        cycles: sum.cycles + core.cycles,
    })
}
