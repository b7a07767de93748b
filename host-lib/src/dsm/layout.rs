//! Layout of the memory that nodes read and write at each other: pages, versions, home table, locks, log.
//!
//! All nodes have the same layout, each at a base of its own.

use super::notices::SLOT_BYTES;
use super::{Locks, Notices, Settings, incoming};

/// Alignment of each part, in bytes.
const ALIGNMENT: u64 = 64;
/// Bytes of a node's log of own intervals, for locks by atomic operations.
pub(super) const LOG_BYTES: u64 = 64 << 10;
/// Bytes of a word.
const WORD: u64 = 4;

/// Offsets of the parts from the node's base.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    nodes: u64,
    page_bytes: u64,
    /// For each page the intervals of all nodes whose changes its home has.
    versions: u64,
    /// For each page its home, at the page's default home.
    homes: u64,
    /// For each lock the node that asked last, at the lock's home; 0: it is free.
    tails: u64,
    /// For each lock the node that gets it from this node; 0: no other node has asked.
    successors: u64,
    /// For each lock the stamp and time of its last release, at the lock's home.
    times: u64,
    /// Words of such a time.
    time_words: u64,
    /// The own intervals since the last barrier.
    pub(super) log: u64,
    /// Memory for words that the node reads at other nodes.
    pub(super) landing: u64,
    /// Rows with versions of pages that are fetched beside the program.
    early_rows: u64,
    /// For each node its intervals since the last barrier, which it puts here; two sets.
    slots: u64,
    /// Bytes of all.
    pub(super) bytes: u64,
}

impl Layout {
    pub(super) fn new(settings: &Settings, nodes: usize) -> Self {
        let nodes = nodes as u64;
        let (pages, locks) = (u64::from(settings.pages), u64::from(settings.locks));
        let page_bytes = u64::from(settings.page_bytes);
        let mut at = pages * page_bytes;
        let mut part = |bytes: u64| {
            let first = at.next_multiple_of(ALIGNMENT);
            at = first + bytes;
            first
        };
        let versions = part(pages * nodes * WORD);
        let homes = part(pages * WORD);
        let tails = part(locks * WORD);
        let successors = part(locks * WORD);
        let stamp = u64::from(settings.locks_by == Locks::Board);
        let time_words = nodes + stamp;
        let times = part(locks * time_words * WORD);
        let log = part(LOG_BYTES);
        let landing = part(LOG_BYTES);
        let beside = settings.early_fetches > 0 || settings.parts > 1;
        let rows = u64::from(beside) * u64::from(incoming::rows(settings.early_fetches));
        let early_rows = part(rows * nodes * WORD);
        let slots = match settings.notices {
            Notices::Carried => at,
            Notices::Put => part(2 * nodes * SLOT_BYTES),
        };
        Self {
            nodes,
            page_bytes,
            versions,
            homes,
            tails,
            successors,
            times,
            time_words,
            log,
            landing,
            early_rows,
            slots,
            bytes: at,
        }
    }

    /// Offset of a page.
    pub(super) const fn page(&self, page: u32) -> u64 {
        page as u64 * self.page_bytes
    }

    /// The versions of a page, one word for each node.
    pub(super) const fn versions(&self, page: u32) -> u64 {
        self.versions + page as u64 * self.nodes * WORD
    }

    /// The version of a page for the changes of a node.
    pub(super) const fn version(&self, page: u32, rank: usize) -> u64 {
        self.versions(page) + rank as u64 * WORD
    }

    /// Bytes of a row with a word for each node.
    pub(super) const fn row_bytes(&self) -> u32 {
        (self.nodes * WORD) as u32
    }

    /// Offset of a page's entry in the home table.
    pub(super) const fn home(&self, page: u32) -> u64 {
        self.homes + page as u64 * WORD
    }

    /// Offset of the word that says which node has asked for a lock last.
    pub(super) const fn tail(&self, lock: u32) -> u64 {
        self.tails + lock as u64 * WORD
    }

    /// Offset of the word that says which node gets a lock from this one.
    pub(super) const fn successor(&self, lock: u32) -> u64 {
        self.successors + lock as u64 * WORD
    }

    /// Bytes of the time of a lock's last release.
    pub(super) const fn time_bytes(&self) -> u32 {
        (self.time_words * WORD) as u32
    }

    /// Offset of the time of a lock's last release: a stamp with [`Locks::Board`], a word for each node.
    pub(super) const fn time(&self, lock: u32) -> u64 {
        self.times + lock as u64 * self.time_words * WORD
    }

    /// Offset of the slot for the intervals of a node.
    pub(super) const fn slot(&self, set: u64, rank: usize) -> u64 {
        self.slots + (set * self.nodes + rank as u64) * SLOT_BYTES
    }

    /// Offset of a row for the versions of a page that is fetched beside the program.
    pub(super) const fn early_row(&self, row: u32) -> u64 {
        self.early_rows + row as u64 * self.nodes * WORD
    }

    /// First byte and length of the home table, which begins as "none".
    pub(super) const fn homes(&self, pages: u32) -> (u64, u64) {
        (self.homes, pages as u64 * WORD)
    }
}
