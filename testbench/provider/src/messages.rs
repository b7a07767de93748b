//! The calls that send and receive: without a tag, and with one.

use std::ffi::c_void;

use crate::endpoint::PostedReceive;
use crate::ffi::error::{INVAL, MSGSIZE};
use crate::ffi::{
    ADDR_UNSPEC, COMPLETION, EndpointFid, INJECT, IoVec, MessageOps, MsgOf, PEEK, REMOTE_CQ_DATA,
    TaggedOf, TaggedOps, failed,
};
use crate::memory::{buffers, gather};
use crate::process::{self, Sending, lock};

type Ep = *mut EndpointFid;
type Bytes = *const c_void;
type Pointer = *mut c_void;

/// Calls without tags.
pub static MESSAGES: MessageOps = MessageOps {
    size: size_of::<MessageOps>(),
    recv,
    recvv,
    recvmsg,
    send,
    sendv,
    sendmsg,
    inject,
    senddata,
    injectdata,
};

/// Calls with tags.
pub static TAGGED_MESSAGES: TaggedOps = TaggedOps {
    size: size_of::<TaggedOps>(),
    recv: tagged_recv,
    recvv: tagged_recvv,
    recvmsg: tagged_recvmsg,
    send: tagged_send,
    sendv: tagged_sendv,
    sendmsg: tagged_sendmsg,
    inject: tagged_inject,
    senddata: tagged_senddata,
    injectdata: tagged_injectdata,
};

pub fn number(result: Result<(), i32>) -> isize {
    result.map_or_else(failed, |()| 0)
}

pub const fn one(base: Bytes, length: usize) -> IoVec {
    IoVec { base, length }
}

/// Sends the bytes of a vector.
///
/// # Safety
/// As the call of libfabric says: `vector` has `count` entries, which are the process's memory.
unsafe fn send_from(ep: Ep, vector: *const IoVec, count: usize, sending: Sending) -> isize {
    // SAFETY: the caller's promise.
    let (index, bytes) = unsafe { ((*ep).index, gather(&buffers(vector, count))) };
    if bytes.len() > lanigon_requests::MOST_BYTES {
        return failed(MSGSIZE);
    }
    number(lock().send(index, sending, bytes))
}

/// Flags of operations without flags of their own: for sends and for receives.
pub unsafe fn usual(ep: Ep) -> (u64, u64) {
    // SAFETY: the caller's object.
    let index = unsafe { (*ep).index };
    let process = lock();
    let endpoint = process.endpoints.get(index).and_then(Option::as_ref);
    endpoint.map_or((0, 0), |endpoint| {
        (endpoint.send_flags, endpoint.receive_flags)
    })
}

/// Posts a receive into a vector, or looks for a message.
///
/// # Safety
/// As the call of libfabric says: `vector` has `count` entries, which are the process's memory until the receive is complete.
unsafe fn receive_into(
    ep: Ep,
    vector: *const IoVec,
    count: usize,
    from: u64,
    receive: PostedReceive,
) -> isize {
    // SAFETY: the caller's promise.
    let (index, buffers) = unsafe { ((*ep).index, buffers(vector, count)) };
    number(post(index, from, PostedReceive { buffers, ..receive }))
}

fn post(index: usize, from: u64, mut receive: PostedReceive) -> Result<(), i32> {
    let is_look = receive.flags & PEEK != 0;
    let in_vain = {
        let process = &mut *lock();
        let endpoint = process
            .endpoints
            .get(index)
            .and_then(Option::as_ref)
            .ok_or(INVAL)?;
        if from != ADDR_UNSPEC {
            let table = endpoint
                .addresses
                .and_then(|table| process.addresses.get(table));
            let place = usize::try_from(from).map_err(|_| INVAL)?;
            let source = table.and_then(|table| table.get(place));
            receive.source = Some(*source.ok_or(INVAL)?);
        }
        let in_vain = is_look && !endpoint.has(&receive);
        if !in_vain {
            process.is_active();
        }
        in_vain && process.looked_in_vain()
    };
    if in_vain {
        process::poll();
    }
    let process = &mut *lock();
    let endpoint = process
        .endpoints
        .get_mut(index)
        .and_then(Option::as_mut)
        .ok_or(INVAL)?;
    let queue = endpoint.receives;
    let completions = endpoint.post(receive)?;
    process.complete(queue, completions);
    Ok(())
}

