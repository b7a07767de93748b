//! Claims of the publications without a number, judged by measurements.

mod mpi;

use lanigon_workloads::collective::{Broadcast, Type};

use super::ExecutedOn;
use super::chapter::Chapter;
use super::key::{Form, HOST_BLOCKS, L4, L7, L9, L9_GOSSIP, Metric, NODES, PLACES, SKEWS_US};
use super::results::Results;
use super::rows::nic_minus_host;
pub(super) use lanigon_experiments::verdict::{Claim, all, every, list, lists};
use lanigon_experiments::verdict::{Judgement, falls, rises};

/// The claims about operations.
pub(super) const fn for_chapter(chapter: Chapter) -> &'static [Claim<Results>] {
    match chapter {
        Chapter::Barrier => BARRIER,
        Chapter::Reduction => REDUCTION,
        Chapter::Gossip => GOSSIP,
        Chapter::MpiBarrier => mpi::CLAIMS,
    }
}

/// Times of the four barriers on the LANai 4: exchange on the NIC, along a tree on the NIC, exchange on hosts, along a tree on hosts.
fn four(results: &Results, nodes: u16) -> Option<[f64; 4]> {
    let at = |on, tree| results.barrier(L4, on, nodes, tree);
    Some([
        at(ExecutedOn::Nic, false)?,
        at(ExecutedOn::Nic, true)?,
        at(ExecutedOn::Host, false)?,
        at(ExecutedOn::Host, true)?,
    ])
}

const BARRIER: &[Claim<Results>] = &[
    Claim("dissertation-077", |results| {
        let times = all(NODES, |nodes| four(results, nodes))?;
        let best = |[nic, tree, host, host_tree]: &[f64; 4]| {
            nic <= tree && nic < host && nic < host_tree && host < host_tree
        };
        Some((times.iter().all(best), lists(&times)))
    }),
    Claim("dissertation-078", |results| {
        let times = all(NODES, |nodes| four(results, nodes))?;
        let (two, more) = times.split_first()?;
        let better = more
            .iter()
            .all(|[_, tree, host, host_tree]| tree < host && tree < host_tree);
        let texts: Vec<_> = times.iter().map(|four| list(&four[1..])).collect();
        Some((better && two[1] > two[3], texts.join("; ")))
    }),
    Claim("dissertation-079", |results| {
        let [nic, tree, host, host_tree] = four(results, 16)?;
        let gains = [host_tree / tree, host / nic];
        Some((rises(&gains), format!("gains {}", list(&gains))))
    }),
    Claim("dissertation-080", |results| {
        let mut text = Vec::new();
        let mut holds = true;
        for nodes in [2, 4, 8] {
            for (on, tree) in [
                (ExecutedOn::Host, false),
                (ExecutedOn::Host, true),
                (ExecutedOn::Nic, false),
                (ExecutedOn::Nic, true),
            ] {
                let slow = results.barrier(L4, on, nodes, tree)?;
                let fast = results.barrier(L7, on, nodes, tree)?;
                holds &= fast < slow;
                text.push(format!("{slow:.2} to {fast:.2}"));
            }
        }
        Some((holds, text.join(", ")))
    }),
];

/// NIC minus host for each node count, for both types.
fn differences(results: &Results, nodes: &[u16], form: Form) -> Option<[Vec<f64>; 2]> {
    let of = |of| all(nodes, |nodes| nic_minus_host(results, *nodes, form, of));
    Some([of(Type::Integer)?, of(Type::Float)?])
}

fn processor(results: &Results, on: ExecutedOn, nodes: u16, skew_us: u64) -> Option<f64> {
    let of = Type::Integer;
    results.at(L9, on, nodes, Metric::Processor { of, skew_us })
}

/// Whether the NIC is slower for the first `slow` of some, and faster for the others.
fn crosses(differences: &[f64], slow: usize) -> bool {
    let sides = differences.iter().enumerate();
    sides
        .into_iter()
        .all(|(index, more)| (*more > 0.0) == (index < slow))
}

