//! A node's port: messages in fragments, puts, gets and atomic operations, in the order in which they are asked for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use defs::gm::event::Status;

use super::{DsmError, DsmMessage, Posts};
use crate::gm::atomic::{AtomicOperation, Word};
use crate::gm::channel::{BufferClass, Channel, ChannelEvent, buffer_bytes};
use crate::gm::collective::{BoardOperation, Completed, Endpoint};
use crate::gm::{Buffer, Event, Gm, Priority, Remote, SendId};
use crate::window::{System, VirtualAddress};

/// Buffers: for requests and replies, and for changes of pages.
const CLASSES: [BufferClass; 2] = [
    BufferClass {
        longest_bytes: 248,
        sends: 24,
        receives: 128,
        urgent: 0,
    },
    BufferClass {
        longest_bytes: 8184,
        sends: 12,
        receives: 64,
        urgent: 0,
    },
];
/// Most bytes of a fragment's content.
const FRAGMENT_BYTES: usize = 8184 - FLAG_BYTES;
/// Bytes in front of a fragment's content: whether another one follows.
const FLAG_BYTES: usize = 4;
/// Send tokens that stay free for gets and operations of the board, for which the program waits.
const KEPT_TOKENS: usize = 8;
/// Pause before an operation is posted again for which the board had no place, in ns.
const AGAIN_NS: u64 = 2_000;

/// Bytes of host memory of the buffers.
pub(super) fn buffers_bytes() -> u64 {
    let class =
        |class: &BufferClass| buffer_bytes(class.longest_bytes, class.sends + class.receives);
    CLASSES.iter().map(class).sum()
}

/// Something to be sent, in its turn.
struct Outgoing {
    to: usize,
    what: Post,
    /// Processor time that the post still costs, in ns.
    left_ns: u64,
}

/// A fragment of a message, or a put.
enum Post {
    Fragment(Vec<u8>),
    Put { from: Buffer, at: u64 },
}

/// The port of a node and its traffic.
pub(super) struct DsmNetwork {
    pub(super) gm: Gm,
    channel: Channel,
    posts: Posts,
    pub(super) members: Vec<Endpoint>,
    outgoing: VecDeque<Outgoing>,
    /// Sends, puts and gets that have not ended, with the ranks of the other nodes.
    under_way: BTreeMap<SendId, usize>,
    gets: BTreeSet<SendId>,
    /// Operations of the board that have ended.
    completed: Vec<Completed>,
    /// The beginnings of messages of which fragments are missing, by sender.
    parts: Vec<Vec<u8>>,
}

impl DsmNetwork {
    pub(super) async fn new(
        mut gm: Gm,
        members: &[Endpoint],
        port: u8,
        posts: Posts,
    ) -> Result<Self, DsmError> {
        let channel = Channel::new(&mut gm, port, &CLASSES).await?;
        Ok(Self {
            gm,
            channel,
            posts,
            members: members.to_vec(),
            outgoing: VecDeque::new(),
            under_way: BTreeMap::new(),
            gets: BTreeSet::new(),
            completed: Vec::new(),
            parts: vec![Vec::new(); members.len()],
        })
    }

    /// Number of the own port.
    pub(super) const fn port(&self) -> u8 {
        self.channel.port()
    }

    /// The host's clock, in ps.
    pub(super) fn now_ps(&self) -> u64 {
        self.gm.system().now_ps()
    }

    /// Sends a message, now or when there is room for it.
    pub(super) async fn send(&mut self, to: usize, message: &DsmMessage) -> Result<(), DsmError> {
        let content = message.bytes();
        let count = content.len().div_ceil(FRAGMENT_BYTES).max(1);
        for (at, part) in content.chunks(FRAGMENT_BYTES).enumerate() {
            let more = u32::from(at + 1 < count);
            let bytes = [&more.to_be_bytes()[..], part].concat();
            self.outgoing.push_back(Outgoing {
                to,
                left_ns: self.posts.time_ns(bytes.len(), message.is_immediate()),
                what: Post::Fragment(bytes),
            });
        }
        self.pump().await
    }

    /// Writes own memory into that of another node, now or when there is room for it. Messages that are sent later arrive later.
    pub(super) async fn put(&mut self, to: usize, from: Buffer, at: u64) -> Result<(), DsmError> {
        self.outgoing.push_back(Outgoing {
            to,
            left_ns: self.posts.time_ns(from.length as usize, false),
            what: Post::Put { from, at },
        });
        self.pump().await
    }

    /// Sends what has room, in order.
    async fn pump(&mut self) -> Result<(), DsmError> {
        while self.gm.send_tokens(self.port())? > KEPT_TOKENS
            && let Some(mut next) = self.outgoing.pop_front()
        {
            let left_ns = std::mem::take(&mut next.left_ns);
            if left_ns > 0 {
                self.gm.system_mut().compute(left_ns).await;
            }
            let sent = match &next.what {
                Post::Fragment(bytes) => {
                    let member = self.members[next.to];
                    self.channel
                        .send(&mut self.gm, member, Priority::Low, &[bytes])
                        .await?
                }
                Post::Put { from, at } => {
                    let remote = self.remote(next.to, *at);
                    Some(self.gm.put(self.port(), *from, remote).await?)
                }
            };
            let Some(id) = sent else {
                self.outgoing.push_front(next);
                break;
            };
            self.under_way.insert(id, next.to);
        }
        Ok(())
    }

