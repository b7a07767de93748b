//! Pages of a node: faults and fetches.

use std::ops::Range;

use crate::gm::atomic::AtomicOperation;
use crate::gm::{Status, collective::Completed};
use crate::window::System;

use super::incoming::History;
use super::interval::VectorTime;
use super::{Diffs, Dsm, DsmError, DsmMessage, NO_HOME, Protocol};

/// Access of the program to the node's own copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum CopyAccess {
    #[default]
    None,
    Read,
    Write,
}

/// A page as one node sees it.
#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    pub(super) access: CopyAccess,
    /// Rank of the page's home, once it is known.
    pub(super) home: Option<usize>,
    /// A copy from before the first write of the interval.
    pub(super) twin: Option<Vec<u8>>,
    /// Whether the current interval has written it.
    pub(super) dirty: bool,
    /// At its home: no other node has a copy, so writes need no notices (`async`).
    pub(super) exclusive: bool,
    /// The intervals whose changes the program must see; empty: none.
    pub(super) needed: Vec<u32>,
    /// At its home: requests that wait for changes of other nodes, with what they need.
    pub(super) waiting: Vec<(usize, Vec<(u32, u32)>)>,
    /// At other nodes than the home: when the program uses it.
    pub(super) history: History,
}

impl Page {
    /// Whether the program may read the page.
    pub(super) fn is_readable(&self) -> bool {
        self.access != CopyAccess::None
    }

    /// Whether the program may write to the page.
    pub(super) fn is_writable(&self) -> bool {
        self.access == CopyAccess::Write
    }

    /// Whether a version has all changes that the program must see.
    pub(super) fn is_satisfied(&self, version: &[u32]) -> bool {
        self.needed
            .iter()
            .zip(version)
            .all(|(needed, has)| has >= needed)
    }

    /// The intervals that are needed, as rank and number.
    pub(super) fn needs(&self) -> Vec<(u32, u32)> {
        let needed = (0_u32..).zip(self.needed.iter().copied());
        needed.filter(|(_, number)| *number > 0).collect()
    }

    /// The program must see an interval's changes.
    pub(super) fn need(&mut self, rank: usize, number: u32, nodes: usize) {
        self.needed.resize(nodes, 0);
        self.needed[rank] = self.needed[rank].max(number);
    }
}

impl Dsm {
    /// The node that keeps the entry of a page in the home table.
    pub(super) const fn default_home(&self, page: u32) -> usize {
        page as usize % self.nodes()
    }

    /// Whether this node is the home of a page.
    pub(super) fn is_home(&self, page: u32) -> bool {
        self.pages[page as usize].home == Some(self.own)
    }

    /// A page as this node sees it.
    pub(super) fn page(&mut self, page: u32) -> &mut Page {
        &mut self.pages[page as usize]
    }

    /// A page fault: makes these bytes of a page readable, or writable.
    pub(super) async fn fault(
        &mut self,
        page: u32,
        span: &Range<u32>,
        write: bool,
    ) -> Result<(), DsmError> {
        if self.settings.protocol == Protocol::Async
            && self.default_home(page) == self.own
            && self.page(page).home.is_none()
            && self.read_word(self.layout.home(page))? == NO_HOME
        {
            // At its default home a page is writable from the start: no fault.
            self.become_home(page)?;
            return Ok(());
        }
        match write {
            true => self.report.write_faults += 1,
            false => self.report.read_faults += 1,
        }
        let began = self.now_ps();
        let fault_ns = self.settings.costs.fault_ns;
        self.network.gm.system_mut().compute(fault_ns).await;
        self.report.fault_ps += self.now_ps() - began;
        if self.settings.early_fetches > 0 && !self.page(page).is_readable() {
            self.note_use(page);
        }
        // A request that is served during the wait can take the right to write away from an own page.
        while !self.page(page).is_readable() {
            let began = self.now_ps();
            let handled = self.report.handler_ps;
            self.fetch(page, span).await?;
            let handled = self.report.handler_ps - handled;
            self.report.page_ps += (self.now_ps() - began).saturating_sub(handled);
        }
        if write && !self.page(page).is_writable() {
            self.make_writable(page).await?;
        }
        Ok(())
    }

