//! Failed messages: whether the scenario states a cause for them.

use super::Simulation;
use crate::boards::Protocol;
use crate::programs::content::Flow;
use crate::programs::deliveries::Sending;
use crate::programs::verdict::{Life, Verdict};
use crate::scenario::faults::{ExactFault, FaultSpec};
use crate::scenario::{Node, Scenario};

/// Whether a fault of the scenario lasts or destroys, so that messages may fail. What the protocol repairs by sending again is no cause.
pub(super) fn may_fail(scenario: &Scenario) -> bool {
    let tries = scenario.nodes.iter().map(tries).min();
    let tries = tries.unwrap_or_default();
    scenario.faults.iter().any(|fault| match fault {
        FaultSpec::Exact(fault, _) => {
            let losses = match fault {
                ExactFault::Emp(fault) => fault.losses(),
                ExactFault::Gm(fault) => fault.losses(),
                ExactFault::Program(fault) => fault.losses(),
            };
            losses.is_none_or(|losses| losses >= tries.max(1))
        }
        FaultSpec::Random { rates, .. } => rates.loss + rates.corruption + rates.delay > 0.0,
        FaultSpec::Cut { .. }
        | FaultSpec::Replug { .. }
        | FaultSpec::Board { .. }
        | FaultSpec::Reset { .. } => true,
    })
}

/// How often a node sends something before it gives up.
fn tries(node: &Node) -> u32 {
    match node.protocol {
        Some(Protocol::Emp) => node.emp.retry_limit + 1,
        Some(Protocol::Gm) => node.gm.fatal_us.div_ceil(node.gm.resend_us),
        Some(Protocol::Fm | Protocol::Acenic) | None => 1,
    }
}

/// Adds the problem of messages that failed without a cause, if nothing else went wrong: how many, the first one's nodes, and what its sender was told.
pub(super) fn check(
    simulation: &Simulation,
    lives: &[Life],
    verdict: &Verdict,
    problems: &mut Vec<String>,
) {
    let count = verdict.messages.failed_with_status;
    if simulation.may_fail || count == 0 || !problems.is_empty() {
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
fn first(life: &Life) -> Option<(u64, Flow, String)> {
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
    fn faults_that_last_or_destroy_explain_failures() {
        const EMP: &str = "[emp]\nretry_limit = 3\n";
        const GM: &str = "protocol = \"gm\"\n[gm]\nresend_us = 1000\nfatal_us = 4000\n";
        for (fault, expected) in [
            ("do = \"drop\"", false),
            ("do = \"drop\"\ntimes = 3", false),
            ("do = \"drop\"\ntimes = 4", true),
            ("do = \"drop\"\nalways = true", true),
            ("do = \"corrupt\"\nbyte = 1\nalways = true", true),
            ("do = \"corrupt\"\nbyte = 1", false),
            ("do = \"duplicate\"\nalways = true", false),
            ("do = \"delay\"\nby_us = 5\nalways = true", false),
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
                assert_eq!(may_fail(&scenario), expected, "{text}");
            }
        }
    }
}
