//! Engines of LANai 7 and 9.

use defs::lanai::l9::{
    BASE, CRC, ISR, IT0, IT1, MYRINET, OFF_BY_MASK, OFF_BY_SHIFT, PULSE, PULSE_0, PULSE_2, RML,
    RMP, SA, SMH, SMLT, SMP, TIME0, TIME1, WAKE as DMA_WAKE,
};
use defs::lanai::{
    BLOCK_FROM_HOST, BLOCK_HOST_HIGH, BLOCK_HOST_LOW, BLOCK_LENGTH, BLOCK_LOCAL, BLOCK_NEXT,
    BLOCK_TERMINAL, BLOCK_WAKE, BUFF, HOST_SIG, RECV, SEND,
};
use lanai_rt::Register;

use crate::receive::{self, Receiver};
use crate::sram::{load, store};

/// Event: a packet is in the armed buffer.
pub const RECEIVED: u32 = RECV;
/// Event: the packet has left.
pub const SENT: u32 = SEND;
/// Event: a DMA is complete.
pub const DMA: u32 = DMA_WAKE;
/// Event: the timer has expired.
pub const TICK: u32 = TIME0;
/// Event: the second timer has expired.
pub const ACK_TICK: u32 = TIME1;

const ALL: u32 = RECV | BUFF | SEND | DMA_WAKE | TIME0 | TIME1;
/// Bytes of a unit of the packet engines.
const UNIT: u32 = 8;

const fn register(offset: u32) -> Register {
    Register::at(BASE + offset)
}

/// Switches the port to packets with a CRC-32.
pub fn initialise() {
    crate::for_boards!("lanai7 lanai9");
    register(MYRINET).write(CRC);
    register(ISR).write(ALL);
}

/// The receiver's registers.
#[derive(Debug, Clone, Copy)]
pub enum Port {}

impl Receiver for Port {
    const STATUS: Register = register(ISR);
    const POINTER: Register = register(RMP);
    const LIMIT: Register = register(RML);
    const UNIT: u32 = UNIT;
    const EVENTS: u32 = ALL;

    #[inline(always)]
    fn length(buffer: u32, end: u32, status: u32) -> u32 {
        let end = end - (status >> OFF_BY_SHIFT & OFF_BY_MASK);
        let length = end.wrapping_sub(buffer).wrapping_sub(4);
        if length & 3 != 0 || load(buffer.wrapping_add(length)) != 0 {
            return 0;
        }
        length
    }
}

/// Takes the events that have come up. A packet that is too long for its buffer is read to its end; the
/// word at `long` is then 1.
#[inline(always)]
#[must_use]
pub fn take_status(long: u32) -> u32 {
    receive::take_status::<Port>(long)
}

/// Lets the next packet come into `bytes` from `buffer`; both are multiples of 8.
#[inline(always)]
pub fn arm(buffer: u32, bytes: u32) {
    receive::arm::<Port>(buffer, bytes);
}

/// Length of the packet that is in `buffer`, without its CRC; 0 if it is damaged.
#[inline(always)]
#[must_use]
pub fn received(buffer: u32) -> u32 {
    Port::length(buffer, register(RMP).read(), register(ISR).read())
}

/// Sends the bytes from `start` to `end`; the CRC covers those from `header` on.
#[inline(always)]
pub fn send(start: u32, header: u32, end: u32) {
    register(SMP).write(start & !(UNIT - 1));
    register(SA).write(start & (UNIT - 1));
    register(SMH).write(header);
    register(SMLT).write(end);
}

/// Asks for [`TICK`] after a time in half microseconds.
#[inline(always)]
pub fn set_timer(half_us: u32) {
    register(IT0).write(half_us);
}

/// Asks for [`ACK_TICK`] after a time in half microseconds.
#[inline(always)]
pub fn set_second_timer(half_us: u32) {
    register(IT1).write(half_us);
}

/// Interrupts the host.
#[inline(always)]
pub fn interrupt() {
    register(ISR).write(HOST_SIG);
}

/// Bytes of a DMA block with its cookie.
const BLOCK_BYTES: u32 = 32;
/// Word of a block: the cookie.
const COOKIE: u32 = 24;
/// Number of blocks to the host.
const WRITE_BLOCKS: u32 = 64;
/// Number of blocks from the host.
const READ_BLOCKS: u32 = 32;
const WRITE_RING_BYTES: u32 = WRITE_BLOCKS * BLOCK_BYTES;
const READ_RING_BYTES: u32 = READ_BLOCKS * BLOCK_BYTES;

/// DMA through two rings of blocks in SRAM: from the host in channel 2, to the host in channel 0. The host
/// has set the channels to the beginnings of the rings.
///
/// Memory from `BASE` on, a multiple of 2048: ring to the host, ring from the host, four words.
#[derive(Debug, Clone, Copy)]
pub struct Dma<const BASE: u32>;

impl<const BASE: u32> Dma<BASE> {
    /// First block of the ring to the host.
    pub const WRITES: u32 = BASE;
    /// First block of the ring from the host.
    pub const READS: u32 = BASE + WRITE_RING_BYTES;
    const WRITE_NEXT: u32 = BASE + WRITE_RING_BYTES + READ_RING_BYTES;
    const WRITE_OLDEST: u32 = Self::WRITE_NEXT + 4;
    const READ_NEXT: u32 = Self::WRITE_NEXT + 8;
    const READ_OLDEST: u32 = Self::WRITE_NEXT + 12;

