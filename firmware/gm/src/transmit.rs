//! SDMA and SEND: packets from records to the wire.
use defs::gm::event::{BAD_SEND_MEMORY, FAST_BYTES, Status};
use defs::gm::gossip::GOSSIP_BUFFER;
use defs::gm::map::{BUFFER_HEADER, PAGE_BYTES, ROUTE_WORDS, WINDOW};
use defs::gm::mapping::PROBE;
use defs::gm::packet::{BODY, DATA, HEAD, HEADER_BYTES, MTU, TAIL, first_word};

use crate::nic::{Event, HostAddress};
use crate::places::Places;
use crate::remote::Plan;
use crate::state::{
    ACK_BUFFER, ACKS, ANSWER_MASK, ANSWER_SHIFT, ANSWERED_MASK, ANSWERED_SHIFT, Connection,
    EVER_SENT_ONE, F_ACK, F_HELD, F_READY, FREE, Header, Peer, READING, READY, READY_HIGH,
    READY_LOW, ROUTE_LENGTH, Record, SENDING_ACK, SENDING_BUFFER, SENDING_PASS, SendBuffer,
    connection_number, ever_sent, is_other, next_sequence, packets_between, token_port,
};
use crate::{Gm, Nic, answer};

/// Bytes of a payload on the wire.
#[inline(always)]
pub const fn padded(length: u32) -> u32 {
    (length + 3) & !3
}

/// The first word of the first packet of a message that takes several, from that of a message of its size that takes one.
#[inline(always)]
const fn first_of_several(kind: u32) -> u32 {
    kind + HEAD - DATA
}

/// Bytes of a process for DMA: on one page or two.
pub struct Pieces {
    first: HostAddress,
    /// Bytes on the first page.
    first_bytes: u32,
    second: HostAddress,
}

impl<N: Nic> Gm<N> {
    /// SDMA: fills free send buffers.
    #[inline(always)]
    pub(crate) fn read_machine(&mut self) {
        loop {
            let buffer = self.fill_buffer();
            if buffer.state(self) != FREE {
                return;
            }
            let mut list = READY_HIGH;
            let mut connection = list.first(self);
            if connection == 0 {
                list = READY_LOW;
                connection = list.first(self);
                if connection == 0 {
                    return;
                }
            }
            let connection = Connection::at(connection);
            let next = connection.ready_next(self);
            list.set_first(self, next);
            let flags = connection.flags(self);
            let record = connection.cursor(self);
            let next = connection.send(self);
            let under_way = packets_between(connection.window(self), next);
            if record.is_none() || flags & F_HELD != 0 || under_way >= WINDOW {
                connection.set_flags(self, flags & !F_READY);
                continue;
            }
            self.fill(buffer, connection, record);
            if connection.cursor(self).is_none() {
                let flags = connection.flags(self);
                connection.set_flags(self, flags & !F_READY);
            } else {
                // The others with packets come first.
                self.append(list, connection.address(), Connection::READY_NEXT);
            }
        }
    }

    /// Makes the next packet of a record in a send buffer and starts its DMA.
    #[inline(always)]
    fn fill(&mut self, buffer: SendBuffer, connection: Connection, record: Record) {
        let sent = record.sent(self);
        let left = record.length(self) - sent;
        let last = left <= MTU;
        let kind = record.kind(self);
        let header = buffer.header();
        let plan = if is_other(kind) {
            self.plan_other(header, record, kind, sent, left)
        } else if last && sent == 0 {
            Plan::message(kind, left)
        } else if last {
            Plan::message(first_word(TAIL), left)
        } else if sent == 0 {
            Plan::message(first_of_several(kind), MTU)
        } else {
            Plan::message(first_word(BODY), MTU)
        };
        let payload = header + HEADER_BYTES + plan.extra;
        if plan.bytes != 0 {
            let Some(pieces) = self.record_pieces(record, sent, plan.bytes) else {
                return self.bad_memory(connection, record, sent);
            };
            self.start_reads(&pieces, payload, plan.bytes, buffer.address());
        }
        let state = if plan.bytes == 0 { READY } else { READING };
        buffer.set_state(self, state);
        self.set_fill_buffer(buffer.other());
        let sequence = self.take_sequence(connection);
        if plan.bytes != 0 {
            self.nic.mark(
                Event::ReadStarted,
                connection_number::<N>(connection),
                sequence,
            );
        }
        if last {
            let after = record.next(self);
            record.set_sent(self, 0);
            connection.set_cursor(self, after);
        } else {
            record.set_sent(self, sent + MTU);
        }
        buffer.set_end(self, payload + padded(plan.bytes));
        let lengths = plan.bytes << 16 | record.ports(self);
        let start = self.packet_header(header, connection, plan.first, sequence, lengths);
        buffer.set_start(self, start);
        let other = buffer.other().state(self);
        if plan.bytes != 0 && plan.bytes <= FAST_BYTES && other != READING {
            self.await_short_read();
        }
    }

