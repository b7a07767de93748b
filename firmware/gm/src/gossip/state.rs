//! Layout of the state of groups in SRAM.
use defs::gm::gossip::{
    BLOCK_BYTES, GROUP_BYTES, GROUP_COUNT, GROUP_LIMIT, GROUP_USED_BYTES, LEVELS, PASSES,
};
use defs::gm::layout::{LARGE_GROUP_LIMIT, Layout};
use defs::gm::mapping::MAPPING;
use defs::gm::port::PORT_COUNT;
use defs::{record, words};

use crate::collective::COLLECTIVE_STATE_END;
use crate::places::Places;
use crate::state::{PortBlock, port_number};
use crate::{Gm, Nic};

words! {
    impl Gm<N: Nic>;
    /// Ring of packets to pass on: the entry that is taken next.
    pass_out, set_pass_out, PASS_OUT: u32 = COLLECTIVE_STATE_END;
    /// Ring of packets to pass on: the entry that is written next.
    pass_in, set_pass_in: u32 = PASS_OUT + 4;
    /// State of the packet that is passed on ([`IDLE`] to [`WAITING_LOCAL`]).
    pass_state, set_pass_state: u32 = PASS_OUT + 8;
    /// Group and channel of the packet that is passed on, as in the ring.
    pass_what, set_pass_what, PASS_WHAT: u32 = PASS_OUT + 12;
    /// Place of the packet that is passed on: word 6 of the packet ([`hop`], [`step_part`]).
    pass_place, set_pass_place, PASS_PLACE: u32 = PASS_OUT + 16;
    /// Operation of the packet that is passed on, and the length of its blocks ([`operation_word`]).
    pass_block, set_pass_block, PASS_BLOCK: u32 = PASS_OUT + 20;
    /// Entry of the received packet that is passed on, or 0.
    pass_held, set_pass_held, PASS_HELD: u32 = PASS_OUT + 24;
    /// Header of the packet that is passed on.
    pass_header, set_pass_header: u32 = PASS_OUT + 28;
    /// Bytes of payload of the packet that is passed on.
    pass_length, set_pass_length: u32 = PASS_OUT + 32;
    /// RECV: first free entry of a received packet.
    free_held, set_free_held: u32 = PASS_OUT + 36;
    /// RECV: received packets that are kept until they are passed on.
    kept, set_kept: u32 = PASS_OUT + 40;
    /// RECV: a member's question waits for DMA to the host.
    answering, set_answering: u32 = PASS_OUT + 44;
    /// Whether [`GOSSIP_LOCAL`](defs::gm::gossip::GOSSIP_LOCAL) is in use.
    local_busy, set_local_busy: u32 = PASS_OUT + 48;
}

/// End of the single words of all-to-all broadcasts.
pub const GOSSIP_STATE_END: u32 = PASS_OUT + 52;

const _: () = assert!(GOSSIP_STATE_END <= MAPPING);

/// The ring of packets to pass on is empty.
pub const IDLE: u32 = 0;
/// The packet comes from host memory.
pub const LOADING: u32 = 1;
/// The packet waits for SEND.
pub const WAITING: u32 = 2;
/// The packet leaves.
pub const LEAVING: u32 = 3;
/// The packet waits until the buffer of this node's members is free.
pub const WAITING_LOCAL: u32 = 4;

/// Offset of the firmware's own words in a group: they follow the descriptor.
const OWN: u32 = GROUP_USED_BYTES;
/// Offset of the words that RECV counts in.
const RECEIVED: u32 = OWN + 56;
/// Bytes of a [`Received`].
pub const RECEIVED_BYTES: u32 = 4 + 4 * LEVELS;
/// Offset of the words behind these.
const LAST: u32 = RECEIVED + 2 * RECEIVED_BYTES;

