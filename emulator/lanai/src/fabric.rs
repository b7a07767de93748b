//! All blocks of the board but the CPU, and the meaning of accesses to special registers.

use std::sync::Arc;

use super::arbitration::Arbitration;
use super::chip::Generation;
use super::dma_blocks::{Chains, pulsed};
use super::doorbell::Doorbells;
use super::eeprom::Eeprom;
use super::host_dma::HostDma;
use super::isr::{Cause, Isr};
use super::port::Port;
use super::receiver::{Checking, Incoming, Receiver};
use super::recent::{RecentWrites, RegisterWrite};
use super::special::{Row, Special, Storage};
use super::sram::{Marks, OwnSram, SPACE, Sram, SramCode};
use super::timers::Timers;
use super::timing::Timing;
use super::transmitter::{Appending, Transmitter};
use super::watchdog::Watchdog;
use super::window::Control;
use emulator_base::initiator::Initiator;
use emulator_base::time::{ClockDomain, SimTime};
use emulator_board::events::HostEvent;
use emulator_board::{Context, CpuId, NodeEvent, ProbeTable, Stops, Traffic};
use emulator_cpu::ahead::Ahead;
use emulator_cpu::clock::TICKS_PER_CYCLE;
use emulator_cpu::lanai::Op;
use emulator_cpu::lanai::pipeline::Pipeline;
use emulator_observe::event::TraceKind;
use emulator_state::{state, value_enum};
use emulator_wire::medium::Outbox;
use emulator_wire::myrinet::{Control as NetworkControl, Myrinet};

/// An event of the board.
#[derive(Debug)]
pub enum BoardEvent {
    /// An interval timer may have passed 0.
    Timer(u8),
    /// The transfer with this number may ask for the PCI bus.
    DmaReady(u32),
    /// A burst of the transfer with this number is over.
    DmaBurst {
        /// Number of the transfer.
        number: u32,
        /// Bytes of the burst.
        bytes: u32,
    },
    /// The head of a packet is there.
    Head(Incoming),
    /// A part of a packet is there.
    ReceivePart(u32),
    /// Bytes have waited in the port for the span with this number.
    PortFills(u32),
    /// The network says something.
    Heard(NetworkControl),
    /// A part of a segment has left.
    SendPart {
        /// Number of the segment.
        segment: u32,
        /// Whether the segment ends its packet.
        tail: bool,
    },
    /// A packet may have been blocked for too long.
    Watchdog,
    /// The carrier of the link is lost, or comes back.
    Carrier(bool),
}

value_enum!(BoardEvent {
    Timer { 0: index },
    DmaReady { 0: number },
    DmaBurst {
        number: number,
        bytes: bytes
    },
    Head { 0: incoming },
    ReceivePart { 0: step },
    PortFills { 0: span },
    Heard { 0: control },
    SendPart {
        segment: segment,
        tail: tail
    },
    Watchdog {},
    Carrier { 0: present },
});

/// Context of an action of the board.
pub type BoardContext<'a> = Context<'a, BoardEvent>;

/// The value for the register `clock` that the EEPROM states: one that a board of that time had (GUESS for the others).
const CLOCK_VALUE: u32 = 0xA0;

/// All blocks but the CPU.
#[derive(Debug)]
#[repr(C)] // What each visit of a node reads stands side by side.
pub struct Fabric {
    pub(super) interrupt_line: bool,
    pub(super) control: Control,
    pub(super) isr: Isr,
    /// Converts ticks of the CPU's clock to time.
    pub(super) ticks: ClockDomain,
    pub(super) bus: Arbitration,
    /// Local memory.
    pub sram: Sram,
    pub(super) outbox: Outbox<Myrinet>,
    pub(super) stops: Stops,
    pub(super) timers: Timers,
    pub(super) transmitter: Transmitter,
    pub(super) receiver: Receiver,
    pub(super) dma: HostDma,
    /// Costs.
    pub timing: Timing,
    pub(super) watchdog: Watchdog,
    pub(super) port: Port,
    /// Packets sent and received.
    pub traffic: Traffic,
    pub(super) chains: Chains,
    pub(super) storage: Storage,
    pub(super) doorbells: Doorbells,
    pub(super) eeprom: Eeprom,
    /// The last writes of special registers.
    pub recent: RecentWrites,
    /// Probes of the firmware.
    pub(super) probes: ProbeTable,
    /// Addresses below that may be those of code.
    pub(super) code_space: u32,
    /// Instructions that the CPU had executed when it was started.
    pub(super) begun_at: u64,
}

