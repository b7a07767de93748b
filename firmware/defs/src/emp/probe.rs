//! The probes of EMP's firmware: names, the side that passes them, and the meaning of their arguments.
//!
//! Firmware marks its code with [`Event::name`]; every tool that follows messages decodes a probe with
//! [`Event::from_name`]. The stages' names, and the probe of a stage that
//! found nothing to do, are in [`crate::probe`].

/// The side of a message that passes a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The message's sender: the first argument is the receiving node.
    Sender,
    /// The message's receiver: the first argument is the sending node.
    Receiver,
    /// No message: the host posted or cancelled a receive. The first argument is the node that it accepts.
    Posting,
}

/// Meaning of a probe's third argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Third {
    /// Number of a frame in its message, from 0.
    FrameNumber,
    /// Length of the message in bytes.
    LengthBytes,
    /// Capacity of the posted receive in bytes.
    CapacityBytes,
    /// Retries since the message's last progress; early waits are not counted.
    Retries,
    /// Completion code: [`Code`](super::descriptor::Code).
    Code,
    /// Tag that the receive accepts.
    Tag,
}

/// The table: variant, name, side, third argument, description.
macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $name:literal, $side:ident, $third:ident;)*) => {
        /// An event probe. Arguments: node, message identifier (its low 16 bits are those in frames), and
        /// [`third`](Self::third).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Event {
            $($(#[$doc])* $event,)*
        }

        impl Event {
            /// All event probes.
            pub const ALL: &[Self] = &[$(Self::$event),*];

            /// The name in the image and in traces.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$event => $name,)*
                }
            }

            /// The side of the message that passes the probe.
            #[must_use]
            pub const fn side(self) -> Side {
                match self {
                    $(Self::$event => Side::$side,)*
                }
            }

            /// The meaning of the third argument.
            #[must_use]
            pub const fn third(self) -> Third {
                match self {
                    $(Self::$event => Third::$third,)*
                }
            }

            /// The event probe with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$event,)*
                    _ => return None,
                })
            }
        }
    };
}

events! {
    /// A transmit was posted.
    PostTransmit = "post transmit", Sender, LengthBytes;
    /// A receive was posted; the second argument is the tag that it accepts.
    PostReceive = "post receive", Posting, CapacityBytes;
    /// A frame is on its way to the MAC.
    FrameSent = "frame sent", Sender, FrameNumber;
    /// A frame was matched with its message.
    FrameMatched = "frame matched", Receiver, FrameNumber;
    /// A frame was dropped.
    FrameDropped = "frame dropped", Receiver, FrameNumber;
    /// An ack is on its way; the frame is the last one of its group.
    AckSent = "ack sent", Receiver, FrameNumber;
    /// An ack was taken; the frame is the last one of its group.
    AckReceived = "ack received", Sender, FrameNumber;
    /// A timeout or a gap: unacknowledged groups are sent again.
    Retransmit = "retransmit", Sender, Retries;
    /// The status of a transmit was written.
    TransmitComplete = "transmit complete", Sender, Code;
    /// The status of a receive was written.
    ReceiveComplete = "receive complete", Receiver, Code;
    /// A nack is on its way.
    NackSent = "nack sent", Receiver, FrameNumber;
    /// A nack was taken.
    NackReceived = "nack received", Sender, FrameNumber;
    /// The host took a posted receive back; the second argument is zero.
    ReceiveCancelled = "receive cancelled", Posting, Tag;
    /// The report of a gap is on its way.
    GapSent = "gap sent", Receiver, FrameNumber;
    /// The report of a gap was taken.
    GapReceived = "gap received", Sender, FrameNumber;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for &event in Event::ALL {
            assert_eq!(Event::from_name(event.name()), Some(event));
        }
        assert_eq!(Event::from_name(crate::probe::NOTHING_TO_DO), None);
    }
}
