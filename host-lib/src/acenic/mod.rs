//! A driver for AceNIC adapters: Tigon2 boards whose firmware sends and receives Ethernet frames
//! (docs/tigon2-driver.md, section 8; layouts in `defs::acenic`).
//!
//! Drivers of this hardware do the same steps, one call each:
//!
//! * [`AceNic::start`] brings the board up and starts the firmware, [`AceNic::wait_running`] waits for
//!   its report, [`AceNic::fill_rings`] and [`Command::StackUp`] make it receive;
//! * [`AceNic::wait`] waits for an interrupt and handles it: frames, events and what was sent come
//!   back as [`ServiceResults`];
//! * [`AceNic::send`] hands over a frame; [`AceNic::command`] gives a command;
//! * [`AceNic::statistics`] and [`AceNic::trace`] show what the firmware says about itself.
//!
//! Invalid data of a firmware in host memory never stops the driver: it becomes a [`Mistake`].
//!
//! A node that sends every received frame back:
//!
//! ```
//! use host_lib::acenic::{AceNic, Command, Config, Event, LinkChange, SendOptions};
//! use host_lib::firmware::Firmware;
//! use host_lib::window::{AnySystem, AnyWindow};
//!
//! const SECOND_NS: u64 = 1_000_000_000;
//!
//! async fn echo(
//!     window: AnyWindow,
//!     system: AnySystem,
//!     firmware: &Firmware,
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     let mut nic = AceNic::start(window, system, firmware, Config::default()).await?;
//!     nic.wait_running().await?;
//!     nic.fill_rings().await?;
//!     nic.command_taken(Command::StackUp).await?;
//!     let up = Event::Link(LinkChange::Up);
//!     if !nic.history().iter().any(|reported| reported.event == up) {
//!         nic.wait_for(up, "the link", SECOND_NS).await?;
//!     }
//!     loop {
//!         for received in nic.wait(SECOND_NS).await?.received {
//!             nic.send(&received.bytes, SendOptions::default()).await?;
//!         }
//!     }
//! }
//! ```

mod command;
mod config;
mod eeprom;
mod error;
mod event;
pub(crate) mod memory;
mod receive;
mod send;
mod service;
mod start;
mod statistics;
pub mod trace;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use defs::acenic::{
    FAST_LINK, FAST_STATE, GIGABIT_LINK, GIGABIT_STATE, INTERFACE_MTU, Link, MASK_INTERRUPTS,
    RX_MAX_DESCRIPTORS, RX_TICKS, TRACE_LENGTH, TRACE_NEXT, TRACE_START, TX_MAX_DESCRIPTORS,
    TX_TICKS,
};

pub use command::Command;
pub use config::{
    Coalescing, Config, FIXED_LINK, JUMBO_MTU, NEGOTIATED_LINK, Rings, STANDARD_MTU, SendRing,
};
pub use error::{
    CommandError, ConfigError, EepromError, MemoryError, Mistake, SendError, StartError, WaitError,
};
pub use event::{Event, LinkChange, Reported};
pub use receive::{ReceivedFrame, RingKind};
pub use send::{Fragment, MOST_OFFSET_BYTES, SHORTEST_FRAME_BYTES, SendOptions};
pub use service::ServiceResults;
pub use statistics::Statistics;

use crate::address::MacAddress;
use crate::board::{BoardWindow, ChipError, Cpu};
use crate::window::{AnySystem, SystemPort};
use memory::{DmaRegion, WORD_BYTES};
use receive::Receiver;
use send::Sender;

/// Offsets of the words in which the firmware reports indices, each in its own cache line: the firmware
/// writes 8 bytes, of which the first four are the index.
const EVENT_PRODUCER: u32 = 0;
const RETURN_PRODUCER: u32 = 64;
const SEND_CONSUMER: u32 = 128;
const INDEX_BYTES: u32 = 192;

/// Largest number of events in the history.
const MOST_HISTORY: usize = 4096;
/// Largest number of mistakes that are kept.
const MOST_FIRST_MISTAKES: usize = 8;

