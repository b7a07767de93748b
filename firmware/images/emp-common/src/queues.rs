//! The queues between the CPUs, at the end of the free SRAM below the rings.

use defs::emp::control::{
    COMMAND, ROUTE_ENTRY_BYTES, ROUTE_EPOCH, ROUTE_MAC_HIGH, ROUTE_MESSAGE_IDS, ROUTE_TABLE_ENTRIES,
};
use emp::MemoryPlan;
use emp::jobs::Queue;
use tigon2_hal::event;
use tigon2_hal::layout::Layout;
use tigon2_hal::probe::Published;
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

/// Words by which CPUs and host tell each other how far they are: the command to start, and the indices of each queue.
pub const PUBLISHED: [Published; 7] = [
    Published::words("command", COMMAND, 1),
    indices("queue of frames", Queue::Frames),
    indices("queue of acks", Queue::Acks),
    indices("queue of reports", Queue::Reports),
    indices("queue of arrivals", Queue::Arrivals),
    indices("queue of pages", Queue::Pages),
    indices("queue of closed receives", Queue::Closed),
];

/// Words of the route table, counted from the image's end, that have a sender's part and a matcher's part: these may be on two CPUs,
/// each of which reads its own part, and changes it under the semaphore.
pub const SHARED_ROUTES: [Published; 3] = [
    of_routes("addresses and lists of peers", ROUTE_MAC_HIGH),
    of_routes("message identifiers of peers", ROUTE_MESSAGE_IDS),
    of_routes("epochs of peers", ROUTE_EPOCH),
];

const fn of_routes(name: &'static str, word: u32) -> Published {
    let address = MemoryPlan::at(0).routes() + 4 * word;
    Published::each(name, address, ROUTE_TABLE_ENTRIES, ROUTE_ENTRY_BYTES).guarded()
}

const fn indices(name: &'static str, queue: Queue) -> Published {
    Published::words(name, place(queue).indices(), queue::Queue::INDICES)
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
