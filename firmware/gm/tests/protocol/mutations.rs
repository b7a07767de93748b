//! Mistakes that the firmware could make. The model must find each of them: hardware that alters what the firmware does
//! stands for the mistake.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::schedule::{Run, ops};
use crate::streams::{dropped_stream, forgotten_page};

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// Acks have another session.
    AckSession,
    /// Acks acknowledge one packet more.
    AckAhead,
    /// Messages have another size.
    Size,
    /// Messages have another sender's port.
    SenderPort,
    /// Reports name another token.
    Token,
    /// Failed sends are reported as successful.
    Status,
    /// Payload does not reach host memory.
    PayloadLost,
    /// DMA to the host completes out of order.
    WriteOrder,
    /// Payload comes from the next address.
    ReadAddress,
    /// Sends that are to be dropped are sent.
    Drop,
    /// Pages are not forgotten.
    PageFlush,
    /// Some packets are not released.
    Release,
    /// There are no ticks.
    Timer,
    /// Damaged packets are taken.
    Damage,
}

const ALL: [Mutation; 14] = [
    Mutation::AckSession,
    Mutation::AckAhead,
    Mutation::Size,
    Mutation::SenderPort,
    Mutation::Token,
    Mutation::Status,
    Mutation::PayloadLost,
    Mutation::WriteOrder,
    Mutation::ReadAddress,
    Mutation::Drop,
    Mutation::PageFlush,
    Mutation::Release,
    Mutation::Timer,
    Mutation::Damage,
];

/// Schedules that are tried for each mutation.
const TRIES: u64 = 150;

/// The number of the first schedule that finds a mutation.
fn found(mutation: Option<Mutation>, tries: u64) -> Option<u64> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = ops();
    (0..tries).find(|&seed| {
        let schedule = strategy
            .new_tree(&mut runner)
            .expect("a schedule")
            .current();
        let run = || {
            let mut run = Run::mutated(seed, mutation);
            for op in &schedule.0 {
                run.act(op);
            }
            run.finish(false);
        };
        catch_unwind(AssertUnwindSafe(run)).is_err()
    })
}

#[test]
fn the_model_finds_every_mutation() {
    assert_eq!(found(None, 40), None, "without a mutation");
    for mutation in ALL {
        // Two of them have cases of their own.
        let by = match mutation {
            Mutation::PageFlush => catch_unwind(|| forgotten_page(Some(mutation)))
                .err()
                .map(|_| 0),
            Mutation::Drop => catch_unwind(|| dropped_stream(Some(mutation)))
                .err()
                .map(|_| 0),
            _ => found(Some(mutation), TRIES),
        };
        println!("{mutation:?}: found by schedule {by:?}");
        assert!(by.is_some(), "{mutation:?} is not found");
    }
}
