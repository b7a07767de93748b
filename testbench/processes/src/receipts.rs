//! Receipts of short messages: the sender learns that they are in the receiver's host.
//!
//! A host that takes a message with a receipt owes it to the sender. The next packet to the sender carries it, which is the process's reply most
//! times; if there is none until the process has nothing more to do, a packet of its own does. Messages between two ranks arrive in the order in
//! which they were sent, so a receipt is the number of those that have come.

use std::collections::{BTreeSet, VecDeque};

/// Receipts between the host and one other rank.
#[derive(Debug, Clone, Default)]
struct PeerReceipts {
    /// Tokens of messages to the rank that have no receipt yet, the oldest first.
    tokens: VecDeque<u64>,
    /// Number of own messages with receipts.
    confirmed: u64,
    /// Number of messages of the rank that want one.
    taken: u64,
}

/// The receipts of a rank.
#[derive(Debug)]
pub(crate) struct Receipts {
    peers: Vec<PeerReceipts>,
    /// Ranks that have not been told of all of their messages.
    owed: BTreeSet<usize>,
}

impl Receipts {
    /// Receipts of a rank among so many.
    pub(crate) fn new(ranks: usize) -> Self {
        Self {
            peers: vec![PeerReceipts::default(); ranks],
            owed: BTreeSet::new(),
        }
    }

    /// A message to a rank wants a receipt, which ends the send with this token.
    pub(crate) fn want(&mut self, to: usize, token: u64) {
        self.peers[to].tokens.push_back(token);
    }

    /// A message that wants a receipt has come from a rank.
    pub(crate) fn owe(&mut self, from: usize) {
        self.peers[from].taken += 1;
        self.owed.insert(from);
    }

    /// The receipt for the next packet to a rank: the number of its messages that have come; 0: it knows of all.
    pub(crate) fn pay(&mut self, to: usize) -> u64 {
        match self.owed.remove(&to) {
            true => self.peers[to].taken,
            false => 0,
        }
    }

    /// A rank that has not been told of all of its messages.
    pub(crate) fn debt(&self) -> Option<usize> {
        self.owed.first().copied()
    }

    /// A receipt has come from a rank. Gives the tokens of the messages that it tells of.
    pub(crate) fn confirm(&mut self, from: usize, receipt: u64) -> impl Iterator<Item = u64> {
        let peer = &mut self.peers[from];
        let new = receipt.saturating_sub(peer.confirmed);
        let new = usize::try_from(new).map_or(peer.tokens.len(), |new| new.min(peer.tokens.len()));
        peer.confirmed += new as u64;
        peer.tokens.drain(..new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_end_sends_in_order() {
        let (mut sender, mut receiver) = (Receipts::new(3), Receipts::new(3));
        for token in 5..9 {
            sender.want(2, token);
        }
        assert_eq!((receiver.debt(), receiver.pay(1)), (None, 0));
        receiver.owe(1);
        receiver.owe(1);
        assert_eq!(receiver.debt(), Some(1));
        let first = receiver.pay(1);
        assert_eq!((first, receiver.debt(), receiver.pay(1)), (2, None, 0));
        receiver.owe(1);
        let second = receiver.pay(1);
        assert_eq!(sender.confirm(2, first).collect::<Vec<_>>(), [5, 6]);
        assert_eq!(sender.confirm(2, first).count(), 0);
        assert_eq!(sender.confirm(2, second).collect::<Vec<_>>(), [7]);
        // A receipt for more than was sent, and one from a rank to which nothing was sent.
        assert_eq!(sender.confirm(2, u64::MAX).collect::<Vec<_>>(), [8]);
        assert_eq!(sender.confirm(2, u64::MAX).count(), 0);
        assert_eq!(sender.confirm(0, 1).count(), 0);
    }
}
