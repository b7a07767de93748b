//! Lanes: the part of one direction of a link that is alike on every medium. Ends, fault layers, cuts, counts, trace and capture.

use super::fault::{FaultCounts, FaultKind, FaultLayer, Passage};
use super::medium::{Dropped, Medium, Outbox};
use super::port::Port;
use super::strikes::{Recorded, StrikeLog};
use emulator_base::initiator::Initiator;
use emulator_base::loss::{LossCounts, LossReason};
use emulator_base::time::SimTime;
use emulator_base::unit::{Departure, Unit};
use emulator_observe::capture::{Interface, LinkType, Note, Tap};
use emulator_observe::event::{Place, TraceKind};
use emulator_observe::names::NO_BOARD;
use emulator_observe::tracer::Tracer;
use emulator_state::value_struct;
use emulator_state::{Reader, State, StateError, Writer};

/// Counts of one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneCounts {
    /// Units that went on the wire.
    pub units: u64,
    /// Bytes of units that went on the wire, with check sequences.
    pub bytes: u64,
    /// Copies that the fault layers of an Ethernet line added.
    pub doubled: u64,
    /// Units that did not get on the wire, or not to its end.
    pub lost: LossCounts,
}

value_struct!(LaneCounts {
    units: units,
    bytes: bytes,
    doubled: doubled,
    lost: lost
});

/// A fault layer and the number of its faults.
#[derive(Debug)]
struct Layer<U> {
    layer: Box<dyn FaultLayer<U>>,
    counts: FaultCounts,
}

/// A direction of a link, with its fault layers.
#[derive(Debug)]
pub struct Lane<U> {
    from: Port,
    to: Port,
    /// The trace of losses and faults between this port and the next one.
    pub trace: Tracer,
    /// The tap that captures units, if an observer wants them.
    pub tap: Option<Tap>,
    layers: Vec<Layer<U>>,
    /// Times from which, and until which, the link is cut.
    cuts: Vec<(SimTime, SimTime)>,
    counts: LaneCounts,
    /// Sequence number of the last unit that waited for an event: orders those of one time.
    sequence: u64,
}

impl<U> State for Lane<U> {
    fn save(&self, out: &mut Writer) {
        let Self {
            from: _,
            to: _,
            tap: _,
            trace,
            layers,
            cuts,
            counts,
            sequence,
        } = self;
        trace.save(out);
        layers.len().save(out);
        for Layer { layer, counts } in layers {
            layer.save(out);
            counts.save(out);
        }
        cuts.save(out);
        counts.save(out);
        sequence.save(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.trace.load(from)?;
        let (mut saved, here) = (0, self.layers.len());
        saved.load(from)?;
        if saved != here {
            let what = "fault layers";
            return Err(StateError::Shape { what, saved, here });
        }
        for Layer { layer, counts } in &mut self.layers {
            layer.load(from)?;
            counts.load(from)?;
        }
        self.cuts.load(from)?;
        self.counts.load(from)?;
        self.sequence.load(from)
    }
}

impl<U: Unit> Lane<U> {
    /// A lane that has carried nothing.
    #[must_use]
    pub fn new(from: Port, to: Port) -> Self {
        let place = match from {
            Port::Node(node) => Place::Node(node as u16),
            Port::Switch { switch, .. } => Place::Switch(switch as u16),
        };
        Self {
            from,
            to,
            trace: Tracer::new(place, &NO_BOARD),
            tap: None,
            layers: Vec::new(),
            cuts: Vec::new(),
            counts: LaneCounts::default(),
            sequence: 0,
        }
    }

    /// The port where units enter.
    #[must_use]
    pub const fn from(&self) -> Port {
        self.from
    }

    /// The port where they come out.
    #[must_use]
    pub const fn to(&self) -> Port {
        self.to
    }

    /// Counts of units that it carried and lost.
    #[must_use]
    pub const fn counts(&self) -> &LaneCounts {
        &self.counts
    }

    /// Counts of each fault layer.
    pub fn fault_counts(&self) -> impl Iterator<Item = FaultCounts> {
        self.layers.iter().map(|layer| layer.counts)
    }

    /// Adds a fault layer behind those that are there.
    pub fn add_layer(&mut self, layer: Box<dyn FaultLayer<U>>) {
        self.layers.push(Layer {
            layer,
            counts: FaultCounts::default(),
        });
    }

    /// Records what the fault layers do from now on; returns the record of each.
    pub fn record_layers(&mut self) -> Vec<StrikeLog> {
        let mut logs = Vec::new();
        for Layer { layer, counts } in std::mem::take(&mut self.layers) {
            let log = StrikeLog::default();
            let layer = Box::new(Recorded::new(layer, log.clone()));
            self.layers.push(Layer { layer, counts });
            logs.push(log);
        }
        logs
    }

    /// Number of fault layers.
    #[must_use]
    pub const fn layers(&self) -> usize {
        self.layers.len()
    }

    /// Cuts the link for a span of time.
    pub fn cut(&mut self, from: SimTime, until: SimTime) {
        self.cuts.push((from, until));
    }

