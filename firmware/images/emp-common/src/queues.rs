//! The queues between the CPUs, at the end of the free SRAM below the rings.

use emp::jobs::Queue;
use tigon2_hal::event;
use tigon2_hal::layout::Layout;
use tigon2_hal::queue::{self, Sram};

/// Total size of the queues.
const BYTES: u32 = offset(Queue::ALL.len());
/// Start of the queues' memory.
pub const BASE: u32 = Layout::DEFAULT.free_end() - BYTES;

/// Size of the first `count` queues.
const fn offset(count: usize) -> u32 {
    let (mut bytes, mut number) = (0, 0);
    while number < count {
        let queue = Queue::ALL[number];
        bytes += queue::Queue::new(0, queue.entries(), queue.words()).bytes();
        number += 1;
    }
    bytes
}

/// Layout of a queue.
#[inline(always)]
#[must_use]
pub const fn place(queue: Queue) -> queue::Queue {
    let number = queue as usize;
    queue::Queue::new(BASE + offset(number), queue.entries(), queue.words())
}

/// Event bit that signals a queue.
#[inline(always)]
#[must_use]
pub const fn event(queue: Queue) -> u32 {
    match queue {
        Queue::Frames => event::SOFT_FRAMES,
        Queue::Acks => event::SOFT_ACKS,
        Queue::Reports => event::SOFT_REPORTS,
        Queue::Arrivals => event::SOFT_ARRIVALS,
        Queue::Pages => event::SOFT_PAGES,
        Queue::Closed => event::SOFT_CLOSED,
    }
}

/// Empties all queues, before CPU B starts.
pub fn reset() {
    for queue in Queue::ALL {
        place(queue).reset(&mut Sram);
    }
}
