//! Barriers of unchanged programs on the boards: preloaded, this library stands for `MPI_Barrier`.
//!
//! If the launch asks for it ([`COLLECTIVES_VARIABLE`]), a barrier of `MPI_COMM_WORLD` is one of the boards; all others are the MPI library's own
//! (`PMPI_Barrier`). Handles of communicators are a matter of the binary interface, which is told by the library that is loaded: Open MPI's are
//! addresses of its objects, MPICH's and those of the standard's binary interface are fixed numbers. While the boards work, the MPI library gets its
//! turn: another rank may need it before it comes to its own barrier.

use std::env;
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use lanigon_requests::COLLECTIVES_VARIABLE;

use crate::process::{begin_barrier, is_in_barrier, poll, takes_part};

/// File names of MPI libraries: Open MPI, MPICH, and MPICH with the standard's binary interface.
const LIBRARIES: [&CStr; 3] = [c"libmpi.so.40", c"libmpi.so.12", c"libmpi_abi.so.1"];
/// Object behind `MPI_COMM_WORLD` of Open MPI.
const OF_OPENMPI: &CStr = c"ompi_mpi_comm_world";
/// `MPI_COMM_WORLD` of MPICH, an `int`, and of the standard's binary interface.
const OF_MPICH: u32 = 0x4400_0000;
const OF_STANDARD: usize = 0x101;
/// `MPI_ERR_OTHER` of all of them.
const FAILED: c_int = 15;
/// Room for a status, in words.
const STATUS_WORDS: usize = 32;

type Barrier = unsafe extern "C" fn(usize) -> c_int;
type Probe = unsafe extern "C" fn(c_int, c_int, usize, *mut c_int, *mut u64) -> c_int;

/// The MPI library of the process.
struct MpiLibrary {
    barrier: Option<Barrier>,
    probe: Option<Probe>,
    /// Open MPI's `MPI_COMM_WORLD`.
    world: usize,
}

impl MpiLibrary {
    /// The library, which has called, or whose user has.
    fn get() -> &'static Self {
        static FOUND: OnceLock<MpiLibrary> = OnceLock::new();
        FOUND.get_or_init(|| {
            let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
            let loaded = LIBRARIES.iter().map(|name| {
                // SAFETY: the name ends with 0.
                unsafe { libc::dlopen(name.as_ptr(), flags) }
            });
            let mut loaded = loaded.filter(|library| !library.is_null());
            let library = loaded.next().unwrap_or(libc::RTLD_NEXT);
            let find = |name: &CStr| -> *mut c_void {
                // SAFETY: the name ends with 0; the library stays.
                unsafe { libc::dlsym(library, name.as_ptr()) }
            };
            // A program may have its own copy of an object, which is the library's too, then.
            // SAFETY: the name ends with 0.
            let copy = unsafe { libc::dlsym(libc::RTLD_DEFAULT, OF_OPENMPI.as_ptr()) };
            let world = match copy.is_null() {
                true => find(OF_OPENMPI),
                false => copy,
            };
            // SAFETY: the functions of these names have these types, or are not there.
            unsafe {
                Self {
                    barrier: std::mem::transmute::<*mut c_void, Option<Barrier>>(find(
                        c"PMPI_Barrier",
                    )),
                    probe: std::mem::transmute::<*mut c_void, Option<Probe>>(find(c"PMPI_Iprobe")),
                    world: world as usize,
                }
            }
        })
    }

    /// Whether a handle is that of all ranks.
    const fn is_world(&self, communicator: usize) -> bool {
        match self.world {
            0 => communicator as u32 == OF_MPICH || communicator == OF_STANDARD,
            world => communicator == world,
        }
    }
}

/// Stands for `MPI_Barrier` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Barrier(communicator: usize) -> c_int {
    static IS_WANTED: OnceLock<bool> = OnceLock::new();
    let library = MpiLibrary::get();
    let is_wanted = *IS_WANTED.get_or_init(|| env::var_os(COLLECTIVES_VARIABLE).is_some());
    if !is_wanted || !library.is_world(communicator) || !takes_part() {
        // SAFETY: the caller keeps the promises of the function.
        return library
            .barrier
            .map_or(FAILED, |real| unsafe { real(communicator) });
    }
    let token = begin_barrier();
    loop {
        let (mut found, mut status) = (0, [0_u64; STATUS_WORDS]);
        if let Some(probe) = library.probe {
            // SAFETY: there is room for the results; any rank and tag may be asked for.
            let done = unsafe { probe(0, 0, communicator, &raw mut found, status.as_mut_ptr()) };
            if done != 0 {
                return done;
            }
        }
        if !is_in_barrier(token) {
            return 0;
        }
        poll();
    }
}
