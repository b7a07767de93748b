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

/// Whether the sender has read all bytes of its packet before `address`, a multiple of 4.
#[inline(always)]
#[must_use]
pub fn has_read(address: u32) -> bool {
    register(SMP).read() >= address
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

/// Bytes of an entry: host address, local address, length, cookie, and free words.
const ENTRY_BYTES: u32 = 32;
const ENTRIES: u32 = 64;
const RING_BYTES: u32 = ENTRIES * ENTRY_BYTES;
/// Word of an entry: the cookie.
const COOKIE: u32 = 12;

/// Words of a direction's queue, behind the rings.
#[derive(Debug, Clone, Copy)]
struct Queue {
    /// Address of the queue's ring of entries.
    ring: u32,
    /// The entry that is filled next.
    next: u32,
    /// The entry whose transfer is under way or starts next; all before it are complete.
    current: u32,
    /// The oldest entry whose end the firmware has not been told of.
    oldest: u32,
    /// The engine's word for this direction.
    direction: u32,
}

impl Queue {
    const fn at(ring: u32, words: u32, direction: u32) -> Self {
        Self {
            ring,
            next: words,
            current: words + 4,
            oldest: words + 8,
            direction,
        }
    }

    fn clear(&self) {
        for word in [self.next, self.current, self.oldest] {
            store(word, self.ring);
        }
    }

    #[inline(always)]
    const fn after(&self, entry: u32) -> u32 {
        self.ring | (entry + ENTRY_BYTES) & (RING_BYTES - 1)
    }

    #[inline(always)]
    fn has_more(&self) -> bool {
        load(self.current) != load(self.next)
    }

    /// The cookie of a completed transfer, oldest first; 0 if there is none.
    #[inline(always)]
    fn done(&self) -> u32 {
        loop {
            let oldest = load(self.oldest);
            if oldest == load(self.current) {
                return 0;
            }
            store(self.oldest, self.after(oldest));
            let cookie = load(oldest + COOKIE);
            if cookie != 0 {
                return cookie;
            }
        }
    }
}

/// The one DMA engine, shared by both directions: they take turns while both wait.
///
/// Memory from `BASE` on, a multiple of 2048: queue to the host, queue from the host, seven words.
#[derive(Debug, Clone, Copy)]
pub struct Dma<const BASE: u32>;

/// State of the engine: it moves nothing.
const IDLE: u32 = 0;
/// State of the engine: bytes go to the host.
const TO_HOST: u32 = 1;
/// State of the engine: bytes come from the host.
const FROM_HOST: u32 = 2;

impl<const BASE: u32> Dma<BASE> {
    const STATE: u32 = BASE + 2 * RING_BYTES;
    const WRITES: Queue = Queue::at(BASE, Self::STATE + 4, TO_HOST);
    const READS: Queue = Queue::at(BASE + RING_BYTES, Self::STATE + 16, FROM_HOST);

    /// Makes both queues empty.
    pub fn initialise() {
        const { assert!(BASE & (RING_BYTES - 1) == 0) }
        Self::WRITES.clear();
        Self::READS.clear();
        store(Self::STATE, IDLE);
    }

    /// Gives the engine a transfer.
    #[inline(always)]
    fn start(queue: &Queue, low: u32, local: u32, length: u32) {
        register(EAR).write(low);
        register(LAR).write(local);
        register(DMA_DIR).write(u32::from(queue.direction == FROM_HOST));
        register(DMA_CTR).write(length);
        store(Self::STATE, queue.direction);
    }

    /// Gives the engine the next transfer that waits in a queue.
    #[inline(always)]
    fn start_next(queue: &Queue) {
        let entry = load(queue.current);
        Self::start(queue, load(entry), load(entry + 4), load(entry + 8));
    }

    /// Queues a transfer, and starts it if the engine is idle: then no other one waits.
    #[inline(always)]
    fn add(queue: &Queue, low: u32, local: u32, length: u32, cookie: u32) {
        // Whole words only.
        let length = (length + 3) & !3;
        let entry = load(queue.next);
        store(queue.next, queue.after(entry));
        store(entry + COOKIE, cookie);
        if load(Self::STATE) == IDLE {
            return Self::start(queue, low, local, length);
        }
        store(entry, low);
        store(entry + 4, local);
        store(entry + 8, length);
    }

    /// The engine's transfer is complete: the next one starts. To be called for each event [`DMA`], first.
    #[inline(always)]
    pub fn completed() {
        if load(Self::STATE) == FROM_HOST {
            Self::ended(&Self::READS, &Self::WRITES);
        } else {
            Self::ended(&Self::WRITES, &Self::READS);
        }
    }

    /// A transfer of `queue` is complete: one of the other direction comes before the next of this one.
    #[inline(always)]
    fn ended(queue: &Queue, other: &Queue) {
        let after = queue.after(load(queue.current));
        store(queue.current, after);
        if other.has_more() {
            Self::start_next(other);
        } else if after != load(queue.next) {
            Self::start_next(queue);
        } else {
            store(Self::STATE, IDLE);
        }
    }

    /// Starts a DMA from the host, or queues it. At most 63 are under way. The bus has addresses of 32 bits. A cookie of 0 asks
    /// for no event.
    #[inline(always)]
    pub fn start_read(low: u32, local: u32, length: u32, cookie: u32) {
        Self::add(&Self::READS, low, local, length, cookie);
    }

    /// Reads whole words from the host and waits until they are there.
    #[inline(never)] // Waits anyway; its callers need its loop once.
    pub fn fetch(low: u32, local: u32, length: u32) {
        let entry = load(Self::READS.next);
        Self::start_read(low, local, length, 0);
        loop {
            while register(ISR).read() & DMA_DONE == 0 {}
            // The event of the own transfer stays: it also tells of those that are complete already.
            if load(Self::STATE) == FROM_HOST && load(Self::READS.current) == entry {
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
        Self::READS.done()
    }

    /// Starts a DMA to the host, or queues it. At most 63 are under way. A cookie of 0 asks for no event.
    #[inline(always)]
    pub fn start_write(low: u32, local: u32, length: u32, cookie: u32) {
        Self::add(&Self::WRITES, low, local, length, cookie);
    }

    /// Waits until all DMAs to the host are complete.
    #[inline(never)] // Waits anyway; its callers need its loop once.
    pub fn await_writes() {
        while Self::WRITES.has_more() {
            while register(ISR).read() & DMA_DONE == 0 {}
            let last = Self::WRITES.after(load(Self::WRITES.current)) == load(Self::WRITES.next);
            if last && load(Self::STATE) == TO_HOST {
                // This event stays: it also tells of those that are complete already.
                return;
            }
            register(ISR).write(DMA_DONE);
            Self::completed();
        }
    }

    /// The cookie of a completed DMA to the host, oldest first; 0 if there is none.
    #[inline(always)]
    #[must_use]
    pub fn write_done() -> u32 {
        Self::WRITES.done()
    }
}
