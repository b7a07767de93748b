//! The MPI library of the process: its functions, and what its handles mean.
//!
//! Handles are a matter of the binary interface, which is told by the library that is loaded: Open MPI's are addresses of its objects, MPICH's and
//! those of the standard's binary interface are fixed numbers.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use lanigon_requests::Function;

/// File names of MPI libraries: Open MPI, MPICH, and MPICH with the standard's binary interface.
const LIBRARIES: [&CStr; 3] = [c"libmpi.so.40", c"libmpi.so.12", c"libmpi_abi.so.1"];
/// Object behind `MPI_COMM_WORLD` of Open MPI.
const WORLD_OF_OPENMPI: &CStr = c"ompi_mpi_comm_world";
/// `MPI_COMM_WORLD` of MPICH, an `int`, and of the standard's binary interface.
const WORLD_OF_MPICH: u32 = 0x4400_0000;
const WORLD_OF_STANDARD: usize = 0x101;
/// `MPI_IN_PLACE` of MPICH, and of the two others.
const IN_PLACE: [usize; 2] = [usize::MAX, 1];

/// An operation of reductions: the object of Open MPI, and the numbers of MPICH and of the standard's binary interface.
type ReductionHandle = (Function, &'static CStr, u32, u32);
const REDUCTIONS: [ReductionHandle; 5] = [
    (Function::Most, c"ompi_mpi_op_max", 0x5800_0001, 0x23),
    (Function::Least, c"ompi_mpi_op_min", 0x5800_0002, 0x22),
    (Function::Sum, c"ompi_mpi_op_sum", 0x5800_0003, 0x21),
    (Function::BitAnd, c"ompi_mpi_op_band", 0x5800_0006, 0x28),
    (Function::BitOr, c"ompi_mpi_op_bor", 0x5800_0008, 0x29),
];

type Barrier = unsafe extern "C" fn(usize) -> c_int;
type BeginBarrier = unsafe extern "C" fn(usize, *mut usize) -> c_int;
type AllReduce =
    unsafe extern "C" fn(*const c_void, *mut c_void, c_int, usize, usize, usize) -> c_int;
type Probe = unsafe extern "C" fn(c_int, c_int, usize, *mut c_int, *mut u64) -> c_int;
type OwnRank = unsafe extern "C" fn(usize, *mut c_int) -> c_int;
type Finalize = unsafe extern "C" fn() -> c_int;
type Abort = unsafe extern "C" fn(usize, c_int) -> c_int;
type ProcessorName = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
type Spawn = unsafe extern "C" fn(
    *const c_char,
    *mut c_void,
    c_int,
    usize,
    c_int,
    usize,
    *mut c_void,
    *mut c_int,
) -> c_int;
type SpawnMultiple = unsafe extern "C" fn(
    c_int,
    *mut c_void,
    *mut c_void,
    *const c_int,
    *const c_void,
    c_int,
    usize,
    *mut c_void,
    *mut c_int,
) -> c_int;
type TypeName = unsafe extern "C" fn(usize, *mut c_char, *mut c_int) -> c_int;
type OfRequest = extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type FreeRequest = extern "C" fn(*mut c_void) -> c_int;
type BeginRequest =
    unsafe extern "C" fn(OfRequest, FreeRequest, OfRequest, *mut c_void, *mut usize) -> c_int;
type CompleteRequest = unsafe extern "C" fn(usize) -> c_int;

/// The MPI library of the process.
pub struct MpiLibrary {
    pub barrier: Option<Barrier>,
    pub begin_barrier: Option<BeginBarrier>,
    pub all_reduce: Option<AllReduce>,
    pub probe: Option<Probe>,
    pub type_name: Option<TypeName>,
    pub begin_request: Option<BeginRequest>,
    pub complete_request: Option<CompleteRequest>,
    pub own_rank: Option<OwnRank>,
    pub finalize: Option<Finalize>,
    pub abort: Option<Abort>,
    pub processor_name: Option<ProcessorName>,
    pub spawn: Option<Spawn>,
    pub spawn_multiple: Option<SpawnMultiple>,
    /// Open MPI's `MPI_COMM_WORLD`, or 0.
    world: usize,
    /// Open MPI's operations, as in [`REDUCTIONS`], or 0.
    reductions: [usize; REDUCTIONS.len()],
}

/// Address of a symbol, or 0.
fn address(library: *mut c_void, name: &CStr) -> usize {
    // SAFETY: the name ends with 0; the library stays.
    unsafe { libc::dlsym(library, name.as_ptr()) as usize }
}

/// Address of an object of the library. A program may have its own copy of an object, which is the library's too, then.
fn object(library: *mut c_void, name: &CStr) -> usize {
    match address(libc::RTLD_DEFAULT, name) {
        0 => address(library, name),
        copy => copy,
    }
}

/// A function of the library, if it is there.
///
/// # Safety
/// The function of this name has the type `F`, which is that of a pointer to a function.
unsafe fn function<F>(library: *mut c_void, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let found = address(library, name);
    // SAFETY: a pointer to a function has the size of an address, and the caller promises its type.
    (found != 0).then(|| unsafe { std::mem::transmute_copy::<usize, F>(&found) })
}

impl MpiLibrary {
    /// The library, which has called, or whose user has.
    pub fn get() -> &'static Self {
        static FOUND: OnceLock<MpiLibrary> = OnceLock::new();
        FOUND.get_or_init(|| {
            let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
            let loaded = LIBRARIES.iter().map(|name| {
                // SAFETY: the name ends with 0.
                unsafe { libc::dlopen(name.as_ptr(), flags) }
            });
            let mut loaded = loaded.filter(|library| !library.is_null());
            let library = loaded.next().unwrap_or(libc::RTLD_NEXT);
            // SAFETY: the functions of these names have these types.
            unsafe {
                Self {
                    barrier: function(library, c"PMPI_Barrier"),
                    begin_barrier: function(library, c"PMPI_Ibarrier"),
                    all_reduce: function(library, c"PMPI_Allreduce"),
                    probe: function(library, c"PMPI_Iprobe"),
                    type_name: function(library, c"PMPI_Type_get_name"),
                    begin_request: function(library, c"PMPI_Grequest_start"),
                    complete_request: function(library, c"PMPI_Grequest_complete"),
                    own_rank: function(library, c"PMPI_Comm_rank"),
                    finalize: function(library, c"PMPI_Finalize"),
                    abort: function(library, c"PMPI_Abort"),
                    processor_name: function(library, c"PMPI_Get_processor_name"),
                    spawn: function(library, c"PMPI_Comm_spawn"),
                    spawn_multiple: function(library, c"PMPI_Comm_spawn_multiple"),
                    world: object(library, WORLD_OF_OPENMPI),
                    reductions: REDUCTIONS.map(|(_, name, ..)| object(library, name)),
                }
            }
        })
    }

    /// Whether the library is Open MPI; `None`: the process has no MPI library that is known.
    pub const fn is_open_mpi(&self) -> Option<bool> {
        match (self.world, self.barrier) {
            (0, None) => None,
            (world, _) => Some(world != 0),
        }
    }

    /// Whether a handle is that of all ranks.
    pub const fn is_world(&self, communicator: usize) -> bool {
        match self.world {
            0 => communicator as u32 == WORLD_OF_MPICH || communicator == WORLD_OF_STANDARD,
            world => communicator == world,
        }
    }

    /// Function of a reduction's handle, if boards have it.
    pub fn function(&self, handle: usize) -> Option<Function> {
        let of_openmpi = |place: usize| self.world != 0 && self.reductions[place] == handle;
        let of_others =
            |mpich, standard| self.world == 0 && [mpich, standard].contains(&(handle as u32));
        let mut known = REDUCTIONS.iter().enumerate();
        let found = known.find(|(place, (_, _, mpich, standard))| {
            of_openmpi(*place) || of_others(*mpich, *standard)
        });
        found.map(|(_, (function, ..))| *function)
    }

    /// Reads a handle of a library with this communicator: MPICH's are `int`s.
    ///
    /// # Safety
    /// The library has written the handle there.
    pub unsafe fn read_handle(&self, communicator: usize, at: *const usize) -> usize {
        match self.world == 0 && communicator as u32 == WORLD_OF_MPICH {
            // SAFETY: the caller's promise.
            true => unsafe { at.cast::<u32>().read() as usize },
            // SAFETY: the caller's promise.
            false => unsafe { at.read() },
        }
    }
}

/// Whether a buffer says that the values stand where the results go.
pub fn is_in_place(buffer: *const c_void) -> bool {
    IN_PLACE.contains(&(buffer as usize))
}
