//! Messages between nodes, as bytes.

use std::sync::Arc;

use super::diff::Diff;
use super::interval::{Interval, VectorTime};

/// A message from one node to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DsmMessage {
    /// First address of the sender's memory.
    Hello { base: u64 },
    /// `requester` wants a page in which the changes of these intervals are.
    PageRequest {
        page: u32,
        requester: u32,
        needed: Vec<(u32, u32)>,
    },
    /// The page is there if its home is another node than the requester.
    PageReply { page: u32, home: u32 },
    /// Changes of a page, of the sender's interval `number`, which began at `time` if races are looked for.
    Changes {
        page: u32,
        number: u32,
        time: VectorTime,
        diff: Diff,
    },
    /// `requester` wants a lock and knows all intervals up to `time`. First to the lock's home, then (`queued`) to the node that asked
    /// last.
    LockRequest {
        lock: u32,
        requester: u32,
        queued: bool,
        time: VectorTime,
    },
    /// The lock is the receiver's.
    Grant {
        lock: u32,
        time: VectorTime,
        intervals: Vec<Arc<Interval>>,
    },
    /// The sender is at the barrier.
    Arrive {
        time: VectorTime,
        intervals: Vec<Arc<Interval>>,
    },
    /// All nodes are at the barrier.
    Depart {
        time: VectorTime,
        intervals: Vec<Arc<Interval>>,
    },
    /// Intervals that did not fit in the block of a barrier on boards.
    Notices { intervals: Vec<Arc<Interval>> },
    /// Asks whether the receiver's board answers.
    Ping,
    /// A node is gone: its rank, and the code of a status.
    Gone { rank: u32, status: u32 },
}

impl DsmMessage {
    /// Whether a handler of the receiver has to serve it. It polls for the others.
    pub(super) const fn needs_handler(&self) -> bool {
        matches!(
            self,
            Self::PageRequest { .. }
                | Self::Changes { .. }
                | Self::LockRequest { .. }
                | Self::Arrive { .. }
        )
    }

    /// Whether it calls the handler by itself: a write with immediate data. The arrival at a barrier is a plain write (section 3 of the
    /// paper).
    pub(super) const fn is_immediate(&self) -> bool {
        self.needs_handler() && !matches!(self, Self::Arrive { .. })
    }

    /// The message as bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut to = Writer(Vec::new());
        match self {
            Self::Hello { base } => to.words(&[0, (base >> 32) as u32, *base as u32]),
            Self::PageRequest {
                page,
                requester,
                needed,
            } => {
                to.words(&[1, *page, *requester, needed.len() as u32]);
                needed.iter().for_each(|pair| to.words(&[pair.0, pair.1]));
            }
            Self::PageReply { page, home } => to.words(&[2, *page, *home]),
            Self::Changes {
                page,
                number,
                time,
                diff,
            } => {
                to.words(&[3, *page, *number]);
                to.time(time);
                to.words(&[diff.0.len() as u32]);
                for (first, bytes) in &diff.0 {
                    to.words(&[*first, bytes.len() as u32]);
                    to.0.extend_from_slice(bytes);
                }
            }
            Self::LockRequest {
                lock,
                requester,
                queued,
                time,
            } => {
                to.words(&[4, *lock, *requester, (*queued).into()]);
                to.time(time);
            }
            Self::Grant {
                lock,
                time,
                intervals,
            } => {
                to.words(&[5, *lock]);
                to.time(time);
                to.intervals(intervals);
            }
            Self::Arrive { time, intervals } => {
                to.words(&[6]);
                to.time(time);
                to.intervals(intervals);
            }
            Self::Depart { time, intervals } => {
                to.words(&[7]);
                to.time(time);
                to.intervals(intervals);
            }
            Self::Ping => to.words(&[8]),
            Self::Gone { rank, status } => to.words(&[9, *rank, *status]),
            Self::Notices { intervals } => {
                to.words(&[10]);
                to.intervals(intervals);
            }
        }
        to.0
    }

    /// Decodes a message; `None` if these are not the bytes of one.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let message = Self::read(&mut from)?;
        from.0.is_empty().then_some(message)
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(match from.word()? {
            0 => Self::Hello {
                base: u64::from(from.word()?) << 32 | u64::from(from.word()?),
            },
            1 => Self::PageRequest {
                page: from.word()?,
                requester: from.word()?,
                needed: from.list(|from| Some((from.word()?, from.word()?)))?,
            },
            2 => Self::PageReply {
                page: from.word()?,
                home: from.word()?,
            },
            3 => Self::Changes {
                page: from.word()?,
                number: from.word()?,
                time: from.time()?,
                diff: from.diff()?,
            },
            4 => Self::LockRequest {
                lock: from.word()?,
                requester: from.word()?,
                queued: from.word()? != 0,
                time: from.time()?,
            },
            5 => Self::Grant {
                lock: from.word()?,
                time: from.time()?,
                intervals: from.intervals()?,
            },
            6 => Self::Arrive {
                time: from.time()?,
                intervals: from.intervals()?,
            },
            7 => Self::Depart {
                time: from.time()?,
                intervals: from.intervals()?,
            },
            8 => Self::Ping,
            9 => Self::Gone {
                rank: from.word()?,
                status: from.word()?,
            },
            10 => Self::Notices {
                intervals: from.intervals()?,
            },
            _ => return None,
        })
    }
}

