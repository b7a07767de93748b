//! Execution of sender and receiver: times and costs of parts of packets, and what the network says about them
//! (docs/lanai.md, sections 3.5, 3.6 and 3.14).

use super::arbitration::Engine;
use super::fabric::{BoardContext, BoardEvent, Fabric};
use super::isr::Cause;
use super::receiver::{Incoming, StoreOutcome};
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_base::unit::{Arrival, Unit};
use emulator_observe::event::{Details, DropReason, FrameHead, TraceKind};
use emulator_wire::myrinet::{Control, Direction, Packet, RouteByte};

const fn times(span: SimTime, count: u64) -> SimTime {
    SimTime::from_ps(span.ps().saturating_mul(count))
}

/// The first bytes behind the route of a packet, as big-endian words; zeros behind its end.
fn head(packet: &Packet) -> FrameHead {
    let bytes = packet.bytes();
    let route = bytes
        .iter()
        .take_while(|&&byte| RouteByte::read(byte).is_some());
    let mut behind = bytes[route.count()..].iter();
    let mut head = FrameHead::default();
    for word in &mut head {
        *word = (0..4).fold(0, |word, _| {
            word << 8 | u32::from(behind.next().copied().unwrap_or(0))
        });
    }
    head
}

/// Records a packet's head, if an observer requests it.
fn note_head(packet: &Packet, initiator: Initiator, ctx: &mut BoardContext) {
    if ctx.trace.wants(Details::FRAMES) {
        let (fcs, head) = (packet.check(), head(packet));
        let kind = TraceKind::FrameHead { fcs, head };
        ctx.trace.record_detail(ctx.now, initiator, None, kind);
    }
}

/// Packets that come in.
impl Fabric {
    /// The packet as the receiver gets it.
    pub(super) fn incoming(&self, arrival: Arrival<Packet>) -> Incoming {
        let Arrival { head, tail, unit } = arrival;
        Incoming::new(unit, head, tail, self.port.byte_time())
    }

    /// Receives the head of a packet. A chip in reset absorbs it.
    pub(super) fn packet_comes(&mut self, mut incoming: Incoming, ctx: &mut BoardContext) {
        let absorb = self.control.is_held();
        self.port.head_came(absorb);
        if absorb {
            return self.drop_packet(incoming.into_packet(), DropReason::Disabled, ctx);
        }
        // The head may have left the far end before STOP came there.
        if let Some(hold) = self.port.hold().filter(|hold| ctx.now <= hold.from) {
            incoming.stop(hold.from);
            if hold.until != SimTime::MAX {
                incoming.go(hold.until);
            }
        }
        self.receiver.push(incoming);
        self.hold_up(ctx);
        self.receive_more(ctx);
    }

    /// Packets in the port are lost by a reset.
    pub(super) fn lose_incoming(&mut self, lost: Vec<Packet>, ctx: &mut BoardContext) {
        for packet in lost {
            self.drop_packet(packet, DropReason::Reset, ctx);
        }
    }

    fn drop_packet(&mut self, packet: Packet, reason: DropReason, ctx: &mut BoardContext) {
        self.traffic
            .drop_unit(packet, reason, &mut self.outbox, ctx);
    }

    /// Receives the tail of the packet whose head came last.
    fn tail_comes(&mut self, whole: bool, ctx: &mut BoardContext) {
        if self.port.is_absorbing() {
            return;
        }
        let checking = self.checking();
        self.receiver.tail(ctx.now, whole, checking);
        self.receive_more(ctx);
    }

    /// If bytes wait because the receiver is not armed, STOP follows in time.
    fn hold_up(&mut self, ctx: &mut BoardContext) {
        if !self.receiver.holds_up() {
            return;
        }
        if let Some((span, number)) = self.port.fill() {
            let event = BoardEvent::PortFills(number);
            ctx.schedule(ctx.now + span, Initiator::Receiver, event);
        }
    }

