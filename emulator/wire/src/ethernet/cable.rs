//! Two nodes on a cable without fault layers: frames arrive with a constant delay, so the nodes take turns.

use std::any::Any;

use super::Ethernet;
use super::line::Line;
use super::link::Link;
use super::places::Places;
use crate::medium::Delivery;
use crate::network::{Segment, Turns, outbox_of, pass_on};
use crate::port::Port;
use emulator_base::time::SimTime;
use emulator_base::unit::{Arrival, Departure};
use emulator_observe::capture::Tap;
use emulator_observe::tracer::Tracer;
use emulator_state::{Reader, State, StateError, Writer};

/// A cable between two nodes.
#[derive(Debug)]
pub(super) struct Direct<'a> {
    link: Link,
    /// The line that leads away from each of the two nodes.
    lines: [&'a mut Line; 2],
    /// Frames to pass on, with the node that each will reach.
    pending: Vec<(usize, Delivery<Ethernet>)>,
}

impl<'a> Direct<'a> {
    /// The cable, if the lines of a segment are no more than one; otherwise the lines.
    pub(super) fn new(
        lines: Vec<&'a mut Line>,
        places: &Places,
    ) -> Result<Self, Vec<&'a mut Line>> {
        let plain = |line: &&mut Line| {
            let ends = [line.lane.from(), line.lane.to()];
            line.lane.layers() == 0 && ends.iter().all(|end| matches!(end, Port::Node(_)))
        };
        let lines = match <[&'a mut Line; 2]>::try_from(lines) {
            Ok(lines) if lines.iter().all(plain) => lines,
            Ok(lines) => return Err(lines.into()),
            Err(lines) => return Err(lines),
        };
        let mut lines = lines;
        // In the order of the nodes, so that the number of a node is that of the line that leads away from it.
        lines.sort_by_key(|line| match line.lane.from() {
            Port::Node(node) => places.members[node],
            Port::Switch { .. } => 0,
        });
        Ok(Self {
            link: lines[0].link,
            lines,
            pending: Vec::new(),
        })
    }
}

impl Segment for Direct<'_> {
    fn turns(&self) -> Option<Turns> {
        let look_ahead = [self.link.look_ahead(); 2];
        Some(Turns { look_ahead })
    }

    fn horizon(&self, unit: SimTime, _: SimTime) -> SimTime {
        unit.saturating_add(self.link.look_ahead())
    }

    fn take_outbox(&mut self, from: usize, outbox: &mut dyn Any) {
        let outbox = outbox_of::<Ethernet>(outbox);
        let line = &mut self.lines[from];
        line.lane.take_losses(outbox);
        for Departure { head, unit } in outbox.take_units() {
            let Some(first_bit) = line.carry(&unit, head, Vec::new()) else {
                continue;
            };
            let head = first_bit + self.link.propagation;
            let tail = Some(head + self.link.frame_span(&unit));
            let arrival = Arrival { head, tail, unit };
            self.pending.push((1 - from, Delivery::Unit(arrival)));
        }
    }

    fn deliver(&mut self, to: &mut dyn FnMut(usize, SimTime, &mut dyn Any)) {
        for (node, delivery) in self.pending.drain(..) {
            pass_on(node, SimTime::ZERO, delivery, to);
        }
    }

    fn traces_mut(&mut self) -> Box<dyn Iterator<Item = &mut Tracer> + '_> {
        Box::new(self.lines.iter_mut().map(|line| &mut line.lane.trace))
    }

    fn save(&self, out: &mut Writer) {
        self.lines.iter().for_each(|line| line.save(out));
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let mut lines = self.lines.iter_mut();
        lines.try_for_each(|line| line.load(from))
    }

    fn taps(&mut self) -> Box<dyn Iterator<Item = &mut Tap> + '_> {
        let taps = self.lines.iter_mut().map(|line| &mut line.lane.tap);
        Box::new(taps.flatten())
    }
}
