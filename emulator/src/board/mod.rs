//! Boards: what a node asks of one ([`Board`]), what tools see of one ([`Inspect`]), and what one may use of its node
//! ([`Context`]).
//!
//! A new board implements both traits. Only the methods without a default are needed for a correct run. The others are
//! promises that let the simulation do less work; each default promises nothing.

mod context;
mod cpu;
mod inspect;
mod stops;

use std::fmt::Debug;

use crate::host::request::PollRequest;
use crate::observe::tracer::Tracer;
use crate::sim::time::SimTime;
use crate::state::{State, Value};
use crate::wire::medium::{Medium, Outbox, Sent};
use crate::wire::unit::Arrival;

pub use context::{Context, NodeEvent, SharedMemory};
pub use cpu::{CpuId, CpuInfo, CpuState, CpuView, StopReason};
pub use inspect::{Area, Inspect, NothingThere, RegisterRow};
pub use stops::{Stops, Watch};

/// A programmable NIC, as a node sees it.
pub trait Board: State + Inspect + Debug + Send + 'static {
    /// The board's own events.
    type Event: Value + Debug + Send;

    /// The medium that the board's port fits.
    type Medium: Medium;

    /// Handles an event at `ctx.now`.
    fn handle(&mut self, event: Self::Event, ctx: &mut Context<'_, Self::Event>);

    /// Lets the cores run until `until`, when the next event is due or `ctx.horizon` is reached, or until one of
    /// them caused something that the node must see first. Returns whether all have reached `until` (or have
    /// nothing to do). The board may handle its events itself and go on; then the node must look again.
    fn run_cores(&mut self, until: SimTime, ctx: &mut Context<'_, Self::Event>) -> bool;

    /// The earliest time at which the cores can do anything by themselves: `now` while one is
    /// busy, [`SimTime::MAX`] when all are halted or idle for good. A run whose programs all wait ends once this is
    /// [`SimTime::MAX`] and no event is pending.
    fn next_activity(&self, now: SimTime) -> SimTime;

    /// The host reads a word of the window.
    fn window_read(&mut self, offset: u32, ctx: &mut Context<'_, Self::Event>) -> u32;

    /// The host writes a word of the window.
    fn window_write(&mut self, offset: u32, value: u32, ctx: &mut Context<'_, Self::Event>);

    /// The value that a read of the window would give, without any effect or cost.
    fn window_peek(&self, offset: u32, now: SimTime) -> u32;

    /// Whether the board asserts its interrupt line. When the line rises the board schedules
    /// [`HostEvent::Interrupt`](crate::host::request::HostEvent::Interrupt).
    fn interrupt_line(&self) -> bool;

    /// Resets the board as its bus does: registers as after power-on, nothing under way, memory kept. Units on the
    /// wire stay there.
    fn reset(&mut self);

    /// Whether a pending event comes from outside the machine, so that a reset does not undo it.
    fn outlives_reset(event: &Self::Event) -> bool;

    /// A cable is plugged in before anything runs: there is a carrier from then on.
    fn plug_in(&mut self, cable: &<Self::Medium as Medium>::Cable);

    /// At `time` the carrier is lost, or comes back.
    fn schedule_carrier(
        &mut self,
        present: bool,
        time: SimTime,
        ctx: &mut Context<'_, Self::Event>,
    );

    /// A unit will reach the board. The board is told ahead, and schedules what follows.
    fn unit_arrives(
        &mut self,
        arrival: Arrival<<Self::Medium as Medium>::Unit>,
        ctx: &mut Context<'_, Self::Event>,
    );

    /// A control will reach the board at `sent.time`. The board is told ahead, and schedules what follows. By default it
    /// ignores controls.
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

    /// Changes bytes as a CPU could, for a debugger; registers are changed as whole words. To be called at rest, and
    /// followed by nothing else at that time that relies on what a core knew. By default nothing can be changed.
    ///
    /// # Errors
    /// If nothing answers at one of the addresses. Those before it are changed.
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

    /// No further unit begins to leave before this time, whatever happens. Allows the nodes that this one can reach to
    /// run ahead of it. By default nothing is promised.
    fn transmitter_free_at(&self) -> SimTime {
        SimTime::ZERO
    }

    /// No control leaves before this time, whatever happens. Allows the nodes that this one can reach to run ahead of it. By default
    /// nothing is promised. Boards of a medium without controls are not asked.
    fn next_control(&self) -> SimTime {
        SimTime::ZERO
    }

    /// Whether cores that idle take no part in `event`: it neither changes what they read nor what
    /// they execute, and does not look at them. Allows them to fall behind it, so that a part of a round of an idle
    /// loop need not be executed. By default they take part in every event.
    fn idle_cores_ignore(&self, _event: &Self::Event) -> bool {
        false
    }

    /// Whether a host's read at this offset of the window only reads memory: it has no effect but its use of buses, gives
    /// what [`window_peek`](Self::window_peek) gives, and idle cores ignore it. Allows polls of that word to be carried out
    /// without events ([`poll_in_vain`](Self::poll_in_vain)), and idle cores to fall behind them. By default no offset is
    /// known to be memory.
    fn is_memory(&self, _offset: u32) -> bool {
        false
    }

    /// Carries out a host's poll of memory at `now` if its condition does not hold, and returns whether it did. Allows
    /// a fruitless poll to be no event. By default every poll is one.
    fn poll_in_vain(&mut self, _poll: &PollRequest, _now: SimTime) -> bool {
        false
    }

    /// Carries out `times` fruitless polls at once, from `first` on, one in each `period_ps`, if each finds the board as
    /// the first one did; returns whether it did. Allows polls to be skipped by the number. By default each is
    /// carried out.
    fn skip_polls(
        &mut self,
        _poll: &PollRequest,
        _first: SimTime,
        _period_ps: u64,
        _times: u64,
    ) -> bool {
        false
    }

    /// The value that a read of the window would give if the host had made this write before, as far as the write moves the
    /// window's view. Allows a deadlock to be recognised while a program polls words in several views: by default the value
    /// is unknown (`None`), and the polls may still end.
    fn window_peek_after(&self, _write: (u32, u32), _offset: u32, _now: SimTime) -> Option<u32> {
        None
    }

    /// From the start of a transfer to its first use of the PCI bus, at least. Allows a host's read to
    /// take the bus ahead of events within that span. By default a transfer may use the bus at once.
    fn bus_lead(&self) -> SimTime {
        SimTime::ZERO
    }

    /// An observer wants the details of events from `now` on, or still does. A board whose bits come up by time alone
    /// notes here from when on it owes them to [`tell_before`](Self::tell_before). By default none do.
    fn begin_telling(&mut self, _now: SimTime) {}

    /// Records what came up by time alone before `time`, which the node has reached
    /// ([`Details::EVENTS`](crate::observe::event::Details::EVENTS)).
    fn tell_before(&mut self, _time: SimTime, _trace: &mut Tracer) {}
}
