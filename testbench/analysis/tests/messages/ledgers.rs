//! Ledgers add up, and name the waits of a message.

use emulator::sim::time::SimTime;
use lanigon_analysis::ledger::{Ledger, text};
use lanigon_analysis::messages::Message;

use super::{IMAGES, network, run};

/// The spans are contiguous, from the message's start to its host's return.
#[track_caller]
fn check_exact(message: &Message, ledger: &Ledger) {
    let id = message.id;
    let sum = ledger
        .spans
        .iter()
        .fold(SimTime::ZERO, |sum, span| sum + span.time());
    assert_eq!(sum, ledger.total(), "{id}");
    for pair in ledger.spans.windows(2) {
        assert_eq!(pair[0].to, pair[1].from, "{id}");
    }
    assert!(ledger.spans.iter().all(|span| span.from < span.to), "{id}");
    let received = message.received.as_ref().unwrap();
    let last = ledger.spans.last().unwrap().to;
    assert_eq!(Some(ledger.spans[0].from), message.begin(), "{id}");
    assert_eq!(
        last,
        received.returned.or(received.seen).unwrap_or(received.told),
        "{id}"
    );
    let parts = ledger
        .parts()
        .into_iter()
        .fold(SimTime::ZERO, |sum, part| sum + part.2);
    assert_eq!(parts, ledger.total(), "{id}");
}

#[track_caller]
fn check_all(text: &str, count: usize) -> Vec<Ledger> {
    let (messages, ledgers) = run(text);
    assert_eq!(ledgers.len(), count, "{text}");
    for ledger in &ledgers {
        let message = messages.iter().find(|message| message.id == ledger.id);
        check_exact(message.unwrap(), ledger);
    }
    ledgers
}

#[test]
fn every_ledger_adds_up_in_every_scheme() {
    for image in IMAGES {
        let stream = "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = 20\nbytes = [0, 4, 1479, 20000]";
        check_all(&network(image, 2, stream), 20);
        let all =
            "[[program]]\nrun = \"all-to-all\"\nnodes = \"all\"\nmessages = 3\nbytes = [0, 3000]";
        check_all(&network(image, 4, all), 36);
        let loss = "[emp]\ntimeout_us = 500\n[[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 10\nmax_bytes = 9000\n[faults]\nloss = 0.02\nduplication = 0.01\ndelay = 0.02\nlongest_delay_us = 50\ncorruption = 0.01\n";
        check_all(&network(image, 3, loss), 30);
    }
}

/// A message whose third frame is lost waits mainly for the timeout.
#[test]
fn a_lost_frame_costs_a_timeout() {
    for image in IMAGES {
        let more = "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = 8\nbytes = 20000\n[[fault]]\ndo = \"drop\"\nfragment = 2\nmessage = 5\nfrom = 0\n";
        let ledgers = check_all(&network(image, 2, more), 8);
        let hit: Vec<_> = ledgers.iter().filter(|ledger| ledger.resent > 0).collect();
        assert_eq!(hit.len(), 1, "{image}");
        let parts = hit[0].parts();
        let largest = parts.iter().max_by_key(|part| part.2).unwrap();
        assert_eq!(largest.1, "wait: retransmission timeout", "{image}");
    }
}

/// Ledger of a quiet message: small enough for a review.
#[test]
fn a_quiet_message_in_each_scheme() {
    for image in IMAGES {
        let program =
            "[[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 3\nbytes = 64\n";
        let ledgers = check_all(&network(image, 2, program), 6);
        let quiet = ledgers.iter().find(|ledger| ledger.id.number == 2);
        insta::assert_snapshot!(image, text::of_one(quiet.unwrap()));
    }
}
