//! The network of a component: what is under way between its nodes.
//!
//! Everything that happens to a frame on its way is an event of one total order: `(time, line, step,
//! the line's own sequence)`. So nothing depends on when the nodes that sent the frames were run.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::look_ahead::{LookAhead, header_span};
use super::time::SimTime;
use crate::observe::capture::{Note, Tap};
use crate::observe::tracer::Tracer;
use crate::state::{Reader, StateError, Value, Writer};
use crate::value_enum;
use crate::wire::ethernet::frame::Frame;
use crate::wire::ethernet::line::Line;
use crate::wire::ethernet::link::Departure;
use crate::wire::ethernet::switch::{Destination, Forwarding, Switch};
use crate::wire::fault::Passage;
use crate::wire::loss::LossReason;
use crate::wire::port::Port;

/// A frame that has passed so many switches goes in circles.
const MOST_SWITCHES: u8 = 64;

/// Nodes are told of a frame at most so long before its first bit leaves for them: what waits in deep
/// buffers does not fill their lists of events.
pub(super) const TOLD_AHEAD: SimTime = SimTime::from_us(20);

/// What happens to a frame next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The header is in at the switch at the line's end.
    Header,
    /// The frame is in as a whole at that switch, which knows already where it goes, or not.
    Whole(Option<usize>),
    /// The node at the line's end is told of it, [`TOLD_AHEAD`] before it leaves.
    Tell,
    /// It reaches the line's fault layer of this number, or behind the last one the wire.
    Layer(usize),
}

value_enum!(Step {
    Header {},
    Whole { 0: port },
    Tell {},
    Layer { 0: layer }
});

/// Something that will happen to a frame under way.
#[derive(Debug)]
pub(super) struct Event {
    time: SimTime,
    line: usize,
    step: Step,
    sequence: u64,
    /// Switches that it has passed.
    switches: u8,
    frame: Frame,
    /// What fault layers of this line have done to it, if it is to be captured.
    notes: Vec<Note>,
}

impl Value for Event {
    fn write(&self, out: &mut Writer) {
        (self.time, self.line, self.step).write(out);
        (self.sequence, self.switches).write(out);
        self.frame.write(out);
    }

    /// Without what a capture would tell of it.
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (time, line, step) = Value::read(from)?;
        let (sequence, switches) = Value::read(from)?;
        Ok(Self {
            time,
            line,
            step,
            sequence,
            switches,
            frame: Value::read(from)?,
            notes: Vec::new(),
        })
    }
}

impl Event {
    /// The line on which it happens, in the world.
    pub(super) const fn line(&self) -> usize {
        self.line
    }

    const fn key(&self) -> (SimTime, usize, Step, u64) {
        (self.time, self.line, self.step, self.sequence)
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    /// The earliest is the greatest: a heap gives it first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// A frame that will reach a node.
#[derive(Debug)]
pub(super) struct Arrival {
    /// The node in the world.
    pub(super) node: usize,
    pub(super) frame: Frame,
    /// When its first bit is there.
    pub(super) first_bit: SimTime,
    /// When it can matter.
    pub(super) matters: SimTime,
}

/// The component of a line or switch, if nodes are there, and its place in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) component: Option<usize>,
    pub(super) index: usize,
}

/// Where everything of the world stands in its components.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// For each node, its component.
    pub(super) nodes: Vec<usize>,
    /// For each node, its place there.
    pub(super) members: Vec<usize>,
    pub(super) lines: Vec<Place>,
    pub(super) switches: Vec<Place>,
}

/// Lines and switches of a component, and the frames under way.
#[derive(Debug)]
pub(super) struct Network<'a> {
    lines: Vec<&'a mut Line>,
    switches: Vec<&'a mut Switch>,
    pub(super) places: &'a Places,
    pub(super) look_ahead: LookAhead,
    queue: BinaryHeap<Event>,
    /// Everything before that time has happened.
    now: SimTime,
    /// What nodes are to be told.
    pub(super) arrivals: Vec<Arrival>,
    /// What a fault layer made of a frame.
    passage: Passage,
}

