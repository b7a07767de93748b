//! Boards: execution by a node ([`Board`]), inspection by tools ([`Inspect`]), and a board's access to its node
//! ([`Context`]).
//!
//! A new board implements both traits. Only the methods without a default are needed for a correct run. The others are
//! promises that let the simulation do less work; each default promises nothing.
#![deny(missing_docs)]

mod context;
mod cpu;
pub mod events;
mod fault;
mod inspect;
pub mod memory;
pub mod pci;
pub mod poller;
mod probes;
pub mod races;
mod stops;
mod traffic;

use std::fmt::Debug;

use emulator_base::time::SimTime;
use emulator_base::unit::Arrival;
pub use emulator_cpu::shared::SharedCode;
use emulator_observe::tracer::Tracer;
use emulator_state::{State, Value};
use emulator_wire::medium::{Medium, Outbox, Sent};

pub use emulator_cpu::bus::FaultKind;
use events::{PollAccess, PollRequest};

pub use context::{Context, NodeEvent, SharedMemory};
pub use cpu::{CpuId, CpuInfo, CpuState, CpuView, StopReason};
pub use fault::{BoardFault, DmaDirection, NoSuchFault, StallFrom};
pub use inspect::{Area, BusyUnit, DescribeFrame, Inspect, NothingThere, RegisterRow};
pub use probes::{BoardProbe, ProbeTable, StageIndex, StageState, StageTotal};
pub use stops::{Stops, Watchpoint};
pub use traffic::{DropCounts, Traffic};

/// Reason why the cores of a board stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// All have reached the time up to which they were to run, or are inactive.
    There,
    /// All have reached the next event of the node, which the board does not handle itself: perhaps not the one that was next when
    /// they began to run.
    Due,
    /// An event was scheduled, or has happened: the node must look at its events again.
    Changed,
}

