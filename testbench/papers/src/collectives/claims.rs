//! What the publications say without a number, judged by measurements.

mod mpi;

use lanigon_workloads::collective::{Broadcast, Type};

use super::On;
use super::chapter::Chapter;
use super::key::{Form, HOST_BLOCKS, L4, L7, L9, L9_GOSSIP, NODES, PLACES, SKEWS_US, What};
use super::results::Results;
use super::rows::nic_minus_host;
use lanigon_experiments::verdict;

/// Whether a claim is true, with the numbers; `None`: points are missing.
pub(super) type Verdict = Option<(bool, String)>;
/// A claim.
pub(super) type Claim = verdict::Claim<Results>;

/// The claims about operations.
pub(super) const fn of(chapter: Chapter) -> &'static [Claim] {
    match chapter {
        Chapter::Barrier => BARRIER,
        Chapter::Reduction => REDUCTION,
        Chapter::Gossip => GOSSIP,
        Chapter::MpiBarrier => mpi::CLAIMS,
        Chapter::Atomics => super::atomics::judge::CLAIMS,
        Chapter::AbBroadcast => super::bypass::judge::BROADCAST,
        Chapter::AbReduction => super::bypass::judge::REDUCTION,
    }
}

/// Whether a value of each pair of neighbours is smaller than the next one.
fn rises(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] < pair[1])
}

pub(super) fn list(values: &[f64]) -> String {
    let texts: Vec<_> = values.iter().map(|value| format!("{value:.2}")).collect();
    texts.join(", ")
}

/// All values, or `None` if one is missing.
pub(super) fn all<T>(
    of: impl IntoIterator<Item = T>,
    value: impl Fn(T) -> Option<f64>,
) -> Option<Vec<f64>> {
    of.into_iter().map(value).collect()
}

/// Times of the four barriers on the LANai 4: exchange on the NIC, along a tree on the NIC, exchange on hosts, along a tree on hosts.
fn four(results: &Results, nodes: u16) -> Option<[f64; 4]> {
    let at = |on, tree| results.barrier(L4, on, nodes, tree);
    Some([
        at(On::Nic, false)?,
        at(On::Nic, true)?,
        at(On::Host, false)?,
        at(On::Host, true)?,
    ])
}

const BARRIER: &[Claim] = &[
    Claim {
        id: "dissertation-077",
        text: "pairwise exchange on the NIC beats all others; on hosts it beats gather-broadcast [LANai 4; 2, 4, 8, 16 nodes]",
        judge: |results| {
            let times: Vec<_> = NODES
                .into_iter()
                .map(|nodes| four(results, nodes))
                .collect::<Option<_>>()?;
            let best = |[nic, tree, host, host_tree]: &[f64; 4]| {
                nic <= tree && nic < host && nic < host_tree && host < host_tree
            };
            let texts: Vec<_> = times.iter().map(|four| list(four)).collect();
            Some((times.iter().all(best), texts.join("; ")))
        },
    },
    Claim {
        id: "dissertation-078",
        text: "gather-broadcast on the NIC beats both on hosts, but for two nodes, where the hosts' gather-broadcast is faster [LANai 4]",
        judge: |results| {
            let times: Vec<_> = NODES
                .into_iter()
                .map(|nodes| four(results, nodes))
                .collect::<Option<_>>()?;
            let (two, more) = times.split_first()?;
            let better = more
                .iter()
                .all(|[_, tree, host, host_tree]| tree < host && tree < host_tree);
            let texts: Vec<_> = times.iter().map(|four| list(&four[1..])).collect();
            Some((better && two[1] > two[3], texts.join("; ")))
        },
    },
    Claim {
        id: "dissertation-079",
        text: "gather-broadcast gains less on the NIC than pairwise exchange [LANai 4, 16 nodes]",
        judge: |results| {
            let [nic, tree, host, host_tree] = four(results, 16)?;
            let gains = [host_tree / tree, host / nic];
            Some((rises(&gains), format!("gains {}", list(&gains))))
        },
    },
    Claim {
        id: "dissertation-080",
        text: "the LANai 7.2 makes every barrier faster [2, 4, 8 nodes]",
        judge: |results| {
            let mut text = Vec::new();
            let mut holds = true;
            for nodes in [2, 4, 8] {
                for (on, tree) in [
                    (On::Host, false),
                    (On::Host, true),
                    (On::Nic, false),
                    (On::Nic, true),
                ] {
                    let slow = results.barrier(L4, on, nodes, tree)?;
                    let fast = results.barrier(L7, on, nodes, tree)?;
                    holds &= fast < slow;
                    text.push(format!("{slow:.2} to {fast:.2}"));
                }
            }
            Some((holds, text.join(", ")))
        },
    },
];

