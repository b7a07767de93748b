//! Networks and segments: a medium as the simulation sees it ([`medium`](super::medium) explains how they work together).

use std::any::Any;
use std::fmt::Debug;

use super::medium::{Delivery, Medium, MediumId, Outbox};
use super::part::Part;
use emulator_base::time::SimTime;
use emulator_observe::capture::{Interface, Tap};
use emulator_observe::tracer::Tracer;
use emulator_state::{Reader, State, StateError, Writer};

/// All links and switches of one medium in a world.
pub trait Network: State + Any + Debug + Send {
    /// The medium.
    fn medium(&self) -> MediumId;

    /// Divides the network for a run: each segment has the nodes that can reach each other. Nodes without a cable are in none.
    fn segments(&mut self) -> Vec<(Vec<usize>, Box<dyn Segment + '_>)>;

    /// Divides the network among the processes of a run, of which this is `me`; `owners`: the process that executes each node. A network
    /// whose segments have no parts does nothing: the default.
    fn divide(&mut self, _me: usize, _owners: &[usize]) {}

    /// The traces of links and switches. Those that recorded anything are part of the world's hash.
    fn traces(&self) -> Box<dyn Iterator<Item = &Tracer> + '_>;

    /// The traces of links and switches.
    fn traces_mut(&mut self) -> Box<dyn Iterator<Item = &mut Tracer> + '_>;

    /// Begins to capture units: the first place of this network has the number `first` among the world's. Returns the places.
    fn begin_capture(&mut self, first: usize) -> Vec<Interface>;

    /// Captures no more.
    fn end_capture(&mut self);

    /// The taps that capture units.
    fn taps(&mut self) -> Box<dyn Iterator<Item = &mut Tap> + '_>;

    /// Units that cannot go on until some node or another unit acts, one line for each: who waits for what. Reports of a deadlock
    /// show them. By default a unit never waits for more than time.
    fn describe_waiting(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Two nodes that may take turns: each runs as far as nothing from the other one can reach it.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    /// For each node, from the head of a unit that leaves it to the first moment at which the unit can matter to the other node.
    pub look_ahead: [SimTime; 2],
}

/// Nodes that can reach each other, as one run joins them. Nodes are numbered in the segment, from 0.
pub trait Segment: Debug + Send {
    /// Whether its nodes may take turns: there are two of them, no controls, and each unit reaches the other node with a constant
    /// delay. By default they run in rounds.
    fn turns(&self) -> Option<Turns> {
        None
    }

    /// The part of it that this process carries out, if the network has been [divided](Network::divide) and every process carries out its
    /// own switches. By default each process runs all of it.
    fn part(&mut self) -> Option<&mut dyn Part> {
        None
    }

    /// The time at which the next event of the segment itself is due; [`SimTime::MAX`] if none is pending. By default there are none.
    fn next_time(&self) -> SimTime {
        SimTime::MAX
    }

    /// The earliest time at which a unit or control that no node knows of yet can reach any node, if no further unit leaves a
    /// node before `unit`, and no control before `control`. It must be later than the earliest of these times and of
    /// [`next_time`](Self::next_time). What a node hears of its own unit within [`feedback_span`](Self::feedback_span) does not count.
    fn horizon(&self, unit: SimTime, control: SimTime) -> SimTime;

    /// A later horizon for *far* nodes, which no unit under way is near. Fills `near`, which says of each node whether it may hear of
    /// something sooner, so that [`horizon`](Self::horizon) holds for it. What a node hears of what it sends itself within
    /// [`answer_span`](Self::answer_span) does not count. `None` if no node is known to have such a horizon: the default.
    fn far_horizon(
        &self,
        _unit: SimTime,
        _control: SimTime,
        _near: &mut Vec<bool>,
    ) -> Option<SimTime> {
        None
    }

    /// The span from the head of a unit that leaves a node to the first moment at which the network itself tells that node of it: its tail
    /// or a STOP, on Myrinet. The node stops there, so that others can run ahead. By default a node hears of its own unit no sooner than
    /// others.
    fn feedback_span(&self) -> SimTime {
        SimTime::MAX
    }

    /// The span from a unit's head or a control that leaves a node to the first moment at which that node can hear of anything that follows
    /// from it, but for what [`feedback_span`](Self::feedback_span) covers. Up to that moment the node depends on what others send, so it
    /// can run further than they. By default it may hear at once.
    fn answer_span(&self) -> SimTime {
        SimTime::ZERO
    }

    /// Takes the units and controls that left node `from`: an [`Outbox`] of the medium.
    fn take_outbox(&mut self, from: usize, outbox: &mut dyn Any);

    /// Carries out the events that are due, when all nodes have come to `time` and everything that left them before has been taken.
    /// By default there are none.
    fn run_until(&mut self, _time: SimTime) {}

    /// Passes units and controls on to the nodes that they will reach: the node, the earliest time at which the unit or control can
    /// matter there, and the [`Delivery`] as an `Option` to take it from.
    fn deliver(&mut self, to: &mut dyn FnMut(usize, SimTime, &mut dyn Any));

    /// The traces of links and switches.
    fn traces_mut(&mut self) -> Box<dyn Iterator<Item = &mut Tracer> + '_>;

    /// The state of its links and switches, for a process that has not run the segment but reports it.
    fn save(&self, out: &mut Writer);

    /// Loads that state.
    ///
    /// # Errors
    /// If it is not the state of such a segment.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError>;

    /// The taps that capture units.
    fn taps(&mut self) -> Box<dyn Iterator<Item = &mut Tap> + '_>;
}

/// The outbox of a board whose port fits the medium.
///
/// # Panics
/// If it is that of another medium: such a board cannot be plugged in.
pub fn outbox_of<M: Medium>(outbox: &mut dyn Any) -> &mut Outbox<M> {
    match outbox.downcast_mut() {
        Some(outbox) => outbox,
        None => unreachable!("a board of another medium than {} is plugged in", M::NAME),
    }
}

/// Passes a delivery of a medium on to a node.
pub fn pass_on<M: Medium>(
    node: usize,
    matters: SimTime,
    delivery: Delivery<M>,
    to: &mut dyn FnMut(usize, SimTime, &mut dyn Any),
) {
    to(node, matters, &mut Some(delivery));
}

/// The delivery that a segment passed on, for a board whose port fits the medium.
///
/// # Panics
/// If it is one of another medium: such a board cannot be plugged in.
pub fn delivery_of<M: Medium>(delivery: &mut dyn Any) -> Delivery<M> {
    match delivery
        .downcast_mut::<Option<Delivery<M>>>()
        .and_then(Option::take)
    {
        Some(delivery) => delivery,
        None => unreachable!("a board of another medium than {} is plugged in", M::NAME),
    }
}
