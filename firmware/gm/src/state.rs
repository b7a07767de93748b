//! Layout of the firmware's state in SRAM: words at constant addresses, records, and the states of its four machines.
//!
//! | machine | states | next state when |
//! |---------|--------|-----------------|
//! | SDMA, for each send buffer | [`FREE`], [`READING`], [`READY`] | a connection has a packet to send; its DMA is complete (at once if it has no payload) |
//! | SEND | idle, [`SENDING_BUFFER`], [`SENDING_ACK`] | an ack waits, or the next buffer is [`READY`]; the packet has left (the buffer is [`FREE`]) |
//! | RECV | a packet is looked at, or none is there | a packet has been received |
//! | RDMA, for each received packet | its DMA is under way | its last DMA is complete: its memory is released |
//!
//! Words of SEND's CPU and of RECV's lie apart: where there are two CPUs, none is written by both, but for the deadline of a get
//! ([`Record::fails_at`]), which RECV moves when its bytes come. [`PUBLISHED`](crate::PUBLISHED) are the words of one that the other one reads.
use defs::gm::atomic::{DIRECTS, GUARD_HIGH, GUARD_INTERESTED, GUARD_LOW, GUARD_TURN};
use defs::gm::map::{
    BUFFER_BYTES, BUFFER_HEADER, BUFFERS, COLLECTIVE_TICKS, COMMAND, FATAL_TICKS, NODE, NODES,
    PEER_ATOMICS, PEER_BYTES, PEER_ROUTE, PEERS, PORT_BYTES, PORTS, RESEND_TICKS, SESSION, STATE,
};
use defs::gm::packet::{
    WORD_CONNECTIONS, WORD_LENGTH, WORD_SENDER, WORD_SEQUENCE, WORD_TARGET, WORD_TYPE,
};
use defs::gm::port::{PORT_PROCESS, PORT_QUEUE_HIGH, PORT_QUEUE_LOW, PORT_SIGNALS, SEND_SLOTS};
use defs::{record, words};

use crate::places::Places;
use crate::slot::{ReceiveSlot, SendSlot};
use crate::{Gm, Nic};

record! {
    /// First and last item of a list.
    pub struct List {
        /// The first item; 0 if the list is empty.
        first, set_first: u32 = 0;
        /// The last item.
        last, set_last: u32 = 4;
    }
}

/// Buffers: send.
pub const SEND_BUFFERS: u32 = BUFFERS;
/// Exclusive or with a send buffer's address gives the other one.
pub const SEND_OTHER: u32 = SEND_BUFFERS ^ (SEND_BUFFERS + BUFFER_BYTES);
/// Buffer of an ack.
pub const ACK_BUFFER: u32 = BUFFERS + 4 * BUFFER_BYTES;
/// Buffers of reports: two groups of four, which are used in turn. A buffer holds 64 bytes at its end; the first word of a
/// group is its state.
pub const REPORT_BUFFERS: u32 =
    (BUFFERS + 5 * BUFFER_BYTES).next_multiple_of(2 * REPORT_GROUP_BYTES);
/// Bytes of a report buffer.
pub const REPORT_BYTES: u32 = 0x80;
/// Bytes of a group of report buffers.
pub const REPORT_GROUP_BYTES: u32 = 4 * REPORT_BYTES;
/// Cookie of the DMA that ends a command of the host.
pub const LAST_WRITE: u32 = REPORT_BUFFERS + 0x400;
/// Events of messages, if they cannot be stored behind a packet: eight, used in turn, as many as DMAs can be under way.
pub const EVENT_BUFFERS: u32 = REPORT_BUFFERS + 0x500;
/// Bytes of all event buffers.
pub const EVENT_BUFFERS_BYTES: u32 = 0x100;
/// Bytes of an event buffer.
pub const EVENT_BUFFER_BYTES: u32 = 0x20;
/// A bucket of the page table, fetched by SDMA.
pub const SEND_BUCKET: u32 = REPORT_BUFFERS + 0x600;
/// A bucket of the page table, fetched by RDMA.
pub const RECEIVE_BUCKET: u32 = REPORT_BUFFERS + 0x640;

