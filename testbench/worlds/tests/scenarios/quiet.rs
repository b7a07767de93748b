//! A run in which nothing but timers happens ends and says who waits; one that waits for something does not.

use std::num::NonZeroUsize;

use emulator::board::CpuId;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

use super::{good, pair, run, stream};

/// A cable that is cut for good.
const CUT: &str = "[[fault]]\ndo = \"cut\"\nnodes = [0]\nat_us = 300\n";

/// Plain frames over a cable that is cut for good: the sender's board does not report frames without a link.
fn frames(network: &str, more: &str) -> String {
    format!(
        "{more}[network]\n{network}\n[[program]]\nrun = \"frames\"\nfrom = [0]\nto = 1\nframes = 500\nbytes = 1514\n{CUT}"
    )
}

#[track_caller]
fn quiet(text: &str, options: &RunOptions) -> RunSummary {
    let outcome = run(text, options);
    assert!(
        matches!(outcome.end, RunEnd::Quiet(_)),
        "{text}: {:?}",
        outcome.end
    );
    assert!(!outcome.is_good());
    outcome
}

#[test]
fn frames_that_never_leave_end_the_run() {
    for network in ["topology = \"pair\"", "topology = \"star\"\nnodes = 2"] {
        let outcome = quiet(&frames(network, ""), &RunOptions::default());
        let RunEnd::Quiet(lines) = &outcome.end else {
            unreachable!("checked")
        };
        let waits = "node 0: frames waits for an interrupt";
        assert!(lines.iter().any(|line| line == waits), "{lines:?}");
        let seconds = outcome.simulated.us() / 1e6;
        assert!((10.0..10.1).contains(&seconds), "{seconds} s");
    }
    let soon = frames("topology = \"pair\"", "quiet_us = 50000\n");
    let outcome = quiet(&soon, &RunOptions::default());
    assert!(outcome.simulated < SimTime::from_us(80_000));
    let never = frames("topology = \"pair\"", "quiet_us = 0\nmax_time_us = 2e7\n");
    let outcome = run(&never, &RunOptions::default());
    assert!(matches!(outcome.end, RunEnd::TimeLimit(_)));
}

/// With every protocol a run ends by itself when a cable is cut for good, whatever ends it.
#[test]
fn every_protocol_ends_without_its_peer() {
    let all = "run = \"all-to-all\"\nnodes = [0, 1]\nmessages = 20\nbytes = 3000\n";
    let barrier = "run = \"barrier\"\nnodes = [0, 1]\nrounds = 500\n";
    for (board, program) in [
        ("protocol = \"gm\"\n[gm]\nfatal_us = 50000", all),
        (
            "protocol = \"gm\"\n[gm]\ncollective_us = 50000\nfatal_us = 50000",
            barrier,
        ),
        ("board = \"lanai9.1-133\"\n[gm]\nfatal_us = 50000", all),
        (
            "board = \"lanai9.1-133\"\n[gm]\ncollective_us = 50000\nfatal_us = 50000",
            barrier,
        ),
        ("board = \"lanai4.3-33\"\nprotocol = \"fm\"", all),
    ] {
        let text = format!(
            "max_time_us = 1e8\n{board}\n[network]\ntopology = \"pair\"\n[[program]]\n{program}{CUT}"
        );
        let outcome = run(&text, &RunOptions::default());
        assert!(!matches!(outcome.end, RunEnd::TimeLimit(_)), "{text}");
        println!("{board}, {}: {:?}", &program[..20], outcome.end);
    }
}

/// The shortest timeout is longer than the handler of the timer: messages arrive or fail.
#[test]
fn short_timeouts_leave_time_for_frames() {
    for (topology, program) in [
        ("topology = \"pair\"", "run = \"stream\"\nfrom = 0\nto = 1"),
        (
            "topology = \"star\"\nnodes = 12",
            "run = \"all-to-all\"\nnodes = \"all\"",
        ),
    ] {
        for bytes in [100, 20_000] {
            let text = format!(
                "max_time_us = 1e6\n[emp]\ntimeout_us = 32\nretry_limit = 1\n[network]\n{topology}\n\
                 [[program]]\n{program}\nmessages = 3\nbytes = {bytes}\n"
            );
            let outcome = run(&text, &RunOptions::default());
            assert_eq!(outcome.end, RunEnd::Completed, "{text}");
            assert_eq!(outcome.verdict.messages.unfinished, 0, "{text}");
        }
    }
}

