//! Comparison of two traces: the first difference, its context, and its effects.
//!
//! Each place is compared with itself ([`align`]), because the events of one place have one order,
//! independent of other places. Then places are reported in the order of their first differences: the first
//! one is the likely cause.

pub mod align;
mod report;

use std::collections::{BTreeMap, VecDeque};

use emulator::observe::event::{Details, Place, TraceEvent};
use emulator::observe::file::{End, Header};
use emulator::sim::time::SimTime;

pub use align::{Aligner, DifferenceClass, First};

use super::record;

/// A comparison of two traces in progress.
#[derive(Debug)]
pub struct Comparison {
    places: BTreeMap<Place, Aligner>,
    context: usize,
    /// Details that both traces contain; others would be differences of the recording.
    details: Details,
    order: Order,
    events: [u64; 2],
}

/// Comparison of the order of all events, without their times.
#[derive(Debug, Default)]
struct Order {
    waiting: [VecDeque<TraceEvent>; 2],
    /// The first two events in a different order.
    differs: Option<[TraceEvent; 2]>,
}

impl Order {
    fn push(&mut self, run: usize, event: &TraceEvent) {
        if self.differs.is_some() {
            return;
        }
        self.waiting[run].push_back(event.clone());
        let [a, b] = &mut self.waiting;
        while !a.is_empty() && !b.is_empty() {
            let (Some(a), Some(b)) = (a.pop_front(), b.pop_front()) else {
                return;
            };
            if (a.place, a.initiator, &a.kind) != (b.place, b.initiator, &b.kind) {
                self.differs = Some([a, b]);
                return;
            }
        }
    }
}

/// Differences of a place.
#[derive(Debug)]
pub struct PlaceDiff {
    /// Place whose events differ.
    pub place: Place,
    /// First difference at the place.
    pub first: First,
    /// First difference in more than time.
    pub structural: Option<First>,
    /// Range of the delay of run B, in picoseconds.
    pub shifts: Option<(i128, i128)>,
}

/// Result of a comparison.
#[derive(Debug)]
pub struct Difference {
    /// Number of events of each run.
    pub events: [u64; 2],
    /// Places with differences, in the order of their first ones.
    pub places: Vec<PlaceDiff>,
    /// Two events of different places in a different order, if otherwise only times differ.
    pub order: Option<[TraceEvent; 2]>,
    /// Events from the first difference of their place on, by kind and [`DifferenceClass`].
    pub counts: BTreeMap<&'static str, [u64; DifferenceClass::COUNT]>,
}

impl Comparison {
    /// Starts a comparison.
    #[must_use]
    pub fn new(headers: [&Header; 2], context: usize) -> Self {
        Self {
            places: BTreeMap::new(),
            context,
            details: details(headers[0]) & details(headers[1]),
            order: Order::default(),
            events: [0; 2],
        }
    }

    /// Appends an event of run A (0) or B (1).
    pub fn push(&mut self, run: usize, event: TraceEvent) {
        if !self.details.contains(event.kind.details()) {
            return;
        }
        self.events[run] += 1;
        self.order.push(run, &event);
        let aligner = self.places.entry(event.place);
        let aligner = aligner.or_insert_with(|| Aligner::new(self.context));
        match run {
            0 => aligner.push_a(event),
            _ => aligner.push_b(event),
        }
    }

    /// Ends the comparison.
    #[must_use]
    pub fn finish(self) -> Difference {
        let mut places = Vec::new();
        let mut counts: BTreeMap<_, [u64; DifferenceClass::COUNT]> = BTreeMap::new();
        for (place, mut aligner) in self.places {
            aligner.finish();
            for (kind, more) in aligner.counts {
                let sum = counts.entry(kind).or_default();
                sum.iter_mut()
                    .zip(more)
                    .for_each(|(sum, more)| *sum += more);
            }
            if let Some(first) = aligner.first {
                places.push(PlaceDiff {
                    place,
                    first,
                    structural: aligner.first_structural,
                    shifts: aligner.shifts,
                });
            }
        }
        places.sort_by_key(|diff| (diff.first.time(), diff.place));
        let structural = places.iter().any(|diff| diff.structural.is_some());
        Difference {
            events: self.events,
            places,
            order: self.order.differs.filter(|_| !structural),
            counts,
        }
    }
}

impl First {
    /// Time of the first difference, in the earlier run.
    #[must_use]
    pub fn time(&self) -> SimTime {
        let times = [&self.a, &self.b]
            .into_iter()
            .flatten()
            .map(|event| event.time);
        times.min().unwrap_or_default()
    }
}

impl Difference {
    /// Whether the runs are equal.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.places.is_empty()
    }
}

/// The details in a trace.
fn details(header: &Header) -> Details {
    let named = record::DETAILS
        .iter()
        .filter(|(name, _)| header.details.iter().any(|have| have == name));
    named.fold(Details::empty(), |all, entry| all | entry.1)
}

/// Differences between the descriptions of two runs.
#[must_use]
pub fn setups(a: &Header, b: &Header) -> Vec<String> {
    let mut lines = Vec::new();
    let mut differ = |what: &str, a: String, b: String| {
        if a != b {
            lines.push(format!("another {what}: {a} | {b}"));
        }
    };
    differ("run", a.run.clone(), b.run.clone());
    differ("seed", a.seed.to_string(), b.seed.to_string());
    let nodes = |header: &Header| {
        let names: Vec<_> = header.nodes.iter().map(|node| node.name.clone()).collect();
        let plural = |one, end| if one { "" } else { end };
        format!(
            "{} node{} ({}), {} switch{}",
            names.len(),
            plural(names.len() == 1, "s"),
            names.join(", "),
            header.switches,
            plural(header.switches == 1, "es")
        )
    };
    differ("network", nodes(a), nodes(b));
    let images = |header: &Header| {
        let image = header
            .images
            .iter()
            .map(|image| format!("{} {}", image.name, image.table.identity));
        image.collect::<Vec<_>>().join(", ")
    };
    differ("image", images(a), images(b));
    let recorded = |header: &Header| header.selection.clone().unwrap_or_else(|| "all".into());
    differ("part recorded", recorded(a), recorded(b));
    let details = |header: &Header| match header.details.is_empty() {
        true => "none".into(),
        false => header.details.join(", "),
    };
    differ(
        "set of details (those of one run alone are left out)",
        details(a),
        details(b),
    );
    lines
}

/// Different results: name, value in A, value in B.
#[must_use]
pub fn results(a: &End, b: &End) -> Vec<(String, String, String)> {
    let names = a.results.keys().chain(b.results.keys());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names.dedup();
    let value = |end: &End, name| end.results.get(name).cloned().unwrap_or_else(|| "-".into());
    let rows = names
        .into_iter()
        .map(|name| (name.clone(), value(a, name), value(b, name)));
    rows.filter(|(_, a, b)| a != b).collect()
}

#[cfg(test)]
mod tests;