const _: () = assert!(
    EVENT_BUFFERS.is_multiple_of(EVENT_BUFFERS_BYTES)
        && RECEIVE_BUCKET + 64 <= BUFFERS + 6 * BUFFER_BYTES
);

record! {
    /// Send buffer: room for a route, a packet, then these words.
    pub struct SendBuffer {
        /// State ([`FREE`], [`READING`], [`READY`]).
        state, set_state, STATE: u32 = BUFFER_BYTES - 0x20;
        /// First byte of the route.
        start, set_start: u32 = BUFFER_BYTES - 0x1C;
        /// End of the payload.
        end, set_end: u32 = BUFFER_BYTES - 0x18;
    }
}

impl SendBuffer {
    /// The other send buffer: the two are used in turn.
    #[inline(always)]
    pub const fn other(self) -> Self {
        Self::at(self.address() ^ SEND_OTHER)
    }

    /// Address of the packet's header, before which its route ends.
    #[inline(always)]
    pub const fn header(self) -> u32 {
        self.address() + BUFFER_HEADER
    }
}

record! {
    /// Header of a packet.
    pub struct Header {
        /// Type and subtype.
        kind, set_kind: u32 = WORD_TYPE;
        /// Target node.
        target, set_target: u32 = WORD_TARGET;
        /// Session and sequence number.
        sequence, set_sequence: u32 = WORD_SEQUENCE;
        /// Length and subports.
        lengths, set_lengths: u32 = WORD_LENGTH;
        /// Sending node.
        sender, set_sender: u32 = WORD_SENDER;
        /// Numbers of the connection at the target and at the sender.
        connections, set_connections: u32 = WORD_CONNECTIONS;
    }
}

record! {
    /// Another node: its two connections, then these words.
    pub struct Peer {
        /// Length of the route ([`ROUTE_LENGTH`]), and whether there is one.
        route, set_route: u32 = PEER_ROUTE;
        /// Unanswered atomic operations.
        atomics, set_atomics: u32 = PEER_ATOMICS;
    }
}

/// Bits of [`Peer::route`] that are the length of the route.
pub const ROUTE_LENGTH: u32 = 0x1F;

/// State of a buffer: it can be filled.
pub const FREE: u32 = 0;
/// State of a send buffer: its DMA is under way.
pub const READING: u32 = 1;
/// State of a send buffer: it can be sent, or is being sent.
pub const READY: u32 = 2;
/// State of a report buffer: its DMA is under way.
pub const WRITING: u32 = 3;

/// State of SEND: a send buffer leaves.
pub const SENDING_BUFFER: u32 = 1;
/// State of SEND: an ack leaves.
pub const SENDING_ACK: u32 = 2;
/// State of SEND: a packet leaves that is passed on.
pub const SENDING_PASS: u32 = 3;

