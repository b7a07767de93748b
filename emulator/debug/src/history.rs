//! The history of a world and the current position in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::checkpoints::Checkpoints;
use super::step::Trail;
use emulator_base::time::SimTime;
use emulator_board::{CpuId, Stops};
use emulator_sim::world::{RunLimits, World};
use emulator_state::StateError;

/// Interval between checkpoints while the world runs: 2.5 times [`LEAP`], so that a move backwards takes little more than twice the time
/// of loading on average.
const SPACING: SimTime = SimTime::from_us(5_000);
/// A near checkpoint is kept this long before the target of a move backwards, because further moves
/// backwards are likely,
const NEAR: SimTime = SimTime::from_us(30);
/// ... unless a checkpoint exists that is at most this far before the target.
const FAR: SimTime = SimTime::from_us(200);
/// Loading a checkpoint takes about as long as running for this time.
const LEAP: SimTime = SimTime::from_us(2_000);

/// Errors of a debugger's operations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DebugError {
    /// A checkpoint cannot be loaded.
    #[error(transparent)]
    State(#[from] StateError),
    /// The operation was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// The node does not exist.
    #[error("there is no node {0}")]
    NoNode(usize),
    /// The world's hosts are other processes, whose state cannot be changed and kept.
    #[error(
        "nothing can be changed by hand: hosts are other processes, and earlier times are runs from the beginning"
    )]
    Fixed,
    /// The world's hosts are programs of this machine, which run once.
    #[error(
        "earlier times cannot be shown: the hosts' programs run once, on this machine; a new session begins again"
    )]
    Once,
    /// There is no such CPU.
    #[error("node {node} has no CPU {cpu}")]
    NoCpu {
        /// The node.
        node: usize,
        /// The index of the CPU.
        cpu: usize,
    },
    /// The core executes no instructions.
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

/// The time that a history's operation has reached, for other threads.
#[derive(Debug, Clone, Default)]
pub struct Reached(Arc<AtomicU64>);

impl Reached {
    /// The time.
    #[must_use]
    pub fn time(&self) -> SimTime {
        SimTime::from_ps(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, time: SimTime) {
        self.0.store(time.ps(), Ordering::Relaxed);
    }
}

/// A world at an earlier time than the front.
struct Past {
    world: World,
    /// The host programs of the world replay their log.
    replays: bool,
}

/// A world and all its times.
pub struct History {
    build: Box<dyn Fn() -> World>,
    /// The world's state cannot be saved, since hosts are other processes: an earlier time is reached by a run of another world from the
    /// beginning, which does the same again, and nothing can be changed.
    only_from_begin: bool,
    /// No other world can do the same.
    runs_once: bool,
    /// The world at the latest time. It has the replay logs of the host programs.
    front: World,
    /// The world at the current time, unless that is the front.
    past: Option<Past>,
    pub(super) checkpoints: Checkpoints,
    /// Start times of a core's last instructions, as far as requested.
    pub(super) trail: Option<Trail>,
    /// Breakpoints and watchpoints of each node's board.
    stops: Vec<Stops>,
    interrupt: Option<Arc<AtomicBool>>,
    reached: Reached,
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History")
            .field("now", &self.now())
            .field("states", &self.checkpoints.len())
            .finish_non_exhaustive()
    }
}

impl History {
    /// The history of the world that `build` creates, from its start; `build` must create equal worlds.
    /// Setting `interrupt` ends long operations.
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

    /// The history of a world at its start whose hosts are other processes, so that no later state can be saved. `build` must create equal
    /// worlds. Setting `interrupt` ends long operations.
    ///
    /// # Errors
    /// If the world cannot be saved at its start.
    pub fn of_processes(
        front: World,
        build: impl Fn() -> World + 'static,
        interrupt: Option<Arc<AtomicBool>>,
    ) -> Result<Self, DebugError> {
        let mut history = Self::from_moment(front, build, interrupt)?;
        history.only_from_begin = true;
        Ok(history)
    }

