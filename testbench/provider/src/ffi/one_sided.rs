//! Structures of memory regions, one-sided and atomic operations.

use std::ffi::{c_int, c_void};

use lanigon_requests::Segment;

use super::{Domain, EndpointFid, Fid, IoVec, Missing};

type Ep = *mut EndpointFid;
type Desc = *mut c_void;
type Context = *mut c_void;
type Bytes = *const c_void;

#[repr(C)]
pub struct MemoryOps {
    pub size: usize,
    pub reg: unsafe extern "C" fn(
        *mut Domain,
        *const c_void,
        usize,
        u64,
        u64,
        u64,
        u64,
        *mut *mut MemoryRegion,
        *mut c_void,
    ) -> c_int,
    pub regv: unsafe extern "C" fn(
        *mut Domain,
        *const IoVec,
        usize,
        u64,
        u64,
        u64,
        u64,
        *mut *mut MemoryRegion,
        *mut c_void,
    ) -> c_int,
    pub regattr:
        unsafe extern "C" fn(*mut Domain, *const RegionAttr, u64, *mut *mut MemoryRegion) -> c_int,
}

#[repr(C)]
pub struct MemoryRegion {
    pub fid: Fid,
    pub desc: *mut c_void,
    pub key: u64,
}

/// Description of a region; further fields are of no matter.
#[repr(C)]
pub struct RegionAttr {
    pub iov: *const IoVec,
    pub count: usize,
    pub access: u64,
    pub offset: u64,
    pub key: u64,
    pub context: *mut c_void,
}

/// Memory of another process; of an atomic operation: `length` numbers.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RemoteIoVec {
    pub address: u64,
    pub length: usize,
    pub key: u64,
}

impl RemoteIoVec {
    pub const fn segment(&self) -> Segment {
        Segment {
            key: self.key,
            offset: self.address,
            bytes: self.length as u64,
        }
    }
}

#[repr(C)]
pub struct RmaMsgOf {
    pub iov: *const IoVec,
    pub desc: *mut *mut c_void,
    pub count: usize,
    pub address: u64,
    pub rma: *const RemoteIoVec,
    pub rma_count: usize,
    pub context: *mut c_void,
    pub data: u64,
}

/// The vectors count numbers.
#[repr(C)]
pub struct AtomicMsgOf {
    pub iov: *const IoVec,
    pub desc: *mut *mut c_void,
    pub count: usize,
    pub address: u64,
    pub rma: *const RemoteIoVec,
    pub rma_count: usize,
    pub number: c_int,
    pub function: c_int,
    pub context: *mut c_void,
    pub data: u64,
}

#[repr(C)]
pub struct AtomicAttr {
    pub count: usize,
    pub size: usize,
}

#[repr(C)]
pub struct RmaOps {
    pub size: usize,
    pub read: unsafe extern "C" fn(Ep, Bytes, usize, Desc, u64, u64, u64, Context) -> isize,
    pub readv: unsafe extern "C" fn(Ep, *const IoVec, Desc, usize, u64, u64, u64, Context) -> isize,
    pub readmsg: unsafe extern "C" fn(Ep, *const RmaMsgOf, u64) -> isize,
    pub write: unsafe extern "C" fn(Ep, Bytes, usize, Desc, u64, u64, u64, Context) -> isize,
    pub writev:
        unsafe extern "C" fn(Ep, *const IoVec, Desc, usize, u64, u64, u64, Context) -> isize,
    pub writemsg: unsafe extern "C" fn(Ep, *const RmaMsgOf, u64) -> isize,
    pub inject: unsafe extern "C" fn(Ep, Bytes, usize, u64, u64, u64) -> isize,
    pub writedata: Missing,
    pub injectdata: Missing,
}

type Vector = *const IoVec;
type Numbers = c_int;
type Valid = unsafe extern "C" fn(Ep, Numbers, c_int, *mut usize) -> c_int;

#[repr(C)]
pub struct AtomicOps {
    pub size: usize,
    pub write: unsafe extern "C" fn(
        Ep,
        Bytes,
        usize,
        Desc,
        u64,
        u64,
        u64,
        Numbers,
        c_int,
        Context,
    ) -> isize,
    pub writev: unsafe extern "C" fn(
        Ep,
        Vector,
        Desc,
        usize,
        u64,
        u64,
        u64,
        Numbers,
        c_int,
        Context,
    ) -> isize,
    pub writemsg: unsafe extern "C" fn(Ep, *const AtomicMsgOf, u64) -> isize,
    pub inject: unsafe extern "C" fn(Ep, Bytes, usize, u64, u64, u64, Numbers, c_int) -> isize,
    pub readwrite: unsafe extern "C" fn(
        Ep,
        Bytes,
        usize,
        Desc,
        Desc,
        Desc,
        u64,
        u64,
        u64,
        Numbers,
        c_int,
        Context,
    ) -> isize,
    pub readwritev: unsafe extern "C" fn(
        Ep,
        Vector,
        Desc,
        usize,
        Vector,
        Desc,
        usize,
        u64,
        u64,
        u64,
        Numbers,
        c_int,
        Context,
    ) -> isize,
    pub readwritemsg:
        unsafe extern "C" fn(Ep, *const AtomicMsgOf, Vector, Desc, usize, u64) -> isize,
    pub compwrite: unsafe extern "C" fn(
        Ep,
        Bytes,
        usize,
        Desc,
        Bytes,
        Desc,
        Desc,
        Desc,
        u64,
        u64,
        u64,
        Numbers,
        c_int,
        Context,
    ) -> isize,
    pub compwritev: unsafe extern "C" fn(
        Ep,
        Vector,
        Desc,
        usize,
        Vector,
        Desc,
        usize,
        Vector,
        Desc,
        usize,
        u64,
        u64,
        u64,
        Numbers,
        c_int,
        Context,
    ) -> isize,
    pub compwritemsg: unsafe extern "C" fn(
        Ep,
        *const AtomicMsgOf,
        Vector,
        Desc,
        usize,
        Vector,
        Desc,
        usize,
        u64,
    ) -> isize,
    pub writevalid: Valid,
    pub readwritevalid: Valid,
    pub compwritevalid: Valid,
}
