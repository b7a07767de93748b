//! A fixed amount of the benchmarks' work, for tools that count instructions:
//! `valgrind --tool=callgrind target/release/examples/busy_work WORK [MICROSECONDS [TRACE]]`
//!
//! `scratchpad` and `sram` say where the code of two busy CPUs lies; `lanai` is a busy LANai 9; `ping-pong` and `stream` are EMP's, on
//! two nodes. Into the file TRACE, if one is named, go the events of EMP's nodes, or every instruction of the busy CPUs.

use lanigon_worlds::profile::built_in;
use std::fs::File;

use anyhow::bail;
use emulator::observe::event::Details;
use emulator::observe::file::InstructionTrace;
use emulator::observe::file::{BinaryTrace, ChunkWriter, Header};
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use lanigon_command::bench::emp::{EmpLoad, at_work};
use lanigon_worlds::builder;
use lanigon_worlds::busy_nodes::{self, CodeMemory};
use lanigon_worlds::{images, nodes};

fn main() -> anyhow::Result<()> {
    let work = std::env::args().nth(1).unwrap_or_default();
    let span = std::env::args()
        .nth(2)
        .map_or(Ok(20_000), |text| text.parse())?;
    let span = SimTime::from_us(span);
    let trace = std::env::args().nth(3);
    match work.as_str() {
        "scratchpad" => busy("tigon2-88mhz", CodeMemory::Private, span, trace),
        "sram" => busy("tigon2-88mhz", CodeMemory::Shared, span, trace),
        "lanai" => busy("lanai9.1-133", CodeMemory::Shared, span, trace),
        "ping-pong" => emp(EmpLoad::PingPong, span, trace),
        "stream" => emp(EmpLoad::Stream, span, trace),
        _ => bail!("{work:?}: scratchpad, sram, lanai, ping-pong or stream"),
    }
}

fn busy(
    profile: &str,
    code: CodeMemory,
    span: SimTime,
    trace: Option<String>,
) -> anyhow::Result<()> {
    let mut node = busy_nodes::busy_node(&built_in(profile)?, code)?;
    let Some(path) = trace else {
        node.run_until(span);
        println!("{} instructions", busy_nodes::instructions(&node));
        return Ok(());
    };
    let chunks = ChunkWriter::new(Box::new(File::create(path)?), &Header::default())?;
    let mut world = builder::alone(node);
    world.observe(Box::new(InstructionTrace::new(chunks)));
    pass_time(&mut world, span)?;
    println!("{} instructions", busy_nodes::instructions(&world.nodes[0]));
    Ok(())
}

fn pass_time(world: &mut World, span: SimTime) -> anyhow::Result<()> {
    let limits = RunLimits {
        max_time: Some(world.now() + span),
        ..RunLimits::default()
    };
    world.pass_time(&limits);
    world
        .finish_observing()
        .pop()
        .map_or(Ok(()), |error| Err(error.into()))
}

fn emp(work: EmpLoad, span: SimTime, trace: Option<String>) -> anyhow::Result<()> {
    let profile = built_in("tigon2-88mhz")?;
    let image = images::own_image("emp-base", nodes::EMP_SRAM_BYTES)?;
    let mut world = at_work(&image, &profile, work, 1)?;
    if let Some(path) = trace {
        let (file, header) = (File::create(path)?, Header::default());
        let trace = BinaryTrace::new(Box::new(file), &header, Details::empty())?;
        world.observe(Box::new(trace));
    }
    pass_time(&mut world, span)?;
    println!("hash {:#x}", world.trace_hash());
    Ok(())
}
