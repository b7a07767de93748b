//! Position and value of a frame's checksums.
//!
//! A DMA channel sums a whole frame. The host needs the sum of the TCP or UDP part: the CPU sums the few
//! words of the headers and subtracts them.
//!
//! Sums are one's-complement sums of big-endian halfwords, not inverted.

/// Adds two sums.
#[inline(always)]
#[must_use]
pub const fn add(a: u32, b: u32) -> u32 {
    let sum = a + b;
    (sum & 0xFFFF) + (sum >> 16)
}

/// Subtracts `b` from `a`; a result of 0 is represented as 0xFFFF.
#[inline(always)]
#[must_use]
pub const fn subtract(a: u32, b: u32) -> u32 {
    let rest = add(a, !b & 0xFFFF);
    if rest == 0 { 0xFFFF } else { rest }
}

/// Largest Ethernet padding of a short frame. More bytes after a packet are not padding.
const MOST_PADDING: u32 = 46;

/// A TCP or UDP packet in a frame: offsets from the frame's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Start of the IP header.
    pub ip: u32,
    /// Start of the TCP or UDP part.
    pub transport: u32,
    /// End of the TCP or UDP part.
    pub end: u32,
    /// Position of the checksum field.
    pub field: u32,
    /// 6: TCP, 17: UDP.
    pub protocol: u32,
}

const TYPE: u32 = 12;
const TYPE_IPV4: u32 = 0x0800;
const TYPE_VLAN: u32 = 0x8100;
const VLAN_BYTES: u32 = 4;
const ETHERNET_BYTES: u32 = 14;
const LEAST_IP_BYTES: u32 = 20;
const PROTOCOL_TCP: u32 = 6;
const PROTOCOL_UDP: u32 = 17;

impl Packet {
    /// Finds the packet in a frame of `length` bytes; `half(offset)` returns the halfword at an even
    /// offset. `None`: not IPv4, a fragment, another protocol, or cut off.
    #[inline(always)]
    pub fn find(length: u32, half: impl Fn(u32) -> u32) -> Option<Self> {
        if length < ETHERNET_BYTES + LEAST_IP_BYTES {
            return None;
        }
        let mut ip = ETHERNET_BYTES;
        let mut kind = half(TYPE);
        if kind == TYPE_VLAN {
            ip += VLAN_BYTES;
            kind = half(TYPE + VLAN_BYTES);
        }
        if kind != TYPE_IPV4 || length < ip + LEAST_IP_BYTES {
            return None;
        }
        let first = half(ip);
        let header = (first >> 8 & 0xF) << 2;
        let fragment = half(ip + 6) & 0x3FFF;
        let protocol = half(ip + 8) & 0xFF;
        let transport = ip + header;
        let end = ip + half(ip + 2);
        let (field, least) = match protocol {
            PROTOCOL_TCP => (transport + 16, 20),
            PROTOCOL_UDP => (transport + 6, 8),
            _ => return None,
        };
        let whole = first >> 12 == 4 && header >= LEAST_IP_BYTES && fragment == 0;
        let fits = transport + least <= end && end <= length && length - end <= MOST_PADDING;
        (whole && fits).then_some(Self {
            ip,
            transport,
            end,
            field,
            protocol,
        })
    }

    /// The sum of everything before the IP header.
    #[inline(always)]
    pub fn sum_before_ip(&self, half: impl Fn(u32) -> u32) -> u32 {
        sum(0, self.ip, half)
    }

    /// The sum of the IP header.
    #[inline(always)]
    pub fn sum_ip(&self, half: impl Fn(u32) -> u32) -> u32 {
        sum(self.ip, self.transport, half)
    }

    /// The sum of the bytes after the packet in a frame of `length` bytes.
    #[inline(always)]
    pub fn sum_behind(&self, length: u32, half: impl Fn(u32) -> u32) -> u32 {
        if self.end == length {
            return 0;
        }
        // The halfwords that hold one byte of padding each.
        let first = if self.end & 1 == 0 {
            0
        } else {
            half(self.end & !1) & 0xFF
        };
        let last = if length & 1 == 0 {
            0
        } else {
            half(length & !1) & 0xFF00
        };
        let between = sum(self.end.next_multiple_of(2), length & !1, half);
        add(add(first, last), between)
    }

    /// The sum of a frame of `length` bytes without its transport part.
    #[inline(always)]
    pub fn sum_around(&self, length: u32, half: impl Fn(u32) -> u32) -> u32 {
        let headers = add(self.sum_before_ip(&half), self.sum_ip(&half));
        add(headers, self.sum_behind(length, half))
    }

    /// The sum of the pseudo header: both addresses, protocol, length.
    #[inline(always)]
    pub fn sum_pseudo(&self, half: impl Fn(u32) -> u32) -> u32 {
        let addresses = sum(self.ip + 12, self.ip + 20, half);
        add(addresses, add(self.protocol, self.end - self.transport))
    }

