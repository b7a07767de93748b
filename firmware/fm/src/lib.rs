//! FM's control program, independent of the hardware (docs/fm.md).
//!
//! [`Fm::step`] takes the events of the hardware, moves received packets to the host, and sends the packets that the host has written.
//! A multi-send costs other packets nothing before their DMA: only while a packet leaves the firmware looks for further destinations.
//!
//! | module | contents |
//! |--------|----------|
//! | [`nic`] | interface to the hardware |
//! | `send` | send slots to the wire, copies for further destinations |
//! | `receive` | packets to the host |
//!
//! All state is in SRAM words at constant addresses. The code has no division, no multiplication and no copies of payload.
#![no_std]

pub mod nic;
mod receive;
mod send;

pub use nic::Nic;

use defs::fm::map::{
    COMMAND, COMMAND_START, COUNTER_COUNT, COUNTERS, Counter, READY, READY_MAGIC, RING,
    SEND_SLOT_COUNT, SEND_SLOTS, SLOT_CONTROL, SLOT_MORE, SLOTS_DONE, STATE, send_slot,
};

/// The slot that is sent next, or is being sent.
pub(crate) const SLOT: u32 = STATE;
/// Whether a packet is leaving.
pub(crate) const SENDING: u32 = STATE + 4;
/// Further destinations of the packet that is leaving.
pub(crate) const LEFT: u32 = STATE + 8;
/// The entry of its list for the next one.
pub(crate) const ENTRY: u32 = STATE + 12;
/// Start of the packet for the next destination; 0 before the header is rewritten.
pub(crate) const COPY: u32 = STATE + 16;
/// End of the packet.
pub(crate) const END: u32 = STATE + 20;
/// Address of the ring's next slot in host memory.
pub(crate) const RING_NEXT: u32 = STATE + 24;
/// Whether the host has started FM.
const STARTED: u32 = STATE + 28;

/// A node's control program.
#[derive(Debug)]
pub struct Fm<N> {
    nic: N,
}

impl<N: Nic> Fm<N> {
    /// Prepares SRAM and tells the host that it can start.
    pub fn new(mut nic: N) -> Self {
        nic.store(COMMAND, 0);
        nic.store(SLOTS_DONE, 0);
        for counter in 0..COUNTER_COUNT {
            nic.store(COUNTERS + (counter << 2), 0);
        }
        for word in [SENDING, LEFT, ENTRY, COPY, END, RING_NEXT, STARTED] {
            nic.store(word, 0);
        }
        nic.store(SLOT, SEND_SLOTS);
        let mut slot = SEND_SLOTS;
        while slot < send_slot(SEND_SLOT_COUNT) {
            nic.store(slot + SLOT_CONTROL, 0);
            nic.store(slot + SLOT_MORE, 0);
            slot += defs::fm::map::SEND_SLOT_BYTES;
        }
        nic.store(READY, READY_MAGIC);
        Self { nic }
    }

    /// The hardware.
    pub const fn nic(&self) -> &N {
        &self.nic
    }

    /// The hardware, mutable.
    pub const fn nic_mut(&mut self) -> &mut N {
        &mut self.nic
    }

    /// Begins once the host has written its words. Before, no packet is taken and none is sent. Returns whether it has begun.
    pub fn begin(&mut self) -> bool {
        if self.nic.load(STARTED) == 0 && self.nic.load(COMMAND) == COMMAND_START {
            let ring = self.nic.load(RING);
            self.nic.store(RING_NEXT, ring);
            self.nic.store(STARTED, 1);
            self.nic.store(COMMAND, 0);
        }
        self.nic.load(STARTED) != 0
    }

    /// Handles the events that have come up, and a packet that the host has written. Returns whether there was anything to do.
    #[inline(always)]
    pub fn step(&mut self) -> bool {
        let events = self.nic.events();
        if events & N::SENT != 0 {
            self.on_sent();
        }
        let sends = self.send_machine();
        if events & N::RECEIVED != 0 {
            self.on_received();
        }
        if events & N::DMA != 0 {
            self.on_written();
        }
        sends || events != 0
    }

    #[cold]
    #[inline(never)]
    fn count(&mut self, counter: Counter) {
        let at = COUNTERS + ((counter as u32) << 2);
        let value = self.nic.load(at).wrapping_add(1);
        self.nic.store(at, value);
    }
}