    /// The own node is the home of a page.
    pub(super) fn become_home(&mut self, page: u32) -> Result<(), DsmError> {
        let own = self.own;
        let exclusive = self.settings.protocol == Protocol::Async && !self.settings.find_races;
        if self.default_home(page) == own {
            self.write_own(self.layout.home(page), &(own as u32).to_be_bytes())?;
        }
        let state = self.page(page);
        state.home = Some(own);
        state.exclusive = exclusive;
        state.access = match exclusive {
            true => CopyAccess::Write,
            false => CopyAccess::Read,
        };
        Ok(())
    }

    /// From now on the interval writes the page. Other nodes' pages get a twin; so do own ones when races are looked for.
    async fn make_writable(&mut self, page: u32) -> Result<(), DsmError> {
        let at_home = self.is_home(page);
        if !at_home || self.settings.find_races {
            let began = self.now_ps();
            let bytes = self.settings.page_bytes as usize;
            let mut twin = vec![0; bytes];
            self.network.gm.system_mut().charge_copy(bytes).await;
            self.read_own(self.layout.page(page), &mut twin)?;
            self.page(page).twin.get_or_insert(twin);
            self.report.fault_ps += self.now_ps() - began;
        }
        let state = self.page(page);
        state.access = CopyAccess::Write;
        if !std::mem::replace(&mut state.dirty, true) {
            self.dirty.push(page);
        }
        Ok(())
    }

    /// Gets a page with all changes that the program must see.
    async fn fetch(&mut self, page: u32, span: &Range<u32>) -> Result<(), DsmError> {
        if self.is_home(page) {
            return self.await_changes(page).await;
        }
        if self.fetches_beside() {
            return self.fetch_beside(page, span).await;
        }
        match self.settings.protocol {
            Protocol::Async => self.request(page).await,
            Protocol::Ardmar => self.read_remotely(page).await,
        }
    }

    /// At the home of a page: waits for the changes that the program must see.
    async fn await_changes(&mut self, page: u32) -> Result<(), DsmError> {
        let began = self.now_ps();
        loop {
            let version = self.read_row(self.layout.versions(page))?;
            let state = self.page(page);
            if state.is_satisfied(&version) {
                state.access = match state.dirty {
                    true => CopyAccess::Write,
                    false => CopyAccess::Read,
                };
                return Ok(());
            }
            self.await_diffs(began).await?;
        }
    }

    /// Waits for an event. Where puts bring changes, which are no events, it waits for a short time only.
    pub(super) async fn await_diffs(&mut self, began_ps: u64) -> Result<(), DsmError> {
        match self.settings.diffs {
            Diffs::Handler => self.handle_event().await,
            Diffs::Put => self.handle_event_or_pause(began_ps).await,
        }
    }

    /// Waits for an event, or for a short time after which memory may have changed.
    pub(super) async fn handle_event_or_pause(&mut self, began_ps: u64) -> Result<(), DsmError> {
        /// Time between two looks, in ns.
        const LOOK_NS: u64 = 1_000;
        match self.network.has_event()? || self.network.wait(LOOK_NS).await? {
            true => self.handle_next().await,
            false => self.lose_patience(began_ps).await,
        }
    }

    /// Waits for so long, and handles what comes meanwhile.
    pub(super) async fn pass(&mut self, nanoseconds: u64) -> Result<(), DsmError> {
        let end_ps = self.now_ps() + nanoseconds * 1000;
        loop {
            let left_ns = end_ps.saturating_sub(self.now_ps()) / 1000;
            if left_ns == 0 {
                return Ok(());
            }
            if self.network.has_event()? || self.network.wait(left_ns).await? {
                self.handle_next().await?;
            }
        }
    }

    /// `async`: asks the home, or the default home, and waits for the answer.
    pub(super) async fn request(&mut self, page: u32) -> Result<(), DsmError> {
        let state = self.page(page);
        let (known, needed) = (state.home, state.needs());
        let message = DsmMessage::PageRequest {
            page,
            requester: self.own as u32,
            needed,
        };
        let default = self.default_home(page);
        let to = match known {
            Some(home) => home,
            // The own table knows the home: another node asked first.
            None if default == self.own => self.read_word(self.layout.home(page))? as usize,
            None => default,
        };
        self.network.send(to, &message).await?;
        let home = loop {
            match self.replies.page.take() {
                Some((arrived, home)) if arrived == page => break home as usize,
                _ => self.handle_event().await?,
            }
        };
        if home == self.own {
            return self.become_home(page);
        }
        self.report.fetches += 1;
        let state = self.page(page);
        state.home = Some(home);
        state.access = CopyAccess::Read;
        Ok(())
    }

