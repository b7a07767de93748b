//! A segment of an Ethernet with switches or fault layers: the frames under way between its nodes.
//!
//! Everything that happens to a frame on its way is an event of one total order: `(time, line, step,
//! the line's own sequence)`. So nothing depends on when the nodes that sent the frames were run.

use std::any::Any;
use std::collections::BinaryHeap;

use super::Ethernet;
use super::event::{Event, Step};
use super::frame::{Departure, Frame};
use super::line::Line;
use super::link::Link;
use super::look_ahead::LookAhead;
use super::owners::Owners;
use super::places::Places;
use super::remote::{OutgoingFrames, RemoteFrame};
use super::switch::{Destination, Forwarding, Switch};
use crate::fault::Passage;
use crate::medium::Delivery;
use crate::network::{Segment, outbox_of, pass_on};
use crate::part::Part;
use crate::port::Port;
use emulator_base::loss::LossReason;
use emulator_base::time::SimTime;
use emulator_base::unit::Arrival;
use emulator_observe::capture::{Note, Tap};
use emulator_observe::tracer::Tracer;
use emulator_state::{Reader, State, StateError, Writer};

/// A frame that has passed this many switches is in a loop.
const MOST_SWITCHES: u8 = 64;

/// Frames are announced to nodes at most this long before their first bit leaves, so that frames in deep buffers do not
/// fill their event queues.
pub(super) const ANNOUNCED_AHEAD: SimTime = SimTime::from_us(20);

/// A frame that will reach a node.
#[derive(Debug)]
struct Announcement {
    /// The node in the segment.
    member: usize,
    /// The earliest time at which the frame can have an effect.
    matters: SimTime,
    arrival: Arrival<Frame>,
}

/// Lines, switches and the frames under way.
#[derive(Debug)]
pub(super) struct Switched<'a> {
    pub(super) lines: Vec<&'a mut Line>,
    pub(super) switches: Vec<&'a mut Switch>,
    places: &'a Places,
    /// The processes of the run, if there are several.
    pub(super) owners: Option<&'a Owners>,
    /// The number of this segment.
    segment: Option<usize>,
    /// For each node of the segment, the line that leads away from it.
    node_lines: Vec<usize>,
    pub(super) look_ahead: LookAhead,
    pub(super) queue: &'a mut BinaryHeap<Event>,
    /// Everything before that time has happened.
    now: SimTime,
    /// Frames to announce to nodes.
    announcements: Vec<Announcement>,
    pub(super) outgoing: OutgoingFrames,
    /// The output of a fault layer.
    passage: Passage<Frame>,
}

impl<'a> Switched<'a> {
    /// A segment with the frames that are under way in it.
    pub(super) fn new(
        node_lines: Vec<usize>,
        lines: Vec<&'a mut Line>,
        switches: Vec<&'a mut Switch>,
        places: &'a Places,
        owners: Option<&'a Owners>,
        queue: &'a mut BinaryHeap<Event>,
    ) -> Self {
        let outgoing = owners.map(|owners| {
            let ends = |line: &&mut Line| [line.lane.from(), line.lane.to()];
            let ends = lines.iter().map(ends);
            OutgoingFrames::new(
                owners.me,
                ends.map(|ends| ends.map(|port| owners.owner(port))),
            )
        });
        Self {
            look_ahead: LookAhead::measure(&lines, &switches, places, owners),
            outgoing: outgoing.unwrap_or_default(),
            lines,
            switches,
            places,
            owners,
            segment: node_lines
                .first()
                .and_then(|&line| places.lines[line].segment),
            node_lines,
            queue,
            now: SimTime::ZERO,
            announcements: Vec::new(),
            passage: Passage::default(),
        }
    }

    fn line(&mut self, index: usize) -> &mut Line {
        self.lines[self.places.lines[index].index]
    }

    fn switch(&mut self, index: usize) -> &mut Switch {
        self.switches[self.places.switches[index].index]
    }

    fn schedule(&mut self, time: SimTime, line: usize, step: Step, frame: Frame, switches: u8) {
        let event = self.event(time, line, step, (frame, Vec::new()), switches);
        self.queue.push(event);
    }

    /// The next event of a line.
    fn event(
        &mut self,
        time: SimTime,
        line: usize,
        step: Step,
        (frame, notes): (Frame, Vec<Note>),
        switches: u8,
    ) -> Event {
        Event {
            time,
            line,
            step,
            sequence: self.line(line).lane.next_sequence(),
            switches,
            frame,
            notes,
        }
    }

