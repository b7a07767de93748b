//! Locks by atomic operations, and barriers that the boards execute: no handler of another node takes part.
//!
//! A lock is a queue of nodes (an MCS lock). Its *tail*, at the lock's home, names the node that asked last; 0: the lock is free. Each node
//! has a *successor* word for the lock, into which the node that asked next writes itself. A node that asks puts itself in the place of the
//! tail; if there was another one, it writes itself into that one's successor word and waits for a grant. A node that releases grants the
//! lock to the node in its successor word; if there is none, it takes itself out of the tail, unless another one has just asked.
//!
//! A grant brings the intervals that the next node must know. Who finds a lock free reads them: the lock's home has the vector time of the
//! last release, and each node has a *log* of its own intervals since the last barrier.

use std::collections::VecDeque;
use std::sync::Arc;

use defs::gm::event::Status;

use crate::gm::atomic::AtomicOperation;
use crate::gm::collective::{BoardGroup, Gossip, Group};

use super::interval::{Interval, VectorTime};
use super::layout::LOG_BYTES;
use super::message::{decode_intervals, encode_intervals};
use super::{Dsm, DsmError, DsmMessage, Locks, decode_word};

/// Bit of a lock's words: a rank is in them. So 0 is none.
pub(super) const PRESENT: u32 = 1 << 31;
/// Bytes of a log that are read first. A longer log is read again as a whole: how long it is stands in its first bytes.
const LOG_BEGIN: u32 = 1024;
/// Bytes in front of a log's intervals, which say how many bytes follow.
const LOG_HEADER: u32 = 4;
/// Bytes of each node's block in a barrier on boards (docs/dsm.md). A node with more notices sends them as messages.
const BLOCK_BYTES: usize = 256;
/// Bytes at the end of a block with the number of the node's last interval, if notices are put.
const NUMBER_BYTES: usize = 4;
/// First word of a block whose notices follow as a message. Else it is the number of intervals.
const FOLLOWS: u32 = u32::MAX;
/// With few bytes the boards combine its steps in their own memory.
const ALGORITHM: Gossip = Gossip::RecursiveDoubling;

/// The group of barriers on boards.
pub(super) struct NicBarrier {
    group: BoardGroup,
    /// Notices that came as messages, by sender. A queue for each: those of the next barrier may come before this one's are taken.
    pub(super) notices: Vec<VecDeque<Vec<Arc<Interval>>>>,
}

impl Dsm {
    /// Makes the group known to the own board, and waits until all nodes have done so.
    pub(super) async fn open_nic_barrier(&mut self) -> Result<(), DsmError> {
        let members = &self.network.members;
        let group = Group::new(members, members[self.own]).map_err(|_| DsmError::NotMember)?;
        let group = self.network.gm.open_group(&group, 0).await?;
        self.nic_barrier = Some(NicBarrier {
            group,
            notices: vec![VecDeque::new(); self.nodes()],
        });
        self.meet_at_first_node().await?;
        // That barrier has brought vector times, but no interval has ended yet.
        self.pending_notices.times.clear();
        Ok(())
    }

