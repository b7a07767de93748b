//! One direction of a link: fault layers, then the wire itself, on which frames follow each other.

use super::frame::{Frame, MAXIMUM_BYTES, MINIMUM_BYTES};
use super::link::{Departure, Link};
use crate::observe::capture::{Interface, Note, Tap};
use crate::observe::event::{Place, TraceKind};
use crate::observe::tracer::Tracer;
use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;
use crate::state::{Reader, State, StateError, Value, Writer};
use crate::value_struct;
use crate::wire::fault::{FaultCounts, FaultKind, FaultLayer, Passage};
use crate::wire::loss::{LossCounts, LossReason};
use crate::wire::port::Port;

/// What went over one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineCounts {
    /// Frames that went on the wire.
    pub frames: u64,
    /// Their bytes, with FCS.
    pub bytes: u64,
    /// Frames that did not get on the wire, or not to its end. Plain pairs of nodes count none: their
    /// boards see a cut themselves.
    pub lost: LossCounts,
}

value_struct!(LineCounts {
    frames: frames,
    bytes: bytes,
    lost: lost
});

/// A fault layer and what it has done.
#[derive(Debug)]
struct Layer {
    layer: Box<dyn FaultLayer>,
    counts: FaultCounts,
}

/// One direction of a link.
#[derive(Debug)]
pub struct Line {
    /// Where frames enter.
    pub(crate) from: Port,
    /// Where they come out.
    pub(crate) to: Port,
    pub(crate) link: Link,
    pub(crate) trace: Tracer,
    /// Where its frames are captured, if somebody wants to see them.
    pub(crate) tap: Option<Tap>,
    layers: Vec<Layer>,
    /// From when until when the link is cut.
    cuts: Vec<(SimTime, SimTime)>,
    counts: LineCounts,
    /// The next frame may begin then.
    free_at: SimTime,
    /// So many of its frames have been waited for: tells those of the same time apart.
    sequence: u64,
}

impl State for Line {
    fn save(&self, out: &mut Writer) {
        let Self {
            from: _,
            to: _,
            link: _,
            trace,
            layers,
            cuts,
            counts,
            free_at,
            sequence,
            tap: _,
        } = self;
        trace.save(out);
        layers.len().save(out);
        for Layer { layer, counts } in layers {
            layer.save(out);
            counts.save(out);
        }
        cuts.save(out);
        counts.save(out);
        free_at.save(out);
        sequence.save(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.trace.load(from)?;
        let (what, saved, here) = ("fault layers", usize::read(from)?, self.layers.len());
        if saved != here {
            return Err(StateError::Shape { what, saved, here });
        }
        for Layer { layer, counts } in &mut self.layers {
            layer.load(from)?;
            counts.load(from)?;
        }
        self.cuts.load(from)?;
        self.counts.load(from)?;
        self.free_at.load(from)?;
        self.sequence.load(from)
    }
}

impl Line {
    /// A line that has carried nothing.
    pub(crate) fn new(from: Port, to: Port, link: Link) -> Self {
        let place = match from {
            Port::Node(node) => Place::Node(node as u16),
            Port::Switch { switch, .. } => Place::Switch(switch as u16),
        };
        Self {
            from,
            to,
            link,
            trace: Tracer::new(place),
            tap: None,
            layers: Vec::new(),
            cuts: Vec::new(),
            counts: LineCounts::default(),
            free_at: SimTime::ZERO,
            sequence: 0,
        }
    }

    /// What it carried and lost.
    pub(crate) const fn counts(&self) -> &LineCounts {
        &self.counts
    }

    /// What each layer has done.
    pub(crate) fn fault_counts(&self) -> impl Iterator<Item = FaultCounts> {
        self.layers.iter().map(|layer| layer.counts)
    }

    /// Adds a layer behind those that are there.
    pub(crate) fn add_layer(&mut self, layer: Box<dyn FaultLayer>) {
        self.layers.push(Layer {
            layer,
            counts: FaultCounts::default(),
        });
    }

    /// How many layers there are.
    pub(crate) const fn layers(&self) -> usize {
        self.layers.len()
    }

    /// Nothing gets through from then until then.
    pub(crate) fn cut(&mut self, from: SimTime, until: SimTime) {
        self.cuts.push((from, until));
    }

    /// Whether the link is cut at any time from `first` to `last`.
    pub(crate) fn is_cut(&self, first: SimTime, last: SimTime) -> bool {
        let meets = |&(from, until): &(SimTime, SimTime)| first < until && from <= last;
        self.cuts.iter().any(meets)
    }

