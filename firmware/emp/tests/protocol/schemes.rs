//! Schemes with two CPUs give the guarantees of one CPU: the tests of exchanges and faults, and random
//! schedules, in every scheme.

#[cfg(not(target_os = "none"))]
use cases::cases;
#[cfg(not(target_os = "none"))]
use proptest::prelude::*;

#[cfg(not(target_os = "none"))]
use crate::common::engine::SCHEMES;
use crate::common::engine::use_scheme;
#[cfg(not(target_os = "none"))]
use crate::schedule::schedule;
use crate::{control, exchange, faults, flow, timeouts};

/// Tests that must pass in every scheme.
const CHECKS: &[fn()] = &[
    exchange::the_longest_message_arrives,
    faults::a_silent_peer_is_given_up_after_the_last_retry,
    faults::a_message_that_was_given_up_does_not_hold_up_the_next,
    faults::a_message_that_breaks_off_is_reported_at_its_receive,
    faults::lost_acks_are_sent_again,
    faults::descriptors_that_make_no_sense_come_back,
    faults::a_list_that_ends_too_early_fails_its_message,
    faults::mailboxes_that_name_nothing_are_acknowledged_and_ignored,
    faults::host_memory_that_does_not_answer_fails_the_message_alone,
    faults::a_list_that_does_not_answer_fails_the_message_alone,
    faults::tiny_pieces_outnumber_the_dma_ring,
    faults::active_records_run_out_and_come_back,
    faults::all_send_descriptors_at_once,
    faults::acks_wait_for_a_mac_that_stands,
    faults::identifiers_wrap,
    faults::a_node_that_starts_anew_is_met_again,
    timeouts::a_receive_ends_when_its_sender_dies,
    timeouts::a_message_that_arrives_slowly_is_not_given_up,
    timeouts::a_sender_learns_that_its_receiver_gave_up,
    timeouts::what_is_forgotten_is_not_acknowledged_either,
    timeouts::a_peer_that_starts_anew_has_not_half_a_message,
    timeouts::epochs_wrap,
    control::a_receive_that_waits_comes_back_and_matches_nothing,
    control::a_cancel_at_any_moment_yields_one_outcome,
    control::what_cannot_be_cancelled_or_obeyed_changes_nothing,
    control::ack_groups_change_between_messages_not_within,
    control::timeout_and_retry_limit_hold_at_once,
    flow::off_it_holds_nothing_back,
    flow::on_every_message_arrives,
];

fn check(scheme: usize) {
    use_scheme(scheme);
    for check in CHECKS {
        check();
    }
}

#[test]
fn so() {
    check(1);
}

#[test]
fn ro() {
    check(2);
}

#[test]
fn dsr() {
    check(3);
}

#[test]
fn sr() {
    check(4);
}

#[cfg(not(target_os = "none"))]
proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn the_promise_holds_on_two_cpus(scheme in 1..SCHEMES, schedule in schedule()) {
        use_scheme(scheme);
        schedule.check();
    }
}