const REDUCTION: &[Claim<Results>] = &[
    Claim("dissertation-143", |results| {
        let [integer, _] = differences(results, &NODES, Form::Binomial)?;
        Some((crosses(&integer, 1), list(&integer)))
    }),
    Claim("dissertation-144", |results| {
        let [_, float] = differences(results, &NODES, Form::Binomial)?;
        Some((crosses(&float, 2), list(&float)))
    }),
    Claim("dissertation-145", |results| {
        let form = Form::Binomial;
        let ratio = |nodes| {
            let of = |of| results.at(L9, ExecutedOn::Host, nodes, Metric::Reduction { form, of });
            Some(of(Type::Float)? / of(Type::Integer)?)
        };
        let ratios = all(NODES, ratio)?;
        let (equal, text) = every(&ratios, |ratio| (ratio - 1.0).abs() < 0.02)?;
        Some((equal, format!("ratios {text}")))
    }),
    Claim("dissertation-148", |results| {
        let [integer, float] = differences(results, &super::key::TREES, Form::Chain)?;
        let text = format!("integer {}; float {}", list(&integer), list(&float));
        Some((crosses(&integer, 1) && crosses(&float, 2), text))
    }),
    Claim("dissertation-153", |results| {
        let [integer, float] = differences(results, &super::key::TREES, Form::Star)?;
        let holds = integer.iter().chain(&float).all(|more| *more > 0.0);
        Some((
            holds,
            format!("integer {}; float {}", list(&integer), list(&float)),
        ))
    }),
    Claim("dissertation-157", |results| {
        let more = |nodes| {
            let on = |on| processor(results, on, nodes, 0);
            Some(on(ExecutedOn::Nic)? - on(ExecutedOn::Host)?)
        };
        let more = all(NODES, more)?;
        Some((crosses(&more, 1), list(&more)))
    }),
    Claim("dissertation-158", |results| trend(results, 0)),
    Claim("dissertation-166", |results| {
        let of = |on| all(SKEWS_US, |skew_us| processor(results, on, 16, skew_us));
        let (host, nic) = (of(ExecutedOn::Host)?, of(ExecutedOn::Nic)?);
        let growth = |times: &[f64]| times[times.len() - 1] - times[0];
        let holds = rises(&host) && growth(&nic) < growth(&host) / 2.0;
        Some((
            holds,
            format!("host {}; NIC {} us", list(&host), list(&nic)),
        ))
    }),
    Claim("dissertation-167", |results| trend(results, 1_000)),
];

/// The host's time by nodes, on both places.
fn trend(results: &Results, skew_us: u64) -> Judgement {
    let of = |on| all(NODES, |nodes| processor(results, on, nodes, skew_us));
    let (host, nic) = (of(ExecutedOn::Host)?, of(ExecutedOn::Nic)?);
    let text = format!("host {}; NIC {} us", list(&host), list(&nic));
    Some((rises(&host) && falls(&nic), text))
}

/// Times of an all-to-all broadcast: recursive doubling on hosts, on the NIC, concurrent broadcasting.
fn three(results: &Results, nodes: u16, bytes: usize) -> Option<[f64; 3]> {
    let doubling = Broadcast::RecursiveDoubling;
    Some([
        results.all_to_all(ExecutedOn::Host, nodes, doubling, bytes)?,
        results.all_to_all(ExecutedOn::Nic, nodes, doubling, bytes)?,
        results.all_to_all(
            ExecutedOn::Nic,
            nodes,
            Broadcast::ConcurrentBroadcasting,
            bytes,
        )?,
    ])
}

/// The algorithms on both places.
const PLACED: [(ExecutedOn, Broadcast); 3] = [
    (ExecutedOn::Host, Broadcast::RecursiveDoubling),
    (ExecutedOn::Nic, Broadcast::RecursiveDoubling),
    (ExecutedOn::Nic, Broadcast::ConcurrentBroadcasting),
];

/// Largest distance of the times with other places of the nodes from the usual time, as a share of it.
fn displacement(results: &Results, bytes: usize) -> Option<Vec<f64>> {
    all(PLACED, |(on, algorithm)| {
        let usual = results.all_to_all(on, 16, algorithm, bytes)?;
        let shares = all(PLACES, |places| {
            let what = Metric::Placed {
                algorithm,
                bytes,
                places,
            };
            Some((results.at(L9_GOSSIP, on, 16, what)? / usual - 1.0).abs())
        });
        shares?.into_iter().reduce(f64::max)
    })
}

/// The host's times for an algorithm: by length of a block, with 4 and with 16 nodes.
fn host_times(results: &Results, on: ExecutedOn, algorithm: Broadcast) -> Option<Vec<f64>> {
    let cases = HOST_BLOCKS
        .into_iter()
        .flat_map(|bytes| [(bytes, 4), (bytes, 16)]);
    all(cases, |(bytes, nodes)| {
        results.at(L9_GOSSIP, on, nodes, Metric::HostTime { algorithm, bytes })
    })
}

