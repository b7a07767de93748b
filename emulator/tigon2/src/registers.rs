//! The register file: values and effects of each offset (docs/tigon2-registers.md, section 2).
//!
//! For the registers of the cores (0x140.., 0x180.., 0x240.., 0x280..) see `cores`.

use defs::tigon2::banks;
use defs::tigon2::map::{REGISTER_BYTES, RX_BUFFER_LIMIT};
use defs::tigon2::regs as r;
use defs::tigon2::regs::{DmaState, HostControl, MacRxState};
use defs::tigon2::rings::{MAC_RX_BELOW, MAC_TX_BELOW, READ_RING_BELOW, WRITE_RING_BELOW};

use super::dma::Direction;
use super::fabric::{BoardContext, Fabric};
use super::semaphore::{Side, ToggleEffect};
use emulator_base::initiator::Actor;
use emulator_base::time::SimTime;
use emulator_board::races::Agent;
use emulator_observe::event::{Details, TraceKind};

/// Chip revision in HOST_CONTROL: Tigon2.
const REVISION: u32 = r::REVISION_TIGON2 << r::REVISION_SHIFT;
/// Bits of HOST_CONTROL that read as they were written: 11:4, with byte and word swap. Below are commands and the interrupt, above the revision.
const HOST_CONTROL_STORED: u32 = 0xFF0;
/// Registers in the file.
const WORDS: usize = (REGISTER_BYTES / 4) as usize;

impl Fabric {
    /// Reads a register. `offset` is a multiple of 4 at which there is one. No read has a side effect.
    #[must_use]
    pub fn read_register(&self, offset: u32, now: SimTime) -> u32 {
        match offset {
            r::HOST_CONTROL => {
                REVISION | self.stored(offset) & HOST_CONTROL_STORED | u32::from(self.interrupt)
            }
            r::LOCAL_CONTROL => self.read_local_control(self.stored(offset)),
            r::SEMAPHORE_A => self.semaphore.read(0, Side::A),
            r::SEMAPHORE_B => self.semaphore.read(0, Side::B),
            r::TIMER => self.timer.read(now),
            r::TIMER_REFERENCE_A => self.timer.reference(0),
            r::TIMER_REFERENCE_B => self.timer.reference(1),
            r::EVENT_A => self.read_event(0, now),
            r::EVENT_B => self.read_event(1, now),
            r::MAILBOX_EVENT_A => self.mailbox.read(0),
            r::MAILBOX_EVENT_B => self.mailbox.read(1),
            r::WINDOW_BASE => self.window.base(),
            r::WINDOW_DATA => self.sram.word(self.window.data_address()),
            r::WRITE_HOST_HIGH..=r::READ_CHECKSUM => self.read_dma(offset),
            r::RX_BUFFER_BASE..=r::TX_DESCRIPTOR_FREE => self.read_mac_ring(offset),
            r::READ_RING_PRODUCER..=r::WRITE_RING_FREE => self.read_assist(offset),
            r::MAC_TX_STATE => self.mac.tx_state,
            r::MAC_RX_STATE => self.read_rx_state(),
            r::TX_CONFIG_WORD => self.serdes.sent,
            r::RX_CONFIG_WORD => self.serdes.received(self.loopback()),
            r::MAC_ADDRESS_HIGH => (self.mac.address >> 32) as u32,
            r::MAC_ADDRESS_LOW => self.mac.address as u32,
            r::MULTICAST_HASH..r::MAC_END => {
                self.mac.hash[((offset - r::MULTICAST_HASH) / 4) as usize]
            }
            _ if offset >= REGISTER_BYTES => self.read_bank(offset, now),
            _ => self.stored(offset),
        }
    }

    pub(super) fn stored(&self, offset: u32) -> u32 {
        self.storage[(offset / 4) as usize % WORDS]
    }

    pub(super) fn read_event(&self, cpu: usize, now: SimTime) -> u32 {
        let timer = u32::from(self.timer.reached(cpu, now)) << defs::tigon2::event::TIMER;
        self.events.read(cpu, self.mailbox.read(cpu), timer)
    }

