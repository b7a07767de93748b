//! The board without its cores: owns every block by value, and carries out their decisions.
//!
//! * this file: memory, levels, interrupts, mistakes;
//! * `registers`, `local_control`: the register file;
//! * `dma/transfer`: DMA;
//! * `mac/traffic`: frames;
//! * `serdes/link`: the fibre;
//! * `inspect/event_bits`: initiators that set bits of the event registers.

use defs::tigon2::event as bit;
use defs::tigon2::map::STATISTICS_BASE;
use defs::tigon2::regs::{MacRxState, MacTxState};
use defs::tigon2::rings::MacRxDescriptor;

use super::assist::Assist;
use super::cpus::CpuPlan;
use super::dma::Channel;
use super::dma::stall::Rests;
use super::dma::transfer::DmaStep;
use super::eeprom::Eeprom;
use super::event::EventRegisters;
use super::mac::Mac;
use super::mac::traffic::RxSide;
use super::mailbox::Mailbox;
use super::map;
use super::races::BoardRaces;
use super::semaphore::Semaphores;
use super::serdes::Serdes;
use super::sram::{Sram, SramSize};
use super::sram_banks::SramRange;
use super::timer::Timer;
use super::timing::Timing;
use super::window::{Target, Window};
use emulator_base::initiator::{Actor, Initiator};
use emulator_base::time::{ClockDomain, SimTime};
use emulator_board::events::{HostEvent, PollAccess, PollRequest};
use emulator_board::{Context, NodeEvent, Stops, Traffic};
use emulator_cpu::clock::TICKS_PER_CYCLE;
use emulator_observe::event::{Details, TraceKind};
use emulator_state::state;
use emulator_state::value_enum;
use emulator_wire::ethernet::Ethernet;
use emulator_wire::ethernet::frame::Frame;
use emulator_wire::ethernet::link::Link;
use emulator_wire::medium::Outbox;

/// An event of the board.
#[derive(Debug)]
pub enum BoardEvent {
    /// A DMA channel takes its next step.
    Dma(DmaStep),
    /// The frame being sent has left.
    TxDone,
    /// 64 more bytes of a frame have arrived.
    RxBurst {
        /// The frame.
        frame: Frame,
        /// The burst's offset in it.
        offset: u32,
    },
    /// A stored frame becomes visible to the firmware.
    RxDone {
        /// Index of the frame's descriptor.
        index: u32,
        /// Address of the frame in local memory.
        address: u32,
        /// Status and length.
        status_length: u32,
    },
    /// A configuration word of the link partner arrives.
    ConfigWord,
    /// The carrier on the fibre appears or is lost.
    Signal {
        /// Whether the carrier is present from now on.
        present: bool,
    },
}

impl BoardEvent {
    /// Initiator of the event.
    const fn initiator(&self) -> Initiator {
        match self {
            Self::Dma(step) => step.initiator(),
            Self::TxDone => Initiator::Transmitter,
            Self::RxBurst { .. } | Self::RxDone { .. } | Self::ConfigWord | Self::Signal { .. } => {
                Initiator::Receiver
            }
        }
    }
}

value_enum!(BoardEvent {
    Dma { 0: step },
    TxDone {},
    RxBurst { frame: frame, offset: offset },
    RxDone { index: index, address: address, status_length: status_length },
    ConfigWord {},
    Signal { present: present }
});

/// The context in which the board acts.
pub type BoardContext<'a> = Context<'a, BoardEvent>;

