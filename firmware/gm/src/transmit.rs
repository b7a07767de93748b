//! SDMA and SEND: packets from records to the wire.

use defs::gm::event::FAST_BYTES;
use defs::gm::map::{BUFFER_HEADER, NODE};
use defs::gm::mapping::PROBE;
use defs::gm::packet::{
    HEADER_BYTES, WORD_CONNECTIONS, WORD_LENGTH, WORD_SENDER, WORD_SEQUENCE, WORD_TARGET, WORD_TYPE,
};

use crate::nic::{Event, HostAddress};
use crate::state::{
    ACK_BUFFER, ACKS, BUFFER_END, BUFFER_START, BUFFER_STATE, C_ACK_NEXT, C_ACK_SEQUENCE,
    C_ACK_TYPE, C_CURSOR, C_FLAGS, C_NUMBERS, C_READY_NEXT, C_ROUTE, F_ACK, F_HELD, F_READY, FILL,
    FREE, LEAVE, R_HIGH, R_LENGTH, R_LOW, R_NEXT, R_SEQUENCE, R_TYPE, READING, READY, READY_HIGH,
    READY_LOW, SEND_OTHER, SENDING, SENDING_ACK, SENDING_BUFFER,
};
use crate::{Gm, Nic};

/// Bytes of a payload on the wire.
#[inline(always)]
pub const fn padded(length: u32) -> u32 {
    (length + 3) & !3
}

impl<N: Nic> Gm<N> {
    /// SDMA: fills free send buffers.
    #[inline(always)]
    pub(crate) fn read_machine(&mut self) {
        loop {
            let buffer = self.nic.load(FILL);
            let mut list = READY_HIGH;
            let mut connection = self.nic.load(list);
            if connection == 0 {
                list = READY_LOW;
                connection = self.nic.load(list);
            }
            if connection == 0 || self.nic.load(buffer + BUFFER_STATE) != FREE {
                return;
            }
            let next = self.nic.load(connection + C_READY_NEXT);
            self.nic.store(list, next);
            let flags = self.nic.load(connection + C_FLAGS);
            let record = self.nic.load(connection + C_CURSOR);
            let idle = record == 0 || flags & F_HELD != 0;
            let after = match idle {
                true => 0,
                false => self.nic.load(record + R_NEXT),
            };
            if after == 0 {
                self.nic.store(connection + C_FLAGS, flags & !F_READY);
            } else {
                // The others with packets come first.
                self.append(list, connection, C_READY_NEXT);
            }
            if !idle {
                self.nic.store(connection + C_CURSOR, after);
                self.fill(buffer, connection, record);
            }
        }
    }

    /// Makes the packet of a record in a send buffer and starts its DMA.
    #[inline(always)]
    fn fill(&mut self, buffer: u32, connection: u32, record: u32) {
        let word = self.nic.load(record + R_LENGTH);
        let length = word >> 16;
        let header = buffer + BUFFER_HEADER;
        if length == 0 {
            self.nic.store(buffer + BUFFER_STATE, READY);
        } else {
            let host = HostAddress {
                high: self.nic.load(record + R_HIGH),
                low: self.nic.load(record + R_LOW),
            };
            self.nic.start_read(host, header + HEADER_BYTES, length);
            self.nic.store(buffer + BUFFER_STATE, READING);
            let number = self.nic.load(connection + C_NUMBERS) & 0xFFFF;
            let sequence = self.nic.load(record + R_SEQUENCE);
            self.nic.mark(Event::ReadStarted, number, sequence);
        }
        self.nic.store(FILL, buffer ^ SEND_OTHER);
        let first = self.nic.load(record + R_TYPE);
        let sequence = self.nic.load(record + R_SEQUENCE);
        let end = header + HEADER_BYTES + padded(length);
        self.nic.store(buffer + BUFFER_END, end);
        let start = self.packet_header(header, connection, first, sequence, word);
        self.nic.store(buffer + BUFFER_START, start);
        let other = self.nic.load((buffer ^ SEND_OTHER) + BUFFER_STATE);
        if length != 0 && length <= FAST_BYTES && other != READING {
            self.await_short_read();
        }
    }

    /// Waits for the only DMA from the host, which is short: it ends sooner than the loop of the firmware comes round. The
    /// wait is limited; a DMA that is slower becomes an event.
    #[inline(always)]
    fn await_short_read(&mut self) {
        let mut polls = N::SHORT_READ_POLLS;
        while polls != 0 {
            if self.nic.read_done() {
                return self.on_read();
            }
            polls -= 1;
        }
    }

