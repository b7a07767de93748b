//! Locks by atomic operations (`nic_sync`) with fewer waits.
//!
//! A node that releases a lock for which it knows no successor leaves the time of the release at the lock's home and has the board free the
//! lock. It goes on meanwhile; if another node has asked in between, the operation's event makes it grant the lock. The word of a free lock
//! is not 0 but a *stamp*, which stands in front of the time too. So a node can read the time at once with its swap of the tail: if the
//! stamp is that which the swap found, the time is that release's, otherwise it reads again.

use defs::gm::event::Status;

use crate::gm::SendId;
use crate::gm::atomic::AtomicOperation;
use crate::gm::collective::Completed;
use crate::window::System;

use super::nic_sync::PRESENT;
use super::{Dsm, DsmError, Locks, decode_word};

/// Bits of a stamp in which the rank is.
const RANK_BITS: u32 = 5;
/// Most locks at a time that the board frees.
const MOST_LEAVING: u32 = 4;
/// Time between two looks at a successor that is about to come, in ns.
const LOOK_NS: u64 = 500;

impl Dsm {
    /// Whether other nodes read the own intervals.
    pub(super) fn needs_log(&self) -> bool {
        self.settings.locks_by != Locks::Handler && !self.puts_notices()
    }

    /// Begins to read the time of a lock's last release, into memory for it; `None` if it is here.
    pub(super) async fn begin_to_read_time(
        &mut self,
        lock: u32,
    ) -> Result<Option<SendId>, DsmError> {
        let home = self.lock_home(lock);
        if home == self.own {
            return Ok(None);
        }
        let landing = self.own_buffer(self.layout.landing, self.layout.time_bytes());
        let at = self.bases[home] + self.layout.time(lock);
        Ok(Some(self.network.get(home, at, landing).await?))
    }

    /// The time of a lock's release with this stamp, which may have been read already.
    pub(super) async fn read_stamped_time(
        &mut self,
        lock: u32,
        stamp: u32,
    ) -> Result<Vec<u32>, DsmError> {
        let home = self.lock_home(lock);
        let mut row = vec![0; self.layout.time_bytes() as usize];
        let at = match home == self.own {
            true => self.layout.time(lock),
            false => self.layout.landing,
        };
        self.read_own(at, &mut row)?;
        let mut words: Vec<u32> = row.chunks_exact(4).map(decode_word).collect();
        if words.first() != Some(&stamp) {
            words = self.read_time(lock).await?;
        }
        match words.split_first() {
            Some((first, time)) if *first == stamp => Ok(time.to_vec()),
            _ => Err(DsmError::Damaged { rank: home }),
        }
    }

    /// A stamp that no release of the node had before.
    fn next_stamp(&mut self) -> u32 {
        self.stamps = self.stamps % (u32::MAX >> (RANK_BITS + 1)) + 1;
        self.stamps << RANK_BITS | self.own as u32
    }

    /// Releases a lock: the next node gets it if it is known, otherwise the board begins to free the lock.
    pub(super) async fn begin_to_pass(&mut self, lock: u32) -> Result<(), DsmError> {
        let successor = self.read_word(self.layout.successor(lock))?;
        if successor != 0 {
            let next = self.rank_of(successor, self.own)?;
            return self.grant_all(lock, next).await;
        }
        // The board has room for a few operations.
        while self.leaving >= MOST_LEAVING {
            self.handle_event().await?;
        }
        let stamp = self.next_stamp();
        self.leave_time(lock, Some(stamp)).await?;
        self.begin_to_leave(lock, stamp).await
    }

    /// Has the board free a lock, unless another node has asked.
    async fn begin_to_leave(&mut self, lock: u32, stamp: u32) -> Result<(), DsmError> {
        let home = self.lock_home(lock);
        let tail = self.bases[home] + self.layout.tail(lock);
        let leave = AtomicOperation::CompareSwap {
            expected: PRESENT | self.own as u32,
            new: stamp,
        };
        let posted = self.network.atomic(home, tail, leave).await?;
        self.lock(lock)?.leaving = Some((posted, stamp));
        self.leaving += 1;
        Ok(())
    }

    /// After an event: locks that the board has freed, or that another node has asked for.
    pub(super) async fn note_left_locks(&mut self) -> Result<(), DsmError> {
        if self.leaving == 0 {
            return Ok(());
        }
        for lock in 0..self.settings.locks {
            if let Some((posted, stamp)) = self.lock(lock)?.leaving
                && let Some(end) = self.network.completed(posted)
            {
                self.lock(lock)?.leaving = None;
                self.leaving -= 1;
                self.end_leaving(lock, stamp, end).await?;
            }
        }
        Ok(())
    }

    async fn end_leaving(&mut self, lock: u32, stamp: u32, end: Completed) -> Result<(), DsmError> {
        let home = self.lock_home(lock);
        match end.status {
            Status::Success if end.value as u32 == PRESENT | self.own as u32 => Ok(()),
            Status::Success => {
                let began = self.now_ps();
                let atomic_ns = self.settings.costs.atomic_ns;
                self.network.gm.system_mut().compute(atomic_ns).await;
                let next = self.await_successor(lock, end.value as u32).await?;
                let granted = self.grant_all(lock, next).await;
                self.report.handler_ps += self.now_ps() - began;
                granted
            }
            Status::TryAgain => {
                self.network.pause().await;
                self.begin_to_leave(lock, stamp).await
            }
            status => Err(DsmError::NodeGone { rank: home, status }),
        }
    }

    /// Waits for the rank of the node that has asked for a lock and is about to write itself into the successor word.
    async fn await_successor(&mut self, lock: u32, tail: u32) -> Result<usize, DsmError> {
        let end_ps = self.now_ps() + self.settings.patience_ns * 1000;
        while self.now_ps() < end_ps {
            let successor = self.read_word(self.layout.successor(lock))?;
            if successor != 0 {
                return self.rank_of(successor, self.own);
            }
            self.network.gm.system_mut().compute(LOOK_NS).await;
        }
        let rank = self.rank_of(tail, self.own)?;
        let status = Status::NodeUnreachable;
        Err(DsmError::NodeGone { rank, status })
    }

    /// Waits until the board has freed a lock that the node has released.
    pub(super) async fn await_leaving(&mut self, lock: u32) -> Result<(), DsmError> {
        while self.lock(lock)?.leaving.is_some() {
            self.handle_event().await?;
        }
        Ok(())
    }

    /// Waits until the board has freed all locks that the node has released.
    pub(super) async fn await_all_leaving(&mut self) -> Result<(), DsmError> {
        while self.leaving > 0 {
            self.handle_event().await?;
        }
        Ok(())
    }
}