state!(Fabric {
    sram,
    bus,
    isr,
    timers,
    storage,
    dma,
    chains,
    receiver,
    transmitter,
    control,
    doorbells,
    interrupt_line,
    port,
    traffic,
    watchdog,
    begun_at
} fixed {
    timing,
    ticks,
    eeprom,
    outbox,
    stops,
    recent,
    probes,
    code_space
});

/// The record of a board.
fn record(timing: &Timing, sram_bytes: u32, address: [u8; 6], serial: u32) -> Eeprom {
    let version = Eeprom::version(timing.generation, timing.chip_minor);
    Eeprom::new(version, CLOCK_VALUE, sram_bytes, address, serial)
}

impl Fabric {
    /// Gives the board an address and a serial number, which its EEPROM states.
    pub fn set_address(&mut self, address: [u8; 6], serial: u32) {
        self.eeprom = record(&self.timing, self.sram.size(), address, serial);
    }

    /// All blocks after power-on.
    #[must_use]
    pub fn new(sram_bytes: u32, timing: Timing) -> Self {
        let generation = timing.generation;
        let sram = Sram::new(sram_bytes);
        let address = [0x00, 0x60, 0xDD, 0, 0, 1];
        Self {
            ticks: ClockDomain::new(timing.core_clock_hz * TICKS_PER_CYCLE),
            bus: Arbitration::new(timing.memory_width_bytes, timing.memory_cycles_per_clock),
            eeprom: record(&timing, sram.size(), address, 1),
            sram,
            isr: Isr::new(generation),
            timers: Timers::new(generation),
            storage: Storage::default(),
            dma: HostDma::default(),
            chains: Chains::default(),
            receiver: Receiver::new(generation),
            transmitter: Transmitter::new(generation),
            control: Control::new(generation),
            doorbells: Doorbells::default(),
            interrupt_line: false,
            port: Port::new(&timing),
            traffic: Traffic::default(),
            watchdog: Watchdog::default(),
            outbox: Outbox::default(),
            stops: Stops::default(),
            recent: RecentWrites::default(),
            probes: ProbeTable::default(),
            code_space: SPACE,
            begun_at: 0,
            timing,
        }
    }

    /// Transfers of host DMA so far: from the host, to the host.
    #[must_use]
    pub const fn dma_transfers(&self) -> [u64; 2] {
        self.dma.started
    }