    /// Value for the checksum field. `sum` is the sum of the packet, including the current value of the
    /// field.
    #[inline(always)]
    #[must_use]
    pub const fn completed(&self, sum: u32) -> u32 {
        match !sum & 0xFFFF {
            // UDP: 0 means "no checksum".
            0 if self.protocol == PROTOCOL_UDP => 0xFFFF,
            field => field,
        }
    }
}

/// The sum of the halfwords at the even offsets `from..to`.
#[inline(always)]
fn sum(from: u32, to: u32, half: impl Fn(u32) -> u32) -> u32 {
    let mut sum = 0;
    let mut at = from;
    while at < to {
        sum += half(at);
        at += 2;
    }
    // At most 37 halfwords: two folds are enough.
    sum = (sum & 0xFFFF) + (sum >> 16);
    (sum & 0xFFFF) + (sum >> 16)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// The sum of bytes as defined by RFC 1071.
    fn plain(bytes: &[u8]) -> u32 {
        let mut sum = 0;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        }
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum
    }

    fn half(frame: &[u8]) -> impl Fn(u32) -> u32 + '_ {
        // Other data follows the frame, as in the frame buffer.
        |at| {
            [0, 1]
                .map(|i| u32::from(*frame.get(at as usize + i).unwrap_or(&0x5A)))
                .iter()
                .fold(0, |half, byte| half << 8 | byte)
        }
    }

    /// A frame with a packet of this protocol and payload.
    fn frame(tagged: bool, options: usize, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = std::vec![0x22; 12];
        if tagged {
            frame.extend([0x81, 0, 0, 7]);
        }
        frame.extend([8, 0]);
        let header = 20 + 4 * options;
        let total = (header + payload.len()) as u16;
        let [high, low] = total.to_be_bytes();
        frame.extend([0x40 | (header / 4) as u8, 0, high, low, 0, 1, 0x40, 0]);
        frame.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend(std::vec![1; 4 * options]);
        frame.extend(payload);
        frame
    }

    proptest! {
        /// The frame's sum without its headers is the sum of the transport part.
        #[test]
        fn headers_are_taken_away(
            tagged: bool,
            options in 0usize..10,
            udp: bool,
            payload in prop::collection::vec(any::<u8>(), 20..200),
            padding in prop::collection::vec(any::<u8>(), 0..46),
        ) {
            let protocol = if udp { 17 } else { 6 };
            let mut frame = frame(tagged, options, protocol, &payload);
            let end = frame.len();
            frame.extend(padding);
            let length = frame.len() as u32;
            let packet = Packet::find(length, half(&frame)).expect("a packet");
            let rest = subtract(plain(&frame), packet.sum_around(length, half(&frame)));
            if payload.iter().any(|&byte| byte != 0) {
                prop_assert_eq!(rest, plain(&payload));
            }
            prop_assert_eq!(packet.end as usize, end);
        }

        /// With a completed field, packet and pseudo header sum to 0xFFFF.
        #[test]
        fn a_completed_packet_sums_up(payload in prop::collection::vec(any::<u8>(), 8..100)) {
            let mut frame = frame(false, 0, 17, &payload);
            let packet = Packet::find(frame.len() as u32, half(&frame)).expect("a packet");
            let pseudo = packet.sum_pseudo(half(&frame));
            frame[packet.field as usize..][..2].fill(0);
            let sum = add(plain(&frame[packet.transport as usize..]), pseudo);
            let field = packet.completed(sum) as u16;
            frame[packet.field as usize..][..2].copy_from_slice(&field.to_be_bytes());
            let sum = add(plain(&frame[packet.transport as usize..]), pseudo);
            prop_assert_eq!(sum, 0xFFFF);
        }

        /// The search never reads outside of a frame.
        #[test]
        fn any_frame_can_be_searched(frame in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(packet) = Packet::find(frame.len() as u32, half(&frame)) {
                prop_assert!(packet.end as usize <= frame.len());
                prop_assert!(packet.field + 2 <= packet.end);
            }
        }
    }

    #[test]
    fn other_frames_have_no_packet() {
        let good = frame(false, 0, 17, &[0; 20]);
        let check = |at: usize, byte: u8, length: usize| {
            let mut frame = good.clone();
            frame[at] = byte;
            Packet::find(length as u32, half(&frame)).is_some()
        };
        let length = good.len();
        assert!(check(0, 0, length));
        assert!(!check(12, 0x86, length), "another type");
        assert!(!check(14, 0x65, length), "another version");
        assert!(!check(14, 0x44, length), "a short header");
        assert!(!check(20, 0x20, length), "a first fragment");
        assert!(!check(21, 1, length), "a later fragment");
        assert!(!check(23, 1, length), "another protocol");
        assert!(!check(17, 60, length), "cut off");
        assert!(!check(17, 27, length), "too short for UDP");
        assert!(!check(0, 0, 33), "no IP header");
    }
}