/// An adapter and its driver.
#[derive(Debug)]
pub struct AceNic {
    board: BoardWindow,
    system: AnySystem,
    config: Config,
    address: MacAddress,
    /// General information block.
    info: DmaRegion,
    /// Event ring.
    events: DmaRegion,
    /// Memory of the reported indices.
    indices: DmaRegion,
    sender: Sender,
    receiver: Receiver,
    /// Command producer.
    commands: u32,
    event_consumer: u32,
    /// The firmware's indices at the last check.
    seen: BTreeMap<u32, u32>,
    /// Unprocessed reports are left: the handler's limit was reached.
    news_left: bool,
    history: Vec<Reported>,
    mistakes: u64,
    first_mistakes: Vec<Mistake>,
    released_ps: u64,
}

impl AceNic {
    /// The own Ethernet address.
    #[must_use]
    pub const fn address(&self) -> MacAddress {
        self.address
    }

    /// The settings.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Time of CPU A's release, in picoseconds since the start.
    #[must_use]
    pub const fn released_ps(&self) -> u64 {
        self.released_ps
    }

    /// All events so far (the first 4096).
    #[must_use]
    pub fn history(&self) -> &[Reported] {
        &self.history
    }

    /// Invalid data from the firmware: number of cases so far, and the first ones.
    #[must_use]
    pub fn mistakes(&self) -> (u64, &[Mistake]) {
        (self.mistakes, &self.first_mistakes)
    }

    /// The host system, for memory and time.
    #[must_use]
    pub fn system(&self) -> &dyn SystemPort {
        &*self.system
    }

    /// The host system, mutable.
    pub fn system_mut(&mut self) -> &mut dyn SystemPort {
        &mut *self.system
    }

    /// The board, for accesses without a method here.
    pub const fn board_mut(&mut self) -> &mut BoardWindow {
        &mut self.board
    }

    /// Link state as the firmware reports it: gigabit if up, else 10/100; empty while the link is down.
    pub async fn link_state(&mut self) -> Link {
        let gigabit = Link::from_bits_retain(self.board.read_sram(GIGABIT_STATE).await);
        if gigabit.contains(Link::UP) {
            return gigabit;
        }
        let fast = Link::from_bits_retain(self.board.read_sram(FAST_STATE).await);
        if fast.contains(Link::UP) {
            fast
        } else {
            Link::empty()
        }
    }

    /// Sets the link settings for the next negotiation ([`Command::NegotiateLink`]).
    pub async fn want_link(&mut self, link: Link) {
        for address in [GIGABIT_LINK, FAST_LINK] {
            self.board.write_sram(address, link.bits()).await;
        }
        self.config.link = link;
    }

    /// Sets the coalescing limits.
    pub async fn set_coalescing(&mut self, coalescing: Coalescing) {
        for (address, value) in [
            (TX_TICKS, coalescing.tx_ticks),
            (TX_MAX_DESCRIPTORS, coalescing.tx_descriptors),
            (RX_TICKS, coalescing.rx_ticks),
            (RX_MAX_DESCRIPTORS, coalescing.rx_descriptors),
        ] {
            self.board.write_sram(address, value).await;
        }
        self.config.coalescing = coalescing;
    }

    /// Sets the longest frame (without FCS, with four bytes for a tag). Buffers keep their size.
    pub async fn set_mtu(&mut self, mtu: u32) {
        self.board.write_sram(INTERFACE_MTU, mtu).await;
    }

    /// Masks or unmasks the firmware's interrupts.
    pub async fn mask_interrupts(&mut self, masked: bool) {
        self.board
            .write_sram(MASK_INTERRUPTS, u32::from(masked))
            .await;
    }

    /// Halts both CPUs.
    ///
    /// # Errors
    /// [`ChipError`].
    pub async fn halt(&mut self) -> Result<(), ChipError> {
        self.board.halt(Cpu::A).await?;
        self.board.halt(Cpu::B).await
    }

    /// The firmware's trace, oldest record first; `None` without a trace buffer.
    pub async fn trace(&mut self) -> Option<Vec<trace::Record>> {
        let next = self.board.read_sram(TRACE_NEXT).await;
        let start = self.board.read_sram(TRACE_START).await;
        let length = self.board.read_sram(TRACE_LENGTH).await;
        let place = trace::TraceRange::find(next, start, length)?;
        let mut words = vec![0; ((place.end - place.start) / WORD_BYTES) as usize];
        self.board.read_sram_block(place.start, &mut words).await;
        Some(trace::records(place, |address| {
            let word = (address - place.start) / WORD_BYTES;
            words.get(word as usize).copied().unwrap_or(0)
        }))
    }
}
