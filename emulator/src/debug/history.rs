//! The history of a world, and the moment of it at which one looks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::sim::saved::Logs;
use crate::sim::time::SimTime;
use crate::sim::world::{RunLimits, World};
use crate::state::StateError;
use crate::tigon2::board::Tigon2;
use crate::tigon2::stops::Stops;

/// From one state that is kept to the next, as the world runs.
const SPACING: SimTime = SimTime::from_us(5_000);
/// Most states that are kept, beside those that hold changes.
const MOST_STATES: usize = 96;

/// Why a debugger could not do what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DebugError {
    /// A state could not be taken up again.
    #[error(transparent)]
    State(#[from] StateError),
    /// Somebody interrupted.
    #[error("interrupted")]
    Interrupted,
    /// There is no such node.
    #[error("there is no node {0}")]
    NoNode(usize),
    /// The core executes nothing.
    #[error("CPU {} of node {node} executes nothing", if *.cpu == 0 { 'A' } else { 'B' })]
    Still {
        /// The node.
        node: usize,
        /// The core: 0 = A, 1 = B.
        cpu: usize,
    },
}

/// A state of the world.
#[derive(Debug)]
struct Saved {
    state: Vec<u8>,
    /// It holds a change that somebody made at that time: nobody gets past it but by taking it up.
    changed: bool,
}

/// A world, all moments of which can be visited.
pub struct History {
    build: Box<dyn Fn() -> World<Tigon2>>,
    world: World<Tigon2>,
    /// What host programs were told, as far as the world has ever come.
    logs: Logs,
    logs_until: SimTime,
    states: BTreeMap<SimTime, Saved>,
    /// For each node, what its board tells of.
    stops: Vec<Stops>,
    interrupt: Option<Arc<AtomicBool>>,
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History")
            .field("now", &self.now())
            .field("states", &self.states.len())
            .finish_non_exhaustive()
    }
}

impl History {
    /// The history of the world that `build` makes, which is at its beginning; `build` makes the same world each time. A set
    /// `interrupt` ends whatever takes long.
    ///
    /// # Errors
    /// If the world cannot be saved.
    pub fn new(
        build: impl Fn() -> World<Tigon2> + 'static,
        interrupt: Option<Arc<AtomicBool>>,
    ) -> Result<Self, DebugError> {
        let mut world = build();
        world.keep_logs();
        let mut history = Self {
            build: Box::new(build),
            logs: world.logs(),
            logs_until: world.now(),
            states: BTreeMap::new(),
            stops: vec![Stops::default(); world.nodes.len()],
            world,
            interrupt,
        };
        history.keep_state(false)?;
        Ok(history)
    }

