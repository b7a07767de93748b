//! Looking for events, forwards and backwards.

use std::sync::{Arc, Mutex, PoisonError};

use super::history::{DebugError, History};
use crate::observe::event::{Details, TraceEvent};
use crate::observe::stream::Observer;
use crate::sim::time::SimTime;
use crate::sim::world::{RunEnd, RunLimits, World};

/// The world runs so far before one looks whether anything was found: what it went too far must be run again.
const FIRST_SPAN: SimTime = SimTime::from_us(20);
/// ... and at most so far.
const LONGEST_SPAN: SimTime = SimTime::from_us(2_000);

/// Backwards it runs at most through so many of its states before one looks: what is found last counts.
const MOST_STATES_AT_ONCE: usize = 8;

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// After now.
    Forward,
    /// Before now.
    Backward,
}

/// What is looked for.
#[derive(Clone)]
pub struct Search {
    /// The details that must be recorded for it.
    pub details: Details,
    /// Whether an event is one.
    pub is: Arc<dyn Fn(&TraceEvent) -> bool + Send + Sync>,
}

impl std::fmt::Debug for Search {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search")
            .field("details", &self.details)
            .finish_non_exhaustive()
    }
}

/// What came of a search. The world stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// These events are about to happen, all at the same time.
    Events(Vec<TraceEvent>),
    /// The time that was set is over.
    Limit,
    /// Nothing happens any more, for this reason.
    End(RunEnd),
    /// The beginning: nothing happened before it.
    Begin,
}

/// Keeps what is looked for.
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
    /// Brings the world to the next event of this kind, or the last one before; not to one that is about to happen now.
    /// Forwards it goes as far as `limit`.
    ///
    /// # Errors
    /// If somebody interrupts, or a state cannot be taken up.
    pub fn find(
        &mut self,
        direction: Direction,
        search: &Search,
        limit: SimTime,
    ) -> Result<Found, DebugError> {
        match direction {
            Direction::Forward => self.find_next(search, limit),
            Direction::Backward => self.find_last(search, self.begin()),
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

    /// Brings the world to the last event of this kind before now, but not before `earliest`: there it stands if it finds none.
    ///
    /// # Errors
    /// If somebody interrupts, or a state cannot be taken up.
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

    /// The time of the state that is so many before `time`, or of a change after that: nobody gets past one.
    fn some_states_before(&self, time: SimTime, count: usize) -> Option<SimTime> {
        let times = self.states.before(time);
        let change = times.iter().position(|&time| self.states.is_change(time));
        let most = change.unwrap_or(times.len().saturating_sub(1));
        times.get(most.min(count - 1)).copied()
    }

    /// Lets the world run to `end`; gives what was found, and why the world came to its end, if it did.
    fn watch_to(
        &mut self,
        end: SimTime,
        search: &Search,
    ) -> Result<(Vec<TraceEvent>, Option<RunEnd>), DebugError> {
        let run = |world: &mut World, limits: &RunLimits| world.run_until(limits, || false);
        let (found, ended) = self.observed(search, run, end)?;
        match ended {
            RunEnd::Interrupted => Err(DebugError::Interrupted),
            RunEnd::TimeLimit(_) => Ok((found, None)),
            ended => Ok((found, Some(ended))),
        }
    }

    /// Lets the world run to `end`, which is not beyond the [end of the past](Self::end_of_past); gives the events of a kind that
    /// happen on the way, and what `run` gives.
    pub(super) fn observed<T>(
        &mut self,
        search: &Search,
        run: impl FnOnce(&mut World, &RunLimits) -> T,
        end: SimTime,
    ) -> Result<(Vec<TraceEvent>, T), DebugError> {
        if search.details.contains(Details::HOST) {
            // Only a program that runs says what it calls.
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
