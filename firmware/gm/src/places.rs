//! The [`Layout`](defs::gm::layout::Layout) of an image, each number as a constant of its own: the compiler sees them as it sees literals.
use defs::gm::gossip::{GROUP_MEMBERS, GROUP_USED_BYTES};

use crate::Nic;
use crate::gossip::state::{Group, WIDE_MEMBERS, WIDE_RECEIVED, WIDE_RECEIVED_BYTES};

/// Numbers of the layout of [`Nic`].
pub trait Places: Nic {
    /// Value of `READY`.
    const READY_MAGIC: u32 = Self::LAYOUT.ready_magic;
    /// Most nodes, and most entries of a list of endpoints.
    const NODES: u32 = Self::LAYOUT.nodes();
    /// Bits of a node's number.
    const NODE_BITS: u32 = Self::LAYOUT.node_bits;
    /// State of each peer.
    const PEERS: u32 = Self::LAYOUT.peers;
    /// Lists of endpoints.
    const LISTS: u32 = Self::LAYOUT.lists;
    /// Bits of an address within a list of endpoints.
    const LIST_BITS: u32 = Self::LAYOUT.node_bits + 2;
    /// Bits of an address within the two lists of a port.
    const PORT_LISTS_BITS: u32 = Self::LIST_BITS + 1;
    /// Early packets of barriers.
    const NOTES: u32 = Self::LAYOUT.notes;
    /// Answers of atomic operations.
    const ANSWERS: u32 = Self::LAYOUT.answers;
    /// Answers that are to be sent.
    const PENDING: u32 = Self::LAYOUT.pending;
    /// Blocks of groups.
    const GROUPS: u32 = Self::LAYOUT.groups;
    /// Bits of an address within a block of a group.
    const GROUP_BITS: u32 = Self::LAYOUT.group_bits;
    /// Bits of an address within the blocks of a port's groups.
    const PORT_GROUPS_BITS: u32 = Self::GROUP_BITS + 1;
    /// Powers of two below the most members of a group.
    const LEVELS: u32 = Self::LAYOUT.levels;
    /// Whether groups are wide.
    const WIDE_GROUPS: bool = Self::LAYOUT.has_wide_groups();
    /// Offset of the members in a block of a group.
    const MEMBERS: u32 = if Self::WIDE_GROUPS {
        WIDE_MEMBERS
    } else {
        Group::MEMBERS
    };
    /// End of what is copied from a group's descriptor to the same place in its block.
    const GROUP_COPIED: u32 = if Self::WIDE_GROUPS {
        GROUP_MEMBERS
    } else {
        GROUP_USED_BYTES
    };
    /// Offsets between which the words lie that the channels of both CPUs count in.
    const COUNTED: [(u32, u32); 2] = if Self::WIDE_GROUPS {
        let end = WIDE_RECEIVED + 2 * WIDE_RECEIVED_BYTES;
        [Group::COUNTED[0], (WIDE_RECEIVED, end)]
    } else {
        Group::COUNTED
    };
    /// Slots for members in one direction, a power of two.
    const MEMBER_SLOTS: u32 = Self::LEVELS.next_power_of_two();
}

impl<N: Nic> Places for N {}
