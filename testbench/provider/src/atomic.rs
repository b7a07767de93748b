//! Atomic operations on other processes' memory.

use std::ffi::{c_int, c_void};
use std::ptr;

use lanigon_requests::{Access, Atomic, Function, Number, Operation, Segment};

use crate::ffi::error::{INVAL, OPNOTSUPP};
use crate::ffi::{
    ATOMIC, AtomicAttr, AtomicMsgOf, AtomicOps, COMPARE_ATOMIC, Domain, EndpointFid, FETCH_ATOMIC,
    INJECT, IoVec, READ, RemoteIoVec, WRITE, failed,
};
use crate::memory::{BufferList, buffers, gather};
use crate::messages::{number as answer, one};
use crate::remote::{CallHead, with_usual};

type Ep = *mut EndpointFid;
type Bytes = *const c_void;
type Pointer = *mut c_void;

pub static ATOMIC_OPS: AtomicOps = AtomicOps {
    size: size_of::<AtomicOps>(),
    write: atomic_write,
    writev: atomic_writev,
    writemsg: atomic_writemsg,
    inject: atomic_inject,
    readwrite: atomic_fetch,
    readwritev: atomic_fetchv,
    readwritemsg: atomic_fetchmsg,
    compwrite: atomic_compare,
    compwritev: atomic_comparev,
    compwritemsg: atomic_comparemsg,
    writevalid,
    readwritevalid,
    compwritevalid,
};

/// Longest atomic operation, in bytes.
const ATOMIC_BYTES: usize = 16384;

/// The atomic operation of these numbers of libfabric's, if there is one with as many operands.
fn atomic(number: c_int, function: c_int, compares: bool) -> Option<Atomic> {
    let number = *Number::ALL.get(usize::try_from(number).ok()?)?;
    let function = *Function::ALL.get(usize::try_from(function).ok()?)?;
    let atomic = Atomic { function, number };
    ((atomic.operands() == 2) == compares && atomic.is_valid()).then_some(atomic)
}

/// Numbers of the process: operands, values to compare with, and room for results. A vector counts numbers, not bytes.
#[derive(Clone, Copy)]
struct Numbers {
    operands: (*const IoVec, usize),
    compared: Option<(*const IoVec, usize)>,
    results: Option<(*const IoVec, usize)>,
}

/// Buffers of numbers of so many bytes each.
unsafe fn of_numbers((vector, count): (*const IoVec, usize), bytes: usize) -> BufferList {
    // SAFETY: the caller's vector.
    let mut buffers = unsafe { buffers(vector, count) };
    buffers.iter_mut().for_each(|(_, length)| *length *= bytes);
    buffers
}

/// Computes with numbers of another process.
unsafe fn compute(
    ep: Ep,
    (number_type, function): (c_int, c_int),
    numbers: Numbers,
    remote: (*const RemoteIoVec, usize),
    head: CallHead,
) -> isize {
    let Some(atomic) = atomic(number_type, function, numbers.compared.is_some()) else {
        return failed(OPNOTSUPP);
    };
    let bytes = atomic.bytes();
    // SAFETY: the caller's promise.
    let (mut operands, results, remote) = unsafe {
        let mut operands = Vec::new();
        if atomic.operands() > 0 {
            operands = gather(&of_numbers(numbers.operands, bytes));
        }
        let results = numbers.results.map(|vector| of_numbers(vector, bytes));
        (
            operands,
            results,
            std::slice::from_raw_parts(remote.0, remote.1),
        )
    };
    let mut segments: Vec<Segment> = remote.iter().map(RemoteIoVec::segment).collect();
    segments
        .iter_mut()
        .for_each(|one| one.bytes *= bytes as u64);
    if let Some(compared) = numbers.compared {
        // SAFETY: the caller's promise.
        operands.extend(unsafe { gather(&of_numbers(compared, bytes)) });
    }
    let fetch = results.is_some();
    let results = results.unwrap_or_default();
    let operation = Operation {
        access: Access::Compute { atomic, fetch },
        segments,
        operands,
    };
    let length = operation.length();
    let room: usize = results.iter().map(|(_, bytes)| bytes).sum();
    if operation.operands.len() != atomic.operands() * length || fetch && room != length {
        return failed(INVAL);
    }
    let kind = ATOMIC | if fetch { READ } else { WRITE };
    answer(head.begin(ep, kind, &operation, results))
}