    const fn high(address: u64) -> u32 {
        (address >> 32) as u32
    }

    fn read_dma(&self, offset: u32) -> u32 {
        let (read, write) = (&self.dma_read, &self.dma_write);
        match offset {
            r::WRITE_HOST_HIGH => Self::high(write.host),
            r::WRITE_HOST_LOW => write.host as u32,
            r::READ_HOST_HIGH => Self::high(read.host),
            r::READ_HOST_LOW => read.host as u32,
            r::READ_LENGTH => read.length,
            r::READ_STATE => read.state(),
            r::READ_LOCAL => read.local,
            r::READ_CHECKSUM => read.checksum,
            r::WRITE_LENGTH => write.length,
            r::WRITE_STATE => write.state(),
            r::WRITE_LOCAL => write.local,
            r::WRITE_CHECKSUM => write.checksum,
            _ => self.stored(offset),
        }
    }

    fn read_mac_ring(&self, offset: u32) -> u32 {
        let mac = &self.mac;
        let rx_base = mac.tx_buffer.base.wrapping_sub(MAC_RX_BELOW);
        let tx_base = mac.tx_buffer.base.wrapping_sub(MAC_TX_BELOW);
        match offset {
            r::RX_BUFFER_BASE => mac.rx_buffer.base,
            r::RX_BUFFER_PRODUCER => mac.rx_buffer.producer,
            r::RX_BUFFER_CONSUMER => mac.rx_buffer.consumer,
            r::TX_BUFFER_BASE => mac.tx_buffer.base,
            r::TX_BUFFER_PRODUCER => mac.tx_buffer.producer,
            r::TX_BUFFER_CONSUMER => mac.tx_buffer.consumer,
            r::RX_DESCRIPTOR_PRODUCER => mac.rx.address(rx_base, mac.rx.producer),
            r::RX_DESCRIPTOR_REFERENCE => mac.rx.address(rx_base, mac.rx.reference),
            r::RX_DESCRIPTOR_CONSUMER => mac.rx.address(rx_base, mac.rx.consumer),
            r::TX_DESCRIPTOR_PRODUCER => mac.tx.address(tx_base, mac.tx.producer),
            r::TX_DESCRIPTOR_REFERENCE => mac.tx.address(tx_base, mac.tx.reference),
            r::TX_DESCRIPTOR_CONSUMER => mac.tx.address(tx_base, mac.tx.consumer),
            r::TX_DESCRIPTOR_FREE => mac.tx.free_slot(tx_base),
            _ => self.stored(offset),
        }
    }

    fn read_assist(&self, offset: u32) -> u32 {
        let base = self.mac.tx_buffer.base;
        let (read, write) = (&self.assist.read, &self.assist.write);
        let read_base = base.wrapping_sub(READ_RING_BELOW);
        let write_base = base.wrapping_sub(WRITE_RING_BELOW);
        match offset {
            r::READ_RING_PRODUCER => read.address(read_base, read.producer),
            r::READ_RING_REFERENCE => read.address(read_base, read.reference),
            r::READ_RING_CONSUMER => read.address(read_base, read.consumer),
            r::READ_RING_FREE => read.free_slot(read_base),
            r::ASSIST_STATE => self
                .assist
                .state(self.dma_read.active(), self.dma_write.active()),
            r::WRITE_RING_PRODUCER => write.address(write_base, write.producer),
            r::WRITE_RING_REFERENCE => write.address(write_base, write.reference),
            r::WRITE_RING_CONSUMER => write.address(write_base, write.consumer),
            r::WRITE_RING_FREE => write.free_slot(write_base),
            _ => self.stored(offset),
        }
    }

    /// Writes a register. Returns whether an event was scheduled, so that the cores must stop and
    /// check the time again.
    pub fn write_register(
        &mut self,
        offset: u32,
        value: u32,
        who: Actor,
        ctx: &mut BoardContext,
    ) -> bool {
        self.telling(who, ctx, |fabric, ctx| {
            fabric.change_register(offset, value, who, ctx)
        })
    }

