//! Multicasts along a tree (dissertation, 2.2 and 2.3): the host of each inner node sends on what it receives, packet by packet or as a
//! whole message, by multi-sends or by ordinary sends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use defs::fm::map::MULTI_LIMIT;
use thiserror::Error;

use super::predict::SendMethod;
use super::stream::SendStream;
use super::tree::Tree;
use super::{Fm, ReceiveError, SendError};

/// Extracts one packet: as soon as one byte, or an empty packet, has been handled.
const ONE_PACKET: u32 = 1;

/// A multicast is not possible, or has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MulticastError {
    /// The tree is for another number of members.
    #[error("a tree of {nodes} nodes does not fit {members} members")]
    Members {
        /// Nodes of the tree.
        nodes: usize,
        /// Members given.
        members: usize,
    },
    /// The own node is not a member.
    #[error("node {node} is not a member")]
    NotMember {
        /// The own node.
        node: u16,
    },
    /// A node is a member twice.
    #[error("node {node} is a member twice")]
    Twice {
        /// The node that is listed twice.
        node: u16,
    },
    /// A member cannot be reached.
    #[error(
        "node {node} has {count} children, more than the {MULTI_LIMIT} destinations of a multi-send: take a smaller lambda"
    )]
    Children {
        /// The node with too many children.
        node: u16,
        /// Number of its children.
        count: usize,
    },
    /// Only the root begins a multicast, and the root receives none.
    #[error("node {node} is not the root: only that begins a multicast")]
    NotRoot {
        /// The own node.
        node: u16,
    },
    /// The root receives no multicast.
    #[error("node {node} is the root, which receives nothing")]
    Root {
        /// The own node.
        node: u16,
    },
    /// A message is not complete: a packet was lost. FM does not send it again.
    #[error(
        "of a message of {length} bytes from node {sender} only {bytes} bytes have come: FM does not repeat lost packets"
    )]
    Incomplete {
        /// Node that sent the message.
        sender: u16,
        /// Bytes that have come.
        bytes: u32,
        /// Length of the message.
        length: u32,
    },
    /// A packet was not sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// A packet was not received.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
}

/// Settings of a multicast, the same at all members.
#[derive(Debug, Clone)]
pub struct Multicast {
    /// The tree, of ranks.
    pub tree: Arc<Tree>,
    /// Nodes of the ranks; the first one is the root.
    pub members: Arc<[u16]>,
    /// Method by which inner nodes send messages on.
    pub way: SendMethod,
    /// Handler of its packets.
    pub handler: u16,
}

/// A message of a multicast, complete at a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedMulticast {
    /// Content of the message.
    pub bytes: Vec<u8>,
    /// When the last packet had been handled, in ps: before the rest was sent on.
    pub at_ps: u64,
}

/// A packet of a multicast.
struct MulticastPacket {
    sender: u16,
    message: u16,
    length: u32,
    offset: u32,
    bytes: Vec<u8>,
}

/// A member of a multicast. Its handler stays with FM.
pub struct Member {
    node: u16,
    way: SendMethod,
    handler: u16,
    is_root: bool,
    children: Vec<u16>,
    parts: Arc<Mutex<VecDeque<MulticastPacket>>>,
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member")
            .field("node", &self.node)
            .field("children", &self.children)
            .finish_non_exhaustive()
    }
}

/// Streams to the children: one for all, or one for each.
struct Streams(Vec<SendStream>);

impl Fm {
    /// Takes part in multicasts: sets the handler of their packets.
    ///
    /// # Errors
    /// [`MulticastError`]: the settings are not possible.
    pub fn join_multicast(&mut self, multicast: &Multicast) -> Result<Member, MulticastError> {
        let Multicast { tree, members, .. } = multicast;
        if tree.nodes() != members.len() {
            return Err(MulticastError::Members {
                nodes: tree.nodes(),
                members: members.len(),
            });
        }
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(MulticastError::Twice { node: pair[0] });
        }
        for (rank, &node) in members.iter().enumerate() {
            let count = tree.children(rank).len();
            if multicast.way.multi_send && count > MULTI_LIMIT as usize {
                return Err(MulticastError::Children { node, count });
            }
        }
        let node = self.node();
        let rank = members.iter().position(|&member| member == node);
        let rank = rank.ok_or(MulticastError::NotMember { node })?;
        let children = tree.children(rank).iter();
        let parts: Arc<Mutex<VecDeque<MulticastPacket>>> = Arc::default();
        let filled = Arc::clone(&parts);
        self.set_handler(multicast.handler, move |piece| {
            let part = MulticastPacket {
                sender: piece.sender,
                message: piece.message,
                length: piece.length,
                offset: piece.offset,
                bytes: piece.bytes.to_vec(),
            };
            let mut parts = filled.lock().unwrap_or_else(PoisonError::into_inner);
            parts.push_back(part);
        });
        Ok(Member {
            node,
            way: multicast.way,
            handler: multicast.handler,
            is_root: rank == 0,
            children: children.map(|&child| members[child]).collect(),
            parts,
        })
    }
}