    /// The process that carries out a port, if it is another one.
    fn elsewhere(&self, port: Port) -> Option<usize> {
        self.owners?.elsewhere(port)
    }

    /// A line, if it is one of this segment.
    pub(super) fn here(&self, line: usize) -> Option<&Line> {
        let place = self.places.lines.get(line)?;
        let lines = &self.lines;
        let is_here = place.segment == self.segment;
        is_here.then(|| lines.get(place.index).map(|line| &**line))?
    }

    /// The port at the end of a line of this segment, if this process carries it out.
    pub(super) fn end_here(&self, line: usize) -> Option<Port> {
        let to = self.here(line)?.lane.to();
        self.elsewhere(to).is_none().then_some(to)
    }

    /// A frame leaves a node or a switch for its line, perhaps at a later time. The frames of a line come in the order of
    /// their times.
    fn leave(&mut self, line: usize, departure: Departure, switches: u8) {
        let Departure { head, unit } = departure;
        if self.line(line).lane.layers() == 0 {
            self.carry(line, head, (unit, Vec::new()), switches);
        } else {
            self.schedule(head, line, Step::Layer(0), unit, switches);
        }
    }

    /// A frame goes on a line's wire at `time`, or as soon as the wire is free.
    fn carry(
        &mut self,
        index: usize,
        time: SimTime,
        (frame, notes): (Frame, Vec<Note>),
        switches: u8,
    ) {
        let line = self.line(index);
        let Some(first_bit) = line.carry(&frame, time, notes) else {
            return;
        };
        let (link, to) = (line.link, line.lane.to());
        let begins = first_bit.saturating_add(link.propagation);
        match to {
            Port::Node(_) => {
                let announced_at = first_bit.saturating_sub(ANNOUNCED_AHEAD);
                if announced_at <= self.now {
                    self.announce(index, first_bit, frame);
                } else {
                    self.schedule(announced_at, index, Step::Announce, frame, switches);
                }
            }
            Port::Switch { switch, .. } => {
                let (step, held) = match self.switch(switch).forwarding {
                    Forwarding::CutThrough => (Step::Header, link.header_span()),
                    Forwarding::StoreAndForward => (Step::Whole(None), link.frame_span(&frame)),
                };
                let time = begins.saturating_add(held);
                let event = self.event(time, index, step, (frame, Vec::new()), switches);
                match self.elsewhere(to) {
                    Some(rank) => self.outgoing.push(rank, RemoteFrame::Arrives(event)),
                    None => self.queue.push(event),
                }
            }
        }
    }

    /// The node, by its number in the segment, at the end of a line on which a frame begins at `first_bit`, and the earliest time at which
    /// the frame can have an effect there.
    pub(super) fn receiver(&self, index: usize, first_bit: SimTime) -> Option<(usize, SimTime)> {
        let line = &self.lines[self.places.lines[index].index];
        let Port::Node(node) = line.lane.to() else {
            return None;
        };
        let matters = first_bit.saturating_add(line.link.look_ahead());
        Some((self.places.members[node], matters))
    }

    /// Announces a frame to the node at the end of a line. Its first bit leaves at `first_bit`.
    pub(super) fn announce(&mut self, index: usize, first_bit: SimTime, frame: Frame) {
        let Some((member, matters)) = self.receiver(index, first_bit) else {
            return;
        };
        let line = self.line(index);
        let (link, to) = (line.link, line.lane.to());
        if let Some(rank) = self.elsewhere(to) {
            let frame = RemoteFrame::Leaves {
                line: index,
                first_bit,
                frame,
            };
            return self.outgoing.push(rank, frame);
        }
        let head = first_bit.saturating_add(link.propagation);
        self.announcements.push(Announcement {
            member,
            matters,
            arrival: Arrival {
                head,
                tail: Some(head.saturating_add(link.frame_span(&frame))),
                unit: frame,
            },
        });
    }

    fn handle(&mut self, event: Event) {
        match event.step {
            Step::Layer(layer) if layer < self.line(event.line).lane.layers() => {
                self.pass_layer(layer, event);
            }
            Step::Layer(_) => {
                let noted = (event.frame, event.notes);
                self.carry(event.line, event.time, noted, event.switches);
            }
            Step::Announce => {
                let first_bit = event.time.saturating_add(ANNOUNCED_AHEAD);
                self.announce(event.line, first_bit, event.frame);
            }
            Step::Header => self.header_arrives(event),
            Step::Whole(None) => self.frame_arrives(event),
            Step::Whole(Some(port)) => self.store(port, &event),
        }
    }

