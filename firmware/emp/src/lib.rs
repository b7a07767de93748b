//! The EMP protocol on a NIC, independent of the hardware.
//!
//! EMP (thesis 2.2 and 2.3; `docs/tigon2.md` for the chip) moves messages between the memories of hosts
//! without copies: hosts post descriptors; the NICs fragment, match, acknowledge and retransmit. [`Emp`] is
//! the NIC's firmware. It is driven by events: each `on_...` method handles one event of the chip, does a
//! bounded amount of work and returns.
//! | handler | event |
//! |---------|-------|
//! | [`Emp::on_timer`] | a retransmission timer may have expired |
//! | [`Emp::on_mailbox`] | the host posted a descriptor, cancelled one or changed the settings |
//! | [`Emp::on_read_attention`], [`Emp::on_write_attention`] | a DMA found no host memory |
//! | [`Emp::on_read_done`], [`Emp::on_write_done`] | DMAs have completed |
//! | [`Emp::on_receive`] | a frame was received |
//! | [`Emp::on_send`] | software: frames or acks wait to be sent |
//! | [`Emp::on_frames`], [`Emp::on_acks`], [`Emp::on_reports`], [`Emp::on_arrivals`], [`Emp::on_pages`], [`Emp::on_closed`] | software: the other CPU has queued jobs |
//!
//! | module | contents |
//! |--------|------|
//! | [`nic`] | interface to the hardware |
//! | `descriptor` | descriptors, page entries, position of a message's bytes |
//! | `tables` | the records and their lists |
//! | [`roles`] | four roles, and the schemes that assign them to CPUs |
//! | [`jobs`] | jobs between roles on two CPUs |
//! | `transmit` | the sender: posting a transmit, cutting frames |
//! | `frames` | the transmitter: frames to the MAC |
//! | `receive` | the matcher: posting a receive, matching frames |
//! | `deliver` | the deliverer: frames to host memory, completion of a receive |
//! | `ack` | acks and nacks, both ways |
//! | `abandon` | incomplete messages that are given up |
//! | `flow` | flow control for receivers that are short of buffer space |
//! | `control` | cancelled receives, settings at run time |
//! | `retransmit` | the timer |
//! | `pace` | estimate of the ack time |
//! | `peer` | message identifiers and epochs |
//! | `dma` | completions and failures |
//!
//! The chip has no multiplication, division or unaligned access, and a panic stops its CPU. So the code uses shifts, masked indices and lists. On a
//! frame's usual path functions are `#[inline(always)]`, for the scratchpad; others are `#[inline(never)]`, which leaves it room, and `#[cold]` if rare.
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
mod frames;
pub mod jobs;
pub mod nic;
mod pace;
mod peer;
mod receive;
mod retransmit;
pub mod roles;
mod tables;
mod transmit;

pub use config::{MemoryPlan, RESERVED_BYTES};
pub use nic::Nic;
pub use tables::{ACTIVE_SLOTS, FRAME_LIMIT, TRANSMIT_SLOTS, Tables};

use config::Config;
use defs::emp::control::{COUNTERS, Counter, MAILBOX_RECEIVE, MAILBOX_TRANSMIT};
use defs::emp::descriptor::{Code, STATUS_NIC_OWNS, WORD_STATUS, status_complete};
use defs::tigon2::map::mailbox_low;
use descriptor::{bytes_of, descriptor_at};
use nic::Stage;
use roles::Roles;
use tables::{NO_SLOT, Slot};

/// One CPU's part of a node's protocol engine. Small and hot; the records are in [`Tables`].
///
/// Zero-initialised bytes are contiguous from a word boundary on: they are cleared as words, and the chip
/// has no unaligned store.
#[repr(C)]
pub struct Emp<'a, N: Nic> {
    nic: N,
    tables: &'a mut Tables<N::Roles>,
    memory: MemoryPlan,
    config: Config,
    /// Expiry time of the armed timer, in us.
    armed_at_us: u32,
    /// Number of held messages (see `flow`).
    held: u32,
    /// Time of the next silence check, in us; valid while `watching`.
    look_at_us: u32,
    pace: pace::Pace,
    /// Transmit records in use: number and bitmap.
    open_count: u32,
    open_slots: [u32; 8],
    /// Rest of the stalled frame; valid while `stalled`.
    rest: deliver::Rest,
    /// End of the last undelivered frame behind the stalled one.
    freed_behind: Option<u32>,
    send_raised: bool,
    timer_armed: bool,
    /// Messages of several frames may be arriving: silence checks are active.
    watching: bool,
    /// The message of the first frame in the sender's queue is open already.
    frame_opened: bool,
    /// A frame waits for page entries.
    stalled: bool,
    /// The page entries have arrived.
    wakes: bool,
    acks: ack::AckQueue,
    /// Records with frames to send, oldest first.
    queue_first: Slot,
    queue_last: Slot,
    /// Free active-receive records.
    free_active: Slot,
}

