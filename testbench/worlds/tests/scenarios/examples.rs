//! The example scenarios in `scenarios/`, some of them shortened.

use defs::emp::control::Counter;
use emulator::sim::world::RunEnd;
use lanigon_workloads::atomic::AtomicUse;
use lanigon_workloads::collective::CollectiveUse;
use lanigon_workloads::dsm::DsmUse;
use lanigon_workloads::ethernet::EthernetUse;
use lanigon_workloads::mpi::MpiUse;
use lanigon_workloads::multicast::MulticastUse;
use lanigon_worlds::files::own;
use lanigon_worlds::simulation::RunOptions;
use lanigon_worlds::simulation::result::RunSummary;

/// Runs an example with changed text; all messages must be handled correctly.
#[track_caller]
fn run(name: &str, changes: &[(&str, &str)]) -> RunSummary {
    let outcome = outcome(name, changes);
    assert_eq!(outcome.end, RunEnd::Completed, "{name}");
    assert!(outcome.is_good(), "{name}: {outcome:?}");
    outcome
}

/// Result of an example with changed text.
#[track_caller]
fn outcome(name: &str, changes: &[(&str, &str)]) -> RunSummary {
    let path = own::project_scenarios().join(name).with_extension("toml");
    let mut text = std::fs::read_to_string(path).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{name}: {from}");
        text = text.replace(from, to);
    }
    super::run(&text, &RunOptions::default())
}

#[test]
fn every_example_is_right_and_says_what_it_shows() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(own::project_scenarios()).unwrap() {
        let path = entry.unwrap().path();
        let scenario = lanigon_workloads::load(&path).unwrap_or_else(|error| panic!("{error}"));
        assert!(scenario.description.len() > 20, "{}", path.display());
        names.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
    }
    names.sort();
    let known = [
        "acenic-star",
        "all-to-all-256",
        "dsm",
        "ethernet",
        "exact-fault",
        "flow-control",
        "fm-multicast",
        "gm-atomics",
        "gm-clos-256",
        "gm-collectives",
        "gm-collectives-random",
        "gm-eight",
        "gm-ethernet",
        "gm-mapper",
        "gm-multicast-256",
        "gm-pair",
        "gm-soak",
        "lanai-hello",
        "linux-console",
        "linux-driver",
        "linux-dry",
        "linux-ethtool",
        "linux-pair",
        "linux-reset",
        "linux-stall",
        "linux-star",
        "mpi",
        "mpi-bypass",
        "mpi-overlap",
        "pair",
        "race",
        "restart",
        "soak",
        "star-with-loss",
    ];
    assert_eq!(
        names, known,
        "each has a test here; those of Linux in the command's tests"
    );
}

#[test]
fn acenic_star() {
    let outcome = run("acenic-star", &[("frames = 100 ", "frames = 20 ")]);
    let messages = outcome.verdict.messages;
    assert_eq!(messages.posted, 240);
    assert_eq!(messages.delivered + messages.dropped, 240);
    assert!(messages.dropped > 0 && outcome.drops["fault_lost"] >= messages.dropped);
}

#[test]
fn pair() {
    let outcome = run("pair", &[("= 1000 ", "= 50 ")]);
    let messages = outcome.verdict.messages;
    assert_eq!((messages.posted, messages.delivered), (100, 100));
    assert_eq!(outcome.counted(Counter::FramesResent), 0);
    assert!(outcome.drops.values().all(|&count| count == 0));
    let share = |unit| outcome.boards[0].share(unit).unwrap();
    assert!(share("cpu_a") > 0.1 && share("cpu_b") == 0.0);
}

#[test]
fn star_with_loss() {
    let outcome = run("star-with-loss", &[]);
    let messages = outcome.verdict.messages;
    assert_eq!((messages.posted, messages.delivered), (640, 640));
    assert!(outcome.drops["fault_lost"] > 0 && outcome.drops["wire_damaged"] > 0);
    assert!(outcome.faults["duplicated"] > 0 && outcome.faults["delayed"] > 0);
    assert!(outcome.counted(Counter::FramesResent) > 0);
}