    /// Writes route and header; returns where the route begins.
    #[inline(always)]
    fn packet_header(
        &mut self,
        header: u32,
        connection: u32,
        first: u32,
        sequence: u32,
        lengths: u32,
    ) -> u32 {
        let numbers = self.nic.load(connection + C_NUMBERS);
        let own = self.nic.load(NODE);
        self.nic.store(header + WORD_TYPE, first);
        self.nic
            .store(header + WORD_TARGET, (numbers & 0xFFFF) >> 1);
        self.nic.store(header + WORD_SEQUENCE, sequence);
        self.nic.store(header + WORD_LENGTH, lengths);
        self.nic.store(header + WORD_SENDER, own);
        self.nic.store(header + WORD_CONNECTIONS, numbers);
        let entry = self.nic.load(connection + C_ROUTE);
        let length = self.nic.load(entry) & 0x1F;
        let mut left = length;
        let mut at = 0;
        while left > at {
            at += 4;
            let word = self.nic.load(entry + defs::gm::map::ROUTE_BYTES - at);
            self.nic.store(header - at, word);
            left = length;
        }
        header - length
    }

    /// SEND: gives the sender an ack, else the next buffer that is ready.
    #[inline(always)]
    pub(crate) fn send_machine(&mut self) {
        if self.nic.load(SENDING) != 0 {
            return;
        }
        let connection = self.nic.load(ACKS);
        if connection != 0 {
            if connection == PROBE {
                return self.send_probe();
            }
            return self.send_ack(connection);
        }
        let buffer = self.nic.load(LEAVE);
        if self.nic.load(buffer + BUFFER_STATE) == READY {
            let start = self.nic.load(buffer + BUFFER_START);
            let end = self.nic.load(buffer + BUFFER_END);
            let header = buffer + BUFFER_HEADER;
            self.nic.send(start, header, end);
            self.nic.store(SENDING, SENDING_BUFFER);
            let numbers = self.nic.load(header + WORD_CONNECTIONS);
            let sequence = self.nic.load(header + WORD_SEQUENCE);
            self.nic.mark(Event::PacketSent, numbers & 0xFFFF, sequence);
        }
    }

    /// Sends the ack that waits at a connection, the first of the list.
    #[inline(always)]
    fn send_ack(&mut self, connection: u32) {
        let next = self.nic.load(connection + C_ACK_NEXT);
        self.nic.store(ACKS, next);
        let flags = self.nic.load(connection + C_FLAGS);
        self.nic.store(connection + C_FLAGS, flags & !F_ACK);
        let header = ACK_BUFFER + BUFFER_HEADER;
        let first = self.nic.load(connection + C_ACK_TYPE);
        let sequence = self.nic.load(connection + C_ACK_SEQUENCE);
        let start = self.packet_header(header, connection, first, sequence, 0);
        self.nic.send(start, header, header + HEADER_BYTES);
        self.nic.store(SENDING, SENDING_ACK);
        let number = self.nic.load(connection + C_NUMBERS) & 0xFFFF;
        self.nic.mark(Event::AckSent, number, sequence);
    }

    /// The packet has left.
    #[inline(always)]
    pub(crate) fn on_sent(&mut self) {
        if self.nic.load(SENDING) == SENDING_BUFFER {
            let buffer = self.nic.load(LEAVE);
            self.nic.store(buffer + BUFFER_STATE, FREE);
            self.nic.store(LEAVE, buffer ^ SEND_OTHER);
        }
        self.nic.store(SENDING, 0);
    }

    /// DMAs are complete.
    #[inline(always)]
    pub(crate) fn on_dma(&mut self) {
        while self.nic.read_done() {
            self.on_read();
        }
        loop {
            let cookie = self.nic.write_done();
            if cookie == 0 {
                break;
            }
            self.on_written(cookie);
        }
    }

    /// The oldest DMA from the host is complete: its buffer can be sent.
    #[inline(always)]
    fn on_read(&mut self) {
        // If both buffers are being filled, the older one is filled next again.
        let mut buffer = self.nic.load(FILL);
        if self.nic.load(buffer + BUFFER_STATE) != READING {
            buffer ^= SEND_OTHER;
        }
        self.nic.store(buffer + BUFFER_STATE, READY);
    }
}
