//! Memory regions: the process offers memory to others under a key, which it chooses. Places in a region count from its begin.

use std::ffi::{c_int, c_void};
use std::ptr;

use lanigon_requests::Region;

use crate::fabric::{close, closes};
use crate::ffi::error::INVAL;
use crate::ffi::{
    CLASS_MR, Domain, Fid, IoVec, MemoryOps, MemoryRegion, Ops, RegionAttr, missing_control,
};
use crate::memory::buffers;
use crate::process::lock;

pub static MEMORY_OPS: MemoryOps = MemoryOps {
    size: size_of::<MemoryOps>(),
    reg: register,
    regv: register_vector,
    regattr: register_described,
};

static REGION: Ops = Ops {
    bind: Some(bind),
    control: Some(missing_control),
    ..closes(close_region)
};

/// Offers a region.
///
/// # Safety
/// The caller has room for the answer.
unsafe fn offer(
    vector: (*const IoVec, usize),
    key: u64,
    region: *mut *mut MemoryRegion,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller's vector.
    let [(address, bytes)] = unsafe { buffers(vector.0, vector.1) }[..] else {
        return -INVAL;
    };
    let (address, bytes) = (address as u64, bytes as u64);
    let key = match lock().offer(key, Region { address, bytes }) {
        Ok(key) => key,
        Err(error) => return -error,
    };
    let opened = MemoryRegion {
        fid: Fid {
            class: CLASS_MR,
            context,
            ops: &raw const REGION,
        },
        desc: ptr::null_mut(),
        key,
    };
    // SAFETY: the caller's promise.
    unsafe { region.write(Box::into_raw(Box::new(opened))) };
    0
}

unsafe extern "C" fn register(
    _: *mut Domain,
    buffer: *const c_void,
    length: usize,
    _access: u64,
    _offset: u64,
    key: u64,
    _flags: u64,
    region: *mut *mut MemoryRegion,
    context: *mut c_void,
) -> c_int {
    let vector = IoVec {
        base: buffer,
        length,
    };
    // SAFETY: the caller's promises, here and below.
    unsafe { offer((&raw const vector, 1), key, region, context) }
}

unsafe extern "C" fn register_vector(
    _: *mut Domain,
    vector: *const IoVec,
    count: usize,
    _access: u64,
    _offset: u64,
    key: u64,
    _flags: u64,
    region: *mut *mut MemoryRegion,
    context: *mut c_void,
) -> c_int {
    unsafe { offer((vector, count), key, region, context) }
}

unsafe extern "C" fn register_described(
    _: *mut Domain,
    described: *const RegionAttr,
    _flags: u64,
    region: *mut *mut MemoryRegion,
) -> c_int {
    unsafe {
        let described = &*described;
        let vector = (described.iov, described.count);
        offer(vector, described.key, region, described.context)
    }
}

/// Counters and endpoints of a region: nothing depends on them.
unsafe extern "C" fn bind(_: *mut Fid, _: *mut Fid, _: u64) -> c_int {
    0
}

unsafe extern "C" fn close_region(fid: *mut Fid) -> c_int {
    unsafe {
        lock().withdraw((*fid.cast::<MemoryRegion>()).key);
        close::<MemoryRegion>(fid)
    }
}
