//! Ranks that are threads of one process.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::{RankError, Transport};

/// The channels of a rank that is a thread.
#[derive(Debug)]
pub struct Channels {
    rank: usize,
    /// Senders to the other ranks, by rank.
    to: Vec<Option<Sender<Vec<u8>>>>,
    /// Receivers from the other ranks, by rank.
    from: Vec<Option<Receiver<Vec<u8>>>>,
}

/// Joins threads by channels: one transport for each.
#[must_use]
pub fn channels(ranks: usize) -> Vec<Channels> {
    let mut all: Vec<_> = (0..ranks)
        .map(|rank| Channels {
            rank,
            to: (0..ranks).map(|_| None).collect(),
            from: (0..ranks).map(|_| None).collect(),
        })
        .collect();
    for sender in 0..ranks {
        for receiver in (0..ranks).filter(|&receiver| receiver != sender) {
            let (to, from) = channel();
            all[sender].to[receiver] = Some(to);
            all[receiver].from[sender] = Some(from);
        }
    }
    all
}

impl Transport for Channels {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.to.len()
    }

    fn send(&mut self, to: usize, message: &[u8]) -> Result<(), RankError> {
        let channel = self.to.get(to).and_then(Option::as_ref);
        let sent = channel.map(|channel| channel.send(message.to_vec()));
        sent.and_then(Result::ok).ok_or(RankError::Gone(to))
    }

    fn receive(&mut self, from: usize, message: &mut Vec<u8>) -> Result<(), RankError> {
        let channel = self.from.get(from).and_then(Option::as_ref);
        let received = channel.and_then(|channel| channel.recv().ok());
        message.extend(received.ok_or(RankError::Gone(from))?);
        Ok(())
    }
}
