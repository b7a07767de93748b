//! The line to the world, and the threads that wait at it.
//!
//! A call that waits is a slot. One of the waiting threads leads: when all other threads of the process sleep, it tells the world that the
//! process has nothing to do, takes the answers into the slots, and wakes their threads. Whether a thread sleeps is read from `/proc`
//! twice: in between, none has gone on.
//!
//! A wait for a lock with a time limit is a slot too, whose call waits for nothing but its limit. Its leader looks whether the lock can be had
//! now, before it tells the world. A wait for a condition must be one of C's, else it could miss a signal: its thread cannot lead, so a thread of
//! this library does while there is such a wait. At the end of its time the leader wakes all who wait for the condition; they look, and all but
//! the late one wait again.
//!
//! The calls of several threads leave together, in the order in which the threads were made: so their order does not depend on the machine.

use std::collections::BTreeMap;
use std::env;
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use lanigon_line::Line;
use lanigon_line::clock;
use lanigon_line::compute;
use lanigon_line::pause::{AwaitedCondition, AwaitedLock, PATIENCE};
use lanigon_line::real::{others_sleep, real_ns, real_sleep, start_helper, thread};
use lanigon_requests::{
    Answer, CallOutcome, Decoder, Hello, LINE_VARIABLE, Poll, RANK_VARIABLE, Refusal, Request,
    SIZE_VARIABLE, SOCKET_VARIABLE, SocketCall, VERSION,
};
use libc::{c_char, c_int, c_long, pollfd};

use crate::{system, table};

mod time;

/// Name of this library in messages.
pub const NAME: &str = "sockets";
/// Descriptors of programs are usually below this.
const LINE_DESCRIPTOR: c_int = 900;
/// Pause between two looks at the other threads, in ns of real time.
const LOOK_NS: u64 = 20_000;
/// Time after which a thread of this library leads, if no other one does, in ns of real time.
const HELP_NS: u64 = 100_000;

/// A call that waits.
struct Slot {
    /// Number of its thread.
    thread: c_long,
    /// The request, but for its number, until it leaves.
    request: Option<(u64, Option<u64>, SocketCall)>,
    /// The number that the world knows.
    ticket: u64,
    outcome: Option<CallOutcome>,
    /// Other end of the wait.
    other: OtherEnd,
    /// Longest wait, in ns, and since when other threads may have run, in ns of real time.
    limit_ns: u64,
    since_ns: u64,
}

impl Slot {
    /// The call has an outcome.
    fn set(&mut self, outcome: CallOutcome) {
        self.outcome = Some(outcome);
        if let OtherEnd::Condition(condition) = self.other {
            // SAFETY: the slot is there as long as its thread waits.
            unsafe { condition.wake() };
        }
    }
}

/// End of the wait of a thread, besides an answer of the world.
pub enum OtherEnd {
    /// Events of these descriptors of the system.
    Descriptors(Vec<pollfd>),
    /// The lock can be had.
    Lock(AwaitedLock),
    /// C's wait for this condition ends.
    Condition(AwaitedCondition),
}

impl OtherEnd {
    /// Whether it has come.
    fn has_come(&self) -> bool {
        match self {
            Self::Descriptors(all) if all.is_empty() => false,
            Self::Descriptors(all) => system::poll(&mut all.clone(), Some(0)).unwrap_or(1) > 0,
            // SAFETY: the slot is there as long as the thread waits.
            Self::Lock(lock) => unsafe { lock.is_free() },
            Self::Condition(_) => false,
        }
    }
}

/// The connection of this process to the simulated world.
struct World {
    line: Option<Line>,
    decoder: Decoder,
    /// Numbers of calls that are over for a reason outside.
    cancelled: Vec<u64>,
    next_slot: u64,
    next_ticket: u64,
    slots: BTreeMap<u64, Slot>,
    has_leader: bool,
    /// A thread of this library leads when no other one does.
    has_helper: bool,
}

static WORLD: Mutex<World> = Mutex::new(World {
    line: None,
    decoder: Decoder::new(),
    cancelled: Vec::new(),
    next_slot: 1,
    next_ticket: 1,
    slots: BTreeMap::new(),
    has_leader: false,
    has_helper: false,
});
static CHANGED: Condvar = Condvar::new();

