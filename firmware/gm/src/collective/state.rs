//! Layout of the state of collective operations in SRAM.
//!
//! All of them are SEND's but the results that wait for their events, which are RECV's, and the count of packets that it has taken.
use defs::gm::atomic::{ATOMIC_COUNT, ATOMIC_OPERATIONS};
use defs::gm::collective::{
    ACKED_BYTES, BLOCK_BYTES, BLOCKS, DESCRIPTOR_BYTES, DESCRIPTOR_CHILDREN, DESCRIPTOR_COUNT,
    DESCRIPTOR_KIND, DESCRIPTOR_PARENT, DESCRIPTOR_TAG, DESCRIPTOR_VALUE, NOTE_BYTES,
};
use defs::{record, words};

use crate::places::Places;
use crate::state::{Connection, List, PortBlock, Record, STATE_END, port_number};
use crate::{Gm, Nic};

words! {
    impl Gm<N: Nic>;
    /// RECV: packets with operations that it has taken so far.
    taken, set_taken, TAKEN: u32 = STATE_END;
    /// Packets with operations that have been used so far.
    used_packets, set_used_packets, USED_PACKETS: u32 = STATE_END + 4;
    /// First free record of a packet.
    free_packets, set_free_packets: Record = STATE_END + 8;
    /// First free buffer of a value.
    free_values, set_free_values: ValueBuffer = STATE_END + 12;
    /// Buffers with values of ports of the own board.
    local_values, set_local_values: u32 = STATE_END + 16;
    /// Ports with operations under way, a bit for each.
    active_ports, set_active_ports: u32 = STATE_END + 20;
    /// Ports whose packets wait for a record, a bit for each.
    waiting_ports, set_waiting_ports: u32 = STATE_END + 24;
    /// The packet from a port of the own board that is taken next.
    local_out, set_local_out: u32 = STATE_END + 28;
    /// Place of the packet from a port of the own board that is written next.
    local_in, set_local_in: u32 = STATE_END + 32;
    /// Number of acknowledgments that packets of barriers brought and that are looked at when nothing else is to do.
    acked_count, set_acked_count: u32 = STATE_END + 36;
    /// First of the records that have become free since a port waits for one: the ports that wait get them before others do.
    kept_records, set_kept_records: Record = STATE_END + 40;
    /// Number of connections whose acks wait for packets of operations.
    slow_count, set_slow_count, SLOW_COUNT: u32 = ACKED + 8 * ACKED_LIMIT;
    /// Tick at which the acks that wait for packets of operations are sent by themselves.
    slow_deadline, set_slow_deadline: u32 = SLOW_COUNT + 4;
}

/// Bit of the number of acknowledgments: a record is free again, and ports wait for one.
pub const RECORD_FREED: u32 = 1 << 31;
/// Bit of the number of acknowledgments, where SEND's half is lent: they are to be looked at.
pub const ACKED_DUE: u32 = 1 << 30;
/// Acknowledgments that packets of barriers brought: connection, sequence number.
pub const ACKED: u32 = STATE_END + 44;
/// Most acknowledgments in [`ACKED`]; a further one is looked at at once.
pub const ACKED_LIMIT: u32 = 16;
/// Connections whose acks wait for packets of operations, a word for each.
pub const SLOW: u32 = SLOW_COUNT + 8;
/// Most connections whose acks wait for packets of operations; a further one is acknowledged like others.
pub const SLOW_LIMIT: u32 = 32;
/// End of the single words of collective operations.
pub const COLLECTIVE_STATE_END: u32 = SLOW + 4 * SLOW_LIMIT;

/// Offset of the words of a barrier in a block: they follow the descriptors.
const OWN: u32 = DESCRIPTOR_COUNT * DESCRIPTOR_BYTES;
/// Offset of the reductions in a block.
const REDUCTIONS: u32 = OWN + 0x60;
/// Offset of the results in a block.
const RESULTS: u32 = REDUCTIONS + DESCRIPTOR_COUNT * REDUCTION_BYTES;
/// Bytes of a [`Reduction`].
const REDUCTION_BYTES: u32 = 32;
/// Bytes of a [`Outcome`].
const OUTCOME_BYTES: u32 = 16;

