//! Random messages in both directions at once: every byte arrives.

use cases::cases;
use defs::emp::frame::GROUP_LIMIT;
use proptest::prelude::*;

use super::support::{Streams, pair};

#[test]
fn ten_thousand_messages_of_random_sizes_both_ways_at_once() {
    Streams::new(1, 5_000, 65_536).run(&mut pair());
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn any_sizes_and_contents_arrive(seed in any::<u64>(), longest in 0u32..200_000) {
        Streams::new(seed >> 1, 6, longest).run(&mut pair());
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn any_settings_and_receivers_will_do(
        ack_group in 1..=GROUP_LIMIT,
        frame_bytes in 46u32..=9000,
        timeout_us in 500u32..20_000,
        receives_ahead in 1usize..4,
        late_us in 0u64..400,
    ) {
        let mut pair = pair();
        for node in 0..2 {
            let config = pair.config_mut(node);
            config.ack_group = ack_group;
            config.frame_bytes = frame_bytes;
            config.timeout_us = timeout_us;
            config.retry_limit = 254;
        }
        let streams = Streams { receives_ahead, late_us, ..Streams::new(3, 12, 20_000) };
        streams.run(&mut pair);
    }
}