    /// An address of another node's memory.
    fn remote(&self, rank: usize, address: u64) -> Remote {
        let Endpoint { node, port } = self.members[rank];
        Remote {
            node,
            port,
            priority: Priority::Low,
            address: VirtualAddress(address),
        }
    }

    /// Begins to read memory of another node; [`is_got`](Self::is_got) tells when it is there.
    pub(super) async fn get(
        &mut self,
        from: usize,
        at: u64,
        into: Buffer,
    ) -> Result<SendId, DsmError> {
        let remote = self.remote(from, at);
        let id = self.gm.get(self.port(), into, remote).await?;
        self.under_way.insert(id, from);
        self.gets.insert(id);
        Ok(id)
    }

    /// Whether the bytes of a get are here.
    pub(super) fn is_got(&self, get: SendId) -> bool {
        !self.gets.contains(&get)
    }

    /// Begins an atomic operation on a word of a node.
    pub(super) async fn atomic(
        &mut self,
        rank: usize,
        at: u64,
        operation: AtomicOperation,
    ) -> Result<BoardOperation, DsmError> {
        let Endpoint { node, port } = self.members[rank];
        let address = VirtualAddress(at);
        let word = Word {
            node,
            port,
            address,
        };
        let own = self.port();
        Ok(self.gm.post_atomic(own, word, operation).await?)
    }

    /// The end of an operation of the board, once it is there.
    pub(super) fn completed(&mut self, operation: BoardOperation) -> Option<Completed> {
        let mut ended = self.completed.iter();
        let at = ended.position(|end| end.operation == operation)?;
        Some(self.completed.swap_remove(at))
    }

    /// Waits before an operation is posted again.
    pub(super) async fn pause(&mut self) {
        self.gm.system_mut().compute(AGAIN_NS).await;
    }

    /// Whether all has been sent and has arrived.
    pub(super) fn is_quiet(&self) -> bool {
        self.outgoing.is_empty() && self.under_way.is_empty()
    }

    /// Whether all messages and puts have been sent and have arrived.
    pub(super) fn has_sent(&self) -> bool {
        self.outgoing.is_empty() && self.under_way.len() == self.gets.len()
    }

    /// Number of free send tokens.
    pub(super) fn send_tokens(&mut self) -> Result<usize, DsmError> {
        let port = self.port();
        Ok(self.gm.send_tokens(port)?)
    }

    /// Whether so many tokens are free beside those that stay free for gets and operations for which the program waits.
    pub(super) fn has_tokens(&mut self, count: u32) -> Result<bool, DsmError> {
        Ok(self.send_tokens()? >= KEPT_TOKENS + count as usize)
    }

    /// Whether the board has all that was to be sent.
    pub(super) fn is_posted(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// Waits for an event; `false` if there is none within `limit_ns`.
    pub(super) async fn wait(&mut self, limit_ns: u64) -> Result<bool, DsmError> {
        let port = self.port();
        Ok(self.gm.event_within(port, Some(limit_ns)).await?)
    }

    /// Whether an event waits.
    pub(super) fn has_event(&mut self) -> Result<bool, DsmError> {
        let port = self.port();
        Ok(self.gm.receive_pending(port)?)
    }

    /// Takes an event, if there is one; the message that it completes, with its sender.
    pub(super) async fn take_message(&mut self) -> Result<Option<(usize, DsmMessage)>, DsmError> {
        match self.channel.poll(&mut self.gm).await? {
            Some(ChannelEvent::Message { from, bytes }) => self.message(from, &bytes),
            Some(ChannelEvent::Sent(all)) => {
                let mut failed = Ok(());
                for (id, status) in all {
                    let rank = self.under_way.remove(&id);
                    self.gets.remove(&id);
                    if let Some(rank) = rank
                        && status != Status::Success
                    {
                        failed = Err(DsmError::NodeGone { rank, status });
                    }
                }
                failed?;
                self.pump().await?;
                Ok(None)
            }
            Some(ChannelEvent::Other(Event::Completed(end))) => {
                self.completed.push(end);
                Ok(None)
            }
            Some(ChannelEvent::Other(_)) | None => Ok(None),
        }
    }

    /// Adds a fragment to its message; returns the message and its sender once it is whole.
    fn message(
        &mut self,
        from: Endpoint,
        bytes: &[u8],
    ) -> Result<Option<(usize, DsmMessage)>, DsmError> {
        let rank = self.members.iter().position(|member| *member == from);
        let rank = rank.ok_or(DsmError::Stranger)?;
        let (flag, content) = bytes
            .split_first_chunk::<FLAG_BYTES>()
            .ok_or(DsmError::Damaged { rank })?;
        let part = &mut self.parts[rank];
        part.extend_from_slice(content);
        if u32::from_be_bytes(*flag) != 0 {
            return Ok(None);
        }
        let whole = std::mem::take(part);
        let message = DsmMessage::from_bytes(&whole).ok_or(DsmError::Damaged { rank })?;
        Ok(Some((rank, message)))
    }
}
