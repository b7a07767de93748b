//! What EMP promises, as its hosts see it: a ledger of everything that was posted and what became of it,
//! and the rules that hold for it whatever the wire did.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Outcome, Posting};
use defs::emp::descriptor::Code;

/// A message, as its sender's host knows it.
pub struct Sent {
    pub from: usize,
    /// The sender's life.
    pub life: u16,
    pub to: usize,
    pub tag: u16,
    pub bytes: Vec<u8>,
    /// Frames of the message.
    pub frames: u32,
    /// Some of its memory is not there.
    pub faulty: bool,
    pub posting: Posting,
    /// Once the NIC has taken it.
    pub id: Option<u16>,
    pub code: Option<Code>,
    /// Its receiver has given it up, and it has heard so: from then on nothing of it is sent again.
    pub refused: bool,
    /// Its host has started anew: it will never hear of it.
    pub forgotten: bool,
}

/// A receive, as its host knows it.
pub struct Received {
    pub at: usize,
    /// The receiver's life.
    pub life: u16,
    /// What it asks for.
    pub from: Option<u16>,
    pub tag: Option<u16>,
    pub capacity: usize,
    /// Some of its memory is not there.
    pub faulty: bool,
    pub posting: Posting,
    /// The NIC has taken it.
    pub posted: bool,
    /// Its host has asked for it back.
    pub cancelled: bool,
    /// What came, with its bytes.
    pub result: Option<(Outcome, Vec<u8>)>,
    pub forgotten: bool,
}

impl Received {
    fn asks_for(&self, from: u16, tag: u16) -> bool {
        self.from.is_none_or(|wanted| wanted == from) && self.tag.is_none_or(|wanted| wanted == tag)
    }

    /// Whether what came can be only one message: few bytes, or those of a failure, look like others.
    fn is_recognisable(&self) -> bool {
        let Some((outcome, _)) = &self.result else {
            return false;
        };
        let delivered = matches!(outcome.code, Code::Done | Code::Truncated);
        delivered && !self.faulty && self.capacity.min(outcome.length as usize) > 3
    }

    /// Source and tag of what came.
    fn source(&self) -> Option<(usize, u16)> {
        let (outcome, _) = self.result.as_ref()?;
        let came = outcome.code != Code::Cancelled;
        came.then_some((usize::from(outcome.node), outcome.tag))
    }
}

/// A life of a node.
pub type Life = (usize, u16);
/// A message from one life of a node to another node's: receiver, sender, identifier. The sender's life is that
/// in the frames themselves: lives use the same identifiers.
pub type Key = (Life, Life, u16);

/// Everything that was posted, in the order of posting.
#[derive(Default)]
pub struct Ledger {
    pub sent: Vec<Sent>,
    pub received: Vec<Received>,
    /// The frames that each life of each node has accepted of each message.
    pub accepted: BTreeMap<Key, BTreeSet<u32>>,
    /// The last life of each node.
    pub lives: Vec<u16>,
    /// No send may have failed: senders were patient, nobody started anew.
    pub all_succeed: bool,
}

impl Ledger {
    /// Holds all that happened against the promise.
    pub fn check(&self) {
        for (index, sent) in self.sent.iter().enumerate() {
            self.check_sent(index, sent);
        }
        for (index, received) in self.received.iter().enumerate() {
            self.check_received(index, received);
        }
        for to in 0..self.lives.len() {
            for life in 0..=self.lives[to] {
                self.check_order(to, life);
            }
        }
    }

    /// Every send ends. It is `Done` only if one life of its receiver has all of it, and fails only for
    /// a reason.
    fn check_sent(&self, index: usize, sent: &Sent) {
        let Some(code) = sent.code else {
            return assert!(sent.forgotten, "send {index} never ended");
        };
        match code {
            Code::Done => {
                assert!(!sent.faulty, "send {index} is done, but has no memory");
                let whole = (0..=self.lives[sent.to]).any(|life| self.took_all(sent, life));
                assert!(whole, "send {index} is done, but nobody has all of it");
            }
            Code::Timeout => assert!(!self.all_succeed, "send {index} failed"),
            Code::HostMemory | Code::BadDescriptor => {
                assert!(sent.faulty, "send {index}: {code:?}");
            }
            _ => panic!("send {index}: {code:?}"),
        }
    }

    /// The message that a life of a node has sent to another node by this identifier.
    pub fn sent_by(&mut self, from: Life, to: usize, id: u16) -> Option<&mut Sent> {
        let mut sent = self.sent.iter_mut();
        sent.find(|sent| (sent.from, sent.life) == from && (sent.to, sent.id) == (to, Some(id)))
    }

    /// Whether one life of the receiver has accepted all frames of a message.
    fn took_all(&self, sent: &Sent, life: u16) -> bool {
        let Some(id) = sent.id else { return false };
        let key = ((sent.to, life), (sent.from, sent.life), id);
        let frames = self.accepted.get(&key);
        frames.is_some_and(|frames| frames.len() as u32 == sent.frames)
    }

