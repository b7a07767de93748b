//! Ethernet frames of host programs, with contents known to both sides.
//!
//! A data frame contains a message of [`content`]: it says its sender and its number, which determine all other bytes. It is a
//! frame of local experiments, or UDP in IPv4 if a checksum is wanted. A sender *greets* each receiver until that
//! answers, because a board loses frames before its driver is ready. Greetings and answers carry no number.

use super::check::Identity;
use super::content::{self, Flow};
use crate::nodes::{mac_address, node_of};

/// Shortest frame, without FCS.
pub const SHORTEST_BYTES: u32 = 60;
/// EtherType of local experiments.
const EXPERIMENT: [u8; 2] = [0x88, 0xB5];
/// EtherType of IPv4.
const IPV4: [u8; 2] = [0x08, 0x00];
/// Type of a VLAN tag, which stands between addresses and EtherType.
const VLAN: [u8; 2] = [0x81, 0x00];
/// Bytes of a VLAN tag.
const VLAN_BYTES: usize = 4;
/// Bytes of both addresses.
const ADDRESSES_BYTES: usize = 12;
/// Bytes of an Ethernet header.
pub(super) const HEADER_BYTES: usize = 14;
/// Bytes of the headers of IPv4 and UDP.
const UDP_HEADERS_BYTES: usize = 28;
/// Place of UDP's checksum.
const UDP_SUM: std::ops::Range<usize> = 40..42;
/// Kind and length of the frame, in front of the content.
const MARK_BYTES: usize = 4;

/// Kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramFrameKind {
    /// A greeting, until the receiver has answered.
    Greeting,
    /// The answer to a greeting.
    Answer,
    /// A data frame.
    Data,
}

impl ProgramFrameKind {
    const fn code(self) -> u8 {
        match self {
            Self::Greeting => 1,
            Self::Answer => 2,
            Self::Data => 3,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Greeting),
            2 => Some(Self::Answer),
            3 => Some(Self::Data),
            _ => None,
        }
    }
}

/// A received frame of another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedFrame {
    /// Node that sent the frame.
    pub from: u16,
    /// Tag of its flow.
    pub tag: u16,
    /// Kind of the frame.
    pub kind: ProgramFrameKind,
    /// ProgramLife of its sender.
    pub life: u16,
    /// Number of the frame, as its content says.
    pub sequence: u32,
    /// Whether all bytes are as sent.
    pub intact: bool,
}

/// Builds a frame of `length` bytes, [`SHORTEST_BYTES`] at least. A greeting has number 0.
#[must_use]
pub fn build(
    seed: u64,
    flow: Flow,
    kind: ProgramFrameKind,
    sequence: u32,
    length: u32,
    udp: bool,
) -> Vec<u8> {
    let mut frame = Vec::with_capacity(length as usize);
    frame.extend(mac_address(flow.to).0);
    frame.extend(mac_address(flow.from).0);
    frame.extend(if udp { IPV4 } else { EXPERIMENT });
    if udp {
        frame.extend(udp_headers(flow, length as usize - HEADER_BYTES));
    }
    frame.extend([kind.code(), 0]);
    frame.extend((length as u16).to_be_bytes());
    let rest = (length as usize).saturating_sub(frame.len());
    frame.extend(content::bytes(seed, flow, sequence, rest as u32));
    if udp {
        let sum = udp_sum(&frame);
        frame[UDP_SUM].copy_from_slice(&sum.to_be_bytes());
    }
    frame
}

/// Description of a frame on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnWire {
    /// Node that sends the frame.
    pub from: u16,
    /// Node that the frame is for.
    pub to: u16,
    /// Kind of the frame.
    pub kind: ProgramFrameKind,
    /// Number of the frame in its flow, from 0.
    pub number: u32,
}

/// Reads a frame on the wire, without its FCS. `None`: it is no frame of these programs.
#[must_use]
pub fn on_wire(frame: &[u8]) -> Option<OnWire> {
    let node = |at: usize| node_of(*frame.get(at..)?.first_chunk()?);
    let (to, from) = (node(0)?, node(6)?);
    let rest = frame.get(ADDRESSES_BYTES..)?;
    let rest = match rest.starts_with(&VLAN) {
        true => rest.get(VLAN_BYTES..)?,
        false => rest,
    };
    let (ethertype, rest) = rest.split_first_chunk()?;
    let marked = match *ethertype {
        EXPERIMENT => rest,
        IPV4 => rest.get(UDP_HEADERS_BYTES..)?,
        _ => return None,
    };
    Some(OnWire {
        from,
        to,
        kind: ProgramFrameKind::from_code(*marked.first()?)?,
        number: content::number(marked.get(MARK_BYTES..)?),
    })
}

/// Removes the checksum of a frame with UDP, which the board is to compute.
pub fn without_sum(frame: &mut [u8]) {
    frame[UDP_SUM].fill(0);
}

