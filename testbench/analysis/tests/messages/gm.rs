//! Ledgers of GM's messages add up, and name the waits of a message.

use std::io::Write as _;
use std::sync::Arc;

use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_analysis::ledger::follow::{Account, Follower};
use lanigon_analysis::ledger::{Ledger, text};
use lanigon_worlds::boards::{self, Protocol};
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// Whether GM's images exist: they are built where LLVM's tools are.
fn built() -> bool {
    let built = ["lanai4", "lanai9"].iter().all(|name| {
        let board = boards::board_type(name).unwrap();
        let image = board.gm.unwrap().image;
        board.own_image(image, board.usual_sram_bytes).is_ok()
    });
    if !built {
        let _ = writeln!(std::io::stderr(), "SKIPPED for lack of GM's images");
    }
    built
}

#[track_caller]
fn run(board: &str, network: &str, more: &str) -> Account {
    let text =
        format!("board = \"{board}\"\ngm = {{ resend_us = 1000 }}\n[network]\n{network}\n{more}");
    let scenario = Scenario::parse("test.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario).unwrap_or_else(|error| panic!("{error}"));
    let profile = Arc::clone(&simulation.profiles[0]);
    let follower = Follower::new(Protocol::Gm, &profile);
    simulation.world.observe(Box::new(follower.clone()));
    let outcome = simulation.run(&RunOptions::default(), |_| {});
    assert_eq!(outcome.end, RunEnd::Completed);
    assert!(simulation.world.finish_observing().is_empty());
    follower.account(&profile).unwrap()
}

/// All messages have ledgers of contiguous spans, from the call to the return.
#[track_caller]
fn check(board: &str, network: &str, more: &str, count: usize) -> Vec<Ledger> {
    let account = run(board, network, more);
    assert_eq!(account.messages.len(), count, "{more}");
    assert_eq!(account.ledgers.len(), count, "{more}");
    for ledger in &account.ledgers {
        let id = ledger.id;
        let sum = ledger
            .spans
            .iter()
            .fold(SimTime::ZERO, |sum, span| sum + span.time());
        assert_eq!(sum, ledger.total(), "{id}");
        for pair in ledger.spans.windows(2) {
            assert_eq!(pair[0].to, pair[1].from, "{id}");
        }
        assert!(ledger.spans.iter().all(|span| span.from < span.to), "{id}");
        let names = [&ledger.spans[0], ledger.spans.last().unwrap()].map(|span| &*span.what);
        assert_eq!(
            names,
            ["send: library, PIO writes", "receive: library"],
            "{id}"
        );
    }
    account.ledgers
}

const PAIR: &str = "topology = \"pair\"";
const STAR: &str = "topology = \"star\"\nnodes = 4";

#[test]
fn every_ledger_of_gm_adds_up() {
    if !built() {
        return;
    }
    for board in ["lanai4.3-33", "lanai7.2-66", "lanai9.2-200"] {
        let stream = "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = 40\nbytes = [0, 8, 129, 4096]\nwindow = 16";
        check(board, PAIR, stream, 40);
        let random = "[[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 30\nmax_bytes = 4096\nwindow = 6\n[faults]\nloss = 0.02\nduplication = 0.01\ncorruption = 0.01\n";
        let ledgers = check(board, STAR, random, 120);
        assert!(ledgers.iter().any(|ledger| ledger.resent > 0), "{board}");
    }
}

#[test]
fn a_lost_packet_waits_to_be_sent_again() {
    if !built() {
        return;
    }
    let fault = "[[fault]]\ndo = \"drop\"\npacket = \"data\"\nsequence = 7\n";
    let stream = "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = 8\nbytes = 100\n";
    let ledgers = check("lanai9.1-133", PAIR, &format!("{stream}{fault}"), 8);
    let last = ledgers.iter().find(|ledger| ledger.id.number == 7).unwrap();
    assert_eq!(last.resent, 1);
    let parts = last.parts();
    let largest = parts.iter().max_by_key(|part| part.2).unwrap();
    assert_eq!(largest.1, "wait: sent again after a loss or a refusal");
    assert!(largest.2 > SimTime::from_us(900), "{:?}", largest.2);
}

/// Ledger of a quiet message: small enough for a review.
#[test]
fn a_quiet_message_of_gm() {
    if !built() {
        return;
    }
    let program = "[[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 3\nbytes = 200\n";
    let ledgers = check("lanai9.1-133", STAR, program, 6);
    let quiet = ledgers.iter().find(|ledger| ledger.id.number == 2);
    let names: Vec<_> = quiet
        .unwrap()
        .spans
        .iter()
        .map(|span| format!("{}: {}", span.owner.name(), span.what))
        .collect();
    insta::assert_snapshot!(names.join("\n"));
    let shown = text::of_one(quiet.unwrap());
    assert!(
        shown.starts_with("message 0:1:2: 200 bytes, frames: 1\n"),
        "{shown}"
    );
}
