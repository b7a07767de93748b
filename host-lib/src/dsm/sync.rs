//! Intervals, locks and barriers.

use std::sync::Arc;

use crate::gm::collective::BoardOperation;
use crate::window::System;

use super::diff::Diff;
use super::interval::{Interval, VectorTime};
use super::page::CopyAccess;
use super::serve::PageChanges;
use super::{Barriers, Diffs, Dsm, DsmError, DsmMessage, Locks, Mistake};

/// A lock as one node sees it.
#[derive(Debug, Clone)]
pub(super) struct Lock {
    /// Whether it is here: the node had it last.
    pub(super) here: bool,
    /// Whether the program holds it.
    pub(super) held: bool,
    /// Node that gets the lock next, with its vector time.
    pub(super) next: Option<(usize, VectorTime)>,
    /// Node that asked last, at the lock's home.
    pub(super) last: usize,
    /// Time of the last release here, if notices are put: a grant later than it names no interval that has not been put.
    pub(super) released: Option<VectorTime>,
    /// Operation by which the board frees the lock, with the word that it leaves.
    pub(super) leaving: Option<(BoardOperation, u32)>,
}

impl Lock {
    /// All locks at the start: each is at its home.
    pub(super) fn all(count: u32, nodes: usize, own: usize) -> Vec<Self> {
        let lock = |number: u32| {
            let home = number as usize % nodes;
            Self {
                here: home == own,
                held: false,
                next: None,
                last: home,
                released: None,
                leaving: None,
            }
        };
        (0..count).map(lock).collect()
    }
}

/// Vector times and intervals that a barrier or a lock brings: they take effect when the program takes them.
#[derive(Debug, Default)]
pub(super) struct PendingNotices {
    /// Nodes that have arrived, at the first node.
    pub(super) arrived: usize,
    /// Vector times of the nodes that have arrived.
    pub(super) times: Vec<VectorTime>,
    pub(super) intervals: Vec<Arc<Interval>>,
}

impl PendingNotices {
    /// Notes what a barrier or a lock has brought.
    pub(super) fn learn(&mut self, time: VectorTime, intervals: Vec<Arc<Interval>>) {
        self.times.push(time);
        self.intervals.extend(intervals);
    }
}

impl Dsm {
    /// Ends the current interval: changes go to the homes, pages that were written become read-only.
    pub(super) async fn end_interval(&mut self) -> Result<(), DsmError> {
        let number = self.time.0[self.own] + 1;
        let time = self.race_time();
        let mut written = Vec::new();
        for page in std::mem::take(&mut self.dirty) {
            let state = self.page(page);
            state.dirty = false;
            if state.access == CopyAccess::Write {
                state.access = CopyAccess::Read;
            }
            let (home, twin) = (state.home, state.twin.take());
            let diff = match twin {
                Some(twin) => self.compare(page, twin).await?,
                None => Diff::default(),
            };
            if home == Some(self.own) {
                let version = self.layout.version(page, self.own);
                self.write_own(version, &number.to_be_bytes())?;
                self.look_for_races(PageChanges {
                    page,
                    rank: self.own,
                    number,
                    time: time.clone(),
                    diff,
                });
                written.push(page);
            } else if let Some(home) = home
                && !diff.is_empty()
            {
                self.send_changes(home, page, number, &time, diff).await?;
                // A further copy must have the own changes too: they may reach the home later than a get.
                let (own, nodes) = (self.own, self.nodes());
                self.page(page).need(own, number, nodes);
                written.push(page);
            }
        }
        if !written.is_empty() {
            let interval = Interval::new(self.own, number, written);
            self.log.add(Arc::new(interval));
            self.time.0[self.own] = number;
            if self.needs_log() {
                self.write_log()?;
            }
        }
        Ok(())
    }

