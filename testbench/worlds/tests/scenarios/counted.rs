//! Every loss and every duplication is counted once, where it happens: result, trace and capture agree, and what is sent is delivered,
//! dropped or under way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cases::cases;
use emulator::board::Traffic;
use emulator::observe::capture::{CapturedFrame, FrameObserver, Interface, Note};
use emulator::observe::event::{DropReason, TraceEvent, TraceKind};
use emulator::observe::stream::Observer;
use emulator::sim::world::World;
use emulator::wire::ethernet::Ethernet;
use emulator::wire::ethernet::switch::Switch;
use emulator::wire::fault::{FaultCounts, FaultKind};
use emulator::wire::lane::LaneCounts;
use emulator::wire::loss::LossReason;
use emulator::wire::myrinet::Myrinet;
use emulator::wire::port::Port;
use lanigon_worlds::simulation::{RunOptions, Simulation};
use proptest::prelude::*;

/// Numbers by names as in a result.
type Counts = BTreeMap<String, u64>;

fn name(kind: &str, words: &str) -> String {
    format!("{kind}_{}", words.replace(' ', "_"))
}

/// Counts events of a trace, or the notes of a capture.
#[derive(Clone, Default)]
struct Tally(Arc<Mutex<Counts>>);

impl Tally {
    fn count(&self, name: String) {
        *self.0.lock().unwrap().entry(name).or_default() += 1;
    }

