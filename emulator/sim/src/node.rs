//! A node: a board and its host, with one total order of events.

use std::any::{Any, type_name};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::slot::{AnySlot, HostView, NodeParts, ReplySpans, Slot};
use emulator_base::time::SimTime;
use emulator_board::memory::HostMemory;
use emulator_board::pci::PciBus;
use emulator_board::poller::Poller;
use emulator_board::{Board, Context, CpuId, Inspect, NothingThere, SharedCode, SharedMemory};
use emulator_host::log::HostLog;
use emulator_host::program::Programs;
use emulator_observe::event::Place;
use emulator_observe::tracer::Tracer;
use emulator_profile::costs::HostCosts;
use emulator_state::{Reader, State, StateError, Writer};
use emulator_wire::medium::MediumId;

/// A board of any type and its host.
#[derive(Debug)]
#[repr(C, align(64))] // Fields that every visit of a node reads share cache lines.
pub struct Node {
    now: SimTime,
    /// Current limit of the run. Each run sets it, so a saved state has none.
    horizon: SimTime,
    /// The board, with its pending events: a trait object, so that a world holds boards of any type.
    slot: Box<dyn AnySlot>,
    /// The trace.
    pub trace: Tracer,
    /// Host programs.
    pub programs: Programs,
    /// Carries out the polls of host programs.
    poller: Poller,
    pci: PciBus,
    memory: SharedMemory,
}

