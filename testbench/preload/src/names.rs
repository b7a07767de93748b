//! Names of hosts: `node0` is the host of rank 0.

use std::ffi::{CStr, CString};
use std::net::Ipv4Addr;
use std::sync::atomic::AtomicUsize;

use lanigon_line::real::real;
use libc::{addrinfo, c_char, c_int, c_void, hostent, size_t, sockaddr, sockaddr_in, socklen_t};

use crate::sockets::CHILD;
use crate::sockets::{address_of, rank_of};
use crate::{error, table, world};

/// No such name, in the terms of `gethostbyname`.
const HOST_NOT_FOUND: c_int = 1;

fn name_of(rank: u32) -> String {
    format!("node{rank}")
}

/// The address of a name.
fn find(name: &str) -> Option<Ipv4Addr> {
    if let Ok(address) = name.parse() {
        return Some(address);
    }
    if name == "localhost" {
        return Some(Ipv4Addr::LOCALHOST);
    }
    let rank: u32 = name.strip_prefix("node")?.parse().ok()?;
    (rank < world::size()).then(|| Ipv4Addr::from_bits(address_of(rank)))
}

/// Text of C.
///
/// # Safety
/// It is null or ends with 0.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// Stands for `getaddrinfo` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    found: *mut *mut addrinfo,
) -> c_int {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    type Function = unsafe extern "C" fn(
        *const c_char,
        *const c_char,
        *const addrinfo,
        *mut *mut addrinfo,
    ) -> c_int;
    // SAFETY: the function has this type.
    let Some(real) = (unsafe { real::<Function>(c"getaddrinfo", &REAL) }) else {
        return libc::EAI_SYSTEM;
    };
    if !world::is_connected() {
        if table::has_world() {
            error::unsupported(CHILD);
        }
        // SAFETY: the caller's promise.
        return unsafe { real(node, service, hints, found) };
    }
    // SAFETY: a structure of numbers and pointers may be zero.
    let mut ours: addrinfo = unsafe { std::mem::zeroed() };
    // SAFETY: the caller's promise.
    if let Some(hints) = unsafe { hints.as_ref() } {
        ours = *hints;
    }
    if !matches!(ours.ai_family, libc::AF_UNSPEC | libc::AF_INET) {
        return libc::EAI_FAMILY;
    }
    ours.ai_family = libc::AF_INET;
    ours.ai_flags &= !(libc::AI_ADDRCONFIG | libc::AI_V4MAPPED);
    let mut name = None;
    if !node.is_null() {
        // SAFETY: the caller's promise.
        let address = unsafe { text(node) }.and_then(find);
        let Some(address) = address.and_then(|address| CString::new(address.to_string()).ok())
        else {
            return libc::EAI_NONAME;
        };
        name = Some(address);
    }
    let node = name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
    // SAFETY: the caller's promise; the name lives until here.
    unsafe { real(node, service, &raw const ours, found) }
}

/// The rank of an address of C.
///
/// # Safety
/// It has so many bytes.
unsafe fn rank_at(address: *const sockaddr, length: socklen_t) -> Option<u32> {
    if address.is_null() || (length as usize) < size_of::<sockaddr_in>() {
        return None;
    }
    // SAFETY: it has enough bytes.
    let address = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
    let is_ours = c_int::from(address.sin_family) == libc::AF_INET;
    is_ours.then(|| rank_of(u32::from_be(address.sin_addr.s_addr)))?
}

/// Stands for `getnameinfo` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getnameinfo(
    address: *const sockaddr,
    length: socklen_t,
    host: *mut c_char,
    room: socklen_t,
    service: *mut c_char,
    service_room: socklen_t,
    flags: c_int,
) -> c_int {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    type Function = unsafe extern "C" fn(
        *const sockaddr,
        socklen_t,
        *mut c_char,
        socklen_t,
        *mut c_char,
        socklen_t,
        c_int,
    ) -> c_int;
    // SAFETY: the function has this type.
    let Some(real) = (unsafe { real::<Function>(c"getnameinfo", &REAL) }) else {
        return libc::EAI_SYSTEM;
    };
    let ours = if world::is_connected() {
        libc::NI_NUMERICHOST
    } else {
        0
    };
    // SAFETY: the caller's promise.
    let done = unsafe {
        real(
            address,
            length,
            host,
            room,
            service,
            service_room,
            flags | ours,
        )
    };
    // SAFETY: the caller's promise.
    let rank = unsafe { rank_at(address, length) };
    if let Some(rank) = rank.filter(|_| ours != 0 && done == 0 && flags & ours == 0) {
        let name = name_of(rank);
        if !host.is_null() && (room as usize) > name.len() {
            // SAFETY: there is room.
            unsafe { write_text(&name, host) };
        }
    }
    done
}

