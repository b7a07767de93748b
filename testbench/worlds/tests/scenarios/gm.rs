//! Programs over GM on boards with a LANai: results, settings, limits, restarts.

use std::io::Write as _;
use std::num::NonZeroUsize;

use emulator::sim::world::RunEnd;
use lanigon_worlds::boards;
use lanigon_worlds::simulation::RunOptions;
use lanigon_worlds::simulation::result::RunSummary;

use super::run;

/// Whether GM's images exist: they are built where LLVM's tools are.
pub fn built() -> bool {
    let built = ["lanai4", "lanai9"].iter().all(|name| {
        let board = boards::board_type(name).unwrap();
        let image = board.gm.unwrap().image;
        board.own_image(image, board.usual_sram_bytes).is_ok()
    });
    if !built {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED for lack of GM's images (`make firmware` builds them where llc of LLVM 22 is installed)"
        );
    }
    built
}

/// Boards of one type in a network, with a program and more text.
fn text(board: &str, network: &str, program: &str, more: &str) -> String {
    format!("board = \"{board}\"\n{more}\n[network]\n{network}\n[[program]]\n{program}\n")
}

#[track_caller]
fn check_all(text: &str, messages: u64) -> RunSummary {
    let outcome = run(text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{text}");
    assert!(outcome.is_good(), "{text}{outcome:?}");
    let counts = outcome.verdict.messages;
    assert_eq!(
        (counts.posted, counts.delivered),
        (messages, messages),
        "{text}"
    );
    outcome
}

const PAIR: &str = "topology = \"pair\"";

#[test]
fn every_program_delivers_what_it_sends() {
    if !built() {
        return;
    }
    let check = |board: &str, network: &str, program: &str, messages: u64| {
        check_all(&text(board, network, program, ""), messages);
    };
    for bytes in ["0", "1", "[4089, 128, 4096]"] {
        let program = format!("run = \"ping-pong\"\nnodes = [1, 0]\nmessages = 4\nbytes = {bytes}");
        check("lanai9.1-133", PAIR, &program, 8);
        check("lanai4.3-33", PAIR, &program, 8);
    }
    let star = "topology = \"star\"\nnodes = 4";
    let all = "run = \"all-to-all\"\nnodes = \"all\"\nmessages = 3\nbytes = [0, 64, 4096]";
    check("lanai7.2-66", star, all, 36);
    let incast = "run = \"incast\"\nfrom = \"1..4\"\nto = 0\nmessages = 3\nbursts = 2\npause_us = 50\nbytes = 3000\nreceives = 1";
    check("lanai9.2-200", star, incast, 18);
    let random = "run = \"random\"\nnodes = \"all\"\nmessages = 20\nmax_bytes = 4096\nwindow = 61\nstart_us = 100";
    let tree = "topology = \"tree\"\nports = 8\nnodes = 9";
    check("lanai9.2-200", tree, random, 180);
    let clos = "topology = \"clos\"\nports = 8\nnodes = 6";
    check("lanai4.3-33", clos, random, 120);
    let islands = "topology = \"pair\"\nnodes = 6";
    let stream = "run = \"stream\"\nfrom = 4\nto = 5\nmessages = 20\nbytes = 700\nwindow = 16";
    check("lanai9.1-133", islands, stream, 20);
    let looped = "topology = \"loop\"\nnodes = 2";
    check("lanai9.1-133", looped, "run = \"idle\"\nnodes = \"all\"", 0);
}

/// Boards on Ethernet, with `protocol = "gm"`.
fn on_ethernet(network: &str, program: &str) -> String {
    let more = "protocol = \"gm\"\ngm = { resend_us = 1000 }";
    text("tigon2", network, program, more)
}

#[test]
fn every_program_delivers_what_it_sends_over_ethernet() {
    let check = |network: &str, program: &str, messages: u64| {
        check_all(&on_ethernet(network, program), messages)
    };
    for bytes in ["0", "1", "[20, 21, 128, 129, 4089, 4096]"] {
        let program =
            format!("run = \"ping-pong\"\nnodes = [1, 0]\nmessages = 12\nbytes = {bytes}");
        check(PAIR, &program, 24);
    }
    let star = "topology = \"star\"\nnodes = 4";
    let all = "run = \"all-to-all\"\nnodes = \"all\"\nmessages = 3\nbytes = [0, 64, 4096]";
    check(star, all, 36);
    let incast = "run = \"incast\"\nfrom = \"1..4\"\nto = 0\nmessages = 3\nbursts = 2\npause_us = 50\nbytes = 3000\nreceives = 1";
    check(star, incast, 18);
    let stream = "run = \"stream\"\nfrom = 0\nto = 1\nmessages = 300\nbytes = 4096\nwindow = 61";
    check(PAIR, stream, 300);
    let tree = "topology = \"tree\"\nports = 8\nnodes = 9";
    let random = "run = \"random\"\nnodes = \"all\"\nmessages = 20\nmax_bytes = 4096\nwindow = 61\nstart_us = 100";
    check(tree, random, 180);
}

#[test]
fn lost_and_damaged_frames_are_sent_again() {
    let star = "topology = \"star\"\nnodes = 4";
    let random = "run = \"random\"\nnodes = \"all\"\nmessages = 75\nmax_bytes = 4096\nwindow = 6\n\
                  [faults]\nloss = 0.01\ncorruption = 0.01\n";
    let outcome = check_all(&on_ethernet(star, random), 300);
    let gm = outcome.gm.expect("counters of GM");
    assert!(gm["resends"] > 0 && gm["bad_packets"] > 0, "{gm:?}");
    let stream = "run = \"stream\"\nfrom = 0\nto = 1\nmessages = 10\nbytes = 100\n\
                  [[fault]]\ndo = \"drop\"\npacket = \"data\"\nfrom = 0\nto = 1\nsequence = 4\n\
                  [[fault]]\ndo = \"duplicate\"\npacket = \"data\"\nfrom = 0\nto = 1\nsequence = 7\n";
    let outcome = check_all(&on_ethernet(PAIR, stream), 10);
    let gm = outcome.gm.expect("counters of GM");
    assert_eq!((gm["resends"], gm["bad_packets"]), (1, 0), "{gm:?}");
    assert!(gm["gaps"] > 0 && gm["duplicates"] > 0, "{gm:?}");
    assert_eq!(outcome.faults["lost"] + outcome.faults["duplicated"], 2);
}

#[test]
fn threads_change_nothing() {
    if !built() {
        return;
    }
    let program = "run = \"random\"\nnodes = \"all\"\nmessages = 75\nmax_bytes = 4096\nwindow = 6\n\
                   [faults]\nloss = 0.01\ncorruption = 0.01\n";
    let star = "topology = \"star\"\nnodes = 4";
    let text = text("lanai9.1-133", star, program, "gm = { resend_us = 1000 }");
    let result = |threads| {
        let options = RunOptions {
            threads: NonZeroUsize::new(threads).unwrap(),
            ..RunOptions::default()
        };
        let outcome = run(&text, &options);
        assert!(outcome.is_good(), "{outcome:?}");
        assert_eq!(outcome.verdict.messages.delivered, 300);
        (outcome.trace_hash, outcome.simulated, outcome.gm)
    };
    assert_eq!(result(1), result(2));
}

#[test]
fn sends_that_make_no_progress_fail_with_a_status() {
    if !built() {
        return;
    }
    let program = "run = \"stream\"\nfrom = 0\nto = 1\nmessages = 10\nbytes = 100\n\
                   [[fault]]\ndo = \"cut\"\nlink = [0, 1]\nat_us = 50\n";
    let text = text(
        "lanai9.1-133",
        PAIR,
        program,
        "gm = { resend_us = 500, fatal_us = 2000 }",
    );
    let outcome = run(&text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{outcome:?}");
    let messages = outcome.verdict.messages;
    assert!(
        outcome.is_good() && messages.failed_with_status > 0,
        "{outcome:?}"
    );
    assert_eq!(messages.posted, 10);
    assert!(outcome.failures[0].contains("timed out"), "{outcome:?}");
}

#[test]
fn a_node_begins_anew_after_a_reset() {
    if !built() {
        return;
    }
    let program = "run = \"all-to-all\"\nnodes = \"all\"\nmessages = 60\nbytes = [40, 2000]\n\
                   [[fault]]\ndo = \"reset\"\nnode = 2\nat_us = 600\npause_us = 100\n";
    let star = "topology = \"star\"\nnodes = 3";
    let text = text(
        "lanai9.1-133",
        star,
        program,
        "gm = { resend_us = 500, fatal_us = 20000 }",
    );
    let outcome = run(&text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{outcome:?}");
    assert!(outcome.is_good(), "{outcome:?}");
    let messages = outcome.verdict.messages;
    assert!(
        messages.posted > 360 && messages.delivered > 300,
        "{messages:?}"
    );
}

/// A stream of six messages with a fault; returns the counters of both boards.
#[track_caller]
fn struck(fault: &str, messages: u64) -> impl Fn(&str) -> u64 {
    let program = format!(
        "run = \"stream\"\nfrom = 0\nto = 1\nmessages = {messages}\nbytes = 3000\n[[fault]]\n{fault}\n"
    );
    let text = text("lanai9.1-133", PAIR, &program, "gm = { resend_us = 500 }");
    let outcome = check_all(&text, messages);
    assert_eq!(outcome.idle_faults.len(), 0, "{fault}");
    let gm = outcome.gm.clone().expect("counters of GM");
    move |name| gm[name]
}

#[test]
fn single_packets_are_struck_and_recovered() {
    if !built() {
        return;
    }
    // Counters: connections sent again, duplicates, gaps, damaged packets.
    let check = |fault: &str, messages, expected: [u64; 4]| {
        let count = struck(fault, messages);
        let names = ["resends", "duplicates", "gaps", "bad_packets"];
        assert_eq!(names.map(&count), expected, "{fault}");
    };
    let third = "packet = \"data\"\nsequence = 2";
    check(&format!("do = \"drop\"\n{third}"), 6, [1, 0, 1, 0]);
    check(
        &format!("do = \"corrupt\"\nbyte = 100\n{third}"),
        6,
        [1, 0, 1, 1],
    );
    check(&format!("do = \"duplicate\"\n{third}"), 6, [0, 1, 0, 0]);
    // The last message: nothing but the time shows the loss.
    check(
        "do = \"drop\"\npacket = \"data\"\nsequence = 5",
        6,
        [1, 0, 0, 0],
    );
    // The program has two messages under way, which one ack tells of: without it both are sent again.
    check(
        "do = \"drop\"\npacket = \"ack\"\nfrom = 1\nnth = 1",
        20,
        [1, 2, 0, 0],
    );
    check("do = \"drop\"\npacket = \"ack\"\nfrom = 1", 1, [1, 1, 0, 0]);
    check(
        "do = \"duplicate\"\npacket = \"ack\"\nto = 0",
        1,
        [0, 0, 0, 0],
    );
    check(
        "do = \"drop\"\nafter_us = 10\ntimes = 2\npriority = \"low\"\nfrom = 0",
        1,
        [2, 0, 0, 0],
    );
}

#[test]
fn faults_of_packets_name_what_they_cannot_select() {
    let check = |fault: &str, expected: &str| {
        let program = format!(
            "run = \"stream\"\nfrom = 0\nto = 1\nbytes = 8\n[[fault]]\ndo = \"drop\"\n{fault}\n"
        );
        let text = text("lanai", PAIR, &program, "");
        let error = lanigon_workloads::parse("test.toml", &text)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{fault}\n{error}");
    };
    check(
        "packet = \"akc\"",
        "no kind of packet \"akc\"; did you mean \"ack\"?",
    );
    check("fragment = 0", "fragment");
    check("nth = 0", "0 is not between 1 and");
    check("sequence = 65536", "65536 is not between 0 and 65535");
    check("priority = \"middle\"", "no priority \"middle\"");
    check("from = 2", "2");
}

#[test]
fn mistakes_are_named_with_their_line() {
    let check = |program: &str, more: &str, expected: &str| {
        let text = text("lanai", PAIR, program, more);
        let error = lanigon_workloads::parse("test.toml", &text)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    };
    let stream = "run = \"stream\"\nfrom = 0\nto = 1\n";
    let with = |more: &str| format!("{stream}{more}");
    check(
        &with("bytes = [4096, 16777209]"),
        "",
        "test.toml:9: program.bytes: 16777209 is not between 0 and 16777208",
    );
    check(
        &with("bytes = 8\nwindow = 62"),
        "",
        "62 is not between 1 and 61",
    );
    check(
        &with("bytes = 8\nreceives = 255"),
        "",
        "255 is not between 1 and 254",
    );
    check(
        &with("bytes = 8"),
        "gm = { resend = 2000 }",
        "did you mean \"resend_us\"?",
    );
    check(
        &with("bytes = 8"),
        "gm = { resend_us = 2000, fatal_us = 1000 }",
        "would fail after 1000 us",
    );
    check(
        &with("bytes = 8"),
        "gm = { resend_us = 99 }",
        "not between 100 and",
    );
    let mixed = "[network]\ntopology = \"star\"\n[[node]]\nname = \"a\"\nboard = \"lanai4\"\n[[node]]\nname = \"b\"\n\
                 board = \"lanai9\"\n[[program]]\nrun = \"ping-pong\"\nnodes = \"all\"\nbytes = 8\n";
    let error = lanigon_workloads::parse("mixed.toml", mixed)
        .unwrap_err()
        .to_string();
    assert!(error.contains("check their packets differently"), "{error}");
}

#[test]
fn images_follow_from_the_programs() {
    let images = |program: &str, more: &str| {
        let text = text("lanai", "topology = \"star\"\nnodes = 3", program, more);
        let scenario = lanigon_workloads::parse("test.toml", &text).unwrap();
        let names: Vec<_> = scenario
            .nodes
            .into_iter()
            .map(|node| node.image.name)
            .collect();
        names.join(" ")
    };
    let stream = "run = \"stream\"\nfrom = 0\nto = 1\nbytes = 8";
    let start = "run = \"start\"\nnodes = 2";
    assert_eq!(images(stream, ""), "gm gm gm");
    assert_eq!(images(start, ""), "hello hello hello");
    let both = format!("{stream}\n[[program]]\n{start}");
    assert_eq!(images(&both, ""), "gm gm hello");
    assert_eq!(images(stream, "image = \"hello\""), "hello hello hello");
}
