//! The send path, from the send ring to the MAC.
//!
//! The host's descriptors are fetched into a cache (or are in SRAM already). The descriptors of a whole
//! frame become one DMA read each, into the transmit buffer. After the last one, the checksum is completed
//! and the frame goes to the MAC. Frames stay in order throughout, so one queue is enough.

use acenic_protocol::checksum::{self, Packet};
use acenic_protocol::coalesce::{Coalescer, Reporting};
use acenic_protocol::config::{Info, SEND_AREA, send_bytes};
use acenic_protocol::ring::CachedRing;
use defs::acenic::descriptor::{Flags, SEND_HIGH, SEND_LENGTH_FLAGS, SEND_LOW, SEND_VLAN};
use defs::acenic::info::RingFlags;
use defs::acenic::stats::word;
use tigon2_hal::cpu::A;
use tigon2_hal::dma::{DmaState, RingFull, Transfer};
use tigon2_hal::mac::{self, TxRing};
use tigon2_hal::rings::{Region, TxSpace};
use tigon2_hal::{event, regs, sram};

use crate::dma::{push_read, push_word, read, write};
use crate::statistics::{count, count_wide};
use crate::{Alarm, Firmware, trace};

/// Shortest frame with addresses and type.
const SHORTEST_BYTES: u32 = 14;
/// Longest frame: 9 KB.
const LONGEST_BYTES: u32 = 9216;
/// Length of the frame's beginning that does not wrap in the transmit buffer: its headers.
const CONTIGUOUS_BYTES: u32 = 64;
/// Largest number of frames between the send ring and the MAC; each has a DMA descriptor, of which there
/// are 63.
const QUEUE: usize = 64;

/// A frame whose descriptors are available.
#[derive(Clone, Copy)]
struct Frame {
    /// Address of the frame in the transmit buffer.
    start: u32,
    length: u32,
    descriptors: u32,
    /// Union of all descriptors' flags.
    flags: Flags,
    tag: u32,
}

impl Frame {
    const NONE: Self = Self {
        start: 0,
        length: 0,
        descriptors: 0,
        flags: Flags::empty(),
        tag: 0,
    };
}

/// A frame that is being read.
struct Gathering {
    frame: Frame,
    /// Number of descriptors queued to DMA.
    queued: u32,
    /// Address of the next part.
    local: u32,
}

/// The send side.
pub struct Send {
    ring: CachedRing,
    flags: RingFlags,
    /// SRAM address of the descriptors.
    base: u32,
    space: TxSpace,
    gathering: Option<Gathering>,
    queue: [Frame; QUEUE],
    /// Frames taken from the queue.
    head: u32,
    /// Frames put into the queue.
    tail: u32,
    /// The DMA of a part of the oldest frame failed.
    part_failed: bool,
    /// Index after the last descriptor that the host may reuse.
    consumer: u32,
    coalescer: Coalescer,
    /// A report of the consumer index is due.
    report_due: bool,
}

/// Contents of the available descriptors.
enum Found {
    /// No whole frame.
    Nothing,
    Frame(Frame),
    /// An invalid frame of this many descriptors.
    Bad(u32),
}

impl Send {
    pub const fn new() -> Self {
        Self {
            ring: CachedRing::new(0),
            flags: RingFlags::empty(),
            base: SEND_AREA,
            // Any region will do: no frame is sent before `start`.
            space: TxSpace::new(Region::new(0, 64)),
            gathering: None,
            queue: [Frame::NONE; QUEUE],
            head: 0,
            tail: 0,
            part_failed: false,
            consumer: 0,
            coalescer: Coalescer::new(),
            report_due: false,
        }
    }

    pub fn start(info: &Info, region: Region) -> Self {
        let host_ring = info.send.flags.contains(RingFlags::HOST_RING);
        Self {
            ring: CachedRing::new(info.send.length),
            flags: info.send.flags,
            base: if host_ring {
                SEND_AREA
            } else {
                info.send.address.low
            },
            space: TxSpace::new(region),
            ..Self::new()
        }
    }

    /// Address of the available descriptor `ahead` of the next one.
    #[inline(always)]
    fn descriptor(&self, ahead: u32) -> u32 {
        self.base + send_bytes(self.ring.peek(ahead))
    }

    /// Handles the end of the DMA of a part of the oldest frame, the last part excluded.
    pub fn part_read(&mut self, failed: bool) {
        self.part_failed |= failed;
    }

