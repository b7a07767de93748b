//! The place of ranks of Open MPI: each is on a host of its own.
//!
//! Ranks of a launch run on one machine in truth, and would access each other's memory past the network. Preloaded, this library answers the questions of Open
//! MPI's run-time library that tell so: no other rank is near. The starter, in which it is loaded too, gets its own answers.

use std::env;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use lanigon_requests::SOCKET_VARIABLE;

/// Keys of the ranks on the own host, and of how near a rank is.
const KEYS: [&CStr; 3] = [c"pmix.lpeers", c"pmix.loc", c"pmix.locstr"];
/// The answer of PMIx for a key without a value.
const NOT_FOUND: c_int = -46;

type Get = unsafe extern "C" fn(
    *const c_void,
    *const c_char,
    *const c_void,
    usize,
    *mut *mut c_void,
) -> c_int;

/// The function of the library itself, which may be loaded so that only its own users see it.
fn own() -> Option<Get> {
    static FOUND: OnceLock<usize> = OnceLock::new();
    let found = *FOUND.get_or_init(|| {
        // SAFETY: names are strings; a handle that is not null is of a library that stays.
        unsafe {
            let name = c"PMIx_Get".as_ptr();
            let next = libc::dlsym(libc::RTLD_NEXT, name);
            if !next.is_null() {
                return next as usize;
            }
            let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
            match libc::dlopen(c"libpmix.so.2".as_ptr(), flags) {
                library if library.is_null() => 0,
                library => libc::dlsym(library, name) as usize,
            }
        }
    });
    // SAFETY: the function of this name has this type, in all versions of PMIx.
    (found != 0).then(|| unsafe { std::mem::transmute::<usize, Get>(found) })
}

/// Whether this process is a rank of a launch.
fn is_rank() -> bool {
    [SOCKET_VARIABLE, "OMPI_COMM_WORLD_RANK"]
        .iter()
        .all(|name| env::var_os(name).is_some())
}

/// Asks for a value of a process, as PMIx does.
///
/// # Safety
/// As `PMIx_Get` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMIx_Get(
    process: *const c_void,
    key: *const c_char,
    info: *const c_void,
    count: usize,
    value: *mut *mut c_void,
) -> c_int {
    // SAFETY: a key is null or a string.
    let is_near = !key.is_null() && KEYS.contains(&unsafe { CStr::from_ptr(key) });
    match own() {
        Some(get) if !is_near || !is_rank() => {
            // SAFETY: the caller's promises.
            unsafe { get(process, key, info, count, value) }
        }
        _ => NOT_FOUND,
    }
}
