//! libfabric's structures and numbers, as far as they are used here (`rdma/fabric.h` and others, version 1.17).
//!
//! Newer versions append fields: what this library allocates for others has room for them.

use std::ffi::{c_char, c_int, c_void};

mod one_sided;

pub use one_sided::*;

pub const fn version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}

/// Capabilities and flags of operations (`FI_MSG`, ...).
pub const MSG: u64 = 1 << 1;
pub const RMA: u64 = 1 << 2;
pub const TAGGED: u64 = 1 << 3;
pub const ATOMIC: u64 = 1 << 4;
pub const READ: u64 = 1 << 8;
pub const WRITE: u64 = 1 << 9;
pub const RECV: u64 = 1 << 10;
pub const SEND: u64 = 1 << 11;
pub const REMOTE_READ: u64 = 1 << 12;
pub const REMOTE_WRITE: u64 = 1 << 13;
pub const MULTI_RECV: u64 = 1 << 16;
pub const REMOTE_CQ_DATA: u64 = 1 << 17;
pub const PEEK: u64 = 1 << 19;
pub const COMPLETION: u64 = 1 << 24;
pub const INJECT: u64 = 1 << 25;
pub const DELIVERY_COMPLETE: u64 = 1 << 28;
pub const MATCH_COMPLETE: u64 = 1 << 31;
pub const LOCAL_COMM: u64 = 1 << 51;
pub const REMOTE_COMM: u64 = 1 << 52;
pub const SOURCE: u64 = 1 << 57;
pub const DISCARD: u64 = 1 << 58;
pub const FETCH_ATOMIC: u64 = 1 << 58;
pub const COMPARE_ATOMIC: u64 = 1 << 59;
pub const DIRECTED_RECV: u64 = 1 << 59;
pub const CLAIM: u64 = 1 << 59;
pub const SELECTIVE_COMPLETION: u64 = 1 << 59;
/// All operations to a process happen in their order: reads, writes and sends; those of atomic operations and of others apart too.
pub const ORDER: u64 = 0x1FF | 0xFF << 32;

/// Formats of addresses, and values for "none given".
pub const FORMAT_UNSPEC: u32 = 0;
/// Addresses of eight bytes.
pub const ADDR_PSMX: u32 = 5;
pub const ADDR_UNSPEC: u64 = u64::MAX;
pub const SHARED_CONTEXT: usize = usize::MAX;

/// Types of endpoints, of threading, of progress and of resource management.
pub const EP_UNSPEC: c_int = 0;
pub const EP_RDM: c_int = 3;
pub const THREAD_SAFE: c_int = 1;
pub const PROGRESS_MANUAL: c_int = 2;
pub const RM_ENABLED: c_int = 2;

/// Classes of objects (`FI_CLASS_...`).
pub const CLASS_FABRIC: usize = 1;
pub const CLASS_DOMAIN: usize = 2;
pub const CLASS_EP: usize = 3;
pub const CLASS_AV: usize = 11;
pub const CLASS_MR: usize = 12;
pub const CLASS_EQ: usize = 13;
pub const CLASS_CQ: usize = 14;
pub const CLASS_CNTR: usize = 15;

/// Commands of `control` and options of endpoints.
pub const CONTROL_ENABLE: c_int = 6;
pub const OPT_MIN_MULTI_RECV: c_int = 0;
pub const OPT_CM_DATA_SIZE: c_int = 1;

/// Formats of entries of completion queues.
pub const CQ_CONTEXT: c_int = 1;
pub const CQ_MSG: c_int = 2;
pub const CQ_DATA: c_int = 3;
pub const CQ_TAGGED: c_int = 4;

