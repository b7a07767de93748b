//! Decoder of GM messages, from the events of a run or of a trace file.
//!
//! | event | assigned by |
//! |-------|-------------|
//! | probes of the firmware | connection and sequence number |
//! | packets that boards send and receive | head ([`Details::FRAMES`](emulator::observe::event::Details::FRAMES)) |
//! | reads by DMA | SRAM address, behind the header of the packet that is sent next from there |
//! | writes by DMA | SRAM address, in the buffer of the received packet |
//! | the host's send | the order of its sends to the node |
//! | the poll that reads the event | the order of the events of a port |

mod tracker;

use emulator::sim::time::SimTime;

use super::message::MessageId;
pub use tracker::Tracker;

/// A DMA transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketDma {
    /// SRAM address of the first byte.
    pub local: u32,
    /// Start.
    pub from: SimTime,
    /// End.
    pub to: Option<SimTime>,
}

/// One transmission of a message's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// The read of the payload from host memory; none without payload.
    pub read: Option<PacketDma>,
    /// The CPU gave the packet to the sender.
    pub sent: SimTime,
    /// Length in bytes, with route and header.
    pub length: u32,
}

/// The accepted reception of a message's packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketDelivery {
    /// The transmission that arrived.
    pub transmission: Transmission,
    /// The packet is in SRAM, and the firmware can detect it.
    pub received: SimTime,
    /// Length in bytes with check sequence, as received.
    pub length: u32,
    /// Address behind the packet.
    pub end: u32,
    /// The firmware accepted it.
    pub accepted: SimTime,
    /// Transfers of message and event to host memory.
    pub writes: Vec<PacketDma>,
    /// The poll that read the event.
    pub seen: Option<SimTime>,
    /// Return of that call.
    pub returned: Option<SimTime>,
}

/// A message with its recorded steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GmMessage {
    /// Identity.
    pub id: MessageId,
    /// Length in bytes.
    pub length: u32,
    /// Start of the host's call.
    pub call: Option<SimTime>,
    /// Return of the call.
    pub returned: Option<SimTime>,
    /// The firmware has taken the send slot.
    pub taken: SimTime,
    /// All transmissions.
    pub transmissions: Vec<Transmission>,
    /// Times at which its connection was sent again while it was not acknowledged.
    pub resends: Vec<SimTime>,
    /// The accepted reception.
    pub delivery: Option<PacketDelivery>,
    /// Time at which the ack came.
    pub acknowledged: Option<SimTime>,
}

impl GmMessage {
    /// Description of its end.
    #[must_use]
    pub const fn end(&self) -> &'static str {
        match (&self.delivery, self.acknowledged) {
            (Some(_), Some(_)) => "Completed",
            (Some(_), None) => "delivered, not acknowledged",
            (None, _) => "unfinished",
        }
    }
}

/// A step of a CPU that a probe marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Time of the mark.
    pub time: SimTime,
    /// Index of the message whose packet it is about; `None`: an ack, or another message.
    pub message: Option<usize>,
}

/// All messages, and the steps of all CPUs.
#[derive(Debug, Default)]
pub struct GmMessages {
    /// The messages, in the order of their posts.
    pub messages: Vec<GmMessage>,
    /// Steps of each node's CPU, in order.
    pub marks: std::collections::BTreeMap<u16, Vec<Mark>>,
}
