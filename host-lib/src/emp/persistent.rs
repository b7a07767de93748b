//! Persistent transfers: prepared once, started often.

use defs::emp::descriptor::{WORD_NODE_TAG, WORD_PAGE_HIGH, WORD_STATUS};

use super::Emp;
use super::buffer::Buffer;
use super::call::Call;
use super::error::{PostError, TransferError};
use super::transfer::{Completion, Direction, Persistent, Source, Started, Tag, TransferLabel};

impl Emp {
    /// Prepares a transmit that can be started repeatedly.
    ///
    /// # Errors
    /// [`PostError`]: no descriptor is in use for it then.
    pub async fn prepare_transmit(
        &mut self,
        node: u16,
        tag: u16,
        buffers: &[Buffer],
    ) -> Result<Persistent, PostError> {
        let label = self.transmit_label(node, tag)?;
        self.prepare_persistent(label, buffers).await
    }

    /// Prepares a receive that can be started repeatedly.
    ///
    /// # Errors
    /// [`PostError`]: no descriptor is in use for it then.
    pub async fn prepare_receive(
        &mut self,
        source: Source,
        tag: Tag,
        buffers: &[Buffer],
    ) -> Result<Persistent, PostError> {
        let label = self.receive_label(source, tag)?;
        self.prepare_persistent(label, buffers).await
    }

    /// Starts a prepared transfer, without a translation; writes only the words of its descriptor that the
    /// NIC has changed. Returns when the NIC has taken it.
    pub async fn start_persistent(&mut self, persistent: Persistent) -> Started {
        let first_word = match persistent.0.label.direction {
            Direction::Transmit => WORD_STATUS,
            // The NIC has replaced wildcards and capacity by the arrived values.
            Direction::Receive => WORD_NODE_TAG,
        };
        let call = Call::of("start", &persistent.0);
        self.system.call_begins(&call);
        self.hand_over(&persistent.0, first_word).await;
        self.system.call_returns(&call);
        Started(persistent.0)
    }

    /// Waits for the end of a started transfer; returns the transfer for another start.
    pub async fn wait_persistent(
        &mut self,
        started: Started,
    ) -> (Persistent, Result<Completion, TransferError>) {
        let call = Call::of("wait for", &started.0);
        self.system.call_begins(&call);
        let result = self.wait_transfer(&started.0).await;
        self.system.call_returns(&call);
        (Persistent(started.0), result)
    }

    /// Frees a prepared transfer's descriptors.
    pub fn release(&mut self, persistent: Persistent) {
        self.put_back(persistent.0);
    }

    /// Prepares a persistent transfer, seen by observers as one call.
    async fn prepare_persistent(
        &mut self,
        label: TransferLabel,
        buffers: &[Buffer],
    ) -> Result<Persistent, PostError> {
        let call = Call::post("prepare", label, buffers);
        self.system.call_begins(&call);
        let prepared = self.write_head(label, buffers).await;
        self.system.call_returns(&call);
        prepared
    }

    /// Prepares a transfer and writes its head, but for the status that hands it over.
    async fn write_head(
        &mut self,
        label: TransferLabel,
        buffers: &[Buffer],
    ) -> Result<Persistent, PostError> {
        let transfer = self.prepare(label, buffers).await?;
        // All words except the status, which is written last.
        let address = self.word_address(transfer.descriptor(), WORD_PAGE_HIGH);
        let words = &transfer.head[..WORD_STATUS];
        self.board.write_sram_burst(address, words).await;
        Ok(Persistent(transfer))
    }
}
