//! Taking a posted receive back.

use defs::emp::control::MAILBOX_CANCEL;
use defs::emp::descriptor::WORD_PAGE_HIGH;

use super::Emp;
use super::error::{Failure, TransferError};
use super::transfer::{Completion, Direction, Persistent, ReceiveHandle, Started, Transfer};
use crate::window::{System, Window};

/// What became of a receive that was taken back ([`Emp::cancel`]).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a message may have come after all"]
pub enum Cancellation {
    /// No message had begun to fill it, and none will.
    Cancelled,
    /// A message came first: the receive has ended as it would have without the cancel.
    Came(Result<Completion, TransferError>),
}

impl<W: Window, S: System> Emp<W, S> {
    /// Takes a posted receive back: its buffer is the program's again, its descriptors are free. If a
    /// message has already begun to fill it, waits until it is over, as [`Emp::wait`] does.
    ///
    /// Transmits cannot be taken back: parts of them may be anywhere.
    pub async fn cancel(&mut self, handle: ReceiveHandle) -> Cancellation {
        let transfer = handle.transfer;
        let cancellation = self.cancel_transfer(&transfer).await;
        self.put_back(transfer);
        cancellation
    }

    /// As [`Emp::cancel`], for a persistent receive; gives it back to be started again. A transmit is
    /// waited for.
    pub async fn cancel_persistent(&mut self, started: Started) -> (Persistent, Cancellation) {
        let transfer = started.0;
        let cancellation = match transfer.label.direction {
            Direction::Receive => self.cancel_transfer(&transfer).await,
            Direction::Transmit => Cancellation::Came(self.wait_transfer(&transfer).await),
        };
        (Persistent(transfer), cancellation)
    }

    async fn cancel_transfer(&mut self, transfer: &Transfer) -> Cancellation {
        let descriptor = self.word_address(transfer.descriptor(), WORD_PAGE_HIGH);
        let why = "the NIC to look for a receive to cancel";
        self.tell(MAILBOX_CANCEL, descriptor, why).await;
        match self.wait_transfer(transfer).await {
            Err(error) if error.failure == Failure::Cancelled => Cancellation::Cancelled,
            result => Cancellation::Came(result),
        }
    }
}