    /// As [`of_processes`](Self::of_processes), of a world that cannot be built again: earlier times cannot be shown.
    ///
    /// # Errors
    /// If the world cannot be saved at its start.
    pub fn of_one_run(
        front: World,
        interrupt: Option<Arc<AtomicBool>>,
    ) -> Result<Self, DebugError> {
        let mut history = Self::of_processes(front, World::default, interrupt)?;
        history.runs_once = true;
        Ok(history)
    }

    /// The history of a world from a saved and loaded state on. `build` creates another world into which
    /// that state can be loaded. Setting `interrupt` ends long operations.
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
            only_from_begin: false,
            runs_once: false,
            past: None,
            checkpoints: Checkpoints::default(),
            trail: None,
            stops: vec![Stops::default(); front.nodes.len()],
            front,
            interrupt,
            reached: Reached::default(),
        };
        history.reached.set(history.now());
        history.keep_state()?;
        Ok(history)
    }

    /// Current time.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.world().now()
    }

    /// The time that a running operation has reached; between operations the current time.
    #[must_use]
    pub fn reached(&self) -> Reached {
        self.reached.clone()
    }

    /// The world at the current time. Reading does not change it.
    #[must_use]
    pub fn world(&self) -> &World {
        let past = self.past.as_ref().map(|past| &past.world);
        past.unwrap_or(&self.front)
    }

    /// The world, mutable, for changes that are not permanent.
    pub(super) fn world_mut(&mut self) -> &mut World {
        let past = self.past.as_mut().map(|past| &mut past.world);
        past.unwrap_or(&mut self.front)
    }

    /// The earliest time in the history.
    #[must_use]
    pub fn begin(&self) -> SimTime {
        self.checkpoints.begin().unwrap_or(SimTime::ZERO)
    }

    /// Breakpoints and watchpoints of a node's board.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn stops(&self, node: usize) -> Result<&Stops, DebugError> {
        self.stops.get(node).ok_or(DebugError::NoNode(node))
    }

    /// Sets the breakpoints and watchpoints of a node's board, for all times.
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

    /// Changes the world at the current time. Later checkpoints and the later history are discarded.
    ///
    /// # Errors
    /// If the world cannot be saved.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut World) -> T) -> Result<T, DebugError> {
        if self.only_from_begin {
            return Err(DebugError::Fixed);
        }
        let result = change(self.world_mut());
        self.come_alive()?;
        let now = self.now();
        self.checkpoints.forget_from(now);
        self.trail = None;
        if let Some(past) = self.past.take() {
            self.front = past.world;
        }
        self.front.forget_later_steps();
        self.checkpoints.keep(&self.front, true)?;
        Ok(result)
    }

    pub(super) fn limits(&self, until: SimTime) -> RunLimits {
        RunLimits {
            max_time: Some(until),
            interrupt: self.interrupt.clone(),
            ..RunLimits::default()
        }
    }

    /// Time of the first change after the current time.
    pub(super) fn next_change(&self) -> Option<SimTime> {
        self.checkpoints.change_from(self.after_now())
    }

    fn after_now(&self) -> SimTime {
        self.now().saturating_add(SimTime::from_ps(1))
    }

    /// Limit for running a past world: the time of the front.
    pub(super) fn end_of_past(&self) -> Option<SimTime> {
        self.past.as_ref().map(|_| self.front.now())
    }

    /// Time of the next regular checkpoint.
    fn next_state(&self) -> SimTime {
        let last = self.checkpoints.regular_up_to(self.now());
        last.map_or(self.now(), |time| time.saturating_add(SPACING))
    }

    /// Creates a checkpoint if one is due.
    pub(super) fn keep_state(&mut self) -> Result<(), DebugError> {
        let is_possible = !self.only_from_begin || self.checkpoints.len() == 0;
        if is_possible && self.now() >= self.next_state() {
            let past = self.past.as_ref().map(|past| &past.world);
            self.checkpoints.keep(past.unwrap_or(&self.front), false)?;
        }
        Ok(())
    }

    /// Creates a near checkpoint, for further moves backwards.
    pub(super) fn keep_near_state(&mut self) -> Result<(), DebugError> {
        if self.only_from_begin {
            return Ok(());
        }
        let past = self.past.as_ref().map(|past| &past.world);
        Ok(self.checkpoints.keep_near(past.unwrap_or(&self.front))?)
    }

    /// A world in its initial state.
    fn another_world(&self) -> World {
        let mut world = (self.build)();
        world.keep_logs();
        world
    }

    fn look_at(&mut self, mut world: World, replays: bool) {
        for (node, stops) in world.nodes.iter_mut().zip(&self.stops) {
            node.inspect_mut().set_stops(stops.clone());
        }
        self.past = Some(Past { world, replays });
        self.reached.set(self.now());
    }

    /// Loads the checkpoint of `time`.
    pub(super) fn take_up(&mut self, time: SimTime) -> Result<(), DebugError> {
        let Some(saved) = self.checkpoints.at(time) else {
            return Ok(());
        };
        if time >= self.front.now() {
            self.past = None;
            self.reached.set(self.now());
            return Ok(());
        }
        if self.runs_once {
            return Err(DebugError::Once);
        }
        let mut world = self.another_world();
        if self.only_from_begin {
            self.look_at(world, false);
            return Ok(());
        }
        world.load_replaying(&saved.state, &self.front.logs())?;
        self.look_at(world, true);
        Ok(())
    }

    /// Makes replaying host programs live: they receive their complete log again, which takes time in
    /// proportion to their run.
    pub(super) fn come_alive(&mut self) -> Result<(), DebugError> {
        if let Some(past) = &self.past
            && past.replays
        {
            let state = past.world.save()?;
            let mut world = self.another_world();
            world.load(&state, &self.front.logs())?;
            self.look_at(world, false);
        }
        Ok(())
    }

    /// Moves the world to `time`, forwards or backwards.
    ///
    /// # Errors
    /// If the operation is interrupted (the world is then at a time on the way), or a checkpoint cannot be
    /// loaded.
    pub fn go_to(&mut self, time: SimTime) -> Result<(), DebugError> {
        let past_change = self.next_change().is_some_and(|change| change <= time);
        let from = self.checkpoints.up_to(time);
        let from = from.filter(|&from| from > self.now().saturating_add(LEAP));
        if time < self.now() || past_change {
            self.go_back(time)?;
        } else if let Some(from) = from {
            self.take_up(from)?;
        }
        self.advance_to(time)
    }

    /// Loads a checkpoint at or before `time`, and prepares for further moves backwards.
    fn go_back(&mut self, time: SimTime) -> Result<(), DebugError> {
        let Some(from) = self.checkpoints.up_to(time) else {
            return Ok(());
        };
        self.take_up(from)?;
        let near = time.saturating_sub(NEAR);
        if from.saturating_add(FAR) < near {
            self.advance_to(near)?;
            self.keep_near_state()?;
        }
        Ok(())
    }

    /// Runs the world to `time` and creates checkpoints on the way.
    fn advance_to(&mut self, time: SimTime) -> Result<(), DebugError> {
        while self.now() < time {
            if self.end_of_past().is_some_and(|end| end <= time) {
                self.past = None;
                continue;
            }
            let next = self.next_state();
            let until = match next > self.now() {
                true => next,
                // The checkpoint was thinned out: there are enough.
                false => self.now().saturating_add(SPACING),
            };
            self.run_to(until.min(time))?;
        }
        Ok(())
    }

    /// Runs the world to `time`, and creates a checkpoint there if one is due.
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

    /// After a run: a past world that has reached the front is replaced by it.
    pub(super) fn has_run(&mut self) -> Result<(), DebugError> {
        self.world().check_replay()?;
        if self.end_of_past().is_some_and(|end| end <= self.now()) {
            self.past = None;
        }
        self.reached.set(self.now());
        Ok(())
    }
}
