//! A lock whose waiting processes stand in a queue (MCS): each polls its own memory only.
//!
//! The word of the lock is at one process, its home: the rank that asked last, or none. Each process has two words: who comes after
//! it, and whether it waits. See section 5.3 of the dissertation (docs/gm-atomics.md), whose release writes "none" into the wrong word
//! in one place.
//!
//! * *Acquire*: own words to (none, waits); fetch and write the own rank into the home's word. If another rank was there, write the own
//!   rank into its *next* word, and poll the own *waits* word until it is 0.
//! * *Release*: without a next rank, compare and swap the home's word from the own rank to none. If another rank stands there, wait until it
//!   has written itself into the own *next* word. Then write 0 into its *waits* word.
//!
//! If a process dies that holds the lock or waits for it, no other one gets the lock any more.

use thiserror::Error;

use super::{AtomicError, AtomicOperation, Executor, Word, memory};
use crate::gm::Gm;
use crate::window::{MemoryWatch, PollError, System, VirtualAddress};

/// Set in a word that names a rank; a word that names none is 0.
const PRESENT: u32 = 1 << 31;

/// The two words of a process: who comes after it; 1 while it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member(pub Word);

impl Member {
    /// Bytes of the two words.
    pub const BYTES: u64 = 8;

    const fn next(self) -> Word {
        self.0
    }

    const fn waits(self) -> Word {
        self.0.after(1)
    }
}

/// A lock is not acquired or not released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LockError {
    /// The own rank is outside of the list of members.
    #[error("rank {rank} is outside of the {members} members")]
    Rank {
        /// The rank outside of the members.
        rank: usize,
        /// Number of members.
        members: usize,
    },
    /// The member holds the lock already.
    #[error("the lock is held already")]
    Held,
    /// The member does not hold the lock.
    #[error("the lock is not held")]
    NotHeld,
    /// A word names a rank that does not exist: another program has written it.
    #[error("a word of the lock has the value {value:#x}")]
    Value {
        /// The word.
        value: u32,
    },
    /// An operation failed.
    #[error(transparent)]
    Atomic(#[from] AtomicError),
    /// The own words are not mapped.
    #[error("the own words at {:#x} are not mapped", .0.0)]
    Memory(VirtualAddress),
}

/// A lock as one member sees it.
#[derive(Debug)]
pub struct Lock {
    home: Word,
    members: Vec<Member>,
    rank: usize,
    held: bool,
}

impl Lock {
    /// A lock with its word at `home`, 0 at first. All members give the same list, and the words of all are 0 at first.
    ///
    /// # Errors
    /// [`LockError::Rank`].
    pub fn new(home: Word, members: Vec<Member>, rank: usize) -> Result<Self, LockError> {
        let count = members.len();
        if rank >= count || count >= PRESENT as usize {
            let members = count;
            return Err(LockError::Rank { rank, members });
        }
        Ok(Self {
            home,
            members,
            rank,
            held: false,
        })
    }

    const fn own(&self) -> u32 {
        PRESENT | self.rank as u32
    }

    fn member(&self, value: u32) -> Result<Member, LockError> {
        let member = self.members.get((value & !PRESENT) as usize).copied();
        let member = member.filter(|_| value & PRESENT != 0);
        member.ok_or(LockError::Value { value })
    }

    /// Waits until the member holds the lock. Members get it in the order in which their requests came to its home.
    ///
    /// # Errors
    /// [`LockError`].
    pub async fn acquire(
        &mut self,
        gm: &mut Gm,
        atomics: &mut impl Executor,
    ) -> Result<(), LockError> {
        if self.held {
            return Err(LockError::Held);
        }
        let own = self.member(self.own())?;
        // No other member writes the own words yet.
        let words = [0, 0, 0, 0, 0, 0, 0, 1];
        gm.system_mut()
            .write_memory(own.0.address, &words)
            .map_err(LockError::Memory)?;
        let ask = AtomicOperation::FetchWrite(self.own());
        let before = atomics.execute(gm, self.home, ask).await?;
        if before != 0 {
            let before = self.member(before)?;
            let behind = AtomicOperation::FetchWrite(self.own());
            atomics.execute(gm, before.next(), behind).await?;
            poll(gm, own.waits(), 0, "the lock").await?;
        }
        self.held = true;
        Ok(())
    }

    /// Gives the lock to the member that has waited longest, if there is one.
    ///
    /// # Errors
    /// [`LockError`].
    pub async fn release(
        &mut self,
        gm: &mut Gm,
        atomics: &mut impl Executor,
    ) -> Result<(), LockError> {
        if !self.held {
            return Err(LockError::NotHeld);
        }
        let own = self.member(self.own())?;
        if next_of(gm, own)? == 0 {
            let leave = AtomicOperation::CompareSwap {
                expected: self.own(),
                new: 0,
            };
            if atomics.execute(gm, self.home, leave).await? == self.own() {
                self.held = false;
                return Ok(());
            }
            // Another member has asked and will write its rank here.
            poll(gm, own.next(), PRESENT, "the next holder of the lock").await?;
        }
        let next = self.member(next_of(gm, own)?)?;
        let go = AtomicOperation::FetchWrite(0);
        atomics.execute(gm, next.waits(), go).await?;
        self.held = false;
        Ok(())
    }
}

/// Successor of the own process in the lock's queue.
fn next_of(gm: &Gm, own: Member) -> Result<u32, LockError> {
    memory::read(gm, own.next().address).map_err(LockError::Memory)
}

/// Polls a word of the own memory until it names a rank (`PRESENT`) or is 0.
async fn poll(gm: &mut Gm, word: Word, expected: u32, why: &'static str) -> Result<(), LockError> {
    let mask = if expected == 0 { u32::MAX } else { PRESENT };
    let watch = MemoryWatch {
        address: word.address,
        // In the host's order.
        mask: mask.swap_bytes(),
        expected: expected.swap_bytes(),
    };
    match gm.system_mut().poll_memory(watch, None, why).await {
        Ok(_) => Ok(()),
        Err(PollError::BadAddress(address)) => Err(LockError::Memory(address)),
        Err(PollError::TimedOut(_) | PollError::NoWords) => Err(LockError::Memory(word.address)),
    }
}
