//! Which message an event is about, as EMP's firmware and frames say it.

use std::collections::BTreeMap;

use defs::emp::frame::{ETHERTYPE, Kind, WORD_FRAME_EPOCH, WORD_SOURCE_MESSAGE, WORD_TYPE_KIND};
use emulator::observe::event::FrameHead;

use lanigon_worlds::nodes::node_of;

/// A message: each pair of nodes counts its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// Who sends it.
    pub source: u16,
    /// Who receives it.
    pub destination: u16,
    /// Its identifier.
    pub id: u16,
}

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "msg {}:{}:{}", self.source, self.destination, self.id)
    }
}

/// What an event probe of EMP's firmware says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// About this message.
    pub message: Message,
    /// ... and this frame of it, where it is about one.
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

/// Reads a probe that the firmware of `node` passed; `None` if it says nothing of a message.
pub fn said(node: u16, probe: &str, arguments: &[u32]) -> Option<Said> {
    let &[peer, id, number] = arguments else {
        return None;
    };
    // Which node sends the message; whether the number is a frame's.
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

/// A frame of EMP as it is seen on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenFrame {
    /// What it is.
    pub kind: Kind,
    /// The message that it is about; an ack goes the other way.
    pub message: Message,
    /// The frame that it is or acknowledges.
    pub number: u32,
}

impl SeenFrame {
    /// What it is called.
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

/// Reads a frame's head; `None` if it is not EMP's.
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

/// The number of each message's flow. Identifiers come again: a message that is posted has a flow of its own.
#[derive(Debug, Default)]
pub struct Flows {
    last: u64,
    of: BTreeMap<Message, u64>,
}

impl Flows {
    /// The message is posted.
    pub fn begin(&mut self, message: Message) {
        self.last += 1;
        self.of.insert(message, self.last);
    }

    /// Its flow, if its post was seen.
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
