//! Compares two traces: what differs first, in what surroundings, and what follows from it.
//!
//! Each place is compared with itself ([`align`]), since a place's own events have one order, whatever the others
//! do. Then places are told in the order in which they begin to differ: the first one is where to look.

pub mod align;
mod report;

use std::collections::{BTreeMap, VecDeque};

use emulator::observe::event::{Details, Place, TraceEvent};
use emulator::observe::file::{End, Header};
use emulator::sim::time::SimTime;

pub use align::{Aligner, Class, First};

use super::record;

/// Two traces while they are compared.
#[derive(Debug)]
pub struct Comparison {
    places: BTreeMap<Place, Aligner>,
    context: usize,
    /// Details that both traces have: others would be differences of the recording.
    details: Details,
    order: Order,
    events: [u64; 2],
}

/// The order of all events, whatever their times.
#[derive(Debug, Default)]
struct Order {
    waiting: [VecDeque<TraceEvent>; 2],
    /// The first two events that come in another order.
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

/// Where a place begins to differ.
#[derive(Debug)]
pub struct PlaceDiff {
    /// The place.
    pub place: Place,
    /// Its first difference.
    pub first: First,
    /// Its first difference in more than time.
    pub structural: Option<First>,
    /// By how many picoseconds run B is later: least and most.
    pub shifts: Option<(i128, i128)>,
}

/// What came of a comparison.
#[derive(Debug)]
pub struct Difference {
    /// Events of each.
    pub events: [u64; 2],
    /// Places that differ, in the order in which they begin to.
    pub places: Vec<PlaceDiff>,
    /// Two events of different places whose order differs, where nothing else does but times.
    pub order: Option<[TraceEvent; 2]>,
    /// Events from the first difference of their place on, by kind and [`Class`].
    pub counts: BTreeMap<&'static str, [u64; Class::COUNT]>,
}

impl Comparison {
    /// Begins to compare two runs.
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

    /// The next event of run A (0) or B (1).
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

    /// There are no more events.
    #[must_use]
    pub fn finish(self) -> Difference {
        let mut places = Vec::new();
        let mut counts: BTreeMap<_, [u64; Class::COUNT]> = BTreeMap::new();
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
    /// When the runs part: the earlier of the two.
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
    /// Whether the runs are the same.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.places.is_empty()
    }
}

/// The details that a trace has.
fn details(header: &Header) -> Details {
    let named = record::DETAILS
        .iter()
        .filter(|(name, _)| header.details.iter().any(|have| have == name));
    named.fold(Details::empty(), |all, entry| all | entry.1)
}

/// How two runs came to be: what differs before anything has happened.
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
        format!(
            "{} nodes ({}), {} switches",
            names.len(),
            names.join(", "),
            header.switches
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

/// Results that differ: name, of A, of B.
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
