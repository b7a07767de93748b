//! The name of a process's node: preloaded, this library stands for `MPI_Get_processor_name`. Ranks of one node have one name.
//!
//! A program may connect its own sockets, which are the system's, to a host of this name: for the resolver it is this machine.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::AtomicUsize;

use lanigon_line::real::real;
use libc::{addrinfo, hostent};

use crate::collective::MpiLibrary;
use crate::process::{is_connected, lock};

/// `MPI_ERR_OTHER` of all libraries.
const FAILED: c_int = 15;

/// Name of the own node, as results number it.
fn own_name() -> String {
    format!("node{}", lock().node)
}

/// A length as C has it.
fn length_of(bytes: usize) -> c_int {
    c_int::try_from(bytes).unwrap_or(c_int::MAX)
}

/// Stands for `MPI_Get_processor_name` of C.
///
/// # Safety
/// As the function of C: there is room for the name, and for its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Get_processor_name(name: *mut c_char, length: *mut c_int) -> c_int {
    if !is_connected() {
        let real = MpiLibrary::get().processor_name;
        // SAFETY: the function has this type; the caller's promise.
        return real.map_or(FAILED, |real| unsafe { real(name, length) });
    }
    let own = own_name();
    // SAFETY: libraries have room for 128 bytes and more.
    unsafe {
        std::ptr::copy_nonoverlapping(own.as_ptr(), name.cast(), own.len());
        name.add(own.len()).write(0);
        length.write(length_of(own.len()));
    }
    0
}

/// Stands for `MPI_Get_processor_name` of Fortran, whose text has `room` bytes and ends with blanks.
///
/// # Safety
/// As the function of Fortran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpi_get_processor_name_(
    name: *mut c_char,
    length: *mut c_int,
    error: *mut c_int,
    room: usize,
) {
    if !is_connected() {
        match MpiLibrary::get().processor_name_fortran {
            // SAFETY: the function has this type; the caller's promise.
            Some(real) => unsafe { real(name, length, error, room) },
            // SAFETY: the caller's promise.
            None => unsafe { error.write(FAILED) },
        }
        return;
    }
    let own = own_name();
    let used = own.len().min(room);
    // SAFETY: there is `room`, of which no more is used.
    unsafe {
        std::ptr::write_bytes(name.cast::<u8>(), b' ', room);
        std::ptr::copy_nonoverlapping(own.as_ptr(), name.cast(), used);
        length.write(length_of(used));
        error.write(0);
    }
}

/// The name that the system's resolver gets: sockets of the processes are this machine's.
///
/// # Safety
/// The name is null or a string.
unsafe fn resolved(name: *const c_char) -> *const c_char {
    let is_of_node = |name: &[u8]| {
        let number = name.strip_prefix(b"node").unwrap_or_default();
        !number.is_empty() && number.iter().all(u8::is_ascii_digit)
    };
    // SAFETY: the caller's promise.
    match is_connected()
        && !name.is_null()
        && is_of_node(unsafe { CStr::from_ptr(name) }.to_bytes())
    {
        true => c"localhost".as_ptr(),
        false => name,
    }
}

/// Stands for `gethostbyname` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gethostbyname(name: *const c_char) -> *mut hostent {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    type Function = unsafe extern "C" fn(*const c_char) -> *mut hostent;
    // SAFETY: the function has this type; the caller's promise.
    unsafe {
        let real = real::<Function>(c"gethostbyname", &REAL);
        real.map_or(std::ptr::null_mut(), |real| real(resolved(name)))
    }
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
    // SAFETY: the function has this type; the caller's promise.
    unsafe {
        let real = real::<Function>(c"getaddrinfo", &REAL);
        real.map_or(libc::EAI_SYSTEM, |real| {
            real(resolved(node), service, hints, found)
        })
    }
}
