//! Faults hit the frames that they describe, and permanent damage is reported.

use defs::emp::control::Counter;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_worlds::faults::{self, Fault};
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

use super::{pair, run, stream};

/// Sends six messages of three frames from node 0 to node 1, with a fault; returns the outcome and the
/// number of hits.
fn with(fault: &Fault) -> (RunSummary, u32) {
    let text = pair(&(stream(6, 4000) + "[emp]\ntimeout_us = 500\n"));
    let scenario = lanigon_workloads::parse("test.toml", &text).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    let strikes = faults::install(&mut simulation.world, fault).unwrap();
    let outcome = simulation.run(&RunOptions::default(), |_| {});
    assert_eq!(outcome.end, RunEnd::Completed, "{fault:?}");
    (outcome, strikes.count())
}

#[test]
fn patterns_name_single_frames() {
    let check = |fault: Fault, strikes, drops: &[(&str, u64)]| {
        let (outcome, struck) = with(&fault);
        assert!(outcome.is_good(), "{fault:?}");
        assert_eq!(struck, strikes, "{fault:?}");
        for (reason, count) in drops {
            assert_eq!(
                outcome.drops[*reason], *count,
                "{fault:?}: {:?}",
                outcome.drops
            );
        }
        outcome
    };
    let lost = check(
        Fault::drop().fragment(2).of_message(4).from(0),
        1,
        &[("fault_lost", 1)],
    );
    assert!(lost.counted(Counter::FramesResent) > 0);
    check(
        Fault::drop().header().of_message(1),
        1,
        &[("fault_lost", 1)],
    );
    check(
        Fault::drop().ack().from(1).times(3),
        3,
        &[("fault_lost", 3)],
    );
    check(
        Fault::drop().data().from(1).always(),
        0,
        &[("fault_lost", 0)],
    );
    check(Fault::drop().fragment(3).always(), 0, &[("fault_lost", 0)]);
    check(
        Fault::drop().of_message(6).always(),
        0,
        &[("fault_lost", 0)],
    );
    check(
        Fault::duplicate().header().to(1).always(),
        6,
        &[("nic_duplicate", 6)],
    );
    check(
        Fault::corrupt(40).fragment(1).of_message(0),
        1,
        &[("nic_damaged", 1)],
    );
    check(Fault::corrupt(59).ack(), 1, &[("nic_damaged", 1)]);
    let late = Fault::delay(SimTime::from_us(100))
        .fragment(0)
        .of_message(2);
    let late = check(late, 1, &[("fault_lost", 0)]);
    assert_eq!(late.faults["delayed"], 1);
    check(Fault::drop().after(SimTime::from_us(1_000_000)), 0, &[]);
}

/// Damage with a valid FCS is detected by the comparison of bytes only.
#[test]
fn forged_bytes_are_found() {
    let (outcome, strikes) = with(&Fault::forge(100).fragment(1).of_message(3).from(0));
    assert_eq!(strikes, 1);
    assert_eq!(outcome.verdict.messages.corrupted, 1);
    assert_eq!(outcome.verdict.messages.delivered, 6);
    assert!(!outcome.is_good());
}

#[test]
fn a_peer_that_never_answers_is_told_as_a_status() {
    let text = pair(&stream(3, 100))
        + "[emp]\ntimeout_us = 100\nretry_limit = 2\n\
           [[fault]]\ndo = \"drop\"\nframe = \"ack\"\nfrom = 1\nalways = true\n";
    let outcome = run(&text, &RunOptions::default());
    let messages = outcome.verdict.messages;
    assert_eq!(messages.failed_with_status, 3, "{outcome:?}");
    assert!(messages.is_good() && outcome.is_good());
    assert!(
        outcome.failures[0].contains("node 0: "),
        "{:?}",
        outcome.failures
    );
}

#[test]
fn a_node_that_is_gone_is_told_as_a_status() {
    let text = pair(&stream(50, 5000))
        + "[emp]\ntimeout_us = 100\nretry_limit = 3\n\
           [[fault]]\ndo = \"reset\"\nnode = 1\nat_us = 1000\n";
    let outcome = run(&text, &RunOptions::default());
    let messages = outcome.verdict.messages;
    assert!(
        messages.delivered > 0 && messages.failed_with_status > 30,
        "{messages:?}"
    );
    assert!(outcome.is_good(), "{outcome:?}");
}

#[test]
fn links_are_cut_and_channels_rest() {
    let text = pair(&stream(40, 5000)) + "[emp]\ntimeout_us = 300\n";
    let plain = run(&text, &RunOptions::default());
    let check = |fault: &str| {
        let outcome = run(&format!("{text}[[fault]]\n{fault}"), &RunOptions::default());
        assert!(outcome.is_good(), "{fault}: {outcome:?}");
        assert_eq!(outcome.verdict.messages.delivered, 40, "{fault}");
        assert!(
            outcome.verdict.last_ps > plain.verdict.last_ps,
            "{fault} costs time"
        );
    };
    check("do = \"cut\"\nlink = [0, 1]\nat_us = 500\nfor_us = 1000\n");
    check("do = \"stall-dma\"\nnode = 0\nchannel = \"read\"\nat_us = 500\nfor_us = 700\n");
    check("do = \"stall-dma\"\nnode = 1\nchannel = \"write\"\ntransfer = 20\nfor_us = 700\n");
    check("do = \"random\"\nnodes = 1\nloss = 0.05\nduplication = 0.05\n");
}

#[test]
fn a_ping_pong_whose_message_fails_is_over() {
    let text = pair(
        "[emp]\ntimeout_us = 500\nretry_limit = 2\n
[[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 9\nbytes = [100]\n
[[fault]]\ndo = \"drop\"\nfrom = 1\nmessage = 2\nframe = \"header\"\nalways = true\n
[[fault]]\ndo = \"drop\"\nfrom = 1\nmessage = 299\n",
    );
    let outcome = run(&text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed);
    assert!(outcome.is_good(), "{outcome:?}");
    let counts = outcome.verdict.messages;
    let failed = (counts.failed_with_status, counts.failed_yet_delivered);
    assert_eq!((counts.posted, counts.delivered, failed), (6, 5, (1, 0)));
    let places: Vec<_> = outcome.idle_faults.iter().collect();
    assert_eq!(
        places.len(),
        1,
        "only the last fault met nothing: {places:?}"
    );
}

#[test]
fn empty_messages_that_fail_are_not_taken_for_lost_ones() {
    let text = pair(
        "[emp]\ntimeout_us = 500\nretry_limit = 2\n
[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = 6\nbytes = [0]\n
[[fault]]\ndo = \"drop\"\nfrom = 0\nmessage = 2\nalways = true\n
[[fault]]\ndo = \"drop\"\nfrom = 1\nmessage = 4\nframe = \"ack\"\nalways = true\n",
    );
    let outcome = run(&text, &RunOptions::default());
    assert!(outcome.is_good(), "{outcome:?}");
    let counts = outcome.verdict.messages;
    let failed = (counts.failed_with_status, counts.failed_yet_delivered);
    // The fourth message waits for the third one, and fails with it.
    assert_eq!((counts.posted, counts.delivered, failed), (6, 4, (3, 1)));
}