/// Numbers of errors. Calls return them negated.
pub mod error {
    pub const IO: i32 = 5;
    pub const NOENT: i32 = 2;
    pub const AGAIN: i32 = 11;
    pub const INVAL: i32 = 22;
    pub const NOSYS: i32 = 38;
    pub const NOMSG: i32 = 42;
    pub const NODATA: i32 = 61;
    pub const MSGSIZE: i32 = 90;
    pub const NOPROTOOPT: i32 = 92;
    pub const OPNOTSUPP: i32 = 95;
    pub const TIMEDOUT: i32 = 110;
    pub const CONNREFUSED: i32 = 111;
    pub const CANCELED: i32 = 125;
    pub const TOOSMALL: i32 = 257;
    pub const AVAIL: i32 = 259;
    pub const TRUNC: i32 = 265;
    pub const NOKEY: i32 = 266;
}

/// The error as a call returns it.
pub const fn failed(error: i32) -> isize {
    -(error as isize)
}

#[repr(C)]
pub struct Provider {
    pub version: u32,
    pub fi_version: u32,
    pub context: [usize; 4],
    pub name: *const c_char,
    pub getinfo: unsafe extern "C" fn(
        u32,
        *const c_char,
        *const c_char,
        u64,
        *const Info,
        *mut *mut Info,
    ) -> c_int,
    pub fabric: unsafe extern "C" fn(*const FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int,
    pub cleanup: Option<extern "C" fn()>,
}

#[repr(C)]
pub struct Fid {
    pub class: usize,
    pub context: *mut c_void,
    pub ops: *const Ops,
}

/// A call that is not offered, whatever its arguments are: C's calling convention lets a function ignore them.
pub type Missing = extern "C" fn() -> isize;

/// Answers all of them.
pub extern "C" fn missing() -> isize {
    failed(error::NOSYS)
}

/// A command that is not offered.
pub unsafe extern "C" fn missing_control(_: *mut Fid, _: c_int, _: *mut c_void) -> c_int {
    -error::NOSYS
}

#[repr(C)]
pub struct Ops {
    pub size: usize,
    pub close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub bind: Option<unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int>,
    pub control: Option<unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int>,
    pub ops_open: Option<Missing>,
    pub tostr: Option<Missing>,
    pub ops_set: Option<Missing>,
}

#[repr(C)]
pub struct Fabric {
    pub fid: Fid,
    pub ops: *const FabricOps,
    pub api_version: u32,
}

#[repr(C)]
pub struct FabricOps {
    pub size: usize,
    pub domain:
        unsafe extern "C" fn(*mut Fabric, *mut Info, *mut *mut Domain, *mut c_void) -> c_int,
    pub passive_ep: Missing,
    pub eq_open:
        unsafe extern "C" fn(*mut Fabric, *mut c_void, *mut *mut EventQueue, *mut c_void) -> c_int,
    pub wait_open: Missing,
    pub trywait: Missing,
}

#[repr(C)]
pub struct EventQueue {
    pub fid: Fid,
    pub ops: *const EventQueueOps,
}

#[repr(C)]
pub struct EventQueueOps {
    pub size: usize,
    pub read: extern "C" fn() -> isize,
    pub readerr: extern "C" fn() -> isize,
    pub write: Missing,
    pub sread: extern "C" fn() -> isize,
    pub strerror: Missing,
}

#[repr(C)]
pub struct Domain {
    pub fid: Fid,
    pub ops: *const DomainOps,
    pub mr: *const MemoryOps,
}

#[repr(C)]
pub struct DomainOps {
    pub size: usize,
    pub av_open:
        unsafe extern "C" fn(*mut Domain, *mut c_void, *mut *mut Addresses, *mut c_void) -> c_int,
    pub cq_open: unsafe extern "C" fn(
        *mut Domain,
        *mut CqAttr,
        *mut *mut CompletionQueue,
        *mut c_void,
    ) -> c_int,
    pub endpoint:
        unsafe extern "C" fn(*mut Domain, *mut Info, *mut *mut EndpointFid, *mut c_void) -> c_int,
    pub scalable_ep: Missing,
    pub cntr_open:
        unsafe extern "C" fn(*mut Domain, *mut c_void, *mut *mut Counter, *mut c_void) -> c_int,
    pub others: [Missing; 3],
    pub query_atomic:
        unsafe extern "C" fn(*mut Domain, c_int, c_int, *mut AtomicAttr, u64) -> c_int,
    pub query_collective: Missing,
    pub endpoint2: Missing,
}

#[repr(C)]
pub struct Addresses {
    pub fid: Fid,
    pub ops: *const AddressOps,
    pub index: usize,
}

#[repr(C)]
pub struct AddressOps {
    pub size: usize,
    pub insert: unsafe extern "C" fn(
        *mut Addresses,
        *const c_void,
        usize,
        *mut u64,
        u64,
        *mut c_void,
    ) -> c_int,
    pub insertsvc: Missing,
    pub insertsym: Missing,
    pub remove: unsafe extern "C" fn(*mut Addresses, *mut u64, usize, u64) -> c_int,
    pub lookup: unsafe extern "C" fn(*mut Addresses, u64, *mut c_void, *mut usize) -> c_int,
    pub straddr: unsafe extern "C" fn(
        *mut Addresses,
        *const c_void,
        *mut c_char,
        *mut usize,
    ) -> *const c_char,
}

#[repr(C)]
pub struct Counter {
    pub fid: Fid,
    pub ops: *const CounterOps,
    pub index: usize,
}

#[repr(C)]
pub struct CounterOps {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut Counter) -> u64,
    pub readerr: unsafe extern "C" fn(*mut Counter) -> u64,
    pub add: unsafe extern "C" fn(*mut Counter, u64) -> c_int,
    pub set: unsafe extern "C" fn(*mut Counter, u64) -> c_int,
    pub wait: unsafe extern "C" fn(*mut Counter, u64, c_int) -> c_int,
    pub adderr: unsafe extern "C" fn(*mut Counter, u64) -> c_int,
    pub seterr: unsafe extern "C" fn(*mut Counter, u64) -> c_int,
}

