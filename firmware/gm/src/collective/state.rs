//! Places of the words of collective operations.
//!
//! All of them are SEND's but the results that wait for their events, which are RECV's, and [`TAKEN`].

use defs::gm::collective::{
    BLOCK_BYTES, BLOCKS, DESCRIPTOR_BYTES, DESCRIPTOR_COUNT, LIST_BYTES, LISTS, NOTE_BYTES, NOTES,
};

use defs::gm::atomic::{ATOMIC_COUNT, ATOMIC_OPERATIONS};

use crate::state::{STATE_END, port_number};

/// RECV: packets with operations that it has taken so far.
pub const TAKEN: u32 = STATE_END;
/// Those of them that are used.
pub const USED: u32 = STATE_END + 4;
/// First free record of a packet.
pub const FREE_PACKET: u32 = STATE_END + 8;
/// First free buffer of a value.
pub const FREE_VALUE: u32 = STATE_END + 12;
/// Buffers with values of ports of the own board.
pub const LOCAL_USED: u32 = STATE_END + 16;
/// Ports with operations under way, a bit for each.
pub const ACTIVE_PORTS: u32 = STATE_END + 20;
/// Ports whose packets wait for a record, a bit for each.
pub const WAITING_PORTS: u32 = STATE_END + 24;
/// Packets from ports of the own board: the next one to take.
pub const LOCAL_OUT: u32 = STATE_END + 28;
/// The same, the next one to write.
pub const LOCAL_IN: u32 = STATE_END + 32;
/// Number of acknowledgments that packets of barriers brought and that are looked at when nothing else is to do.
pub const ACKED_COUNT: u32 = STATE_END + 36;
/// Bit of that word: a record is free again, and ports wait for one.
pub const RECORD_FREED: u32 = 1 << 31;
/// These: connection, sequence number.
pub const ACKED: u32 = STATE_END + 40;
/// Most of these; a further one is looked at at once.
pub const ACKED_LIMIT: u32 = 16;
/// Number of connections whose acks wait for packets of operations.
pub const SLOW_COUNT: u32 = ACKED + 8 * ACKED_LIMIT;
/// Tick at which they are sent by themselves.
pub const SLOW_DEADLINE: u32 = SLOW_COUNT + 4;
/// These connections.
pub const SLOW: u32 = SLOW_COUNT + 8;
/// Most of these; a further one is acknowledged like others.
pub const SLOW_LIMIT: u32 = 32;
/// End of these words.
pub const COLLECTIVE_STATE_END: u32 = SLOW + 4 * SLOW_LIMIT;

/// Word of a block: what its barrier does.
pub const B_STATE: u32 = DESCRIPTOR_COUNT * DESCRIPTOR_BYTES;
/// Word of a block: the entry of the list that comes next.
pub const B_INDEX: u32 = B_STATE + 4;
/// Word of a block: number of entries.
pub const B_COUNT: u32 = B_STATE + 8;
/// Word of a block: children whose packets have not come.
pub const B_LEFT: u32 = B_STATE + 12;
/// Word of a block: tick at which the barrier fails.
pub const B_DEADLINE: u32 = B_STATE + 16;
/// Word of a block: the packet of the step has been sent.
pub const B_SENT: u32 = B_STATE + 20;
/// Word of a block: the endpoint whose packet an exchange awaits, and 1; else 0.
pub const B_AWAITED: u32 = B_STATE + 60;
/// Word of a block: the list of its barrier.
pub const B_LIST: u32 = B_STATE + 64;
/// Word of a block: 1 if the first entry is the parent.
pub const B_PARENT: u32 = B_STATE + 24;
/// Word of a block: the host knows that the barrier is complete; packets are still to be sent.
pub const B_TOLD: u32 = B_STATE + 28;
/// Word of a block: the slot's word of the barrier that follows.
pub const B_POSTED: u32 = B_STATE + 32;
/// Word of a block: opening of the port.
pub const X_OPENING: u32 = B_STATE + 36;
/// Word of a block: the status that ended an operation of the port, and 1; further ones end with it too. Else 0.
pub const X_BROKEN: u32 = B_STATE + 40;
/// Word of a block: the node whose early packets are looked at next, after the port has been opened.
pub const X_SCAN: u32 = B_STATE + 44;
/// Word of a block: reductions under way, a bit for each.
pub const X_INSTANCES: u32 = B_STATE + 48;
/// Words of a block: values that wait, first and last.
pub const X_VALUES: u32 = B_STATE + 52;

