//! A board in its host's slot: the half of a node that knows the board's type. Its loop is compiled for each board.

use std::any::Any;
use std::cell::LazyCell;
use std::fmt::Debug;

use emulator_base::initiator::Initiator;
use emulator_base::queue::EventQueue;
use emulator_base::time::SimTime;
use emulator_board::events::HostEvent;
use emulator_board::memory::HostMemory;
use emulator_board::pci::PciBus;
use emulator_board::poller::{self, Poller};
use emulator_board::{
    Board, Context, CpuId, Inspect, NodeEvent, NothingThere, Ran, SharedCode, SharedMemory,
};
use emulator_host::program::Programs;
use emulator_observe::event::{Details, TraceKind};
use emulator_observe::tracer::Tracer;
use emulator_state::{Reader, State, StateError, Writer};
use emulator_wire::medium::{Delivery, Medium, MediumId, Outbox};
use emulator_wire::network::delivery_of;

/// The spans after which a node may hear of what has left it. It stops there, so that other nodes, which stand at earlier times, can run
/// up to that moment first.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplySpans {
    /// From the head of a unit.
    pub(super) after_unit: SimTime,
    /// From a control.
    pub(super) after_control: SimTime,
}

impl ReplySpans {
    /// No early stop: a node runs up to its horizon.
    pub(super) const NONE: Self = Self {
        after_unit: SimTime::MAX,
        after_control: SimTime::MAX,
    };

    /// The time at which a node stops, given what has left it.
    #[inline(always)]
    fn stop_time<M: Medium>(self, outbox: &Outbox<M>) -> SimTime {
        let after = |first: Option<SimTime>, span| {
            first.map_or(SimTime::MAX, |time| time.saturating_add(span))
        };
        let units = after(outbox.first_head(), self.after_unit);
        match M::HAS_CONTROLS {
            true => units.min(after(outbox.first_control(), self.after_control)),
            false => units,
        }
    }
}

/// The parts of a node around its slot, for a board that acts.
#[derive(Debug)]
pub(super) struct NodeParts<'a> {
    pub(super) programs: &'a mut Programs,
    pub(super) trace: &'a mut Tracer,
    pub(super) memory: &'a SharedMemory,
    pub(super) pci: &'a mut PciBus,
    pub(super) poller: &'a mut Poller,
    pub(super) now: &'a mut SimTime,
    pub(super) horizon: &'a mut SimTime,
}

/// The parts of a node, unchanged, on which the next activity of its host depends.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostView<'a> {
    pub(super) programs: &'a Programs,
    pub(super) poller: &'a Poller,
    pub(super) pci: &'a PciBus,
    pub(super) now: SimTime,
}

/// A slot with a board of any type. Methods without an explanation have that of the [`Node`](super::node::Node)'s method of the same name.
/// Called a few times for each visit of a node, never for each event: a virtual call costs more than many an event.
pub(super) trait AnySlot: Any + Debug + Send {
    fn inspect(&self) -> &dyn Inspect;
    fn inspect_mut(&mut self) -> &mut dyn Inspect;

