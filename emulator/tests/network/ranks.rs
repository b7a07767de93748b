//! Several ranks share a world: results are those of one process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cases::cases;
use emulator::sim::ranks::{RankError, Ranks, Transport, channels};
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use emulator::wire::ethernet::link::Link;
use emulator::wire::ethernet::switch::Forwarding::{CutThrough, StoreAndForward};
use emulator::wire::ethernet::switch::SwitchConfig;
use emulator::wire::fault::{FaultRates, RandomFaults};
use emulator::wire::port::Port;
use host_lib::address::MacAddress;
use proptest::prelude::*;

use crate::backpressure::blocked;
use crate::rounds::chatting;
use crate::station::{
    GIGABIT, Manner, Received, Station, address, frame, run_us, send_at, stations, switch,
};
use crate::wormhole::nic::Nic;

/// Runs `act` for each rank of a run, in a thread of its own; returns the results by rank.
fn each_rank<T: Send>(ranks: usize, act: impl Fn(Box<dyn Transport>) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let threads = channels(ranks).into_iter().map(|transport| {
            let act = &act;
            scope.spawn(move || act(Box::new(transport)))
        });
        let threads: Vec<_> = threads.collect();
        let results = threads.into_iter().map(|thread| thread.join());
        results
            .map(|result| result.expect("a thread that ends"))
            .collect()
    })
}

fn limits(us: u64, threads: usize) -> RunLimits {
    RunLimits {
        max_time: Some(SimTime::from_us(us)),
        threads: threads.try_into().expect("a thread"),
        ..RunLimits::default()
    }
}

struct Outcome<T> {
    hash: u64,
    /// Counts of the network.
    counts: Vec<String>,
    /// The saved world at the end of each part: at rank 0.
    states: Vec<Vec<u8>>,
    /// Results of this rank's nodes.
    mine: Vec<(usize, T)>,
}

/// Runs a world in parts that end at these times.
fn shared<T>(
    transport: Box<dyn Transport>,
    mut world: World,
    (threads, parts_us): (usize, &[u64]),
    of_node: impl Fn(&World, usize) -> T,
) -> Outcome<T> {
    let mut ranks = Ranks::new(transport, &mut world);
    let mut states = Vec::new();
    for &us in parts_us {
        let passed = world.pass_time_shared(&mut ranks, &limits(us, threads));
        assert_eq!(passed, Ok(true));
        let saved = world.save_shared(&mut ranks).expect("all ranks live");
        let saved = saved.expect("no programs that cannot be saved");
        assert_eq!(saved.is_some(), ranks.rank() == 0);
        states.extend(saved.map(|(state, _)| state));
    }
    world.complete_shared(&mut ranks).expect("all ranks live");
    assert_eq!(
        world.now(),
        SimTime::from_us(*parts_us.last().expect("a part"))
    );
    let mine = (0..world.nodes.len()).filter(|&node| ranks.owns(node));
    let mine = mine.map(|node| (node, of_node(&world, node))).collect();
    Outcome {
        hash: world.trace_hash(),
        counts: counts(&world),
        states,
        mine,
    }
}

/// Counts of the lines and switches of an Ethernet.
fn counts(world: &World) -> Vec<String> {
    let nodes = (0..world.nodes.len()).map(Port::Node);
    let ports = world
        .switches()
        .iter()
        .enumerate()
        .flat_map(|(switch, of)| {
            let ports = 0..of.counts().count();
            ports.map(move |port| Port::Switch { switch, port })
        });
    let lines = nodes.chain(ports).filter_map(|port| {
        let (line, faults) = (
            world.line_counts(port).ok()?,
            world.fault_counts(port).ok()?,
        );
        let faults: Vec<_> = faults.collect();
        Some(format!("{port}: {line:?} {faults:?}"))
    });
    let switches = world.switches().iter();
    let switches = switches.map(|switch| format!("{:?}", switch.counts().collect::<Vec<_>>()));
    lines.chain(switches).collect()
}

/// A number of ranks, of threads of each, and the times in us at which parts of the run end.
type Sharing<'a> = (usize, usize, &'a [u64]);