impl Member {
    /// Begins a multicast, at the root. Its packets have been given to the board when this returns.
    ///
    /// # Errors
    /// [`MulticastError`].
    pub async fn send(&self, fm: &mut Fm, bytes: &[u8]) -> Result<(), MulticastError> {
        match self.is_root {
            true => self.send_all(fm, bytes).await,
            false => Err(MulticastError::NotRoot { node: self.node }),
        }
    }

    /// Receives a multicast, at another member, and sends it to the children. `timeout_ns`: how long it waits for each packet;
    /// `None`: for ever.
    ///
    /// # Errors
    /// [`MulticastError`].
    pub async fn receive(
        &self,
        fm: &mut Fm,
        timeout_ns: Option<u64>,
    ) -> Result<ReceivedMulticast, MulticastError> {
        if self.is_root {
            return Err(MulticastError::Root { node: self.node });
        }
        let first = self.next_part(fm, timeout_ns).await?;
        let (sender, message, length) = (first.sender, first.message, first.length);
        let pipelined = self.way.pipelined && !self.children.is_empty();
        let mut streams = match pipelined {
            true => Some(Streams::open(fm, self, length).await?),
            false => None,
        };
        let mut whole = Vec::with_capacity(length as usize);
        let mut part = first;
        let at_ps = loop {
            if (part.sender, part.message, part.offset) != (sender, message, whole.len() as u32) {
                // The next message has begun.
                self.lock().push_front(part);
                return Err(incomplete(sender, &whole, length));
            }
            whole.extend(&part.bytes);
            let now_ps = fm.system.now_ps();
            if let Some(streams) = &mut streams {
                streams.send(fm, &part.bytes).await?;
            }
            if whole.len() as u32 >= length {
                break now_ps;
            }
            part = match self.next_part(fm, timeout_ns).await {
                Ok(part) => part,
                Err(MulticastError::Receive(
                    ReceiveError::Nothing { .. } | ReceiveError::Broken { .. },
                )) => return Err(incomplete(sender, &whole, length)),
                Err(error) => return Err(error),
            };
        };
        match streams {
            Some(streams) => streams.end(fm).await?,
            None => self.send_all(fm, &whole).await?,
        }
        Ok(ReceivedMulticast {
            bytes: whole,
            at_ps,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<MulticastPacket>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn next_part(
        &self,
        fm: &mut Fm,
        timeout_ns: Option<u64>,
    ) -> Result<MulticastPacket, MulticastError> {
        loop {
            let part = self.lock().pop_front();
            if let Some(part) = part {
                return Ok(part);
            }
            fm.wait(timeout_ns).await?;
            fm.extract(ONE_PACKET).await?;
        }
    }

    /// Sends a whole message to the children: to one after the other, unless the board copies it.
    async fn send_all(&self, fm: &mut Fm, bytes: &[u8]) -> Result<(), MulticastError> {
        let count = match self.way.multi_send {
            true => self.children.len().max(1),
            false => 1,
        };
        let pipelined = self.way.pipelined && !self.way.multi_send;
        if pipelined && !self.children.is_empty() {
            // The same order as at the other nodes: each packet to all children.
            let mut streams = Streams::open(fm, self, bytes.len() as u32).await?;
            for packet in bytes.chunks(defs::fm::packet::MTU as usize) {
                streams.send(fm, packet).await?;
            }
            return streams.end(fm).await;
        }
        for children in self.children.chunks(count) {
            let length = bytes.len() as u32;
            let mut stream = fm
                .begin_message_multi(children, length, self.handler)
                .await?;
            fm.send_piece(&mut stream, bytes).await?;
            fm.end_message(stream).await?;
        }
        Ok(())
    }
}

fn incomplete(sender: u16, bytes: &[u8], length: u32) -> MulticastError {
    MulticastError::Incomplete {
        sender,
        bytes: bytes.len() as u32,
        length,
    }
}

impl Streams {
    /// Streams without the lock: the nodes of a tree form no circle.
    async fn open(fm: &mut Fm, member: &Member, length: u32) -> Result<Self, MulticastError> {
        let count = match member.way.multi_send {
            true => member.children.len(),
            false => 1,
        };
        let mut streams = Vec::new();
        for children in member.children.chunks(count) {
            let stream = fm.unsafe_begin_message_multi(children, length, member.handler);
            streams.push(stream.await?);
        }
        Ok(Self(streams))
    }

    async fn send(&mut self, fm: &mut Fm, bytes: &[u8]) -> Result<(), MulticastError> {
        for stream in &mut self.0 {
            fm.send_piece(stream, bytes).await?;
        }
        Ok(())
    }

    async fn end(self, fm: &mut Fm) -> Result<(), MulticastError> {
        for stream in self.0 {
            fm.end_message(stream).await?;
        }
        Ok(())
    }
}
