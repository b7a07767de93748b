//! Domains, and what they open: addresses, completion queues, endpoints.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::slice;

use crate::atomic::{self, ATOMIC_OPS};
use crate::counter;
use crate::endpoint::Endpoint;
use crate::fabric::{close, closes};
use crate::ffi::error::{AGAIN, AVAIL, INVAL, NOPROTOOPT, NOSYS, TOOSMALL};
use crate::ffi::*;
use crate::messages::{MESSAGES, TAGGED_MESSAGES};
use crate::process::{self, Process, lock};
use crate::queue::Completion;
use crate::region::MEMORY_OPS;
use crate::remote::RMA_OPS;

/// A receive for many messages ends when fewer bytes are left, if nothing else is asked for.
const LEAST_ROOM: usize = 64;

static DOMAIN: Ops = closes(close::<Domain>);
static ADDRESSES: Ops = closes(close::<Addresses>);
static QUEUE: Ops = closes(close::<CompletionQueue>);

static ENDPOINT: Ops = Ops {
    bind: Some(bind),
    control: Some(control),
    ..closes(close_endpoint)
};

static DOMAIN_OPS: DomainOps = DomainOps {
    size: size_of::<DomainOps>(),
    av_open: open_addresses,
    cq_open: open_queue,
    endpoint: open_endpoint,
    scalable_ep: missing,
    cntr_open: counter::open,
    others: [missing; 3],
    query_atomic: atomic::query,
    query_collective: missing,
    endpoint2: missing,
};

static ADDRESS_OPS: AddressOps = AddressOps {
    size: size_of::<AddressOps>(),
    insert,
    insertsvc: missing,
    insertsym: missing,
    remove,
    lookup,
    straddr: show_address,
};

static QUEUE_OPS: CompletionOps = CompletionOps {
    size: size_of::<CompletionOps>(),
    read,
    readfrom: read_from,
    readerr: read_error,
    sread: missing,
    sreadfrom: missing,
    signal: missing,
    strerror: describe,
};

static ENDPOINT_OPS: EndpointOps = EndpointOps {
    size: size_of::<EndpointOps>(),
    cancel,
    getopt: get_option,
    setopt: set_option,
    others: [missing; 4],
};

static NAME_OPS: NameOps = NameOps {
    size: size_of::<NameOps>(),
    setname: missing,
    getname: own_name,
    others: [missing; 7],
};

/// Gives an object to the caller.
unsafe fn write_object<T>(object: T, out: *mut *mut T) -> c_int {
    // SAFETY: the caller has room for the answer.
    unsafe { out.write(Box::into_raw(Box::new(object))) };
    0
}

/// Opens a domain.
///
/// # Safety
/// As `fi_domain` says.
pub unsafe extern "C" fn open(
    _: *mut Fabric,
    _: *mut Info,
    domain: *mut *mut Domain,
    context: *mut c_void,
) -> c_int {
    let opened = Domain {
        fid: Fid {
            class: CLASS_DOMAIN,
            context,
            ops: &raw const DOMAIN,
        },
        ops: &raw const DOMAIN_OPS,
        mr: &raw const MEMORY_OPS,
    };
    // SAFETY: as above.
    unsafe { write_object(opened, domain) }
}

unsafe extern "C" fn open_addresses(
    _: *mut Domain,
    _: *mut c_void,
    addresses: *mut *mut Addresses,
    context: *mut c_void,
) -> c_int {
    let mut process = lock();
    process.addresses.push(Vec::new());
    let opened = Addresses {
        fid: Fid {
            class: CLASS_AV,
            context,
            ops: &raw const ADDRESSES,
        },
        ops: &raw const ADDRESS_OPS,
        index: process.addresses.len() - 1,
    };
    // SAFETY: as above.
    unsafe { write_object(opened, addresses) }
}

