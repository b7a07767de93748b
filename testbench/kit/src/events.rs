//! Recorded events, for assertions and snapshots.

use emulator::observe::names::NO_BOARD;
use std::fmt;

use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;

use super::error::KitError;

/// Largest number of lines in a snapshot: a longer one would not be reviewed.
pub const MOST_SNAPSHOT_LINES: usize = 100;
/// Number of events shown by a failed assertion.
const SHOWN: usize = 12;

/// Events in the order of time. Selections return matching events; failed assertions panic and show the
/// events.
///
/// ```
/// # use lanigon_kit::Events;
/// # fn look(events: &Events) {
/// let served = events.probe("served").on(1);
/// assert_eq!(served.count(), 1);
/// events.probe("request").happens_before(&served);
/// events.probe("gave up").never();
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Events {
    list: Vec<TraceEvent>,
    /// Description of the selection.
    what: String,
}

/// Display of times in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// In us since power-on.
    Absolute,
    /// In us since the first event of the selection.
    Relative,
    /// Hidden: the snapshot does not change when the firmware becomes faster.
    Hidden,
}

impl Events {
    pub(super) fn new(list: Vec<TraceEvent>) -> Self {
        let what = "all events".into();
        Self { list, what }
    }

    /// Events for which `holds` is true; `what` describes them in messages.
    #[must_use]
    pub fn with(&self, what: &str, holds: impl Fn(&TraceEvent) -> bool) -> Self {
        let list = self.list.iter().filter(|event| holds(event));
        Self {
            list: list.cloned().collect(),
            what: format!("{}, {what}", self.what),
        }
    }

    /// Passes of the event probe with this name (`event!` in firmware).
    #[must_use]
    pub fn probe(&self, name: &str) -> Self {
        self.with(
            &format!("probe \"{name}\""),
            |event| matches!(&event.kind, TraceKind::Probe { name: other, .. } if **other == *name),
        )
    }

    /// Passes of any event probe.
    #[must_use]
    pub fn probes(&self) -> Self {
        self.with("probes", |event| {
            matches!(event.kind, TraceKind::Probe { .. })
        })
    }

    /// Lines that firmware logged.
    #[must_use]
    pub fn log(&self) -> Self {
        self.with("log lines", |event| {
            matches!(event.kind, TraceKind::Log { .. })
        })
    }

    /// Events of frames: sent, received, dropped, lost, and faults.
    #[must_use]
    pub fn frames(&self) -> Self {
        self.with("frames", |event| {
            matches!(
                event.kind,
                TraceKind::FrameSent { .. }
                    | TraceKind::FrameReceived { .. }
                    | TraceKind::FrameDropped { .. }
                    | TraceKind::FrameLost { .. }
                    | TraceKind::Fault { .. }
            )
        })
    }

    /// Hits of injected faults.
    #[must_use]
    pub fn faults(&self) -> Self {
        self.with("faults", |event| {
            matches!(event.kind, TraceKind::Fault { .. })
        })
    }

    /// Mistakes of guests: actions that the chip does not define.
    #[must_use]
    pub fn mistakes(&self) -> Self {
        self.with("mistakes", |event| {
            matches!(event.kind, TraceKind::GuestMistake { .. })
        })
    }

    /// Events on this node.
    #[must_use]
    pub fn on(&self, node: u16) -> Self {
        self.with(&format!("on node {node}"), |event| {
            event.place == Place::Node(node)
        })
    }

    /// Events of this initiator: a CPU, a DMA channel, the MAC, the host ...
    #[must_use]
    pub fn by(&self, initiator: Initiator) -> Self {
        let names = self.list.first().map_or(&NO_BOARD, |event| event.names);
        let name = names.initiator(initiator);
        self.with(&format!("by {name}"), |event| event.initiator == initiator)
    }

