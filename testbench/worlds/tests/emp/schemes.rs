//! Schemes with two CPUs: the exchanges of one CPU with the images of the other schemes.

use cases::runs_long;

use super::support::{Streams, pair, use_image, use_image_on_cpus};
use super::{bad_posts, exchange, host_calls, resets, wire};

/// Tests that every scheme must pass.
const CHECKS: &[fn()] = &[
    exchange::sizes_at_every_border,
    exchange::a_longer_message_is_truncated,
    exchange::nobody_posts_a_receive,
    exchange::posts_that_cannot_be,
    wire::every_bad_frame_is_counted_for_what_it_is,
    bad_posts::nonsense_is_refused_and_nobody_else_notices,
    bad_posts::a_receive_that_is_posted_again_is_counted,
    host_calls::whichever_of_several_transfers_is_over_first,
    host_calls::a_cancelled_receive_takes_no_message,
    host_calls::a_message_that_came_first_is_not_cancelled,
    host_calls::the_ack_group_changes_at_run_time,
    host_calls::a_new_retry_limit_holds_at_once,
    resets::messages_pass_while_dma_channels_rest,
    resets::either_node_is_reset,
    resets::a_peer_that_is_gone_is_noticed_in_time,
    resets::a_talk_survives_resets,
    streams_both_ways,
    streams_of_small_frames,
];

/// Tests of what the chip alone has.
const CHECKS_OF_CHIP: &[fn()] = &[bad_posts::where_nothing_answers_nothing_happens];

fn streams_both_ways() {
    Streams::new(1, 1_000, 65_536).run(&mut pair());
}

fn streams_of_small_frames() {
    for (frame_bytes, ack_group) in [(46, 16), (200, 1), (9000, 2)] {
        let mut pair = pair();
        for node in 0..2 {
            let config = pair.config_mut(node);
            config.frame_bytes = frame_bytes;
            config.ack_group = ack_group;
            config.retry_limit = 254;
        }
        Streams::new(u64::from(frame_bytes), 20, 20_000).run(&mut pair);
    }
}

fn check(image: &str) {
    use_image(image);
    for check in CHECKS.iter().chain(CHECKS_OF_CHIP) {
        check();
    }
}

fn check_on_cpus(count: u32) {
    use_image_on_cpus("emp-dyn-n", count);
    for check in CHECKS {
        check();
    }
}

#[test]
fn so() {
    check("emp-so");
}

#[test]
fn ro() {
    check("emp-ro");
}

#[test]
fn dsr() {
    check("emp-dsr");
}

#[test]
fn sr() {
    check("emp-sr");
}

#[test]
fn dynamic() {
    check("emp-dyn");
}

#[test]
fn dynamic_on_one_cpu() {
    check_on_cpus(1);
}

#[test]
fn dynamic_on_three_cpus() {
    check_on_cpus(3);
}

#[test]
fn dynamic_on_eight_cpus() {
    if !runs_long("EMP on eight CPUs") {
        return;
    }
    check_on_cpus(8);
}
