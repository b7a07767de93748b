//! Completion of a transfer: its status in NIC memory.

use defs::emp::descriptor::{
    Code, STATUS_LENGTH_MASK, STATUS_NIC_OWNS, WORD_NODE_TAG, WORD_STATUS,
};

use smallvec::SmallVec;

use super::Emp;
use super::call::Call;
use super::error::{Failure, TransferError};
use super::transfer::{
    AnyHandle, Completion, Direction, Handle, Progress, Source, Tag, Transfer, TransferLabel,
};

impl Emp {
    /// Waits for the end of a transfer; its descriptors are free then.
    ///
    /// A transmit ends when the peer has acknowledged all of it, a receive when all of it is in the buffer.
    /// Node and tag of a wildcard receive cost another PIO read.
    ///
    /// # Errors
    /// [`TransferError`]: the transfer failed.
    pub async fn wait<D>(&mut self, handle: Handle<D>) -> Result<Completion, TransferError> {
        let transfer = handle.transfer;
        let call = Call::of("wait for", &transfer);
        self.system.call_begins(&call);
        let result = self.wait_transfer(&transfer).await;
        self.put_back(transfer);
        self.system.call_returns(&call);
        result
    }

    /// Checks once (one PIO read) whether a transfer has ended; if so, its descriptors are free.
    pub async fn test<D>(&mut self, handle: Handle<D>) -> Progress<D> {
        let call = Call::of("test", &handle.transfer);
        self.system.call_begins(&call);
        let progress = self.look(handle).await;
        self.system.call_returns(&call);
        progress
    }

    /// Looks at the status of a transfer once.
    async fn look<D>(&mut self, handle: Handle<D>) -> Progress<D> {
        let address = self.status_address(&handle.transfer);
        let status = self.board.read_sram(address).await;
        if status & STATUS_NIC_OWNS != 0 {
            return Progress::Pending(handle);
        }
        let result = self.outcome(&handle.transfer, status).await;
        self.put_back(handle.transfer);
        Progress::Complete(result)
    }

    /// Waits for the end of one of several transfers. Removes its handle from `handles`, whose order is
    /// preserved, and returns its index and result. `None` for an empty list.
    ///
    /// The statuses are read in turn, from the first handle on: among ended transfers the first is taken.
    /// Each read costs a poll. Descriptors far apart in NIC memory cost additional writes of the window's
    /// base.
    ///
    /// ```
    /// # use host_lib::emp::{AnyHandle, Completion, Emp, TransferError};
    /// async fn wait_all(
    ///     emp: &mut Emp,
    ///     mut handles: Vec<AnyHandle>,
    /// ) -> Result<Vec<Completion>, TransferError> {
    ///     let mut in_order_of_their_ends = Vec::new();
    ///     while let Some((_, result)) = emp.wait_any(&mut handles).await {
    ///         in_order_of_their_ends.push(result?);
    ///     }
    ///     Ok(in_order_of_their_ends)
    /// }
    /// ```
    pub async fn wait_any(
        &mut self,
        handles: &mut Vec<AnyHandle>,
    ) -> Option<(usize, Result<Completion, TransferError>)> {
        let call = Call::WaitAny(handles.len());
        self.system.call_begins(&call);
        let first = self.wait_first(handles, None).await;
        self.system.call_returns(&call);
        first
    }

    /// [`wait_any`](Self::wait_any) for `timeout_ns` at most; `None` as well if no transfer is over in time.
    pub async fn wait_any_within(
        &mut self,
        handles: &mut Vec<AnyHandle>,
        timeout_ns: u64,
    ) -> Option<(usize, Result<Completion, TransferError>)> {
        let call = Call::WaitAny(handles.len());
        self.system.call_begins(&call);
        let first = self.wait_first(handles, Some(timeout_ns)).await;
        self.system.call_returns(&call);
        first
    }

