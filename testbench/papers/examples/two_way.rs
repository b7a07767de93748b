//! Effect of a hardware parameter on the order of the schemes: bandwidths, and where the CPUs' time goes under two-way
//! traffic, for each profile on the command line (a name or a file).
//!
//! `make firmware && cargo run --release -p lanigon-papers --example two_way emp-thesis [FILE ...]`

use emulator::tigon2::board::Tigon2;
use std::sync::Arc;

use emulator::sim::world::RunLimits;
use lanigon_papers::emp::measure::scheme::Scheme;
use lanigon_papers::emp::measure::usage::{self, Directions, NodeUsage};
use lanigon_papers::emp::measure::{Setup, one_way, rounds::Rounds, two_way};
use lanigon_worlds::calibrate;
use lanigon_worlds::emp::EmpPairs;
use lanigon_worlds::images;
use lanigon_worlds::nodes;
use lanigon_worlds::profile;

/// Lengths of messages, in bytes.
const MEDIUM: u32 = 8 * 1024;
const LARGE: u32 = 64 * 1024;
/// Messages each way while stalls are counted.
const MESSAGES: usize = 60;

fn main() -> anyhow::Result<()> {
    println!(
        "profile | scheme | one-way | two-way 8K | 64K | A, B: busy | stalled | semaphore | outside stages | no space, resent"
    );
    for name in std::env::args().skip(1) {
        for scheme in Scheme::ALL {
            let line = line(&name, scheme)?;
            println!("{name} | {} | {line}", scheme.title());
        }
    }
    Ok(())
}

fn line(profile: &str, scheme: Scheme) -> anyhow::Result<String> {
    let profile = profile::load(profile)?;
    let image = images::own_image(scheme.image(), nodes::EMP_SRAM_BYTES)?;
    let factors = calibrate::factors(&image, &profile)?;
    let setup = Setup {
        image: Arc::new(image),
        profile: Arc::new(profile),
        factors: Arc::new(factors),
        switch: None,
        flow_control: false,
        rounds: Rounds::QUICK,
        max_time: None,
        interrupt: Arc::default(),
    };
    let one_way = one_way::measure(&setup, LARGE)?.value;
    let [medium, large] = [MEDIUM, LARGE].map(|size| two_way::measure(&setup, size));
    let (medium, large) = (medium?.value, large?.value);
    let usage = usage::measure(&setup, Directions::TwoWay, LARGE)?;
    let node = &usage.nodes[0];
    let [busy, semaphore, outside] =
        ["", "wait: semaphore", "outside"].map(|part| shares(node, part));
    let stalled = stalled(&setup)?;
    let dropped: u64 = usage.nodes.iter().map(|node| node.dropped_no_space).sum();
    let resent: u32 = usage.nodes.iter().map(|node| node.resent).sum();
    Ok(format!(
        "{one_way:.0} | {medium:.0} | {large:.0} | {busy} | {stalled} | {semaphore} | {outside} | {dropped}, {resent}"
    ))
}

/// Shares of both CPUs' time: of the parts whose names begin so, or of all work.
fn shares(node: &NodeUsage, part: &str) -> String {
    let cpus = node
        .resources
        .iter()
        .filter(|resource| resource.name.starts_with("CPU"));
    let share = |parts: &[(Arc<str>, f64)]| {
        let parts = parts.iter().filter(|(what, _)| what.starts_with(part));
        parts.fold(0.0, |sum, (_, share)| sum + share)
    };
    percent(cpus.map(|cpu| {
        if part.is_empty() {
            cpu.busy
        } else {
            share(&cpu.parts)
        }
    }))
}

fn percent(shares: impl Iterator<Item = f64>) -> String {
    let shares: Vec<_> = shares
        .map(|share| format!("{:.1}", 100.0 * share))
        .collect();
    shares.join(", ") + " %"
}

/// Shares of the time in which CPUs waited for the SRAM bus.
fn stalled(setup: &Setup) -> anyhow::Result<String> {
    let mut pair = EmpPairs::one(&setup.image, &setup.profile, &setup.factors)?;
    let _run = two_way::spawn(&mut pair, LARGE, MESSAGES);
    let ticks = |pair: &EmpPairs| {
        let cores = &pair.world.nodes[0].board::<Tigon2>().cores;
        [0, 1].map(|core: usize| cores[core].core.clock.stalled)
    };
    pair.world.run(&RunLimits::default());
    let tick_ps = 1e12 / (setup.profile.reader().rate("core.clock", "Hz")? as f64 * 1024.0);
    let span = (pair.world.now() - nodes::START).ps() as f64;
    Ok(percent(
        ticks(&pair)
            .into_iter()
            .map(|ticks| ticks as f64 * tick_ps / span),
    ))
}
