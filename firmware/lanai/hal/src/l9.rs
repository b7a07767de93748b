//! Engines of LANai 7 and 9.

use defs::lanai::l9::{
    BASE, CRC, ISR, IT0, MYRINET, OFF_BY_MASK, OFF_BY_SHIFT, PULSE, PULSE_0, PULSE_2, RML, RMP, SA,
    SMH, SMLT, SMP, TIME0, WAKE as DMA_WAKE,
};
use defs::lanai::{
    BLOCK_FROM_HOST, BLOCK_HOST_HIGH, BLOCK_HOST_LOW, BLOCK_LENGTH, BLOCK_LOCAL, BLOCK_NEXT,
    BLOCK_TERMINAL, BLOCK_WAKE, BUFF, RECV, SEND,
};
use lanai_rt::Register;

use crate::sram::{load, store};

/// Event: a packet is in the buffer, or its limit came before the tail.
pub const RECEIVED: u32 = RECV;
/// Event: the packet has left.
pub const SENT: u32 = SEND;
/// Event: a DMA is complete.
pub const DMA: u32 = DMA_WAKE;
/// Event: the timer has expired.
pub const TICK: u32 = TIME0;

const ALL: u32 = RECV | BUFF | SEND | DMA_WAKE | TIME0;
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

/// Takes the events that have come up. A packet that is too long for its buffer is read to its end; the
/// word at `long` is then 1.
#[inline(always)]
#[must_use]
pub fn take_status(long: u32) -> u32 {
    let status = register(ISR).read() & ALL;
    if status == 0 {
        return 0;
    }
    register(ISR).write(status);
    if status & BUFF != 0 {
        swallow(long, status);
    }
    status & !BUFF
}

#[cold]
#[inline(never)]
fn swallow(long: u32, status: u32) {
    store(long, 1);
    if status & RECV == 0 {
        let limit = register(RML).read();
        // The place of the last two units again, as often as needed.
        register(RMP).write(limit - UNIT);
        register(RML).write(limit);
    }
}

/// Lets the next packet come into `bytes` from `buffer`; both are multiples of 8.
#[inline(always)]
pub fn arm(buffer: u32, bytes: u32) {
    register(RMP).write(buffer);
    register(RML).write(buffer + bytes - UNIT);
}

/// Length of the packet that is in `buffer`, without its CRC; 0 if it is damaged.
#[inline(always)]
#[must_use]
pub fn received(buffer: u32) -> u32 {
    let status = register(ISR).read();
    let end = register(RMP).read() - (status >> OFF_BY_SHIFT & OFF_BY_MASK);
    let length = end.wrapping_sub(buffer).wrapping_sub(4);
    if length & 3 != 0 || load(buffer.wrapping_add(length)) != 0 {
        return 0;
    }
    length
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

/// Bytes of a DMA block with its cookie.
const BLOCK_BYTES: u32 = 32;
/// Word of a block: the cookie.
const COOKIE: u32 = 24;
/// Number of blocks of each direction.
const BLOCKS: u32 = 8;
const RING_BYTES: u32 = BLOCKS * BLOCK_BYTES;

/// DMA through two rings of blocks in SRAM: from the host in channel 2, to the host in channel 0. The host
/// has set the channels to the beginnings of the rings.
///
/// Memory from `BASE` on, a multiple of 1024: ring to the host, ring from the host, four words.
#[derive(Debug, Clone, Copy)]
pub struct Dma<const BASE: u32>;

impl<const BASE: u32> Dma<BASE> {
    /// First block of the ring to the host.
    pub const WRITES: u32 = BASE;
    /// First block of the ring from the host.
    pub const READS: u32 = BASE + RING_BYTES;
    const WRITE_NEXT: u32 = BASE + 2 * RING_BYTES;
    const WRITE_OLDEST: u32 = Self::WRITE_NEXT + 4;
    const READ_NEXT: u32 = Self::WRITE_NEXT + 8;
    const READ_OLDEST: u32 = Self::WRITE_NEXT + 12;

    #[inline(always)]
    const fn after(block: u32) -> u32 {
        block & !(RING_BYTES - 1) | (block + BLOCK_BYTES) & (RING_BYTES - 1)
    }

    /// Makes both rings empty.
    pub fn initialise() {
        for ring in [Self::WRITES, Self::READS] {
            let mut block = ring;
            for _ in 0..BLOCKS {
                store(block + BLOCK_NEXT, Self::after(block) | BLOCK_TERMINAL);
                block += BLOCK_BYTES;
            }
        }
        store(Self::WRITE_NEXT, Self::WRITES);
        store(Self::WRITE_OLDEST, Self::WRITES);
        store(Self::READ_NEXT, Self::READS);
        store(Self::READ_OLDEST, Self::READS);
    }

    #[inline(always)]
    fn fill(block: u32, high: u32, low: u32, local: u32, length: u32, flags: u32) {
        store(block + BLOCK_LENGTH, length);
        store(block + BLOCK_LOCAL, local);
        store(block + BLOCK_HOST_HIGH, high);
        store(block + BLOCK_HOST_LOW, low);
        // The engine may be at this block already: it begins with this word.
        store(block + BLOCK_NEXT, Self::after(block) | flags);
    }

    /// Starts a DMA from the host. At most seven are under way.
    #[inline(always)]
    pub fn start_read(high: u32, low: u32, local: u32, length: u32) {
        let block = load(Self::READ_NEXT);
        store(Self::READ_NEXT, Self::after(block));
        let flags = BLOCK_FROM_HOST | BLOCK_WAKE;
        Self::fill(block, high, low, local, length, flags);
        register(PULSE).write(PULSE_2);
    }

    /// Whether the oldest DMA from the host has completed since the last time that this was true.
    #[inline(always)]
    #[must_use]
    pub fn read_done() -> bool {
        let block = load(Self::READ_OLDEST);
        let done = block != load(Self::READ_NEXT) && load(block + BLOCK_NEXT) & BLOCK_TERMINAL != 0;
        if done {
            store(Self::READ_OLDEST, Self::after(block));
        }
        done
    }

    /// Starts a DMA to the host. At most seven are under way. A cookie of 0 asks for no event.
    #[inline(always)]
    pub fn start_write(high: u32, low: u32, local: u32, length: u32, cookie: u32) {
        let block = load(Self::WRITE_NEXT);
        store(Self::WRITE_NEXT, Self::after(block));
        store(block + COOKIE, cookie);
        let flags = if cookie == 0 { 0 } else { BLOCK_WAKE };
        Self::fill(block, high, low, local, length, flags);
        register(PULSE).write(PULSE_0);
    }

    /// The cookie of a completed DMA to the host, oldest first; 0 if there is none.
    #[inline(always)]
    #[must_use]
    pub fn write_done() -> u32 {
        loop {
            let block = load(Self::WRITE_OLDEST);
            if block == load(Self::WRITE_NEXT) || load(block + BLOCK_NEXT) & BLOCK_TERMINAL == 0 {
                return 0;
            }
            store(Self::WRITE_OLDEST, Self::after(block));
            let cookie = load(block + COOKIE);
            if cookie != 0 {
                return cookie;
            }
        }
    }
}