/// All blocks but the cores.
#[derive(Debug)]
pub struct Fabric {
    /// CPUs of the board.
    pub(super) cpus: CpuPlan,
    /// External memory.
    pub sram: Sram,
    /// Timer.
    pub timer: Timer,
    /// Semaphores.
    pub semaphore: Semaphores,
    /// Mailbox events.
    pub mailbox: Mailbox,
    /// Event registers.
    pub events: EventRegisters,
    /// Host to NIC.
    pub dma_read: Channel,
    /// NIC to host.
    pub dma_write: Channel,
    /// Stalls of the channels: reads, writes.
    pub(super) rests: [Rests; 2],
    /// DMA rings.
    pub assist: Assist,
    /// MAC.
    pub mac: Mac,
    /// Serializer and link partner.
    pub serdes: Serdes,
    /// The board's serial EEPROM.
    pub eeprom: Eeprom,
    /// PCI window.
    pub window: Window,
    /// Costs.
    pub timing: Timing,
    /// The cores' clock in ticks.
    pub ticks: ClockDomain,
    /// The time whose tick was asked for last, and that tick.
    last_tick: (SimTime, u64),
    /// The cable that is plugged in.
    pub link: Link,
    /// Breakpoints and watchpoints.
    pub(super) stops: Stops,
    /// Time from which bits set by the timer are not recorded yet.
    pub(super) unrecorded_from: SimTime,
    /// Registers that are storage.
    pub(super) storage: Box<[u32; 256]>,
    /// The interrupt, as the host reads it.
    pub(super) interrupt: bool,
    /// The line to the host: the interrupt, unless the host masks it.
    pub(super) interrupt_line: bool,
    /// Number of rising edges of the line.
    pub interrupts: u64,
    pub(super) rx_side: RxSide,
    /// Frames sent and received.
    pub traffic: Traffic,
    /// The board's own frames occupy the wire until this time.
    pub(super) wire_free_at: SimTime,
    /// The search for races, while there is one.
    pub(super) races: Option<Box<BoardRaces>>,
    /// Sent frames, for the medium.
    pub(super) outbox: Outbox<Ethernet>,
}

state!(Fabric {
    sram,
    timer,
    semaphore,
    mailbox,
    events,
    dma_read,
    dma_write,
    assist,
    mac,
    serdes,
    eeprom,
    window,
    storage,
    interrupt,
    interrupt_line,
    interrupts,
    rx_side,
    traffic,
    wire_free_at
} lists { rests } fixed {
    cpus,
    timing,
    ticks,
    last_tick,
    link,
    stops,
    unrecorded_from,
    races,
    outbox
});

/// The PCI configuration header at offset 0: an AceNIC (docs/tigon2-registers.md, section 2).
const PCI_HEADER: [(usize, u32); 4] = [
    // Device 0x0001, vendor 0x12AE: fibre AceNIC.
    (0x00, 0x0001_12AE),
    // Bus master and memory space on; 66 MHz, fast back-to-back.
    (0x04, 0x02A0_0006),
    // Ethernet controller, revision 6.
    (0x08, 0x0200_0006),
    // Latency and grant timers, interrupt pin A.
    (0x3C, 0x4040_0100),
];

fn power_on_storage() -> Box<[u32; 256]> {
    let mut storage = Box::new([0; 256]);
    for (offset, value) in PCI_HEADER {
        storage[offset / 4] = value;
    }
    storage
}

impl Fabric {
    /// State after a power-on reset.
    #[must_use]
    pub fn new(sram: SramSize, timing: Timing) -> Self {
        let cpus = timing.cpus;
        Self {
            cpus,
            sram: Sram::with_banks(sram, timing.sram_banks),
            timer: Timer::new(cpus),
            semaphore: Semaphores::new(timing.semaphores),
            mailbox: Mailbox::new(cpus),
            events: EventRegisters::new(cpus),
            dma_read: Channel::default(),
            dma_write: Channel::default(),
            rests: Default::default(),
            assist: Assist::default(),
            mac: Mac::default(),
            serdes: Serdes::default(),
            eeprom: Eeprom::default(),
            window: Window::new(cpus),
            timing,
            ticks: ClockDomain::new(timing.core_clock_hz * TICKS_PER_CYCLE),
            last_tick: (SimTime::ZERO, 0),
            link: timing.wire,
            stops: Stops::default(),
            unrecorded_from: SimTime::ZERO,
            storage: power_on_storage(),
            interrupt: false,
            interrupt_line: false,
            interrupts: 0,
            rx_side: RxSide::default(),
            traffic: Traffic::default(),
            wire_free_at: SimTime::ZERO,
            races: None,
            outbox: Outbox::default(),
        }
    }