record! {
    /// Group of a port.
    pub struct Group {
        /// Number, and [`OPEN`]; 0 if the group is not open.
        number, set_number: u32 = 0;
        /// Addresses of the channels in the process's memory.
        channel[3] => ChannelAddress = 4;
        /// Number of members.
        size, set_size, SIZE: u32 = OWN;
        /// Own rank.
        rank, set_rank, RANK: u32 = OWN + 4;
        /// Number of the operation that was posted last.
        posted, set_posted, POSTED: u32 = OWN + 8;
        /// Whether that operation is under way: 1 or 0.
        active, set_active, ACTIVE: u32 = OWN + 12;
        /// Length of its blocks, and `DOUBLING`.
        block, set_block, BLOCK: u32 = OWN + 16;
        /// Tick at which the group asks for what is missing.
        deadline, set_deadline, DEADLINE: u32 = OWN + 20;
        /// Tick at which the operation fails.
        fails_at, set_fails_at, FAILS_AT: u32 = OWN + 24;
        /// Port of the group.
        port, set_port, PORT: PortBlock = OWN + 28;
        /// Recursive doubling: the step whose bytes are sent next, and `OWN_STAGING`.
        step, set_step, STEP: u32 = OWN + 32;
        /// Key of the process.
        key, set_key, KEY: u32 = OWN + 36;
        /// Counts of SEND, for each channel.
        counts[3] => Counts = OWN + 40;
        /// Steps of recursive doubling.
        steps, set_steps, STEPS: u32 = LAST;
        /// The longest block that is combined in staging memory; 0 without that.
        staged_most, set_staged_most, STAGED_MOST: u32 = LAST + 4;
        /// The count of the posted operation when all has come.
        all, set_all, ALL: u32 = LAST + 8;
    }
}

impl Group {
    /// Offset of the [members](Members) further on; those back follow.
    pub const MEMBERS: u32 = 20;
    /// Offsets between which the words lie that the channels of both CPUs count in.
    pub const COUNTED: [(u32, u32); 2] = [(OWN + 40, OWN + 56), (RECEIVED, LAST)];

    /// Counts of SEND of an operation.
    #[inline(always)]
    pub const fn counts_of(self, operation: u32) -> Counts {
        self.counts(operation & 1)
    }

    /// Blocks or steps of an operation that RECV has received.
    #[inline(always)]
    pub const fn received<N: Nic>(self, operation: u32) -> Received {
        Received::at(received::<N>(self.address(), operation))
    }
}

record! {
    /// Endpoints of members in one direction.
    pub struct Members {
        /// The member 2^exponent ranks away.
        [member]: u32 = 0;
    }
}

record! {
    /// Address of a channel.
    pub struct ChannelAddress {
        /// Upper half.
        high: u32 = 0;
        /// Lower half.
        low: u32 = 4;
    }
}

record! {
    /// Counts of SEND of the operation of a channel.
    pub struct Counts {
        /// The operation.
        operation, set_operation: u32 = 0;
        /// Number of blocks that have come, or a bit for each step that is complete.
        done, set_done: u32 = 4;
    }
}

record! {
    /// Blocks or steps of the operation of a channel that RECV has received.
    pub struct Received {
        /// The operation.
        operation, set_operation: u32 = 0;
        /// A bit for each block that has come, or the bytes of each step.
        [word, set_word]: u32 = 4;
    }
}

impl Received {
    /// Offset of the words with blocks or steps.
    pub const WORDS: u32 = 4;
}

/// Bit of [`Group::number`]: the group is open.
pub const OPEN: u32 = 1 << 16;

/// Place of a block of concurrent broadcasting: the rank of its origin, and the exponent of its hop, which goes over 2^exponent ranks.
#[inline(always)]
pub const fn hop(origin: u32, exponent: u32) -> u32 {
    origin << 16 | exponent
}

/// The rank of the origin in a [`hop`].
#[inline(always)]
pub const fn origin_of(place: u32) -> u32 {
    place >> 16
}

/// The exponent in a [`hop`].
#[inline(always)]
pub const fn exponent_of(place: u32) -> u32 {
    place & 0xFFFF
}

