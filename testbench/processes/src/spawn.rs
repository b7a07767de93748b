//! Processes that a program starts while it runs (`MPI_Comm_spawn`).
//!
//! New processes get places that no process has: those beyond the ranks of the launch (`--universe` is the number of all places), and those that
//! processes of an earlier start have left. A process's number in the run tells its place, and how many had the place before it; so a message to a
//! process whose place another one has is lost.
//!
//! The operating system decides when the new processes have connected. So a rank says before it starts others ([`Hub::begin_spawn`]), and from the
//! moment at which all wait for each other simulated time stands until they are there: they begin at that time ([`Hub::admit`]). Until the rank has
//! its result, time also stands for some real time whenever all wait for each other, for the starter, or for a time: MPI libraries read the clock while
//! they wait for the new processes, which the starter lets wait. Starts follow each other in the order in which the ranks ask for them, which is that of
//! simulated time.

use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lanigon_requests::{Hello, Welcome};

use crate::connection::ProcessConnection;
use crate::error::ProcessError;
use crate::hub::Hub;
use crate::rank::{RankRecord, RankState};

/// Time that the starter has to tell the rank that has asked for processes that they run: some do so before these go on, some after that.
const ANSWER: Duration = Duration::from_millis(300);
/// Time for which simulated time stands in all during a start, after its processes have begun, while a rank waits for a time.
const STANDS: Duration = Duration::from_secs(5);

/// A start of processes whose rank does not have its result yet.
#[derive(Debug)]
pub(crate) struct Spawn {
    /// Rank of the process that starts them.
    parent: usize,
    /// Processes that have connected and do not have a place yet, by their ranks among these.
    connected: Vec<Option<ProcessConnection>>,
    /// Whether the processes have their places.
    is_admitted: bool,
    /// Time at which the last one had connected.
    complete: Option<Instant>,
    /// Real time for which simulated time has stood since the begin.
    pub(crate) stood: Duration,
}

/// The receiver of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recipient {
    /// The process at this place.
    Place(usize),
    /// A process that has ended, and whose place another one has.
    Ended,
}

impl Spawn {
    /// Takes the connection of a new process.
    fn add(&mut self, hello: &Hello, connection: ProcessConnection) -> Result<(), ProcessError> {
        let count = self.connected.len();
        let Hello {
            rank, size, job, ..
        } = hello;
        let rank = *rank as usize;
        let refused = |what| Err(ProcessError::Refused { rank, what });
        if *size as usize != count {
            return refused(format!(
                "belongs to a job of {size} processes ({job}), not to the {count} that rank {} starts",
                self.parent
            ));
        }
        if self.connected[rank].is_some() {
            return refused(format!("of the job {job} has connected before"));
        }
        self.connected[rank] = Some(connection);
        Ok(())
    }

    /// Description of the wait for the processes.
    pub(crate) fn describe(&self) -> String {
        let there = match self.is_admitted {
            true => self.connected.len(),
            false => self.connected.iter().flatten().count(),
        };
        format!(
            "rank {} has started {} processes, of which {there} have begun MPI",
            self.parent,
            self.connected.len()
        )
    }
}

impl Hub {
    pub(crate) fn spawn(&self) -> MutexGuard<'_, Option<Spawn>> {
        self.spawn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a rank starts processes, and does not have its result.
    pub(crate) fn starts_processes(&self) -> bool {
        self.spawn().is_some()
    }

    /// Real time for which simulated time has stood since a rank has started processes that do not have their places yet.
    pub(crate) fn expects_since(&self) -> Option<Duration> {
        let spawn = self.spawn();
        let open = spawn.as_ref().filter(|spawn| !spawn.is_admitted);
        open.map(|spawn| spawn.stood)
    }

    /// Whether time stands, because of a start, for ranks that wait for a time, after it has stood for so long.
    pub(crate) fn holds_timed_waits(&self, stands: Duration) -> bool {
        let holds = |spawn: &Spawn| !spawn.is_admitted || spawn.stood + stands < STANDS;
        self.spawn().as_ref().is_some_and(holds)
    }

    /// Whether a rank that waits to start processes can do so now.
    pub(crate) fn can_begin_spawn(&self) -> bool {
        let can_begin = |rank| {
            let state = self.place(rank).state;
            matches!(state, RankState::Queued(count) if self.free_places(count).is_some())
        };
        !self.starts_processes() && (0..self.universe()).any(can_begin)
    }

