//! Fetches that go on beside the program: begun before it needs a page, or ended after it has gone on with the part that it needs.
//!
//! A notice makes a copy invalid that the program has used. If it used the page after the same notice the last time (the first, the second
//! and so on since the use before), the copy is *wanted*: its fetch begins at once (or outside of locks), a few at a time, in the order of
//! the last uses. The copy stays protected, so the first use faults and finds it. A copy that gets another notice before is wasted; its page
//! is *doubtful* and is fetched early again when two uses have come after the same number of notices.
//!
//! With parts, a copy that the program waits for comes by several gets: the part of the faulting access, what follows it in the page, what
//! is in front of it. The program goes on when the part is there. An access to a part that is not there faults and waits. The twin of a
//! page gets its missing parts when they come. An early copy, for which no program waits, comes by one get.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use super::interval::Interval;
use super::page::CopyAccess;
use super::{Diffs, Dsm, DsmError, DsmMessage, EarlyAt, Protocol};
use crate::gm::SendId;
use crate::window::System;

/// Early fetches of a copy until it has the changes that are needed.
const MOST_TRIES: u32 = 4;
/// Rows for versions beyond those of early fetches.
const MORE_ROWS: u32 = 2;
/// Most gets of a page: versions and three pieces.
const MOST_GETS: u32 = 4;

/// Use of a page by the program, and its notices.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct History {
    /// Place of the last use in the order of all; 0: none.
    used: u64,
    /// Notices since the last use; several at a time count once.
    notices: u32,
    /// Notices between the last two uses.
    expected: u32,
    /// The last early copy was wasted.
    doubtful: bool,
    /// Early fetches since the last notice.
    tries: u32,
}

/// State of a part of a copy.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// A get, and the parts that have come at its end.
    Asked(SendId, u32),
    /// The home's handler sends it.
    Requested,
    /// The part is here and can be used from this time on.
    Here(u64),
}

/// A copy of a page that is on its way, or here and not used.
#[derive(Debug)]
struct Copy {
    /// Begun early, and not needed until now.
    early: bool,
    /// The get of the home's versions, and its row.
    version: Option<(SendId, u32)>,
    /// The intervals whose changes the copy has, once they are known; of a request those that it names.
    has: Vec<u32>,
    parts: Vec<Part>,
}

impl Copy {
    /// Whether versions and these parts have come.
    fn has_come(&self, parts: Range<u32>) -> bool {
        self.version.is_none() && self.ready_ps(parts).is_some()
    }

    /// When these parts can be used; `None` if one has not come.
    fn ready_ps(&self, parts: Range<u32>) -> Option<u64> {
        let parts = &self.parts[parts.start as usize..parts.end as usize];
        let time = |part: &Part| match part {
            Part::Here(ready_ps) => Some(*ready_ps),
            Part::Asked(..) | Part::Requested => None,
        };
        parts
            .iter()
            .map(time)
            .try_fold(0, |last, one| Some(last.max(one?)))
    }

    fn whole(&self) -> Range<u32> {
        0..self.parts.len() as u32
    }
}

/// Fetches beside the program.
#[derive(Debug)]
pub(super) struct Fetches {
    /// Pages whose fetch begins when there is room for it.
    wanted: VecDeque<u32>,
    copies: BTreeMap<u32, Copy>,
    free_rows: Vec<u32>,
    /// Locks that the program holds or waits for.
    pub(super) locks_used: u32,
    /// Uses of pages so far.
    uses: u64,
}

impl Fetches {
    pub(super) fn new(early_fetches: u32) -> Self {
        Self {
            wanted: VecDeque::new(),
            copies: BTreeMap::new(),
            free_rows: (0..rows(early_fetches)).collect(),
            locks_used: 0,
            uses: 0,
        }
    }

    /// Whether a part of a page may be missing.
    pub(super) fn concern(&self, page: u32) -> bool {
        self.copies.contains_key(&page)
    }

    /// Whether a copy is on its way.
    fn are_under_way(&self) -> bool {
        let mut copies = self.copies.values();
        copies.any(|copy| !copy.has_come(copy.whole()))
    }
}

/// Rows of versions for so many early fetches at a time.
pub(super) const fn rows(early_fetches: u32) -> u32 {
    early_fetches + MORE_ROWS
}