    fn pass_layer(&mut self, layer: usize, event: Event) {
        let mut passage = std::mem::take(&mut self.passage);
        let departure = Departure {
            head: event.time,
            unit: event.frame,
        };
        let lane = &mut self.line(event.line).lane;
        let before = lane.tap.is_some().then(|| departure.clone());
        lane.pass(layer, departure, &mut passage);
        if let Some(before) = &before
            && passage.units().is_empty()
        {
            let notes = event.notes.iter().cloned().chain([Note::Dropped]);
            lane.capture(before.head, &before.unit, notes.collect());
        }
        let copies = passage.units().len();
        lane.doubled(copies);
        for (index, after) in passage.take_units().enumerate() {
            let mut notes = event.notes.clone();
            if let Some(before) = &before {
                notes.extend(Note::of_fault(before, &after, index + 1, copies));
            }
            let (next, noted) = (Step::Layer(layer + 1), (after.unit, notes));
            let next = self.event(after.head, event.line, next, noted, event.switches);
            self.queue.push(next);
        }
        self.passage = passage;
    }

    /// The switch and its port at the end of an event's line.
    fn ingress(&mut self, event: &Event) -> Option<(usize, usize)> {
        match self.line(event.line).lane.to() {
            Port::Switch { switch, port } => Some((switch, port)),
            Port::Node(_) => None,
        }
    }

    /// A frame's header is in at a cut-through switch.
    fn header_arrives(&mut self, mut event: Event) {
        let line = self.line(event.line);
        let start = event.time.saturating_sub(line.link.header_span());
        let end = start.saturating_add(line.link.frame_span(&event.frame));
        let speed = line.link.byte_time;
        self.arrive(&mut event, start, end);
        self.for_each_egress(&event, |network, switch, port, event| {
            let Some((out, link)) = network.egress(switch, port) else {
                return;
            };
            let same_speed = link.byte_time == speed;
            let at_once =
                |switch: &mut Switch| switch.cut_through(port, &event.frame, &link, event.time);
            match same_speed
                .then(|| at_once(network.switch(switch)))
                .flatten()
            {
                Some(first_bit) => network.pass_on(out, first_bit, event),
                None => {
                    // The lane may belong to another process: the event keeps its number, as the only one for this egress port.
                    network.queue.push(Event {
                        time: end,
                        step: Step::Whole(Some(port)),
                        frame: event.frame.clone(),
                        notes: Vec::new(),
                        ..*event
                    });
                }
            }
        });
    }

    /// A frame is in as a whole at a switch that stores frames.
    fn frame_arrives(&mut self, mut event: Event) {
        let span = self.line(event.line).link.frame_span(&event.frame);
        let start = event.time.saturating_sub(span);
        let end = event.time;
        self.arrive(&mut event, start, end);
        if !self.drop_damaged(&event) {
            self.for_each_egress(&event, |network, _, port, event| {
                network.enqueue(port, event);
            });
        }
    }

    /// A frame that could not cut through is in as a whole.
    fn store(&mut self, port: usize, event: &Event) {
        if !self.drop_damaged(event) {
            self.enqueue(port, event);
        }
    }

    /// Counts a frame that reaches a switch from `start` to `end`; if its link is cut meanwhile, its FCS
    /// is wrong.
    fn arrive(&mut self, event: &mut Event, start: SimTime, end: SimTime) {
        if let Some((switch, port)) = self.ingress(event) {
            self.switch(switch).ports[port].counts.received += 1;
        }
        if self.line(event.line).lane.is_cut(start, end) {
            event.frame.damage();
        }
    }

    fn drop_frame(&mut self, event: &Event, reason: LossReason) {
        if let Some((switch, port)) = self.ingress(event) {
            self.switch(switch)
                .drop_frame(port, reason, &event.frame, event.time);
        }
    }

    /// Whether a frame was dropped because its FCS does not fit.
    fn drop_damaged(&mut self, event: &Event) -> bool {
        let damaged = !event.frame.is_intact();
        if damaged {
            self.drop_frame(event, LossReason::Damaged);
        }
        damaged
    }

