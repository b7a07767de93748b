//! The receive path, from the MAC to the return ring.
//!
//! A frame gets the next buffer of the smallest ring that fits. Its return descriptor is built in a slot of
//! a short ring in SRAM, and its bytes go to the host by DMA. DMA is in order, so the slots complete in
//! order and go to the return ring in runs. That ring has more entries than all rings of buffers together: it has room
//! for each frame that has a buffer, and its consumer index, which drivers leave at 0, is not read.

use acenic_protocol::checksum;
use acenic_protocol::coalesce::{Coalescer, Reporting};
use acenic_protocol::config::{HostAddress, Info, RingControl, receive_bytes};
use acenic_protocol::ring::CachedRing;
use defs::acenic::descriptor::{
    Errors, Flags, RECEIVE_ERRORS_VLAN, RECEIVE_HIGH, RECEIVE_INDEX_LENGTH, RECEIVE_LOW,
    RECEIVE_OPAQUE, RECEIVE_SCRATCH, RECEIVE_SUMS, RECEIVE_TYPE_FLAGS,
};
use defs::acenic::info::RingFlags;
use defs::acenic::stats::word;
use defs::acenic::{INTERFACE_MTU, JUMBO_ENTRIES, MINI_ENTRIES, RETURN_ENTRIES, STANDARD_ENTRIES};
use defs::tigon2::map::RX_BUFFER_LIMIT;
use tigon2_hal::dma::{DmaState, RingFull, Transfer, WriteRing};
use tigon2_hal::mac::{self, RxFrame, RxRing};
use tigon2_hal::rings::{Region, ReleaseOrder};
use tigon2_hal::{event, scratchpad_a, sram};

use crate::arrival::{BEFORE_TAG, Bytes, TAG_BYTES, is_damaged};
use crate::dma::{KEPT_FOR_REPORTS, push_read, push_word, push_write, read, write};
use crate::statistics::{count, count_at, count_wide};
use crate::tables::{self, RETURNING_ENTRIES};
use crate::{Alarm, Firmware, trace};

/// Indices of the rings of receive buffers.
pub const STANDARD: usize = 0;
/// Buffers for long frames.
pub const JUMBO: usize = 1;
/// Buffers for short frames.
pub const MINI: usize = 2;
const RINGS: usize = 3;

const RETURNING_MASK: u32 = RETURNING_ENTRIES - 1;
/// A ring of receive buffers.
struct Buffers {
    ring: CachedRing,
    address: HostAddress,
    /// Longest frame.
    longest: u32,
    /// Flag that every return descriptor of the ring gets.
    flag: Flags,
    /// Statistics word that counts received descriptors.
    counter: u32,
}

impl Buffers {
    const fn new(counter: u32, flag: Flags) -> Self {
        Self {
            ring: CachedRing::new(0),
            address: HostAddress { high: 0, low: 0 },
            longest: 0,
            flag,
            counter,
        }
    }

    fn start(&mut self, control: &RingControl, entries: u32) {
        if control.is_enabled() {
            self.ring = CachedRing::new(entries);
            self.address = control.address;
            self.longest = control.length;
        }
    }
}

/// SRAM address of a ring's descriptor cache.
#[inline(always)]
fn cache(ring: usize) -> u32 {
    match ring {
        STANDARD => tables::standard(),
        JUMBO => tables::jumbo(),
        _ => tables::mini(),
    }
}

/// The receive side.
pub struct Receive {
    rings: [Buffers; RINGS],
    flags: RingFlags,
    region: Region,
    order: ReleaseOrder,
    /// Size of the return ring minus one.
    return_mask: u32,
    /// Counts of return descriptors: begun, finished, queued to DMA, and in the host's ring.
    begun: u32,
    finished: u32,
    pushed: u32,
    returned: u32,
    /// The DMA of the oldest frame's first part failed.
    part_failed: bool,
    coalescer: Coalescer,
    /// A report of the return producer is due.
    report_due: bool,
}

/// Buffer choice for a frame.
enum Choice {
    Ring(usize),
    /// No buffer is available.
    Wait,
    /// No ring has buffers large enough.
    TooLong,
}

/// Progress of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Queued or dropped: continue with the next frame.
    Done,
    /// A resource is missing.
    Wait,
}

