//! Latency benchmark. The ping side posts a receive and then a transmit and waits for both; the pong side
//! posts a receive, waits, then posts a transmit and waits for it. The result is half of the mean round
//! trip.

use emulator::sim::time::SimTime;
use host_lib::emp::{Emp, Source, Tag};

use super::{BenchmarkRun, Error, Setup};
use lanigon_experiments::interval::Estimate;
use lanigon_worlds::emp::{EmpPairs, buffer, text};
use lanigon_worlds::end::ResultSlot;

/// Tag of the messages.
const TAG: u16 = 1;

/// The ping side: stores its start time and the end of each round in `stamps`.
pub async fn ping(
    mut emp: Emp,
    size: u32,
    rounds: usize,
    stamps: ResultSlot<Vec<SimTime>>,
) -> Result<(), String> {
    let out = buffer(&mut emp, size)?;
    let back = buffer(&mut emp, size)?;
    stamps.set(vec![SimTime::from_ps(emp.system().now_ps())]);
    for _ in 0..rounds {
        let receive = emp
            .post_receive(Source::Node(1), Tag::Value(TAG), back)
            .await
            .map_err(text)?;
        let transmit = emp.post_transmit(1, TAG, out).await.map_err(text)?;
        emp.wait(transmit).await.map_err(text)?;
        emp.wait(receive).await.map_err(text)?;
        let now = SimTime::from_ps(emp.system().now_ps());
        stamps.with(|stamps| stamps.get_or_insert_default().push(now));
    }
    Ok(())
}

/// The pong side.
pub async fn pong(mut emp: Emp, size: u32, rounds: usize) -> Result<(), String> {
    let space = buffer(&mut emp, size)?;
    for _ in 0..rounds {
        let receive = emp
            .post_receive(Source::Node(0), Tag::Value(TAG), space)
            .await
            .map_err(text)?;
        emp.wait(receive).await.map_err(text)?;
        let transmit = emp.post_transmit(0, TAG, space).await.map_err(text)?;
        emp.wait(transmit).await.map_err(text)?;
    }
    Ok(())
}

/// Spawns both sides on a pair.
pub fn spawn(pair: &mut EmpPairs, size: u32, rounds: usize) -> BenchmarkRun {
    let stamps = ResultSlot::default();
    let left = stamps.clone();
    let pings = pair.spawn(0, "ping", move |emp| ping(emp, size, rounds, left));
    let pongs = pair.spawn(1, "pong", move |emp| pong(emp, size, rounds));
    BenchmarkRun {
        stamps,
        programs: [("ping", pings), ("pong", pongs)],
    }
}

/// Measures the latency of messages of `size` bytes, in microseconds: half of the mean round trip.
///
/// # Errors
/// If a program cannot finish its rounds.
pub fn measure(setup: &Setup, size: u32) -> Result<Estimate, Error> {
    let mut pair = setup.pair()?;
    let run = spawn(&mut pair, size, setup.rounds.all());
    let mean = run.mean(setup, &mut pair.world)?;
    Ok(mean.estimate(mean.ps / 2.0 / 1e6))
}
