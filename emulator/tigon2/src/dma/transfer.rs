//! Execution of DMA: times and costs of bursts, effects of a completion
//! (docs/tigon2-io.md, section 5).

use defs::tigon2::regs::{self, DmaState};
use defs::tigon2::rings::{DMA_CHECKSUM_OFFSET, DmaDescriptor, READ_RING_BELOW, WRITE_RING_BELOW};

use crate::dma::stall::StallFrom;
use crate::dma::{Burst, Channel, Direction, swap_words};
use crate::fabric::{BoardContext, BoardEvent, Fabric};
use crate::sram_banks::SramRange;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_observe::event::TraceKind;
use emulator_state::value_struct;

/// A step of a channel. The generation shows whether it still belongs to the current transfer.
#[derive(Debug, Clone, Copy)]
pub struct DmaStep {
    direction: Direction,
    generation: u32,
    /// The burst that ends now; `None` when the channel is ready for its first one.
    burst: Option<Burst>,
}

value_struct!(DmaStep {
    direction: direction,
    generation: generation,
    burst: burst
});

impl DmaStep {
    /// The channel of the step.
    pub(crate) const fn initiator(&self) -> Initiator {
        self.direction.initiator()
    }
}

/// Largest burst in bytes.
const BURST: usize = defs::tigon2::rings::BURST_BYTES as usize;

impl Fabric {
    pub(crate) fn channel(&mut self, direction: Direction) -> &mut Channel {
        match direction {
            Direction::Read => &mut self.dma_read,
            Direction::Write => &mut self.dma_write,
        }
    }

    /// Stalls a channel for `span`: it begins no burst in that time. Resets
    /// do not end this injected fault.
    pub fn stall_dma(&mut self, direction: Direction, from: StallFrom, span: SimTime) {
        self.rests[direction as usize].plan(from, span);
    }

    /// Shortest time from the start of a transfer to its first burst.
    #[inline]
    pub(crate) fn bus_lead(&self) -> SimTime {
        let (read, write) = (self.timing.dma_read_latency, self.timing.dma_write_latency);
        self.timing.dma_start + read.min(write)
    }

    /// Address and length of a step's write to local memory.
    pub(crate) fn dma_writes(&self, step: &DmaStep) -> Option<(u32, u32)> {
        let burst = step.burst.filter(|_| step.direction == Direction::Read)?;
        Some((burst.local, burst.length))
    }

    /// Schedules the first step of a transfer that was just started, by the instruction at `pc` if by any.
    pub(crate) fn start_transfer(
        &mut self,
        direction: Direction,
        pc: Option<u32>,
        ctx: &mut BoardContext,
    ) {
        let latency = match direction {
            Direction::Read => self.timing.dma_read_latency,
            Direction::Write => self.timing.dma_write_latency,
        };
        let start = self.timing.dma_start + latency;
        self.rests[direction as usize].transfer_begins(ctx.now);
        let channel = self.channel(direction);
        channel.begins_at(ctx.now);
        let step = DmaStep {
            direction,
            generation: channel.generation(),
            burst: None,
        };
        let started = TraceKind::DmaStarted {
            host: channel.host,
            local: channel.local,
            length: channel.length,
        };
        ctx.trace
            .record_at(ctx.now, direction.initiator(), pc, started);
        self.schedule_step(ctx.now + start, step, ctx);
    }

    fn schedule_step(&self, time: SimTime, step: DmaStep, ctx: &mut BoardContext) {
        ctx.schedule(time, step.direction.initiator(), BoardEvent::Dma(step));
    }

    /// Starts waiting ring entries, if the assist may. Returns whether it started any. `pc` is the
    /// instruction that caused the check.
    pub(crate) fn poll_assist(&mut self, pc: Option<u32>, ctx: &mut BoardContext) -> bool {
        self.poll_assist_from(Direction::Read, pc, ctx)
    }

    /// Like [`poll_assist`](Self::poll_assist), with a preference: with one DMA at a time, the
    /// channels alternate.
    fn poll_assist_from(
        &mut self,
        first: Direction,
        pc: Option<u32>,
        ctx: &mut BoardContext,
    ) -> bool {
        let mut started = false;
        for direction in [first, first.other()] {
            let other_busy = self.channel(direction.other()).active();
            let channel = self.channel(direction);
            if channel.active() || channel.failed() || !self.assist.may_start(other_busy) {
                continue;
            }
            let (ring, below) = match direction {
                Direction::Read => (&self.assist.read, READ_RING_BELOW),
                Direction::Write => (&self.assist.write, WRITE_RING_BELOW),
            };
            if ring.pending() == 0 {
                continue;
            }
            let base = self.mac.tx_buffer.base.wrapping_sub(below);
            let at = ring.address(base, ring.reference);
            let entry = Some((ring.reference, at));
            self.load_descriptor(direction, at);
            self.tell_races(|races| races.transfer_begins(direction, entry, ctx.now));
            self.start_transfer(direction, pc, ctx);
            started = true;
        }
        started
    }

    /// Copies a ring entry to the channel's registers.
    fn load_descriptor(&mut self, direction: Direction, at: u32) {
        let descriptor = DmaDescriptor::from_words(self.sram.words(at));
        let (host, length) = (descriptor.host(), descriptor.length_bytes());
        self.channel(direction)
            .load(host, descriptor.local, length, descriptor.state);
    }

