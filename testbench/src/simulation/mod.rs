//! A scenario that runs: its world, its programs, and what came of them.

mod build;
pub mod result;

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use emulator::image::Image;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use emulator::tigon2::board::Tigon2;

use crate::cluster::START;
use crate::faults::Strikes;
use crate::programs::ledger::Ledger;
use crate::programs::verdict::{self, Life};
use crate::scenario::Place;
use result::{Counters, Outcome};

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
    pub world: World<Tigon2>,
    /// What its boards run.
    pub image: Image,
    /// For each node.
    lives: Vec<Lives>,
    /// Nodes that are reset, and when; sorted by time.
    resets: Vec<(SimTime, usize)>,
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
        let mut watch = watch;
        let limits = |until: Option<SimTime>| RunLimits {
            max_time: until,
            interrupt: options.interrupt.clone(),
            threads: options.threads,
        };
        let last = [self.max_time, options.max_time]
            .into_iter()
            .flatten()
            .min();
        let last = last.map(|time| START.saturating_add(time));
        let mut counters = Counters::new(self.world.nodes.len());
        let (lives, all_resets) = (&self.lives, &self.resets);
        // What was counted before the programs start, and what a reset wipes out, must be looked at in time.
        let stops = std::iter::once((START, None))
            .chain(all_resets.iter().map(|&(time, node)| (time, Some(node))))
            .filter(|(time, _)| last.is_none_or(|last| *time < last));
        let mut end = None;
        for (time, node) in stops {
            let reached = self.world.run_until(&limits(Some(time)), || {
                watch(received(lives));
                false
            });
            match (reached, node) {
                (RunEnd::TimeLimit(_), None) => counters.start(&self.world),
                (RunEnd::TimeLimit(_), Some(node)) => counters.before_reset(&self.world, node),
                (other, _) => {
                    end = Some(other);
                    break;
                }
            }
        }
        let end = end.unwrap_or_else(|| {
            self.world.run_until(&limits(last), || {
                watch(received(lives));
                verdict::is_settled(&lives_at(lives, all_resets, SimTime::MAX))
            })
        });
        let lives = lives_at(lives, all_resets, self.world.now());
        let mut outcome = Outcome::new(&self.world, &self.names, &lives, counters, end);
        let idle = self.exact_faults.iter();
        let idle = idle.filter(|(_, strikes)| strikes.count() == 0);
        outcome.idle_faults = idle.map(|(place, _)| place.to_string()).collect();
        outcome
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