/// Compares a world that ranks share in several ways with the same world in one process.
#[track_caller]
fn check_shared<T: PartialEq + Send>(
    build: impl Fn() -> World + Sync,
    sharings: &[Sharing<'_>],
    of_node: impl Fn(&World, usize) -> T + Sync,
) {
    let mut world = build();
    let us = sharings[0].2.last().expect("a part");
    run_us(&mut world, *us, 1);
    let of_one_process = |parts: &[u64]| {
        let mut world = build();
        let states = parts.iter().map(|&us| {
            run_us(&mut world, us, 1);
            world.save().expect("no programs that cannot be saved")
        });
        states.collect::<Vec<_>>()
    };
    let expected: Vec<_> = (0..world.nodes.len())
        .map(|node| (node, of_node(&world, node)))
        .collect();
    for &(ranks, threads, parts) in sharings {
        let outcomes = each_rank(ranks, |transport| {
            shared(transport, build(), (threads, parts), &of_node)
        });
        let mut nodes = Vec::new();
        for (rank, outcome) in outcomes.into_iter().enumerate() {
            assert_eq!(outcome.counts, counts(&world), "{ranks} ranks");
            assert_eq!(outcome.hash, world.trace_hash(), "{ranks} ranks");
            nodes.extend(outcome.mine);
            if rank == 0 {
                let is_equal = outcome.states == of_one_process(parts);
                assert!(is_equal, "another state with {ranks} ranks");
            }
        }
        nodes.sort_by_key(|(node, _)| *node);
        assert!(nodes == expected, "{ranks} ranks");
    }
}

#[track_caller]
fn check<T: PartialEq + Send>(
    build: impl Fn() -> World + Sync,
    us: u64,
    of_node: impl Fn(&World, usize) -> T + Sync,
) {
    let (whole, parts) = ([us], [1, us / 3, us / 2, us]);
    let sharings: [Sharing<'_>; 5] = [
        (1, 1, &whole),
        (2, 1, &whole),
        (2, 2, &parts),
        (3, 1, &parts),
        (7, 1, &whole),
    ];
    check_shared(build, &sharings, of_node);
}

fn received(world: &World, node: usize) -> Vec<Received> {
    world.nodes[node].board::<Station>().received.clone()
}

#[test]
fn switches_with_faults_and_a_cut() {
    for forwarding in [StoreAndForward, CutThrough] {
        check(|| chatting(forwarding), 3000, received);
    }
}

/// Five pairs, of which one has a faulty cable and so runs in rounds.
fn pairs() -> World {
    let mut world = stations(10);
    for node in 0..10 {
        let times = 200;
        let manner = Manner::Chat {
            stations: 10,
            times,
        };
        world.nodes[usize::from(node)].board_mut::<Station>().manner = manner;
        if node % 2 == 0 {
            let ends = (usize::from(node), usize::from(node) + 1);
            world.connect(ends.0, ends.1, GIGABIT).expect("a free port");
        }
        let data = frame(address(node ^ 1), node, 1, 64 + 40 * usize::from(node));
        send_at(&mut world, node.into(), 300 * u64::from(node), data);
    }
    world
}

#[test]
fn pairs_stay_together() {
    check(pairs, 2000, received);
    let mut world = pairs();
    for transport in channels(3) {
        let ranks = Ranks::new(Box::new(transport), &mut world);
        let owners: Vec<_> = (0..10).map(|node| ranks.owner(node)).collect();
        assert_eq!(owners, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1]);
    }
}

/// A switch of a random tree.
#[derive(Debug, Clone)]
struct Branch {
    /// The one before it in the tree: this number of those that stand before it.
    parent: prop::sample::Index,
    config: SwitchConfig,
    /// The link to it.
    link: Link,
    has_faults: bool,
}

/// A random tree of switches.
#[derive(Debug, Clone)]
struct Tree {
    branches: Vec<Branch>,
    /// For each station, its switch, and whether its link has faults.
    homes: Vec<(prop::sample::Index, bool)>,
    /// Stations that send a frame to all others at first.
    greets: bool,
}

fn branch() -> impl Strategy<Value = Branch> {
    let forwarding = prop_oneof![Just(CutThrough), Just(StoreAndForward)];
    let latency = prop_oneof![Just(0), 1..2_000_u64];
    let link = (prop_oneof![Just(800), Just(8_000)], 0..500_u64);
    let all = (
        any::<prop::sample::Index>(),
        forwarding,
        latency,
        link,
        any::<bool>(),
    );
    all.prop_map(
        |(parent, forwarding, latency, (byte, way), has_faults)| Branch {
            parent,
            config: SwitchConfig {
                latency: SimTime::from_ns(latency),
                buffer_bytes: 3_000,
                ..switch(forwarding, 20)
            },
            link: Link {
                byte_time: SimTime::from_ps(byte),
                propagation: SimTime::from_ns(way),
            },
            has_faults,
        },
    )
}

prop_compose! {
    fn tree()(
        branches in prop::collection::vec(branch(), 1..6),
        homes in prop::collection::vec((any::<prop::sample::Index>(), prop::bool::weighted(0.2)), 2..12),
        greets in any::<bool>(),
    ) -> Tree {
        Tree { branches, homes, greets }
    }
}