/// State of a barrier: none is under way.
pub const NONE: u32 = 0;
/// State of a barrier: steps of an exchange.
pub const EXCHANGING: u32 = 1;
/// State of a barrier: packets of children are awaited.
pub const GATHERING: u32 = 2;
/// State of a barrier: the packet to the parent waits for a record.
pub const GATHERED: u32 = 3;
/// State of a barrier: the packet of the parent is awaited.
pub const AWAITING: u32 = 4;
/// State of a barrier: packets to children are being sent.
pub const RELEASING: u32 = 5;

/// Reductions of a block.
pub const INSTANCES: u32 = B_STATE + 0x60;

const _: () = assert!(B_LIST + 4 <= INSTANCES);
/// Bytes of one.
pub const INSTANCE_BYTES: u32 = 32;
/// Word of a reduction: what it does.
pub const I_STATE: u32 = 0;
/// Word of a reduction: children whose values have come, a bit for each; then the child that gets the result next.
pub const I_CHILDREN: u32 = 4;
/// Word of a reduction: tick at which it fails.
pub const I_DEADLINE: u32 = 8;
/// Word of a reduction: its tag.
pub const I_TAG: u32 = 12;
/// Word of a reduction: number of children, flags, operation.
pub const I_KIND: u32 = 16;
/// Word of a reduction: the value so far, upper half.
pub const I_HIGH: u32 = 20;
/// The same, lower half.
pub const I_LOW: u32 = 24;

/// State of a reduction: values of children are awaited.
pub const COLLECTING: u32 = 1;
/// State of a reduction: its value is to be sent to the parent.
pub const COLLECTED: u32 = 2;
/// State of a reduction: the result is awaited.
pub const AWAITING_RESULT: u32 = 3;
/// State of a reduction: the result is being sent to the children.
pub const SPREADING: u32 = 4;

/// RECV: words of a block with results for events: status, value. The barrier's, those of reductions, those of groups.
pub const RESULTS: u32 = INSTANCES + DESCRIPTOR_COUNT * INSTANCE_BYTES;
/// Bytes of one.
const RESULT_BYTES: u32 = 16;

/// The words of a result of a port: 0 is the barrier's, then those of reductions, of groups and of atomic operations.
#[inline(always)]
pub const fn result_words(port: u32, operation: u32) -> u32 {
    block(port) + RESULTS + (operation << 4)
}

const _: () = assert!(RESULTS + (ATOMIC_OPERATIONS + ATOMIC_COUNT) * RESULT_BYTES <= BLOCK_BYTES);
const _: () = assert!(COLLECTIVE_STATE_END <= defs::gm::mapping::MAPPING);

/// Word of a value's buffer: next one of its port, or next free one.
pub const V_NEXT: u32 = 0;
/// Word of a value's buffer: where it comes from.
pub const V_ORIGIN: u32 = 4;
/// Word of a value's buffer: its tag.
pub const V_TAG: u32 = 8;
/// Word of a value's buffer: the value, upper half.
pub const V_HIGH: u32 = 12;
/// The same, lower half.
pub const V_LOW: u32 = 16;
/// Word of a value's buffer: it came while the port was closed.
pub const V_CLOSED: u32 = 20;

/// Byte of the notes: the port waits for a packet of the endpoint.
pub const AWAITED: u32 = 0x80;
/// Added to a byte of the notes: the packet came before the port was opened.
pub const EARLIER: u32 = 0x40;

/// The control block of a port's operations, from its port's.
#[inline(always)]
pub const fn block(port: u32) -> u32 {
    BLOCKS + (port_number(port) << 11)
}

/// The first or second list of endpoints of a port.
#[inline(always)]
pub const fn list(port: u32, second: u32) -> u32 {
    LISTS + (port_number(port) << 13) + (second << 12)
}

const _: () = assert!(BLOCK_BYTES == 1 << 11 && LIST_BYTES == 1 << 12 && NOTE_BYTES == 1 << 6);

/// The word with the byte of the notes of an endpoint, and the byte's position.
#[inline(always)]
pub const fn note(node: u32, local: u32, remote: u32) -> (u32, u32) {
    (
        NOTES + (node << 6) + (local << 3) + (remote & 4),
        (remote & 3) << 3,
    )
}
