//! SEND's half under a lock, on boards with two CPUs whose step of a collective operation is to stay on one of them.
//!
//! SEND's CPU has the lock in each of its steps. When a packet of a barrier or a reduction comes, RECV's CPU takes the lock, waits for the
//! end of such a step at most, and does as one CPU does: it makes the operation's next step and gives the packet to the network.
//!
//! The timer of packets that are sent again, and ends of DMA from the host, stay with SEND's CPU alone. It
//! is woken for a packet that cannot leave at once.
use defs::gm::collective::{PARTIAL, RELEASE};

use crate::nic::Packet;
use crate::state::{ACKS, READY, READY_HIGH, READY_LOW, SENDING_BUFFER, SENDING_PASS};
use crate::{Gm, Nic};

/// Number of times that the sender is looked at for a packet that waits, before that is left to SEND's CPU: as many as a short packet
/// needs.
const SENT_POLLS: u32 = 16;

impl<N: Nic> Gm<N> {
    /// A view of the protocol, which runs already, from a CPU in another role.
    pub const fn attach(nic: N) -> Self {
        Self { nic }
    }

    /// RECV: a packet of a barrier or a reduction. A value waits for others as a rule, so it is a job if SEND's CPU is busy and there is a
    /// place for it. Other packets are waited for, and take the lock.
    #[inline(always)]
    pub(crate) fn lend_or_hand(&mut self, packet: &Packet) {
        let waits = packet.subtype != PARTIAL || !self.has_place();
        let is_turn = waits || self.jobs_are_taken();
        if !(is_turn && self.nic.lend(packet, waits)) {
            self.collective_packet(packet);
        }
    }

    /// On RECV's CPU, which has the lock of SEND's half: does what a packet asks of it, after older jobs if it carries a value.
    #[inline(always)]
    pub fn carry_out(&mut self, packet: &Packet) {
        self.note_sent();
        if packet.subtype <= RELEASE {
            self.barrier_packet_here(packet);
        } else {
            if !self.jobs_are_taken() {
                self.on_jobs();
            }
            self.collective_packet(packet);
        }
        if self.waits_to_leave() {
            self.send_rest();
        }
        if self.waiting_ports() != 0 {
            self.nic.wake();
        }
    }

    /// On SEND's CPU: notes that a packet has left. There is an event for that only if something waits for it.
    #[inline(always)]
    pub(crate) fn look_at_sent(&mut self) {
        if self.sending() == 0 {
            return;
        }
        if self.waits_to_leave() {
            self.nic.watch_sent();
        } else if self.nic.is_sent() {
            self.on_sent();
        }
    }

    /// Notes that a packet has left, for which there is no event on this CPU.
    #[inline(always)]
    fn note_sent(&mut self) {
        if self.sending() != 0 && self.nic.is_sent() {
            self.on_sent();
        }
    }

    /// Whether something waits until a packet has left: other packets, or the next hop of the same one.
    #[inline(always)]
    fn waits_to_leave(&self) -> bool {
        let leaves = self.leave_buffer();
        let next = match self.sending() {
            SENDING_BUFFER => leaves.other(),
            SENDING_PASS => return true,
            _ => leaves,
        };
        let lists = ACKS.first(self) | READY_HIGH.first(self) | READY_LOW.first(self);
        lists != 0 || next.state(self) == READY
    }

    /// Sends what waits, as long as it leaves soon; the rest is left to SEND's CPU.
    #[cold]
    #[inline(never)]
    fn send_rest(&mut self) {
        let mut polls = SENT_POLLS;
        loop {
            self.note_sent();
            self.pump();
            if !self.waits_to_leave() {
                return;
            }
            if polls == 0 {
                return self.nic.wake();
            }
            polls -= 1;
        }
    }
}
