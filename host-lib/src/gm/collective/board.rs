//! Collective operations that boards execute: the host posts one and gets one event at its end.

use defs::gm::atomic::{ATOMIC_COUNT, ATOMIC_OPERATIONS};
use defs::gm::collective::{
    BARRIER, CHILD_LIMIT, DESCRIPTOR_BYTES, DESCRIPTOR_COUNT, EXCHANGE, Operation, REDUCE,
    REDUCE_ALL, REDUCE_PARENT, SECOND_LIST, STEP_SEND, STEP_WAIT, TREE_PARENT, TREE_ROOT,
    descriptor, endpoint,
};
use defs::gm::event::{Status, WORD_BUFFER};
use defs::gm::port::{SEND_LENGTH, SEND_SLOTS, SEND_TYPE, send_slot};
use defs::gm::vector::{ELEMENT_LIMIT, operands};
use thiserror::Error;

use super::gossip::LONGEST_BLOCK_BYTES;
use super::group::{Endpoint, Group};
use super::schedule::{Exchange, Tree};
use super::vector::Vector;
use crate::gm::call::Call;
use crate::gm::{Gm, MemoryError, PortError};
use crate::window::{System, VirtualAddress};

/// An operation that a board executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BoardOperation {
    /// The port's barrier.
    Barrier,
    /// The reduction with this descriptor of the port.
    Reduction(u8),
    /// The all-to-all broadcast of this group of the port.
    AllToAll(u8),
    /// The atomic operation of the port with this number.
    Atomic(u8),
}

/// The end of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// The operation that has ended.
    pub operation: BoardOperation,
    /// Status with which the operation ended. After another one than success no further operation of the port succeeds until the port is
    /// closed and opened again, since its groups are not in step any more.
    pub status: Status,
    /// The bits of the result, at the root of a reduction or everywhere if all wanted it; else 0.
    pub value: u64,
}

/// A reduction for one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduction<'a> {
    /// The members.
    pub group: &'a Group,
    /// Parent and children of the own rank.
    pub tree: &'a Tree,
    /// The operation on the values.
    pub operation: Operation,
    /// The bits of the own value.
    pub value: u64,
    /// Number of the operation: equal at all members, and different for each operation under way.
    pub tag: u32,
    /// Whether all members get the result, not only the root.
    pub all: bool,
}

/// An operation is not posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PostError {
    /// The port cannot be used.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The group's own endpoint is another node's.
    #[error("the group's own endpoint, {own}, is not of node {node}")]
    Node {
        /// The endpoint.
        own: Endpoint,
        /// The own node.
        node: u16,
    },
    /// The word of an atomic operation is not aligned.
    #[error("the word at {:#x} does not lie at a multiple of 4", address.0)]
    Misaligned {
        /// Address of the word.
        address: VirtualAddress,
    },
    /// The board has too little memory.
    #[error("the board has no memory for collective and atomic operations")]
    Unsupported,
    /// A vector has no elements, or too many.
    #[error("a vector of {elements} elements: it has 1 to {ELEMENT_LIMIT}")]
    Elements {
        /// Number of elements.
        elements: usize,
    },
    /// The board has no memory of the host for results of vectors.
    #[error("vectors are not enabled")]
    NoVectors,
    /// The port has such an operation under way, or as many as it can have.
    #[error("port {port} has as many of these operations under way as it can have")]
    Busy {
        /// The port with these operations.
        port: u8,
    },
    /// No send token is free: an operation takes one.
    #[error("no send token of port {port} is free")]
    NoToken {
        /// The port without a free token.
        port: u8,
    },
    /// Memory for channels.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A group of all-to-all broadcasts is too large.
    #[error("{members} members are more than {limit}")]
    Members {
        /// Members of the group.
        members: usize,
        /// Most members of the firmware.
        limit: u32,
    },
    /// A block is empty or too long.
    #[error("a block of {bytes} bytes: it has 1 to {LONGEST_BLOCK_BYTES}")]
    Block {
        /// Length of the block in bytes.
        bytes: usize,
    },
    /// A schedule names a rank that the group has not.
    #[error("rank {rank} is outside of the group")]
    Rank {
        /// The rank outside of the group.
        rank: usize,
    },
    /// A barrier has more peers than the board's list holds.
    #[error("a member has {peers} peers in the barrier, boards know at most {limit}")]
    Peers {
        /// Number of peers.
        peers: usize,
        /// Entries of a list.
        limit: u32,
    },
    /// More children than a descriptor holds.
    #[error("{children} children are more than {CHILD_LIMIT}")]
    Children {
        /// Number of children.
        children: usize,
    },
}

/// A port's operations on its board.
#[derive(Debug, Default)]
pub(in crate::gm) struct Operations {
    /// The lists of endpoints that the board has.
    lists: [Vec<u32>; 2],
    /// The list of the last barrier.
    list: usize,
    /// Groups of all-to-all broadcasts that were opened.
    pub(super) groups: u8,
    /// The send tokens of the operations under way: the barrier's, those of reductions, of groups and of atomic operations.
    tokens: [Option<u8>; (ATOMIC_OPERATIONS + ATOMIC_COUNT) as usize],
}

