//! Contents of a run's timeline.

use lanigon_worlds::boards::{self, BoardType, DEFAULT};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use lanigon_analysis::trace::record;
use lanigon_timeline::{Options, Timeline};
use lanigon_worlds::simulation::{RunOptions, Simulation};

use super::decoded::{self, Slice};
use super::{pair, stream};

/// A buffer that can be read while a timeline is written.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a scenario; returns the timeline's bytes and the trace hash.
pub fn run(scenario: &str, threads: usize, options: Option<Options>) -> (Vec<u8>, u64) {
    run_on(DEFAULT, scenario, threads, options)
}

fn run_on(
    board: &'static BoardType,
    scenario: &str,
    threads: usize,
    options: Option<Options>,
) -> (Vec<u8>, u64) {
    let scenario =
        lanigon_workloads::parse("test.toml", scenario).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario).unwrap_or_else(|error| panic!("{error}"));
    let page = Page::default();
    if let Some(options) = options {
        let header = record::header(
            &"test",
            1,
            ["0", "1", "2", "3"].map(|node| (node.into(), board)),
        );
        let header = record::with_image(header, "emp-base", simulation.images.image_of(0));
        let options = Options { header, ..options };
        let timeline = Timeline::new(Box::new(page.clone()), options);
        simulation.world.observe(Box::new(timeline));
    }
    let options = RunOptions {
        threads: NonZeroUsize::new(threads).unwrap(),
        ..RunOptions::default()
    };
    let outcome = simulation.run(&options, |_| {});
    assert!(simulation.world.finish_observing().is_empty());
    let bytes = page.0.lock().unwrap().clone();
    (bytes, outcome.trace_hash)
}

/// Four nodes on a switch, with losses on every link.
pub const LOSSY: &str = "
[emp]
timeout_us = 500
[network]
topology = \"star\"
nodes = 4
[[program]]
run = \"all-to-all\"
nodes = \"all\"
messages = 4
bytes = 5000
[faults]
loss = 0.05
";

#[test]
fn a_message_of_gm_can_be_followed() {
    let board = boards::board_type("lanai9").unwrap();
    let image = board.gm.unwrap().image;
    if board.own_image(image, board.usual_sram_bytes).is_err() {
        let _ = writeln!(io::stderr(), "SKIPPED for lack of GM's images");
        return;
    }
    let scenario = format!("board = \"lanai9\"\n{}", pair(&stream(1, 3000)));
    let (bytes, hash) = run_on(board, &scenario, 1, Some(Options::default()));
    assert_eq!(run_on(board, &scenario, 1, None).1, hash);
    let timeline = decoded::read(&bytes);
    let tracks = [
        (
            "node 0 / host",
            "stream: send from port 2 to 1, port 2, low, 3000 bytes msg 0:1:0",
        ),
        ("node 0 / CPU", "gm token taken msg 0:1:0"),
        ("node 0 / DMA read", "DMA read msg 0:1:0"),
        ("node 0 / transmitter", "data packet msg 0:1:0"),
        ("node 1 / receiver", "data packet msg 0:1:0"),
        ("node 1 / CPU", "gm packet received msg 0:1:0"),
        ("node 1 / DMA write", "DMA write msg 0:1:0"),
        ("node 0 / receiver", "ACK msg 0:1:0"),
    ];
    let mut flows = Vec::new();
    for (track, name) in tracks {
        let all: Vec<_> = timeline.on(track).collect();
        let slice = all.iter().find(|slice| slice.name == name);
        let names: Vec<_> = all.iter().map(|slice| &slice.name).collect();
        let slice = slice.unwrap_or_else(|| panic!("{track}: no {name} in {names:?}"));
        flows.push(slice.flow);
    }
    assert!(
        flows[0].is_some() && flows.iter().all(|flow| *flow == flows[0]),
        "{flows:?}"
    );
}

