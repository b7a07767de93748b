//! Runs that several ranks share: each executes some of the nodes, and all have the result of one process.

mod records;
pub(super) mod report;

use emulator::sim::ranks::{RankError, Ranks};
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};

use super::result::RunSummary;
use super::{RunOptions, Simulation, lives_at};
use crate::programs::verdict;
use crate::scenario::programs::Program;
use crate::scenario::{Scenario, ScenarioError};
use crate::workload::Workload;

/// Checks that several ranks can share the run of a scenario: what it needs of the nodes is in the records and reports that ranks exchange.
///
/// # Errors
/// If a program or a node of it needs one process; with the position in the scenario.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    for spec in &scenario.programs {
        if matches!(
            spec.program,
            Program::Start { .. } | Program::Replay { .. } | Program::Control { .. }
        ) {
            let reason = format!("\"{}\" needs one process", spec.name);
            return Err(spec.place.refuse(reason));
        }
        if spec.workload().is_some_and(Workload::waits_outside) {
            let reason = "programs of this machine cannot share a run: without --processes, --rank and mpirun";
            return Err(spec.place.refuse(reason));
        }
    }
    if let Some(&node) = scenario.mappers.first() {
        let name = &scenario.nodes[node].name;
        let reason = format!("gm.routes = \"mapper\" of node {name} needs one process");
        return Err(scenario.place.refuse(reason));
    }
    Ok(())
}

impl Simulation {
    /// As [`run`](Self::run), together with the other ranks, which have built the same scenario and have the same limit of time. `ranks` was made
    /// for this simulation's world. All ranks return the same result.
    ///
    /// # Errors
    /// If another rank is gone.
    pub fn run_shared(
        &mut self,
        ranks: &mut Ranks,
        options: &RunOptions,
        mut watch: impl FnMut(u64) + Send,
    ) -> Result<RunSummary, RankError> {
        let end = self.advance_shared(ranks, options, self.last(options), &mut watch)?;
        self.world.complete_shared(ranks)?;
        records::exchange(&self.lives, ranks)?;
        self.collect(ranks)?;
        Ok(self.outcome(end))
    }

    /// Runs up to `last` or until everything is done; returns the reason of the end.
    pub(super) fn advance_shared(
        &mut self,
        ranks: &mut Ranks,
        options: &RunOptions,
        last: Option<SimTime>,
        watch: &mut (impl FnMut(u64) + Send),
    ) -> Result<RunEnd, RankError> {
        while let Some((time, node)) = self.next_look()
            && last.is_none_or(|last| time < last)
        {
            let end = self.go_on_shared(ranks, options, Some(time), false, watch)?;
            if !matches!(end, RunEnd::TimeLimit(_)) {
                return Ok(end);
            }
            self.counters.look(&self.world, node);
            self.looks += 1;
        }
        let may_settle = self.looks > 0;
        self.go_on_shared(ranks, options, last, may_settle, watch)
    }

    /// Runs up to `until`. If `may_settle`, ends early when no program has anything left to do.
    fn go_on_shared(
        &mut self,
        ranks: &mut Ranks,
        options: &RunOptions,
        until: Option<SimTime>,
        may_settle: bool,
        watch: &mut (impl FnMut(u64) + Send),
    ) -> Result<RunEnd, RankError> {
        let limits = RunLimits {
            max_time: until,
            interrupt: options.interrupt.clone(),
            clock: options.clock.clone(),
            quiet: self.patience(),
            threads: options.threads,
        };
        let (lives, resets) = (&self.lives, &self.resets);
        let all_lives = || lives_at(lives, resets, SimTime::MAX);
        self.world.run_shared(ranks, &limits, |ranks| {
            let mut mine = all_lives();
            mine.retain(|life| ranks.owns(life.node));
            let received = mine.iter().map(|life| life.deliveries.records().received);
            let (received, over): (u64, _) = (received.sum(), verdict::are_over(&mine));
            let all = ranks.gather(&(received, over))?;
            watch(all.iter().map(|(received, _)| received).sum());
            if !may_settle || !all.iter().all(|(_, over)| *over) {
                return Ok(false);
            }
            // Only now senders and receivers need be compared.
            records::exchange(lives, ranks)?;
            Ok(verdict::is_settled(&all_lives()))
        })
    }
}
