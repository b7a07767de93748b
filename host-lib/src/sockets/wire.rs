//! The headers of packets between sockets.
//!
//! A header has five words, most significant byte first: kind; the receiver's name of the connection; the sender's name of it; port of the
//! receiver in the upper half and port of the sender; credit. Only a packet of kind data has bytes behind its header.

use super::Address;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 20;

/// Kind of a packet, with its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketPacketKind {
    /// A connection is asked for. The credit is the window of the side that asks.
    Connect,
    /// The connection is accepted. The credit is the window of the other side.
    Accept,
    /// No socket listens.
    Refuse,
    /// Bytes of the stream follow.
    Data,
    /// The reader has room for so many further bytes.
    Credit,
    /// The sender writes nothing any more.
    Finish,
    /// The connection does not exist at the sender.
    Reset,
}

/// Kinds by their numbers in headers, which begin with 1: a packet of zeros is none.
const KINDS: [SocketPacketKind; 7] = [
    SocketPacketKind::Connect,
    SocketPacketKind::Accept,
    SocketPacketKind::Refuse,
    SocketPacketKind::Data,
    SocketPacketKind::Credit,
    SocketPacketKind::Finish,
    SocketPacketKind::Reset,
];

/// The header of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SocketHeader {
    pub(super) kind: SocketPacketKind,
    /// The receiver's name of the connection; 0 where it has none yet.
    pub(super) to: u32,
    /// The sender's name of it.
    pub(super) from: u32,
    /// Port of the receiver.
    pub(super) to_port: u16,
    /// Port of the sender.
    pub(super) from_port: u16,
    /// Bytes for which the sender has room, beyond those of its earlier credits.
    pub(super) credit: u32,
}

impl SocketHeader {
    /// The header as bytes.
    pub(super) fn bytes(&self) -> [u8; HEADER_BYTES] {
        let kind = KINDS.iter().position(|kind| *kind == self.kind);
        let ports = u32::from(self.to_port) << 16 | u32::from(self.from_port);
        let words = [
            kind.unwrap_or_default() as u32 + 1,
            self.to,
            self.from,
            ports,
            self.credit,
        ];
        let mut bytes = [0; HEADER_BYTES];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// Reads a packet: its header, and the bytes behind it. `None`: it is no packet of a socket.
    pub(super) fn read(packet: &[u8]) -> Option<(Self, &[u8])> {
        let (head, content) = packet.split_at_checked(HEADER_BYTES)?;
        let word = |place: usize| {
            let bytes = head[4 * place..4 * place + 4].try_into();
            bytes.map_or(0, u32::from_be_bytes)
        };
        let kind = (word(0) as usize).checked_sub(1)?;
        let header = Self {
            kind: *KINDS.get(kind)?,
            to: word(1),
            from: word(2),
            to_port: (word(3) >> 16) as u16,
            from_port: word(3) as u16,
            credit: word(4),
        };
        (header.kind == SocketPacketKind::Data || content.is_empty()).then_some((header, content))
    }

    /// An answer to its sender.
    pub(super) const fn answer(&self, kind: SocketPacketKind, from: u32, credit: u32) -> Self {
        Self {
            kind,
            to: self.from,
            from,
            to_port: self.from_port,
            from_port: self.to_port,
            credit,
        }
    }

    /// Address of the sending socket, if this rank has sent the packet.
    pub(super) const fn sender(&self, rank: usize) -> Address {
        Address {
            rank,
            port: self.from_port,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_written() {
        for kind in KINDS {
            let header = SocketHeader {
                kind,
                to: 0x1234_5678,
                from: u32::MAX,
                to_port: 80,
                from_port: 65_535,
                credit: 7,
            };
            let bytes = header.bytes();
            assert_eq!(SocketHeader::read(&bytes), Some((header, &[][..])));
            for length in 0..bytes.len() {
                assert_eq!(SocketHeader::read(&bytes[..length]), None);
            }
            let longer = [&bytes[..], &[1]].concat();
            assert_eq!(
                SocketHeader::read(&longer).is_some(),
                kind == SocketPacketKind::Data
            );
        }
        assert_eq!(SocketHeader::read(&[0; HEADER_BYTES]), None);
        assert_eq!(SocketHeader::read(&[9; HEADER_BYTES]), None);
    }
}