impl Receive {
    pub const fn new() -> Self {
        Self {
            rings: [
                Buffers::new(word("nic_recv_bds"), Flags::empty()),
                Buffers::new(word("nic_jumbo_recv_bds"), Flags::JUMBO),
                Buffers::new(word("nic_mini_recv_bds"), Flags::MINI),
            ],
            flags: RingFlags::empty(),
            region: Region::new(0, RX_BUFFER_LIMIT),
            order: ReleaseOrder::new(),
            return_mask: RETURN_ENTRIES - 1,
            begun: 0,
            finished: 0,
            pushed: 0,
            returned: 0,
            part_failed: false,
            coalescer: Coalescer::new(),
            report_due: false,
        }
    }

    pub fn start(info: &Info, region: Region) -> Self {
        let mut receive = Self {
            flags: info.standard.flags,
            region,
            return_mask: info.returned.length - 1,
            ..Self::new()
        };
        let [standard, jumbo, mini] = &mut receive.rings;
        standard.start(&info.standard, STANDARD_ENTRIES);
        jumbo.start(&info.jumbo, JUMBO_ENTRIES);
        // Linux's driver states no length for the last ring: it takes all frames that are not too long for the interface.
        if info.jumbo.length == 0 {
            jumbo.longest = u32::MAX;
        }
        mini.start(&info.mini, MINI_ENTRIES);
        receive
    }

    /// The smallest ring with buffers for a frame. A ring in which the host has no buffers at all is
    /// skipped.
    #[inline(always)]
    fn choose(&self, length: u32) -> Choice {
        let mut choice = Choice::TooLong;
        for index in [MINI, STANDARD, JUMBO] {
            let Some(buffers) = self.rings.get(index) else {
                continue;
            };
            if length <= buffers.longest {
                if buffers.ring.available() != 0 {
                    return Choice::Ring(index);
                }
                choice = Choice::Wait;
                if !buffers.ring.is_dry() {
                    break;
                }
            }
        }
        choice
    }

    /// Frees a frame's space in the receive buffer.
    #[inline(always)]
    fn drop_frame(&mut self, frame: &RxFrame) {
        frame.advance();
        frame.free_descriptor();
        let end = self.region.advance(frame.end(), 0);
        if let Some(end) = self.order.cpu_release(end) {
            mac::free_rx(end);
        }
    }

    /// Handles the end of a frame's last DMA. `failed`: its local address and length if it failed; `slot`:
    /// return descriptor; `sum`: checksum of the frame.
    #[inline(always)]
    pub fn frame_written(&mut self, slot: u32, sum: u32, failed: Option<(u32, u32)>) {
        let owed = match failed {
            None => self.order.dma_completed(),
            Some((local, length)) => self.order.dma_failed(self.region.advance(local, length)),
        };
        if let Some(end) = owed {
            mac::free_rx(end);
        }
        if core::mem::take(&mut self.part_failed) || failed.is_some() {
            mark(slot, Errors::MAC_ABORT);
        }
        let type_flags = sram::read(slot + RECEIVE_TYPE_FLAGS);
        if type_flags & Flags::TCP_UDP_SUM.bits() != 0 {
            let sums = sram::read(slot + RECEIVE_SUMS);
            let rest = checksum::subtract(sum, sums & 0xFFFF);
            sram::write(slot + RECEIVE_SUMS, sums & 0xFFFF_0000 | rest);
        }
        self.finished = self.finished.wrapping_add(1);
    }

    /// Handles the end of the DMA of a frame's first part.
    pub fn part_written(&mut self, failed: bool) {
        self.part_failed |= failed;
    }
}

/// Sets error flags in a return descriptor.
#[inline(never)]
fn mark(slot: u32, errors: Errors) {
    let set = |at, bits: u32| sram::write(at, sram::read(at) | bits);
    set(slot + RECEIVE_TYPE_FLAGS, Flags::FRAME_ERROR.bits());
    set(slot + RECEIVE_ERRORS_VLAN, errors.bits() << 16);
}

impl Firmware {
    /// Sets a ring's producer index, as written by the host.
    pub fn buffers_produced(&mut self, ring: usize, producer: u32) {
        if let Some(buffers) = self.receive.rings.get_mut(ring)
            && !buffers.ring.set_producer(producer)
        {
            trace!("badProd", producer, buffers.ring.entries(), ring as u32);
        }
        self.fetch_buffers();
    }

    /// Fetches new descriptors from the host, as far as there is room.
    #[inline(always)]
    pub fn fetch_buffers(&mut self) {
        for (index, buffers) in self.receive.rings.iter_mut().enumerate() {
            while let Some(span) = buffers.ring.to_request() {
                let at = receive_bytes(span.first);
                let host = buffers.address.plus(at);
                let queued = push_read(&Transfer {
                    host_high: host.high,
                    host_low: host.low,
                    local: cache(index) + at,
                    length: receive_bytes(span.count),
                    state: self.control.read,
                    kind: read::BUFFERS + index as u32,
                    index: span.count,
                });
                if queued.is_err() {
                    // Retried when a read completes.
                    return;
                }
                buffers.ring.request(span.count);
            }
        }
    }