    /// The sequence number of the next packet of a connection.
    #[inline(always)]
    pub(crate) fn take_sequence(&mut self, connection: Connection) -> u32 {
        let sequence = connection.send(self);
        let window = connection.window(self);
        let after = next_sequence(sequence);
        connection.set_send(self, after);
        if (ever_sent(window) ^ sequence) & 0xFFFF == 0 {
            connection.set_window(self, window.wrapping_add(EVER_SENT_ONE));
        }
        sequence
    }

    /// Addresses for DMA of bytes of a record; `None` if the process has not registered them.
    #[inline(always)]
    pub(crate) fn record_pieces(
        &mut self,
        record: Record,
        from: u32,
        bytes: u32,
    ) -> Option<Pieces> {
        let base = record.low(self);
        let low = base.wrapping_add(from);
        let high = record.high(self).wrapping_add(u32::from(low < base));
        let key = record.key(self);
        self.pieces(high, low, key, bytes)
    }

    /// Addresses for DMA of bytes of a process, at most [`MTU`]; `None` if the process has not registered them.
    #[inline(always)]
    pub(crate) fn pieces(&mut self, high: u32, low: u32, key: u32, bytes: u32) -> Option<Pieces> {
        let first = self.page(high, low, key)?;
        let first_bytes = PAGE_BYTES - (low & (PAGE_BYTES - 1));
        let mut second = first;
        if bytes > first_bytes {
            let next = low.wrapping_add(first_bytes);
            second = self.page(high.wrapping_add(u32::from(next < low)), next, key)?;
        }
        Some(Pieces {
            first,
            first_bytes,
            second,
        })
    }

    /// Starts the DMA of a payload from the host, in two parts if it crosses a page.
    #[inline(always)]
    pub(crate) fn start_reads(&mut self, from: &Pieces, local: u32, bytes: u32, cookie: u32) {
        if bytes <= from.first_bytes {
            self.nic.start_read(from.first, local, bytes, cookie);
        } else {
            let rest = bytes - from.first_bytes;
            self.nic.start_read(from.first, local, from.first_bytes, 0);
            self.nic
                .start_read(from.second, local + from.first_bytes, rest, cookie);
        }
    }

    /// Starts the DMA of a payload to the host.
    #[inline(always)]
    pub(crate) fn start_writes(&mut self, to: &Pieces, local: u32, bytes: u32, cookie: u32) {
        if bytes <= to.first_bytes {
            self.nic.start_write(to.first, local, bytes, cookie);
        } else {
            let rest = bytes - to.first_bytes;
            self.nic.start_write(to.first, local, to.first_bytes, 0);
            let mut from = local + to.first_bytes;
            // The first piece may pass the end of the receive buffer; the second one begins within it.
            if let Some(ring) = N::RECEIVE_RING
                && from >= ring.limit
            {
                from -= ring.limit - ring.base;
            }
            self.nic.start_write(to.second, from, rest, cookie);
        }
    }

    /// Ends a send whose bytes the process has not registered.
    #[cold]
    #[inline(never)]
    fn bad_memory(&mut self, connection: Connection, record: Record, sent: u32) {
        let token = record.token(self);
        let high = record.high(self);
        let low = record.low(self).wrapping_add(sent);
        if token != 0 {
            self.violation(token_port(token), BAD_SEND_MEMORY, high, low);
        }
        self.fail(connection, record, Status::PermissionDenied, true);
    }

    /// The DMA of a buffer is complete.
    #[inline(always)]
    fn loaded(&mut self, buffer: u32) {
        if buffer == GOSSIP_BUFFER {
            return self.pass_loaded();
        }
        SendBuffer::at(buffer).set_state(self, READY);
    }

    /// Waits for the only DMA from the host, which is short: it ends sooner than the loop of the firmware comes round. The
    /// wait is limited; a DMA that is slower becomes an event.
    #[inline(always)]
    fn await_short_read(&mut self) {
        let mut polls = N::SHORT_READ_POLLS;
        while polls != 0 {
            let buffer = self.nic.read_done();
            if buffer != 0 {
                return self.loaded(buffer);
            }
            polls -= 1;
        }
    }