words! {
    impl Gm<N: Nic>;
    /// Whether the host has started the protocol.
    started, set_started: u32 = STATE;
    /// State of SEND.
    sending, set_sending: u32 = STATE + 4;
    /// The send buffer that is filled next.
    fill_buffer, set_fill_buffer: SendBuffer = STATE + 8;
    /// The send buffer that is sent next.
    leave_buffer, set_leave_buffer: SendBuffer = STATE + 12;
    /// First connection with unacknowledged packets: its number and 1, or 0.
    first_active, set_first_active: u32 = STATE + 40;
    /// First free record of a send.
    free_records, set_free_records: Record = STATE + 44;
    /// The open port whose sends are looked at first; 0 if none is open.
    open_port, set_open_port, OPEN_PORT: PortBlock = STATE + 48;
    /// Ticks since the start.
    now, set_now, NOW: u32 = STATE + 52;
    /// Whether the timer runs.
    timer_runs, set_timer_runs: u32 = STATE + 56;
    /// Ports with an alarm, a bit for each.
    alarms, set_alarms: u32 = STATE + 60;
    /// First get whose bytes have not come; others follow by their links.
    gets, set_gets, GETS: Record = STATE + 64;
    /// Number of gets so far.
    get_count, set_get_count: u32 = STATE + 68;
    /// The own node, shifted into the last word of a header.
    own_bits, set_own_bits: u32 = STATE + 72;
    /// First atomic operation whose answer is awaited; others follow by their links.
    atomics, set_atomics, ATOMICS: Record = STATE + 84;
    /// RECV: whether the DMA of the word after an atomic operation was started since one was waited for.
    atomic_written, set_atomic_written: u32 = STATE + 192;
    /// RECV: ports with reports or notices to write, a bit for each.
    reports, set_reports: u32 = STATE + 96;
    /// RECV: the report buffer that is filled next.
    report_buffer, set_report_buffer: u32 = STATE + 100;
    /// RECV: first free record of an answer to a get.
    free_replies, set_free_replies: Record = STATE + 104;
    /// RECV: for what events interrupt the host: [`SLEEPERS`], [`WAKE_SIGNALS`].
    wakes, set_wakes: u32 = STATE + 108;
    /// RECV: the event buffer that is used next.
    next_event_buffer, set_next_event_buffer: u32 = STATE + 112;
    /// RECV: the open port whose receive tokens are looked at first, on a CPU of its own.
    receive_port, set_receive_port, RECEIVE_PORT: PortBlock = STATE + 116;
    /// RECV: number of connections whose acks are delayed.
    delayed_count, set_delayed_count: u32 = STATE + 128;
    /// Number of nodes.
    nodes, set_nodes: u32 = NODES;
    /// Own node.
    node, set_node: u32 = NODE;
    /// Session, which the host counts up with each start.
    session: u32 = SESSION;
    /// Ticks until an operation fails; 0 if the board has no memory for collective and atomic operations.
    collective_ticks: u32 = COLLECTIVE_TICKS;
    /// Ticks until packets are sent again.
    resend_ticks: u32 = RESEND_TICKS;
    /// Ticks until a send fails.
    fatal_ticks: u32 = FATAL_TICKS;
    /// Command of the driver; 0 if there is none.
    command_word, set_command_word: u32 = COMMAND;
}

impl<N: Nic> Gm<N> {
    /// Whether the board has memory for collective and atomic operations.
    #[inline(always)]
    pub(crate) fn has_operations(&self) -> bool {
        self.collective_ticks() != 0
    }
}

/// List of connections of low priority with packets to send.
pub const READY_LOW: List = List::at(STATE + 16);
/// List of connections of high priority with packets to send.
pub const READY_HIGH: List = List::at(STATE + 24);
/// The list of ready connections of a priority: 1 is high.
#[inline(always)]
pub const fn ready_list(priority: u32) -> List {
    const { assert!(READY_HIGH.address() == READY_LOW.address() + (1 << 3)) }
    List::at(READY_LOW.address() + (priority << 3))
}

/// List of connections with an ack to send, and of [`PROBE`](defs::gm::mapping::PROBE) and the packet that is passed on.
pub const ACKS: List = List::at(STATE + 32);
/// The job of RECV that is taken next.
pub const SENDER_JOB: u32 = STATE + 76;
/// The job for RECV that is written next.
pub const RECEIVER_JOB_IN: u32 = STATE + 80;

/// Ports whose processes sleep until their next event, a bit for each.
pub const SLEEPERS: u32 = 0xFF << SLEEPERS_SHIFT;
/// Position of port 0 in [`SLEEPERS`]. The word of a report buffer has the same bits above its state.
pub const SLEEPERS_SHIFT: u32 = 8;
/// A port has had signals since the start.
pub const WAKE_SIGNALS: u32 = 1;
/// RECV: the job of SEND that is taken next.
pub const RECEIVER_JOB: u32 = STATE + 120;
/// RECV: the job for SEND that is written next.
pub const SENDER_JOB_IN: u32 = STATE + 124;
/// RECV: connections whose acks are delayed, a word for each.
pub const DELAYED: u32 = STATE + 132;
/// Most connections whose acks are delayed; a further one is acknowledged at once.
pub const DELAYED_LIMIT: u32 = 15;
/// End of the firmware's own words.
pub const STATE_END: u32 = STATE + 196;

