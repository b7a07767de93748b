//! Execution of the engines: times and costs of bursts and parts, effects of completion (docs/lanai.md, sections 3.5 to 3.9).

use super::arbitration::Engine;
use super::fabric::{BoardContext, BoardEvent, Fabric};
use super::host_dma::{Transfer, sum_of};
use super::isr::Cause;
use super::medium::Incoming;
use super::receiver::Outcome;
use crate::observe::event::{DropReason, TraceKind};
use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;
use crate::wire::unit::Unit;

const fn initiator(to_host: bool) -> Initiator {
    if to_host {
        Initiator::DmaWrite
    } else {
        Initiator::DmaRead
    }
}

const fn times(span: SimTime, count: u64) -> SimTime {
    SimTime::from_ps(span.ps().saturating_mul(count))
}

/// DMA.
impl Fabric {
    /// `DMA_CTR` was written: LANai 4 starts its transfer.
    pub(super) fn start_transfer(&mut self, count: u32, who: Initiator, ctx: &mut BoardContext) {
        if self.dma.active().is_some() {
            let text = format!("DMA of {count:#x} bytes is started during another one");
            return Self::mistake(text, who, ctx);
        }
        self.isr.clear(Cause::Dma);
        self.dma.rest = count & !3;
        if self.dma.rest == 0 {
            return self.raise(Cause::Dma, ctx);
        }
        let transfer = Transfer {
            to_host: self.dma.direction & 1 == 0,
            host: u64::from(self.dma.host & !3),
            local: self.dma.local & !3,
            left: self.dma.rest,
            sum: self.dma.sum,
            block: None,
        };
        self.update_line(ctx);
        self.begin(transfer, SimTime::ZERO, ctx);
    }

    /// Begins the next block of a chain, if the engine is free.
    pub(super) fn next_block(&mut self, ctx: &mut BoardContext) {
        if self.dma.active().is_some() {
            return;
        }
        if let Some(transfer) = self.chains.next(&self.sram) {
            self.begin(transfer, self.timing.dma_block, ctx);
        }
    }

    fn begin(&mut self, transfer: Transfer, extra: SimTime, ctx: &mut BoardContext) {
        let latency = match transfer.to_host {
            true => self.timing.dma_write_latency,
            false => self.timing.dma_read_latency,
        };
        let kind = TraceKind::DmaStarted {
            host: transfer.host,
            local: transfer.local,
            length: transfer.left,
        };
        let who = initiator(transfer.to_host);
        ctx.trace.record(ctx.now, who, kind);
        let number = self.dma.begin(transfer, ctx.now);
        let ready = ctx.now + self.timing.dma_start + extra + latency;
        ctx.schedule(ready, who, BoardEvent::DmaReady(number));
    }

    /// The next burst asks for the PCI bus.
    pub(super) fn dma_ready(&mut self, number: u32, ctx: &mut BoardContext) {
        let tick = self.tick(ctx.now);
        let Some(&mut transfer) = self.dma.step(number) else {
            return;
        };
        let bytes = transfer.left.min(self.timing.dma_burst_bytes);
        let clocks = bytes.div_ceil(self.timing.pci_width_bytes);
        let clocks = u64::from(clocks + self.timing.pci_burst_overhead_clocks);
        let end = ctx.pci.acquire(ctx.now, clocks);
        self.bus.take(Engine::Host, tick, bytes);
        let event = BoardEvent::DmaBurst { number, bytes };
        ctx.schedule(end, initiator(transfer.to_host), event);
    }

    /// A burst is over: its bytes are there.
    pub(super) fn dma_burst(&mut self, number: u32, bytes: u32, ctx: &mut BoardContext) {
        let Some(&mut transfer) = self.dma.step(number) else {
            return;
        };
        let Transfer {
            to_host,
            host,
            local,
            left,
            ..
        } = transfer;
        let moved = if to_host {
            let data = self.sram.copy(local, bytes);
            ctx.write_memory(host, &data).map(|()| data)
        } else {
            let mut data = vec![0; bytes as usize];
            let read = ctx.with_memory(|memory| memory.read_physical(host, &mut data));
            read.map(|()| data)
        };
        let Ok(data) = moved else {
            return self.dma_failed(transfer, ctx);
        };
        if !to_host {
            self.sram.store(local, &data);
        }
        if let Some(transfer) = self.dma.step(number) {
            transfer.sum = sum_of(transfer.sum, &data);
            transfer.host = host.wrapping_add(bytes.into());
            transfer.local = local.wrapping_add(bytes);
            transfer.left = left - bytes;
        }
        match left - bytes {
            0 => self.dma_done(ctx),
            _ => self.dma_ready(number, ctx),
        }
    }

