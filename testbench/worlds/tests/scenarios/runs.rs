//! Programs and limits: expected results, and their independence.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::board::CpuId;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_worlds::images::own_image;
use lanigon_worlds::nodes::EMP_SRAM_BYTES;
use lanigon_worlds::simulation::{RunOptions, Simulation};

use super::{pair, run, stream};

#[track_caller]
fn check_all(text: &str, messages: u64) {
    let outcome = run(text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{text}");
    assert!(outcome.is_good(), "{text}{outcome:?}");
    let counts = outcome.verdict.messages;
    assert_eq!(
        (counts.posted, counts.delivered),
        (messages, messages),
        "{text}"
    );
}

#[test]
fn every_program_delivers_what_it_sends() {
    let star = |nodes: u32, program: &str| {
        format!("[network]\ntopology = \"star\"\nnodes = {nodes}\n[[program]]\n{program}\n")
    };
    for bytes in ["0", "1", "1478", "[1479, 28672, 28673]"] {
        let text = format!("run = \"ping-pong\"\nnodes = [1, 0]\nmessages = 4\nbytes = {bytes}");
        check_all(&star(2, &text), 8);
        let text = format!("run = \"all-to-all\"\nnodes = \"all\"\nmessages = 3\nbytes = {bytes}");
        check_all(&star(4, &text), 36);
    }
    let incast = "run = \"incast\"\nfrom = \"1..5\"\nto = 0\nmessages = 3\nbursts = 2\npause_us = 50\nbytes = 3000";
    check_all(&star(6, incast), 24);
    let random =
        "run = \"random\"\nnodes = \"all\"\nmessages = 30\nmax_bytes = 30000\nstart_us = 100";
    check_all(&star(5, random), 150);
    check_all(&star(3, "run = \"idle\"\nnodes = \"all\""), 0);
    check_all(&pair(&stream(1, 2 << 20)), 1);
}

#[test]
fn profiles_settings_and_links_of_their_own() {
    let text = "
[network]
topology = \"custom\"
[[node]]
name = \"fast\"
profile = \"emp-thesis\"
emp = { ack_group = 16, frame_bytes = 9000 }
[[node]]
name = \"slow\"
[[link]]
between = [\"fast\", \"slow\"]
speed_mbit = 100
length_m = 2000
[[program]]
run = \"stream\"
from = \"fast\"
to = \"slow\"
messages = 10
bytes = 50000
";
    let outcome = run(text, &RunOptions::default());
    assert!(outcome.is_good(), "{outcome:?}");
    assert_eq!(outcome.verdict.messages.delivered, 10);
    let rate = outcome.verdict.megabits_per_s().unwrap();
    assert!(
        (50.0..100.0).contains(&rate),
        "{rate} Mb/s over a link of 100"
    );
}

/// Two nodes with images of their own, as they are in the world.
const TWO_IMAGES: &str = "
image = \"emp-so\"
[network]
topology = \"custom\"
[[node]]
name = \"one\"
image = \"emp-base\"
[[node]]
name = \"two\"
[[link]]
between = [\"one\", \"two\"]
[[program]]
run = \"stream\"
from = \"one\"
to = \"two\"
messages = 5
bytes = 3000
";

#[test]
fn each_node_runs_its_own_image() {
    let outcome = run(TWO_IMAGES, &RunOptions::default());
    assert!(outcome.is_good(), "{outcome:?}");
    assert_eq!(outcome.verdict.messages.delivered, 5);
    let scenario = lanigon_workloads::parse("two.toml", TWO_IMAGES).unwrap();
    let simulation = Simulation::new(&scenario).unwrap();
    let images = &simulation.images;
    assert_eq!(images.all().count(), 2);
    for (node, name) in ["emp-base", "emp-so"].into_iter().enumerate() {
        let own = own_image(name, EMP_SRAM_BYTES).unwrap();
        assert_eq!(images.image_of(node).identity(), own.identity());
        let (address, bytes) = own.load_parts().next().unwrap();
        let word = u32::from_be_bytes(bytes[..4].try_into().unwrap());
        let mut simulation = Simulation::new(&scenario).unwrap();
        simulation.run(&RunOptions::default(), |_| ());
        let board = simulation.world.nodes[node].inspect();
        let found = board.peek(CpuId::new(0), address, SimTime::ZERO);
        assert_eq!(found, Some(word), "{name}");
    }
}

#[test]
fn an_unknown_image_is_refused_where_it_is_named() {
    let text = TWO_IMAGES.replace("emp-base", "emp-bse");
    let scenario = lanigon_workloads::parse("two.toml", &text).unwrap();
    let error = Simulation::new(&scenario).unwrap_err().to_string();
    assert!(error.starts_with("two.toml:7:"), "{error}");
    assert!(error.contains("emp-bse"), "{error}");
}

#[test]
fn threads_change_nothing() {
    let random = "[[program]]\nrun = \"random\"\nnodes = [0, 1, 2, 3]\nmessages = 15\nmax_bytes = 9000\n\
                  [faults]\nloss = 0.02\ndelay = 0.02\n";
    let star = format!("[network]\ntopology = \"star\"\nnodes = 4\n{random}");
    let pairs = format!(
        "[network]\ntopology = \"pair\"\nnodes = 6\n{}",
        stream(20, 5000)
    );
    for text in [star, pairs] {
        let hash = |threads| {
            let outcome = run(
                &text,
                &RunOptions {
                    threads: NonZeroUsize::new(threads).unwrap(),
                    ..RunOptions::default()
                },
            );
            assert!(outcome.is_good(), "{outcome:?}");
            (outcome.trace_hash, outcome.simulated, outcome.drops)
        };
        let one = hash(1);
        assert_eq!(one, hash(1), "again");
        assert_eq!(one, hash(2), "two threads");
        assert_eq!(one, hash(5), "five threads");
    }
}

#[test]
fn a_limit_of_time_ends_a_run_without_judging_what_is_under_way() {
    let text = format!("max_time_us = 900\n{}", pair(&stream(100, 65_536)));
    let check = |options: RunOptions, us| {
        let outcome = run(&text, &options);
        assert!(
            matches!(outcome.end, RunEnd::TimeLimit(_)),
            "{:?}",
            outcome.end
        );
        assert_eq!(outcome.simulated, SimTime::from_us(us));
        let messages = outcome.verdict.messages;
        assert!(outcome.is_good() && messages.unfinished > 0, "{messages:?}");
        assert_eq!(messages.posted, messages.delivered + messages.unfinished);
    };
    check(RunOptions::default(), 900);
    let limit = |us| RunOptions {
        max_time: Some(SimTime::from_us(us)),
        ..RunOptions::default()
    };
    check(limit(700), 700);
    check(limit(5000), 900);
}

#[test]
fn an_interrupted_run_says_so() {
    let options = RunOptions {
        interrupt: Some(Arc::new(AtomicBool::new(true))),
        ..RunOptions::default()
    };
    let outcome = run(&pair(&stream(5, 100)), &options);
    assert_eq!(outcome.end, RunEnd::Interrupted);
    assert!(outcome.is_good(), "nothing was promised yet");
}