record! {
    /// Connection to a node, of one priority.
    pub struct Connection {
        /// Oldest unacknowledged record.
        first, set_first: Record = 0;
        /// Newest record.
        last, set_last: Record = 4;
        /// The record of the packet that is sent next; 0 if there is none.
        cursor, set_cursor: Record = 8;
        /// Session and sequence number of the packet that is sent next.
        send, set_send: u32 = 12;
        /// Number behind the last packet that was ever sent ([`ever_sent`]); below it that of the oldest unacknowledged one.
        window, set_window: u32 = 16;
        /// Flags of SEND (`F_*`); in the upper half the number of the next active connection, and 1.
        flags, set_flags: u32 = 20;
        /// Next one in `READY_LOW` or `READY_HIGH`.
        ready_next, set_ready_next, READY_NEXT: u32 = 24;
        /// Tick at which the unacknowledged packets are sent again.
        deadline, set_deadline: u32 = 28;
        /// Tick at which the oldest send fails.
        fails_at, set_fails_at: u32 = 32;
        /// Next one in `ACKS`.
        ack_next, set_ack_next, ACK_NEXT: u32 = 36;
        /// RECV: session and sequence number of the packet that is expected.
        expected, set_expected, EXPECTED: u32 = 40;
        /// RECV: flags (`F_*`); in the upper half the last number beyond a gap.
        receive, set_receive, RECEIVE: u32 = 44;
        /// RECV: the receive token of the message whose first packets have come; 0 if there is none.
        partial, set_partial: Token = 48;
        /// RECV: address of the token in [`partial`](Self::partial). A test of this number for 0 keeps the code of
        /// the images as it was; a test of the record orders their branches otherwise.
        partial_address: u32 = 48;
    }
}

/// Flag of SEND: in a list of ready connections.
pub const F_READY: u32 = 1;
/// Flag of SEND: in the list of acks.
pub const F_ACK: u32 = 2;
/// Flag of SEND: in the list of active connections.
pub const F_ACTIVE: u32 = 4;
/// Flag of SEND: waits before it sends again, since the target has no receive token.
pub const F_HELD: u32 = 8;
/// Flags of SEND: position of the number of times that the wait before packets are sent again has doubled.
pub const BACK_OFF_SHIFT: u32 = 4;
/// Flags of SEND: mask of the number of doubled waits, after the shift.
pub const BACK_OFF_MASK: u32 = 7;
/// Flags of SEND: position of the kind of the ack that waits.
pub const ANSWER_SHIFT: u32 = 7;
/// Flags of SEND: mask of the kind of the ack that waits, after the shift.
pub const ANSWER_MASK: u32 = 7;
/// Flags of SEND: position of the last bits of the number that the waiting ack refuses. RECV on another CPU may have gone on meanwhile: an
/// ack that refuses a packet that has come since would stop the sender.
pub const ANSWERED_SHIFT: u32 = 10;
/// Flags of SEND: mask of the refused number, after the shift.
pub const ANSWERED_MASK: u32 = 63;
/// Flags of SEND: position of the next active connection's number and 1.
pub const ACTIVE_SHIFT: u32 = 16;

/// Flag of RECV: a nack was sent since the last expected packet.
pub const F_NACKED: u32 = 1;
/// Flag of RECV: the session of the other node is known.
pub const F_OPEN: u32 = 2;
/// Flag of RECV: in the list of delayed acks.
pub const F_DELAYED: u32 = 4;
/// Flag of RECV, without [`F_OPEN`]: the packet with the expected number was refused. Its sender may know already, so nothing
/// but a packet that carries nothing is accepted with this number.
pub const F_REFUSED: u32 = 0x80;
/// Flag of RECV, without [`F_OPEN`]: the session is known, and nothing of it was accepted.
pub const F_NEW: u32 = 0x800;
/// Flag of RECV, with [`F_OPEN`]: the packet that is looked at is the first one of its session.
pub const F_FRESH: u32 = 0x1000;
/// Flag of RECV: in the list of acks that wait for packets of collective operations.
pub const F_SLOW: u32 = 0x2000;
/// Flags of RECV: the answer that refuses it.
pub const REFUSAL_SHIFT: u32 = 8;
/// Flags of RECV: mask of the answer that refuses, after the shift.
pub const REFUSAL_MASK: u32 = 7;
/// Flags of RECV: one packet since the last ack.
pub const OWED: u32 = 8;
/// Flags of RECV: mask of the number of packets since the last ack.
pub const OWED_MASK: u32 = 15 * OWED;