#[test]
fn packets_of_a_barrier_can_be_followed() {
    let board = boards::board_type("lanai9").unwrap();
    let image = board.gm.unwrap().image;
    if board.own_image(image, board.usual_sram_bytes).is_err() {
        let _ = writeln!(io::stderr(), "SKIPPED for lack of GM's images");
        return;
    }
    let program = "[[program]]\nrun = \"barrier\"\nnodes = \"all\"\non = \"nic\"\nrounds = 2\n";
    let scenario = format!("board = \"lanai9\"\n{}", pair(program));
    let (bytes, _) = run_on(board, &scenario, 1, Some(Options::default()));
    let timeline = decoded::read(&bytes);
    for (from, to) in [(0, 1), (1, 0)] {
        let transmitter = format!("node {from} / transmitter");
        let sent: Vec<_> = timeline.on(&transmitter).collect();
        let step = |slice: &&&Slice| {
            slice
                .name
                .starts_with(&format!("barrier: STEP msg {from}:{to}:"))
        };
        let sent: Vec<_> = sent.iter().filter(step).collect();
        assert_eq!(
            sent.len(),
            2,
            "{:?}",
            timeline
                .on(&transmitter)
                .map(|slice| &slice.name)
                .collect::<Vec<_>>()
        );
        let flows: std::collections::BTreeSet<_> = sent.iter().map(|slice| slice.flow).collect();
        assert_eq!(flows.len(), 2, "a flow for each packet");
        for packet in sent {
            let way = timeline.way(packet.flow.expect("a flow"));
            let receiver = format!("node {to} / receiver");
            assert!(way.contains(&receiver.as_str()), "{way:?}");
        }
    }
}

#[test]
fn a_message_can_be_followed() {
    let (bytes, _) = run(&pair(&stream(2, 3000)), 1, Some(Options::default()));
    let timeline = decoded::read(&bytes);
    let names = |track: &str, name: &str| {
        let there = timeline.on(track).any(|slice| slice.name == name);
        let all: Vec<_> = timeline.on(track).map(|slice| &slice.name).collect();
        assert!(there, "{track}: no {name} in {all:?}");
    };
    names(
        "node 0 / host",
        "stream: post transmit to node 1, tag 1, 3000 bytes msg 0:1:0",
    );
    names("node 0 / CPU A", "transmission msg 0:1:0 frag 2");
    names("node 0 / DMA read", "DMA read msg 0:1:0 frag 2");
    names("node 0 / MAC tx", "header frame msg 0:1:0 frag 0");
    names("node 1 / MAC rx", "data frame msg 0:1:0 frag 2");
    names("node 1 / DMA write", "DMA write msg 0:1:0 frag 2");
    names("node 1 / MAC tx", "ack msg 0:1:0 frag 2");
    names("node 0 / CPU A", "transmit complete msg 0:1:0");
    let post = |slice: &&Slice| slice.name.ends_with("3000 bytes msg 0:1:0");
    let post = timeline.slices.iter().find(post).unwrap();
    let way = timeline.way(post.flow.unwrap());
    let mut rest = way.iter();
    for place in [
        "node 0 / host",
        "node 0 / CPU A",
        "node 0 / DMA read",
        "node 0 / MAC tx",
        "node 1 / MAC rx",
        "node 1 / DMA write",
        "node 1 / MAC tx",
        "node 0 / MAC rx",
        "node 0 / CPU A",
    ] {
        assert!(rest.any(|step| *step == place), "{place} in {way:?}");
    }
}

#[test]
fn stages_stand_within_handlers_and_tracks_in_the_order_of_data() {
    let (bytes, _) = run(&pair(&stream(2, 3000)), 1, Some(Options::default()));
    let timeline = decoded::read(&bytes);
    let of = |category: &'static str| {
        let slices = timeline.slices.iter();
        slices.filter(move |slice| slice.category == category)
    };
    assert!(of("handler").count() > 10);
    assert!(of("handler").all(|slice| slice.depth == 0 && !slice.name.contains("0x")));
    assert!(
        of("stage").all(|slice| slice.depth > 0),
        "all stages are in handlers"
    );
    let inner = of("probe").filter(|probe| probe.name.starts_with("frame sent"));
    assert_eq!(inner.filter(|probe| probe.depth == 2).count(), 6);
    let here = timeline
        .tracks
        .iter()
        .filter(|((process, _), _)| process == "node 0");
    let order: Vec<_> = here.map(|(_, name)| name.as_str()).collect();
    assert_eq!(
        order,
        [
            "host",
            "CPU A",
            "DMA read",
            "MAC tx",
            "MAC rx",
            "DMA read queue",
            "transmit buffer",
            "transmit descriptors",
            "receive buffer",
            "receive descriptors",
            "DMA write queue",
        ]
    );
}

