//! Acks and nacks that RECV asks SEND for, and their packets.
use defs::gm::event::Status;
use defs::gm::packet::{self, NACK_OPEN, NACK_REJECT};

/// All packets before the expected one have arrived.
pub const ACK: u32 = 0;
/// The expected packet is missing.
pub const NACK: u32 = 1;
/// No receive token fits the expected packet.
pub const DOWN: u32 = 2;
/// The session is not known.
pub const OPEN: u32 = 3;
/// The target port is closed.
pub const CLOSED: u32 = 4;
/// The target port refuses messages of that size.
pub const REFUSED: u32 = 5;
/// The target does not let others use the memory.
pub const FORBIDDEN: u32 = 6;
/// The word before an atomic operation is to be sent, which acknowledges too.
pub const VALUE: u32 = 7;

/// The packet's subtype.
#[inline(always)]
pub const fn subtype(kind: u32) -> u32 {
    if kind <= DOWN {
        packet::ACK + kind
    } else if kind == OPEN {
        NACK_OPEN
    } else {
        NACK_REJECT
    }
}

/// Word 3 of the packet: the status of the send that is refused.
#[inline(always)]
pub const fn reason(kind: u32) -> u32 {
    if kind < CLOSED {
        0
    } else if kind == CLOSED {
        Status::TargetPortClosed as u32
    } else if kind == REFUSED {
        Status::Rejected as u32
    } else {
        Status::PermissionDenied as u32
    }
}

/// The status that a refusal gives its send; a reason that does not exist is taken for a general one.
pub const fn status(reason: u32) -> Status {
    if reason == Status::TargetPortClosed as u32 {
        Status::TargetPortClosed
    } else if reason == Status::PermissionDenied as u32 {
        Status::PermissionDenied
    } else {
        Status::Rejected
    }
}

const _: () =
    assert!(packet::NACK == packet::ACK + NACK && packet::NACK_DOWN == packet::ACK + DOWN);