    /// Every receive ends, with a message that it asked for.
    fn check_received(&self, index: usize, received: &Received) {
        let Some((outcome, _)) = &received.result else {
            return assert!(received.forgotten, "receive {index} never ended");
        };
        let &Outcome {
            code,
            node,
            tag,
            length,
        } = outcome;
        if code == Code::Cancelled {
            return assert!(received.cancelled, "receive {index} came back");
        }
        assert!(
            received.asks_for(node, tag),
            "receive {index}: {outcome:?} was not asked for"
        );
        let fits = length as usize <= received.capacity;
        match code {
            Code::Done => assert!(fits, "receive {index} is too short, but done"),
            Code::Truncated => assert!(!fits, "receive {index} is long enough"),
            Code::Timeout => {}
            Code::HostMemory | Code::BadDescriptor => {
                assert!(received.faulty, "receive {index}: {code:?}");
            }
            _ => panic!("receive {index}: {code:?}"),
        }
    }

    /// Within one life of a receiver: each receive has a message of its own, every message that came
    /// whole has a receive, and no message of a source overtakes another.
    fn check_order(&self, to: usize, life: u16) {
        let receives: Vec<&Received> = self
            .received
            .iter()
            .filter(|received| (received.at, received.life) == (to, life) && received.posted)
            .collect();
        let ways: BTreeSet<(usize, u16)> = self
            .sent
            .iter()
            .filter(|sent| sent.to == to)
            .map(|sent| (sent.from, sent.tag))
            .collect();
        // Position of the message that each receive took.
        let mut taken = vec![None; receives.len()];
        for way in ways {
            let of_way = |&at: &usize| receives[at].source() == Some(way);
            let positions: Vec<usize> = (0..receives.len()).filter(of_way).collect();
            let sends: Vec<usize> = (0..self.sent.len())
                .filter(|&at| {
                    let sent = &self.sent[at];
                    (sent.to, sent.from, sent.tag) == (to, way.0, way.1)
                })
                .collect();
            let results: Vec<&Received> = positions.iter().map(|&at| receives[at]).collect();
            let mut dead = BTreeSet::new();
            let found = self.assign(life, &results, &sends, (0, 0), &mut dead);
            let found = found.unwrap_or_else(|| {
                panic!("messages {sends:?} and receives of node {to}, life {life}, differ")
            });
            for (position, message) in positions.into_iter().zip(found) {
                taken[position] = Some(message);
            }
        }
        self.check_overtaking(&receives, &taken);
    }

    /// Gives each receive of one source and tag, in the order of posting, a later message than the one
    /// before. Only messages that did not come whole may be left out. `dead` are beginnings that
    /// were tried in vain.
    fn assign(
        &self,
        life: u16,
        receives: &[&Received],
        sends: &[usize],
        at: (usize, usize),
        dead: &mut BTreeSet<(usize, usize)>,
    ) -> Option<Vec<usize>> {
        let (receive, send) = at;
        let Some(&message) = sends.get(send) else {
            return (receive == receives.len()).then(Vec::new);
        };
        if dead.contains(&at) {
            return None;
        }
        let sent = &self.sent[message];
        if let Some(received) = receives.get(receive)
            && self.can_be(received, sent)
            && let Some(mut rest) =
                self.assign(life, receives, sends, (receive + 1, send + 1), dead)
        {
            rest.insert(0, message);
            return Some(rest);
        }
        let skipped = match self.must_be_received(sent, life) {
            true => None,
            false => self.assign(life, receives, sends, (receive, send + 1), dead),
        };
        if skipped.is_none() {
            dead.insert(at);
        }
        skipped
    }

    /// Whether a receive's result can be that message.
    fn can_be(&self, received: &Received, sent: &Sent) -> bool {
        let Some((outcome, bytes)) = &received.result else {
            return false;
        };
        if outcome.length as usize != sent.bytes.len() {
            return false;
        }
        let fits = sent.bytes.len().min(received.capacity);
        match outcome.code {
            Code::Done | Code::Truncated => received.faulty || bytes[..fits] == sent.bytes[..fits],
            Code::Timeout => !self.took_all(sent, received.life),
            _ => true,
        }
    }

    /// Whether a receive of this life must have a message: it came whole, and the life went on.
    fn must_be_received(&self, sent: &Sent, life: u16) -> bool {
        life == self.lives[sent.to] && self.took_all(sent, life)
    }

    /// Of two receives, the one that was posted first took the earlier message of a source, if it asked
    /// for both.
    fn check_overtaking(&self, receives: &[&Received], taken: &[Option<usize>]) {
        let known = |at: usize| taken[at].filter(|_| receives[at].is_recognisable());
        for position in 0..receives.len() {
            let Some(later) = known(position) else {
                continue;
            };
            let message = &self.sent[later];
            for (first, received) in receives[..position].iter().enumerate() {
                let Some(earlier) = known(first) else {
                    continue;
                };
                let comparable = message.from == self.sent[earlier].from
                    && received.asks_for(message.from as u16, message.tag);
                assert!(
                    !comparable || earlier < later,
                    "message {later} overtook message {earlier}"
                );
            }
        }
    }
}
