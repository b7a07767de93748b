//! Messages between ranks, by MPI.
//!
//! The calls of MPI that wait keep a processor busy, and return only when there is a message. So a rank that waits asks again and again whether one has
//! come, gives its processor to other processes in between, and after a while sleeps between two questions.
//!
//! A library may keep a long message until the other rank asks for it. A rank that sends one meanwhile takes what others send to it, so two ranks that send to
//! each other never wait for ever.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use emulator::sim::ranks::{MESSAGE_BYTES, RankError, Transport};
use mpi::environment::Universe;
use mpi::point_to_point::{Message, Status};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Equivalence, Source};

/// So often a rank asks before it sleeps.
const LOOKS: u32 = 4000;
/// Time that a rank sleeps between two questions.
const PAUSE: Duration = Duration::from_micros(50);
/// For so long a rank waits for another one after the user has asked for the end. A launcher leaves its processes one second.
const PATIENCE: Duration = Duration::from_millis(500);

/// All messages have this tag.
const TAG: i32 = 0;

/// The messages of a rank.
pub(crate) struct RankMessages {
    universe: Arc<Universe>,
    rank: usize,
    /// Messages of each rank that have come and were not received yet.
    come: Vec<VecDeque<Vec<u8>>>,
    /// The user wants the run to end.
    ends: Arc<AtomicBool>,
}

impl RankMessages {
    /// The messages of this process.
    pub(crate) fn new(universe: Arc<Universe>, ends: Arc<AtomicBool>) -> Self {
        let world = universe.world();
        let (rank, ranks) = (world.rank() as usize, world.size() as usize);
        Self {
            universe,
            rank,
            come: (0..ranks).map(|_| VecDeque::new()).collect(),
            ends,
        }
    }

    fn world(&self) -> SimpleCommunicator {
        self.universe.world()
    }

    /// The number by which MPI knows another rank.
    fn other(&self, rank: usize) -> Result<i32, RankError> {
        let is_other = rank != self.rank && rank < self.come.len();
        let number = i32::try_from(rank).ok().filter(|_| is_other);
        number.ok_or(RankError::Gone(rank))
    }

    /// Takes all that has come, from any rank.
    fn take_all(&mut self) -> Result<(), RankError> {
        let world = self.world();
        while let Some((message, status)) =
            world.any_process().immediate_matched_probe_with_tag(TAG)
        {
            let from = usize::try_from(status.source_rank()).unwrap_or_default();
            let mut bytes = Vec::new();
            append(message, &status, from, &mut bytes)?;
            if let Some(come) = self.come.get_mut(from) {
                come.push_back(bytes);
            }
        }
        Ok(())
    }
}

/// Receives a message that is there, behind what `bytes` contains.
fn append(
    message: Message,
    status: &Status,
    from: usize,
    bytes: &mut Vec<u8>,
) -> Result<(), RankError> {
    let count = usize::try_from(status.count(u8::equivalent_datatype())).unwrap_or_default();
    let start = bytes.len();
    bytes.resize(start + count, 0);
    message.matched_receive_into(&mut bytes[start..]);
    if count > MESSAGE_BYTES {
        return Err(RankError::Failed {
            rank: from,
            reason: format!("a message of {count} bytes"),
        });
    }
    Ok(())
}

/// A rank that waits.
#[derive(Debug, Default)]
struct WaitingRank {
    looks: u32,
    /// Since when the user wants the end.
    since: Option<Instant>,
}

impl WaitingRank {
    /// Lets others work for a while.
    fn pause(&mut self) {
        if self.looks < LOOKS {
            self.looks += 1;
            thread::yield_now();
        } else {
            thread::sleep(PAUSE);
        }
    }

    /// Whether the other rank has had its time to send something, since the user wants the end.
    fn is_over(&mut self, ends: &AtomicBool) -> bool {
        // A system call each time would cost as much as the question.
        if self.looks < LOOKS || !ends.load(Ordering::Relaxed) {
            return false;
        }
        self.since.get_or_insert_with(Instant::now).elapsed() > PATIENCE
    }
}

impl Transport for RankMessages {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.come.len()
    }

    /// Long messages wait until the other rank uses its transport. If it never does, the launcher ends this process.
    fn send(&mut self, to: usize, message: &[u8]) -> Result<(), RankError> {
        let number = self.other(to)?;
        let mut taken = Ok(());
        mpi::request::scope(|scope| {
            let world = self.world();
            let other = world.process_at_rank(number);
            let mut request = other.immediate_send_with_tag(scope, message, TAG);
            let mut waiting = WaitingRank::default();
            // The request borrows the message, so it must end before this function does.
            while let Err(pending) = request.test() {
                request = pending;
                if taken.is_ok() {
                    taken = self.take_all();
                }
                waiting.pause();
            }
        });
        taken
    }

    fn receive(&mut self, from: usize, message: &mut Vec<u8>) -> Result<(), RankError> {
        let number = self.other(from)?;
        if let Some(bytes) = self.come[from].pop_front() {
            message.extend_from_slice(&bytes);
            return Ok(());
        }
        let world = self.world();
        let other = world.process_at_rank(number);
        let mut waiting = WaitingRank::default();
        loop {
            if let Some((come, status)) = other.immediate_matched_probe_with_tag(TAG) {
                return append(come, &status, from, message);
            }
            if waiting.is_over(&self.ends) {
                let reason = "no message since the signal to end".to_owned();
                return Err(RankError::Failed { rank: from, reason });
            }
            waiting.pause();
        }
    }
}

impl fmt::Debug for RankMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RankMessages");
        shown.field("rank", &self.rank).field("come", &self.come);
        shown.finish_non_exhaustive()
    }
}