/// Number of ranks that a member is behind the origin of a block, around the group: (rank - origin) mod size.
#[inline(always)]
pub const fn behind(rank: u32, origin: u32, size: u32) -> u32 {
    if rank >= origin {
        rank - origin
    } else {
        rank + size - origin
    }
}

/// Offset in a channel of the block of a rank, with concurrent broadcasting.
#[inline(always)]
pub const fn block_offset(rank: u32) -> u32 {
    const { assert!(BLOCK_BYTES == 1 << 12) }
    rank << 12
}

/// Bits of a [`step_part`] that are the step.
const STEP_BITS: u32 = 4;

/// Place of bytes of recursive doubling: how many of the step come before them, and the step.
#[inline(always)]
pub const fn step_part(before: u32, step: u32) -> u32 {
    before << STEP_BITS | step
}

/// The bytes before those of a [`step_part`].
#[inline(always)]
pub const fn before_of(place: u32) -> u32 {
    place >> STEP_BITS
}

/// The step of a [`step_part`].
#[inline(always)]
pub const fn step_of(place: u32) -> u32 {
    place & ((1 << STEP_BITS) - 1)
}

/// An operation and the length of its blocks in one word.
#[inline(always)]
pub const fn operation_word(operation: u32, length: u32) -> u32 {
    operation << 16 | length
}

/// The operation in an [`operation_word`].
#[inline(always)]
pub const fn operation_of(word: u32) -> u32 {
    word >> 16
}

/// The length of a block in an [`operation_word`].
#[inline(always)]
pub const fn length_of(word: u32) -> u32 {
    word & 0xFFFF
}

const _: () = assert!(LAST + 12 <= GROUP_BYTES && GROUP_LIMIT == 32 * LEVELS);

/// The block of a port's group.
#[inline(always)]
pub const fn group<N: Nic>(port: PortBlock, number: u32) -> Group {
    const { assert!(GROUP_COUNT == 2 && GROUP_BYTES == 1 << 9) }
    Group::at(N::GROUPS + (port_number(port) << N::PORT_GROUPS_BITS) + (number << N::GROUP_BITS))
}

/// End of the blocks of all groups.
#[inline(always)]
pub const fn groups_end<N: Nic>() -> u32 {
    if N::WIDE_GROUPS {
        N::GROUPS + ((PORT_COUNT * GROUP_COUNT) << N::GROUP_BITS)
    } else {
        PASSES
    }
}

/// Bytes that say what an operation among so many members of a wide group has brought.
#[inline(always)]
pub const fn wide_received_bytes<N: Nic>(size: u32) -> u32 {
    let blocks = (size + 31) >> 5 << 2;
    // A word for each step.
    let steps = N::LEVELS << 2;
    if blocks > steps { blocks } else { steps }
}

/// Offset of the members of a wide group, behind all other words; those further on, then those back.
pub const WIDE_MEMBERS: u32 = GROUP_BYTES;
/// Offset of what has come of the operations of a wide group's channels.
pub const WIDE_RECEIVED: u32 = WIDE_MEMBERS + 128;
/// Bytes of a [`Received`] with a bit for each member of the largest group.
pub const WIDE_RECEIVED_BYTES: u32 = 4 + LARGE_GROUP_LIMIT / 8;

const _: () = assert!(WIDE_RECEIVED + 2 * WIDE_RECEIVED_BYTES <= 1 << Layout::LARGE.group_bits);
const _: () = assert!(Layout::LARGE.levels <= 16 && Layout::LARGE.levels < 1 << STEP_BITS);

/// Address of the [`Received`] of the channel of an operation.
#[inline(always)]
const fn received<N: Nic>(group: u32, operation: u32) -> u32 {
    if N::WIDE_GROUPS {
        let second = operation & 1 != 0;
        return group + WIDE_RECEIVED + if second { WIDE_RECEIVED_BYTES } else { 0 };
    }
    group
        + RECEIVED
        + if operation & 1 == 0 {
            0
        } else {
            RECEIVED_BYTES
        }
}
