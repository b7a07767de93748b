//! The packets of host programs between each other.
//!
//! A short message is a packet. The sender of a long one asks; the receiver prepares memory for a part of it, and says so; the sender puts the part
//! there. So a host needs memory for parts only, whatever processes send. Any packet may carry a receipt ([`crate::receipts`]).

use lanigon_requests::{Envelope, RequestError};

/// Bytes of the header of a packet with content.
pub(crate) const HEADER_BYTES: usize = 32;

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacketHeader {
    /// A whole message follows, which may want a receipt.
    Short {
        envelope: Envelope,
        wants_receipt: bool,
    },
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
    /// Nothing but a receipt.
    Receipt,
}

/// Kinds of packets, in the lowest bits of the first word; a receipt is above them, or 0.
const KIND_BITS: u32 = 8;
const SHORT: u64 = 1;
const ASK: u64 = 2;
const READY: u64 = 3;
const RECEIPT: u64 = 4;
const SHORT_WITH_RECEIPT: u64 = 5;

impl PacketHeader {
    /// As bytes, with a receipt or 0.
    pub(crate) fn bytes(&self, receipt: u64) -> Vec<u8> {
        let mut words = match *self {
            Self::Short {
                envelope,
                wants_receipt,
            } => {
                let [ends, tag, data] = envelope.words();
                let kind = match wants_receipt {
                    true => SHORT_WITH_RECEIPT,
                    false => SHORT,
                };
                vec![kind, ends, tag, data]
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
            Self::Receipt => vec![RECEIPT],
        };
        words[0] |= receipt << KIND_BITS;
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Reads the header of a packet and its receipt; what follows is the content.
    pub(crate) fn read(packet: &[u8]) -> Result<(Self, u64, &[u8]), RequestError> {
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
        let first = word(0)?;
        let (header, length) = match first & ((1 << KIND_BITS) - 1) {
            kind @ (SHORT | SHORT_WITH_RECEIPT) => {
                let short = Self::Short {
                    envelope: envelope()?,
                    wants_receipt: kind == SHORT_WITH_RECEIPT,
                };
                (short, HEADER_BYTES)
            }
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
            RECEIPT => (Self::Receipt, 8),
            kind => return Err(RequestError::Kind(kind)),
        };
        Ok((
            header,
            first >> KIND_BITS,
            packet.get(length..).unwrap_or_default(),
        ))
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
            PacketHeader::Short {
                envelope,
                wants_receipt: false,
            },
            PacketHeader::Short {
                envelope,
                wants_receipt: true,
            },
            PacketHeader::Receipt,
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
            let mut packet = header.bytes(1 << 40);
            let length = packet.len();
            packet.extend([9, 9]);
            assert_eq!(
                PacketHeader::read(&packet),
                Ok((header, 1 << 40, &[9, 9][..]))
            );
            for length in 0..length {
                assert!(PacketHeader::read(&packet[..length]).is_err());
            }
        }
        assert_eq!(PacketHeader::read(&[7; 32]), Err(RequestError::Kind(7)));
    }
}
