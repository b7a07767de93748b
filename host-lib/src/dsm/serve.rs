//! Handlers: what a node does for others, whatever its program does meanwhile.

use defs::gm::event::Status;

use crate::window::System;

use super::diff::Diff;
use super::interval::VectorTime;
use super::page::CopyAccess;
use super::{Dispatch, Dsm, DsmError, DsmMessage, NO_HOME, Race};

/// Changes of an own page since the last barrier, to find races.
#[derive(Debug)]
pub(super) struct PageChanges {
    pub(super) page: u32,
    pub(super) rank: usize,
    pub(super) number: u32,
    pub(super) time: VectorTime,
    pub(super) diff: Diff,
}

impl PageChanges {
    /// Whether neither interval knows of the other.
    fn is_concurrent(&self, other: &Self) -> bool {
        self.rank != other.rank
            && !self.time.knows(other.rank, other.number)
            && !other.time.knows(self.rank, self.number)
    }
}

impl Dsm {
    /// Handles a message. One that needs the handler pays for the interrupt and the dispatch.
    pub(super) async fn handle(
        &mut self,
        from: usize,
        message: DsmMessage,
        began_ps: u64,
    ) -> Result<(), DsmError> {
        if !message.needs_handler() {
            return self.receive(from, message);
        }
        let costs = self.settings.costs;
        let is_running = began_ps <= self.handled_until_ps;
        let mut time_ns = match self.settings.dispatch {
            Dispatch::Once if is_running => 0,
            Dispatch::Each | Dispatch::Once => costs.dispatch_ns,
        };
        if message.is_immediate() {
            time_ns += costs.receive_ns;
        }
        self.network.gm.system_mut().compute(time_ns).await;
        let served = self.serve(from, message).await;
        let now = self.now_ps();
        self.handled_until_ps = now;
        self.report.handler_ps += now - began_ps;
        self.report.handled += 1;
        served
    }