/// NIC minus host for each node count, for both types.
fn differences(results: &Results, nodes: &[u16], form: Form) -> Option<[Vec<f64>; 2]> {
    let of = |of| all(nodes, |nodes| nic_minus_host(results, *nodes, form, of));
    Some([of(Type::Integer)?, of(Type::Float)?])
}

fn processor(results: &Results, on: On, nodes: u16, skew_us: u64) -> Option<f64> {
    results.at(
        L9,
        on,
        nodes,
        What::Processor {
            of: Type::Integer,
            skew_us,
        },
    )
}

/// Whether the NIC is slower for the first `slow` of some, and faster for the others.
fn crosses(differences: &[f64], slow: usize) -> bool {
    let sides = differences.iter().enumerate();
    sides
        .into_iter()
        .all(|(index, more)| (*more > 0.0) == (index < slow))
}

const REDUCTION: &[Claim] = &[
    Claim {
        id: "dissertation-143",
        text: "integers: the NIC is faster for all but two nodes [2, 4, 8, 16 nodes; NIC minus host, us]",
        judge: |results| {
            let [integer, _] = differences(results, &NODES, Form::Binomial)?;
            Some((crosses(&integer, 1), list(&integer)))
        },
    },
    Claim {
        id: "dissertation-144",
        text: "floating-point numbers: the NIC is faster for all but two and four nodes [NIC minus host, us]",
        judge: |results| {
            let [_, float] = differences(results, &NODES, Form::Binomial)?;
            Some((crosses(&float, 2), list(&float)))
        },
    },
    Claim {
        id: "dissertation-145",
        text: "on hosts integers and floating-point numbers take equally long [within 2 %]",
        judge: |results| {
            let form = Form::Binomial;
            let ratio = |nodes| {
                let of = |of| results.at(L9, On::Host, nodes, What::Reduction { form, of });
                Some(of(Type::Float)? / of(Type::Integer)?)
            };
            let ratios = all(NODES, ratio)?;
            let equal = ratios.iter().all(|ratio| (ratio - 1.0).abs() < 0.02);
            Some((equal, format!("ratios {}", list(&ratios))))
        },
    },
    Claim {
        id: "dissertation-148",
        text: "chains: the host is faster at depth 1, and at depth 2 for floating-point numbers; the NIC beyond [depths 1, 2, 3, 5, 8; NIC minus host, us]",
        judge: |results| {
            let [integer, float] = differences(results, &super::key::TREES, Form::Chain)?;
            let text = format!("integer {}; float {}", list(&integer), list(&float));
            Some((crosses(&integer, 1) && crosses(&float, 2), text))
        },
    },
    Claim {
        id: "dissertation-153",
        text: "stars: the host is faster at every degree [1, 2, 3, 5, 8; NIC minus host, us]",
        judge: |results| {
            let [integer, float] = differences(results, &super::key::TREES, Form::Star)?;
            let holds = integer.iter().chain(&float).all(|more| *more > 0.0);
            Some((
                holds,
                format!("integer {}; float {}", list(&integer), list(&float)),
            ))
        },
    },
    Claim {
        id: "dissertation-157",
        text: "the NIC takes less of the host's time for all but two nodes [NIC minus host, us]",
        judge: |results| {
            let more = |nodes| {
                let on = |on| processor(results, on, nodes, 0);
                Some(on(On::Nic)? - on(On::Host)?)
            };
            let more = all(NODES, more)?;
            Some((crosses(&more, 1), list(&more)))
        },
    },
    Claim {
        id: "dissertation-158",
        text: "the host's mean time rises with the nodes on hosts, falls on the NIC [us]",
        judge: |results| trend(results, 0),
    },
    Claim {
        id: "dissertation-166",
        text: "with delays the host's time rises sharply on hosts, hardly on the NIC [16 nodes; NIC: by less than half as much]",
        judge: |results| {
            let of = |on| all(SKEWS_US, |skew_us| processor(results, on, 16, skew_us));
            let (host, nic) = (of(On::Host)?, of(On::Nic)?);
            let growth = |times: &[f64]| times[times.len() - 1] - times[0];
            let holds = rises(&host) && growth(&nic) < growth(&host) / 2.0;
            Some((
                holds,
                format!("host {}; NIC {} us", list(&host), list(&nic)),
            ))
        },
    },
    Claim {
        id: "dissertation-167",
        text: "with delays up to 1000 us the host's time rises with the nodes on hosts, falls on the NIC [us]",
        judge: |results| trend(results, 1_000),
    },
];

