//! A bounded queue between the two CPUs, in shared SRAM.
//!
//! One CPU puts entries in ([`Producer`]), the other takes them out ([`Consumer`]). Each word has one
//! writer: the producer writes the producer index, the consumer the consumer index. Both indices count up
//! and wrap. So the queue itself needs no lock.
//!
//! The consumer's event bit, which means "not empty" ([`Bell`]), needs the semaphore: its register holds
//! other bits, and both CPUs change it by a read and a write. The producer sets the bit, if it is clear,
//! under the semaphore when it publishes the entry. The consumer clears the bit under the semaphore if the
//! queue is still empty then. No CPU waits for the other one's bit; a producer without room retries.

/// Memory shared by both CPUs.
pub trait Memory {
    /// Reads the word at `address`.
    fn load(&self, address: u32) -> u32;
    /// Writes the word at `address`.
    fn store(&mut self, address: u32, value: u32);
}

/// A queue's event bit in the consumer's event register, and the semaphore that guards the register.
pub trait Bell: Memory {
    /// Takes the semaphore.
    fn lock(&mut self);
    /// Releases the semaphore.
    fn unlock(&mut self);
    /// Whether the bit is set.
    fn is_rung(&self) -> bool;
    /// Sets the bit.
    fn ring(&mut self);
    /// Clears the bit.
    fn quieten(&mut self);
}

/// Layout of a queue: two words for the indices, then the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    base: u32,
    entries: u32,
    entry_shift: u32,
}

const PRODUCER_INDEX: u32 = 0;
const CONSUMER_INDEX: u32 = 4;
const ENTRIES: u32 = 8;

impl Queue {
    /// A queue at `base` of `entries` entries of `words` words each (both powers of two).
    ///
    /// # Panics
    /// If a number is not a power of two; for a constant this is a compile error.
    #[must_use]
    pub const fn new(base: u32, entries: u32, words: u32) -> Self {
        assert!(entries.is_power_of_two() && words.is_power_of_two());
        Self {
            base,
            entries,
            entry_shift: (4 * words).trailing_zeros(),
        }
    }

    /// Number of words at the queue's beginning by which its ends tell each other how far they are.
    pub const INDICES: u32 = 2;

    /// Address of these words.
    #[must_use]
    pub const fn indices(&self) -> u32 {
        self.base
    }

    /// Bytes of memory that the queue occupies.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        ENTRIES + (self.entries << self.entry_shift)
    }

    /// Empties the queue. Call it before either CPU uses the queue.
    pub fn reset(&self, memory: &mut impl Memory) {
        memory.store(self.base + PRODUCER_INDEX, 0);
        memory.store(self.base + CONSUMER_INDEX, 0);
    }

    #[inline(always)]
    const fn entry(&self, index: u32) -> u32 {
        self.base + ENTRIES + ((index & (self.entries - 1)) << self.entry_shift)
    }
}

/// The writing end of a queue.
#[derive(Debug, Clone)]
pub struct Producer {
    queue: Queue,
    index: u32,
}

impl Producer {
    /// The writing end of an empty queue.
    #[must_use]
    pub const fn new(queue: Queue) -> Self {
        Self::at(queue, 0)
    }

    /// The writing end of a queue that has received [`index`](Self::index) entries.
    #[inline(always)]
    #[must_use]
    pub const fn at(queue: Queue, index: u32) -> Self {
        Self { queue, index }
    }

    /// Number of entries put in so far; wraps.
    #[inline(always)]
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Number of entries that can be put in now. Only [`put`](Self::put) and [`leave`](Self::leave) reduce
    /// it.
    #[inline(always)]
    #[must_use]
    pub fn room(&self, memory: &impl Memory) -> u32 {
        let consumer = memory.load(self.queue.base + CONSUMER_INDEX);
        self.queue.entries - self.index.wrapping_sub(consumer)
    }

    /// Puts an entry in and rings the bell. There must be [room](Self::room). If `words` is shorter than an
    /// entry, the remaining words are undefined.
    #[inline(always)]
    pub fn put<const WORDS: usize>(&mut self, bell: &mut impl Bell, words: [u32; WORDS]) {
        self.write(bell, words);
        bell.lock();
        // The index is stored under the semaphore: a consumer that saw the entry before the ring could
        // remove it first, and would then be called for an empty queue.
        bell.store(self.queue.base + PRODUCER_INDEX, self.index);
        if !bell.is_rung() {
            bell.ring();
        }
        bell.unlock();
    }

    /// Puts an entry in like [`put`](Self::put), without ringing. [`ring`](Self::ring) must follow.
    #[inline(always)]
    pub fn leave<const WORDS: usize>(&mut self, memory: &mut impl Memory, words: [u32; WORDS]) {
        self.write(memory, words);
        memory.store(self.queue.base + PRODUCER_INDEX, self.index);
    }

    /// Rings the bell for entries put in by [`leave`](Self::leave). If the consumer has already taken them,
    /// its handler finds an empty queue and calls [`rest`](Consumer::rest).
    #[inline(always)]
    pub fn ring(&self, bell: &mut impl Bell) {
        bell.lock();
        if !bell.is_rung() {
            bell.ring();
        }
        bell.unlock();
    }

    #[inline(always)]
    fn write<const WORDS: usize>(&mut self, memory: &mut impl Memory, words: [u32; WORDS]) {
        let mut at = self.queue.entry(self.index);
        for word in words {
            memory.store(at, word);
            at += 4;
        }
        self.index = self.index.wrapping_add(1);
    }
}

/// The reading end of a queue.
#[derive(Debug, Clone)]
pub struct Consumer {
    queue: Queue,
    index: u32,
}

impl Consumer {
    /// The reading end of an empty queue.
    #[must_use]
    pub const fn new(queue: Queue) -> Self {
        Self::at(queue, 0)
    }

    /// The reading end of a queue from which [`index`](Self::index) entries were taken.
    #[inline(always)]
    #[must_use]
    pub const fn at(queue: Queue, index: u32) -> Self {
        Self { queue, index }
    }

    /// Number of entries taken so far; wraps.
    #[inline(always)]
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    #[inline(always)]
    fn is_empty(&self, memory: &impl Memory) -> bool {
        memory.load(self.queue.base + PRODUCER_INDEX) == self.index
    }

    /// Address of the oldest entry, if there is one. It is valid until the entry is
    /// [removed](Self::remove).
    #[inline(always)]
    #[must_use]
    pub fn front(&self, memory: &impl Memory) -> Option<u32> {
        (!self.is_empty(memory)).then(|| self.queue.entry(self.index))
    }

    /// Frees the oldest entry, and quietens the bell if it was the last one.
    #[inline(always)]
    pub fn remove(&mut self, bell: &mut impl Bell) {
        self.index = self.index.wrapping_add(1);
        bell.store(self.queue.base + CONSUMER_INDEX, self.index);
        if self.is_empty(bell) {
            self.rest(bell);
        }
    }

    /// Quietens the bell if the queue is empty. The producer may put an entry in at any moment, so the
    /// queue is checked under the semaphore, which the producer's ring needs too.
    #[inline(always)]
    pub fn rest(&self, bell: &mut impl Bell) {
        bell.lock();
        if self.is_empty(bell) {
            bell.quieten();
        }
        bell.unlock();
    }
}
