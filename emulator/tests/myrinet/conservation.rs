//! Random topologies and traffic: every packet is accounted for, on any number of threads and across snapshots.

use cases::cases;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::fault::{FaultRates, RandomFaults};
use emulator::wire::myrinet::routes::{check, routes};
use emulator::wire::myrinet::topology::Topology;
use emulator::wire::myrinet::{CrossbarConfig, Link, Myrinet};
use emulator::wire::network::Network;
use emulator::wire::port::Port;
use proptest::prelude::*;

use crate::nic::{accounted, nic, nic_mut, nics, run_us, send, settled};

/// A world in numbers.
#[derive(Debug, Clone)]
struct Plan {
    /// For each crossbar but the first, one of those before it.
    parents: Vec<usize>,
    /// Cables besides.
    extra: Vec<(usize, usize)>,
    /// The crossbar of each node.
    places: Vec<usize>,
    /// Sender, receiver, time, length.
    packets: Vec<(usize, usize, u64, usize)>,
    rests: Vec<u64>,
    slow: Vec<bool>,
    faults: bool,
    cut: Option<(usize, u64)>,
    /// A cable, the crossbar to which one of its ends moves, and when.
    replug: Option<(usize, usize, u64)>,
    nres: bool,
    latency_ns: u64,
}

fn plans() -> impl Strategy<Value = Plan> {
    let number = || 0..usize::MAX;
    (
        prop::collection::vec(number(), 0..5),
        prop::collection::vec((number(), number()), 0..4),
        prop::collection::vec(number(), 2..12),
        prop::collection::vec((number(), number(), 0..20_000_u64, 4..1_500_usize), 1..60),
        prop::collection::vec(prop_oneof![Just(0), 1..3_000_u64], 12),
        prop::collection::vec(any::<bool>(), 32),
        any::<bool>(),
        (
            prop::option::of((number(), 0..60_000_u64)),
            prop::option::of((number(), number(), 0..60_000_u64)),
        ),
        any::<bool>(),
        prop_oneof![Just(0), 1..400_u64],
    )
        .prop_map(
            |(
                parents,
                extra,
                places,
                packets,
                rests,
                slow,
                faults,
                (cut, replug),
                nres,
                latency_ns,
            )| Plan {
                parents,
                extra,
                places,
                packets,
                rests,
                slow,
                faults,
                cut,
                replug,
                nres,
                latency_ns,
            },
        )
}

impl Plan {
    fn topology(&self) -> Topology {
        let count = self.parents.len() + 1;
        let mut topology = Topology {
            crossbars: vec![16; count],
            cables: Vec::new(),
        };
        let mut used = vec![0; count];
        let mut port = |switch: usize| {
            used[switch] += 1;
            (used[switch] <= 16).then(|| Port::from((switch, used[switch] - 1)))
        };
        let tree = self.parents.iter().enumerate();
        let tree = tree.map(|(index, parent)| (index + 1, parent % (index + 1)));
        let extra = self.extra.iter().map(|(a, b)| (a % count, b % count));
        let extra = extra.filter(|(a, b)| a != b);
        for (a, b) in tree.chain(extra) {
            if let (Some(a), Some(b)) = (port(a), port(b)) {
                topology.cables.push((a, b));
            }
        }
        let mut node = 0;
        for place in &self.places {
            if let Some(port) = port(place % count) {
                topology.cables.push((Port::Node(node), port));
                node += 1;
            }
        }
        topology
    }