#[test]
fn exact_fault() {
    let outcome = run("exact-fault", &[]);
    assert_eq!(outcome.verdict.messages.delivered, 40);
    assert_eq!(outcome.drops["fault_lost"], 1);
    assert_eq!(outcome.faults["corrupted"], 1);
    // The ack with the damaged byte, and the frame in flight at the cut.
    assert_eq!(outcome.drops["wire_damaged"], 2);
    assert!(outcome.counted(Counter::FramesResent) > 0);
}

#[test]
fn a_short_all_to_all() {
    let changes = [("nodes = 256", "nodes = 24"), ("ports = 33 ", "ports = 5 ")];
    let outcome = run("all-to-all-256", &changes);
    assert_eq!(outcome.verdict.messages.delivered, 24 * 23 * 2);
    assert_eq!(outcome.verdict.bytes, 24 * 23 * (64 + 4096));
}

#[test]
fn gm_pair() {
    if !super::gm::built() {
        return;
    }
    let outcome = run("gm-pair", &[("= 1000 ", "= 50 ")]);
    let messages = outcome.verdict.messages;
    assert_eq!((messages.posted, messages.delivered), (100, 100));
    let gm = outcome.gm.unwrap();
    assert_eq!((gm["delivered"], gm["resends"]), (100, 0));
}

#[test]
fn a_short_gm_eight() {
    if !super::gm::built() {
        return;
    }
    let outcome = run("gm-eight", &[("= 1250 ", "= 40 ")]);
    assert_eq!(outcome.verdict.messages.delivered, 8 * 40);
    assert!(outcome.drops["fault_lost"] > 0 && outcome.faults["corrupted"] > 0);
    let gm = outcome.gm.unwrap();
    assert!(gm["bad_packets"] > 0 && gm["resends"] > 0, "{gm:?}");
}

#[test]
fn mpi() {
    if !super::gm::built() {
        return;
    }
    let outcome = run("mpi", &[]);
    let counts: Vec<_> = outcome
        .results::<MpiUse>()
        .iter()
        .map(|one| one.measured.len())
        .collect();
    assert_eq!(counts, [5, 2, 1]);
    let times = &outcome.results::<MpiUse>()[0].measured;
    assert!(times.is_sorted_by(|a, b| a.size < b.size), "{times:?}");
    // Longer messages take longer, a long one several times as long as a short one.
    assert!(times[4].value > 10.0 * times[1].value, "{times:?}");
}

#[test]
fn mpi_bypass() {
    if !super::gm::built() {
        return;
    }
    let inside = |bypass: &str| {
        let changed = format!("bypass = \"{bypass}\"");
        let outcome = run("mpi-bypass", &[("bypass = \"broadcast\"", &changed)]);
        outcome.results::<MpiUse>()[0].measured[0].value
    };
    assert!(inside("broadcast") < 0.2 * inside("none"));
}

#[test]
fn mpi_overlap() {
    if !super::gm::built() {
        return;
    }
    let solved = |overlap: &str| {
        let changed = format!("overlap = {overlap}");
        let outcome = run("mpi-overlap", &[("overlap = true", &changed)]);
        let measured = outcome.results::<MpiUse>()[0].measured[0];
        (measured.value, measured.solved.unwrap())
    };
    let ((with, overlapped), (without, waiting)) = (solved("true"), solved("false"));
    assert!(overlapped.converged && waiting.converged);
    assert_eq!(overlapped.iterations, waiting.iterations);
    assert!(with < 0.8 * without, "{with}, {without}");
    assert!(overlapped.hidden_us > 10.0 && waiting.hidden_us == 0.0);
}

