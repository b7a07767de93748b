//! Calls on one socket, but for those that move bytes.

use std::sync::Arc;

use lanigon_line::real::real;
use lanigon_requests::{Item, Refusal, SocketAddress, SocketCall, ready};
use libc::{c_int, c_long, c_void, sockaddr, sockaddr_in, socklen_t};

use crate::error::{CallResult, int_for_c, number, unsupported};
use crate::table::{self, Socket, SocketState};
use crate::{system, world};

/// Subject of the message about sockets in a child of the program, which are not supported.
pub const CHILD: &str = "sockets in a child of the program are";
/// The network of the hosts: rank 0 has the next address.
const NETWORK: u32 = 0x0A00_0000;
const NETWORK_MASK: u32 = 0xFFFF_0000;
const LOOPBACK: u32 = 127;

/// The address of a rank.
pub const fn address_of(rank: u32) -> u32 {
    NETWORK + rank + 1
}

/// The rank with this address. The own one has others too.
pub fn rank_of(address: u32) -> Option<u32> {
    if address == 0 || address >> 24 == LOOPBACK {
        return Some(world::rank());
    }
    let rank = (address & !NETWORK_MASK).checked_sub(1)?;
    (address & NETWORK_MASK == NETWORK && rank < world::size()).then_some(rank)
}

/// Reads an address and a port.
///
/// # Safety
/// `address` has `length` bytes.
unsafe fn read_address(address: *const sockaddr, length: socklen_t) -> CallResult<(u32, u16)> {
    if address.is_null() {
        return Err(libc::EFAULT);
    }
    if (length as usize) < size_of::<sockaddr_in>() {
        return Err(libc::EINVAL);
    }
    // SAFETY: it has enough bytes.
    let address = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
    match c_int::from(address.sin_family) {
        libc::AF_INET => Ok((
            u32::from_be(address.sin_addr.s_addr),
            u16::from_be(address.sin_port),
        )),
        _ => Err(libc::EAFNOSUPPORT),
    }
}

/// Writes an address, as far as there is room.
///
/// # Safety
/// `address` has `length` bytes, or one of them is null.
pub unsafe fn write_address(from: (u32, u16), address: *mut sockaddr, length: *mut socklen_t) {
    if address.is_null() || length.is_null() {
        return;
    }
    let whole = sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: from.1.to_be(),
        sin_addr: libc::in_addr {
            s_addr: from.0.to_be(),
        },
        sin_zero: [0; 8],
    };
    let size = size_of::<sockaddr_in>();
    // SAFETY: no more is written than there is room for.
    unsafe {
        let room = (length.read() as usize).min(size);
        std::ptr::copy_nonoverlapping((&raw const whole).cast::<u8>(), address.cast(), room);
        length.write(size as socklen_t);
    }
}

/// Stands for `socket` of C.
#[unsafe(no_mangle)]
pub extern "C" fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let base = kind & !flags;
    let done = match (family, base) {
        (libc::AF_INET | libc::AF_INET6, _) if !world::is_connected() && table::has_world() => {
            unsupported(CHILD);
            Err(libc::EAFNOSUPPORT)
        }
        (libc::AF_INET, libc::SOCK_STREAM) if world::is_connected() => {
            let side = SocketState {
                is_nonblocking: kind & libc::SOCK_NONBLOCK != 0,
                ..SocketState::default()
            };
            let is_kept = kind & libc::SOCK_CLOEXEC == 0;
            table::open(side, is_kept).map(|(descriptor, _)| descriptor)
        }
        // Programs go on with the other family.
        (libc::AF_INET6, _) if world::is_connected() => Err(libc::EAFNOSUPPORT),
        (libc::AF_INET, _) if world::is_connected() => {
            unsupported("sockets of other types than streams (UDP, raw) are");
            Err(libc::EPROTONOSUPPORT)
        }
        // SAFETY: a call without pointers.
        _ => system::checked(unsafe { libc::syscall(libc::SYS_socket, family, kind, protocol) })
            .map(|descriptor| descriptor as c_int),
    };
    int_for_c(done.map(|descriptor| descriptor as isize))
}

/// Defines functions of C: with a socket of the world they are the function that follows, else the system call.
macro_rules! stands_for {
    ($($name:ident($($argument:ident: $type:ty),*) $call:ident => $ours:expr;)*) => {$(
        #[doc = concat!("Stands for `", stringify!($name), "` of C.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(descriptor: c_int, $($argument: $type),*) -> c_int {
            match table::socket(descriptor) {
                // SAFETY: the caller keeps the promises of the call.
                None => unsafe { libc::syscall(libc::$call, descriptor, $($argument),*) as c_int },
                // SAFETY: the same.
                Some(socket) => int_for_c(socket.and_then(|socket| unsafe { $ours(&socket, $($argument),*) })),
            }
        }
    )*};
}

