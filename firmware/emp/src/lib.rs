//! The EMP protocol on a NIC, independent of the hardware that carries it.
//!
//! EMP (thesis 2.2 and 2.3; `docs/tigon2.md` for the chip) moves messages between the memories of
//! hosts without copies: hosts post descriptors, the NICs fragment, match, acknowledge and
//! retransmit. [`Emp`] is that NIC's firmware. It is driven by events: each `on_...` method is the
//! handler of one event of the chip, does a bounded piece of work and returns.
//!
//! | handler | event |
//! |---------|-------|
//! | [`Emp::on_timer`] | a retransmission timer may have expired |
//! | [`Emp::on_mailbox`] | the host posted a descriptor, took one back or changed the settings |
//! | [`Emp::on_read_attention`], [`Emp::on_write_attention`] | a DMA found no host memory |
//! | [`Emp::on_read_done`], [`Emp::on_write_done`] | DMAs are over |
//! | [`Emp::on_receive`] | a frame was received |
//! | [`Emp::on_send`] | software: frames or acks wait to be sent |
//!
//! | module | what |
//! |--------|------|
//! | [`nic`] | the hardware as the protocol sees it |
//! | `descriptor` | descriptors, page entries, where a message's bytes are |
//! | `tables` | the records and their lists |
//! | `transmit` | posting a transmit; sending frames |
//! | `receive` | posting a receive; matching frames |
//! | `deliver` | frames to host memory; completion of a receive |
//! | `ack` | acks and nacks, both ways |
//! | `abandon` | messages that break off while they arrive |
//! | `flow` | slower for receivers that are short of buffer space |
//! | `control` | cancelled receives, settings while messages are under way |
//! | `retransmit` | the timer |
//! | `pace` | how long acks take |
//! | `peer` | message identifiers and epochs |
//! | `dma` | what completions and failures mean |
//!
//! The chip has no multiplication, division or unaligned access, and a panic stops its CPU: shifts,
//! masked indices and lists take their place throughout.
#![no_std]

#[cfg(test)]
extern crate std;

mod abandon;
mod ack;
mod config;
mod control;
mod deliver;
mod descriptor;
mod dma;
mod flow;
pub mod nic;
mod pace;
mod peer;
mod receive;
mod retransmit;
mod tables;
mod transmit;

pub use config::{Memory, RESERVED_BYTES};
pub use nic::Nic;
pub use tables::{ACTIVE_SLOTS, FRAME_LIMIT, TRANSMIT_SLOTS, Tables};

use config::Config;
use defs::emp::control::{COUNTERS, Counter, MAILBOX_RECEIVE, MAILBOX_TRANSMIT};
use defs::emp::descriptor::{Code, STATUS_NIC_OWNS, WORD_STATUS, status_complete};
use defs::tigon2::map::mailbox_low;
use descriptor::{bytes_of, descriptor_at};
use nic::{Event, Stage};
use tables::{NO_SLOT, Slot};

/// One node's protocol engine. Small and hot; the records are in [`Tables`].
pub struct Emp<'a, N> {
    nic: N,
    tables: &'a mut Tables,
    memory: Memory,
    config: Config,
    /// Records with frames to send, oldest first.
    queue_first: Slot,
    queue_last: Slot,
    /// Free active-receive records.
    free_active: Slot,
    send_raised: bool,
    timer_armed: bool,
    /// The time that the timer is armed for, in us.
    armed_at_us: u32,
    /// Messages of several frames may be arriving: their silence has an end.
    watching: bool,
    /// Messages that wait for their receivers.
    held: u32,
    /// When silence is looked for next, in us; valid while `watching`.
    look_at_us: u32,
    pace: pace::Pace,
    /// Transmit records in use, as a number and as a bitmap.
    open_count: u32,
    open_slots: [u32; 8],
    acks: ack::AckQueue,
}

impl<'a, N: Nic> Emp<'a, N> {
    /// An engine that has not started. `memory` is NIC memory that nobody else uses.
    pub fn new(nic: N, tables: &'a mut Tables, memory: Memory) -> Self {
        Self {
            nic,
            tables,
            memory,
            config: Config::default(),
            queue_first: NO_SLOT,
            queue_last: NO_SLOT,
            free_active: NO_SLOT,
            send_raised: false,
            timer_armed: false,
            armed_at_us: 0,
            watching: false,
            held: 0,
            look_at_us: 0,
            pace: pace::Pace::new(),
            open_count: 0,
            open_slots: [0; 8],
            acks: ack::AckQueue::new(),
        }
    }

