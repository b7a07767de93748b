//! Memory that the nodes of a GM network share, in pages: home-based lazy release consistency (docs/dsm.md).
//!
//! A program on each node has a [`Dsm`]. Regions of the memory are arrays ([`Shared`]), which all nodes
//! [allocate](Dsm::allocate) in the same order. [`Dsm::read`] and [`Dsm::write`] access ranges of them; where the own copy of a page is
//! not valid, the access takes a page fault at its cost. A write is visible to who synchronises afterwards: who acquires a lock that the
//! writer has released since, and everyone behind a barrier. Programs in which two nodes access a word without such an order, one of them
//! writing, may read old values.
//!
//! * [`Dsm::start`] begins, [`Dsm::finish`] ends and gives the [`Report`];
//! * [`Dsm::acquire`], [`Dsm::release`]: locks; [`Dsm::barrier`];
//! * [`Dsm::compute`] spends processor time; handlers of other nodes' requests interrupt it;
//! * [`Settings::protocol`] chooses how pages are fetched.
//!
//! # How it works
//!
//! Each page has a home, the node that touched it first. A node's execution is cut into *intervals* by its synchronisations. At the end of
//! an interval the pages that it has written are compared with their twins, and the changes go to the homes (`diff`); the interval's
//! number and pages are its *write notices* (`interval`), which travel with locks and barriers and invalidate copies. A *vector time* says
//! which intervals a node knows. A home keeps for each page the intervals whose changes it has (`versions` in `layout`); a fetch waits
//! until they are those that its node knows of.
//!
//! Parts: `network` (the port: messages, puts, gets, atomic operations), `message` (what nodes say), `page` (faults and fetches), `incoming` (fetches beside the program), `serve`
//! (handlers), `sync` (intervals, locks, barriers), `nic_sync`, `board_locks` (locks and barriers by the boards), `notices` (write notices by puts), `report`.
//!
//! ```
//! use host_lib::dsm::{Dsm, DsmError, Protocol, Report, Settings};
//! use host_lib::gm::{Gm, collective::Endpoint};
//!
//! /// The sum of the squares of all ranks, computed with one accumulator under a lock.
//! async fn squares(
//!     gm: Gm,
//!     members: &[Endpoint],
//!     own: Endpoint,
//! ) -> Result<(u64, Report), DsmError> {
//!     let mut dsm = Dsm::start(gm, members, own, Settings::new(Protocol::Ardmar, 16)).await?;
//!     let sum = dsm.allocate::<u64>(1)?;
//!     dsm.acquire(0).await?;
//!     let before = dsm.get(sum, 0).await?;
//!     dsm.set(sum, 0, before + (dsm.rank() as u64).pow(2)).await?;
//!     dsm.release(0).await?;
//!     dsm.barrier().await?;
//!     let all = dsm.get(sum, 0).await?;
//!     Ok((all, dsm.finish().await?))
//! }
//! ```

mod board_locks;
mod diff;
mod error;
mod incoming;
mod interval;
mod layout;
mod message;
mod network;
mod nic_sync;
mod notices;
mod page;
mod region;
mod report;
mod serve;
mod settings;
mod sync;

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use defs::gm::event::Status;

pub use error::DsmError;
pub use region::{Element, Shared};
pub use report::{MOST_RACES, Race, Report};
pub use settings::{
    Barriers, Costs, Diffs, Dispatch, EarlyAt, Locks, MOST_EARLY, MOST_NODES, MOST_PARTS, Mistake,
    Notices, Posts, Protocol, Settings,
};

use crate::gm::collective::Endpoint;
use crate::gm::{Buffer, Gm, MemoryError};
use crate::window::VirtualAddress;
use incoming::Fetches;
use interval::{Interval, IntervalLog, VectorTime};
use layout::Layout;
use message::DsmMessage;
use network::DsmNetwork;
use nic_sync::NicBarrier;
use notices::NoticeSlots;
use page::Page;
use serve::PageChanges;
use sync::{Lock, PendingNotices};

/// No home yet, in the home table.
const NO_HOME: u32 = u32::MAX;

/// The shared memory as one node sees it.
pub struct Dsm {
    network: DsmNetwork,
    settings: Settings,
    layout: Layout,
    own: usize,
    /// First address of each node's memory, in the node's own addresses.
    bases: Vec<u64>,
    /// The intervals that are known.
    time: VectorTime,
    log: IntervalLog,
    pages: Vec<Page>,
    /// Pages that the current interval has written.
    dirty: Vec<u32>,
    locks: Vec<Lock>,
    pending_notices: PendingNotices,
    nic_barrier: Option<NicBarrier>,
    /// Replies for which the program polls.
    replies: PendingReplies,
    /// Changes that the own pages have got since the last barrier, if races are looked for.
    seen: Vec<PageChanges>,
    fetches: Fetches,
    notice_slots: NoticeSlots,
    /// Locks that the board is about to free.
    leaving: u32,
    /// Stamps of releases so far.
    stamps: u32,
    next_page: u32,
    /// When the last handler ended.
    handled_until_ps: u64,
    began_ps: u64,
    /// When the others were last asked whether they live.
    asked_ps: u64,
    report: Report,
}