/// Numbers of another process in a row.
const fn row(address: u64, length: usize, key: u64) -> RemoteIoVec {
    RemoteIoVec {
        address,
        length,
        key,
    }
}

unsafe extern "C" fn atomic_write(
    ep: Ep,
    buffer: Bytes,
    count: usize,
    desc: Pointer,
    to: u64,
    address: u64,
    key: u64,
    number: c_int,
    function: c_int,
    context: Pointer,
) -> isize {
    let vector = one(buffer, count);
    unsafe {
        atomic_writev(
            ep,
            &raw const vector,
            desc,
            1,
            to,
            address,
            key,
            number,
            function,
            context,
        )
    }
}

/// Number of numbers in a vector.
unsafe fn count_of(vector: *const IoVec, count: usize) -> usize {
    let vector = unsafe { buffers(vector, count) };
    vector.iter().map(|(_, count)| count).sum()
}

unsafe extern "C" fn atomic_writev(
    ep: Ep,
    vector: *const IoVec,
    _: Pointer,
    count: usize,
    to: u64,
    address: u64,
    key: u64,
    number: c_int,
    function: c_int,
    context: Pointer,
) -> isize {
    unsafe {
        let place = row(address, count_of(vector, count), key);
        let numbers = Numbers {
            operands: (vector, count),
            compared: None,
            results: None,
        };
        let head = with_usual(ep, to, context);
        compute(ep, (number, function), numbers, (&raw const place, 1), head)
    }
}

/// Computes what a message describes.
unsafe fn described_numbers(
    ep: Ep,
    message: *const AtomicMsgOf,
    compared: Option<(*const IoVec, usize)>,
    results: Option<(*const IoVec, usize)>,
    flags: u64,
) -> isize {
    unsafe {
        let message = &*message;
        let head = CallHead {
            to: message.address,
            flags,
            context: message.context,
        };
        let numbers = Numbers {
            operands: (message.iov, message.count),
            compared,
            results,
        };
        let remote = (message.rma, message.rma_count);
        compute(
            ep,
            (message.number, message.function),
            numbers,
            remote,
            head,
        )
    }
}

unsafe extern "C" fn atomic_writemsg(ep: Ep, message: *const AtomicMsgOf, flags: u64) -> isize {
    unsafe { described_numbers(ep, message, None, None, flags) }
}

unsafe extern "C" fn atomic_inject(
    ep: Ep,
    buffer: Bytes,
    count: usize,
    to: u64,
    address: u64,
    key: u64,
    number: c_int,
    function: c_int,
) -> isize {
    unsafe {
        let (vector, flags, context) = (one(buffer, count), INJECT, ptr::null_mut());
        let place = row(address, count, key);
        let numbers = Numbers {
            operands: (&raw const vector, 1),
            compared: None,
            results: None,
        };
        let head = CallHead { to, flags, context };
        compute(ep, (number, function), numbers, (&raw const place, 1), head)
    }
}

unsafe extern "C" fn atomic_fetch(
    ep: Ep,
    buffer: Bytes,
    count: usize,
    desc: Pointer,
    result: Pointer,
    result_desc: Pointer,
    to: u64,
    address: u64,
    key: u64,
    number: c_int,
    function: c_int,
    context: Pointer,
) -> isize {
    let (vector, results) = (one(buffer, count), one(result, count));
    unsafe {
        atomic_fetchv(
            ep,
            &raw const vector,
            desc,
            1,
            &raw const results,
            result_desc,
            1,
            to,
            address,
            key,
            number,
            function,
            context,
        )
    }
}

unsafe extern "C" fn atomic_fetchv(
    ep: Ep,
    vector: *const IoVec,
    _: Pointer,
    count: usize,
    results: *const IoVec,
    _: Pointer,
    result_count: usize,
    to: u64,
    address: u64,
    key: u64,
    number: c_int,
    function: c_int,
    context: Pointer,
) -> isize {
    unsafe {
        // A read has no operands.
        let place = row(address, count_of(results, result_count), key);
        let numbers = Numbers {
            operands: (vector, count),
            compared: None,
            results: Some((results, result_count)),
        };
        let head = with_usual(ep, to, context);
        compute(ep, (number, function), numbers, (&raw const place, 1), head)
    }
}