#[repr(C)]
pub struct CqAttr {
    pub size: usize,
    pub flags: u64,
    pub format: c_int,
    pub wait_obj: c_int,
}

#[repr(C)]
pub struct CompletionQueue {
    pub fid: Fid,
    pub ops: *const CompletionOps,
    pub index: usize,
    /// Bytes of an entry in the format of the queue.
    pub bytes: usize,
}

#[repr(C)]
pub struct CompletionOps {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut CompletionQueue, *mut c_void, usize) -> isize,
    pub readfrom: unsafe extern "C" fn(*mut CompletionQueue, *mut c_void, usize, *mut u64) -> isize,
    pub readerr: unsafe extern "C" fn(*mut CompletionQueue, *mut CqError, u64) -> isize,
    pub sread: Missing,
    pub sreadfrom: Missing,
    pub signal: Missing,
    pub strerror: unsafe extern "C" fn(
        *mut CompletionQueue,
        c_int,
        *const c_void,
        *mut c_char,
        usize,
    ) -> *const c_char,
}

/// An entry of a completion queue. Shorter formats are its beginning.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CqEntry {
    pub context: usize,
    pub flags: u64,
    pub length: usize,
    pub buffer: usize,
    pub data: u64,
    pub tag: u64,
}

/// An entry for an error; the fields behind these are left as they are.
#[repr(C)]
pub struct CqError {
    pub entry: CqEntry,
    pub over: usize,
    pub error: c_int,
    pub provider_error: c_int,
    pub data: *mut c_void,
    pub data_bytes: usize,
}

#[repr(C)]
pub struct EndpointFid {
    pub fid: Fid,
    pub ops: *const EndpointOps,
    pub cm: *const NameOps,
    pub msg: *const MessageOps,
    pub rma: *const RmaOps,
    pub tagged: *const TaggedOps,
    pub atomic: *const AtomicOps,
    pub collective: *const c_void,
    pub index: usize,
}

