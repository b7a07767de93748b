//! The process: its socket to the world, and all that its calls have made. Its time (`time`) and one-sided operations (`one_sided`) have
//! files of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use lanigon_line::{Line, clock, compute};
use lanigon_requests::{
    Answer, Class, Decoder, Envelope, Hello, Message, Request, SOCKET_VARIABLE, VERSION, Welcome,
};

use crate::collective::{self, MpiLibrary};
use crate::endpoint::{Completions, Endpoint, kind};
use crate::ffi::error::{AGAIN, CONNREFUSED, INVAL, IO};
use crate::ffi::{CqEntry, DELIVERY_COMPLETE, MATCH_COMPLETE, SEND};
use crate::memory::BufferList;
use crate::queue::{Completion, EventQueue};

mod boards;
mod end;
mod one_sided;
mod spawn;
mod time;

pub use boards::{begin_collective, take_result};
pub use end::{begin_abort, begin_finalize};
pub use spawn::{begin_spawn, end_spawn};
pub use time::{count_computation, count_computed, now_ns, pass_ns, poll, time_ns};

/// So often a process finds nothing before it is held.
const LOOKS: u32 = 2;
/// Most polls that are answered here while the world is stalled.
const MOST_SKIPS: u32 = 255;
/// Most sends that are not complete.
const MOST_SENDS: usize = 1024;
/// Most bytes of them.
const MOST_SEND_BYTES: usize = 64 << 20;

/// Variables with the rank and the number of ranks, by MPI library. One does not read those of another one's starter: its ranks run as jobs of one rank.
const PLACES: [(&str, &str); 2] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
];
/// Variables with the name of the job.
const JOBS: [&str; 2] = ["PMIX_NAMESPACE", "PMI_JOBID"];

/// A send whose end the world will tell.
#[derive(Debug)]
struct Unfinished {
    endpoint: usize,
    context: usize,
    flags: u64,
    wanted: bool,
    bytes: usize,
    /// Buffers for the results of a one-sided operation.
    results: BufferList,
    /// Counter of its end.
    counter: Option<usize>,
}

/// Counts of complete and of failed one-sided operations.
#[derive(Debug, Default)]
pub struct Count {
    pub done: u64,
    pub failed: u64,
}

/// Description of a send without its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sending {
    pub tagged: bool,
    /// Place of the receiver among the addresses.
    pub to: u64,
    pub tag: u64,
    pub data: Option<u64>,
    pub flags: u64,
    pub context: usize,
    /// The call asks for no completion.
    pub silent: bool,
}

/// State of the process.
#[derive(Debug)]
pub struct Process {
    line: Option<Line>,
    decoder: Decoder,
    /// Number of the process in the run.
    number: u32,
    /// Number of its node.
    pub node: u32,
    eager_bytes: usize,
    /// Simulated time of the last answer, in ns.
    time_ns: u64,
    /// Processor time since the last request, in ns.
    spent_ns: u64,
    /// Whether the world has carried out requests since its last answer: they have taken time.
    has_asked: bool,
    clock_reads: u32,
    /// The program has called `MPI_Finalize`.
    is_finalizing: bool,
    /// Simulated time at which something was done last, in ns.
    active_ns: u64,
    vain_looks: u32,
    /// A thread waits for an answer.
    waits: bool,
    /// Polls that are answered here, as nothing can have come, and how many the next ones may be.
    skips: u32,
    next_skips: u32,
    pub endpoints: Vec<Option<Endpoint>>,
    pub queues: Vec<EventQueue>,
    pub counts: Vec<Count>,
    pub addresses: Vec<Vec<u64>>,
    unfinished: BTreeMap<u64, Unfinished>,
    unfinished_bytes: usize,
    /// Results of collective operations of the boards, by name; `None`: not ended.
    collectives: BTreeMap<u64, Option<u64>>,
    next_token: u64,
    /// Keys of the regions that the process offers.
    keys: BTreeSet<u64>,
    /// Keys of regions that are offered no more, of which the world does not know yet.
    withdrawn: Vec<u64>,
}

static PROCESS: Mutex<Process> = Mutex::new(Process {
    line: None,
    decoder: Decoder::new(),
    number: 0,
    node: 0,
    eager_bytes: 0,
    time_ns: 0,
    spent_ns: 0,
    has_asked: false,
    clock_reads: 0,
    is_finalizing: false,
    active_ns: 0,
    vain_looks: 0,
    waits: false,
    skips: 0,
    next_skips: 0,
    endpoints: Vec::new(),
    queues: Vec::new(),
    counts: Vec::new(),
    addresses: Vec::new(),
    unfinished: BTreeMap::new(),
    unfinished_bytes: 0,
    collectives: BTreeMap::new(),
    next_token: 1,
    keys: BTreeSet::new(),
    withdrawn: Vec::new(),
});

/// Whether this process has simulated time. Relaxed as [`SOCKET`]: everything else is behind the mutex of the process.
static CONNECTED: AtomicBool = AtomicBool::new(false);
/// The descriptor of the line, for a child, which closes it.
static SOCKET: AtomicI32 = AtomicI32::new(-1);
/// Name of this library in messages.
const NAME: &str = "provider";

