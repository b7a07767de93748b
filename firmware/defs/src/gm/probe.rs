//! The probes of GM's firmware.

/// An event probe. Arguments: connection's number, sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A send slot was taken.
    TokenTaken,
    /// The DMA of a packet from the host was started.
    ReadStarted,
    /// A packet was given to the sender.
    PacketSent,
    /// A packet was received in its turn.
    PacketReceived,
    /// An ack or nack was given to the sender.
    AckSent,
    /// An ack or nack was received.
    AckReceived,
    /// A connection is sent again.
    Resend,
    /// A packet was dropped.
    PacketDropped,
}

impl Event {
    /// All event probes.
    pub const ALL: [Self; 8] = [
        Self::TokenTaken,
        Self::ReadStarted,
        Self::PacketSent,
        Self::PacketReceived,
        Self::AckSent,
        Self::AckReceived,
        Self::Resend,
        Self::PacketDropped,
    ];

    /// The name in the image and in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenTaken => "gm token taken",
            Self::ReadStarted => "gm read started",
            Self::PacketSent => "gm packet sent",
            Self::PacketReceived => "gm packet received",
            Self::AckSent => "gm ack sent",
            Self::AckReceived => "gm ack received",
            Self::Resend => "gm resend",
            Self::PacketDropped => "gm packet dropped",
        }
    }

    /// The event probe with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Whether the receiver of the message passes it: the connection leads to the message's sender.
    #[must_use]
    pub const fn is_receivers(self) -> bool {
        matches!(
            self,
            Self::PacketReceived | Self::AckSent | Self::PacketDropped
        )
    }

    /// Whether the sequence number is that of the next packet that the receiver expects.
    #[must_use]
    pub const fn is_answer(self) -> bool {
        matches!(self, Self::AckSent | Self::AckReceived)
    }
}
