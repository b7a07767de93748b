//! Parts of the [map](super::map) that grow with the number of nodes or members. Images for usual clusters and for large ones differ here only;
//! the word [`READY`](super::map::READY) tells the host which of them runs.

use super::atomic::{ANSWERS, ATOMICS_END, PENDING};
use super::collective::{LISTS, NOTES};
use super::gossip::{GROUP_COUNT, GROUPS, LEVELS};
use super::map::{NODE_LIMIT, PEER_BYTES, PEERS, READY_MAGIC};
use super::port::PORT_COUNT;

/// Value of [`READY`](super::map::READY) of images for large clusters.
pub const READY_MAGIC_LARGE: u32 = 0x474D_0002;
/// Most nodes of a large cluster.
pub const LARGE_NODE_LIMIT: u32 = 4096;
/// Most members of a group of all-to-all broadcasts on boards with an image for large clusters.
pub const LARGE_GROUP_LIMIT: u32 = 1 << Layout::LARGE.levels;

/// Places of what grows, and limits.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    /// Value of [`READY`](super::map::READY).
    pub ready_magic: u32,
    /// Bits of a node's number. There are at most so many nodes, and entries of a list of endpoints.
    pub node_bits: u32,
    /// State of each peer, as at [`PEERS`].
    pub peers: u32,
    /// Lists of endpoints, as at [`LISTS`].
    pub lists: u32,
    /// Early packets of barriers, as at [`NOTES`].
    pub notes: u32,
    /// Answers of atomic operations, as at [`ANSWERS`].
    pub answers: u32,
    /// Answers that are to be sent, as at [`PENDING`].
    pub pending: u32,
    /// Blocks of groups, as at [`GROUPS`].
    pub groups: u32,
    /// Bits of an address within a block of a group.
    pub group_bits: u32,
    /// Powers of two below the most members of a group.
    pub levels: u32,
    /// Bytes of memory that a board needs for collective and atomic operations.
    pub operations_end: u32,
}

impl Layout {
    /// Up to 1,024 nodes, all-to-all broadcasts among up to 256 members.
    pub const USUAL: Self = Self {
        ready_magic: READY_MAGIC,
        node_bits: 10,
        peers: PEERS,
        lists: LISTS,
        notes: NOTES,
        answers: ANSWERS,
        pending: PENDING,
        groups: GROUPS,
        group_bits: 9,
        levels: LEVELS,
        operations_end: ATOMICS_END,
    };

    /// Up to 4,096 nodes, all of which can be members, on boards with 2 MB. Answers and groups take the place of the usual peers and lists.
    pub const LARGE: Self = Self {
        ready_magic: READY_MAGIC_LARGE,
        node_bits: 12,
        peers: 0x10_0000,
        notes: 0x18_0000,
        lists: 0x1C_0000,
        answers: LARGE_ANSWERS,
        pending: LARGE_ANSWERS + 32 * LARGE_NODE_LIMIT,
        groups: LARGE_GROUPS,
        group_bits: 11,
        levels: 12,
        operations_end: 0x20_0000,
    };

    /// The layout that a value of [`READY`](super::map::READY) tells.
    #[must_use]
    pub fn of_ready(word: u32) -> Option<&'static Self> {
        [&Self::USUAL, &Self::LARGE]
            .into_iter()
            .find(|layout| layout.ready_magic == word)
    }

    /// Most nodes.
    #[must_use]
    pub const fn nodes(&self) -> u32 {
        1 << self.node_bits
    }

    /// Most members of a group of all-to-all broadcasts.
    #[must_use]
    pub const fn members(&self) -> u32 {
        1 << self.levels
    }

    /// Whether a group has more members than the usual layout has room for: its words differ.
    #[must_use]
    pub const fn has_wide_groups(&self) -> bool {
        self.levels > LEVELS
    }

    /// SRAM address of a peer.
    #[must_use]
    pub const fn peer(&self, node: u32) -> u32 {
        self.peers + node * PEER_BYTES
    }

    /// Bytes of SRAM that the firmware needs for `nodes` nodes.
    #[must_use]
    pub const fn sram_bytes(&self, nodes: u32) -> u32 {
        self.peer(nodes)
    }

    /// SRAM address of a port's first (0) or second (1) list of endpoints.
    #[must_use]
    pub const fn peer_list(&self, port: u32, list: u32) -> u32 {
        self.lists + ((2 * port + list) << (self.node_bits + 2))
    }
}

const LARGE_ANSWERS: u32 = PEERS.next_multiple_of(0x1000);
const LARGE_GROUPS: u32 = LARGE_ANSWERS + 33 * LARGE_NODE_LIMIT;

const _: () = {
    let (usual, large) = (Layout::USUAL, Layout::LARGE);
    assert!(usual.nodes() == NODE_LIMIT && large.nodes() == LARGE_NODE_LIMIT);
    // Of the large layout nothing overlaps.
    let groups_end = large.groups + ((PORT_COUNT * GROUP_COUNT) << large.group_bits);
    assert!(groups_end <= super::collective::BLOCKS);
    let buffers = super::map::MORE_RECEIVE_BUFFER_COUNT * super::map::BUFFER_BYTES;
    assert!(super::map::MORE_RECEIVE_BUFFERS + buffers <= large.peers);
    assert!(large.peer(LARGE_NODE_LIMIT) <= large.notes);
    assert!(large.notes + LARGE_NODE_LIMIT * super::collective::NOTE_BYTES <= large.lists);
    assert!(large.peer_list(PORT_COUNT, 0) <= large.operations_end);
};
