//! The name of a process's node: preloaded, this library stands for `MPI_Get_processor_name`. Ranks of one node have one name.
//!
//! A program may connect its own sockets, which are the system's, to a host of this name: for the resolver it is this machine.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::AtomicUsize;

use lanigon_line::real::real;
use libc::{addrinfo, hostent};

use crate::collective::{FAILED, MpiLibrary};
use crate::process::{is_connected, lock};

/// Name of the own node, as results number it.
fn own_name() -> String {
    format!("node{}", lock().node)
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
        length.write(c_int::try_from(own.len()).unwrap_or(c_int::MAX));
    }
    0
}

/// Stands for the function by which libraries for Fortran do the same.
///
/// # Safety
/// As [`MPI_Get_processor_name`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_processor_name(name: *mut c_char, length: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { MPI_Get_processor_name(name, length) }
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
