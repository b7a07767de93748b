//! The packets of host programs between each other.
//!
//! A short message is a packet. The sender of a long one asks; the receiver prepares memory for a part of it, and says so; the sender puts the part
//! there. So a host needs memory for parts only, whatever processes send.

use lanigon_requests::{Envelope, RequestError};

/// Bytes of the header of a packet with content.
pub(crate) const HEADER_BYTES: usize = 32;

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacketHeader {
    /// A whole message follows.
    Short(Envelope),
    /// A long message will come, with this number of its sender's.
    Ask {
        envelope: Envelope,
        number: u64,
        length: u64,
    },
    /// Memory is prepared for the part of a long message that begins at `offset`.
    Ready {
        number: u64,
        offset: u64,
        landing: u64,
    },
}

/// Kinds of packets, in the first word.
const SHORT: u64 = 1;
const ASK: u64 = 2;
const READY: u64 = 3;

impl PacketHeader {
    /// As bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let words = match *self {
            Self::Short(envelope) => {
                let [ends, tag, data] = envelope.words();
                vec![SHORT, ends, tag, data]
            }
            Self::Ask {
                envelope,
                number,
                length,
            } => {
                let [ends, tag, data] = envelope.words();
                vec![ASK, ends, tag, data, number, length]
            }
            Self::Ready {
                number,
                offset,
                landing,
            } => vec![READY, number, offset, landing],
        };
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Reads the header of a packet; what follows is the content.
    pub(crate) fn read(packet: &[u8]) -> Result<(Self, &[u8]), RequestError> {
        let word = |place: usize| {
            let bytes = packet.get(8 * place..8 * place + 8);
            let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
            let short = RequestError::Bytes {
                what: "a packet",
                bytes: packet.len(),
            };
            bytes.map(u64::from_le_bytes).ok_or(short)
        };
        let envelope = || Envelope::read([word(1)?, word(2)?, word(3)?]);
        let (header, length) = match word(0)? {
            SHORT => (Self::Short(envelope()?), HEADER_BYTES),
            ASK => {
                let (number, length) = (word(4)?, word(5)?);
                let envelope = envelope()?;
                let ask = Self::Ask {
                    envelope,
                    number,
                    length,
                };
                (ask, HEADER_BYTES + 16)
            }
            READY => {
                let (number, offset, landing) = (word(1)?, word(2)?, word(3)?);
                let ready = Self::Ready {
                    number,
                    offset,
                    landing,
                };
                (ready, HEADER_BYTES)
            }
            kind => return Err(RequestError::Kind(kind)),
        };
        Ok((header, packet.get(length..).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_written() {
        let envelope = Envelope {
            from_endpoint: 1,
            to_endpoint: 2,
            class: lanigon_requests::Class::Tagged,
            tag: 77,
            data: Some(3),
        };
        for header in [
            PacketHeader::Short(envelope),
            PacketHeader::Ask {
                envelope,
                number: 8,
                length: 1 << 33,
            },
            PacketHeader::Ready {
                number: 8,
                offset: 4096,
                landing: 5,
            },
        ] {
            let mut packet = header.bytes();
            let length = packet.len();
            packet.extend([9, 9]);
            assert_eq!(PacketHeader::read(&packet), Ok((header, &[9, 9][..])));
            for length in 0..length {
                assert!(PacketHeader::read(&packet[..length]).is_err());
            }
        }
        assert_eq!(
            PacketHeader::read(&[7; 32]),
            Err(RequestError::Kind(0x0707_0707_0707_0707))
        );
    }
}
