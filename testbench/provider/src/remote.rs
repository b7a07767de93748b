//! Calls of libfabric that read and write other processes' memory (`fi_rma`).
//!
//! A call becomes an operation, which the host of the other process carries out (`lanigon_requests::Operation`). It is complete when the reply is here.

use std::ffi::c_void;
use std::ptr;

use lanigon_requests::{Access, Operation, Segment};

use crate::ffi::error::{INVAL, MSGSIZE, OPNOTSUPP};
use crate::ffi::{
    COMPLETION, EndpointFid, INJECT, IoVec, READ, REMOTE_CQ_DATA, RMA, RemoteIoVec, RmaMsgOf,
    RmaOps, WRITE, failed, missing,
};
use crate::memory::{BufferList, buffers, gather};
use crate::messages::{number, one, usual};
use crate::process::{Sending, lock};

type Ep = *mut EndpointFid;
type Bytes = *const c_void;
type Pointer = *mut c_void;

pub static RMA_OPS: RmaOps = RmaOps {
    size: size_of::<RmaOps>(),
    read,
    readv,
    readmsg,
    write,
    writev,
    writemsg,
    inject,
    writedata: missing,
    injectdata: missing,
};

/// Parts of all calls: the receiver, and how the end is told.
#[derive(Clone, Copy)]
pub struct CallHead {
    pub to: u64,
    pub flags: u64,
    pub context: Pointer,
}

impl CallHead {
    /// Begins the operation.
    pub fn begin(
        self,
        ep: Ep,
        kind: u64,
        operation: &Operation,
        results: BufferList,
    ) -> Result<(), i32> {
        if self.flags & REMOTE_CQ_DATA != 0 {
            return Err(OPNOTSUPP);
        }
        let sending = Sending {
            to: self.to,
            flags: self.flags,
            context: self.context as usize,
            silent: self.flags & INJECT != 0 && self.flags & COMPLETION == 0,
            ..Sending::default()
        };
        // SAFETY: the caller's object.
        let index = unsafe { (*ep).index };
        lock().operate(index, sending, kind, operation, results)
    }
}

/// Reads into, or writes from, the buffers of a vector.
///
/// # Safety
/// As the call of libfabric says: both vectors have as many entries as is said, and the buffers are the process's.
unsafe fn transfer(
    ep: Ep,
    access: Access,
    (vector, count): (*const IoVec, usize),
    (remote, remote_count): (*const RemoteIoVec, usize),
    head: CallHead,
) -> isize {
    // SAFETY: the caller's promise.
    let (local, remote) = unsafe {
        let remote = std::slice::from_raw_parts(remote, remote_count);
        (buffers(vector, count), remote)
    };
    let segments: Vec<Segment> = remote.iter().map(RemoteIoVec::segment).collect();
    let (kind, operands, results) = match access {
        Access::Read => (READ, Vec::new(), local),
        // SAFETY: the caller's promise.
        _ => (WRITE, unsafe { gather(&local) }, BufferList::new()),
    };
    let operation = Operation {
        access,
        segments,
        operands,
    };
    let length = operation.length();
    let here: usize = match access {
        Access::Read => results.iter().map(|(_, bytes)| bytes).sum(),
        _ => operation.operands.len(),
    };
    if length > lanigon_requests::MOST_BYTES {
        return failed(MSGSIZE);
    }
    if here != length {
        return failed(INVAL);
    }
    number(head.begin(ep, RMA | kind, &operation, results))
}

/// A place of as many bytes as a vector has.
unsafe fn whole(vector: *const IoVec, count: usize, address: u64, key: u64) -> RemoteIoVec {
    // SAFETY: the caller's vector.
    let local = unsafe { buffers(vector, count) };
    RemoteIoVec {
        address,
        length: local.iter().map(|(_, bytes)| bytes).sum(),
        key,
    }
}

/// Head of a call without flags of its own.
pub unsafe fn with_usual(ep: Ep, to: u64, context: Pointer) -> CallHead {
    // SAFETY: the caller's object.
    let flags = unsafe { usual(ep).0 } & !REMOTE_CQ_DATA;
    CallHead { to, flags, context }
}

unsafe extern "C" fn read(
    ep: Ep,
    buffer: Bytes,
    length: usize,
    desc: Pointer,
    from: u64,
    address: u64,
    key: u64,
    context: Pointer,
) -> isize {
    // SAFETY: the caller's promises, in this and all calls below.
    unsafe {
        readv(
            ep,
            &one(buffer, length),
            desc,
            1,
            from,
            address,
            key,
            context,
        )
    }
}

unsafe extern "C" fn readv(
    ep: Ep,
    vector: *const IoVec,
    _: Pointer,
    count: usize,
    from: u64,
    address: u64,
    key: u64,
    context: Pointer,
) -> isize {
    unsafe {
        let head = with_usual(ep, from, context);
        transfer_whole(ep, Access::Read, (vector, count), (address, key), head)
    }
}

/// Carries out a transfer between a vector and one range of remote memory, as long as the vector.
unsafe fn transfer_whole(
    ep: Ep,
    access: Access,
    local: (*const IoVec, usize),
    (address, key): (u64, u64),
    head: CallHead,
) -> isize {
    unsafe {
        let place = whole(local.0, local.1, address, key);
        transfer(ep, access, local, (&raw const place, 1), head)
    }
}

unsafe extern "C" fn readmsg(ep: Ep, message: *const RmaMsgOf, flags: u64) -> isize {
    unsafe { described(ep, Access::Read, &*message, flags) }
}

/// Carries out what a message describes.
unsafe fn described(ep: Ep, access: Access, message: &RmaMsgOf, flags: u64) -> isize {
    let head = CallHead {
        to: message.address,
        flags,
        context: message.context,
    };
    let (local, remote) = (
        (message.iov, message.count),
        (message.rma, message.rma_count),
    );
    unsafe { transfer(ep, access, local, remote, head) }
}

unsafe extern "C" fn write(
    ep: Ep,
    buffer: Bytes,
    length: usize,
    desc: Pointer,
    to: u64,
    address: u64,
    key: u64,
    context: Pointer,
) -> isize {
    unsafe { writev(ep, &one(buffer, length), desc, 1, to, address, key, context) }
}

unsafe extern "C" fn writev(
    ep: Ep,
    vector: *const IoVec,
    _: Pointer,
    count: usize,
    to: u64,
    address: u64,
    key: u64,
    context: Pointer,
) -> isize {
    unsafe {
        let head = with_usual(ep, to, context);
        transfer_whole(ep, Access::Write, (vector, count), (address, key), head)
    }
}

unsafe extern "C" fn writemsg(ep: Ep, message: *const RmaMsgOf, flags: u64) -> isize {
    unsafe { described(ep, Access::Write, &*message, flags) }
}

unsafe extern "C" fn inject(
    ep: Ep,
    buffer: Bytes,
    length: usize,
    to: u64,
    address: u64,
    key: u64,
) -> isize {
    unsafe {
        let (vector, flags, context) = (one(buffer, length), INJECT, ptr::null_mut());
        let head = CallHead { to, flags, context };
        transfer_whole(
            ep,
            Access::Write,
            (&raw const vector, 1),
            (address, key),
            head,
        )
    }
}