    /// The next number in the order of this line's frames.
    pub(crate) const fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// A frame reaches the layer `index`: what comes out of it is added to `passage`, no earlier.
    pub(crate) fn pass(&mut self, index: usize, departure: Departure, passage: &mut Passage) {
        let (time, before) = (departure.first_bit, departure.frame.clone());
        self.layers[index].layer.pass(departure, passage);
        for fault in passage.faults.drain(..) {
            self.layers[index].counts.count(fault);
            self.record(time, Happening::Fault(fault), &before);
        }
        for departure in &mut passage.frames {
            departure.first_bit = departure.first_bit.max(time);
        }
    }

    /// What a capture calls it.
    pub(crate) fn interface(&self) -> Interface {
        let to = match self.to {
            Port::Node(node) => format!("n{node}"),
            Port::Switch { switch, .. } => format!("s{switch}"),
        };
        let from = match self.from {
            Port::Node(node) => format!("n{node}"),
            Port::Switch { switch, port } => format!("s{switch} port {port}"),
        };
        let second = SimTime::from_us(1_000_000).ps();
        Interface {
            name: format!("{from} -> {to}"),
            description: format!("from {} to {}", self.from, self.to),
            bits_per_s: Some(8 * second / self.link.byte_time.ps().max(1)),
        }
    }

    /// Captures a frame that goes on the wire at `first_bit`.
    pub(crate) fn capture(&mut self, first_bit: SimTime, frame: &Frame, mut notes: Vec<Note>) {
        if self.tap.is_none() {
            return;
        }
        let begins = first_bit.saturating_add(self.link.propagation);
        let ends = begins.saturating_add(self.link.frame_span(frame));
        if self.is_cut(first_bit, begins) {
            let (reason, port) = (LossReason::Cut, None);
            notes.push(Note::Lost { reason, port });
        } else if self.is_cut(begins, ends) {
            notes.push(Note::Interrupted);
        }
        self.capture_lost(first_bit, frame, notes);
    }

    /// Captures a frame that does not go on the wire, as its notes say.
    pub(crate) fn capture_lost(&mut self, time: SimTime, frame: &Frame, notes: Vec<Note>) {
        if let Some(tap) = &mut self.tap {
            tap.capture(time, frame, notes);
        }
    }

    /// A frame goes on the wire at `time` or as soon as it is free. Gives when its first bit leaves, unless
    /// the frame is lost.
    pub(crate) fn carry(
        &mut self,
        frame: &Frame,
        time: SimTime,
        mut notes: Vec<Note>,
    ) -> Option<SimTime> {
        if !(MINIMUM_BYTES..=MAXIMUM_BYTES).contains(&frame.bytes().len()) {
            self.lose(time, LossReason::Length, frame);
            let (reason, port) = (LossReason::Length, None);
            notes.push(Note::Lost { reason, port });
            self.capture_lost(time, frame, notes);
            return None;
        }
        let first_bit = time.max(self.free_at);
        let end = first_bit.saturating_add(self.link.frame_span(frame));
        self.free_at = end.saturating_add(self.link.gap());
        self.counts.frames += 1;
        self.counts.bytes += frame.length_with_fcs();
        self.capture(first_bit, frame, notes);
        let begins = first_bit.saturating_add(self.link.propagation);
        if self.is_cut(first_bit, begins) {
            self.lose(first_bit, LossReason::Cut, frame);
            return None;
        }
        Some(first_bit)
    }

    /// Counts and records a frame that does not get further than this line.
    fn lose(&mut self, time: SimTime, reason: LossReason, frame: &Frame) {
        self.counts.lost.count(reason);
        self.record(time, Happening::Loss(reason), frame);
    }

    fn record(&mut self, time: SimTime, happening: Happening, frame: &Frame) {
        let port = self.from.number();
        let kind = happening.on(port, frame);
        self.trace.record(time, Initiator::Wire, kind);
    }
}

/// What happens to a frame outside the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happening {
    Fault(FaultKind),
    Loss(LossReason),
}

impl Happening {
    /// What the trace says of it.
    pub(crate) fn on(self, port: Option<usize>, frame: &Frame) -> TraceKind {
        let port = port.map(|port| port as u16);
        let (length, fcs) = (frame.length_with_fcs() as u32, frame.fcs());
        match self {
            Self::Fault(fault) => TraceKind::Fault {
                port,
                fault,
                length,
                fcs,
            },
            Self::Loss(reason) => TraceKind::FrameLost {
                port,
                reason,
                length,
                fcs,
            },
        }
    }
}
