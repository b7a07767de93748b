//! Collective operations on hosts, on boards that are like the published ones: barriers, reductions, all-to-all broadcasts.
//!
//! `make firmware && cargo run --release -p lanigon-papers --example collectives [barrier|short|loop|reduction|gossip] [PROFILE]...`

use std::sync::Arc;

use host_lib::gm::collective::{Barrier, Shape};
use lanigon_papers::collectives::{On, Setup};
use lanigon_papers::gm::{SHORT, bench};
use lanigon_workloads::collective::{Broadcast, Type};
use lanigon_worlds::boards;
use lanigon_worlds::profile;

/// Rounds of each measurement.
const ROUNDS: u64 = 200;
/// Profiles, unless the command line names others.
const PROFILES: [&str; 3] = [
    "gm-paper-lanai4.3-33",
    "gm-paper-lanai7.2-66",
    "gm-paper-lanai9.1-133",
];

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_else(|| "barrier".into());
    let chosen: Vec<String> = arguments.collect();
    let usual = PROFILES.iter().map(|name| (*name).to_owned());
    let names = if chosen.is_empty() {
        usual.collect()
    } else {
        chosen
    };
    for name in names {
        let profile = profile::load(&name)?;
        let board = boards::of(&profile);
        let gm = board.gm.ok_or_else(|| anyhow::anyhow!("{name}: no GM"))?;
        let setup = Setup {
            image: &board.own_image(gm.image, gm.sram_bytes)?,
            profile: &profile,
            on: On::Host,
            interrupt: &Arc::default(),
        };
        // The testbed with the LANai 7.2 had eight nodes (Buntinas 2003, section 3.5).
        let most = if name.contains("7.2") { 8 } else { 16 };
        println!("{name}");
        match &*what {
            "barrier" => barriers(&setup, most)?,
            "short" => short(&setup, most)?,
            "loop" => loops(&setup, most)?,
            "reduction" => reductions(&setup)?,
            _ => gossip(&setup)?,
        }
    }
    Ok(())
}

fn barriers(setup: &Setup<'_>, most: u16) -> anyhow::Result<()> {
    println!("  nodes       PE us       GB us  degree");
    for nodes in [2, 4, 7, 8, 16].into_iter().filter(|nodes| *nodes <= most) {
        let us = setup.barrier(nodes, Barrier::PairwiseExchange, ROUNDS)?;
        let (best, degree) = setup.best_gather_broadcast(nodes, ROUNDS)?;
        println!("  {nodes:5} {us:11.2} {best:11.2} {degree:7}");
    }
    Ok(())
}

/// What a profile can be calibrated on: the latency of a short message, and the barrier of all nodes.
fn short(setup: &Setup<'_>, most: u16) -> anyhow::Result<()> {
    let pair = bench::Setup {
        image: setup.image,
        profile: setup.profile,
        interrupt: setup.interrupt,
    };
    let latency = pair.latency(SHORT, ROUNDS as u32)?.value;
    let barrier = setup.barrier(most, Barrier::PairwiseExchange, ROUNDS)?;
    println!("  latency {latency:6.2} us, barrier of {most} nodes {barrier:7.2} us");
    Ok(())
}

fn loops(setup: &Setup<'_>, most: u16) -> anyhow::Result<()> {
    for us in [2, 8, 17, 32, 64, 130] {
        let whole = setup.computing_loop(8, us * 1000, 0, ROUNDS)?;
        println!("  8 nodes, computation {us:4} us: loop {whole:8.2} us");
    }
    for share in [0.25, 0.5, 0.75, 0.9] {
        let us = setup.least_computation(most, share, ROUNDS)?;
        println!("  {most} nodes, efficiency {share}: computation {us:8.2} us");
    }
    for us in [64, 512, 4096] {
        let whole = setup.computing_loop(most, us * 1000, 20, ROUNDS)?;
        println!("  {most} nodes, computation {us:4} us +- 20 %: loop {whole:8.2} us");
    }
    for (steps, runs) in [(8, 25), (20, 10)] {
        let us = setup.synthetic(most, steps, runs)?;
        println!("  {most} nodes, synthetic application of {steps} steps: {us:8.2} us");
    }
    Ok(())
}

fn reductions(setup: &Setup<'_>) -> anyhow::Result<()> {
    let of = Type::Integer;
    for nodes in [2, 4, 8, 16] {
        let us = setup.reduction(nodes, Shape::Binomial, of, ROUNDS)?;
        let float = setup.reduction(nodes, Shape::Binomial, Type::Float, ROUNDS)?;
        let cpu = setup.reduction_cpu(nodes, of, 0, ROUNDS)?;
        let skew = setup.reduction_cpu(nodes, of, 1_000_000, ROUNDS)?;
        println!(
            "  {nodes:2} nodes: integer {us:6.2} us, float {float:6.2} us; host {cpu:6.2} us, {skew:7.2} us with delays up to 1000 us"
        );
    }
    for nodes in 2..=8 {
        let chain = setup.reduction(nodes, Shape::Fixed { degree: 1 }, of, ROUNDS)?;
        let degree = usize::from(nodes) - 1;
        let star = setup.reduction(nodes, Shape::Fixed { degree }, of, ROUNDS)?;
        println!("  {nodes:2} nodes: chain {chain:6.2} us, star {star:6.2} us");
    }
    Ok(())
}

fn gossip(setup: &Setup<'_>) -> anyhow::Result<()> {
    for bytes in [4, 64, 1024, 4096, 16_384] {
        let doubling = setup.all_to_all(16, Broadcast::RecursiveDoubling, bytes, 50)?;
        let ring = setup.all_to_all(16, Broadcast::Ring, bytes, 50)?;
        let rate = |us: f64| bytes as f64 / us;
        println!(
            "  {bytes:5} bytes: recursive doubling {doubling:9.2} us, {:6.2} MB/s; ring {ring:9.2} us, {:6.2} MB/s",
            rate(doubling.value),
            rate(ring.value)
        );
    }
    Ok(())
}
