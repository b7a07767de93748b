//! Capabilities and attributes that the provider offers.

use std::env;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use lanigon_requests::SOCKET_VARIABLE;

use crate::ffi::error::NODATA;
use crate::ffi::{
    ADDR_PSMX, ATOMIC, DIRECTED_RECV, DomainAttr, EP_RDM, EP_UNSPEC, EpAttr, FORMAT_UNSPEC,
    FabricAttr, Info, LOCAL_COMM, MSG, MULTI_RECV, ORDER, PROGRESS_MANUAL, READ, RECV, REMOTE_COMM,
    REMOTE_READ, REMOTE_WRITE, RM_ENABLED, RMA, RxAttr, SEND, SHARED_CONTEXT, SOURCE, TAGGED,
    THREAD_SAFE, TxAttr, WRITE, version,
};

/// Primary capabilities, for which a caller must ask.
const PRIMARY: u64 = MSG | TAGGED | SEND | RECV | MULTI_RECV | DIRECTED_RECV | REMOTE | ONE_SIDED;
/// Capabilities of a provider with reads, writes and atomic operations on remote memory.
const REMOTE: u64 = RMA | ATOMIC;
const ONE_SIDED: u64 = READ | WRITE | REMOTE_READ | REMOTE_WRITE;
/// Operations with messages.
const MESSAGES: u64 = MSG | TAGGED;
/// Secondary capabilities, which a caller gets in any case.
const SECONDARY: u64 = SOURCE | LOCAL_COMM | REMOTE_COMM;

/// Longest message.
const LONGEST: usize = lanigon_requests::MOST_BYTES;
/// Longest message whose buffer is free when its call returns.
const INJECT_BYTES: usize = 256;
/// Most buffers of a message.
const BUFFERS: usize = 8;
/// Bytes behind a structure, for fields of newer versions.
const ROOM: usize = 256;

const FABRIC: &CStr = c"lanigon";
const DOMAIN: &CStr = c"lanigon0";

/// Memory for a structure, which libfabric frees.
fn allocate<T>(value: T) -> *mut T {
    // SAFETY: `calloc` gives room for the value, aligned for any type, or null.
    unsafe {
        let place = libc::calloc(1, size_of::<T>() + ROOM).cast::<T>();
        if !place.is_null() {
            place.write(value);
        }
        place
    }
}

fn text(text: &CStr) -> *mut c_char {
    // SAFETY: copies a string of C.
    unsafe { libc::strdup(text.as_ptr()) }
}

/// Hints of a caller, as far as they matter.
#[derive(Debug, Clone, Copy, Default)]
struct Hints {
    caps: u64,
    format: u32,
    endpoint: c_int,
    contexts: usize,
    threading: c_int,
    address_table: c_int,
    memory: c_int,
    send_flags: u64,
    receive_flags: u64,
    /// The hints name another provider or domain.
    others: bool,
}

impl Hints {
    /// Reads hints.
    ///
    /// # Safety
    /// They are those of a call of `fi_getinfo`.
    unsafe fn read(hints: *const Info) -> Self {
        // SAFETY: each is null or a structure, whose strings are null or end.
        unsafe {
            let Some(info) = hints.as_ref() else {
                return Self::default();
            };
            let (endpoint, domain) = (info.ep_attr.as_ref(), info.domain_attr.as_ref());
            let differs = |name: *const c_char, own: &CStr| {
                !name.is_null()
                    && !CStr::from_ptr(name)
                        .to_bytes()
                        .eq_ignore_ascii_case(own.to_bytes())
            };
            let fabric = info.fabric_attr.as_ref();
            Self {
                caps: info.caps,
                format: info.addr_format,
                endpoint: endpoint.map_or(EP_UNSPEC, |endpoint| endpoint.kind),
                contexts: endpoint.map_or(0, |endpoint| endpoint.tx_ctx_cnt),
                threading: domain.map_or(0, |domain| domain.threading),
                address_table: domain.map_or(0, |domain| domain.av_type),
                memory: domain.map_or(0, |domain| domain.mr_mode),
                send_flags: info.tx_attr.as_ref().map_or(0, |sends| sends.op_flags),
                receive_flags: info
                    .rx_attr
                    .as_ref()
                    .map_or(0, |receives| receives.op_flags),
                others: fabric.is_some_and(|fabric| differs(fabric.prov_name, FABRIC))
                    || domain.is_some_and(|domain| differs(domain.name, DOMAIN)),
            }
        }
    }

    /// Whether the provider has what they ask for. Other layers put themselves on a provider that says yes to anything.
    const fn fit(&self) -> bool {
        let endpoint = matches!(self.endpoint, EP_UNSPEC | EP_RDM);
        let format = matches!(self.format, FORMAT_UNSPEC | ADDR_PSMX);
        let contexts = self.contexts <= 1 || self.contexts == SHARED_CONTEXT;
        !self.others && endpoint && format && contexts && self.caps & !(PRIMARY | SECONDARY) == 0
    }

