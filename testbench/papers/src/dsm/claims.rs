//! What the paper says without a number, judged by measurements.

use super::results::{APPLICATIONS, LARGE, NODES, PAPERS, Results, SMALL};
use lanigon_experiments::verdict;

/// Whether a claim is true, with the numbers; `None`: points are missing.
type Verdict = Option<(bool, String)>;

/// A claim.
type Claim = verdict::Claim<Results>;

/// Below this share handler time is virtually none.
const NONE: f64 = 0.05;
/// Applications whose handlers remain for locks and changes.
const LOCKING: [&str; 3] = ["Barnes", "Radix", "Integer"];
/// Those that have none.
const OTHERS: [&str; 2] = ["Fft", "Water"];

pub(super) const CLAIMS: [Claim; 19] = [
    Claim {
        id: "ardmar-027",
        text: "async fetches pages slightly faster at 2 and 4 nodes [faster, by less than a third]",
        judge: |results| {
            let gains = fetch_gains(results, &[2, 4])?;
            let holds = gains.iter().all(|gain| (0.667..1.0).contains(gain));
            Some((holds, listed(&gains)))
        },
    },
    Claim {
        id: "ardmar-027b",
        text: "ardmar fetches pages faster from 8 nodes on [async / ardmar at 8 and 16 nodes]",
        judge: |results| {
            let gains = fetch_gains(results, &[8, 16])?;
            Some((gains.iter().all(|gain| *gain > 1.0), listed(&gains)))
        },
    },
    Claim {
        id: "ardmar-028",
        text: "async: time of a fetch grows steeply with nodes [more than proportionally from 2 to 16; us]",
        judge: |results| {
            let times = fetches(results, false)?;
            let steep = times.is_sorted() && times[3] > 8.0 * times[0];
            Some((steep, listed(&times)))
        },
    },
    Claim {
        id: "ardmar-029",
        text: "ardmar: time of a fetch levels off and falls slightly from 8 to 16 nodes [at most as long at 16; us]",
        judge: |results| {
            let times = fetches(results, true)?;
            Some((times[3] <= times[2], listed(&times)))
        },
    },
    Claim {
        id: "ardmar-046",
        text: "Water, small size: ardmar is slower than async [async / ardmar]",
        judge: |results| {
            let size = results.nearest(SMALL);
            let most = results.most();
            let gain = results.gain((PAPERS, "Water", size, most))?;
            Some((gain < 1.0, format!("{gain:.2}")))
        },
    },
    Claim {
        id: "ardmar-047",
        text: "ardmar has the better speed-up in all cases, which contradicts ardmar-046 [Barnes, RS, IS, 3DFFT, Water, all sizes; async / ardmar]",
        judge: |results| {
            let mut gains = Vec::new();
            for &size in results.sizes() {
                for (program, _) in APPLICATIONS {
                    let most = results.most();
                    gains.push(results.gain((PAPERS, program, size, most))?);
                }
            }
            Some((gains.iter().all(|gain| *gain > 1.0), listed(&gains)))
        },
    },
    Claim {
        id: "ardmar-047b",
        text: "RS is faster than on one node under ardmar, slower under async [speed-ups async, ardmar]",
        judge: |results| {
            let [async_, ardmar] = both(|ardmar| {
                let most = results.most();
                results.speed_up("Radix", largest(results), most, ardmar)
            })?;
            let text = format!("{async_:.2}, {ardmar:.2}");
            Some((async_ < 1.0 && ardmar > 1.0, text))
        },
    },
    Claim {
        id: "ardmar-048",
        text: "Barnes: execution time rises with nodes under async [2 nodes against most]",
        judge: |results| trend(results, &["Barnes"], false, "total_us", true),
    },
    Claim {
        id: "ardmar-048b",
        text: "Barnes: execution time falls with nodes under ardmar [2 nodes against most]",
        judge: |results| trend(results, &["Barnes"], true, "total_us", false),
    },
    Claim {
        id: "ardmar-049",
        text: "page time of Barnes, RS, IS, 3DFFT is shorter under ardmar [most nodes; async / ardmar]",
        judge: |results| {
            let four = ["Barnes", "Radix", "Integer", "Fft"];
            ratios(results, &four, "page_us", |ratio| ratio > 1.0)
        },
    },
    Claim {
        id: "ardmar-050",
        text: "RS: page time falls with nodes under ardmar [2 nodes against most]",
        judge: |results| trend(results, &["Radix"], true, "page_us", false),
    },
    Claim {
        id: "ardmar-051",
        text: "IS, 3DFFT, Water scale better under ardmar [gain at most nodes above that at 2; gains at 2 and at most]",
        judge: |results| {
            let three = ["Integer", "Fft", "Water"];
            let mut gains = Vec::new();
            for program in three {
                for nodes in [2, results.most()] {
                    gains.push(results.gain((PAPERS, program, largest(results), nodes))?);
                }
            }
            let better = gains.chunks(2).all(|pair| pair[1] > pair[0]);
            Some((better, listed(&gains)))
        },
    },
    Claim {
        id: "ardmar-052",
        text: "3DFFT, Water: virtually no handler time under ardmar [below 5 % of async's]",
        judge: |results| ratios(results, &OTHERS, "handler_us", |ratio| ratio > 1.0 / NONE),
    },
    Claim {
        id: "ardmar-053",
        text: "Barnes, RS, IS: handler time remains under ardmar, for locks and changes [async / ardmar; above 5 % of async's]",
        judge: |results| {
            let remains = |ratio| (1.0..1.0 / NONE).contains(&ratio);
            ratios(results, &LOCKING, "handler_us", remains)
        },
    },
    Claim {
        id: "ardmar-054",
        text: "page time of nearly all applications ends below async's [at most nodes, 4 of 5 at least; async / ardmar]",
        judge: |results| {
            let all = &APPLICATIONS.map(|(program, _)| program);
            let (_, text) = ratios(results, all, "page_us", |_| true)?;
            let shorter = all.iter().filter(|program| {
                let only = [**program];
                let found = ratios(results, &only, "page_us", |ratio| ratio > 1.0);
                found.is_some_and(|(shorter, _)| shorter)
            });
            Some((shorter.count() >= 4, text))
        },
    },
    Claim {
        id: "ardmar-054b",
        text: "Water: page time rises under async and falls under ardmar [2 nodes against most]",
        judge: |results| {
            let water = ["Water"];
            let (rises, first) = trend(results, &water, false, "page_us", true)?;
            let (falls, second) = trend(results, &water, true, "page_us", false)?;
            Some((rises && falls, format!("{first}; {second}")))
        },
    },
    Claim {
        id: "ardmar-055",
        text: "Barnes, RS, IS: page misses and page time rise with nodes in both protocols, which contradicts ardmar-050 [2 nodes against most]",
        judge: |results| {
            let mut all = Vec::new();
            for ardmar in [false, true] {
                all.push(trend(results, &LOCKING, ardmar, "fetches", true)?);
                all.push(trend(results, &LOCKING, ardmar, "page_us", true)?);
            }
            let texts: Vec<_> = all.iter().map(|(_, text)| text.as_str()).collect();
            Some((all.iter().all(|(rises, _)| *rises), texts.join("; ")))
        },
    },
    Claim {
        id: "ardmar-055b",
        text: "3DFFT: page misses fall with nodes [ardmar, 2 nodes against most]",
        judge: |results| trend(results, &["Fft"], true, "fetches", false),
    },
    Claim {
        id: "ardmar-056",
        text: "3DFFT, Water: more page faults under ardmar [async / ardmar]",
        judge: |results| ratios(results, &OTHERS, "faults", |ratio| ratio < 1.0),
    },
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

fn listed(values: &[f64]) -> String {
    let values: Vec<_> = values.iter().map(|value| format!("{value:.2}")).collect();
    values.join(", ")
}

/// Times of a page fetch by number of nodes, in us.
fn fetches(results: &Results, ardmar: bool) -> Option<[f64; 4]> {
    let times = NODES.map(|nodes| results.fetch_us(PAPERS, nodes, ardmar));
    let [two, four, eight, sixteen] = times;
    Some([two?, four?, eight?, sixteen?])
}

/// Ratio of the time of a page fetch with async to that with ardmar.
fn fetch_gains(results: &Results, nodes: &[u16]) -> Option<Vec<f64>> {
    let gain = |nodes: &u16| {
        let [async_, ardmar] = both(|ardmar| results.fetch_us(PAPERS, *nodes, ardmar))?;
        Some(async_ / ardmar)
    };
    nodes.iter().map(gain).collect()
}

/// A value of a run of the largest size on the paper's testbed.
fn value(results: &Results, program: &str, nodes: u16, ardmar: bool, of: &str) -> Option<f64> {
    results.mean((PAPERS, program, largest(results), nodes), ardmar, of)
}

/// Whether a value rises, or falls, from 2 nodes to most, for all of these applications.
fn trend(results: &Results, programs: &[&str], ardmar: bool, of: &str, rises: bool) -> Verdict {
    let mut all = true;
    let mut texts = Vec::new();
    for &program in programs {
        let first = value(results, program, 2, ardmar, of)?;
        let last = value(results, program, results.most(), ardmar, of)?;
        all &= (last > first) == rises && last != first;
        texts.push(format!("{} {first:.0} to {last:.0}", name(program)));
    }
    Some((all, texts.join(", ")))
}

/// A value under async by that under ardmar at most nodes, and whether all of these applications have a ratio as is said.
fn ratios(results: &Results, programs: &[&str], of: &str, is_so: fn(f64) -> bool) -> Verdict {
    let mut all = true;
    let mut texts = Vec::new();
    for &program in programs {
        let nodes = results.most();
        let [async_, ardmar] = both(|ardmar| value(results, program, nodes, ardmar, of))?;
        all &= is_so(async_ / ardmar);
        texts.push(format!("{} {:.2}", name(program), async_ / ardmar));
    }
    Some((all, texts.join(", ")))
}