record! {
    /// Record of a send: of a message, of another request of a process, or of an answer.
    pub struct Record {
        /// Next one of the connection, of another list, or next free one.
        next, set_next, NEXT: Record = 0;
        /// Kind of the send (`K_*`), or the first word of the packet of a message that fits one.
        kind, set_kind, KIND: u32 = 4;
        /// Process's address, upper half.
        high, set_high, HIGH: u32 = 8;
        /// Process's address, lower half.
        low, set_low, LOW: u32 = 12;
        /// Length in bytes; of an atomic operation its index among those of its port, above what it does.
        length, set_length, LENGTH: u32 = 16;
        /// Place of the next packet in the message; of an atomic operation whose answer is awaited the tick at which that is asked for again.
        sent, set_sent, SENT: u32 = 20;
        /// Place of the oldest unacknowledged packet.
        acked, set_acked, ACKED: u32 = 24;
        /// Subports, as in a header.
        ports, set_ports, PORTS: u32 = 28;
        /// The port's control block and the send token, for the report; 0 if it is reported already.
        token, set_token, TOKEN: u32 = 32;
        /// Key of the process in the page table; port of a collective or atomic operation, of the latter 0 if the port is closed.
        key, set_key, KEY: u32 = 36;
        /// Address at the target, upper half; tag of the value of a collective operation.
        remote_high, set_remote_high, REMOTE_HIGH: u32 = 40;
        /// Address at the target, lower half.
        remote_low, set_remote_low, REMOTE_LOW: u32 = 44;
        /// Connection of a put, a get, or a send that waits.
        connection, set_connection, CONNECTION: Connection = 48;
        /// Status of an answer to a get that failed; else 0.
        failed, set_failed: u32 = 48;
        /// Number of a get or an atomic operation, as its packets have it; subtype of the packet of a collective operation.
        number, set_number, NUMBER: u32 = 52;
        /// Tick at which a get fails; compared value of an atomic operation.
        fails_at, set_fails_at, FAILS_AT: u32 = 56;
        /// Bytes that a get asks for; operand of an atomic operation.
        asked, set_asked, ASKED: u32 = 60;
    }
}

impl Record {
    /// Operand of an atomic operation.
    pub const OPERAND: u32 = Self::ASKED;
    /// Compared value of an atomic operation.
    pub const COMPARED: u32 = Self::FAILS_AT;
}

/// Kinds of records (`K_*`) are below. A larger kind is the first word of the packet of a message that fits one.
const KINDS: u32 = 16;

/// Whether the record of a kind is no message.
#[inline(always)]
pub const fn is_other(kind: u32) -> bool {
    kind < KINDS
}

/// Kind of a record: carries nothing but sequence numbers.
pub const K_NULL: u32 = 1;
/// Kind of a record: a put.
pub const K_PUT: u32 = 2;
/// Kind of a record: a get that is not acknowledged yet.
pub const K_GET: u32 = 3;
/// Kind of a record: the answer to a get.
pub const K_REPLY: u32 = 4;
/// Kind of a record: a get whose bytes come.
pub const K_WAITING: u32 = 5;
/// Kind of a record: an atomic operation. Its process's port is in place of a key, 0 if it is closed; the length has the index of
/// the operation among those of that port and what it does; the compared value is in place of the tick of a get.
pub const K_ATOMIC: u32 = 7;

