//! The sockets of all ranks, and who runs and who waits.

use std::fs;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lanigon_requests::{Answer, End, Hello, Request, VERSION, Welcome};

use crate::connection::{Incoming, ProcessConnection};
use crate::error::{ProcessError, other_version};
use crate::rank::{Asleep, RankRecord, RankState};

/// Time that a read waits before it looks whether the process sleeps.
const LOOK: Duration = Duration::from_millis(60);
/// A process sleeps outside a poll if it has done nothing in so many looks.
const IDLE_LOOKS: u32 = 5;
/// Time that a new connection has for its first request.
const GREETING: Duration = Duration::from_secs(5);
/// Time that a look at an absent process waits.
const GLANCE: Duration = Duration::from_millis(1);
/// Passes without a further rank that goes on, after one has gone on for a reason outside.
const GRACE: u32 = 3;
/// So many times of it, if a rank waits for nothing of the network.
const MORE: u32 = 12;
/// Passes without a pause.
const QUICK: u64 = 1000;
/// Longest pause between two passes of a stalled world.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// Servers that look at the time rest after so long without any traffic, in ns.
const REST_NS: u64 = 1_000_000_000;
/// A packet on the way that no side has counted for so long is lost, in ns: a board has given it up.
const LOST_NS: u64 = 70 * REST_NS;
/// For so long all ranks may poll without effect, if nothing else is said.
const PATIENCE: Duration = Duration::from_secs(10);

/// Next action of a rank.
#[derive(Debug)]
pub(crate) enum RankAction {
    /// A request of the process.
    Request(Request),
    /// The process sleeps outside a poll.
    Away,
    /// The process has ended.
    Gone,
}

/// The sockets of all ranks.
///
/// Accesses to its flags and numbers are relaxed: they announce no data, which are behind the mutexes of the places.
#[derive(Debug)]
pub struct Hub {
    listener: UnixListener,
    path: PathBuf,
    places: Vec<Mutex<RankRecord>>,
    welcomed: AtomicBool,
    /// Number of ranks whose ports are open.
    opened: AtomicU64,
    /// Messages, and ends of sends, that no process knows yet.
    flying: AtomicU64,
    /// Collective operations of the boards that each rank has entered.
    entered: Mutex<Vec<u64>>,
    interrupt: Arc<AtomicBool>,
    /// The starter has ended, or a process with sockets.
    ended: Arc<AtomicBool>,
    failed: AtomicBool,
    /// Only servers are left.
    at_rest: AtomicBool,
    /// Simulated time at which sockets were in use last, in ns.
    active_ns: AtomicU64,
    /// Interface that the ranks begin to use, for texts of errors.
    what: &'static str,
    /// A process may end without a word.
    ends_freely: bool,
    patience: Duration,
}

