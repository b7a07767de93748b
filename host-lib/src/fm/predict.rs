//! Times of a multicast from costs of sends, transmissions and receives, each linear in a packet's bytes (dissertation, 2.1).
//!
//! Hosts and boards are taken as free of other work, credits and send slots as always there, the network as free.

use defs::fm::packet::MTU;

use super::tree::{Postal, Tree, TreeError};

/// A time that is linear in the bytes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinearCost {
    /// Time of a packet without bytes, in ps.
    pub fixed_ps: u64,
    /// For each byte, in ps.
    pub per_byte_ps: u64,
}

impl LinearCost {
    /// The time of a packet.
    #[must_use]
    pub const fn time_ps(self, bytes: u32) -> u64 {
        self.fixed_ps + self.per_byte_ps * bytes as u64
    }
}

/// Costs of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// The host assembles it and writes it to the board.
    pub send: LinearCost,
    /// The board transmits it.
    pub transmit: LinearCost,
    /// From the start of its transmission until the receiving host has handled it.
    pub receive: LinearCost,
    /// The part at the end of `receive` in which the host is busy.
    pub handle: LinearCost,
}

impl Costs {
    /// Costs of FM 2.1 on hosts that do not combine writes (dissertation-011 to dissertation-016). The part of the receiving host is not
    /// published: it counts as none.
    pub const PUBLISHED: Self = Self {
        send: LinearCost {
            fixed_ps: 2_786_300,
            per_byte_ps: 30_100,
        },
        transmit: LinearCost {
            fixed_ps: 1_395_800,
            per_byte_ps: 7_500,
        },
        receive: LinearCost {
            fixed_ps: 4_282_000,
            per_byte_ps: 23_000,
        },
        handle: LinearCost {
            fixed_ps: 0,
            per_byte_ps: 0,
        },
    };

    /// The postal model of messages of so many bytes: of their longest packet.
    #[must_use]
    pub fn postal(&self, bytes: u32) -> Postal {
        let bytes = bytes.min(MTU);
        Postal {
            latency: self.receive.time_ps(bytes) + self.send.time_ps(bytes),
            gap: self.transmit.time_ps(bytes),
        }
    }
}

/// Method by which the nodes of a tree send a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SendMethod {
    /// Whether the board copies a packet for all children; otherwise the host writes it for each.
    pub multi_send: bool,
    /// Whether each packet is sent on when it has come; otherwise the whole message.
    pub pipelined: bool,
}

/// Bytes of the packets of a message.
#[must_use]
pub fn packets(bytes: u32) -> Vec<u32> {
    let count = bytes.div_ceil(MTU).max(1);
    let size = |index: u32| (bytes - index * MTU).min(MTU);
    (0..count).map(size).collect()
}

/// Host and board of a node while a message passes.
struct PredictedNode<'a> {
    costs: &'a Costs,
    host_free_ps: u64,
    board_free_ps: u64,
}

impl PredictedNode<'_> {
    /// The host writes a packet for `copies` destinations, which the board transmits. Returns the starts of the transmissions.
    fn send(&mut self, bytes: u32, copies: usize) -> impl Iterator<Item = u64> {
        self.host_free_ps += self.costs.send.time_ps(bytes);
        let transmit_ps = self.costs.transmit.time_ps(bytes);
        let first = self.board_free_ps.max(self.host_free_ps);
        self.board_free_ps = first + transmit_ps * copies as u64;
        (0..copies as u64).map(move |copy| first + copy * transmit_ps)
    }
}

/// When each node has each packet of a message of `bytes` bytes, in ps since the root's call: by rank, then by packet. The root has all
/// at 0.
#[must_use]
pub fn deliveries(tree: &Tree, bytes: u32, way: SendMethod, costs: &Costs) -> Vec<Vec<u64>> {
    let packets = packets(bytes);
    // Starts of the transmissions to each node.
    let mut starts: Vec<Vec<u64>> = vec![vec![0; packets.len()]; tree.nodes()];
    let mut delivered = starts.clone();
    for rank in 0..tree.nodes() {
        let mut node = PredictedNode {
            costs,
            host_free_ps: 0,
            board_free_ps: 0,
        };
        let children = tree.children(rank);
        for (index, &size) in packets.iter().enumerate() {
            if rank > 0 {
                let handle_ps = costs.handle.time_ps(size).min(costs.receive.time_ps(size));
                let ready_ps = starts[rank][index] + costs.receive.time_ps(size) - handle_ps;
                node.host_free_ps = node.host_free_ps.max(ready_ps) + handle_ps;
                delivered[rank][index] = node.host_free_ps;
            }
            if way.pipelined {
                send_to(&mut node, children, (index, size), way, &mut starts);
            }
        }
        if way.pipelined {
            continue;
        }
        // By ordinary sends, one child gets the whole message before the next one.
        let groups = if way.multi_send { children.len() } else { 1 };
        for group in children.chunks(groups.max(1)) {
            for (index, &size) in packets.iter().enumerate() {
                send_to(&mut node, group, (index, size), way, &mut starts);
            }
        }
    }
    delivered
}

/// Sends a packet to some children, in ordinary sends or in one multi-send.
fn send_to(
    node: &mut PredictedNode<'_>,
    children: &[usize],
    (index, size): (usize, u32),
    way: SendMethod,
    starts: &mut [Vec<u64>],
) {
    let copies = if way.multi_send { children.len() } else { 1 };
    for group in children.chunks(copies.max(1)) {
        for (&child, start) in group.iter().zip(node.send(size, group.len())) {
            starts[child][index] = start;
        }
    }
}

/// When the last node has the whole message, in ps since the root's call.
#[must_use]
pub fn last_ps(tree: &Tree, bytes: u32, way: SendMethod, costs: &Costs) -> u64 {
    let all = deliveries(tree, bytes, way, costs).into_iter().flatten();
    all.max().unwrap_or_default()
}

/// The whole lambda from 1 to the number of nodes whose tree has the earliest last delivery, the least of several; and its tree.
///
/// # Errors
/// [`TreeError::Empty`].
pub fn best(
    nodes: usize,
    bytes: u32,
    way: SendMethod,
    costs: &Costs,
) -> Result<(u32, Tree), TreeError> {
    let mut found = (1, Tree::optimal(nodes, Postal::lambda(1))?);
    let mut least_ps = last_ps(&found.1, bytes, way, costs);
    for lambda in 2..=nodes as u32 {
        let tree = Tree::optimal(nodes, Postal::lambda(lambda))?;
        let last_ps = last_ps(&tree, bytes, way, costs);
        if last_ps < least_ps {
            least_ps = last_ps;
            found = (lambda, tree);
        }
    }
    Ok(found)
}