/// Messages for the program itself, until it takes them.
#[derive(Debug, Default)]
struct PendingReplies {
    /// Home of a page.
    page: Option<(u32, u32)>,
    /// A lock, and what its last holder knew.
    lock: Option<(u32, VectorTime, Vec<Arc<Interval>>)>,
    departed: bool,
}

impl Dsm {
    /// Begins: all members call this with the same list and settings. The port of `own` is open and used for nothing else.
    ///
    /// # Errors
    /// [`DsmError`].
    pub async fn start(
        mut gm: Gm,
        members: &[Endpoint],
        own: Endpoint,
        settings: Settings,
    ) -> Result<Self, DsmError> {
        let nodes = members.len();
        settings.check(nodes)?;
        let rank = members.iter().position(|member| *member == own);
        let rank = rank.ok_or(DsmError::NotMember)?;
        let layout = Layout::new(&settings, nodes);
        let length = u32::try_from(layout.bytes).map_err(|_| MemoryError::NoMemory)?;
        let memory = gm.allocate_dma(length)?;
        gm.allow_remote_memory_access(own.port, true).await?;
        let network = DsmNetwork::new(gm, members, own.port, settings.costs.posts).await?;
        let began_ps = network.now_ps();
        let mut dsm = Self {
            network,
            settings,
            layout,
            own: rank,
            bases: vec![0; nodes],
            time: VectorTime::new(nodes),
            log: IntervalLog::default(),
            pages: vec![Page::default(); settings.pages as usize],
            dirty: Vec::new(),
            locks: Lock::all(settings.locks, nodes, rank),
            pending_notices: PendingNotices::default(),
            nic_barrier: None,
            replies: PendingReplies::default(),
            seen: Vec::new(),
            fetches: Fetches::new(settings.early_fetches),
            notice_slots: NoticeSlots::new(nodes),
            leaving: 0,
            stamps: 0,
            next_page: 0,
            handled_until_ps: 0,
            began_ps,
            asked_ps: 0,
            report: Report::default(),
        };
        dsm.bases[rank] = memory.address.0;
        let (homes, bytes) = dsm.layout.homes(settings.pages);
        dsm.write_own(homes, &vec![0xFF; bytes as usize])?;
        dsm.meet().await?;
        Ok(dsm)
    }

    /// Tells all others where the own memory is, and learns the same of them.
    async fn meet(&mut self) -> Result<(), DsmError> {
        let base = self.bases[self.own];
        for rank in self.others() {
            self.network.send(rank, &DsmMessage::Hello { base }).await?;
        }
        while self.bases.contains(&0) {
            self.handle_event().await?;
        }
        if self.settings.barriers_by == Barriers::Nic && self.nodes() > 1 {
            self.open_nic_barrier().await?;
        }
        self.barrier().await?;
        self.began_ps = self.network.now_ps();
        self.report = Report::default();
        Ok(())
    }

    /// The own place among the members.
    pub const fn rank(&self) -> usize {
        self.own
    }

    /// Number of members.
    pub const fn nodes(&self) -> usize {
        self.bases.len()
    }

