//! Fetches of descriptors: the board has the next entries of the host's send and receive rings in caches.

use defs::ethernet::{RECEIVE_BYTES, RING_ENTRIES, SEND_BYTES};
use defs::tigon2::rings::DMA_DESCRIPTOR_BYTES;
use tigon2_hal::dma::COPY_WORDS;
use tigon2_hal::{regs, scratchpad_n, semaphore, sram};

use crate::cpu::{Cpu, Found};
use crate::map;
use crate::send::{claim, describe, end, in_ring, room};

/// Most descriptors of a fetch.
const MOST: u32 = 32;
/// With so many left it is time for a fetch.
pub const FEW: u32 = map::CACHE_ENTRIES / 2 - MOST;

/// A ring of the host, and the part of it in a cache.
struct Source {
    ring: u32,
    mailbox: u32,
    fetched: u32,
    requested: u32,
    fetch_end: u32,
    claimed: u32,
    cache: u32,
    entry_bytes: u32,
}

impl Source {
    /// Whether a fetch is under way.
    #[inline(always)]
    fn is_under_way(&self) -> bool {
        sram::read(self.requested) != sram::read(self.fetched)
    }

    /// Whether it has ended. `place` is the free place in the ring of DMA reads.
    #[inline(always)]
    fn has_come(&self, place: u32) -> bool {
        let left = in_ring(place.wrapping_sub(regs::read(regs::READ_RING_REFERENCE)));
        let done = place.wrapping_sub(left);
        done.wrapping_sub(sram::read(self.fetch_end)) as i32 >= 0
    }

    /// Does what is to be done next. A CPU that finds the lock taken does something else.
    #[inline(always)]
    fn serve(&self, cpu: &Cpu) -> Found {
        let place = sram::read(map::READ_PLACE);
        let idle = match self.is_under_way() {
            true => !self.has_come(place),
            false => sram::read(self.mailbox) == sram::read(self.requested),
        };
        if idle {
            return Found::Nothing;
        }
        if !semaphore::try_lock_at(cpu.send_lock) {
            return Found::Something;
        }
        let place = sram::read(map::READ_PLACE);
        if self.is_under_way() && self.has_come(place) {
            sram::write(self.fetched, sram::read(self.requested));
        }
        let count = self.due();
        let reference = regs::read(regs::READ_RING_REFERENCE);
        if count == 0 || room(place, reference) == 0 {
            semaphore::spin_unlock_at(cpu.send_lock);
            return Found::Nothing;
        }
        let first = sram::read(self.requested);
        sram::write(self.requested, first.wrapping_add(count));
        sram::write(self.fetch_end, place.wrapping_add(DMA_DESCRIPTOR_BYTES));
        let piece = claim(cpu, place, 1);
        let host = self.ring + first % RING_ENTRIES * self.entry_bytes;
        let local = self.cache + first % map::CACHE_ENTRIES * self.entry_bytes;
        let bytes = count * self.entry_bytes;
        describe(
            map::READ_RING + in_ring(place),
            host,
            local,
            bytes,
            COPY_WORDS,
        );
        end(cpu, &piece)
    }

    /// Descriptors of the next fetch; 0 if none is due.
    #[inline(always)]
    fn due(&self) -> u32 {
        let requested = sram::read(self.requested);
        let left = requested.wrapping_sub(sram::read(self.claimed));
        if left > FEW || self.is_under_way() {
            return 0;
        }
        let waiting = sram::read(self.mailbox).wrapping_sub(requested);
        let in_cache = map::CACHE_ENTRIES - requested % map::CACHE_ENTRIES;
        waiting.min(MOST).min(in_cache)
    }
}

scratchpad_n! {
    /// Fetches descriptors of frames to send.
    pub fn sends(cpu: &Cpu) -> Found {
        let source = Source {
            ring: cpu.send_ring,
            mailbox: map::SEND_MAILBOX,
            fetched: map::SENDS_FETCHED,
            requested: map::SENDS_REQUESTED,
            fetch_end: map::SENDS_FETCH_END,
            claimed: map::SENDS_CLAIMED,
            cache: map::SENDS,
            entry_bytes: SEND_BYTES,
        };
        source.serve(cpu)
    }

    /// Fetches descriptors of buffers.
    pub fn buffers(cpu: &Cpu) -> Found {
        let source = Source {
            ring: cpu.receive_ring,
            mailbox: map::RECEIVE_MAILBOX,
            fetched: map::BUFFERS_FETCHED,
            requested: map::BUFFERS_REQUESTED,
            fetch_end: map::BUFFERS_FETCH_END,
            claimed: map::BUFFERS_CLAIMED,
            cache: map::BUFFERS,
            entry_bytes: RECEIVE_BYTES,
        };
        source.serve(cpu)
    }
}
