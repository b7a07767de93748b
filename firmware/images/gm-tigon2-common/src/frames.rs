//! Frames in the MAC's receive buffer between their receipt and their release.
//!
//! The buffer is freed in the order of the ring, by a register, but packets are released in another order: dropped ones
//! before older ones that a DMA still reads. So a released frame is marked, and the oldest marked ones are freed. The first
//! two words of a frame, whose addresses are not used any more, hold the mark, the frame's end and the next frame.

use tigon2_hal::{event, mac, sram};

/// Word of a frame: its end, and whether it is released.
const END: u32 = 0;
/// Word of a frame: the next one; 0 if it is the newest.
const NEXT: u32 = 4;
/// Bit of [`END`]: the frame is released.
const RELEASED: u32 = 1 << 31;

/// Most frames that are taken and not released: GM has as many buffers of events.
pub const TAKEN_LIMIT: u32 = 8;

/// The frames that were received and are not free.
#[derive(Debug, Default)]
pub struct Frames {
    /// Frames that are taken and not released.
    taken: u32,
    /// 0 if there is none.
    oldest: u32,
    newest: u32,
}

impl Frames {
    /// No frame.
    pub const fn new() -> Self {
        Self {
            taken: 0,
            oldest: 0,
            newest: 0,
        }
    }

    /// A frame from `start` to `end` is taken from the ring. After [`TAKEN_LIMIT`] frames there is no event of received ones.
    #[inline(always)]
    pub fn take(&mut self, start: u32, end: u32) {
        sram::write(start + END, end);
        sram::write(start + NEXT, 0);
        if self.oldest == 0 {
            self.oldest = start;
        } else {
            sram::write(self.newest + NEXT, start);
        }
        self.newest = start;
        self.taken += 1;
        if self.taken == TAKEN_LIMIT {
            event::disable(event::RX_COMPLETE);
        }
    }

    /// A frame is not needed any more.
    #[inline(always)]
    pub fn release(&mut self, start: u32) {
        if self.taken == TAKEN_LIMIT {
            event::enable(event::RX_COMPLETE);
        }
        self.taken -= 1;
        let mut end = sram::read(start + END);
        if start != self.oldest {
            sram::write(start + END, end | RELEASED);
            return;
        }
        loop {
            let next = sram::read(self.oldest + NEXT);
            self.oldest = next;
            if next == 0 {
                break;
            }
            let word = sram::read(next + END);
            if word & RELEASED == 0 {
                break;
            }
            end = word & !RELEASED;
        }
        mac::free_rx(end);
    }
}
