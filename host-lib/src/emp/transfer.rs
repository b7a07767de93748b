//! Handles and labels of transfers.

use std::fmt;
use std::marker::PhantomData;

use defs::emp::descriptor::{ANY_NODE, ANY_TAG, node_tag};

use super::error::{PostError, TransferError};
use super::layout::DescriptorWords;
use super::pool::{Descriptors, ListPage};

/// Direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From this host.
    Transmit,
    /// To this host.
    Receive,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transmit => "transmit",
            Self::Receive => "receive",
        })
    }
}

/// The other node of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Any node (receives only).
    Any,
    /// The node with this number.
    Node(u16),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any node"),
            Self::Node(node) => write!(f, "node {node}"),
        }
    }
}

/// The tag of a message; a receive matches messages of its own tag only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Any tag (receives only).
    Any,
    /// This tag; 0xFFFF is reserved.
    Value(u16),
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any tag"),
            Self::Value(tag) => write!(f, "tag {tag}"),
        }
    }
}

/// Direction, peer and tag of a transfer; checked when it is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TransferLabel {
    pub(super) direction: Direction,
    pub(super) peer: Source,
    pub(super) tag: Tag,
}

impl TransferLabel {
    pub(super) fn new(
        direction: Direction,
        peer: Source,
        tag: Tag,
        nodes: u16,
    ) -> Result<Self, PostError> {
        match (peer, tag) {
            (Source::Node(node), _) if node >= nodes => Err(PostError::UnknownNode { node, nodes }),
            (_, Tag::Value(ANY_TAG)) => Err(PostError::ReservedTag),
            _ => Ok(Self {
                direction,
                peer,
                tag,
            }),
        }
    }

    /// The word of a descriptor with node and tag.
    pub(super) const fn word(self) -> u32 {
        let node = match self.peer {
            Source::Any => ANY_NODE,
            Source::Node(node) => node,
        };
        let tag = match self.tag {
            Tag::Any => ANY_TAG,
            Tag::Value(tag) => tag,
        };
        node_tag(node, tag)
    }
}

/// A transfer and the resources that it holds.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) label: TransferLabel,
    /// Bytes of the buffer.
    pub(super) length: u32,
    /// Indices of its descriptors, the head first. Never empty.
    pub(super) descriptors: Descriptors,
    /// The head's words, with the status that gives it to the NIC.
    pub(super) head: DescriptorWords,
    /// The page list of the indirect form.
    pub(super) list: Option<ListPage>,
}

impl Transfer {
    /// Index of the head descriptor, which identifies the transfer to the NIC.
    pub(super) fn descriptor(&self) -> u16 {
        self.descriptors[0]
    }
}

/// Marks the handle of a transmit.
#[derive(Debug)]
pub enum Transmit {}

/// Marks the handle of a receive.
#[derive(Debug)]
pub enum Receive {}

/// A posted transfer, for [`Emp::wait`](super::Emp::wait) or [`Emp::test`](super::Emp::test) of its
/// [`Emp`](super::Emp).
///
/// A handle cannot be copied, so no transfer is waited for twice. Dropping a handle does not cancel the
/// transfer: the NIC continues to use the buffer, and the descriptors stay in use until the next
/// [`Emp::start`](super::Emp::start), because their end is not observed any more. The same is true when a
/// future of `wait` or of a post is dropped before it ends.
#[derive(Debug)]
#[must_use = "a dropped handle never returns its descriptors"]
pub struct Handle<D> {
    pub(super) transfer: Transfer,
    direction: PhantomData<D>,
}

impl<D> Handle<D> {
    pub(super) const fn new(transfer: Transfer) -> Self {
        Self {
            transfer,
            direction: PhantomData,
        }
    }

    /// Direction of the transfer.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.transfer.label.direction
    }
}

/// Marks the handle of a transmit or a receive.
#[derive(Debug)]
pub enum Either {}

/// A posted transmit.
pub type SendHandle = Handle<Transmit>;
/// A posted receive.
pub type ReceiveHandle = Handle<Receive>;

/// A posted transfer of either direction, for [`Emp::wait_any`](super::Emp::wait_any).
pub type AnyHandle = Handle<Either>;

impl From<SendHandle> for AnyHandle {
    fn from(handle: SendHandle) -> Self {
        Self::new(handle.transfer)
    }
}

impl From<ReceiveHandle> for AnyHandle {
    fn from(handle: ReceiveHandle) -> Self {
        Self::new(handle.transfer)
    }
}

/// A transfer that is prepared once and can be started repeatedly
/// ([`Emp::start_persistent`](super::Emp::start_persistent)). It keeps its descriptors until
/// [`Emp::release`](super::Emp::release).
#[derive(Debug)]
#[must_use = "a dropped persistent transfer never returns its descriptors"]
pub struct Persistent(pub(super) Transfer);

/// A started persistent transfer ([`Emp::wait_persistent`](super::Emp::wait_persistent)).
#[derive(Debug)]
#[must_use = "a dropped persistent transfer never returns its descriptors"]
pub struct Started(pub(super) Transfer);

/// A transfer that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The other node.
    pub node: u16,
    /// The message's tag.
    pub tag: u16,
    /// The message's length in bytes.
    pub length: u32,
}

/// Result of [`Emp::test`](super::Emp::test).
#[derive(Debug)]
#[must_use = "it holds the handle of a pending transfer"]
pub enum Progress<D> {
    /// The transfer is in progress; this is its handle.
    Pending(Handle<D>),
    /// The transfer has ended.
    Complete(Result<Completion, TransferError>),
}