/// Whether this process has a world. Written before the program's `main` and in a child after `fork`, when there is one thread: so this and
/// the next four are relaxed.
static CONNECTED: AtomicBool = AtomicBool::new(false);
static RANK: AtomicU32 = AtomicU32::new(0);
static SIZE: AtomicU32 = AtomicU32::new(1);
static OWN: AtomicI32 = AtomicI32::new(0);
static DESCRIPTOR: AtomicI32 = AtomicI32::new(-1);
/// Simulated time of the last answer, in ns, also for a handler of signals that has interrupted a call.
static TIME_NS: AtomicU64 = AtomicU64::new(0);
/// C's flag that says whether the process has one thread.
static SINGLE: AtomicPtr<c_char> = AtomicPtr::new(std::ptr::null_mut());

/// Whether this process has a world. If not, all its calls are the system's.
pub fn is_connected() -> bool {
    CONNECTED.load(Ordering::Relaxed)
}

/// Whether this is the process itself, not a child that shares its memory for a while (`vfork`).
pub fn is_itself() -> bool {
    // SAFETY: a call without arguments.
    let own = unsafe { libc::syscall(libc::SYS_getpid) };
    own == i64::from(OWN.load(Ordering::Relaxed))
}

/// The own rank.
pub fn rank() -> u32 {
    RANK.load(Ordering::Relaxed)
}

/// Number of ranks.
pub fn size() -> u32 {
    SIZE.load(Ordering::Relaxed)
}

/// Whether this is the descriptor of the line, which the program does not know.
pub fn is_line(descriptor: c_int) -> bool {
    descriptor >= 0 && DESCRIPTOR.load(Ordering::Relaxed) == descriptor
}

fn lock() -> MutexGuard<'static, World> {
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child of the process is none of the world's: it has real time, and no line.
extern "C" fn forked() {
    CONNECTED.store(false, Ordering::Relaxed);
    clock::stop();
    OWN.store(process::id().cast_signed(), Ordering::Relaxed);
    let descriptor = DESCRIPTOR.swap(-1, Ordering::Relaxed);
    Line::new(descriptor, NAME).close();
}

/// Connects to the world, or goes on with the line of the program that this process was before.
pub fn begin() {
    let Some(path) = env::var_os(SOCKET_VARIABLE) else {
        return;
    };
    let own = process::id();
    if let Ok(text) = env::var(LINE_VARIABLE) {
        let mut words = text.split(':').map(str::parse);
        if let (Some(Ok(process)), Some(Ok(descriptor))) = (words.next(), words.next()) {
            // The line of a parent is not this process's.
            match u32::try_from(process) == Ok(own) {
                true => again(Line::new(descriptor, NAME)),
                false => Line::new(descriptor, NAME).close(),
            }
        }
        return;
    }
    let number = |name| env::var(name).ok().and_then(|text| text.parse().ok());
    let (rank, size) = (number(RANK_VARIABLE), number(SIZE_VARIABLE));
    let (rank, size): (u32, u32) = (rank.unwrap_or(0), size.unwrap_or(1));
    let line = connect(&path);
    // SAFETY: the program has not begun: there is one thread.
    unsafe {
        // A process does not outlive its world.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        env::set_var(LINE_VARIABLE, format!("{own}:{}", line.descriptor()));
    }
    let hello = Hello {
        version: VERSION,
        rank,
        size,
        process: own,
        job: String::new(),
    };
    let mut bytes = Vec::new();
    Request::Hello(hello).write(&mut bytes);
    line.send(&bytes);
    let mut decoder = Decoder::new();
    let Answer::Welcome(welcome) = line.next(&mut decoder) else {
        line.give_up("an answer to no question");
    };
    TIME_NS.store(welcome.time_ns, Ordering::Relaxed);
    start(line);
}

fn connect(path: &std::ffi::OsStr) -> Line {
    let Ok(stream) = UnixStream::connect(path) else {
        Line::new(-1, NAME).give_up("there is no world");
    };
    let first = stream.into_raw_fd();
    // Programs that this process becomes go on with it.
    let (mut descriptor, mut from) = (-1, LINE_DESCRIPTOR);
    while descriptor < 0 && from > 3 {
        // SAFETY: any number may be given.
        descriptor = unsafe { libc::syscall(libc::SYS_fcntl, first, libc::F_DUPFD, from) } as c_int;
        from /= 2;
    }
    if descriptor < 0 {
        return Line::new(first, NAME);
    }
    system::close(first);
    Line::new(descriptor, NAME)
}

/// Goes on after the process has become another program.
fn again(line: Line) {
    let number = |name| env::var(name).ok().and_then(|text| text.parse().ok());
    RANK.store(number(RANK_VARIABLE).unwrap_or(0), Ordering::Relaxed);
    let mut bytes = Vec::new();
    let call = SocketCall::CloseAll;
    Request::Call {
        spent_ns: 0,
        ticket: 0,
        limit_ns: None,
        call,
    }
    .write(&mut bytes);
    Request::Time { spent_ns: 0 }.write(&mut bytes);
    line.send(&bytes);
    let mut decoder = Decoder::new();
    let Answer::End(end) = line.next(&mut decoder) else {
        line.give_up("an answer to no question");
    };
    TIME_NS.store(end.time_ns, Ordering::Relaxed);
    start(line);
}

