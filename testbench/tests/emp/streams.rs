//! Random messages both ways at once: every byte arrives.

use proptest::prelude::*;

use crate::support::{Streams, pair};

#[test]
fn ten_thousand_messages_of_random_sizes_both_ways_at_once() {
    Streams::new(1, 5_000, 65_536).run(&mut pair());
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(24)
    })]

    #[test]
    fn any_sizes_and_contents_arrive(seed in any::<u64>(), longest in 0u32..200_000) {
        Streams::new(seed >> 1, 6, longest).run(&mut pair());
    }
}