record! {
    /// Control block of a port's operations.
    pub struct Block {
        /// Descriptors of reductions, written by the host.
        descriptor[6] => Descriptor = 0;
        /// State of the barrier ([`NONE`] to [`RELEASING`]).
        barrier, set_barrier, BARRIER: u32 = OWN;
        /// The entry of the barrier's list that comes next.
        index, set_index: u32 = OWN + 4;
        /// Number of entries in the barrier's list.
        count, set_count: u32 = OWN + 8;
        /// Children whose packets have not come.
        left, set_left: u32 = OWN + 12;
        /// Tick at which the barrier fails.
        deadline, set_deadline: u32 = OWN + 16;
        /// 1 once the packet of an exchange's step has been sent, if it sends one; 0 before.
        sent, set_sent: u32 = OWN + 20;
        /// 1 if the first entry of the list is the parent.
        parent, set_parent: u32 = OWN + 24;
        /// Whether the host knows that the barrier is complete; packets are still to be sent.
        is_told, set_told: bool = OWN + 28;
        /// Last word of the send slot of the barrier that follows; 0 if none does.
        posted, set_posted, POSTED: u32 = OWN + 32;
        /// Opening of the port.
        opening, set_opening, OPENING: u32 = OWN + 36;
        /// The status that ended an operation of the port, and 1; further ones end with it too. Else 0.
        broken, set_broken, BROKEN: u32 = OWN + 40;
        /// The node whose early packets are looked at next, after the port has been opened.
        scan, set_scan, SCAN: u32 = OWN + 44;
        /// Reductions under way, a bit for each.
        reductions, set_reductions, REDUCTIONS: u32 = OWN + 48;
        /// Values that wait for their reduction.
        values => List = OWN + 52;
        /// The first of these values.
        first_value, set_first_value: ValueBuffer = OWN + 52;
        /// The endpoint whose packet an exchange awaits ([`awaits`]); else 0.
        awaited, set_awaited, AWAITED: u32 = OWN + 60;
        /// The list of the barrier.
        list, set_list: PeerList = OWN + 64;
        /// Reductions.
        reduction[5] => Reduction = REDUCTIONS;
        /// RECV: results for events: the barrier's, then those of reductions, of groups and of atomic operations.
        outcome[4] => Outcome = RESULTS;
    }
}

const _: () = assert!(OWN + 64 + 4 <= REDUCTIONS);
const _: () =
    assert!(DESCRIPTOR_BYTES == 1 << 6 && REDUCTION_BYTES == 1 << 5 && OUTCOME_BYTES == 1 << 4);

impl Block {
    /// The words of the barrier and those that the port's operations share.
    pub const fn own_words(self) -> (u32, u32) {
        (self.address() + OWN, self.address() + REDUCTIONS)
    }
}

record! {
    /// Descriptor of a reduction, written by the host.
    pub struct Descriptor {
        /// The process's own value, upper half.
        high: u32 = DESCRIPTOR_VALUE;
        /// The process's own value, lower half.
        low: u32 = DESCRIPTOR_VALUE + 4;
        /// Tag that all processes of the reduction use.
        tag: u32 = DESCRIPTOR_TAG;
        /// Number of children, flags, operation.
        kind: u32 = DESCRIPTOR_KIND;
        /// Endpoint of the parent.
        parent: u32 = DESCRIPTOR_PARENT;
        /// Endpoints of the children.
        [child]: u32 = DESCRIPTOR_CHILDREN;
    }
}

record! {
    /// Endpoints that an operation uses, one after another.
    pub struct PeerList {
        /// An endpoint, and what an exchange does with it.
        [entry]: u32 = 0;
    }
}

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

record! {
    /// Reduction of a port.
    pub struct Reduction {
        /// State ([`COLLECTING`] to [`SPREADING`]); 0 if it is not under way.
        state, set_state, STATE: u32 = 0;
        /// Children whose values have come, a bit for each; then the child that gets the result next.
        children, set_children, CHILDREN: u32 = 4;
        /// Tick at which it fails.
        deadline, set_deadline, DEADLINE: u32 = 8;
        /// Tag of its values.
        tag, set_tag, TAG: u32 = 12;
        /// Number of children, flags, operation.
        kind, set_kind, KIND: u32 = 16;
        /// The value so far, upper half.
        high, set_high, HIGH: u32 = 20;
        /// The value so far, lower half.
        low, set_low, LOW: u32 = 24;
    }
}

/// State of a reduction: values of children are awaited.
pub const COLLECTING: u32 = 1;
/// State of a reduction: its value is to be sent to the parent.
pub const COLLECTED: u32 = 2;
/// State of a reduction: the result is awaited.
pub const AWAITING_RESULT: u32 = 3;
/// State of a reduction: the result is being sent to the children.
pub const SPREADING: u32 = 4;
/// State of a reduction: it waits until the host has computed for another one.
pub const HOST_AWAITED: u32 = 5;
/// State of a reduction: the host computes.
pub const AT_HOST: u32 = 6;

