//! Packets of other members: those that operations wait for, and those that come early.
use defs::gm::collective::{
    ACKED_BYTES, AGAIN, GATHER, PARTIAL, PARTIAL_AGAIN, RELEASE, RESULT, STEP, STEP_SEND, SUBTYPES,
    UNEXPECTED, UNEXPECTED_VALUES, VALUE_BYTES, endpoint,
};
use defs::gm::map::{ACK_HALF_US, Counter, TICK_HALF_US};
use defs::gm::packet::{ACK, HEADER_BYTES};

use super::depart::{NO_VALUE, Value};
use super::origin;
use super::state::{
    ACKED, ACKED_DUE, ACKED_LIMIT, AWAITED, AWAITING, Acked, EARLIER, EXCHANGING, Payload,
    RECORD_FREED, SLOW, SLOW_LIMIT, awaits, block, entry_endpoint, note,
};
use crate::nic::{Event, Role};
use crate::receive::Packet;
use crate::state::{Connection, F_DELAYED, F_SLOW, PortBlock, port_block};
use crate::timer::is_reached;
use crate::{Gm, Nic, answer};

impl<N: Nic> Gm<N> {
    /// RECV: a packet of an operation. SEND's half uses it.
    #[inline(never)]
    pub(crate) fn collective_packet(&mut self, packet: &Packet) {
        let has_value = packet.subtype >= PARTIAL;
        let bytes = if N::VECTORS {
            self.usual_bytes(packet)
        } else if has_value {
            HEADER_BYTES + ACKED_BYTES + VALUE_BYTES
        } else {
            HEADER_BYTES + ACKED_BYTES
        };
        if packet.length != bytes {
            return self.count(Counter::BadLength);
        }
        if !self.is_expected(packet.connection, packet.sequence) {
            return;
        }
        let known = packet.lengths & NO_SUBPORT == 0 && packet.number & 1 == 0;
        if !known || !self.has_operations() {
            self.count(Counter::BadAddress);
            return self.accept(packet.connection, packet.sequence, true);
        }
        if N::ROLE.sends() && packet.subtype <= RELEASE {
            self.took(packet);
            self.barrier_packet(packet);
            let acked = Payload::at(packet.at + HEADER_BYTES).acked(self);
            return self.note_acked(packet.connection, acked);
        }
        if !(N::ROLE.sends() && packet.subtype == PARTIAL && self.awaited_partial(packet)) {
            self.take_packet(packet, has_value);
        }
    }

    /// [`collective_packet`](Self::collective_packet) for packets of barriers, in the memory of its caller.
    #[inline(always)]
    pub(crate) fn barrier_packet_here(&mut self, packet: &Packet) {
        let known = packet.lengths & NO_SUBPORT == 0 && packet.number & 1 == 0;
        let usual = packet.length == HEADER_BYTES + ACKED_BYTES && known && self.has_operations();
        if !usual {
            return self.collective_packet(packet);
        }
        if self.is_expected(packet.connection, packet.sequence) {
            self.took(packet);
            self.barrier_packet(packet);
            let acked = Payload::at(packet.at + HEADER_BYTES).acked(self);
            self.note_acked(packet.connection, acked);
        }
    }

    /// A packet of an operation is accepted.
    #[inline(always)]
    fn took(&mut self, packet: &Packet) {
        self.nic
            .mark(Event::PacketReceived, packet.number, packet.sequence);
        self.accept(packet.connection, packet.sequence, false);
        self.slow_ack(packet.connection);
    }

    /// The value that a packet carries.
    #[inline(always)]
    fn packet_value(&self, packet: &Packet) -> Value {
        if N::VECTORS {
            return self.packet_vector(packet);
        }
        let payload = Payload::at(packet.at + HEADER_BYTES);
        Value {
            tag: payload.tag(self),
            high: payload.high(self),
            low: payload.low(self),
        }
    }

    /// On one CPU a value that a reduction waits for is used at once, and accepted afterwards. Returns false if none waits.
    #[inline(always)]
    fn awaited_partial(&mut self, packet: &Packet) -> bool {
        let (sender, port) = (packet.sender(), port_block(packet.local()));
        let value = self.packet_value(packet);
        let Some(instance) = self.combine_partial(port, sender, value) else {
            return false;
        };
        self.collect(instance);
        self.took(packet);
        let acked = Payload::at(packet.at + HEADER_BYTES).acked(self);
        self.note_acked(packet.connection, acked);
        self.settle();
        true
    }

