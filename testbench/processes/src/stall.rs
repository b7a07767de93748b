//! A world whose simulated time stands: no message is under way, and all ranks wait.
//!
//! Then only something outside can go on: the starter, a file, a process that does not know yet that nothing can come. The polls of all ranks are answered
//! until one of them does something else; or nothing ever will, which is the end, and an error if ranks wait for each other.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use lanigon_requests::{Answer, End, Request};

use crate::error::ProcessError;
use crate::hub::{GLANCE, Hub, RankAction};
use crate::rank::{RankRecord, RankState};
use crate::spawn::Spawn;

/// Passes without a further rank that goes on, after one has gone on for a reason outside.
const GRACE: u32 = 3;
/// Passes without a further rank that goes on, before processes begin: how long they have taken to connect shall not matter.
const SETTLED: u32 = 12;
/// So many times the patience of the world, for processes that were started to begin, and if a rank waits for nothing of the network.
const MORE: u32 = 12;
/// Passes without a pause.
const QUICK: u64 = 1000;
/// Longest pause between two passes of a stalled world.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// Servers that look at the time rest after so long without any traffic, in ns.
const REST_NS: u64 = 1_000_000_000;
/// A packet on the way that no side has counted for so long is lost, in ns: a board has given it up.
const LOST_NS: u64 = 70 * REST_NS;

impl Hub {
    /// Whether simulated time can bring nothing to any rank.
    pub(crate) fn is_stalled(&self) -> bool {
        // While processes start, time stands for those that wait for a time, too.
        let holds = self.holds_timed_waits(Duration::ZERO);
        let is_idle =
            |state: RankState| state.is_idle() || holds && matches!(state, RankState::Held(_));
        self.flying.load(Ordering::Relaxed) == 0
            && !self.can_begin_spawn()
            && (0..self.universe()).all(|rank| is_idle(self.place(rank).state))
    }

    /// Answers the polls of all ranks while simulated time stands, until one of them does something else.
    ///
    /// A rank that does so at its first answer was held only because it has looked before. Otherwise something has happened outside, and other ranks
    /// may learn of it a little later: they get the time.
    ///
    /// # Errors
    /// [`ProcessError`].
    pub(crate) fn stall(&self, now_ns: u64) -> Result<(), ProcessError> {
        self.conclude()?;
        let begin = Instant::now();
        let done = self.stand(now_ns, begin);
        if let Some(spawn) = &mut *self.spawn() {
            spawn.stood += begin.elapsed();
        }
        done
    }

    /// Answers the polls; time stands since `begin`.
    fn stand(&self, now_ns: u64, begin: Instant) -> Result<(), ProcessError> {
        let mut pause = GLANCE;
        let (mut ready, mut unchanged) = (0, 0);
        for pass in 0_u64.. {
            self.goes_on()?;
            if unchanged >= SETTLED && self.admit(now_ns)? {
                break;
            }
            let held: Vec<_> = (0..self.universe())
                .map(|rank| self.release(rank))
                .collect();
            for (rank, held) in held.into_iter().enumerate() {
                self.read_stalled(rank, held)?;
            }
            let states = (0..self.universe()).map(|rank| self.place(rank).state);
            let states: Vec<_> = states.collect();
            let count = states
                .iter()
                .filter(|state| **state == RankState::Ready)
                .count();
            unchanged = if count == ready { unchanged + 1 } else { 0 };
            ready = count;
            let stands = begin.elapsed();
            let expects_since = self.expects_since();
            if expects_since.is_some_and(|since| since + stands >= MORE * self.patience) {
                return Err(self.deadlock());
            }
            // Who goes on while processes start waits for them: which comes first shall not depend on the machine.
            let expects = expects_since.is_some() && stands < self.patience;
            let goes_on = ready > 0 || self.can_begin_spawn();
            let settled = goes_on && (pass == 0 || unchanged >= GRACE) && !expects;
            if settled || states.iter().all(|state| state.is_over()) {
                break;
            }
            let waits_for_time = |state: &RankState| matches!(state, RankState::Held(poll) if poll.limit_ns.is_some());
            if ready == 0 && !self.holds_timed_waits(stands) && states.iter().any(waits_for_time) {
                break;
            }
            if ready == 0 && stands > self.patience {
                self.can_end(stands)?;
            }
            match pass {
                _ if ready > 0 => thread::sleep(GLANCE),
                // A library may need many looks for what it sends to itself.
                0..QUICK => thread::yield_now(),
                _ => {
                    thread::sleep(pause);
                    pause = (2 * pause).min(LONGEST_PAUSE);
                }
            }
        }
        Ok(())
    }

    /// Whether all ranks have left the network.
    fn have_all_left(&self) -> bool {
        (0..self.universe()).all(|rank| {
            let place = self.place(rank);
            place.has_left || place.state == RankState::Absent
        })
    }

