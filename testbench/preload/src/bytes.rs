//! Calls that move bytes.

use lanigon_requests::SocketCall;
use libc::{c_int, c_void, iovec, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t};

use crate::error::{CallResult, number, value_for_c};
use crate::sockets::{address_of, write_address};
use crate::system::checked;
use crate::table::{self, Socket};
use crate::world;

/// Most bytes of a request.
const PART_BYTES: usize = 1 << 20;

/// Takes bytes into buffers.
///
/// # Safety
/// The buffers may be written.
unsafe fn receive(socket: &Socket, buffers: &[iovec], flags: c_int) -> CallResult<usize> {
    let most: usize = buffers.iter().map(|buffer| buffer.iov_len).sum();
    let limit_ns = {
        let side = socket.side();
        let waits = !side.is_nonblocking && flags & libc::MSG_DONTWAIT == 0;
        if waits { side.read_limit_ns } else { Some(0) }
    };
    let peek = flags & libc::MSG_PEEK != 0;
    let is_whole = flags & libc::MSG_WAITALL != 0 && !peek;
    let mut all = Vec::new();
    loop {
        let call = SocketCall::Read {
            socket: socket.number,
            most: (most - all.len()).min(PART_BYTES) as u32,
            peek,
        };
        let outcome = world::call(call, limit_ns);
        match outcome.value {
            Ok(_) => {}
            Err(_) if !all.is_empty() => break,
            Err(refusal) => return Err(number(refusal)),
        }
        let is_end = outcome.bytes.is_empty();
        all.extend(outcome.bytes);
        if is_end || all.len() >= most || !is_whole {
            break;
        }
    }
    let mut left = &all[..];
    for buffer in buffers {
        let count = buffer.iov_len.min(left.len());
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(left.as_ptr(), buffer.iov_base.cast(), count) };
        left = &left[count..];
    }
    Ok(all.len())
}

/// Writes the bytes of buffers.
///
/// # Safety
/// The buffers may be read.
unsafe fn send_all(socket: &Socket, buffers: &[iovec], flags: c_int) -> CallResult<usize> {
    let mut all = Vec::new();
    for buffer in buffers.iter().filter(|buffer| buffer.iov_len > 0) {
        // SAFETY: the caller's promise.
        all.extend_from_slice(unsafe {
            std::slice::from_raw_parts(buffer.iov_base.cast::<u8>(), buffer.iov_len)
        });
    }
    let limit_ns = {
        let side = socket.side();
        let waits = !side.is_nonblocking && flags & libc::MSG_DONTWAIT == 0;
        if waits { side.write_limit_ns } else { Some(0) }
    };
    let mut sent = 0;
    loop {
        let part = &all[sent..all.len().min(sent + PART_BYTES)];
        let length = part.len();
        let call = SocketCall::Write {
            socket: socket.number,
            bytes: part.to_vec(),
        };
        match world::call(call, limit_ns).value {
            Ok(count) => {
                sent += count as usize;
                if sent == all.len() || (count as usize) < length {
                    return Ok(sent);
                }
            }
            Err(_) if sent > 0 => return Ok(sent),
            Err(refusal) => {
                let number = number(refusal);
                if number == libc::EPIPE && flags & libc::MSG_NOSIGNAL == 0 {
                    // SAFETY: the program's handler, or its end, is what C does here.
                    unsafe { libc::raise(libc::SIGPIPE) };
                }
                return Err(number);
            }
        }
    }
}

const fn buffer(start: *const c_void, length: size_t) -> [iovec; 1] {
    [iovec {
        iov_base: start.cast_mut(),
        iov_len: length,
    }]
}

/// The buffers of a list.
///
/// # Safety
/// The list has so many.
unsafe fn list<'a>(buffers: *const iovec, count: size_t) -> CallResult<&'a [iovec]> {
    match count {
        0 => Ok(&[]),
        _ if buffers.is_null() || count > 1024 => Err(libc::EINVAL),
        // SAFETY: the caller's promise.
        _ => Ok(unsafe { std::slice::from_raw_parts(buffers, count) }),
    }
}

/// Defines functions of C: with a socket of the world they are what follows, else the system call.
macro_rules! moves {
    ($($name:ident($($argument:ident: $type:ty),*) $call:ident => |$socket:ident| $ours:expr;)*) => {$(
        #[doc = concat!("Stands for `", stringify!($name), "` of C.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(descriptor: c_int, $($argument: $type),*) -> ssize_t {
            match table::socket(descriptor) {
                // SAFETY: the caller keeps the promises of the call.
                None => unsafe { libc::syscall(libc::$call, descriptor, $($argument),*) as ssize_t },
                // SAFETY: the same.
                Some(socket) => value_for_c(socket.and_then(|$socket| unsafe { $ours })),
            }
        }
    )*};
}