    fn world(&self) -> World {
        let topology = self.topology();
        let nodes = topology.nodes().len();
        let routes = routes(&topology).expect("a valid world");
        check(&topology, &routes).expect("a valid world");
        let mut world = nics(nodes);
        for &ports in &topology.crossbars {
            let mut config = CrossbarConfig::new(ports);
            config.latency = SimTime::from_ns(self.latency_ns);
            // A damaged route byte, or a route from before a cable was moved, can lead a packet into a circle.
            let wrong = self.faults || self.replug.is_some();
            config.watchdog = wrong.then_some(SimTime::from_us(200));
            world.add_crossbar(&config).expect("a valid world");
        }
        for (index, &(a, b)) in topology.cables.iter().enumerate() {
            let link = match self.slow[index % self.slow.len()] {
                true => Link::at_1_28_gbps(index as u64 % 25 + 1),
                false => Link::at_2_gbps(index as u64 % 7 + 1),
            };
            world.connect_myrinet(a, b, link).expect("a valid world");
        }
        for node in 0..nodes {
            let board = nic_mut(&mut world, node);
            board.rest = SimTime::from_ns(self.rests[node % self.rests.len()]);
            board.nres = self.nres.then_some(SimTime::from_us(5));
            let others = (1..nodes).map(|step| (node, (node + step) % nodes));
            board.answers = others.map(|pair| routes[&pair].clone()).collect();
        }
        if self.faults {
            let rates = FaultRates {
                loss: 0.1,
                duplication: 0.1,
                delay: 0.1,
                longest_delay: SimTime::from_us(3),
                corruption: 0.1,
            };
            for (stream, &(a, b)) in topology.cables.iter().enumerate() {
                let layer = RandomFaults::new(rates, 3, stream as u64).expect("a valid world");
                let port = if stream % 2 == 0 { a } else { b };
                world
                    .add_myrinet_fault(port, Box::new(layer))
                    .expect("a valid world");
            }
        }
        if let Some((cable, ns)) = self.cut {
            let (a, _) = topology.cables[cable % topology.cables.len()];
            let until = Some(SimTime::from_ns(ns + 10_000));
            world
                .unplug_myrinet(a, SimTime::from_ns(ns), until)
                .expect("a valid world");
        }
        if let Some((cable, crossbar, ns)) = self.replug {
            let (a, b) = topology.cables[cable % topology.cables.len()];
            let to = Port::from((crossbar % topology.crossbars.len(), 15));
            let free = topology.cables.iter().all(|&(a, b)| a != to && b != to);
            let (at, until) = (SimTime::from_ns(ns), SimTime::from_ns(ns + ns % 3_000));
            let moved = world.replug_myrinet(b, [a, to], at, until);
            assert_eq!(moved.is_ok(), free, "{moved:?}");
        }
        for &(from, to, ns, length) in &self.packets {
            let (from, to) = (from % nodes, to % nodes);
            if let Some(route) = routes.get(&(from, to)) {
                send(&mut world, from, ns, route, 3, length);
            }
        }
        world
    }
}

/// Takes the later horizon from quiet nodes, so that all share one: a cable that is cut behind the end changes nothing else.
fn share_one_horizon(world: &mut World, topology: &Topology) {
    let (end, _) = topology.cables[0];
    let never = SimTime::from_us(10 * END_US);
    world
        .unplug_myrinet(end, never, None)
        .expect("a valid world");
}

/// The hash, and what all nodes received and heard.
fn outcome(world: &World) -> (u64, Vec<String>) {
    let nodes = (0..world.nodes.len()).map(|node| nic(world, node));
    let seen = nodes.map(|nic| format!("{:?} {:?} {:?}", nic.heads, nic.tails, nic.controls));
    (world.trace_hash(), seen.collect())
}

const END_US: u64 = 20_000;

fn check_plan(plan: &Plan, middle_us: u64) {
    let mut whole = plan.world();
    run_us(&mut whole, middle_us, 1);
    if !plan.faults {
        // Packets that a layer holds back are nowhere else.
        accounted(&whole);
    }
    let (state, logs) = (whole.save().expect("a valid world"), whole.logs());
    run_us(&mut whole, END_US, 1);
    let counts = settled(&whole);
    // Routes without circles, or a watchdog, and receivers that always go on: no packet is left.
    let fabric = whole.network::<Myrinet>().expect("a valid world");
    let waiting = fabric.describe_waiting();
    assert_eq!(fabric.under_way(), 0, "{waiting:#?}");
    if !plan.faults && plan.cut.is_none() && plan.replug.is_none() && !plan.nres {
        assert_eq!(counts.lost + counts.cut_short, 0);
    }
    let mut loaded = plan.world();
    loaded.load(&state, &logs).expect("a valid world");
    assert_eq!(loaded.save().expect("a valid world"), state);
    run_us(&mut loaded, END_US, 2);
    assert!(
        outcome(&loaded) == outcome(&whole),
        "a snapshot at {middle_us} us"
    );
    assert!(loaded.save().expect("a valid world") == whole.save().expect("a valid world"));
    let mut threads = plan.world();
    run_us(&mut threads, END_US, 2);
    assert!(outcome(&threads) == outcome(&whole), "two threads");
    let mut shared = plan.world();
    share_one_horizon(&mut shared, &plan.topology());
    run_us(&mut shared, END_US, 1);
    assert!(outcome(&shared) == outcome(&whole), "one horizon");
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn every_packet_is_accounted_for(plan in plans(), middle_us in 1..60_u64) {
        check_plan(&plan, middle_us);
    }
}