    /// Ends a stalled world in which nothing outside can bring anything: well, if only servers are left.
    fn conclude(&self) -> Result<(), ProcessError> {
        let places = || (0..self.universe()).map(|rank| self.place(rank));
        let held = |place: &RankRecord| matches!(place.state, RankState::Held(_));
        let is_over = places().all(|place| match place.state {
            RankState::Gone | RankState::Absent => true,
            _ => held(&place) && place.waits.is_inside(),
        });
        if !is_over || self.are_all_gone() {
            return Ok(());
        }
        let serve = places().all(|place| !held(&place) || place.waits.is_server());
        if serve && places().any(|place| place.state == RankState::Gone) {
            self.at_rest.store(true, Ordering::Relaxed);
            return Err(ProcessError::AtRest);
        }
        Err(self.deadlock())
    }

    /// Ends a world in which nothing has happened for long but servers that look at the time: well, if no other rank is left.
    pub(crate) fn rests(&self, now_ns: u64) -> Result<(), ProcessError> {
        let quiet_ns = now_ns.saturating_sub(self.active_ns.load(Ordering::Relaxed));
        let is_quiet = match self.flying.load(Ordering::Relaxed) {
            0 => quiet_ns >= REST_NS,
            _ => quiet_ns >= LOST_NS,
        };
        if !is_quiet {
            return Ok(());
        }
        let (mut gone, mut clients) = (0, 0);
        for rank in 0..self.universe() {
            let place = self.place(rank);
            match place.state {
                RankState::Gone => gone += 1,
                RankState::Held(_) if place.waits.is_server() => {}
                // Nothing but others can end its wait.
                RankState::Held(poll) if poll.limit_ns.is_none() && place.waits.is_inside() => {
                    clients += 1;
                }
                _ => return Ok(()),
            }
        }
        if gone == self.ranks() || (clients == 0 && gone == 0) {
            return Ok(());
        }
        if clients == 0 {
            self.at_rest.store(true, Ordering::Relaxed);
            return Err(ProcessError::AtRest);
        }
        Err(self.deadlock())
    }

    fn deadlock(&self) -> ProcessError {
        let ranks = (0..self.universe()).filter_map(|rank| self.place(rank).describe(rank));
        let started = self.spawn().as_ref().map(Spawn::describe);
        let waiting = started.into_iter().chain(ranks).collect();
        ProcessError::Deadlock { waiting }
    }

    /// A world that stays stalled is no error while a rank sleeps outside MPI, or when no rank polls. A rank without receives and sends may work with
    /// itself, of which the network learns nothing: it has more time, unless it is in `MPI_Finalize`.
    fn can_end(&self, stalled: Duration) -> Result<(), ProcessError> {
        let places = || (0..self.universe()).map(|rank| self.place(rank));
        let polls =
            places().any(|place| matches!(place.state, RankState::Held(_) | RankState::Queued(_)));
        let is_outside = places().any(|place| match place.state {
            RankState::Away => !place.has_left && !place.is_finalizing,
            RankState::Held(_) => place.waits.is_held(),
            _ => false,
        });
        let is_busy = places().any(|place| match place.state {
            RankState::Held(poll) => poll.receives == 0 && poll.sends == 0 && !place.is_finalizing,
            _ => false,
        });
        if is_outside || !polls || (is_busy && stalled < MORE * self.patience) {
            return Ok(());
        }
        Err(self.deadlock())
    }

    /// Ends the poll of a rank, if it polls.
    fn release(&self, rank: usize) -> bool {
        let place = &mut *self.place(rank);
        let RankState::Held(_) = place.state else {
            return false;
        };
        let end = End {
            time_ns: place.time_ns,
            stalled: true,
        };
        place.answer(&[Answer::End(end)]);
        true
    }

    /// Takes what a rank says while the world is stalled.
    fn read_stalled(&self, rank: usize, was_held: bool) -> Result<(), ProcessError> {
        let state = self.place(rank).state;
        let next = match (was_held, state) {
            (true, _) => self.read(rank)?,
            (false, RankState::Away) => match self.look(rank, GLANCE)? {
                Some(next) => next,
                None => return Ok(()),
            },
            (false, _) => return Ok(()),
        };
        let have_all_left = self.have_all_left();
        let holds = self.holds_timed_waits(Duration::ZERO);
        if let RankAction::Request(Request::Spawned { .. } | Request::Bye) = next {
            self.end_spawn(rank);
        }
        if let RankAction::Gone = next
            && !self.ends_freely
            && !self.place(rank).has_left
        {
            return Err(self.death(rank));
        }
        let place = &mut *self.place(rank);
        match next {
            // What it spends between two such polls depends on the machine.
            RankAction::Request(Request::Poll { poll, .. })
                if (poll.limit_ns.is_none() || holds) && !place.has_answers =>
            {
                place.state = RankState::Held(poll);
            }
            // It leaves; when it does so depends on the machine too.
            RankAction::Request(Request::Bye) => place.leave(),
            RankAction::Request(request) => {
                place.queued.push_back(request);
                place.state = RankState::Ready;
            }
            // The world stands still: its sockets are closed at this time.
            RankAction::Gone if self.ends_freely => {}
            // When a process ends that has left depends on the machine: all end together.
            RankAction::Gone if !have_all_left => place.state = RankState::Away,
            RankAction::Away | RankAction::Gone => {}
        }
        Ok(())
    }
}
