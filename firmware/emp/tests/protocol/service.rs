//! EMP's guarantees to its hosts: a ledger of every posted message and its result, and the rules that hold
//! for it whatever faults the wire has.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Outcome, Posting};
use defs::emp::descriptor::Code;

/// A message, as its sender's host knows it.
pub struct Sent {
    pub from: usize,
    /// The sender's run.
    pub life: u16,
    pub to: usize,
    pub tag: u16,
    pub bytes: Vec<u8>,
    /// Frames of the message.
    pub frames: u32,
    /// Part of its memory is missing.
    pub faulty: bool,
    pub posting: Posting,
    /// Identifier, once the NIC has taken it.
    pub id: Option<u16>,
    pub code: Option<Code>,
    /// The receiver has abandoned the message and the sender knows: it is not sent again.
    pub refused: bool,
    /// The sending host has restarted and will not get a result.
    pub forgotten: bool,
}

/// A receive, as its host knows it.
pub struct Received {
    pub at: usize,
    /// The receiver's run.
    pub life: u16,
    /// Source and tag to match.
    pub from: Option<u16>,
    pub tag: Option<u16>,
    pub capacity: usize,
    /// Part of its memory is missing.
    pub faulty: bool,
    pub posting: Posting,
    /// The NIC has taken it.
    pub posted: bool,
    /// The host has cancelled the receive.
    pub cancelled: bool,
    /// The result and the received bytes.
    pub result: Option<(Outcome, Vec<u8>)>,
    pub forgotten: bool,
}

impl Received {
    fn asks_for(&self, from: u16, tag: u16) -> bool {
        self.from.is_none_or(|wanted| wanted == from) && self.tag.is_none_or(|wanted| wanted == tag)
    }

    /// Whether the result identifies one message: short or failed messages may be ambiguous.
    fn is_recognisable(&self) -> bool {
        let Some((outcome, _)) = &self.result else {
            return false;
        };
        let delivered = matches!(outcome.code, Code::Done | Code::Truncated);
        delivered && !self.faulty && self.capacity.min(outcome.length as usize) > 3
    }

    /// Source and tag of the received message.
    fn source(&self) -> Option<(usize, u16)> {
        let (outcome, _) = self.result.as_ref()?;
        let came = outcome.code != Code::Cancelled;
        came.then_some((usize::from(outcome.node), outcome.tag))
    }
}

/// A run of a node, from a start to the next.
pub type Life = (usize, u16);
/// Key of a message: receiver, sender, identifier. The sender's run is that of the frames themselves: runs
/// use equal identifiers.
pub type Key = (Life, Life, u16);

/// All posted messages, in the order of posting.
#[derive(Default)]
pub struct Ledger {
    pub sent: Vec<Sent>,
    pub received: Vec<Received>,
    /// Frames of each message that each run of each node has accepted.
    pub accepted: BTreeMap<Key, BTreeSet<u32>>,
    /// The last run of each node.
    pub lives: Vec<u16>,
    /// No send may have failed: senders were patient, no node restarted.
    pub all_succeed: bool,
}

impl Ledger {
    /// Checks the ledger against the guarantees.
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

    /// Every send ends. It is `Done` only if one run of its receiver has all of it, and fails only for a
    /// reason.
    fn check_sent(&self, index: usize, sent: &Sent) {
        let Some(code) = sent.code else {
            return assert!(sent.forgotten, "send {index} never ended");
        };
        match code {
            Code::Done => {
                assert!(!sent.faulty, "send {index} is done, but has no memory");
                let whole = (0..=self.lives[sent.to]).any(|life| self.took_all(sent, life));
                assert!(whole, "send {index} is done, but no run has all of it");
            }
            Code::Timeout => assert!(!self.all_succeed, "send {index} failed"),
            Code::HostMemory | Code::BadDescriptor => {
                assert!(sent.faulty, "send {index}: {code:?}");
            }
            _ => panic!("send {index}: {code:?}"),
        }
    }

    /// The message that a node has sent in a run with this identifier.
    pub fn sent_by(&mut self, from: Life, to: usize, id: u16) -> Option<&mut Sent> {
        let mut sent = self.sent.iter_mut();
        sent.find(|sent| (sent.from, sent.life) == from && (sent.to, sent.id) == (to, Some(id)))
    }

    /// Whether one run of the receiver has accepted all frames of a message.
    fn took_all(&self, sent: &Sent, life: u16) -> bool {
        let Some(id) = sent.id else { return false };
        let key = ((sent.to, life), (sent.from, sent.life), id);
        let frames = self.accepted.get(&key);
        frames.is_some_and(|frames| frames.len() as u32 == sent.frames)
    }

    /// Every receive ends, with a message that matches it.
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
            "receive {index}: {outcome:?} does not match"
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

    /// Within one run of a receiver: each receive has its own message, every complete message has a
    /// receive, and no message of a source overtakes another.
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

    /// Assigns each receive of one source and tag, in the order of posting, a later message than the
    /// previous one. Only incomplete messages may be left out. `dead` holds start positions that failed
    /// before.
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

    /// Whether a receive's result can be this message.
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

    /// Whether a receive of this run must have a message: the message was complete, and the run continued.
    fn must_be_received(&self, sent: &Sent, life: u16) -> bool {
        life == self.lives[sent.to] && self.took_all(sent, life)
    }

    /// Checks the order of receives: of two, the one posted first took the earlier message of a source, if both match.
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
