//! Search for events, forwards and backwards.

use std::sync::{Arc, Mutex, PoisonError};

use super::history::{DebugError, History};
use emulator_base::time::SimTime;
use emulator_observe::event::{Details, TraceEvent};
use emulator_observe::stream::Observer;
use emulator_sim::world::{RunEnd, RunLimits, World};

/// First interval that the world runs between checks of the results. A longer interval must be rerun
/// further.
const FIRST_SPAN: SimTime = SimTime::from_us(20);
/// Longest interval between checks.
const LONGEST_SPAN: SimTime = SimTime::from_us(2_000);

/// Largest number of checkpoint intervals that a backward search runs at once: only its last result counts.
const MOST_STATES_AT_ONCE: usize = 8;

/// Direction of a search or step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeDirection {
    /// After the current time.
    Forward,
    /// Before the current time.
    Backward,
}

/// Condition of a search.
#[derive(Clone)]
pub struct Search {
    /// Details that must be recorded.
    pub details: Details,
    /// Whether an event matches.
    pub is: Arc<dyn Fn(&TraceEvent) -> bool + Send + Sync>,
}

impl std::fmt::Debug for Search {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search")
            .field("details", &self.details)
            .finish_non_exhaustive()
    }
}

/// Result of a search. The world is at its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Events that are about to happen, all at the current time.
    Events(Vec<TraceEvent>),
    /// The time limit was reached.
    Limit,
    /// The run has ended, for this reason.
    End(RunEnd),
    /// The start of the history was reached.
    Begin,
}

/// Observer that collects matching events.
struct Finder {
    search: Search,
    found: Arc<Mutex<Vec<TraceEvent>>>,
}

impl Observer for Finder {
    fn details(&self) -> Details {
        self.search.details
    }

    fn event(&mut self, event: &TraceEvent) {
        if (self.search.is)(event) {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.push(event.clone());
        }
    }
}

impl History {
    /// Moves the world to the next or previous matching event, events at the current time excluded. A
    /// forward search ends at `limit`.
    ///
    /// # Errors
    /// If the operation is interrupted, or a checkpoint cannot be loaded.
    pub fn find(
        &mut self,
        direction: TimeDirection,
        search: &Search,
        limit: SimTime,
    ) -> Result<Found, DebugError> {
        match direction {
            TimeDirection::Forward => self.find_next(search, limit),
            TimeDirection::Backward => self.find_last(search, self.begin()),
        }
    }

    fn find_next(&mut self, search: &Search, limit: SimTime) -> Result<Found, DebugError> {
        let start = self.now();
        let mut span = FIRST_SPAN;
        // Some events are recorded ahead of their time.
        let mut found: Vec<TraceEvent> = Vec::new();
        while self.now() < limit {
            let change = self.next_change();
            let end = self.now().saturating_add(span).min(limit);
            let bounds = change.into_iter().chain(self.end_of_past());
            let end = bounds.fold(end, SimTime::min);
            let (more, ended) = self.watch_to(end, search)?;
            found.extend(more.into_iter().filter(|event| event.time > start));
            let first = found.iter().map(|event| event.time).min();
            if let Some(first) = first.filter(|&first| first <= end) {
                self.go_to(first)?;
                found.retain(|event| event.time == first);
                return Ok(Found::Events(found));
            }
            if let Some(reason) = ended {
                return Ok(Found::End(reason));
            }
            if change == Some(end) {
                self.take_up(end)?;
            } else {
                self.keep_state()?;
            }
            span = span.saturating_add(span).min(LONGEST_SPAN);
        }
        Ok(Found::Limit)
    }

    /// Moves the world to the last matching event before the current time and after `earliest`; without a
    /// match, to `earliest`.
    ///
    /// # Errors
    /// If the operation is interrupted, or a checkpoint cannot be loaded.
    pub fn find_last(&mut self, search: &Search, earliest: SimTime) -> Result<Found, DebugError> {
        let start = self.now();
        let mut end = start;
        let mut states = 1;
        while end > earliest {
            let Some(from) = self.some_states_before(end, states) else {
                break;
            };
            self.take_up(from)?;
            let (mut found, _) = self.watch_to(end, search)?;
            found.retain(|event| event.time < start && event.time >= earliest);
            if let Some(last) = found.iter().map(|event| event.time).max() {
                self.go_to(last)?;
                found.retain(|event| event.time == last);
                return Ok(Found::Events(found));
            }
            end = from;
            states = (2 * states).min(MOST_STATES_AT_ONCE);
        }
        self.go_to(earliest.max(self.begin()))?;
        Ok(Found::Begin)
    }

    /// Time of the checkpoint `count` before `time`, or of a later manual change: a run cannot cross a
    /// change.
    fn some_states_before(&self, time: SimTime, count: usize) -> Option<SimTime> {
        let times = self.checkpoints.before(time);
        let change = times
            .iter()
            .position(|&time| self.checkpoints.is_change(time));
        let most = change.unwrap_or(times.len().saturating_sub(1));
        times.get(most.min(count - 1)).copied()
    }

    /// Runs the world to `end`; returns the matching events, and the reason if the run ended.
    fn watch_to(
        &mut self,
        end: SimTime,
        search: &Search,
    ) -> Result<(Vec<TraceEvent>, Option<RunEnd>), DebugError> {
        let run = |world: &mut World, limits: &RunLimits| world.run(limits);
        let (found, ended) = self.observed(search, run, end)?;
        match ended {
            RunEnd::Interrupted => Err(DebugError::Interrupted),
            RunEnd::TimeLimit(_) => Ok((found, None)),
            ended => Ok((found, Some(ended))),
        }
    }

    /// Runs the world to `end`, which is not after the [end of the past](Self::end_of_past); returns the
    /// matching events and the result of `run`.
    pub(super) fn observed<T>(
        &mut self,
        search: &Search,
        run: impl FnOnce(&mut World, &RunLimits) -> T,
        end: SimTime,
    ) -> Result<(Vec<TraceEvent>, T), DebugError> {
        if search.details.contains(Details::HOST) {
            // Only a live program reports its calls.
            self.come_alive()?;
        }
        let found = Arc::new(Mutex::new(Vec::new()));
        let finder = Finder {
            search: search.clone(),
            found: Arc::clone(&found),
        };
        let limits = self.limits(end);
        let world = self.world_mut();
        world.observe(Box::new(finder));
        let result = run(world, &limits);
        world.finish_observing();
        self.has_run()?;
        let found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((found, result))
    }
}