fn lock(memory: &SharedMemory) -> MutexGuard<'_, HostMemory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Node {
    /// Saves the state of a node at rest, which is between two runs. A program is a future and cannot be saved: it is run again from its
    /// log, which the world saves beside the nodes.
    pub(super) fn save(&self, out: &mut Writer) {
        let Self {
            programs,
            trace,
            memory,
            pci,
            poller,
            now,
            horizon: _,
            slot,
        } = self;
        slot.save(out);
        programs.save(out);
        trace.save(out);
        lock(memory).save(out);
        pci.save(out);
        poller.save(out);
        now.save(out);
    }

    /// Loads the state of a node with an equal description. `log` is the replay log of its programs, at
    /// least up to the saved state. With `replay`, programs replay the log from there on.
    pub(super) fn load(
        &mut self,
        log: &HostLog,
        replay: bool,
        from: &mut Reader<'_>,
    ) -> Result<(), StateError> {
        self.slot.load(from)?;
        self.programs.load(log, replay, from)?;
        self.trace.load(from)?;
        lock(&self.memory).load(from)?;
        self.pci.load(from)?;
        self.poller.load(from)?;
        self.now.load(from)?;
        // Reasons of polls are no part of a state: the programs, which are back by now, name them again.
        let (slot, parts) = self.split();
        slot.restore_poll_reasons(parts);
        Ok(())
    }

    /// Creates a node with `memory_megabytes` of host memory.
    #[must_use]
    pub fn new<B: Board>(index: u16, board: B, costs: &HostCosts, memory_megabytes: u32) -> Self {
        let memory = Arc::new(Mutex::new(HostMemory::new(memory_megabytes)));
        Self {
            programs: Programs::new(Arc::clone(&memory), costs),
            trace: Tracer::new(Place::Node(index), board.names()),
            memory,
            pci: PciBus::new(costs.pci_clock_hz),
            poller: Poller::new(costs),
            now: SimTime::ZERO,
            horizon: SimTime::ZERO,
            slot: Box::new(Slot::new(board)),
        }
    }

    /// Other costs of the host from now on, before the run. The board has its own copy.
    pub fn set_host_costs(&mut self, costs: &HostCosts) {
        self.programs.set_costs(costs);
        self.poller = Poller::new(costs);
    }

    /// Current time of the node.
    #[must_use]
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// The PCI bus.
    #[must_use]
    pub const fn pci(&self) -> &PciBus {
        &self.pci
    }

    /// The board, as tools see it.
    #[must_use]
    pub fn inspect(&self) -> &dyn Inspect {
        self.slot.inspect()
    }

    /// The board, as a debugger changes it.
    #[must_use]
    pub fn inspect_mut(&mut self) -> &mut dyn Inspect {
        self.slot.inspect_mut()
    }

    /// The board, if it has this type.
    #[must_use]
    pub fn try_board<B: Board>(&self) -> Option<&B> {
        let slot: &dyn Any = &*self.slot;
        slot.downcast_ref::<Slot<B>>().map(|slot| &slot.board)
    }

    /// The board, if it has this type.
    #[must_use]
    pub fn try_board_mut<B: Board>(&mut self) -> Option<&mut B> {
        let slot: &mut dyn Any = &mut *self.slot;
        slot.downcast_mut::<Slot<B>>().map(|slot| &mut slot.board)
    }

    /// The board of a node whose type the caller knows.
    ///
    /// # Panics
    /// If the board has another type.
    #[must_use]
    #[track_caller]
    pub fn board<B: Board>(&self) -> &B {
        match self.try_board() {
            Some(board) => board,
            None => other_board::<B>(),
        }
    }

    /// The board of a node whose type the caller knows.
    ///
    /// # Panics
    /// If the board has another type.
    #[must_use]
    #[track_caller]
    pub fn board_mut<B: Board>(&mut self) -> &mut B {
        match self.try_board_mut() {
            Some(board) => board,
            None => other_board::<B>(),
        }
    }

    /// Acts on a board whose type the caller knows, at the node's present time, as a host or a test would.
    ///
    /// # Panics
    /// If the board has another type.
    #[track_caller]
    pub fn with_board<B: Board, T>(
        &mut self,
        act: impl FnOnce(&mut B, &mut Context<'_, B::Event>) -> T,
    ) -> T {
        let (slot, mut parts) = self.split();
        let slot: &mut dyn Any = slot;
        let Some(slot) = slot.downcast_mut::<Slot<B>>() else {
            other_board::<B>()
        };
        let (board, _, mut ctx) = slot.in_context(&mut parts);
        act(board, &mut ctx)
    }

    /// Starts a CPU at `pc` now, as a host would.
    pub fn start_cpu(&mut self, cpu: CpuId, pc: u32) {
        let (slot, parts) = self.split();
        slot.start_cpu(cpu, pc, parts);
    }

    /// Changes the program counter of a CPU, for a debugger; a CPU that stopped by itself goes on there. For a node at rest.
    pub fn set_pc(&mut self, cpu: CpuId, pc: u32) {
        let view = self.inspect().cpu(cpu);
        if view.is_some_and(|view| view.state.stopped().is_some()) {
            let (slot, parts) = self.split();
            slot.resume_cpu(cpu, pc, parts);
        } else {
            self.inspect_mut().set_pc(cpu, pc);
        }
    }

    /// Changes bytes as a CPU could, for a debugger; registers are changed as whole words. For a node at rest.
    ///
    /// # Errors
    /// If nothing answers at one of the addresses. Those before it are changed.
    pub fn poke(&mut self, cpu: CpuId, address: u32, bytes: &[u8]) -> Result<(), NothingThere> {
        let (slot, parts) = self.split();
        slot.poke(cpu, address, bytes, parts)
    }

    /// The slot, and the node around it.
    fn split(&mut self) -> (&mut dyn AnySlot, NodeParts<'_>) {
        let parts = NodeParts {
            programs: &mut self.programs,
            trace: &mut self.trace,
            memory: &self.memory,
            pci: &mut self.pci,
            poller: &mut self.poller,
            now: &mut self.now,
            horizon: &mut self.horizon,
        };
        (&mut *self.slot, parts)
    }

    /// The parts on which the next activity of the host depends.
    const fn host_view(&self) -> HostView<'_> {
        HostView {
            programs: &self.programs,
            poller: &self.poller,
            pci: &self.pci,
            now: self.now,
        }
    }

    /// The earliest time at which anything can happen here without a unit or control from outside.
    #[must_use]
    pub fn next_activity(&self) -> SimTime {
        self.slot.next_activity(self.host_view())
    }

    /// The earliest time at which anything but fruitless polling can happen: before it nothing changes that could be noticed
    /// outside the node.
    #[must_use]
    pub fn next_effect(&self) -> SimTime {
        self.slot.next_effect(self.host_view())
    }

    /// Whether anything other than a host program's fruitless polling can happen.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.slot.is_live(self.host_view())
    }

    /// The time up to which the silence of this node has a known reason, for the search for quiet runs: the latest of its events that are due in
    /// `span` or later, of pending events from outside, such as resets, and of the ends of programs' waits for `span` or more.
    /// [`SimTime::ZERO`] if there are none.
    #[must_use]
    pub fn long_waits_end(&self, span: SimTime) -> SimTime {
        self.slot.long_waits_end(self.host_view(), span)
    }

    /// Number of pending events.
    #[must_use]
    pub fn pending_events(&self) -> usize {
        self.slot.pending_events() + usize::from(self.poller.is_polling())
    }

    /// The earliest time at which another unit could begin to leave.
    #[must_use]
    pub fn transmitter_free_at(&self) -> SimTime {
        self.slot.transmitter_free_at()
    }

    /// The earliest time at which a control could leave; [`SimTime::MAX`] if the medium has none. `effect`: the result of
    /// [`next_effect`](Self::next_effect).
    pub(super) fn next_control(&self, effect: SimTime) -> SimTime {
        self.slot.next_control(self.host_view(), effect)
    }

    /// The board's leads, of a unit and of a control.
    pub(super) fn leads(&self) -> [SimTime; 2] {
        self.slot.leads()
    }

    /// Resets the machine at `time`, or now if that time has passed: its programs end wherever they are, the
    /// board stands as after a reset of its bus, host memory is empty, and nothing that either had begun
    /// goes on. Units that have begun to leave stay on the wire; one that is coming in is lost. After
    /// `pause` (`None`: never) the programs of [`Programs::spawn_restartable`] begin anew. A further reset before then replaces this one.
    pub fn schedule_reset(&mut self, time: SimTime, pause: Option<SimTime>) {
        self.slot.schedule_reset(time.max(self.now), pause);
    }

    /// Resets the board alone at `time`, or now if that time has passed: it stands as after a reset of its bus, and nothing that it had begun goes
    /// on, while the programs and host memory stay as they are. Units are as in [`schedule_reset`](Self::schedule_reset).
    pub fn schedule_board_reset(&mut self, time: SimTime) {
        self.slot.schedule_board_reset(time.max(self.now));
    }

    /// The medium that the board's port fits.
    #[must_use]
    pub fn medium(&self) -> MediumId {
        self.slot.medium()
    }

    /// Plugs in a cable, before anything runs. [`Any`], here and below: the node knows no medium, and the board knows the types of its own one.
    pub(super) fn plug_in(&mut self, cable: &dyn Any) {
        self.slot.plug_in(cable);
    }

    /// Schedules the loss or the return of the carrier at `time`.
    pub fn schedule_carrier(&mut self, present: bool, time: SimTime) {
        let (slot, parts) = self.split();
        slot.schedule_carrier(present, time, parts);
    }

    /// Passes a delivery of the board's medium to the board.
    pub(crate) fn deliver(&mut self, delivery: &mut dyn Any) {
        let (slot, parts) = self.split();
        slot.deliver(delivery, parts);
    }

    /// The outbox of the board, of its medium.
    pub(crate) fn outbox(&mut self) -> &mut dyn Any {
        self.slot.outbox()
    }

    /// Whether units or controls left the board that its medium has not taken.
    pub(super) fn has_sent(&mut self) -> bool {
        self.slot.has_sent()
    }

    /// Forgets the units and controls that left the board: no cable is plugged in.
    pub(super) fn clear_outbox(&mut self) {
        self.slot.clear_outbox();
    }

    /// Saves the outbox of the board; nothing if it is empty.
    pub(super) fn save_outbox(&mut self, out: &mut Writer) {
        self.slot.save_outbox(out);
    }

    /// Loads the units and controls that left the board in the process that executes this node.
    pub(super) fn load_outbox(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.slot.load_outbox(from)
    }

    /// Sets the node's time to the one that another process has brought it to.
    pub(super) const fn set_now(&mut self, time: SimTime) {
        self.now = time;
    }

    /// Shares decoded code with other nodes from now on, with the same results.
    pub(super) fn share_code(&mut self, shared: &SharedCode) {
        self.slot.share_code(shared);
    }

    /// Executes everything due before `horizon`.
    pub fn run_until(&mut self, horizon: SimTime) {
        let (slot, parts) = self.split();
        slot.run_until(horizon, parts);
    }

    /// As [`run_until`](Self::run_until), but no further than to the time at which the answer to a unit that leaves meanwhile can be here, as
    /// `replies` say: the caller need not know beforehand whether anything leaves. Clocks of idle CPUs may stay behind.
    pub(super) fn run_until_reply(&mut self, horizon: SimTime, replies: ReplySpans) {
        let (slot, parts) = self.split();
        slot.run_until_reply(horizon, replies, parts);
    }

    /// Begins the programs that have not begun.
    pub(super) fn start_programs(&mut self) {
        let (slot, parts) = self.split();
        slot.start_programs(parts);
    }
}

#[cold]
#[track_caller]
fn other_board<B>() -> ! {
    panic!("the board is no {}", type_name::<B>())
}