record! {
    /// Result of an operation, until its event is written.
    pub struct Outcome {
        /// Status.
        status, set_status: u32 = 0;
        /// Value, upper half.
        high, set_high: u32 = 4;
        /// Value, lower half.
        low, set_low: u32 = 8;
    }
}

/// The end of an operation: its number among those of its port, above its status.
#[inline(always)]
pub const fn end_word(operation: u32, status: u32) -> u32 {
    operation << 8 | status
}

/// The operation of an [`end_word`].
#[inline(always)]
pub const fn ended_operation(end: u32) -> u32 {
    end >> 8
}

/// The status of an [`end_word`].
#[inline(always)]
pub const fn ended_status(end: u32) -> u32 {
    end & 0xFF
}

const _: () = assert!(RESULTS + (ATOMIC_OPERATIONS + ATOMIC_COUNT) * OUTCOME_BYTES <= BLOCK_BYTES);
const _: () = assert!(COLLECTIVE_STATE_END <= defs::gm::mapping::MAPPING);

record! {
    /// Value that came before its reduction.
    pub struct ValueBuffer {
        /// Next one of its port, or next free one.
        next, set_next, NEXT: ValueBuffer = 0;
        /// Origin of the value ([`origin`](super::origin)).
        origin, set_origin, ORIGIN: u32 = 4;
        /// Tag of its reduction.
        tag, set_tag, TAG: u32 = 8;
        /// The value, upper half.
        high, set_high, HIGH: u32 = 12;
        /// The value, lower half.
        low, set_low, LOW: u32 = 16;
        /// Whether it came while the port was closed.
        is_closed, set_closed, CLOSED: bool = 20;
    }
}

record! {
    /// Packet from a port of the own board to another one of it.
    pub struct LocalPacket {
        /// Origin of the packet ([`origin`](super::origin)).
        origin, set_origin: u32 = 0;
        /// Tag of its value.
        tag, set_tag: u32 = 4;
        /// The value, upper half.
        high, set_high: u32 = 8;
        /// The value, lower half.
        low, set_low: u32 = 12;
    }
}

record! {
    /// Payload of a packet of an operation.
    pub struct Payload {
        /// Sequence number that an ack would have.
        acked, set_acked: u32 = 0;
        /// Tag of the value.
        tag, set_tag: u32 = ACKED_BYTES;
        /// The value, upper half.
        high, set_high: u32 = ACKED_BYTES + 4;
        /// The value, lower half.
        low, set_low: u32 = ACKED_BYTES + 8;
    }
}

record! {
    /// Acknowledgment that a packet of a barrier brought.
    pub struct Acked {
        /// Connection that it is for.
        connection, set_connection: Connection = 0;
        /// Sequence number.
        sequence, set_sequence: u32 = 4;
    }
}

/// Byte of the notes: the port waits for a packet of the endpoint.
pub const AWAITED: u32 = 0x80;
/// Added to a byte of the notes: the packet came before the port was opened.
pub const EARLIER: u32 = 0x40;

/// The control block of a port's operations, from its port's.
#[inline(always)]
pub const fn block(port: PortBlock) -> Block {
    Block::at(BLOCKS + (port_number(port) << 11))
}

/// The endpoint of an entry of a list: the flags of its step are below.
#[inline(always)]
pub const fn entry_endpoint(entry: u32) -> u32 {
    entry & !0xFF
}

/// [`Block::awaited`] while an exchange awaits a packet of an endpoint: never 0.
#[inline(always)]
pub const fn awaits(endpoint: u32) -> u32 {
    endpoint | 1
}

/// The first or second list of endpoints of a port.
#[inline(always)]
pub const fn list<N: Nic>(port: PortBlock, second: u32) -> PeerList {
    PeerList::at(N::LISTS + (port_number(port) << N::PORT_LISTS_BITS) + (second << N::LIST_BITS))
}

const _: () = assert!(BLOCK_BYTES == 1 << 11 && NOTE_BYTES == 1 << 6);

/// The word with the byte of the notes of an endpoint, and the byte's position.
#[inline(always)]
pub const fn note<N: Nic>(node: u32, local: u32, remote: u32) -> (u32, u32) {
    (
        N::NOTES + (node << 6) + (local << 3) + (remote & 4),
        (remote & 3) << 3,
    )
}
