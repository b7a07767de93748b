//! Claims of the publication without a number, judged by measurements.

use super::results::{LONG, NODES, Results, method};
use super::rows::{costs_ns, mean_cost_ns};
use lanigon_experiments::verdict::{Claim, Judgement};

/// The length below which a multi-send is said to be slower, in bytes.
const CROSSOVER: u32 = 32;
/// Bytes of a packet.
const PACKET: u32 = 1536;
/// Published limit of what multi-sends cost another packet, in ns.
const COST_NS: f64 = 500.0;
/// Times that differ by less than this share are equal.
const EQUAL: f64 = 0.005;

pub(super) const CLAIMS: [Claim<Results>; 8] = [
    Claim("dissertation-010", |results| {
        let (mean, all) = (mean_cost_ns(results)?, costs_ns(results)?);
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let text = format!("mean {mean:.0} ns; by length {least:.0} to {most:.0} ns");
        Some((mean < COST_NS, text))
    }),
    Claim("dissertation-040", |results| {
        gains(results, |bytes| bytes < CROSSOVER, |gain| gain < 1.0)
    }),
    Claim("dissertation-041", |results| {
        gains(results, |bytes| bytes > CROSSOVER, |gain| gain > 1.0)
    }),
    Claim("dissertation-043", |results| {
        let mut least: Option<(f64, String)> = None;
        for nodes in NODES {
            for &bytes in &results.sizes {
                let gain = results.gain(nodes, true, bytes)?;
                if least.as_ref().is_none_or(|(known, _)| gain < *known) {
                    least = Some((gain, format!("{nodes} nodes, {bytes} bytes")));
                }
            }
        }
        let (gain, place) = least?;
        Some((gain > 1.0, format!("least gain {gain:.2}: {place}")))
    }),
    Claim("dissertation-044", |results| {
        let gain = |bytes| results.gain(16, true, bytes);
        let [before, dip, behind] = [gain(1024)?, gain(2048)?, gain(4096)?];
        let text = format!("{before:.2}, {dip:.2}, {behind:.2}");
        Some((dip < before && dip < behind, text))
    }),
    Claim("dissertation-050", pipelining),
    Claim("dissertation-052", |results| {
        let mut all = Vec::new();
        for &bytes in results.sizes.iter().filter(|bytes| **bytes < CROSSOVER) {
            all.push((bytes, results.same_gain(16, false, bytes)?));
        }
        Some((all.iter().all(|(_, gain)| *gain < 1.0), listed(&all)))
    }),
    Claim("dissertation-053", |results| {
        let mut all = Vec::new();
        for nodes in NODES {
            all.push((
                u32::from(nodes),
                f64::from(results.best(nodes, method(false, false), LONG)?.1),
            ));
        }
        Some((all.iter().all(|(_, lambda)| *lambda == 1.0), listed(&all)))
    }),
];

/// Gains of multi-sends to 15 destinations, by length.
fn gains(results: &Results, of: fn(u32) -> bool, holds: fn(f64) -> bool) -> Judgement {
    let mut all = Vec::new();
    for &bytes in results.sizes.iter().filter(|bytes| of(**bytes)) {
        all.push((bytes, results.star_gain(16, bytes)?));
    }
    Some((all.iter().all(|(_, gain)| holds(*gain)), listed(&all)))
}

fn pipelining(results: &Results) -> Judgement {
    let mut worst: (f64, String) = (0.0, "equal everywhere".into());
    for nodes in NODES {
        for &bytes in &results.sizes {
            if nodes != 4 && bytes > PACKET {
                continue;
            }
            let [with, without] = [true, false].map(|on| results.gain(nodes, on, bytes));
            let share = (with? / without? - 1.0).abs();
            if share > worst.0 {
                let text = format!("most {:.2} %: {nodes} nodes, {bytes} bytes", 100.0 * share);
                worst = (share, text);
            }
        }
    }
    Some((worst.0 < EQUAL, worst.1))
}

fn listed(values: &[(u32, f64)]) -> String {
    let texts: Vec<_> = values
        .iter()
        .map(|(at, value)| format!("{at}: {value:.2}"))
        .collect();
    texts.join(", ")
}