    fn change_register(
        &mut self,
        offset: u32,
        value: u32,
        who: Actor,
        ctx: &mut BoardContext,
    ) -> bool {
        match offset {
            r::HOST_CONTROL => return self.write_host_control(value, who, ctx),
            r::LOCAL_CONTROL => return self.write_local_control(value, who, ctx),
            r::SEMAPHORE_A => self.write_semaphore(0, Side::A, who, ctx),
            r::SEMAPHORE_B => self.write_semaphore(0, Side::B, who, ctx),
            r::TIMER => self.timer.write(value, ctx.now),
            r::TIMER_REFERENCE_A => self.timer.set_reference(0, value),
            r::TIMER_REFERENCE_B => self.timer.set_reference(1, value),
            r::EVENT_A => self.events.write(0, value),
            r::EVENT_B => self.events.write(1, value),
            r::MAILBOX_EVENT_A => self.mailbox.clear(0, value),
            r::MAILBOX_EVENT_B => self.mailbox.clear(1, value),
            r::WINDOW_BASE => self.window.set_base(value),
            r::WINDOW_DATA => {
                let address = self.window.data_address();
                self.watch_by(address, 4, who, None, ctx);
                self.sram.set_word(address, value);
            }
            r::WRITE_HOST_HIGH..=r::READ_CHECKSUM => {
                return self.write_dma(offset, value, who, ctx);
            }
            r::RX_BUFFER_BASE..=r::TX_DESCRIPTOR_FREE => {
                return self.write_mac_ring(offset, value, who, ctx);
            }
            r::READ_RING_PRODUCER..=r::WRITE_RING_FREE => {
                return self.write_assist(offset, value, who, ctx);
            }
            // The PCI configuration header is read only here.
            0..r::PCI_HEADER_BYTES => {}
            r::MAC_TX_STATE..r::MAC_END => return self.write_mac_state(offset, value, who, ctx),
            _ if offset >= REGISTER_BYTES => self.write_bank(offset, value, who, ctx),
            _ => self.store(offset, value),
        }
        false
    }

    pub(super) fn store(&mut self, offset: u32, value: u32) {
        self.storage[(offset / 4) as usize % WORDS] = value;
    }

    /// Host control: the drivers write the value in both byte orders, so only the low byte counts.
    fn write_host_control(&mut self, value: u32, who: Actor, ctx: &mut BoardContext) -> bool {
        let control = HostControl::from_bits_retain(value);
        if control.contains(HostControl::CLEAR_INTERRUPT) {
            self.set_interrupt(false, who, ctx);
        }
        if control.contains(HostControl::BYTE_SWAP) {
            let text = "the window keeps 32-bit values: other byte orders are not modelled".into();
            Self::mistake(who, text, ctx);
        }
        let momentary = HostControl::INTERRUPT | HostControl::CLEAR_INTERRUPT | HostControl::RESET;
        self.store(r::HOST_CONTROL, value & !momentary.bits());
        self.drive_interrupt_line(ctx)
    }

    /// A register of a further CPU, or of their number. What belongs to the CPU alone is in `cores`.
    #[cold]
    fn read_bank(&self, offset: u32, now: SimTime) -> u32 {
        match offset {
            banks::CPU_COUNT => self.cpus.count() as u32,
            // A CPU's read is handled on its bus.
            banks::CPU_NUMBER => u32::MAX,
            banks::SEMAPHORE_COUNT => self.semaphore.count() as u32,
            _ if let Some((number, cpu)) = banks::side_at(offset) => {
                self.semaphore.read(number, Side(cpu as u8))
            }
            _ => match banks::in_bank(offset) {
                Some((cpu, banks::TIMER_REFERENCE)) => self.timer.reference(cpu),
                Some((cpu, banks::EVENT)) => self.read_event(cpu, now),
                Some((cpu, banks::MAILBOX_EVENT)) => self.mailbox.read(cpu),
                _ => 0,
            },
        }
    }

