//! A node's settings.

/// Credits of each sender at each receiver, unless stated.
pub const USUAL_CREDITS: u16 = 16;

/// Most credits of a sender: sums of 16 bits stay clear.
pub const MOST_CREDITS: u16 = 1024;

/// Settings of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Own node number: an index into `routes`.
    pub node: u16,
    /// The route to every node, in the order of their numbers: a byte for each crossbar, none for a cable; `None` if the node
    /// cannot be reached.
    pub routes: Vec<Option<Vec<u8>>>,
    /// Packet buffers for each sender, and so its credits; the same on all nodes.
    pub credits: u16,
    /// Processor time of the library's own instructions for each stream, packet sent and packet received, in nanoseconds.
    pub overhead_ns: u64,
    /// Whether the processor combines writes to the window into bursts. In the dissertation's hosts it did not.
    pub combines_writes: bool,
    /// Longest wait of a call for credits or for a send slot, in nanoseconds; `None`: for ever.
    pub timeout_ns: Option<u64>,
}

impl Config {
    /// The usual settings, for node `node` of `routes`.
    #[must_use]
    pub const fn new(node: u16, routes: Vec<Option<Vec<u8>>>) -> Self {
        Self {
            node,
            routes,
            credits: USUAL_CREDITS,
            overhead_ns: 0,
            combines_writes: true,
            timeout_ns: None,
        }
    }
}