    fn counts(&self) -> Counts {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Tally {
    fn event(&mut self, event: &TraceEvent) {
        match event.kind {
            TraceKind::FrameLost { reason, .. } => self.count(name("wire", reason.name())),
            TraceKind::FrameDropped { reason } => self.count(name("nic", reason.words())),
            TraceKind::Fault {
                fault: FaultKind::Lost,
                ..
            } => {
                self.count("fault_lost".into());
            }
            TraceKind::Fault {
                fault: FaultKind::Duplicated,
                ..
            } => {
                self.count("duplicated".into());
            }
            TraceKind::FrameSent { .. } => self.count("sent".into()),
            TraceKind::FrameReceived { .. } => self.count("stored".into()),
            _ => {}
        }
    }
}

impl FrameObserver for Tally {
    fn begin(&mut self, _: &[Interface]) {}

    fn frames(&mut self, frames: &[CapturedFrame]) {
        for frame in frames {
            // Several layers may have duplicated the frame: the original is the first copy of each.
            let is_copy = |note: &Note| matches!(note, Note::Duplicated { copy: 2.., .. });
            if frame.notes.iter().any(is_copy) {
                self.count("duplicated".into());
            }
        }
        for note in frames.iter().flat_map(|frame| &frame.notes) {
            match note {
                Note::Lost { reason, .. } => self.count(name("wire", reason.name())),
                Note::Refused(reason) => self.count(name("nic", reason.words())),
                Note::Dropped => self.count("fault_lost".into()),
                _ => {}
            }
        }
    }
}

fn ports(world: &World) -> Vec<Port> {
    let nodes = (0..world.nodes.len()).map(Port::Node);
    let of_switch = |switch: &Switch| {
        let (switch, ports) = (switch.index(), switch.counts().count());
        (0..ports).map(move |port| Port::Switch { switch, port })
    };
    let switches = world.switches().iter().flat_map(of_switch);
    nodes.chain(switches).collect()
}

/// Counts of a world's links, switches and boards.
struct Books {
    lost: Counts,
    duplicated: u64,
    under_way: u64,
    sent: u64,
    announced: u64,
    stored: u64,
}

impl Books {
    fn of(world: &World, lanes: &[LaneCounts], layers: &[FaultCounts], under_way: u64) -> Self {
        let faults = |kind| layers.iter().map(|counts| counts.of(kind)).sum();
        let traffic: Vec<Traffic> = world
            .nodes
            .iter()
            .map(|node| node.inspect().traffic())
            .collect();
        let mut lost = Counts::new();
        for reason in LossReason::ALL {
            let of_lanes = lanes.iter().map(|lane| lane.lost.of(reason));
            let ports = world.switches().iter().flat_map(Switch::counts);
            let of_switches = ports.map(|port| port.dropped.of(reason));
            lost.insert(
                name("wire", reason.name()),
                of_lanes.chain(of_switches).sum(),
            );
        }
        for reason in DropReason::ALL {
            let boards = traffic.iter().map(|of| of.dropped.of(reason));
            lost.insert(name("nic", reason.words()), boards.sum());
        }
        lost.insert("fault_lost".into(), faults(FaultKind::Lost));
        Self {
            lost,
            duplicated: faults(FaultKind::Duplicated),
            under_way,
            sent: traffic.iter().map(|of| of.sent).sum(),
            announced: traffic.iter().map(|of| of.announced).sum(),
            stored: traffic.iter().map(|of| of.stored).sum(),
        }
    }

    /// Losses between boards.
    fn between(&self) -> u64 {
        let between = |(name, _): &(&String, &u64)| !name.starts_with("nic");
        self.lost
            .iter()
            .filter(between)
            .map(|(_, count)| count)
            .sum()
    }
}

/// Checks that every frame sent on an Ethernet reaches a board, is lost, or is under way.
fn check_ethernet(world: &World) -> Books {
    let ports = ports(world);
    let lanes = ports
        .iter()
        .filter_map(|port| world.line_counts(*port).ok());
    let lanes: Vec<LaneCounts> = lanes.copied().collect();
    let faults = ports
        .iter()
        .filter_map(|port| world.fault_counts(*port).ok());
    let layers: Vec<FaultCounts> = faults.flatten().collect();
    let ethernet = world.network::<Ethernet>();
    let under_way = ethernet.map_or(0, |network| network.under_way()) as u64;
    let books = Books::of(world, &lanes, &layers, under_way);
    let doubled: u64 = lanes.iter().map(|lane| lane.doubled).sum();
    assert_eq!(doubled, books.duplicated);
    let copies = world.switches().iter().flat_map(Switch::counts);
    let copies: u64 = copies.map(|port| port.copies).sum();
    assert_eq!(
        books.sent + doubled + copies,
        books.announced + books.between() + under_way,
        "{:?}",
        books.lost
    );
    for node in &world.nodes {
        // Each frame that comes in has an event of its own.
        let coming = node.inspect().traffic().coming();
        assert!(coming <= node.pending_events() as u64, "{coming} come in");
    }
    books
}

/// Checks that every packet sent on a Myrinet reaches a board, as a whole or not, is lost, or is under way.
fn check_myrinet(world: &World) -> Books {
    let lanes: Vec<LaneCounts> = world.myrinet_lanes().copied().collect();
    let layers: Vec<FaultCounts> = world.myrinet_layers().collect();
    let fabric = world.network::<Myrinet>();
    let under_way = fabric.map_or(0, |network| network.under_way()) as u64;
    let books = Books::of(world, &lanes, &layers, under_way);
    let counts = world.fabric_counts();
    assert_eq!(counts.doubled, books.duplicated);
    let reached = counts.delivered + counts.cut_short;
    assert_eq!(
        counts.sent + counts.doubled,
        reached + counts.lost + under_way
    );
    assert_eq!(
        counts.lost + counts.cut_short,
        books.between(),
        "{:?}",
        books.lost
    );
    assert!((reached..=reached + under_way).contains(&books.announced));
    assert!(books.sent >= counts.sent);
    books
}

/// Runs a scenario, and compares what result, trace and capture say of losses and duplications. Returns the losses with a number.
fn check(text: &str) -> Counts {
    let scenario = lanigon_workloads::parse("test.toml", text)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut simulation =
        Simulation::new(&scenario).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (trace, capture) = (Tally::default(), Tally::default());
    simulation.world.observe(Box::new(trace.clone()));
    simulation.world.capture(Box::new(capture.clone()));
    let outcome = simulation.run(&RunOptions::default(), |_| {});
    let world = &mut simulation.world;
    assert!(world.finish_observing().is_empty());
    assert!(world.finish_capturing().is_empty());
    let books = match world.network::<Myrinet>() {
        Some(_) => check_myrinet(world),
        None => check_ethernet(world),
    };
    let (mut traced, mut captured) = (trace.counts(), capture.counts());
    let mut take = |name| traced.remove(name).unwrap_or_default();
    assert_eq!(
        [take("sent"), take("stored")],
        [books.sent, books.stored],
        "{text}"
    );
    let duplicated = books.duplicated;
    assert_eq!(take("duplicated"), duplicated, "the trace\n{text}");
    assert_eq!(
        outcome.faults["duplicated"], duplicated,
        "the result\n{text}"
    );
    // A frame is captured where it enters the wire, which a copy that is under way may still wait for.
    let copies = captured.remove("duplicated").unwrap_or_default();
    assert!(
        (copies..=copies + books.under_way).contains(&duplicated),
        "the capture: {copies} of {duplicated}\n{text}"
    );
    let mut lost = books.lost;
    for (name, count) in &lost {
        assert_eq!(outcome.drops[name], *count, "the result: {name}\n{text}");
    }
    lost.retain(|_, count| *count > 0);
    assert_eq!(traced, lost, "the trace\n{text}");
    assert_eq!(captured, lost, "the capture\n{text}");
    lost
}

const ETHERNETS: [&str; 5] = [
    "topology = \"pair\"",
    "topology = \"star\"\nnodes = 2",
    "topology = \"star\"\nnodes = 3\nswitch = { forwarding = \"cut-through\", buffer_bytes = 4096 }",
    "topology = \"tree\"\nnodes = 4\nports = 3\nswitch = { buffer_bytes = 4096 }",
    "topology = \"tree\"\nnodes = 4\nports = 3\nswitch = { forwarding = \"cut-through\" }",
];
const MYRINETS: [&str; 3] = [
    "topology = \"pair\"",
    "topology = \"star\"\nnodes = 3\nswitch = { watchdog_us = 300 }",
    "topology = \"clos\"\nnodes = 10\nports = 8",
];

/// The beginning of a scenario: boards, firmware, network.
fn beginnings() -> impl Strategy<Value = (String, bool)> {
    let on = |boards: &'static [&'static str], networks: &'static [&'static str]| {
        let parts = (prop::sample::select(boards), prop::sample::select(networks));
        parts.prop_map(|(boards, network)| format!("{boards}\n[network]\n{network}\n"))
    };
    const MESSAGES: &[&str] = &[
        "protocol = \"emp\"",
        "protocol = \"gm\"",
        "protocol = \"gm\"\nimage = \"gm-tigon2-two\"",
        "protocol = \"gm\"\nimage = \"gm-tigon2-coll\"",
    ];
    const LANAI: &[&str] = &[
        "board = \"lanai9.1-133\"",
        "board = \"lanai7.2-66\"",
        "board = \"lanai4.3-33\"\nprotocol = \"fm\"",
    ];
    prop_oneof![
        on(&["protocol = \"acenic\""], &ETHERNETS).prop_map(|text| (text, true)),
        on(MESSAGES, &ETHERNETS).prop_map(|text| (text, false)),
        on(LANAI, &MYRINETS).prop_map(|text| (text, false)),
    ]
}

