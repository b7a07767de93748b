//! Implementation of [`gm::Nic`] on the Tigon2, for one CPU.
//!
//! | | one CPU | two CPUs |
//! |---|---|---|
//! | MAC transmit ring, ring of DMA reads, timer of packets that are sent again | A | A |
//! | MAC receive ring, ring of DMA writes | A | B |
//! | timer of delayed acks | none: acks are not delayed | B |
//! | page-table entries | A | both, through the ring of DMA reads under the semaphore; A consumes the descriptors |
//! | SEND's half | A | A; with [`CpuMachines::LENDS`] B too, under a lock ([`crate::lend`]) |
//! | posts of the host | A, after a mailbox | each CPU those of its machines, after the mailbox |

use core::marker::PhantomData;

use defs::gm::atomic;
use defs::gm::collective::{ACKED_BYTES, PARTIAL, PARTIAL_AGAIN, STEP, SUBTYPES, VALUE_BYTES};
use defs::gm::gossip::{GOSSIP_BYTES, MISSING, SPREAD};
use defs::gm::mac::{ETHERTYPE, FRAME_HEADER_BYTES, SHORTEST_FRAME_BYTES, UPPER, WORD_ETHERTYPE};
use defs::gm::map::{ACK_HALF_US, MORE_WRITES, TICK_HALF_US};
use defs::gm::packet::{
    GET, GET_BYTES, GOT, GOT_BYTES, HEADER_BYTES, PUT, PUT_BODY, PUT_BYTES, WORD_LENGTH, WORD_TYPE,
};
use defs::tigon2::rings::{CRC_BYTES, DMA_DESCRIPTOR_BYTES, DMA_RING_BYTES, RX_STATUS_RUNT};
use gm::nic::{Event, HostAddress, Nic, Packet, ReceiveRing, Role};
use tigon2_hal::cpu::Cpu;
use tigon2_hal::dma::{self, Direction, Read, ReadRing, RingFull, Transfer, Write, WriteRing};
use tigon2_hal::mac::{self, RxRing, TxRing};
use tigon2_hal::rings::Region;
use tigon2_hal::{event, fail, regs, semaphore, sram, timer};

use crate::frames::{Frames, TAKEN_LIMIT};
use crate::{CpuMachines, LAYOUT};

const RX: Region = LAYOUT.rx_region();

// Headers do not pass the buffer's end: frames start at multiples of 64.
const _: () = assert!(FRAME_HEADER_BYTES + HEADER_BYTES + atomic::ASK_BYTES <= 64);
const _: () = assert!(RX.limit().is_multiple_of(64) && RX.base().is_multiple_of(64));

/// The chip as a side sees it.
#[derive(Debug)]
pub struct Chip<S> {
    /// A frame is at the MAC.
    sending: bool,
    frames: Frames,
    side: PhantomData<S>,
}

impl<S> Default for Chip<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Chip<S> {
    /// State after [`tigon2_hal::layout::initialise`] with [`LAYOUT`].
    #[must_use]
    pub const fn new() -> Self {
        Self {
            sending: false,
            frames: Frames::new(),
            side: PhantomData,
        }
    }
}

impl<S: CpuMachines> Chip<S> {
    /// Waits until the frame at the MAC has left, for which there is no event, or until there is an event. Reads registers only, so
    /// that the other CPU has the SRAM. Returns false at once if no frame is there.
    #[inline(always)]
    #[must_use]
    pub fn await_sent(&self) -> bool {
        while self.sending && !TxRing::is_empty() && regs::read(S::Cpu::EVENT) & event::mask() == 0
        {
        }
        self.sending
    }
}

/// A DMA that keeps the order of bytes.
#[inline(always)]
const fn transfer(host: HostAddress, local: u32, length: u32, cookie: u32) -> Transfer {
    Transfer {
        host_high: host.high,
        host_low: host.low,
        local,
        length,
        state: dma::COPY_BYTES,
        kind: 0,
        index: cookie,
    }
}

impl<S: CpuMachines> Chip<S> {
    /// Whether the other CPU uses the ring of DMA reads too.
    const SHARED: bool = !matches!(S::ROLE, Role::All);

    /// Queues a DMA read; returns the address of its descriptor.
    #[inline(always)]
    fn push_read(transfer: &Transfer) -> u32 {
        let push = || {
            let descriptor = regs::read(Read::PRODUCER);
            if ReadRing::push(transfer) == Err(RingFull) {
                fail!("no free descriptor in the read DMA ring");
            }
            descriptor
        };
        match Self::SHARED {
            true => semaphore::locked::<S::Cpu, _>(push),
            false => push(),
        }
    }
}