/// The host's times for both algorithms on boards.
fn nic_host_times(results: &Results) -> Option<[Vec<f64>; 2]> {
    let [_, (_, doubling), (_, concurrent)] = PLACED;
    let of = |algorithm| host_times(results, ExecutedOn::Nic, algorithm);
    Some([of(doubling)?, of(concurrent)?])
}

const GOSSIP: &[Claim<Results>] = &[
    Claim("gossip-012", |results| {
        let at = |algorithm| results.all_to_all(ExecutedOn::Host, 16, algorithm, 4_096);
        let (doubling, ring) = (at(Broadcast::RecursiveDoubling)?, at(Broadcast::Ring)?);
        Some((ring < doubling, list(&[doubling, ring])))
    }),
    Claim("gossip-013", |results| {
        let at = |collectives| {
            results.at(
                L9_GOSSIP,
                ExecutedOn::Nic,
                2,
                Metric::Message { collectives },
            )
        };
        let (off, on) = (at(false)?, at(true)?);
        Some(((on / off - 1.0).abs() < 0.02, list(&[off, on])))
    }),
    Claim("gossip-014", |results| {
        let (short, long) = (displacement(results, 4)?, displacement(results, 4_096)?);
        let percents: Vec<_> = short
            .iter()
            .chain(&long)
            .map(|share| 100.0 * share)
            .collect();
        every(&percents, |most| most <= 5.0)
    }),
    Claim("gossip-019", |results| {
        let [host, doubling, concurrent] = three(results, 16, 4)?;
        let text = list(&[host, doubling, concurrent]);
        Some((doubling < host && doubling < concurrent, text))
    }),
    Claim("gossip-020", |results| {
        let [host, doubling, concurrent] = three(results, 16, 4_096)?;
        let text = list(&[host, doubling, concurrent]);
        Some((concurrent < doubling && doubling < host, text))
    }),
    Claim("gossip-021", |results| {
        let rate = |bytes: usize| Some(three(results, 16, bytes)?.map(|us| bytes as f64 / us));
        let ([host, doubling, concurrent], more) = (rate(4_096)?, rate(16_384)?);
        let keeps = more[1] > 0.95 * doubling && more[2] > 0.95 * concurrent;
        let text = format!("{}; {}", list(&[host, doubling, concurrent]), list(&more));
        Some((more[0] < host && keeps && more[2] > more[1], text))
    }),
    Claim("gossip-024", |results| {
        let (two, many) = (three(results, 2, 4)?, three(results, 16, 4)?);
        let factors = [many[0] / two[0], many[1] / two[1], many[2] / two[2]];
        let holds = factors[1] < factors[0] && factors[0] < factors[2];
        Some((holds, list(&factors)))
    }),
    Claim("gossip-025", |results| {
        let times = all([4, 8, 16], |nodes| three(results, nodes, 4_096))?;
        let ordered =
            |[host, doubling, concurrent]: &[f64; 3]| concurrent < doubling && doubling < host;
        Some((times.iter().all(ordered), lists(&times)))
    }),
    Claim("gossip-026", |results| {
        let algorithm = Broadcast::RecursiveDoubling;
        let share = |bytes| {
            let what = Metric::HostTime { algorithm, bytes };
            let time = results.all_to_all(ExecutedOn::Host, 16, algorithm, bytes);
            Some(results.at(L9_GOSSIP, ExecutedOn::Host, 16, what)? / time?)
        };
        let shares = all(HOST_BLOCKS, share)?;
        every(&shares, |share| share > 0.5)
    }),
    Claim("gossip-027", |results| {
        let times = nic_host_times(results)?;
        let constant = |times: &Vec<f64>| {
            let most = times.iter().copied().fold(0.0, f64::max);
            times.iter().all(|time| most - time < 2.0)
        };
        Some((times.iter().all(constant), lists(&times)))
    }),
    Claim("gossip-028", |results| {
        let [doubling, _] = nic_host_times(results)?;
        let many: Vec<_> = doubling
            .chunks(2)
            .filter_map(|pair| pair.get(1).copied())
            .collect();
        let short = many.first()?;
        let holds = many[1..].iter().all(|time| short > time);
        Some((holds, list(&many)))
    }),
];
