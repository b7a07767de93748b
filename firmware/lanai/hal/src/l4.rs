//! Engines of the LANai 4.

use defs::lanai::l4::{
    BASE, CRC, DMA as DMA_DONE, DMA_CTR, DMA_DIR, EAR, ISR, IT, LAR, MYRINET, OFF_BY_MASK,
    OFF_BY_SHIFT, RML, RMP, SA, SMLT, SMP, TIME,
};
use defs::lanai::{BUFF, HOST_SIG, RECV, SEND};
use lanai_rt::Register;

use crate::receive::{self, Receiver};
use crate::sram::{load, store};

/// Event: a packet is in the armed buffer.
pub const RECEIVED: u32 = RECV;
/// Event: the packet has left.
pub const SENT: u32 = SEND;
/// Event: a DMA is complete.
pub const DMA: u32 = DMA_DONE;
/// Event: the timer has expired.
pub const TICK: u32 = TIME;

const ALL: u32 = RECV | BUFF | SEND | DMA_DONE | TIME;
/// Bytes of a unit of the packet engines.
const UNIT: u32 = 4;

const fn register(offset: u32) -> Register {
    Register::at(BASE + offset)
}

/// Switches the port to packets with a CRC-8.
pub fn initialise() {
    crate::for_boards!("lanai4");
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
        let length = end.wrapping_sub(buffer).wrapping_sub(1);
        // A whole number of words: the residue is the first byte of the next one.
        if length & 3 != 0 || load(buffer.wrapping_add(length)) >> 24 != 0 {
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

/// Lets the next packet come into `bytes` from `buffer`; both are multiples of 4.
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

/// Sends the bytes from `start` to `end`, a multiple of 4.
#[inline(always)]
pub fn send(start: u32, end: u32) {
    register(SMP).write(start & !(UNIT - 1));
    register(SA).write(start & (UNIT - 1));
    register(SMLT).write(end - UNIT);
}

/// Asks for [`TICK`] after a time in half microseconds.
#[inline(always)]
pub fn set_timer(half_us: u32) {
    register(IT).write(half_us);
}

/// Interrupts the host.
#[inline(always)]
pub fn interrupt() {
    register(ISR).write(HOST_SIG);
}

/// Bytes of an entry: two words of host address, local address, length, and the cookie.
const ENTRY_BYTES: u32 = 32;
const ENTRIES: u32 = 64;
const RING_BYTES: u32 = ENTRIES * ENTRY_BYTES;

/// The one DMA engine, shared by both directions: they take turns while both wait.
///
/// Memory from `BASE` on, a multiple of 2048: queue to the host, queue from the host, eight words.
#[derive(Debug, Clone, Copy)]
pub struct Dma<const BASE: u32>;

/// State of the engine: it moves nothing.
const IDLE: u32 = 0;
/// State of the engine: bytes go to the host.
const TO_HOST: u32 = 1;
/// State of the engine: bytes come from the host.
const FROM_HOST: u32 = 2;

impl<const BASE: u32> Dma<BASE> {
    const WRITES: u32 = BASE;
    const READS: u32 = BASE + RING_BYTES;
    const WRITE_NEXT: u32 = BASE + 2 * RING_BYTES;
    /// The next one to start.
    const WRITE_START: u32 = Self::WRITE_NEXT + 4;
    const WRITE_OLDEST: u32 = Self::WRITE_NEXT + 8;
    const READ_NEXT: u32 = Self::WRITE_NEXT + 12;
    const READ_START: u32 = Self::WRITE_NEXT + 16;
    const READ_OLDEST: u32 = Self::WRITE_NEXT + 20;
    const STATE: u32 = Self::WRITE_NEXT + 24;
    /// The direction that comes next if both wait.
    const TURN: u32 = Self::WRITE_NEXT + 28;

    #[inline(always)]
    const fn after(entry: u32) -> u32 {
        entry & !(RING_BYTES - 1) | (entry + ENTRY_BYTES) & (RING_BYTES - 1)
    }

    /// Makes both queues empty.
    pub fn initialise() {
        for (word, value) in [
            (Self::WRITE_NEXT, Self::WRITES),
            (Self::WRITE_START, Self::WRITES),
            (Self::WRITE_OLDEST, Self::WRITES),
            (Self::READ_NEXT, Self::READS),
            (Self::READ_START, Self::READS),
            (Self::READ_OLDEST, Self::READS),
            (Self::STATE, IDLE),
            (Self::TURN, FROM_HOST),
        ] {
            store(word, value);
        }
    }

    #[inline(always)]
    fn fill(entry: u32, low: u32, local: u32, length: u32, cookie: u32) {
        store(entry, low);
        store(entry + 4, local);
        // Whole words only.
        store(entry + 8, (length + 3) & !3);
        store(entry + 12, cookie);
    }

    /// Starts the next transfer if the engine is idle.
    #[inline(never)]
    fn go_on() {
        if load(Self::STATE) != IDLE {
            return;
        }
        let (write, read) = (load(Self::WRITE_START), load(Self::READ_START));
        let writes = write != load(Self::WRITE_NEXT);
        let reads = read != load(Self::READ_NEXT);
        let to_host = writes && (!reads || load(Self::TURN) == TO_HOST);
        if !to_host && !reads {
            return;
        }
        let entry = if to_host { write } else { read };
        register(EAR).write(load(entry));
        register(LAR).write(load(entry + 4));
        register(DMA_DIR).write(if to_host { 0 } else { 1 });
        register(DMA_CTR).write(load(entry + 8));
        if to_host {
            store(Self::WRITE_START, Self::after(write));
            store(Self::STATE, TO_HOST);
            store(Self::TURN, FROM_HOST);
        } else {
            store(Self::READ_START, Self::after(read));
            store(Self::STATE, FROM_HOST);
            store(Self::TURN, TO_HOST);
        }
    }

    /// The engine's transfer is complete: the next one starts. To be called for each event [`DMA`], first.
    #[inline(always)]
    pub fn completed() {
        store(Self::STATE, IDLE);
        Self::go_on();
    }

    /// Starts a DMA from the host, or queues it. At most 15 are under way. The bus has addresses of 32 bits. A cookie of 0 asks
    /// for no event.
    #[inline(always)]
    pub fn start_read(low: u32, local: u32, length: u32, cookie: u32) {
        let entry = load(Self::READ_NEXT);
        store(Self::READ_NEXT, Self::after(entry));
        Self::fill(entry, low, local, length, cookie);
        Self::go_on();
    }

    /// Reads whole words from the host and waits until they are there.
    #[inline(never)]
    pub fn fetch(low: u32, local: u32, length: u32) {
        let entry = load(Self::READ_NEXT);
        let after = Self::after(entry);
        Self::start_read(low, local, length, 0);
        loop {
            while register(ISR).read() & DMA_DONE == 0 {}
            // The event of the own transfer stays: it also tells of those that are complete already.
            if load(Self::STATE) == FROM_HOST && load(Self::READ_START) == after {
                // Without another transfer, no completion follows that would take the entry from the queue.
                if load(Self::READ_OLDEST) == entry {
                    store(Self::READ_OLDEST, after);
                }
                return;
            }
            register(ISR).write(DMA_DONE);
            Self::completed();
        }
    }

    /// The cookie of a completed DMA from the host, oldest first; 0 if there is none.
    #[inline(always)]
    #[must_use]
    pub fn read_done() -> u32 {
        loop {
            let oldest = load(Self::READ_OLDEST);
            let started = load(Self::READ_START);
            let under_way = load(Self::STATE) == FROM_HOST;
            let after = Self::after(oldest);
            // The one that was started last is under way.
            if oldest == started || (under_way && after == started) {
                return 0;
            }
            store(Self::READ_OLDEST, after);
            let cookie = load(oldest + 12);
            if cookie != 0 {
                return cookie;
            }
        }
    }

    /// Starts a DMA to the host, or queues it. At most 15 are under way. A cookie of 0 asks for no event.
    #[inline(always)]
    pub fn start_write(low: u32, local: u32, length: u32, cookie: u32) {
        let entry = load(Self::WRITE_NEXT);
        store(Self::WRITE_NEXT, Self::after(entry));
        Self::fill(entry, low, local, length, cookie);
        Self::go_on();
    }

    /// The cookie of a completed DMA to the host, oldest first; 0 if there is none.
    #[inline(always)]
    #[must_use]
    pub fn write_done() -> u32 {
        loop {
            let oldest = load(Self::WRITE_OLDEST);
            let started = load(Self::WRITE_START);
            let under_way = load(Self::STATE) == TO_HOST;
            let after = Self::after(oldest);
            if oldest == started || (under_way && after == started) {
                return 0;
            }
            store(Self::WRITE_OLDEST, after);
            let cookie = load(oldest + 12);
            if cookie != 0 {
                return cookie;
            }
        }
    }
}