/// Enters addresses; their places are those at which they were entered.
unsafe extern "C" fn insert(
    addresses: *mut Addresses,
    from: *const c_void,
    count: usize,
    places: *mut u64,
    _flags: u64,
    _context: *mut c_void,
) -> c_int {
    let process = &mut *lock();
    // SAFETY: the caller's object.
    let Some(table) = process.addresses.get_mut(unsafe { (*addresses).index }) else {
        return -INVAL;
    };
    for index in 0..count {
        // SAFETY: the caller gives `count` addresses of eight bytes, and room for as many places or none.
        unsafe {
            table.push(from.cast::<u64>().add(index).read_unaligned());
            if !places.is_null() {
                places.add(index).write(table.len() as u64 - 1);
            }
        }
    }
    c_int::try_from(count).unwrap_or(c_int::MAX)
}

/// Removed addresses stay where they are: no call uses them.
unsafe extern "C" fn remove(_: *mut Addresses, _: *mut u64, _: usize, _: u64) -> c_int {
    0
}

unsafe extern "C" fn lookup(
    addresses: *mut Addresses,
    place: u64,
    address: *mut c_void,
    length: *mut usize,
) -> c_int {
    let process = lock();
    // SAFETY: the caller's object.
    let table = process.addresses.get(unsafe { (*addresses).index });
    let found = table.and_then(|table| table.get(usize::try_from(place).ok()?));
    match found {
        // SAFETY: the caller has room for `length` bytes.
        Some(found) => unsafe { put_address(*found, address, length) },
        None => -INVAL,
    }
}

/// Writes an address where a caller has room for it.
unsafe fn put_address(address: u64, to: *mut c_void, length: *mut usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let room = length.replace(8);
        ptr::copy_nonoverlapping(address.to_ne_bytes().as_ptr(), to.cast::<u8>(), room.min(8));
        if room < 8 { -TOOSMALL } else { 0 }
    }
}

unsafe extern "C" fn show_address(
    _: *mut Addresses,
    address: *const c_void,
    buffer: *mut c_char,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: an address of eight bytes, and room for `length` bytes.
    unsafe {
        let address = address.cast::<u64>().read_unaligned();
        let text = format!("{PROVIDER}://{}.{}\0", address >> 8, address & 0xFF);
        let room = length.replace(text.len());
        if room > 0 {
            let fitting = text.len().min(room);
            ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast::<u8>(), fitting);
            buffer.add(fitting - 1).write(0);
        }
    }
    buffer
}

const PROVIDER: &str = lanigon_requests::PROVIDER;

unsafe extern "C" fn open_queue(
    _: *mut Domain,
    attributes: *mut CqAttr,
    queue: *mut *mut CompletionQueue,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller's attributes.
    let Some(attributes) = (unsafe { attributes.as_mut() }) else {
        return -INVAL;
    };
    let bytes = match attributes.format {
        CQ_CONTEXT => 8,
        CQ_MSG => 24,
        CQ_DATA => 40,
        CQ_TAGGED => 48,
        _ => {
            attributes.format = CQ_TAGGED;
            48
        }
    };
    let mut process = lock();
    process.queues.push(crate::queue::EventQueue::default());
    let opened = CompletionQueue {
        fid: Fid {
            class: CLASS_CQ,
            context,
            ops: &raw const QUEUE,
        },
        ops: &raw const QUEUE_OPS,
        index: process.queues.len() - 1,
        bytes,
    };
    // SAFETY: as above.
    unsafe { write_object(opened, queue) }
}

/// Completions of a queue: those that are there, or those that come while the process is held.
fn take_completions(index: usize, most: usize) -> Result<Vec<Completion>, i32> {
    let look = |process: &mut Process| {
        let queue = process.queues.get_mut(index).ok_or(INVAL)?;
        if queue.has_error() {
            return Err(AVAIL);
        }
        let found = queue.take(most);
        if !found.is_empty() {
            process.is_active();
        }
        Ok(found)
    };
    {
        let mut process = lock();
        let found = look(&mut process)?;
        if !found.is_empty() || !process.read_in_vain(index) {
            return Ok(found);
        }
    }
    process::poll();
    look(&mut lock())
}

unsafe extern "C" fn read(queue: *mut CompletionQueue, out: *mut c_void, count: usize) -> isize {
    // SAFETY: as the caller's.
    unsafe { read_from(queue, out, count, ptr::null_mut()) }
}

