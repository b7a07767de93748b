//! Waits for several descriptors: `poll`, `select`.
//!
//! Sockets of the world are asked for in one call; descriptors of the system are looked at before, and whenever nothing happens in
//! simulated time.

use lanigon_requests::{Item, SocketCall, ready};
use libc::{c_int, c_short, c_void, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

use crate::error::{CallResult, int_for_c};
use crate::world::OtherEnd;
use crate::{system, table, world};

/// Wanted events of `poll` as a set of [`ready`].
pub const fn wanted(events: c_short) -> u32 {
    let read = events & (libc::POLLIN | libc::POLLRDNORM) != 0;
    let write = events & (libc::POLLOUT | libc::POLLWRNORM) != 0;
    let finished = events & libc::POLLRDHUP != 0;
    (if read { ready::READ } else { 0 })
        | (if write { ready::WRITE } else { 0 })
        | (if finished { ready::FINISHED } else { 0 })
}

/// Events of the world as those of `poll`, as far as they were wanted.
pub const fn told(events: u32, wanted: c_short) -> c_short {
    let read = (libc::POLLIN | libc::POLLRDNORM) & wanted;
    let write = (libc::POLLOUT | libc::POLLWRNORM) & wanted;
    (if events & ready::READ != 0 { read } else { 0 })
        | (if events & ready::WRITE != 0 { write } else { 0 })
        | (if events & ready::FINISHED != 0 {
            libc::POLLRDHUP & wanted
        } else {
            0
        })
        | (if events & ready::HUNG_UP != 0 {
            libc::POLLHUP
        } else {
            0
        })
        | (if events & ready::FAILED != 0 {
            libc::POLLERR
        } else {
            0
        })
}

/// Waits until a socket of the world is ready, or a descriptor of the system. Gives the sockets; `system` has what its descriptors are
/// ready for.
pub fn wait(
    items: Vec<Item>,
    system: &mut [pollfd],
    limit_ns: Option<u64>,
) -> CallResult<Vec<Item>> {
    let mut limit_ns = limit_ns;
    if !system.is_empty() && system::poll(system, Some(0))? > 0 {
        limit_ns = Some(0);
    }
    if items.is_empty() && limit_ns == Some(0) {
        return Ok(Vec::new());
    }
    let outside = system.iter().any(|one| table::is_outside(one.fd));
    let call = SocketCall::Wait { items, outside };
    // What does not wait is not ended by others.
    let watched = if limit_ns == Some(0) {
        Vec::new()
    } else {
        system.to_vec()
    };
    let outcome = world::wait(call, limit_ns, OtherEnd::Descriptors(watched));
    if !system.is_empty() {
        system::poll(system, Some(0))?;
    }
    Ok(outcome.map_or_else(Vec::new, |outcome| outcome.items))
}

/// `poll` over descriptors of both kinds.
fn poll_all(descriptors: &mut [pollfd], limit_ns: Option<u64>) -> CallResult<isize> {
    let (mut items, mut places) = (Vec::new(), Vec::new());
    let (mut system, mut others) = (Vec::new(), Vec::new());
    for (place, one) in descriptors.iter_mut().enumerate() {
        one.revents = 0;
        match table::socket(one.fd) {
            Some(Ok(socket)) => {
                items.push(Item {
                    socket: socket.number,
                    events: wanted(one.events),
                    ..Item::default()
                });
                places.push(place);
            }
            Some(Err(_)) => one.revents = libc::POLLNVAL,
            None if one.fd >= 0 => {
                system.push(*one);
                others.push(place);
            }
            None => {}
        }
    }
    let is_wrong = descriptors.iter().any(|one| one.revents != 0);
    let limit_ns = if is_wrong { Some(0) } else { limit_ns };
    for item in wait(items, &mut system, limit_ns)? {
        if let Some(place) = places.get(item.socket as usize) {
            let one = &mut descriptors[*place];
            one.revents = told(item.events, one.events);
        }
    }
    for (place, one) in others.into_iter().zip(system) {
        descriptors[place].revents = one.revents;
    }
    let ready = descriptors.iter().filter(|one| one.revents != 0);
    Ok(ready.count().cast_signed())
}

/// # Safety
/// As `poll` of C.
unsafe fn poll_of(descriptors: *mut pollfd, count: nfds_t, limit_ns: Option<u64>) -> c_int {
    let all: &mut [pollfd] = match count {
        0 => &mut [],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts_mut(descriptors, count as usize) },
    };
    if !world::is_connected() {
        return int_for_c(system::poll(all, limit_ns).map(usize::cast_signed));
    }
    int_for_c(poll_all(all, limit_ns))
}

