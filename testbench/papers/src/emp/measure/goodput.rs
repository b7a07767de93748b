//! Goodput versus loss: one-way messages as in [`one_way`], with random losses in both directions.

use std::fmt::Write;

use defs::emp::control::{COUNTERS, Counter};
use emulator::sim::time::SimTime;
use emulator::wire::fault::{FaultError, FaultRates, RandomFaults};

use super::{Error, Setup, completed, one_way};
use lanigon_worlds::nodes;
use lanigon_worlds::outcome::{ResultSlot, RunError};
use lanigon_worlds::pairs::EmpPairs;

/// Loss rates of the default curve.
pub const RATES: [f64; 7] = [0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1];
/// Message length of the default curve, in bytes.
pub const SIZE: u32 = 65_536;

/// Goodput at one loss rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goodput {
    /// The share of frames that the cable loses.
    pub loss: f64,
    /// Payload bits per second, in millions.
    pub megabits_per_s: f64,
    /// Number of data frames, without retransmissions.
    pub frames_sent: u32,
    /// Number of retransmitted data frames.
    pub frames_resent: u32,
}

/// Measures `messages` messages of `size` bytes at each of `rates`.
///
/// # Errors
/// If a program fails, or a rate is invalid.
pub fn curve(
    setup: &Setup,
    rates: &[f64],
    size: u32,
    messages: usize,
) -> Result<Vec<Goodput>, Error> {
    let one = |&loss: &f64| measure(setup, loss, size, messages);
    rates.iter().map(one).collect()
}

fn measure(setup: &Setup, loss: f64, size: u32, messages: usize) -> Result<Goodput, Error> {
    let mut pair = EmpPairs::one(&setup.image, &setup.profile, &setup.factors)?;
    for node in 0..2 {
        pair.world.add_fault(node, losing(loss, node as u64)?)?;
    }
    let stamps = ResultSlot::default();
    let left = stamps.clone();
    let sender = pair.spawn(0, "sender", move |emp| {
        one_way::send(emp, size, messages, left)
    });
    let receiver = pair.spawn(1, "receiver", move |emp| {
        one_way::receive(emp, size, messages)
    });
    let seen = || stamps.with(|stamps| stamps.as_ref().map_or(0, Vec::len));
    let end = pair
        .world
        .run_until(&setup.limits(), || seen() == messages + 1);
    for (program, outcome) in [("sender", sender), ("receiver", receiver)] {
        if let Some(Err(message)) = outcome.take() {
            return Err(RunError::Program { program, message }.into());
        }
    }
    completed(end)?;
    let stamps = stamps.take().unwrap_or_default();
    let (first, last) = (stamps.first(), stamps.last());
    let span = last
        .copied()
        .unwrap_or(SimTime::ZERO)
        .saturating_sub(first.copied().unwrap_or(SimTime::ZERO));
    let bits = f64::from(size) * 8.0 * messages as f64;
    let counter = |counter: Counter| {
        nodes::firmware_word(&pair.world.nodes[0], COUNTERS + 4 * counter as u32)
    };
    Ok(Goodput {
        loss,
        megabits_per_s: bits / (span.ps() as f64 / 1e6),
        frames_sent: counter(Counter::FramesSent),
        frames_resent: counter(Counter::FramesResent),
    })
}

fn losing(loss: f64, stream: u64) -> Result<Box<RandomFaults>, FaultError> {
    let rates = FaultRates {
        loss,
        ..FaultRates::default()
    };
    Ok(Box::new(RandomFaults::new(rates, 1, stream)?))
}

/// Goodput relative to the first point.
fn share(points: &[Goodput], point: &Goodput) -> f64 {
    let whole = points.first().map_or(0.0, |first| first.megabits_per_s);
    point.megabits_per_s / whole
}

/// Points as text.
#[must_use]
pub fn table(points: &[Goodput]) -> String {
    let mut text = String::from("loss %   goodput Mb/s   share %   frames sent   sent again\n");
    for point in points {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:6.1}   {:12.1}   {:7.1}   {:11}   {:10}",
            point.loss * 100.0,
            point.megabits_per_s,
            share(points, point) * 100.0,
            point.frames_sent,
            point.frames_resent
        );
    }
    text
}

/// Points as CSV.
#[must_use]
pub fn csv(points: &[Goodput]) -> String {
    let mut text = String::from("loss,goodput_megabits_per_s,share,frames_sent,frames_resent\n");
    for point in points {
        let _ = writeln!(
            text,
            "{},{:.3},{:.4},{},{}",
            point.loss,
            point.megabits_per_s,
            share(points, point),
            point.frames_sent,
            point.frames_resent
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_first_point() {
        let point = |loss, megabits_per_s| Goodput {
            loss,
            megabits_per_s,
            frames_sent: 90,
            frames_resent: 9,
        };
        let points = [point(0.0, 800.0), point(0.01, 600.0)];
        let expected = "loss,goodput_megabits_per_s,share,frames_sent,frames_resent\n\
                        0,800.000,1.0000,90,9\n0.01,600.000,0.7500,90,9\n";
        assert_eq!(csv(&points), expected);
        assert!(table(&points).lines().nth(2).unwrap().contains(" 75.0 "));
    }
}