/// Writes a text and its end.
///
/// # Safety
/// There is room for it.
unsafe fn write_text(text: &str, place: *mut c_char) {
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), text.len());
        place.add(text.len()).write(0);
    }
}

/// Stands for `gethostname` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gethostname(name: *mut c_char, room: size_t) -> c_int {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    type Function = unsafe extern "C" fn(*mut c_char, size_t) -> c_int;
    if world::is_connected() {
        let own = name_of(world::rank());
        if room <= own.len() {
            return error::int_for_c::<isize>(Err(libc::ENAMETOOLONG));
        }
        // SAFETY: there is room.
        unsafe { write_text(&own, name) };
        return 0;
    }
    // SAFETY: the function has this type; the caller's promise.
    unsafe { real::<Function>(c"gethostname", &REAL).map_or(-1, |real| real(name, room)) }
}

/// No name was found.
fn nothing<T>() -> *mut T {
    unsafe extern "C" {
        fn __h_errno_location() -> *mut c_int;
    }
    // SAFETY: the place belongs to this thread.
    unsafe { *__h_errno_location() = HOST_NOT_FOUND };
    std::ptr::null_mut()
}

/// Stands for `gethostbyname` of C. What it returns stays.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gethostbyname(name: *const c_char) -> *mut hostent {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    type Function = unsafe extern "C" fn(*const c_char) -> *mut hostent;
    if !world::is_connected() {
        // SAFETY: the function has this type; the caller's promise.
        let real = unsafe { real::<Function>(c"gethostbyname", &REAL) };
        // SAFETY: the caller's promise.
        return real.map_or_else(nothing, |real| unsafe { real(name) });
    }
    // SAFETY: the caller's promise.
    let asked = unsafe { text(name) };
    let Some((asked, address)) = asked.and_then(|name| Some((name, find(name)?))) else {
        return nothing();
    };
    let Ok(asked) = CString::new(asked) else {
        return nothing();
    };
    let address = Box::leak(Box::new(address.octets()));
    let addresses: &mut [*mut c_char; 2] = Box::leak(Box::new([
        address.as_mut_ptr().cast(),
        std::ptr::null_mut(),
    ]));
    let aliases: &mut [*mut c_char; 1] = Box::leak(Box::new([std::ptr::null_mut()]));
    Box::leak(Box::new(hostent {
        h_name: asked.into_raw(),
        h_aliases: aliases.as_mut_ptr(),
        h_addrtype: libc::AF_INET,
        h_length: 4,
        h_addr_list: addresses.as_mut_ptr(),
    }))
}

/// Stands for `gethostbyaddr_r` of C: addresses have no other names.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gethostbyaddr_r(
    address: *const c_void,
    length: socklen_t,
    family: c_int,
    result: *mut hostent,
    buffer: *mut c_char,
    room: size_t,
    found: *mut *mut hostent,
    number: *mut c_int,
) -> c_int {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    type Function = unsafe extern "C" fn(
        *const c_void,
        socklen_t,
        c_int,
        *mut hostent,
        *mut c_char,
        size_t,
        *mut *mut hostent,
        *mut c_int,
    ) -> c_int;
    // SAFETY: the function has this type; the caller's promise.
    unsafe {
        if !world::is_connected()
            && let Some(real) = real::<Function>(c"gethostbyaddr_r", &REAL)
        {
            return real(address, length, family, result, buffer, room, found, number);
        }
        found.write(std::ptr::null_mut());
        number.write(HOST_NOT_FOUND);
    }
    0
}
