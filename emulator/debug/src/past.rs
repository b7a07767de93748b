//! The last events before the current time.

use super::history::{DebugError, History};
use super::search::Search;
use emulator_base::time::SimTime;
use emulator_observe::event::TraceEvent;

/// Length of the first interval that is searched.
const FIRST_SPAN: SimTime = SimTime::from_us(40);
/// Growth of the interval with each attempt.
const GROWTH: u64 = 4;
/// Fraction of the interval that is run but not searched, because some events are recorded ahead of their
/// time.
const LEAD: u64 = 4;

impl History {
    /// The last events of a search before the current time, at most `most`, in order. The world returns to
    /// the current time.
    ///
    /// # Errors
    /// If the operation is interrupted (the world is then at an earlier time), or a checkpoint cannot be
    /// loaded.
    pub fn events_before(
        &mut self,
        most: usize,
        search: &Search,
    ) -> Result<Vec<TraceEvent>, DebugError> {
        let now = self.now();
        let mut span = FIRST_SPAN;
        loop {
            let from = now.saturating_sub(span).max(self.begin());
            self.go_to(from)?;
            let mut events = self.keep_up_to(now, search)?;
            let known_from = match from > self.begin() {
                true => from.saturating_add(SimTime::from_ps(span.ps() / LEAD)),
                false => from,
            };
            events.retain(|event| known_from <= event.time && event.time < now);
            if events.len() >= most || from == self.begin() {
                events.drain(..events.len().saturating_sub(most));
                return Ok(events);
            }
            span = SimTime::from_ps(span.ps().saturating_mul(GROWTH));
        }
    }

    /// Runs the world to `end`, with all manual changes on the way, and collects events.
    fn keep_up_to(&mut self, end: SimTime, search: &Search) -> Result<Vec<TraceEvent>, DebugError> {
        let mut kept = Vec::new();
        while self.now() < end {
            let change = self.next_change().filter(|&change| change <= end);
            let bounds = change.into_iter().chain(self.end_of_past());
            let until = bounds.fold(end, SimTime::min);
            let (events, done) =
                self.observed(search, |world, limits| world.pass_time(limits), until)?;
            if !done {
                return Err(DebugError::Interrupted);
            }
            kept.extend(events);
            if change == Some(until) {
                self.take_up(until)?;
            }
        }
        Ok(kept)
    }
}
