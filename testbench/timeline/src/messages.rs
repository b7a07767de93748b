//! The message of an event, from EMP's probes and frames.

use std::collections::BTreeMap;

use defs::emp::frame::{ETHERTYPE, Kind, WORD_FRAME_EPOCH, WORD_SOURCE_MESSAGE, WORD_TYPE_KIND};
use emulator::observe::event::FrameHead;

use lanigon_worlds::nodes::node_of;

/// A message. Identifiers are per pair of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// Node that sends it.
    pub source: u16,
    /// Node that receives it.
    pub destination: u16,
    /// Identifier.
    pub id: u16,
}

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "msg {}:{}:{}", self.source, self.destination, self.id)
    }
}

/// Contents of an event probe of EMP's firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// The message.
    pub message: Message,
    /// The frame of the message, if the probe concerns one.
    pub frame: Option<u32>,
    /// The message begins here.
    pub begins: bool,
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.frame {
            Some(frame) => write!(f, "{} frag {frame}", self.message),
            None => self.message.fmt(f),
        }
    }
}

/// Interprets a probe of `node`; `None` if it does not concern a message.
pub fn said(node: u16, probe: &str, arguments: &[u32]) -> Option<Said> {
    let &[peer, id, number] = arguments else {
        return None;
    };
    // Whether this node sends the message, and whether the number is a frame's.
    let (is_source, is_frame) = match probe {
        "post transmit" | "transmit complete" | "retransmit" => (true, false),
        "frame sent" | "ack received" | "nack received" => (true, true),
        "frame matched" | "frame dropped" | "ack sent" | "nack sent" => (false, true),
        "receive complete" => (false, false),
        _ => return None,
    };
    let peer = peer as u16;
    let (source, destination) = if is_source {
        (node, peer)
    } else {
        (peer, node)
    };
    Some(Said {
        message: Message {
            source,
            destination,
            id: id as u16,
        },
        frame: is_frame.then_some(number),
        begins: probe == "post transmit",
    })
}

/// An EMP frame on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenFrame {
    /// Kind.
    pub kind: Kind,
    /// The message; an ack travels in the opposite direction.
    pub message: Message,
    /// Number of the frame, or of the acknowledged one.
    pub number: u32,
}

impl SeenFrame {
    /// Name of the frame's kind.
    pub const fn name(&self) -> &'static str {
        match self.kind {
            Kind::Void => "void frame",
            Kind::Header => "header frame",
            Kind::Data => "data frame",
            Kind::Ack => "ack",
            Kind::Nack => "nack",
        }
    }
}

impl std::fmt::Display for SeenFrame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} frag {}", self.message, self.number)
    }
}

/// Interprets a frame's head; `None` if the frame is not an EMP frame.
pub fn seen(head: &FrameHead) -> Option<SeenFrame> {
    let word = head[WORD_TYPE_KIND];
    if word >> 16 != u32::from(ETHERTYPE) {
        return None;
    }
    let [a, b, c, d] = head[0].to_be_bytes();
    let [e, f, ..] = head[1].to_be_bytes();
    let to = node_of([a, b, c, d, e, f])?;
    let (from, id) = halves(head[WORD_SOURCE_MESSAGE]);
    let kind = Kind::from_word(word)?;
    let (source, destination) = match kind {
        Kind::Ack | Kind::Nack => (to, from),
        Kind::Void | Kind::Header | Kind::Data => (from, to),
    };
    Some(SeenFrame {
        kind,
        message: Message {
            source,
            destination,
            id,
        },
        number: halves(head[WORD_FRAME_EPOCH]).0.into(),
    })
}

const fn halves(word: u32) -> (u16, u16) {
    ((word >> 16) as u16, word as u16)
}

/// Numbers of the messages' flows. Identifiers repeat: each posted message has its own flow.
#[derive(Debug, Default)]
pub struct Flows {
    last: u64,
    of: BTreeMap<Message, u64>,
}

impl Flows {
    /// Starts a flow for a posted message.
    pub fn begin(&mut self, message: Message) {
        self.last += 1;
        self.of.insert(message, self.last);
    }

    /// The flow of a message, if its post was recorded.
    pub fn of(&self, message: Message) -> Option<u64> {
        self.of.get(&message).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_name_messages() {
        let check = |probe: &str, expected: Option<(u16, u16, Option<u32>)>| {
            let said = said(7, probe, &[2, 18, 3]);
            let found =
                said.map(|said| (said.message.source, said.message.destination, said.frame));
            assert_eq!(found, expected, "{probe}");
        };
        check("post transmit", Some((7, 2, None)));
        check("frame sent", Some((7, 2, Some(3))));
        check("frame matched", Some((2, 7, Some(3))));
        check("receive complete", Some((2, 7, None)));
        check("post receive", None);
        check("of somebody else", None);
        assert_eq!(said(7, "frame sent", &[2, 18]), None);
    }

    #[test]
    fn heads_name_messages() {
        let word = |kind: Kind| u32::from(ETHERTYPE) << 16 | (kind as u32) << 12;
        let head = |kind| {
            [
                0x024C_616E,
                0x0005_024C,
                0x616E_0002,
                word(kind),
                2 << 16 | 18,
                3 << 16,
                0,
                1 << 16 | 4,
                0,
            ]
        };
        let check = |kind, source| {
            let seen = seen(&head(kind)).unwrap();
            assert_eq!(
                (seen.kind, seen.message.source, seen.message.id),
                (kind, source, 18)
            );
            assert_eq!(seen.number, 3);
        };
        check(Kind::Header, 2);
        check(Kind::Data, 2);
        check(Kind::Ack, 5);
        let mut foreign = head(Kind::Data);
        foreign[WORD_TYPE_KIND] = 0x0800_0000;
        assert_eq!(seen(&foreign), None);
    }
}
