//! Failed messages: whether the scenario states a cause for them.

use emulator::sim::time::SimTime;

use super::Simulation;
use crate::boards::Protocol;
use crate::nodes::START;
use crate::programs::content::Flow;
use crate::programs::deliveries::Sending;
use crate::programs::verdict::{ProgramLife, Verdict};
use crate::scenario::faults::{ExactFault, FaultSpec};
use crate::scenario::{Node, Scenario};

/// The time from which messages may fail, because a fault of the scenario lasts or destroys; `None` if there is no such fault.
/// What the protocol repairs by sending again is no cause.
pub(super) fn may_fail_from(scenario: &Scenario) -> Option<SimTime> {
    let tries = scenario.nodes.iter().map(tries).min();
    let tries = tries.unwrap_or_default();
    let patience = scenario.nodes.iter().map(patience).min();
    let patience = patience.unwrap_or_default();
    let begins = scenario.faults.iter().filter_map(|fault| match fault {
        FaultSpec::Exact(fault, _) => {
            let losses = losses_with(fault, scenario, patience);
            let is_enough = losses.is_none_or(|losses| losses >= u64::from(tries.max(1)));
            (losses_of(fault, patience) != Some(0) && is_enough).then_some(SimTime::ZERO)
        }
        FaultSpec::Random { rates, .. } => {
            (rates.loss + rates.corruption + rates.delay > 0.0).then_some(SimTime::ZERO)
        }
        FaultSpec::Cut { from: at, .. }
        | FaultSpec::Replug { at, .. }
        | FaultSpec::Reset { at, .. }
        | FaultSpec::BoardReset { at, .. } => Some(*at),
        FaultSpec::Board { .. } => Some(SimTime::ZERO),
    });
    begins.min()
}

fn losses_of(fault: &ExactFault, patience: SimTime) -> Option<u32> {
    match fault {
        ExactFault::Emp(fault) => fault.losses(patience),
        ExactFault::Gm(fault) => fault.losses(patience),
        ExactFault::Program(fault) => fault.losses(patience),
    }
}

/// The losses that a message may suffer from this fault and all others that may strike it; `None`: without end.
fn losses_with(fault: &ExactFault, scenario: &Scenario, patience: SimTime) -> Option<u64> {
    let exact = scenario.faults.iter().filter_map(|other| match other {
        FaultSpec::Exact(other, _) => Some(other),
        _ => None,
    });
    let mut meets = exact.filter(|other| match (fault, other) {
        (ExactFault::Emp(one), ExactFault::Emp(other)) => one.may_meet(other),
        (ExactFault::Gm(one), ExactFault::Gm(other)) => one.may_meet(other),
        (ExactFault::Program(one), ExactFault::Program(other)) => one.may_meet(other),
        _ => false,
    });
    meets.try_fold(0, |sum: u64, other| {
        Some(sum + u64::from(losses_of(other, patience)?))
    })
}

/// Number of times that a node sends something before it gives up.
fn tries(node: &Node) -> u32 {
    match node.protocol {
        Some(Protocol::Emp) => node.settings.emp.retry_limit + 1,
        Some(Protocol::Gm) => gm_tries(node.settings.gm.resend_us, node.settings.gm.fatal_us),
        Some(Protocol::Fm | Protocol::Acenic) | None => 1,
    }
}

/// Time after which a node takes something for lost that is not answered, or is not there.
fn patience(node: &Node) -> SimTime {
    SimTime::from_us(match node.protocol {
        Some(Protocol::Emp) => node.settings.emp.timeout_us.into(),
        Some(Protocol::Gm) => node.settings.gm.resend_us.into(),
        Some(Protocol::Fm | Protocol::Acenic) | None => 1_000_000,
    })
}

/// Number of times that GM sends a packet within `fatal_us`: each wait is twice as long as the one before, up to 16 times the first.
fn gm_tries(resend_us: u32, fatal_us: u32) -> u32 {
    let resend_us = u64::from(resend_us.max(1));
    let (mut tries, mut waited_us) = (1, resend_us);
    while waited_us < fatal_us.into() {
        waited_us += resend_us << tries.min(4);
        tries += 1;
    }
    tries
}

/// Adds the problem of messages that failed without a cause, if nothing else went wrong: how many, the first one's nodes, and what its sender was told.
pub(super) fn check(
    simulation: &Simulation,
    lives: &[ProgramLife],
    verdict: &Verdict,
    problems: &mut Vec<String>,
) {
    let count = verdict.messages.failed_with_status;
    let explained = simulation
        .may_fail_from
        .is_some_and(|at| START + at <= simulation.world.now());
    if explained || count == 0 || !problems.is_empty() {
        return;
    }
    let first = lives.iter().filter_map(first).min_by_key(|(at, ..)| *at);
    let Some((_, flow, text)) = first else {
        return;
    };
    let [from, to] = [flow.from, flow.to].map(|node| &simulation.names[usize::from(node)]);
    let messages = if count == 1 { "message" } else { "messages" };
    problems.push(format!(
        "{count} {messages} failed, and no fault of the scenario explains it; the first one from node {from} to {to}: {text}"
    ));
}

