//! Selection of a part of a trace by filter and trigger, for files and running worlds.

use std::collections::VecDeque;
use std::path::Path;

use emulator::observe::event::{Details, TraceEvent};
use emulator::observe::file::{Chunk, Header, TraceReader};
use emulator::observe::stream::Observer;
use emulator::sim::time::SimTime;

use super::filter::{Filter, Term, parse};
use super::open::{Ending, TraceInput, broken};
use super::time::TimeArg;

/// A span of a trace.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// From this time on.
    pub from: Option<TimeArg>,
    /// Before this time.
    pub until: Option<TimeArg>,
    /// From the first event that matches.
    pub trigger: Option<Terms>,
    /// And the events in this span before the trigger.
    pub before: Option<SimTime>,
    /// For this span from the trigger on.
    pub span: Option<SimTime>,
}

/// Selected events of a trace.
#[derive(Debug, Clone, Default)]
pub struct EventSelection {
    /// Each must match.
    pub terms: Vec<Term>,
    /// The span.
    pub window: Window,
}

impl From<Window> for EventSelection {
    fn from(window: Window) -> Self {
        Self {
            terms: Vec::new(),
            window,
        }
    }
}

/// Passes events from the first one that matches a filter on.
#[derive(Debug)]
pub struct Trigger {
    filter: Filter,
    /// Events in this span before it pass too.
    before: SimTime,
    /// Events pass for this span after it; without limit if `None`.
    span: Option<SimTime>,
    /// Events that pass if the trigger fires in time.
    waiting: VecDeque<TraceEvent>,
    /// Time at which the trigger fired.
    fired: Option<SimTime>,
}

impl Trigger {
    /// A trigger for the first event that matches `filter`.
    #[must_use]
    pub const fn new(filter: Filter, before: SimTime, span: Option<SimTime>) -> Self {
        Self {
            filter,
            before,
            span,
            waiting: VecDeque::new(),
            fired: None,
        }
    }

    /// Processes an event, and passes events on.
    fn filter_event(&mut self, event: &TraceEvent, mut pass: impl FnMut(&TraceEvent)) {
        if self.fired.is_none() {
            let before = self.before;
            let too_old = |first: &TraceEvent| first.time.saturating_add(before) < event.time;
            while self.waiting.front().is_some_and(too_old) {
                self.waiting.pop_front();
            }
            if self.filter.passes(event) {
                self.fired = Some(event.time);
                self.waiting.drain(..).for_each(|earlier| pass(&earlier));
            }
        }
        match self.fired {
            Some(fired) if self.is_over(fired, event.time) => {}
            Some(_) => pass(event),
            None if self.before == SimTime::ZERO => {}
            None => self.waiting.push_back(event.clone()),
        }
    }

    fn is_over(&self, fired: SimTime, now: SimTime) -> bool {
        self.span
            .is_some_and(|span| now > fired.saturating_add(span))
    }
}

/// Selection of events.
#[derive(Debug, Default)]
pub struct Selection {
    filter: Filter,
    trigger: Option<Trigger>,
    /// Number of events that passed.
    passed: u64,
}

impl Selection {
    /// The selection of these events, for a trace with this header.
    ///
    /// # Errors
    /// If the trace has no such name.
    pub fn new(wanted: &EventSelection, header: &Header) -> anyhow::Result<Self> {
        let start = SimTime::from_ps(header.start_ps);
        let mut filter = Filter::new(&wanted.terms, header)?;
        filter.from = wanted.window.from.map(|time| time.resolve(start));
        filter.until = wanted.window.until.map(|time| time.resolve(start));
        let trigger = wanted.window.trigger.as_ref().map(|terms| {
            let before = wanted.window.before.unwrap_or_default();
            Ok::<_, anyhow::Error>(Trigger::new(
                Filter::new(&terms.0, header)?,
                before,
                wanted.window.span,
            ))
        });
        Ok(Self {
            filter,
            trigger: trigger.transpose()?,
            passed: 0,
        })
    }

    /// Processes an event: passes selected events on, delayed ones included.
    pub fn filter_event(&mut self, event: &TraceEvent, mut pass: impl FnMut(&TraceEvent)) {
        let (filter, passed) = (&mut self.filter, &mut self.passed);
        let mut filtered = |event: &TraceEvent| {
            if filter.passes(event) {
                *passed += 1;
                pass(event);
            }
        };
        match &mut self.trigger {
            Some(trigger) => trigger.filter_event(event, filtered),
            None => filtered(event),
        }
    }

    /// Whether a chunk may contain a selected event, or the trigger.
    #[must_use]
    pub fn wants(&self, chunk: &Chunk) -> bool {
        let Some(trigger) = &self.trigger else {
            return self.filter.may_pass(chunk);
        };
        match trigger.fired {
            Some(fired) => !trigger.is_over(fired, chunk.first) && self.filter.may_pass(chunk),
            None => {
                trigger.filter.may_pass(chunk)
                    || trigger.before > SimTime::ZERO && self.filter.may_pass(chunk)
            }
        }
    }

