//! Statistics of a trace: counts of events, and durations of handlers, stages, waits and transfers.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write;
use std::sync::Arc;

use defs::emp::probe::Event;
use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::observe::file::Header;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use serde::Serialize;

use super::rows::{NodeSymbols, place_name};
use crate::output::grouped;

/// The probe of a retransmitted frame.
const RETRANSMIT: &str = Event::Retransmit.name();
/// Largest number of spans in a table.
const MOST_SPANS: usize = 20;

/// Name of a span of time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct SpanName {
    /// `stage`, `wait`, `handler`, `dma` or `call`.
    what: &'static str,
    name: Arc<str>,
    by: NamedInitiator,
}

/// An initiator and its name.
type NamedInitiator = (Initiator, &'static str);

/// Count and total duration.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u64,
    total: SimTime,
    longest: SimTime,
}

/// Open spans of each initiator at each place.
type OpenSpans = HashMap<(Place, Initiator), VecDeque<(SpanName, SimTime)>>;

/// Statistics of a trace.
#[derive(Debug)]
pub struct Stats {
    symbols: NodeSymbols,
    events: u64,
    span: Option<(SimTime, SimTime)>,
    kinds: BTreeMap<&'static str, u64>,
    blocks: BTreeMap<&'static str, u64>,
    places: BTreeMap<Place, u64>,
    probes: BTreeMap<Arc<str>, u64>,
    /// Frames by their fate.
    frames: BTreeMap<String, u64>,
    dma_bytes: BTreeMap<NamedInitiator, u64>,
    open: OpenSpans,
    spans: BTreeMap<SpanName, Sum>,
}

fn initiator_of(event: &TraceEvent) -> NamedInitiator {
    (event.initiator, event.initiator_name())
}

/// Statistics as a JSON document.
#[derive(Debug, Serialize)]
pub struct StatsDocument {
    events: u64,
    first_us: f64,
    last_us: f64,
    events_per_ms: f64,
    kinds: BTreeMap<&'static str, u64>,
    blocks: BTreeMap<&'static str, u64>,
    places: BTreeMap<String, u64>,
    probes: BTreeMap<String, u64>,
    retransmissions: u64,
    frames: BTreeMap<String, u64>,
    dma_bytes: BTreeMap<&'static str, u64>,
    spans: Vec<SpanRow>,
}

/// Statistics of a span in the document.
#[derive(Debug, Serialize)]
struct SpanRow {
    what: &'static str,
    name: String,
    block: &'static str,
    count: u64,
    total_us: f64,
    mean_us: f64,
    longest_us: f64,
}

