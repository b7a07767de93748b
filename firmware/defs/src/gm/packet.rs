//! GM packets. Behind the route: a header of six words, then the payload, padded to a multiple of 4 bytes.
//!
//! | word | data | ack, nack |
//! |------|------|-----------|
//! | 0 | type; subtype | the same |
//! | 1 | node that the packet is for | the same |
//! | 2 | session; sequence number | session; next sequence number that the receiver expects |
//! | 3 | length of the payload; subport at the target; subport of the sender | 0; of a refusal its reason |
//! | 4 | node that sends the packet | the same |
//! | 5 | connection's number at the target; its number at the sender | the same |
//!
//! A **subport** is a port and a priority: `port << 1 | priority`. A connection's number is
//! `node << 1 | priority`, with the node at the other end.

/// Packet type of GM, the first 16 bits behind the route.
pub const TYPE: u32 = 0x0008;
/// Bytes of a header.
pub const HEADER_BYTES: u32 = 24;
/// Most bytes of payload.
pub const MTU: u32 = 4096;
/// Number of message sizes; size `n` holds [`capacity`] bytes.
pub const SIZES: u32 = 32;

/// Word 0: the type, above the subtype.
pub const WORD_TYPE: u32 = 0;
/// Word 1: the target.
pub const WORD_TARGET: u32 = 4;
/// Word 2: session and sequence number.
pub const WORD_SEQUENCE: u32 = 8;
/// Word 3: length and subports.
pub const WORD_LENGTH: u32 = 12;
/// Word 4: the sender.
pub const WORD_SENDER: u32 = 16;
/// Word 5: numbers of the connection.
pub const WORD_CONNECTIONS: u32 = 20;

/// Base of the numbers of all subtypes.
pub const SUBTYPE_BASE: u32 = 0x100;
/// Takes a sequence number and carries nothing: it stands for a message that was given up.
pub const NULL: u32 = SUBTYPE_BASE;
/// Asks for bytes of the target's memory. Its payload: [`GET_BYTES`] bytes.
pub const GET: u32 = SUBTYPE_BASE + 2;
/// Bytes that a [`GET`] asked for, behind [`GOT_BYTES`] bytes.
pub const GOT: u32 = SUBTYPE_BASE + 3;
/// A whole message of size 0; the size is added.
pub const DATA: u32 = SUBTYPE_BASE + 7;
/// The first packet of a longer message of size 0; the size is added.
pub const HEAD: u32 = SUBTYPE_BASE + 39;
/// A packet in the middle of a message.
pub const BODY: u32 = SUBTYPE_BASE + 71;
/// The last packet of a message.
pub const TAIL: u32 = SUBTYPE_BASE + 72;
/// Bytes for the target's memory, behind [`PUT_BYTES`] bytes with their address; the last ones of a put.
pub const PUT: u32 = SUBTYPE_BASE + 73;
/// Bytes for the target's memory, behind [`PUT_BYTES`] bytes with their address; more of the put follow.
pub const PUT_BODY: u32 = SUBTYPE_BASE + 75;
/// Acknowledges all packets before its sequence number.
pub const ACK: u32 = SUBTYPE_BASE + 128;
/// An ack that asks for all packets from its sequence number on: one was lost.
pub const NACK: u32 = SUBTYPE_BASE + 129;
/// An ack that asks for all packets from its sequence number on, later: no receive token fits.
pub const NACK_DOWN: u32 = SUBTYPE_BASE + 130;
/// An ack that refuses the message with its sequence number: the target port is closed.
pub const NACK_REJECT: u32 = SUBTYPE_BASE + 131;
/// Tells that the receiver does not know the session: the sender begins a new one. Word 3 of a [`NACK_REJECT`] is the
/// status of the send.
pub const NACK_OPEN: u32 = SUBTYPE_BASE + 132;

/// Bytes before the payload of a [`PUT`]: the address at the target.
pub const PUT_BYTES: u32 = 8;
/// Bytes of a [`GET`]: the address at the target, the length, the number of the request.
pub const GET_BYTES: u32 = 16;
/// Bytes before the payload of a [`GOT`]: the number of the request; the place of the bytes among those asked for, or
/// [`GOT_FAILED`] and a status.
pub const GOT_BYTES: u32 = 8;
/// In the second word of a [`GOT`]: there are no bytes.
pub const GOT_FAILED: u32 = 1 << 31;

/// The first word of a packet.
#[must_use]
pub const fn first_word(subtype: u32) -> u32 {
    TYPE << 16 | subtype
}

/// Bytes that a message of a size holds at most; 0 for a size that does not exist.
#[doc(alias = "GM_MAX_LENGTH_FOR_SIZE")]
#[must_use]
pub const fn capacity(size: u32) -> u32 {
    (1_u32 << (size & 31)).saturating_sub(8)
}

/// The smallest size that holds `length` bytes.
#[doc(alias = "gm_min_size_for_length")]
#[must_use]
pub const fn size_for(length: u32) -> u32 {
    if length == 0 {
        0
    } else {
        let bits = u32::BITS - (length.saturating_add(7)).leading_zeros();
        if bits > 31 { 31 } else { bits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_hold_their_lengths() {
        let check = |length, size| {
            assert_eq!(size_for(length), size, "{length}");
            assert!(capacity(size) >= length && (size == 0 || capacity(size - 1) < length));
        };
        check(0, 0);
        check(1, 4);
        check(8, 4);
        check(9, 5);
        check(24, 5);
        check(25, 6);
        check(4088, 12);
        check(4089, 13);
        check(4096, 13);
    }
}
