//! A node's settings for its firmware.

use std::sync::Arc;

use defs::gm::map::{DEFAULT_FATAL_TICKS, DEFAULT_RESEND_TICKS};
use defs::gm::mapping::NO_NODE;

use super::board::Family;

/// Settings of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The board.
    pub family: Family,
    /// Own node number: an index into `routes`, if there are any.
    pub node: u16,
    /// The route to every node, in the order of their numbers: over Myrinet a byte for each switch, none for a
    /// cable; over Ethernet an [`ethernet_route`](super::ethernet_route); `None` if the node cannot be reached. Empty: a
    /// mapper will give routes.
    /// Copies of the settings share them.
    pub routes: Arc<[Option<Vec<u8>>]>,
    /// Session of this run. Each start of the node needs a later session than the one before (sessions wrap: later means
    /// by less than 0x8000), so that nodes that keep running can tell its packets from older ones.
    pub session: u16,
    /// Ticks of 0.1 ms after which unacknowledged packets are sent again.
    pub resend_ticks: u32,
    /// Ticks of 0.1 ms without progress after which a send fails.
    pub fatal_ticks: u32,
    /// Ticks of 0.1 ms after which a collective operation on the board fails that is not complete.
    pub collective_ticks: u32,
    /// Buckets of the page table, a power of two: each has room for four pages.
    pub page_buckets: u32,
    /// Processor time of the library's own instructions in each send, provided buffer and event, in nanoseconds.
    pub overhead_ns: u64,
}

impl Config {
    /// The usual settings, for node `node` of `routes`.
    #[must_use]
    pub fn new(
        family: impl Into<Family>,
        node: u16,
        routes: impl Into<Arc<[Option<Vec<u8>>]>>,
    ) -> Self {
        Self {
            family: family.into(),
            node,
            routes: routes.into(),
            session: 1,
            resend_ticks: DEFAULT_RESEND_TICKS,
            fatal_ticks: DEFAULT_FATAL_TICKS,
            collective_ticks: DEFAULT_FATAL_TICKS,
            page_buckets: 4096,
            overhead_ns: 0,
        }
    }

    /// The usual settings of a node that gets its routes from a mapper ([`mapper`](super::mapper)), and its number too if it
    /// has none.
    #[must_use]
    pub fn mapped(family: impl Into<Family>, node: Option<u16>) -> Self {
        let node = match node {
            Some(node) => node,
            None => NO_NODE as u16,
        };
        Self::new(family, node, [])
    }
}