    /// Lets the port say STOP, if bytes have waited for a span.
    pub(super) fn port_is_full(&mut self, span: u32, ctx: &mut BoardContext) {
        let Some(stop) = self.port.full(span, ctx.now, &mut self.outbox) else {
            return;
        };
        if let Some(coming) = self.receiver.coming() {
            coming.stop(stop);
        }
        self.blocked(Direction::Receive, true, ctx);
    }

    /// Arms the receiver, after a write of its limit.
    pub(super) fn arm_receiver(&mut self, limit: u32, ctx: &mut BoardContext) {
        self.receiver.arm(limit, ctx.now);
        self.blocked(Direction::Receive, false, ctx);
        self.isr.clear(Cause::Receive);
        self.isr.clear(Cause::Buffer);
        self.update_line(ctx);
        if let Some(go) = self.port.accept_bytes(ctx.now, &mut self.outbox)
            && let Some(coming) = self.receiver.coming()
        {
            coming.go(go);
        }
        self.receive_more(ctx);
    }

    /// Lets the next part of a packet come in, if the receiver may store it.
    fn receive_more(&mut self, ctx: &mut BoardContext) {
        let checking = self.checking();
        let burst = self.timing.packet_burst_bytes;
        let Some(part) = self.receiver.next(ctx.now, burst, checking) else {
            return;
        };
        let rest = match part.last {
            true => self.timing.packet_receive_end,
            false => SimTime::ZERO,
        };
        let event = BoardEvent::ReceivePart(part.step);
        ctx.schedule(part.end + rest, Initiator::Receiver, event);
    }

    /// Stores a part of a packet.
    pub(super) fn part_is_there(&mut self, step: u32, ctx: &mut BoardContext) {
        let tick = self.tick(ctx.now);
        // The receiver forgets the packet with its last part.
        let packet = match ctx.trace.wants(Details::FRAMES) {
            true => self.receiver.first().cloned(),
            false => None,
        };
        let Some((address, bytes)) = self.receiver.part(step) else {
            return;
        };
        let length = bytes.len() as u32;
        self.sram.store(address, bytes);
        self.bus.occupy(Engine::Receive, tick, length);
        let is_damaged = self.receiver.is_damaged(self.checking());
        match self.receiver.stored(length, ctx.now) {
            StoreOutcome::More => {}
            StoreOutcome::Full => self.raise(Cause::Buffer, ctx),
            StoreOutcome::Tail { length, overshoot } => {
                self.traffic.stored += 1;
                self.traffic.damaged += u64::from(is_damaged);
                if let Some(packet) = packet {
                    note_head(&packet, Initiator::Receiver, ctx);
                }
                let address = self.receiver.pointer;
                let kind = TraceKind::FrameReceived {
                    address,
                    length,
                    status: overshoot,
                };
                ctx.trace.record(ctx.now, Initiator::Receiver, kind);
                self.isr.set_overshoot(overshoot);
                self.raise(Cause::Receive, ctx);
            }
        }
        self.hold_up(ctx);
        self.receive_more(ctx);
    }
}

/// Packets that leave.
impl Fabric {
    /// Sends a segment, with a tail or without, after a write of a limit.
    pub(super) fn send(&mut self, limit: u32, tail: bool, who: Initiator, ctx: &mut BoardContext) {
        let (start, length) = self.transmitter.range(limit);
        if self.transmitter.is_busy() || length > self.sram.size() {
            let text =
                format!("segment of {length:#x} bytes while the sender is busy, or too long");
            return Self::mistake(text, who, ctx);
        }
        self.isr.clear(Cause::Send);
        self.update_line(ctx);
        let bytes = self.sram.copy(start, length);
        let segment = self.transmitter.begin(limit, start, &bytes);
        let ready = ctx.now + self.timing.packet_send_start;
        let begin = match tail {
            true => self.packet_leaves(start, length, ready, ctx),
            false => ready,
        };
        self.schedule_part(segment, tail, begin, ctx);
    }

