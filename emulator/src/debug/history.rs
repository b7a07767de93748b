//! The history of a world, and the moment of it at which one looks.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::states::States;
use super::step::Trail;
use crate::board::{CpuId, Stops};
use crate::sim::time::SimTime;
use crate::sim::world::{RunLimits, World};
use crate::state::StateError;

/// From one state that is kept to the next, as the world runs.
const SPACING: SimTime = SimTime::from_us(5_000);
/// Whoever goes back is likely to do so again: a state is kept so long before where he goes,
const NEAR: SimTime = SimTime::from_us(30);
/// ... unless there is one that is no farther than this.
const FAR: SimTime = SimTime::from_us(200);
/// To take up a state takes as long as to run so far.
const LEAP: SimTime = SimTime::from_us(2_000);

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
    /// There is no such CPU.
    #[error("node {node} has no CPU {cpu}")]
    NoCpu {
        /// The node.
        node: usize,
        /// The index of the CPU.
        cpu: usize,
    },
    /// The core executes nothing.
    #[error("{name} of node {node} executes nothing")]
    Still {
        /// The node.
        node: usize,
        /// The CPU.
        cpu: CpuId,
        /// The name of the CPU.
        name: &'static str,
    },
}

/// The world at a time to which somebody went back.
struct Past {
    world: World,
    /// Its programs only do what they did before.
    repeats: bool,
}