impl Tree {
    fn build(&self) -> World {
        let mut world = stations(self.homes.len());
        let mut ports = vec![0; self.branches.len()];
        let mut port_of = |switch: usize| {
            ports[switch] += 1;
            (switch, ports[switch] - 1)
        };
        let faults = |stream| {
            let rates = FaultRates {
                loss: 0.01,
                duplication: 0.03,
                delay: 0.1,
                longest_delay: SimTime::from_us(5),
                corruption: 0.01,
            };
            Box::new(RandomFaults::new(rates, 5, stream).expect("possible rates"))
        };
        for (index, branch) in self.branches.iter().enumerate() {
            world.add_switch(&branch.config).expect("a switch");
            if index > 0 {
                let ends = (port_of(branch.parent.index(index)), port_of(index));
                world.connect(ends.0, ends.1, branch.link).expect("ports");
                if branch.has_faults {
                    world
                        .add_fault(ends.1, faults(100 + index as u64))
                        .expect("a line");
                }
            }
        }
        let stations = self.homes.len() as u8;
        for (node, (home, has_faults)) in self.homes.iter().enumerate() {
            let port = port_of(home.index(self.branches.len()));
            world.connect(node, port, GIGABIT).expect("a port");
            if *has_faults {
                world.add_fault(node, faults(node as u64)).expect("a line");
            }
        }
        for node in 0..stations {
            world.route_to(node.into(), address(node)).expect("a route");
            let times = 40;
            world.nodes[usize::from(node)].board_mut::<Station>().manner =
                Manner::Chat { stations, times };
            let to = match self.greets {
                true => MacAddress([0x03, 0, 0, 0, 0, node]),
                false => address((node + 1) % stations),
            };
            let data = frame(to, node, node * 7 + 1, 64 + 90 * usize::from(node));
            send_at(&mut world, node.into(), 900 * u64::from(node), data);
        }
        world
    }
}

proptest! {
    #![proptest_config(cases(40))]

    /// Switches of any tree belong to ranks, and nothing changes.
    #[test]
    fn a_random_tree(tree in tree(), ranks in 2..6_usize, part in 1..400_u64) {
        check_shared(|| tree.build(), &[(ranks, 1, &[part, 400][..])], received);
    }
}

/// A state that one process or several ranks have saved is where any number of ranks can begin.
#[test]
fn a_saved_world_goes_on_with_other_ranks() {
    let build = || chatting(CutThrough);
    let mut world = build();
    run_us(&mut world, 700, 1);
    let (state, logs) = (world.save().expect("no programs"), world.logs());
    let resumed = || {
        let mut world = build();
        world.load(&state, &logs).expect("the same world");
        world
    };
    let mut expected = Vec::new();
    for us in [900, 2000] {
        run_us(&mut world, us, 1);
        expected.push(world.save().expect("no programs"));
    }
    for ranks in [1, 2, 5] {
        let outcomes = each_rank(ranks, |transport| {
            shared(transport, resumed(), (1, &[900, 2000]), received)
        });
        assert!(outcomes[0].states == expected, "{ranks} ranks");
        assert!(
            outcomes
                .iter()
                .all(|outcome| outcome.hash == world.trace_hash())
        );
    }
}

#[test]
fn a_medium_with_a_reverse_direction() {
    check(blocked, 200, |world, node| {
        world.nodes[node].board::<Nic>().received.clone()
    });
}

#[test]
fn a_rank_that_ends_ends_all() {
    let errors = each_rank(3, |transport| {
        let me = transport.rank();
        let mut world = chatting(CutThrough);
        let mut ranks = Ranks::new(transport, &mut world);
        let us = if me == 1 { 500 } else { 3000 };
        world.pass_time_shared(&mut ranks, &limits(us, 1)).err()
    });
    assert_eq!(errors[1], None);
    for rank in [0, 2] {
        assert!(
            matches!(errors[rank], Some(RankError::Gone(_))),
            "{errors:?}"
        );
    }
}

#[test]
fn an_interrupt_of_one_rank_ends_all_at_the_same_time() {
    let ends = each_rank(3, |transport| {
        let me = transport.rank();
        let mut world = chatting(CutThrough);
        let mut ranks = Ranks::new(transport, &mut world);
        let interrupt = Arc::new(AtomicBool::new(false));
        let limits = RunLimits {
            interrupt: Some(Arc::clone(&interrupt)),
            ..limits(1000, 1)
        };
        let first = world.pass_time_shared(&mut ranks, &limits);
        interrupt.store(me == 2, Ordering::Relaxed);
        let limits = RunLimits {
            max_time: Some(SimTime::from_us(3000)),
            ..limits
        };
        let second = world.pass_time_shared(&mut ranks, &limits);
        (first, second, world.now())
    });
    for end in ends {
        assert_eq!(end, (Ok(true), Ok(false), SimTime::from_us(1000)));
    }
}
