//! Report of a difference.

use std::fmt::Write;

use defs::emp::probe::Event;
use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;
use serde_json::{Value, json};

use super::{Difference, DifferenceClass, First, PlaceDiff};
use crate::output::grouped;
use crate::trace::rows::place_name;

/// Largest number of further places in a report.
const MOST_PLACES: usize = 12;

/// A signed duration in microseconds.
fn shift(ps: i128) -> String {
    let (us, rest) = (ps.abs() / 1_000_000, ps.abs() % 1_000_000);
    let direction = if ps < 0 { "earlier" } else { "later" };
    format!("{us}.{rest:06} us {direction}")
}

impl PlaceDiff {
    /// The difference in one line.
    fn what(&self) -> String {
        let shifts = |(least, most): (i128, i128)| match least == most {
            true => format!("only times, {} in B", shift(least)),
            false => format!("only times, from {} to {} in B", shift(least), shift(most)),
        };
        match (&self.structural, self.shifts) {
            (None, Some(range)) => shifts(range),
            _ => self.first.what(),
        }
    }
}

impl First {
    /// The difference in one line.
    fn what(&self) -> String {
        match (self.class, &self.a, &self.b) {
            (DifferenceClass::OnlyA, ..) => "an event of A is missing in B".into(),
            (DifferenceClass::OnlyB, ..) => "an event of B is missing in A".into(),
            (DifferenceClass::Values, ..) => "values differ".into(),
            (DifferenceClass::Swapped, ..) => "two events come in the other order".into(),
            (_, Some(a), Some(b)) => {
                let span = i128::from(b.time.ps()) - i128::from(a.time.ps());
                format!("the same happens {} in B", shift(span))
            }
            _ => "nothing".into(),
        }
    }

    /// Handlers, stages and message around it.
    fn surroundings(&self) -> Option<String> {
        let message = self.message.map(|message| format!("message {message}"));
        let parts: Vec<_> = self.within.iter().cloned().chain(message).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Meaning of the difference for the run.
    fn meaning(&self) -> &'static str {
        let Some(event) = self.a.as_ref().or(self.b.as_ref()) else {
            return "";
        };
        match (self.class, &event.kind) {
            (DifferenceClass::Shifted, _) => late(event),
            (_, TraceKind::Fault { .. } | TraceKind::FrameLost { .. }) => {
                "a frame fares differently on its way: what its receiver and sender do next follows from that"
            }
            (_, TraceKind::FrameDropped { .. }) => {
                "a board drops a frame in one run only: buffers or times differ before"
            }
            (_, TraceKind::Probe { name, .. }) if **name == *Event::Retransmit.name() => {
                "one run sends a frame again: look for the frame or ack that was lost or late"
            }
            (
                _,
                TraceKind::MailboxWrite { .. }
                | TraceKind::HostCall { .. }
                | TraceKind::HostReturn { .. },
            ) => {
                "the hosts ask for different things: the programs differ, or what they were told before"
            }
            (_, TraceKind::PollSatisfied { .. }) => "a host reads something else from the board",
            (_, TraceKind::CoreStopped { .. } | TraceKind::GuestMistake { .. }) => {
                "the firmware fails in one of the runs"
            }
            (_, TraceKind::Reset | TraceKind::PowerOn) => {
                "a machine is reset at another time or not at all"
            }
            (_, TraceKind::DmaStarted { .. } | TraceKind::DmaFailed { .. }) => {
                "the firmware moves other bytes between host and board"
            }
            (_, TraceKind::FrameSent { .. } | TraceKind::FrameReceived { .. }) => {
                "other frames travel"
            }
            (DifferenceClass::Swapped, _) => {
                "the order of these two is not settled by what came before"
            }
            (DifferenceClass::Values, _) => "the same step is taken with other data",
            _ => match event.initiator {
                Initiator::Cpu(_) => "the firmware takes another way",
                _ => "the hardware does something else",
            },
        }
    }
}

/// Meaning of a time difference.
const fn late(event: &TraceEvent) -> &'static str {
    match event.initiator {
        Initiator::Cpu(_) => {
            "the same code takes another time: other code, stalls or a wait before it"
        }
        Initiator::DmaRead | Initiator::DmaWrite => {
            "a transfer takes another time: bus, length or order differ"
        }
        Initiator::Host => "a host acts at another time: its costs, or what it waited for",
        _ => "a frame travels at another time: look at who sent it",
    }
}

