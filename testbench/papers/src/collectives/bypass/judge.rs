//! The published figures and claims about application bypass, and what they are here.

use super::super::claims::{Claim, all, every, list, lists};
use super::super::results::Results;
use lanigon_experiments::published::Published;

use super::super::chapter::Chapter;
use super::{ALL, DOUBLES, LATENCY_DOUBLES, MOST_US, Mean, NODES, Operation, Point, SKEWS_US, key};

/// Differences up to this part are none.
const SAME: f64 = 0.1;

/// A time after random delays, in us.
pub(super) fn time(
    results: &Results,
    nodes: u16,
    operation: Operation,
    bypass: bool,
    most_us: u64,
    mean: Mean,
) -> Option<f64> {
    results.of(key(nodes, Point::time(operation, bypass, most_us, mean)))
}

/// How many times shorter it is with bypass.
pub(super) fn gain(
    results: &Results,
    nodes: u16,
    operation: Operation,
    most_us: u64,
    mean: Mean,
) -> Option<f64> {
    let of = |bypass| time(results, nodes, operation, bypass, most_us, mean);
    Some(of(false)? / of(true)?)
}

/// Latency of a reduction, in us.
pub(super) fn latency(
    results: &Results,
    nodes: u16,
    doubles: usize,
    bypass: bool,
    mixed: bool,
) -> Option<f64> {
    let point = Point::Latency {
        doubles,
        bypass,
        mixed,
    };
    results.of(key(nodes, point))
}

/// What a published figure is here.
pub(in super::super) fn measured(
    table: Chapter,
    figure: &Published,
    results: &Results,
) -> Option<f64> {
    let size: usize = figure.scheme.parse().ok()?;
    let operation = match table {
        Chapter::AbReduction => Operation::Reduce(size),
        _ => Operation::Broadcast(size),
    };
    let nodes = figure.nodes;
    match figure.experiment {
        "inside" => gain(results, nodes, operation, MOST_US, Mean::Inside),
        "total" | "skew" => gain(results, nodes, operation, MOST_US, Mean::Total),
        "no skew" => gain(results, nodes, operation, 0, Mean::Total),
        "handlers" => {
            let of = |mean| time(results, nodes, operation, true, MOST_US, mean);
            Some(of(Mean::Total)? - of(Mean::Inside)?)
        }
        _ => None,
    }
}

/// Times in the call of a broadcast at all delays that were measured.
fn inside(results: &Results, bytes: usize, bypass: bool) -> Vec<f64> {
    let operation = Operation::Broadcast(bytes);
    let at = |most_us| time(results, ALL, operation, bypass, most_us, Mean::Inside);
    SKEWS_US.into_iter().filter_map(at).collect()
}

/// Times by number of nodes.
fn by_nodes(
    results: &Results,
    operation: Operation,
    bypass: bool,
    most_us: u64,
) -> Option<Vec<f64>> {
    all(NODES, |nodes| {
        time(results, nodes, operation, bypass, most_us, Mean::Total)
    })
}

/// What chapter 6 says without a number.
pub(in super::super) const BROADCAST: &[Claim<Results>] = &[
    Claim("dissertation-232", |results| {
        let found = inside(results, 1, false);
        let [none, small, rest @ ..] = &found[..] else {
            return None;
        };
        let more = std::iter::once(small).chain(rest);
        let rises = more.is_sorted_by(|a, b| a < b);
        Some((small < none && rises, list(&found)))
    }),
    Claim("dissertation-233", |results| {
        let found = inside(results, 1, true);
        let falls = found.len() > 2 && found.is_sorted_by(|a, b| a > b);
        (!found.is_empty()).then(|| (falls, list(&found)))
    }),
    Claim("dissertation-234", |results| {
        let gains = all([2_048, 4_096, 8_192], |bytes| {
            gain(results, ALL, Operation::Broadcast(bytes), 0, Mean::Inside)
        })?;
        every(&gains, |gain| gain > 1.0)
    }),
    Claim("dissertation-236", |results| {
        let operation = Operation::Broadcast(1);
        let of = |bypass| by_nodes(results, operation, bypass, MOST_US);
        let (usual, bypass) = (of(false)?, of(true)?);
        let rise = |times: &[f64]| times[times.len() - 1] - times[0];
        let holds = usual.is_sorted_by(|a, b| a < b) && rise(&bypass) < 0.1 * rise(&usual);
        Some((holds, lists(&[usual, bypass])))
    }),
    Claim("dissertation-237", |results| {
        let operation = Operation::Broadcast(4_096);
        let of = |bypass| by_nodes(results, operation, bypass, MOST_US);
        let (usual, bypass) = (of(false)?, of(true)?);
        let rise = |times: &[f64]| times[times.len() - 1] - times[0];
        let holds = rise(&bypass) < 0.5 * rise(&usual);
        Some((holds, lists(&[usual, bypass])))
    }),
];