    #[inline(always)]
    const fn after<const RING_BYTES: u32>(block: u32) -> u32 {
        block & !(RING_BYTES - 1) | (block + BLOCK_BYTES) & (RING_BYTES - 1)
    }

    fn prepare<const RING_BYTES: u32>(ring: u32) {
        let mut block = ring;
        for _ in 0..RING_BYTES / BLOCK_BYTES {
            store(
                block + BLOCK_NEXT,
                Self::after::<RING_BYTES>(block) | BLOCK_TERMINAL,
            );
            block += BLOCK_BYTES;
        }
    }

    /// Makes both rings empty.
    pub fn initialise() {
        Self::prepare::<WRITE_RING_BYTES>(Self::WRITES);
        Self::prepare::<READ_RING_BYTES>(Self::READS);
        store(Self::WRITE_NEXT, Self::WRITES);
        store(Self::WRITE_OLDEST, Self::WRITES);
        store(Self::READ_NEXT, Self::READS);
        store(Self::READ_OLDEST, Self::READS);
    }

    #[inline(always)]
    fn fill(block: u32, next: u32, host: (u32, u32), local: u32, length: u32) {
        store(block + BLOCK_LENGTH, length);
        store(block + BLOCK_LOCAL, local);
        store(block + BLOCK_HOST_HIGH, host.0);
        store(block + BLOCK_HOST_LOW, host.1);
        // The engine may be at this block already: it begins with this word.
        store(block + BLOCK_NEXT, next);
    }

    /// Whether a block's transfer is complete.
    #[inline(always)]
    fn is_done(block: u32) -> bool {
        load(block + BLOCK_NEXT) & BLOCK_TERMINAL != 0
    }

    /// Starts a DMA from the host. At most 15 are under way. A cookie of 0 asks for no event.
    #[inline(always)]
    pub fn start_read(high: u32, low: u32, local: u32, length: u32, cookie: u32) {
        let block = load(Self::READ_NEXT);
        let after = Self::after::<READ_RING_BYTES>(block);
        store(Self::READ_NEXT, after);
        store(block + COOKIE, cookie);
        let wake = if cookie == 0 { 0 } else { BLOCK_WAKE };
        Self::fill(
            block,
            after | BLOCK_FROM_HOST | wake,
            (high, low),
            local,
            length,
        );
        register(PULSE).write(PULSE_2);
    }

    /// Reads bytes from the host and waits until they are there.
    #[inline(never)] // Waits anyway; its callers need its loop once.
    pub fn fetch(high: u32, low: u32, local: u32, length: u32) {
        let block = load(Self::READ_NEXT);
        Self::start_read(high, low, local, length, 0);
        while !Self::is_done(block) {}
        // Without another transfer, no completion follows that would take the block from the ring.
        if load(Self::READ_OLDEST) == block {
            store(Self::READ_OLDEST, Self::after::<READ_RING_BYTES>(block));
        }
    }

    /// The cookie of a completed DMA from the host, oldest first; 0 if there is none.
    #[inline(always)]
    #[must_use]
    pub fn read_done() -> u32 {
        loop {
            let block = load(Self::READ_OLDEST);
            if block == load(Self::READ_NEXT) || !Self::is_done(block) {
                return 0;
            }
            store(Self::READ_OLDEST, Self::after::<READ_RING_BYTES>(block));
            let cookie = load(block + COOKIE);
            if cookie != 0 {
                return cookie;
            }
        }
    }

    /// Starts a DMA to the host. At most 15 are under way. A cookie of 0 asks for no event.
    #[inline(always)]
    pub fn start_write(high: u32, low: u32, local: u32, length: u32, cookie: u32) {
        let block = load(Self::WRITE_NEXT);
        let after = Self::after::<WRITE_RING_BYTES>(block);
        store(Self::WRITE_NEXT, after);
        store(block + COOKIE, cookie);
        let wake = if cookie == 0 { 0 } else { BLOCK_WAKE };
        Self::fill(block, after | wake, (high, low), local, length);
        register(PULSE).write(PULSE_0);
    }

    /// Waits until all DMAs to the host are complete.
    #[inline(never)] // Waits anyway; its callers need its loop once.
    pub fn await_writes() {
        let next = load(Self::WRITE_NEXT);
        let last = Self::WRITES | (next - BLOCK_BYTES) & (WRITE_RING_BYTES - 1);
        while !Self::is_done(last) {}
    }

    /// The cookie of a completed DMA to the host, oldest first; 0 if there is none.
    #[inline(always)]
    #[must_use]
    pub fn write_done() -> u32 {
        loop {
            let block = load(Self::WRITE_OLDEST);
            if block == load(Self::WRITE_NEXT) || !Self::is_done(block) {
                return 0;
            }
            store(Self::WRITE_OLDEST, Self::after::<WRITE_RING_BYTES>(block));
            let cookie = load(block + COOKIE);
            if cookie != 0 {
                return cookie;
            }
        }
    }
}
