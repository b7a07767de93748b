//! Execution of the MAC's decisions: frames leave and arrive (docs/tigon2-io.md, section 6).

use defs::tigon2::counters;
use defs::tigon2::regs as r;
use defs::tigon2::rings::{
    BURST_BYTES, MAC_DESCRIPTOR_BYTES, MAC_RX_BELOW, MAC_TX_BELOW, MacRxDescriptor,
    MacTxDescriptor, RX_STATUS_CRC, RX_STATUS_LINK_LOST, RX_STATUS_RUNT,
};

use crate::fabric::{BoardContext, BoardEvent, Fabric};
use crate::mac::Sending;
use crate::races::BoardRaces;
use crate::sram_banks::SramRange;
use crate::sram_bus::Bursts;
use emulator_base::initiator::{Actor, Initiator};
use emulator_base::time::SimTime;
use emulator_observe::event::{Details, DropReason, TraceKind};
use emulator_state::state;
use emulator_wire::ethernet::frame::{Frame, MAXIMUM_BYTES, MINIMUM_BYTES, PREAMBLE_BYTES};
use emulator_wire::ethernet::link::RECEIVE_HOLD_BYTES;

/// The receive side: the incoming frame.
#[derive(Debug, Default)]
pub struct RxSide {
    /// The frame's first burst was accepted.
    accepted: bool,
    /// Arrival of the last bit of the incoming frame.
    wire_taken_until: SimTime,
    /// The frame whose descriptor is being written.
    storing: Option<Frame>,
}

state!(RxSide {
    accepted,
    wire_taken_until,
    storing
});

impl RxSide {
    /// Discards the incoming frame.
    pub(crate) fn abandon(&mut self) {
        self.accepted = false;
    }
}

impl Fabric {
    /// Starts the next frame if the transmitter is free and the frame is complete. Returns whether
    /// it scheduled an event. `pc` is the instruction that caused the check.
    pub(crate) fn try_transmit(&mut self, pc: Option<u32>, ctx: &mut BoardContext) -> bool {
        while self.mac.wants_descriptor() {
            let base = self.mac.tx_buffer.base.wrapping_sub(MAC_TX_BELOW);
            let at = self.mac.tx.address(base, self.mac.tx.reference);
            let descriptor = MacTxDescriptor::from_words(self.sram.words(at));
            let (address, length) = (descriptor.local(), descriptor.length_bytes());
            let entry = (self.mac.tx.reference, at);
            self.tell_races(|races| races.frame_described(entry, ctx.now));
            if length == 0 || length as usize > MAXIMUM_BYTES {
                self.skip_descriptor(length, pc, ctx);
                continue;
            }
            let Some(sending) = self.mac.covered(address, length) else {
                return false;
            };
            if self.races.is_some() {
                let parts = self.parts(sending);
                self.tell_races(|races| races.frame_taken(parts, ctx.now));
            }
            self.transmit(sending, descriptor.tag(), pc, ctx);
            return true;
        }
        false
    }

    /// Skips a descriptor with an invalid length.
    fn skip_descriptor(&mut self, length: u32, pc: Option<u32>, ctx: &mut BoardContext) {
        let text = format!("MAC transmit descriptor with length {length}: skipped");
        let initiator = Initiator::Transmitter;
        Self::mistake(Actor { initiator, pc }, text, ctx);
        self.mac.tx.reference = self.mac.tx.next(self.mac.tx.reference);
        self.mac.tx.consumer = self.mac.tx.reference;
        self.tx_descriptor_moved(ctx);
    }

    /// Completes a transmit descriptor.
    fn tx_descriptor_moved(&self, ctx: &mut BoardContext) {
        for offset in [r::TX_DESCRIPTOR_REFERENCE, r::TX_DESCRIPTOR_CONSUMER] {
            self.index_moved(Initiator::Transmitter, offset, ctx);
        }
    }

