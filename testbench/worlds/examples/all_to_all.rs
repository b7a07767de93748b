//! EMP messages from every node to every other one through a switch, for tools that measure:
//! `target/release/examples/all_to_all NODES BYTES MESSAGES_EACH [THREADS [FAULTS_PER_MILLE]]`

use lanigon_worlds::boards::KB;
use lanigon_worlds::profile::built_in;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow, ensure};
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use emulator::wire::ethernet::switch::{Forwarding, SwitchConfig};
use emulator::wire::fault::{FaultRates, RandomFaults};
use host_lib::emp::{Buffer, Config, Emp, Source, Tag};
use host_lib::window::System;
use lanigon_worlds::boards;
use lanigon_worlds::builder::WorldBuilder;
use lanigon_worlds::emp::EmpNode;
use lanigon_worlds::end::ResultSlot;
use lanigon_worlds::images::{firmware, own_image};
use lanigon_worlds::nodes::{START, cable, mac_address, parts, probes};

const USAGE: &str = "numbers: NODES BYTES MESSAGES_EACH [THREADS [FAULTS_PER_MILLE]]";

/// In step `n` a node sends to the one `n` further and receives from the one `n` before.
async fn exchange(emp: &mut EmpNode, me: u16, bytes: u32, messages: u16) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let nodes = emp.nodes();
    let mut buffer = || {
        let address = emp.system_mut().allocate(bytes.max(1).into());
        let address = address.ok_or("host memory is exhausted")?;
        Ok::<_, String>(Buffer {
            address,
            length: bytes,
        })
    };
    let [out, space] = [buffer()?, buffer()?];
    for step in 0..messages {
        let step = 1 + step % (nodes - 1);
        let (to, from) = ((me + step) % nodes, (me + nodes - step) % nodes);
        let receive = emp.post_receive(Source::Node(from), Tag::Value(1), space);
        let receive = receive.await.map_err(|error| text(&error))?;
        let transmit = emp.post_transmit(to, 1, out).await;
        let transmit = transmit.map_err(|error| text(&error))?;
        emp.wait(transmit).await.map_err(|error| text(&error))?;
        emp.wait(receive).await.map_err(|error| text(&error))?;
    }
    Ok(())
}

/// How a program ended.
type Ended = ResultSlot<Result<(), String>>;

/// Nodes around one switch; their programs leave what they have come to.
fn star([nodes, bytes, messages]: [u32; 3], rate: f64) -> anyhow::Result<(World, Vec<Ended>)> {
    let (nodes, messages) = (u16::try_from(nodes)?, u16::try_from(messages)?);
    ensure!(nodes >= 2, "two nodes at least");
    let rates = FaultRates {
        loss: rate,
        duplication: rate,
        delay: rate,
        longest_delay: SimTime::from_us(50),
        corruption: rate,
    };
    let image = own_image("emp-base", 1024 * KB)?;
    let profile = built_in("tigon2-88mhz")?;
    let probes = probes(&image, &[]);
    let mut world = WorldBuilder::new();
    for _ in 0..nodes {
        let parts = parts(&profile, Some(&probes), 1024 * KB);
        world.node(boards::DEFAULT, &parts)?;
    }
    let switch = SwitchConfig {
        ports: nodes.into(),
        forwarding: Forwarding::StoreAndForward,
        latency: SimTime::from_us(1),
        buffer_bytes: 1 << 18,
        routes: Vec::new(),
    };
    world.star(switch, cable(&profile)?);
    let mut world = world.build()?;
    let firmware = Arc::new(firmware(&image));
    let routes: Vec<_> = (0..nodes).map(mac_address).collect();
    let mut outcomes = Vec::new();
    for index in 0..nodes {
        let here = usize::from(index);
        if rate > 0.0 {
            let faults = RandomFaults::new(rates, 1, index.into())?;
            world.add_fault(here, Box::new(faults))?;
        }
        let (firmware, config) = (Arc::clone(&firmware), Config::new(index, routes.clone()));
        let outcome = Ended::default();
        outcomes.push(outcome.clone());
        let programs = &mut world.nodes[here].programs;
        programs.spawn("exchange", move |machine| async move {
            let started = Emp::start(machine.clone(), machine, Some(&*firmware), config).await;
            let mut emp = match started {
                Ok(emp) => emp,
                Err(error) => return outcome.set(Err(error.to_string())),
            };
            let rest = START.ps().saturating_sub(emp.system().now_ps());
            emp.system_mut().compute(rest / 1000).await;
            outcome.set(exchange(&mut emp, index, bytes, messages).await);
        });
    }
    Ok((world, outcomes))
}

fn main() -> anyhow::Result<()> {
    let numbers: Result<Vec<u32>, _> = std::env::args().skip(1).map(|a| a.parse()).collect();
    let numbers = numbers.context(USAGE)?;
    let first: [u32; 3] = numbers
        .get(..3)
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| anyhow!(USAGE))?;
    let threads = numbers.get(3).copied().unwrap_or(1) as usize;
    let rate = f64::from(numbers.get(4).copied().unwrap_or(0)) / 1000.0;
    let (mut world, outcomes) = star(first, rate)?;
    let mut limits = RunLimits {
        threads: threads.try_into()?,
        max_time: Some(START),
        ..RunLimits::default()
    };
    world.pass_time(&limits);
    limits.max_time = None;
    let clock = Instant::now();
    let end = world.run(&limits);
    let wall = clock.elapsed();
    ensure!(end == RunEnd::Completed, "{end:?}");
    for outcome in outcomes {
        let outcome = outcome.take().context("a program ended early")?;
        outcome.map_err(|error| anyhow!(error))?;
    }
    let [nodes, bytes, messages] = first;
    let all = f64::from(nodes) * f64::from(messages);
    let us = wall.as_secs_f64() * 1e6 / all;
    let simulated_us = (world.now() - START).us();
    println!(
        "{nodes} nodes, {all} messages of {bytes} bytes in {simulated_us:.0} us simulated: \
         {us:.2} us of wall time each, trace {:016x}",
        world.trace_hash()
    );
    Ok(())
}
