//! Atomic operations that exclude the target's host, and results of operations that go straight into memory.
//!
//! A process that changes words itself which others change by operations asks for mutual exclusion between its processor and its board:
//! Peterson's algorithm for two. Each says that it is interested, then that it came last, and waits while the other one is interested and
//! has not come later. The board's word for this is in host memory, where the host polls it; the host's word and the turn are in SRAM,
//! where the board polls them. The board waits for a limited time: a host that does not leave must not stop it.
use defs::gm::atomic::{ATOMIC_OPERATIONS, DIRECT_DONE, GUARD_NIC, GUARD_POLLS, GUARD_VALUES};
use defs::gm::map::Counter;

use crate::atomic::{AtomicOutcome, AtomicRequest};
use crate::collective::{end_word, ended_operation, ended_status};
use crate::nic::HostAddress;
use crate::state::{DirectResult, PortBlock};
use crate::{Gm, Nic};

impl<N: Nic> Gm<N> {
    /// RECV: executes an operation, apart from what the target's host does if it wants that.
    #[inline(always)]
    pub(crate) fn execute_guarded(&mut self, request: &AtomicRequest) -> AtomicOutcome {
        let low = request.port.guard_low(self);
        if low != 0 {
            return self.execute_apart(request, low);
        }
        match self.execute(request) {
            Some(word) => AtomicOutcome::Word(word),
            None => AtomicOutcome::Denied,
        }
    }

    /// Executes an operation while the host is kept from its words. `low`: lower half of the address of the board's word.
    #[inline(never)]
    fn execute_apart(&mut self, request: &AtomicRequest, low: u32) -> AtomicOutcome {
        let port = request.port;
        let high = port.guard_high(self);
        let key = port.receive_key(self);
        let Some(interested) = self.page(high, low & !3, key) else {
            return AtomicOutcome::Denied;
        };
        let done = match self.enter_guard(port, interested) {
            true => match self.execute(request) {
                Some(word) => AtomicOutcome::Word(word),
                None => AtomicOutcome::Denied,
            },
            false => {
                self.count(Counter::GuardBusy);
                AtomicOutcome::Busy
            }
        };
        if self.atomic_written() != 0 {
            // One DMA of an atomic operation is under way at most.
            self.nic.await_writes();
        }
        self.nic.store(port.address() + GUARD_VALUES + 4, 0);
        self.nic
            .start_write(interested, port.address() + GUARD_VALUES + 4, 4, 0);
        self.set_atomic_written(1);
        done
    }

    /// The board's part of Peterson's algorithm: waits until the host does not use its words. `false`: it used them for too long.
    fn enter_guard(&mut self, port: PortBlock, interested: HostAddress) -> bool {
        self.nic.store(port.address() + GUARD_VALUES, 1);
        self.nic
            .start_write(interested, port.address() + GUARD_VALUES, 4, 0);
        // The host sees it before the board looks whether the host is interested.
        self.nic.await_writes();
        port.set_guard_turn(self, GUARD_NIC);
        let mut polls = 0;
        while polls < GUARD_POLLS {
            if port.guard_interested(self) == 0 || port.guard_turn(self) != GUARD_NIC {
                return true;
            }
            polls += 1;
        }
        false
    }

    /// RECV: writes the result of an operation and its status where the process wants them. If that is not its memory any more, there is an
    /// event instead. `end`: an [`end_word`] with the operation's index.
    #[inline(never)]
    pub(crate) fn write_direct(&mut self, port: PortBlock, end: u32, value: u32) {
        if !port.receives(self) {
            return;
        }
        let index = ended_operation(end);
        let direct = port.direct(index);
        let (high, low) = (direct.high(self), direct.low(self));
        let key = port.receive_key(self);
        let host = match low & 7 {
            0 => self.page(high, low, key),
            _ => None,
        };
        let Some(host) = host else {
            self.add_result(port, end + end_word(ATOMIC_OPERATIONS, 0), 0, value);
            return self.report_machine();
        };
        if self.atomic_written() != 0 {
            // One DMA of an atomic operation is under way at most.
            self.nic.await_writes();
        }
        self.set_atomic_written(1);
        direct.set_value(self, value);
        direct.set_done(self, DIRECT_DONE | ended_status(end));
        self.nic
            .start_write(host, direct.address() + DirectResult::VALUE, 8, 0);
    }
}