/// A world, all moments of which can be visited.
pub struct History {
    build: Box<dyn Fn() -> World>,
    /// The world that has come farthest. It knows what host programs were told and did.
    front: World,
    /// Where one looks, unless that is there.
    past: Option<Past>,
    pub(super) states: States,
    /// When a core began its last instructions, as far as somebody asked for that.
    pub(super) trail: Option<Trail>,
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
        build: impl Fn() -> World + 'static,
        interrupt: Option<Arc<AtomicBool>>,
    ) -> Result<Self, DebugError> {
        let mut front = build();
        front.keep_logs();
        Self::from_moment(front, build, interrupt)
    }

    /// The history of a world from the moment on at which it was saved and loaded again. `build` makes the world that it was
    /// loaded into, anew each time. A set `interrupt` ends whatever takes long.
    ///
    /// # Errors
    /// If the world cannot be saved.
    pub fn from_moment(
        front: World,
        build: impl Fn() -> World + 'static,
        interrupt: Option<Arc<AtomicBool>>,
    ) -> Result<Self, DebugError> {
        let mut history = Self {
            build: Box::new(build),
            past: None,
            states: States::default(),
            trail: None,
            stops: vec![Stops::default(); front.nodes.len()],
            front,
            interrupt,
        };
        history.keep_state()?;
        Ok(history)
    }

    /// Where the world stands.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.world().now()
    }

    /// The world as it is now. To look does not change it.
    #[must_use]
    pub fn world(&self) -> &World {
        let past = self.past.as_ref().map(|past| &past.world);
        past.unwrap_or(&self.front)
    }

    /// The world, for those who put nothing into it that lasts.
    pub(super) fn world_mut(&mut self) -> &mut World {
        let past = self.past.as_mut().map(|past| &mut past.world);
        past.unwrap_or(&mut self.front)
    }

    /// The earliest time that can be visited.
    #[must_use]
    pub fn begin(&self) -> SimTime {
        self.states.begin().unwrap_or(SimTime::ZERO)
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
        let past = self.past.as_mut().map(|past| &mut past.world);
        for world in past.into_iter().chain([&mut self.front]) {
            world.nodes[node].inspect_mut().set_stops(stops.clone());
        }
        *place = stops;
        Ok(())
    }

    /// Changes the world by hand, now. What was known of later times is forgotten.
    ///
    /// # Errors
    /// If the world cannot be saved.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut World) -> T) -> Result<T, DebugError> {
        let result = change(self.world_mut());
        self.come_alive()?;
        let now = self.now();
        self.states.forget_from(now);
        self.trail = None;
        if let Some(past) = self.past.take() {
            self.front = past.world;
        }
        self.front.forget_later();
        self.states.keep(&self.front, true)?;
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
        self.states.change_from(self.after_now())
    }

    fn after_now(&self) -> SimTime {
        self.now().saturating_add(SimTime::from_ps(1))
    }

    /// So far a world can run that looks at the past.
    pub(super) fn end_of_past(&self) -> Option<SimTime> {
        self.past.as_ref().map(|_| self.front.now())
    }

    /// When the world should be saved next, as it runs.
    fn next_state(&self) -> SimTime {
        let last = self.states.regular_up_to(self.now());
        last.map_or(self.now(), |time| time.saturating_add(SPACING))
    }

    /// Keeps the present state, if it is time.
    pub(super) fn keep_state(&mut self) -> Result<(), DebugError> {
        if self.now() >= self.next_state() {
            let past = self.past.as_ref().map(|past| &past.world);
            self.states.keep(past.unwrap_or(&self.front), false)?;
        }
        Ok(())
    }

    /// Keeps the present state for one who will soon go back again.
    pub(super) fn keep_near_state(&mut self) -> Result<(), DebugError> {
        let past = self.past.as_ref().map(|past| &past.world);
        Ok(self.states.keep_near(past.unwrap_or(&self.front))?)
    }

    /// A world like that of the beginning.
    fn another_world(&self) -> World {
        let mut world = (self.build)();
        world.keep_logs();
        world
    }

    fn look_at(&mut self, mut world: World, repeats: bool) {
        for (node, stops) in world.nodes.iter_mut().zip(&self.stops) {
            node.inspect_mut().set_stops(stops.clone());
        }
        self.past = Some(Past { world, repeats });
    }

    /// Takes up the state that was kept at `time`.
    pub(super) fn take_up(&mut self, time: SimTime) -> Result<(), DebugError> {
        let Some(saved) = self.states.at(time) else {
            return Ok(());
        };
        if time >= self.front.now() {
            self.past = None;
            return Ok(());
        }
        let mut world = self.another_world();
        world.load_repeating(&saved.state, &self.front.logs())?;
        self.look_at(world, true);
        Ok(())
    }

    /// Host programs that only repeat what they did begin to do it by themselves. They are told all of it again: that takes the
    /// longer, the longer they have run.
    pub(super) fn come_alive(&mut self) -> Result<(), DebugError> {
        if let Some(past) = &self.past
            && past.repeats
        {
            let state = past.world.save()?;
            let mut world = self.another_world();
            world.load(&state, &self.front.logs())?;
            self.look_at(world, false);
        }
        Ok(())
    }

    /// Brings the world to `time`, before or after now.
    ///
    /// # Errors
    /// If somebody interrupts: the world then stands on its way there. If a state cannot be taken up.
    pub fn go_to(&mut self, time: SimTime) -> Result<(), DebugError> {
        let past_change = self.next_change().is_some_and(|change| change <= time);
        let from = self.states.up_to(time);
        let from = from.filter(|&from| from > self.now().saturating_add(LEAP));
        if time < self.now() || past_change {
            self.go_back(time)?;
        } else if let Some(from) = from {
            self.take_up(from)?;
        }
        self.go_on(time)
    }

    /// Takes up a state up to `time`, and sees to it that it will be easy to go there again.
    fn go_back(&mut self, time: SimTime) -> Result<(), DebugError> {
        let Some(from) = self.states.up_to(time) else {
            return Ok(());
        };
        self.take_up(from)?;
        let near = time.saturating_sub(NEAR);
        if from.saturating_add(FAR) < near {
            self.go_on(near)?;
            self.keep_near_state()?;
        }
        Ok(())
    }

    /// Lets the world run to `time`, and keeps states on the way.
    fn go_on(&mut self, time: SimTime) -> Result<(), DebugError> {
        while self.now() < time {
            if self.end_of_past().is_some_and(|end| end <= time) {
                self.past = None;
                continue;
            }
            let next = self.next_state();
            let until = match next > self.now() {
                true => next,
                // What was kept here did not stay: there are states enough.
                false => self.now().saturating_add(SPACING),
            };
            self.run_to(until.min(time))?;
        }
        Ok(())
    }

    /// Lets the world run to `time`, whether anything happens or not, and keeps a state there if it is time.
    pub(super) fn run_to(&mut self, time: SimTime) -> Result<(), DebugError> {
        while self.now() < time {
            let until = self.end_of_past().map_or(time, |end| end.min(time));
            let limits = self.limits(until);
            let done = self.world_mut().pass_time(&limits);
            self.has_run()?;
            if !done {
                return Err(DebugError::Interrupted);
            }
        }
        self.keep_state()
    }

    /// The world has run: where it has come to its front, it is that.
    pub(super) fn has_run(&mut self) -> Result<(), DebugError> {
        self.world().check_repeating()?;
        if self.end_of_past().is_some_and(|end| end <= self.now()) {
            self.past = None;
        }
        Ok(())
    }
}