impl Dsm {
    /// Whether fetches go on beside the program.
    pub(super) const fn fetches_beside(&self) -> bool {
        self.settings.early_fetches > 0 || self.settings.parts > 1
    }

    /// The parts of a page in which bytes of it lie.
    const fn parts_of(&self, span: &Range<u32>) -> Range<u32> {
        let bytes = self.settings.part_bytes();
        span.start / bytes..span.end.div_ceil(bytes)
    }

    /// The program uses a page that it had no copy of.
    pub(super) fn note_use(&mut self, page: u32) {
        self.fetches.uses += 1;
        let used = self.fetches.uses;
        let history = &mut self.page(page).history;
        let expected = history.notices.max(1);
        *history = History {
            used,
            expected,
            doubtful: history.doubtful && expected != history.expected,
            ..History::default()
        };
    }

    /// Notices have made copies invalid: those that the program will use again are wanted.
    pub(super) async fn want_early(&mut self, new: &[Arc<Interval>]) -> Result<(), DsmError> {
        if self.settings.early_fetches == 0 {
            return Ok(());
        }
        let pages: BTreeSet<u32> = new.iter().flat_map(|one| one.pages()).collect();
        for page in pages {
            let state = &mut self.pages[page as usize];
            if state.home == Some(self.own) || state.is_readable() || state.history.used == 0 {
                continue;
            }
            let history = &mut state.history;
            history.notices += 1;
            history.tries = 0;
            let copy = self.fetches.copies.get(&page);
            if copy.is_some_and(|copy| copy.early && copy.has_come(copy.whole())) {
                history.doubtful = true;
                self.fetches.copies.remove(&page);
                self.report.early_vain += 1;
            }
            if history.notices == history.expected && !history.doubtful {
                self.fetches.wanted.push_back(page);
            }
        }
        let pages = &self.pages;
        let wanted = self.fetches.wanted.make_contiguous();
        wanted.sort_by_key(|page| pages[*page as usize].history.used);
        self.begin_early().await
    }

    /// Begins fetches that are wanted, as far as there is room.
    pub(super) async fn begin_early(&mut self) -> Result<(), DsmError> {
        let is_time = self.settings.early_at == EarlyAt::Always || self.fetches.locks_used == 0;
        while is_time && !self.fetches.wanted.is_empty() {
            let copies = self.fetches.copies.values();
            let early = copies.filter(|copy| copy.early && !copy.has_come(copy.whole()));
            let has_room = early.count() < self.settings.early_fetches as usize
                && !self.fetches.free_rows.is_empty()
                && self.network.has_tokens(MOST_GETS)?;
            // The own copy is the source of puts.
            let is_free = self.settings.diffs == Diffs::Handler || self.network.has_sent();
            if !has_room || !is_free {
                break;
            }
            let page = self.fetches.wanted.pop_front();
            if let Some(page) = page
                && !self.fetches.concern(page)
                && let state = self.page(page)
                && !state.is_readable()
                && let Some(home) = state.home
            {
                state.history.tries += 1;
                self.report.early_begun += 1;
                self.begin_copy(page, home, 0, true).await?;
            }
        }
        Ok(())
    }

