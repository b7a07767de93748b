//! Settings of a shared memory, equal at all nodes.

use super::DsmError;

/// Protocol by which a page is fetched whose copy is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// A handler at the page's home answers a request: `async`.
    Async,
    /// Compare and swap on the home table and a get at the same time, then version and page by two gets: `ardmar`.
    Ardmar,
}

impl Protocol {
    /// Name of the protocol in scenarios and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Async => "async",
            Self::Ardmar => "ardmar",
        }
    }
}

/// Path on which changes of a page reach its home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Diffs {
    /// As a message, which a handler at the home applies.
    Handler,
    /// By puts into the home's page, then into its version. Needs [`Protocol::Ardmar`].
    Put,
}

/// Method by which locks are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Locks {
    /// By handlers: of the lock's home, and of the node that had the lock last.
    Handler,
    /// By atomic operations on words of the lock's home. Write notices are read with gets.
    Atomic,
    /// As [`Atomic`](Self::Atomic), with fewer waits: a release goes on while the board frees the lock, and who asks for a lock reads the
    /// time of its last release meanwhile.
    Board,
}

/// Path of the write notices of intervals that end at releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Notices {
    /// With grants and barriers, to who must know them (lazily).
    Carried,
    /// By puts at the release, into the memory of all nodes (eagerly); grants say only which ones count.
    Put,
}

/// Method by which nodes meet in a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Barriers {
    /// By messages to a handler of the first node, and back.
    Handler,
    /// By an all-to-all broadcast of write notices that the boards execute. Notices that do not fit in a block follow as messages.
    Nic,
}

/// When the fetch of a page begins that is fetched early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EarlyAt {
    /// With the notice of a barrier or a lock's grant.
    Always,
    /// With the notice, but not while the program holds a lock or waits for one: then at its release.
    Unlocked,
}

/// Processor time that the network does not spend by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// From an access to the page-fault handler, and back to the program after it, in ns (ardmar-057).
    pub fault_ns: u64,
    /// From a message that needs the handler to the handler's first instruction: interrupt and dispatch.
    pub dispatch_ns: u64,
    /// Posts of messages and puts; gets and atomic operations contain theirs.
    pub posts: Posts,
    /// Time of a handler to give back the place of the request that it has received, in ns (ardmar-022).
    pub receive_ns: u64,
    /// Time of an atomic operation beyond the board's own time, in ns: for boards whose atomic operations are slower than those of this
    /// firmware (ardmar-012).
    pub atomic_ns: u64,
    /// Time of each byte of a get beyond the board's own time, in ps: a delay, not a load of the board (ardmar-014).
    pub get_byte_ps: u64,
}

/// Processor time of posts, beside that of the library's own instructions (ardmar-015 to 017).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Posts {
    /// A post of no bytes, in ns.
    pub start_ns: u64,
    /// Each byte, in ps.
    pub byte_ps: u64,
    /// Further time of a post that calls a handler, in ns.
    pub immediate_ns: u64,
}

impl Posts {
    /// Processor time of a post, in ns.
    pub(super) const fn time_ns(self, bytes: usize, calls_handler: bool) -> u64 {
        let time_ns = self.start_ns + bytes as u64 * self.byte_ps / 1000;
        match calls_handler {
            true => time_ns + self.immediate_ns,
            false => time_ns,
        }
    }
}

/// Requests that pay for the dispatch of the handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dispatch {
    /// Each one: requests are served one after the other, each by a call of the handler.
    Each,
    /// One that finds no handler running: a running handler takes the next request without another interrupt.
    Once,
}

/// A mistake that is made on purpose, to test models of consistency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// Each node does not obey one write notice: of those that invalidate a copy the one with this number, from 0 on.
    ForgetNotice(u64),
}