fn start(line: Line) {
    let number = |name| env::var(name).ok().and_then(|text| text.parse().ok());
    RANK.store(number(RANK_VARIABLE).unwrap_or(0), Ordering::Relaxed);
    SIZE.store(number(SIZE_VARIABLE).unwrap_or(1), Ordering::Relaxed);
    DESCRIPTOR.store(line.descriptor(), Ordering::Relaxed);
    OWN.store(process::id().cast_signed(), Ordering::Relaxed);
    lock().line = Some(line);
    // SAFETY: the name ends with 0; the handler calls only what a child of a process with threads may call.
    unsafe {
        let single = libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr());
        SINGLE.store(single.cast(), Ordering::Relaxed);
        libc::pthread_atfork(None, None, Some(forked));
    }
    table::inherit();
    CONNECTED.store(true, Ordering::Relaxed);
    clock::start(&time::TIME);
    compute::resume();
}

/// Carries out a call. It waits for so long at most; `None`: as long as it takes.
pub fn call(call: SocketCall, limit_ns: Option<u64>) -> CallOutcome {
    let none = OtherEnd::Descriptors(Vec::new());
    wait(call, limit_ns, none).unwrap_or_else(|| CallOutcome::refused(Refusal::Invalid))
}

/// As [`call`], for a wait that something else ends too: then there is no outcome.
pub fn wait(call: SocketCall, limit_ns: Option<u64>, other: OtherEnd) -> Option<CallOutcome> {
    if !is_connected() {
        return Some(CallOutcome::refused(Refusal::NotConnected));
    }
    let mut world = lock();
    let number = world.insert(call, limit_ns, other);
    loop {
        let slot = world.slots.get(&number);
        if slot.is_none_or(|slot| slot.outcome.is_some()) {
            let outcome = world.end(number);
            // Another one leads.
            CHANGED.notify_all();
            compute::resume();
            return outcome;
        }
        world = step(world);
    }
}

