//! Claims of the paper without a number, judged by measurements.

use super::results::{APPLICATIONS, LARGE, NODES, PAPERS, Results, SMALL};
use lanigon_experiments::verdict::{Claim, Judgement, all, every, list};

/// Below this share handler time is virtually none.
const NONE: f64 = 0.05;
/// Applications whose handlers remain for locks and changes.
const LOCKING: [&str; 3] = ["Barnes", "Radix", "Integer"];
/// Applications without such handlers.
const OTHERS: [&str; 2] = ["Fft", "Water"];

pub(super) const CLAIMS: [Claim<Results>; 19] = [
    Claim("ardmar-027", |results| {
        let gains = fetch_gains(results, &[2, 4])?;
        every(&gains, |gain| (0.667..1.0).contains(&gain))
    }),
    Claim("ardmar-027b", |results| {
        let gains = fetch_gains(results, &[8, 16])?;
        every(&gains, |gain| gain > 1.0)
    }),
    Claim("ardmar-028", |results| {
        let times = fetches(results, false)?;
        let steep = times.is_sorted() && times[3] > 8.0 * times[0];
        Some((steep, list(&times)))
    }),
    Claim("ardmar-029", |results| {
        let times = fetches(results, true)?;
        Some((times[3] <= times[2], list(&times)))
    }),
    Claim("ardmar-046", |results| {
        let size = results.nearest(SMALL);
        let most = results.most();
        let gain = results.gain((PAPERS, "Water", size, most))?;
        Some((gain < 1.0, format!("{gain:.2}")))
    }),
    Claim("ardmar-047", |results| {
        let mut gains = Vec::new();
        for &size in results.sizes() {
            for (program, _) in APPLICATIONS {
                let most = results.most();
                gains.push(results.gain((PAPERS, program, size, most))?);
            }
        }
        every(&gains, |gain| gain > 1.0)
    }),
    Claim("ardmar-047b", |results| {
        let [async_, ardmar] = both(|ardmar| {
            let most = results.most();
            results.speed_up("Radix", largest(results), most, ardmar)
        })?;
        let text = format!("{async_:.2}, {ardmar:.2}");
        Some((async_ < 1.0 && ardmar > 1.0, text))
    }),
    Claim("ardmar-048", |results| {
        trend(results, &["Barnes"], false, "total_us", true)
    }),
    Claim("ardmar-048b", |results| {
        trend(results, &["Barnes"], true, "total_us", false)
    }),
    Claim("ardmar-049", |results| {
        let four = ["Barnes", "Radix", "Integer", "Fft"];
        ratios(results, &four, "page_us", |ratio| ratio > 1.0)
    }),
    Claim("ardmar-050", |results| {
        trend(results, &["Radix"], true, "page_us", false)
    }),
    Claim("ardmar-051", |results| {
        let three = ["Integer", "Fft", "Water"];
        let mut gains = Vec::new();
        for program in three {
            for nodes in [2, results.most()] {
                gains.push(results.gain((PAPERS, program, largest(results), nodes))?);
            }
        }
        let better = gains.chunks(2).all(|pair| pair[1] > pair[0]);
        Some((better, list(&gains)))
    }),
    Claim("ardmar-052", |results| {
        ratios(results, &OTHERS, "handler_us", |ratio| ratio > 1.0 / NONE)
    }),
    Claim("ardmar-053", |results| {
        let remains = |ratio| (1.0..1.0 / NONE).contains(&ratio);
        ratios(results, &LOCKING, "handler_us", remains)
    }),
    Claim("ardmar-054", |results| {
        let all = &APPLICATIONS.map(|(program, _)| program);
        let (_, text) = ratios(results, all, "page_us", |_| true)?;
        let shorter = all.iter().filter(|program| {
            let only = [**program];
            let found = ratios(results, &only, "page_us", |ratio| ratio > 1.0);
            found.is_some_and(|(shorter, _)| shorter)
        });
        Some((shorter.count() >= 4, text))
    }),
    Claim("ardmar-054b", |results| {
        let water = ["Water"];
        let (rises, first) = trend(results, &water, false, "page_us", true)?;
        let (falls, second) = trend(results, &water, true, "page_us", false)?;
        Some((rises && falls, format!("{first}; {second}")))
    }),
    Claim("ardmar-055", |results| {
        let mut all = Vec::new();
        for ardmar in [false, true] {
            all.push(trend(results, &LOCKING, ardmar, "fetches", true)?);
            all.push(trend(results, &LOCKING, ardmar, "page_us", true)?);
        }
        let texts: Vec<_> = all.iter().map(|(_, text)| text.as_str()).collect();
        Some((all.iter().all(|(rises, _)| *rises), texts.join("; ")))
    }),
    Claim("ardmar-055b", |results| {
        trend(results, &["Fft"], true, "fetches", false)
    }),
    Claim("ardmar-056", |results| {
        ratios(results, &OTHERS, "faults", |ratio| ratio < 1.0)
    }),
];

/// The largest size of the run.
fn largest(results: &Results) -> &'static str {
    results.nearest(LARGE)
}

/// As the paper calls an application.
fn name(program: &str) -> &'static str {
    let found = APPLICATIONS.iter().find(|(known, _)| *known == program);
    found.map_or("", |(_, name)| name)
}

fn both(value: impl Fn(bool) -> Option<f64>) -> Option<[f64; 2]> {
    Some([value(false)?, value(true)?])
}

/// Times of a page fetch by number of nodes, in us.
fn fetches(results: &Results, ardmar: bool) -> Option<Vec<f64>> {
    all(NODES, |nodes| results.fetch_us(PAPERS, nodes, ardmar))
}

/// Ratio of the time of a page fetch with async to that with ardmar.
fn fetch_gains(results: &Results, nodes: &[u16]) -> Option<Vec<f64>> {
    all(nodes, |nodes| {
        let [async_, ardmar] = both(|ardmar| results.fetch_us(PAPERS, *nodes, ardmar))?;
        Some(async_ / ardmar)
    })
}

/// A value of a run of the largest size on the paper's testbed.
fn value(results: &Results, program: &str, nodes: u16, ardmar: bool, of: &str) -> Option<f64> {
    results.mean((PAPERS, program, largest(results), nodes), ardmar, of)
}

/// Whether a value rises, or falls, from 2 nodes to most, for all of these applications.
fn trend(results: &Results, programs: &[&str], ardmar: bool, of: &str, rises: bool) -> Judgement {
    let mut every = true;
    let mut texts = Vec::new();
    for &program in programs {
        let first = value(results, program, 2, ardmar, of)?;
        let last = value(results, program, results.most(), ardmar, of)?;
        every &= (last > first) == rises && last != first;
        texts.push(format!("{} {first:.0} to {last:.0}", name(program)));
    }
    Some((every, texts.join(", ")))
}

/// A value under async by that under ardmar at most nodes, and whether all of these applications have a ratio as is said.
fn ratios(results: &Results, programs: &[&str], of: &str, is_so: fn(f64) -> bool) -> Judgement {
    let mut every = true;
    let mut texts = Vec::new();
    for &program in programs {
        let nodes = results.most();
        let [async_, ardmar] = both(|ardmar| value(results, program, nodes, ardmar, of))?;
        every &= is_so(async_ / ardmar);
        texts.push(format!("{} {:.2}", name(program), async_ / ardmar));
    }
    Some((every, texts.join(", ")))
}