/// Settings of a shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Protocol by which pages are fetched.
    pub protocol: Protocol,
    /// Path on which changes reach homes.
    pub diffs: Diffs,
    /// Method by which locks are passed on.
    pub locks_by: Locks,
    /// Method by which nodes meet in barriers.
    pub barriers_by: Barriers,
    /// Path of write notices.
    pub notices: Notices,
    /// Most pages at a time whose fetch begins with the write notice, not with the fault; 0: none.
    pub early_fetches: u32,
    /// When early fetches begin.
    pub early_at: EarlyAt,
    /// Parts in which a page is fetched, a power of two; the program goes on with the first. More than 1 need [`Protocol::Ardmar`].
    pub parts: u32,
    /// Bytes of a page, a power of two (ardmar-011).
    pub page_bytes: u32,
    /// Pages of the memory.
    pub pages: u32,
    /// Number of locks.
    pub locks: u32,
    /// Requests that pay for the dispatch of the handler.
    pub dispatch: Dispatch,
    /// Processor time.
    pub costs: Costs,
    /// A node that waits for so long asks whether the others still live, in ns.
    pub patience_ns: u64,
    /// Whether homes compare all changes, to report words that two nodes have written without an order between them.
    pub find_races: bool,
    /// A mistake, for tests.
    pub mistake: Option<Mistake>,
}

/// Smallest page in bytes.
const LEAST_PAGE_BYTES: u32 = 64;
/// Largest page in bytes.
const MOST_PAGE_BYTES: u32 = 1 << 16;
/// Smallest part of a page in bytes.
const LEAST_PART_BYTES: u32 = 32;
/// Most parts in which a page is fetched.
pub const MOST_PARTS: u32 = 16;
/// Most pages at a time that are fetched early.
pub const MOST_EARLY: u32 = 16;
/// Most nodes of a shared memory.
pub const MOST_NODES: usize = 32;

impl Settings {
    /// The usual settings: 4 KB pages, handlers for all but what the protocol replaces.
    #[must_use]
    pub const fn new(protocol: Protocol, pages: u32) -> Self {
        Self {
            protocol,
            diffs: Diffs::Handler,
            locks_by: Locks::Handler,
            barriers_by: Barriers::Handler,
            notices: Notices::Carried,
            early_fetches: 0,
            early_at: EarlyAt::Always,
            parts: 1,
            page_bytes: 4096,
            pages,
            locks: 64,
            dispatch: Dispatch::Each,
            costs: Costs {
                fault_ns: 6_600,
                dispatch_ns: 3_500,
                posts: Posts {
                    start_ns: 0,
                    byte_ps: 0,
                    immediate_ns: 0,
                },
                receive_ns: 0,
                atomic_ns: 0,
                get_byte_ps: 0,
            },
            patience_ns: 200_000_000,
            find_races: false,
            mistake: None,
        }
    }

    /// Bytes of host memory that a node of `nodes` needs for pages and tables, beside the buffers of messages.
    #[must_use]
    pub fn memory_bytes(&self, nodes: usize) -> u64 {
        let layout = super::layout::Layout::new(self, nodes);
        layout.bytes
    }

    /// Checks the settings for this number of nodes.
    pub(super) fn check(&self, nodes: usize) -> Result<(), DsmError> {
        let bytes = self.page_bytes;
        if !bytes.is_power_of_two() || !(LEAST_PAGE_BYTES..=MOST_PAGE_BYTES).contains(&bytes) {
            return Err(DsmError::PageSize { bytes });
        }
        if nodes == 0 || nodes > MOST_NODES {
            return Err(DsmError::Nodes { nodes });
        }
        if self.diffs == Diffs::Put && (self.protocol == Protocol::Async || self.find_races) {
            return Err(DsmError::Combination);
        }
        let parts = self.parts;
        let least = parts.saturating_mul(LEAST_PART_BYTES);
        if !parts.is_power_of_two() || parts > MOST_PARTS || least > bytes {
            return Err(DsmError::Parts { parts });
        }
        if parts > 1 && self.protocol == Protocol::Async {
            return Err(DsmError::PartsOfHandlers);
        }
        let fetches = self.early_fetches;
        if fetches > MOST_EARLY {
            return Err(DsmError::EarlyFetches { fetches });
        }
        Ok(())
    }

    /// Bytes of a part of a page.
    pub(super) const fn part_bytes(&self) -> u32 {
        self.page_bytes / self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_cost_their_start_their_bytes_and_the_call_of_a_handler() {
        let posts = Posts {
            start_ns: 6_000,
            byte_ps: 500,
            immediate_ns: 2_000,
        };
        let found = [(0, false), (4096, false), (100, true)]
            .map(|(bytes, calls)| posts.time_ns(bytes, calls));
        assert_eq!(found, [6_000, 8_048, 8_050]);
        assert_eq!(Posts::default().time_ns(8_000, true), 0);
    }
}