    /// Resets the board, as the host's hard reset does: registers as after power-on, transfers aborted, memory kept.
    pub(super) fn reset(&mut self, ctx: &mut BoardContext) {
        self.dma_read.abort();
        self.dma_write.abort();
        self.timer.reset(ctx.now);
        self.semaphore.reset();
        self.mailbox.reset();
        self.events.reset();
        self.assist = Assist::default();
        self.mac = Mac {
            sending: self.mac.sending,
            ..Mac::default()
        };
        self.window = Window::new(self.cpus);
        self.serdes.reset();
        self.storage = power_on_storage();
        self.interrupt = false;
        self.interrupt_line = false;
        self.abandon_incoming(ctx);
    }

    /// Handles an event at `ctx.now`. Returns whether the cores read other event registers then: of their inputs it can
    /// change only the levels.
    pub(super) fn handle(&mut self, event: BoardEvent, ctx: &mut BoardContext) -> bool {
        let levels = self.events.levels();
        let who = event.initiator().into();
        self.telling(who, ctx, |fabric, ctx| fabric.execute_event(event, ctx));
        self.events.differ_from(levels)
    }

    fn execute_event(&mut self, event: BoardEvent, ctx: &mut BoardContext) {
        match event {
            BoardEvent::Dma(step) => self.dma_step(step, ctx),
            BoardEvent::TxDone => self.tx_done(ctx),
            BoardEvent::RxBurst { frame, offset } => self.rx_burst(frame, offset, ctx),
            BoardEvent::RxDone {
                index,
                address,
                status_length,
            } => {
                let descriptor = MacRxDescriptor {
                    address,
                    status_length,
                };
                self.rx_done(index, descriptor, ctx);
            }
            BoardEvent::ConfigWord => self.config_word(),
            BoardEvent::Signal { present } => self.signal_changes(present, ctx),
        }
    }

    /// Derives the event levels again from the blocks' states.
    pub(super) fn update_levels(&mut self) {
        let level = |on: bool, bit: u32| u32::from(on) << bit;
        let levels = level(self.mac.receive_due(), bit::RX_COMPLETE)
            | level(self.assist.write.completion_due(), bit::WRITE_DMA_DONE)
            | level(self.assist.read.completion_due(), bit::READ_DMA_DONE)
            | level(self.dma_write.failed(), bit::WRITE_DMA_ATTENTION)
            | level(self.dma_read.failed(), bit::READ_DMA_ATTENTION)
            | level(
                self.mac.rx_state & MacRxState::ATTENTIONS.bits() != 0,
                bit::MAC_RX_ATTENTION,
            )
            | level(
                self.mac.tx_state & MacTxState::ATTENTIONS.bits() != 0,
                bit::MAC_TX_ATTENTION,
            );
        self.events.set_levels(levels);
    }

    /// The first tick that begins at or after `time`. What happens at a time asks for its tick again.
    #[inline]
    pub(super) fn tick_at(&mut self, time: SimTime) -> u64 {
        if self.last_tick.0 != time {
            self.last_tick = (time, self.ticks.first_at(time));
        }
        self.last_tick.1
    }

    /// Takes the SRAM bus for a burst.
    #[inline]
    pub(super) fn charge_burst(&mut self, range: SramRange, now: SimTime) {
        let tick = self.tick_at(now);
        let cycles = self.timing.sram_burst_cycles;
        self.sram.take_bus_at(tick, range, cycles);
    }

    /// Asserts or deasserts the interrupt. Returns whether the host was notified.
    pub(super) fn set_interrupt(
        &mut self,
        asserted: bool,
        who: Actor,
        ctx: &mut BoardContext,
    ) -> bool {
        if self.interrupt != asserted {
            self.interrupt = asserted;
            let kind = TraceKind::Interrupt { asserted };
            ctx.trace.record_at(ctx.now, who.initiator, who.pc, kind);
        }
        self.drive_interrupt_line(ctx)
    }

    /// Drives the line by the interrupt and its mask. Returns whether it rose: then the host is notified.
    pub(super) fn drive_interrupt_line(&mut self, ctx: &mut BoardContext) -> bool {
        let line = self.interrupt && !self.interrupt_masked();
        let rises = line && !self.interrupt_line;
        self.interrupt_line = line;
        if rises {
            self.interrupts += 1;
            let taken = ctx.now.saturating_add(self.timing.host.interrupt);
            let event = NodeEvent::Host(HostEvent::Interrupt);
            ctx.queue.schedule(taken, Initiator::Host, event);
        }
        rises
    }