impl<'a, N: Nic> Emp<'a, N> {
    /// An engine that has not started. `memory` is NIC memory without another user.
    pub fn new(nic: N, tables: &'a mut Tables<N::Roles>, memory: MemoryPlan) -> Self {
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
            pace: pace::Pace::new(0),
            open_count: 0,
            open_slots: [0; 8],
            acks: ack::AckQueue::new(),
            frame_opened: false,
            stalled: false,
            rest: deliver::Rest::NONE,
            wakes: false,
            freed_behind: None,
        }
    }

    /// The hardware.
    pub fn nic(&self) -> &N {
        &self.nic
    }

    /// The hardware, mutable.
    pub fn nic_mut(&mut self) -> &mut N {
        &mut self.nic
    }

    /// Whether no message is in progress: every record is free, or remembers an abandoned message.
    pub fn is_at_rest(&mut self) -> bool {
        self.open_count == 0 && self.tables.idle_records(self.free_active) == ACTIVE_SLOTS
    }

    /// Handles a written mailbox, usually a posted transmit or receive.
    /// [`post_transmit`](Self::post_transmit) and [`post_receive`](Self::post_receive) are arguments so
    /// that an image can place each separately: a stage begins before its function's prologue.
    #[inline(always)]
    pub fn on_mailbox(&mut self, post_transmit: fn(&mut Self), post_receive: fn(&mut Self)) {
        // Taking a descriptor counts as send bookkeeping until it turns out to be a receive.
        self.nic.stage_enter(Stage::SendBookkeeping);
        let written = self.nic.take_mailboxes();
        if written != 1 << MAILBOX_TRANSMIT || !N::Roles::SENDER {
            self.nic.stage_exit(Stage::SendBookkeeping);
            if N::Roles::MATCHER && written & (1 << MAILBOX_RECEIVE) != 0 {
                post_receive(self);
            }
            let others = written & !((1 << MAILBOX_TRANSMIT) | (1 << MAILBOX_RECEIVE));
            if others != 0 {
                self.on_control_mailboxes(others);
            }
            if !N::Roles::SENDER || written & (1 << MAILBOX_TRANSMIT) == 0 {
                return;
            }
            self.nic.stage_enter(Stage::SendBookkeeping);
        }
        post_transmit(self);
    }

    /// Takes the descriptor named by a mailbox and acknowledges it at once; an invalid one is counted
    /// first. Returns its index and status word; `None` if there is no such descriptor, if the NIC does not
    /// own it, or if it is not `free`.
    #[inline(always)]
    fn take_post(
        &mut self,
        mailbox: u32,
        free: impl FnOnce(&Self, u32) -> bool,
    ) -> Option<(u32, u32)> {
        let word = mailbox_low(mailbox);
        let address = self.nic.load(word);
        let index = descriptor_at(address.wrapping_sub(self.memory.descriptors()));
        if let Some(index) = index {
            let status = self.nic.load(address + ((WORD_STATUS as u32) << 2));
            if status & STATUS_NIC_OWNS != 0 && free(self, index) {
                self.nic.store(word, 0);
                return Some((index, status));
            }
        }
        self.bad_post(address);
        self.nic.store(word, 0);
        None
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn bad_post(&mut self, address: u32) {
        self.count_rarely(Counter::BadPosts);
        self.nic.bad_post(address);
    }

    /// Returns a descriptor to the host.
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

    /// Increments a counter of a rare event, or one that roles on both CPUs use.
    #[cold]
    #[inline(never)]
    fn count_rarely(&mut self, counter: Counter) {
        if !N::Roles::ALONE {
            self.nic.lock();
        }
        self.count(counter);
        if !N::Roles::ALONE {
            self.nic.unlock();
        }
    }

    #[inline(always)]
    fn raise_send(&mut self) {
        if !self.send_raised {
            self.send_raised = true;
            self.nic.raise_send();
        }
    }

    /// Sends waiting acks and at most one frame; keeps the event set while there are more.
    #[inline(always)]
    pub fn on_send(&mut self) {
        if N::Roles::TRANSMITTER && !self.acks.is_empty() {
            self.flush_acks();
        }
        if N::Roles::DELIVERER && self.wakes {
            self.resume();
        }
        if N::Roles::SENDER {
            self.nic.stage_enter(Stage::SendFrame);
            self.transmit_next();
        }
        if self.queue_first != NO_SLOT || !self.acks.is_empty() || self.wakes {
            self.raise_send();
        } else if self.send_raised {
            self.send_raised = false;
            self.nic.clear_send();
        }
    }
}
