//! Counts and times of a node in a shared memory.

/// Words that two nodes have written without an order between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Race {
    /// Number of the page.
    pub page: u32,
    /// The first such word of 4 bytes in the page.
    pub word: u32,
    /// The ranks of the two nodes, the lower one first.
    pub ranks: (usize, usize),
}

/// Most races that a report lists.
pub const MOST_RACES: usize = 64;

/// Times and counts of a node. Times exclude each other: a handler's time is not in the time of the wait or computation that it
/// interrupts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Waits for pages, without the cost of faults, in ps.
    pub page_ps: u64,
    /// Handlers, with their dispatch, in ps.
    pub handler_ps: u64,
    /// Locks: acquire and release, in ps.
    pub lock_ps: u64,
    /// Barriers, in ps.
    pub barrier_ps: u64,
    /// Computation of the program, in ps.
    pub compute_ps: u64,
    /// Entries and ends of page-fault handlers, with twins, in ps.
    pub fault_ps: u64,
    /// From the start to the report, in ps.
    pub total_ps: u64,
    /// Faults of reads.
    pub read_faults: u64,
    /// Faults of writes.
    pub write_faults: u64,
    /// Pages fetched from their homes.
    pub fetches: u64,
    /// Fetches that found a version that was too old, and were repeated (`ardmar`).
    pub repeats: u64,
    /// Fetches that began with a write notice, before a fault.
    pub early_begun: u64,
    /// Early fetches whose copy the program used.
    pub early_used: u64,
    /// Early fetches whose copy became invalid before it was used, or was too old.
    pub early_vain: u64,
    /// Accesses to parts of pages that had not come when the program had gone on.
    pub part_waits: u64,
    /// Puts of write notices.
    pub notice_puts: u64,
    /// Messages that a handler served.
    pub handled: u64,
    /// Changes of pages sent to their homes.
    pub diffs: u64,
    /// Bytes of these changes.
    pub diff_bytes: u64,
    /// Write notices obeyed: copies that became invalid.
    pub invalidations: u64,
    /// Locks acquired.
    pub locks: u64,
    /// Barriers that the node has passed.
    pub barriers: u64,
    /// Races that the node has seen as a home, without repetitions.
    pub races: Vec<Race>,
}

impl Report {
    /// Faults of both kinds.
    #[must_use]
    pub const fn faults(&self) -> u64 {
        self.read_faults + self.write_faults
    }

    /// Records a race, once for each pair of nodes and page.
    pub(super) fn race(&mut self, race: Race) {
        let known = |other: &Race| (other.page, other.ranks) == (race.page, race.ranks);
        if self.races.len() < MOST_RACES && !self.races.iter().any(known) {
            self.races.push(race);
        }
    }
}
