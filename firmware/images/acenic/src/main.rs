//! An Ethernet firmware that speaks the AceNIC host protocol: docs/acenic.md.
//!
//! CPU A runs the protocol, in the order of the chip's event priorities; CPU B is the software DMA assist.
//! Hardware-independent decisions are in the crate `acenic-protocol`. Functions on a frame's path are inlined for the scratchpad; rare ones are not: they stay in SRAM.
//!
//! | module | what |
//! |--------|------|
//! | [`boot`] | memory, configuration, CPU B |
//! | [`assist`] | CPU B |
//! | [`dma`] | queued DMA and actions on its completion |
//! | [`command`] | mailboxes and the command ring |
//! | [`event`] | the event ring, and interrupts |
//! | [`send`] | from the send ring to the MAC |
//! | [`receive`] | from the MAC to the return ring |
//! | [`arrival`] | properties of a received frame |
//! | [`link`] | link up and down |
//! | [`statistics`] | counters and their reports |
//! | [`published`] | words that CPUs, DMA and host share |
//! | [`trace`] | the trace buffer |
//! | [`tables`] | addresses of all tables in SRAM |
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

mod arrival;
mod assist;
mod boot;
mod command;
mod dma;
mod event;
mod link;
mod published;
mod receive;
mod send;
mod statistics;
mod tables;
mod trace;

use acenic_protocol::alarm::Alarms;
use acenic_protocol::coalesce::Limits;
use acenic_protocol::config::Info;
use acenic_protocol::multicast::Multicast;
use defs::acenic::{self, Mode};
use tigon2_hal::cpu::A;
use tigon2_hal::{dispatch, entry_a, panic_hook, sram, timer};

use dma::DmaControl;
use event::EventRing;
use link::GigabitLink;
use receive::Receive;
use send::Send;

/// The alarms on CPU A's timer.
#[derive(Clone, Copy)]
#[repr(usize)]
enum Alarm {
    /// Report received frames.
    Receive,
    /// Report sent frames.
    Send,
    /// Poll the link.
    Link,
    /// Report statistics.
    Statistics,
}

const ALARMS: usize = 4;

/// Longest delay: the timer would take a longer one for past.
const LONGEST_DELAY_US: u32 = 0x7FFF_FFFF;
/// Shortest statistics period: a shorter one would leave no time for frames.
const LEAST_STATISTICS_TICKS: u32 = 1_000;

/// Host settings that may change while the firmware runs: general words, read at the start and at each
/// `UPDATE_GENERAL`.
struct Tuning {
    send: Limits,
    receive: Limits,
    statistics_ticks: u32,
}

impl Tuning {
    const NONE: Self = Self {
        send: Limits {
            descriptors: 0,
            ticks_us: 0,
        },
        receive: Limits {
            descriptors: 0,
            ticks_us: 0,
        },
        statistics_ticks: 0,
    };

    fn read() -> Self {
        Self {
            send: Limits {
                descriptors: sram::read(acenic::TX_MAX_DESCRIPTORS),
                ticks_us: sram::read(acenic::TX_TICKS),
            },
            receive: Limits {
                descriptors: sram::read(acenic::RX_MAX_DESCRIPTORS),
                ticks_us: sram::read(acenic::RX_TICKS),
            },
            statistics_ticks: match sram::read(acenic::STATISTICS_TICKS) {
                0 => 0,
                ticks => ticks.max(LEAST_STATISTICS_TICKS),
            },
        }
    }
}

/// State of CPU A.
struct Firmware {
    info: Info,
    mode: Mode,
    tuning: Tuning,
    /// The configuration is valid: the host may open the interface.
    usable: bool,
    /// The host's protocol stack is up: frames are delivered.
    open: bool,
    alarms: Alarms<ALARMS>,
    control: DmaControl,
    events: EventRing,
    send: Send,
    receive: Receive,
    link: GigabitLink,
    multicast: Option<&'static mut Multicast>,
    /// Every multicast frame is accepted; the list is ignored.
    all_multicast: bool,
}

impl Firmware {
    /// State before start-up.
    const fn new() -> Self {
        Self {
            info: Info::UNKNOWN,
            mode: Mode::empty(),
            tuning: Tuning::NONE,
            usable: false,
            open: false,
            alarms: Alarms::new(),
            control: DmaControl::new(),
            events: EventRing::new(),
            send: Send::new(),
            receive: Receive::new(),
            link: GigabitLink::new(),
            multicast: None,
            all_multicast: false,
        }
    }

    /// Sets an alarm `delay_us` from now, limited to the timer's range.
    fn set_alarm(&mut self, alarm: Alarm, delay_us: u32) {
        let delay_us = delay_us.min(LONGEST_DELAY_US);
        self.alarms
            .set(alarm as usize, timer::now_us().wrapping_add(delay_us));
        self.arm_timer();
    }

    /// Turns an alarm off. The timer may still expire; then nothing is due.
    fn clear_alarm(&mut self, alarm: Alarm) {
        self.alarms.clear(alarm as usize);
    }

    fn arm_timer(&mut self) {
        match self.alarms.next() {
            Some(time) => {
                timer::set_at::<A>(time);
                tigon2_hal::event::enable(tigon2_hal::event::TIMER);
            }
            None => tigon2_hal::event::disable(tigon2_hal::event::TIMER),
        }
    }

    fn on_timer(&mut self) {
        const RECEIVE: usize = Alarm::Receive as usize;
        const SEND: usize = Alarm::Send as usize;
        const LINK: usize = Alarm::Link as usize;
        while let Some(alarm) = self.alarms.take_due(timer::now_us()) {
            match alarm {
                RECEIVE => self.report_received(),
                SEND => self.report_sent(),
                LINK => self.look_at_link(),
                _ => self.statistics_are_due(),
            }
        }
        self.arm_timer();
    }
}

dispatch! {
    fn run(cpu: A, state: Firmware = Firmware::new());
    TIMER => Firmware::on_timer,
    MAC_RX_ATTENTION => Firmware::on_link_attention,
    MAILBOX => Firmware::on_mailbox,
    READ_DMA_ATTENTION => Firmware::on_read_attention,
    WRITE_DMA_ATTENTION => Firmware::on_write_attention,
    READ_DMA_DONE => Firmware::on_read_done,
    WRITE_DMA_DONE => Firmware::on_write_done,
    RX_COMPLETE => Firmware::on_receive,
    SOFT_SEND => Firmware::on_send,
}

entry_a!(boot::main);
panic_hook!(boot::on_panic);