/// The first failed message of a program: its time, its flow and the status.
fn first(life: &ProgramLife) -> Option<(u64, Flow, String)> {
    let records = life.deliveries.records();
    let flows = records.sent.iter();
    let failed = flows.filter_map(|(flow, sent)| {
        let failed = sent.iter().find(|sent| sent.end == Sending::Failed)?;
        Some((failed.posted_ps, *flow))
    });
    let (at, flow) = failed.min_by_key(|(at, _)| *at)?;
    let text = records.failures.first().cloned().unwrap_or_default();
    Some((at, flow, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_gm_double() {
        for (resend_us, fatal_us, expected) in [
            (10_000, 500_000, 7),
            (1000, 4000, 3),
            (1000, 1000, 1),
            (1000, 31_001, 6),
            (1000, 47_001, 7),
            (0, 1, 1),
        ] {
            let tries = gm_tries(resend_us, fatal_us);
            assert_eq!(tries, expected, "{resend_us} {fatal_us}");
        }
    }

    #[test]
    fn faults_that_last_or_destroy_explain_failures() {
        const EMP: &str = "[emp]\nretry_limit = 3\n";
        const GM: &str = "protocol = \"gm\"\n[gm]\nresend_us = 1000\nfatal_us = 8000\n";
        for (fault, expected) in [
            ("do = \"drop\"", false),
            ("do = \"drop\"\ntimes = 3", false),
            ("do = \"drop\"\ntimes = 4", true),
            ("do = \"drop\"\nalways = true", true),
            ("do = \"corrupt\"\nbyte = 1\nalways = true", true),
            ("do = \"corrupt\"\nbyte = 1", false),
            ("do = \"duplicate\"\nalways = true", false),
            ("do = \"delay\"\nby_us = 5\nalways = true", false),
            ("do = \"delay\"\nby_us = 50000000\nalways = true", true),
            ("do = \"delay\"\nby_us = 50000000", false),
            ("do = \"random\"\nloss = 0", false),
            ("do = \"random\"\nloss = 1e-9", true),
            ("do = \"random\"\ncorruption = 1e-9", true),
            ("do = \"random\"\nduplication = 0.5", false),
            ("do = \"cut\"\nnodes = 0\nat_us = 1\nfor_us = 1", true),
            ("do = \"reset\"\nnode = 0\nat_us = 1\npause_us = 1", true),
            (
                "do = \"stall-dma\"\nnode = 0\nchannel = \"read\"\nat_us = 1\nfor_us = 1",
                true,
            ),
        ] {
            for settings in [EMP, GM] {
                let text = format!(
                    "{settings}[network]\ntopology = \"pair\"\n[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nbytes = 64\n[[fault]]\n{fault}\n"
                );
                let scenario = Scenario::parse("test.toml", &text);
                let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
                assert_eq!(may_fail_from(&scenario).is_some(), expected, "{text}");
            }
        }
    }

    #[test]
    fn faults_of_one_message_add_up() {
        const EMP: &str = "[emp]\nretry_limit = 3\n";
        const GM: &str = "protocol = \"gm\"\n[gm]\nresend_us = 1000\nfatal_us = 4000\n";
        let check = |settings: &str, faults: &[&str], expected| {
            let faults = faults.iter().map(|fault| format!("[[fault]]\n{fault}\n"));
            let text = format!(
                "{settings}[network]\ntopology = \"pair\"\n\
                 [[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = 9\nbytes = 64\n{}",
                faults.collect::<String>()
            );
            let scenario = Scenario::parse("test.toml", &text);
            let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(may_fail_from(&scenario).is_some(), expected, "{text}");
        };
        let data = "do = \"drop\"\nfrom = 0\nto = 1\nmessage = 3\ntimes = 2";
        let other = "do = \"drop\"\nfrom = 0\nto = 1\nmessage = 4\ntimes = 2";
        let acks = "do = \"corrupt\"\nbyte = 1\nframe = \"ack\"\nfrom = 1\nmessage = 3\ntimes = 2";
        let twice = "do = \"duplicate\"\nfrom = 0\nmessage = 3\ntimes = 9";
        check(EMP, &[data], false);
        check(EMP, &[data, other], false);
        check(EMP, &[data, acks], true);
        check(EMP, &[data, data], true);
        check(EMP, &[data, twice], false);
        check(EMP, &[other, acks, twice], false);
        let [one, next, ack] = [
            "data\"\nsequence = 3\nnth = 1",
            "data\"\nsequence = 3\nnth = 2",
            "ack\"\nsequence = 4\ntimes = 2",
        ]
        .map(|packet| format!("do = \"drop\"\npacket = \"{packet}"));
        let third = one.replace("sequence = 3", "sequence = 4");
        check(GM, &[&one, &next], false);
        check(GM, &[&one, &next, &third], false);
        check(GM, &[&one, &next, &next], true);
        check(GM, &[&one, &ack], true);
    }
}
