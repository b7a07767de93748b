//! Receive buffers: one is armed, each of the others is free or holds a packet.
//!
//! The next free buffer is armed before a packet is looked at, so the link does not wait for firmware. Without a free
//! one, packets wait in the network.

use lanai_rt::Register;

use defs::lanai::{BUFF, RECV};

use crate::sram::{load, store};

/// Registers of a chip's receiver.
pub trait Receiver {
    /// Interrupt status.
    const STATUS: Register;
    /// Receive pointer.
    const POINTER: Register;
    /// Receive limit: the address of the last unit. A write arms the receiver and takes its events back.
    const LIMIT: Register;
    /// Bytes of a unit.
    const UNIT: u32;
    /// Events that firmware takes, with that of a packet that is too long for its buffer.
    const EVENTS: u32;
    /// Length of the packet in `buffer` without its check sequence, when the receive pointer is `end` and the status
    /// `status`; 0 if it is damaged.
    fn length(buffer: u32, end: u32, status: u32) -> u32;
}

/// A packet is too long for its buffer: it is read to its end. The word at `long` is then 1.
#[cold]
#[inline(never)] // Rare: kept out of the path of packets.
fn swallow<R: Receiver>(long: u32, status: u32) {
    store(long, 1);
    if status & RECV == 0 {
        let limit = R::LIMIT.read();
        // The place of the last two units again, as often as needed.
        R::POINTER.write(limit - R::UNIT);
        R::LIMIT.write(limit);
    }
}

/// [`take_status`](crate::l9::take_status) of a chip.
#[inline(always)]
pub(crate) fn take_status<R: Receiver>(long: u32) -> u32 {
    let status = R::STATUS.read() & R::EVENTS;
    if status == 0 {
        return 0;
    }
    R::STATUS.write(status);
    if status & BUFF != 0 {
        swallow::<R>(long, status);
    }
    status & !BUFF
}

/// Lets the next packet come into `bytes` from `buffer`.
#[inline(always)]
pub(crate) fn arm<R: Receiver>(buffer: u32, bytes: u32) {
    R::POINTER.write(buffer);
    R::LIMIT.write(buffer + bytes - R::UNIT);
}

/// At most `COUNT` buffers, at least two, of `BYTES` each, a multiple of 64. Three words from `WORDS` on are theirs, and words from
/// the end of each buffer's room on; the last 16 bytes are free.
#[derive(Debug, Clone, Copy)]
pub struct Buffers<R, const WORDS: u32, const BYTES: u32, const COUNT: u32>(
    core::marker::PhantomData<R>,
);

impl<R: Receiver, const WORDS: u32, const BYTES: u32, const COUNT: u32>
    Buffers<R, WORDS, BYTES, COUNT>
{
    /// The armed buffer; 0 if none is.
    const ARMED: u32 = WORDS;
    /// First free buffer.
    const FREE: u32 = WORDS + 4;
    /// Whether the packet in the armed buffer is too long.
    const LONG: u32 = WORDS + 8;
    /// Word of a free buffer: the next one.
    const NEXT: u32 = BYTES - 0x24;
    /// Bytes of a buffer that a packet may fill.
    const ROOM: u32 = BYTES - 0x40;

    /// Begins to receive into `count` buffers from `first` on, `COUNT` at most.
    pub fn begin(first: u32, count: u32) {
        store(Self::ARMED, 0);
        store(Self::FREE, 0);
        store(Self::LONG, 0);
        let mut buffer = first;
        for _ in 0..count {
            Self::release(buffer);
            buffer += BYTES;
        }
    }

    #[inline(always)]
    fn arm(buffer: u32) {
        arm::<R>(buffer, Self::ROOM);
        store(Self::ARMED, buffer);
    }

    /// Takes the events that have come up. [`RECV`] stays until the packet is taken.
    #[inline(always)]
    #[must_use]
    pub fn take_events() -> u32 {
        let status = R::STATUS.read() & R::EVENTS;
        if status != 0 {
            R::STATUS.write(status & !RECV);
            if status & BUFF != 0 {
                swallow::<R>(Self::LONG, status);
            }
        }
        status
    }

    /// Takes the packet that was received: its buffer, and its length without check sequence, 0 if it is damaged or too long.
    #[inline(always)]
    #[must_use]
    pub fn receive() -> Option<(u32, u32)> {
        let status = R::STATUS.read();
        if status & RECV == 0 {
            return None;
        }
        let end = R::POINTER.read();
        let buffer = load(Self::ARMED);
        let next = load(Self::FREE);
        if next == 0 {
            R::STATUS.write(RECV);
            store(Self::ARMED, 0);
        } else {
            Self::arm(next);
            // Of two buffers, one at most is free.
            let after = if COUNT > 2 {
                load(next + Self::NEXT)
            } else {
                0
            };
            store(Self::FREE, after);
        }
        let mut length = R::length(buffer, end, status);
        if load(Self::LONG) != 0 {
            store(Self::LONG, 0);
            length = 0;
        }
        Some((buffer, length))
    }

    /// A buffer is free again.
    #[inline(always)]
    pub fn release(buffer: u32) {
        if load(Self::ARMED) == 0 {
            return Self::arm(buffer);
        }
        if COUNT > 2 {
            let free = load(Self::FREE);
            store(buffer + Self::NEXT, free);
        }
        store(Self::FREE, buffer);
    }
}