    /// A barrier on the boards. Each node's block has its write notices.
    pub(super) async fn meet_on_boards(&mut self) -> Result<(), DsmError> {
        let own = self.carried_intervals();
        let mut block = encode_intervals(&own);
        if block.len() > BLOCK_BYTES - NUMBER_BYTES * usize::from(self.puts_notices()) {
            block = FOLLOWS.to_be_bytes().to_vec();
            let message = DsmMessage::Notices { intervals: own };
            for rank in self.others() {
                self.network.send(rank, &message).await?;
            }
        }
        block.resize(BLOCK_BYTES, 0);
        if self.puts_notices() {
            let number = self.time.0[self.own].to_be_bytes();
            block[BLOCK_BYTES - NUMBER_BYTES..].copy_from_slice(&number);
        }
        let Some(nic) = &mut self.nic_barrier else {
            return self.meet_at_first_node().await;
        };
        let gm = &mut self.network.gm;
        let posted = gm
            .post_all_to_all(&mut nic.group, ALGORITHM, &block)
            .await?;
        let end = loop {
            match self.network.completed(posted) {
                Some(end) => break end,
                None => self.handle_event().await?,
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
        let mut time = self.time.clone();
        for (rank, block) in blocks.chunks_exact(BLOCK_BYTES).enumerate() {
            if rank == self.own {
                continue;
            }
            if self.puts_notices() {
                time.0[rank] = decode_word(&block[BLOCK_BYTES - NUMBER_BYTES..]);
            }
            let intervals = match decode_word(&block[..4]) == FOLLOWS {
                true => self.await_notices(rank).await?,
                false => decode_intervals(block).ok_or(DsmError::Damaged { rank })?,
            };
            self.pending_notices.intervals.extend(intervals);
        }
        self.pending_notices.times.push(time);
        Ok(())
    }

    /// Waits for the notices that a node sends as a message.
    async fn await_notices(&mut self, rank: usize) -> Result<Vec<Arc<Interval>>, DsmError> {
        loop {
            let nic = self.nic_barrier.as_mut();
            let came = nic.and_then(|nic| nic.notices[rank].pop_front());
            match came {
                Some(intervals) => return Ok(intervals),
                None => self.handle_event().await?,
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

    /// The node that has a lock's tail and the time of its last release.
    pub(super) const fn lock_home(&self, lock: u32) -> usize {
        lock as usize % self.nodes()
    }

    /// Acquires a lock: the own rank goes to the end of its queue.
    pub(super) async fn queue_for_lock(&mut self, lock: u32) -> Result<(), DsmError> {
        let (home, layout) = (self.lock_home(lock), self.layout);
        // The board may still be freeing it after the last release.
        self.await_leaving(lock).await?;
        self.write_own(layout.successor(lock), &[0; 4])?;
        let tail = self.bases[home] + layout.tail(lock);
        let own = AtomicOperation::FetchWrite(PRESENT | self.own as u32);
        let time = match self.settings.locks_by {
            Locks::Board => self.begin_to_read_time(lock).await?,
            Locks::Handler | Locks::Atomic => None,
        };
        let before = self.atomic(home, tail, own).await?;
        while time.is_some_and(|time| !self.network.is_got(time)) {
            self.handle_event().await?;
        }
        if before & PRESENT == 0 {
            return self.read_notices(lock, before).await;
        }
        let before = self.rank_of(before, home)?;
        let next = self.bases[before] + layout.successor(lock);
        self.atomic(before, next, own).await?;
        self.await_grant(lock).await
    }

    /// The rank in a word of a lock.
    pub(super) fn rank_of(&self, word: u32, home: usize) -> Result<usize, DsmError> {
        let rank = (word & !PRESENT) as usize;
        match word & PRESENT != 0 && rank < self.nodes() {
            true => Ok(rank),
            false => Err(DsmError::Damaged { rank: home }),
        }
    }

    /// Learns what the last holder of a free lock knew: its time, from the lock's home, and the intervals from their nodes.
    async fn read_notices(&mut self, lock: u32, stamp: u32) -> Result<(), DsmError> {
        let time = match self.settings.locks_by {
            // No node has had the lock.
            Locks::Board if stamp == 0 => return Ok(()),
            Locks::Board => self.read_stamped_time(lock, stamp).await?,
            Locks::Handler | Locks::Atomic => self.read_time(lock).await?,
        };
        let mut intervals = Vec::new();
        if self.puts_notices() {
            let time = VectorTime(time);
            let intervals = self.take_notices(&time, &[]).await?;
            return self.learn_intervals(&intervals).await;
        }
        for (rank, number) in time.iter().enumerate() {
            if rank == self.own || self.time.knows(rank, *number) {
                continue;
            }
            let log = self.read_log(rank).await?;
            intervals.extend(log.into_iter().filter(|one| one.number <= *number));
        }
        self.learn_intervals(&intervals).await
    }

    /// Reads what stands at a lock's home about its last release.
    pub(super) async fn read_time(&mut self, lock: u32) -> Result<Vec<u32>, DsmError> {
        let (home, bytes) = (self.lock_home(lock), self.layout.time_bytes());
        let row = self.read_from(home, self.layout.time(lock), bytes).await?;
        Ok(row.chunks_exact(4).map(decode_word).collect())
    }

    /// Reads a node's log of its intervals since the last barrier.
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
            self.handle_event().await?;
        }
        self.read_own(self.layout.landing, &mut content)?;
        Ok(content)
    }

    /// Releases a lock: the next node gets it, or it becomes free.
    pub(super) async fn pass_lock(&mut self, lock: u32) -> Result<(), DsmError> {
        let (home, layout) = (self.lock_home(lock), self.layout);
        let own = PRESENT | self.own as u32;
        if self.read_word(layout.successor(lock))? == 0 {
            self.leave_time(lock, None).await?;
            let leave = AtomicOperation::CompareSwap {
                expected: own,
                new: 0,
            };
            let tail = self.bases[home] + layout.tail(lock);
            if self.atomic(home, tail, leave).await? == own {
                return Ok(());
            }
        }
        // Another node has asked: it has written its rank into the successor word, or is about to.
        let began = self.now_ps();
        let next = loop {
            match self.read_word(layout.successor(lock))? {
                0 => self.handle_event_or_pause(began).await?,
                next => break self.rank_of(next, home)?,
            }
        };
        self.grant_all(lock, next).await
    }

    /// Gives a lock to a node. What that node knows is not known here: it gets all intervals.
    pub(super) async fn grant_all(&mut self, lock: u32, next: usize) -> Result<(), DsmError> {
        let known = VectorTime::new(self.nodes());
        self.grant(lock, next, &known).await
    }

    /// Writes the own time to the lock's home, for the node that finds the lock free. It is there before the operation on the lock's tail
    /// that follows: both go the same way. When a node waits already, no such operation follows, and no time is left: it could arrive after
    /// that of the next release.
    pub(super) async fn leave_time(
        &mut self,
        lock: u32,
        stamp: Option<u32>,
    ) -> Result<(), DsmError> {
        let (home, at) = (self.lock_home(lock), self.layout.time(lock));
        let words = stamp.iter().chain(&self.time.0);
        let time: Vec<u8> = words.flat_map(|word| word.to_be_bytes()).collect();
        // At another node than the home this is the source of a put.
        self.write_own(at, &time)?;
        if home != self.own {
            let row = self.own_buffer(at, self.layout.time_bytes());
            self.network.put(home, row, self.bases[home] + at).await?;
        }
        while !self.network.is_posted() {
            self.handle_event().await?;
        }
        Ok(())
    }
}
