//! Atomic operations on words of other nodes' memory.
//!
//! An operation is asked for by a packet of the connection, sent again until it is acknowledged. The target reads the word, writes it
//! and answers; the answer is an ack too. An answer that is lost is asked for again, with the operation's number: the target keeps the
//! answers and never executes an operation twice.
//!
//! The record of an operation, in which its sender keeps what is unfinished, moves with its state:
//!
//! | state | place of the record |
//! |-------|---------------------|
//! | the packet is not acknowledged | the connection |
//! | the answer is awaited | `ATOMICS`; from there it goes back into the connection after a time |
//! | the word is of an own process | none: RECV has its address and gives it back |
//!
//! SEND posts operations and takes answers. RECV executes: it reads and writes host memory, and SEND only reads it. A function `hand_...`
//! passes something to the other half, which goes on in `take_...`, `queue_...` or `own_atomic`.
use defs::gm::atomic::{
    ASK, ASK_BYTES, ATOMIC_COUNT, ATOMIC_OPERATIONS, Atomic, SEND_COMPARED, SEND_DIRECT_HIGH,
    SEND_DIRECT_LOW, SEND_OPERAND, UNANSWERED, VALUE, VALUE_BYTES, WORDS,
};
use defs::gm::event::Status;
use defs::gm::map::{BUFFER_HEADER, Counter, ROUTE_VALID};
use defs::gm::packet::{ACK, HEADER_BYTES, first_word};
use defs::gm::port::{PORT_COUNT, SEND_REMOTE_HIGH, SEND_REMOTE_LOW};
use defs::record;
use defs::record::Memory;

use crate::collective::{Value, end_word};
use crate::nic::Event;
use crate::places::Places;
use crate::receive::Packet;
use crate::remote::Plan;
use crate::report::lowest;
use crate::slot::{SendSlot, slot_node, slot_subport};
use crate::state::{
    ACK_BUFFER, ATOMICS, Connection, DirectResult, K_ATOMIC, Peer, PortBlock, Record, SENDING_ACK,
    connection, connection_number, peer, port_block, port_number, target_subport,
};
use crate::timer::is_reached;
use crate::{Gm, Nic, answer};

/// Position, in a peer's word, of the count of operations so far. Below it is a bit for each place that is taken.
const COUNT_SHIFT: u32 = 8;
/// Bits of that count. With the place it fills the lower half of an operation's number; the session is in the upper half.
const COUNT_MASK: u32 = 0x3FFF;
/// Bits of a number that are the operation's place among the unanswered ones of its target; the count is above them.
const PLACE_BITS: u32 = 2;

const _: () = assert!(UNANSWERED == 1 << PLACE_BITS && COUNT_MASK << PLACE_BITS <= 0xFFFF);

/// Index of an operation among those of its port. An operation has no length: that field of its send slot and record has the index and,
/// below it, the function.
#[inline(always)]
const fn index_of(length: u32) -> u32 {
    length >> 8
}

/// The function of an operation, an [`Atomic`], from the same field.
#[inline(always)]
const fn effect_of(length: u32) -> u32 {
    length & 0xFF
}

/// Place of an operation among the unanswered ones of its target, from its number.
#[inline(always)]
const fn place_of(number: u32) -> u32 {
    number & (UNANSWERED - 1)
}

/// Address of the kept answer to a node's operation with this number.
#[inline(always)]
const fn answer_words<N: Nic>(node: u32, number: u32) -> u32 {
    N::ANSWERS + (node << 5) + (place_of(number) << 3)
}

/// The word with a node's byte of answers to send, and its shift.
#[inline(always)]
const fn pending_byte<N: Nic>(node: u32) -> (u32, u32) {
    (N::PENDING + (node & !3), (node & 3) << 3)
}

/// An operation as RECV executes it.
pub(crate) struct AtomicRequest {
    pub(crate) port: PortBlock,
    high: u32,
    low: u32,
    /// The function, an [`Atomic`].
    effect: u32,
    operand: u32,
    compared: u32,
}

/// Outcome of an atomic operation at the target.
pub(crate) enum AtomicOutcome {
    /// The operation was executed; the word before it.
    Word(u32),
    /// The port does not allow others to use its words.
    Denied,
    /// The host has reserved its words, to change them itself (`guard.rs`).
    Busy,
}