    /// The places for `count` new processes; those of processes that have left may have a connection that is still open.
    ///
    /// When a process leaves depends on the machine, so that it should not matter: places without a process come first, then those of the oldest ones.
    fn free_places(&self, count: usize) -> Option<Vec<usize>> {
        let all = self.ranks()..self.universe();
        let free = all.filter(|place| {
            let place = self.place(*place);
            place.state == RankState::Absent || place.has_left
        });
        let mut free: Vec<usize> = free.collect();
        free.sort_by_key(|place| self.place(*place).age);
        (free.len() >= count).then(|| free[..count].to_vec())
    }

    /// A rank starts `count` processes now, if no other rank does and there are places for them; whether it does.
    ///
    /// # Errors
    /// If there never are so many places, or if the rank starts others already.
    pub(crate) fn begin_spawn(&self, parent: usize, count: usize) -> Result<bool, ProcessError> {
        let (ranks, universe) = (self.ranks(), self.universe());
        if count > universe - ranks {
            return Err(ProcessError::NoPlaces {
                count,
                ranks,
                universe,
            });
        }
        let mut spawn = self.spawn();
        if spawn.as_ref().is_some_and(|spawn| spawn.parent == parent) {
            let what = "starts processes while it starts others".into();
            return Err(ProcessError::refused(parent, what));
        }
        if spawn.is_some() || self.free_places(count).is_none() {
            return Ok(false);
        }
        *spawn = (count > 0).then(|| Spawn {
            parent,
            connected: (0..count).map(|_| None).collect(),
            is_admitted: false,
            complete: None,
            stood: Duration::ZERO,
        });
        Ok(true)
    }

    /// The start of a rank is over: processes that have not begun never will.
    pub(crate) fn end_spawn(&self, parent: usize) {
        self.spawn().take_if(|spawn| spawn.parent == parent);
    }

    /// Lets the processes of a start begin at this time, if all are there; whether they do. All are greeted at once: each may wait for the others.
    ///
    /// # Errors
    /// If processes connect that no rank has said to start.
    pub(crate) fn admit(&self, now_ns: u64) -> Result<bool, ProcessError> {
        let mut spawn = self.spawn();
        let mut running = spawn.as_mut().filter(|spawn| !spawn.is_admitted);
        while let Ok((stream, _)) = self.listener.accept() {
            self.goes_on()?;
            let running = running.as_mut().ok_or(ProcessError::Spawned)?;
            if let Some((hello, connection)) = Self::greet(stream)? {
                running.add(&hello, connection)?;
            }
        }
        let Some(running) = running else {
            return Ok(false);
        };
        if running.connected.iter().any(Option::is_none) {
            return Ok(false);
        }
        // Whether the rank goes on before its processes or after them shall not depend on the machine.
        let complete = *running.complete.get_or_insert_with(Instant::now);
        if self.place(running.parent).state == RankState::Away && complete.elapsed() < ANSWER {
            return Ok(false);
        }
        let is_open = |place: &usize| self.place(*place).connection.is_some();
        let places = self.free_places(running.connected.len());
        let Some(places) = places.filter(|places| !places.iter().any(is_open)) else {
            return Ok(false);
        };
        running.is_admitted = true;
        for (place, connection) in places.into_iter().zip(&mut running.connected) {
            let age = self.count_spawned();
            let record = &mut *self.place(place);
            let generation = match record.state {
                RankState::Absent => 0,
                _ => record.generation + 1,
            };
            *record = RankRecord {
                node: record.node,
                generation,
                age,
                connection: connection.take(),
                state: RankState::Unread,
                is_new: true,
                ..RankRecord::default()
            };
            let welcome = Welcome {
                time_ns: now_ns,
                eager_bytes: self.eager_bytes(),
                ..Welcome::default()
            };
            record.welcome(self.number_of(place, generation), welcome);
        }
        Ok(true)
    }

    /// Number in the run of the process at a place.
    pub(crate) fn number(&self, place: usize) -> u32 {
        self.number_of(place, self.place(place).generation)
    }

    fn number_of(&self, place: usize, generation: usize) -> u32 {
        (place + generation * self.universe()) as u32
    }

    /// The receiver with this number; `None` if there never was one.
    pub(crate) fn recipient(&self, number: u32) -> Option<Recipient> {
        let number = number as usize;
        let (place, generation) = (number % self.universe(), number / self.universe());
        let record = self.place(place);
        if record.state == RankState::Absent || generation > record.generation {
            return None;
        }
        Some(match generation == record.generation {
            true => Recipient::Place(place),
            false => Recipient::Ended,
        })
    }
}