    /// Whether the link is cut at any time from `first` to `last`.
    #[must_use]
    pub fn is_cut(&self, first: SimTime, last: SimTime) -> bool {
        let meets = |&(from, until): &(SimTime, SimTime)| first < until && from <= last;
        self.cuts.iter().any(meets)
    }

    /// The next sequence number among this lane's events.
    pub const fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Passes a unit through the fault layer `index`. The units that leave it are added to `passage`, no earlier than the unit came.
    pub fn pass(&mut self, index: usize, departure: Departure<U>, passage: &mut Passage<U>) {
        let (time, before) = (departure.head, departure.unit.clone());
        self.layers[index].layer.pass(departure, passage);
        // Whatever the layer says, a unit that does not leave it is lost.
        if passage.units.is_empty() && !passage.faults.contains(&FaultKind::Lost) {
            passage.report(FaultKind::Lost);
        }
        for fault in passage.faults.drain(..) {
            self.layers[index].counts.count(fault);
            let kind = fault_event(fault, self.from.number(), &before);
            self.trace.record(time, Initiator::Wire, kind);
        }
        for departure in &mut passage.units {
            departure.head = departure.head.max(time);
        }
    }

    /// The place that a capture shows.
    #[must_use]
    pub fn interface(&self, link_type: LinkType, bits_per_s: u64) -> Interface {
        let to = match self.to {
            Port::Node(node) => format!("n{node}"),
            Port::Switch { switch, .. } => format!("s{switch}"),
        };
        let from = match self.from {
            Port::Node(node) => format!("n{node}"),
            Port::Switch { switch, port } => format!("s{switch} port {port}"),
        };
        Interface {
            name: format!("{from} -> {to}"),
            description: format!("from {} to {}", self.from, self.to),
            bits_per_s: Some(bits_per_s),
            link_type,
            check_bytes: U::CHECK_BYTES as u8,
        }
    }

    /// Captures a unit, if an observer wants it.
    pub fn capture(&mut self, time: SimTime, unit: &U, notes: Vec<Note>) {
        if let Some(tap) = &mut self.tap {
            tap.capture(time, unit, notes);
        }
    }

    /// Counts the units that leave the fault layers in place of one.
    pub const fn doubled(&mut self, copies: usize) {
        self.counts.doubled += (copies as u64).saturating_sub(1);
    }

    /// Takes what a board says of losses: units that it sent with no carrier, and units that it dropped.
    pub fn take_losses<M: Medium<Unit = U>>(&mut self, outbox: &mut Outbox<M>) {
        for Departure { head, unit } in outbox.take_unheard() {
            self.carried(&unit);
            self.lose_unheard(head, LossReason::Cut, &unit, Vec::new());
        }
        for Dropped { time, unit, reason } in outbox.take_dropped() {
            if let Some(tap) = &mut self.tap {
                tap.capture_drop(time, &unit, Note::Refused(reason));
            }
        }
    }

    /// Counts a unit that goes on the wire.
    pub fn carried(&mut self, unit: &U) {
        self.carried_bytes(unit.length());
    }

    /// Counts a unit of this length, with the check sequence, that goes on the wire.
    pub const fn carried_bytes(&mut self, length: u64) {
        self.counts.units += 1;
        self.counts.bytes += length;
    }

    /// Loses a unit that the far end hears nothing of; it is captured where it would have been on the wire.
    pub fn lose_unheard(
        &mut self,
        time: SimTime,
        reason: LossReason,
        unit: &U,
        mut notes: Vec<Note>,
    ) {
        self.lose(time, reason, unit);
        notes.push(Note::Lost { reason, port: None });
        self.capture(time, unit, notes);
    }

    /// Loses a unit that was captured on the wire before.
    pub fn lose_under_way(&mut self, time: SimTime, reason: LossReason, unit: &U) {
        self.lose(time, reason, unit);
        if let Some(tap) = &mut self.tap {
            tap.capture_drop(time, unit, Note::Lost { reason, port: None });
        }
    }

    /// Counts and records a unit that does not get further than this lane.
    fn lose(&mut self, time: SimTime, reason: LossReason, unit: &U) {
        self.counts.lost.count(reason);
        let kind = loss_event(reason, self.from.number(), unit);
        self.trace.record(time, Initiator::Wire, kind);
    }
}

/// The trace event of a unit that a fault layer changed; `port`: of a switch.
fn fault_event(fault: FaultKind, port: Option<usize>, unit: &impl Unit) -> TraceKind {
    TraceKind::Fault {
        port: port.map(|port| port as u16),
        fault,
        length: unit.length() as u32,
        fcs: unit.check(),
    }
}

/// The trace event of a unit that is lost; `port`: of a switch.
pub fn loss_event(reason: LossReason, port: Option<usize>, unit: &impl Unit) -> TraceKind {
    TraceKind::FrameLost {
        port: port.map(|port| port as u16),
        reason,
        length: unit.length() as u32,
        fcs: unit.check(),
    }
}