/// Whether this process has simulated time.
pub fn is_connected() -> bool {
    CONNECTED.load(Ordering::Relaxed)
}

/// A child of the process is none of the world's: it has real time, and no socket.
extern "C" fn forked() {
    CONNECTED.store(false, Ordering::Relaxed);
    clock::stop();
    let socket = SOCKET.swap(-1, Ordering::Relaxed);
    if socket >= 0 {
        Line::new(socket, NAME).close();
    }
}

/// The process.
pub fn lock() -> MutexGuard<'static, Process> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The value of a variable that is a number.
fn number(name: &str) -> Option<u32> {
    env::var(name).ok()?.parse().ok()
}

/// Greeting of this process.
fn hello() -> Hello {
    let known = match MpiLibrary::get().is_open_mpi() {
        Some(true) => &PLACES[..1],
        Some(false) => &PLACES[1..],
        None => &PLACES,
    };
    let place = |(rank, size): &(&str, &str)| Some((number(rank)?, number(size)?));
    let place = known.iter().find_map(place);
    let (rank, size) = place.unwrap_or((0, 1));
    let job = JOBS.into_iter().find_map(|name| env::var(name).ok());
    Hello {
        version: VERSION,
        rank,
        size,
        process: process::id(),
        job: job.unwrap_or_default(),
    }
}

/// Connects to the world, once; waits for all ranks.
///
/// # Errors
/// The number of the error.
pub fn connect() -> Result<(), i32> {
    let mut process = lock();
    if process.line.is_some() {
        return Ok(());
    }
    let path = env::var_os(SOCKET_VARIABLE).ok_or(CONNREFUSED)?;
    let stream = UnixStream::connect(path).map_err(|_| CONNREFUSED)?;
    let hello = hello();
    let line = Line::new(stream.into_raw_fd(), NAME);
    SOCKET.store(line.descriptor(), Ordering::Relaxed);
    process.line = Some(line);
    process.request(&Request::Hello(hello));
    let Welcome {
        time_ns,
        eager_bytes,
        number,
        node,
    } = match line.next(&mut process.decoder) {
        Answer::Welcome(welcome) => welcome,
        answer => line.give_up(&format!("an answer to no question: {answer:?}")),
    };
    process.number = number;
    process.node = node;
    process.time_ns = time_ns;
    process.eager_bytes = eager_bytes as usize;
    // SAFETY: the handler calls only what a child of a process with threads may call.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    CONNECTED.store(true, Ordering::Relaxed);
    compute::resume();
    Ok(())
}

/// Asks the world, and takes its answers to the end. `false` if another thread waits already.
fn ask(request: impl FnOnce(&mut Process) -> Request) -> bool {
    let (line, mut decoder) = {
        let mut process = lock();
        let Some(line) = process.line.filter(|_| is_connected()) else {
            return false;
        };
        if process.waits {
            drop(process);
            thread::yield_now();
            return false;
        }
        process.waits = true;
        let request = request(&mut process);
        process.request(&request);
        (line, std::mem::take(&mut process.decoder))
    };
    loop {
        let answer = line.next(&mut decoder);
        let mut process = lock();
        match answer {
            Answer::Message(message) => process.deliver(message),
            Answer::Done {
                token,
                failed,
                value,
            } => match process.collective_ended(token, value) {
                true => {
                    drop(process);
                    collective::ended(token);
                }
                false => process.done(token, failed),
            },
            Answer::End(end) => {
                process.time_ns = end.time_ns.max(process.time_ns);
                process.has_asked = false;
                process.next_skips = match end.stalled {
                    true => (2 * process.next_skips + 1).min(MOST_SKIPS),
                    false => 0,
                };
                process.skips = process.next_skips;
                process.decoder = decoder;
                process.waits = false;
                compute::resume();
                return true;
            }
            Answer::Welcome(_) | Answer::Outcome(..) => line.give_up("an answer to no question"),
        }
    }
}

/// Whether the process has not left the network.
pub fn takes_part() -> bool {
    lock().endpoints.iter().any(Option::is_some)
}

impl Process {
    fn request(&mut self, request: &Request) {
        let mut bytes = Vec::new();
        request.write(&mut bytes);
        self.write(&bytes);
    }

    fn write(&self, bytes: &[u8]) {
        if let Some(line) = self.line {
            line.send(bytes);
        }
    }

    /// The own address of an endpoint.
    pub fn own_address(&self, endpoint: usize) -> u64 {
        u64::from(self.number) << 8 | endpoint as u64
    }

    /// Place of an address among those of the first table that has it.
    pub fn place_of(&self, address: u64) -> Option<u64> {
        let place = |table: &Vec<u64>| table.iter().position(|known| *known == address);
        self.addresses
            .iter()
            .find_map(place)
            .map(|place| place as u64)
    }

    /// Something was done: the next looks are no idle ones.
    pub fn is_active(&mut self) {
        self.queues
            .iter_mut()
            .for_each(|queue| queue.vain_reads = 0);
        self.vain_looks = 0;
        self.active_ns = self.time_ns;
    }