/// Stands for `poll` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poll(descriptors: *mut pollfd, count: nfds_t, limit_ms: c_int) -> c_int {
    let limit_ns = u64::try_from(limit_ms).ok().map(|ms| ms * 1_000_000);
    // SAFETY: the caller's promise.
    unsafe { poll_of(descriptors, count, limit_ns) }
}

/// Stands for `poll` of C in a program that checks sizes.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __poll_chk(
    descriptors: *mut pollfd,
    count: nfds_t,
    limit_ms: c_int,
    _: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { poll(descriptors, count, limit_ms) }
}

/// A time of C in ns.
///
/// # Safety
/// It is null or a time.
pub unsafe fn time_ns(time: *const timespec) -> Option<u64> {
    // SAFETY: the caller's promise.
    let time = unsafe { time.as_ref()? };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    Some(seconds.saturating_mul(1_000_000_000).saturating_add(rest))
}

/// Stands for `ppoll` of C. The mask of signals stays.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(
    descriptors: *mut pollfd,
    count: nfds_t,
    limit: *const timespec,
    _: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { poll_of(descriptors, count, time_ns(limit)) }
}

/// A set of descriptors, and what puts one into it.
type Set = (*mut fd_set, c_short, c_short);

/// # Safety
/// The sets are null or sets.
unsafe fn select_of(count: c_int, sets: [Set; 3], limit_ns: Option<u64>) -> c_int {
    let mut all = Vec::new();
    let most = c_int::try_from(libc::FD_SETSIZE).unwrap_or(0);
    for fd in 0..count.min(most) {
        let mut events = 0;
        for (set, wanted, _) in sets {
            // SAFETY: the caller's promise; the descriptor is below the size of a set.
            if !set.is_null() && unsafe { libc::FD_ISSET(fd, set) } {
                events |= wanted;
            }
        }
        if events != 0 {
            all.push(pollfd {
                fd,
                events,
                revents: 0,
            });
        }
    }
    // SAFETY: these are descriptors.
    let done = unsafe { poll_of(all.as_mut_ptr(), all.len() as nfds_t, limit_ns) };
    if done < 0 {
        return done;
    }
    if all.iter().any(|one| one.revents & libc::POLLNVAL != 0) {
        return int_for_c::<isize>(Err(libc::EBADF));
    }
    let mut ready = 0;
    for (set, wanted, ends) in sets.into_iter().filter(|(set, ..)| !set.is_null()) {
        // SAFETY: the caller's promise.
        let before = unsafe { set.read() };
        // SAFETY: the caller's promise.
        unsafe { libc::FD_ZERO(set) };
        for one in &all {
            // SAFETY: the descriptor is below the size of a set.
            let was_in = unsafe { libc::FD_ISSET(one.fd, &raw const before) };
            if was_in && one.revents & (wanted | ends) != 0 {
                // SAFETY: the same.
                unsafe { libc::FD_SET(one.fd, set) };
                ready += 1;
            }
        }
    }
    ready
}

/// The three sets of `select`.
const fn sets(read: *mut fd_set, write: *mut fd_set, except: *mut fd_set) -> [Set; 3] {
    [
        (read, libc::POLLIN, libc::POLLHUP | libc::POLLERR),
        (write, libc::POLLOUT, libc::POLLERR),
        (except, libc::POLLPRI, 0),
    ]
}

/// Stands for `select` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    limit: *mut timeval,
) -> c_int {
    // SAFETY: the caller's promise.
    let time = unsafe { limit.as_ref() }.map(|time| timespec {
        tv_sec: time.tv_sec,
        tv_nsec: time.tv_usec * 1000,
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the caller's promise.
    unsafe { select_of(count, sets(read, write, except), time_ns(time)) }
}

/// Stands for `pselect` of C. The mask of signals stays.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    limit: *const timespec,
    _: *const c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { select_of(count, sets(read, write, except), time_ns(limit)) }
}
