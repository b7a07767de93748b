//! The probes of FM's firmware.

/// An event probe. Arguments: the header's word with target, sender and credits, and the word with handler and message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A packet was given to the sender, for its first destination.
    PacketSent,
    /// A packet was given to the sender again, for a further destination.
    CopySent,
    /// A packet was received; its DMA was started.
    PacketReceived,
    /// Explicit credits were received.
    CreditReceived,
    /// A received packet was dropped. Arguments: its length, its first word.
    PacketDropped,
}

impl Event {
    /// All event probes.
    pub const ALL: [Self; 5] = [
        Self::PacketSent,
        Self::CopySent,
        Self::PacketReceived,
        Self::CreditReceived,
        Self::PacketDropped,
    ];

    /// The name in the image and in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PacketSent => "fm packet sent",
            Self::CopySent => "fm copy sent",
            Self::PacketReceived => "fm packet received",
            Self::CreditReceived => "fm credit received",
            Self::PacketDropped => "fm packet dropped",
        }
    }
}