    /// Searches the descriptors for the end of a frame.
    #[inline(always)]
    fn find_frame(&self) -> Found {
        let available = self.ring.available();
        let mut frame = Frame::NONE;
        let mut whole = true;
        while frame.descriptors < available {
            let descriptor = self.descriptor(frame.descriptors);
            let length_flags = sram::read(descriptor + SEND_LENGTH_FLAGS);
            let flags = Flags::from_bits_retain(length_flags & 0xFFFF);
            whole &= length_flags >> 16 != 0;
            frame.length += length_flags >> 16;
            frame.descriptors += 1;
            frame.flags |= flags;
            if flags.contains(Flags::VLAN_TAG) {
                frame.tag = sram::read(descriptor + SEND_VLAN) & 0xFFFF;
            }
            if flags.contains(Flags::END) {
                let fits = frame.length >= SHORTEST_BYTES && frame.length <= LONGEST_BYTES;
                return if whole && fits {
                    Found::Frame(frame)
                } else {
                    Found::Bad(frame.descriptors)
                };
            }
        }
        if available + 1 == self.ring.entries() {
            // The ring is full and contains no end of a frame.
            Found::Bad(available)
        } else {
            Found::Nothing
        }
    }

    /// Reserves space for the frame if MAC and transmit buffer have room.
    #[inline(always)]
    fn reserve(&mut self, length: u32) -> Option<u32> {
        let under_way = self.tail.wrapping_sub(self.head);
        if under_way as usize >= QUEUE || TxRing::room() <= under_way {
            return None;
        }
        let place = self
            .space
            .reserve(length, CONTIGUOUS_BYTES, mac::tx_consumer());
        if place.is_none() && under_way == 0 && TxRing::is_empty() {
            // Only frames whose DMA failed fill the buffer; the MAC never got them.
            let region = *self.space.region();
            self.space = TxSpace::new(region);
            regs::write(regs::TX_BUFFER_CONSUMER, region.base());
            mac::release_tx(region.base());
        }
        place
    }

    /// Queues the frame's parts to DMA, as far as there is room.
    #[inline(always)]
    fn queue_parts(&mut self, state: DmaState) -> Result<(), RingFull> {
        let Some(mut gathering) = self.gathering.take() else {
            return Ok(());
        };
        let result = self.queue_parts_of(&mut gathering, state);
        if result.is_err() {
            self.gathering = Some(gathering);
            return result;
        }
        let frame = gathering.frame;
        self.ring.take(frame.descriptors);
        if let Some(slot) = self.queue.get_mut(self.tail as usize & (QUEUE - 1)) {
            *slot = frame;
        }
        self.tail = self.tail.wrapping_add(1);
        Ok(())
    }

    #[inline(always)]
    fn queue_parts_of(&self, gathering: &mut Gathering, state: DmaState) -> Result<(), RingFull> {
        let frame = &gathering.frame;
        while gathering.queued != frame.descriptors {
            let descriptor = self.descriptor(gathering.queued);
            let length = sram::read(descriptor + SEND_LENGTH_FLAGS) >> 16;
            let last = gathering.queued + 1 == frame.descriptors;
            let mut state = state;
            if frame.flags.contains(Flags::TCP_UDP_SUM) {
                state |= DmaState::CHECKSUM | DmaState::CHECKSUM_DELIVER;
                if gathering.queued == 0 {
                    state |= DmaState::CHECKSUM_NEW;
                }
            }
            if last {
                state |= DmaState::RELEASE_TX;
            }
            push_read(&Transfer {
                host_high: sram::read(descriptor + SEND_HIGH),
                host_low: sram::read(descriptor + SEND_LOW),
                local: gathering.local,
                length,
                state,
                kind: if last {
                    read::SEND_LAST
                } else {
                    read::SEND_DATA
                },
                index: 0,
            })?;
            gathering.queued += 1;
            gathering.local = self.space.region().advance(gathering.local, length);
        }
        Ok(())
    }

    /// Completes the checksum of a frame whose bytes sum to `sum`.
    #[inline(never)]
    fn complete_checksum(&self, frame: &Frame, sum: u32) {
        let region = self.space.region();
        let half = |at| u32::from(sram::read_half(region.advance(frame.start, at)));
        let Some(packet) = Packet::find(frame.length, half) else {
            trace!("noPacket", frame.length);
            return;
        };
        let mut part = checksum::subtract(sum, packet.sum_around(frame.length, half));
        if !self.flags.contains(RingFlags::NO_PSEUDO_HEADER) {
            part = checksum::add(part, packet.sum_pseudo(half));
        }
        let field = region.advance(frame.start, packet.field);
        sram::write_half(field, packet.completed(part) as u16);
    }
}

impl Firmware {
    /// Sets the send ring's producer index, as written by the host.
    pub fn send_produced(&mut self, producer: u32) {
        count!("nic_ring_set_send_prod_index");
        if !self.send.ring.set_producer(producer) {
            trace!("badProd", producer, self.send.ring.entries());
            return;
        }
        if self.send.flags.contains(RingFlags::HOST_RING) {
            self.fetch_send_descriptors();
        } else {
            self.send.ring.all_at_hand();
            event::raise::<A>(event::SOFT_SEND);
        }
    }

    /// Fetches new descriptors from the host, as far as there is room.
    #[inline(always)]
    pub fn fetch_send_descriptors(&mut self) {
        while let Some(span) = self.send.ring.to_request() {
            let at = send_bytes(span.first);
            let host = self.info.send.address.plus(at);
            let queued = push_read(&Transfer {
                host_high: host.high,
                host_low: host.low,
                local: self.send.base + at,
                length: send_bytes(span.count),
                state: self.control.read,
                kind: read::SEND_DESCRIPTORS,
                index: span.count,
            });
            if queued.is_err() {
                // Retried when a read completes.
                return;
            }
            self.send.ring.request(span.count);
        }
    }

