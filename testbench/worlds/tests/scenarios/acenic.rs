//! Frames of Ethernet between boards with AceNIC firmware.

use std::path::Path;

use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

use super::pair;

/// Runs a scenario, which must end without problems.
#[track_caller]
fn good(text: &str) -> RunSummary {
    let outcome = super::run(text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{outcome:?}");
    assert!(outcome.is_good(), "{outcome:?}");
    outcome
}

/// Numbers of sent, arrived and dropped frames.
fn counts(outcome: &RunSummary) -> [u64; 3] {
    let messages = &outcome.verdict.messages;
    [messages.posted, messages.delivered, messages.dropped]
}

/// Two nodes, node 0 of which sends frames to node 1.
fn frames(more: &str) -> String {
    pair(&format!(
        "[[program]]\nrun = \"frames\"\nfrom = 0\nto = 1\n{more}\n"
    ))
}

/// A star of nodes, each of which sends frames to each other one.
fn star(nodes: usize, more: &str) -> String {
    format!(
        "[network]\ntopology = \"star\"\nnodes = {nodes}\n\
         [[program]]\nrun = \"frames\"\nnodes = \"all\"\n{more}\n"
    )
}

#[test]
fn every_frame_arrives_in_order() {
    let outcome = good(&frames("frames = 50\nbytes = [60, 61, 128, 129, 1514]"));
    assert_eq!(counts(&outcome), [50, 50, 0]);
    assert_eq!(outcome.verdict.bytes, 10 * (60 + 61 + 128 + 129 + 1514));
    assert!(outcome.drops.values().all(|&count| count == 0));
    let scenario = lanigon_workloads::parse("test.toml", &frames("bytes = 60")).unwrap();
    for node in scenario.nodes {
        assert_eq!(node.protocol, Some(Protocol::Acenic));
        assert_eq!(node.image.name, "acenic");
    }
}

#[test]
fn all_nodes_of_a_star_send_to_all() {
    let outcome = good(&star(5, "frames = 20\nbytes = [60, 1000]\ngap_us = 50"));
    assert_eq!(counts(&outcome), [400, 400, 0]);
}

#[test]
fn boards_compute_checksums_and_carry_tags() {
    let frame = "frames = 30\nbytes = [60, 73, 500, 1514]\n";
    for more in [
        "checksum = true",
        "vlan = 8191",
        "checksum = true\nvlan = 0",
    ] {
        let outcome = good(&frames(&format!("{frame}{more}")));
        assert_eq!(counts(&outcome), [30, 30, 0], "{more}");
    }
    for fragments in [2, 7, 16] {
        let outcome = good(&frames(&format!("{frame}fragments = {fragments}")));
        assert_eq!(counts(&outcome), [30, 30, 0]);
    }
}

#[test]
fn long_frames_need_a_longer_mtu() {
    let text = frames("frames = 20\nbytes = [9014, 60, 1515]\ngap_us = 100");
    let outcome = good(&format!(
        "[acenic]\nmtu = 9018\nassist = \"hardware\"\n{text}"
    ));
    assert_eq!(counts(&outcome), [20, 20, 0]);
}

#[test]
fn coalescing_delays_reports() {
    let latency = |settings: &str| {
        let frames = frames("frames = 10\nbytes = 60\ngap_us = 1000");
        let outcome = good(&format!("[acenic]\n{settings}\n{frames}"));
        outcome.verdict.latency_us(100).unwrap()
    };
    let (soon, late) = (latency("rx_frames = 1"), latency("rx_ticks_us = 500"));
    assert!(
        soon < 60.0 && (400.0..600.0).contains(&late),
        "{soon} {late}"
    );
}

#[test]
fn a_receiver_waits_for_reports_of_its_board() {
    let frames = frames("frames = 20\nbytes = 60\npatience_us = 100");
    let outcome = good(&format!("[acenic]\nrx_ticks_us = 5000\n{frames}"));
    assert_eq!(counts(&outcome), [20, 20, 0]);
}

#[test]
fn a_board_whose_reports_rest_for_long_goes_on_afterwards() {
    for channel in ["read", "write"] {
        let rest = format!(
            "[[fault]]\ndo = \"stall-dma\"\nnode = 0\nchannel = \"{channel}\"\nat_us = 0\nfor_us = 100000\n"
        );
        let outcome = good(&format!("{}{rest}", star(3, "frames = 50\nbytes = 61")));
        assert_eq!(counts(&outcome), [300, 300, 0], "{channel}");
    }
}

#[test]
fn losses_are_those_that_faults_account_for() {
    let text = star(3, "frames = 100\nbytes = [60, 1514]\ngap_us = 20");
    let random = "[faults]\nloss = 0.03\ncorruption = 0.02\nduplication = 0.02\ndelay = 0.02\n";
    let outcome = good(&format!("{text}{random}"));
    let [sent, arrived, dropped] = counts(&outcome);
    assert_eq!(sent, 600);
    assert_eq!(arrived + dropped, sent);
    assert!(dropped > 10, "{outcome:?}");
    let cut = "[[fault]]\ndo = \"cut\"\nnodes = 1\nat_us = 3000\nfor_us = 300\n";
    let outcome = good(&format!("{text}{cut}"));
    assert!(outcome.verdict.messages.dropped > 0, "{outcome:?}");
}

#[test]
fn a_board_without_room_accounts_for_losses() {
    // Short frames of four nodes arrive faster than the firmware of the fifth takes them.
    let text = "[network]\ntopology = \"star\"\nnodes = 5\n\
        [[program]]\nrun = \"frames\"\nfrom = \"0..4\"\nto = 4\nframes = 3000\nbytes = 60\n";
    let outcome = good(text);
    let [sent, arrived, dropped] = counts(&outcome);
    assert_eq!((sent, arrived + dropped), (12_000, sent));
    let lost: u64 = outcome.drops.values().sum();
    assert_eq!(lost, dropped, "{:?}", outcome.drops);
    assert!(outcome.drops["nic_no_space"] > 0, "{:?}", outcome.drops);
}

#[test]
fn losses_that_nothing_accounts_for_fail_the_run() {
    let text = frames("frames = 6\nbytes = [60, 1600]");
    let text = format!("[acenic]\nmtu = 9018\n{text}");
    let mut scenario = lanigon_workloads::parse("test.toml", &text).unwrap();
    // The receiver's firmware drops what is longer.
    scenario.nodes[1].settings.acenic.mtu = 1518;
    let mut simulation = Simulation::new(&scenario).unwrap();
    let outcome = simulation.run(&RunOptions::default(), |_| {});
    assert_eq!(outcome.end, RunEnd::Completed);
    assert!(!outcome.is_good());
    assert_eq!(counts(&outcome), [6, 3, 0]);
    assert_eq!(outcome.verdict.messages.lost, 3);
}

#[test]
fn emp_and_frames_live_side_by_side() {
    let text = "[network]\ntopology = \"star\"\n\
        [[node]]\nname = \"e\"\ncount = 2\nprotocol = \"emp\"\n[[node]]\nname = \"a\"\ncount = 2\n\
        [[program]]\nrun = \"stream\"\nfrom = \"e0\"\nto = \"e1\"\nmessages = 20\nbytes = 3000\n\
        [[program]]\nrun = \"frames\"\nnodes = \"a\"\nframes = 20\nbytes = 900\n";
    let outcome = good(text);
    assert_eq!(counts(&outcome), [60, 60, 0]);
    let node = |name| {
        format!("[[program]]\nrun = \"frames\"\nfrom = \"a0\"\nto = \"{name}\"\nbytes = 60\n")
    };
    let mixed = text.replace("nodes = \"a\"\nframes", "nodes = \"all\"\nframes");
    for text in [mixed, format!("{text}{}", node("e0"))] {
        let error = lanigon_workloads::parse("test.toml", &text)
            .unwrap_err()
            .to_string();
        assert!(error.contains("needs protocol = \"acenic\""), "{error}");
    }
}

#[test]
fn a_node_has_several_programs_of_frames() {
    let more = |from, to, more: &str| {
        format!("[[program]]\nrun = \"frames\"\nfrom = {from}\nto = {to}\nframes = 40\n{more}\n")
    };
    let programs = [
        more(0, 1, "bytes = 60\nfragments = 2"),
        more(1, 0, "bytes = 1514\nwindow = 2"),
        more(0, 1, "bytes = 300\nstart_us = 2000"),
        more(2, 1, "bytes = 400\ngap_us = 100"),
    ];
    let star = "[network]\ntopology = \"star\"\nnodes = 3\n";
    let text = format!("{star}{}", programs.concat());
    let outcome = good(&text);
    assert_eq!(counts(&outcome), [160, 160, 0]);
    assert!(outcome.simulated > SimTime::from_us(4000));
    let refused = |last: &str, expected: &str| {
        let error = lanigon_workloads::parse("test.toml", &format!("{text}{last}"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{expected:?} not in {error:?}");
    };
    let other = "frames with another checksum or vlan already";
    refused(&more(2, 1, "bytes = 60\nvlan = 1"), other);
    let idle = "[[program]]\nrun = \"idle\"\nnodes = 1\n";
    refused(
        idle,
        "node 1 runs frames already: a board serves one process",
    );
}

#[test]
fn idle_nodes_boot_and_other_firmware_runs_beside() {
    let text = "protocol = \"acenic\"\nmax_time_us = 50000\n[network]\ntopology = \"star\"\nnodes = 4\n\
        [[program]]\nrun = \"frames\"\nnodes = [0, 1]\nframes = 5\nbytes = 60\n\
        [[program]]\nrun = \"idle\"\nnodes = 2\n[[program]]\nrun = \"start\"\nnodes = 3\n";
    let outcome = super::run(text, &RunOptions::default());
    assert!(outcome.is_good(), "{outcome:?}");
    assert_eq!(counts(&outcome), [10, 10, 0]);
}

#[test]
fn a_snapshot_goes_on_with_equal_results() {
    let text = star(
        3,
        "frames = 30\nbytes = [60, 1514]\ngap_us = 40\n[faults]\nloss = 0.02",
    );
    let scenario = lanigon_workloads::parse("test.toml", &text).unwrap();
    let options = RunOptions::default();
    let result = |simulation: &mut Simulation| {
        let mut outcome = simulation.run(&options, |_| {});
        outcome.boards.clear();
        format!("{outcome:?}")
    };
    let whole = result(&mut Simulation::new(&scenario).unwrap());
    for us in [300, 1500] {
        let mut simulation = Simulation::new(&scenario).unwrap();
        simulation.keep_logs();
        let time = SimTime::from_us(us);
        simulation.run_to(time, &options, |_| {}).unwrap();
        let file = simulation.save("test.toml", &text, &scenario).unwrap();
        let (mut loaded, ..) =
            Simulation::load(lanigon_workloads::ALL, &file, Path::new("")).unwrap();
        assert_eq!(result(&mut loaded), whole, "{us} us");
    }
}

#[test]
fn single_frames_are_lost_doubled_held_back_and_damaged() {
    let all = "nodes = \"all\"\nframes = 40\nbytes = [60, 700]\ngap_us = 30";
    let check = |more: &str, fault: &str, expected: [u64; 3]| {
        let program = format!("[[program]]\nrun = \"frames\"\n{all}\n{more}\n");
        let text = format!("{}[[fault]]\n{fault}\n", pair(&program));
        let outcome = good(&text);
        assert_eq!(counts(&outcome), expected, "{more} {fault}");
        outcome.faults.values().sum::<u64>()
    };
    for more in [
        "",
        "vlan = 5",
        "checksum = true",
        "checksum = true\nvlan = 7",
    ] {
        let hits = check(more, "do = \"drop\"\nmessage = 17\nfrom = 0", [80, 79, 1]);
        assert_eq!(hits, 1, "{more}");
    }
    // Without a sender both nodes have a frame 17.
    let hits = check("", "do = \"drop\"\nmessage = 17\ntimes = 2", [80, 78, 2]);
    assert_eq!(hits, 2);
    let hits = check(
        "",
        "do = \"drop\"\nnth = 31\nto = 1\nalways = true",
        [80, 70, 10],
    );
    assert_eq!(hits, 10);
    let hits = check("", "do = \"duplicate\"\nnth = 3\nfrom = 1", [80, 80, 0]);
    assert_eq!(hits, 1);
    let hits = check(
        "",
        "do = \"delay\"\nby_us = 200\nnth = 3\nfrom = 1",
        [80, 80, 0],
    );
    assert_eq!(hits, 1);
    let hits = check(
        "",
        "do = \"corrupt\"\nbyte = 50\nnth = 3\nfrom = 1",
        [80, 79, 1],
    );
    assert_eq!(hits, 1);
    let hits = check("", "do = \"drop\"\nafter_us = 1e6\nfrom = 1", [80, 80, 0]);
    assert_eq!(hits, 0);
}

/// Only a comparison of the bytes finds a damage under a check sequence that fits.
#[test]
fn a_forged_frame_fails_the_run() {
    let fault = "[[fault]]\ndo = \"corrupt\"\nbyte = 50\nvalid_fcs = true\nmessage = 3\n";
    let text = format!("{}{fault}", frames("frames = 10\nbytes = 700"));
    let outcome = super::run(&text, &RunOptions::default());
    assert!(!outcome.is_good());
    assert_eq!(outcome.verdict.messages.corrupted, 1, "{outcome:?}");
}

/// The board's filter drops a frame for another board; the receiver goes on after a frame that no program has sent.
#[test]
fn a_forged_header_fails_the_run_and_ends_no_program() {
    for byte in 0..20 {
        let fault =
            format!("[[fault]]\ndo = \"corrupt\"\nbyte = {byte}\nvalid_fcs = true\nmessage = 3\n");
        let text = format!("{}{fault}", frames("frames = 100\nbytes = 700"));
        let outcome = super::run(&text, &RunOptions::default());
        let messages = &outcome.verdict.messages;
        let [delivered, dropped, corrupted] = match byte {
            0..6 => [99, 1, 0],
            // The sender's address, the kind.
            6..12 | 14 => [99, 0, 1],
            _ => [100, 0, 1],
        };
        let found = [messages.delivered, messages.dropped, messages.corrupted];
        assert_eq!(found, [delivered, dropped, corrupted], "byte {byte}");
        assert_eq!(outcome.drops["nic_filtered"], dropped, "byte {byte}");
        assert_eq!((messages.lost, messages.unfinished), (0, 0), "byte {byte}");
        assert_eq!(outcome.end, RunEnd::Completed, "byte {byte}");
        assert_eq!(outcome.problems, [""; 0], "byte {byte}");
        assert_eq!(outcome.is_good(), corrupted == 0, "byte {byte}");
        if byte == 9 {
            let said = "node 1: a frame of 700 bytes that no program has sent: its header is 02 4c 61 6e 00 01 02 4c 61 91 00 00 88 b5";
            assert_eq!(outcome.failures, [said]);
        }
    }
}

/// Every frame is delivered, dropped or under way, whenever the receiver takes the missing ones for lost.
#[test]
fn frames_that_come_after_a_silence_or_not_at_all_are_no_losses() {
    let always = "[[fault]]\ndo = \"drop\"\nalways = true\n";
    let most = "[[fault]]\ndo = \"drop\"\ntimes = 4600\n";
    for (more, fault, arrive) in [
        ("bytes = 1000", always, 0),
        ("bytes = 1000", most, 400),
        ("bytes = [60, 1514]\npatience_us = 5000", most, 400),
        ("bytes = [60, 1514]\npatience_us = 1000", "", 5000),
    ] {
        for assist in ["software", "hardware"] {
            let frames = frames(&format!("frames = 5000\n{more}"));
            let outcome = good(&format!("[acenic]\nassist = \"{assist}\"\n{frames}{fault}"));
            let [sent, arrived, dropped] = counts(&outcome);
            let under_way = outcome.verdict.messages.unfinished;
            assert_eq!(arrived + dropped + under_way, sent, "{more} {fault}");
            assert_eq!(arrived, arrive, "{more} {fault}");
            // The run ends while frames lie in the sender's ring, unless the receiver waits for some.
            assert_eq!(under_way > 0, arrive == 0, "{more} {fault}");
        }
    }
}

#[test]
fn mistakes_are_refused_where_they_are() {
    let refused = |text: &str, expected: &str| {
        let error = lanigon_workloads::parse("test.toml", text)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{expected:?} not in {error:?}");
    };
    refused(
        &frames("bytes = 59"),
        "test.toml:7: program.bytes: 59 is not between 60 and 9014",
    );
    refused(&frames("frames = 2"), "\"bytes\" is missing");
    refused(&frames("bytes = 1515"), "need [acenic] mtu = 1519");
    refused(&frames("bytes = 60\nmessages = 2"), "program.messages");
    refused(&frames("bytes = 60\nvlan = 70000"), "program.vlan");
    refused(
        &frames("bytes = 60\nfragments = 16\nwindow = 32"),
        "32 frames of 16 fragments are more than the 255 descriptors",
    );
    refused(
        &frames("bytes = 60").replace("to = 1", "to = 0"),
        "a node sends no frames to itself",
    );
    refused(
        &format!("{}[acenic]\nmtu = 9019\n", frames("bytes = 60")),
        "acenic.mtu: 9019 is not between 1518 and 9018",
    );
    refused(
        &format!("{}[acenic]\nassist = \"both\"\n", frames("bytes = 60")),
        "acenic.assist: no assist \"both\"",
    );
    let fault = |fault: &str| format!("{}[[fault]]\n{fault}\n", frames("bytes = 60"));
    refused(
        &fault("do = \"drop\"\nfrom = 0\nto = 0"),
        "a node sends nothing to itself",
    );
    refused(&fault("do = \"drop\"\nfragment = 1"), "fault.fragment");
    let stream = "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nbytes = 60\n";
    refused(
        &format!("protocol = \"acenic\"\n{}", pair(stream)),
        "stream needs EMP or GM, and node 0 runs AceNIC firmware",
    );
    refused(
        &format!("protocol = \"emp\"\n{}", frames("bytes = 60")),
        "frames needs protocol = \"acenic\", and node 0 runs EMP",
    );
    refused(
        "board = \"lanai\"\nprotocol = \"acenic\"\n[network]\ntopology = \"pair\"\n",
        "do not run AceNIC firmware",
    );
}

#[test]
fn complaints_of_the_firmware_are_told() {
    // An image that the scenario names may know better; this one does not.
    let more = "frames = 1\nbytes = 64\nchecksum = true\n[acenic]\nassist = \"hardware\"";
    let text = format!(
        "image = \"acenic\"\nprotocol = \"acenic\"\n{}",
        frames(more)
    );
    let outcome = super::run(&text, &RunOptions::default());
    let expected = "node 0: the firmware reports: error: bad configuration";
    assert!(outcome.problems[0].starts_with(expected), "{outcome:?}");
}