#[repr(C)]
pub struct EndpointOps {
    pub size: usize,
    pub cancel: unsafe extern "C" fn(*mut EndpointFid, *mut c_void) -> isize,
    pub getopt:
        unsafe extern "C" fn(*mut EndpointFid, c_int, c_int, *mut c_void, *mut usize) -> c_int,
    pub setopt: unsafe extern "C" fn(*mut EndpointFid, c_int, c_int, *const c_void, usize) -> c_int,
    pub others: [Missing; 4],
}

#[repr(C)]
pub struct NameOps {
    pub size: usize,
    pub setname: Missing,
    pub getname: unsafe extern "C" fn(*mut EndpointFid, *mut c_void, *mut usize) -> c_int,
    pub others: [Missing; 7],
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct IoVec {
    pub base: *const c_void,
    pub length: usize,
}

#[repr(C)]
pub struct MsgOf {
    pub iov: *const IoVec,
    pub desc: *mut *mut c_void,
    pub count: usize,
    pub address: u64,
    pub context: *mut c_void,
    pub data: u64,
}

#[repr(C)]
pub struct TaggedOf {
    pub iov: *const IoVec,
    pub desc: *mut *mut c_void,
    pub count: usize,
    pub address: u64,
    pub tag: u64,
    pub ignore: u64,
    pub context: *mut c_void,
    pub data: u64,
}

type Ep = *mut EndpointFid;
type Desc = *mut c_void;
type Context = *mut c_void;
type Bytes = *const c_void;

#[repr(C)]
pub struct MessageOps {
    pub size: usize,
    pub recv: unsafe extern "C" fn(Ep, Bytes, usize, Desc, u64, Context) -> isize,
    pub recvv: unsafe extern "C" fn(Ep, *const IoVec, Desc, usize, u64, Context) -> isize,
    pub recvmsg: unsafe extern "C" fn(Ep, *const MsgOf, u64) -> isize,
    pub send: unsafe extern "C" fn(Ep, Bytes, usize, Desc, u64, Context) -> isize,
    pub sendv: unsafe extern "C" fn(Ep, *const IoVec, Desc, usize, u64, Context) -> isize,
    pub sendmsg: unsafe extern "C" fn(Ep, *const MsgOf, u64) -> isize,
    pub inject: unsafe extern "C" fn(Ep, Bytes, usize, u64) -> isize,
    pub senddata: unsafe extern "C" fn(Ep, Bytes, usize, Desc, u64, u64, Context) -> isize,
    pub injectdata: unsafe extern "C" fn(Ep, Bytes, usize, u64, u64) -> isize,
}

#[repr(C)]
pub struct TaggedOps {
    pub size: usize,
    pub recv: unsafe extern "C" fn(Ep, Bytes, usize, Desc, u64, u64, u64, Context) -> isize,
    pub recvv: unsafe extern "C" fn(Ep, *const IoVec, Desc, usize, u64, u64, u64, Context) -> isize,
    pub recvmsg: unsafe extern "C" fn(Ep, *const TaggedOf, u64) -> isize,
    pub send: unsafe extern "C" fn(Ep, Bytes, usize, Desc, u64, u64, Context) -> isize,
    pub sendv: unsafe extern "C" fn(Ep, *const IoVec, Desc, usize, u64, u64, Context) -> isize,
    pub sendmsg: unsafe extern "C" fn(Ep, *const TaggedOf, u64) -> isize,
    pub inject: unsafe extern "C" fn(Ep, Bytes, usize, u64, u64) -> isize,
    pub senddata: unsafe extern "C" fn(Ep, Bytes, usize, Desc, u64, u64, u64, Context) -> isize,
    pub injectdata: unsafe extern "C" fn(Ep, Bytes, usize, u64, u64, u64) -> isize,
}

#[repr(C)]
pub struct TxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub inject_size: usize,
    pub size: usize,
    pub iov_limit: usize,
    pub rma_iov_limit: usize,
    pub tclass: u32,
}