unsafe extern "C" fn read_from(
    queue: *mut CompletionQueue,
    out: *mut c_void,
    count: usize,
    sources: *mut u64,
) -> isize {
    // SAFETY: the caller's object.
    let (index, bytes) = unsafe { ((*queue).index, (*queue).bytes) };
    let found = match take_completions(index, count) {
        Ok(found) if found.is_empty() => return failed(AGAIN),
        Ok(found) => found,
        Err(error) => return failed(error),
    };
    for (place, completion) in found.iter().enumerate() {
        // SAFETY: the caller has room for `count` entries of the queue's format, and for as many sources or none.
        unsafe {
            let entry = (&raw const completion.entry).cast::<u8>();
            ptr::copy_nonoverlapping(entry, out.cast::<u8>().add(place * bytes), bytes);
            if !sources.is_null() {
                let source = completion.source.and_then(|source| lock().place_of(source));
                sources.add(place).write(source.unwrap_or(ADDR_UNSPEC));
            }
        }
    }
    found.len().cast_signed()
}

unsafe extern "C" fn read_error(
    queue: *mut CompletionQueue,
    out: *mut CqError,
    _flags: u64,
) -> isize {
    let mut process = lock();
    // SAFETY: the caller's object.
    let index = unsafe { (*queue).index };
    let taken = process
        .queues
        .get_mut(index)
        .and_then(crate::queue::EventQueue::take_error);
    let Some(Completion {
        entry,
        error: Some((error, over)),
        ..
    }) = taken
    else {
        return failed(AGAIN);
    };
    // SAFETY: the caller has room for an entry. No further data belong to the error.
    unsafe {
        let out = &mut *out;
        out.entry = entry;
        out.over = over;
        (out.error, out.provider_error) = (error, error);
        out.data_bytes = 0;
    }
    1
}

unsafe extern "C" fn describe(
    _: *mut CompletionQueue,
    error: c_int,
    _: *const c_void,
    buffer: *mut c_char,
    length: usize,
) -> *const c_char {
    // SAFETY: the system's text, and the caller's room for `length` bytes.
    unsafe {
        let text = libc::strerror(error);
        if !buffer.is_null() && length > 0 {
            let bytes = CStr::from_ptr(text).to_bytes();
            let fitting = bytes.len().min(length - 1);
            ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.cast::<u8>(), fitting);
            buffer.add(fitting).write(0);
        }
        text
    }
}

unsafe extern "C" fn open_endpoint(
    _: *mut Domain,
    info: *mut Info,
    endpoint: *mut *mut EndpointFid,
    context: *mut c_void,
) -> c_int {
    if let Err(error) = process::connect() {
        return -error;
    }
    // SAFETY: the caller's description, whose parts are null or structures.
    let (send_flags, receive_flags) = unsafe {
        let (sends, receives) = ((*info).tx_attr.as_ref(), (*info).rx_attr.as_ref());
        let send_flags = sends.map_or(0, |sends| sends.op_flags);
        (send_flags, receives.map_or(0, |receives| receives.op_flags))
    };
    let mut process = lock();
    let index = process.endpoints.len();
    // Addresses have a byte for it.
    if index > 255 {
        return -INVAL;
    }
    let mut made = Endpoint::default();
    (made.send_flags, made.receive_flags) = (send_flags, receive_flags);
    made.least_room = LEAST_ROOM;
    process.endpoints.push(Some(made));
    let opened = EndpointFid {
        fid: Fid {
            class: CLASS_EP,
            context,
            ops: &raw const ENDPOINT,
        },
        ops: &raw const ENDPOINT_OPS,
        cm: &raw const NAME_OPS,
        msg: &raw const MESSAGES,
        rma: &raw const RMA_OPS,
        tagged: &raw const TAGGED_MESSAGES,
        atomic: &raw const ATOMIC_OPS,
        collective: ptr::null(),
        index,
    };
    // SAFETY: as above.
    unsafe { write_object(opened, endpoint) }
}

unsafe extern "C" fn close_endpoint(fid: *mut Fid) -> c_int {
    // SAFETY: the caller's endpoint, which it does not use again.
    unsafe {
        lock().close((*fid.cast::<EndpointFid>()).index);
        close::<EndpointFid>(fid)
    }
}

