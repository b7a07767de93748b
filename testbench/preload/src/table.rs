//! Table of the descriptors that are the world's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use lanigon_requests::{SocketAddress, SocketCall};
use libc::c_int;

use crate::epoll::Epoll;
use crate::error::CallResult;
use crate::sockets::CHILD;
use crate::{error, system, world};

/// Descriptors that can be the world's.
const MOST: usize = 1 << 16;

/// Kind of a descriptor, for a look without a lock: most calls are for descriptors of the system. Released after its entry in [`TABLE`] is
/// there.
const SYSTEM: u8 = 0;
const SOCKET: u8 = 1;
const EPOLL: u8 = 2;

static KINDS: [AtomicU8; MOST] = [const { AtomicU8::new(SYSTEM) }; MOST];
static TABLE: Mutex<BTreeMap<c_int, WorldDescriptor>> = Mutex::new(BTreeMap::new());

/// A descriptor of the world's.
#[derive(Clone)]
pub enum WorldDescriptor {
    Socket(Arc<Socket>),
    Epoll(Arc<Mutex<Epoll>>),
}

/// State of a socket in the process.
#[derive(Debug, Default)]
pub struct SocketState {
    pub is_nonblocking: bool,
    /// Own address: of the host, and the port.
    pub address: u32,
    pub port: u16,
    pub peer: Option<SocketAddress>,
    pub listens: bool,
    /// A connection is asked for.
    pub asks: bool,
    /// Limits of reads and writes in ns.
    pub read_limit_ns: Option<u64>,
    pub write_limit_ns: Option<u64>,
    /// Options that are kept, by level and name.
    pub options: BTreeMap<(c_int, c_int), Vec<u8>>,
}

/// A socket. It is closed with its last descriptor.
#[derive(Debug)]
pub struct Socket {
    pub number: u32,
    side: Mutex<SocketState>,
}

impl Socket {
    pub fn new(side: SocketState) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            side: Mutex::new(side),
        }
    }

    pub fn side(&self) -> MutexGuard<'_, SocketState> {
        self.side.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let socket = self.number;
        world::call(SocketCall::Close { socket }, Some(0));
    }
}

fn kind(descriptor: c_int) -> u8 {
    let place = usize::try_from(descriptor).ok();
    let kind = place.and_then(|place| KINDS.get(place));
    kind.map_or(SYSTEM, |kind| kind.load(Ordering::Acquire))
}

fn set_kind(descriptor: c_int, kind: u8) {
    if let Some(place) = usize::try_from(descriptor)
        .ok()
        .and_then(|place| KINDS.get(place))
    {
        place.store(kind, Ordering::Release);
    }
}

fn lock() -> MutexGuard<'static, BTreeMap<c_int, WorldDescriptor>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Files that the process has had open from its begin: what happens at them happens outside.
static INHERITED: OnceLock<BTreeSet<(u64, u64)>> = OnceLock::new();

/// The file behind a descriptor.
fn file(descriptor: c_int) -> Option<(u64, u64)> {
    // SAFETY: numbers may be zero; the call fills them.
    let (done, status) = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::fstat(descriptor, &raw mut status), status)
    };
    (done == 0).then_some((status.st_dev, status.st_ino))
}

/// Notes the files with which the process has begun.
pub fn inherit() {
    let entries = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten();
    let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    let numbers = names.iter().filter_map(|name| name.to_str()?.parse().ok());
    let _ = INHERITED.set(numbers.filter_map(file).collect());
}

/// Whether what happens at a descriptor of the system may come from outside the process.
pub fn is_outside(descriptor: c_int) -> bool {
    let file = file(descriptor);
    let inherited = INHERITED.get();
    if file.is_some_and(|file| inherited.is_some_and(|known| known.contains(&file))) {
        return true;
    }
    let threads = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let mut children =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    children.any(|children| !children.trim().is_empty())
}

/// Whether a descriptor is the world's: a socket, or an `epoll` instance.
pub fn is_ours(descriptor: c_int) -> bool {
    kind(descriptor) >= SOCKET
}

/// The socket of a descriptor. `None`: it is the system's.
pub fn socket(descriptor: c_int) -> Option<CallResult<Arc<Socket>>> {
    if kind(descriptor) != SOCKET {
        return None;
    }
    if !world::is_connected() {
        error::unsupported(CHILD);
        return Some(Err(libc::ENOTCONN));
    }
    match lock().get(&descriptor) {
        Some(WorldDescriptor::Socket(socket)) => Some(Ok(Arc::clone(socket))),
        _ => Some(Err(libc::EBADF)),
    }
}

/// The `epoll` instance of a descriptor.
pub fn epoll(descriptor: c_int) -> Option<Arc<Mutex<Epoll>>> {
    if kind(descriptor) != EPOLL || !world::is_connected() {
        return None;
    }
    match lock().get(&descriptor) {
        Some(WorldDescriptor::Epoll(epoll)) => Some(Arc::clone(epoll)),
        _ => None,
    }
}

/// Gives an entry this descriptor, which the system has given out.
pub fn insert(descriptor: c_int, entry: WorldDescriptor) -> CallResult<c_int> {
    if usize::try_from(descriptor).is_ok_and(|place| place < MOST) {
        let kind = match entry {
            WorldDescriptor::Socket(_) => SOCKET,
            WorldDescriptor::Epoll(_) => EPOLL,
        };
        let before = lock().insert(descriptor, entry);
        set_kind(descriptor, kind);
        // Its last one may close a socket.
        drop(before);
        return Ok(descriptor);
    }
    system::close(descriptor);
    Err(libc::EMFILE)
}

/// A new socket with a descriptor.
pub fn open(side: SocketState, is_kept: bool) -> CallResult<(c_int, Arc<Socket>)> {
    let flags = if is_kept { 0 } else { libc::SOCK_CLOEXEC };
    let (family, kind) = (libc::AF_UNIX, libc::SOCK_STREAM | flags);
    // SAFETY: a call without pointers.
    let descriptor = unsafe { libc::syscall(libc::SYS_socket, family, kind, 0) };
    let descriptor = system::checked(descriptor)? as c_int;
    let socket = Arc::new(Socket::new(side));
    insert(descriptor, WorldDescriptor::Socket(Arc::clone(&socket)))?;
    Ok((descriptor, socket))
}

/// A descriptor is no more.
pub fn remove(descriptor: c_int) {
    if kind(descriptor) == SYSTEM || !world::is_itself() {
        return;
    }
    set_kind(descriptor, SYSTEM);
    // In a child the lock may be held for ever.
    if world::is_connected() {
        let entry = lock().remove(&descriptor);
        drop(entry);
    }
}

/// Another descriptor for the same; both are open.
pub fn duplicate(from: c_int, to: c_int) {
    if from == to || !world::is_itself() {
        return;
    }
    if !is_ours(from) || !world::is_connected() {
        remove(to);
        return;
    }
    let entry = lock().get(&from).cloned();
    if let Some(entry) = entry {
        let _ = insert(to, entry);
    }
}

/// A socket that does not stay open for this.
pub type WeakSocket = Weak<Socket>;

/// Whether this process, or one that it descends from, has had a world.
pub fn has_world() -> bool {
    std::env::var_os(lanigon_requests::LINE_VARIABLE).is_some()
}