#[repr(C)]
pub struct RxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub total_buffered_recv: usize,
    pub size: usize,
    pub iov_limit: usize,
}

#[repr(C)]
pub struct EpAttr {
    pub kind: c_int,
    pub protocol: u32,
    pub protocol_version: u32,
    pub max_msg_size: usize,
    pub msg_prefix_size: usize,
    pub max_order_raw_size: usize,
    pub max_order_war_size: usize,
    pub max_order_waw_size: usize,
    pub mem_tag_format: u64,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub auth_key_size: usize,
    pub auth_key: *mut u8,
}

#[repr(C)]
pub struct DomainAttr {
    pub domain: *mut c_void,
    pub name: *mut c_char,
    pub threading: c_int,
    pub control_progress: c_int,
    pub data_progress: c_int,
    pub resource_mgmt: c_int,
    pub av_type: c_int,
    pub mr_mode: c_int,
    pub mr_key_size: usize,
    pub cq_data_size: usize,
    pub cq_cnt: usize,
    pub ep_cnt: usize,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub max_ep_tx_ctx: usize,
    pub max_ep_rx_ctx: usize,
    pub max_ep_stx_ctx: usize,
    pub max_ep_srx_ctx: usize,
    pub cntr_cnt: usize,
    pub mr_iov_limit: usize,
    pub caps: u64,
    pub mode: u64,
    pub auth_key: *mut u8,
    pub auth_key_size: usize,
    pub max_err_data: usize,
    pub mr_cnt: usize,
    pub tclass: u32,
}

#[repr(C)]
pub struct FabricAttr {
    pub fabric: *mut c_void,
    pub name: *mut c_char,
    pub prov_name: *mut c_char,
    pub prov_version: u32,
    pub api_version: u32,
}

#[repr(C)]
pub struct Info {
    pub next: *mut Self,
    pub caps: u64,
    pub mode: u64,
    pub addr_format: u32,
    pub src_addrlen: usize,
    pub dest_addrlen: usize,
    pub src_addr: *mut c_void,
    pub dest_addr: *mut c_void,
    pub handle: *mut Fid,
    pub tx_attr: *mut TxAttr,
    pub rx_attr: *mut RxAttr,
    pub ep_attr: *mut EpAttr,
    pub domain_attr: *mut DomainAttr,
    pub fabric_attr: *mut FabricAttr,
    pub nic: *mut c_void,
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    /// Sizes and places of a C compiler for x86-64, of the headers of version 1.17.
    #[test]
    fn structures_are_those_of_the_headers() {
        assert_eq!(size_of::<Fid>(), 24);
        assert_eq!(size_of::<TxAttr>(), 80);
        assert_eq!(size_of::<RxAttr>(), 64);
        assert_eq!(size_of::<EpAttr>(), 96);
        assert_eq!(size_of::<DomainAttr>(), 192);
        assert_eq!(size_of::<FabricAttr>(), 32);
        assert_eq!(size_of::<Info>(), 120);
        assert_eq!(offset_of!(EndpointFid, index), 80);
        assert_eq!(size_of::<CqEntry>(), 48);
        assert_eq!(size_of::<CqError>(), 80);
        assert_eq!(size_of::<TaggedOf>(), 64);
        assert_eq!(size_of::<TaggedOps>(), 80);
        assert_eq!(size_of::<MessageOps>(), 80);
        assert_eq!(size_of::<DomainOps>(), 96);
        assert_eq!(size_of::<NameOps>(), 80);
        assert_eq!(size_of::<RmaOps>(), 80);
        assert_eq!(size_of::<AtomicOps>(), 112);
        assert_eq!(size_of::<RmaMsgOf>(), 64);
        assert_eq!(size_of::<AtomicMsgOf>(), 72);
        assert_eq!(size_of::<MemoryRegion>(), 40);
    }
}
