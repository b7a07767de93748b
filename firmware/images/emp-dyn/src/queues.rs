//! The words that the CPUs share besides the engines, at the end of the free SRAM below the rings: claims of roles, and
//! queues between roles. A queue with two roles that put jobs in has a lane for each, so that each index has one writer.

use defs::emp::control::COMMAND;
use emp::ACTIVE_SLOTS;
use emp::jobs::Queue;
use emp::roles::Roles;
use tigon2_hal::probe::Published;
use tigon2_hal::queue::{self, Sram};

use crate::board;

/// Roles, each with a claim.
const ROLES: u32 = 4;
/// Number of lanes: one for each queue by its number, and two more.
pub const LANES: usize = Queue::ALL.len() + 2;
/// Lane of [`Queue::Acks`] for the matcher's acks.
const ACKS: usize = Queue::Acks as usize;
/// Lane of [`Queue::Acks`] for the deliverer's fetches.
pub const FETCHES: usize = Queue::ALL.len();
/// Lane of [`Queue::Reports`] for what the matcher reports.
pub const ANSWERS: usize = FETCHES + 1;
/// Entries of the matcher's lanes of acks and reports: it takes no frame without room.
const MATCHER_ENTRIES: u32 = 32;

/// Start of the queues' memory; the claims are there.
pub const BASE: u32 = board::FREE_END - offset(LANES);
/// Bytes of all claims.
const CLAIM_BYTES: u32 = 4 * board::CPUS * ROLES;

/// Address of the claim of a role, by its number.
#[must_use]
pub const fn claim_of(role: u32) -> u32 {
    BASE + 4 * board::CPUS * role
}

/// A lane's number of entries, and the words of each.
const fn shape(lane: usize) -> (u32, u32) {
    match lane {
        FETCHES => (ACTIVE_SLOTS as u32, Queue::Acks.words()),
        ANSWERS => (MATCHER_ENTRIES, Queue::Reports.words()),
        ACKS => (MATCHER_ENTRIES, Queue::Acks.words()),
        _ => (Queue::ALL[lane].entries(), Queue::ALL[lane].words()),
    }
}

/// Bytes of the claims and the first `count` lanes.
const fn offset(count: usize) -> u32 {
    let (mut bytes, mut lane) = (CLAIM_BYTES, 0);
    while lane < count {
        let (entries, words) = shape(lane);
        bytes += queue::Queue::new(0, entries, words).bytes();
        lane += 1;
    }
    bytes
}

/// Layout of each lane.
const PLACES: [queue::Queue; LANES] = {
    let mut places = [queue::Queue::new(BASE, 1, 1); LANES];
    let mut lane = 0;
    while lane < LANES {
        let (entries, words) = shape(lane);
        places[lane] = queue::Queue::new(BASE + offset(lane), entries, words);
        lane += 1;
    }
    places
};

/// Layout of a lane.
#[inline(always)]
#[must_use]
pub const fn place(lane: usize) -> queue::Queue {
    PLACES[lane % LANES]
}

/// The lane into which a role puts jobs of a queue.
#[inline(always)]
#[must_use]
pub const fn lane<R: Roles>(queue: Queue) -> usize {
    match queue {
        Queue::Acks if R::DELIVERER => FETCHES,
        Queue::Reports if R::MATCHER => ANSWERS,
        other => other as usize,
    }
}

/// The second lane of a queue.
#[inline(always)]
#[must_use]
pub const fn second(queue: Queue) -> Option<usize> {
    match queue {
        Queue::Acks => Some(FETCHES),
        Queue::Reports => Some(ANSWERS),
        _ => None,
    }
}

/// Words by which CPUs and host tell each other how far they are: the command to start, the claims, and the indices of each lane.
pub const PUBLISHED: [Published; 10] = [
    Published::words("command", COMMAND, 1),
    Published::words("claims of roles", BASE, board::CPUS * ROLES),
    indices("queue of frames", Queue::Frames as usize),
    indices("queue of acks", Queue::Acks as usize),
    indices("queue of reports", Queue::Reports as usize),
    indices("queue of arrivals", Queue::Arrivals as usize),
    indices("queue of pages", Queue::Pages as usize),
    indices("queue of closed receives", Queue::Closed as usize),
    indices("queue of fetches", FETCHES),
    indices("queue of answers", ANSWERS),
];

const fn indices(name: &'static str, lane: usize) -> Published {
    Published::words(name, place(lane).indices(), queue::Queue::INDICES)
}

/// Empties all lanes, before other CPUs use them.
pub fn reset() {
    for lane in 0..LANES {
        place(lane).reset(&mut Sram);
    }
}
