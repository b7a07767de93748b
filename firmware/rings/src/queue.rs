//! A bounded queue between the two CPUs, in SRAM that both reach.
//!
//! One CPU puts entries in ([`Producer`]), the other one takes them out ([`Consumer`]). Neither writes a
//! word that the other one writes: the producer index is the producer's, the consumer index the
//! consumer's, both count on and wrap. So the queue itself needs no lock.
//!
//! What needs one is the consumer's event bit, which means "not empty" ([`Bell`]). Its register holds
//! other bits too, and both CPUs change it by reading and writing. The producer sets the bit under the
//! semaphore, if it is clear, when it shows the entry; the consumer clears it under the semaphore, if the
//! queue is still empty then. No CPU waits for the other one's bit, and a producer that finds no room comes back later.

/// Words that both CPUs reach.
pub trait Memory {
    /// Reads the word at `address`.
    fn load(&self, address: u32) -> u32;
    /// Writes the word at `address`.
    fn store(&mut self, address: u32, value: u32);
}

/// One queue's event bit in the consumer's event register, and the semaphore that guards the register.
pub trait Bell: Memory {
    /// Takes the semaphore.
    fn lock(&mut self);
    /// Gives the semaphore back.
    fn unlock(&mut self);
    /// Whether the bit is set.
    fn is_rung(&self) -> bool;
    /// Sets the bit.
    fn ring(&mut self);
    /// Clears the bit.
    fn quieten(&mut self);
}

/// Where a queue lies: two words for the indices, then its entries.
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
    /// A queue of `entries` entries of `words` words each (both powers of two) from `base` on.
    ///
    /// # Panics
    /// If a number is not a power of two: at compile time, where the queue is a constant.
    #[must_use]
    pub const fn new(base: u32, entries: u32, words: u32) -> Self {
        assert!(entries.is_power_of_two() && words.is_power_of_two());
        Self {
            base,
            entries,
            entry_shift: (4 * words).trailing_zeros(),
        }
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        ENTRIES + (self.entries << self.entry_shift)
    }

    /// Empties it; before either CPU uses it.
    pub fn reset(&self, memory: &mut impl Memory) {
        memory.store(self.base + PRODUCER_INDEX, 0);
        memory.store(self.base + CONSUMER_INDEX, 0);
    }

    #[inline(always)]
    const fn entry(&self, index: u32) -> u32 {
        self.base + ENTRIES + ((index & (self.entries - 1)) << self.entry_shift)
    }
}

/// The end at which entries go in.
#[derive(Debug, Clone)]
pub struct Producer {
    queue: Queue,
    index: u32,
}

impl Producer {
    /// The end of an empty queue.
    #[must_use]
    pub const fn new(queue: Queue) -> Self {
        Self::at(queue, 0)
    }

    /// The end of a queue into which [`index`](Self::index) entries were put so far.
    #[inline(always)]
    #[must_use]
    pub const fn at(queue: Queue, index: u32) -> Self {
        Self { queue, index }
    }

    /// Entries that were put in so far; wraps.
    #[inline(always)]
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Entries that can be put in now. It grows while the consumer works, and never shrinks by itself.
    #[inline(always)]
    #[must_use]
    pub fn room(&self, memory: &impl Memory) -> u32 {
        let consumer = memory.load(self.queue.base + CONSUMER_INDEX);
        self.queue.entries - self.index.wrapping_sub(consumer)
    }

    /// Puts an entry in and rings. There must be [room](Self::room). `words` may be fewer than
    /// an entry has: the others mean nothing then.
    #[inline(always)]
    pub fn put<const WORDS: usize>(&mut self, bell: &mut impl Bell, words: [u32; WORDS]) {
        self.write(bell, words);
        bell.lock();
        // Where the consumer could see the entry before the ring, it could be through with it, too, and be
        // called for nothing.
        bell.store(self.queue.base + PRODUCER_INDEX, self.index);
        if !bell.is_rung() {
            bell.ring();
        }
        bell.unlock();
    }

    /// Puts an entry in as [`put`](Self::put) does, for whoever looks. [`ring`](Self::ring) must follow.
    #[inline(always)]
    pub fn leave<const WORDS: usize>(&mut self, memory: &mut impl Memory, words: [u32; WORDS]) {
        self.write(memory, words);
        memory.store(self.queue.base + PRODUCER_INDEX, self.index);
    }

    /// Rings for what was [left](Self::leave). The consumer may have found it already: it is called for
    /// nothing then, and [rests](Consumer::rest).
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

/// The end at which entries come out.
#[derive(Debug, Clone)]
pub struct Consumer {
    queue: Queue,
    index: u32,
}

impl Consumer {
    /// The end of an empty queue.
    #[must_use]
    pub const fn new(queue: Queue) -> Self {
        Self::at(queue, 0)
    }

    /// The end of a queue from which [`index`](Self::index) entries were taken so far.
    #[inline(always)]
    #[must_use]
    pub const fn at(queue: Queue, index: u32) -> Self {
        Self { queue, index }
    }

    /// Entries that were taken so far; wraps.
    #[inline(always)]
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    #[inline(always)]
    fn is_empty(&self, memory: &impl Memory) -> bool {
        memory.load(self.queue.base + PRODUCER_INDEX) == self.index
    }

    /// Where the oldest entry lies, if there is one. It stays there until it is [removed](Self::remove).
    #[inline(always)]
    #[must_use]
    pub fn front(&self, memory: &impl Memory) -> Option<u32> {
        (!self.is_empty(memory)).then(|| self.queue.entry(self.index))
    }

    /// Gives the oldest entry's place back, and quietens the bell if it was the last one.
    #[inline(always)]
    pub fn remove(&mut self, bell: &mut impl Bell) {
        self.index = self.index.wrapping_add(1);
        bell.store(self.queue.base + CONSUMER_INDEX, self.index);
        if self.is_empty(bell) {
            self.rest(bell);
        }
    }

    /// Quietens the bell if the queue is empty. The producer may put an entry in at any moment: the
    /// look that counts is the one under the semaphore, which its ring must wait for.
    #[inline(always)]
    pub fn rest(&self, bell: &mut impl Bell) {
        bell.lock();
        if self.is_empty(bell) {
            bell.quieten();
        }
        bell.unlock();
    }
}
