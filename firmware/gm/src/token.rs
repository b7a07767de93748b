//! Receive tokens that a process has written.

use defs::gm::event::RECEIVE_TOKEN_VIOLATION;
use defs::gm::port::{
    RECEIVE_ADDRESS_HIGH, RECEIVE_ADDRESS_LOW, RECEIVE_READY_WORD, RECEIVE_SLOT_BYTES,
    RECEIVE_SLOTS, RECEIVE_TAG,
};

use crate::state::{
    List, P_FREE_TOKEN, P_LISTS, P_RECEIVE_KEY, P_RECEIVE_NEXT, P_TOKEN, RECEIVE_PORT, T_HIGH,
    T_LOW, T_NEXT, T_TAG,
};
use crate::{Gm, Nic};

/// Offset of the end of a port's receive tokens in its queue.
const TOKENS_END: u32 = RECEIVE_SLOTS * RECEIVE_SLOT_BYTES;

/// The largest size of which no message needs more than the receive queue.
const FAST_SIZE: u32 = 7;

const _: () = assert!(defs::gm::packet::capacity(FAST_SIZE) <= defs::gm::event::FAST_BYTES);

impl<N: Nic> Gm<N> {
    /// Takes one receive token, on a CPU of its own. Returns whether there was one.
    #[inline(always)]
    pub(crate) fn posted_token(&mut self) -> bool {
        let first = self.nic.load(RECEIVE_PORT);
        if first == 0 {
            return false;
        }
        let mut port = first;
        loop {
            if self.has_token(port) {
                return self.take_token_early(port);
            }
            port = self.nic.load(port + P_RECEIVE_NEXT);
            if port == first {
                return false;
            }
        }
    }

    /// Whether a receive token of a port waits in its queue.
    #[inline(always)]
    pub(crate) fn has_token(&mut self, port: u32) -> bool {
        let slot = self.nic.load(port + P_TOKEN);
        self.nic.load(slot + RECEIVE_READY_WORD) != 0
    }

    /// Takes one receive token of a port before it is needed, and looks its page up while there is time.
    #[inline(never)]
    pub(crate) fn take_token_early(&mut self, port: u32) -> bool {
        let slot = self.nic.load(port + P_TOKEN);
        let size = self.nic.load(slot + RECEIVE_READY_WORD) & 0x1F;
        if size > FAST_SIZE {
            let high = self.nic.load(slot + RECEIVE_ADDRESS_HIGH);
            let low = self.nic.load(slot + RECEIVE_ADDRESS_LOW);
            let key = self.nic.load(port + P_RECEIVE_KEY);
            let _ = self.page(high, low, key);
        }
        self.take_token(port)
    }

    /// Takes one receive token of a port, if there is one: it goes into the list of its priority and size.
    #[inline(always)]
    pub(crate) fn take_token(&mut self, port: u32) -> bool {
        let slot = self.nic.load(port + P_TOKEN);
        let word = self.nic.load(slot + RECEIVE_READY_WORD);
        if word == 0 {
            return false;
        }
        self.nic.store(slot + RECEIVE_READY_WORD, 0);
        let next = slot + RECEIVE_SLOT_BYTES;
        let end = next & 0xFFF == TOKENS_END;
        let next = if end { next & !0xFFF } else { next };
        self.nic.store(port + P_TOKEN, next);
        let token = self.nic.load(port + P_FREE_TOKEN);
        let low = self.nic.load(slot + RECEIVE_ADDRESS_LOW);
        let high = self.nic.load(slot + RECEIVE_ADDRESS_HIGH);
        if token == 0 {
            self.violation(port, RECEIVE_TOKEN_VIOLATION, high, low);
            return true;
        }
        let free = self.nic.load(token + T_NEXT);
        self.nic.store(port + P_FREE_TOKEN, free);
        let tag = self.nic.load(slot + RECEIVE_TAG) & 0xFFFF;
        self.nic.store(token + T_HIGH, high);
        self.nic.store(token + T_LOW, low);
        self.nic.store(token + T_TAG, (word & 0x1F) << 16 | tag);
        let kind = (word >> 3 & 0x20) | word & 0x1F;
        self.append(List::at(port + P_LISTS + (kind << 3)), token, T_NEXT);
        true
    }

    /// A token's record is free again.
    #[inline(always)]
    pub(crate) fn free_token(&mut self, port: u32, token: u32) {
        let free = self.nic.load(port + P_FREE_TOKEN);
        self.nic.store(token + T_NEXT, free);
        self.nic.store(port + P_FREE_TOKEN, token);
    }
}
