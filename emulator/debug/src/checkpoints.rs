//! Checkpoints of a world.

use std::collections::BTreeMap;

use emulator_base::time::SimTime;
use emulator_board::CpuId;
use emulator_sim::node::Node;
use emulator_sim::saved::WorldCheckpoint;
use emulator_sim::world::World;
use emulator_state::StateError;

/// Largest number of checkpoints of a long run, in addition to those with changes.
const MOST_CHECKPOINTS: usize = 256;
/// Memory limit of the checkpoints. At least [`FEWEST_CHECKPOINTS`] are kept.
const MOST_BYTES: usize = 512 << 20;
/// Number of checkpoints that are kept however much memory they take.
const FEWEST_CHECKPOINTS: usize = 32;
/// Largest number of near checkpoints.
const MOST_NEAR: usize = 16;

/// A checkpoint of the world, with what searches through the history ask of it.
#[derive(Debug)]
pub(super) struct Checkpoint {
    pub(super) state: WorldCheckpoint,
    /// Bytes in addition to the previous checkpoint.
    bytes: usize,
    /// The checkpoint contains a manual change at its time: a run can cross this time only by loading it.
    changed: bool,
    /// Numbers of executed instructions of each node's CPUs.
    executed: Vec<Vec<u64>>,
}

impl Checkpoint {
    fn new(world: &World, changed: bool, before: Option<&Self>) -> Result<Self, StateError> {
        let state = world.checkpoint()?;
        let executed = |node: &Node| {
            let cpus = (0..node.inspect().cpus().len()).map(CpuId::new);
            let views = cpus.filter_map(|cpu| node.inspect().cpu(cpu));
            views.map(|view| view.instructions).collect()
        };
        Ok(Self {
            bytes: state.bytes_beside(before.map(|before| &before.state)),
            state,
            changed,
            executed: world.nodes.iter().map(executed).collect(),
        })
    }

    /// Number of executed instructions of a core.
    pub(super) fn executed(&self, node: usize, cpu: CpuId) -> u64 {
        let cpus = self.executed.get(node);
        let executed = cpus.and_then(|cpus| cpus.get(cpu.index()));
        executed.copied().unwrap_or(0)
    }
}

/// Checkpoints by time: those of the whole run, and those near the current time.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    all: BTreeMap<SimTime, Checkpoint>,
    near: BTreeMap<SimTime, Checkpoint>,
}

impl Checkpoints {
    /// Number of checkpoints.
    pub(super) fn len(&self) -> usize {
        self.all.len() + self.near.len()
    }

    /// Time of the earliest checkpoint.
    pub(super) fn begin(&self) -> Option<SimTime> {
        self.all.keys().next().copied()
    }

    /// The checkpoint of a time.
    pub(super) fn at(&self, time: SimTime) -> Option<&Checkpoint> {
        self.all.get(&time).or_else(|| self.near.get(&time))
    }

    /// Time of the last checkpoint at or before `time`.
    pub(super) fn up_to(&self, time: SimTime) -> Option<SimTime> {
        let last = |states: &BTreeMap<SimTime, Checkpoint>| {
            let last = states.range(..=time).next_back();
            last.map(|(time, _)| *time)
        };
        last(&self.all).max(last(&self.near))
    }

    /// Time of the last regular checkpoint at or before `time`.
    pub(super) fn regular_up_to(&self, time: SimTime) -> Option<SimTime> {
        let last = self.all.range(..=time).next_back();
        last.map(|(time, _)| *time)
    }

    /// Times of the checkpoints before `time`, latest first.
    pub(super) fn before(&self, time: SimTime) -> Vec<SimTime> {
        let near = self.near.range(..time);
        let both = self.all.range(..time).chain(near);
        let mut times: Vec<_> = both.map(|(time, _)| *time).collect();
        times.sort_unstable_by(|a, b| b.cmp(a));
        times
    }

    /// Whether a manual change was made at this time.
    pub(super) fn is_change(&self, time: SimTime) -> bool {
        self.all.get(&time).is_some_and(|saved| saved.changed)
    }

    /// Time of the first manual change at or after `time`.
    pub(super) fn change_from(&self, time: SimTime) -> Option<SimTime> {
        let mut later = self.all.range(time..);
        later
            .find(|(_, saved)| saved.changed)
            .map(|(time, _)| *time)
    }

    /// Discards checkpoints at and after `time`.
    pub(super) fn forget_from(&mut self, time: SimTime) {
        self.all.split_off(&time);
        self.near.split_off(&time);
    }

    /// Creates a regular checkpoint.
    pub(super) fn keep(&mut self, world: &World, changed: bool) -> Result<(), StateError> {
        let now = world.now();
        if self.all.contains_key(&now) {
            return Ok(());
        }
        let before = self.all.range(..now).next_back();
        let saved = Checkpoint::new(world, changed, before.map(|(_, saved)| saved))?;
        self.all.insert(now, saved);
        self.thin_out();
        Ok(())
    }

    /// Creates a near checkpoint, for limited time.
    pub(super) fn keep_near(&mut self, world: &World) -> Result<(), StateError> {
        let now = world.now();
        if self.at(now).is_some() {
            return Ok(());
        }
        self.near.insert(now, Checkpoint::new(world, false, None)?);
        if self.near.len() > MOST_NEAR {
            let ends = [self.near.first_key_value(), self.near.last_key_value()];
            let times = ends.into_iter().flatten().map(|(time, _)| *time);
            let distance = |time: &SimTime| time.ps().abs_diff(now.ps());
            if let Some(farthest) = times.max_by_key(distance) {
                self.near.remove(&farthest);
            }
        }
        Ok(())
    }

    /// Above the limits, discards the checkpoint that leaves the smallest gap.
    fn thin_out(&mut self) {
        let bytes: usize = self.all.values().map(|saved| saved.bytes).sum();
        let count = self.all.len();
        if count <= FEWEST_CHECKPOINTS || count <= MOST_CHECKPOINTS && bytes <= MOST_BYTES {
            return;
        }
        let times: Vec<_> = self.all.keys().copied().collect();
        let inner = times
            .windows(3)
            .filter(|three| !self.all[&three[1]].changed);
        if let Some(three) = inner.min_by_key(|three| three[2] - three[0]) {
            self.all.remove(&three[1]);
        }
    }
}