    /// Records fetched descriptors of a ring.
    pub fn buffers_read(&mut self, ring: u32, count: u32) {
        if let Some(buffers) = self.receive.rings.get_mut(ring as usize) {
            buffers.ring.arrived(count);
            count_at(buffers.counter, count);
            count!("nic_total_recv_bds", count);
        }
        self.look_at_receiver();
    }

    /// Checks received frames again: a missing resource may be available now.
    pub fn look_at_receiver(&mut self) {
        event::enable(event::RX_COMPLETE);
    }

    /// Discards the jumbo ring's buffers.
    pub fn reset_jumbo(&mut self) {
        if let Some(jumbo) = self.receive.rings.get_mut(JUMBO) {
            jumbo.ring.reset();
        }
    }

    /// Handles received frames. If a resource is missing, the event stays set.
    pub fn on_receive(&mut self) {
        while let Some(frame) = RxRing::next() {
            if take_frame(self, &frame) == Progress::Wait {
                return;
            }
        }
    }

    #[inline(always)]
    fn take_frame(&mut self, frame: &RxFrame) -> Progress {
        let receive = &mut self.receive;
        if !self.open || is_damaged(frame) {
            receive.drop_frame(frame);
            return Progress::Done;
        }
        let length = frame.length();
        // Drivers change the word while the interface is open, and send no command.
        if length > sram::read(INTERFACE_MTU) {
            count!("dot3_frame_too_longs");
            receive.drop_frame(frame);
            return Progress::Done;
        }
        let slots = receive.begun.wrapping_sub(receive.returned);
        if slots == RETURNING_ENTRIES || WriteRing::room() <= KEPT_FOR_REPORTS {
            return Progress::Wait;
        }
        match receive.choose(length) {
            Choice::Ring(ring) => {
                self.deliver(frame, ring);
                Progress::Done
            }
            Choice::TooLong => {
                count!("if_in_discards");
                receive.drop_frame(frame);
                Progress::Done
            }
            Choice::Wait => {
                count!("nic_no_more_rx_bds");
                // Wait for buffers.
                event::disable(event::RX_COMPLETE);
                Progress::Wait
            }
        }
    }

    /// Takes a buffer of `ring` for the frame and queues its DMA.
    #[inline(always)]
    fn deliver(&mut self, frame: &RxFrame, ring: usize) {
        let bytes = Bytes::look_at(frame, &self.receive.region, self.receive.flags);
        let slot = tables::returning() + receive_bytes(self.receive.begun & RETURNING_MASK);
        let Some((host, room)) = self.receive.fill_slot(slot, &bytes, ring) else {
            return;
        };
        self.receive.begun = self.receive.begun.wrapping_add(1);
        count_wide(const { word("if_hc_in_octets") }, bytes.length);
        let mut state = self.control.write_data | DmaState::FREE_RX;
        if bytes.sums.is_some() {
            state |= DmaState::CHECKSUM | DmaState::CHECKSUM_NEW | DmaState::CHECKSUM_DELIVER;
        }
        let mut transfer = Transfer {
            host_high: host.high,
            host_low: host.low,
            local: frame.address,
            length: bytes.length,
            state,
            kind: write::FRAME,
            index: slot,
        };
        if bytes.tag.is_some() {
            // There is room: `KEPT_FOR_REPORTS`.
            let _ = push_write(&Transfer {
                length: BEFORE_TAG,
                state: state.difference(DmaState::FREE_RX | DmaState::CHECKSUM_DELIVER),
                kind: write::FRAME_PART,
                ..transfer
            });
            let rest = host.plus(BEFORE_TAG);
            transfer.host_high = rest.high;
            transfer.host_low = rest.low;
            transfer.local += BEFORE_TAG + TAG_BYTES;
            transfer.length -= BEFORE_TAG + TAG_BYTES;
            transfer.state.remove(DmaState::CHECKSUM_NEW);
        }
        let before = bytes.tag.map_or(0, |_| BEFORE_TAG);
        if before + transfer.length > room {
            // The host declared longer buffers.
            mark(slot, Errors::TRUNCATED);
            transfer.length = room.saturating_sub(before);
        }
        let _ = push_write(&transfer);
        self.receive.order.dma_queued();
        frame.advance();
        frame.free_descriptor();
    }
}