#[test]
fn counters_go_up_and_down() {
    let (bytes, _) = run(&pair(&stream(4, 20_000)), 1, Some(Options::default()));
    let timeline = decoded::read(&bytes);
    let check = |track: &str, most: std::ops::RangeInclusive<i64>| {
        let counts = timeline.counts.iter().filter(|(name, ..)| name == track);
        let values: Vec<_> = counts.map(|(_, _, value)| *value).collect();
        let peak = values.iter().copied().max().unwrap_or(-1);
        assert!(most.contains(&peak), "{track}: at most {peak}");
        assert!(values.iter().all(|&value| value >= 0), "{track}");
        assert!(values.last() < Some(&peak), "{track} ends at its peak");
    };
    // A frame has 1518 bytes with FCS; the boards have buffers of some hundred kilobytes.
    check("node 0 / transmit buffer", 1514..=300_000);
    check("node 1 / receive buffer", 1518..=300_000);
    check("node 0 / transmit descriptors", 1..=255);
    check("node 1 / receive descriptors", 1..=511);
    check("node 0 / DMA read queue", 1..=63);
    check("node 1 / DMA write queue", 1..=63);
}

#[test]
fn drops_and_retransmissions_are_shown_with_the_switch() {
    let (bytes, _) = run(LOSSY, 1, Some(Options::default()));
    let timeline = decoded::read(&bytes);
    let faults = timeline
        .slices
        .iter()
        .filter(|slice| slice.category == "fault");
    assert!(faults.clone().count() > 0);
    assert!(
        faults
            .clone()
            .any(|slice| slice.track.starts_with("switch 0 / port "))
    );
    assert!(faults.clone().any(|slice| slice.track.ends_with(" / wire")));
    let again = timeline
        .slices
        .iter()
        .filter(|slice| slice.name.starts_with("retransmit msg"));
    assert!(again.count() > 0);
}

#[test]
fn nothing_depends_on_threads_and_nothing_on_the_timeline() {
    let (_, plain) = run(LOSSY, 1, None);
    let (bytes, hash) = run(LOSSY, 1, Some(Options::default()));
    assert_eq!(hash, plain, "the timeline changes nothing");
    for threads in [2, 3] {
        assert!(run(LOSSY, threads, Some(Options::default())) == (bytes.clone(), hash));
    }
}

#[test]
fn a_window_cuts_what_is_open() {
    let (from, until) = (20_050_000, 20_150_000);
    let inside = move |event: &emulator::observe::event::TraceEvent| {
        (from..until).contains(&(event.time.ps() / 1000))
    };
    let options = || Options {
        filter: Box::new(inside),
        ..Options::default()
    };
    let scenario = pair(&stream(10, 20_000));
    let timeline = decoded::read(&run(&scenario, 1, Some(options())).0);
    let whole = decoded::read(&run(&scenario, 1, Some(Options::default())).0);
    assert!(timeline.slices.len() > 100 && timeline.slices.len() < whole.slices.len() / 2);
    // A frame that ends in the window may begin before it, and the event after the window closes open
    // slices.
    let margin = 12_500;
    for slice in &timeline.slices {
        let [begin, end] = slice.span_ns;
        assert!(begin >= from - margin && end <= until + margin, "{slice:?}");
    }
}

#[test]
fn a_full_timeline_is_whole() {
    for limit_bytes in [2_000, 50_000, 100_001] {
        let options = Options {
            limit_bytes,
            ..Options::default()
        };
        let (bytes, _) = run(LOSSY, 1, Some(options));
        assert!(
            bytes.len() as u64 <= limit_bytes,
            "{} of {limit_bytes}",
            bytes.len()
        );
        assert!(
            bytes.len() as u64 + 2_000 > limit_bytes,
            "{} of {limit_bytes}",
            bytes.len()
        );
        let timeline = decoded::read(&bytes);
        let last = timeline.slices.last().unwrap();
        assert_eq!(last.track, "timeline");
        assert!(last.name.starts_with("the timeline ends here"), "{last:?}");
    }
}