/// Words of a descriptor that are written.
pub(super) const DESCRIPTOR_WORDS: usize = DESCRIPTOR_BYTES as usize / 4 - 2;

impl Gm {
    /// Enters a barrier, by pairwise exchange ([`schedule::exchange`](super::schedule::exchange)). At its end there is an
    /// [`Event::Completed`](crate::gm::Event::Completed); until then the program can do something else.
    ///
    /// # Errors
    /// [`PostError`]; then nothing is posted.
    #[doc(alias = "gm_barrier_with_callback")]
    pub async fn post_exchange(
        &mut self,
        group: &Group,
        steps: &Exchange,
    ) -> Result<BoardOperation, PostError> {
        let mut list = Vec::with_capacity(steps.peers.len() + 2);
        if let Some(guest) = steps.guest {
            list.push(entry(group, guest)? | STEP_WAIT);
        }
        for peer in &steps.peers {
            list.push(entry(group, *peer)? | STEP_SEND | STEP_WAIT);
        }
        if let Some(guest) = steps.guest {
            list.push(entry(group, guest)? | STEP_SEND);
        }
        self.post_barrier(group, &list, EXCHANGE).await
    }

    /// Enters a barrier, by gathering and broadcasting along a tree ([`schedule::tree`](super::schedule::tree)).
    ///
    /// # Errors
    /// [`PostError`]; then nothing is posted.
    pub async fn post_gather_broadcast(
        &mut self,
        group: &Group,
        tree: &Tree,
    ) -> Result<BoardOperation, PostError> {
        let ranks = tree.parent.iter().chain(&tree.children);
        let list = ranks.map(|rank| entry(group, *rank));
        let list = list.collect::<Result<Vec<_>, _>>()?;
        let algorithm = match tree.parent {
            Some(_) => TREE_PARENT,
            None => TREE_ROOT,
        };
        self.post_barrier(group, &list, algorithm).await
    }

    async fn post_barrier(
        &mut self,
        group: &Group,
        list: &[u32],
        algorithm: u32,
    ) -> Result<BoardOperation, PostError> {
        let own = self.check_own(group)?;
        if list.len() > self.layout.nodes() as usize {
            let peers = list.len();
            let limit = self.layout.nodes();
            return Err(PostError::Peers { peers, limit });
        }
        let call = Call::Barrier(own);
        self.system.call_begins(&call);
        let posted = self.write_barrier(own, list, algorithm).await;
        self.system.call_returns(&call);
        posted
    }

    async fn write_barrier(
        &mut self,
        own: u8,
        list: &[u32],
        algorithm: u32,
    ) -> Result<BoardOperation, PostError> {
        self.take_token(own, BoardOperation::Barrier)?;
        let port = self.port(own)?;
        let known = port.operations.lists[port.operations.list] == list;
        if !known {
            // Packets of the last barrier may still leave by its list.
            port.operations.list ^= 1;
            port.operations.lists[port.operations.list] = list.to_vec();
        }
        let second = port.operations.list as u32;
        self.system.compute(self.overhead_ns).await;
        if !known && !list.is_empty() {
            let at = self.layout.peer_list(own.into(), second);
            self.board.write_sram_burst(at, list).await;
        }
        let algorithm = algorithm | (second * SECOND_LIST);
        let word = (list.len() as u32) << 16 | algorithm << 8 | BARRIER;
        self.write_post(own, 0, word).await?;
        Ok(BoardOperation::Barrier)
    }

    /// Gives a value to a reduction. At its end, for a member that does not get the result when its value has gone to its parent, there
    /// is an [`Event::Completed`](crate::gm::Event::Completed).
    ///
    /// # Errors
    /// [`PostError`]; then nothing is posted.
    pub async fn post_reduction(
        &mut self,
        reduction: &Reduction<'_>,
    ) -> Result<BoardOperation, PostError> {
        let own = self.check_own(reduction.group)?;
        let call = Call::Reduction(own);
        self.system.call_begins(&call);
        let posted = self.write_reduction(own, reduction, None).await;
        self.system.call_returns(&call);
        posted
    }

    /// Writes a descriptor and its post; before them the elements of a vector.
    pub(super) async fn write_reduction(
        &mut self,
        own: u8,
        reduction: &Reduction<'_>,
        vector: Option<Vector<'_>>,
    ) -> Result<BoardOperation, PostError> {
        let mut words = descriptor_words(reduction)?;
        let of_reductions = 1..=DESCRIPTOR_COUNT as usize;
        let tokens = &self.port(own)?.operations.tokens[of_reductions];
        let free = tokens.iter().position(Option::is_none);
        let number = free.ok_or(PostError::Busy { port: own })? as u8;
        self.take_token(own, BoardOperation::Reduction(number))?;
        self.system.compute(self.overhead_ns).await;
        let at = descriptor(own.into(), number.into());
        let used = 5 + reduction.tree.children.len();
        if let Some(vector) = vector {
            vector.describe(&mut words);
            let at = operands(own.into(), number.into());
            self.board.write_sram_burst(at, &vector.words()).await;
        }
        self.board.write_sram_burst(at, &words[..used]).await;
        self.write_post(own, 0, u32::from(number) << 8 | REDUCE)
            .await?;
        Ok(BoardOperation::Reduction(number))
    }

