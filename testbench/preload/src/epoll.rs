//! `epoll` instances: sockets of the world are watched here, other descriptors by the instance of the system.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use lanigon_requests::Item;
use libc::{c_int, c_short, epoll_event, pollfd, sigset_t};

use crate::error::{CallResult, int_for_c};
use crate::select::{told, wait, wanted};
use crate::table::{self, WeakSocket, WorldDescriptor};
use crate::{system, world};

/// Flags of `epoll_ctl`, as the type that `epoll_event` has.
const EDGE: u32 = libc::EPOLLET as u32;
const ONCE: u32 = libc::EPOLLONESHOT as u32;

/// A socket that is watched.
struct Watch {
    socket: WeakSocket,
    events: u32,
    data: u64,
    /// Number of events to read that the caller knows of, for watches that are told of each event once (`EPOLLET`).
    reads: u32,
    writes: u32,
    is_off: bool,
}

/// An `epoll` instance.
#[derive(Default)]
pub struct Epoll {
    watches: BTreeMap<c_int, Watch>,
    /// Descriptors of the system.
    others: BTreeSet<c_int>,
    /// Index of the watch with which the next wait begins, so that each descriptor has its turn.
    next: usize,
}

/// Stands for `epoll_create1` of C.
#[unsafe(no_mangle)]
pub extern "C" fn epoll_create1(flags: c_int) -> c_int {
    // SAFETY: a call without pointers.
    let done = unsafe { libc::syscall(libc::SYS_epoll_create1, flags) };
    let created = system::checked(done).and_then(|descriptor| {
        let descriptor = descriptor as c_int;
        match world::is_connected() {
            true => table::insert(
                descriptor,
                WorldDescriptor::Epoll(Arc::new(Mutex::default())),
            ),
            false => Ok(descriptor),
        }
    });
    int_for_c(created.map(|descriptor| descriptor as isize))
}

/// Stands for `epoll_create` of C.
#[unsafe(no_mangle)]
pub extern "C" fn epoll_create(size: c_int) -> c_int {
    match size > 0 {
        true => epoll_create1(0),
        false => int_for_c::<isize>(Err(libc::EINVAL)),
    }
}

/// Stands for `epoll_ctl` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_ctl(
    descriptor: c_int,
    operation: c_int,
    watched: c_int,
    event: *mut epoll_event,
) -> c_int {
    let epoll = table::epoll(descriptor);
    let socket = epoll.is_some().then(|| table::socket(watched)).flatten();
    let Some((epoll, socket)) = epoll.clone().zip(socket) else {
        let number = libc::SYS_epoll_ctl;
        // SAFETY: the caller keeps the promises of the call.
        let done = unsafe { libc::syscall(number, descriptor, operation, watched, event) };
        if let Some(epoll) = epoll.filter(|_| done == 0) {
            let others = &mut epoll.lock().unwrap_or_else(PoisonError::into_inner).others;
            match operation {
                libc::EPOLL_CTL_DEL => others.remove(&watched),
                _ => others.insert(watched),
            };
        }
        return done as c_int;
    };
    // SAFETY: the caller's promise.
    let event = unsafe { event.as_ref() }.map(|event| (event.events, event.u64));
    int_for_c(socket.and_then(|socket| {
        let watches = &mut epoll.lock().unwrap_or_else(PoisonError::into_inner).watches;
        watches.retain(|_, watch| watch.socket.strong_count() > 0);
        let is_known = watches.contains_key(&watched);
        match (operation, is_known, event) {
            (libc::EPOLL_CTL_ADD, true, _) => Err(libc::EEXIST),
            (libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL, false, _) => Err(libc::ENOENT),
            (libc::EPOLL_CTL_DEL, true, _) => {
                watches.remove(&watched);
                Ok(0)
            }
            (libc::EPOLL_CTL_ADD | libc::EPOLL_CTL_MOD, _, Some((events, data))) => {
                let watch = Watch {
                    socket: Arc::downgrade(&socket),
                    events,
                    data,
                    reads: 0,
                    writes: 0,
                    is_off: false,
                };
                watches.insert(watched, watch);
                Ok(0)
            }
            _ => Err(libc::EINVAL),
        }
    }))
}

