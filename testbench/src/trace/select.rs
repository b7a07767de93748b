//! Which part of a trace is meant: what passes a filter, from a trigger on. Works on files and while a world runs.

use std::collections::VecDeque;
use std::path::Path;

use emulator::observe::event::{Details, TraceEvent};
use emulator::observe::file::{Chunk, Header, TraceReader};
use emulator::observe::stream::Observer;
use emulator::sim::time::SimTime;

use super::args::FilterArgs;
use super::filter::{Filter, parse};
use super::open::{Ending, Source, broken};

/// Opens at the first event that passes a filter.
#[derive(Debug)]
pub struct Trigger {
    filter: Filter,
    /// Events of this span before it pass too.
    before: SimTime,
    /// Events of this span after it pass; for ever, without one.
    span: Option<SimTime>,
    /// Events that pass if the trigger comes soon.
    waiting: VecDeque<TraceEvent>,
    /// When it came.
    fired: Option<SimTime>,
}

impl Trigger {
    /// Waits for an event that passes `filter`.
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

    /// Takes an event, and hands on what is to pass.
    fn take(&mut self, event: &TraceEvent, mut pass: impl FnMut(&TraceEvent)) {
        if self.fired.is_none() && self.filter.passes(event) {
            self.fired = Some(event.time);
            self.waiting.drain(..).for_each(|earlier| pass(&earlier));
        }
        match self.fired {
            Some(fired) if self.is_over(fired, event.time) => {}
            Some(_) => pass(event),
            None if self.before == SimTime::ZERO => {}
            None => {
                let too_old =
                    |first: &TraceEvent| first.time.saturating_add(self.before) < event.time;
                while self.waiting.front().is_some_and(too_old) {
                    self.waiting.pop_front();
                }
                self.waiting.push_back(event.clone());
            }
        }
    }

    fn is_over(&self, fired: SimTime, now: SimTime) -> bool {
        self.span
            .is_some_and(|span| now > fired.saturating_add(span))
    }
}

/// What passes.
#[derive(Debug, Default)]
pub struct Selection {
    filter: Filter,
    trigger: Option<Trigger>,
    /// Events that passed.
    passed: u64,
}

impl Selection {
    /// What these options select of a trace with this header.
    ///
    /// # Errors
    /// If a name is none of this trace.
    pub fn new(args: &FilterArgs, header: &Header) -> anyhow::Result<Self> {
        let start = SimTime::from_ps(header.start_ps);
        let mut filter = Filter::new(&args.terms(), header)?;
        filter.from = args.window.from.map(|time| time.at(start));
        filter.until = args.window.until.map(|time| time.at(start));
        let trigger = args.window.trigger.as_ref().map(|terms| {
            let before = args.window.before.unwrap_or_default();
            Ok::<_, anyhow::Error>(Trigger::new(
                Filter::new(&terms.0, header)?,
                before,
                args.window.span,
            ))
        });
        Ok(Self {
            filter,
            trigger: trigger.transpose()?,
            passed: 0,
        })
    }

    /// Takes an event, and hands it on, and others that waited for it, if they are to pass.
    pub fn take(&mut self, event: &TraceEvent, mut pass: impl FnMut(&TraceEvent)) {
        let (filter, passed) = (&mut self.filter, &mut self.passed);
        let mut filtered = |event: &TraceEvent| {
            if filter.passes(event) {
                *passed += 1;
                pass(event);
            }
        };
        match &mut self.trigger {
            Some(trigger) => trigger.take(event, filtered),
            None => filtered(event),
        }
    }

    /// Whether a chunk may hold an event that passes, or the trigger.
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

    /// Why nothing has passed; `None` if something has.
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

/// Reads a trace and hands on what is selected, until `act` has had enough (`false`). Says on standard error if the
/// trace is broken, or nothing was selected.
///
/// # Errors
/// If the file cannot be read, or `act` fails.
pub fn each(
    path: &Path,
    trace: TraceReader<Source>,
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
        selection.take(&event, |event| {
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

/// Lets an observer see only what is selected.
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
    /// `observer` sees what is in `selection`.
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
        self.selection.take(event, |event| observer.event(event));
    }

    fn finish(&mut self) -> std::io::Result<()> {
        if let Some(reason) = self.selection.nothing() {
            log::warn!("the trace is empty: {reason}");
        }
        self.observer.finish()
    }
}

/// A part of an expression in an option.
///
/// # Errors
/// If it is none.
pub fn expression(text: &str) -> Result<Terms, String> {
    parse(text).map(Terms)
}

/// Terms that one option holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms(pub Vec<super::filter::Term>);