impl Hub {
    /// Listens for so many ranks at a new socket. `interrupt`: the user wants the end.
    ///
    /// # Errors
    /// If there can be no socket.
    pub fn listen(path: &Path, ranks: usize, interrupt: Arc<AtomicBool>) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            path: path.into(),
            places: (0..ranks).map(|_| Mutex::default()).collect(),
            welcomed: AtomicBool::new(false),
            opened: AtomicU64::new(0),
            flying: AtomicU64::new(0),
            entered: Mutex::new(vec![0; ranks]),
            interrupt,
            ended: Arc::default(),
            failed: AtomicBool::new(false),
            at_rest: AtomicBool::new(false),
            active_ns: AtomicU64::new(0),
            what: "MPI",
            ends_freely: false,
            patience: PATIENCE,
        })
    }

    /// The ranks have sockets, not messages.
    #[must_use]
    pub const fn of_sockets(mut self) -> Self {
        self.what = "sockets";
        self.ends_freely = true;
        self
    }

    /// Whether the ranks have sockets.
    pub(crate) const fn is_of_sockets(&self) -> bool {
        self.ends_freely
    }

    /// Whether the run has ended while servers waited for others, which will not come.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.at_rest.load(Ordering::Relaxed)
    }

    /// Lets all ranks poll for so long without effect, before that is an error.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Set when the starter has ended, or a process: no run begins after that.
    #[must_use]
    pub fn ended(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.ended)
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn place(&self, rank: usize) -> MutexGuard<'_, RankRecord> {
        self.places[rank]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// One rank cannot go on: no other one can.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Whether the ranks may go on.
    pub(crate) fn goes_on(&self) -> Result<(), ProcessError> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(ProcessError::Interrupted);
        }
        match self.failed.load(Ordering::Relaxed) {
            true => Err(ProcessError::Over),
            false if self.is_at_rest() => Err(ProcessError::AtRest),
            false => Ok(()),
        }
    }

    /// Whether the processes have ended, or end by themselves now.
    pub(crate) fn is_over(&self) -> bool {
        let is_interrupted = self.interrupt.load(Ordering::Relaxed);
        !is_interrupted && (self.goes_on().is_err() || self.are_all_gone())
    }

    /// The port of one more rank is open.
    pub(crate) fn open(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the ports of all ranks are open.
    pub(crate) fn are_all_open(&self) -> bool {
        self.opened.load(Ordering::Relaxed) as usize >= self.ranks()
    }

    /// `count` messages or ends of sends are under way.
    pub(crate) fn take_off(&self, count: u64) {
        self.flying.fetch_add(count, Ordering::Relaxed);
    }

    /// A rank has entered its next collective operation. When all have, the end is under way to each of them.
    pub(crate) fn enter_collective(&self, rank: usize) {
        let entered = &mut *self.entered.lock().unwrap_or_else(PoisonError::into_inner);
        entered[rank] += 1;
        let number = entered[rank];
        if entered.iter().all(|other| *other >= number) {
            self.take_off(entered.len() as u64);
        }
    }

    /// So many of them are with their receivers.
    pub(crate) fn land(&self, count: u64) {
        self.flying.fetch_sub(count, Ordering::Relaxed);
    }

    /// Sockets were in use at this time.
    pub(crate) fn is_active(&self, now_ns: u64) {
        self.active_ns.fetch_max(now_ns, Ordering::Relaxed);
    }

    /// Waits until all ranks have connected, and greets them, if they begin together.
    ///
    /// # Errors
    /// [`ProcessError`].
    pub(crate) fn gather(&self, welcome: Option<Welcome>) -> Result<(), ProcessError> {
        if self.welcomed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut connected = 0;
        while connected < self.ranks() {
            self.goes_on()?;
            match self.listener.accept() {
                Ok((stream, _)) => connected += usize::from(self.greet(stream)?),
                Err(_) if self.ended.load(Ordering::Relaxed) => {
                    let ranks = self.ranks();
                    let what = self.what;
                    return Err(ProcessError::Ended {
                        connected,
                        ranks,
                        what,
                    });
                }
                Err(_) => thread::sleep(GLANCE),
            }
        }
        for rank in 0..self.ranks() {
            let place = &mut *self.place(rank);
            place.state = RankState::Unread;
            if let Some(welcome) = welcome {
                place.answer(&[Answer::Welcome(welcome)]);
            }
        }
        self.welcomed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether no further process has connected since all ranks have.
    pub(crate) fn refuse_others(&self) -> Result<(), ProcessError> {
        match self.listener.accept() {
            Ok(_) => Err(ProcessError::Spawned),
            Err(_) => Ok(()),
        }
    }

    /// Greets one rank, which begins now.
    pub(crate) fn welcome(&self, rank: usize, welcome: Welcome) {
        self.place(rank).answer(&[Answer::Welcome(welcome)]);
    }

    /// Takes the first request of a connection. What is no process of a rank is closed; a process that does not fit is an error.
    fn greet(&self, stream: UnixStream) -> Result<bool, ProcessError> {
        let mut connection = ProcessConnection::new(stream);
        let Ok(Incoming::Request(Request::Hello(hello))) = connection.next(GREETING) else {
            return Ok(false);
        };
        let Hello {
            version,
            rank,
            size,
            process,
            job,
        } = hello;
        let rank = rank as usize;
        let refused = |what| Err(ProcessError::Refused { rank, what });
        if version != VERSION {
            return refused(other_version(version));
        }
        if size as usize != self.ranks() {
            let ranks = self.ranks();
            return refused(format!(
                "belongs to a job of {size} processes ({job}), not {ranks}"
            ));
        }
        let mut place = self.place(rank);
        if place.connection.is_some() {
            return refused("has connected before".into());
        }
        connection.process = process;
        place.connection = Some(connection);
        Ok(true)
    }

    /// Waits for a rank's next request. The world stands meanwhile.
    ///
    /// # Errors
    /// [`ProcessError`].
    pub(crate) fn read(&self, rank: usize) -> Result<RankAction, ProcessError> {
        let mut idle = 0;
        let mut seen = Asleep::default();
        self.place(rank).state = RankState::Running;
        loop {
            match self.look(rank, LOOK)? {
                Some(next) => return Ok(next),
                None => self.goes_on()?,
            }
            // Who has not been read yet may be what this one waits for.
            let running = (0..self.ranks()).filter(|other| {
                let state = self.place(*other).state;
                *other == rank || state == RankState::Unread
            });
            let processes = running.map(|rank| self.place(rank).process());
            let now = Asleep::look(processes);
            idle = if now.is_as(&seen) { idle + 1 } else { 0 };
            seen = now;
            if idle == IDLE_LOOKS {
                self.place(rank).state = RankState::Away;
                return Ok(RankAction::Away);
            }
        }
    }

    /// Waits for a rank's next request for so long at most.
    fn look(&self, rank: usize, limit: Duration) -> Result<Option<RankAction>, ProcessError> {
        let place = &mut *self.place(rank);
        if let Some(request) = place.queued.pop_front() {
            return Ok(Some(RankAction::Request(request)));
        }
        let Some(connection) = &mut place.connection else {
            place.state = RankState::Gone;
            return Ok(Some(RankAction::Gone));
        };
        match connection.next(limit) {
            Ok(Incoming::Request(request)) => Ok(Some(RankAction::Request(request))),
            Ok(Incoming::Nothing) => Ok(None),
            Ok(Incoming::Closed) => {
                place.connection = None;
                place.state = RankState::Gone;
                Ok(Some(RankAction::Gone))
            }
            Err(error) => Err(ProcessError::Request { rank, error }),
        }
    }

    /// Whether simulated time can bring nothing to any rank.
    pub(crate) fn is_stalled(&self) -> bool {
        self.flying.load(Ordering::Relaxed) == 0
            && (0..self.ranks()).all(|rank| self.place(rank).state.is_idle())
    }

    /// Answers the polls of all ranks while simulated time stands, until one of them does something else.
    ///
    /// A rank that does so at its first answer was held only because it has looked before. Otherwise something has happened outside, and other ranks
    /// may learn of it a little later: they get the time.
    ///
    /// # Errors
    /// [`ProcessError`].
    pub(crate) fn stall(&self) -> Result<(), ProcessError> {
        self.conclude()?;
        let begin = Instant::now();
        let mut pause = GLANCE;
        let (mut ready, mut unchanged) = (0, 0);
        for pass in 0_u64.. {
            self.goes_on()?;
            self.refuse_others()?;
            let held: Vec<_> = (0..self.ranks()).map(|rank| self.release(rank)).collect();
            for (rank, held) in held.into_iter().enumerate() {
                self.read_stalled(rank, held)?;
            }
            let states = (0..self.ranks()).map(|rank| self.place(rank).state);
            let states: Vec<_> = states.collect();
            let count = states
                .iter()
                .filter(|state| **state == RankState::Ready)
                .count();
            unchanged = if count == ready { unchanged + 1 } else { 0 };
            ready = count;
            let settled = ready > 0 && (pass == 0 || unchanged >= GRACE);
            if settled || states.iter().all(|state| *state == RankState::Gone) {
                break;
            }
            if ready == 0 && begin.elapsed() > self.patience {
                self.can_end(begin.elapsed())?;
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

    /// Whether the process of a rank has ended.
    #[must_use]
    pub fn has_ended(&self, rank: usize) -> bool {
        self.place(rank).state == RankState::Gone
    }

    /// Whether all processes have ended.
    pub(crate) fn are_all_gone(&self) -> bool {
        (0..self.ranks()).all(|rank| self.place(rank).state == RankState::Gone)
    }

    /// Whether all ranks have left the network.
    fn have_all_left(&self) -> bool {
        (0..self.ranks()).all(|rank| self.place(rank).has_left)
    }

    /// Ends a stalled world in which nothing outside can bring anything: well, if only servers are left.
    fn conclude(&self) -> Result<(), ProcessError> {
        let places = || (0..self.ranks()).map(|rank| self.place(rank));
        let held = |place: &RankRecord| matches!(place.state, RankState::Held(_));
        let is_over = places().all(|place| match place.state {
            RankState::Gone => true,
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
        for rank in 0..self.ranks() {
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
        let ranks = (0..self.ranks()).filter_map(|rank| self.place(rank).describe(rank));
        let waiting = ranks.collect();
        ProcessError::Deadlock { waiting }
    }

    /// A world that stays stalled is no error while a rank sleeps outside MPI, or when no rank polls. A rank without receives and sends may work with
    /// itself, of which the network learns nothing: it has more time.
    fn can_end(&self, stalled: Duration) -> Result<(), ProcessError> {
        let places = || (0..self.ranks()).map(|rank| self.place(rank));
        let polls = places().any(|place| matches!(place.state, RankState::Held(_)));
        let is_outside = places().any(|place| match place.state {
            RankState::Away => !place.has_left,
            RankState::Held(_) => place.waits.is_held(),
            _ => false,
        });
        let is_busy = places().any(|place| match place.state {
            RankState::Held(poll) => poll.receives == 0 && poll.sends == 0,
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
        let place = &mut *self.place(rank);
        match next {
            // What it spends between two such polls depends on the machine.
            RankAction::Request(Request::Poll { poll, .. }) if poll.limit_ns.is_none() => {
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
            RankAction::Gone if !place.has_left => return Err(ProcessError::Died { rank }),
            // When a process ends that has left depends on the machine: all end together.
            RankAction::Gone if !have_all_left => place.state = RankState::Away,
            RankAction::Away | RankAction::Gone => {}
        }
        Ok(())
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