    /// The packet leaves whose tail is asked for. Returns when its last segment of `length` bytes begins to leave.
    fn packet_leaves(
        &mut self,
        address: u32,
        length: u32,
        head: SimTime,
        ctx: &mut BoardContext,
    ) -> SimTime {
        let packet = self.transmitter.finish(self.appending());
        let byte_time = self.port.byte_time();
        let end = head.saturating_add(times(byte_time, packet.length()));
        note_head(&packet, Initiator::Transmitter, ctx);
        let kind = TraceKind::FrameSent {
            address,
            length: packet.bytes().len() as u32,
        };
        ctx.trace.record(ctx.now, Initiator::Transmitter, kind);
        self.traffic.sent += 1;
        if self.port.has_cable() {
            self.transmitter.hand_over(self.port.count_sent());
            self.outbox.send(head, packet);
            let stopped = self.port.is_sender_stopped();
            self.blocked(Direction::Send, stopped, ctx);
        } else {
            self.outbox.send_without_carrier(head, packet);
        }
        end.saturating_sub(times(byte_time, length.into()))
            .max(head)
    }

    /// Schedules the end of the next part of a segment that leaves from `begin` on.
    fn schedule_part(&self, segment: u32, tail: bool, begin: SimTime, ctx: &mut BoardContext) {
        let burst = self.timing.packet_burst_bytes;
        let Some(bytes) = self.transmitter.next(segment, burst) else {
            return;
        };
        let span = if tail {
            times(self.port.byte_time(), bytes.into())
        } else {
            // The sender takes it from memory, and waits for the rest.
            let clocks = bytes.div_ceil(self.timing.memory_width_bytes);
            let clock = SimTime::from_ps(1_000_000_000_000 / self.timing.core_clock_hz);
            times(clock, clocks.into())
        };
        let event = BoardEvent::SendPart { segment, tail };
        ctx.schedule(begin + span, Initiator::Transmitter, event);
    }

    /// Ends the departure of a part of a segment, unless STOP holds it up.
    pub(super) fn part_has_left(&mut self, segment: u32, tail: bool, ctx: &mut BoardContext) {
        let burst = self.timing.packet_burst_bytes;
        let Some(bytes) = self.transmitter.next(segment, burst) else {
            return;
        };
        if tail && self.port.is_sender_stopped() {
            return self.transmitter.pause();
        }
        let tick = self.tick(ctx.now);
        self.bus.occupy(Engine::Send, tick, bytes);
        if self.transmitter.left(bytes) {
            return self.raise(Cause::Send, ctx);
        }
        self.schedule_part(segment, tail, ctx.now, ctx);
    }

    /// Notes that the network is done with a packet of this board.
    fn packet_has_left(&mut self, ctx: &mut BoardContext) {
        let packet = self.port.answer();
        self.blocked(Direction::Send, false, ctx);
        if !self.transmitter.is_leaving(packet) {
            // That of a chip that was reset.
            return;
        }
        let rest = self.transmitter.complete();
        let tick = self.tick(ctx.now);
        self.bus.occupy(Engine::Send, tick, rest);
        self.raise(Cause::Send, ctx);
    }

    /// Handles a control from the network.
    pub(super) fn hear(&mut self, control: Control, ctx: &mut BoardContext) {
        match control {
            Control::Tail { whole } => self.tail_comes(whole, ctx),
            Control::Sent { .. } => self.packet_has_left(ctx),
            Control::Stop => {
                self.port.stop_sender(true);
                let blocked = self.port.is_sending();
                self.blocked(Direction::Send, blocked, ctx);
            }
            Control::Go => {
                self.port.stop_sender(false);
                self.blocked(Direction::Send, false, ctx);
                if let Some(segment) = self.transmitter.resume() {
                    self.schedule_part(segment, true, ctx.now, ctx);
                }
            }
            // The network never says that.
            Control::Reset(_) => {}
        }
    }
}
