//! Posting a transfer: its buffers become a chain of descriptors in NIC memory, of which the NIC takes the first, the *head*.

use defs::emp::control::{MAILBOX_RECEIVE, MAILBOX_TRANSMIT};
use defs::emp::descriptor::{Form, PAGE_BYTES, WORD_PAGE_HIGH};
use defs::emp::frame::message_limit;

use super::Emp;
use super::buffer::{Buffer, PagePiece, message_length, pieces};
use super::call::Call;
use super::error::PostError;
use super::layout;
use super::pool::{Descriptors, ListPage};
use super::transfer::{Direction, ReceiveHandle, SendHandle, Source, Tag, Transfer, TransferLabel};
use crate::window::System;

impl Emp {
    /// Posts a message to `node`. Returns when the NIC has taken the descriptor.
    ///
    /// # Errors
    /// [`PostError`]; then nothing is posted.
    pub async fn post_transmit(
        &mut self,
        node: u16,
        tag: u16,
        buffer: Buffer,
    ) -> Result<SendHandle, PostError> {
        self.post_transmit_vectored(node, tag, &[buffer]).await
    }

    /// Posts a message to `node` that the NIC gathers from `buffers`, in their order.
    ///
    /// # Errors
    /// [`PostError`]; then nothing is posted.
    pub async fn post_transmit_vectored(
        &mut self,
        node: u16,
        tag: u16,
        buffers: &[Buffer],
    ) -> Result<SendHandle, PostError> {
        let label = self.transmit_label(node, tag)?;
        Ok(SendHandle::new(self.post(label, buffers).await?))
    }

    /// Posts a buffer for the next message with `tag` from `source`. Returns when the NIC has taken the
    /// descriptor. A longer message is truncated.
    ///
    /// # Errors
    /// [`PostError`]; then nothing is posted.
    pub async fn post_receive(
        &mut self,
        source: Source,
        tag: Tag,
        buffer: Buffer,
    ) -> Result<ReceiveHandle, PostError> {
        self.post_receive_vectored(source, tag, &[buffer]).await
    }

    /// Posts `buffers`, over which the NIC scatters the next message with `tag` from `source`.
    ///
    /// # Errors
    /// [`PostError`]; then nothing is posted.
    pub async fn post_receive_vectored(
        &mut self,
        source: Source,
        tag: Tag,
        buffers: &[Buffer],
    ) -> Result<ReceiveHandle, PostError> {
        let label = self.receive_label(source, tag)?;
        Ok(ReceiveHandle::new(self.post(label, buffers).await?))
    }

    /// The label of a message to `node`.
    pub(super) fn transmit_label(&self, node: u16, tag: u16) -> Result<TransferLabel, PostError> {
        let (peer, tag) = (Source::Node(node), Tag::Value(tag));
        TransferLabel::new(Direction::Transmit, peer, tag, self.nodes)
    }

    /// The label of a posted receive.
    pub(super) fn receive_label(
        &self,
        source: Source,
        tag: Tag,
    ) -> Result<TransferLabel, PostError> {
        TransferLabel::new(Direction::Receive, source, tag, self.nodes)
    }

    /// Posts a transfer, seen by observers as one call.
    async fn post(
        &mut self,
        label: TransferLabel,
        buffers: &[Buffer],
    ) -> Result<Transfer, PostError> {
        let call = Call::post("post", label, buffers);
        self.system.call_begins(&call);
        let posted = self.prepare(label, buffers).await;
        if let Ok(transfer) = &posted {
            self.hand_over(transfer, WORD_PAGE_HIGH).await;
        }
        self.system.call_returns(&call);
        posted
    }

