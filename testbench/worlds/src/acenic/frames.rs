//! Frames of the exchange, with contents known to both sides.
//!
//! A frame contains its sender, number and length, which determine all other bytes. *Greetings* are
//! broadcast until the other side has answered, because its firmware may discard frames before. They are
//! not counted.

use host_lib::emp::MacAddress;

/// EtherType of local experiments.
const ETHERTYPE: u16 = 0x88B5;
/// Magic number that identifies our frames.
const MAGIC: u32 = 0x4C41_4E49;
/// Length of the headers: Ethernet header, magic, kind, node, number, length.
const HEADER_BYTES: usize = 14 + 4 + 2 + 2 + 4 + 2;
/// Shortest frame without FCS.
pub const SHORTEST_BYTES: u32 = 60;
/// Longest frame of standard size, without FCS. Longer ones need the jumbo ring.
pub const LONGEST_BYTES: u32 = 1514;
/// Default lengths, used cyclically: both limits, both sides of the mini ring's limit, odd ones.
const MIX: [u32; 10] = [60, 1514, 64, 129, 100, 1024, 61, 777, 128, 1513];

/// Kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// A greeting, until the other side has answered.
    Greeting,
    /// An answer to a greeting.
    Answer,
    /// A data frame.
    Data {
        /// Number of the frame.
        number: u32,
    },
}

/// A received frame with a valid header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedFrame {
    /// Address of the sender.
    pub source: MacAddress,
    /// Kind of the frame.
    pub kind: FrameKind,
}

/// Damage of a received frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The frame is not one of ours.
    #[error("{length_bytes} bytes that are none of the other side's frames")]
    Foreign {
        /// Length of the frame in bytes.
        length_bytes: usize,
    },
    /// The length differs.
    #[error("frame {number} has {found} bytes, {expected} were sent")]
    Length {
        /// Number of the frame.
        number: u32,
        /// Bytes sent.
        expected: usize,
        /// Bytes received.
        found: usize,
    },
    /// A byte differs.
    #[error("frame {number} differs at byte {offset}: {found:#04x}, sent was {expected:#04x}")]
    Byte {
        /// Number of the frame.
        number: u32,
        /// Offset in the frame.
        offset: usize,
        /// The byte sent.
        expected: u8,
        /// The byte received.
        found: u8,
    },
}

/// Length of data frame `number`: `size`, or a mix.
#[must_use]
pub fn length(size: Option<u32>, number: u32) -> u32 {
    size.unwrap_or(MIX[number as usize % MIX.len()])
}

/// Builds a frame of `length` bytes.
#[must_use]
pub fn build(
    destination: MacAddress,
    source: MacAddress,
    node: u16,
    kind: FrameKind,
    length: u32,
) -> Vec<u8> {
    let (code, number) = match kind {
        FrameKind::Greeting => (0_u16, 0),
        FrameKind::Answer => (1, 0),
        FrameKind::Data { number } => (2, number),
    };
    let mut frame = Vec::with_capacity(length as usize);
    frame.extend(destination.0);
    frame.extend(source.0);
    frame.extend(ETHERTYPE.to_be_bytes());
    frame.extend(MAGIC.to_be_bytes());
    frame.extend(code.to_be_bytes());
    frame.extend(node.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.extend((length as u16).to_be_bytes());
    let mut random = Contents::new(node, number);
    frame.resize_with(length as usize, || random.byte());
    frame
}

/// Compares a frame for `own` with the frame that node `from` sent. `size` as in [`length`].
///
/// # Errors
/// [`Damage`], if any byte differs.
pub fn check(
    frame: &[u8],
    own: MacAddress,
    from: u16,
    size: Option<u32>,
) -> Result<ParsedFrame, Damage> {
    let foreign = Damage::Foreign {
        length_bytes: frame.len(),
    };
    let header = frame.first_chunk::<HEADER_BYTES>().ok_or(foreign)?;
    let [_, _, _, _, _, _, s0, s1, s2, s3, s4, s5, _, _, rest @ ..] = header;
    let source = MacAddress([*s0, *s1, *s2, *s3, *s4, *s5]);
    let [_, _, _, _, c0, c1, _, _, n0, n1, n2, n3, _, _] = rest;
    let number = u32::from_be_bytes([*n0, *n1, *n2, *n3]);
    let (kind, destination, length) = match u16::from_be_bytes([*c0, *c1]) {
        0 => (FrameKind::Greeting, MacAddress::BROADCAST, SHORTEST_BYTES),
        1 => (FrameKind::Answer, MacAddress::BROADCAST, SHORTEST_BYTES),
        2 => (FrameKind::Data { number }, own, length(size, number)),
        _ => return Err(foreign),
    };
    let expected = build(destination, source, from, kind, length);
    let headers = expected.iter().zip(header);
    if headers
        .take(HEADER_BYTES)
        .any(|(sent, found)| sent != found)
    {
        return Err(foreign);
    }
    if frame.len() != expected.len() {
        return Err(Damage::Length {
            number,
            expected: expected.len(),
            found: frame.len(),
        });
    }
    let differs = frame.iter().zip(&expected).position(|(a, b)| a != b);
    match differs {
        None => Ok(ParsedFrame { source, kind }),
        Some(offset) => Err(Damage::Byte {
            number,
            offset,
            expected: expected[offset],
            found: frame[offset],
        }),
    }
}

/// Contents derived from node and number (xorshift).
struct Contents(u64);

impl Contents {
    const fn new(node: u16, number: u32) -> Self {
        let seed = (node as u64) << 32 | number as u64;
        // Never 0, and far apart for adjacent seeds.
        Self((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    const fn byte(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const PEER: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

    #[test]
    fn a_frame_is_recognised_whatever_its_length() {
        for number in 0..20 {
            let kind = FrameKind::Data { number };
            let frame = build(OWN, PEER, 1, kind, length(None, number));
            assert_eq!(frame.len() as u32, length(None, number));
            let parsed = check(&frame, OWN, 1, None);
            assert_eq!(parsed, Ok(ParsedFrame { source: PEER, kind }));
        }
        let kind = FrameKind::Answer;
        let greeting = build(MacAddress::BROADCAST, PEER, 1, kind, SHORTEST_BYTES);
        let parsed = check(&greeting, OWN, 1, Some(1000));
        assert_eq!(parsed, Ok(ParsedFrame { source: PEER, kind }));
    }

    #[test]
    fn every_changed_bit_is_seen() {
        let kind = FrameKind::Data { number: 3 };
        let frame = build(OWN, PEER, 1, kind, 129);
        for offset in (0..frame.len()).filter(|offset| !(6..12).contains(offset)) {
            let mut damaged = frame.clone();
            damaged[offset] ^= 0x10;
            assert!(check(&damaged, OWN, 1, Some(129)).is_err(), "{offset}");
        }
        let cut = check(&frame[..128], OWN, 1, Some(129));
        let (number, expected) = (3, 129);
        assert_eq!(
            cut,
            Err(Damage::Length {
                number,
                expected,
                found: 128
            })
        );
        assert!(
            check(&frame, OWN, 0, Some(129)).is_err(),
            "the other node's"
        );
        assert!(
            check(&frame, PEER, 1, Some(129)).is_err(),
            "for another node"
        );
        assert_eq!(
            check(&[], OWN, 1, None),
            Err(Damage::Foreign { length_bytes: 0 })
        );
    }
}
