//! A model of GM's service: a ledger of everything that hosts have posted, and the rules that hold for it.

use std::collections::BTreeMap;

use defs::gm::event::Status;

use crate::node::Message;

/// Port of a node, target node and port, priority.
pub type Stream = [u32; 5];

/// Post of a host.
#[derive(Clone, PartialEq, Eq)]
pub enum What {
    Message(Message),
    /// A put or get: its bytes, and where they should be: node, address.
    Remote {
        get: bool,
        data: Vec<u8>,
        at: (u32, u32),
    },
}

impl std::fmt::Debug for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Message(one) => show(one, f),
            Self::Remote { get, data, at } => {
                write!(f, "get {get}: {} bytes at {at:x?}", data.len())
            }
        }
    }
}

/// The beginning of a message is enough to know it.
fn show(one: &Message, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    let head = &one.data[..one.data.len().min(4)];
    write!(f, "{} bytes of size {}: {head:?}", one.data.len(), one.size)
}

/// A post of a host, with its end.
#[derive(Debug, Clone)]
pub struct Post {
    pub what: What,
    pub stream: Stream,
    /// Life of the posting node and its port, and number of the send in it.
    pub life: u32,
    pub number: u32,
    /// Times of the post and of its end.
    pub posted: u32,
    pub ended: Option<(u32, u32)>,
    /// The port of the send was closed, or its node restarted.
    pub forgotten: bool,
    /// The stream of the send was dropped while it had not ended.
    pub dropped: bool,
    /// Receiver's lives in which it arrived.
    pub arrived: Vec<u32>,
}

#[derive(Debug, Default)]
pub struct Ledger {
    pub posts: Vec<Post>,
    /// Arrived messages for each stream and life of the receiving node.
    received: BTreeMap<(Stream, u32), Vec<Message>>,
    /// Times at which ports were closed, from and to; the node and port.
    pub closed: Vec<(u32, u32, u32, u32)>,
    /// Ports that let others use their memory at no time of their lives.
    pub denied: Vec<(u32, u32, u32, u32)>,
    /// Ticks that have passed, at each time.
    pub fatal_at: Option<u32>,
}

impl Ledger {
    pub fn receive(&mut self, one: Message, life: u32) {
        let stream = [
            one.node,
            one.port,
            one.target_node,
            one.target_port,
            one.priority,
        ];
        self.received.entry((stream, life)).or_default().push(one);
    }

    /// A send has ended.
    pub fn end(&mut self, node: u32, life: u32, port: u32, number: u32, at: (u32, u32)) {
        let mut posts = self.posts.iter_mut();
        let of = posts.find(|post| {
            (post.stream[0], post.stream[1], post.life, post.number) == (node, port, life, number)
        });
        let post = of.expect("a send that was posted");
        assert!(!post.forgotten, "an event for a closed port: {post:?}");
        assert_eq!(post.ended, None, "ends twice: {post:?}");
        post.ended = Some(at);
    }

    /// All sends of a port, or of a node, are forgotten.
    pub fn forget(&mut self, node: u32, port: Option<u32>) {
        for post in &mut self.posts {
            let of = post.stream[0] == node && port.is_none_or(|port| port == post.stream[1]);
            post.forgotten |= of && post.ended.is_none();
        }
    }

    /// Posts that have not ended.
    pub fn open(&self) -> impl Iterator<Item = &Post> {
        self.posts
            .iter()
            .filter(|post| post.ended.is_none() && !post.forgotten)
    }

    /// Checks the ledger against the guarantees.
    pub fn check(&mut self) {
        let received = std::mem::take(&mut self.received);
        for ((stream, life), messages) in received {
            self.check_order(stream, life, &messages);
        }
        for post in &self.posts {
            self.check_end(post);
        }
    }

    /// Each message arrives once, in order, with its bytes. Messages without bytes are alike: only their number counts.
    fn check_order(&mut self, stream: Stream, life: u32, messages: &[Message]) {
        let mut next = 0;
        for one in messages {
            let found = (next..self.posts.len()).find(|&at| {
                let post = &self.posts[at];
                let fits = post.stream == stream && post.what == What::Message(one.clone());
                fits && !post.arrived.contains(&life)
            });
            let text = || {
                let all: Vec<What> = messages.iter().cloned().map(What::Message).collect();
                format!(
                    "{stream:?} life {life}: {:?} among {all:?}",
                    What::Message(one.clone())
                )
            };
            let at = found.unwrap_or_else(|| panic!("out of order, twice or changed: {}", text()));
            self.posts[at].arrived.push(life);
            if !one.data.is_empty() {
                next = at + 1;
            }
        }
    }

    fn check_end(&self, post: &Post) {
        let Some((status, ended)) = post.ended else {
            return assert!(post.forgotten, "never ended: {post:?}");
        };
        let is = |known: Status| status == known as u32;
        let [_, _, node, port, _] = post.stream;
        let closed = self.closed.iter().any(|&(at, of, from, to)| {
            (at, of) == (node, port) && from <= ended && to >= post.posted
        });
        let message = matches!(post.what, What::Message(_));
        let denied = self.denied.iter().any(|&(at, of, from, to)| {
            (at, of) == (node, port) && from <= ended && to >= post.posted
        });
        let allowed = if is(Status::Success) {
            let empty = matches!(&post.what, What::Message(one) if one.data.is_empty());
            !message || !post.arrived.is_empty() || empty
        } else if is(Status::TargetPortClosed) {
            closed
        } else if is(Status::TimedOut) {
            self.fatal_at.is_some_and(|at| ended >= at)
        } else if is(Status::PermissionDenied) {
            !message && denied
        } else if is(Status::Dropped) {
            post.dropped && post.arrived.is_empty()
        } else {
            false
        };
        assert!(allowed, "end without a reason: {post:?}");
    }
}