/// Encodes intervals alone, as a node's log and the blocks of barriers have them.
pub(super) fn encode_intervals(intervals: &[Arc<Interval>]) -> Vec<u8> {
    let mut to = Writer(Vec::new());
    to.intervals(intervals);
    to.0
}

/// Decodes intervals at the begin of `bytes`; `None` if there are none.
pub(super) fn decode_intervals(bytes: &[u8]) -> Option<Vec<Arc<Interval>>> {
    Reader(bytes).intervals()
}

/// A message that is written, of big-endian words.
struct Writer(Vec<u8>);

impl Writer {
    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.0.extend_from_slice(&word.to_be_bytes());
        }
    }

    fn time(&mut self, time: &VectorTime) {
        self.words(&[time.0.len() as u32]);
        self.words(&time.0);
    }

    fn intervals(&mut self, intervals: &[Arc<Interval>]) {
        self.words(&[intervals.len() as u32]);
        for interval in intervals {
            let Interval { rank, number, runs } = &**interval;
            self.words(&[*rank, *number, runs.len() as u32]);
            runs.iter().for_each(|run| self.words(&[run.0, run.1]));
        }
    }
}

/// The rest of a message that is read; each read is `None` if it is too short.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*word))
    }

    /// A count and so many items. An item has a word at least, so the count of a damaged message asks for no memory.
    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.word()? as usize;
        if count > self.0.len() / 4 {
            return None;
        }
        (0..count).map(|_| item(self)).collect()
    }

    fn time(&mut self) -> Option<VectorTime> {
        self.list(Self::word).map(VectorTime)
    }

    fn diff(&mut self) -> Option<Diff> {
        let run = |from: &mut Self| {
            let (first, bytes) = (from.word()?, from.word()? as usize);
            let (run, rest) = from.0.split_at_checked(bytes)?;
            from.0 = rest;
            Some((first, run.to_vec()))
        };
        self.list(run).map(Diff)
    }

    fn intervals(&mut self) -> Option<Vec<Arc<Interval>>> {
        let interval = |from: &mut Self| {
            Some(Arc::new(Interval {
                rank: from.word()?,
                number: from.word()?,
                runs: from.list(|from| Some((from.word()?, from.word()?)))?,
            }))
        };
        self.list(interval)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn intervals() -> impl Strategy<Value = Vec<Arc<Interval>>> {
        let run = (any::<u32>(), any::<u32>());
        let runs = prop::collection::vec(run, 0..4);
        let interval = (any::<u32>(), any::<u32>(), runs)
            .prop_map(|(rank, number, runs)| Arc::new(Interval { rank, number, runs }));
        prop::collection::vec(interval, 0..4)
    }

    fn time() -> impl Strategy<Value = VectorTime> {
        prop::collection::vec(any::<u32>(), 0..5).prop_map(VectorTime)
    }

    fn message() -> impl Strategy<Value = DsmMessage> {
        let pairs = prop::collection::vec((any::<u32>(), any::<u32>()), 0..5);
        let bytes = prop::collection::vec(any::<u8>(), 0..20);
        let runs = prop::collection::vec((any::<u32>(), bytes), 0..4);
        prop_oneof![
            any::<u64>().prop_map(|base| DsmMessage::Hello { base }),
            (any::<u32>(), any::<u32>(), pairs).prop_map(|(page, requester, needed)| {
                DsmMessage::PageRequest {
                    page,
                    requester,
                    needed,
                }
            }),
            (any::<u32>(), any::<u32>())
                .prop_map(|(page, home)| DsmMessage::PageReply { page, home }),
            (any::<u32>(), any::<u32>(), time(), runs).prop_map(|(page, number, time, runs)| {
                DsmMessage::Changes {
                    page,
                    number,
                    time,
                    diff: Diff(runs),
                }
            }),
            (any::<u32>(), any::<u32>(), any::<bool>(), time()).prop_map(
                |(lock, requester, queued, time)| DsmMessage::LockRequest {
                    lock,
                    requester,
                    queued,
                    time
                }
            ),
            (any::<u32>(), time(), intervals()).prop_map(|(lock, time, intervals)| {
                DsmMessage::Grant {
                    lock,
                    time,
                    intervals,
                }
            }),
            (time(), intervals())
                .prop_map(|(time, intervals)| DsmMessage::Arrive { time, intervals }),
            (time(), intervals())
                .prop_map(|(time, intervals)| DsmMessage::Depart { time, intervals }),
            intervals().prop_map(|intervals| DsmMessage::Notices { intervals }),
            Just(DsmMessage::Ping),
            (any::<u32>(), any::<u32>())
                .prop_map(|(rank, status)| DsmMessage::Gone { rank, status }),
        ]
    }

    proptest! {
        #[test]
        fn messages_survive_their_bytes(message in message()) {
            prop_assert_eq!(DsmMessage::from_bytes(&message.bytes()), Some(message));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(message) = DsmMessage::from_bytes(&bytes) {
                prop_assert_eq!(DsmMessage::from_bytes(&message.bytes()), Some(message));
            }
        }

        #[test]
        fn a_shorter_message_is_refused(message in message(), cut in 1_usize..8) {
            let bytes = message.bytes();
            let shorter = &bytes[..bytes.len() - cut.min(bytes.len())];
            prop_assert_eq!(DsmMessage::from_bytes(shorter), None);
        }
    }
}