record! {
    /// Answer to an atomic operation: in a packet, and kept at the target until the next operation with its place.
    struct Answer {
        /// Number of the operation.
        number, set_number, NUMBER: u32 = 0;
        /// The word before the operation.
        value, set_value, VALUE: u32 = 4;
    }
}

record! {
    /// The words of an [`ASK`] behind its header; it has no payload of a process.
    struct AskPayload {
        /// Address of the word, upper half.
        high, set_high, HIGH: u32 = 0;
        /// Address of the word, lower half.
        low, set_low, LOW: u32 = 4;
        /// The function of the operation, an [`Atomic`].
        effect, set_effect: u32 = 8;
        /// Operand.
        operand, set_operand, OPERAND: u32 = 12;
        /// Compared value.
        compared, set_compared, COMPARED: u32 = 16;
        /// Number of the operation.
        number, set_number, NUMBER: u32 = 20;
    }
}

/// Writes the words of an [`ASK`] at `extra`.
#[inline(always)]
pub fn ask_packet(memory: &mut impl Memory, extra: u32, record: Record) -> Plan {
    let effect = effect_of(record.length(memory));
    AskPayload::at(extra).set_effect(memory, effect);
    for (to, from) in [
        (AskPayload::HIGH, Record::REMOTE_HIGH),
        (AskPayload::LOW, Record::REMOTE_LOW),
        (AskPayload::OPERAND, Record::OPERAND),
        (AskPayload::COMPARED, Record::COMPARED),
        (AskPayload::NUMBER, Record::NUMBER),
    ] {
        let value = memory.load(record.address() + from);
        memory.store(extra + to, value);
    }
    Plan {
        first: first_word(ASK),
        extra: ASK_BYTES,
        bytes: 0,
    }
}

impl<N: Nic> Gm<N> {
    /// Prepares the memory of answers.
    pub(crate) fn prepare_atomics(&mut self) {
        let nodes = self.nodes();
        let (answers, pending) = (N::ANSWERS, N::PENDING);
        self.clear(answers, answers + (nodes << 5));
        self.clear(pending, pending + ((nodes + 3) & !3));
        self.set_atomic_written(0);
    }

    /// SEND: a process has posted an operation. `word`: of the slot, with the target's node and subport.
    #[inline(never)]
    pub(crate) fn post_atomic(&mut self, port: PortBlock, slot: SendSlot, word: u32) {
        let length = slot.length(self);
        let index = index_of(length);
        let under_way = port.atomics(self);
        if index >= ATOMIC_COUNT || under_way >> index & 1 != 0 || !self.has_operations() {
            // A mistake of the process: it does not count its operations, or has not looked whether the board has memory for them.
            return self.count(Counter::BadPosts);
        }
        port.set_atomics(self, under_way | 1 << index);
        let direct = port.direct(index);
        for (to, from) in [
            (DirectResult::HIGH, SEND_DIRECT_HIGH),
            (DirectResult::LOW, SEND_DIRECT_LOW),
        ] {
            let value = self.nic.load(slot.address() + from);
            self.nic.store(direct.address() + to, value);
        }
        // The low bit of a subport, and of a connection's number, is the priority: operations have the low one alone.
        let (node, subport) = (slot_node(word), slot_subport(word));
        if effect_of(length) > Atomic::CompareSwap as u32
            || subport >= 2 * PORT_COUNT
            || subport & 1 != 0
        {
            return self.end_atomic(port, index, Status::InvalidParameter, 0);
        }
        let own = node == self.node();
        let known = node < self.nodes()
            && (own || Peer::at(peer::<N>(node)).route(self) & ROUTE_VALID != 0);
        if !known {
            return self.end_atomic(port, index, Status::NodeUnreachable, 0);
        }
        let record = self.free_records();
        let number = match record.address() {
            0 => 0,
            _ => self.take_place(node),
        };
        if number == 0 {
            return self.end_atomic(port, index, Status::TryAgain, 0);
        }
        let free = record.next(self);
        self.set_free_records(free);
        for (to, from) in [
            (Record::REMOTE_HIGH, SEND_REMOTE_HIGH),
            (Record::REMOTE_LOW, SEND_REMOTE_LOW),
            (Record::OPERAND, SEND_OPERAND),
            (Record::COMPARED, SEND_COMPARED),
        ] {
            let value = self.nic.load(slot.address() + from);
            self.nic.store(record.address() + to, value);
        }
        let to = connection::<N>(node << 1);
        record.write(
            self,
            [
                (Record::KIND, K_ATOMIC),
                (Record::LENGTH, length),
                (Record::SENT, 0),
                (Record::ACKED, 0),
                (Record::PORTS, subport << 8 | port_number(port) << 1),
                (Record::TOKEN, 0),
                (Record::KEY, port.address()),
                (Record::CONNECTION, to.address()),
                (Record::NUMBER, number),
            ],
        );
        if own {
            return self.hand_own_atomic(record);
        }
        self.add_record(to, record);
    }