    fn dma_done(&mut self, ctx: &mut BoardContext) {
        let Some(transfer) = self.dma.end(ctx.now) else {
            return;
        };
        let kind = TraceKind::DmaDone {
            local_end: transfer.local,
        };
        ctx.trace.record(ctx.now, initiator(transfer.to_host), kind);
        let Some((channel, block)) = transfer.block else {
            self.dma.sum = transfer.sum;
            self.dma.host = transfer.host as u32;
            self.dma.local = transfer.local;
            return self.raise(Cause::Dma, ctx);
        };
        if self
            .chains
            .done(channel, block, transfer.sum, &mut self.sram)
        {
            self.raise(Cause::Wake, ctx);
        }
        self.next_block(ctx);
    }

    /// Host memory did not answer: the transfer ends without its completion.
    fn dma_failed(&mut self, transfer: Transfer, ctx: &mut BoardContext) {
        self.dma.failures += 1;
        self.dma.end(ctx.now);
        let kind = TraceKind::DmaFailed {
            host: transfer.host,
        };
        ctx.trace.record(ctx.now, initiator(transfer.to_host), kind);
        if let Some((channel, _)) = transfer.block {
            self.chains.fail(channel);
            self.next_block(ctx);
        }
    }
}

/// Packets that come in.
impl Fabric {
    /// The head of a packet is there. A chip in reset absorbs it.
    pub(super) fn packet_comes(&mut self, incoming: Incoming, ctx: &mut BoardContext) {
        if self.control.is_held() {
            let reason = DropReason::Disabled;
            let kind = TraceKind::FrameDropped { reason };
            return ctx.trace.record(ctx.now, Initiator::Receiver, kind);
        }
        self.receiver.push(incoming);
        self.receive_more(ctx);
    }

    /// Lets the next part of a packet come in, if the receiver may store it.
    pub(super) fn receive_more(&mut self, ctx: &mut BoardContext) {
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

    /// A part of a packet is there: it is stored.
    pub(super) fn part_is_there(&mut self, step: u32, ctx: &mut BoardContext) {
        let tick = self.tick(ctx.now);
        let Some((address, bytes)) = self.receiver.part(step) else {
            return;
        };
        let length = bytes.len() as u32;
        self.sram.store(address, bytes);
        self.bus.take(Engine::Receive, tick, length);
        match self.receiver.stored(length) {
            Outcome::More => {}
            Outcome::Full => self.raise(Cause::Buffer, ctx),
            Outcome::Tail { length, overshoot } => {
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
        self.receive_more(ctx);
    }
}

/// Packets that leave.
impl Fabric {
    /// A limit was written: a segment leaves, with a tail or without.
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
        ready: SimTime,
        ctx: &mut BoardContext,
    ) -> SimTime {
        let packet = self.transmitter.finish(self.appending());
        let head = ready.max(self.transmitter.link_free());
        let byte_time = self.timing.byte_time;
        let end = head.saturating_add(times(byte_time, packet.length()));
        self.transmitter.occupy_link(end);
        let kind = TraceKind::FrameSent {
            address,
            length: packet.bytes().len() as u32,
        };
        ctx.trace.record(ctx.now, Initiator::Transmitter, kind);
        match self.looped {
            Some(delay) => {
                let head = head + delay;
                let packet = self.turned_back(packet);
                let event = BoardEvent::Head(Incoming {
                    packet,
                    head,
                    byte_time,
                });
                ctx.schedule(head, Initiator::Receiver, event);
            }
            None => self.outbox.send(head, packet),
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
            times(self.timing.byte_time, bytes.into())
        } else {
            // The sender takes it from memory, and waits for the rest.
            let clocks = bytes.div_ceil(self.timing.memory_width_bytes);
            let clock = SimTime::from_ps(1_000_000_000_000 / self.timing.core_clock_hz);
            times(clock, clocks.into())
        };
        let event = BoardEvent::SendPart { segment, tail };
        ctx.schedule(begin + span, Initiator::Transmitter, event);
    }

    /// A part of a segment has left.
    pub(super) fn part_has_left(&mut self, segment: u32, tail: bool, ctx: &mut BoardContext) {
        let burst = self.timing.packet_burst_bytes;
        let Some(bytes) = self.transmitter.next(segment, burst) else {
            return;
        };
        let tick = self.tick(ctx.now);
        self.bus.take(Engine::Send, tick, bytes);
        if self.transmitter.left(bytes) {
            return self.raise(Cause::Send, ctx);
        }
        self.schedule_part(segment, tail, ctx.now, ctx);
    }
}
