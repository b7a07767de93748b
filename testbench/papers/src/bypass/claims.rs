//! Claims of the publications without a number, judged by measurements.

use lanigon_experiments::grid::Points;
use lanigon_experiments::verdict::{Claim, all, every, falls, list, lists, rises};

use super::{
    ALL, DELAYS_US, INSIDE, MOST_US, NODES, TOTAL, Time, broadcast, gain, latency, reduction,
};

/// Differences up to this part are none.
const SAME: f64 = 0.1;
/// Doubles of a reduction.
const DOUBLES: [u32; 3] = [4, 32, 128];
/// Doubles of the latency of a reduction.
const LATENCY_DOUBLES: [u32; 5] = [1, 4, 16, 64, 128];

/// Times in the call of a broadcast of a byte, at all delays that were measured.
fn inside(points: &Points, bypass: bool) -> Vec<f64> {
    let time = broadcast(points, 1);
    let at = |delay_us| time(bypass, ALL, delay_us, INSIDE);
    DELAYS_US.into_iter().filter_map(at).collect()
}

/// Times by number of nodes: usual, with bypass.
fn by_nodes(time: Time<'_>, delay_us: u32) -> Option<[Vec<f64>; 2]> {
    let of = |bypass| all(NODES, |nodes| time(bypass, nodes, delay_us, TOTAL));
    Some([of(false)?, of(true)?])
}

/// Whether times with bypass rise less with the nodes than a share of the usual rise.
fn rises_less([usual, bypass]: &[Vec<f64>; 2], share: f64) -> bool {
    let rise = |times: &[f64]| times[times.len() - 1] - times[0];
    rise(bypass) < share * rise(usual)
}

/// Claims of chapter 6 without a number.
pub(super) const BROADCAST: &[Claim<Points>] = &[
    Claim("dissertation-232", |points| {
        let found = inside(points, false);
        let [none, small, ..] = &found[..] else {
            return None;
        };
        Some((small < none && rises(&found[1..]), list(&found)))
    }),
    Claim("dissertation-233", |points| {
        let found = inside(points, true);
        let all_fall = found.len() > 2 && falls(&found);
        (!found.is_empty()).then(|| (all_fall, list(&found)))
    }),
    Claim("dissertation-234", |points| {
        let gains = all([2_048, 4_096, 8_192], |bytes| {
            gain(&broadcast(points, bytes), ALL, 0, INSIDE)
        })?;
        every(&gains, |gain| gain > 1.0)
    }),
    Claim("dissertation-236", |points| {
        let times = by_nodes(&broadcast(points, 1), MOST_US)?;
        Some((rises(&times[0]) && rises_less(&times, 0.1), lists(&times)))
    }),
    Claim("dissertation-237", |points| {
        let times = by_nodes(&broadcast(points, 4_096), MOST_US)?;
        Some((rises_less(&times, 0.5), lists(&times)))
    }),
];

/// Gains of the three lengths, by number of nodes.
fn gains(points: &Points, delay_us: u32) -> Option<Vec<Vec<f64>>> {
    all(DOUBLES, |doubles| {
        let time = reduction(points, doubles);
        all(NODES, |nodes| gain(&time, nodes, delay_us, TOTAL))
    })
}

/// Latencies of a double by number of nodes: usual, with bypass.
fn latencies(points: &Points, nodes: &[u16], hosts: &str) -> Option<[Vec<f64>; 2]> {
    let of = |bypass| all(nodes, |nodes| latency(points, hosts, *nodes, 1, bypass));
    Some([of(false)?, of(true)?])
}

/// Whether all values are the same.
fn same(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a / b - 1.0).abs() < SAME)
}

/// Claims of the paper on reductions without a number.
pub(super) const REDUCTION: &[Claim<Points>] = &[
    Claim("ab-reduction-009", |points| {
        let mixed = latencies(points, &NODES[..4], "mixed")?;
        let equal = latencies(points, &NODES[..4], "equal")?;
        let pairs = mixed.iter().zip(&equal);
        let texts: Vec<_> = pairs.clone().map(|(a, b)| lists(&[a, b])).collect();
        let all_same = pairs.into_iter().all(|(a, b)| same(a, b));
        Some((all_same, texts.join("; ")))
    }),
    Claim("ab-reduction-018", |points| {
        let found = DOUBLES.map(|doubles| {
            let gain = |delay_us| gain(&reduction(points, doubles), ALL, delay_us, TOTAL);
            DELAYS_US.into_iter().filter_map(gain).collect::<Vec<_>>()
        });
        let holds = found.iter().flatten().all(|gain| *gain > 1.0);
        let measured = found.iter().all(|gains| !gains.is_empty());
        measured.then(|| (holds, lists(&found)))
    }),
    Claim("ab-reduction-019", |points| {
        let found = gains(points, MOST_US)?;
        let grows = |gains: &Vec<f64>| gains[1] > 1.0 && rises(&gains[1..]);
        Some((found.iter().all(grows), lists(&found)))
    }),
    Claim("ab-reduction-020", |points| {
        let gains = all(DOUBLES, |doubles| {
            gain(&reduction(points, doubles), ALL, MOST_US, TOTAL)
        })?;
        Some((falls(&gains), list(&gains)))
    }),
    Claim("ab-reduction-024", |points| {
        let mut found = gains(points, 0)?;
        for gains in &mut found {
            gains.remove(0);
        }
        let crossing = |gains: &Vec<f64>| gains.iter().position(|gain| *gain > 1.0);
        let crossings: Option<Vec<_>> = found.iter().map(crossing).collect();
        let holds = crossings
            .is_some_and(|crossings| crossings[0] > 0 && crossings.is_sorted_by(|a, b| a >= b));
        Some((holds, lists(&found)))
    }),
    Claim("ab-reduction-025", |points| {
        let times = by_nodes(&reduction(points, 4), 0)?;
        let [usual, bypass] = times
            .each_ref()
            .map(|times| times[times.len() - 1] / times[0]);
        Some((bypass < usual, lists(&times)))
    }),
    Claim("ab-reduction-026", |points| {
        let found = latencies(points, &NODES[..2], "mixed")?;
        Some((same(&found[0], &found[1]), lists(&found)))
    }),
    Claim("ab-reduction-027", |points| {
        let [usual, bypass] = latencies(points, &NODES[1..2], "equal")?;
        Some((bypass[0] < usual[0], list(&[usual[0], bypass[0]])))
    }),
    Claim("ab-reduction-028", |points| {
        let [usual, bypass] = latencies(points, &NODES[2..], "mixed")?;
        let higher = usual.iter().zip(&bypass).all(|(a, b)| b > a);
        Some((higher, lists(&[usual, bypass])))
    }),
    Claim("ab-reduction-029", |points| {
        let more = all(LATENCY_DOUBLES, |doubles| {
            let of = |bypass| latency(points, "mixed", ALL, doubles, bypass);
            Some(of(true)? - of(false)?)
        })?;
        let rest = &more[1..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        let holds = rest.iter().all(|one| (one / mean - 1.0).abs() < 0.25);
        Some((holds, list(&more)))
    }),
];
