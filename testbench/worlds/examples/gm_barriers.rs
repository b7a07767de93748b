//! Barriers over GM among boards with a LANai 9.2 on a Clos network of crossbars with 16 ports, for tools that measure:
//! `target/release/examples/gm_barriers NODES [MICROSECONDS [TIMES]]`
//!
//! Prints the shortest processor time and wall time of that span of barriers, and the processor time of a packet; each message is
//! acknowledged by a packet, too. The kernel counts processor time in steps of some milliseconds: spans that take less than a fifth of a
//! second say nothing. `valgrind --tool=callgrind --cache-sim=yes --toggle-collect='*gm_barriers::measured*' --LL=524288,8,64` counts
//! instructions and misses of that span alone.

use std::time::{Duration, Instant};

use anyhow::Context;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use emulator::wire::myrinet::Myrinet;
use lanigon_worlds::nodes::START;
use lanigon_worlds::simulation::Blueprint;

const USAGE: &str = "numbers: NODES [MICROSECONDS [TIMES]]";

/// All nodes are at barriers so long after the start of their programs.
const BEFORE: SimTime = SimTime::from_us(1_500);

/// More rounds than any span has.
const ROUNDS: u32 = 2_000;

/// The time for which this process has had processors (Linux), in which the load of the machine counts less.
fn processor_time() -> anyhow::Result<Duration> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let ns = text.split_whitespace().next().context("a time")?;
    Ok(Duration::from_nanos(ns.parse()?))
}

fn pass_time(world: &mut World, span: SimTime) {
    world.pass_time(&RunLimits {
        max_time: Some(world.now() + span),
        ..RunLimits::default()
    });
}

/// The part that is measured: a function of its own, so that callgrind can count it alone.
#[inline(never)]
fn measured(world: &mut World, span: SimTime) {
    pass_time(world, span);
}

fn packets(world: &World) -> u64 {
    let network = world.network::<Myrinet>();
    network.map_or(0, |network| network.counts().sent)
}

fn main() -> anyhow::Result<()> {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|a| a.parse()).collect();
    let numbers = numbers.context(USAGE)?;
    let number = |place: usize, usual| numbers.get(place).copied().unwrap_or(usual);
    let nodes = numbers.first().context(USAGE)?;
    let text = format!(
        "board = \"lanai9.2-200\"\n[network]\ntopology = \"clos\"\nnodes = {nodes}\nports = 16\n\
         [[program]]\nrun = \"barrier\"\nnodes = \"all\"\nrounds = {ROUNDS}\n"
    );
    let scenario = lanigon_workloads::parse("barriers", &text)?;
    let span = SimTime::from_us(number(1, 1_000));
    let mut best = [Duration::MAX; 2];
    let mut sent = 0;
    for _ in 0..number(2, 1) {
        let mut world = Blueprint::new(&scenario)?.build()?.world;
        pass_time(&mut world, START + BEFORE);
        let (before, clock, start) = (packets(&world), Instant::now(), processor_time()?);
        measured(&mut world, span);
        let taken = [processor_time()?.saturating_sub(start), clock.elapsed()];
        sent = packets(&world) - before;
        best = [best[0].min(taken[0]), best[1].min(taken[1])];
        println!("{taken:?}, hash {:016x}", world.trace_hash());
    }
    let each = best[0].as_secs_f64() * 1e6 / sent as f64;
    println!("{nodes} nodes, {sent} packets: {best:?}, {each:.2} us of a processor for a packet");
    Ok(())
}
