//! Ranks: the processes that share one run.
//!
//! Every rank builds the same world and executes some of its nodes (`placement.rs`). On a medium with parts
//! ([`Part`](emulator_wire::part::Part): Ethernet) it also carries out the switches near them, and frames pass between ranks where a
//! cable does (`parts.rs`). Any other network is deterministic given what leaves the nodes, so each rank runs a replica of it: what
//! leaves a node, and how soon more can, is announced to all ranks after each round (`announce.rs`). Between slices the ranks agree
//! whether the run goes on (`run.rs`). So every rank makes the same decisions from the same numbers, and the results are those of one
//! process.
//!
//! All ranks exchange messages at the same points of the run, in the same order, and know which of them send one. No wall clock and
//! no order of arrival reaches a result.

mod announce;
mod channel;
mod parts;
mod placement;
mod run;
mod saved;

use std::fmt::Debug;

pub use channel::{Channels, channels};
pub use saved::Saved;

use super::world::World;
use emulator_state::{Reader, StateError, Value, Writer};

pub(super) use announce::PeerRanks;
pub(super) use parts::PartsPlan;
pub(super) use placement::NodeGroup;

/// Longest message of a [`Transport`]: what is longer travels in parts.
pub const MESSAGE_BYTES: usize = 1 << 15;

/// Flags in the first byte of each part of a message: more parts follow; the sender is to end the run.
const MORE: u8 = 1;
const INTERRUPTED: u8 = 2;

/// Reason why a run of several processes cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RankError {
    /// A process has ended, or closed its connection.
    #[error("rank {0} is gone")]
    Gone(usize),
    /// A connection failed.
    #[error("the connection to rank {rank} failed: {reason}")]
    Failed {
        /// The process at its other end.
        rank: usize,
        /// The reason.
        reason: String,
    },
    /// A process sent something else than expected.
    #[error("rank {rank} sent what this process does not expect: {error}")]
    Unreadable {
        /// The process.
        rank: usize,
        /// The error in its message.
        error: StateError,
    },
}

/// Carries messages between the processes of a run: each message once, whole, and in order between any two of them.
pub trait Transport: Debug + Send {
    /// Number of this process, from 0.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn ranks(&self) -> usize;

    /// Sends a message of at most [`MESSAGE_BYTES`] to another rank. It may wait until that rank has received all messages before this
    /// one, but not until it receives this one: else two ranks that send to each other wait for ever.
    ///
    /// # Errors
    /// If the other rank is gone.
    fn send(&mut self, to: usize, message: &[u8]) -> Result<(), RankError>;

    /// Waits for the next message of another rank, and appends it to `message`.
    ///
    /// # Errors
    /// If the other rank is gone.
    fn receive(&mut self, from: usize, message: &mut Vec<u8>) -> Result<(), RankError>;
}

/// Counts of the exchanges of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exchanged {
    /// Rounds of nodes that several ranks execute.
    pub rounds: u64,
    /// Exchanges of messages: rounds with nodes that had to run, and agreements between slices.
    pub exchanges: u64,
    /// Bytes that this rank announced, each counted once for all receivers; what passes between parts goes to one receiver.
    pub bytes: u64,
}

/// The ranks of a run, as one of them sees them.
#[derive(Debug)]
pub struct Ranks {
    transport: Box<dyn Transport>,
    /// The rank that executes each node.
    owners: Vec<usize>,
    /// The rank is to end the run, and says so in its next message.
    wants_end: bool,
    /// A rank has said so, and all ranks know.
    is_interrupted: bool,
    /// The last message of each rank.
    messages: Vec<Vec<u8>>,
    part: Vec<u8>,
    exchanged: Exchanged,
}