impl Epoll {
    /// Questions to the world, with the descriptor of each item, and to the system.
    fn questions(&mut self, descriptor: c_int) -> (Vec<Item>, Vec<c_int>, Vec<pollfd>) {
        let (mut items, mut places, mut others) = (Vec::new(), Vec::new(), Vec::new());
        self.next = self.next.wrapping_add(1);
        let begin = self.next % self.watches.len().max(1);
        let watches = self.watches.iter();
        for (fd, watch) in watches.clone().skip(begin).chain(watches.take(begin)) {
            let Some(socket) = watch.socket.upgrade().filter(|_| !watch.is_off) else {
                continue;
            };
            items.push(Item {
                socket: socket.number,
                events: wanted(watch.events as c_short),
                edge: watch.events & EDGE != 0,
                reads: watch.reads,
                writes: watch.writes,
            });
            places.push(*fd);
        }
        let ask = |fd, events| pollfd {
            fd,
            events,
            revents: 0,
        };
        if !self.others.is_empty() {
            others.push(ask(descriptor, libc::POLLIN));
        }
        // One of them tells the world that something outside may end the wait.
        let mut outside = self.others.iter().copied();
        if let Some(fd) = outside.find(|fd| table::is_outside(*fd)) {
            others.push(ask(fd, 0));
        }
        (items, places, others)
    }
}

/// Waits, and fills at most `room` events.
fn wait_all(
    descriptor: c_int,
    epoll: &Mutex<Epoll>,
    room: usize,
    limit_ns: Option<u64>,
) -> CallResult<Vec<epoll_event>> {
    let lock = || epoll.lock().unwrap_or_else(PoisonError::into_inner);
    let (items, places, mut others) = lock().questions(descriptor);
    let found = wait(items, &mut others, limit_ns)?;
    let epoll = &mut *lock();
    let mut events = Vec::new();
    for item in found.into_iter().take(room) {
        let fd = places.get(item.socket as usize);
        let Some(watch) = fd.and_then(|fd| epoll.watches.get_mut(fd)) else {
            continue;
        };
        (watch.reads, watch.writes) = (item.reads, item.writes);
        watch.is_off = watch.events & ONCE != 0;
        let there = told(item.events, watch.events as c_short);
        events.push(epoll_event {
            events: u32::from(there.cast_unsigned()),
            u64: watch.data,
        });
    }
    let left = room - events.len();
    if left > 0 && others.first().is_some_and(|one| one.revents != 0) {
        let mut more = vec![epoll_event { events: 0, u64: 0 }; left];
        let (start, most) = (
            more.as_mut_ptr(),
            c_int::try_from(left).unwrap_or(c_int::MAX),
        );
        let number = libc::SYS_epoll_pwait;
        let none = std::ptr::null::<sigset_t>();
        // SAFETY: the call writes so many events.
        let count = unsafe { libc::syscall(number, descriptor, start, most, 0, none, 8) };
        more.truncate(system::checked(count)?.cast_unsigned());
        events.extend(more);
    }
    Ok(events)
}

/// Stands for `epoll_pwait` of C. The mask of signals stays.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait(
    descriptor: c_int,
    events: *mut epoll_event,
    most: c_int,
    limit_ms: c_int,
    mask: *const sigset_t,
) -> c_int {
    let Some(epoll) = table::epoll(descriptor) else {
        let number = libc::SYS_epoll_pwait;
        // SAFETY: the caller keeps the promises of the call.
        return unsafe {
            libc::syscall(number, descriptor, events, most, limit_ms, mask, 8) as c_int
        };
    };
    let Some(room) = usize::try_from(most).ok().filter(|room| *room > 0) else {
        return int_for_c::<isize>(Err(libc::EINVAL));
    };
    let limit_ns = u64::try_from(limit_ms).ok().map(|ms| ms * 1_000_000);
    let done = wait_all(descriptor, &epoll, room, limit_ns);
    int_for_c(done.map(|found| {
        // SAFETY: the caller has room for so many.
        unsafe { std::ptr::copy_nonoverlapping(found.as_ptr(), events, found.len()) };
        found.len().cast_signed()
    }))
}

/// Stands for `epoll_wait` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_wait(
    descriptor: c_int,
    events: *mut epoll_event,
    most: c_int,
    limit_ms: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { epoll_pwait(descriptor, events, most, limit_ms, std::ptr::null()) }
}
