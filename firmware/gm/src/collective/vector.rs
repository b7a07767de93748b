//! Reductions of vectors ([`Nic::VECTORS`]), on boards where one CPU has all machines: in a [`Value`] `low` is the address of the elements
//! and `high` their number. Packets that wait, early values and reductions each have a place of their own for one vector.
//!
//! The arithmetic of a reduction with [`TRAP`] is the host's: the board collects the values of the children, writes them to host memory,
//! raises a light interrupt, and goes on with the result. One request of a board is under way; the others wait for it.
use defs::gm::collective::{
    ACKED_BYTES, CHILD_LIMIT, COLLECTIVE_RECORDS, DESCRIPTOR_COUNT, LOCAL, PARTIAL, VALUES,
};
use defs::gm::combine::combine;
use defs::gm::event::Status;
use defs::gm::packet::{HEADER_BYTES, first_word};
use defs::gm::port::PORT_COUNT;
use defs::gm::vector::{
    DONE, EARLY_VECTORS, ELEMENT_BYTES, ELEMENT_LIMIT, HOST_AREA_BYTES, HOST_AREA_HIGH,
    HOST_AREA_LOW, LOCAL_VECTORS, OPERANDS_BYTES, RECORD_VECTORS, REQUEST_BYTES, TRAP, TRAPS,
    VECTOR, VECTOR_BYTES, operands, result_offset,
};
use defs::record::Memory;
use defs::words;

use super::depart::Value;
use super::reduce::Instance;
use super::state::{AT_HOST, HOST_AWAITED, LocalPacket, Payload, Reduction, ValueBuffer, block};
use crate::nic::HostAddress;
use crate::receive::Packet;
use crate::remote::Plan;
use crate::state::{PortBlock, Record, port_block, port_number};
use crate::timer::is_reached;
use crate::{Gm, Nic};

words! {
    impl Gm<N: Nic>;
    /// The number of the last request, never 0.
    request, set_request: u32 = TRAPS + 0x10;
    /// The port of the request under way; 0 if none is.
    request_port, set_request_port: PortBlock = TRAPS + 0x14;
    /// The number of its reduction.
    request_number, set_request_number: u32 = TRAPS + 0x18;
    /// Tick at which the host is interrupted again.
    request_deadline, set_request_deadline: u32 = TRAPS + 0x1C;
    /// Vectors that were written to the host.
    written_vectors, set_written_vectors: u32 = TRAPS + 0x20;
}

/// Ticks after which the host is interrupted again: another use of its one interrupt may have cleared it.
const AGAIN_TICKS: u32 = 10;
/// Bytes of a packet before its elements: what an ack would have, and the tag.
const PREFIX_BYTES: u32 = 8;

const _: () = assert!(DESCRIPTOR_COUNT == 8 && VECTOR_BYTES == 256 && ELEMENT_BYTES == 8);
const _: () = assert!((1 + CHILD_LIMIT) * VECTOR_BYTES + REQUEST_BYTES <= OPERANDS_BYTES);

/// The vector of a record of a packet.
const fn record_vector(record: Record) -> u32 {
    RECORD_VECTORS + ((record.address() - COLLECTIVE_RECORDS) << 2)
}

/// The vector of an early value.
pub(super) const fn early_vector(buffer: ValueBuffer) -> u32 {
    EARLY_VECTORS + ((buffer.address() - VALUES) << 3)
}

/// The vector of a packet of the own board.
pub(super) const fn local_vector(packet: LocalPacket) -> u32 {
    LOCAL_VECTORS + ((packet.address() - LOCAL) << 4)
}

/// Copies elements.
fn copy(memory: &mut impl Memory, to: u32, from: u32, count: u32) {
    let mut at = 0;
    while at < count << 3 {
        let high = memory.load(from + at);
        let low = memory.load(from + at + 4);
        memory.store(to + at, high);
        memory.store(to + at + 4, low);
        at += ELEMENT_BYTES;
    }
}

/// The packet of a record with a vector, or of a barrier; what lies behind the header is written.
#[inline(never)]
pub fn vector_packet(memory: &mut impl Memory, extra: u32, record: Record) -> Plan {
    let subtype = record.number(memory);
    let connection = record.connection(memory);
    let expected = connection.expected(memory);
    memory.store(extra, expected);
    let mut plan = Plan::message(first_word(subtype), 0);
    plan.extra = 4;
    if subtype >= PARTIAL {
        let tag = record.remote_high(memory);
        memory.store(extra + 4, tag);
        let count = record.high(memory);
        copy(memory, extra + PREFIX_BYTES, record_vector(record), count);
        plan.extra = PREFIX_BYTES + (count << 3);
    }
    plan
}

impl<N: Nic> Gm<N> {
    /// Prepares the words of vectors.
    #[cold]
    pub(super) fn prepare_vectors(&mut self) {
        self.clear(TRAPS, DONE + 4);
    }