impl Ranks {
    /// The ranks that a transport joins. Every rank must have built the same world.
    #[must_use]
    pub fn new(transport: Box<dyn Transport>, world: &mut World) -> Self {
        let ranks = transport.ranks();
        let owners = placement::owners(&world.node_groups(), world.nodes.len(), ranks);
        for network in world.networks_mut() {
            network.divide(transport.rank(), &owners);
        }
        Self {
            owners,
            messages: vec![Vec::new(); ranks],
            transport,
            wants_end: false,
            is_interrupted: false,
            part: Vec::new(),
            exchanged: Exchanged::default(),
        }
    }

    /// Number of this rank, from 0.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.transport.rank()
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.transport.ranks()
    }

    /// Number of nodes of the world.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.owners.len()
    }

    /// The rank that executes a node.
    #[must_use]
    pub fn owner(&self, node: usize) -> usize {
        self.owners[node]
    }

    /// Whether this rank executes a node.
    #[must_use]
    pub fn owns(&self, node: usize) -> bool {
        self.owners[node] == self.rank()
    }

    /// The counts of exchanges so far.
    #[must_use]
    pub const fn exchanged(&self) -> Exchanged {
        self.exchanged
    }

    /// Each rank gives a message to all others; returns the messages of all ranks, by rank. All ranks must call it at the same point
    /// of the run.
    ///
    /// # Errors
    /// If a rank is gone.
    pub fn exchange(&mut self, message: &[u8]) -> Result<&[Vec<u8>], RankError> {
        self.exchange_of(message, |_| true)
    }

    /// As [`exchange`](Self::exchange), when all ranks know which of them have something to say. The messages of the others are empty.
    pub(super) fn exchange_of(
        &mut self,
        message: &[u8],
        sends: impl Fn(usize) -> bool,
    ) -> Result<&[Vec<u8>], RankError> {
        let me = self.rank();
        self.exchanged.exchanges += 1;
        let sends: Vec<bool> = (0..self.ranks()).map(sends).collect();
        if sends[me] {
            self.exchanged.bytes += message.len() as u64;
            // Only now: the others learn of it from the same exchange, so that all end at one point of the run.
            self.is_interrupted |= self.wants_end;
        }
        self.pass(|_| sends[me].then_some(message), &sends)?;
        if sends[me] {
            self.messages[me].extend_from_slice(message);
        }
        Ok(&self.messages)
    }

    /// Each rank gives a message to rank 0; returns the messages of all ranks there, and none elsewhere.
    ///
    /// # Errors
    /// If a rank is gone.
    pub(super) fn collect(&mut self, message: &[u8]) -> Result<&[Vec<u8>], RankError> {
        let me = self.rank();
        self.exchanged.exchanges += 1;
        let sends = vec![me == 0; self.ranks()];
        self.pass(|to| (to == 0).then_some(message), &sends)?;
        if me != 0 {
            return Ok(&[]);
        }
        self.messages[0].extend_from_slice(message);
        Ok(&self.messages)
    }

    /// Sends a message to each other rank for which there is one, and receives one from each other rank that `sends`.
    fn pass<'m>(
        &mut self,
        message: impl Fn(usize) -> Option<&'m [u8]>,
        sends: &[bool],
    ) -> Result<(), RankError> {
        let me = self.rank();
        let others = || (0..sends.len()).filter(|&rank| rank != me);
        self.messages.iter_mut().for_each(Vec::clear);
        let mut out: Vec<_> = others().map(|rank| (rank, message(rank))).collect();
        let mut open: Vec<usize> = others().filter(|&rank| sends[rank]).collect();
        // Part by part, so that no rank has to keep more than one that it has not received.
        while !open.is_empty() || out.iter().any(|(_, rest)| rest.is_some()) {
            for (rank, rest) in &mut out {
                if let Some(bytes) = *rest {
                    let (part, more) = bytes.split_at(bytes.len().min(MESSAGE_BYTES - 1));
                    *rest = Some(more).filter(|more| !more.is_empty());
                    self.send_part(*rank, part, rest.is_some())?;
                }
            }
            let mut still_open = Vec::new();
            for rank in open {
                if self.receive_part(rank)? {
                    still_open.push(rank);
                }
            }
            open = still_open;
        }
        Ok(())
    }

    /// Sends a part of a message; `more`: there is more of it.
    fn send_part(&mut self, to: usize, part: &[u8], more: bool) -> Result<(), RankError> {
        let more = if more { MORE } else { 0 };
        // Passed on, because in an exchange of parts not every rank hears of every other one itself.
        let interrupted = self.wants_end || self.is_interrupted;
        let interrupted = if interrupted { INTERRUPTED } else { 0 };
        self.part.clear();
        self.part.push(more | interrupted);
        self.part.extend_from_slice(part);
        self.transport.send(to, &self.part)
    }

    /// Receives a part of a rank's message; returns whether there is more of it.
    fn receive_part(&mut self, rank: usize) -> Result<bool, RankError> {
        self.part.clear();
        self.transport.receive(rank, &mut self.part)?;
        let Some((&says, bytes)) = self.part.split_first() else {
            let error = StateError::Truncated("a message");
            return Err(RankError::Unreadable { rank, error });
        };
        self.messages[rank].extend_from_slice(bytes);
        self.is_interrupted |= says & INTERRUPTED != 0;
        Ok(says & MORE != 0)
    }

    /// Each rank gives a value to all others; returns those of all ranks, by rank.
    ///
    /// # Errors
    /// If a rank is gone, or sends something else.
    pub fn gather<T: Value>(&mut self, value: &T) -> Result<Vec<T>, RankError> {
        let mut out = Writer::default();
        value.write(&mut out);
        let messages = self.exchange(&out.into_bytes())?.iter().enumerate();
        let values = messages.map(|(rank, message)| {
            let read = T::read(&mut Reader::new(message));
            read.map_err(|error| RankError::Unreadable { rank, error })
        });
        values.collect()
    }

    /// Whether all ranks know that one of them is to end the run.
    pub(super) const fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// Sets whether the rank's next message says that it is to end the run.
    const fn want_end(&mut self, wants: bool) {
        self.wants_end = wants;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_length(rank: usize, length: usize) -> Vec<u8> {
        vec![rank as u8; length + rank]
    }

    /// Messages of any length arrive whole, and only from those that send.
    #[test]
    fn long_messages_travel_in_parts() {
        let texts = [
            0,
            1,
            MESSAGE_BYTES - 1,
            MESSAGE_BYTES,
            3 * MESSAGE_BYTES + 5,
        ];
        let ranks: Vec<_> = channels(3).into_iter().collect();
        let threads = ranks.into_iter().map(|transport| {
            std::thread::spawn(move || {
                let mut ranks = Ranks::new(Box::new(transport), &mut World::default());
                let me = ranks.rank();
                for (index, length) in texts.into_iter().enumerate() {
                    let of = |rank| of_length(rank, length);
                    let all = ranks.exchange(&of(me)).expect("all ranks live").to_vec();
                    assert_eq!(all, [of(0), of(1), of(2)]);
                    let silent = index % 3;
                    let some = ranks.exchange_of(&of(me), |rank| rank != silent);
                    let some = some.expect("all ranks live").to_vec();
                    let expected = [0, 1, 2].map(|rank| match rank == silent {
                        true => Vec::new(),
                        false => of(rank),
                    });
                    assert_eq!(some, expected);
                }
                let collected = ranks
                    .collect(&of_length(me, 70_000))
                    .expect("all ranks live");
                let expected = [0, 1, 2].map(|rank| of_length(rank, 70_000));
                assert_eq!(collected, if me == 0 { &expected[..] } else { &[] });
                let sent = ranks.gather(&(me as u64)).expect("all ranks live");
                assert_eq!(sent, [0, 1, 2]);
                // Then the others end before this one.
                if me == 0 {
                    assert!(matches!(ranks.exchange(&[]), Err(RankError::Gone(_))));
                }
            })
        });
        for thread in threads.collect::<Vec<_>>() {
            thread.join().expect("no panic");
        }
    }
}
