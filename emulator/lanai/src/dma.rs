//! Execution of DMA: times and costs of bursts, effects of completion (docs/lanai.md, sections 3.8 and 3.9).

use super::arbitration::Engine;
use super::fabric::{BoardContext, BoardEvent, Fabric};
use super::host_dma::{Transfer, sum_of};
use super::isr::Cause;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_observe::event::TraceKind;

const fn initiator(to_host: bool) -> Initiator {
    if to_host {
        Initiator::DmaWrite
    } else {
        Initiator::DmaRead
    }
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
    #[inline]
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

    /// Asks for the PCI bus for the next burst.
    pub(super) fn dma_ready(&mut self, number: u32, ctx: &mut BoardContext) {
        let tick = self.tick(ctx.now);
        let Some(&mut transfer) = self.dma.step(number) else {
            return;
        };
        let bytes = transfer.left.min(self.timing.dma_burst_bytes);
        let clocks = bytes.div_ceil(self.timing.pci_width_bytes);
        let clocks = u64::from(clocks + self.timing.pci_burst_overhead_clocks);
        let end = ctx.pci.acquire(ctx.now, clocks);
        self.bus.occupy(Engine::Host, tick, bytes);
        let event = BoardEvent::DmaBurst { number, bytes };
        ctx.schedule(end, initiator(transfer.to_host), event);
    }

    /// Ends a burst: its bytes are there.
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