    /// The length of a packet, if it has whole elements and not too many, or none in a packet of a barrier; else another one.
    pub(super) fn usual_bytes(&self, packet: &Packet) -> u32 {
        if packet.subtype < PARTIAL {
            return HEADER_BYTES + ACKED_BYTES;
        }
        let elements = packet.length.wrapping_sub(HEADER_BYTES + PREFIX_BYTES);
        let fits = elements.wrapping_sub(ELEMENT_BYTES) <= VECTOR_BYTES - ELEMENT_BYTES;
        if fits && elements & 7 == 0 {
            packet.length
        } else {
            0
        }
    }

    /// The vector in a packet.
    pub(super) fn packet_vector(&self, packet: &Packet) -> Value {
        let at = packet.at + HEADER_BYTES;
        Value {
            tag: Payload::at(at).tag(self),
            high: (packet.length - HEADER_BYTES - PREFIX_BYTES) >> 3,
            low: at + PREFIX_BYTES,
        }
    }

    /// Keeps the vector of a packet that is to leave, in its record.
    #[inline(never)]
    pub(super) fn keep_vector(&mut self, record: Record, value: Value) {
        copy(self, record_vector(record), value.low, value.high);
    }

    /// Keeps a vector that came early, or that is for another port of this board. Returns its place.
    #[inline(never)]
    pub(super) fn keep_at(&mut self, place: u32, value: Value) -> u32 {
        copy(self, place, value.low, value.high);
        place
    }

    /// Writes the vector of a packet behind its tag; returns its end.
    #[inline(never)]
    pub(super) fn write_vector(&mut self, payload: u32, value: Value) -> u32 {
        copy(self, payload + PREFIX_BYTES, value.low, value.high);
        payload + PREFIX_BYTES + (value.high << 3)
    }

    /// The own vector of a reduction that begins: its number of elements and its address. A reduction of one value has one element.
    /// `None`: no such vector, or no host that could compute.
    #[inline(never)]
    pub(super) fn own_vector(&mut self, instance: Instance, kind: u32) -> Option<(u32, u32)> {
        let at = operands(port_number(instance.port), instance.number);
        let descriptor = instance.descriptor();
        let first = descriptor.high(self);
        if kind >> 8 & TRAP != 0 && self.host_area() == 0 {
            return None;
        }
        if kind >> 8 & VECTOR != 0 {
            let known = first.wrapping_sub(1) < ELEMENT_LIMIT;
            return known.then_some((first, at));
        }
        let low = descriptor.low(self);
        self.nic.store(at, first);
        self.nic.store(at + 4, low);
        Some((1, at))
    }

    /// Address of the host's area, lower half.
    fn host_area(&self) -> u32 {
        self.nic.load(HOST_AREA_LOW)
    }

    /// Combines the vector of a child, or keeps it for the host, if the reduction waits for it.
    #[inline(never)]
    pub(super) fn take_vector(&mut self, instance: Instance, sender: u32, value: Value) -> bool {
        let reduction = instance.words();
        let index = self.child_of(instance, sender);
        if index == CHILD_LIMIT {
            return false;
        }
        let come = reduction.children(self) | 1 << index;
        reduction.set_children(self, come);
        let kind = reduction.kind(self);
        let own = reduction.low(self);
        let elements = reduction.high(self);
        // Processes that disagree have no result.
        let count = value.high.min(elements);
        if kind >> 8 & TRAP != 0 {
            let mut at = own;
            for _ in 0..=index {
                at += elements << 3;
            }
            copy(self, at, value.low, count);
            return true;
        }
        let mut at = 0;
        while at < count << 3 {
            let a = self.element(own + at);
            let b = self.element(value.low + at);
            let result = combine(kind & 0xFF, a, b);
            self.nic.store(own + at, (result >> 32) as u32);
            self.nic.store(own + at + 4, result as u32);
            at += ELEMENT_BYTES;
        }
        true
    }

    fn element(&self, at: u32) -> u64 {
        u64::from(self.nic.load(at)) << 32 | u64::from(self.nic.load(at + 4))
    }

    /// The values of all children are there: asks the host. Returns false if the host is not to compute.
    #[inline(never)]
    pub(super) fn ask_host(&mut self, instance: Instance) -> bool {
        let reduction = instance.words();
        let kind = reduction.kind(self);
        if kind >> 8 & TRAP == 0 || kind >> 16 == 0 {
            return false;
        }
        reduction.set_state(self, HOST_AWAITED);
        if self.request_port().is_none() {
            self.begin_request(instance);
        }
        true
    }