/// The host's time by nodes, on both places.
fn trend(results: &Results, skew_us: u64) -> Verdict {
    let of = |on| all(NODES, |nodes| processor(results, on, nodes, skew_us));
    let (host, nic) = (of(On::Host)?, of(On::Nic)?);
    let falls = rises(&nic.iter().rev().copied().collect::<Vec<_>>());
    let text = format!("host {}; NIC {} us", list(&host), list(&nic));
    Some((rises(&host) && falls, text))
}

/// Times of an all-to-all broadcast: recursive doubling on hosts, on the NIC, concurrent broadcasting.
fn three(results: &Results, nodes: u16, bytes: usize) -> Option<[f64; 3]> {
    let doubling = Broadcast::RecursiveDoubling;
    Some([
        results.all_to_all(On::Host, nodes, doubling, bytes)?,
        results.all_to_all(On::Nic, nodes, doubling, bytes)?,
        results.all_to_all(On::Nic, nodes, Broadcast::ConcurrentBroadcasting, bytes)?,
    ])
}

/// Times from 2 to 16 nodes, as a text.
fn by_nodes(times: &[[f64; 3]]) -> String {
    let texts: Vec<_> = times.iter().map(|three| list(three)).collect();
    texts.join("; ")
}

/// The algorithms on both places.
const PLACED: [(On, Broadcast); 3] = [
    (On::Host, Broadcast::RecursiveDoubling),
    (On::Nic, Broadcast::RecursiveDoubling),
    (On::Nic, Broadcast::ConcurrentBroadcasting),
];