impl<'a> Network<'a> {
    /// A network in which nothing is under way. Nothing may be added once it is used.
    pub(super) fn new(places: &'a Places) -> Self {
        Self {
            lines: Vec::new(),
            switches: Vec::new(),
            places,
            look_ahead: LookAhead::default(),
            queue: BinaryHeap::new(),
            now: SimTime::ZERO,
            arrivals: Vec::new(),
            passage: Passage::default(),
        }
    }

    pub(super) fn add_line(&mut self, line: &'a mut Line) {
        self.lines.push(line);
    }

    pub(super) fn add_switch(&mut self, switch: &'a mut Switch) {
        self.switches.push(switch);
    }

    /// All lines and switches are there: how far nodes may run apart.
    pub(super) fn measure(&mut self) {
        self.look_ahead = LookAhead::of(&self.lines, &self.switches, self.places);
    }

    /// Takes back what was under way when the last run ended.
    pub(super) fn resume(&mut self, event: Event) {
        self.queue.push(event);
    }

    /// What is still under way, the latest first.
    pub(super) fn into_pending(self) -> Vec<Event> {
        self.queue.into_sorted_vec()
    }

    /// The traces of lines and switches.
    pub(super) fn traces(&mut self) -> impl Iterator<Item = &mut Tracer> {
        let lines = self.lines.iter_mut().map(|line| &mut line.trace);
        let switches = self.switches.iter_mut().map(|switch| &mut switch.trace);
        lines.chain(switches)
    }

    /// Where frames of lines and switches are captured.
    pub(super) fn taps(&mut self) -> impl Iterator<Item = &mut Tap> {
        let lines = self.lines.iter_mut().map(|line| &mut line.tap);
        let switches = self.switches.iter_mut().map(|switch| &mut switch.tap);
        lines.chain(switches).flatten()
    }

    /// A frame was sent while there was no signal.
    pub(super) fn send_in_vain(&mut self, line: usize, departure: &Departure) {
        let Departure { first_bit, frame } = departure;
        self.line(line).capture(*first_bit, frame, Vec::new());
    }

    fn line(&mut self, index: usize) -> &mut Line {
        self.lines[self.places.lines[index].index]
    }

    fn switch(&mut self, index: usize) -> &mut Switch {
        self.switches[self.places.switches[index].index]
    }

    /// When something happens next; [`SimTime::MAX`] when nothing is under way.
    pub(super) fn next_time(&self) -> SimTime {
        self.queue.peek().map_or(SimTime::MAX, |event| event.time)
    }

    fn schedule(&mut self, time: SimTime, line: usize, step: Step, frame: Frame, switches: u8) {
        self.schedule_noted(time, line, step, (frame, Vec::new()), switches);
    }

    fn schedule_noted(
        &mut self,
        time: SimTime,
        line: usize,
        step: Step,
        (frame, notes): (Frame, Vec<Note>),
        switches: u8,
    ) {
        let sequence = self.line(line).next_sequence();
        self.queue.push(Event {
            time,
            line,
            step,
            sequence,
            switches,
            frame,
            notes,
        });
    }

    /// A frame leaves a node or a switch for its line, at the time that it says, which may be to come.
    /// Those of one line are announced in the order of their times.
    pub(super) fn leave(&mut self, line: usize, departure: Departure, switches: u8) {
        let Departure { first_bit, frame } = departure;
        if self.line(line).layers() == 0 {
            self.carry(line, first_bit, (frame, Vec::new()), switches);
        } else {
            self.schedule(first_bit, line, Step::Layer(0), frame, switches);
        }
    }