    /// Events whose line contains `text`.
    #[must_use]
    pub fn containing(&self, text: &str) -> Self {
        self.with(&format!("containing \"{text}\""), |event| {
            event.text().contains(text)
        })
    }

    /// Passes of probes with value `value` in argument `index` (from 0).
    #[must_use]
    pub fn argument(&self, index: usize, value: u32) -> Self {
        self.with(
            &format!("argument {index} = {value:#x}"),
            |event| matches!(&event.kind, TraceKind::Probe { arguments, .. } if arguments.get(index) == Some(&value)),
        )
    }

    /// Events at or after `time`.
    #[must_use]
    pub fn after(&self, time: SimTime) -> Self {
        self.with(&format!("from {time} on"), |event| event.time >= time)
    }

    /// Events before `time`.
    #[must_use]
    pub fn before(&self, time: SimTime) -> Self {
        self.with(&format!("before {time}"), |event| event.time < time)
    }

    /// Number of events.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.list.len()
    }

    /// The first event.
    #[must_use]
    pub fn first(&self) -> Option<&TraceEvent> {
        self.list.first()
    }

    /// The last event.
    #[must_use]
    pub fn last(&self) -> Option<&TraceEvent> {
        self.list.last()
    }

    /// All events.
    pub fn iter(&self) -> impl Iterator<Item = &TraceEvent> {
        self.list.iter()
    }

    /// Times of the events.
    pub fn times(&self) -> impl Iterator<Item = SimTime> {
        self.list.iter().map(|event| event.time)
    }

    /// Asserts that there are no events.
    ///
    /// # Panics
    /// If there is one.
    #[track_caller]
    pub fn never(&self) {
        assert!(self.list.is_empty(), "there should be none: {self}");
    }

    /// Asserts the exact number of events.
    ///
    /// # Panics
    /// If the number differs.
    #[track_caller]
    pub fn exactly(&self, count: usize) {
        assert!(
            self.count() == count,
            "there should be exactly {count}: {self}"
        );
    }

    /// Asserts that there are events, and that the n-th event of `later` comes after the n-th one of these.
    ///
    /// # Panics
    /// If there are none, or the order differs.
    #[track_caller]
    pub fn happens_before(&self, later: &Self) {
        assert!(!self.list.is_empty(), "nothing happened before: {self}");
        for (index, event) in later.list.iter().enumerate() {
            let earlier = self.list.get(index);
            assert!(
                earlier.is_some_and(|earlier| earlier.time <= event.time),
                "not each has one before it: {later}\nbefore: {self}"
            );
        }
    }

    /// Asserts that there are events, and that each comes within `span` after one of `causes`.
    ///
    /// # Panics
    /// If one does not.
    #[track_caller]
    pub fn within(&self, span: SimTime, causes: &Self) {
        assert!(!self.list.is_empty(), "nothing happened in time: {self}");
        for event in &self.list {
            let due = |cause: &TraceEvent| {
                cause.time <= event.time && event.time <= cause.time.saturating_add(span)
            };
            assert!(
                causes.list.iter().any(due),
                "more than {span} after anything that could be its cause: {event}\ncauses: {causes}"
            );
        }
    }

    /// The events as stable lines for a snapshot (`insta::assert_snapshot!`), at most
    /// [`MOST_SNAPSHOT_LINES`].
    ///
    /// # Errors
    /// [`KitError::LongSnapshot`]: select fewer events.
    pub fn snapshot(&self, times: Times) -> Result<String, KitError> {
        if self.list.len() > MOST_SNAPSHOT_LINES {
            return Err(KitError::LongSnapshot {
                what: self.what.clone(),
                lines: self.list.len(),
                most: MOST_SNAPSHOT_LINES,
            });
        }
        let start = self.first().map_or(SimTime::ZERO, |event| event.time);
        let lines = self.list.iter().map(|event| {
            let rest = without_time(event);
            match times {
                Times::Absolute => event.to_string(),
                Times::Hidden => rest,
                Times::Relative => {
                    let ps = event.time.saturating_sub(start).ps();
                    format!("{:>6}.{:03} {rest}", ps / 1_000_000, ps / 1000 % 1000)
                }
            }
        });
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }
}