    /// Takes a send token for an operation.
    pub(in crate::gm) fn take_token(
        &mut self,
        own: u8,
        operation: BoardOperation,
    ) -> Result<(), PostError> {
        let port = self.port(own)?;
        let place = &mut port.operations.tokens[operation.number()];
        if place.is_some() {
            return Err(PostError::Busy { port: own });
        }
        let token = port.free_sends.pop();
        *place = Some(token.ok_or(PostError::NoToken { port: own })?);
        Ok(())
    }

    /// Writes length and last word of the next send slot.
    pub(super) async fn write_post(
        &mut self,
        own: u8,
        length: u32,
        word: u32,
    ) -> Result<(), PortError> {
        let port = self.port(own)?;
        let place = port.next_send_slot;
        port.next_send_slot = (place + 1) % SEND_SLOTS;
        let slot = send_slot(own.into(), place);
        self.board
            .write_sram_burst(slot + SEND_LENGTH, &[length, word])
            .await;
        Ok(())
    }

    /// The own port of a group on this node.
    pub(super) fn check_own(&self, group: &Group) -> Result<u8, PostError> {
        let own = group.own();
        if own.node != self.node {
            let node = self.node;
            return Err(PostError::Node { own, node });
        }
        if !self.has_collectives {
            return Err(PostError::Unsupported);
        }
        Ok(own.port)
    }
}

/// The endpoint of a rank, as the board knows it.
pub(super) fn entry(group: &Group, rank: usize) -> Result<u32, PostError> {
    let member = group.member(rank).ok_or(PostError::Rank { rank })?;
    Ok(endpoint(member.node.into(), member.port.into()))
}

fn descriptor_words(reduction: &Reduction<'_>) -> Result<[u32; DESCRIPTOR_WORDS], PostError> {
    let Tree { parent, children } = reduction.tree;
    let count = children.len();
    if count > CHILD_LIMIT as usize {
        return Err(PostError::Children { children: count });
    }
    let mut flags = 0;
    let mut up = 0;
    if let Some(parent) = parent {
        flags |= REDUCE_PARENT;
        up = entry(reduction.group, *parent)?;
    }
    if reduction.all {
        flags |= REDUCE_ALL;
    }
    let mut words = [0; DESCRIPTOR_WORDS];
    let kind = (count as u32) << 16 | flags << 8 | reduction.operation as u32;
    let value = reduction.value;
    let first = [(value >> 32) as u32, value as u32, reduction.tag, kind, up];
    words[..first.len()].copy_from_slice(&first);
    for (word, child) in words[first.len()..].iter_mut().zip(children) {
        *word = entry(reduction.group, *child)?;
    }
    Ok(words)
}

impl BoardOperation {
    /// Index of the operation among those of a port.
    const fn number(self) -> usize {
        match self {
            Self::Barrier => 0,
            Self::Reduction(number) => 1 + number as usize,
            Self::AllToAll(number) => 1 + DESCRIPTOR_COUNT as usize + number as usize,
            Self::Atomic(number) => ATOMIC_OPERATIONS as usize + number as usize,
        }
    }

    /// The operation with a number.
    const fn from_number(number: u8) -> Self {
        const GROUPS: u8 = 1 + DESCRIPTOR_COUNT as u8;
        const ATOMICS: u8 = ATOMIC_OPERATIONS as u8;
        match number {
            0 => Self::Barrier,
            ATOMICS.. => Self::Atomic(number - ATOMICS),
            GROUPS.. => Self::AllToAll(number - GROUPS),
            _ => Self::Reduction(number - 1),
        }
    }
}

impl Operations {
    /// Whether an operation is not under way.
    pub(in crate::gm) fn is_free(&self, operation: BoardOperation) -> bool {
        self.tokens[operation.number()].is_none()
    }

    /// The send token of an operation that has ended without an event.
    pub(in crate::gm) fn end(&mut self, operation: BoardOperation) -> Option<u8> {
        self.tokens[operation.number()].take()
    }

    /// The end of an operation, as an event tells it, and the send token that is free again; `None` if no such operation is under way.
    pub(in crate::gm) fn completed(
        &mut self,
        event: u32,
        field: impl Fn(u32) -> u32,
    ) -> Option<(Completed, u8)> {
        let number = (event >> 8 & 0xFF) as u8;
        let token = self.tokens.get_mut(usize::from(number))?.take()?;
        let operation = BoardOperation::from_number(number);
        let high = u64::from(field(WORD_BUFFER));
        let status = Status::from_code(field(STATUS)).unwrap_or(Status::InvalidParameter);
        let completed = Completed {
            operation,
            status,
            value: high << 32 | u64::from(field(WORD_BUFFER + 4)),
        };
        Some((completed, token))
    }
}

/// Word of the event with the status.
const STATUS: u32 = defs::gm::event::WORD_NODE;

const _: () = assert!(SEND_TYPE == SEND_LENGTH + 4);
