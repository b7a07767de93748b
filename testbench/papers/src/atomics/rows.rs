//! The published figures beside the measured ones.

use lanigon_experiments::grid::Points;
use lanigon_experiments::published::Published;

use super::{ExecutedOn, HIT, LOCKERS, PAUSES_US, SMP, UP, gain, latency, load, rate};

/// Own value for a published figure.
pub(super) fn value(figure: &Published, points: &Points) -> Option<f64> {
    let of = |how| latency(points, how, HIT);
    let largest = |cpus| {
        let gains = LOCKERS.into_iter();
        let gains = gains.filter_map(|nodes| gain(points, cpus, nodes));
        gains.reduce(f64::max)
    };
    match (figure.experiment, figure.scheme) {
        ("latency", "no-mutex against poll") => Some(of("poll")? / of("no-mutex")?),
        ("latency", "no-mutex against block") => Some(of("block")? / of("no-mutex")?),
        ("latency", scheme) => of(scheme.split(' ').next()?),
        ("lock", "up") => largest(UP),
        ("lock", "smp") => largest(SMP),
        ("load", _) => Some(slope(points, ExecutedOn::Hosts)? / slope(points, ExecutedOn::Boards)?),
        _ => None,
    }
}

/// Busy time of the home's board for a use of the lock, in us: what its utilisation grows by with their rate, between the longest and
/// the shortest pause that were measured.
fn slope(points: &Points, on: ExecutedOn) -> Option<f64> {
    let at = |pause_us| {
        Some((
            rate(points, on, pause_us)?,
            load(points, on, "busy", pause_us)?,
        ))
    };
    let mut measured = PAUSES_US.into_iter().filter_map(at);
    let first = measured.next()?;
    let last = measured.next_back()?;
    Some(1e6 * (last.1 - first.1) / (last.0 - first.0))
}

#[cfg(test)]
mod tests {
    use lanigon_experiments::grid::{PointKey, PointValues};
    use lanigon_experiments::scenarios;

    use super::super::{Atomics, PAPER};

    /// Boards without mutex are twice as fast as servers.
    fn point(key: &PointKey) -> PointValues {
        let us = match key[1] == "no-mutex".into() {
            true => 10.0,
            false => 20.0,
        };
        let pause_us = match key[5] {
            lanigon_experiments::grid::AxisValue::Count(us) if us > 0 => us as f64,
            _ => 1e6,
        };
        let uses = 1e6 / pause_us;
        let all = [us, us, 10_000.0, uses, 1e6, us * uses / 1e6];
        all.map(|value| vec![value]).into()
    }

    #[test]
    fn every_figure_and_claim_has_an_answer_in_each_amount() {
        let values = scenarios::check::<Atomics>(&PAPER, point);
        for id in ["dissertation-190", "dissertation-194", "dissertation-202"] {
            assert!((values[id] - 2.0).abs() < 1e-9, "{id}: {}", values[id]);
        }
    }
}