    /// RECV: gives a packet to SEND's half, if there is a place for what it brings.
    #[inline(never)]
    fn take_packet(&mut self, packet: &Packet, has_value: bool) {
        if !self.may_take(packet, has_value) {
            return;
        }
        self.took(packet);
        let (remote, local, opening) = (packet.remote(), packet.local(), packet.opening());
        let acked = Payload::at(packet.at + HEADER_BYTES).acked(self);
        if matches!(N::ROLE, Role::Borrower) {
            self.note_acked(packet.connection, acked);
        } else {
            self.ack_came(packet.connection, ACK, acked, 0);
        }
        let from = origin::pack::<N>(packet.subtype, packet.node(), remote, local, opening);
        let value = if has_value {
            self.packet_value(packet)
        } else {
            NO_VALUE
        };
        self.hand_arrival(from, value);
    }

    /// A packet of a barrier has acknowledged others: that is looked at when nothing else is to do.
    #[inline(always)]
    fn note_acked(&mut self, connection: Connection, acked: u32) {
        if N::LENDS {
            return self.merge_acked(connection, acked);
        }
        let word = self.acked_count();
        let count = word & !RECORD_FREED;
        if count == ACKED_LIMIT {
            return self.ack_came(connection, ACK, acked, 0);
        }
        let entry = Acked::at(ACKED + (count << 3));
        entry.set_connection(self, connection);
        entry.set_sequence(self, acked);
        self.set_acked_count(word + 1);
    }

    /// The packet of an operation is acknowledged by the next one to its sender, or after a while.
    #[inline(always)]
    fn slow_ack(&mut self, connection: Connection) {
        let flags = connection.receive(self);
        if flags & (F_SLOW | F_DELAYED) != 0 {
            return;
        }
        let count = self.slow_count();
        if !N::ROLE.sends() && !N::LENDS || count == SLOW_LIMIT {
            return self.delay_ack(connection, flags);
        }
        connection.set_receive(self, flags | F_SLOW);
        self.nic.store(SLOW + (count << 2), connection.address());
        self.set_slow_count(count + 1);
        if count == 0 && N::LENDS {
            self.set_slow_deadline(SLOW_ACK_TICKS);
            if self.delayed_count() == 0 {
                self.nic.set_ack_timer();
            }
        } else if count == 0 {
            let deadline = self.now().wrapping_add(SLOW_TICKS);
            self.set_slow_deadline(deadline);
            self.start_timer();
        }
    }

    /// A tick: sends the acks for which no packet has come in time.
    pub(crate) fn send_slow_acks(&mut self, now: u32) {
        let deadline = self.slow_deadline();
        if is_reached(deadline, now) {
            self.acknowledge_slow();
        }
    }

    /// RECV, where SEND's half is lent: a tick of its own timer. The acks wait here, since [`Connection::receive`] is RECV's.
    pub(crate) fn count_slow_acks(&mut self) {
        if self.slow_count() == 0 {
            return;
        }
        let left = self.slow_deadline() - 1;
        self.set_slow_deadline(left);
        if left == 0 {
            self.acknowledge_slow();
        } else {
            self.nic.set_ack_timer();
        }
    }

    /// Sends the acks for which no packet has come in time.
    #[inline(always)]
    fn acknowledge_slow(&mut self) {
        let count = self.slow_count();
        self.set_slow_count(0);
        let mut at = SLOW;
        while at < SLOW + (count << 2) {
            let connection = Connection::at(self.nic.load(at));
            let flags = connection.receive(self);
            connection.set_receive(self, flags & !F_SLOW);
            self.acknowledge(connection);
            at += 4;
        }
    }

    /// Looks at what packets of barriers have acknowledged, and lets ports go on for which there is a record.
    pub(crate) fn take_acked(&mut self) {
        if N::LENDS {
            return self.take_last_acked();
        }
        let word = self.acked_count();
        let count = word & !RECORD_FREED;
        self.set_acked_count(0);
        let mut at = ACKED;
        while at < ACKED + (count << 3) {
            let connection = Acked::at(at).connection(self);
            let acked = Acked::at(at).sequence(self);
            self.ack_came(connection, ACK, acked, 0);
            at += 8;
        }
        if word & RECORD_FREED != 0 {
            self.settle();
        }
    }

