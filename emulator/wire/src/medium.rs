//! Media: how boards and the simulation see the networks that join nodes.
//!
//! # Types that a board and its medium share
//!
//! A medium names three types. A *unit* travels forward: an Ethernet frame, a packet of a wormhole network. Its head and its
//! tail have times of their own. A *control* travels in the reverse direction: STOP, GO, the refusal of a receiver that is
//! not ready. A *cable* has the properties that a board learns when one is plugged in: rates and lengths. Each board names the medium that
//! its port fits, so units reach a board with their own type; a cable of another medium is refused when the world is built.
//!
//! # Board side
//!
//! A board puts units and controls that leave it into its *outbox*. The medium takes them from there once the node has run.
//! Units and controls reach the board by one call each, ahead of their time, and the board schedules an event of its own
//! for when they matter. Two promises let nodes run apart: before `transmitter_free_at` no further unit leaves, and before
//! `next_control` no control leaves. A board that promises nothing is right, and slower. A medium without a reverse direction
//! never looks for controls.
//!
//! # Simulation side
//!
//! A world holds one *network* for each medium in use: all its links and switches, whether or not they are joined. For the time
//! of a run a network falls into *segments*, whose nodes can reach each other. A segment decides how far its nodes may run:
//!
//! * Two nodes may take *turns* if all that passes between them is units with a constant delay.
//! * All other nodes run in rounds up to a *horizon*, the earliest time at which a unit or a control that no node knows of yet
//!   could matter to any node. It follows from the earliest unit and the earliest control that a node could still send, from
//!   the segment's own next event, and from the look-ahead of each direction. After each round the segment takes the
//!   units and controls that left, in an order of its own that does not depend on threads, and tells nodes what will reach them.
//!
//! Types are erased where a node and a segment meet, once for each turn and for each unit or control that arrives; neither the
//! world nor the tools are generic over a medium.

use std::any::TypeId;
use std::convert::Infallible;
use std::fmt::Debug;

use super::network::Network;
use emulator_base::time::SimTime;
use emulator_base::unit::{Arrival, Departure, Unit};
use emulator_observe::event::DropReason;
use emulator_state::{Reader, State, StateError, Value, Writer};

/// A kind of medium, and the types that a board and the medium share.
pub trait Medium: Debug + Sized + Send + 'static {
    /// The name in messages.
    const NAME: &'static str;

    /// Whether controls travel on it. If not, nodes need not be asked when one may leave.
    const HAS_CONTROLS: bool;

    /// The type of units.
    type Unit: Unit;

    /// The type of controls: STOP and GO, and other messages of the medium about a unit that has begun to
    /// travel. [`NoControl`] if there are none.
    type Control: Value + Debug + Send + 'static;

    /// The properties of a cable that a board learns.
    type Cable: Debug + Send + 'static;

    /// All links and switches of this kind in a world.
    type Network: Network + Default;
}

/// The control of a medium without a reverse direction.
pub type NoControl = Infallible;

/// A medium's identity at run time.
#[derive(Debug, Clone, Copy)]
pub struct MediumId {
    /// The name in messages.
    pub name: &'static str,
    id: TypeId,
}

impl MediumId {
    /// The identity of a medium.
    #[must_use]
    pub const fn of<M: Medium>() -> Self {
        Self {
            name: M::NAME,
            id: TypeId::of::<M>(),
        }
    }
}

impl PartialEq for MediumId {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for MediumId {}

/// Reason why a cable cannot be plugged into a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttachError {
    /// A node that does not exist.
    #[error("there is no node {0}")]
    NoSuchNode(usize),
    /// A board whose port does not fit.
    #[error("the board of node {node} has a port for {board}: a cable of {cable} does not fit")]
    WrongMedium {
        /// The node.
        node: usize,
        /// The medium of the board's port.
        board: &'static str,
        /// The medium of the cable.
        cable: &'static str,
    },
}

/// A control and the time at which it leaves its sender.
#[derive(Debug)]
pub struct Sent<C> {
    /// Time at which the control leaves.
    pub time: SimTime,
    /// The control.
    pub control: C,
}

impl<C: Value> Value for Sent<C> {
    fn write(&self, out: &mut Writer) {
        let Self { time, control } = self;
        time.write(out);
        control.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Self {
            time: Value::read(from)?,
            control: C::read(from)?,
        })
    }
}