    /// Executes a step that is due.
    pub(crate) fn dma_step(&mut self, step: DmaStep, ctx: &mut BoardContext) {
        let channel = self.channel(step.direction);
        if !channel.active() || channel.generation() != step.generation {
            return;
        }
        if let Some(burst) = step.burst
            && !self.move_burst(step.direction, burst, ctx)
        {
            self.update_levels();
            return;
        }
        let channel_local = self.channel(step.direction).local;
        let region = self.mac.region_of(channel_local);
        match self.channel(step.direction).next_burst(region) {
            Some(_) if self.rests(step, ctx) => {}
            Some(burst) => {
                let end = ctx.pci.acquire(ctx.now, self.burst_clocks(burst.length));
                let burst = Some(burst);
                self.schedule_step(end, DmaStep { burst, ..step }, ctx);
            }
            None => self.complete(step.direction, ctx),
        }
    }

    /// Delays the next burst to the end of a current stall.
    fn rests(&mut self, step: DmaStep, ctx: &mut BoardContext) -> bool {
        let Some(until) = self.rests[step.direction as usize].until(ctx.now) else {
            return false;
        };
        let kind = TraceKind::DmaRests { until };
        ctx.trace.record(ctx.now, step.direction.initiator(), kind);
        let burst = None;
        self.schedule_step(until, DmaStep { burst, ..step }, ctx);
        true
    }

    const fn burst_clocks(&self, length: u32) -> u64 {
        let data = length.div_ceil(self.timing.pci_width_bytes);
        (data + self.timing.pci_burst_overhead_clocks) as u64
    }

    /// Moves the bytes of a burst; returns whether host memory answered.
    fn move_burst(&mut self, direction: Direction, burst: Burst, ctx: &mut BoardContext) -> bool {
        let mut buffer = [0; BURST];
        let bytes = &mut buffer[..burst.length as usize];
        let keep_values = self.channel(direction).has(DmaState::NO_BYTE_SWAP);
        self.tell_races(|races| races.moved(direction, burst.local, burst.length, ctx.now));
        let moved = match direction {
            Direction::Read => ctx.with_memory(|m| m.read_physical(burst.host, bytes)),
            Direction::Write => {
                self.sram.copy_out(burst.local, bytes);
                if keep_values {
                    swap_words(bytes);
                }
                ctx.write_memory(burst.host, bytes)
            }
        };
        let range = SramRange {
            address: burst.local,
            bytes: burst.length,
        };
        self.charge_burst(range, ctx.now);
        if moved.is_err() {
            self.channel(direction).fail(DmaState::MASTER_ABORT);
            self.tell_races(|races| races.transfer_ends(direction, None, ctx.now));
            let failed = TraceKind::DmaFailed { host: burst.host };
            ctx.trace.record(ctx.now, direction.initiator(), failed);
            return false;
        }
        if direction == Direction::Read {
            if keep_values {
                swap_words(bytes);
            }
            self.watch(burst.local, burst.length, direction.initiator(), ctx);
            self.sram.copy_in(burst.local, bytes);
        }
        let region = self.mac.region_of(burst.local);
        self.channel(direction).advance(burst, region, bytes);
        true
    }

    /// Completes a transfer: pointers, ring, next descriptor, waiting frames.
    fn complete(&mut self, direction: Direction, ctx: &mut BoardContext) {
        let channel = self.channel(direction);
        channel.finish(ctx.now);
        let local_end = channel.local;
        let by_assist = channel.by_assist;
        let release = channel.has(DmaState::RELEASE_TX);
        let free = channel.has(DmaState::FREE_RX);
        ctx.trace.record(
            ctx.now,
            direction.initiator(),
            TraceKind::DmaDone { local_end },
        );
        let moves = match direction {
            Direction::Read if release => Some(regs::TX_BUFFER_PRODUCER),
            Direction::Write if free => Some(regs::RX_BUFFER_CONSUMER),
            _ => None,
        };
        self.tell_races(|races| races.transfer_ends(direction, moves, ctx.now));
        if by_assist {
            self.retire_descriptor(direction);
            let reference = match direction {
                Direction::Read => regs::READ_RING_REFERENCE,
                Direction::Write => regs::WRITE_RING_REFERENCE,
            };
            self.index_moved(direction.initiator(), reference, ctx);
        }
        match direction {
            Direction::Read if release => {
                self.mac.tx_buffer.producer = local_end;
                self.index_moved(Initiator::DmaRead, regs::TX_BUFFER_PRODUCER, ctx);
            }
            Direction::Write if free => {
                self.mac.rx_buffer.consumer = local_end;
                self.index_moved(Initiator::DmaWrite, regs::RX_BUFFER_CONSUMER, ctx);
            }
            _ => {}
        }
        self.update_levels();
        self.poll_assist_from(direction.other(), None, ctx);
        self.try_transmit(None, ctx);
    }

    /// Stores the checksum and advances the assist's reference.
    fn retire_descriptor(&mut self, direction: Direction) {
        let base = self.mac.tx_buffer.base;
        let channel = match direction {
            Direction::Read => &mut self.dma_read,
            Direction::Write => &mut self.dma_write,
        };
        channel.by_assist = false;
        let deliver = channel
            .has(DmaState::CHECKSUM_DELIVER)
            .then_some(channel.checksum);
        let (ring, below) = match direction {
            Direction::Read => (&mut self.assist.read, READ_RING_BELOW),
            Direction::Write => (&mut self.assist.write, WRITE_RING_BELOW),
        };
        if let Some(sum) = deliver {
            // The sum is in the low half of the pointer word, where known firmware points.
            let entry = ring.address(base.wrapping_sub(below), ring.reference);
            let at = entry.wrapping_add(DMA_CHECKSUM_OFFSET);
            let word = self.sram.word(at) & 0xFFFF_0000 | sum & 0xFFFF;
            self.sram.set_word(at, word);
        }
        ring.reference = ring.next(ring.reference);
    }
}