    #[cold]
    fn write_bank(&mut self, offset: u32, value: u32, who: Actor, ctx: &mut BoardContext) {
        if let Some((number, cpu)) = banks::side_at(offset) {
            return self.write_semaphore(number, Side(cpu as u8), who, ctx);
        }
        match banks::in_bank(offset) {
            Some((cpu, banks::TIMER_REFERENCE)) => self.timer.set_reference(cpu, value),
            Some((cpu, banks::EVENT)) => self.events.write(cpu, value),
            Some((cpu, banks::MAILBOX_EVENT)) => self.mailbox.clear(cpu, value),
            _ => {}
        }
    }

    fn write_semaphore(&mut self, number: usize, side: Side, who: Actor, ctx: &mut BoardContext) {
        let Some(outcome) = self.semaphore.write(number, side) else {
            return;
        };
        let agent = Agent::of(who.initiator);
        self.tell_races(|races| races.semaphore_written(agent, number, outcome));
        if ctx.trace.wants(Details::SEMAPHORE) {
            let kind = match (number as u32, outcome) {
                (0, ToggleEffect::Taken) => TraceKind::SemaphoreTaken,
                (0, ToggleEffect::Released) => TraceKind::SemaphoreReleased,
                (0, ToggleEffect::Refused) => TraceKind::SemaphoreRefused,
                (number, effect) => TraceKind::FurtherSemaphore {
                    number,
                    effect: effect as u32,
                },
            };
            ctx.trace
                .record_detail(ctx.now, who.initiator, who.pc, kind);
        }
    }

    /// Whether the host masks the interrupt line.
    pub(super) fn interrupt_masked(&self) -> bool {
        self.stored(r::HOST_CONTROL) & HostControl::MASK_INTERRUPTS.bits() != 0
    }

    fn write_dma(&mut self, offset: u32, value: u32, who: Actor, ctx: &mut BoardContext) -> bool {
        let low = |host: u64| host & !0xFFFF_FFFF | u64::from(value);
        let high = |host: u64| host & 0xFFFF_FFFF | u64::from(value) << 32;
        match offset {
            r::WRITE_HOST_HIGH => self.dma_write.host = high(self.dma_write.host),
            r::WRITE_HOST_LOW => self.dma_write.host = low(self.dma_write.host),
            r::READ_HOST_HIGH => self.dma_read.host = high(self.dma_read.host),
            r::READ_HOST_LOW => self.dma_read.host = low(self.dma_read.host),
            r::READ_LENGTH => self.dma_read.length = value & 0xFFFF,
            r::WRITE_LENGTH => self.dma_write.length = value & 0xFFFF,
            r::READ_LOCAL => self.dma_read.local = value,
            r::WRITE_LOCAL => self.dma_write.local = value,
            r::READ_CHECKSUM => self.dma_read.checksum = value & 0xFFFF,
            r::WRITE_CHECKSUM => self.dma_write.checksum = value & 0xFFFF,
            r::READ_STATE => return self.write_dma_state(Direction::Read, value, who, ctx),
            r::WRITE_STATE => return self.write_dma_state(Direction::Write, value, who, ctx),
            _ => self.store(offset, value),
        }
        false
    }

    fn write_dma_state(
        &mut self,
        way: Direction,
        value: u32,
        who: Actor,
        ctx: &mut BoardContext,
    ) -> bool {
        let start = self.channel(way).write_state(value);
        if start {
            self.tell_races(|races| races.transfer_begins(way, None, ctx.now));
            self.start_transfer(way, who.pc, ctx);
        }
        self.update_levels();
        let reset = value & DmaState::RESET.bits() != 0;
        (reset && self.poll_assist(who.pc, ctx)) || start
    }