    /// Keeps a message for the program, which polls for it.
    fn receive(&mut self, from: usize, message: DsmMessage) -> Result<(), DsmError> {
        match message {
            DsmMessage::Hello { base } => self.bases[from] = base,
            DsmMessage::PageReply { page, home } => {
                let known = page < self.settings.pages && (home as usize) < self.nodes();
                if !known {
                    return Err(DsmError::Damaged { rank: from });
                }
                if !self.note_reply(page) {
                    self.replies.page = Some((page, home));
                }
            }
            DsmMessage::Grant {
                lock,
                time,
                intervals,
            } => {
                if lock >= self.settings.locks || time.0.len() != self.nodes() {
                    return Err(DsmError::Damaged { rank: from });
                }
                self.replies.lock = Some((lock, time, intervals));
            }
            DsmMessage::Depart { time, intervals } => {
                self.pending_notices.learn(time, intervals);
                self.replies.departed = true;
            }
            DsmMessage::Notices { intervals } => {
                let nic = self.nic_barrier.as_mut();
                let nic = nic.ok_or(DsmError::Damaged { rank: from })?;
                nic.notices[from].push_back(intervals);
            }
            DsmMessage::Gone { rank, status } => {
                let status = Status::from_code(status).unwrap_or(Status::NodeUnreachable);
                let rank = rank as usize;
                return Err(DsmError::NodeGone { rank, status });
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles a message of another node.
    async fn serve(&mut self, from: usize, message: DsmMessage) -> Result<(), DsmError> {
        match message {
            DsmMessage::PageRequest {
                page,
                requester,
                needed,
            } => {
                let requester = requester as usize;
                if page >= self.settings.pages || requester >= self.nodes() {
                    return Err(DsmError::Damaged { rank: from });
                }
                self.serve_page(page, requester, needed).await
            }
            DsmMessage::Changes {
                page,
                number,
                time,
                diff,
            } => {
                if page >= self.settings.pages {
                    return Err(DsmError::Damaged { rank: from });
                }
                let seen = PageChanges {
                    page,
                    rank: from,
                    number,
                    time,
                    diff,
                };
                self.apply(seen).await
            }
            DsmMessage::LockRequest {
                lock,
                requester,
                queued,
                time,
            } => {
                let requester = requester as usize;
                if lock >= self.settings.locks || requester >= self.nodes() {
                    return Err(DsmError::Damaged { rank: from });
                }
                self.serve_lock(lock, requester, queued, time).await
            }
            DsmMessage::Arrive { time, intervals } => {
                self.pending_notices.learn(time, intervals);
                self.pending_notices.arrived += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A node wants a page: of this node, of another one, or of none yet.
    async fn serve_page(
        &mut self,
        page: u32,
        requester: usize,
        needed: Vec<(u32, u32)>,
    ) -> Result<(), DsmError> {
        if self.is_home(page) {
            return self.give_page(page, requester, needed).await;
        }
        // Only the default home is asked for the page of another node.
        let home = self.read_word(self.layout.home(page))?;
        if home == NO_HOME {
            let entry = (requester as u32).to_be_bytes();
            self.write_own(self.layout.home(page), &entry)?;
            let home = requester as u32;
            let reply = DsmMessage::PageReply { page, home };
            return self.network.send(requester, &reply).await;
        }
        let message = DsmMessage::PageRequest {
            page,
            requester: requester as u32,
            needed,
        };
        let home = home as usize;
        match home < self.nodes() {
            true => self.network.send(home, &message).await,
            false => Err(DsmError::Damaged { rank: self.own }),
        }
    }

    /// Gives a page of this node, at once or when it has the changes that are needed.
    async fn give_page(
        &mut self,
        page: u32,
        requester: usize,
        needed: Vec<(u32, u32)>,
    ) -> Result<(), DsmError> {
        let version = self.read_row(self.layout.versions(page))?;
        let has = |&(rank, number): &(u32, u32)| {
            let version = version.get(rank as usize);
            version.is_none_or(|version| *version >= number)
        };
        if !needed.iter().all(has) {
            self.page(page).waiting.push((requester, needed));
            return Ok(());
        }
        let state = self.page(page);
        if std::mem::take(&mut state.exclusive) {
            // Another node has a copy: from now on writes need notices.
            state.access = CopyAccess::Read;
        }
        let offset = self.layout.page(page);
        let content = self.own_buffer(offset, self.settings.page_bytes);
        let at = self.bases[requester] + offset;
        self.network.put(requester, content, at).await?;
        let home = self.own as u32;
        let reply = DsmMessage::PageReply { page, home };
        self.network.send(requester, &reply).await
    }

    /// Applies changes of an own page, and gives it to those who have waited for them.
    async fn apply(&mut self, seen: PageChanges) -> Result<(), DsmError> {
        let PageChanges {
            page, rank, number, ..
        } = seen;
        let places = seen.diff.places(self.settings.page_bytes);
        let places = places.ok_or(DsmError::Damaged { rank })?;
        let offset = self.layout.page(page);
        for (at, bytes) in &places {
            self.write_own(offset + at, bytes)?;
        }
        if let Some(twin) = &mut self.pages[page as usize].twin {
            // The changes of others are not the own interval's.
            for (at, bytes) in &places {
                let at = *at as usize;
                if let Some(part) = twin.get_mut(at..at + bytes.len()) {
                    part.copy_from_slice(bytes);
                }
            }
        }
        let bytes = seen.diff.bytes();
        self.network.gm.system_mut().charge_copy(bytes).await;
        let version = self.layout.version(page, rank);
        self.write_own(version, &number.to_be_bytes())?;
        self.look_for_races(seen);
        for (requester, needed) in std::mem::take(&mut self.page(page).waiting) {
            self.give_page(page, requester, needed).await?;
        }
        Ok(())
    }

    /// Compares changes with those of other nodes since the last barrier.
    pub(super) fn look_for_races(&mut self, new: PageChanges) {
        if !self.settings.find_races {
            return;
        }
        for old in self.seen.iter().filter(|old| old.page == new.page) {
            if old.is_concurrent(&new)
                && let Some(word) = old.diff.common_word(&new.diff)
            {
                let ranks = (old.rank.min(new.rank), old.rank.max(new.rank));
                let page = new.page;
                self.report.race(Race { page, word, ranks });
            }
        }
        self.seen.push(new);
    }
}