    /// Records fetched send descriptors.
    #[inline(always)]
    pub fn send_descriptors_read(&mut self, count: u32) {
        self.send.ring.arrived(count);
        event::raise::<A>(event::SOFT_SEND);
    }

    /// Handles waiting frames. If a resource is missing, the event stays set.
    pub fn on_send(&mut self) {
        loop {
            if self.send.gathering.is_none() && !self.begin_frame() {
                return;
            }
            if self.send.queue_parts(self.control.read_data).is_err() {
                return;
            }
        }
    }

    /// Begins the next frame; returns whether there is one.
    #[inline(always)]
    fn begin_frame(&mut self) -> bool {
        match self.send.find_frame() {
            Found::Nothing => {
                event::clear::<A>(event::SOFT_SEND);
                false
            }
            Found::Bad(descriptors) => {
                self.skip_frame(descriptors);
                false
            }
            Found::Frame(mut frame) => match self.send.reserve(frame.length) {
                Some(start) => {
                    frame.start = start;
                    self.send.gathering = Some(Gathering {
                        frame,
                        queued: 0,
                        local: start,
                    });
                    true
                }
                None => false,
            },
        }
    }

    /// Returns the descriptors of an invalid frame, once all earlier frames are done.
    #[inline(never)]
    fn skip_frame(&mut self, descriptors: u32) {
        if self.send.head == self.send.tail {
            trace!("badFrame", descriptors, self.send.ring.peek(0));
            count!("if_out_discards");
            self.send.ring.take(descriptors);
            self.sent(descriptors, false);
        }
    }

    /// Handles the end of the DMA of the oldest frame's last part; the frame's bytes sum to `sum`.
    #[inline(always)]
    pub fn frame_read(&mut self, failed: bool, sum: u32) {
        let send = &mut self.send;
        let slot = send.head as usize & (QUEUE - 1);
        let frame = send.queue.get(slot).copied().unwrap_or(Frame::NONE);
        send.head = send.head.wrapping_add(1);
        let failed = core::mem::take(&mut send.part_failed) || failed;
        if failed {
            count!("if_out_errors");
        } else {
            if frame.flags.contains(Flags::TCP_UDP_SUM) {
                send.complete_checksum(&frame, sum);
            }
            count_frame(&frame);
            // `reserve` has reserved a descriptor.
            let _ = if frame.flags.contains(Flags::VLAN_TAG) {
                TxRing::push_tagged(frame.start, frame.length, frame.tag)
            } else {
                TxRing::push(frame.start, frame.length)
            };
        }
        let now = frame.flags.contains(Flags::COALESCE_NOW);
        self.sent(frame.descriptors, now);
    }

    /// Returns `descriptors` to the host and reports it now or by coalescing.
    #[inline(always)]
    fn sent(&mut self, descriptors: u32, now: bool) {
        let send = &mut self.send;
        send.consumer += descriptors;
        if send.consumer >= send.ring.entries() {
            send.consumer -= send.ring.entries();
        }
        count!("nic_total_send_bds", descriptors);
        match send.coalescer.add(descriptors, &self.tuning.send) {
            Reporting::Report => {
                count!("nic_send_threshold_hit");
                self.report_sent();
            }
            _ if now => self.report_sent(),
            Reporting::SetAlarm => self.set_alarm(Alarm::Send, self.tuning.send.ticks_us),
            Reporting::Wait => {}
        }
    }

    /// Reports the send consumer as soon as there is room.
    pub fn report_sent(&mut self) {
        self.clear_alarm(Alarm::Send);
        if self.send.coalescer.take() {
            self.send.report_due = true;
            self.push_reports();
        }
    }

    /// Queues a due report of the send consumer.
    #[inline(always)]
    pub fn push_sent(&mut self) -> Result<(), RingFull> {
        if self.send.report_due {
            let (address, consumer) = (self.info.send_consumer, self.send.consumer);
            push_word(address, consumer, write::SEND_CONSUMER, self.control.write)?;
            self.send.report_due = false;
            count!("nic_ring_set_send_cons_index");
        }
        Ok(())
    }
}

/// Counts a frame given to the MAC.
#[inline(always)]
fn count_frame(frame: &Frame) {
    count_wide(const { word("if_hc_out_octets") }, frame.length);
    // The group bit is the lowest bit of the first byte.
    let first = sram::read_half(frame.start);
    if first & 0x0100 == 0 {
        count_wide(const { word("if_hc_out_ucast_pkts") }, 1);
    } else if first == 0xFFFF {
        count_wide(const { word("if_hc_out_broadcast_pkts") }, 1);
    } else {
        count_wide(const { word("if_hc_out_multicast_pkts") }, 1);
    }
}