record! {
    /// Receive token.
    pub struct Token {
        /// Next one of its list, or next free one; of a message that comes in its bytes so far.
        next, set_next, NEXT: Token = 0;
        /// Bytes of the message that have come, once it has begun.
        bytes, set_bytes: u32 = 0;
        /// Address in the process's memory, upper half.
        high, set_high: u32 = 4;
        /// Address in the process's memory, lower half.
        low, set_low: u32 = 8;
        /// Size, tag.
        tag, set_tag: u32 = 12;
    }
}

record! {
    /// Control block of a port.
    pub struct PortBlock {
        /// Host address of the receive queue, upper half; written by the host.
        queue_high: u32 = PORT_QUEUE_HIGH;
        /// Host address of the receive queue, lower half; written by the host.
        queue_low: u32 = PORT_QUEUE_LOW;
        /// Number of the process that the port belongs to; written by the host.
        process: u32 = PORT_PROCESS;
        /// Not 0 while messages of high priority for the port interrupt the host; written by the process.
        signals: u32 = PORT_SIGNALS;
        /// Whether the port is open, for SEND.
        is_open, set_open, OPEN: bool = 0x10;
        /// Next open port, in a circle.
        next, set_next, NEXT: PortBlock = 0x14;
        /// Next send slot.
        send_slot, set_send_slot, SEND_SLOT: SendSlot = 0x18;
        /// Sends under way, and [`P_STOPPED`].
        sends, set_sends, SENDS: u32 = 0x1C;
        /// Number of stopped streams.
        stream_count, set_stream_count, STREAM_COUNT: u32 = 0x20;
        /// Sends that wait in stopped streams.
        waiting => List = PortBlock::WAITING;
        /// Tick of the alarm.
        alarm, set_alarm_tick: u32 = 0x2C;
        /// Key of the process, for SEND.
        key, set_key, KEY: u32 = 0x30;
        /// Atomic operations under way, a bit for each.
        atomics, set_atomics, ATOMICS: u32 = 0x34;
        /// Stopped streams: node and subport.
        [stream, set_stream]: u32 = 0x80;
        /// RECV: whether the port is open.
        receives, set_receives, RECEIVES: bool = 0x100;
        /// RECV: next open port, in a circle, on a CPU of its own.
        receive_next, set_receive_next, RECEIVE_NEXT: PortBlock = 0x104;
        /// RECV: next entry of the queue of receive tokens.
        token_slot, set_token_slot, TOKEN_SLOT: ReceiveSlot = 0x108;
        /// RECV: first free record of a receive token.
        free_token, set_free_token, FREE_TOKEN: Token = 0x10C;
        /// RECV: the slot of the receive queue that is written next, lower half of its host address.
        event, set_event, EVENT: u32 = 0x110;
        /// RECV: place in the ring of reports that is written next, in bytes.
        report_in, set_report_in, REPORT_IN: u32 = 0x114;
        /// RECV: place in the ring of reports that is sent next, in bytes.
        report_out, set_report_out, REPORT_OUT: u32 = 0x118;
        /// RECV: sizes that the port accepts, of low and of high priority.
        [accept, set_accept]: u32 = PortBlock::ACCEPT;
        /// RECV: whether other nodes may use the process's memory.
        allow, set_allow, ALLOW: u32 = 0x124;
        /// RECV: notices to write, a bit for each of `NOTICES`.
        notices, set_notices, ALL_NOTICES: u32 = 0x128;
        /// RECV: addresses of the notices.
        notice[3] => NoticeAddress = 0x130;
        /// RECV: key of the process.
        receive_key, set_receive_key, RECEIVE_KEY: u32 = 0x160;
        /// RECV: whether the host wants to use words that others change by atomic operations; written by the host.
        guard_interested: u32 = GUARD_INTERESTED;
        /// RECV: who wanted to use such words last.
        guard_turn, set_guard_turn: u32 = GUARD_TURN;
        /// RECV: address of the word that says that the board wants to use such words, upper half; written by the host.
        guard_high: u32 = GUARD_HIGH;
        /// RECV: address of that word, lower half; written by the host.
        guard_low: u32 = GUARD_LOW;
        /// RECV: lists of receive tokens, for each priority and size.
        tokens[3] => List = PortBlock::LISTS;
        /// RECV: results of atomic operations that are written directly.
        direct[4] => DirectResult = DIRECTS;
    }
}