    /// The bytes of a frame, which may wrap in the transmit buffer. There is room for the padding of a short one.
    fn gather(&self, sending: Sending) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MINIMUM_BYTES.max(sending.length as usize));
        for (address, length) in self.parts(sending) {
            self.sram.append(address, length, &mut bytes);
        }
        bytes
    }

    /// The parts of the transmit buffer in which a frame lies, as addresses and lengths: one behind the wrap may be empty.
    fn parts(&self, sending: Sending) -> [(u32, u32); 2] {
        let limit = self.mac.tx_limit();
        let until_wrap = limit.saturating_sub(sending.address).min(sending.length);
        let behind = sending.length - until_wrap;
        [
            (sending.address, until_wrap),
            (self.mac.tx_buffer.base, behind),
        ]
    }

    /// Inserts a VLAN tag behind the two addresses. A frame without them is unchanged.
    fn insert_tag(&self, bytes: &mut Vec<u8>, tag: u16) {
        const ADDRESSES: usize = 12;
        if bytes.len() >= ADDRESSES {
            let kind = self.stored(r::VLAN_TAG_TYPE) & 0xFFFF_0000;
            let words = (kind | u32::from(tag)).to_be_bytes();
            bytes.splice(ADDRESSES..ADDRESSES, words);
        }
    }

    fn transmit(
        &mut self,
        sending: Sending,
        tag: Option<u16>,
        pc: Option<u32>,
        ctx: &mut BoardContext,
    ) {
        let mut bytes = self.gather(sending);
        if let Some(tag) = tag {
            self.insert_tag(&mut bytes, tag);
        }
        let frame = Frame::new(bytes);
        let first_bit = (ctx.now + self.timing.mac_transmit_start).max(self.wire_free_at);
        let end = first_bit + self.link.frame_span(&frame);
        self.wire_free_at = end + self.link.gap();
        self.mac.sending = Some(sending);
        self.traffic.sent += 1;
        // The transmitter fetches a burst, and the next one when that is on the wire.
        let bursts = Bursts {
            next: first_bit,
            period: self.link.span(u64::from(BURST_BYTES)),
            left: sending.length.div_ceil(BURST_BYTES),
            cycles: self.timing.sram_burst_cycles,
            ticks: self.ticks,
        };
        self.sram.expect_bursts(bursts, self.parts(sending));
        ctx.schedule(end, Initiator::Transmitter, BoardEvent::TxDone);
        note_head(&frame, first_bit, Initiator::Transmitter, ctx);
        let kind = TraceKind::FrameSent {
            address: sending.address,
            length: sending.length,
        };
        ctx.trace
            .record_at(first_bit, Initiator::Transmitter, pc, kind);
        if self.serdes.signal {
            self.outbox.send(first_bit, frame);
        } else {
            self.outbox.send_without_carrier(first_bit, frame);
        }
    }

    /// Ends a transmission: the last bit is on the wire.
    pub(crate) fn tx_done(&mut self, ctx: &mut BoardContext) {
        if self.mac.sent() {
            self.tell_races(BoardRaces::frame_sent);
            self.tx_descriptor_moved(ctx);
            self.index_moved(Initiator::Transmitter, r::TX_BUFFER_CONSUMER, ctx);
        }
        self.try_transmit(None, ctx);
    }

    /// Accepts a frame whose first bit arrives at `first_bit`.
    pub(crate) fn frame_begins(
        &mut self,
        frame: Frame,
        first_bit: SimTime,
        ctx: &mut BoardContext,
    ) {
        self.traffic.announced += 1;
        let time = first_bit + self.held_span(&frame);
        let event = BoardEvent::RxBurst { frame, offset: 0 };
        ctx.schedule(time, Initiator::Receiver, event);
    }

    /// Time of a frame's part that arrives before the MAC processes it.
    fn held_span(&self, frame: &Frame) -> SimTime {
        let bytes = frame.length_with_fcs().min(RECEIVE_HOLD_BYTES);
        self.link.span(PREAMBLE_BYTES + bytes)
    }

    /// Whether the wire is free for a frame whose first bytes have arrived; takes the wire if so.
    fn takes_wire(&mut self, frame: &Frame, now: SimTime) -> bool {
        let first_bit = now.saturating_sub(self.held_span(frame));
        let free = first_bit >= self.rx_side.wire_taken_until;
        if free {
            self.rx_side.wire_taken_until = first_bit + self.link.frame_span(frame);
        }
        free
    }

    /// Handles the arrival of another 64 bytes (the last burst may be shorter).
    pub(crate) fn rx_burst(&mut self, frame: Frame, offset: u32, ctx: &mut BoardContext) {
        if offset == 0 && !self.takes_wire(&frame, ctx.now) {
            // Impossible on a cable: reports a mistake of the frames' injector.
            let text = "a frame begins within another one: lost".into();
            Self::mistake(Initiator::Receiver, text, ctx);
            return self.drop_frame(frame, DropReason::Overlap, ctx);
        }
        if offset == 0 {
            let accepted = if self.serdes.signal {
                self.mac.accept(&frame)
            } else {
                Err(DropReason::NoSignal)
            };
            match accepted {
                Ok(()) => self.rx_side.accepted = true,
                Err(reason) => {
                    self.rx_side.accepted = false;
                    return self.drop_frame(frame, reason, ctx);
                }
            }
        } else if !self.rx_side.accepted {
            return self.drop_frame(frame, DropReason::Reset, ctx);
        }
        if !self.serdes.signal {
            self.rx_side.accepted = false;
            return self.rx_stored(frame, offset, RX_STATUS_LINK_LOST, ctx);
        }
        let length = frame.length_with_fcs() as u32;
        let part = (length - offset).min(BURST_BYTES);
        let address = self.store_rx(&frame, offset, part, ctx);
        let bytes = part;
        self.charge_burst(SramRange { address, bytes }, ctx.now);
        let next = offset + part;
        if next == length {
            self.rx_side.accepted = false;
            let mut status = 0;
            if !frame.is_intact() {
                status |= RX_STATUS_CRC;
                self.count(counters::CRC_ERRORS);
            }
            if frame.bytes().len() < MINIMUM_BYTES {
                status |= RX_STATUS_RUNT;
            }
            return self.rx_stored(frame, length, status, ctx);
        }
        let time = ctx.now + self.link.span(u64::from((length - next).min(BURST_BYTES)));
        let event = BoardEvent::RxBurst {
            frame,
            offset: next,
        };
        ctx.schedule(time, Initiator::Receiver, event);
    }

    /// Writes bytes `offset..offset + part` of a frame with its FCS to the receive buffer. Returns the address.
    fn store_rx(&mut self, frame: &Frame, offset: u32, part: u32, ctx: &mut BoardContext) -> u32 {
        let (offset_bytes, part_bytes) = (offset as usize, part as usize);
        let at = self.mac.rx_place(offset);
        let ends_at = at.saturating_add(part);
        if let Some(bytes) = frame.bytes().get(offset_bytes..offset_bytes + part_bytes)
            && ends_at <= defs::tigon2::map::RX_BUFFER_LIMIT
        {
            // All bursts but the last ones of frame and buffer.
            self.watch(at, part, Initiator::Receiver, ctx);
            self.tell_races(|races| races.frame_stored(at, part, ctx.now));
            self.sram.copy_in(at, bytes);
            return at;
        }
        let mut buffer = [0; BURST_BYTES as usize];
        let data = frame.bytes().get(offset_bytes..).unwrap_or_default();
        let of_data = data.len().min(part_bytes);
        buffer[..of_data].copy_from_slice(&data[..of_data]);
        let fcs = frame.fcs().to_le_bytes();
        let sent = (offset_bytes + of_data).saturating_sub(frame.bytes().len());
        for (byte, sum) in buffer[of_data..part_bytes]
            .iter_mut()
            .zip(&fcs[sent.min(4)..])
        {
            *byte = *sum;
        }
        // A burst may straddle the buffer's end: starts are multiples of 64, but so is the end
        // only if the firmware chose its base so.
        let room = (defs::tigon2::map::RX_BUFFER_LIMIT.saturating_sub(at)).min(part) as usize;
        let (who, base) = (Initiator::Receiver, self.mac.rx_buffer.base);
        self.watch(at, room as u32, who, ctx);
        self.watch(base, part - room as u32, who, ctx);
        self.tell_races(|races| {
            races.frame_stored(at, room as u32, ctx.now);
            races.frame_stored(base, part - room as u32, ctx.now);
        });
        self.sram.copy_in(at, &buffer[..room]);
        self.sram
            .copy_in(self.mac.rx_buffer.base, &buffer[room..part as usize]);
        at
    }

    /// Possible destinations of the incoming frame's burst at `offset`: addresses and lengths.
    pub(crate) fn rx_writes(&self, offset: u32) -> [(u32, u32); 2] {
        [self.mac.rx_place(offset), self.mac.rx_buffer.base].map(|at| (at, BURST_BYTES))
    }

    /// Ends the reception of a frame after `length` bytes.
    fn rx_stored(&mut self, frame: Frame, length: u32, status: u32, ctx: &mut BoardContext) {
        // A corrupt or truncated frame is stored, with its status, but not counted as kept.
        if status & (RX_STATUS_CRC | RX_STATUS_LINK_LOST) == 0 {
            self.count(match frame.bytes().first_chunk::<6>() {
                Some([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) => counters::KEPT_BROADCAST,
                Some([first, ..]) if first & 1 != 0 => counters::KEPT_MULTICAST,
                _ => counters::KEPT_UNICAST,
            });
        }
        note_head(&frame, ctx.now, Initiator::Receiver, ctx);
        self.rx_side.storing = Some(frame);
        let (index, address) = self.mac.reserve(length);
        self.index_moved(Initiator::Receiver, r::RX_BUFFER_PRODUCER, ctx);
        let descriptor = MacRxDescriptor::new(address, status, length);
        let event = BoardEvent::RxDone {
            index,
            address: descriptor.address,
            status_length: descriptor.status_length,
        };
        // The receiver holds one frame: its descriptor is there before a burst of the next one is.
        let held = self.link.span(PREAMBLE_BYTES + RECEIVE_HOLD_BYTES);
        let time = ctx.now + self.timing.mac_receive_end.min(held);
        ctx.schedule(time, Initiator::Receiver, event);
    }

    /// Writes the descriptor of a stored frame to SRAM and advances the producer.
    pub(crate) fn rx_done(
        &mut self,
        index: u32,
        descriptor: MacRxDescriptor,
        ctx: &mut BoardContext,
    ) {
        if self.mac.rx.producer != index || self.rx_side.storing.take().is_none() {
            // The chip was reset in between.
            return;
        }
        self.traffic.stored += 1;
        if descriptor.status() & (RX_STATUS_CRC | RX_STATUS_LINK_LOST) != 0 {
            self.traffic.damaged += 1;
        }
        let base = self.mac.tx_buffer.base.wrapping_sub(MAC_RX_BELOW);
        let at = base.wrapping_add(index * MAC_DESCRIPTOR_BYTES);
        self.watch(at, MAC_DESCRIPTOR_BYTES, Initiator::Receiver, ctx);
        self.tell_races(|races| races.frame_received(at, ctx.now));
        let [word0, word1] = descriptor.words();
        self.sram.set_word(at, word0);
        self.sram.set_word(at.wrapping_add(4), word1);
        self.mac.deliver();
        self.index_moved(Initiator::Receiver, r::RX_DESCRIPTOR_PRODUCER, ctx);
        self.update_levels();
        let kind = TraceKind::FrameReceived {
            address: descriptor.address,
            length: descriptor.length_bytes(),
            status: descriptor.status(),
        };
        ctx.trace.record(ctx.now, Initiator::Receiver, kind);
    }

    /// Drops the incoming frame, and one that is being stored.
    pub(crate) fn abandon_incoming(&mut self, ctx: &mut BoardContext) {
        self.rx_side.abandon();
        if let Some(frame) = self.rx_side.storing.take() {
            self.traffic
                .drop_unit(frame, DropReason::Reset, &mut self.outbox, ctx);
        }
    }

    fn drop_frame(&mut self, frame: Frame, reason: DropReason, ctx: &mut BoardContext) {
        let multicast = frame.bytes().first().is_some_and(|first| first & 1 != 0);
        match reason {
            DropReason::Disabled
            | DropReason::NoSignal
            | DropReason::Reset
            | DropReason::Overlap => {}
            DropReason::Pause => self.count(counters::DROPPED_PAUSE),
            DropReason::Filtered if multicast => self.count(counters::DROPPED_MULTICAST),
            DropReason::Filtered => self.count(counters::DROPPED_UNICAST),
            DropReason::NoSpace => self.count(counters::DROPPED_SPACE),
        }
        note_head(&frame, ctx.now, Initiator::Receiver, ctx);
        self.traffic.drop_unit(frame, reason, &mut self.outbox, ctx);
    }
}

/// Records a frame's head, if an observer requests it.
fn note_head(frame: &Frame, time: SimTime, initiator: Initiator, ctx: &mut BoardContext) {
    if ctx.trace.wants(Details::FRAMES) {
        let (fcs, head) = (frame.fcs(), frame.head());
        let kind = TraceKind::FrameHead { fcs, head };
        ctx.trace.record_detail(time, initiator, None, kind);
    }
}