/// The event's line without its time.
fn without_time(event: &TraceEvent) -> String {
    let place = match event.place {
        Place::Node(node) => format!("n{node}"),
        Place::Switch(switch) => format!("s{switch}"),
    };
    format!("{place} {:<9} {}", event.initiator_name(), event.text())
}

/// Shows the description of the selection, and its first events.
impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.list.len())?;
        for event in self.list.iter().take(SHOWN) {
            write!(f, "\n  {event}")?;
        }
        if self.list.len() > SHOWN {
            write!(f, "\n  and {} more", self.list.len() - SHOWN)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use emulator::boards::BOARD_NAMES;

    fn probe(us: u64, node: u16, name: &str, argument: u32) -> TraceEvent {
        TraceEvent {
            time: SimTime::from_us(us),
            place: Place::Node(node),
            names: BOARD_NAMES[0],
            initiator: Initiator::Cpu(0),
            pc: None,
            kind: TraceKind::Probe {
                name: name.into(),
                arguments: vec![argument],
            },
        }
    }

    fn exchange() -> Events {
        Events::new(vec![
            probe(10, 0, "ask", 1),
            probe(12, 1, "served", 1),
            probe(15, 0, "ask", 2),
            probe(30, 1, "served", 2),
        ])
    }

    #[test]
    fn selections() {
        let events = exchange();
        assert_eq!(events.probe("ask").count(), 2);
        assert_eq!(events.probe("served").on(0).count(), 0);
        assert_eq!(events.argument(0, 2).on(1).count(), 1);
        let late = events.after(SimTime::from_us(15));
        assert_eq!(late.first().map(|event| event.time.ps()), Some(15_000_000));
        assert_eq!(events.before(SimTime::from_us(15)).count(), 2);
        assert_eq!(events.containing("served 0x2").count(), 1);
    }

    #[test]
    fn what_holds_passes() {
        let events = exchange();
        let (asked, served) = (events.probe("ask"), events.probe("served"));
        asked.happens_before(&served);
        served.within(SimTime::from_us(15), &asked);
        served.exactly(2);
        events.log().never();
    }

    /// Message of a failed assertion.
    #[track_caller]
    fn refusal(assertion: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let panic = std::panic::catch_unwind(assertion).expect_err("it does not hold");
        *panic.downcast::<String>().expect("a message")
    }

    #[test]
    fn what_does_not_hold_says_what_there_is() {
        let served = || exchange().probe("served");
        let text = refusal(move || served().within(SimTime::from_us(5), &exchange().probe("ask")));
        assert!(text.contains("30.000000 n1"), "{text}");
        let text = refusal(move || served().happens_before(&exchange().probe("ask")));
        assert!(text.contains("probe \"ask\": 2"), "{text}");
        refusal(move || served().never());
        refusal(move || served().exactly(1));
        refusal(move || served().log().happens_before(&served()));
    }

    #[test]
    fn snapshots_are_short_and_show_times_as_asked() {
        let served = exchange().probe("served");
        let check = |times, expected: &str| {
            assert_eq!(served.snapshot(times).expect("short"), expected);
        };
        check(
            Times::Hidden,
            "n1 cpu_a     served 0x1\nn1 cpu_a     served 0x2",
        );
        check(
            Times::Relative,
            "     0.000 n1 cpu_a     served 0x1\n    18.000 n1 cpu_a     served 0x2",
        );
        let many = Events::new(vec![probe(1, 0, "ask", 0); MOST_SNAPSHOT_LINES + 1]);
        let error = many.on(0).snapshot(Times::Hidden).expect_err("too long");
        assert!(
            error
                .to_string()
                .contains("all events, on node 0 would have 101 lines")
        );
    }
}