    /// Writes route and header; returns where the route begins.
    #[inline(always)]
    pub(crate) fn packet_header(
        &mut self,
        header: u32,
        connection: Connection,
        first: u32,
        sequence: u32,
        lengths: u32,
    ) -> u32 {
        let number = connection_number::<N>(connection);
        let own = self.own_bits();
        let node = self.node();
        let words = Header::at(header);
        words.set_kind(self, first);
        words.set_target(self, number >> 1);
        words.set_sequence(self, sequence);
        words.set_lengths(self, lengths);
        words.set_sender(self, node);
        // The target's number of the connection, which is this node with the same priority, is above the own number of it.
        words.set_connections(self, own | (number & 1) << 16 | number);
        let peer = connection.address() & !(defs::gm::map::PEER_BYTES - 1);
        let length = Peer::at(peer).route(self) & ROUTE_LENGTH;
        if length != 0 {
            let word = self.nic.load(peer + ROUTE_WORDS[0]);
            self.nic.store(header - 4, word);
            if length > 4 {
                self.long_route(header, peer);
            }
        }
        header - length
    }

    /// Copies the words of a long route before the last one.
    #[inline(never)]
    fn long_route(&mut self, header: u32, peer: u32) {
        let mut at = header - 4;
        for place in [ROUTE_WORDS[1], ROUTE_WORDS[2], ROUTE_WORDS[3]] {
            at -= 4;
            let word = self.nic.load(peer + place);
            self.nic.store(at, word);
        }
    }

    /// SEND: gives the sender an ack, else the next buffer that is ready.
    #[inline(always)]
    pub(crate) fn send_machine(&mut self) {
        if self.sending() != 0 {
            return;
        }
        let connection = ACKS.first(self);
        if connection != 0 {
            // Below the connections' addresses are PROBE and PASSER: not acks, but they wait in the same list.
            if connection < N::PEERS {
                return self.send_other(connection);
            }
            return self.send_ack(Connection::at(connection));
        }
        let buffer = self.leave_buffer();
        if buffer.state(self) == READY {
            let start = buffer.start(self);
            let end = buffer.end(self);
            let header = buffer.header();
            self.nic.send(start, header, end);
            self.set_sending(SENDING_BUFFER);
            let numbers = Header::at(header).connections(self);
            let sequence = Header::at(header).sequence(self);
            self.nic.mark(Event::PacketSent, numbers & 0xFFFF, sequence);
        }
    }

    /// Sends what waits in the list of acks besides them.
    #[cold]
    #[inline(never)]
    fn send_other(&mut self, place: u32) {
        if place == PROBE {
            self.send_probe();
        } else {
            self.send_pass();
        }
    }

    /// Sends the ack that waits at a connection, the first of the list.
    #[inline(always)]
    fn send_ack(&mut self, connection: Connection) {
        let next = connection.ack_next(self);
        ACKS.set_first(self, next);
        let flags = connection.flags(self);
        connection.set_flags(self, flags & !F_ACK);
        let header = ACK_BUFFER + BUFFER_HEADER;
        let sequence = connection.expected(self);
        let mut kind = flags >> ANSWER_SHIFT & ANSWER_MASK;
        if kind == answer::VALUE {
            return self.send_value(connection);
        }
        // RECV on the other CPU may have gone on: the packet that was refused is not the one that is expected now.
        if (!N::ROLE.receives() || N::LENDS)
            && (flags >> ANSWERED_SHIFT ^ sequence) & ANSWERED_MASK != 0
        {
            kind = answer::ACK;
        }
        let subtype = answer::subtype(kind);
        let start = self.packet_header(
            header,
            connection,
            first_word(subtype),
            sequence,
            answer::reason(kind),
        );
        self.nic.send(start, header, header + HEADER_BYTES);
        self.set_sending(SENDING_ACK);
        let number = connection_number::<N>(connection);
        self.nic.mark(Event::AckSent, number, sequence);
    }

    /// The packet has left.
    #[inline(always)]
    pub(crate) fn on_sent(&mut self) {
        let sending = self.sending();
        self.set_sending(0);
        if sending == SENDING_BUFFER {
            let buffer = self.leave_buffer();
            buffer.set_state(self, FREE);
            self.set_leave_buffer(buffer.other());
        } else if sending == SENDING_PASS {
            self.pass_left();
        }
    }

    /// DMAs are complete.
    #[inline(always)]
    pub(crate) fn on_dma(&mut self) {
        if N::ROLE.sends() {
            loop {
                let buffer = self.nic.read_done();
                if buffer == 0 {
                    break;
                }
                self.loaded(buffer);
            }
        }
        if N::ROLE.receives() {
            loop {
                let cookie = self.nic.write_done();
                if cookie == 0 {
                    break;
                }
                self.on_written(cookie);
            }
        }
    }
}