    /// Writes the operands of a reduction to the host, and interrupts it. The number of the request is the last word, so the handler
    /// sees when all are there.
    fn begin_request(&mut self, instance: Instance) {
        let reduction = instance.words();
        let kind = reduction.kind(self);
        let own = reduction.low(self);
        let elements = reduction.high(self);
        let mut end = own + (elements << 3);
        for _ in 0..kind >> 16 {
            end += elements << 3;
        }
        let last = self.request().wrapping_add(1);
        let request = if last == 0 { 1 } else { last };
        for (at, word) in [(0, elements), (4, kind), (8, 0), (12, request)] {
            self.nic.store(end + at, word);
        }
        self.set_request(request);
        self.set_request_port(instance.port);
        self.set_request_number(instance.number);
        let deadline = self.now().wrapping_add(AGAIN_TICKS);
        self.set_request_deadline(deadline);
        reduction.set_state(self, AT_HOST);
        let length = end + REQUEST_BYTES - own;
        self.write_host(HOST_AREA_BYTES - length, own, length);
        self.nic.interrupt();
    }

    /// Starts a DMA to the host's area. Few are under way besides those of packets and reports.
    fn write_host(&mut self, offset: u32, local: u32, length: u32) {
        let written = self.written_vectors();
        self.set_written_vectors(written.wrapping_add(1));
        if written & 3 == 0 {
            self.nic.await_writes();
        }
        let high = self.nic.load(HOST_AREA_HIGH);
        let low = self.host_area() + offset;
        self.nic
            .start_write(HostAddress { high, low }, local, length, 0);
    }

    /// The word in which the host tells of a result.
    #[inline(always)]
    pub(crate) fn host_done(&self) -> u32 {
        if N::VECTORS { self.nic.load(DONE) } else { 0 }
    }

    /// The host has computed: the reduction goes on. Returns whether it had.
    #[inline(never)]
    pub(crate) fn take_computed(&mut self) -> bool {
        let done = self.host_done();
        if done == 0 {
            return false;
        }
        self.nic.store(DONE, 0);
        let port = self.request_port();
        if port.is_none() || done != self.request() {
            return true;
        }
        let number = self.request_number();
        let instance = Instance { port, number };
        self.set_request_port(PortBlock::NONE);
        if self.is_under_way(instance, AT_HOST) {
            let reduction = instance.words();
            let elements = reduction.high(self);
            let own = reduction.low(self);
            copy(self, own, DONE - (elements << 3), elements);
            // The rest is that of a reduction for which no host computes.
            let kind = reduction.kind(self) & !(TRAP << 8);
            reduction.set_kind(self, kind);
            self.collect(instance);
            self.settle();
        }
        self.next_request();
        true
    }

    /// Whether a reduction is under way, in this state.
    fn is_under_way(&self, instance: Instance, state: u32) -> bool {
        let known = block(instance.port).reductions(self) >> instance.number & 1 != 0;
        known && instance.words().state(self) == state
    }

    /// Begins the request of a reduction that waits for the host, of a port the oldest one: its value is the one that parents wait for.
    fn next_request(&mut self) {
        for at in 0..PORT_COUNT {
            let port = port_block(at);
            let mut waiting = 0;
            for number in 0..DESCRIPTOR_COUNT {
                if self.is_under_way(Instance { port, number }, HOST_AWAITED) {
                    waiting |= 1 << number;
                }
            }
            if waiting != 0 && self.request_port().is_none() {
                let instance = self.oldest(port, waiting);
                self.begin_request(instance);
            }
        }
    }

    /// A port is closed: the host's answer for it is not awaited any more.
    pub(super) fn close_requests(&mut self, port: PortBlock) {
        if self.request_port() == port {
            self.set_request_port(PortBlock::NONE);
            self.next_request();
        }
    }

    /// A tick: interrupts the host again that has not answered for long.
    pub(super) fn remind_host(&mut self, now: u32) {
        let deadline = self.request_deadline();
        if self.request_port().is_some() && is_reached(deadline, now) {
            self.set_request_deadline(now.wrapping_add(AGAIN_TICKS));
            self.nic.interrupt();
        }
    }

    /// The result of a reduction goes to the host, if it has several elements. The first one is the value of its event.
    #[inline(never)]
    pub(super) fn give_vector(&mut self, instance: Instance, value: Value) -> Value {
        if value.high > 1 && self.host_area() != 0 {
            let offset = result_offset(port_number(instance.port), instance.number);
            self.write_host(offset, value.low, value.high << 3);
        }
        Value {
            tag: value.tag,
            high: self.nic.load(value.low),
            low: self.nic.load(value.low + 4),
        }
    }

    /// The result has come: it takes the place of the own vector.
    #[inline(never)]
    pub(super) fn take_result(&mut self, reduction: Reduction, value: Value) {
        let own = reduction.low(self);
        let count = value.high.min(reduction.high(self));
        copy(self, own, value.low, count);
    }

    /// A reduction that cannot begin.
    #[cold]
    pub(super) fn refuse_reduction(&mut self, instance: Instance) {
        let status = Status::InvalidParameter as u32;
        self.finish(instance.port, instance.number + 1, status, super::NO_VALUE);
    }
}