    fn write_mac_ring(
        &mut self,
        offset: u32,
        value: u32,
        who: Actor,
        ctx: &mut BoardContext,
    ) -> bool {
        let mac = &mut self.mac;
        match offset {
            r::RX_BUFFER_BASE => mac.rx_buffer.place(value, RX_BUFFER_LIMIT),
            r::RX_BUFFER_PRODUCER => mac.rx_buffer.producer = value,
            r::RX_BUFFER_CONSUMER => mac.rx_buffer.consumer = value,
            r::TX_BUFFER_BASE => mac.tx_buffer.base = value,
            r::TX_BUFFER_PRODUCER => mac.tx_buffer.producer = value,
            r::TX_BUFFER_CONSUMER => mac.tx_buffer.consumer = value,
            r::RX_DESCRIPTOR_PRODUCER => mac.rx.producer = mac.rx.index(value),
            r::RX_DESCRIPTOR_REFERENCE => mac.rx.reference = mac.rx.index(value),
            r::RX_DESCRIPTOR_CONSUMER => mac.rx.consumer = mac.rx.index(value),
            r::TX_DESCRIPTOR_PRODUCER => mac.tx.producer = mac.tx.index(value),
            r::TX_DESCRIPTOR_REFERENCE => mac.tx.reference = mac.tx.index(value),
            r::TX_DESCRIPTOR_CONSUMER => mac.tx.consumer = mac.tx.index(value),
            r::TX_DESCRIPTOR_FREE => {}
            _ => self.store(offset, value),
        }
        self.update_levels();
        self.try_transmit(who.pc, ctx)
    }

    fn write_assist(
        &mut self,
        offset: u32,
        value: u32,
        who: Actor,
        ctx: &mut BoardContext,
    ) -> bool {
        let (read, write) = (&mut self.assist.read, &mut self.assist.write);
        match offset {
            r::READ_RING_PRODUCER => read.producer = read.index(value),
            r::READ_RING_REFERENCE => read.reference = read.index(value),
            r::READ_RING_CONSUMER => read.consumer = read.index(value),
            r::WRITE_RING_PRODUCER => write.producer = write.index(value),
            r::WRITE_RING_REFERENCE => write.reference = write.index(value),
            r::WRITE_RING_CONSUMER => write.consumer = write.index(value),
            r::READ_RING_FREE | r::WRITE_RING_FREE => {}
            r::ASSIST_STATE => self.assist.write_state(value),
            _ => self.store(offset, value),
        }
        self.update_levels();
        self.poll_assist(who.pc, ctx)
    }

    fn write_mac_state(
        &mut self,
        offset: u32,
        value: u32,
        who: Actor,
        ctx: &mut BoardContext,
    ) -> bool {
        let mac = &mut self.mac;
        match offset {
            r::MAC_TX_STATE => {
                mac.write_tx_state(value);
                self.update_levels();
                let word = self.poll_partner(ctx);
                return self.try_transmit(who.pc, ctx) || word;
            }
            r::MAC_RX_STATE => self.write_rx_state(value),
            r::TX_CONFIG_WORD => {
                self.serdes.sent = value & 0xFFFF;
                return self.poll_partner(ctx);
            }
            r::RX_CONFIG_WORD => {
                self.serdes.set_received(value);
                return self.poll_partner(ctx);
            }
            r::MAC_ADDRESS_HIGH => {
                mac.address = mac.address & 0xFFFF_FFFF | u64::from(value & 0xFFFF) << 32;
            }
            r::MAC_ADDRESS_LOW => {
                mac.address = mac.address & !0xFFFF_FFFF | u64::from(value);
            }
            r::MULTICAST_HASH..r::MAC_END => {
                mac.hash[((offset - r::MULTICAST_HASH) / 4) as usize] = value;
            }
            _ => self.store(offset, value),
        }
        false
    }
}

impl Fabric {
    /// Writes MAC_RX_STATE. A receiver that is disabled while the carrier is present loses sync; a reset one abandons
    /// the incoming frame.
    fn write_rx_state(&mut self, value: u32) {
        let disabled = self.mac.write_rx_state(value);
        if disabled && self.serdes.signal {
            self.mac.rx_state |= MacRxState::ATTENTION_SYNC.bits();
        }
        if value & MacRxState::RESET.bits() != 0 {
            self.rx_side.abandon();
        }
        self.update_levels();
    }
}