    /// Begins to fetch a page from its home, with this part first.
    async fn begin_copy(
        &mut self,
        page: u32,
        home: usize,
        first: u32,
        early: bool,
    ) -> Result<(), DsmError> {
        if self.settings.protocol == Protocol::Async {
            let state = self.page(page);
            let (needed, has) = (state.needs(), state.needed.clone());
            self.fetches.copies.insert(
                page,
                Copy {
                    early,
                    version: None,
                    has,
                    parts: vec![Part::Requested],
                },
            );
            let message = DsmMessage::PageRequest {
                page,
                requester: self.own as u32,
                needed,
            };
            return self.network.send(home, &message).await;
        }
        let (layout, base) = (self.layout, self.bases[home]);
        let row = self.fetches.free_rows.pop().unwrap_or_default();
        let into = self.own_buffer(layout.early_row(row), layout.row_bytes());
        // Gets from one node are served in order: the parts have at least the changes that the version names.
        let versions = base + layout.versions(page);
        let version = self.network.get(home, versions, into).await?;
        let (count, bytes) = (self.settings.parts, self.settings.part_bytes());
        let pieces = match early {
            true => [0..count, 0..0, 0..0],
            false => [first..first + 1, first + 1..count, 0..first],
        };
        let mut parts = vec![Part::Requested; count as usize];
        let mut come = 0;
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            let at = layout.page(page) + u64::from(piece.start * bytes);
            let length = piece.len() as u32;
            let into = self.own_buffer(at, length * bytes);
            let get = self.network.get(home, base + at, into).await?;
            come += length;
            parts[piece.start as usize..piece.end as usize].fill(Part::Asked(get, come));
        }
        let copy = Copy {
            early,
            version: Some((version, row)),
            has: Vec::new(),
            parts,
        };
        self.fetches.copies.insert(page, copy);
        Ok(())
    }

    /// A handler has sent a page that was requested early; `false`: it was not.
    pub(super) fn note_reply(&mut self, page: u32) -> bool {
        let now_ps = self.now_ps();
        let copy = self.fetches.copies.get_mut(&page);
        copy.is_some_and(|copy| {
            copy.parts.fill(Part::Here(now_ps));
            true
        })
    }

    /// Notes what gets have brought, after an event, and begins further fetches.
    pub(super) async fn note_arrivals(&mut self) -> Result<(), DsmError> {
        if self.fetches.copies.is_empty() && self.fetches.wanted.is_empty() {
            return Ok(());
        }
        let pages: Vec<u32> = self.fetches.copies.keys().copied().collect();
        for page in pages {
            self.note_gets(page).await?;
            self.end_copy(page);
        }
        self.begin_early().await
    }

    /// Notes which gets of a copy have ended.
    async fn note_gets(&mut self, page: u32) -> Result<(), DsmError> {
        let Some(copy) = self.fetches.copies.get_mut(&page) else {
            return Ok(());
        };
        if let Some((get, row)) = copy.version
            && self.network.is_got(get)
        {
            copy.version = None;
            self.fetches.free_rows.push(row);
            let has = self.read_row(self.layout.early_row(row))?;
            if let Some(copy) = self.fetches.copies.get_mut(&page) {
                copy.has = has;
            }
        }
        let now_ps = self.network.now_ps();
        let bytes = self.settings.part_bytes() as usize;
        let delay_ps = bytes as u64 * self.settings.costs.get_byte_ps;
        for part in 0..self.settings.parts as usize {
            let copy = self.fetches.copies.get_mut(&page);
            let Some(place) = copy.map(|copy| &mut copy.parts[part]) else {
                break;
            };
            let Part::Asked(get, come) = *place else {
                continue;
            };
            if !self.network.is_got(get) {
                continue;
            }
            // The slower transfer of a page brings its parts one after the other.
            *place = Part::Here(now_ps + u64::from(come) * delay_ps);
            if self.pages[page as usize].twin.is_some() {
                let mut content = vec![0; bytes];
                let first = part * bytes;
                self.read_own(self.layout.page(page) + first as u64, &mut content)?;
                self.network.gm.system_mut().charge_copy(bytes).await;
                if let Some(twin) = &mut self.pages[page as usize].twin {
                    twin[first..first + bytes].copy_from_slice(&content);
                }
            }
        }
        Ok(())
    }

    /// Forgets a copy that has come as a whole and is in use; fetches an early one again that is too old.
    fn end_copy(&mut self, page: u32) {
        let Some(copy) = self.fetches.copies.get(&page) else {
            return;
        };
        if !copy.has_come(copy.whole()) {
            return;
        }
        let state = &mut self.pages[page as usize];
        if !copy.early {
            let ready_ps = copy.ready_ps(copy.whole()).unwrap_or_default();
            if state.is_readable() && ready_ps <= self.network.now_ps() {
                self.fetches.copies.remove(&page);
            }
        } else if !state.is_satisfied(&copy.has) {
            self.fetches.copies.remove(&page);
            self.report.early_vain += 1;
            if state.history.tries < MOST_TRIES {
                self.fetches.wanted.push_back(page);
            }
        }
    }

    /// Fetches a page of another node that the program needs, or takes the copy that is here or on its way.
    pub(super) async fn fetch_beside(
        &mut self,
        page: u32,
        span: &Range<u32>,
    ) -> Result<(), DsmError> {
        let began = self.now_ps();
        let parts = self.parts_of(span);
        self.fetches.wanted.retain(|wanted| *wanted != page);
        // The rest of a copy from before a notice does not count as a fetch.
        let mut repeated = false;
        loop {
            let early = match self.fetches.copies.get_mut(&page) {
                Some(copy) => std::mem::take(&mut copy.early),
                None if self.settings.protocol == Protocol::Async => {
                    return self.request(page).await;
                }
                None => {
                    let home = self.find_home_of(page).await?;
                    if home == self.own {
                        return self.become_home(page);
                    }
                    self.await_tokens().await?;
                    self.begin_copy(page, home, parts.start, false).await?;
                    repeated = true;
                    false
                }
            };
            self.await_parts(page, parts.clone()).await?;
            let copy = self.fetches.copies.get(&page);
            let state = &mut self.pages[page as usize];
            if copy.is_some_and(|copy| state.is_satisfied(&copy.has)) {
                state.access = CopyAccess::Read;
                self.report.fetches += 1;
                self.report.early_used += u64::from(early);
                self.end_copy(page);
                return Ok(());
            }
            self.await_parts(page, 0..self.settings.parts).await?;
            self.fetches.copies.remove(&page);
            self.report.early_vain += u64::from(early);
            self.report.repeats += u64::from(repeated);
            // A writer that is gone brings its changes to no home.
            self.lose_patience(began).await?;
        }
    }

    /// Waits until there is room for the gets of a page.
    async fn await_tokens(&mut self) -> Result<(), DsmError> {
        while self.network.send_tokens()? < MOST_GETS as usize {
            self.handle_event().await?;
        }
        Ok(())
    }

    /// Waits for parts of a copy that is on its way.
    async fn await_parts(&mut self, page: u32, parts: Range<u32>) -> Result<(), DsmError> {
        loop {
            let Some(copy) = self.fetches.copies.get(&page) else {
                return Ok(());
            };
            if !copy.has_come(parts.clone()) {
                self.handle_event().await?;
                continue;
            }
            let ready_ps = copy.ready_ps(parts.clone()).unwrap_or_default();
            let left_ps = ready_ps.saturating_sub(self.now_ps());
            if left_ps < 1000 {
                return Ok(());
            }
            self.pass(left_ps / 1000).await?;
        }
    }

    /// The program accesses bytes of a page: if they have not come, it faults and waits.
    pub(super) async fn await_span(
        &mut self,
        page: u32,
        span: &Range<u32>,
    ) -> Result<(), DsmError> {
        let parts = self.parts_of(span);
        let Some(copy) = self.fetches.copies.get(&page) else {
            return Ok(());
        };
        let ready_ps = copy.ready_ps(parts.clone());
        if ready_ps.is_none_or(|ready_ps| ready_ps > self.now_ps()) {
            self.report.part_waits += 1;
            let began = self.now_ps();
            let fault_ns = self.settings.costs.fault_ns;
            self.network.gm.system_mut().compute(fault_ns).await;
            self.report.fault_ps += self.now_ps() - began;
            let (began, handled) = (self.now_ps(), self.report.handler_ps);
            self.await_parts(page, parts).await?;
            let handled = self.report.handler_ps - handled;
            self.report.page_ps += (self.now_ps() - began).saturating_sub(handled);
        }
        self.end_copy(page);
        Ok(())
    }

    /// Parts of a page that have not come are no changes: the twin gets what stands there.
    pub(super) fn mask_missing(&self, page: u32, twin: &mut [u8], now: &[u8]) {
        let Some(copy) = self.fetches.copies.get(&page) else {
            return;
        };
        let bytes = self.settings.part_bytes() as usize;
        let places = twin.chunks_exact_mut(bytes).zip(now.chunks_exact(bytes));
        for (part, (twin, now)) in copy.parts.iter().zip(places) {
            if !matches!(part, Part::Here(_)) {
                twin.copy_from_slice(now);
            }
        }
    }

    /// Ends all fetches beside the program, before its node leaves.
    pub(super) async fn end_fetches(&mut self) -> Result<(), DsmError> {
        self.settings.early_fetches = 0;
        self.fetches.wanted.clear();
        while self.fetches.are_under_way() {
            self.handle_event().await?;
        }
        Ok(())
    }
}