/// Compares a frame that reached `who` with what its sender must have sent. `None`: it is no frame of these programs.
#[must_use]
pub fn check(frame: &[u8], who: Identity, udp: bool) -> Option<ParsedFrame> {
    let marks = HEADER_BYTES + if udp { UDP_HEADERS_BYTES } else { 0 };
    let (head, body) = (frame.get(..marks)?, frame.get(marks + MARK_BYTES..)?);
    let source = head.get(6..12)?;
    let from = u16::from_be_bytes([source[4], source[5]]);
    if mac_address(from).0 != source {
        return None;
    }
    let kind = ProgramFrameKind::from_code(*frame.get(marks)?)?;
    let tag = content::tag(body);
    let flow = Flow {
        from,
        to: who.node,
        tag,
        life: content::life(body),
    };
    let sequence = content::number(body);
    let sent = build(who.seed, flow, kind, sequence, frame.len() as u32, udp);
    let same = |(at, (a, b)): (usize, (&u8, &u8))| a == b || udp && UDP_SUM.contains(&at);
    let alike = frame.iter().zip(&sent).enumerate().all(same);
    Some(ParsedFrame {
        from,
        tag,
        kind,
        life: flow.life,
        sequence,
        intact: alike && sent.len() == frame.len() && (!udp || sums_agree(frame, &sent)),
    })
}

/// Whether the checksums of two frames are the same number: 0 and 0xFFFF are.
fn sums_agree(a: &[u8], b: &[u8]) -> bool {
    let sum = |frame: &[u8]| match frame.get(UDP_SUM) {
        Some(&[high, low]) => u16::from_be_bytes([high, low]) % u16::MAX,
        _ => 0,
    };
    sum(a) == sum(b)
}

fn udp_headers(flow: Flow, length: usize) -> Vec<u8> {
    let node = |node: u16| [10, 0, (node >> 8) as u8, node as u8];
    let mut ip = vec![0x45, 0];
    ip.extend((length as u16).to_be_bytes());
    ip.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    ip.extend(node(flow.from));
    ip.extend(node(flow.to));
    let sum = !ones_sum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    // Ports of experiments.
    ip.extend([0xC3, 0x50, 0xC3, 0x50]);
    ip.extend(((length - 20) as u16).to_be_bytes());
    ip.extend([0, 0]);
    ip
}

/// UDP's checksum of a frame whose field for it is 0.
fn udp_sum(frame: &[u8]) -> u16 {
    let mut summed = frame[26..34].to_vec();
    summed.extend([0, 17, frame[38], frame[39]]);
    summed.extend(&frame[34..]);
    match !ones_sum(&summed) {
        0 => u16::MAX,
        sum => sum,
    }
}

/// The one's-complement sum of big-endian halfwords.
#[must_use]
pub fn ones_sum(bytes: &[u8]) -> u16 {
    let halves = bytes.chunks(2);
    let half = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let sum: u32 = halves.map(half).sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    ((folded & 0xFFFF) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHO: Identity = Identity {
        node: 2,
        life: 0,
        seed: 7,
    };
    const FLOW: Flow = Flow {
        from: 1,
        to: 2,
        tag: 3,
        life: 0,
    };

    #[test]
    fn every_changed_bit_is_seen() {
        for udp in [false, true] {
            let frame = build(7, FLOW, ProgramFrameKind::Data, 9, 77, udp);
            let expected = ParsedFrame {
                from: 1,
                tag: 3,
                kind: ProgramFrameKind::Data,
                life: 0,
                sequence: 9,
                intact: true,
            };
            assert_eq!(check(&frame, WHO, udp), Some(expected));
            for at in 0..frame.len() {
                let mut damaged = frame.clone();
                damaged[at] ^= 0x10;
                let found = check(&damaged, WHO, udp);
                assert!(found.is_none_or(|found| !found.intact), "byte {at}");
            }
            let cut = check(&frame[..76], WHO, udp);
            assert!(!cut.expect("a frame").intact);
            assert_eq!(check(&frame[..17], WHO, udp), None);
        }
    }

    #[test]
    fn a_frame_on_the_wire_says_what_it_is() {
        let expected = OnWire {
            from: 1,
            to: 2,
            kind: ProgramFrameKind::Data,
            number: 70_009,
        };
        for udp in [false, true] {
            let frame = build(7, FLOW, ProgramFrameKind::Data, 70_009, 77, udp);
            assert_eq!(on_wire(&frame), Some(expected));
            let (addresses, rest) = frame.split_at(ADDRESSES_BYTES);
            let tagged = [addresses, &VLAN, &[0, 3], rest].concat();
            assert_eq!(on_wire(&tagged), Some(expected));
            for length in 0..frame.len() {
                let cut = on_wire(&frame[..length]);
                assert!(cut.is_none_or(|cut| cut.from == 1), "{length} bytes");
            }
        }
        let mut other = build(7, FLOW, ProgramFrameKind::Data, 9, 77, false);
        other[12] = 0x86;
        assert_eq!(on_wire(&other), None);
    }

    #[test]
    fn the_checksum_of_udp_is_right() {
        let frame = build(7, FLOW, ProgramFrameKind::Data, 0, 101, true);
        let mut summed = frame[26..34].to_vec();
        summed.extend([0, 17, frame[38], frame[39]]);
        summed.extend(&frame[34..]);
        assert_eq!(ones_sum(&summed), 0xFFFF);
        assert_eq!(ones_sum(&frame[14..34]), 0xFFFF);
    }
}
