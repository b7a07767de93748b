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
//! All state is in SRAM words at constant addresses, laid out here. The code has no division, no multiplication and no copies of payload.
#![no_std]

pub mod nic;
mod receive;
mod send;

pub use nic::Nic;

use defs::fm::map::{
    COMMAND, COMMAND_START, COUNTER_COUNT, COUNTERS, CREDITS, Counter, NODE, NODES, READY,
    READY_MAGIC, RING, RING_END, SEND_SLOT_COUNT, SEND_SLOTS, SLOT_CONTROL, SLOT_HEADER, SLOT_MORE,
    SLOTS_DONE, STATE, send_slot,
};
use defs::fm::packet::{WORD_HANDLER, WORD_TARGET, WORD_TYPE};
use defs::record::Memory;
use defs::{record, words};

words! {
    impl Fm<N: Nic>;
    /// The slot that is sent next, or is being sent.
    slot, set_slot: SendSlot = STATE;
    /// Whether a packet is leaving: 1 or 0.
    sending, set_sending: u32 = STATE + 4;
    /// Further destinations of the packet that is leaving.
    left, set_left: u32 = STATE + 8;
    /// Address of the list's entry for the next destination.
    entry, set_entry: u32 = STATE + 12;
    /// Start of the packet for the next destination; 0 before the header is rewritten.
    copy, set_copy: u32 = STATE + 16;
    /// End of the packet.
    end, set_end: u32 = STATE + 20;
    /// Address of the ring's next slot in host memory.
    ring_next, set_ring_next: u32 = STATE + 24;
    /// Whether the host has started FM: 1 or 0.
    started, set_started: u32 = STATE + 28;
    /// Command of the host; 0 if there is none.
    command, set_command: u32 = COMMAND;
    /// Number of slots that are free again since the start.
    slots_done, set_slots_done: u32 = SLOTS_DONE;
    /// Address of the ring in host memory; written by the host.
    ring: u32 = RING;
    /// End of the ring in host memory; written by the host.
    ring_end: u32 = RING_END;
    /// Own logical node; written by the host.
    node: u32 = NODE;
    /// Number of nodes; written by the host.
    nodes: u32 = NODES;
    /// Address of the words of credits in host memory; written by the host.
    credits: u32 = CREDITS;
}

record! {
    /// Send slot, written by the host.
    pub(crate) struct SendSlot {
        /// Length of the route and address of the packet's end; 0 if the slot is empty.
        control, set_control: u32 = SLOT_CONTROL;
        /// The packet's header, before which its route ends.
        header => Header = SLOT_HEADER;
        /// Number of further destinations.
        more, set_more: u32 = SLOT_MORE;
    }
}

record! {
    /// Header of a packet.
    pub(crate) struct Header {
        /// Type of the packet.
        kind: u32 = WORD_TYPE;
        /// Target, sender, credits.
        target, set_target: u32 = WORD_TARGET;
        /// Handler, length.
        handler: u32 = WORD_HANDLER;
    }
}

/// A node's control program.
#[derive(Debug)]
pub struct Fm<N> {
    nic: N,
}

impl<N: Nic> Fm<N> {
    /// Prepares SRAM and tells the host that it can start.
    pub fn new(nic: N) -> Self {
        let mut fm = Self { nic };
        fm.set_command(0);
        fm.set_slots_done(0);
        for counter in 0..COUNTER_COUNT {
            fm.nic.store(COUNTERS + (counter << 2), 0);
        }
        fm.set_sending(0);
        fm.set_left(0);
        fm.set_entry(0);
        fm.set_copy(0);
        fm.set_end(0);
        fm.set_ring_next(0);
        fm.set_started(0);
        fm.set_slot(SendSlot::at(SEND_SLOTS));
        let mut slot = SEND_SLOTS;
        while slot < send_slot(SEND_SLOT_COUNT) {
            SendSlot::at(slot).set_control(&mut fm, 0);
            SendSlot::at(slot).set_more(&mut fm, 0);
            slot += defs::fm::map::SEND_SLOT_BYTES;
        }
        fm.nic.store(READY, READY_MAGIC);
        fm
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
        if self.started() == 0 && self.command() == COMMAND_START {
            self.set_ring_next(self.ring());
            self.set_started(1);
            self.set_command(0);
        }
        self.started() != 0
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
    #[inline(never)] // Rare: kept out of the path of packets.
    fn count(&mut self, counter: Counter) {
        let at = COUNTERS + ((counter as u32) << 2);
        let value = self.nic.load(at).wrapping_add(1);
        self.nic.store(at, value);
    }
}

/// SRAM: records are read and written through the firmware that owns it.
impl<N: Nic> Memory for Fm<N> {
    #[inline(always)]
    fn load(&self, address: u32) -> u32 {
        self.nic.load(address)
    }

    #[inline(always)]
    fn store(&mut self, address: u32, value: u32) {
        self.nic.store(address, value);
    }
}