    /// Changes of a page since its twin was made.
    async fn compare(&mut self, page: u32, mut twin: Vec<u8>) -> Result<Diff, DsmError> {
        let mut now = vec![0; twin.len()];
        self.read_own(self.layout.page(page), &mut now)?;
        self.mask_missing(page, &mut twin, &now);
        self.network.gm.system_mut().charge_copy(twin.len()).await;
        Ok(Diff::between(&twin, &now))
    }

    /// Sends the changes of a page to its home.
    async fn send_changes(
        &mut self,
        home: usize,
        page: u32,
        number: u32,
        time: &VectorTime,
        diff: Diff,
    ) -> Result<(), DsmError> {
        self.report.diffs += 1;
        self.report.diff_bytes += diff.bytes() as u64;
        if self.settings.diffs == Diffs::Put {
            return self.put_changes(home, page, number, &diff).await;
        }
        let message = DsmMessage::Changes {
            page,
            number,
            time: time.clone(),
            diff,
        };
        self.network.send(home, &message).await
    }

    /// Changes by puts: each run of words, then the version, which arrives after them.
    async fn put_changes(
        &mut self,
        home: usize,
        page: u32,
        number: u32,
        diff: &Diff,
    ) -> Result<(), DsmError> {
        let offset = self.layout.page(page);
        let base = self.bases[home];
        for (first, bytes) in &diff.0 {
            let at = offset + 4 * u64::from(*first);
            let from = self.own_buffer(at, bytes.len() as u32);
            self.network.put(home, from, base + at).await?;
        }
        // The own copy of the version has no other use than to be the source of this put. A later put of it only says more, after more
        // changes: the order of puts keeps that true.
        let version = self.layout.version(page, self.own);
        self.write_own(version, &number.to_be_bytes())?;
        let from = self.own_buffer(version, 4);
        self.network.put(home, from, base + version).await
    }

    /// Learns intervals: their pages become invalid here, and those of this home must get their changes before they are used.
    pub(super) async fn learn_intervals(
        &mut self,
        intervals: &[Arc<Interval>],
    ) -> Result<(), DsmError> {
        let new: Vec<_> = intervals
            .iter()
            .filter(|one| !self.time.knows(one.rank as usize, one.number))
            .cloned()
            .collect();
        let (nodes, pages) = (self.nodes(), self.settings.pages);
        for interval in &new {
            let rank = interval.rank as usize;
            if rank >= nodes || interval.pages().any(|page| page >= pages) {
                return Err(DsmError::Damaged { rank });
            }
        }
        let collides = |page: u32| {
            let state = &self.pages[page as usize];
            state.dirty && state.home != Some(self.own)
        };
        if new.iter().any(|one| one.pages().any(collides)) {
            // Own changes of a page that becomes invalid go to its home first.
            Box::pin(self.end_interval()).await?;
            self.put_notices().await?;
        }
        for interval in &new {
            self.invalidate(interval)?;
            let (rank, number) = (interval.rank as usize, interval.number);
            self.time.0[rank] = self.time.0[rank].max(number);
            self.log.add(Arc::clone(interval));
        }
        self.want_early(&new).await
    }

    /// Makes the copies of an interval's pages invalid, until they have its changes.
    fn invalidate(&mut self, interval: &Interval) -> Result<(), DsmError> {
        let (rank, nodes) = (interval.rank as usize, self.nodes());
        for page in interval.pages() {
            let version = match self.is_home(page) {
                true => self.read_row(self.layout.versions(page))?,
                false => Vec::new(),
            };
            let own = self.own;
            let state = self.page(page);
            state.need(rank, interval.number, nodes);
            let is_here = state.home == Some(own) && state.is_satisfied(&version);
            if is_here || !state.is_readable() {
                continue;
            }
            let before = std::mem::replace(&mut state.access, CopyAccess::None);
            let mistake = Mistake::ForgetNotice(self.report.invalidations);
            self.report.invalidations += 1;
            if self.settings.mistake == Some(mistake) {
                self.page(page).access = before;
            }
        }
        Ok(())
    }

