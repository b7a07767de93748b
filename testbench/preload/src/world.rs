//! The line to the world, and the threads that wait at it.
//!
//! A call that waits is a slot. One of the waiting threads leads: when all other threads of the process sleep, it tells the world that the
//! process has nothing to do, takes the answers into the slots, and wakes their threads. Whether a thread sleeps is read from `/proc`
//! twice: in between, none has gone on.
//!
//! The calls of several threads leave together, in the order in which the threads were made: so their order does not depend on the machine.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use lanigon_line::{Line, clock};
use lanigon_requests::{
    Answer, CallOutcome, Decoder, Hello, LINE_VARIABLE, Poll, RANK_VARIABLE, Refusal, Request,
    SIZE_VARIABLE, SOCKET_VARIABLE, SocketCall, VERSION,
};
use libc::{c_char, c_int, c_long, c_void, pollfd};

use crate::{system, table};

/// Name of this library in messages.
pub const NAME: &str = "sockets";
/// Reading the clock takes so long, in ns.
const CLOCK_NS: u64 = 25;
/// So many looks at the clock between two calls of a thread cost nothing, in a process of several threads: how often locks look depends on
/// the machine.
const FREE_LOOKS: u64 = 1000;
/// Descriptors of programs are usually below this.
const LINE_DESCRIPTOR: c_int = 900;
/// Pause between two looks at the other threads, in ns of real time.
const LOOK_NS: u64 = 20_000;

/// A call that waits.
struct Slot {
    /// Number of its thread.
    thread: c_long,
    /// The request, but for its number, until it leaves.
    request: Option<(u64, Option<u64>, SocketCall)>,
    /// The number that the world knows.
    ticket: u64,
    outcome: Option<CallOutcome>,
    /// Descriptors of the system whose events end the wait too.
    descriptors: Vec<pollfd>,
}

/// The connection of this process to the simulated world.
struct World {
    line: Option<Line>,
    decoder: Decoder,
    /// Numbers of calls that are over for a reason outside.
    cancelled: Vec<u64>,
    /// Simulated time of the last answer, in ns.
    time_ns: u64,
    next_slot: u64,
    next_ticket: u64,
    slots: BTreeMap<u64, Slot>,
    has_leader: bool,
}

static WORLD: Mutex<World> = Mutex::new(World {
    line: None,
    decoder: Decoder::new(),
    cancelled: Vec::new(),
    time_ns: 0,
    next_slot: 1,
    next_ticket: 1,
    slots: BTreeMap::new(),
    has_leader: false,
});
static CHANGED: Condvar = Condvar::new();

/// Whether this process has a world. Written before the program's `main` and in a child after `fork`, when there is one thread: so this and
/// the next four are relaxed.
static CONNECTED: AtomicBool = AtomicBool::new(false);
static RANK: AtomicU32 = AtomicU32::new(0);
static SIZE: AtomicU32 = AtomicU32::new(1);
static OWN: AtomicI32 = AtomicI32::new(0);
static DESCRIPTOR: AtomicI32 = AtomicI32::new(-1);
thread_local! {
    /// Looks of this thread at the clock since its last call.
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}
/// The time that was read last, in ns.
static LAST_NS: AtomicU64 = AtomicU64::new(0);
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
    lock().time_ns = welcome.time_ns;
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
    lock().time_ns = end.time_ns;
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
    clock::start(|_: *const c_void| is_connected().then(now_ns));
}

/// Processor time of this thread since its last call, in ns.
fn spent_ns() -> u64 {
    let looks = LOOKS.get();
    let free = if is_single() { 0 } else { FREE_LOOKS };
    looks.saturating_sub(free) * CLOCK_NS
}

/// Simulated time in ns. Reading it takes time.
pub fn now_ns() -> u64 {
    LOOKS.set(LOOKS.get() + 1);
    // A handler of signals that reads the clock may have interrupted a call.
    let Ok(world) = WORLD.try_lock() else {
        return LAST_NS.load(Ordering::Relaxed) + spent_ns();
    };
    LAST_NS.store(world.time_ns, Ordering::Relaxed);
    world.time_ns + spent_ns()
}