#[test]
fn dsm() {
    if !super::gm::built() {
        return;
    }
    let outcome = run(
        "dsm",
        &[
            ("size = 20000", "size = 2000"),
            ("repeats = 2", "repeats = 1"),
        ],
    );
    let [handlers, boards] = &outcome.results::<DsmUse>()[..] else {
        panic!("{:?}", outcome.results::<DsmUse>());
    };
    assert!(handlers.mean.handled > 50.0, "{:?}", handlers.mean);
    assert_eq!(boards.mean.handled, 0.0);
}

#[test]
fn gm_atomics() {
    if !super::gm::built() {
        return;
    }
    let outcome = run("gm-atomics", &[]);
    assert!(outcome.faults["lost"] > 0 && outcome.faults["duplicated"] > 0);
    let done: Vec<_> = outcome
        .results::<AtomicUse>()
        .iter()
        .map(|one| one.uses)
        .collect();
    assert_eq!(done, [0, 0, 200, 200]);
    let [nic, host, ..] = &outcome.results::<AtomicUse>()[..] else {
        panic!("{:?}", outcome.results::<AtomicUse>());
    };
    assert_eq!((nic.operations, host.operations), (800, 800));
}

#[test]
fn gm_collectives() {
    if !super::gm::built() {
        return;
    }
    let outcome = run("gm-collectives", &[]);
    let results = outcome.results::<CollectiveUse>();
    let results = results.iter();
    let found: Vec<_> = results
        .map(|one| (&*one.program, one.on, one.members, one.rounds))
        .collect();
    let expected = ["host", "nic"].map(|on| {
        [
            ("barrier", on, 6, 50),
            ("reduction", on, 5, 50),
            ("all-to-all-broadcast", on, 5, 50),
        ]
    });
    assert_eq!(found, expected.concat());
}

#[test]
fn fewer_random_collectives() {
    if !super::gm::built() {
        return;
    }
    let changes = [
        ("rounds = 10000", "rounds = 60"),
        ("messages = 2000", "messages = 20"),
        ("nodes = 32", "nodes = 12"),
    ];
    let outcome = run("gm-collectives-random", &changes);
    assert_eq!(outcome.verdict.messages.delivered, 12 * 20);
    let [result] = &outcome.results::<CollectiveUse>()[..] else {
        panic!("{:?}", outcome.results::<CollectiveUse>());
    };
    assert_eq!((result.on, result.members, result.rounds), ("nic", 12, 60));
    assert!(outcome.drops["fault_lost"] > 0, "{:?}", outcome.drops);
}

#[test]
fn fm_multicast() {
    if !super::gm::built() {
        return;
    }
    let outcome = run("fm-multicast", &[]);
    let [result] = &outcome.results::<MulticastUse>()[..] else {
        panic!("{:?}", outcome.results::<MulticastUse>());
    };
    assert_eq!(
        (result.nodes, result.bytes, result.rounds),
        (16, 16_384, 40)
    );
    assert_eq!(outcome.verdict.messages.delivered, 15 * 40);
}

#[test]
fn a_multicast_over_bad_links() {
    if !super::gm::built() {
        return;
    }
    let changes = [
        ("nodes = 256", "nodes = 36"),
        ("ports = 16", "ports = 8"),
        ("loss = 0.0001", "loss = 0.002"),
    ];
    let outcome = run("gm-multicast-256", &changes);
    let result = &outcome.results::<MulticastUse>()[0];
    let messages = outcome.verdict.messages;
    assert_eq!(messages.delivered, 35 * result.rounds as u64);
    assert!(outcome.drops["fault_lost"] > 0, "{:?}", outcome.drops);
    assert!(outcome.gm.as_ref().unwrap()["resends"] > 0);
}

#[test]
fn a_small_gm_clos() {
    if !super::gm::built() {
        return;
    }
    let changes = [("nodes = 256", "nodes = 36"), ("ports = 16", "ports = 8")];
    let outcome = run("gm-clos-256", &changes);
    assert_eq!(outcome.verdict.messages.delivered, 36 * 35 * 2);
}

#[test]
fn a_short_gm_soak() {
    if !super::gm::built() {
        return;
    }
    let outcome = run("gm-soak", &[("= 62500 ", "= 100 ")]);
    assert_eq!(outcome.verdict.messages.delivered, 16 * 100);
    assert!(outcome.faults["duplicated"] > 0);
}

