//! Places of the words of groups.

use defs::gm::gossip::{GROUP_BYTES, GROUP_COUNT, GROUP_LIMIT, GROUP_USED_BYTES, GROUPS, LEVELS};
use defs::gm::mapping::MAPPING;

use crate::collective::COLLECTIVE_STATE_END;
use crate::state::Port;
use crate::state::port_number;

/// Ring of packets to pass on: next entry to take.
pub const PASS_OUT: u32 = COLLECTIVE_STATE_END;
/// The same, next entry to write.
pub const PASS_IN: u32 = PASS_OUT + 4;
/// What happens with the packet that is passed on.
pub const PASS_STATE: u32 = PASS_OUT + 8;
/// Its group and channel, as in the ring.
pub const PASS_WHAT: u32 = PASS_OUT + 12;
/// Its place: word 6 of the packet.
pub const PASS_PLACE: u32 = PASS_OUT + 16;
/// Length of a block.
pub const PASS_BLOCK: u32 = PASS_OUT + 20;
/// The entry of the received packet that it is, or 0.
pub const PASS_HELD: u32 = PASS_OUT + 24;
/// Its header.
pub const PASS_HEADER: u32 = PASS_OUT + 28;
/// Bytes of its payload.
pub const PASS_LENGTH: u32 = PASS_OUT + 32;
/// RECV: first free entry of a received packet.
pub const FREE_HELD: u32 = PASS_OUT + 36;
/// RECV: received packets that are kept until they are passed on.
pub const KEPT: u32 = PASS_OUT + 40;
/// RECV: a member's question waits for DMA to the host.
pub const ANSWERING: u32 = PASS_OUT + 44;
/// Whether [`GOSSIP_LOCAL`](defs::gm::gossip::GOSSIP_LOCAL) is in use.
pub const LOCAL_BUSY: u32 = PASS_OUT + 48;
/// End of these words.
pub const GOSSIP_STATE_END: u32 = PASS_OUT + 52;

const _: () = assert!(GOSSIP_STATE_END <= MAPPING);

/// Nothing is passed on.
pub const IDLE: u32 = 0;
/// The packet comes from host memory.
pub const LOADING: u32 = 1;
/// The packet waits for SEND.
pub const WAITING: u32 = 2;
/// The packet leaves.
pub const LEAVING: u32 = 3;
/// The packet waits until the buffer of this node's members is free.
pub const WAITING_LOCAL: u32 = 4;

/// Word of a group: number, rank, size as in its descriptor; 0 if the group is not open.
pub const G_NUMBER: u32 = 0;
/// Words of a group: addresses of the channels.
pub const G_CHANNELS: u32 = 4;
/// Words of a group: members further on, then back.
pub const G_MEMBERS: u32 = 20;
/// Word of a group: number of members.
pub const G_SIZE: u32 = GROUP_USED_BYTES;
/// Word of a group: own rank.
pub const G_RANK: u32 = G_SIZE + 4;
/// Word of a group: number of the operation that was posted last.
pub const G_POSTED: u32 = G_SIZE + 8;
/// Word of a group: whether that operation is under way.
pub const G_ACTIVE: u32 = G_SIZE + 12;
/// Word of a group: length of its blocks, and `DOUBLING`.
pub const G_BLOCK: u32 = G_SIZE + 16;
/// Word of a group: tick at which it asks for what is missing.
pub const G_DEADLINE: u32 = G_SIZE + 20;
/// Word of a group: tick at which the operation fails.
pub const G_FATAL: u32 = G_SIZE + 24;
/// Word of a group: control block of its port.
pub const G_PORT: u32 = G_SIZE + 28;
/// Word of a group: recursive doubling, the step whose bytes are sent next.
pub const G_STEP: u32 = G_SIZE + 32;
/// Word of a group: key of its process.
pub const G_KEY: u32 = G_SIZE + 36;
/// Words of a group, for each channel: operation that SEND counts; blocks that have come, or steps that are complete.
pub const G_COUNTS: u32 = G_SIZE + 40;

/// Words of a group, RECV, for each channel: the operation whose blocks come; the bits of blocks or the bytes of steps.
pub const G_RECEIVED: u32 = G_SIZE + 56;
/// Bytes of a channel's words there.
pub const RECEIVED_BYTES: u32 = 4 + 4 * LEVELS;

/// Word of a group: steps of recursive doubling.
pub const G_STEPS: u32 = G_RECEIVED + 2 * RECEIVED_BYTES;
/// Word of a group: the longest block that is combined in staging memory; 0 without that.
pub const G_STAGED_MOST: u32 = G_STEPS + 4;
/// Word of a group: the count of the posted operation when all has come.
pub const G_ALL: u32 = G_STEPS + 8;

const _: () = assert!(G_ALL + 4 <= GROUP_BYTES && GROUP_LIMIT == 32 * LEVELS);

/// The block of a port's group.
#[inline(always)]
pub const fn group(port: Port, number: u32) -> u32 {
    const { assert!(GROUP_COUNT == 2 && GROUP_BYTES == 1 << 9) }
    GROUPS + (port_number(port) << 10) + (number << 9)
}

/// The words of SEND of the channel of an operation.
#[inline(always)]
pub const fn counts(group: u32, operation: u32) -> u32 {
    group + G_COUNTS + ((operation & 1) << 3)
}

/// The words of RECV of the channel of an operation.
#[inline(always)]
pub const fn received(group: u32, operation: u32) -> u32 {
    group
        + G_RECEIVED
        + if operation & 1 == 0 {
            0
        } else {
            RECEIVED_BYTES
        }
}