    /// Calls `act` for each egress port of the frame, or drops it.
    fn for_each_egress(
        &mut self,
        event: &Event,
        mut act: impl FnMut(&mut Self, usize, usize, &Event),
    ) {
        let Some((switch, ingress)) = self.ingress(event) else {
            return;
        };
        if event.switches >= MOST_SWITCHES {
            return self.drop_frame(event, LossReason::TooManySwitches);
        }
        match self.switch(switch).destination(&event.frame, ingress) {
            Err(reason) => self.drop_frame(event, reason),
            Ok(Destination::Port(port)) => act(self, switch, port, event),
            Ok(Destination::Group) => {
                let ports = self.switch(switch).ports.iter().enumerate();
                let ports = ports.filter(|(port, of)| *port != ingress && of.floods);
                let ports: Vec<usize> = ports.map(|(port, _)| port).collect();
                if ports.is_empty() {
                    return self.drop_frame(event, LossReason::Unconnected);
                }
                self.switch(switch).ports[ingress].counts.copies += ports.len() as u64 - 1;
                for port in ports {
                    act(self, switch, port, event);
                }
            }
        }
    }

    /// The line that leads away from a switch's port, and its link.
    fn egress(&mut self, switch: usize, port: usize) -> Option<(usize, Link)> {
        let line = self.switch(switch).ports[port].line?;
        Some((line, self.line(line).link))
    }

    /// A frame that is in as a whole joins the queue of an egress port.
    fn enqueue(&mut self, port: usize, event: &Event) {
        let Some((switch, _)) = self.ingress(event) else {
            return;
        };
        let Some((out, link)) = self.egress(switch, port) else {
            return;
        };
        let first_bit = self
            .switch(switch)
            .enqueue(port, &event.frame, &link, event.time);
        if let Some(first_bit) = first_bit {
            self.pass_on(out, first_bit, event);
        }
    }

    /// A frame leaves a switch.
    fn pass_on(&mut self, line: usize, first_bit: SimTime, event: &Event) {
        let (head, unit) = (first_bit, event.frame.clone());
        self.leave(line, Departure { head, unit }, event.switches + 1);
    }
}

impl Switched<'_> {
    /// Carries out the events that are due before `until`.
    pub(super) fn run_before(&mut self, until: SimTime) {
        while self.next_time() < until {
            if let Some(event) = self.queue.pop() {
                self.now = event.time;
                self.handle(event);
            }
        }
        self.now = until;
    }
}

impl Segment for Switched<'_> {
    fn part(&mut self) -> Option<&mut dyn Part> {
        self.owners.is_some().then_some(self)
    }

    fn next_time(&self) -> SimTime {
        self.queue.peek().map_or(SimTime::MAX, |event| event.time)
    }

    fn horizon(&self, unit: SimTime, _: SimTime) -> SimTime {
        self.look_ahead.horizon(unit, self.next_time())
    }

    /// The shortest way of a frame, which may be one to its own sender.
    fn answer_span(&self) -> SimTime {
        self.look_ahead.path
    }

    fn take_outbox(&mut self, from: usize, outbox: &mut dyn Any) {
        let outbox = outbox_of::<Ethernet>(outbox);
        let line = self.node_lines[from];
        self.line(line).lane.take_losses(outbox);
        for departure in outbox.take_units() {
            self.leave(line, departure, 0);
        }
    }

    /// Runs the segment further than the nodes: a frame that leaves later meets no event within the first look-ahead.
    fn run_until(&mut self, time: SimTime) {
        self.run_before(time.saturating_add(self.look_ahead.first_link));
    }

    fn deliver(&mut self, to: &mut dyn FnMut(usize, SimTime, &mut dyn Any)) {
        for announcement in self.announcements.drain(..) {
            let delivery = Delivery::<Ethernet>::Unit(announcement.arrival);
            pass_on(announcement.member, announcement.matters, delivery, to);
        }
    }

    fn traces_mut(&mut self) -> Box<dyn Iterator<Item = &mut Tracer> + '_> {
        let lines = self.lines.iter_mut().map(|line| &mut line.lane.trace);
        let switches = self.switches.iter_mut().map(|switch| &mut switch.trace);
        Box::new(lines.chain(switches))
    }

    fn save(&self, out: &mut Writer) {
        self.lines.iter().for_each(|line| line.save(out));
        self.switches.iter().for_each(|switch| switch.save(out));
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let mut lines = self.lines.iter_mut();
        lines.try_for_each(|line| line.load(from))?;
        let mut switches = self.switches.iter_mut();
        switches.try_for_each(|switch| switch.load(from))
    }

    fn taps(&mut self) -> Box<dyn Iterator<Item = &mut Tap> + '_> {
        let lines = self.lines.iter_mut().map(|line| &mut line.lane.tap);
        let switches = self.switches.iter_mut().map(|switch| &mut switch.tap);
        Box::new(lines.chain(switches).flatten())
    }
}
