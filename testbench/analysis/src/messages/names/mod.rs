//! Decoders of single events: the message that a probe names by its arguments, a packet by its head, a call by its description. One table of the
//! protocols serves every tool.

pub mod emp;
pub mod gm;

use emulator::observe::event::FrameHead;

/// A message as probes and packets name it. Numbers come again after 65,536 messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageName {
    /// The sending node.
    pub from: u16,
    /// The receiving node.
    pub to: u16,
    /// Number of the stream, if the protocol has several between two nodes: GM's priority.
    pub stream: u8,
    /// The identifier in its packets: EMP's message number, GM's sequence number.
    pub id: u16,
}

impl std::fmt::Display for MessageName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.from, self.to, self.id)?;
        match self.stream {
            0 => Ok(()),
            stream => write!(f, " of stream {stream}"),
        }
    }
}

/// A probe that names a message, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedProbe {
    /// Message that the probe names.
    pub message: MessageName,
    /// The number of the frame, where a message has several.
    pub frame: Option<u16>,
    /// The message begins: the firmware has taken its post.
    pub begins: bool,
}

/// A packet's head that names a message, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedHead {
    /// The kind of packet in words.
    pub name: &'static str,
    /// The message that it belongs to, or acknowledges.
    pub message: MessageName,
    /// The number of the frame, where a message has several.
    pub frame: Option<u16>,
    /// Whether a host's post begins the message. Others begin with their packet: those of operations that boards execute.
    pub posted: bool,
}

/// The decoders of a protocol.
struct Protocol {
    /// Decodes a probe that the firmware of a node passed.
    said: fn(u16, &str, &[u32]) -> Option<DecodedProbe>,
    /// Decodes the head of a packet.
    seen: fn(&FrameHead) -> Option<DecodedHead>,
    /// Whether the call of a host program with this description posts a message. A protocol whose posts write a mailbox needs none.
    posts: fn(&str) -> bool,
}

/// All protocols: each has names and heads of its own.
const PROTOCOLS: [Protocol; 2] = [
    Protocol {
        said: |node, probe, arguments| Some(emp::said(node, probe, arguments)?.general()),
        seen: |head| Some(emp::seen(head)?.general()),
        posts: |_| false,
    },
    Protocol {
        said: gm::said,
        seen: gm::seen,
        posts: gm::posts,
    },
];

/// Decodes a probe that the firmware of `node` passed; `None` if it names no message.
#[must_use]
pub fn said(node: u16, probe: &str, arguments: &[u32]) -> Option<DecodedProbe> {
    let mut protocols = PROTOCOLS.iter();
    protocols.find_map(|protocol| (protocol.said)(node, probe, arguments))
}

/// Decodes a packet's head; `None` if it belongs to no message.
#[must_use]
pub fn seen(head: &FrameHead) -> Option<DecodedHead> {
    PROTOCOLS.iter().find_map(|protocol| (protocol.seen)(head))
}

/// Whether a call of a host program posts a message by itself.
#[must_use]
pub fn posts(call: &str) -> bool {
    PROTOCOLS.iter().any(|protocol| (protocol.posts)(call))
}