    /// A queue had nothing; whether the process is to be held now.
    pub fn read_in_vain(&mut self, queue: usize) -> bool {
        let queue = &mut self.queues[queue];
        queue.vain_reads += 1;
        queue.vain_reads >= LOOKS
    }

    /// A look has found no message; whether the process is to be held now.
    pub fn looked_in_vain(&mut self) -> bool {
        self.vain_looks += 1;
        self.vain_looks >= LOOKS
    }

    /// Puts completions into a queue of an endpoint.
    pub fn complete(&mut self, queue: Option<usize>, completions: Completions) {
        if let Some(queue) = queue.and_then(|queue| self.queues.get_mut(queue)) {
            completions
                .into_iter()
                .for_each(|completion| queue.push(completion));
        }
    }

    fn deliver(&mut self, message: Message) {
        self.is_active();
        if message.envelope.class == Class::Reply {
            self.replied(&message);
            return;
        }
        let place = usize::from(message.envelope.to_endpoint);
        // A message to an endpoint that was closed is lost.
        if let Some(Some(endpoint)) = self.endpoints.get_mut(place) {
            let queue = endpoint.receives;
            let completions = endpoint.deliver(message);
            self.complete(queue, completions);
        }
    }

    fn done(&mut self, token: u64, failed: bool) {
        self.is_active();
        if let Some(send) = self.unfinished.remove(&token) {
            self.unfinished_bytes -= send.bytes;
            let error = failed.then_some((IO, 0));
            self.sent(&send, error);
        }
    }

    /// A send is complete.
    fn sent(&mut self, send: &Unfinished, error: Option<(i32, usize)>) {
        let Some(Some(endpoint)) = self.endpoints.get(send.endpoint) else {
            return;
        };
        let queue = endpoint.sends;
        let completion = Completion {
            entry: CqEntry {
                context: send.context,
                flags: send.flags,
                length: send.bytes,
                buffer: 0,
                data: 0,
                tag: 0,
            },
            source: None,
            error,
        };
        if send.wanted || error.is_some() {
            self.complete(queue, vec![completion]);
        }
    }

    /// Address at a place of an endpoint's table, if something can be sent now.
    fn receiver(&self, endpoint: &Endpoint, place: u64) -> Result<u64, i32> {
        let table = endpoint
            .addresses
            .and_then(|table| self.addresses.get(table));
        let place = usize::try_from(place).map_err(|_| INVAL)?;
        let to = table.and_then(|table| table.get(place)).copied();
        let is_full =
            self.unfinished.len() >= MOST_SENDS || self.unfinished_bytes > MOST_SEND_BYTES;
        if is_full {
            return Err(AGAIN);
        }
        to.ok_or(INVAL)
    }

    /// Hands a message to the world.
    fn emit(&mut self, token: u64, rank: u32, envelope: &Envelope, bytes: &[u8]) {
        self.tell_withdrawn();
        let spent_ns = self.take_spent();
        let mut request = Vec::with_capacity(bytes.len() + 80);
        Request::write_send_head(spent_ns, token, rank, envelope, bytes.len(), &mut request);
        request.extend_from_slice(bytes);
        self.write(&request);
        self.has_asked = true;
        self.skips = 0;
    }

    /// Keeps what is not complete, under its token.
    fn keep(&mut self, token: u64, unfinished: Unfinished) {
        self.next_token += 1;
        self.unfinished_bytes += unfinished.bytes;
        self.unfinished.insert(token, unfinished);
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The number of the error.
    pub fn send(&mut self, number: usize, sending: Sending, bytes: Vec<u8>) -> Result<(), i32> {
        let endpoint = self
            .endpoints
            .get(number)
            .and_then(Option::as_ref)
            .ok_or(INVAL)?;
        let to = self.receiver(endpoint, sending.to)?;
        let send = Unfinished {
            endpoint: number,
            context: sending.context,
            flags: SEND | kind(sending.tagged),
            wanted: endpoint.wants(&sending),
            bytes: bytes.len(),
            results: BufferList::new(),
            counter: None,
        };
        let envelope = Envelope {
            from_endpoint: number as u8,
            to_endpoint: to as u8,
            class: match sending.tagged {
                true => Class::Tagged,
                false => Class::Plain,
            },
            tag: sending.tag,
            data: sending.data,
        };
        let rank = (to >> 8) as u32;
        self.is_active();
        if rank == self.number {
            self.deliver(Message {
                rank,
                envelope,
                bytes,
            });
            self.sent(&send, None);
            return Ok(());
        }
        let is_told = sending.flags & (DELIVERY_COMPLETE | MATCH_COMPLETE) != 0;
        let token = match is_told || bytes.len() > self.eager_bytes {
            true => self.next_token,
            false => 0,
        };
        self.emit(token, rank, &envelope, &bytes);
        match token {
            0 => self.sent(&send, None),
            _ => self.keep(token, send),
        }
        Ok(())
    }
}