impl PortBlock {
    /// Offset of the list of sends that wait.
    pub const WAITING: u32 = 0x24;
    /// Offset of the sizes that are accepted.
    pub const ACCEPT: u32 = 0x11C;
    /// Offset of the lists of receive tokens.
    pub const LISTS: u32 = 0x200;
    /// Offset of the ring of reports: a word for each, status below the slot.
    pub const RING: u32 = 0x400;
}

record! {
    /// Address that a notice tells of.
    pub struct NoticeAddress {
        /// Upper half.
        high, set_high: u32 = 0;
        /// Lower half.
        low, set_low: u32 = 4;
    }
}

record! {
    /// Result of an atomic operation that goes where its process wants it.
    pub struct DirectResult {
        /// Address in the process's memory, upper half.
        high, set_high, HIGH: u32 = 0;
        /// Address in the process's memory, lower half; 0 if the result goes into an event.
        low, set_low, LOW: u32 = 4;
        /// The word before the operation.
        value, set_value, VALUE: u32 = 8;
        /// The operation's status, and that it is done.
        done, set_done: u32 = 12;
    }
}

/// The subport at the target, from the word of lengths and subports of a header or a record.
#[inline(always)]
pub const fn target_subport(lengths: u32) -> u32 {
    lengths >> 8 & 0xFF
}

/// Bit of [`PortBlock::sends`]: streams of the port are stopped.
pub const P_STOPPED: u32 = 0x100;
/// Mask of places in the ring of reports.
pub const RING_MASK: u32 = 0x1FF;

/// The sequence word behind `word`: the session in the upper half stays.
#[inline(always)]
pub const fn next_sequence(word: u32) -> u32 {
    word & 0xFFFF_0000 | word.wrapping_add(1) & 0xFFFF
}

/// Packets from one sequence number up to another one. What is above the 16 bits of a number does not count.
#[inline(always)]
pub const fn packets_between(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from) & 0xFFFF
}

/// The sequence number behind the last packet that was ever sent, from a [`Connection::window`].
#[inline(always)]
pub const fn ever_sent(window: u32) -> u32 {
    window >> 16
}

/// Added to a [`Connection::window`]: one more packet was sent for the first time.
pub const EVER_SENT_ONE: u32 = 1 << 16;

/// The control block of the port with a number.
#[inline(always)]
pub const fn port_block(number: u32) -> PortBlock {
    PortBlock::at(PORTS + (number << 11))
}

/// Bits of a send token's word that are the number of the token. The port's control block is above them.
pub const TOKEN_NUMBER: u32 = SEND_SLOTS - 1;

/// The port of a send token's word.
#[inline(always)]
pub const fn token_port(token: u32) -> PortBlock {
    PortBlock::at(token & !(PORT_BYTES - 1))
}

/// The bit among [`SLEEPERS`] of the port with a number.
#[inline(always)]
pub const fn sleeper(port: u32) -> u32 {
    1 << (SLEEPERS_SHIFT + port)
}

/// The number of the port with a control block.
#[inline(always)]
pub const fn port_number(port: PortBlock) -> u32 {
    (port.address() - PORTS) >> 11
}

/// Address of a peer.
#[inline(always)]
pub const fn peer<N: Nic>(node: u32) -> u32 {
    N::PEERS + node * PEER_BYTES
}

/// The connection with a number.
#[inline(always)]
pub const fn connection<N: Nic>(number: u32) -> Connection {
    Connection::at(N::PEERS + (number << 6))
}

/// The number of a connection.
#[inline(always)]
pub const fn connection_number<N: Nic>(connection: Connection) -> u32 {
    (connection.address() - N::PEERS) >> 6
}

const _: () = assert!(PORT_BYTES == 1 << 11 && TOKEN_NUMBER < PORT_BYTES);
const _: () = assert!(defs::gm::map::CONNECTION_BYTES == 1 << 6);
const _: () = assert!(PEER_BYTES == 1 << 7 && PEERS.is_multiple_of(1 << 7));