/// Firmware that works for ever, while its host waits, sends nothing.
#[test]
fn a_board_that_only_works_ends_the_run() {
    let text = pair(&stream(5, 2000)).replacen("[network]", "quiet_us = 20000\n[network]", 1);
    let scenario = lanigon_workloads::parse("test.toml", &text).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    let options = RunOptions::default();
    let time = SimTime::from_us(50);
    simulation.run_to(time, &options, |_| {}).unwrap();
    let (node, cpu) = (&mut simulation.world.nodes[0], CpuId::default());
    let pc = node.inspect().cpu(cpu).unwrap().pc;
    // Counts up, and jumps back.
    let endless = [0x2508_0001, 0x0800_0000 | (pc >> 2) & 0x03FF_FFFF, 0];
    let endless = endless.map(u32::to_be_bytes).concat();
    node.poke(cpu, pc, &endless).unwrap();
    let outcome = simulation.run(&options, |_| {});
    let RunEnd::Quiet(lines) = &outcome.end else {
        panic!("{:?}", outcome.end)
    };
    for begins in ["node 0: stream waits for", "node 0: cpu_a running at"] {
        assert!(
            lines.iter().any(|line| line.starts_with(begins)),
            "{lines:?}"
        );
    }
    let ms = outcome.simulated.us() / 1e3;
    assert!((200.0..250.0).contains(&ms), "{ms} ms");
}

#[test]
fn firmware_with_nothing_but_a_timer_is_done() {
    let text = "image = \"timer-tick\"\nquiet_us = 20000\n[network]\ntopology = \"none\"\nnodes = 1\n\
                [[program]]\nrun = \"start\"\nnodes = \"all\"\n";
    let outcome = run(text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed);
    assert!(outcome.is_good());
}

/// Pauses that are longer than the time after which a run is quiet.
#[test]
fn known_waits_are_waited_for() {
    let late = stream(5, 2000) + "start_us = 200000\n";
    good(&pair(&late).replacen("[network]", "quiet_us = 50000\n[network]", 1));
    let reset = "[[fault]]\ndo = \"reset\"\nnode = 1\nat_us = 100\npause_us = 200000\n";
    let text = pair(&(stream(200, 2000) + "[emp]\ntimeout_us = 500\n" + reset));
    let outcome = run(
        &text.replacen("[network]", "quiet_us = 50000\n[network]", 1),
        &RunOptions::default(),
    );
    assert_eq!(outcome.end, RunEnd::Completed, "{outcome:?}");
    // The link is back after that time.
    let frames = frames("topology = \"pair\"", "quiet_us = 20000\n") + "for_us = 100000\n";
    let outcome = run(&frames, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed);
    assert!(
        outcome.is_good() && outcome.simulated > SimTime::from_us(100_000),
        "{outcome:?}"
    );
    // A transfer that rests.
    let stall = "[[fault]]\ndo = \"stall-dma\"\nnode = 0\nchannel = \"read\"\nat_us = 100\nfor_us = 200000\n";
    let text = pair(&(stream(20, 2000) + stall));
    good(&text.replacen("[network]", "quiet_us = 50000\n[network]", 1));
}

#[test]
fn neither_threads_nor_a_snapshot_change_the_end() {
    let text = frames("topology = \"star\"\nnodes = 6", "quiet_us = 50000\n");
    let plain = quiet(&text, &RunOptions::default());
    let threads = NonZeroUsize::new(3).unwrap();
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    let other = quiet(&text, &options);
    let end = |of: &RunSummary| (of.simulated, of.trace_hash, of.end.clone());
    assert_eq!(end(&other), end(&plain));
    // In the middle of the silence, within a slice.
    let scenario = lanigon_workloads::parse("test.toml", &text).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    simulation.keep_logs();
    let (time, options) = (SimTime::from_ns(30_000_123), RunOptions::default());
    simulation.run_to(time, &options, |_| {}).unwrap();
    let file = simulation.save("test.toml", &text, &scenario).unwrap();
    assert_eq!(end(&simulation.run(&options, |_| {})), end(&plain));
    let (mut again, ..) =
        Simulation::load(lanigon_workloads::ALL, &file, std::path::Path::new("")).unwrap();
    assert_eq!(end(&again.run(&options, |_| {})), end(&plain));
}