/// Length of a packet in a frame of `frame_bytes`, without padding of the shortest frame.
#[inline(always)]
fn length(packet: u32, frame_bytes: u32) -> u32 {
    let length = frame_bytes.saturating_sub(FRAME_HEADER_BYTES);
    if frame_bytes > SHORTEST_FRAME_BYTES {
        return length;
    }
    let subtype = sram::read(packet + WORD_TYPE) & 0xFFFF;
    let extra = extra_bytes(subtype);
    // Packets of operations have no payload, and something else in its place.
    let payload = if subtype.wrapping_sub(STEP) < SUBTYPES {
        0
    } else {
        sram::read(packet + WORD_LENGTH) >> 16
    };
    length.min(HEADER_BYTES + extra + ((payload + 3) & !3))
}

/// Bytes between header and payload of a packet with a subtype.
#[inline(always)]
const fn extra_bytes(subtype: u32) -> u32 {
    match subtype {
        PUT | PUT_BODY => PUT_BYTES,
        GOT => GOT_BYTES,
        GET => GET_BYTES,
        STEP..PARTIAL => ACKED_BYTES,
        PARTIAL..=PARTIAL_AGAIN => ACKED_BYTES + VALUE_BYTES,
        SPREAD..=MISSING => GOSSIP_BYTES,
        atomic::ASK => atomic::ASK_BYTES,
        atomic::VALUE => atomic::VALUE_BYTES,
        _ => 0,
    }
}

/// DMAs to the host that GM has under way at most: three for each taken packet and some more.
const MOST_WRITES: u32 = 3 * TAKEN_LIMIT + MORE_WRITES;

const _: () = assert!(MOST_WRITES < DMA_RING_BYTES / DMA_DESCRIPTOR_BYTES);

impl<S: CpuMachines> Nic for Chip<S> {
    const ROLE: Role = S::ROLE;
    const RECEIVED: u32 = 1 << event::RX_COMPLETE;
    /// No bit of the chip.
    const SENT: u32 = 1;
    const DMA: u32 = 1 << event::READ_DMA_DONE | 1 << event::WRITE_DMA_DONE;
    const TICK: u32 = match S::ROLE {
        Role::All | Role::Sender => 1 << event::TIMER,
        Role::Receiver | Role::Borrower => 0,
    };
    /// CPU A has one timer, for [`TICK`](Self::TICK).
    const ACK_TICK: u32 = match S::ROLE {
        Role::All | Role::Sender => 0,
        Role::Receiver | Role::Borrower => 1 << event::TIMER,
    };
    const JOB: u32 = match S::ROLE {
        Role::All => 0,
        Role::Sender | Role::Receiver | Role::Borrower => 1 << event::SOFT_REPORTS,
    };
    const LENDS: bool = S::LENDS;
    const EVENT_BEHIND_PAYLOAD: bool = false;
    const RECEIVE_RING: Option<ReceiveRing> = Some(ReceiveRing {
        base: RX.base(),
        limit: RX.limit(),
    });

    #[inline(always)]
    fn load(&self, address: u32) -> u32 {
        sram::read(address)
    }

    #[inline(always)]
    fn store(&mut self, address: u32, value: u32) {
        sram::write(address, value);
    }

    #[inline(always)]
    fn events(&mut self) -> u32 {
        let mut events = regs::read(S::Cpu::EVENT) & event::mask();
        if events & 1 << event::MAILBOX != 0 {
            // Before the posts are looked at: a later one rings again.
            let written = regs::read(S::Cpu::MAILBOX_EVENT);
            regs::write(S::Cpu::MAILBOX_EVENT, written);
            events &= !(1 << event::MAILBOX);
        }
        if events & 1 << event::TIMER != 0 {
            event::disable(event::TIMER);
        }
        if events & Self::JOB != 0 {
            // Before the jobs are looked at; the other CPU changes the register too.
            semaphore::locked::<S::Cpu, _>(|| event::clear::<S::Cpu>(event::SOFT_REPORTS));
        }
        if self.sending && TxRing::is_empty() {
            self.sending = false;
            events |= Self::SENT;
        }
        events
    }

    #[inline(always)]
    fn start_read(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
        Self::push_read(&transfer(host, local, length, cookie));
    }

    #[inline(always)]
    fn read_done(&mut self) -> u32 {
        while let Some(done) = ReadRing::completed() {
            let cookie = done.index();
            done.consume();
            if cookie != 0 {
                return cookie;
            }
        }
        0
    }

