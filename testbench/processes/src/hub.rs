//! The sockets of all ranks, and who runs and who waits.

use std::fs;
use std::io;
use std::iter;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lanigon_requests::{Hello, Request, VERSION, Welcome};

use crate::connection::{Incoming, ProcessConnection};
use crate::error::{ProcessError, other_version};
use crate::rank::{Asleep, RankRecord, RankState};
use crate::spawn::Spawn;

/// Time that a read waits before it looks whether the process sleeps.
const LOOK: Duration = Duration::from_millis(60);
/// A process sleeps outside a poll if it has done nothing in so many looks.
const IDLE_LOOKS: u32 = 5;
/// Time that a new connection has for its first request.
const GREETING: Duration = Duration::from_secs(5);
/// Time that a look at an absent process waits.
pub(crate) const GLANCE: Duration = Duration::from_millis(1);
/// So many requests of a process are read after another one has ended, for a call of `MPI_Abort` behind them.
const LAST_WORDS: u32 = 1000;
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
    pub(crate) listener: UnixListener,
    path: PathBuf,
    /// The ranks, and places for processes that they start.
    places: Vec<Mutex<RankRecord>>,
    /// Number of ranks that begin together.
    ranks: usize,
    /// The start of processes whose rank does not have its result yet.
    pub(crate) spawn: Mutex<Option<Spawn>>,
    /// Number of processes that ranks have started.
    spawned: AtomicU64,
    /// Longest message that is complete for its sender at once, in bytes.
    eager_bytes: AtomicU32,
    welcomed: AtomicBool,
    /// Number of ranks whose ports are open.
    opened: AtomicU64,
    /// Messages, and ends of sends, that no process knows yet.
    pub(crate) flying: AtomicU64,
    /// Collective operations of the boards that each rank has entered.
    entered: Mutex<Vec<u64>>,
    interrupt: Arc<AtomicBool>,
    /// Number of the starter in the operating system; 0: there is none.
    starter: AtomicU32,
    /// The starter has ended, or a process with sockets.
    ended: Arc<AtomicBool>,
    failed: AtomicBool,
    /// Only servers are left.
    pub(crate) at_rest: AtomicBool,
    /// Simulated time at which sockets were in use last, in ns.
    pub(crate) active_ns: AtomicU64,
    /// Interface that the ranks begin to use, for texts of errors.
    what: &'static str,
    /// A process may end without a word.
    pub(crate) ends_freely: bool,
    pub(crate) patience: Duration,
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
            ranks,
            spawn: Mutex::default(),
            spawned: AtomicU64::new(0),
            eager_bytes: AtomicU32::new(0),
            welcomed: AtomicBool::new(false),
            opened: AtomicU64::new(0),
            flying: AtomicU64::new(0),
            entered: Mutex::new(vec![0; ranks]),
            interrupt,
            starter: AtomicU32::new(0),
            ended: Arc::default(),
            failed: AtomicBool::new(false),
            at_rest: AtomicBool::new(false),
            active_ns: AtomicU64::new(0),
            what: "MPI",
            ends_freely: false,
            patience: PATIENCE,
        })
    }

    /// Gives the processes that ranks start places, up to so many with the ranks.
    #[must_use]
    pub fn with_universe(mut self, universe: usize) -> Self {
        let most = universe.max(self.ranks);
        self.places.resize_with(most, Mutex::default);
        self.entered = Mutex::new(vec![0; most]);
        self
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

    /// Number of ranks that begin together.
    #[must_use]
    pub const fn ranks(&self) -> usize {
        self.ranks
    }

    /// Most processes at a time.
    #[must_use]
    pub fn universe(&self) -> usize {
        self.places.len()
    }

    /// Number of processes that ranks have started.
    #[must_use]
    pub fn spawned(&self) -> u64 {
        self.spawned.load(Ordering::Relaxed)
    }

    pub(crate) fn eager_bytes(&self) -> u32 {
        self.eager_bytes.load(Ordering::Relaxed)
    }

    /// Counts one more process that a rank has started; gives the number of all.
    pub(crate) fn count_spawned(&self) -> u64 {
        1 + self.spawned.fetch_add(1, Ordering::Relaxed)
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

    /// The port of one more rank is open, on this node.
    pub(crate) fn open(&self, rank: usize, node: u16) {
        self.place(rank).node = node;
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the ports of all places are open.
    pub(crate) fn are_all_open(&self) -> bool {
        self.opened.load(Ordering::Relaxed) as usize >= self.universe()
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
                Ok((stream, _)) => {
                    if let Some((hello, connection)) = Self::greet(stream)? {
                        self.seat(&hello, connection)?;
                        connected += 1;
                    }
                }
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
                self.eager_bytes
                    .store(welcome.eager_bytes, Ordering::Relaxed);
                place.welcome(rank as u32, welcome);
            }
        }
        self.welcomed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Refuses a process that no rank starts.
    pub(crate) fn refuse_others(&self) -> Result<(), ProcessError> {
        // Those of a start begin when the world is stalled.
        match !self.starts_processes() && self.listener.accept().is_ok() {
            true => Err(ProcessError::Spawned),
            false => Ok(()),
        }
    }

    /// Greets one rank, which begins now.
    pub(crate) fn welcome(&self, rank: usize, welcome: Welcome) {
        self.place(rank).welcome(rank as u32, welcome);
    }

    /// Takes the first request of a connection. What is no process of a rank is closed; a process that does not fit is an error.
    pub(crate) fn greet(
        stream: UnixStream,
    ) -> Result<Option<(Hello, ProcessConnection)>, ProcessError> {
        let mut connection = ProcessConnection::new(stream);
        let Ok(Incoming::Request(Request::Hello(hello))) = connection.next(GREETING) else {
            return Ok(None);
        };
        if hello.version != VERSION {
            return Err(ProcessError::Refused {
                rank: hello.rank as usize,
                what: other_version(hello.version),
            });
        }
        connection.process = hello.process;
        Ok(Some((hello, connection)))
    }

    /// Gives a process that begins with the others its place.
    fn seat(&self, hello: &Hello, connection: ProcessConnection) -> Result<(), ProcessError> {
        let Hello {
            rank, size, job, ..
        } = hello;
        let rank = *rank as usize;
        let refused = |what| Err(ProcessError::Refused { rank, what });
        if *size as usize != self.ranks() {
            let ranks = self.ranks();
            return refused(match size {
                1 => format!(
                    "runs as a job of its own, not as one of {ranks} ranks: its MPI library is not that of its starter (`--mpiexec`)"
                ),
                _ => format!("belongs to a job of {size} processes ({job}), not {ranks}"),
            });
        }
        let mut place = self.place(rank);
        if place.connection.is_some() {
            return refused("has connected before".into());
        }
        place.connection = Some(connection);
        Ok(())
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
            let now = self.look_asleep(rank);
            idle = if now.is_as(&seen) { idle + 1 } else { 0 };
            seen = now;
            if idle == IDLE_LOOKS {
                self.place(rank).state = RankState::Away;
                return Ok(RankAction::Away);
            }
        }
    }

    /// Looks whether a process sleeps, and what it may wait for: those that have not been read yet, and the starter.
    fn look_asleep(&self, rank: usize) -> Asleep {
        let (mut running, mut others) = (Vec::new(), Vec::new());
        for place in 0..self.universe() {
            let record = self.place(place);
            let is_running = place == rank || record.state == RankState::Unread;
            let processes = if is_running {
                &mut running
            } else {
                &mut others
            };
            processes.extend(record.process());
        }
        let starter = self.starter.load(Ordering::Relaxed);
        running.extend((starter != 0).then_some(starter));
        Asleep::look(&running, &others)
    }

    /// This process has started the ranks.
    pub(crate) fn set_starter(&self, process: u32) {
        self.starter.store(process, Ordering::Relaxed);
    }

    /// Waits for a rank's next request for so long at most.
    pub(crate) fn look(
        &self,
        rank: usize,
        limit: Duration,
    ) -> Result<Option<RankAction>, ProcessError> {
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

    /// The error of a process that has ended without a word. If one has called `MPI_Abort`, its starter has ended the others.
    pub(crate) fn death(&self, rank: usize) -> ProcessError {
        let mut ranks = iter::once(rank).chain(0..self.universe());
        match ranks.find_map(|rank| Some((rank, self.abort_code(rank)?))) {
            None => ProcessError::Died { rank },
            Some(_) if self.failed.load(Ordering::Relaxed) => ProcessError::Over,
            Some((rank, code)) => ProcessError::Aborted { rank, code },
        }
    }

    /// Code with which a process has called `MPI_Abort`, if it has. What else it says has no meaning any more.
    fn abort_code(&self, rank: usize) -> Option<i32> {
        let known = self.place(rank).aborts;
        if known.is_some() {
            return known;
        }
        for _ in 0..LAST_WORDS {
            match self.look(rank, GLANCE) {
                Ok(Some(RankAction::Request(Request::Abort { code }))) => {
                    self.place(rank).aborts = Some(code);
                    return Some(code);
                }
                Ok(Some(RankAction::Request(_))) => {}
                _ => break,
            }
        }
        None
    }

    /// Whether the process of a rank has ended.
    #[must_use]
    pub fn has_ended(&self, rank: usize) -> bool {
        self.place(rank).state == RankState::Gone
    }

    /// Whether all processes have ended.
    pub(crate) fn are_all_gone(&self) -> bool {
        self.welcomed.load(Ordering::Relaxed)
            && (0..self.universe()).all(|rank| self.place(rank).state.is_over())
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