/// GM on one CPU of each board, on two in either way, and all in one network.
#[test]
fn a_short_gm_ethernet() {
    let two = "image = \"gm-tigon2-two\"";
    let coll = "image = \"gm-tigon2-coll\"";
    let mixed = format!(
        "\n[[node]]\nname = \"one\"\ncount = 2\n[[node]]\nname = \"two\"\n{two}\n[[node]]\nname = \"coll\"\n{coll}\n"
    );
    let nodes = "nodes = 4";
    for (image, nodes) in [("", nodes), (two, nodes), (coll, nodes), ("", &mixed)] {
        let with_image = format!("seed = 1\n{image}");
        let changes = [
            ("= 1000 ", "= 40 "),
            ("seed = 1", &with_image),
            ("nodes = 4", nodes),
        ];
        let outcome = run("gm-ethernet", &changes);
        assert_eq!(outcome.verdict.messages.delivered, 4 * 40);
        assert!(outcome.drops["fault_lost"] > 0 && outcome.faults["corrupted"] > 0);
        let gm = outcome.gm.unwrap();
        assert!(gm["bad_packets"] > 0 && gm["resends"] > 0, "{gm:?}");
    }
}

#[test]
fn gm_mapper() {
    if !super::gm::built() {
        return;
    }
    let outcome = run("gm-mapper", &[]);
    assert_eq!(outcome.verdict.messages.delivered, 6 * 4000);
    let maps: Vec<_> = outcome
        .maps
        .iter()
        .map(|map| (map.nodes, map.crossbars, map.cables))
        .collect();
    assert_eq!(maps, [(6, 4, 5); 2]);
}

#[test]
fn restart() {
    let outcome = run("restart", &[]);
    let messages = outcome.verdict.messages;
    // Node 3 had posted some before its reset, and posts all of them afterwards.
    assert!(messages.posted > 4 * 60 && messages.posted < 5 * 60);
    assert!(messages.delivered + messages.cut_off + messages.failed_with_status >= messages.posted);
    assert!(messages.delivered > 4 * 60 - 20);
}

/// The example with defective firmware fails a few ms after its start; without the defect it does not.
#[test]
fn race() {
    let outcome = outcome("race", &[]);
    assert_eq!(outcome.end, RunEnd::Completed);
    assert!(!outcome.is_good());
    let source = include_str!("../../../../firmware/images/race-two-cpus/src/work.rs");
    let mut lines = (1..).zip(source.lines());
    let (line, _) = lines.find(|(_, text)| text.contains("fail!(")).unwrap();
    let expected = format!(
        "node 0: CPU A has stopped: panic at images/race-two-cpus/src/work.rs:{line}: \
         7 of 8 buffers are free, and none is in use"
    );
    assert_eq!(outcome.problems, [expected]);
    assert!((1000.0..10_000.0).contains(&outcome.simulated.us()));
    let fixed = self::outcome("race", &[("\"race-two-cpus\"", "\"race-two-cpus-fixed\"")]);
    assert!(fixed.is_good(), "{fixed:?}");
    assert_eq!(fixed.simulated.us(), 100_000.0);
}

#[test]
fn flow_control() {
    let outcome = run("flow-control", &[]);
    assert_eq!(outcome.verdict.messages.delivered, 140);
    assert_eq!(outcome.boards[0].node, "sink");
    let without = [("flow_control = true", "flow_control = false")];
    let other = run("flow-control", &without);
    assert_ne!(
        outcome.trace_hash, other.trace_hash,
        "it makes a difference"
    );
}

#[test]
fn ethernet_fills_a_link() {
    let outcome = run("ethernet", &[("frames = 5000", "frames = 1000")]);
    let result = &outcome.results::<EthernetUse>()[0];
    assert!(result.mbit > 19_650.0 && result.lost == 0, "{result:?}");
}