impl Receive {
    /// Builds the return descriptor of a frame in a buffer of `ring`; returns the buffer's address and
    /// size.
    #[inline(always)]
    fn fill_slot(&mut self, slot: u32, bytes: &Bytes, ring: usize) -> Option<(HostAddress, u32)> {
        let buffers = self.rings.get_mut(ring)?;
        let descriptor = cache(ring) + receive_bytes(buffers.ring.peek(0));
        buffers.ring.take(1);
        let host = HostAddress {
            high: sram::read(descriptor + RECEIVE_HIGH),
            low: sram::read(descriptor + RECEIVE_LOW),
        };
        let index_length = sram::read(descriptor + RECEIVE_INDEX_LENGTH);
        // The host sets the checksum flags to request checksums; they are returned only if checksums are present.
        const SUMS: u32 = Flags::TCP_UDP_SUM.union(Flags::IP_SUM).bits();
        let mut flags = sram::read(descriptor + RECEIVE_TYPE_FLAGS) & !SUMS;
        flags |= (Flags::END | buffers.flag).bits();
        let (mut length, mut tag) = (bytes.length, 0);
        if let Some(taken) = bytes.tag {
            flags |= Flags::VLAN_TAG.bits();
            length -= TAG_BYTES;
            tag = taken;
        }
        if bytes.sums.is_some() {
            // The two bits have equal positions in both words.
            flags |= self.flags.bits() & SUMS;
        }
        sram::write(slot + RECEIVE_HIGH, host.high);
        sram::write(slot + RECEIVE_LOW, host.low);
        sram::write(
            slot + RECEIVE_INDEX_LENGTH,
            index_length & 0xFFFF_0000 | length,
        );
        sram::write(slot + RECEIVE_TYPE_FLAGS, flags);
        sram::write(slot + RECEIVE_SUMS, bytes.sums.unwrap_or(0));
        sram::write(slot + RECEIVE_ERRORS_VLAN, tag);
        sram::write(slot + RECEIVE_SCRATCH, 0);
        let opaque = sram::read(descriptor + RECEIVE_OPAQUE);
        sram::write(slot + RECEIVE_OPAQUE, opaque);
        Some((host, index_length & 0xFFFF))
    }
}

scratchpad_a! {
    fn take_frame(firmware: &mut Firmware, frame: &RxFrame) -> Progress {
        firmware.take_frame(frame)
    }
}

impl Firmware {
    /// Queues finished return descriptors to DMA, in runs that do not wrap in either ring.
    #[inline(always)]
    pub fn push_returned(&mut self) -> Result<(), RingFull> {
        let receive = &mut self.receive;
        while receive.pushed != receive.finished {
            let first = receive.pushed & RETURNING_MASK;
            let waiting = receive.finished.wrapping_sub(receive.pushed);
            let count = waiting.min(RETURNING_ENTRIES - first);
            let at = receive_bytes(receive.pushed & receive.return_mask);
            let host = self.info.returned.address.plus(at);
            push_write(&Transfer {
                host_high: host.high,
                host_low: host.low,
                local: tables::returning() + receive_bytes(first),
                length: receive_bytes(count),
                state: self.control.write,
                kind: write::RETURNED,
                index: count,
            })?;
            receive.pushed = receive.pushed.wrapping_add(count);
        }
        Ok(())
    }

    /// Records `count` more return descriptors in the host's ring and reports them now or by coalescing.
    #[inline(always)]
    pub fn returned(&mut self, count: u32) {
        self.receive.returned = self.receive.returned.wrapping_add(count);
        match self.receive.coalescer.add(count, &self.tuning.receive) {
            Reporting::Report => {
                count!("nic_recv_threshold_hit");
                self.report_received();
            }
            Reporting::SetAlarm => self.set_alarm(Alarm::Receive, self.tuning.receive.ticks_us),
            Reporting::Wait => {}
        }
    }

    /// Reports the return producer as soon as there is room.
    pub fn report_received(&mut self) {
        self.clear_alarm(Alarm::Receive);
        if self.receive.coalescer.take() {
            self.receive.report_due = true;
            self.push_reports();
        }
    }

    /// Queues the due reports of both indices.
    #[inline(always)]
    pub fn push_indices(&mut self) -> Result<(), RingFull> {
        if self.receive.report_due {
            let producer = self.receive.returned & self.receive.return_mask;
            let address = self.info.return_producer;
            push_word(
                address,
                producer,
                write::RETURN_PRODUCER,
                self.control.write,
            )?;
            self.receive.report_due = false;
            count!("nic_ring_set_recv_return_prod_index");
        }
        self.push_sent()
    }
}