impl Stats {
    /// Empty statistics.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        Self {
            symbols: NodeSymbols::new(header),
            events: 0,
            span: None,
            kinds: BTreeMap::new(),
            blocks: BTreeMap::new(),
            places: BTreeMap::new(),
            probes: BTreeMap::new(),
            frames: BTreeMap::new(),
            dma_bytes: BTreeMap::new(),
            open: HashMap::new(),
            spans: BTreeMap::new(),
        }
    }

    /// Adds an event.
    pub fn add(&mut self, event: &TraceEvent) {
        self.events += 1;
        let first = self.span.map_or(event.time, |(first, _)| first);
        self.span = Some((first, event.time));
        *self.kinds.entry(event.kind.name()).or_default() += 1;
        *self.blocks.entry(event.block()).or_default() += 1;
        *self.places.entry(event.place).or_default() += 1;
        match &event.kind {
            TraceKind::Probe { name, .. } => match self.probes.get_mut(name) {
                Some(count) => *count += 1,
                None => {
                    self.probes.insert(Arc::clone(name), 1);
                }
            },
            TraceKind::FrameSent { .. } => self.frame("sent"),
            TraceKind::FrameReceived { .. } => self.frame("received"),
            TraceKind::FrameDropped { reason } => {
                self.frame(&format!("dropped: {}", reason.name()))
            }
            TraceKind::FrameLost { reason, .. } => self.frame(&format!("lost: {}", reason.name())),
            TraceKind::Fault { fault, .. } => self.frame(&format!("fault: {}", fault.name())),
            _ => {}
        }
        self.add_span(event);
    }

    fn frame(&mut self, what: &str) {
        match self.frames.get_mut(what) {
            Some(count) => *count += 1,
            None => {
                self.frames.insert(what.into(), 1);
            }
        }
    }

    /// Adds the start or end of a span.
    fn add_span(&mut self, event: &TraceEvent) {
        match &event.kind {
            TraceKind::StageEnter { stage } => self.begin("stage", stage, event),
            TraceKind::StageExit { stage } => self.end("stage", Some(stage), event),
            TraceKind::WaitEnter { what } => self.begin("wait", what, event),
            TraceKind::WaitExit { what } => self.end("wait", Some(what), event),
            TraceKind::HandlerEnter { .. } => {
                let name: Arc<str> = self.symbols.place_of(event).unwrap_or("?").into();
                self.begin("handler", &name, event);
            }
            TraceKind::HandlerExit => self.end("handler", None, event),
            TraceKind::HostCall { what } => self.begin("call", what, event),
            TraceKind::HostReturn { what } => self.end("call", Some(what), event),
            TraceKind::DmaStarted { length, .. } => {
                *self.dma_bytes.entry(initiator_of(event)).or_default() += u64::from(*length);
                self.begin("dma", &"transfer".into(), event);
            }
            TraceKind::DmaDone { .. } | TraceKind::DmaFailed { .. } => self.end("dma", None, event),
            // A reset ends all spans of the node.
            TraceKind::Reset => self.open.retain(|(place, _), _| *place != event.place),
            _ => {}
        }
    }

    fn begin(&mut self, what: &'static str, name: &Arc<str>, event: &TraceEvent) {
        let (name, by) = (Arc::clone(name), initiator_of(event));
        let open = self.open.entry((event.place, event.initiator));
        open.or_default()
            .push_back((SpanName { what, name, by }, event.time));
    }

    /// Ends a span: the last one started; for DMA channels the first one started.
    fn end(&mut self, what: &'static str, name: Option<&Arc<str>>, event: &TraceEvent) {
        let Some(open) = self.open.get_mut(&(event.place, event.initiator)) else {
            return;
        };
        let is = |(span, _): &(SpanName, _)| {
            span.what == what && name.is_none_or(|name| span.name == *name)
        };
        let at = match what {
            "dma" => open.iter().position(is),
            _ => open.iter().rposition(is),
        };
        if let Some((span, began)) = at.and_then(|at| open.remove(at)) {
            let length = SimTime::from_ps(event.time.ps().saturating_sub(began.ps()));
            let sum = self.spans.entry(span).or_default();
            sum.count += 1;
            sum.total = sum.total.saturating_add(length);
            sum.longest = sum.longest.max(length);
        }
    }

    fn retransmissions(&self) -> u64 {
        self.probes.get(RETRANSMIT).copied().unwrap_or_default()
    }

    /// Rows of all spans, longest total duration first.
    fn rows(&self) -> Vec<SpanRow> {
        let mut spans: Vec<_> = self.spans.iter().collect();
        spans.sort_by(|a, b| b.1.total.cmp(&a.1.total).then(a.0.cmp(b.0)));
        let row = |(span, sum): (&SpanName, &Sum)| SpanRow {
            what: span.what,
            name: span.name.to_string(),
            block: span.by.1,
            count: sum.count,
            total_us: sum.total.us(),
            mean_us: sum.total.us() / sum.count.max(1) as f64,
            longest_us: sum.longest.us(),
        };
        spans.into_iter().map(row).collect()
    }

    fn per_ms(&self, count: u64) -> f64 {
        let (first, last) = self.span.unwrap_or_default();
        let ms = (last - first).us() / 1000.0;
        if ms > 0.0 { count as f64 / ms } else { 0.0 }
    }

    /// Statistics as JSON.
    #[must_use]
    pub fn document(&self) -> StatsDocument {
        let (first, last) = self.span.unwrap_or_default();
        let blocks = |counts: &BTreeMap<NamedInitiator, u64>| {
            let named = counts.iter().map(|(by, count)| (by.1, *count));
            named.collect()
        };
        StatsDocument {
            events: self.events,
            first_us: first.us(),
            last_us: last.us(),
            events_per_ms: self.per_ms(self.events),
            kinds: self.kinds.clone(),
            blocks: self.blocks.clone(),
            places: self
                .places
                .iter()
                .map(|(place, count)| (place_name(*place), *count))
                .collect(),
            probes: self
                .probes
                .iter()
                .map(|(name, count)| (name.to_string(), *count))
                .collect(),
            retransmissions: self.retransmissions(),
            frames: self.frames.clone(),
            dma_bytes: blocks(&self.dma_bytes),
            spans: self.rows(),
        }
    }

    /// Statistics as text.
    #[must_use]
    pub fn text(&self) -> String {
        let (first, last) = self.span.unwrap_or_default();
        let mut text = format!(
            "events    {}, from {:.3} to {:.3} us\n",
            grouped(self.events),
            first.us(),
            last.us()
        );
        let kinds = self
            .kinds
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        let blocks = self
            .blocks
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        let places = self
            .places
            .iter()
            .map(|(place, count)| (place_name(*place), *count));
        let probes = self
            .probes
            .iter()
            .map(|(name, count)| (name.to_string(), *count));
        self.counts(&mut text, "kind", kinds.collect());
        self.counts(&mut text, "block", blocks.collect());
        self.counts(&mut text, "place", places.collect());
        self.counts(&mut text, "probe", probes.collect());
        self.spans_text(&mut text);
        let listed = self
            .frames
            .iter()
            .map(|(what, count)| format!("{what} {}", grouped(*count)));
        let listed: Vec<_> = listed.collect();
        let frames = if listed.is_empty() {
            "none".into()
        } else {
            listed.join(", ")
        };
        // A string takes everything.
        let _ = writeln!(
            text,
            "\nframes    {frames}, sent again {}",
            grouped(self.retransmissions())
        );
        for ((_, name), bytes) in &self.dma_bytes {
            let _ = writeln!(text, "{name:<9} {} bytes", grouped(*bytes));
        }
        text
    }

    /// Appends counts, most frequent first.
    fn counts(&self, text: &mut String, title: &str, mut counts: Vec<(String, u64)>) {
        if counts.is_empty() {
            return;
        }
        counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let _ = writeln!(text, "\n{title:<22}{:>12}{:>12}", "events", "per ms");
        for (name, count) in counts {
            let _ = writeln!(
                text,
                "{name:<21} {:>12}{:>12.1}",
                grouped(count),
                self.per_ms(count)
            );
        }
    }

    fn spans_text(&self, text: &mut String) {
        let rows = self.rows();
        if rows.is_empty() {
            return;
        }
        let _ = writeln!(
            text,
            "\n{:<9}{:<10}{:>9}{:>12}{:>10}{:>10}  name",
            "busy", "block", "times", "total us", "mean us", "most us"
        );
        for row in rows.iter().take(MOST_SPANS) {
            let _ = writeln!(
                text,
                "{:<8} {:<9} {:>9}{:>12.3}{:>10.3}{:>10.3}  {}",
                row.what,
                row.block,
                grouped(row.count),
                row.total_us,
                row.mean_us,
                row.longest_us,
                row.name
            );
        }
        if rows.len() > MOST_SPANS {
            let _ = writeln!(
                text,
                "... {} more (--json has all)",
                rows.len() - MOST_SPANS
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::testing::{event, probe};

    #[test]
    fn what_is_counted() {
        let stage: Arc<str> = "send frame".into();
        let what: Arc<str> = "dma".into();
        let (address, length) = (0x100, 64);
        let mut stats = Stats::new(&Header::default());
        for event in [
            event(
                1000,
                0,
                TraceKind::StageEnter {
                    stage: stage.clone(),
                },
            ),
            event(1100, 0, TraceKind::WaitEnter { what: what.clone() }),
            event(1400, 0, TraceKind::WaitExit { what }),
            event(
                1500,
                0,
                TraceKind::StageExit {
                    stage: stage.clone(),
                },
            ),
            probe(1600, 0, "retransmit", &[1, 2]),
            event(
                2000,
                1,
                TraceKind::StageEnter {
                    stage: stage.clone(),
                },
            ),
            event(2100, 1, TraceKind::FrameSent { address, length }),
            event(3000, 1, TraceKind::StageExit { stage }),
        ] {
            stats.add(&event);
        }
        insta::assert_snapshot!(stats.text(), @r#"
    events    8, from 1.000 to 3.000 us

    kind                        events      per ms
    stage-enter                      2      1000.0
    stage-exit                       2      1000.0
    frame-sent                       1       500.0
    probe                            1       500.0
    wait-enter                       1       500.0
    wait-exit                        1       500.0

    block                       events      per ms
    cpu_a                            8      4000.0

    place                       events      per ms
    n0                               5      2500.0
    n1                               3      1500.0

    probe                       events      per ms
    retransmit                       1       500.0

    busy     block         times    total us   mean us   most us  name
    stage    cpu_a             2       1.500     0.750     1.000  send frame
    wait     cpu_a             1       0.300     0.300     0.300  dma

    frames    sent 1, sent again 1
    "#);
        let document = serde_json::to_value(stats.document()).unwrap();
        assert_eq!(document["retransmissions"], 1);
        assert_eq!(document["spans"][0]["total_us"], 1.5);
        assert_eq!(document["frames"]["sent"], 1);
    }
}