/// Carries out a call. It waits for so long at most; `None`: as long as it takes.
pub fn call(call: SocketCall, limit_ns: Option<u64>) -> CallOutcome {
    wait(call, limit_ns, &[]).unwrap_or_else(|| CallOutcome::refused(Refusal::Invalid))
}

/// As [`call`], for a wait that one of these descriptors of the system ends too: then there is no outcome.
pub fn wait(
    call: SocketCall,
    limit_ns: Option<u64>,
    descriptors: &[pollfd],
) -> Option<CallOutcome> {
    if !is_connected() {
        return Some(CallOutcome::refused(Refusal::NotConnected));
    }
    let request = Some((spent_ns(), limit_ns, call));
    LOOKS.set(0);
    let mut world = lock();
    let number = world.next_slot;
    world.next_slot += 1;
    let slot = Slot {
        thread: system::thread(),
        request,
        ticket: 0,
        outcome: None,
        descriptors: descriptors.to_vec(),
    };
    world.slots.insert(number, slot);
    loop {
        let slot = world.slots.get(&number);
        if slot.is_none_or(|slot| slot.outcome.is_some()) {
            let slot = world.slots.remove(&number);
            // Another one leads.
            CHANGED.notify_all();
            return slot.and_then(|slot| slot.outcome);
        }
        if world.has_leader {
            world = CHANGED.wait(world).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        world.has_leader = true;
        drop(world);
        lead();
        world = lock();
        world.has_leader = false;
    }
}

impl World {
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
    while !others_sleep() {
        system::sleep(LOOK_NS);
    }
    if look_outside() {
        return;
    }
    loop {
        let (line, mut decoder) = {
            let world = &mut *lock();
            let Some(line) = world.line else { return };
            line.send(&world.requests());
            (line, std::mem::take(&mut world.decoder))
        };
        let mut has_come = false;
        let end = loop {
            match line.next(&mut decoder) {
                Answer::Outcome(ticket, outcome) => {
                    has_come = true;
                    let slots = &mut lock().slots;
                    if let Some(slot) = slots.values_mut().find(|slot| slot.ticket == ticket) {
                        slot.outcome = Some(outcome);
                    }
                }
                Answer::End(end) => break end,
                _ => line.give_up("an answer to no question"),
            }
        };
        let mut world = lock();
        world.decoder = decoder;
        world.time_ns = world.time_ns.max(end.time_ns);
        drop(world);
        if has_come {
            CHANGED.notify_all();
            return;
        }
        // Nothing happens in simulated time: something outside may.
        if end.stalled && (look_outside() || !others_sleep()) {
            return;
        }
    }
}

/// Whether descriptors of the system have ended waits.
fn look_outside() -> bool {
    let world = &mut *lock();
    let mut over = Vec::new();
    for (number, slot) in &world.slots {
        let mut descriptors = slot.descriptors.clone();
        let is_open = slot.outcome.is_none() && !descriptors.is_empty();
        if is_open && system::poll(&mut descriptors, Some(0)).unwrap_or(1) > 0 {
            over.push(*number);
        }
    }
    for number in &over {
        let slot = world.slots.remove(number);
        // What has not left needs no end.
        world
            .cancelled
            .extend(slot.map(|slot| slot.ticket).filter(|ticket| *ticket != 0));
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
fn others_sleep() -> bool {
    if is_single() {
        return true;
    }
    let own = system::thread().to_string();
    let first = asleep(&own);
    first.is_some() && first == asleep(&own)
}

/// Number of times that each of the other threads has gone to sleep; `None` if one does not sleep.
fn asleep(own: &str) -> Option<Vec<(String, String)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == own {
            continue;
        }
        // A thread that ends goes on until it is gone.
        let text = fs::read_to_string(entry.path().join("status")).ok()?;
        let field = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(name).map(|rest| rest.trim().to_owned()))
        };
        if !field("State:")?.starts_with('S') {
            return None;
        }
        let switches = field("voluntary_ctxt_switches:")?;
        all.push((name, switches));
    }
    // The system lists threads in any order; two looks are compared.
    all.sort();
    Some(all)
}