    /// Prepares a post: translates addresses, takes descriptors, and writes all but the head, which is left to
    /// [`hand_over`](Self::hand_over): pages beyond the first go into further descriptors, or into a list in host memory.
    pub(super) async fn prepare(
        &mut self,
        label: TransferLabel,
        buffers: &[Buffer],
    ) -> Result<Transfer, PostError> {
        let length = message_length(buffers)?;
        let (frame_bytes, most) = (self.frame_bytes, message_limit(self.frame_bytes));
        if label.direction == Direction::Transmit && length > most {
            return Err(PostError::TooManyFrames {
                length,
                most,
                frame_bytes,
            });
        }
        self.system.compute(self.post_overhead_ns).await;
        let pieces = pieces(&mut self.system, buffers).await?;
        let form = layout::form(pieces.len());
        let list = match form {
            Form::Indirect => Some(self.write_list(&pieces).await?),
            Form::Short | Form::Chained => None,
        };
        let descriptors =
            match self.take_descriptors(label.direction, layout::descriptors(pieces.len())) {
                Ok(descriptors) => descriptors,
                Err(error) => {
                    // The list page can be used again.
                    self.lists.extend(list);
                    return Err(error);
                }
            };
        let chain = &descriptors[1..];
        let (first, others) = pieces.split_first().unwrap_or((&PagePiece::EMPTY, &[]));
        let entry = match list {
            Some(page) => layout::list_entry(page, pieces.len()),
            None => first.entry(),
        };
        if form == Form::Chained {
            self.write_continuations(others, chain).await;
        }
        Ok(Transfer {
            label,
            length,
            head: layout::head(entry, label.word(), length, form, chain),
            descriptors,
            list,
        })
    }

    /// Writes the head's words from `first_word` on (those before it are as in the last post), the status last, and rings the mailbox;
    /// waits until the NIC has taken the descriptor.
    pub(super) async fn hand_over(&mut self, transfer: &Transfer, first_word: usize) {
        let head = transfer.descriptor();
        let words = &transfer.head[first_word..];
        let address = self.word_address(head, first_word);
        self.board.write_sram_burst(address, words).await;
        let (mailbox, why) = match transfer.label.direction {
            Direction::Transmit => (MAILBOX_TRANSMIT, "the NIC to take a transmit descriptor"),
            Direction::Receive => (MAILBOX_RECEIVE, "the NIC to take a receive descriptor"),
        };
        let descriptor = self.word_address(head, WORD_PAGE_HIGH);
        self.ring_mailbox(mailbox, descriptor, why).await;
    }

    /// Writes the pages beyond the first into the descriptors of the chain.
    async fn write_continuations(&mut self, pieces: &[PagePiece], chain: &[u16]) {
        for (words, &descriptor) in layout::continuations(pieces, chain).iter().zip(chain) {
            let address = self.word_address(descriptor, WORD_PAGE_HIGH);
            self.board.write_sram_burst(address, words).await;
        }
    }

    /// Takes descriptors that no transfer uses.
    fn take_descriptors(
        &mut self,
        direction: Direction,
        needed: usize,
    ) -> Result<Descriptors, PostError> {
        let pool = self.pool(direction);
        let free = pool.free();
        pool.take(needed).ok_or(PostError::NoDescriptors {
            direction,
            needed,
            free,
        })
    }

    /// Writes a page list into a list page.
    async fn write_list(&mut self, pieces: &[PagePiece]) -> Result<ListPage, PostError> {
        let page = match self.lists.pop() {
            Some(page) => page,
            None => self.new_list_page().await?,
        };
        let written = self
            .system
            .write_memory(page.address, &layout::list_bytes(pieces));
        match written {
            Ok(()) => Ok(page),
            Err(_) => Err(PostError::NoListPage),
        }
    }

    /// Allocates a list page; its translation costs one system call.
    async fn new_list_page(&mut self) -> Result<ListPage, PostError> {
        let length = u64::from(PAGE_BYTES);
        let address = self.system.allocate(length).ok_or(PostError::NoListPage)?;
        let pages = self.system.translate(address, length).await;
        match pages.as_deref() {
            Some(&[physical]) => Ok(ListPage { address, physical }),
            _ => Err(PostError::NoListPage),
        }
    }
}