const EXACT: [&str; 4] = [
    "do = \"drop\"",
    "do = \"duplicate\"",
    "do = \"corrupt\"\nbyte = 3",
    "do = \"delay\"\nby_us = 70",
];

fn faults() -> impl Strategy<Value = String> {
    let us = || 100..4_000_u32;
    let node = 0..2_u8;
    let span = prop_oneof![
        Just(String::new()),
        us().prop_map(|us| format!("for_us = {us}\n"))
    ];
    let pause = us().prop_map(|us| format!("pause_us = {us}\n"));
    prop_oneof![
        (node.clone(), us(), span).prop_map(|(node, at, span)| {
            format!("[[fault]]\ndo = \"cut\"\nnodes = [{node}]\nat_us = {at}\n{span}")
        }),
        (node, us(), pause).prop_map(|(node, at, pause)| {
            format!("[[fault]]\ndo = \"reset\"\nnode = {node}\nat_us = {at}\n{pause}")
        }),
        prop::sample::select(&EXACT[..])
            .prop_map(|kind| format!("[[fault]]\n{kind}\ntimes = 3\nfrom = 0\n")),
        (0..3_u8).prop_map(|seed| {
            format!("[[fault]]\ndo = \"random\"\nloss = 0.02\nduplication = 0.02\ncorruption = 0.03\ndelay = 0.0{seed}\n")
        }),
    ]
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn result_trace_and_capture_agree_on_every_loss(
        (beginning, frames) in beginnings(),
        faults in prop::collection::vec(faults(), 0..3),
        bytes in prop::sample::select(vec![60_u32, 1_000, 1_514]),
        seed in 0..1_000_u32,
    ) {
        let program = match frames {
            true => format!("run = \"frames\"\nfrom = [0, 1]\nto = [0, 1]\nframes = 200\nbytes = {bytes}\n"),
            false => format!("run = \"all-to-all\"\nnodes = [0, 1]\nmessages = 40\nbytes = {bytes}\n"),
        };
        let resets = faults.iter().filter(|fault| fault.contains("reset")).count();
        // Exact faults know no packets of FM.
        let exact = faults.iter().any(|fault| fault.contains("times"));
        prop_assume!(resets < 2 && !(exact && beginning.contains("fm")));
        let text = format!("seed = {seed}\nmax_time_us = 30000\n{beginning}[[program]]\n{program}{}", faults.concat());
        check(&text);
    }
}

