//! Fabrics and event queues: there is one fabric, and it has no events.

use std::ffi::{c_int, c_void};

use crate::domain;
use crate::ffi::error::AGAIN;
use crate::ffi::{
    CLASS_EQ, CLASS_FABRIC, EventQueue, EventQueueOps, Fabric, FabricAttr, FabricOps, Fid, Ops,
    failed, missing,
};

/// Closes an object of this type.
///
/// # Safety
/// `fid` is the beginning of a `T` that [`Box`] has allocated.
pub unsafe extern "C" fn close<T>(fid: *mut Fid) -> c_int {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(fid.cast::<T>()) });
    0
}

/// Calls of an object that can be closed only.
pub const fn closes(close: unsafe extern "C" fn(*mut Fid) -> c_int) -> Ops {
    Ops {
        size: size_of::<Ops>(),
        close,
        bind: None,
        control: None,
        ops_open: None,
        tostr: None,
        ops_set: None,
    }
}

static FABRIC: Ops = closes(close::<Fabric>);
static QUEUE: Ops = closes(close::<EventQueue>);

static FABRIC_OPS: FabricOps = FabricOps {
    size: size_of::<FabricOps>(),
    domain: domain::open,
    passive_ep: missing,
    eq_open: open_queue,
    wait_open: missing,
    trywait: missing,
};

static QUEUE_OPS: EventQueueOps = EventQueueOps {
    size: size_of::<EventQueueOps>(),
    read: nothing,
    readerr: nothing,
    write: missing,
    sread: nothing,
    strerror: missing,
};

extern "C" fn nothing() -> isize {
    failed(AGAIN)
}

/// Opens the fabric.
///
/// # Safety
/// As `fi_fabric` says.
pub unsafe extern "C" fn open(
    attributes: *const FabricAttr,
    fabric: *mut *mut Fabric,
    context: *mut c_void,
) -> c_int {
    let opened = Fabric {
        fid: Fid {
            class: CLASS_FABRIC,
            context,
            ops: &raw const FABRIC,
        },
        ops: &raw const FABRIC_OPS,
        // SAFETY: libfabric gives attributes.
        api_version: unsafe { (*attributes).api_version },
    };
    // SAFETY: the caller has room for the answer.
    unsafe { fabric.write(Box::into_raw(Box::new(opened))) };
    0
}

unsafe extern "C" fn open_queue(
    _: *mut Fabric,
    _: *mut c_void,
    queue: *mut *mut EventQueue,
    context: *mut c_void,
) -> c_int {
    let opened = EventQueue {
        fid: Fid {
            class: CLASS_EQ,
            context,
            ops: &raw const QUEUE,
        },
        ops: &raw const QUEUE_OPS,
    };
    // SAFETY: the caller has room for the answer.
    unsafe { queue.write(Box::into_raw(Box::new(opened))) };
    0
}
