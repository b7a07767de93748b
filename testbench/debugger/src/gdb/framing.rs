//! Packets of gdb's protocol: one with a wrong checksum is refused, so that gdb sends it again, and never reaches the server.

/// Largest body of a packet in bytes.
pub(super) const PACKET_BYTES: usize = 16 * 1024;
/// The packet that ends acknowledgments in both directions.
const NO_ACKS: &[u8] = b"QStartNoAckMode";

/// Result of a received byte.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Framed {
    /// The packet is not complete yet.
    Nothing,
    /// These bytes: an acknowledgment, or a packet with its frame.
    Whole(Vec<u8>),
    /// A damaged packet; `tell`: gdb expects an answer.
    Damaged {
        /// Whether acknowledgments are in use.
        tell: bool,
    },
    /// More than a packet can have.
    TooLong,
}

/// Collects the bytes of packets.
#[derive(Debug, Default)]
pub(super) struct Framing {
    /// The packet so far, from its `$` on; empty between packets.
    packet: Vec<u8>,
    /// Index of its `#`.
    end: Option<usize>,
    without_acks: bool,
}

impl Framing {
    /// Takes the next byte.
    pub fn byte(&mut self, byte: u8) -> Framed {
        match byte {
            b'+' | b'-' if self.packet.is_empty() => return Framed::Whole(vec![byte]),
            b'$' => {}
            // The rest of a damaged packet.
            _ if self.packet.is_empty() => return Framed::Nothing,
            _ => {}
        }
        self.packet.push(byte);
        match self.end {
            None if byte == b'#' => self.end = Some(self.packet.len() - 1),
            None if self.packet.len() > PACKET_BYTES => return Framed::TooLong,
            Some(end) if self.packet.len() == end + 3 => return self.check(end),
            _ => {}
        }
        Framed::Nothing
    }

    fn check(&mut self, end: usize) -> Framed {
        let body = &self.packet[1..end];
        let sum = body.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        let given = std::str::from_utf8(&self.packet[end + 1..]).unwrap_or_default();
        let plain = given.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !plain || u8::from_str_radix(given, 16) != Ok(sum) {
            return self.damaged();
        }
        self.without_acks |= body == NO_ACKS;
        self.end = None;
        Framed::Whole(std::mem::take(&mut self.packet))
    }

    fn damaged(&mut self) -> Framed {
        self.packet.clear();
        self.end = None;
        Framed::Damaged {
            tell: !self.without_acks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: &[Framed]) {
        let mut framing = Framing::default();
        let all = bytes.iter().map(|byte| framing.byte(*byte));
        let told: Vec<_> = all.filter(|framed| *framed != Framed::Nothing).collect();
        assert_eq!(told, expected, "{}", String::from_utf8_lossy(bytes));
    }

    #[test]
    fn packets_come_whole_or_not_at_all() {
        let whole = |text: &str| Framed::Whole(text.into());
        let damaged = || Framed::Damaged { tell: true };
        check(b"+$?#3f-", &[whole("+"), whole("$?#3f"), whole("-")]);
        check(b"$?#3F", &[whole("$?#3F")]);
        check(b"$?#00$?#3f", &[damaged(), whole("$?#3f")]);
        check(b"$?#+f$#00", &[damaged(), whole("$#00")]);
        check(b"$g", &[]);
        let quiet = "$QStartNoAckMode#b0";
        let silent = Framed::Damaged { tell: false };
        check(format!("{quiet}$?#00").as_bytes(), &[whole(quiet), silent]);
        let mut long = vec![b'$'];
        long.resize(PACKET_BYTES + 1, b'x');
        check(&long, &[Framed::TooLong]);
    }
}