/// Units and controls that left a board and that its medium has not taken yet. Empty while a world is at rest, so it is no part of
/// the world's state. As bytes it goes to the other processes of a run.
#[derive(Debug)]
pub struct Outbox<M: Medium> {
    units: Vec<Departure<M::Unit>>,
    unheard: Vec<Departure<M::Unit>>,
    dropped: Vec<Dropped<M::Unit>>,
    controls: Vec<Sent<M::Control>>,
}

/// A unit that a board dropped, for captures.
#[derive(Debug)]
pub struct Dropped<U> {
    /// Time of the loss.
    pub time: SimTime,
    /// The unit.
    pub unit: U,
    /// Reason of the loss.
    pub reason: DropReason,
}

impl<U: Value> Value for Dropped<U> {
    fn write(&self, out: &mut Writer) {
        let Self { time, unit, reason } = self;
        time.write(out);
        unit.write(out);
        reason.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Self {
            time: Value::read(from)?,
            unit: U::read(from)?,
            reason: Value::read(from)?,
        })
    }
}

impl<M: Medium> Default for Outbox<M> {
    fn default() -> Self {
        Self {
            units: Vec::new(),
            unheard: Vec::new(),
            dropped: Vec::new(),
            controls: Vec::new(),
        }
    }
}

impl<M: Medium> State for Outbox<M> {
    fn save(&self, out: &mut Writer) {
        let Self {
            units,
            unheard,
            dropped,
            controls,
        } = self;
        units.save(out);
        unheard.save(out);
        dropped.save(out);
        controls.save(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.units.load(from)?;
        self.unheard.load(from)?;
        self.dropped.load(from)?;
        self.controls.load(from)
    }
}

impl<M: Medium> Outbox<M> {
    /// Adds a unit that begins to leave. Heads leave in the order of their times.
    pub fn send(&mut self, head: SimTime, unit: M::Unit) {
        self.units.push(Departure { head, unit });
    }

    /// Records the loss of a unit that is sent with no carrier.
    pub fn send_without_carrier(&mut self, head: SimTime, unit: M::Unit) {
        self.unheard.push(Departure { head, unit });
    }

    /// Records that a unit that came was dropped.
    pub fn drop_unit(&mut self, time: SimTime, unit: M::Unit, reason: DropReason) {
        self.dropped.push(Dropped { time, unit, reason });
    }

    /// Adds a control that leaves.
    pub fn control(&mut self, time: SimTime, control: M::Control) {
        self.controls.push(Sent { time, control });
    }

    /// Number of units that wait to be taken.
    #[must_use]
    pub const fn units(&self) -> usize {
        self.units.len()
    }

    /// Whether nothing waits to be taken.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.units.is_empty()
            && self.unheard.is_empty()
            && self.dropped.is_empty()
            && self.controls.is_empty()
    }

    /// The time at which the head of the first unit leaves that waits to be taken.
    #[must_use]
    pub fn first_head(&self) -> Option<SimTime> {
        self.units.first().map(|departure| departure.head)
    }

    /// The time at which the earliest control leaves that waits to be taken.
    #[must_use]
    pub fn first_control(&self) -> Option<SimTime> {
        self.controls.iter().map(|sent| sent.time).min()
    }

    /// Takes the units that began to leave.
    pub fn take_units(&mut self) -> impl Iterator<Item = Departure<M::Unit>> {
        self.units.drain(..)
    }

    /// Takes the units that were sent with no carrier.
    pub fn take_unheard(&mut self) -> impl Iterator<Item = Departure<M::Unit>> {
        self.unheard.drain(..)
    }

    /// Takes the units that were dropped.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = Dropped<M::Unit>> {
        self.dropped.drain(..)
    }

    /// Takes the controls that left.
    pub fn take_controls(&mut self) -> impl Iterator<Item = Sent<M::Control>> {
        self.controls.drain(..)
    }

    /// Forgets everything: no cable is plugged in.
    pub fn clear(&mut self) {
        self.units.clear();
        self.unheard.clear();
        self.dropped.clear();
        self.controls.clear();
    }
}

/// Something that reaches a board.
#[derive(Debug)]
pub enum Delivery<M: Medium> {
    /// A unit.
    Unit(Arrival<M::Unit>),
    /// A control, and when it is there.
    Control(Sent<M::Control>),
}