    /// Joins acknowledgments, which wait longer where SEND's half is lent: several of a connection take as much time as one.
    #[inline(never)]
    fn merge_acked(&mut self, connection: Connection, acked: u32) {
        let word = self.acked_count();
        let count = word & !(RECORD_FREED | ACKED_DUE);
        let mut at = ACKED;
        while at < ACKED + (count << 3) {
            if Acked::at(at).connection(self).address() == connection.address() {
                return Acked::at(at).set_sequence(self, acked);
            }
            at += 8;
        }
        if count == ACKED_LIMIT {
            return self.ack_came(connection, ACK, acked, 0);
        }
        Acked::at(at).set_connection(self, connection);
        Acked::at(at).set_sequence(self, acked);
        self.set_acked_count(word + 1);
    }

    /// A tick where SEND's half is lent: acknowledgments are looked at in some of them.
    pub(crate) fn look_at_acked(&mut self, now: u32) {
        let acked = self.acked_count();
        let often = self.resend_ticks() < 4 * ACKED_TICKS;
        if acked != 0 && (often || now & (ACKED_TICKS - 1) == 0) {
            self.set_acked_count(acked | ACKED_DUE);
        }
    }

    /// Whether acknowledgments are to be looked at now.
    #[inline(always)]
    pub(crate) fn acked_due(&self) -> u32 {
        match N::LENDS {
            true => self.acked_count() & (RECORD_FREED | ACKED_DUE),
            false => self.acked_count(),
        }
    }

    /// Looks at the last acknowledgment only: between two of them the other CPU has SEND's half.
    #[inline(always)]
    fn take_last_acked(&mut self) {
        let word = self.acked_count();
        let count = word & !(RECORD_FREED | ACKED_DUE);
        if count == 0 {
            self.set_acked_count(0);
            return self.settle();
        }
        // The other CPU may note further ones from now on, which wait for another tick.
        let rest = if count == 1 { word & !ACKED_DUE } else { word };
        self.set_acked_count(rest - 1);
        let entry = Acked::at(ACKED + ((count - 1) << 3));
        let connection = entry.connection(self);
        let acked = entry.sequence(self);
        self.ack_came(connection, ACK, acked, 0);
    }

    /// RECV: whether there is a place for a value.
    #[inline(always)]
    pub(crate) fn has_place(&self) -> bool {
        self.taken().wrapping_sub(self.used_packets()) < UNEXPECTED_VALUES
    }

    /// Whether there is a place for what a packet brings until it is used. If not, its sender is told. A value that a reduction waits for
    /// needs no place: refused, it would hold up those whose values have all places.
    fn may_take(&mut self, packet: &Packet, has_value: bool) -> bool {
        let taken = self.taken();
        let limit = if has_value {
            UNEXPECTED_VALUES
        } else {
            UNEXPECTED
        };
        if taken.wrapping_sub(self.used_packets()) >= limit && !self.is_awaited_value(packet) {
            self.refuse_packet(packet, answer::DOWN, Counter::NoToken);
            return false;
        }
        self.set_taken(taken.wrapping_add(1));
        true
    }

    /// Whether a reduction waits for the value in a packet. SEND on the other CPU may change this meanwhile: then it finds no free
    /// buffer, and the operation has failed.
    #[cold]
    #[inline(never)]
    fn is_awaited_value(&self, packet: &Packet) -> bool {
        if packet.subtype != PARTIAL {
            return false;
        }
        let (sender, port) = (packet.sender(), port_block(packet.local()));
        self.awaiting(port, sender, self.packet_value(packet).tag)
    }

    /// SEND: a packet of a barrier of another node.
    #[inline(always)]
    fn barrier_packet(&mut self, packet: &Packet) {
        let (remote, local, opening) = (packet.remote(), packet.local(), packet.opening());
        let node = packet.node();
        let port = port_block(local);
        let awaited = block(port).awaited(self);
        if awaited == awaits(endpoint(node, remote)) && packet.subtype == STEP {
            self.next_exchange(port);
        } else {
            self.note_packet(origin::pack::<N>(
                packet.subtype,
                node,
                remote,
                local,
                opening,
            ));
        }
        if !matches!(N::ROLE, Role::Borrower) || block(port).posted(self) != 0 {
            self.begin_next(port);
        }
        self.settle();
    }

    /// SEND: a packet of another node.
    #[inline(always)]
    pub(crate) fn take_arrival(&mut self, from: u32, value: Value) {
        self.arrive(from, value);
        self.settle();
    }