    /// Takes a place among the operations that a node has not answered. Returns the operation's number, or 0, which is none, if no place is free.
    fn take_place(&mut self, node: u32) -> u32 {
        let word = Peer::at(peer::<N>(node)).atomics(self);
        let free = !word & (word + 1) & ((1 << UNANSWERED) - 1);
        if free == 0 {
            return 0;
        }
        let place = lowest(free);
        let mut count = ((word >> COUNT_SHIFT) + 1) & COUNT_MASK;
        if count == 0 {
            count = 1;
        }
        let taken = word & ((1 << UNANSWERED) - 1) | free;
        Peer::at(peer::<N>(node)).set_atomics(self, count << COUNT_SHIFT | taken);
        // The target keeps answers: the session, another one after each restart, makes sure that none of them fits a new operation.
        self.session() << 16 | count << PLACE_BITS | place
    }

    /// SEND: the record of an operation is not needed any more, and its process is told. The caller frees the record.
    fn end_record(&mut self, record: Record, status: Status, value: u32) {
        let node = connection_number::<N>(record.connection(self)) >> 1;
        let place = place_of(record.number(self));
        let word = Peer::at(peer::<N>(node)).atomics(self) & !(1 << place);
        Peer::at(peer::<N>(node)).set_atomics(self, word);
        let port = PortBlock::at(record.key(self));
        if port.is_some() {
            let index = index_of(record.length(self));
            self.end_atomic(port, index, status, value);
        }
    }

    /// SEND: a process is told of the end of its operation. `index`: of the operation among those of the port.
    fn end_atomic(&mut self, port: PortBlock, index: u32, status: Status, value: u32) {
        let under_way = port.atomics(self) & !(1 << index);
        port.set_atomics(self, under_way);
        self.count(Counter::Atomics);
        if port.direct(index).low(self) != 0 {
            // The process has given an address for the result, and wants no event.
            return self.hand_direct(port, end_word(index, status as u32), value);
        }
        // Events count these operations behind collective ones.
        let end = end_word(ATOMIC_OPERATIONS + index, status as u32);
        let (tag, high, low) = (0, 0, value);
        self.hand_result(port, end, Value { tag, high, low });
        // On a CPU with both halves the event can be written now.
        if N::ROLE.receives() {
            self.report_machine();
        }
    }

    /// SEND: the connection has given up an operation: its process is told. The caller frees the record. Whether the target has executed it
    /// is not known.
    #[cold]
    #[inline(never)]
    pub(crate) fn atomic_lost(&mut self, record: Record, status: Status) {
        self.end_record(record, status, 0);
    }

    /// SEND: the packet of an operation is acknowledged: its answer is awaited.
    pub(crate) fn await_value(&mut self, record: Record) {
        let first = self.atomics();
        // Nothing of the record is to be sent now: the word of the next packet's place has the tick at which the answer is asked for again.
        let again = self.now().wrapping_add(self.resend_ticks());
        record.set_sent(self, again);
        record.set_next(self, first);
        self.set_atomics(record);
        self.start_timer();
    }

