//! Receive tokens: the buffers that processes provide for messages.
//!
//! A process writes a token into its port's queue in SRAM. RECV takes it from there into the list of its priority and size, as one of the
//! port's [`Token`] records, in which a message finds it.
use defs::gm::event::RECEIVE_TOKEN_VIOLATION;
use defs::gm::map::RECEIVE_QUEUE_BYTES;
use defs::gm::packet::SIZES;
use defs::gm::port::{RECEIVE_SLOT_BYTES, RECEIVE_SLOTS};

use crate::slot::ReceiveSlot;
use crate::state::{PortBlock, Token};
use crate::{Gm, Nic};

/// Offset of the end of a port's receive tokens in its queue. Queues lie at multiples of [`RECEIVE_QUEUE_BYTES`].
const TOKENS_END: u32 = RECEIVE_SLOTS * RECEIVE_SLOT_BYTES;

/// The largest size whose messages all fit into a slot of the receive queue, so that the board does not need the pages of their tokens.
const FAST_SIZE: u32 = 7;

const _: () = assert!(defs::gm::packet::capacity(FAST_SIZE) <= defs::gm::event::FAST_BYTES);

impl<N: Nic> Gm<N> {
    /// Takes one receive token of any port, where RECV has a CPU of its own, which has time for that. Returns whether there was one.
    #[inline(always)]
    pub(crate) fn take_posted_token(&mut self) -> bool {
        let first = self.receive_port();
        if first.is_none() {
            return false;
        }
        let mut port = first;
        loop {
            if self.has_token(port) {
                return self.take_token_early(port);
            }
            port = port.receive_next(self);
            if port == first {
                return false;
            }
        }
    }

    /// Whether a receive token of a port waits in its queue.
    #[inline(always)]
    pub(crate) fn has_token(&mut self, port: PortBlock) -> bool {
        let slot = port.token_slot(self);
        slot.word(self) != 0
    }

    /// Takes one receive token of a port before it is needed, and looks its page up while there is time.
    #[inline(never)]
    pub(crate) fn take_token_early(&mut self, port: PortBlock) -> bool {
        let slot = port.token_slot(self);
        let size = slot.word(self) & (SIZES - 1);
        if size > FAST_SIZE {
            let high = slot.address_high(self);
            let low = slot.address_low(self);
            let key = port.receive_key(self);
            let _ = self.page(high, low, key);
        }
        self.take_token(port)
    }

    /// Takes one receive token of a port, if there is one: it goes into the list of its priority and size.
    #[inline(always)]
    pub(crate) fn take_token(&mut self, port: PortBlock) -> bool {
        let slot = port.token_slot(self);
        let word = slot.word(self);
        if word == 0 {
            return false;
        }
        slot.set_word(self, 0);
        let next = slot.address() + RECEIVE_SLOT_BYTES;
        let at_end = next & (RECEIVE_QUEUE_BYTES - 1) == TOKENS_END;
        let next = if at_end {
            next & !(RECEIVE_QUEUE_BYTES - 1)
        } else {
            next
        };
        port.set_token_slot(self, ReceiveSlot::at(next));
        let token = port.free_token(self);
        let low = slot.address_low(self);
        let high = slot.address_high(self);
        if token.is_none() {
            self.violation(port, RECEIVE_TOKEN_VIOLATION, high, low);
            return true;
        }
        let free = token.next(self);
        port.set_free_token(self, free);
        let tag = slot.tag(self) & 0xFFFF;
        token.set_high(self, high);
        token.set_low(self, low);
        token.set_tag(self, (word & (SIZES - 1)) << 16 | tag);
        // Bit 8 of the word is the priority: the lists of high priority are behind those of low priority.
        let kind = (word >> 3 & SIZES) | word & (SIZES - 1);
        self.append(port.tokens(kind), token.address(), Token::NEXT);
        true
    }

    /// The record of a token that was used is free again.
    #[inline(always)]
    pub(crate) fn release_token(&mut self, port: PortBlock, token: Token) {
        let free = port.free_token(self);
        token.set_next(self, free);
        port.set_free_token(self, token);
    }
}