    /// The ranks of the other nodes.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.own;
        (0..self.nodes()).filter(move |rank| *rank != own)
    }

    /// The host's clock, in ps.
    pub fn now_ps(&self) -> u64 {
        self.network.now_ps()
    }

    /// A region of `length` elements, all 0. All nodes allocate the same regions in the same order.
    ///
    /// # Errors
    /// [`DsmError::TooFewPages`].
    pub fn allocate<T: Element>(&mut self, length: usize) -> Result<Shared<T>, DsmError> {
        let page_bytes = u64::from(self.settings.page_bytes);
        let bytes = (length as u64).saturating_mul(T::BYTES as u64);
        let pages = bytes.div_ceil(page_bytes);
        let left = self.settings.pages - self.next_page;
        if pages > u64::from(left) {
            return Err(DsmError::TooFewPages { pages, left });
        }
        let first = u64::from(self.next_page) * page_bytes;
        self.next_page += pages as u32;
        Ok(Shared {
            first,
            length,
            element: PhantomData,
        })
    }

    /// First byte and number of bytes of a range.
    fn span<T: Element>(region: Shared<T>, range: &Range<usize>) -> Result<(u64, usize), DsmError> {
        let Range { start, end } = *range;
        if start > end || end > region.length {
            let (first, length) = (start, region.length);
            return Err(DsmError::OutOfRange { first, end, length });
        }
        let first = region.first + (start * T::BYTES) as u64;
        Ok((first, (end - start) * T::BYTES))
    }

    /// The pages of a span of bytes.
    fn pages_of(&self, first: u64, bytes: usize) -> Range<u32> {
        let page_bytes = u64::from(self.settings.page_bytes);
        let end = first + bytes as u64;
        (first / page_bytes) as u32..end.div_ceil(page_bytes) as u32
    }

    /// The bytes of a page that are in a span.
    fn bytes_of(&self, page: u32, first: u64, bytes: usize) -> Range<u32> {
        let page_bytes = u64::from(self.settings.page_bytes);
        let begin = u64::from(page) * page_bytes;
        let end = (first + bytes as u64).min(begin + page_bytes);
        (first.max(begin) - begin) as u32..(end - begin) as u32
    }

    /// Reads a range of a region.
    ///
    /// # Errors
    /// [`DsmError`].
    pub async fn read<T: Element>(
        &mut self,
        region: Shared<T>,
        range: Range<usize>,
    ) -> Result<Vec<T>, DsmError> {
        let (first, bytes) = Self::span(region, &range)?;
        if bytes == 0 {
            return Ok(Vec::new());
        }
        for page in self.pages_of(first, bytes) {
            let span = self.bytes_of(page, first, bytes);
            if !self.pages[page as usize].is_readable() {
                self.fault(page, &span, false).await?;
            }
            if self.fetches.concern(page) {
                self.await_span(page, &span).await?;
            }
        }
        // Copies become invalid only when this node synchronises.
        let mut content = vec![0; bytes];
        self.read_own(first, &mut content)?;
        Ok(content.chunks_exact(T::BYTES).map(T::decode).collect())
    }

    /// Writes elements to a region, from element `first` on.
    ///
    /// # Errors
    /// [`DsmError`].
    pub async fn write<T: Element>(
        &mut self,
        region: Shared<T>,
        first: usize,
        elements: &[T],
    ) -> Result<(), DsmError> {
        let range = first..first.saturating_add(elements.len());
        let (begin, bytes) = Self::span(region, &range)?;
        if bytes == 0 {
            return Ok(());
        }
        let mut content = Vec::with_capacity(bytes);
        elements.iter().for_each(|one| one.encode(&mut content));
        let page_bytes = u64::from(self.settings.page_bytes);
        let mut at = begin;
        for page in self.pages_of(begin, bytes) {
            let end = (u64::from(page) + 1) * page_bytes;
            let part = (end.min(begin + bytes as u64) - at) as usize;
            let span = self.bytes_of(page, begin, bytes);
            if self.pages[page as usize].is_readable() && self.fetches.concern(page) {
                self.await_span(page, &span).await?;
            }
            // A handler can take the right to write away, but not between this and the write.
            if !self.pages[page as usize].is_writable() {
                self.fault(page, &span, true).await?;
            }
            let from = (at - begin) as usize;
            self.write_own(at, &content[from..from + part])?;
            at += part as u64;
        }
        Ok(())
    }

    /// Reads one element.
    ///
    /// # Errors
    /// [`DsmError`].
    pub async fn get<T: Element>(
        &mut self,
        region: Shared<T>,
        index: usize,
    ) -> Result<T, DsmError> {
        let range = index..index.saturating_add(1);
        let found = self.read(region, range).await?;
        Ok(found.first().copied().unwrap_or_else(|| T::decode(&[])))
    }

    /// Writes one element.
    ///
    /// # Errors
    /// [`DsmError`].
    pub async fn set<T: Element>(
        &mut self,
        region: Shared<T>,
        index: usize,
        value: T,
    ) -> Result<(), DsmError> {
        self.write(region, index, &[value]).await
    }

    /// Spends processor time on the program's own work. Requests of other nodes interrupt it.
    ///
    /// # Errors
    /// [`DsmError`].
    pub async fn compute(&mut self, nanoseconds: u64) -> Result<(), DsmError> {
        let mut left_ps = nanoseconds.saturating_mul(1000);
        while left_ps > 0 {
            let began = self.now_ps();
            let came = match self.network.has_event()? {
                true => true,
                false => self.network.wait(left_ps.div_ceil(1000)).await?,
            };
            let took = self.now_ps() - began;
            self.report.compute_ps += took;
            left_ps = left_ps.saturating_sub(took);
            if came {
                self.handle_next().await?;
            }
        }
        Ok(())
    }

    /// Ends: waits for all nodes, and until all own messages have arrived. The memory cannot be used any more.
    ///
    /// # Errors
    /// [`DsmError`].
    pub async fn finish(mut self) -> Result<Report, DsmError> {
        self.end_fetches().await?;
        self.await_all_leaving().await?;
        self.barrier().await?;
        let total_ps = self.now_ps() - self.began_ps;
        while !self.network.is_quiet() {
            self.handle_event().await?;
        }
        self.report.total_ps = total_ps;
        Ok(self.report)
    }

    /// Leaves without the others, which cannot go on then: their waits end with [`DsmError::NodeGone`]. The port is closed.
    ///
    /// # Errors
    /// [`DsmError`].
    pub async fn leave(mut self) -> Result<(), DsmError> {
        let port = self.network.port();
        Ok(self.network.gm.close(port).await?)
    }

    /// Counts and times of the node since the start.
    pub fn report(&self) -> Report {
        Report {
            total_ps: self.now_ps() - self.began_ps,
            ..self.report.clone()
        }
    }

    /// Begins the report anew: what comes is measured.
    pub fn measure(&mut self) {
        self.began_ps = self.now_ps();
        self.report = Report::default();
    }

    /// Waits for an event and handles it. After a long time without one it asks whether the others live.
    async fn handle_event(&mut self) -> Result<(), DsmError> {
        if !self.network.has_event()? && !self.network.wait(self.settings.patience_ns).await? {
            return self.ask_others().await;
        }
        self.handle_next().await
    }

    /// Asks whether the others live: the boards of those that do not make the sends fail.
    async fn ask_others(&mut self) -> Result<(), DsmError> {
        self.asked_ps = self.now_ps();
        for rank in self.others() {
            self.network.send(rank, &DsmMessage::Ping).await?;
        }
        Ok(())
    }

    /// Asks the others after a long wait since `began_ps` that has looked at memory again and again.
    async fn lose_patience(&mut self, began_ps: u64) -> Result<(), DsmError> {
        let limit_ps = self.settings.patience_ns.saturating_mul(1000);
        let since = began_ps.max(self.asked_ps);
        match self.now_ps() - since > limit_ps {
            true => self.ask_others().await,
            false => Ok(()),
        }
    }

    /// Takes an event and handles it. If a node is gone, the others are told.
    async fn handle_next(&mut self) -> Result<(), DsmError> {
        let began = self.now_ps();
        let taken = match self.network.take_message().await {
            Ok(Some((from, message))) => self.handle(from, message, began).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(DsmError::NodeGone { rank, status }) = taken {
            self.spread(rank, status).await;
        }
        taken?;
        self.note_left_locks().await?;
        self.note_arrivals().await
    }

    /// Tells the others that a node is gone.
    async fn spread(&mut self, gone: usize, status: Status) {
        let message = DsmMessage::Gone {
            rank: gone as u32,
            status: status as u32,
        };
        for rank in self.others().filter(|rank| *rank != gone) {
            // Another error does not matter any more: the program ends with the first one.
            let _ = self.network.send(rank, &message).await;
        }
    }

    /// Reads the own memory at an offset.
    fn read_own(&self, offset: u64, bytes: &mut [u8]) -> Result<(), DsmError> {
        let address = VirtualAddress(self.bases[self.own] + offset);
        let read = self.network.gm.system().read_memory(address, bytes);
        Ok(read.map_err(MemoryError::NotMapped)?)
    }

    /// Writes the own memory at an offset.
    fn write_own(&mut self, offset: u64, bytes: &[u8]) -> Result<(), DsmError> {
        let address = VirtualAddress(self.bases[self.own] + offset);
        let written = self.network.gm.system_mut().write_memory(address, bytes);
        Ok(written.map_err(MemoryError::NotMapped)?)
    }

    /// Reads a row with a word for each node from the own memory.
    fn read_row(&self, offset: u64) -> Result<Vec<u32>, DsmError> {
        let mut bytes = vec![0; self.layout.row_bytes() as usize];
        self.read_own(offset, &mut bytes)?;
        let words = bytes.chunks_exact(4);
        Ok(words.map(decode_word).collect())
    }

    /// Reads a word of the own memory.
    fn read_word(&self, offset: u64) -> Result<u32, DsmError> {
        let mut word = [0; 4];
        self.read_own(offset, &mut word)?;
        Ok(u32::from_be_bytes(word))
    }

    /// A part of the own memory, as source or target of DMA.
    fn own_buffer(&self, offset: u64, length: u32) -> Buffer {
        Buffer {
            address: VirtualAddress(self.bases[self.own] + offset),
            length,
        }
    }
}

/// A word as tables have it: in the order of the boards.
fn decode_word(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_be_bytes)
}

/// Bytes of host memory that a node needs beside [`Settings::memory_bytes`]: buffers of messages.
#[must_use]
pub fn buffer_bytes() -> u64 {
    network::buffers_bytes()
}