unsafe extern "C" fn bind(fid: *mut Fid, other: *mut Fid, flags: u64) -> c_int {
    let process = &mut *lock();
    // SAFETY: the caller's objects, whose class says what they are.
    unsafe {
        let index = (*fid.cast::<EndpointFid>()).index;
        let Some(Some(endpoint)) = process.endpoints.get_mut(index) else {
            return -INVAL;
        };
        match (*other).class {
            CLASS_AV => endpoint.addresses = Some((*other.cast::<Addresses>()).index),
            CLASS_EQ => {}
            // Neither messages nor what others do are counted.
            CLASS_CNTR if flags & !(READ | WRITE) == 0 => {
                let counter = (*other.cast::<Counter>()).index;
                for (place, kind) in [READ, WRITE].into_iter().enumerate() {
                    if flags & kind != 0 {
                        endpoint.counters[place] = Some(counter);
                    }
                }
            }
            CLASS_CQ => {
                let queue = (*other.cast::<CompletionQueue>()).index;
                let selective = flags & SELECTIVE_COMPLETION != 0;
                if flags & SEND != 0 {
                    (endpoint.sends, endpoint.sends_selective) = (Some(queue), selective);
                }
                if flags & RECV != 0 {
                    (endpoint.receives, endpoint.receives_selective) = (Some(queue), selective);
                }
            }
            _ => return -NOSYS,
        }
    }
    0
}

unsafe extern "C" fn control(_: *mut Fid, command: c_int, _: *mut c_void) -> c_int {
    match command {
        CONTROL_ENABLE => 0,
        _ => -NOSYS,
    }
}

unsafe extern "C" fn cancel(endpoint: *mut EndpointFid, context: *mut c_void) -> isize {
    let process = &mut *lock();
    // SAFETY: the caller's object.
    let index = unsafe { (*endpoint).index };
    let Some(Some(endpoint)) = process.endpoints.get_mut(index) else {
        return failed(INVAL);
    };
    let queue = endpoint.receives;
    match endpoint.cancel(context as usize) {
        Ok(completion) => {
            process.is_active();
            process.complete(queue, vec![completion]);
            0
        }
        Err(error) => failed(error),
    }
}

unsafe extern "C" fn get_option(
    endpoint: *mut EndpointFid,
    _level: c_int,
    option: c_int,
    value: *mut c_void,
    length: *mut usize,
) -> c_int {
    let process = lock();
    // SAFETY: the caller's object, and its room for a value.
    unsafe {
        let endpoint = process.endpoints.get((*endpoint).index);
        let found = match (option, endpoint) {
            (OPT_MIN_MULTI_RECV, Some(Some(endpoint))) => endpoint.least_room,
            (OPT_CM_DATA_SIZE, _) => 0,
            _ => return -NOPROTOOPT,
        };
        if *length < size_of::<usize>() {
            return -TOOSMALL;
        }
        value.cast::<usize>().write_unaligned(found);
        length.write(size_of::<usize>());
    }
    0
}

unsafe extern "C" fn set_option(
    endpoint: *mut EndpointFid,
    _level: c_int,
    option: c_int,
    value: *const c_void,
    length: usize,
) -> c_int {
    let process = &mut *lock();
    // SAFETY: the caller's object, and its value of this length.
    unsafe {
        let endpoint = process.endpoints.get_mut((*endpoint).index);
        match (option, endpoint) {
            (OPT_MIN_MULTI_RECV, Some(Some(endpoint))) if length == size_of::<usize>() => {
                let bytes = slice::from_raw_parts(value.cast::<u8>(), length);
                endpoint.least_room = bytes.try_into().map_or(LEAST_ROOM, usize::from_ne_bytes);
                0
            }
            _ => -NOPROTOOPT,
        }
    }
}

unsafe extern "C" fn own_name(
    endpoint: *mut EndpointFid,
    address: *mut c_void,
    length: *mut usize,
) -> c_int {
    let process = lock();
    // SAFETY: the caller's object, and its room for `length` bytes.
    unsafe { put_address(process.own_address((*endpoint).index), address, length) }
}