/// A programmable NIC.
pub trait Board: State + Inspect + Debug + Send + 'static {
    /// The board's own events.
    type Event: Value + Debug + Send;

    /// The medium that the board's port fits.
    type Medium: Medium;

    /// Handles an event at `ctx.now`.
    fn handle(&mut self, event: Self::Event, ctx: &mut Context<'_, Self::Event>);

    /// Runs the cores until `until`, when the next event is due or `ctx.horizon` is reached, or until one of
    /// them causes an effect that the node must handle first. The board may handle its own events and continue.
    fn run_cores(&mut self, until: SimTime, ctx: &mut Context<'_, Self::Event>) -> Ran;

    /// Shares decoded code with other boards from now on, with the same results. By default a board decodes for itself.
    fn share_code(&mut self, _shared: &SharedCode) {}

    /// The earliest time at which a core can act without an event: `now` while one is
    /// busy, [`SimTime::MAX`] when all are halted or idle for good. A run whose programs all wait ends once this is
    /// [`SimTime::MAX`] and no event is pending.
    fn next_activity(&self, now: SimTime) -> SimTime;

    /// Executes the host's read of a window word.
    fn window_read(&mut self, offset: u32, ctx: &mut Context<'_, Self::Event>) -> u32;

    /// Executes the host's write of a window word.
    fn window_write(&mut self, offset: u32, value: u32, ctx: &mut Context<'_, Self::Event>);

    /// Executes the host's writes of consecutive window words, all of which reach the board now.
    fn window_store(&mut self, offset: u32, values: &[u32], ctx: &mut Context<'_, Self::Event>) {
        write_each(self, offset, values, ctx);
    }

    /// Value that a window read would return, without side effects or costs.
    fn window_peek(&self, offset: u32, now: SimTime) -> u32;

    /// Whether the board asserts its interrupt line. At a rising edge the board schedules
    /// [`HostEvent::Interrupt`](crate::events::HostEvent::Interrupt).
    fn interrupt_line(&self) -> bool;

    /// Resets the board as its bus does: registers as after power-on, no pending work, memory kept. Units on the
    /// wire stay there; those that are coming in are dropped.
    fn reset(&mut self, ctx: &mut Context<'_, Self::Event>);

    /// Whether a pending event comes from outside the machine, so that a reset does not cancel it.
    fn outlives_reset(event: &Self::Event) -> bool;

    /// Connects a cable before the run: the carrier is present.
    fn plug_in(&mut self, cable: &<Self::Medium as Medium>::Cable);

    /// Schedules the loss or return of the carrier at `time`.
    fn schedule_carrier(
        &mut self,
        present: bool,
        time: SimTime,
        ctx: &mut Context<'_, Self::Event>,
    );

    /// Announces a unit that will reach the board, which schedules its own events for it.
    fn unit_arrives(
        &mut self,
        arrival: Arrival<<Self::Medium as Medium>::Unit>,
        ctx: &mut Context<'_, Self::Event>,
    );

    /// Announces a control that will reach the board at `sent.time`. The board schedules its own events for it. By default
    /// it ignores controls.
    fn control_arrives(
        &mut self,
        _sent: Sent<<Self::Medium as Medium>::Control>,
        _ctx: &mut Context<'_, Self::Event>,
    ) {
    }

    /// The units and controls that left the board. The medium takes them from here; a reset leaves them alone.
    fn outbox(&mut self) -> &mut Outbox<Self::Medium>;

    /// Starts a CPU at `pc` at `ctx.now`, as a host would. Boards without CPUs do nothing.
    fn start_cpu(&mut self, _cpu: CpuId, _pc: u32, _ctx: &mut Context<'_, Self::Event>) {}

    /// Lets a CPU that stopped by itself go on at `pc` at `ctx.now`, for a debugger. All else stays as it is.
    fn resume_cpu(&mut self, cpu: CpuId, pc: u32, ctx: &mut Context<'_, Self::Event>) {
        self.start_cpu(cpu, pc, ctx);
    }

    /// Changes bytes like a CPU's stores, for a debugger; registers are changed as whole words. Call it at rest; after it,
    /// nothing at that time may rely on the earlier state of a core. By default nothing can be changed.
    ///
    /// # Errors
    /// If an address is unmapped. Bytes before it are changed.
    fn poke(
        &mut self,
        cpu: CpuId,
        address: u32,
        _bytes: &[u8],
        _ctx: &mut Context<'_, Self::Event>,
    ) -> Result<(), NothingThere> {
        let cpu = self.cpus().get(cpu.index()).map_or("", |cpu| cpu.name);
        Err(NothingThere { address, cpu })
    }

    // Promises. Each default is correct for every board.

    /// No further unit begins to leave before this time, in any case. Allows the nodes that this one can reach to
    /// run ahead of it. By default nothing is promised.
    fn transmitter_free_at(&self) -> SimTime {
        SimTime::ZERO
    }

    /// Whether an event may make the board send a control. By default each may. Boards of a medium without controls are not asked.
    fn may_control(&self, _event: &Self::Event) -> bool {
        true
    }

    /// For this span nothing makes the board send a control but an event that [may](Self::may_control) do so, a reset, or an access
    /// of the host to anything but memory ([`writes_memory`](Self::writes_memory)). Allows the nodes that this one can reach to run
    /// further. By default a core may make it send one at once.
    fn control_pause(&self) -> SimTime {
        SimTime::ZERO
    }

    /// The shortest time from whatever makes the board send a unit (an event, an instruction, an access of the host) to the
    /// unit's head. Allows the nodes that this one can reach to run further. By default a head may leave at once.
    fn unit_lead(&self) -> SimTime {
        SimTime::ZERO
    }

    /// The shortest time from whatever makes the board send a control to the control. Allows the nodes that this one can
    /// reach to run further. By default a control may leave at once.
    fn control_lead(&self) -> SimTime {
        SimTime::ZERO
    }

    /// Whether idle cores are independent of `event`: it changes neither what they read nor what
    /// they execute, and does not read their state. Allows them to lag behind it, so that no part of a round of an idle
    /// loop need be executed. By default they depend on every event.
    fn idle_cores_ignore(&self, _event: &Self::Event) -> bool {
        false
    }

    /// Whether a host's write of `words` words of the window from `offset` on only changes memory. By default no offset is known to be
    /// memory.
    fn writes_memory(&self, _offset: u32, _words: usize) -> bool {
        false
    }

    /// Whether such a write only changes memory that no core reads or executes before another event. Allows the nodes that this one can
    /// reach to run ahead of it. By default every write matters.
    fn cores_ignore_write(&self, _offset: u32, _words: usize) -> bool {
        false
    }

    /// Whether a host's read at this window offset reads memory: it only uses buses, returns the value of
    /// [`window_peek`](Self::window_peek), and idle cores ignore it. Allows polls of that word to be executed
    /// without events ([`fruitless_poll`](Self::fruitless_poll)), and idle cores to lag behind them. By default no offset is
    /// known to be memory.
    fn is_memory(&self, _offset: u32) -> bool {
        false
    }

    /// Whether a host's write, as offset and value, only [moves the window's view](Self::window_peek_after). Allows polls of words in
    /// several views without events. By default no write is known to do so.
    fn moves_view(&self, _write: (u32, u32)) -> bool {
        false
    }

    /// Executes an access of a host's poll at `now`, and returns whether it did: a read of memory whose condition is false, or a write
    /// that [moves the view](Self::moves_view) while no core can see that. Allows fruitless polls without events. By default
    /// every poll is an event.
    fn fruitless_poll(&mut self, _access: PollAccess<'_>, _now: SimTime) -> bool {
        false
    }

    /// Executes a write before a host's poll, as [`fruitless_poll`](Self::fruitless_poll) does if it can, but visibly for observers: what
    /// these see has no effect.
    fn poll_write(&mut self, (offset, value): (u32, u32), ctx: &mut Context<'_, Self::Event>) {
        self.window_write(offset, value, ctx);
    }

    /// Executes `times` fruitless polls at once, from `first` on, one per `period_ps`, if the board is unchanged
    /// for all of them; returns whether it did. Allows polls to be skipped by the number. By default each is
    /// executed.
    fn skip_polls(
        &mut self,
        _poll: &PollRequest,
        _first: SimTime,
        _period_ps: u64,
        _times: u64,
    ) -> bool {
        false
    }

    /// Value that a window read would return after this host write, as far as the write moves the
    /// window's view. Allows a deadlock to be recognised while a program polls words in several views: by default the value
    /// is unknown (`None`), and the polls may still end.
    fn window_peek_after(&self, _write: (u32, u32), _offset: u32, _now: SimTime) -> Option<u32> {
        None
    }

    /// Shortest time from the start of a transfer to its first use of the PCI bus. Allows a host's read to
    /// take the bus ahead of events within that span. By default a transfer may use the bus at once.
    fn bus_lead(&self) -> SimTime {
        SimTime::ZERO
    }

    /// Starts, or continues, the recording of state changes caused by time alone, for
    /// [`record_before`](Self::record_before), and of all details. By default there is nothing to do.
    fn start_recording(&mut self, _now: SimTime) {}

    /// Records state changes caused by time alone before `time`, which the node has reached
    /// ([`Details::EVENTS`](emulator_observe::event::Details::EVENTS)).
    fn record_before(&mut self, _time: SimTime, _trace: &mut Tracer) {}
}

/// Executes the host's writes of consecutive window words one by one.
pub fn write_each<B: Board + ?Sized>(
    board: &mut B,
    offset: u32,
    values: &[u32],
    ctx: &mut Context<'_, B::Event>,
) {
    for (offset, &value) in (offset..).step_by(4).zip(values) {
        board.window_write(offset, value, ctx);
    }
}
