//! The states of a world that are kept.

use std::collections::BTreeMap;

use crate::board::CpuId;
use crate::sim::node::Node;
use crate::sim::saved::Kept;
use crate::sim::time::SimTime;
use crate::sim::world::World;
use crate::state::StateError;

/// Most states that are kept of a long run, beside those that hold changes.
const MOST_STATES: usize = 256;
/// ... unless they take more memory than this. So many are kept in any case.
const MOST_BYTES: usize = 512 << 20;
const FEWEST_STATES: usize = 32;
/// Most states that are kept near to where one looks.
const MOST_NEAR: usize = 16;

/// A state of the world.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) state: Kept,
    /// Bytes that it takes beside the one before it.
    bytes: usize,
    /// It holds a change that somebody made at that time: nobody gets past it but by taking it up.
    changed: bool,
    /// For each node, how many instructions its CPUs had executed.
    executed: Vec<Vec<u64>>,
}

impl Saved {
    fn new(world: &World, changed: bool, before: Option<&Self>) -> Result<Self, StateError> {
        let state = world.keep()?;
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

    /// How many instructions a core had executed.
    pub(super) fn executed(&self, node: usize, cpu: CpuId) -> u64 {
        let cpus = self.executed.get(node);
        let executed = cpus.and_then(|cpus| cpus.get(cpu.index()));
        executed.copied().unwrap_or(0)
    }
}

/// States by time: some of the whole run, and some near to where one looks.
#[derive(Debug, Default)]
pub(super) struct States {
    all: BTreeMap<SimTime, Saved>,
    near: BTreeMap<SimTime, Saved>,
}

impl States {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len() + self.near.len()
    }

    /// The earliest.
    pub(super) fn begin(&self) -> Option<SimTime> {
        self.all.keys().next().copied()
    }

    /// That of this time.
    pub(super) fn at(&self, time: SimTime) -> Option<&Saved> {
        self.all.get(&time).or_else(|| self.near.get(&time))
    }

    /// The last one up to `time`.
    pub(super) fn up_to(&self, time: SimTime) -> Option<SimTime> {
        let last = |states: &BTreeMap<SimTime, Saved>| {
            let last = states.range(..=time).next_back();
            last.map(|(time, _)| *time)
        };
        last(&self.all).max(last(&self.near))
    }

    /// The last one of the whole run up to `time`.
    pub(super) fn regular_up_to(&self, time: SimTime) -> Option<SimTime> {
        let last = self.all.range(..=time).next_back();
        last.map(|(time, _)| *time)
    }

    /// Those before `time`, the latest first.
    pub(super) fn before(&self, time: SimTime) -> Vec<SimTime> {
        let near = self.near.range(..time);
        let both = self.all.range(..time).chain(near);
        let mut times: Vec<_> = both.map(|(time, _)| *time).collect();
        times.sort_unstable_by(|a, b| b.cmp(a));
        times
    }

    /// Whether somebody made a change at this time.
    pub(super) fn is_change(&self, time: SimTime) -> bool {
        self.all.get(&time).is_some_and(|saved| saved.changed)
    }

    /// The first change that somebody made from `time` on.
    pub(super) fn change_from(&self, time: SimTime) -> Option<SimTime> {
        let mut later = self.all.range(time..);
        later
            .find(|(_, saved)| saved.changed)
            .map(|(time, _)| *time)
    }

    /// Forgets those from `time` on.
    pub(super) fn forget_from(&mut self, time: SimTime) {
        self.all.split_off(&time);
        self.near.split_off(&time);
    }

    /// Keeps the present state of a world.
    pub(super) fn keep(&mut self, world: &World, changed: bool) -> Result<(), StateError> {
        let now = world.now();
        if self.all.contains_key(&now) {
            return Ok(());
        }
        let before = self.all.range(..now).next_back();
        let saved = Saved::new(world, changed, before.map(|(_, saved)| saved))?;
        self.all.insert(now, saved);
        self.thin_out();
        Ok(())
    }

    /// Keeps the present state of a world, for a while.
    pub(super) fn keep_near(&mut self, world: &World) -> Result<(), StateError> {
        let now = world.now();
        if self.at(now).is_some() {
            return Ok(());
        }
        self.near.insert(now, Saved::new(world, false, None)?);
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

    /// If there are too many states, lets the one go that leaves the smallest gap.
    fn thin_out(&mut self) {
        let bytes: usize = self.all.values().map(|saved| saved.bytes).sum();
        let count = self.all.len();
        if count <= FEWEST_STATES || count <= MOST_STATES && bytes <= MOST_BYTES {
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