    /// SEND: a tick: asks again for answers that have not come.
    pub(crate) fn ask_again(&mut self, now: u32) {
        let mut record = self.atomics();
        while record.is_some() {
            let next = record.next(self);
            let again = record.sent(self);
            if is_reached(again, now) {
                self.unlink(ATOMICS, record);
                record.set_sent(self, 0);
                let to = record.connection(self);
                self.add_record(to, record);
            }
            record = next;
        }
    }

    /// SEND: the operations of a port that is closed have no process any more.
    pub(crate) fn forget_atomic(&mut self, port: PortBlock, record: Record) {
        if record.kind(self) == K_ATOMIC && record.key(self) == port.address() {
            record.set_key(self, 0);
        }
    }

    /// SEND: operations of a port that is closed await answers for no process any more.
    pub(crate) fn forget_atomics(&mut self, port: PortBlock) {
        let mut record = self.atomics();
        while record.is_some() {
            self.forget_atomic(port, record);
            record = record.next(self);
        }
        port.set_atomics(self, 0);
    }

    /// RECV: an answer.
    pub(crate) fn value_packet(&mut self, packet: &Packet) {
        if packet.length != HEADER_BYTES + VALUE_BYTES {
            return self.count(Counter::BadLength);
        }
        self.nic
            .mark(Event::AckReceived, packet.number, packet.sequence);
        // First, as it moves the record to `ATOMICS`, where `take_value` looks for it.
        self.ack_came(packet.connection, ACK, packet.sequence, 0);
        let answer = Answer::at(packet.at + HEADER_BYTES);
        let number = answer.number(self);
        let value = answer.value(self);
        self.hand_value(packet.connection, number, value);
    }

    /// SEND: an answer has come.
    pub(crate) fn take_value(&mut self, from: Connection, number: u32, value: u32) {
        let mut record = self.atomics();
        while record.is_some() {
            if record.number(self) == number && record.connection(self) == from {
                self.unlink(ATOMICS, record);
                self.end_record(record, Status::Success, value);
                return self.free_record(record);
            }
            record = record.next(self);
        }
    }

    /// RECV: another node asks for an operation.
    pub(crate) fn atomic_ask(&mut self, packet: &Packet) {
        if packet.length != HEADER_BYTES + ASK_BYTES || packet.payload_bytes() != 0 {
            return self.count(Counter::BadLength);
        }
        let ask = AskPayload::at(packet.at + HEADER_BYTES);
        let number = ask.number(self);
        let kept = Answer::at(answer_words::<N>(packet.node(), number));
        let has_operations = self.has_operations();
        let answered = has_operations && kept.number(self) == number;
        // With the expected sequence number it is another packet that asks for the same operation (`ask_again`). It is accepted
        // below, so that the next one is expected.
        if answered && packet.sequence != packet.connection.expected(self) {
            // The packet was sent again: its answer is lost, or on its way.
            self.count(Counter::Duplicates);
            return self.hand_answer(packet.connection, number);
        }
        if !self.is_expected(packet.connection, packet.sequence) {
            return;
        }
        if !answered {
            let Some(port) = self.target_port(packet) else {
                return;
            };
            let (high, low) = (ask.high(self), ask.low(self));
            let effect = ask.effect(self);
            let (operand, compared) = (ask.operand(self), ask.compared(self));
            let done = match has_operations {
                true => self.execute_guarded(&AtomicRequest {
                    port,
                    high,
                    low,
                    effect,
                    operand,
                    compared,
                }),
                false => AtomicOutcome::Denied,
            };
            let value = match done {
                AtomicOutcome::Word(value) => value,
                AtomicOutcome::Denied => {
                    self.refuse_packet(packet, answer::FORBIDDEN, Counter::Refused);
                    return;
                }
                // As if the packet were lost: it comes again.
                AtomicOutcome::Busy => return,
            };
            kept.set_number(self, number);
            kept.set_value(self, value);
        }
        self.nic
            .mark(Event::PacketReceived, packet.number, packet.sequence);
        self.accept(packet.connection, packet.sequence, false);
        self.owes_nothing(packet.connection);
        self.hand_answer(packet.connection, number);
    }

