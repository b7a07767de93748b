//! What a node asks of a board, and what a board may use of its node.

use std::sync::{Arc, Mutex, PoisonError};

use super::initiator::Initiator;
use super::queue::EventQueue;
use super::time::SimTime;
use crate::host::memory::HostMemory;
use crate::host::pci::PciBus;
use crate::host::poller::Poller;
use crate::host::request::{HostEvent, PollRequest};
use crate::observe::tracer::Tracer;
use crate::state::{Reader, State, StateError, Value, Writer};
use crate::wire::ethernet::frame::Frame;
use crate::wire::ethernet::link::{Departure, Link};

/// An event of a node.
#[derive(Debug)]
pub enum NodeEvent<E> {
    /// For the board.
    Board(E),
    /// For the host.
    Host(HostEvent),
    /// The machine is reset, and is on again after a pause, if ever.
    Reset {
        /// The pause.
        pause: Option<SimTime>,
    },
    /// The machine is on again.
    PowerOn,
}

impl<E: Value> Value for NodeEvent<E> {
    fn write(&self, out: &mut Writer) {
        match self {
            Self::Board(event) => {
                out.bytes(&[0]);
                event.write(out);
            }
            Self::Host(event) => {
                out.bytes(&[1]);
                event.write(out);
            }
            Self::Reset { pause } => {
                out.bytes(&[2]);
                pause.write(out);
            }
            Self::PowerOn => out.bytes(&[3]),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(match u8::read(from)? {
            0 => Self::Board(E::read(from)?),
            1 => Self::Host(HostEvent::read(from)?),
            2 => Self::Reset {
                pause: Value::read(from)?,
            },
            3 => Self::PowerOn,
            _ => return Err(StateError::Value("an event")),
        })
    }
}

/// Host memory, shared between a node and the programs that run on it.
pub type SharedMemory = Arc<Mutex<HostMemory>>;

/// What a board may use while it acts: the time, and the node around it.
#[derive(Debug)]
pub struct Context<'a, E> {
    /// The time of the action.
    pub now: SimTime,
    /// Nothing comes from outside the node before this time.
    pub horizon: SimTime,
    /// A transfer that the board starts now asks for the PCI bus after this span, or later.
    pub bus_lead: SimTime,
    /// Pending events.
    pub queue: &'a mut EventQueue<NodeEvent<E>>,
    /// The polls of the host.
    pub poller: &'a mut Poller,
    /// Host memory.
    pub memory: &'a SharedMemory,
    /// The PCI bus.
    pub pci: &'a mut PciBus,
    /// The trace.
    pub trace: &'a mut Tracer,
    /// Frames that begin to leave.
    pub departures: &'a mut Vec<Departure>,
    /// Frames that are sent while there is no signal: nobody gets them.
    pub in_vain: &'a mut Vec<Departure>,
}

impl<E> Context<'_, E> {
    /// Schedules a board event.
    pub fn schedule(&mut self, time: SimTime, initiator: Initiator, event: E) {
        self.queue
            .schedule(time, initiator, NodeEvent::Board(event));
    }

    /// Runs `act` with host memory.
    pub fn with_memory<T>(&self, act: impl FnOnce(&mut HostMemory) -> T) -> T {
        act(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A programmable NIC, as a node sees it.
pub trait Board: State + Send {
    /// Its events.
    type Event: Value + std::fmt::Debug + Send;

    /// Handles an event at `ctx.now`.
    fn handle(&mut self, event: Self::Event, ctx: &mut Context<'_, Self::Event>);

    /// Lets the cores run until `until`, when the next event is due or `ctx.horizon` is reached, or until one of
    /// them caused something that the node must see first. Tells whether all have reached `until` (or have
    /// nothing to do). The board may handle its events itself and go on; then the node must look again.
    fn run_cores(&mut self, until: SimTime, ctx: &mut Context<'_, Self::Event>) -> bool;

    /// The host reads a word of the window.
    fn window_read(&mut self, offset: u32, ctx: &mut Context<'_, Self::Event>) -> u32;

    /// The host writes a word of the window.
    fn window_write(&mut self, offset: u32, value: u32, ctx: &mut Context<'_, Self::Event>);

    /// What a read of the window would give, without any effect or cost.
    fn window_peek(&self, offset: u32, now: SimTime) -> u32;

    /// The same if the host had made this write before, as far as it moves the window's view.
    fn window_peek_after(&self, write: (u32, u32), offset: u32, now: SimTime) -> u32;

    /// From now on somebody asks what comes up by time alone ([`tell_before`](Self::tell_before)), or still does.
    fn begin_telling(&mut self, _now: SimTime) {}

    /// Records what came up by time alone before `time`, which the node has reached
    /// ([`Details::EVENTS`](crate::observe::event::Details::EVENTS)).
    fn tell_before(&mut self, _time: SimTime, _trace: &mut Tracer) {}

    /// A reset of the whole machine, as its bus passes it on: registers as after power-on, nothing
    /// under way, memory kept. What is on the wire stays there.
    fn reset(&mut self);

    /// Whether a pending event comes from outside the machine, so that a reset does not undo it.
    fn outlives_reset(event: &Self::Event) -> bool;

    /// Whether the board asserts its interrupt line. When the line rises the board schedules
    /// [`HostEvent::Interrupt`].
    fn interrupt_line(&self) -> bool;

    /// The first bit of a frame reaches the board at `first_bit`.
    fn frame_arrives(
        &mut self,
        frame: Frame,
        first_bit: SimTime,
        ctx: &mut Context<'_, Self::Event>,
    );

    /// A cable is plugged in before anything runs: a signal comes in.
    fn plug_in(&mut self);

    /// What the cable is like.
    fn set_link(&mut self, link: Link);

    /// At `time` the cable is pulled out, or plugged in again.
    fn schedule_signal(&mut self, present: bool, time: SimTime, ctx: &mut Context<'_, Self::Event>);

    /// The earliest time at which the cores can do anything by themselves: `now` while one is
    /// busy, [`SimTime::MAX`] when all are halted or idle for good.
    fn next_activity(&self, now: SimTime) -> SimTime;

    /// Whether cores that idle take no part in `event`: it neither changes what they read nor what
    /// they execute, and does not look at them. They may fall behind it.
    fn idle_cores_ignore(&self, event: &Self::Event) -> bool;

    /// The same of a host's read of the window: it reads memory.
    fn is_memory(&self, offset: u32) -> bool;

    /// The host polls at `now`. If it polls memory and the condition does not hold, carries out the access
    /// and tells so; else nothing happens.
    fn poll_in_vain(&mut self, poll: &PollRequest, now: SimTime) -> bool;

    /// Polls that are in vain, `times` of them from `first` on, once in `period_ps`. Tells whether that
    /// could be done: each found the board as the first one.
    fn skip_polls(
        &mut self,
        poll: &PollRequest,
        first: SimTime,
        period_ps: u64,
        times: u64,
    ) -> bool;

    /// From the start of a transfer to its first use of the PCI bus, at least.
    fn bus_lead(&self) -> SimTime;

    /// The earliest time at which another frame could begin to leave.
    fn transmitter_free_at(&self) -> SimTime;

    /// One line for each core: where it stands, for reports.
    fn describe_cores(&self) -> Vec<String>;
}