stands_for! {
    bind(address: *const sockaddr, length: socklen_t) SYS_bind => bind_ours;
    listen(backlog: c_int) SYS_listen => listen_ours;
    connect(address: *const sockaddr, length: socklen_t) SYS_connect => connect_ours;
    getsockname(address: *mut sockaddr, length: *mut socklen_t) SYS_getsockname => name_ours;
    getpeername(address: *mut sockaddr, length: *mut socklen_t) SYS_getpeername => peer_ours;
    shutdown(how: c_int) SYS_shutdown => shutdown_ours;
}

/// # Safety
/// As the function of C.
unsafe fn bind_ours(
    socket: &Socket,
    address: *const sockaddr,
    length: socklen_t,
) -> CallResult<isize> {
    // SAFETY: the caller's promise.
    let (address, port) = unsafe { read_address(address, length)? };
    if rank_of(address) != Some(world::rank()) {
        return Err(libc::EADDRNOTAVAIL);
    }
    if socket.side().port != 0 {
        return Err(libc::EINVAL);
    }
    let call = SocketCall::Bind {
        socket: socket.number,
        port,
    };
    let port = world::call(call, Some(0)).value.map_err(number)?;
    let mut side = socket.side();
    side.port = port as u16;
    side.address = address;
    Ok(0)
}

unsafe fn listen_ours(socket: &Socket, backlog: c_int) -> CallResult<isize> {
    let backlog = u32::try_from(backlog).unwrap_or(128).min(4096);
    let call = SocketCall::Listen {
        socket: socket.number,
        backlog,
    };
    let port = world::call(call, Some(0)).value.map_err(number)?;
    let mut side = socket.side();
    side.port = port as u16;
    side.listens = true;
    Ok(0)
}

/// # Safety
/// As the function of C.
unsafe fn connect_ours(
    socket: &Socket,
    address: *const sockaddr,
    length: socklen_t,
) -> CallResult<isize> {
    // SAFETY: the caller's promise.
    let (address, port) = unsafe { read_address(address, length)? };
    let rank = rank_of(address).ok_or(libc::ENETUNREACH)?;
    let to = SocketAddress { rank, port };
    let (is_nonblocking, had_asked) = {
        let mut side = socket.side();
        side.peer = side.peer.or(Some(to));
        (side.is_nonblocking, std::mem::replace(&mut side.asks, true))
    };
    let limit_ns = if is_nonblocking {
        Some(0)
    } else {
        socket.side().write_limit_ns
    };
    let call = SocketCall::Connect {
        socket: socket.number,
        to,
    };
    let outcome = world::call(call, limit_ns);
    let mut side = socket.side();
    if outcome.port != 0 {
        side.port = outcome.port;
        side.address = address_of(world::rank());
    }
    match outcome.value {
        Ok(_) => {
            side.asks = false;
            Ok(0)
        }
        Err(Refusal::InProgress) if had_asked => Err(libc::EALREADY),
        Err(refusal) => {
            if refusal != Refusal::InProgress {
                side.asks = false;
            }
            Err(number(refusal))
        }
    }
}

/// # Safety
/// As the function of C.
unsafe fn name_ours(
    socket: &Socket,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> CallResult<isize> {
    let side = socket.side();
    // SAFETY: the caller's promise.
    unsafe { write_address((side.address, side.port), address, length) };
    Ok(0)
}

/// Whether a connection that a non-blocking `connect` began is set up: its socket can be written then.
fn is_connected(socket: &Socket) -> bool {
    let item = Item {
        socket: socket.number,
        events: ready::WRITE,
        ..Item::default()
    };
    let (items, outside) = (vec![item], false);
    let outcome = world::call(SocketCall::Wait { items, outside }, Some(0));
    let mut found = outcome.items.iter();
    found.any(|item| item.events & (ready::WRITE | ready::FAILED) == ready::WRITE)
}

/// # Safety
/// As the function of C.
unsafe fn peer_ours(
    socket: &Socket,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> CallResult<isize> {
    let asks = socket.side().asks;
    if asks && is_connected(socket) {
        socket.side().asks = false;
    }
    let side = socket.side();
    let peer = side.peer.filter(|_| !side.asks).ok_or(libc::ENOTCONN)?;
    // SAFETY: the caller's promise.
    unsafe { write_address((address_of(peer.rank), peer.port), address, length) };
    Ok(0)
}

unsafe fn shutdown_ours(socket: &Socket, how: c_int) -> CallResult<isize> {
    let (read, write) = match how {
        libc::SHUT_RD => (true, false),
        libc::SHUT_WR => (false, true),
        libc::SHUT_RDWR => (true, true),
        _ => return Err(libc::EINVAL),
    };
    let call = SocketCall::Shutdown {
        socket: socket.number,
        read,
        write,
    };
    world::call(call, Some(0)).value.map_err(number)?;
    Ok(0)
}

/// Stands for `accept4` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept4(
    descriptor: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    match table::socket(descriptor) {
        // SAFETY: the caller keeps the promises of the call.
        None => unsafe {
            libc::syscall(libc::SYS_accept4, descriptor, address, length, flags) as c_int
        },
        Some(socket) => {
            let accepted = socket.and_then(|socket| accept_ours(&socket, flags));
            int_for_c(accepted.map(|(descriptor, peer)| {
                // SAFETY: the caller keeps the promises of the call.
                unsafe { write_address((address_of(peer.rank), peer.port), address, length) };
                descriptor as isize
            }))
        }
    }
}

/// Stands for `accept` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept(
    descriptor: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { accept4(descriptor, address, length, 0) }
}