    fn save(&self, out: &mut Writer);
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError>;
    /// Gives pending polls the texts that say what they wait for: a saved state does not have them.
    fn restore_poll_reasons(&mut self, node: NodeParts<'_>);

    fn next_activity(&self, host: HostView<'_>) -> SimTime;
    fn next_effect(&self, host: HostView<'_>) -> SimTime;
    fn is_live(&self, host: HostView<'_>) -> bool;
    fn pending_events(&self) -> usize;
    fn long_waits_end(&self, host: HostView<'_>, span: SimTime) -> SimTime;
    fn transmitter_free_at(&self) -> SimTime;
    fn next_control(&self, host: HostView<'_>, effect: SimTime) -> SimTime;
    /// The board's leads: the shortest times from any cause on the board to the unit, and to the control (STOP, GO, PAUSE), that leaves for it.
    fn leads(&self) -> [SimTime; 2];

    fn start_cpu(&mut self, cpu: CpuId, pc: u32, node: NodeParts<'_>);
    /// Lets a CPU that stopped by itself go on at `pc`.
    fn resume_cpu(&mut self, cpu: CpuId, pc: u32, node: NodeParts<'_>);
    fn poke(
        &mut self,
        cpu: CpuId,
        address: u32,
        bytes: &[u8],
        node: NodeParts<'_>,
    ) -> Result<(), NothingThere>;
    fn schedule_reset(&mut self, time: SimTime, pause: Option<SimTime>);

    /// Schedules a reset of the board alone.
    fn schedule_board_reset(&mut self, time: SimTime);
    fn medium(&self) -> MediumId;
    /// Plugs in a cable of the board's medium.
    fn plug_in(&mut self, cable: &dyn Any);
    fn schedule_carrier(&mut self, present: bool, time: SimTime, node: NodeParts<'_>);
    /// Passes a delivery of the board's medium to the board.
    fn deliver(&mut self, delivery: &mut dyn Any, node: NodeParts<'_>);
    fn outbox(&mut self) -> &mut dyn Any;
    /// Whether the outbox has anything.
    fn has_sent(&mut self) -> bool;
    fn clear_outbox(&mut self);
    /// Saves the outbox; nothing if it is empty.
    fn save_outbox(&mut self, out: &mut Writer);
    fn load_outbox(&mut self, from: &mut Reader<'_>) -> Result<(), StateError>;
    /// Shares decoded code with other nodes.
    fn share_code(&mut self, shared: &SharedCode);
    fn start_programs(&mut self, node: NodeParts<'_>);
    fn run_until(&mut self, horizon: SimTime, node: NodeParts<'_>);
    fn run_until_reply(&mut self, horizon: SimTime, replies: ReplySpans, node: NodeParts<'_>);
}

/// A board and the pending events of its node.
#[derive(Debug)]
#[repr(C, align(64))] // What each visit of a node reads stands side by side.
pub(super) struct Slot<B: Board> {
    pub(super) board: B,
    queue: EventQueue<NodeEvent<B::Event>>,
}

impl<B: Board> AnySlot for Slot<B> {
    fn inspect(&self) -> &dyn Inspect {
        &self.board
    }

    fn inspect_mut(&mut self) -> &mut dyn Inspect {
        &mut self.board
    }

    fn save(&self, out: &mut Writer) {
        self.board.save(out);
        self.queue.save(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.board.load(from)?;
        self.queue.load(from)
    }

    fn restore_poll_reasons(&mut self, node: NodeParts<'_>) {
        let events = self.queue.events_mut().filter_map(|event| match event {
            NodeEvent::Host(event) => Some(event),
            _ => None,
        });
        node.programs.restore_poll_reasons(events, node.poller);
    }

    fn next_activity(&self, host: HostView<'_>) -> SimTime {
        self.earliest_activity(host, self.queue.next_time())
    }

    fn next_effect(&self, host: HostView<'_>) -> SimTime {
        if self.board.next_activity(host.now) <= host.now {
            return host.now;
        }
        // A poll whose condition does not hold has no effect, nor has a write that no core reads.
        let polls = LazyCell::new(|| host.programs.polls_fruitlessly(&self.board, host.now));
        let effect = |time, event: &NodeEvent<B::Event>| match event {
            NodeEvent::Host(event) if event.is_poll() && *polls => SimTime::MAX,
            NodeEvent::Host(HostEvent::Store { offset, values })
                if self.board.cores_ignore_write(*offset, values.len()) =>
            {
                SimTime::MAX
            }
            NodeEvent::Host(event) if event.is_of_programs() => {
                host.programs.reaches_board(time, host.pci)
            }
            _ => time,
        };
        // Events behind what happens anyway need not be looked at.
        let limit = self.earliest_activity(host, SimTime::MAX);
        self.queue.earliest(limit, effect).max(host.now)
    }

    fn is_live(&self, host: HostView<'_>) -> bool {
        // A fruitless poll is pending for ever: only other events keep a node alive.
        let pending = self.queue.len() + usize::from(host.poller.is_polling());
        self.board.next_activity(host.now) != SimTime::MAX
            || pending > host.programs.pending_polls()
            || host.programs.next_activity(host.now) != SimTime::MAX
            || host.programs.poll_will_end(&self.board, host.now)
    }

    fn pending_events(&self) -> usize {
        self.queue.len()
    }

    fn long_waits_end(&self, host: HostView<'_>, span: SimTime) -> SimTime {
        let long = host.now.saturating_add(span);
        let last = self.queue.latest(|_| true).filter(|last| *last >= long);
        let last = last.or_else(|| {
            self.queue.latest(|event| match event {
                NodeEvent::Board(event) => B::outlives_reset(event),
                NodeEvent::Host(_) => false,
                NodeEvent::Reset { .. } | NodeEvent::PowerOn | NodeEvent::BoardReset => true,
            })
        });
        let programs = host.programs.long_waits_end(host.now, span);
        programs.max(last.unwrap_or_default())
    }

    fn transmitter_free_at(&self) -> SimTime {
        self.board.transmitter_free_at()
    }

    fn start_cpu(&mut self, cpu: CpuId, pc: u32, mut node: NodeParts<'_>) {
        let (board, _, mut ctx) = self.in_context(&mut node);
        board.start_cpu(cpu, pc, &mut ctx);
    }

    fn resume_cpu(&mut self, cpu: CpuId, pc: u32, mut node: NodeParts<'_>) {
        let (board, _, mut ctx) = self.in_context(&mut node);
        board.resume_cpu(cpu, pc, &mut ctx);
    }

    fn poke(
        &mut self,
        cpu: CpuId,
        address: u32,
        bytes: &[u8],
        mut node: NodeParts<'_>,
    ) -> Result<(), NothingThere> {
        let (board, _, mut ctx) = self.in_context(&mut node);
        board.poke(cpu, address, bytes, &mut ctx)
    }

    fn next_control(&self, host: HostView<'_>, effect: SimTime) -> SimTime {
        if !B::Medium::HAS_CONTROLS {
            return SimTime::MAX;
        }
        let pause = host.now.saturating_add(self.board.control_pause());
        // No event with an effect is due before the end of the pause, so a search would find nothing sooner. The end of the pause and not
        // `effect` is the answer, since what is delivered later may have an effect before that.
        if pause <= effect {
            return pause.saturating_add(self.board.control_lead());
        }
        let reach = |time| host.programs.reaches_board(time, host.pci);
        let cause = |time, event: &NodeEvent<B::Event>| match event {
            NodeEvent::Board(event) if !self.board.may_control(event) => SimTime::MAX,
            NodeEvent::Host(HostEvent::Store { offset, values })
                if self.board.writes_memory(*offset, values.len()) =>
            {
                SimTime::MAX
            }
            NodeEvent::Host(event) if event.is_of_programs() => reach(time),
            _ => time,
        };
        let programs = reach(host.programs.next_activity(host.now));
        let limit = pause.min(programs).min(host.poller.next_time());
        let cause = self.queue.earliest(limit, cause);
        cause.saturating_add(self.board.control_lead())
    }

    fn leads(&self) -> [SimTime; 2] {
        [self.board.unit_lead(), self.board.control_lead()]
    }

    fn schedule_reset(&mut self, time: SimTime, pause: Option<SimTime>) {
        let event = NodeEvent::Reset { pause };
        self.queue.schedule(time, Initiator::Power, event);
    }

    fn schedule_board_reset(&mut self, time: SimTime) {
        self.queue
            .schedule(time, Initiator::Power, NodeEvent::BoardReset);
    }

    fn medium(&self) -> MediumId {
        MediumId::of::<B::Medium>()
    }

    fn plug_in(&mut self, cable: &dyn Any) {
        match cable.downcast_ref() {
            Some(cable) => self.board.plug_in(cable),
            None => unreachable!("the world has compared the media"),
        }
    }

    fn schedule_carrier(&mut self, present: bool, time: SimTime, mut node: NodeParts<'_>) {
        let (board, _, mut ctx) = self.in_context(&mut node);
        board.schedule_carrier(present, time, &mut ctx);
    }

    fn deliver(&mut self, delivery: &mut dyn Any, mut node: NodeParts<'_>) {
        let (board, _, mut ctx) = self.in_context(&mut node);
        match delivery_of::<B::Medium>(delivery) {
            Delivery::Unit(arrival) => board.unit_arrives(arrival, &mut ctx),
            Delivery::Control(sent) => board.control_arrives(sent, &mut ctx),
        }
    }

    fn outbox(&mut self) -> &mut dyn Any {
        self.board.outbox()
    }

    fn has_sent(&mut self) -> bool {
        !self.board.outbox().is_empty()
    }

    fn clear_outbox(&mut self) {
        self.board.outbox().clear();
    }

    fn save_outbox(&mut self, out: &mut Writer) {
        let outbox = self.board.outbox();
        if !outbox.is_empty() {
            outbox.save(out);
        }
    }

    fn load_outbox(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.board.outbox().load(from)
    }

    fn share_code(&mut self, shared: &SharedCode) {
        self.board.share_code(shared);
    }

    fn start_programs(&mut self, mut node: NodeParts<'_>) {
        let (_, programs, mut ctx) = self.in_context(&mut node);
        programs.start_new(&mut ctx);
    }

    fn run_until(&mut self, horizon: SimTime, mut node: NodeParts<'_>) {
        let (_, programs, mut ctx) = self.in_context(&mut node);
        programs.start_new(&mut ctx);
        self.run_to(horizon, ReplySpans::NONE, &mut node);
        // Idle cores that lag have no effects, but they must reach this time too.
        while self.run_cores(horizon, &mut node) != Ran::There {
            self.run_to(horizon, ReplySpans::NONE, &mut node);
        }
        // At the end of a slice, so that it costs nothing in the rounds.
        self.queue.give_up_room();
    }

    fn run_until_reply(&mut self, horizon: SimTime, replies: ReplySpans, mut node: NodeParts<'_>) {
        self.run_to(horizon, replies, &mut node);
    }
}

impl<B: Board> Slot<B> {
    pub(super) fn new(board: B) -> Self {
        let queue = EventQueue::default();
        Self { board, queue }
    }

    /// Board and programs, and their context at the node's present time.
    pub(super) fn in_context<'a>(
        &'a mut self,
        node: &'a mut NodeParts<'_>,
    ) -> (&'a mut B, &'a mut Programs, Context<'a, B::Event>) {
        let ctx = Context {
            now: *node.now,
            horizon: *node.horizon,
            bus_lead: self.board.bus_lead(),
            queue: &mut self.queue,
            poller: node.poller,
            memory: node.memory,
            pci: node.pci,
            trace: node.trace,
        };
        (&mut self.board, node.programs, ctx)
    }

    /// The earliest of `pending` and of the own activities of board and host.
    fn earliest_activity(&self, host: HostView<'_>, pending: SimTime) -> SimTime {
        pending
            .min(self.board.next_activity(host.now))
            .min(host.programs.next_activity(host.now))
            .min(self.next_poll_with_effect(host))
            .max(host.now)
    }

    /// The time at which one of the host's polls may find its condition true; [`SimTime::MAX`] if all are false now.
    fn next_poll_with_effect(&self, host: HostView<'_>) -> SimTime {
        match host.poller.may_end(&self.board, host.now) {
            true => host.poller.next_time(),
            false => SimTime::MAX,
        }
    }

    /// Runs the cores up to a time.
    fn run_cores(&mut self, until: SimTime, node: &mut NodeParts<'_>) -> Ran {
        let (board, _, mut ctx) = self.in_context(node);
        board.run_cores(until, &mut ctx)
    }

    /// Lets everything happen that is due before `horizon`, or before the answer to a unit that
    /// leaves can be there, as `replies` say. Idle cores may fall behind.
    fn run_to(&mut self, horizon: SimTime, replies: ReplySpans, node: &mut NodeParts<'_>) {
        *node.horizon = horizon;
        let mut now = *node.now;
        let (board, programs, mut ctx) = self.in_context(node);
        // Details and instructions are recorded only while an observer wants them.
        if ctx.trace.is_watched() {
            board.start_recording(now);
        }
        loop {
            ctx.horizon = horizon.min(replies.stop_time(board.outbox()));
            ctx.now = now;
            let next = ctx.queue.next_time().min(ctx.horizon);
            let ran = match cores_may_lag(board, ctx.queue, next, now) {
                true if poller::run_idle_polls(board, next, &mut ctx) => Ran::There,
                true => Ran::Changed,
                false => board.run_cores(next, &mut ctx),
            };
            let next = match ran {
                Ran::There => next,
                Ran::Due => ctx.queue.next_time(),
                // A core or a poll has scheduled an event, perhaps earlier than `next`.
                Ran::Changed => continue,
            };
            if next < ctx.horizon && ctx.poller.next_time() == next {
                // The poll becomes an event: the queue orders it among the others of this time.
                poller::hand_over(&mut ctx);
                continue;
            }
            let Some((key, event)) = ctx.queue.pop_before(ctx.horizon) else {
                break;
            };
            debug_assert!(key.time >= now, "{key:?} is due before {now}");
            now = now.max(key.time);
            ctx.now = now;
            handle(event, board, programs, &mut ctx);
        }
        ctx.now = now.max(ctx.horizon);
        record_past_events(board, &mut ctx);
        (*node.now, *node.horizon) = (ctx.now, ctx.horizon);
    }
}

/// Whether every core is idle beyond `next` and independent of the event there. Running them to that
/// time would step through part of a round of their idle loops unnecessarily.
fn cores_may_lag<B: Board>(
    board: &B,
    queue: &EventQueue<NodeEvent<B::Event>>,
    next: SimTime,
    now: SimTime,
) -> bool {
    // Mostly the queue has no event there: then none is looked at.
    board.next_activity(now) > next
        && (queue.next_time() > next
            || queue.next().is_none_or(|(_, event)| match event {
                NodeEvent::Board(event) => board.idle_cores_ignore(event),
                NodeEvent::Host(event) => event.ignores_board(|offset| board.is_memory(offset)),
                NodeEvent::Reset { .. } | NodeEvent::PowerOn | NodeEvent::BoardReset => false,
            }))
}

/// Carries out an event of a node.
fn handle<B: Board>(
    event: NodeEvent<B::Event>,
    board: &mut B,
    programs: &mut Programs,
    ctx: &mut Context<'_, B::Event>,
) {
    match event {
        NodeEvent::Board(event) => board.handle(event, ctx),
        NodeEvent::Host(event) => programs.handle(event, board, ctx),
        NodeEvent::Reset { pause } => reset(pause, board, programs, ctx),
        NodeEvent::BoardReset => reset_board(board, ctx, |_| true),
        NodeEvent::PowerOn => {
            ctx.trace
                .record(ctx.now, Initiator::Power, TraceKind::PowerOn);
            programs.power_on();
            programs.start_new(ctx);
        }
    }
}

/// Records the events that came up by time alone before now, if an observer wants them.
fn record_past_events<B: Board>(board: &mut B, ctx: &mut Context<'_, B::Event>) {
    if ctx.trace.wants(Details::EVENTS) {
        board.record_before(ctx.now, ctx.trace);
    }
}

/// Resets the board, and removes its pending events that a reset cancels. Of the node's other events those stay that outlive it, as
/// `outlives` says.
fn reset_board<B: Board>(
    board: &mut B,
    ctx: &mut Context<'_, B::Event>,
    outlives: impl Fn(&NodeEvent<B::Event>) -> bool,
) {
    record_past_events(board, ctx);
    ctx.trace
        .record(ctx.now, Initiator::Power, TraceKind::Reset);
    ctx.queue.retain(|event| match event {
        NodeEvent::Board(event) => B::outlives_reset(event),
        other => outlives(other),
    });
    board.reset(ctx);
}

/// Resets the machine: the board, its programs and host memory. Only further resets stay pending.
fn reset<B: Board>(
    pause: Option<SimTime>,
    board: &mut B,
    programs: &mut Programs,
    ctx: &mut Context<'_, B::Event>,
) {
    let outlives = |event: &NodeEvent<B::Event>| {
        matches!(event, NodeEvent::Reset { .. } | NodeEvent::BoardReset)
    };
    reset_board(board, ctx, outlives);
    programs.reset(ctx.now, pause.is_some());
    ctx.poller.stop();
    ctx.with_memory(HostMemory::clear);
    if let Some(pause) = pause {
        let on = ctx.now.saturating_add(pause);
        ctx.queue.schedule(on, Initiator::Power, NodeEvent::PowerOn);
    }
}
