//! Probes and frames of EMP.

use defs::emp::frame::Kind;
use defs::emp::probe::{Event, Side, Third};
use emulator::observe::event::FrameHead;

use lanigon_worlds::faults::EmpFrame;

use super::MessageName;

/// A probe of EMP's firmware that names a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedEmpProbe {
    /// The probe.
    pub event: Event,
    /// Message that the probe names.
    pub message: MessageName,
    /// The third argument; [`Event::third`] says what it is.
    pub third: u32,
}

impl DecodedEmpProbe {
    /// The frame that the probe is about.
    #[must_use]
    pub fn frame(&self) -> Option<u16> {
        (self.event.third() == Third::FrameNumber).then_some(self.third as u16)
    }

    /// The probe in the form that all protocols share.
    #[must_use]
    pub fn general(&self) -> super::DecodedProbe {
        super::DecodedProbe {
            message: self.message,
            frame: self.frame(),
            begins: self.event == Event::PostTransmit,
        }
    }
}

/// Decodes a probe that the firmware of `node` passed; `None` if it names no message.
#[must_use]
pub fn said(node: u16, probe: &str, arguments: &[u32]) -> Option<DecodedEmpProbe> {
    let event = Event::from_name(probe)?;
    let &[peer, id, third] = arguments else {
        return None;
    };
    let peer = u16::try_from(peer).ok()?;
    let id = u16::try_from(id).ok()?;
    let (from, to) = match event.side() {
        Side::Sender => (node, peer),
        Side::Receiver => (peer, node),
        Side::Posting => return None,
    };
    Some(DecodedEmpProbe {
        event,
        message: MessageName {
            from,
            to,
            stream: 0,
            id,
        },
        third,
    })
}

/// A frame of EMP and the message that it belongs to, or acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedFrame {
    /// The kind of frame.
    pub kind: Kind,
    /// Message that the frame belongs to, or acknowledges.
    pub message: MessageName,
    /// The number of the frame, or of the frame that it acknowledges.
    pub frame: u16,
}

impl DecodedFrame {
    /// The kind in words.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self.kind {
            Kind::Void => "void frame",
            Kind::Header => "header frame",
            Kind::Data => "data frame",
            Kind::Ack => "ack",
            Kind::Nack => "nack",
            Kind::Gap => "gap",
        }
    }

    /// The head in the form that all protocols share.
    #[must_use]
    pub const fn general(&self) -> super::DecodedHead {
        super::DecodedHead {
            name: self.name(),
            message: self.message,
            frame: Some(self.frame),
            posted: true,
        }
    }
}

/// The EMP header in a frame's head.
#[must_use]
pub fn header(head: &FrameHead) -> Option<EmpFrame> {
    let mut bytes = [0; 4 * 9];
    for (bytes, word) in bytes.chunks_exact_mut(4).zip(head) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    EmpFrame::parse(&bytes)
}

/// The message of a frame from `from` to `to` with this header.
#[must_use]
pub const fn message_of(says: &EmpFrame, from: u16, to: u16) -> MessageName {
    let (from, to) = match says.kind {
        Kind::Ack | Kind::Nack | Kind::Gap => (to, from),
        Kind::Void | Kind::Header | Kind::Data => (from, to),
    };
    MessageName {
        from,
        to,
        stream: 0,
        id: says.message,
    }
}

/// Decodes a frame's head; `None` if it is no frame of EMP to a node of the run.
#[must_use]
pub fn seen(head: &FrameHead) -> Option<DecodedFrame> {
    let says = header(head)?;
    Some(DecodedFrame {
        kind: says.kind,
        message: message_of(&says, says.from, says.to?),
        frame: says.frame,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use defs::emp::frame::{ETHERTYPE, WORD_TYPE_KIND};

    #[test]
    fn probes_name_messages() {
        let check = |probe: &str, expected: Option<(u16, u16, Option<u16>)>| {
            let said = said(7, probe, &[2, 18, 3]);
            let found = said.map(|said| (said.message.from, said.message.to, said.frame()));
            assert_eq!(found, expected, "{probe}");
        };
        check("post transmit", Some((7, 2, None)));
        check("frame sent", Some((7, 2, Some(3))));
        check("frame matched", Some((2, 7, Some(3))));
        check("receive complete", Some((2, 7, None)));
        check("post receive", None);
        check("of another firmware", None);
        assert_eq!(said(7, "frame sent", &[2, 18]), None);
        assert_eq!(said(7, "frame sent", &[2, 65_536, 0]), None);
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
        let check = |kind, from| {
            let seen = seen(&head(kind)).unwrap();
            assert_eq!(
                (seen.kind, seen.message.from, seen.message.id),
                (kind, from, 18)
            );
            assert_eq!(seen.frame, 3);
        };
        check(Kind::Header, 2);
        check(Kind::Data, 2);
        check(Kind::Ack, 5);
        let mut foreign = head(Kind::Data);
        foreign[WORD_TYPE_KIND] = 0x0800_0000;
        assert_eq!(seen(&foreign), None);
    }
}
