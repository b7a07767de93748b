//! Locks by atomic operations, and barriers that the boards execute: no handler of another node takes part.

use std::collections::VecDeque;
use std::sync::Arc;

use defs::gm::event::Status;

use crate::gm::atomic::AtomicOperation;
use crate::gm::collective::{BoardGroup, Gossip, Group};
use crate::window::{System, Window};

use super::interval::Interval;
use super::layout::LOG_BYTES;
use super::message::{decode_intervals, encode_intervals};
use super::{Dsm, DsmError, DsmMessage, decode_word};

/// In a lock's words: a rank stands here.
const PRESENT: u32 = 1 << 31;
/// Bytes of a log that are read first: most logs are shorter.
const LOG_BEGIN: u32 = 1024;
/// Bytes in front of a log's intervals: how many follow.
const LOG_HEADER: u32 = 4;
/// Bytes of each node's block in a barrier on boards.
const BLOCK_BYTES: usize = 256;
/// Instead of intervals, whose encoding begins with their number: they follow as a message.
const FOLLOWS: u32 = u32::MAX;
const ALGORITHM: Gossip = Gossip::RecursiveDoubling;

/// The group of barriers on boards.
pub(super) struct NicBarrier {
    group: BoardGroup,
    /// Notices that did not fit, by sender: those of the next barrier may come early.
    pub(super) notices: Vec<VecDeque<Vec<Arc<Interval>>>>,
}

impl<W: Window, S: System> Dsm<W, S> {
    /// Makes the group known to the own board, and waits until all nodes have done so.
    pub(super) async fn open_nic_barrier(&mut self) -> Result<(), DsmError> {
        let members = &self.network.members;
        let group = Group::new(members, members[self.own]).map_err(|_| DsmError::NotMember)?;
        let group = self.network.gm.open_group(&group, 0).await?;
        self.nic_barrier = Some(NicBarrier {
            group,
            notices: vec![VecDeque::new(); self.nodes()],
        });
        self.meet_at_first().await?;
        self.gathering.times.clear();
        Ok(())
    }

    /// A barrier on the boards. Each node's block has its write notices.
    pub(super) async fn meet_on_boards(&mut self) -> Result<(), DsmError> {
        let own = self.log.intervals_of(self.own);
        let mut block = encode_intervals(&own);
        if block.len() > BLOCK_BYTES {
            block = FOLLOWS.to_be_bytes().to_vec();
            let message = DsmMessage::Notices { intervals: own };
            for rank in self.others() {
                self.network.send(rank, &message).await?;
            }
        }
        block.resize(BLOCK_BYTES, 0);
        let Some(nic) = &mut self.nic_barrier else {
            return self.meet_at_first().await;
        };
        let gm = &mut self.network.gm;
        let posted = gm
            .post_all_to_all(&mut nic.group, ALGORITHM, &block)
            .await?;
        let end = loop {
            match self.network.completed(posted) {
                Some(end) => break end,
                None => self.step().await?,
            }
        };
        if end.status != Status::Success {
            // The board does not say which node is missing: the next one is as good as any.
            let rank = (self.own + 1) % self.nodes();
            let status = end.status;
            return Err(DsmError::NodeGone { rank, status });
        }
        self.take_blocks().await
    }

    /// Collects the write notices of all blocks of a barrier.
    async fn take_blocks(&mut self) -> Result<(), DsmError> {
        let Some(nic) = &self.nic_barrier else {
            return Ok(());
        };
        let gm = &self.network.gm;
        let blocks = gm.blocks(&nic.group, ALGORITHM, BLOCK_BYTES)?;
        for (rank, block) in blocks.chunks_exact(BLOCK_BYTES).enumerate() {
            if rank == self.own {
                continue;
            }
            let intervals = match decode_word(&block[..4]) == FOLLOWS {
                true => self.await_notices(rank).await?,
                false => decode_intervals(block).ok_or(DsmError::Damaged { rank })?,
            };
            self.gathering.intervals.extend(intervals);
        }
        Ok(())
    }

    async fn await_notices(&mut self, rank: usize) -> Result<Vec<Arc<Interval>>, DsmError> {
        loop {
            let nic = self.nic_barrier.as_mut();
            let came = nic.and_then(|nic| nic.notices[rank].pop_front());
            match came {
                Some(intervals) => return Ok(intervals),
                None => self.step().await?,
            }
        }
    }

    /// Writes the own intervals since the last barrier to where other nodes read them.
    pub(super) fn write_log(&mut self) -> Result<(), DsmError> {
        let intervals = encode_intervals(&self.log.intervals_of(self.own));
        let bytes = [&(intervals.len() as u32).to_be_bytes()[..], &intervals].concat();
        if bytes.len() as u64 > LOG_BYTES {
            return Err(DsmError::LogFull { rank: self.own });
        }
        self.write_own(self.layout.log, &bytes)
    }

