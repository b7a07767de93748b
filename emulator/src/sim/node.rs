//! A node: one board and its host, in one total order of events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::board::{Board, Context, NodeEvent, SharedMemory};
use super::initiator::Initiator;
use super::queue::EventQueue;
use super::time::SimTime;
use crate::host::costs::HostCosts;
use crate::host::log::HostLog;
use crate::host::memory::HostMemory;
use crate::host::pci::PciBus;
use crate::host::poller::{self, Poller};
use crate::host::program::Programs;
use crate::host::request::PollRequest;
use crate::observe::event::{Details, Place, TraceKind};
use crate::observe::tracer::Tracer;
use crate::state::{Reader, State, StateError, Writer};
use crate::wire::ethernet::frame::Frame;
use crate::wire::ethernet::link::Departure;

/// A board and its host.
#[derive(Debug)]
pub struct Node<B: Board> {
    /// The board.
    pub board: B,
    /// Host programs.
    pub programs: Programs,
    /// The trace.
    pub trace: Tracer,
    memory: SharedMemory,
    pci: PciBus,
    poller: Poller,
    queue: EventQueue<NodeEvent<B::Event>>,
    departures: Vec<Departure>,
    /// Frames that were sent while there was no signal.
    in_vain: Vec<Departure>,
    now: SimTime,
    /// Up to there it runs at present.
    horizon: SimTime,
}