unsafe extern "C" fn atomic_fetchmsg(
    ep: Ep,
    message: *const AtomicMsgOf,
    results: *const IoVec,
    _: Pointer,
    result_count: usize,
    flags: u64,
) -> isize {
    unsafe { described_numbers(ep, message, None, Some((results, result_count)), flags) }
}

unsafe extern "C" fn atomic_compare(
    ep: Ep,
    buffer: Bytes,
    count: usize,
    desc: Pointer,
    compare: Bytes,
    compare_desc: Pointer,
    result: Pointer,
    result_desc: Pointer,
    to: u64,
    address: u64,
    key: u64,
    number: c_int,
    function: c_int,
    context: Pointer,
) -> isize {
    let (vector, compared, results) = (one(buffer, count), one(compare, count), one(result, count));
    unsafe {
        atomic_comparev(
            ep,
            &raw const vector,
            desc,
            1,
            &raw const compared,
            compare_desc,
            1,
            &raw const results,
            result_desc,
            1,
            to,
            address,
            key,
            number,
            function,
            context,
        )
    }
}

unsafe extern "C" fn atomic_comparev(
    ep: Ep,
    vector: *const IoVec,
    _: Pointer,
    count: usize,
    compared: *const IoVec,
    _: Pointer,
    compared_count: usize,
    results: *const IoVec,
    _: Pointer,
    result_count: usize,
    to: u64,
    address: u64,
    key: u64,
    number: c_int,
    function: c_int,
    context: Pointer,
) -> isize {
    unsafe {
        let place = row(address, count_of(results, result_count), key);
        let numbers = Numbers {
            operands: (vector, count),
            compared: Some((compared, compared_count)),
            results: Some((results, result_count)),
        };
        let head = with_usual(ep, to, context);
        compute(ep, (number, function), numbers, (&raw const place, 1), head)
    }
}

unsafe extern "C" fn atomic_comparemsg(
    ep: Ep,
    message: *const AtomicMsgOf,
    compared: *const IoVec,
    _: Pointer,
    compared_count: usize,
    results: *const IoVec,
    _: Pointer,
    result_count: usize,
    flags: u64,
) -> isize {
    let (compared, results) = ((compared, compared_count), (results, result_count));
    unsafe { described_numbers(ep, message, Some(compared), Some(results), flags) }
}

/// Number of numbers that an operation may have, if it can be.
unsafe fn valid(atomic: Option<Atomic>, count: *mut usize) -> c_int {
    let Some(atomic) = atomic else {
        return -OPNOTSUPP;
    };
    if !count.is_null() {
        // SAFETY: the caller has room for a number or none.
        unsafe { count.write(ATOMIC_BYTES / atomic.bytes()) };
    }
    0
}

unsafe extern "C" fn writevalid(_: Ep, number: c_int, function: c_int, count: *mut usize) -> c_int {
    let changes = |atomic: &Atomic| atomic.operands() == 1;
    unsafe { valid(atomic(number, function, false).filter(changes), count) }
}

unsafe extern "C" fn readwritevalid(
    _: Ep,
    number: c_int,
    function: c_int,
    count: *mut usize,
) -> c_int {
    unsafe { valid(atomic(number, function, false), count) }
}

unsafe extern "C" fn compwritevalid(
    _: Ep,
    number: c_int,
    function: c_int,
    count: *mut usize,
) -> c_int {
    unsafe { valid(atomic(number, function, true), count) }
}

/// As the queries of an endpoint, for a domain.
///
/// # Safety
/// As `fi_query_atomic` says.
pub unsafe extern "C" fn query(
    _: *mut Domain,
    number: c_int,
    function: c_int,
    attributes: *mut AtomicAttr,
    flags: u64,
) -> c_int {
    let compares = flags & COMPARE_ATOMIC != 0;
    let found = atomic(number, function, compares);
    let found =
        found.filter(|atomic| compares || flags & FETCH_ATOMIC != 0 || atomic.operands() == 1);
    unsafe {
        if let (Some(atomic), Some(attributes)) = (found, attributes.as_mut()) {
            attributes.size = atomic.bytes();
        }
        let count = attributes
            .as_mut()
            .map(|attributes| &raw mut attributes.count);
        valid(found, count.unwrap_or(ptr::null_mut()))
    }
}