    /// A frame goes on a line's wire at `time`, or as soon as that is free.
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
        let link = line.link;
        let begins = first_bit.saturating_add(link.propagation);
        match line.to {
            Port::Node(_) => {
                let told = first_bit.saturating_sub(TOLD_AHEAD);
                if told <= self.now {
                    self.tell(index, first_bit, frame);
                } else {
                    self.schedule(told, index, Step::Tell, frame, switches);
                }
            }
            Port::Switch { switch, .. } => match self.switch(switch).forwarding {
                Forwarding::CutThrough => {
                    let time = begins.saturating_add(header_span(&link));
                    self.schedule(time, index, Step::Header, frame, switches);
                }
                Forwarding::StoreAndForward => {
                    let time = begins.saturating_add(link.frame_span(&frame));
                    self.schedule(time, index, Step::Whole(None), frame, switches);
                }
            },
        }
    }

    /// A frame leaves for a node at `first_bit`.
    fn tell(&mut self, index: usize, first_bit: SimTime, frame: Frame) {
        let line = self.line(index);
        let Port::Node(node) = line.to else {
            return;
        };
        let link = line.link;
        self.arrivals.push(Arrival {
            node,
            frame,
            first_bit: first_bit.saturating_add(link.propagation),
            matters: first_bit.saturating_add(link.look_ahead()),
        });
    }

    /// Lets everything happen that is due before `until`.
    pub(super) fn run_until(&mut self, until: SimTime) {
        while self.next_time() < until {
            if let Some(event) = self.queue.pop() {
                self.now = event.time;
                self.handle(event);
            }
        }
        self.now = until;
    }

    fn handle(&mut self, event: Event) {
        match event.step {
            Step::Layer(layer) if layer < self.line(event.line).layers() => {
                self.pass_layer(layer, event);
            }
            Step::Layer(_) => {
                let noted = (event.frame, event.notes);
                self.carry(event.line, event.time, noted, event.switches);
            }
            Step::Tell => {
                let first_bit = event.time.saturating_add(TOLD_AHEAD);
                self.tell(event.line, first_bit, event.frame);
            }
            Step::Header => self.header_arrives(event),
            Step::Whole(None) => self.frame_arrives(event),
            Step::Whole(Some(port)) => self.store(port, &event),
        }
    }

    fn pass_layer(&mut self, layer: usize, event: Event) {
        let mut passage = std::mem::take(&mut self.passage);
        let departure = Departure {
            first_bit: event.time,
            frame: event.frame,
        };
        let line = self.line(event.line);
        let before = line.tap.is_some().then(|| departure.clone());
        line.pass(layer, departure, &mut passage);
        if let Some(before) = &before
            && passage.frames.is_empty()
        {
            let notes = event.notes.iter().cloned().chain([Note::Dropped]);
            line.capture_lost(before.first_bit, &before.frame, notes.collect());
        }
        let copies = passage.frames.len();
        for (index, after) in passage.frames.drain(..).enumerate() {
            let mut notes = event.notes.clone();
            if let Some(before) = &before {
                notes.extend(Note::of_fault(before, &after, index + 1, copies));
            }
            let (next, noted) = (Step::Layer(layer + 1), (after.frame, notes));
            self.schedule_noted(after.first_bit, event.line, next, noted, event.switches);
        }
        self.passage = passage;
    }

    /// The switch and its port at the end of an event's line.
    fn ingress(&mut self, event: &Event) -> Option<(usize, usize)> {
        match self.line(event.line).to {
            Port::Switch { switch, port } => Some((switch, port)),
            Port::Node(_) => None,
        }
    }

    /// A frame begins to come in at a switch that need not wait for its end.
    fn header_arrives(&mut self, mut event: Event) {
        let line = self.line(event.line);
        let start = event.time.saturating_sub(header_span(&line.link));
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
                    let (frame, step) = (event.frame.clone(), Step::Whole(Some(port)));
                    network.schedule(end, event.line, step, frame, event.switches);
                }
            }
        });
    }

    /// A frame is in as a whole at a switch that waits for that.
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

    /// A frame that could not pass at once is in as a whole.
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
        if self.line(event.line).is_cut(start, end) {
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

    /// Calls `act` for each port of the switch at which the frame is to leave, or drops it.
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
                for port in 0..self.switch(switch).ports.len() {
                    if port != ingress && self.switch(switch).ports[port].floods {
                        act(self, switch, port, event);
                    }
                }
            }
        }
    }

    /// The line that leads away from a switch's port, and its link.
    fn egress(
        &mut self,
        switch: usize,
        port: usize,
    ) -> Option<(usize, crate::wire::ethernet::link::Link)> {
        let line = self.switch(switch).ports[port].line?;
        Some((line, self.line(line).link))
    }

    /// A frame that is in as a whole waits at a port for its turn.
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
        let frame = event.frame.clone();
        self.leave(line, Departure { first_bit, frame }, event.switches + 1);
    }
}