impl Difference {
    /// Report as text, without differences of description and results.
    #[must_use]
    pub fn text(&self) -> String {
        let Some(first) = self.places.first() else {
            return format!("equal     {} events\n", grouped(self.events[0]));
        };
        let mut text = String::new();
        // A string takes everything.
        let _ = writeln!(text, "first     {}", title(first));
        if let Some(surroundings) = first.first.surroundings() {
            let _ = writeln!(text, "{:<10}in {surroundings}", "");
        }
        events(&mut text, &first.first);
        let _ = writeln!(text, "why       {}", first.first.meaning());
        if !first.first.class.is_structural() {
            parting(&mut text, first);
        }
        self.then(&mut text);
        if let Some([a, b]) = &self.order {
            let _ = writeln!(
                text,
                "order     of two events on different places, since their times are shifted:"
            );
            let _ = writeln!(text, "  first in A  {}\n  first in B  {}", a, b);
        }
        self.table(&mut text);
        text
    }

    /// The other places, in causal order.
    fn then(&self, text: &mut String) {
        for (index, diff) in self.places.iter().enumerate().skip(1).take(MOST_PLACES) {
            let name = if index == 1 { "then" } else { "" };
            let _ = writeln!(text, "{name:<9} {}", title(diff));
            parting(text, diff);
        }
        let more = self.places.len().saturating_sub(MOST_PLACES + 1);
        if more > 0 {
            let _ = writeln!(text, "{:<10}... {more} more places", "");
        }
    }

    fn table(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\n{:<20}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
            "after it", "equal", "shifted", "values", "order", "only A", "only B"
        );
        for (kind, counts) in &self.counts {
            let _ = write!(text, "{kind:<20}");
            for count in counts {
                let _ = write!(text, "{:>10}", grouped(*count));
            }
            text.push('\n');
        }
    }

    /// Report as JSON.
    #[must_use]
    pub fn document(&self) -> Value {
        let line = |event: &Option<TraceEvent>| event.as_ref().map(|event| event.to_string());
        let place = |diff: &PlaceDiff| {
            json!({
                "place": place_name(diff.place),
                "time_ps": diff.first.time().ps(),
                "what": diff.what(),
                "within": diff.first.within,
                "message": diff.first.message.map(|message| message.to_string()),
                "a": line(&diff.first.a),
                "b": line(&diff.first.b),
                "why": diff.first.meaning(),
            })
        };
        let counts = self.counts.iter().map(|(kind, counts)| {
            let [equal, shifted, values, order, only_a, only_b] = counts;
            let counts = json!({
                "equal": equal, "shifted": shifted, "values": values,
                "order": order, "only_a": only_a, "only_b": only_b,
            });
            ((*kind).to_owned(), counts)
        });
        json!({
            "equal": self.is_none(),
            "events": self.events,
            "places": self.places.iter().map(place).collect::<Vec<_>>(),
            "order": self.order.as_ref().map(|events| events.iter().map(|event| event.to_string()).collect::<Vec<_>>()),
            "after": counts.collect::<serde_json::Map<_, _>>(),
        })
    }
}

fn title(diff: &PlaceDiff) -> String {
    let ps = diff.first.time().ps();
    let (us, rest) = (ps / 1_000_000, ps % 1_000_000);
    format!(
        "{} at {us}.{rest:06} us: {}",
        place_name(diff.place),
        diff.what()
    )
}

/// The first difference of a place in more than time.
fn parting(text: &mut String, diff: &PlaceDiff) {
    let Some(parting) = &diff.structural else {
        return;
    };
    if !diff.first.class.is_structural() {
        let _ = writeln!(text, "{:<10}and then {}:", "", parting.what());
    }
    for (name, event) in [("A", &parting.a), ("B", &parting.b)] {
        if let Some(event) = event {
            let _ = writeln!(text, "  {name:<4} {event}");
        }
    }
}

/// The common events before the difference, and the differing events.
fn events(text: &mut String, first: &First) {
    for event in &first.before {
        let _ = writeln!(text, "  both {event}");
    }
    for (name, event) in [("A", &first.a), ("B", &first.b)] {
        if let Some(event) = event {
            let _ = writeln!(text, "  {name:<4} {event}");
        }
    }
}