    /// Acquires a lock; waits while another node has it. What its last holders have written before their releases is visible then.
    ///
    /// # Errors
    /// [`DsmError`].
    pub async fn acquire(&mut self, lock: u32) -> Result<(), DsmError> {
        let held = self.lock(lock)?.held;
        if held {
            return Err(DsmError::LockState { lock, held });
        }
        let began = (self.now_ps(), self.handlers_ps());
        self.report.locks += 1;
        self.fetches.locks_used += 1;
        match self.settings.locks_by {
            Locks::Handler => self.ask_for_lock(lock).await?,
            Locks::Atomic | Locks::Board => self.queue_for_lock(lock).await?,
        }
        let state = self.lock(lock)?;
        (state.here, state.held) = (true, true);
        self.report.lock_ps += self.since(began);
        Ok(())
    }

    /// Acquires a lock by a message to its home, if it is not here.
    async fn ask_for_lock(&mut self, lock: u32) -> Result<(), DsmError> {
        if self.lock(lock)?.here {
            return Ok(());
        }
        let home = lock as usize % self.nodes();
        let time = self.time.clone();
        if home == self.own {
            let own = self.own;
            self.serve_lock(lock, own, false, time).await?;
        } else {
            let message = DsmMessage::LockRequest {
                lock,
                requester: self.own as u32,
                queued: false,
                time,
            };
            self.network.send(home, &message).await?;
        }
        self.await_grant(lock).await
    }

    /// Waits until another node has given the lock, and learns what it knows.
    pub(super) async fn await_grant(&mut self, lock: u32) -> Result<(), DsmError> {
        let (time, intervals) = loop {
            match self.replies.lock.take() {
                Some((granted, time, intervals)) if granted == lock => break (time, intervals),
                _ => self.handle_event().await?,
            }
        };
        let intervals = match self.puts_notices() {
            true => self.take_notices(&time, &[]).await?,
            false => intervals,
        };
        self.learn_intervals(&intervals).await?;
        self.time.merge(&time);
        Ok(())
    }

    /// Releases a lock: the changes of the interval go to the homes, and the lock to the node that waits for it.
    ///
    /// # Errors
    /// [`DsmError`].
    pub async fn release(&mut self, lock: u32) -> Result<(), DsmError> {
        if !self.lock(lock)?.held {
            return Err(DsmError::LockState { lock, held: false });
        }
        let began = (self.now_ps(), self.handlers_ps());
        self.end_interval().await?;
        self.put_notices().await?;
        self.lock(lock)?.held = false;
        if self.puts_notices() {
            self.lock(lock)?.released = Some(self.time.clone());
        }
        match self.settings.locks_by {
            Locks::Handler => {
                if let Some((next, time)) = self.lock(lock)?.next.take() {
                    self.grant(lock, next, &time).await?;
                }
            }
            Locks::Atomic => self.pass_lock(lock).await?,
            Locks::Board => self.begin_to_pass(lock).await?,
        }
        self.report.lock_ps += self.since(began);
        self.fetches.locks_used -= 1;
        self.begin_early().await
    }

    /// The state of a lock here.
    pub(super) fn lock(&mut self, lock: u32) -> Result<&mut Lock, DsmError> {
        let locks = self.settings.locks;
        let found = self.locks.get_mut(lock as usize);
        found.ok_or(DsmError::NoLock { lock, locks })
    }

    /// A node wants a lock: at the lock's home it is sent on to the node that asked last, there it is granted or queued.
    pub(super) async fn serve_lock(
        &mut self,
        lock: u32,
        requester: usize,
        queued: bool,
        time: VectorTime,
    ) -> Result<(), DsmError> {
        let own = self.own;
        if !queued {
            let last = std::mem::replace(&mut self.lock(lock)?.last, requester);
            if last != own {
                let message = DsmMessage::LockRequest {
                    lock,
                    requester: requester as u32,
                    queued: true,
                    time,
                };
                return self.network.send(last, &message).await;
            }
        }
        let state = self.lock(lock)?;
        match state.here && !state.held {
            true => self.grant(lock, requester, &time).await,
            false => {
                state.next = Some((requester, time));
                Ok(())
            }
        }
    }