/// Makes the description of a send for a call with flags of its own.
fn with_flags(to: u64, data: u64, flags: u64, context: Pointer) -> Sending {
    Sending {
        to,
        data: (flags & REMOTE_CQ_DATA != 0).then_some(data),
        flags,
        context: context as usize,
        silent: flags & INJECT != 0 && flags & COMPLETION == 0,
        ..Sending::default()
    }
}

unsafe extern "C" fn recv(
    ep: Ep,
    buffer: Bytes,
    length: usize,
    _: Pointer,
    from: u64,
    context: Pointer,
) -> isize {
    // SAFETY: the caller's promises, in this and all calls below.
    unsafe {
        recvv(
            ep,
            &one(buffer, length),
            std::ptr::null_mut(),
            1,
            from,
            context,
        )
    }
}

unsafe extern "C" fn recvv(
    ep: Ep,
    vector: *const IoVec,
    _: Pointer,
    count: usize,
    from: u64,
    context: Pointer,
) -> isize {
    unsafe {
        let receive = PostedReceive {
            flags: usual(ep).1,
            context: context as usize,
            ..PostedReceive::default()
        };
        receive_into(ep, vector, count, from, receive)
    }
}

unsafe extern "C" fn recvmsg(ep: Ep, message: *const MsgOf, flags: u64) -> isize {
    unsafe {
        let message = &*message;
        let receive = PostedReceive {
            flags,
            context: message.context as usize,
            ..PostedReceive::default()
        };
        receive_into(ep, message.iov, message.count, message.address, receive)
    }
}

unsafe extern "C" fn send(
    ep: Ep,
    buffer: Bytes,
    length: usize,
    _: Pointer,
    to: u64,
    context: Pointer,
) -> isize {
    unsafe {
        sendv(
            ep,
            &one(buffer, length),
            std::ptr::null_mut(),
            1,
            to,
            context,
        )
    }
}

unsafe extern "C" fn sendv(
    ep: Ep,
    vector: *const IoVec,
    _: Pointer,
    count: usize,
    to: u64,
    context: Pointer,
) -> isize {
    unsafe {
        let sending = with_flags(to, 0, usual(ep).0 & !REMOTE_CQ_DATA, context);
        send_from(ep, vector, count, sending)
    }
}

unsafe extern "C" fn sendmsg(ep: Ep, message: *const MsgOf, flags: u64) -> isize {
    unsafe {
        let message = &*message;
        let sending = with_flags(message.address, message.data, flags, message.context);
        send_from(ep, message.iov, message.count, sending)
    }
}

unsafe extern "C" fn inject(ep: Ep, buffer: Bytes, length: usize, to: u64) -> isize {
    let sending = with_flags(to, 0, INJECT, std::ptr::null_mut());
    unsafe { send_from(ep, &one(buffer, length), 1, sending) }
}

unsafe extern "C" fn senddata(
    ep: Ep,
    buffer: Bytes,
    length: usize,
    _: Pointer,
    data: u64,
    to: u64,
    context: Pointer,
) -> isize {
    unsafe {
        let sending = with_flags(to, data, usual(ep).0 | REMOTE_CQ_DATA, context);
        send_from(ep, &one(buffer, length), 1, sending)
    }
}

unsafe extern "C" fn injectdata(ep: Ep, buffer: Bytes, length: usize, data: u64, to: u64) -> isize {
    let sending = with_flags(to, data, INJECT | REMOTE_CQ_DATA, std::ptr::null_mut());
    unsafe { send_from(ep, &one(buffer, length), 1, sending) }
}

