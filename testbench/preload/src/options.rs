//! Options of sockets.

use lanigon_requests::SocketCall;
use libc::{c_int, c_long, c_ulong, c_void, socklen_t};

use crate::error::{CallResult, int_for_c, number};
use crate::table::{self, Socket};
use crate::{system, world};

/// Size of buffers that is told: the window of a connection.
const BUFFER_BYTES: c_int = 1 << 20;
/// Protocol of a stream.
const TCP: c_int = libc::IPPROTO_TCP;

/// Stands for `setsockopt` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setsockopt(
    descriptor: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    let Some(socket) = table::socket(descriptor) else {
        let number = libc::SYS_setsockopt;
        // SAFETY: the caller keeps the promises of the call.
        return unsafe { libc::syscall(number, descriptor, level, name, value, length) as c_int };
    };
    let bytes: &[u8] = match value.is_null() || length == 0 {
        true => &[],
        // SAFETY: the caller's promise.
        false => unsafe { std::slice::from_raw_parts(value.cast(), length as usize) },
    };
    int_for_c(socket.and_then(|socket| set(&socket, level, name, bytes)))
}

fn set(socket: &Socket, level: c_int, name: c_int, value: &[u8]) -> CallResult<isize> {
    let mut side = socket.side();
    let word = |at: usize| {
        let bytes = value.get(at..at + 8)?.try_into().ok()?;
        Some(u64::from_ne_bytes(bytes))
    };
    let limit_ns = match (level, name) {
        (libc::SOL_SOCKET, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO) => {
            let (seconds, rest) = word(0).zip(word(8)).ok_or(libc::EINVAL)?;
            if rest >= 1_000_000 {
                return Err(libc::EDOM);
            }
            let ns = seconds.saturating_mul(1_000_000_000);
            Some(ns.saturating_add(rest * 1000)).filter(|ns| *ns > 0)
        }
        _ => None,
    };
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_RCVTIMEO) => side.read_limit_ns = limit_ns,
        (libc::SOL_SOCKET, libc::SO_SNDTIMEO) => side.write_limit_ns = limit_ns,
        _ => {}
    }
    side.options.insert((level, name), value.to_vec());
    Ok(0)
}

/// Stands for `getsockopt` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockopt(
    descriptor: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    let Some(socket) = table::socket(descriptor) else {
        let number = libc::SYS_getsockopt;
        // SAFETY: the caller keeps the promises of the call.
        return unsafe { libc::syscall(number, descriptor, level, name, value, length) as c_int };
    };
    let bytes = socket.and_then(|socket| get(&socket, level, name));
    int_for_c(bytes.map(|bytes| {
        if !value.is_null() && !length.is_null() {
            // SAFETY: no more is written than there is room for.
            unsafe {
                let count = bytes.len().min(length.read() as usize);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast(), count);
                length.write(count as socklen_t);
            }
        }
        0
    }))
}

fn get(socket: &Socket, level: c_int, name: c_int) -> CallResult<Vec<u8>> {
    let flag = |is_set| c_int::from(is_set);
    let value = match (level, name) {
        (libc::SOL_SOCKET, libc::SO_ERROR) => {
            let call = SocketCall::TakeError {
                socket: socket.number,
            };
            world::call(call, Some(0)).value.map_or_else(number, |_| 0)
        }
        (libc::SOL_SOCKET, libc::SO_TYPE) => libc::SOCK_STREAM,
        (libc::SOL_SOCKET, libc::SO_DOMAIN) => libc::AF_INET,
        (libc::SOL_SOCKET, libc::SO_PROTOCOL) => TCP,
        (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => flag(socket.side().listens),
        _ => {
            let side = socket.side();
            let kept = side.options.get(&(level, name)).cloned();
            return match (level, name, kept) {
                (_, _, Some(kept)) => Ok(kept),
                (libc::SOL_SOCKET, libc::SO_SNDBUF | libc::SO_RCVBUF, None) => {
                    Ok(BUFFER_BYTES.to_ne_bytes().to_vec())
                }
                (TCP, libc::TCP_INFO | libc::TCP_CONGESTION, None) => Err(libc::ENOPROTOOPT),
                (TCP, libc::TCP_MAXSEG, None) => Ok(1460_i32.to_ne_bytes().to_vec()),
                (libc::SOL_SOCKET, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO, None) => Ok(vec![0; 16]),
                (libc::SOL_SOCKET, libc::SO_LINGER, None) => Ok(vec![0; 8]),
                (_, _, None) => Ok(vec![0; 4]),
            };
        }
    };
    Ok(value.to_ne_bytes().to_vec())
}

/// Stands for `fcntl` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl(descriptor: c_int, command: c_int, argument: c_long) -> c_int {
    let nonblocking = c_long::from(libc::O_NONBLOCK);
    let socket = match command {
        libc::F_GETFL | libc::F_SETFL => table::socket(descriptor),
        _ => None,
    };
    if let Some(socket) = socket {
        return int_for_c(socket.map(|socket| {
            let mut side = socket.side();
            if command == libc::F_SETFL {
                side.is_nonblocking = argument & nonblocking != 0;
                return 0;
            }
            let flags = if side.is_nonblocking {
                libc::O_NONBLOCK
            } else {
                0
            };
            (libc::O_RDWR | flags) as isize
        }));
    }
    // SAFETY: the caller keeps the promises of the call.
    let done = unsafe { libc::syscall(libc::SYS_fcntl, descriptor, command, argument) } as c_int;
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) && done >= 0 {
        table::duplicate(descriptor, done);
    }
    done
}

/// Stands for `fcntl64` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl64(descriptor: c_int, command: c_int, argument: c_long) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { fcntl(descriptor, command, argument) }
}

/// Stands for `ioctl` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(descriptor: c_int, request: c_ulong, argument: *mut c_int) -> c_int {
    let socket = match request {
        libc::FIONBIO | libc::FIONREAD => table::socket(descriptor),
        _ => None,
    };
    let Some(socket) = socket else {
        // SAFETY: the caller keeps the promises of the call.
        let done = unsafe { libc::syscall(libc::SYS_ioctl, descriptor, request, argument) };
        return system::done(done) as c_int;
    };
    int_for_c(socket.and_then(|socket| {
        if request == libc::FIONBIO {
            // SAFETY: the caller gives a number.
            socket.side().is_nonblocking = unsafe { argument.read() } != 0;
            return Ok(0);
        }
        let call = SocketCall::Available {
            socket: socket.number,
        };
        let count = world::call(call, Some(0)).value.map_err(number)?;
        // SAFETY: the caller has room for a number.
        unsafe { argument.write(count.cast_signed()) };
        Ok(0)
    }))
}
