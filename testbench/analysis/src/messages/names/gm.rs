//! Probes, packets and calls of GM.

use defs::gm::packet::HEADER_BYTES;
use defs::gm::probe::Event;
use emulator::observe::event::FrameHead;
use lanigon_worlds::faults::GmPacket;
use lanigon_worlds::gm::Call;

use super::{DecodedHead, DecodedProbe, MessageName};

/// The header in a packet's head; `None` if it is no packet of GM.
#[must_use]
pub fn header(head: &FrameHead) -> Option<GmPacket> {
    const _: () = assert!(HEADER_BYTES <= 4 * 9);
    GmPacket::read(|offset| head[offset as usize / 4])
}

/// Decodes a probe that the firmware of `node` passed; `None` if it names no message.
#[must_use]
pub fn said(node: u16, probe: &str, arguments: &[u32]) -> Option<DecodedProbe> {
    let event = Event::from_name(probe)?;
    let &[number, sequence] = arguments else {
        return None;
    };
    let peer = u16::try_from(number >> 1).ok()?;
    let (from, to) = match event.is_receivers() {
        true => (peer, node),
        false => (node, peer),
    };
    // An answer names the packet behind the last one that has arrived.
    let id = match event.is_answer() {
        true => (sequence as u16).wrapping_sub(1),
        false => sequence as u16,
    };
    Some(DecodedProbe {
        message: MessageName {
            from,
            to,
            stream: (number & 1) as u8,
            id,
        },
        frame: None,
        begins: event == Event::TokenTaken,
    })
}

/// Decodes a packet's head; `None` if it is no packet of GM with a sequence number.
#[must_use]
pub fn seen(head: &FrameHead) -> Option<DecodedHead> {
    let header = header(head)?;
    let id = header.sequence as u16;
    let (from, to, id) = match header.is_answer() {
        true => (header.target, header.sender, id.wrapping_sub(1)),
        false => (header.sender, header.target, id),
    };
    Some(DecodedHead {
        name: header.name(),
        message: MessageName {
            from,
            to,
            stream: header.priority,
            id,
        },
        frame: None,
        posted: header.is_data() || header.is_answer(),
    })
}

/// Whether a call sends a message.
#[must_use]
pub fn posts(call: &str) -> bool {
    matches!(Call::read(call), Some(Call::Send { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use defs::gm::packet::{DATA, NACK, first_word};

    fn head(subtype: u32, priority: u32) -> FrameHead {
        let lengths = match subtype {
            NACK => 0,
            _ => 100 << 16 | (2 << 1 | priority) << 8 | 4,
        };
        let connections = (3 << 1 | priority) << 16 | 7 << 1 | priority;
        let first = first_word(subtype);
        [first, 7, 0x0001_0005, lengths, 3, connections, 0, 0, 0]
    }

    #[test]
    fn probes_name_messages() {
        let check = |probe: &str, expected: Option<(u16, u16, u16)>| {
            let said = said(7, probe, &[2 << 1 | 1, 0x0001_0012]);
            let found = said.map(|said| (said.message.from, said.message.to, said.message.id));
            assert_eq!(found, expected, "{probe}");
            assert!(said.is_none_or(|said| said.message.stream == 1));
        };
        check("gm token taken", Some((7, 2, 0x12)));
        check("gm packet received", Some((2, 7, 0x12)));
        check("gm ack sent", Some((2, 7, 0x11)));
        check("gm ack received", Some((7, 2, 0x11)));
        check("frame sent", None);
        assert_eq!(said(7, "gm packet sent", &[2]), None);
    }

    #[test]
    fn heads_name_messages() {
        let name = |subtype, priority| {
            seen(&head(subtype, priority)).map(|seen| (seen.name, seen.message))
        };
        let message = |from, to, stream, id| MessageName {
            from,
            to,
            stream,
            id,
        };
        assert_eq!(
            name(DATA + 7, 1),
            Some(("data packet", message(3, 7, 1, 5)))
        );
        assert_eq!(name(NACK, 0), Some(("NACK", message(7, 3, 0, 4))));
        assert_eq!(name(NACK + 9, 0), None);
    }
}