/// Adds a tag to a send.
const fn tagged(sending: Sending, tag: u64) -> Sending {
    Sending {
        tagged: true,
        tag,
        ..sending
    }
}

unsafe extern "C" fn tagged_recv(
    ep: Ep,
    buffer: Bytes,
    length: usize,
    desc: Pointer,
    from: u64,
    tag: u64,
    ignore: u64,
    context: Pointer,
) -> isize {
    unsafe {
        tagged_recvv(
            ep,
            &one(buffer, length),
            desc,
            1,
            from,
            tag,
            ignore,
            context,
        )
    }
}

unsafe extern "C" fn tagged_recvv(
    ep: Ep,
    vector: *const IoVec,
    _: Pointer,
    count: usize,
    from: u64,
    tag: u64,
    ignore: u64,
    context: Pointer,
) -> isize {
    unsafe {
        let receive = PostedReceive {
            tagged: true,
            tag,
            ignore,
            flags: usual(ep).1,
            context: context as usize,
            ..PostedReceive::default()
        };
        receive_into(ep, vector, count, from, receive)
    }
}

unsafe extern "C" fn tagged_recvmsg(ep: Ep, message: *const TaggedOf, flags: u64) -> isize {
    unsafe {
        let message = &*message;
        let receive = PostedReceive {
            tagged: true,
            tag: message.tag,
            ignore: message.ignore,
            flags,
            context: message.context as usize,
            ..PostedReceive::default()
        };
        receive_into(ep, message.iov, message.count, message.address, receive)
    }
}

unsafe extern "C" fn tagged_send(
    ep: Ep,
    buffer: Bytes,
    length: usize,
    desc: Pointer,
    to: u64,
    tag: u64,
    context: Pointer,
) -> isize {
    unsafe { tagged_sendv(ep, &one(buffer, length), desc, 1, to, tag, context) }
}

unsafe extern "C" fn tagged_sendv(
    ep: Ep,
    vector: *const IoVec,
    _: Pointer,
    count: usize,
    to: u64,
    tag: u64,
    context: Pointer,
) -> isize {
    unsafe {
        let sending = with_flags(to, 0, usual(ep).0 & !REMOTE_CQ_DATA, context);
        send_from(ep, vector, count, tagged(sending, tag))
    }
}

unsafe extern "C" fn tagged_sendmsg(ep: Ep, message: *const TaggedOf, flags: u64) -> isize {
    unsafe {
        let message = &*message;
        let sending = with_flags(message.address, message.data, flags, message.context);
        send_from(ep, message.iov, message.count, tagged(sending, message.tag))
    }
}

unsafe extern "C" fn tagged_inject(
    ep: Ep,
    buffer: Bytes,
    length: usize,
    to: u64,
    tag: u64,
) -> isize {
    let sending = with_flags(to, 0, INJECT, std::ptr::null_mut());
    unsafe { send_from(ep, &one(buffer, length), 1, tagged(sending, tag)) }
}

unsafe extern "C" fn tagged_senddata(
    ep: Ep,
    buffer: Bytes,
    length: usize,
    _: Pointer,
    data: u64,
    to: u64,
    tag: u64,
    context: Pointer,
) -> isize {
    unsafe {
        let sending = with_flags(to, data, usual(ep).0 | REMOTE_CQ_DATA, context);
        send_from(ep, &one(buffer, length), 1, tagged(sending, tag))
    }
}

unsafe extern "C" fn tagged_injectdata(
    ep: Ep,
    buffer: Bytes,
    length: usize,
    data: u64,
    to: u64,
    tag: u64,
) -> isize {
    let sending = with_flags(to, data, INJECT | REMOTE_CQ_DATA, std::ptr::null_mut());
    unsafe { send_from(ep, &one(buffer, length), 1, tagged(sending, tag)) }
}
