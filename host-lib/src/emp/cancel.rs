//! Cancelling a posted receive.

use defs::emp::control::MAILBOX_CANCEL;
use defs::emp::descriptor::WORD_PAGE_HIGH;

use super::Emp;
use super::call::Call;
use super::error::{Failure, TransferError};
use super::transfer::{Completion, Direction, Handle, Persistent, Started, Transfer};

/// Result of a cancelled receive ([`Emp::cancel`]).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a message may have arrived first"]
pub enum Cancellation {
    /// No message had begun to fill it, and none will.
    Cancelled,
    /// A message arrived first: the transfer has ended as without the cancel.
    Came(Result<Completion, TransferError>),
}

impl Emp {
    /// Cancels a posted receive: its buffer is the program's again, its descriptors are free. If a message
    /// has already begun to fill it, waits for its end like [`Emp::wait`].
    ///
    /// Transmits cannot be cancelled, because parts of them may be on the way: the call waits for their
    /// end.
    pub async fn cancel<D>(&mut self, handle: Handle<D>) -> Cancellation {
        let transfer = handle.transfer;
        let cancellation = self.cancel_transfer(&transfer).await;
        self.put_back(transfer);
        cancellation
    }

    /// Like [`Emp::cancel`], for a persistent transfer; returns the transfer for another start.
    pub async fn cancel_persistent(&mut self, started: Started) -> (Persistent, Cancellation) {
        let cancellation = self.cancel_transfer(&started.0).await;
        (Persistent(started.0), cancellation)
    }

    /// Cancels a transfer, seen by observers as one call.
    async fn cancel_transfer(&mut self, transfer: &Transfer) -> Cancellation {
        let call = Call::of("cancel", transfer);
        self.system.call_begins(&call);
        let cancellation = self.take_back(transfer).await;
        self.system.call_returns(&call);
        cancellation
    }

    /// Asks the NIC for a posted receive back. A transmit is on its way: its end is waited for.
    async fn take_back(&mut self, transfer: &Transfer) -> Cancellation {
        if transfer.label.direction == Direction::Transmit {
            return Cancellation::Came(self.wait_transfer(transfer).await);
        }
        let descriptor = self.word_address(transfer.descriptor(), WORD_PAGE_HIGH);
        let why = "the NIC to look for a receive to cancel";
        self.ring_mailbox(MAILBOX_CANCEL, descriptor, why).await;
        match self.wait_transfer(transfer).await {
            Err(error) if error.failure == Failure::Cancelled => Cancellation::Cancelled,
            result => Cancellation::Came(result),
        }
    }
}