fn lock(memory: &SharedMemory) -> MutexGuard<'_, HostMemory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B: Board> Node<B> {
    /// Saves the state of a node at rest, but for what its programs were told.
    pub(super) fn save(&self, out: &mut Writer) {
        let Self {
            board,
            programs,
            trace,
            memory,
            pci,
            poller,
            queue,
            departures: _,
            now,
            horizon: _,
            in_vain: _,
        } = self;
        board.save(out);
        programs.save(out);
        trace.save(out);
        lock(memory).save(out);
        pci.save(out);
        poller.save(out);
        queue.save(out);
        now.save(out);
    }

    /// Takes up the state of a node that was built as this one was, and whose programs were told what is in `log`. If
    /// they `repeat`, they go on as it says.
    pub(super) fn load(
        &mut self,
        log: &HostLog,
        repeat: bool,
        from: &mut Reader<'_>,
    ) -> Result<(), StateError> {
        self.board.load(from)?;
        self.programs.load(log, repeat, from)?;
        self.trace.load(from)?;
        lock(&self.memory).load(from)?;
        self.pci.load(from)?;
        self.poller.load(from)?;
        self.queue.load(from)?;
        self.now.load(from)?;
        let events = self.queue.events_mut().filter_map(|event| match event {
            NodeEvent::Host(event) => Some(event),
            _ => None,
        });
        self.programs.explain_polls(events, &mut self.poller);
        Ok(())
    }

    /// A node with `memory_megabytes` of host memory.
    #[must_use]
    pub fn new(index: u16, board: B, costs: &HostCosts, memory_megabytes: u32) -> Self {
        let memory = Arc::new(Mutex::new(HostMemory::new(memory_megabytes)));
        Self {
            board,
            programs: Programs::new(Arc::clone(&memory), costs),
            trace: Tracer::new(Place::Node(index)),
            memory,
            pci: PciBus::new(costs.pci_clock_hz),
            poller: Poller::new(costs),
            queue: EventQueue::default(),
            departures: Vec::new(),
            in_vain: Vec::new(),
            now: SimTime::ZERO,
            horizon: SimTime::ZERO,
        }
    }

    /// Where the node stands in time.
    #[must_use]
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// The PCI bus.
    #[must_use]
    pub const fn pci(&self) -> &PciBus {
        &self.pci
    }

    /// Board and programs, and what they act in at the node's present time.
    fn parts(&mut self) -> (&mut B, &mut Programs, Context<'_, B::Event>) {
        let ctx = Context {
            now: self.now,
            horizon: self.horizon,
            bus_lead: self.board.bus_lead(),
            queue: &mut self.queue,
            poller: &mut self.poller,
            memory: &self.memory,
            pci: &mut self.pci,
            trace: &mut self.trace,
            departures: &mut self.departures,
            in_vain: &mut self.in_vain,
        };
        (&mut self.board, &mut self.programs, ctx)
    }

    /// Acts on the board at the node's present time, as a host or a test would.
    pub fn with_board<T>(
        &mut self,
        act: impl FnOnce(&mut B, &mut Context<'_, B::Event>) -> T,
    ) -> T {
        let (board, _, mut ctx) = self.parts();
        act(board, &mut ctx)
    }

    /// The earliest time at which anything can happen here without a frame from outside.
    #[must_use]
    pub fn next_activity(&self) -> SimTime {
        self.queue
            .next_time()
            .min(self.board.next_activity(self.now))
            .min(self.programs.next_activity(self.now))
            .min(self.next_poll_with_effect())
            .max(self.now)
    }

    /// The same without fruitless polling: before that time nothing changes here that anybody else could
    /// notice.
    #[must_use]
    pub fn next_effect(&self) -> SimTime {
        let polls = self.programs.polls_in_vain(&self.board, self.now);
        let counts = |event: &NodeEvent<B::Event>| match event {
            NodeEvent::Host(event) => !(polls && event.is_poll()),
            _ => true,
        };
        self.queue
            .next_time_of(counts)
            .min(self.board.next_activity(self.now))
            .min(self.programs.next_activity(self.now))
            .min(self.next_poll_with_effect())
            .max(self.now)
    }

    /// When the host notices that what it polls for has come; [`SimTime::MAX`] if it has not.
    fn next_poll_with_effect(&self) -> SimTime {
        let holds = |poll: PollRequest| poll.holds(self.board.window_peek(poll.offset, self.now));
        match self.poller.condition() {
            Some(poll) if holds(poll) => self.poller.next_time(),
            _ => SimTime::MAX,
        }
    }

    /// Whether something other than a host program's fruitless polling can happen here.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.board.next_activity(self.now) != SimTime::MAX
            || self.pending_events() > self.programs.pending_polls()
            || self.programs.next_activity(self.now) != SimTime::MAX
            || self.programs.poll_will_end(&self.board, self.now)
    }

    /// How many events are pending.
    #[must_use]
    pub fn pending_events(&self) -> usize {
        self.queue.len() + usize::from(self.poller.condition().is_some())
    }

    /// Resets the machine at `time`, or now if that is over: its programs end wherever they are, the
    /// board stands as after a reset of its bus, host memory is empty, and nothing that either had begun
    /// goes on. Frames that have begun to leave stay on the wire; one that is coming in is lost. After
    /// `pause` (`None`: never) the restartable programs begin anew. Another reset before that counts
    /// instead.
    pub fn schedule_reset(&mut self, time: SimTime, pause: Option<SimTime>) {
        let event = NodeEvent::Reset { pause };
        self.queue
            .schedule(time.max(self.now), Initiator::Power, event);
    }

    /// The first bit of a frame reaches this node at `first_bit`.
    pub fn frame_arrives(&mut self, frame: Frame, first_bit: SimTime) {
        self.with_board(|board, ctx| board.frame_arrives(frame, first_bit, ctx));
    }

    /// The frames that began to leave since the last call.
    pub fn take_departures(&mut self) -> Vec<Departure> {
        std::mem::take(&mut self.departures)
    }

    /// The same one by one, without giving the list away.
    pub(super) fn drain_departures(&mut self) -> impl Iterator<Item = Departure> {
        self.departures.drain(..)
    }

    /// The frames that were sent while there was no signal.
    pub(super) fn take_in_vain(&mut self) -> Vec<Departure> {
        std::mem::take(&mut self.in_vain)
    }

    /// Lets everything happen that is due before `horizon`.
    pub fn run_until(&mut self, horizon: SimTime) {
        self.run_until_reply(horizon, SimTime::MAX);
        // Idle cores that fell behind have nothing to say; but they shall stand there too.
        while !self.with_board(|board, ctx| board.run_cores(horizon, ctx)) {
            self.run_until_reply(horizon, SimTime::MAX);
        }
    }

    /// Lets everything happen that is due before `horizon`, or before the answer to a frame that
    /// leaves can be there: `round_trip` after its first bit. Idle cores may fall behind.
    pub(super) fn run_until_reply(&mut self, horizon: SimTime, round_trip: SimTime) {
        self.start_programs();
        if self.trace.wants(Details::EVENTS) {
            self.board.begin_telling(self.now);
        }
        self.horizon = horizon;
        loop {
            if let Some(sent) = self.departures.first() {
                let reply = sent.first_bit.saturating_add(round_trip);
                self.horizon = horizon.min(reply);
            }
            let horizon = self.horizon;
            let next = self.queue.next_time().min(horizon);
            let lag = self.cores_may_lag(next);
            let there = self.with_board(|board, ctx| match lag {
                true => poller::carry_on(board, next, ctx),
                false => board.run_cores(next, ctx),
            });
            if !there {
                // A core or a poll scheduled something, perhaps earlier than `next`.
                continue;
            }
            if next < horizon && self.poller.next_time() == next {
                // The queue knows who comes first.
                self.with_board(|_, ctx| poller::hand_over(ctx));
                continue;
            }
            let Some((key, event)) = self.queue.pop_before(horizon) else {
                self.now = self.now.max(horizon);
                self.tell();
                return;
            };
            debug_assert!(key.time >= self.now, "{key:?} is due before {}", self.now);
            self.now = self.now.max(key.time);
            self.handle(event);
        }
    }

    /// Whether every core idles beyond `next`, and whatever happens then does not concern them. Bringing
    /// them there would mean stepping through a part of a round of their loops for nothing.
    fn cores_may_lag(&self, next: SimTime) -> bool {
        self.board.next_activity(self.now) > next
            && match self.queue.next() {
                Some((key, event)) if key.time <= next => match event {
                    NodeEvent::Board(event) => self.board.idle_cores_ignore(event),
                    NodeEvent::Host(event) => {
                        event.spares_board(|offset| self.board.is_memory(offset))
                    }
                    NodeEvent::Reset { .. } | NodeEvent::PowerOn => false,
                },
                _ => true,
            }
    }

    fn handle(&mut self, event: NodeEvent<B::Event>) {
        let (board, programs, mut ctx) = self.parts();
        match event {
            NodeEvent::Board(event) => board.handle(event, &mut ctx),
            NodeEvent::Host(event) => programs.handle(event, board, &mut ctx),
            NodeEvent::Reset { pause } => self.reset(pause),
            NodeEvent::PowerOn => self.power_on(),
        }
    }

    /// Tells those who ask what came up by time alone, before now.
    fn tell(&mut self) {
        if self.trace.wants(Details::EVENTS) {
            self.board.tell_before(self.now, &mut self.trace);
        }
    }

    fn reset(&mut self, pause: Option<SimTime>) {
        self.tell();
        self.trace
            .record(self.now, Initiator::Power, TraceKind::Reset);
        self.queue.retain(|event| match event {
            NodeEvent::Board(event) => B::outlives_reset(event),
            NodeEvent::Host(_) | NodeEvent::PowerOn => false,
            NodeEvent::Reset { .. } => true,
        });
        let (board, programs, ctx) = self.parts();
        board.reset();
        programs.reset(pause.is_some());
        ctx.poller.stop();
        ctx.with_memory(HostMemory::clear);
        if let Some(pause) = pause {
            let on = self.now.saturating_add(pause);
            self.queue
                .schedule(on, Initiator::Power, NodeEvent::PowerOn);
        }
    }

    fn power_on(&mut self) {
        self.trace
            .record(self.now, Initiator::Power, TraceKind::PowerOn);
        self.programs.power_on();
        self.start_programs();
    }

    pub(super) fn start_programs(&mut self) {
        let (_, programs, mut ctx) = self.parts();
        programs.start_new(&mut ctx);
    }
}