    /// The hardware.
    pub fn nic(&self) -> &N {
        &self.nic
    }

    /// The hardware, to be changed.
    pub fn nic_mut(&mut self) -> &mut N {
        &mut self.nic
    }

    /// Whether no message is under way: every record is free, or remembers one that was given up.
    pub fn is_at_rest(&mut self) -> bool {
        self.open_count == 0 && self.tables.idle_records(self.free_active) == ACTIVE_SLOTS
    }

    /// The host wrote a mailbox: mostly it posted a transmit or a receive. What to do then comes as functions,
    /// [`post_transmit`](Self::post_transmit) and [`post_receive`](Self::post_receive), so that an
    /// image can place each by itself: a stage begins before its function's prologue.
    #[inline(always)]
    pub fn on_mailbox(&mut self, post_transmit: fn(&mut Self), post_receive: fn(&mut Self)) {
        // Taking a descriptor from the host is send bookkeeping, until it turns out to be a receive.
        self.nic.stage_enter(Stage::SendBookkeeping);
        let written = self.nic.take_mailboxes();
        if written != 1 << MAILBOX_TRANSMIT {
            self.nic.stage_exit(Stage::SendBookkeeping);
            if written & (1 << MAILBOX_RECEIVE) != 0 {
                post_receive(self);
            }
            let others = written & !((1 << MAILBOX_TRANSMIT) | (1 << MAILBOX_RECEIVE));
            if others != 0 {
                self.on_control_mailboxes(others);
            }
            if written & (1 << MAILBOX_TRANSMIT) == 0 {
                return;
            }
            self.nic.stage_enter(Stage::SendBookkeeping);
        }
        post_transmit(self);
    }

    /// Takes the descriptor that a mailbox names and acknowledges it at once. The result is its
    /// index and its status word; `None` if there is no such descriptor or the NIC does not own it.
    #[inline(always)]
    fn take_post(&mut self, mailbox: u32) -> Option<(u32, u32)> {
        let word = mailbox_low(mailbox);
        let address = self.nic.load(word);
        self.nic.store(word, 0);
        let Some(index) = descriptor_at(address.wrapping_sub(self.memory.descriptors())) else {
            self.bad_post(address);
            return None;
        };
        let status = self.nic.load(address + ((WORD_STATUS as u32) << 2));
        if status & STATUS_NIC_OWNS == 0 {
            self.bad_post(address);
            return None;
        }
        Some((index, status))
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn bad_post(&mut self, address: u32) {
        self.count(Counter::BadPosts);
        self.nic.event(Event::BadPost, 0, 0, address);
    }

    /// Hands a descriptor back to the host.
    #[inline(always)]
    fn write_status(&mut self, index: u32, code: Code, length: u32) {
        let at = self.descriptor_word(index, WORD_STATUS);
        self.nic.store(at, status_complete(code, length));
    }

    /// NIC address of a word of descriptor `index`.
    #[inline(always)]
    fn descriptor_word(&self, index: u32, word: usize) -> u32 {
        self.memory.descriptors() + bytes_of(index) + ((word as u32) << 2)
    }

    #[inline(always)]
    fn count(&mut self, counter: Counter) {
        let at = COUNTERS + ((counter as u32) << 2);
        let value = self.nic.load(at).wrapping_add(1);
        self.nic.store(at, value);
    }

    #[inline(always)]
    fn raise_send(&mut self) {
        if !self.send_raised {
            self.send_raised = true;
            self.nic.raise_send();
        }
    }

    /// Frames or acks wait to be sent: sends the acks and at most one frame, and sees to it that the
    /// event stands while there are more.
    #[inline(always)]
    pub fn on_send(&mut self) {
        if !self.acks.is_empty() {
            self.flush_acks();
        }
        self.nic.stage_enter(Stage::SendBookkeeping);
        self.transmit_next();
        if self.queue_first != NO_SLOT || !self.acks.is_empty() {
            self.raise_send();
        } else if self.send_raised {
            self.send_raised = false;
            self.nic.clear_send();
        }
    }
}
