//! A scenario that runs: its world, its programs, and what came of them.

mod build;
pub mod result;
pub mod snapshot;
mod started;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use emulator::image::Image;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};

pub use build::Blueprint;

use crate::faults::Strikes;
use crate::nodes::START;
use crate::programs::ledger::Ledger;
use crate::programs::verdict::{self, Life};
use crate::scenario::Place;
use result::{Counters, Outcome};
use started::Started;

/// How a scenario is run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The run ends here at the latest, counted from the start of the programs.
    pub max_time: Option<SimTime>,
    /// Set when the user interrupts.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Threads that share the work.
    pub threads: NonZeroUsize,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            max_time: None,
            interrupt: None,
            threads: NonZeroUsize::MIN,
        }
    }
}

/// The lives of one node's program: when each began, and its records.
#[derive(Debug, Clone, Default)]
struct Lives(Arc<Mutex<Vec<(u64, Ledger)>>>);

impl Lives {
    fn begin(&self, now_ps: u64) -> Ledger {
        let ledger = Ledger::default();
        let mut lives = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lives.push((now_ps, ledger.clone()));
        ledger
    }

    fn all(&self) -> Vec<(u64, Ledger)> {
        let lives = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lives.clone()
    }
}

/// A world that a scenario describes.
#[derive(Debug)]
pub struct Simulation {
    /// The world. Its time counts from power-on; the programs start at [`START`].
    pub world: World,
    /// What its boards run.
    pub image: Arc<Image>,
    /// For each node.
    lives: Vec<Lives>,
    /// Nodes whose firmware is left alone.
    started: Started,
    /// Nodes that are reset, and when; sorted by time.
    resets: Vec<(SimTime, usize)>,
    /// What must be looked at while it runs, and how often that was done.
    counters: Counters,
    looks: usize,
    /// Exact faults: where they stand, and how often they have struck.
    exact_faults: Vec<(Place, Strikes)>,
    max_time: Option<SimTime>,
    names: Vec<String>,
}

impl Simulation {
    /// Messages that were received so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        received(&self.lives)
    }

    /// Runs until nothing is left to do, or a limit; `watch` is told now and then how many messages were received.
    pub fn run(&mut self, options: &RunOptions, watch: impl FnMut(u64) + Send) -> Outcome {
        let last = [self.max_time, options.max_time]
            .into_iter()
            .flatten()
            .min();
        let last = last.map(|time| START.saturating_add(time));
        let end = self.advance(options, last, watch);
        self.outcome(end)
    }

    /// Goes on up to `last`, or until nothing is left to do; gives why it came to its end.
    fn advance(
        &mut self,
        options: &RunOptions,
        last: Option<SimTime>,
        mut watch: impl FnMut(u64) + Send,
    ) -> RunEnd {
        // What was counted before the programs start, and what a reset wipes out, must be looked at in time.
        while let Some((time, node)) = self.next_look()
            && last.is_none_or(|last| time < last)
        {
            let reached = self.go_on(options, Some(time), false, &mut watch);
            if !matches!(reached, RunEnd::TimeLimit(_)) {
                return reached;
            }
            self.counters.look(&self.world, node);
            self.looks += 1;
        }
        // Before the programs start nothing is over.
        let may_settle = self.looks > 0;
        self.go_on(options, last, may_settle, &mut watch)
    }

    /// Goes on up to `until`; as far as it `may_settle`, it is over before when nobody has anything left to do.
    fn go_on(
        &mut self,
        options: &RunOptions,
        until: Option<SimTime>,
        may_settle: bool,
        watch: &mut (impl FnMut(u64) + Send),
    ) -> RunEnd {
        let limits = RunLimits {
            max_time: until,
            interrupt: options.interrupt.clone(),
            threads: options.threads,
        };
        let (lives, resets) = (&self.lives, &self.resets);
        let settled = || verdict::is_settled(&lives_at(lives, resets, SimTime::MAX));
        // Firmware that is left alone may always have something to do.
        let may_end = may_settle && !self.started.any();
        let stop = self.started.stop();
        loop {
            if self.started.failed(&self.world) {
                return RunEnd::Completed;
            }
            let end = self.world.run_until(&limits, || {
                watch(received(lives));
                stop.load(Ordering::Relaxed) || may_end && settled()
            });
            // A CPU may have stopped because its firmware is done: the others go on.
            let stopped = stop.swap(false, Ordering::Relaxed);
            match end {
                RunEnd::Completed if stopped => {}
                RunEnd::Deadlock(_) if may_settle && !may_end && settled() => {
                    return RunEnd::Completed;
                }
                end => return end,
            }
        }
    }

    /// When the counters must be looked at next, and at which node's reset, if it is one.
    fn next_look(&self) -> Option<(SimTime, Option<usize>)> {
        match self.looks.checked_sub(1) {
            None => Some((START, None)),
            Some(done) => {
                let (time, node) = *self.resets.get(done)?;
                Some((time, Some(node)))
            }
        }
    }

    /// The time of the next look at a world that is to be saved, if it comes before `time`.
    #[must_use]
    pub fn next_look_before(&self, time: SimTime) -> Option<SimTime> {
        let (look, _) = self.next_look()?;
        (look < time).then_some(look)
    }

    /// Counts in a world, which stands at the time of the next look, as if it were this one's.
    pub fn look(&mut self, world: &World) {
        if let Some((_, node)) = self.next_look() {
            self.counters.look(world, node);
            self.looks += 1;
        }
    }

    /// What came of it.
    fn outcome(&self, end: RunEnd) -> Outcome {
        let lives = lives_at(&self.lives, &self.resets, self.world.now());
        Outcome::new(self, &lives, end)
    }
}

fn received(lives: &[Lives]) -> u64 {
    let ledgers = lives.iter().flat_map(Lives::all);
    ledgers.map(|(_, ledger)| ledger.records().received).sum()
}

/// The lives, and when each ended if `now` is later.
fn lives_at(lives: &[Lives], resets: &[(SimTime, usize)], now: SimTime) -> Vec<Life> {
    let of_node = |(node, lives): (usize, &Lives)| {
        let lives = lives.all();
        let ends: Vec<Option<u64>> = (0..lives.len())
            .map(|life| {
                let (began, next) = (lives[life].0, lives.get(life + 1).map(|next| next.0));
                let mine = resets.iter().filter(|(_, reset)| *reset == node);
                let mut times = mine.map(|(time, _)| time.ps());
                times.find(|&time| time >= began && time <= next.unwrap_or(now.ps()))
            })
            .collect();
        let lives = lives.into_iter().zip(ends);
        lives.map(move |((_, ledger), ended_ps)| Life {
            node,
            ended_ps,
            ledger,
        })
    };
    lives.iter().enumerate().flat_map(of_node).collect()
}