moves! {
    read(start: *mut c_void, length: size_t) SYS_read
        => |socket| receive(&socket, &buffer(start, length), 0);
    readv(buffers: *const iovec, count: c_int) SYS_readv
        => |socket| receive(&socket, list(buffers, count as size_t)?, 0);
    recvfrom(start: *mut c_void, length: size_t, flags: c_int, address: *mut sockaddr, size: *mut socklen_t) SYS_recvfrom
        => |socket| from(&socket, &buffer(start, length), flags, address, size);
    recvmsg(message: *mut msghdr, flags: c_int) SYS_recvmsg
        => |socket| message_in(&socket, message, flags);
    write(start: *const c_void, length: size_t) SYS_write
        => |socket| send_all(&socket, &buffer(start, length), 0);
    writev(buffers: *const iovec, count: c_int) SYS_writev
        => |socket| send_all(&socket, list(buffers, count as size_t)?, 0);
    sendto(start: *const c_void, length: size_t, flags: c_int, _address: *const sockaddr, _size: socklen_t) SYS_sendto
        => |socket| send_all(&socket, &buffer(start, length), flags);
    sendmsg(message: *const msghdr, flags: c_int) SYS_sendmsg
        => |socket| send_all(&socket, list((*message).msg_iov, (*message).msg_iovlen)?, flags);
    sendfile(file: c_int, offset: *mut off_t, length: size_t) SYS_sendfile
        => |socket| send_file(&socket, file, offset, length);
    sendfile64(file: c_int, offset: *mut off_t, length: size_t) SYS_sendfile
        => |socket| send_file(&socket, file, offset, length);
}

/// Writes bytes of a file, as many as a request has at most.
///
/// # Safety
/// As `sendfile`.
unsafe fn send_file(
    socket: &Socket,
    file: c_int,
    offset: *mut off_t,
    length: size_t,
) -> CallResult<usize> {
    if table::socket(file).is_some() {
        return Err(libc::EINVAL);
    }
    let seek = |to: off_t, whence: c_int| {
        // SAFETY: any numbers may be given.
        checked(unsafe { libc::syscall(libc::SYS_lseek, file, to, whence) })
    };
    let begin = match offset.is_null() {
        true => seek(0, libc::SEEK_CUR).map_err(|_| libc::EINVAL)? as off_t,
        // SAFETY: the caller's promise.
        false => unsafe { *offset },
    };
    let mut bytes = vec![0_u8; length.min(PART_BYTES)];
    let (start, room) = (bytes.as_mut_ptr(), bytes.len());
    // SAFETY: the call writes into the bytes.
    let count = unsafe { libc::syscall(libc::SYS_pread64, file, start, room, begin) };
    let count = checked(count)?.cast_unsigned();
    if count == 0 {
        return Ok(0);
    }
    // SAFETY: so many bytes were read.
    let sent = unsafe { send_all(socket, &buffer(start.cast(), count), 0)? };
    let end = begin + sent.cast_signed() as off_t;
    if offset.is_null() {
        seek(end, libc::SEEK_SET)?;
    } else {
        // SAFETY: the caller's promise.
        unsafe { *offset = end };
    }
    Ok(sent)
}

/// # Safety
/// As `recvfrom`.
unsafe fn from(
    socket: &Socket,
    buffers: &[iovec],
    flags: c_int,
    address: *mut sockaddr,
    size: *mut socklen_t,
) -> CallResult<usize> {
    // SAFETY: the caller's promise.
    let count = unsafe { receive(socket, buffers, flags)? };
    if let Some(peer) = socket.side().peer {
        // SAFETY: the caller's promise.
        unsafe { write_address((address_of(peer.rank), peer.port), address, size) };
    }
    Ok(count)
}

/// # Safety
/// As `recvmsg`.
unsafe fn message_in(socket: &Socket, message: *mut msghdr, flags: c_int) -> CallResult<usize> {
    // SAFETY: the caller's promise.
    unsafe {
        let buffers = list((*message).msg_iov, (*message).msg_iovlen)?;
        let count = receive(socket, buffers, flags)?;
        (*message).msg_namelen = 0;
        (*message).msg_controllen = 0;
        (*message).msg_flags = 0;
        Ok(count)
    }
}

/// Stands for `recv` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(
    descriptor: c_int,
    start: *mut c_void,
    length: size_t,
    flags: c_int,
) -> ssize_t {
    let (address, size) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the caller's promise.
    unsafe { recvfrom(descriptor, start, length, flags, address, size) }
}

/// Stands for `send` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn send(
    descriptor: c_int,
    start: *const c_void,
    length: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's promise.
    unsafe { sendto(descriptor, start, length, flags, std::ptr::null(), 0) }
}

/// Stands for `read` of C in a program that checks sizes.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __read_chk(
    descriptor: c_int,
    start: *mut c_void,
    length: size_t,
    room: size_t,
) -> ssize_t {
    if length > room {
        std::process::abort();
    }
    // SAFETY: the caller's promise.
    unsafe { read(descriptor, start, length) }
}

/// Stands for `recv` of C in a program that checks sizes.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __recv_chk(
    descriptor: c_int,
    start: *mut c_void,
    length: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    if length > room {
        std::process::abort();
    }
    // SAFETY: the caller's promise.
    unsafe { recv(descriptor, start, length, flags) }
}

/// Stands for `recvfrom` of C in a program that checks sizes.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __recvfrom_chk(
    descriptor: c_int,
    start: *mut c_void,
    length: size_t,
    room: size_t,
    flags: c_int,
    address: *mut sockaddr,
    size: *mut socklen_t,
) -> ssize_t {
    if length > room {
        std::process::abort();
    }
    // SAFETY: the caller's promise.
    unsafe { recvfrom(descriptor, start, length, flags, address, size) }
}