fn accept_ours(listener: &Arc<Socket>, flags: c_int) -> CallResult<(c_int, SocketAddress)> {
    let (limit_ns, port) = {
        let side = listener.side();
        if !side.listens {
            return Err(libc::EINVAL);
        }
        let limit_ns = if side.is_nonblocking {
            Some(0)
        } else {
            side.read_limit_ns
        };
        (limit_ns, side.port)
    };
    let side = SocketState {
        is_nonblocking: flags & libc::SOCK_NONBLOCK != 0,
        address: address_of(world::rank()),
        port,
        ..SocketState::default()
    };
    let (descriptor, socket) = table::open(side, flags & libc::SOCK_CLOEXEC == 0)?;
    let call = SocketCall::Accept {
        socket: listener.number,
        name: socket.number,
    };
    let outcome = world::call(call, limit_ns);
    if let Err(refusal) = outcome.value {
        table::remove(descriptor);
        system::close(descriptor);
        return Err(number(refusal));
    }
    socket.side().peer = Some(outcome.peer);
    Ok((descriptor, outcome.peer))
}

/// Stands for `close` of C.
#[unsafe(no_mangle)]
pub extern "C" fn close(descriptor: c_int) -> c_int {
    if world::is_line(descriptor) {
        return int_for_c::<isize>(Err(libc::EBADF));
    }
    table::remove(descriptor);
    system::close(descriptor) as c_int
}

/// A duplicate that the system has made.
fn duplicated(from: c_int, to: c_long) -> c_int {
    if let Ok(to) = c_int::try_from(to)
        && to >= 0
    {
        table::duplicate(from, to);
    }
    to as c_int
}

/// Stands for `dup` of C.
#[unsafe(no_mangle)]
pub extern "C" fn dup(descriptor: c_int) -> c_int {
    // SAFETY: a call without pointers.
    duplicated(descriptor, unsafe {
        libc::syscall(libc::SYS_dup, descriptor)
    })
}

/// Stands for `dup2` of C.
#[unsafe(no_mangle)]
pub extern "C" fn dup2(from: c_int, to: c_int) -> c_int {
    if from == to {
        // SAFETY: a call without pointers, which checks the descriptor.
        let flags = unsafe { libc::syscall(libc::SYS_fcntl, from, libc::F_GETFD) };
        return if flags < 0 { -1 } else { to };
    }
    // SAFETY: a call without pointers.
    duplicated(from, unsafe { libc::syscall(libc::SYS_dup3, from, to, 0) })
}

/// Stands for `dup3` of C.
#[unsafe(no_mangle)]
pub extern "C" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    // SAFETY: a call without pointers.
    duplicated(from, unsafe {
        libc::syscall(libc::SYS_dup3, from, to, flags)
    })
}

/// Stands for `fdopen` of C, whose streams are the system's.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdopen(descriptor: c_int, mode: *const libc::c_char) -> *mut c_void {
    static REAL: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    type Function = unsafe extern "C" fn(c_int, *const libc::c_char) -> *mut c_void;
    if table::is_ours(descriptor) {
        unsupported("streams of C (fdopen) over sockets are");
        crate::error::set(libc::EINVAL);
        return std::ptr::null_mut();
    }
    // SAFETY: the function has this type.
    match unsafe { real::<Function>(c"fdopen", &REAL) } {
        // SAFETY: the caller's promise.
        Some(real) => unsafe { real(descriptor, mode) },
        None => std::ptr::null_mut(),
    }
}