    /// Reason for an empty selection; `None` if an event has passed.
    #[must_use]
    pub fn nothing(&self) -> Option<&'static str> {
        match &self.trigger {
            _ if self.passed > 0 => None,
            Some(trigger) if trigger.fired.is_none() => {
                Some("no event is what the trigger waits for")
            }
            _ => Some("no event passes the filter"),
        }
    }
}

/// Reads a trace and passes selected events to `act`, until it returns `false`. Writes a warning to
/// standard error if the trace is broken or the selection is empty.
///
/// # Errors
/// If the file cannot be read, or `act` fails.
pub fn each(
    path: &Path,
    trace: TraceReader<TraceInput>,
    selection: &mut Selection,
    mut act: impl FnMut(&TraceEvent) -> anyhow::Result<bool>,
) -> anyhow::Result<Ending> {
    let mut events = trace.into_events();
    let mut ending = Ending::Whole;
    loop {
        let event = match events.next_of(|chunk| selection.wants(chunk)) {
            Ok(Some(event)) => event,
            Ok(None) => break,
            Err(error) => {
                ending = broken(path, error)?;
                break;
            }
        };
        let mut outcome = Ok(true);
        selection.filter_event(&event, |event| {
            if matches!(outcome, Ok(true)) {
                outcome = act(event);
            }
        });
        if !outcome? {
            return Ok(ending);
        }
    }
    if let Some(reason) = selection.nothing() {
        log::warn!("{}: {reason}", path.display());
    }
    Ok(ending)
}

/// Passes only selected events to an observer.
pub struct Selected<O> {
    observer: O,
    selection: Selection,
}

impl<O> std::fmt::Debug for Selected<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Selected")
            .field("selection", &self.selection)
            .finish_non_exhaustive()
    }
}

impl<O: Observer> Selected<O> {
    /// An observer of the events in `selection`.
    pub const fn new(observer: O, selection: Selection) -> Self {
        Self {
            observer,
            selection,
        }
    }
}

impl<O: Observer> Observer for Selected<O> {
    fn details(&self) -> Details {
        self.observer.details()
    }

    fn event(&mut self, event: &TraceEvent) {
        let observer = &mut self.observer;
        self.selection
            .filter_event(event, |event| observer.event(event));
    }

    fn finish(&mut self) -> std::io::Result<()> {
        if let Some(reason) = self.selection.nothing() {
            log::warn!("the trace is empty: {reason}");
        }
        self.observer.finish()
    }
}

/// Parses an expression in an option.
///
/// # Errors
/// If it is invalid.
pub fn expression(text: &str) -> Result<Terms, String> {
    parse(text).map(Terms)
}

/// Terms in one option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms(pub Vec<Term>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::probe;

    /// Microseconds of the events that pass, of one at each microsecond; the trigger's come at 3 and 6.
    fn passing(filter: Filter, before: u64, span: Option<u64>) -> Vec<u64> {
        let header = Header {
            images: Vec::new(),
            ..Header::default()
        };
        let terms = parse("text=trigger").unwrap();
        let trigger = Filter::new(&terms, &header).unwrap();
        let (before, span) = (SimTime::from_us(before), span.map(SimTime::from_us));
        let mut selection = Selection {
            filter,
            trigger: Some(Trigger::new(trigger, before, span)),
            passed: 0,
        };
        let mut passed = Vec::new();
        for us in 0..10 {
            let name = match us % 3 == 0 && us > 0 {
                true => "trigger",
                false => "other",
            };
            let event = probe(us * 1000, 0, name, &[]);
            selection.filter_event(&event, |event| passed.push(event.time.ps() / 1_000_000));
        }
        assert_eq!(selection.nothing().is_none(), !passed.is_empty());
        passed
    }

    #[test]
    fn a_trigger_opens_once() {
        assert_eq!(passing(Filter::default(), 0, None), [3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(passing(Filter::default(), 0, Some(2)), [3, 4, 5]);
        assert_eq!(passing(Filter::default(), 2, Some(1)), [1, 2, 3, 4]);
        assert_eq!(passing(Filter::default(), 99, Some(0)), [0, 1, 2, 3]);
        let mut filter = Filter::default();
        filter.from = Some(SimTime::from_us(2));
        filter.until = Some(SimTime::from_us(4));
        assert_eq!(passing(filter, 9, None), [2, 3]);
    }

    #[test]
    fn expressions() {
        let check = |text, expected: Option<&str>| {
            let terms = parse(text).ok().map(|terms| {
                let terms = terms.iter().map(|(key, value)| format!("{key}={value}"));
                terms.collect::<Vec<_>>().join("; ")
            });
            assert_eq!(terms.as_deref(), expected, "{text}");
        };
        check("probe=retransmit", Some("probe=retransmit"));
        check(
            "probe=frame sent node=1,2",
            Some("probe=frame sent; node=1,2"),
        );
        check("node=0  by=cpu", Some("node=0; by=cpu"));
        for wrong in ["", "retransmit", "prob=x", "probe=", "=x"] {
            check(wrong, None);
        }
    }
}