    #[inline(never)] // Waits for its DMA anyway, and would take room in the scratchpad.
    fn fetch(&mut self, host: HostAddress, local: u32, length: u32) {
        let descriptor = Self::push_read(&transfer(host, local, length, 0));
        // Until the reference is behind the descriptor, by less than half of the ring.
        loop {
            let passed = regs::read(Read::REFERENCE).wrapping_sub(descriptor);
            let passed = passed & (DMA_RING_BYTES - 1);
            if passed != 0 && passed < DMA_RING_BYTES / 2 {
                return;
            }
        }
    }

    #[inline(always)]
    fn start_write(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
        if WriteRing::push(&transfer(host, local, length, cookie)) == Err(RingFull) {
            fail!("no free descriptor in the write DMA ring");
        }
    }

    #[inline(always)]
    fn write_done(&mut self) -> u32 {
        while let Some(done) = WriteRing::completed() {
            let cookie = done.index();
            done.consume();
            if cookie != 0 {
                return cookie;
            }
        }
        0
    }

    #[inline(always)]
    fn await_writes(&mut self) {
        while regs::read(Write::REFERENCE) != regs::read(Write::PRODUCER) {}
    }

    #[inline(always)]
    fn send(&mut self, start: u32, _header: u32, end: u32) {
        let (start, length) = (start + UPPER, end - start);
        // The MAC is idle. It sends nothing from its consumer to the same place.
        regs::write(regs::TX_BUFFER_CONSUMER, start);
        mac::release_tx(start + length);
        if TxRing::push(start, length) == Err(RingFull) {
            fail!("no free descriptor in the MAC's transmit ring");
        }
        // With a lock, only what waits for the end of the frame asks for the event.
        self.sending = !S::LENDS;
    }

    #[inline(always)]
    fn receive(&mut self) -> Option<(u32, u32)> {
        let arrival = RxRing::arrival()?;
        let frame = arrival.frame(arrival.address());
        frame.advance();
        frame.free_descriptor();
        let (start, bytes) = (frame.address, frame.length());
        let packet = start + FRAME_HEADER_BYTES;
        let intact = frame.status() & !RX_STATUS_RUNT == 0
            && sram::read(start + WORD_ETHERTYPE) >> 16 == ETHERTYPE as u32;
        self.frames
            .take(start, RX.advance(start, bytes + CRC_BYTES));
        let length = if intact { length(packet, bytes) } else { 0 };
        Some((packet, length))
    }

    #[inline(always)]
    fn release(&mut self, packet: u32) {
        self.frames.release(packet - FRAME_HEADER_BYTES);
    }

    #[inline(always)]
    fn set_timer(&mut self) {
        timer::set_after::<S::Cpu>(TICK_HALF_US / 2);
        event::enable(event::TIMER);
    }

    #[inline(always)]
    fn set_ack_timer(&mut self) {
        timer::set_after::<S::Cpu>(ACK_HALF_US / 2);
        event::enable(event::TIMER);
    }

    #[inline(always)]
    fn wake(&mut self) {
        // If the event is raised already, the other CPU has still to clear it, and looks at the jobs behind that.
        if !event::is_raised::<<S::Cpu as Cpu>::Other>(event::SOFT_REPORTS) {
            semaphore::locked::<S::Cpu, _>(|| {
                event::raise::<<S::Cpu as Cpu>::Other>(event::SOFT_REPORTS);
            });
        }
    }

    #[inline(always)]
    fn lend(&mut self, packet: &Packet, waits: bool) -> bool {
        S::lend(packet, waits)
    }

    #[inline(always)]
    fn yield_lock(&mut self) {
        S::yield_lock();
    }

    #[inline(always)]
    fn is_sent(&self) -> bool {
        TxRing::is_empty()
    }

    #[inline(always)]
    fn watch_sent(&mut self) {
        self.sending = true;
    }

    fn interrupt(&mut self) {
        let bit = regs::LocalControl::RAISE_INTERRUPT.bits();
        match Self::SHARED {
            true => semaphore::locked::<S::Cpu, _>(|| regs::set(regs::LOCAL_CONTROL, bit)),
            false => regs::set(regs::LOCAL_CONTROL, bit),
        }
    }

    #[inline(always)]
    fn mark(&mut self, event: Event, number: u32, sequence: u32) {
        match event {
            Event::TokenTaken => event!("gm token taken", number, sequence),
            Event::ReadStarted => event!("gm read started", number, sequence),
            Event::PacketSent => event!("gm packet sent", number, sequence),
            Event::PacketReceived => event!("gm packet received", number, sequence),
            Event::AckSent => event!("gm ack sent", number, sequence),
            Event::AckReceived => event!("gm ack received", number, sequence),
            Event::Resend => event!("gm resend", number, sequence),
            Event::PacketDropped => event!("gm packet dropped", number, sequence),
        }
    }
}