    /// Gives a lock to a node, with the intervals that it does not know.
    pub(super) async fn grant(
        &mut self,
        lock: u32,
        to: usize,
        known: &VectorTime,
    ) -> Result<(), DsmError> {
        let puts = self.puts_notices();
        let nodes = self.nodes();
        let state = self.lock(lock)?;
        state.here = false;
        let released = state.released.clone();
        let (time, intervals) = match puts {
            true => (
                released.unwrap_or_else(|| VectorTime::new(nodes)),
                Vec::new(),
            ),
            false => (self.time.clone(), self.log.unknown_at(known)),
        };
        let message = DsmMessage::Grant {
            lock,
            time,
            intervals,
        };
        self.network.send(to, &message).await
    }

    /// Waits until all nodes are here. What each has written before is visible to all then.
    ///
    /// # Errors
    /// [`DsmError`].
    pub async fn barrier(&mut self) -> Result<(), DsmError> {
        let began = (self.now_ps(), self.handlers_ps());
        self.report.barriers += 1;
        self.end_interval().await?;
        if self.nodes() > 1 {
            match self.settings.barriers_by {
                Barriers::Handler => self.meet_at_first_node().await?,
                Barriers::Nic => self.meet_on_boards().await?,
            }
        }
        let mut intervals = std::mem::take(&mut self.pending_notices.intervals);
        let times = std::mem::take(&mut self.pending_notices.times);
        let mut time = self.time.clone();
        times.iter().for_each(|other| time.merge(other));
        if self.puts_notices() {
            let put = self.take_notices(&time, &intervals).await?;
            intervals.extend(put);
        }
        self.learn_intervals(&intervals).await?;
        self.time.merge(&time);
        self.turn_slots()?;
        // All know all intervals.
        self.log.clear();
        self.seen.clear();
        if self.needs_log() {
            self.write_log()?;
        }
        self.report.barrier_ps += self.since(began);
        Ok(())
    }

    /// A barrier by messages: each node tells the first one that it is here, which answers when all are.
    pub(super) async fn meet_at_first_node(&mut self) -> Result<(), DsmError> {
        if self.own != 0 {
            let message = DsmMessage::Arrive {
                time: self.time.clone(),
                intervals: self.carried_intervals(),
            };
            self.network.send(0, &message).await?;
            while !std::mem::take(&mut self.replies.departed) {
                self.handle_event().await?;
            }
            return Ok(());
        }
        while self.pending_notices.arrived + 1 < self.nodes() {
            self.handle_event().await?;
        }
        self.pending_notices.arrived = 0;
        let mut time = self.time.clone();
        self.pending_notices
            .times
            .iter()
            .for_each(|other| time.merge(other));
        let mut all = self.carried_intervals();
        all.extend(self.pending_notices.intervals.iter().cloned());
        for rank in self.others() {
            let others = all.iter().filter(|one| one.rank as usize != rank);
            let message = DsmMessage::Depart {
                time: time.clone(),
                intervals: others.cloned().collect(),
            };
            self.network.send(rank, &message).await?;
        }
        Ok(())
    }

    /// Time of handlers so far, which is not counted as a wait for a lock or barrier.
    pub(super) const fn handlers_ps(&self) -> u64 {
        self.report.handler_ps
    }

    /// The time since `began` without what has been counted since.
    fn since(&self, began: (u64, u64)) -> u64 {
        let counted = self.handlers_ps() - began.1;
        (self.now_ps() - began.0).saturating_sub(counted)
    }
}