    /// Adds one to a MAC statistics counter in SRAM, given by its address.
    pub(super) fn count(&mut self, address: u32) {
        debug_assert!(address >= STATISTICS_BASE);
        let value = self.sram.word(address).wrapping_add(1);
        self.sram.set_word(address, value);
    }

    /// Writes an SRAM word for the host.
    pub(super) fn host_writes_sram(&mut self, address: u32, value: u32, ctx: &mut BoardContext) {
        self.watch(address, 4, Initiator::Host, ctx);
        self.tell_races(|races| races.host_wrote(address, ctx.now));
        self.sram.set_word(address, value);
        let tick = self.ticks.first_at(ctx.now);
        let cycles = self.timing.sram_word_cycles;
        self.sram
            .take_bus_at(tick, SramRange::word(address), cycles);
    }

    /// [`Board::fruitless_poll`](emulator_board::Board::fruitless_poll) at `tick`. A loop of a core that reads the window's base, as
    /// `is_base_read` tells, sees that the view moves.
    #[inline]
    pub(super) fn fruitless_poll(
        &mut self,
        access: PollAccess<'_>,
        is_base_read: impl FnOnce() -> bool,
        tick: u64,
    ) -> bool {
        match access {
            PollAccess::Read(poll) => self.fruitless_read(poll, tick),
            PollAccess::Move((_, base)) => {
                let unseen = !is_base_read();
                if unseen {
                    self.window.set_base(base);
                }
                unseen
            }
        }
    }

    #[inline]
    fn fruitless_read(&mut self, poll: &PollRequest, tick: u64) -> bool {
        match self.window.target(poll.offset) {
            Target::Sram(address) => self.fruitless_look(poll, address, tick),
            _ => false,
        }
    }

    #[inline(always)]
    fn fruitless_look(&mut self, poll: &PollRequest, address: u32, tick: u64) -> bool {
        let in_vain = !poll.holds(self.sram.word(address));
        if in_vain {
            let cycles = self.timing.sram_word_cycles;
            self.sram
                .take_bus_at(tick, SramRange::word(address), cycles);
        }
        in_vain
    }

    /// [`Board::skip_polls`](emulator_board::Board::skip_polls).
    pub(super) fn skip_polls(
        &mut self,
        poll: &PollRequest,
        first: SimTime,
        period_ps: u64,
        times: u64,
    ) -> bool {
        // Each must find the bus free: then the last one represents all.
        let last = first + SimTime::from_ps(period_ps * (times - 1));
        let (from, until) = (self.ticks.first_at(first), self.ticks.first_at(last));
        let Target::Sram(address) = self.window.target(poll.offset) else {
            return false;
        };
        self.sram.bus_stays_free(address, from, until) && self.fruitless_look(poll, address, until)
    }

    /// Handles a host write in the fixed part of its window: a mailbox's low word sets its
    /// event.
    pub(super) fn mailbox_written(&mut self, address: u32, value: u32, ctx: &mut BoardContext) {
        if let Some(index) = Mailbox::index_of(address) {
            let who = Initiator::Host.into();
            self.telling(who, ctx, |fabric, ctx| {
                fabric.tell_races(BoardRaces::mailbox_written);
                fabric.mailbox.raise(index);
                let kind = TraceKind::MailboxWrite { index, value };
                ctx.trace.record(ctx.now, Initiator::Host, kind);
            });
            if index == 0 {
                self.set_interrupt(false, Initiator::Host.into(), ctx);
            }
        }
    }

    /// Records that hardware moved the index in the register at `offset`.
    pub(super) fn index_moved(&self, initiator: Initiator, offset: u32, ctx: &mut BoardContext) {
        if ctx.trace.wants(Details::RINGS) {
            let kind = TraceKind::RingIndex {
                address: map::register_address(offset),
                value: self.read_register(offset, ctx.now),
            };
            ctx.trace.record_detail(ctx.now, initiator, None, kind);
        }
    }

    /// Records behaviour that the chip does not define.
    pub(super) fn mistake(who: impl Into<Actor>, text: String, ctx: &mut BoardContext) {
        let who = who.into();
        let kind = TraceKind::GuestMistake { text: text.into() };
        ctx.trace.record_at(ctx.now, who.initiator, who.pc, kind);
    }
}