    /// Waits for the end of one of several transfers; `None` if there are none, or not within the timeout.
    async fn wait_first(
        &mut self,
        handles: &mut Vec<AnyHandle>,
        timeout_ns: Option<u64>,
    ) -> Option<(usize, Result<Completion, TransferError>)> {
        // Usual lists of handles need no allocation: programs test them again and again.
        let statuses: SmallVec<[u32; 8]> = handles
            .iter()
            .map(|handle| self.status_address(&handle.transfer))
            .collect();
        let why = "any of several transfers to be over";
        let (board, system) = (&mut self.board, &mut self.system);
        let (index, status) = match timeout_ns {
            None => {
                board
                    .poll_sram_any(&statuses, STATUS_NIC_OWNS, 0, why)
                    .await
            }
            Some(timeout_ns) => {
                let over = (STATUS_NIC_OWNS, 0);
                board
                    .poll_sram_any_within(system, &statuses, over, timeout_ns, why)
                    .await
            }
        }?;
        let transfer = handles.remove(index).transfer;
        let result = self.outcome(&transfer, status).await;
        self.put_back(transfer);
        Some((index, result))
    }

    /// Waits for the end of a transfer. Its descriptors stay taken.
    pub(super) async fn wait_transfer(
        &mut self,
        transfer: &Transfer,
    ) -> Result<Completion, TransferError> {
        let why = match transfer.label.direction {
            Direction::Transmit => "a transmit to be acknowledged",
            Direction::Receive => "a posted receive to be filled",
        };
        let address = self.status_address(transfer);
        let status = self.board.poll_sram(address, STATUS_NIC_OWNS, 0, why).await;
        self.outcome(transfer, status).await
    }

    /// Frees the descriptors and the list page of a transfer that is over.
    pub(super) fn put_back(&mut self, transfer: Transfer) {
        self.pool(transfer.label.direction)
            .give_back(&transfer.descriptors);
        self.lists.extend(transfer.list);
    }

    /// Address of the status of a transfer: the last word of its head.
    fn status_address(&self, transfer: &Transfer) -> u32 {
        self.word_address(transfer.descriptor(), WORD_STATUS)
    }

    /// Result of an ended transfer, from its status and the NIC's other words.
    async fn outcome(
        &mut self,
        transfer: &Transfer,
        status: u32,
    ) -> Result<Completion, TransferError> {
        let label = transfer.label;
        let failure = match (Code::from_status(status), label.direction) {
            (Some(Code::Done), _) => return Ok(self.completion(transfer, status).await),
            (Some(Code::Truncated), Direction::Receive) => {
                let message = self.completion(transfer, status).await;
                return Err(truncated(transfer, message));
            }
            (Some(Code::BadDescriptor), _) => Failure::BadDescriptor,
            (Some(Code::HostMemory), _) => Failure::HostMemory,
            (Some(Code::UnknownNode), _) => Failure::UnknownNode,
            (Some(Code::Timeout), _) => Failure::Timeout,
            (Some(Code::NoResources), _) => Failure::NoResources,
            (Some(Code::Cancelled), _) => Failure::Cancelled,
            (Some(Code::Truncated | Code::Pending) | None, _) => Failure::BadStatus { status },
        };
        Err(TransferError {
            direction: label.direction,
            peer: label.peer,
            tag: label.tag,
            failure,
        })
    }

    /// Completion of a message: node and tag as posted, or as arrived.
    async fn completion(&mut self, transfer: &Transfer, status: u32) -> Completion {
        let (node, tag) = match transfer.label {
            TransferLabel {
                peer: Source::Node(node),
                tag: Tag::Value(tag),
                ..
            } => (node, tag),
            _ => {
                let address = self.word_address(transfer.descriptor(), WORD_NODE_TAG);
                let word = self.board.read_sram(address).await;
                ((word >> 16) as u16, word as u16)
            }
        };
        let length = match transfer.label.direction {
            Direction::Transmit => transfer.length,
            Direction::Receive => status & STATUS_LENGTH_MASK,
        };
        Completion { node, tag, length }
    }
}

/// The error of a receive whose buffer is shorter than its message.
const fn truncated(transfer: &Transfer, message: Completion) -> TransferError {
    TransferError {
        direction: transfer.label.direction,
        peer: Source::Node(message.node),
        tag: Tag::Value(message.tag),
        failure: Failure::Truncated {
            message_length: message.length,
            received: transfer.length,
        },
    }
}