/// How far the times with other places of the nodes are from the usual one at most, as a share of it.
fn displacement(results: &Results, bytes: usize) -> Option<Vec<f64>> {
    all(PLACED, |(on, algorithm)| {
        let usual = results.all_to_all(on, 16, algorithm, bytes)?;
        let shares = all(PLACES, |places| {
            let what = What::Placed {
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
fn host_times(results: &Results, on: On, algorithm: Broadcast) -> Option<Vec<f64>> {
    let cases = HOST_BLOCKS
        .into_iter()
        .flat_map(|bytes| [(bytes, 4), (bytes, 16)]);
    all(cases, |(bytes, nodes)| {
        results.at(L9_GOSSIP, on, nodes, What::HostTime { algorithm, bytes })
    })
}

/// The host's times for both algorithms on boards.
fn nic_host_times(results: &Results) -> Option<[Vec<f64>; 2]> {
    let [_, (_, doubling), (_, concurrent)] = PLACED;
    let of = |algorithm| host_times(results, On::Nic, algorithm);
    Some([of(doubling)?, of(concurrent)?])
}

const GOSSIP: &[Claim] = &[
    Claim {
        id: "gossip-012",
        text: "on hosts the ring is faster than recursive doubling [16 nodes, 4096 bytes; doubling, ring, us]",
        judge: |results| {
            let at = |algorithm| results.all_to_all(On::Host, 16, algorithm, 4_096);
            let (doubling, ring) = (at(Broadcast::RecursiveDoubling)?, at(Broadcast::Ring)?);
            Some((ring < doubling, list(&[doubling, ring])))
        },
    },
    Claim {
        id: "gossip-013",
        text: "collective operations in the firmware do not affect other messages noticeably [latency of a short message; off, on, us; within 2 %]",
        judge: |results| {
            let at = |collectives| results.at(L9_GOSSIP, On::Nic, 2, What::Message { collectives });
            let (off, on) = (at(false)?, at(true)?);
            Some(((on / off - 1.0).abs() < 0.02, list(&[off, on])))
        },
    },
    Claim {
        id: "gossip-014",
        text: "random places of the nodes change little [16 nodes around one crossbar, three orders; 4, then 4096 bytes: largest change of host, doubling, concurrent in %; at most 5 %]",
        judge: |results| {
            let (short, long) = (displacement(results, 4)?, displacement(results, 4_096)?);
            let percents: Vec<_> = short
                .iter()
                .chain(&long)
                .map(|share| 100.0 * share)
                .collect();
            Some((percents.iter().all(|most| *most <= 5.0), list(&percents)))
        },
    },
    Claim {
        id: "gossip-019",
        text: "short blocks: recursive doubling on the NIC is fastest [16 nodes, 4 bytes; host, doubling, concurrent, us]",
        judge: |results| {
            let [host, doubling, concurrent] = three(results, 16, 4)?;
            let text = list(&[host, doubling, concurrent]);
            Some((doubling < host && doubling < concurrent, text))
        },
    },
    Claim {
        id: "gossip-020",
        text: "long blocks: concurrent broadcasting is fastest; both on the NIC beat the host [16 nodes, 4096 bytes]",
        judge: |results| {
            let [host, doubling, concurrent] = three(results, 16, 4_096)?;
            let text = list(&[host, doubling, concurrent]);
            Some((concurrent < doubling && doubling < host, text))
        },
    },
    Claim {
        id: "gossip-021",
        text: "beyond 4 KB bandwidth falls on hosts, not on the NIC, where concurrent broadcasting has most [4096, then 16384 bytes; MB/s of host, doubling, concurrent]",
        judge: |results| {
            let rate = |bytes: usize| Some(three(results, 16, bytes)?.map(|us| bytes as f64 / us));
            let ([host, doubling, concurrent], more) = (rate(4_096)?, rate(16_384)?);
            let keeps = more[1] > 0.95 * doubling && more[2] > 0.95 * concurrent;
            let text = format!("{}; {}", list(&[host, doubling, concurrent]), list(&more));
            Some((more[0] < host && keeps && more[2] > more[1], text))
        },
    },
    Claim {
        id: "gossip-024",
        text: "4 bytes: recursive doubling on the NIC scales best, concurrent broadcasting worst [from 2 to 16 nodes, factor]",
        judge: |results| {
            let (two, many) = (three(results, 2, 4)?, three(results, 16, 4)?);
            let factors = [many[0] / two[0], many[1] / two[1], many[2] / two[2]];
            let holds = factors[1] < factors[0] && factors[0] < factors[2];
            Some((holds, list(&factors)))
        },
    },
    Claim {
        id: "gossip-025",
        text: "4 KB: concurrent broadcasting is best, then recursive doubling on the NIC, then the host [4, 8, 16 nodes; us]",
        judge: |results| {
            let times = [4, 8, 16].map(|nodes| three(results, nodes, 4_096));
            let times: Vec<_> = times.into_iter().collect::<Option<_>>()?;
            let ordered =
                |[host, doubling, concurrent]: &[f64; 3]| concurrent < doubling && doubling < host;
            Some((times.iter().all(ordered), by_nodes(&times)))
        },
    },
    Claim {
        id: "gossip-026",
        text: "on hosts the operation takes most of the host's time, for polls [16 nodes; 4, 1024, 4096 bytes: share of a processor]",
        judge: |results| {
            let algorithm = Broadcast::RecursiveDoubling;
            let share = |bytes| {
                let what = What::HostTime { algorithm, bytes };
                let time = results.all_to_all(On::Host, 16, algorithm, bytes);
                Some(results.at(L9_GOSSIP, On::Host, 16, what)? / time?)
            };
            let shares = all(HOST_BLOCKS, share)?;
            Some((shares.iter().all(|share| *share > 0.5), list(&shares)))
        },
    },
    Claim {
        id: "gossip-027",
        text: "on the NIC the host's part hardly changes with nodes and length: one post and one event [4, 1024, 4096 bytes, each with 4 and 16 nodes; doubling; concurrent; us without polls; the longest within 2 us of the shortest]",
        judge: |results| {
            let times = nic_host_times(results)?;
            let constant = |times: &Vec<f64>| {
                let most = times.iter().copied().fold(0.0, f64::max);
                times.iter().all(|time| most - time < 2.0)
            };
            let text = format!("{}; {}", list(&times[0]), list(&times[1]));
            Some((times.iter().all(constant), text))
        },
    },
    Claim {
        id: "gossip-028",
        text: "the host's part is longer for short blocks, which need one more copy [16 nodes; 4, 1024, 4096 bytes; doubling; us]",
        judge: |results| {
            let [doubling, _] = nic_host_times(results)?;
            let many: Vec<_> = doubling
                .chunks(2)
                .filter_map(|pair| pair.get(1).copied())
                .collect();
            let short = many.first()?;
            let holds = many[1..].iter().all(|time| short > time);
            Some((holds, list(&many)))
        },
    },
];