#[test]
fn a_cut_is_counted_by_the_line_whose_frames_it_takes() {
    let cut = |network: &str| {
        format!(
            "{network}\n[[program]]\nrun = \"frames\"\nfrom = [0]\nto = 1\nframes = 500\nbytes = 1514\n\
             [[fault]]\ndo = \"cut\"\nnodes = [1]\nat_us = 2000\nfor_us = 1000\n"
        )
    };
    for network in ["topology = \"pair\"", "topology = \"star\"\nnodes = 2"] {
        let lost = check(&cut(&format!("[network]\n{network}")));
        assert!(lost["wire_link_cut"] > 50, "{lost:?}");
    }
}

/// Damaged packets, of every protocol, are counted where the firmware drops them.
#[test]
fn damaged_packets_are_counted_by_the_board() {
    let exact = "do = \"corrupt\"\nbyte = 40\ntimes = 3\nfrom = 0\n";
    let random = "do = \"random\"\ncorruption = 0.05\n";
    for (board, fault, expected) in [
        ("protocol = \"emp\"", exact, Some(3)),
        ("protocol = \"gm\"", exact, Some(3)),
        ("protocol = \"gm\"", random, None),
        ("board = \"lanai9.1-133\"", exact, Some(3)),
        ("board = \"lanai9.1-133\"", random, None),
        ("board = \"lanai7.2-66\"", random, None),
        ("board = \"lanai4.3-33\"\nprotocol = \"gm\"", exact, Some(3)),
        ("board = \"lanai4.3-33\"\nprotocol = \"fm\"", random, None),
    ] {
        let text = format!(
            "max_time_us = 30000\n{board}\n[network]\ntopology = \"pair\"\n[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\n\
             messages = 40\nbytes = 1000\n[[fault]]\n{fault}"
        );
        let scenario = lanigon_workloads::parse("test.toml", &text);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut simulation = Simulation::new(&scenario).unwrap();
        let outcome = simulation.run(&RunOptions::default(), |_| {});
        let damaged = outcome.drops["nic_damaged"];
        assert!(damaged > 0, "{text}: {outcome:?}");
        assert!(
            expected.is_none_or(|count| count == damaged),
            "{text}: {damaged}"
        );
        for counters in [&outcome.gm, &outcome.fm].into_iter().flatten() {
            assert_eq!(counters["bad_packets"], damaged, "{text}");
        }
    }
}

/// A crossbar's port loses, damages and delays packets, but cannot duplicate them; what it cannot do is counted nowhere.
#[test]
fn duplications_are_counted_where_they_happen() {
    let stream = "run = \"all-to-all\"\nnodes = [0, 1]\nmessages = 40\nbytes = 1000\n";
    let faults = "[faults]\nduplication = 0.3\ncorruption = 0.01\ndelay = 0.01\n";
    let myrinet = |network| format!("board = \"lanai9.1-133\"\n[network]\n{network}\n");
    let ethernet = |network| format!("protocol = \"emp\"\n[network]\n{network}\n");
    let networks = MYRINETS.into_iter().map(myrinet);
    for network in networks.chain(ETHERNETS.into_iter().map(ethernet)) {
        check(&format!(
            "max_time_us = 30000\n{network}[[program]]\n{stream}{faults}"
        ));
    }
}
