//! Layout of rings and frame buffers (docs/tigon2-io.md, sections 5 and 6): one register per buffer gives its
//! start, and the rings lie below the first buffer.

use defs::tigon2::map::RX_BUFFER_LIMIT;
use defs::tigon2::rings::MAC_TX_BELOW;

use rings::Region;

use crate::regs;

/// Start addresses of the two buffers. The receive buffer ends at 0x200000, fixed by hardware.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// First byte of the transmit buffer; the rings lie below.
    pub tx_buffer: u32,
    /// End of the transmit buffer and first byte of the receive buffer.
    pub rx_buffer: u32,
}

impl Layout {
    /// 64 KB to transmit, 192 KB to receive: the space that the linker script leaves on a 512 KB board.
    pub const DEFAULT: Self = Self {
        tx_buffer: 0x001C_0000,
        rx_buffer: 0x001D_0000,
    };

    /// Address range of the transmit buffer.
    #[must_use]
    pub const fn tx_region(&self) -> Region {
        Region::new(self.tx_buffer, self.rx_buffer)
    }

    /// Address range of the receive buffer.
    #[must_use]
    pub const fn rx_region(&self) -> Region {
        Region::new(self.rx_buffer, RX_BUFFER_LIMIT)
    }

    /// First byte of the rings. Memory below, from [`sram::image_end`](crate::sram::image_end) on, is free.
    /// This is an address in the upper megabyte; [`Layout::free_end`] is its alias in low memory.
    #[must_use]
    pub const fn rings(&self) -> u32 {
        self.tx_buffer - MAC_TX_BELOW
    }

    /// End of the free memory on a board with 512 KB.
    #[must_use]
    pub const fn free_end(&self) -> u32 {
        self.rings() & (512 * 1024 - 1)
    }
}

/// Empties buffers and rings and sets their addresses in the chip. MAC and DMA assist are off; their
/// modules start them.
pub fn initialise(layout: &Layout) {
    regs::write(regs::ASSIST_STATE, regs::AssistState::ALWAYS.bits());
    regs::write(regs::MAC_TX_STATE, 0);
    regs::write(regs::MAC_RX_STATE, 0);
    for register in [
        regs::TX_BUFFER_BASE,
        regs::TX_BUFFER_PRODUCER,
        regs::TX_BUFFER_CONSUMER,
    ] {
        regs::write(register, layout.tx_buffer);
    }
    for register in [
        regs::RX_BUFFER_BASE,
        regs::RX_BUFFER_PRODUCER,
        regs::RX_BUFFER_CONSUMER,
    ] {
        regs::write(register, layout.rx_buffer);
    }
    for first in [
        regs::RX_DESCRIPTOR_PRODUCER,
        regs::TX_DESCRIPTOR_PRODUCER,
        regs::READ_RING_PRODUCER,
        regs::WRITE_RING_PRODUCER,
    ] {
        // Producer, reference, consumer.
        for register in [first, first + 4, first + 8] {
            regs::write(register, 0);
        }
    }
}