    /// The generation of the chip.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.timing.generation
    }

    /// Resets the chip: registers are 0, engines stop, packets that come and go are lost. Memory stays.
    pub(super) fn reset_chip(&mut self, ctx: &mut BoardContext) {
        let now = ctx.now;
        self.bus.reset();
        self.isr.reset();
        self.timers.reset(now);
        self.storage.reset();
        self.dma.reset(now);
        let lost = self.receiver.reset();
        self.lose_incoming(lost, ctx);
        self.transmitter.reset();
        self.port.reset(now, &mut self.outbox);
        // A look that is under way finds nothing blocked.
        self.watchdog.release();
    }

    /// Resets the board, as its bus does.
    pub(super) fn reset_board(&mut self, ctx: &mut BoardContext) {
        self.reset_chip(ctx);
        // The bus's reset cancels events.
        self.watchdog = Watchdog::default();
        self.chains = Chains::default();
        self.doorbells = Doorbells::default();
        self.control = Control::new(self.generation());
        self.interrupt_line = false;
    }

    /// The instruction at `pc`, decoded, with those behind it as far as `ahead` goes, and with marks of tools and of the firmware.
    pub(super) fn fetch(&mut self, pc: u32, pipeline: &Pipeline, ahead: Ahead) -> Op {
        let marks = Marks {
            breakpoints: self.stops.breakpoints(CpuId::new(0)),
            probes: &self.probes,
        };
        self.sram.fetch(pc, pipeline, ahead, &marks)
    }

    /// [`Sram::open`] for the firmware's code.
    pub(super) fn open(&mut self, fetches: bool, waits: Option<u8>) -> (SramCode<'_>, OwnSram<'_>) {
        self.sram.open(fetches, waits, self.code_space)
    }

    /// The tick of a time.
    pub(super) fn tick(&self, now: SimTime) -> u64 {
        self.ticks.first_at(now)
    }

    /// Records that a guest did something that the board does not define.
    pub(super) fn mistake(text: String, who: Initiator, ctx: &mut BoardContext) {
        let text: Arc<str> = text.into();
        let kind = TraceKind::GuestMistake { text };
        ctx.trace.record(ctx.now, who, kind);
    }

    /// The interrupt status.
    #[inline]
    pub(super) fn status(&self, now: SimTime) -> u32 {
        let generation = self.generation();
        let mut bits = self.isr.bits();
        for index in 0..generation.timers() {
            if self.timers.has_passed(index, now) {
                bits |= Cause::Timer(index).bit(generation);
            }
        }
        if !self.transmitter.is_busy() {
            bits |= Cause::SendReady.bit(generation);
        }
        bits
    }

    /// Notes in the interrupt status which timers have passed 0.
    #[inline]
    fn settle_timers(&mut self, now: SimTime) {
        for index in 0..self.generation().timers() {
            if self.timers.take_pass(index, now) {
                self.isr.raise(Cause::Timer(index));
            }
        }
    }

    /// Handles the event of a timer.
    pub(super) fn timer_event(&mut self, index: u8, ctx: &mut BoardContext) {
        self.settle_timers(ctx.now);
        let next = self.timers.event_came(index.into(), ctx.now);
        self.schedule_timer(index, next, ctx);
        self.update_line(ctx);
    }

    fn schedule_timer(&self, index: u8, time: Option<SimTime>, ctx: &mut BoardContext) {
        if let Some(time) = time {
            let block = Initiator::Block(0);
            ctx.schedule(time, block, BoardEvent::Timer(index));
        }
    }

    /// Raises or releases the interrupt to the host.
    pub(super) fn update_line(&mut self, ctx: &mut BoardContext) {
        let status = self.status(ctx.now);
        let line = self.control.interrupts && status & self.isr.mask != 0;
        if line == self.interrupt_line {
            return;
        }
        self.interrupt_line = line;
        let kind = TraceKind::Interrupt { asserted: line };
        ctx.trace.record(ctx.now, Initiator::Block(0), kind);
        if line {
            let taken = ctx.now.saturating_add(self.timing.host.interrupt);
            let event = NodeEvent::Host(HostEvent::Interrupt);
            ctx.queue.schedule(taken, Initiator::Host, event);
        }
    }

    /// Raises a cause in the interrupt status.
    pub(super) fn raise(&mut self, cause: Cause, ctx: &mut BoardContext) {
        self.isr.raise(cause);
        self.update_line(ctx);
    }

    /// The options of the network port: value of MYRINET.
    pub(super) fn network_options(&self) -> u32 {
        let rows = super::special::rows(self.generation()).iter();
        let mut rows = rows.filter(|row| row.special == Special::Network);
        rows.next().map_or(0, |row| self.storage.get(row))
    }

    /// The bytes that the receiver stores in place of check sequences.
    pub(super) fn checking(&self) -> Checking {
        let options = self.network_options();
        match self.generation() {
            Generation::L4 if options & 2 == 0 => Checking::Off,
            Generation::L4 => Checking::Crc8,
            _ if options & 2 != 0 => Checking::Crc32,
            Generation::L9 if options & 8 == 0 => Checking::Off,
            Generation::L7 | Generation::L9 => Checking::Crc8,
        }
    }

    /// The check sequences that the sender appends.
    pub(super) fn appending(&self) -> Appending {
        let options = self.network_options();
        let crc32 = self.generation() != Generation::L4 && options & 2 != 0;
        let crc8 = match self.generation() {
            Generation::L4 => options & 2 != 0,
            Generation::L7 => true,
            Generation::L9 => crc32 || options & 4 != 0,
        };
        Appending { crc32, crc8 }
    }

    /// The value of a special register, without side effects: no register has any.
    pub(super) fn read_special(&self, row: &Row, now: SimTime) -> u32 {
        match row.special {
            Special::Isr => self.status(now),
            Special::Eimr => self.isr.mask,
            Special::Timer(index) => self.timers.interval(index, now),
            Special::Rtc => self.timers.clock(now),
            Special::Cycles => self.storage.get(row).wrapping_add(self.cycles(now)),
            Special::Checksum => self.dma.sum,
            Special::HostAddress => self.dma.host,
            Special::LocalAddress => self.dma.local,
            Special::Count => self.dma.count(),
            Special::Direction => self.dma.direction,
            Special::ReceivePointer => self.receiver.pointer,
            Special::ReceiveLimit => self.receiver.limit,
            Special::SendPointer => self.transmitter.pointer,
            Special::SendLimit | Special::SendLimitTail => self.transmitter.limit,
            Special::SendAlign => self.transmitter.skip,
            Special::SendHeader => self.transmitter.header,
            Special::Network | Special::Storage => self.storage.get(row),
            Special::Pulse | Special::Programmed | Special::Context => 0,
        }
    }

    fn cycles(&self, now: SimTime) -> u32 {
        (self.ticks.last_at(now) / TICKS_PER_CYCLE) as u32
    }

    /// Writes a special register for the LANai or the host.
    pub(super) fn write_special(
        &mut self,
        row: &Row,
        value: u32,
        who: Initiator,
        ctx: &mut BoardContext,
    ) {
        self.recent.note(RegisterWrite {
            time: ctx.now,
            who,
            name: row.name,
            value,
        });
        match row.special {
            Special::Isr => {
                self.settle_timers(ctx.now);
                match who {
                    Initiator::Host => self.isr.write_by_host(value),
                    _ => self.isr.write_by_lanai(value),
                }
                self.update_line(ctx);
            }
            Special::Eimr => {
                self.isr.mask = value;
                self.update_line(ctx);
            }
            Special::Timer(index) => {
                self.settle_timers(ctx.now);
                let next = self.timers.set_interval(index, value, ctx.now);
                self.schedule_timer(index as u8, next, ctx);
            }
            Special::Rtc => self.timers.set_clock(value, ctx.now),
            Special::Cycles => {
                let base = value.wrapping_sub(self.cycles(ctx.now));
                self.storage.set(row, base);
            }
            Special::Checksum => self.dma.sum = value,
            Special::HostAddress => self.dma.host = value,
            Special::LocalAddress => self.dma.local = value,
            Special::Count => self.start_transfer(value, who, ctx),
            Special::Direction => self.dma.direction = value,
            Special::Pulse => {
                self.chains.wake(pulsed(value));
                self.next_block(ctx);
            }
            Special::ReceivePointer => self.receiver.pointer = value,
            Special::ReceiveLimit => self.arm_receiver(value, ctx),
            Special::SendPointer => self.transmitter.pointer = value,
            Special::SendLimit => self.send(value, false, who, ctx),
            Special::SendLimitTail => self.send(value, true, who, ctx),
            Special::SendAlign => self.transmitter.skip = value,
            Special::SendHeader => self.transmitter.header = value,
            Special::Network => {
                self.storage.set(row, value);
                self.watch(ctx);
            }
            Special::Storage => self.storage.set(row, value),
            Special::Programmed | Special::Context => {
                let text = format!("write of {value:#x} to {}, which is not modelled", row.name);
                Self::mistake(text, who, ctx);
            }
        }
    }

    /// Handles an event.
    pub(super) fn handle(&mut self, event: BoardEvent, ctx: &mut BoardContext) {
        match event {
            BoardEvent::Timer(index) => self.timer_event(index, ctx),
            BoardEvent::DmaReady(number) => self.dma_ready(number, ctx),
            BoardEvent::DmaBurst { number, bytes } => self.dma_burst(number, bytes, ctx),
            BoardEvent::Head(incoming) => self.packet_comes(incoming, ctx),
            BoardEvent::ReceivePart(step) => self.part_is_there(step, ctx),
            BoardEvent::PortFills(span) => self.port_is_full(span, ctx),
            BoardEvent::Watchdog => self.watchdog_looks(ctx),
            BoardEvent::Carrier(present) => self.carrier(present, ctx),
            BoardEvent::Heard(control) => self.hear(control, ctx),
            BoardEvent::SendPart { segment, tail } => self.part_has_left(segment, tail, ctx),
        }
    }
}