    /// SEND: uses a packet, or keeps it.
    #[inline(never)]
    pub(super) fn arrive(&mut self, from: u32, value: Value) {
        let subtype = origin::subtype::<N>(from);
        let port = port_block(origin::local(from));
        if subtype <= RELEASE {
            self.note_packet(from);
            self.used(from);
            self.begin_next(port);
        } else if subtype == PARTIAL {
            self.partial_came(port, from, value);
        } else {
            if subtype == RESULT {
                self.result_came(port, from, value);
            } else if self.is_own_opening(port, from) {
                if subtype == AGAIN {
                    self.barrier_again(port, from);
                } else {
                    self.depart(port, origin::endpoint::<N>(from), PARTIAL, value);
                }
            }
            self.used(from);
        }
    }

    /// A packet that RECV has taken is used.
    #[inline(always)]
    pub(super) fn used(&mut self, from: u32) {
        if from & origin::OWN_BOARD == 0 {
            let used = self.used_packets();
            self.set_used_packets(used.wrapping_add(1));
        }
    }

    /// Whether what comes back was sent since the port was opened.
    fn is_own_opening(&mut self, port: PortBlock, from: u32) -> bool {
        let open = port.is_open(self);
        open && block(port).opening(self) == origin::opening::<N>(from)
    }

    /// A packet of a barrier: the barrier goes on, or the packet is noted.
    #[inline(never)]
    fn note_packet(&mut self, from: u32) {
        let port = port_block(origin::local(from));
        let (at, shift) = note::<N>(
            origin::node::<N>(from),
            origin::local(from),
            origin::remote(from),
        );
        let word = self.nic.load(at);
        let others = word & !(0xFF << shift);
        let opening = origin::opening::<N>(from);
        if !port.is_open(self) {
            self.nic.store(at, others | (opening | EARLIER) << shift);
            return self.count(Counter::Unexpected);
        }
        if word >> shift & AWAITED != 0 {
            self.nic.store(at, others);
            return self.barrier_came(port, origin::subtype::<N>(from));
        }
        let awaited = block(port).awaited(self);
        if awaited == awaits(origin::endpoint::<N>(from)) {
            return self.next_exchange(port);
        }
        self.nic.store(at, others | opening << shift);
        if block(port).barrier(self) == EXCHANGING {
            // Its step may wait for a record.
            return;
        }
        self.count(Counter::Unexpected);
    }

    /// A packet of the barrier under way came to a port that was closed: it is sent again, if it has been sent to this endpoint.
    #[cold]
    #[inline(never)]
    fn barrier_again(&mut self, port: PortBlock, from: u32) {
        let block = block(port);
        let to = origin::endpoint::<N>(from);
        let state = block.barrier(self);
        let (mut subtype, mut sent) = (GATHER, 0);
        if state == EXCHANGING {
            subtype = STEP;
            sent = block.index(self) + block.sent(self);
        } else if state == AWAITING {
            sent = 1;
        }
        let mut at = block.list(self).address();
        while sent != 0 {
            let entry = self.nic.load(at);
            let is_sent = subtype == GATHER || entry & STEP_SEND != 0;
            if entry_endpoint(entry) == to && is_sent {
                self.depart(port, to, subtype, NO_VALUE);
                return;
            }
            at += 4;
            sent -= 1;
        }
    }
}

/// Bits of the word of subports that are 0 in a packet of an operation: both are below 16 and of low priority.
const NO_SUBPORT: u32 = 0xF1F1;

/// Words of the header of an operation's packet: subports are of low priority, and the opening is in place of a length.
impl Packet {
    /// The port that the packet is for.
    #[inline(always)]
    const fn local(&self) -> u32 {
        self.lengths >> 9 & 7
    }

    /// The port that sent the packet.
    #[inline(always)]
    const fn remote(&self) -> u32 {
        self.lengths >> 1 & 7
    }

    /// The opening of the port that sent the packet.
    #[inline(always)]
    const fn opening(&self) -> u32 {
        self.lengths >> 16 & 0x1F
    }

    /// The endpoint that sent the packet.
    #[inline(always)]
    const fn sender(&self) -> u32 {
        endpoint(self.node(), self.remote())
    }
}

/// Ticks after which the packet of an operation is acknowledged by itself: a share of those after which it is sent again.
const SLOW_TICKS: u32 = 10;
/// Ticks between two looks at the acknowledgments that packets brought, where SEND's half is lent: a power of two.
const ACKED_TICKS: u32 = 4;
/// [`SLOW_TICKS`] in ticks of RECV's own timer.
const SLOW_ACK_TICKS: u32 = SLOW_TICKS * TICK_HALF_US / ACK_HALF_US;

const _: () = assert!(PARTIAL_AGAIN == STEP + SUBTYPES - 1 && AGAIN == RELEASE + 1);