    /// `ardmar`: finds the home without its host, then reads version and page until the version is the one that is needed.
    async fn read_remotely(&mut self, page: u32) -> Result<(), DsmError> {
        let home = self.find_home_of(page).await?;
        if home == self.own {
            return self.become_home(page);
        }
        let layout = self.layout;
        let (base, began) = (self.bases[home], self.now_ps());
        let row = self.own_buffer(layout.landing, layout.row_bytes());
        let copy = self.own_buffer(layout.page(page), self.settings.page_bytes);
        loop {
            // Gets from one node are served in order: the page has at least the changes that the version names.
            let versions = layout.versions(page);
            let version = self.network.get(home, base + versions, row).await?;
            let content = layout.page(page);
            let content = self.network.get(home, base + content, copy).await?;
            while !self.network.is_got(version) || !self.network.is_got(content) {
                self.handle_event().await?;
            }
            let page_bytes = u64::from(self.settings.page_bytes);
            self.pass(page_bytes * self.settings.costs.get_byte_ps / 1000)
                .await?;
            let version = self.read_row(layout.landing)?;
            let state = self.page(page);
            if state.is_satisfied(&version) {
                state.access = CopyAccess::Read;
                self.report.fetches += 1;
                return Ok(());
            }
            self.report.repeats += 1;
            // A writer that is gone brings its changes to no home.
            self.lose_patience(began).await?;
        }
    }

    /// The home of a page, which may be the own node from now on; then the own copy can be fetched.
    pub(super) async fn find_home_of(&mut self, page: u32) -> Result<usize, DsmError> {
        let home = match self.page(page).home {
            Some(home) => home,
            None => self.find_home(page).await?,
        };
        if home == self.own {
            return Ok(home);
        }
        self.page(page).home = Some(home);
        if self.settings.diffs == Diffs::Put {
            // The own copy is the source of puts, which may not have left yet.
            while !self.network.has_sent() {
                self.handle_event().await?;
            }
        }
        Ok(home)
    }

    /// Makes the own node the home of a page, or finds out which node is.
    async fn find_home(&mut self, page: u32) -> Result<usize, DsmError> {
        let default = self.default_home(page);
        let at = self.bases[default] + self.layout.home(page);
        let swap = AtomicOperation::CompareSwap {
            expected: NO_HOME,
            new: self.own as u32,
        };
        // The default home reads its own memory.
        let read = match default == self.own {
            true => None,
            false => {
                let landing = self.own_buffer(self.layout.landing, 4);
                Some(self.network.get(default, at, landing).await?)
            }
        };
        let before = self.atomic(default, at, swap).await?;
        while read.is_some_and(|read| !self.network.is_got(read)) {
            self.handle_event().await?;
        }
        if before == NO_HOME {
            return Ok(self.own);
        }
        // The read may have come before the swap of the home, and then says that there is none; the value that the swap found does not.
        let read = match read {
            Some(_) => self.read_word(self.layout.landing)?,
            None => before,
        };
        let home = if read == NO_HOME { before } else { read } as usize;
        match home < self.nodes() {
            true => Ok(home),
            false => Err(DsmError::Damaged { rank: default }),
        }
    }

    /// Executes an atomic operation on a word of a node; the word before it.
    pub(super) async fn atomic(
        &mut self,
        rank: usize,
        at: u64,
        operation: AtomicOperation,
    ) -> Result<u32, DsmError> {
        loop {
            let posted = self.network.atomic(rank, at, operation).await?;
            let Completed { status, value, .. } = loop {
                match self.network.completed(posted) {
                    Some(end) => break end,
                    None => self.handle_event().await?,
                }
            };
            match status {
                Status::Success => {
                    self.pass(self.settings.costs.atomic_ns).await?;
                    return Ok(value as u32);
                }
                Status::TryAgain => self.network.pause().await,
                _ => {
                    self.spread(rank, status).await;
                    return Err(DsmError::NodeGone { rank, status });
                }
            }
        }
    }

    /// The time of the current interval, for a change of a page; empty unless races are looked for.
    pub(super) fn race_time(&self) -> VectorTime {
        match self.settings.find_races {
            true => self.time.clone(),
            false => VectorTime(Vec::new()),
        }
    }
}