    /// RECV: executes an operation. Returns the word before it; `None` if others may not use the port's memory, or the word is not
    /// aligned or not registered.
    ///
    /// Nothing else happens on this CPU between the DMA of the word and that of its new value.
    #[inline(never)]
    pub(crate) fn execute(&mut self, request: &AtomicRequest) -> Option<u32> {
        let port = request.port;
        if request.low & 3 != 0 || port.allow(self) == 0 {
            return None;
        }
        let key = port.receive_key(self);
        let host = self.page(request.high, request.low, key)?;
        if self.atomic_written() != 0 {
            // The DMA of the operation before may still write this word. No event tells its end; if it is complete, the wait ends at once.
            self.nic.await_writes();
        }
        self.nic.fetch(host, WORDS, 4);
        let before = self.nic.load(WORDS);
        let after = Atomic::apply(request.effect, before, request.operand, request.compared);
        let written = u32::from(after != before);
        self.set_atomic_written(written);
        if written != 0 {
            self.nic.store(WORDS + 4, after);
            self.nic.start_write(host, WORDS + 4, 4, 0);
        }
        Some(before)
    }

    /// RECV: an operation on the memory of an own process.
    pub(crate) fn own_atomic(&mut self, record: Record) {
        let subport = target_subport(record.ports(self));
        let port = port_block(subport >> 1);
        if !port.receives(self) {
            return self.hand_own_value(record, Status::TargetPortClosed as u32, 0);
        }
        let [high, low, length, operand, compared] = [
            Record::REMOTE_HIGH,
            Record::REMOTE_LOW,
            Record::LENGTH,
            Record::OPERAND,
            Record::COMPARED,
        ]
        .map(|word| self.nic.load(record.address() + word));
        let done = self.execute_guarded(&AtomicRequest {
            port,
            high,
            low,
            effect: effect_of(length),
            operand,
            compared,
        });
        let (status, value) = match done {
            AtomicOutcome::Word(value) => (Status::Success, value),
            AtomicOutcome::Denied => (Status::PermissionDenied, 0),
            AtomicOutcome::Busy => (Status::TryAgain, 0),
        };
        self.hand_own_value(record, status as u32, value);
    }

    /// SEND: the operation on an own process's memory is done.
    pub(crate) fn take_own_value(&mut self, record: Record, status: u32, value: u32) {
        let status = if status == Status::Success as u32 {
            Status::Success
        } else if status == Status::TargetPortClosed as u32 {
            Status::TargetPortClosed
        } else if status == Status::TryAgain as u32 {
            Status::TryAgain
        } else {
            Status::PermissionDenied
        };
        self.end_record(record, status, value);
        self.free_record(record);
    }

    /// SEND: an answer is to be sent.
    pub(crate) fn queue_value(&mut self, connection: Connection, number: u32) {
        let (at, shift) = pending_byte::<N>(connection_number::<N>(connection) >> 1);
        let pending = self.nic.load(at) | 1 << (shift + place_of(number));
        self.nic.store(at, pending);
        self.queue_answer(connection, answer::VALUE, 0);
    }

    /// SEND: sends one of the answers that wait at a connection.
    #[inline(never)]
    pub(crate) fn send_value(&mut self, connection: Connection) {
        let node = connection_number::<N>(connection) >> 1;
        let (at, shift) = pending_byte::<N>(node);
        let word = self.nic.load(at);
        let pending = word >> shift & 0xFF;
        let first = pending & pending.wrapping_neg();
        let place = lowest(pending);
        self.nic.store(at, word & !(first << shift));
        // A connection has one answer in the queue at a time.
        if pending & !first != 0 {
            self.queue_answer(connection, answer::VALUE, 0);
        }
        let header = ACK_BUFFER + BUFFER_HEADER;
        let sequence = connection.expected(self);
        let start = self.packet_header(header, connection, first_word(VALUE), sequence, 0);
        let kept = answer_words::<N>(node, place);
        for word in [Answer::NUMBER, Answer::VALUE] {
            let value = self.nic.load(kept + word);
            self.nic.store(header + HEADER_BYTES + word, value);
        }
        let end = header + HEADER_BYTES + VALUE_BYTES;
        self.nic.send(start, header, end);
        self.set_sending(SENDING_ACK);
        let number = connection_number::<N>(connection);
        self.nic.mark(Event::AckSent, number, sequence);
    }
}