    /// Where the world stands.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.world.now()
    }

    /// The world as it is now. To look does not change it.
    #[must_use]
    pub const fn world(&self) -> &World<Tigon2> {
        &self.world
    }

    /// The world, for those who put nothing into it that lasts.
    pub(super) const fn world_mut(&mut self) -> &mut World<Tigon2> {
        &mut self.world
    }

    /// The earliest time that can be visited.
    #[must_use]
    pub fn begin(&self) -> SimTime {
        self.states.keys().next().copied().unwrap_or(SimTime::ZERO)
    }

    /// What a node's board tells of.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn stops(&self, node: usize) -> Result<&Stops, DebugError> {
        self.stops.get(node).ok_or(DebugError::NoNode(node))
    }

    /// From now on a node's board tells of these, at whatever time.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn set_stops(&mut self, node: usize, stops: Stops) -> Result<(), DebugError> {
        let place = self.stops.get_mut(node).ok_or(DebugError::NoNode(node))?;
        self.world.nodes[node].board.set_stops(stops.clone());
        *place = stops;
        Ok(())
    }

    /// Changes the world by hand, now. What was known of later times is forgotten.
    ///
    /// # Errors
    /// If the world cannot be saved.
    pub fn change<T>(
        &mut self,
        change: impl FnOnce(&mut World<Tigon2>) -> T,
    ) -> Result<T, DebugError> {
        let result = change(&mut self.world);
        let now = self.now();
        self.states.split_off(&now);
        self.logs = self.world.logs();
        self.logs_until = now;
        self.keep_state(true)?;
        Ok(result)
    }

    pub(super) fn limits(&self, until: SimTime) -> RunLimits {
        RunLimits {
            max_time: Some(until),
            interrupt: self.interrupt.clone(),
            ..RunLimits::default()
        }
    }

    /// The first change that somebody made after now.
    pub(super) fn next_change(&self) -> Option<SimTime> {
        let mut later = self.states.range(self.after_now()..);
        later
            .find(|(_, saved)| saved.changed)
            .map(|(time, _)| *time)
    }

    fn after_now(&self) -> SimTime {
        self.now().saturating_add(SimTime::from_ps(1))
    }

    /// The times of kept states before `time`, the latest first.
    pub(super) fn states_before(&self, time: SimTime) -> Vec<SimTime> {
        let states = self.states.range(..time).rev();
        states.map(|(time, _)| *time).collect()
    }

    /// When the world should be saved next, as it runs.
    pub(super) fn next_state(&self) -> SimTime {
        let last = self.states.range(..=self.now()).next_back();
        last.map_or(self.now(), |(time, _)| time.saturating_add(SPACING))
    }

    /// Keeps the present state.
    pub(super) fn keep_state(&mut self, changed: bool) -> Result<(), DebugError> {
        let now = self.now();
        if self.states.contains_key(&now) {
            return Ok(());
        }
        self.keep_logs();
        let state = self.world.save()?;
        self.states.insert(now, Saved { state, changed });
        self.thin_out();
        Ok(())
    }

    /// Remembers what programs were told, if the world has never been farther.
    fn keep_logs(&mut self) {
        if self.now() >= self.logs_until {
            self.logs = self.world.logs();
            self.logs_until = self.now();
        }
    }

    /// If there are too many states, lets the one go that leaves the smallest gap.
    fn thin_out(&mut self) {
        if self.states.len() <= MOST_STATES {
            return;
        }
        let times: Vec<_> = self.states.keys().copied().collect();
        let inner = times
            .windows(3)
            .filter(|three| !self.states[&three[1]].changed);
        if let Some(three) = inner.min_by_key(|three| three[2] - three[0]) {
            self.states.remove(&three[1]);
        }
    }

    /// Takes up the state that was kept at `time`.
    pub(super) fn take_up(&mut self, time: SimTime) -> Result<(), DebugError> {
        let Some(saved) = self.states.get(&time) else {
            return Ok(());
        };
        let mut world = (self.build)();
        world.keep_logs();
        if self.world.now() >= self.logs_until {
            self.logs = self.world.logs();
            self.logs_until = self.world.now();
        }
        world.load(&saved.state, &self.logs)?;
        for (node, stops) in world.nodes.iter_mut().zip(&self.stops) {
            node.board.set_stops(stops.clone());
        }
        self.world = world;
        Ok(())
    }

    /// Brings the world to `time`, before or after now.
    ///
    /// # Errors
    /// If somebody interrupts: the world then stands on its way there. If a state cannot be taken up.
    pub fn go_to(&mut self, time: SimTime) -> Result<(), DebugError> {
        let from = self.states.range(..=time).next_back();
        let from = from.map(|(time, _)| *time);
        let past_change = self.next_change().is_some_and(|change| change <= time);
        if let Some(from) = from
            && (time < self.now() || past_change)
        {
            self.take_up(from)?;
        }
        while self.now() < time {
            let until = self.next_state().max(self.after_now()).min(time);
            if !self.run_to(until) {
                return Err(DebugError::Interrupted);
            }
            if self.now() >= self.next_state() {
                self.keep_state(false)?;
            }
        }
        Ok(())
    }

    /// Lets the world run to `time`, whether anything happens or not; `false` if somebody interrupts.
    pub(super) fn run_to(&mut self, time: SimTime) -> bool {
        let limits = self.limits(time);
        self.world.pass_time(&limits)
    }
}