    const fn lock_home(&self, lock: u32) -> usize {
        lock as usize % self.nodes()
    }

    /// Acquires a lock: the own rank goes to the end of its queue, at its home.
    pub(super) async fn swap_for_lock(&mut self, lock: u32) -> Result<(), DsmError> {
        let (home, layout) = (self.lock_home(lock), self.layout);
        self.write_own(layout.member(lock), &[0; 4])?;
        let tail = self.bases[home] + layout.tail(lock);
        let own = AtomicOperation::FetchWrite(PRESENT | self.own as u32);
        let before = self.atomic(home, tail, own).await?;
        if before == 0 {
            return self.read_notices(lock).await;
        }
        let before = self.rank_of(before, home)?;
        let next = self.bases[before] + layout.member(lock);
        self.atomic(before, next, own).await?;
        self.await_grant(lock).await
    }

    /// The rank in a word of a lock.
    fn rank_of(&self, word: u32, home: usize) -> Result<usize, DsmError> {
        let rank = (word & !PRESENT) as usize;
        match word & PRESENT != 0 && rank < self.nodes() {
            true => Ok(rank),
            false => Err(DsmError::Damaged { rank: home }),
        }
    }

    /// Learns what the last holder of a free lock knew: its time, from the lock's home, and the intervals from their nodes.
    async fn read_notices(&mut self, lock: u32) -> Result<(), DsmError> {
        let (home, bytes) = (self.lock_home(lock), self.layout.row_bytes());
        let row = self.read_from(home, self.layout.time(lock), bytes).await?;
        let time: Vec<u32> = row.chunks_exact(4).map(decode_word).collect();
        let mut intervals = Vec::new();
        for (rank, number) in time.iter().enumerate() {
            if rank == self.own || self.time.knows(rank, *number) {
                continue;
            }
            let log = self.read_log(rank).await?;
            intervals.extend(log.into_iter().filter(|one| one.number <= *number));
        }
        self.obey(&intervals).await
    }

    async fn read_log(&mut self, rank: usize) -> Result<Vec<Arc<Interval>>, DsmError> {
        let at = self.layout.log;
        let mut log = self.read_from(rank, at, LOG_BEGIN).await?;
        let used = decode_word(&log[..LOG_HEADER as usize]);
        let bytes = used.saturating_add(LOG_HEADER).min(LOG_BYTES as u32);
        if bytes > LOG_BEGIN {
            log = self.read_from(rank, at, bytes).await?;
        }
        decode_intervals(&log[LOG_HEADER as usize..]).ok_or(DsmError::Damaged { rank })
    }

    /// Reads memory of a node, which may be this one.
    async fn read_from(&mut self, rank: usize, at: u64, bytes: u32) -> Result<Vec<u8>, DsmError> {
        let mut content = vec![0; bytes as usize];
        if rank == self.own {
            self.read_own(at, &mut content)?;
            return Ok(content);
        }
        let landing = self.own_buffer(self.layout.landing, bytes);
        let read = self
            .network
            .get(rank, self.bases[rank] + at, landing)
            .await?;
        while !self.network.is_got(read) {
            self.step().await?;
        }
        self.read_own(self.layout.landing, &mut content)?;
        Ok(content)
    }

    /// Releases a lock: the next node gets it, or it becomes free.
    pub(super) async fn pass_lock(&mut self, lock: u32) -> Result<(), DsmError> {
        let (home, layout) = (self.lock_home(lock), self.layout);
        let own = PRESENT | self.own as u32;
        if self.read_word(layout.member(lock))? == 0 {
            self.leave_time(lock).await?;
            let leave = AtomicOperation::CompareSwap {
                expected: own,
                new: 0,
            };
            let tail = self.bases[home] + layout.tail(lock);
            if self.atomic(home, tail, leave).await? == own {
                return Ok(());
            }
        }
        // Another node has asked and writes its rank here.
        let began = self.now_ps();
        let next = loop {
            match self.read_word(layout.member(lock))? {
                0 => self.look(began).await?,
                next => break self.rank_of(next, home)?,
            }
        };
        let unknown = super::VectorTime::new(self.nodes());
        self.grant(lock, next, &unknown).await
    }

    /// Writes the own time to the lock's home, for who finds the lock free. It is there before an operation on the lock's word that
    /// follows: both go the same way. So a lock that goes to a waiting node leaves no time, which could come late.
    async fn leave_time(&mut self, lock: u32) -> Result<(), DsmError> {
        let (home, at) = (self.lock_home(lock), self.layout.time(lock));
        let time: Vec<u8> = self.time.0.iter().flat_map(|n| n.to_be_bytes()).collect();
        // At another node than the home this is the source of a put.
        self.write_own(at, &time)?;
        if home != self.own {
            let row = self.own_buffer(at, self.layout.row_bytes());
            self.network.put(home, row, self.bases[home] + at).await?;
        }
        while !self.network.is_posted() {
            self.step().await?;
        }
        Ok(())
    }
}
