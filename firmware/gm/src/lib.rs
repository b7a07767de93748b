//! The GM protocol on a NIC, independent of the hardware (docs/gm.md).
//!
//! GM carries messages between ports of nodes over one reliable connection for each pair of nodes and priority.
//! [`Gm`] is the NIC's firmware. [`Gm::step`] takes the events of the hardware, or one thing that the host has posted, and lets four
//! machines go on:
//!
//! | machine | half | from, to | functions |
//! |---------|------|----------|-----------|
//! | SDMA | sending | host memory, SRAM | `read_machine` starts DMA, `on_dma` ends it |
//! | SEND | sending | SRAM, network | `send_machine` starts a packet, `on_sent` ends it |
//! | RECV | receiving | network, SRAM | `on_received` takes a packet |
//! | RDMA | receiving | SRAM, host memory | `on_received` starts DMA of payload, `report_machine` that of reports to programs; `on_dma` ends it |
//!
//! On a board with two CPUs each half has one. A comment that begins
//! with `SEND:` or `RECV:` names the half that calls the function or writes the word. `hand_*` functions (`jobs`) pass work to the other
//! half; the functions that do it there are called `take_*` or `add_*`.
//!
//! | module | contents |
//! |--------|----------|
//! | [`nic`] | interface to the hardware |
//! | `state` | layout of SRAM: words, records, states of the machines |
//! | `slot`, `post`, `token` | send slots and receive tokens that processes have written |
//! | `page` | from a process's addresses to those of DMA |
//! | `transmit` | SDMA and SEND: packets from records |
//! | `receive`, `deliver` | RECV and RDMA: packets to receive tokens |
//! | `remote` | puts and gets |
//! | `answer`, `ack` | acks, both ways; completed sends |
//! | `abandon` | sends that fail; streams (port, target port, priority), which stop when a send fails |
//! | `timer` | packets that are sent again, alarms |
//! | `report` | completed sends and notices to the host |
//! | `guard` | atomic operations that exclude the target's host; results that go straight into memory |
//! | `jobs` | what the halves of SEND and RECV ask of each other, on one CPU or two |
//! | `lend` | SEND's half under a lock, so that RECV's CPU answers packets of collective operations itself |
//! | `published` | words by which the halves and the host tell each other how far they are |
//! | `control` | start, ports, the driver's commands |
//! | `probe` | packets that map the network |
//! | `collective` | barriers and reductions |
//! | `gossip` | all-to-all broadcasts |
//! | `atomic` | atomic operations on words of other nodes |
//!
//! All state is in SRAM words at constant addresses: on the LANai each of them is one instruction away. The modules `state` lay them
//! out: single words ([`defs::words!`]) and records ([`defs::record!`]). The code has no division, no multiplication (the LANai has no
//! instruction for them) and no copies of payload.
//!
//! Functions on the usual path of a packet are `#[inline(always)]`: they end in the handler of events, which an image places in fast
//! memory (on the Tigon2 the scratchpad). Others are `#[inline(never)]`, since they would take that memory, or be copied to each place
//! that calls them; `#[cold]` moves the branches to them off the path.
#![no_std]

#[cfg(test)]
extern crate std;

mod abandon;
mod ack;
mod answer;
mod atomic;
mod collective;
mod control;
mod deliver;
mod gossip;
mod guard;
mod jobs;
mod lend;
pub mod nic;
mod page;
mod places;
mod post;
mod probe;
mod published;
mod receive;
mod remote;
mod report;
mod slot;
mod state;
mod timer;
mod token;
mod transmit;

pub use nic::Nic;
pub use published::PUBLISHED;

use defs::gm::map::{COUNTERS, Counter, RECEIVER_COUNTERS};
use defs::record::Memory;
use nic::Role;
use state::List;

/// A node's firmware.
#[derive(Debug)]
pub struct Gm<N> {
    nic: N,
}

impl<N: Nic> Gm<N> {
    /// Prepares SRAM and tells the host that it can start.
    pub fn new(nic: N) -> Self {
        const { collective::check_origin::<N>() }
        let mut gm = Self { nic };
        gm.prepare();
        gm
    }

    /// The hardware.
    pub const fn nic(&self) -> &N {
        &self.nic
    }

    /// The hardware, mutable.
    pub const fn nic_mut(&mut self) -> &mut N {
        &mut self.nic
    }

    /// Whether the host has started the protocol. Before, no packet is taken.
    pub fn is_started(&self) -> bool {
        self.started() != 0
    }

    /// Handles the events that have come up, or one post of the host. Returns whether there was any. Without, no word of
    /// SRAM is written: a loop over this function repeats the same round until something comes, and the emulator skips such rounds.
    #[inline(always)]
    pub fn step(&mut self) -> bool {
        if N::LENDS && N::ROLE.sends() {
            self.look_at_sent();
        }
        let events = self.nic.events();
        if events == 0 {
            if !self.posted() {
                return false;
            }
        } else {
            if N::ROLE.sends() && events & N::SENT != 0 {
                self.on_sent();
                self.send_machine();
            }
            if N::ROLE.receives() && events & N::RECEIVED != 0 {
                self.on_received();
            }
            if events & N::DMA != 0 {
                self.on_dma();
            }
            if events & (N::JOB | N::TICK | N::ACK_TICK) != 0 {
                self.on_others(events);
            }
        }
        if N::ROLE.sends() {
            self.read_machine();
            self.send_machine();
        }
        if N::ROLE.receives() {
            self.report_machine();
        }
        true
    }

    /// Handles the rare events.
    #[inline(never)]
    fn on_others(&mut self, events: u32) {
        if events & N::JOB != 0 {
            self.on_jobs();
        }
        if N::ROLE.sends() && events & N::TICK != 0 {
            self.on_tick();
            if N::ROLE.receives() && events & N::RECEIVED != 0 {
                // While packets follow each other without a pause, nothing else looks for posts.
                self.take_post();
            }
        }
        if N::ROLE.receives() && events & N::ACK_TICK != 0 {
            self.send_delayed_acks();
            if N::LENDS {
                self.count_slow_acks();
            }
        }
    }

    /// Address of a counter of this CPU.
    const fn counter_at(counter: Counter) -> u32 {
        let counters = match N::ROLE {
            Role::Receiver | Role::Borrower => RECEIVER_COUNTERS,
            Role::All | Role::Sender => COUNTERS,
        };
        counters + ((counter as u32) << 2)
    }

    /// Adds 1 to a counter of this CPU. What is counted is rare.
    #[cold]
    #[inline(never)]
    fn count(&mut self, counter: Counter) {
        let at = Self::counter_at(counter);
        let value = self.nic.load(at).wrapping_add(1);
        self.nic.store(at, value);
    }

    /// Appends `item` to a list; `next` is the offset of an item's link.
    #[inline(always)]
    fn append(&mut self, list: List, item: u32, next: u32) {
        self.nic.store(item + next, 0);
        if list.first(self) == 0 {
            list.set_first(self, item);
        } else {
            let last = list.last(self);
            self.nic.store(last + next, item);
        }
        list.set_last(self, item);
    }
}

/// SRAM: records are read and written through the firmware that owns it.
impl<N: Nic> Memory for Gm<N> {
    #[inline(always)]
    fn load(&self, address: u32) -> u32 {
        self.nic.load(address)
    }

    #[inline(always)]
    fn store(&mut self, address: u32, value: u32) {
        self.nic.store(address, value);
    }
}