    /// The capabilities that they ask for, and what belongs to these.
    const fn capabilities(&self) -> u64 {
        let mut asked = self.caps & PRIMARY;
        if asked == 0 {
            asked = PRIMARY;
        }
        if asked & MESSAGES != 0 && asked & (SEND | RECV) == 0 {
            asked |= SEND | RECV;
        }
        if asked & REMOTE != 0 && asked & ONE_SIDED == 0 {
            asked |= ONE_SIDED;
        }
        asked | SECONDARY
    }

    fn info(&self, asked: u32) -> Info {
        let caps = self.capabilities();
        // Old versions name their mode of registration; new ones are free to.
        let memory = if asked < version(1, 5) {
            self.memory & 3
        } else {
            0
        };
        let threading = if self.threading == 0 {
            THREAD_SAFE
        } else {
            self.threading
        };
        Info {
            next: ptr::null_mut(),
            caps,
            mode: 0,
            addr_format: ADDR_PSMX,
            src_addrlen: 8,
            dest_addrlen: 0,
            src_addr: allocate(0_u64).cast::<c_void>(),
            dest_addr: ptr::null_mut(),
            handle: ptr::null_mut(),
            tx_attr: allocate(TxAttr {
                caps: caps
                    & !(RECV | MULTI_RECV | DIRECTED_RECV | SOURCE | REMOTE_READ | REMOTE_WRITE),
                mode: 0,
                op_flags: self.send_flags,
                msg_order: ORDER,
                comp_order: 0,
                inject_size: INJECT_BYTES,
                size: 1024,
                iov_limit: BUFFERS,
                rma_iov_limit: BUFFERS,
                tclass: 0,
            }),
            rx_attr: allocate(RxAttr {
                caps: caps & !(SEND | READ | WRITE),
                mode: 0,
                op_flags: self.receive_flags,
                msg_order: ORDER,
                comp_order: 0,
                total_buffered_recv: 0,
                size: 1024,
                iov_limit: BUFFERS,
            }),
            ep_attr: allocate(endpoint()),
            domain_attr: allocate(domain(threading, self.address_table, memory)),
            fabric_attr: allocate(FabricAttr {
                fabric: ptr::null_mut(),
                name: text(FABRIC),
                prov_name: ptr::null_mut(),
                prov_version: version(0, 1),
                api_version: asked,
            }),
            nic: ptr::null_mut(),
        }
    }
}

fn endpoint() -> EpAttr {
    EpAttr {
        kind: EP_RDM,
        protocol: 0x4C61_6E69,
        protocol_version: 1,
        max_msg_size: LONGEST,
        msg_prefix_size: 0,
        max_order_raw_size: LONGEST,
        max_order_war_size: LONGEST,
        max_order_waw_size: LONGEST,
        mem_tag_format: 0xAAAA_AAAA_AAAA_AAAA,
        tx_ctx_cnt: 1,
        rx_ctx_cnt: 1,
        auth_key_size: 0,
        auth_key: ptr::null_mut(),
    }
}

fn domain(threading: c_int, av_type: c_int, mr_mode: c_int) -> DomainAttr {
    DomainAttr {
        domain: ptr::null_mut(),
        name: text(DOMAIN),
        threading,
        control_progress: PROGRESS_MANUAL,
        data_progress: PROGRESS_MANUAL,
        resource_mgmt: RM_ENABLED,
        av_type,
        mr_mode,
        mr_key_size: 8,
        cq_data_size: 8,
        cq_cnt: 256,
        ep_cnt: 256,
        tx_ctx_cnt: 256,
        rx_ctx_cnt: 256,
        max_ep_tx_ctx: 1,
        max_ep_rx_ctx: 1,
        max_ep_stx_ctx: 0,
        max_ep_srx_ctx: 0,
        cntr_cnt: 256,
        mr_iov_limit: 1,
        caps: LOCAL_COMM | REMOTE_COMM,
        mode: 0,
        auth_key: ptr::null_mut(),
        auth_key_size: 0,
        max_err_data: 0,
        mr_cnt: 1 << 20,
        tclass: 0,
    }
}

/// Says what the provider offers for these hints. Without a world it offers nothing, so that it harms no other program.
///
/// # Safety
/// As `fi_getinfo` says.
pub unsafe extern "C" fn getinfo(
    asked: u32,
    _node: *const c_char,
    _service: *const c_char,
    _flags: u64,
    hints: *const Info,
    info: *mut *mut Info,
) -> c_int {
    // SAFETY: the caller's hints.
    let hints = unsafe { Hints::read(hints) };
    if env::var_os(SOCKET_VARIABLE).is_none() || !hints.fit() {
        return -NODATA;
    }
    // SAFETY: the caller has room for the answer.
    unsafe { info.write(allocate(hints.info(asked))) };
    0
}
