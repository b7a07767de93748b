//! Messages between a process that wants an atomic operation and the [`Server`](super::Server) that executes it.

use defs::gm::atomic::Atomic;
use defs::gm::event::Status;

use super::AtomicOperation;
use crate::window::VirtualAddress;

/// A request: number, operation, address, operand, compared value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) number: u32,
    pub(super) operation: AtomicOperation,
    pub(super) address: VirtualAddress,
}

/// Bytes of an [`Ask`].
pub(super) const ASK_BYTES: usize = 24;

impl Ask {
    pub(super) fn bytes(self) -> [u8; ASK_BYTES] {
        let (kind, operand, compared) = self.operation.words();
        let address = self.address.0;
        packed([
            self.number,
            kind as u32,
            (address >> 32) as u32,
            address as u32,
            operand,
            compared,
        ])
    }

    /// `None`: no such message.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [number, kind, high, low, operand, compared] = words(bytes)?;
        Some(Self {
            number,
            operation: AtomicOperation::from_words(kind, operand, compared)?,
            address: VirtualAddress(u64::from(high) << 32 | u64::from(low)),
        })
    }
}

/// An answer: number of the request, how it ended, the word before the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) number: u32,
    pub(super) status: Status,
    pub(super) before: u32,
}

/// Bytes of an [`Answer`].
pub(super) const ANSWER_BYTES: usize = 12;

impl Answer {
    pub(super) fn bytes(self) -> [u8; ANSWER_BYTES] {
        packed([self.number, self.status as u32, self.before])
    }

    /// `None`: no such message.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [number, status, before] = words(bytes)?;
        Some(Self {
            number,
            status: Status::from_code(status)?,
            before,
        })
    }
}

impl AtomicOperation {
    /// The operation with this number, operand and compared value.
    fn from_words(kind: u32, operand: u32, compared: u32) -> Option<Self> {
        let kind = Atomic::ALL.into_iter().find(|known| *known as u32 == kind);
        Some(match kind? {
            Atomic::FetchAdd => Self::FetchAdd(operand),
            Atomic::FetchWrite => Self::FetchWrite(operand),
            Atomic::CompareSwap => Self::CompareSwap {
                expected: compared,
                new: operand,
            },
        })
    }
}

fn packed<const WORDS: usize, const BYTES: usize>(words: [u32; WORDS]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

fn words<const WORDS: usize>(bytes: &[u8]) -> Option<[u32; WORDS]> {
    let mut words = [0; WORDS];
    if bytes.len() != 4 * WORDS {
        return None;
    }
    for (word, from) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_be_bytes(from.try_into().ok()?);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_from_their_bytes() {
        let swap = AtomicOperation::CompareSwap {
            expected: 4,
            new: 5,
        };
        for operation in [
            AtomicOperation::FetchAdd(2),
            AtomicOperation::FetchWrite(3),
            swap,
        ] {
            let ask = Ask {
                number: 1,
                operation,
                address: VirtualAddress(0x7_0000_0010),
            };
            assert_eq!(Ask::from_bytes(&ask.bytes()), Some(ask));
            let mut unknown = ask.bytes();
            unknown[7] = 3;
            assert_eq!(Ask::from_bytes(&unknown), None);
            assert_eq!(Ask::from_bytes(&unknown[..20]), None);
        }
        let answer = Answer {
            number: 9,
            status: Status::PermissionDenied,
            before: 8,
        };
        assert_eq!(Answer::from_bytes(&answer.bytes()), Some(answer));
        assert_eq!(Answer::from_bytes(&answer.bytes()[1..]), None);
    }
}