/// Leads, or waits while another thread does.
fn step(mut world: MutexGuard<'static, World>) -> MutexGuard<'static, World> {
    if world.has_leader {
        return CHANGED.wait(world).unwrap_or_else(PoisonError::into_inner);
    }
    world.has_leader = true;
    drop(world);
    lead();
    world = lock();
    world.has_leader = false;
    world
}

/// Leads while a thread waits for a condition.
fn help() {
    // Most of these waits are short.
    real_sleep(HELP_NS);
    let mut world = lock();
    while world.awaits_condition() {
        world = step(world);
        CHANGED.notify_all();
    }
    world.has_helper = false;
}

impl World {
    /// Adds a call of this thread; its number.
    fn insert(&mut self, call: SocketCall, limit_ns: Option<u64>, other: OtherEnd) -> u64 {
        let number = self.next_slot;
        self.next_slot += 1;
        let slot = Slot {
            thread: thread(),
            request: Some((time::take_spent(), limit_ns, call)),
            ticket: 0,
            outcome: None,
            other,
            limit_ns: limit_ns.unwrap_or(u64::MAX),
            since_ns: real_ns(libc::CLOCK_MONOTONIC),
        };
        self.slots.insert(number, slot);
        number
    }

    /// Removes a call; its outcome. One without an outcome is over for the world, too, if it has left.
    fn end(&mut self, number: u64) -> Option<CallOutcome> {
        let slot = self.slots.remove(&number)?;
        if slot.outcome.is_none() && slot.ticket != 0 {
            self.cancelled.push(slot.ticket);
        }
        slot.outcome
    }

    /// Takes the answers of the world. Threads learn of outcomes and of their time at once.
    fn take(&mut self, decoder: Decoder, time_ns: u64, outcomes: Vec<(u64, CallOutcome)>) {
        self.decoder = decoder;
        TIME_NS.fetch_max(time_ns, Ordering::Relaxed);
        for (ticket, outcome) in outcomes {
            let mut slots = self.slots.values_mut();
            let Some(slot) = slots.find(|slot| slot.ticket == ticket) else {
                continue;
            };
            slot.set(outcome);
        }
        // Other threads have not run meanwhile.
        let now_ns = real_ns(libc::CLOCK_MONOTONIC);
        let slots = self.slots.values_mut();
        slots.for_each(|slot| slot.since_ns = now_ns);
    }

    /// Whether a thread waits for a condition.
    fn awaits_condition(&self) -> bool {
        let mut slots = self.slots.values();
        slots.any(|slot| slot.outcome.is_none() && matches!(slot.other, OtherEnd::Condition(_)))
    }

    /// Starts the thread that leads for those that wait for conditions, if it is not there; whether it is now.
    fn ask_for_help(&mut self) -> bool {
        self.has_helper = self.has_helper || start_helper(help).is_some();
        self.has_helper
    }

    /// Ends waits for locks and conditions during which other threads have run for too long; whether there are any, or no wait is left.
    fn goes_on_early(&mut self) -> bool {
        let mut has_ended = self.slots.is_empty();
        let now_ns = real_ns(libc::CLOCK_MONOTONIC);
        for slot in self.slots.values_mut() {
            let is_for_threads = !matches!(slot.other, OtherEnd::Descriptors(_));
            let patience_ns = slot.limit_ns.saturating_mul(PATIENCE);
            let is_late = now_ns.saturating_sub(slot.since_ns) >= patience_ns;
            if slot.outcome.is_none() && is_for_threads && is_late {
                self.cancelled
                    .extend((slot.ticket != 0).then_some(slot.ticket));
                slot.set(CallOutcome::with_value(0));
                CHANGED.notify_all();
                has_ended = true;
            }
        }
        has_ended
    }

    /// All requests that have not left, and that the process has nothing to do.
    fn requests(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut write = |spent_ns, ticket, limit_ns, call| {
            let request = Request::Call {
                spent_ns,
                ticket,
                limit_ns,
                call,
            };
            request.write(&mut bytes);
        };
        // The order in which calls were cancelled is that of real time; a run must not depend on it.
        self.cancelled.sort_unstable();
        for ticket in self.cancelled.drain(..) {
            write(0, 0, None, SocketCall::Cancel { ticket });
        }
        let mut open: Vec<_> = self.slots.values_mut().collect();
        // Threads have rising numbers in the order of their begin; which of them came here first depends on the machine.
        open.sort_by_key(|slot| slot.thread);
        for slot in open {
            if let Some((spent_ns, limit_ns, call)) = slot.request.take() {
                slot.ticket = self.next_ticket;
                self.next_ticket += 1;
                write(spent_ns, slot.ticket, limit_ns, call);
            }
        }
        let poll = Poll::default();
        Request::Poll { spent_ns: 0, poll }.write(&mut bytes);
        bytes
    }
}

/// Waits until all other threads sleep, and then for the world, once.
fn lead() {
    while !sleep_all_others() {
        if lock().goes_on_early() || look_at(|other| matches!(other, OtherEnd::Lock(_))) {
            return;
        }
        real_sleep(LOOK_NS);
    }
    if lock().slots.is_empty() || look_at(|_| true) {
        return;
    }
    loop {
        let (line, mut decoder) = {
            let world = &mut *lock();
            let Some(line) = world.line else { return };
            line.send(&world.requests());
            (line, std::mem::take(&mut world.decoder))
        };
        let mut outcomes = Vec::new();
        let end = loop {
            match line.next(&mut decoder) {
                Answer::Outcome(ticket, outcome) => outcomes.push((ticket, outcome)),
                Answer::End(end) => break end,
                _ => line.give_up("an answer to no question"),
            }
        };
        let has_come = !outcomes.is_empty();
        lock().take(decoder, end.time_ns, outcomes);
        if has_come {
            CHANGED.notify_all();
            return;
        }
        // Nothing happens in simulated time: something outside may.
        if end.stalled && (look_at(|_| true) || !sleep_all_others()) {
            return;
        }
    }
}

/// Whether what is no matter of the world has ended some of these waits.
fn look_at(which: impl Fn(&OtherEnd) -> bool) -> bool {
    let world = &mut *lock();
    let is_over =
        |slot: &Slot| slot.outcome.is_none() && which(&slot.other) && slot.other.has_come();
    let over = world.slots.iter().filter(|(_, slot)| is_over(slot));
    let over: Vec<u64> = over.map(|(number, _)| *number).collect();
    for number in &over {
        world.end(*number);
    }
    CHANGED.notify_all();
    !over.is_empty()
}

/// Whether the process has one thread.
fn is_single() -> bool {
    let single = SINGLE.load(Ordering::Relaxed);
    // SAFETY: C's flag stays where it is.
    !single.is_null() && unsafe { single.read_volatile() } != 0
}

/// Whether all other threads of the process sleep.
fn sleep_all_others() -> bool {
    is_single() || others_sleep(&[])
}
