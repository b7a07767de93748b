//! Looking for events, forwards and backwards.

use std::sync::{Arc, Mutex, PoisonError};

use super::history::{DebugError, History};
use crate::observe::event::{Details, TraceEvent};
use crate::observe::stream::Observer;
use crate::sim::time::SimTime;
use crate::sim::world::RunEnd;

/// The world runs so far before one looks whether anything was found: what it went too far must be run again.
const FIRST_SPAN: SimTime = SimTime::from_us(20);
/// ... and at most so far.
const LONGEST_SPAN: SimTime = SimTime::from_us(2_000);

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
            Direction::Backward => self.find_last(search),
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
            let end = change.map_or(end, |change| end.min(change));
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
            } else if self.now() >= self.next_state() {
                self.keep_state(false)?;
            }
            span = span.saturating_add(span).min(LONGEST_SPAN);
        }
        Ok(Found::Limit)
    }

    fn find_last(&mut self, search: &Search) -> Result<Found, DebugError> {
        let start = self.now();
        let mut end = start;
        for from in self.states_before(start) {
            self.take_up(from)?;
            let (found, _) = self.watch_to(end, search)?;
            let mut found: Vec<_> = found;
            found.retain(|event| event.time < start);
            if let Some(last) = found.iter().map(|event| event.time).max() {
                self.go_to(last)?;
                found.retain(|event| event.time == last);
                return Ok(Found::Events(found));
            }
            end = from;
        }
        self.go_to(self.begin())?;
        Ok(Found::Begin)
    }

    /// Lets the world run to `end`; gives what was found, and why the world came to its end, if it did.
    fn watch_to(
        &mut self,
        end: SimTime,
        search: &Search,
    ) -> Result<(Vec<TraceEvent>, Option<RunEnd>), DebugError> {
        let found = Arc::new(Mutex::new(Vec::new()));
        let finder = Finder {
            search: search.clone(),
            found: Arc::clone(&found),
        };
        let limits = self.limits(end);
        let world = self.world_mut();
        world.observe(Box::new(finder));
        let ended = world.run_until(&limits, || false);
        world.finish_observing();
        let found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        match ended {
            RunEnd::Interrupted => Err(DebugError::Interrupted),
            RunEnd::TimeLimit(_) => Ok((found, None)),
            ended => Ok((found, Some(ended))),
        }
    }
}