/// Gains of the three lengths, by number of nodes.
fn gains(results: &Results, most_us: u64) -> Option<Vec<Vec<f64>>> {
    let of = |doubles| {
        all(NODES, |nodes| {
            let operation = Operation::Reduce(doubles);
            gain(results, nodes, operation, most_us, Mean::Total)
        })
    };
    DOUBLES.into_iter().map(of).collect()
}

/// Latencies of a double by number of nodes: usual, with bypass.
fn latencies(results: &Results, nodes: &[u16], mixed: bool) -> Option<[Vec<f64>; 2]> {
    let of = |bypass| {
        all(nodes.iter().copied(), |nodes| {
            latency(results, nodes, 1, bypass, mixed)
        })
    };
    Some([of(false)?, of(true)?])
}

fn is_same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < SAME
}

/// What the paper on reductions says without a number.
pub(in super::super) const REDUCTION: &[Claim<Results>] = &[
    Claim("ab-reduction-009", |results| {
        let mixed = latencies(results, &NODES[..4], true)?;
        let equal = latencies(results, &NODES[..4], false)?;
        let pairs = mixed.iter().zip(&equal);
        let same = pairs
            .clone()
            .all(|(a, b)| a.iter().zip(b).all(|(a, b)| is_same(*a, *b)));
        let texts: Vec<_> = pairs.map(|(a, b)| lists(&[a, b])).collect();
        Some((same, texts.join("; ")))
    }),
    Claim("ab-reduction-018", |results| {
        let of = |doubles| {
            let operation = Operation::Reduce(doubles);
            let gain = |most_us| gain(results, ALL, operation, most_us, Mean::Total);
            SKEWS_US.into_iter().filter_map(gain).collect::<Vec<_>>()
        };
        let found: Vec<_> = DOUBLES.into_iter().map(of).collect();
        let holds = found.iter().flatten().all(|gain| *gain > 1.0);
        let measured = found.iter().all(|gains| !gains.is_empty());
        measured.then(|| (holds, lists(&found)))
    }),
    Claim("ab-reduction-019", |results| {
        let found = gains(results, MOST_US)?;
        let grows = |gains: &Vec<f64>| gains[1] > 1.0 && gains[1..].is_sorted_by(|a, b| a < b);
        Some((found.iter().all(grows), lists(&found)))
    }),
    Claim("ab-reduction-020", |results| {
        let gains = all(DOUBLES, |doubles| {
            gain(
                results,
                ALL,
                Operation::Reduce(doubles),
                MOST_US,
                Mean::Total,
            )
        })?;
        Some((gains.is_sorted_by(|a, b| a > b), list(&gains)))
    }),
    Claim("ab-reduction-024", |results| {
        let mut found = gains(results, 0)?;
        for gains in &mut found {
            gains.remove(0);
        }
        let crossing = |gains: &Vec<f64>| gains.iter().position(|gain| *gain > 1.0);
        let crossings: Option<Vec<_>> = found.iter().map(crossing).collect();
        let holds = crossings
            .is_some_and(|crossings| crossings[0] > 0 && crossings.is_sorted_by(|a, b| a >= b));
        Some((holds, lists(&found)))
    }),
    Claim("ab-reduction-025", |results| {
        let of = |bypass| by_nodes(results, Operation::Reduce(4), bypass, 0);
        let (usual, bypass) = (of(false)?, of(true)?);
        let rise = |times: &[f64]| times[times.len() - 1] / times[0];
        let holds = rise(&bypass) < rise(&usual);
        Some((holds, lists(&[usual, bypass])))
    }),
    Claim("ab-reduction-026", |results| {
        let [usual, bypass] = latencies(results, &NODES[..2], true)?;
        let same = usual.iter().zip(&bypass).all(|(a, b)| is_same(*a, *b));
        Some((same, lists(&[usual, bypass])))
    }),
    Claim("ab-reduction-027", |results| {
        let [usual, bypass] = latencies(results, &NODES[1..2], false)?;
        Some((bypass[0] < usual[0], list(&[usual[0], bypass[0]])))
    }),
    Claim("ab-reduction-028", |results| {
        let [usual, bypass] = latencies(results, &NODES[2..], true)?;
        let higher = usual.iter().zip(&bypass).all(|(a, b)| b > a);
        Some((higher, lists(&[usual, bypass])))
    }),
    Claim("ab-reduction-029", |results| {
        let more = all(LATENCY_DOUBLES, |doubles| {
            let of = |bypass| latency(results, ALL, doubles, bypass, true);
            Some(of(true)? - of(false)?)
        })?;
        let rest = &more[1..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        let holds = rest.iter().all(|one| (one / mean - 1.0).abs() < 0.25);
        Some((holds, list(&more)))
    }),
];
