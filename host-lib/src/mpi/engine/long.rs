//! Long messages: the receiver prepares memory, then the bytes go there.
//!
//! A process without memory that its board can use, such as one whose page table is full, tells the other one: the send and
//! the receive end with [`MpiError::NoMemory`] instead of a wait for nothing.

use super::super::communicator::COLLECTIVE;
use super::super::envelope::{Envelope, EnvelopeKind, MessageLabel};
use super::super::error::{MpiError, Partner};
use super::super::transport::{Delivery, Transport};
use super::{DelayedPost, Engine, Landing, Offer, OutgoingPacket, RequestState, SENT, SendTarget};

/// A packet without a message: about the send or the memory with a name.
fn about(
    to: usize,
    kind: EnvelopeKind,
    (length, send, landing): (u32, u32, u64),
) -> OutgoingPacket {
    let label = MessageLabel {
        context: 0,
        source: 0,
        tag: 0,
    };
    OutgoingPacket {
        to,
        delivery: Delivery::Quiet,
        envelope: Envelope {
            kind,
            mark: 0,
            label,
            length,
            send,
            landing,
        },
        content: Vec::new(),
    }
}

impl SendTarget {
    /// The receiver of messages with a label.
    pub(super) fn new(member: usize, label: &MessageLabel) -> Self {
        Self {
            rank: member,
            tag: tag_of(label),
        }
    }
}

/// The tag of a program; collective operations have none.
fn tag_of(label: &MessageLabel) -> Option<i32> {
    (label.context & COLLECTIVE == 0).then_some(label.tag)
}

impl<T: Transport> Engine<T> {
    /// Prepares memory for a long message, and tells its sender.
    pub(super) async fn accept(
        &mut self,
        request: u32,
        label: MessageLabel,
        offer: Offer,
    ) -> Result<(), MpiError> {
        let Offer {
            from,
            mark,
            send,
            length,
        } = offer;
        let (kind, landing) = match self.transport.land(from, length).await {
            Ok(landing) => {
                let place = Landing {
                    request,
                    label,
                    mark,
                };
                self.landings.insert(landing, place);
                (EnvelopeKind::ClearToSend, landing)
            }
            Err(error) => {
                self.end(request, error.into());
                (EnvelopeKind::Refused, 0)
            }
        };
        self.post_later(about(from, kind, (0, send, landing))).await
    }

    /// Begins to send a long message into its receiver's memory; `false` if there is no room in the network.
    pub(super) async fn transfer(
        &mut self,
        to: usize,
        send: u32,
        landing: u64,
    ) -> Result<bool, MpiError> {
        let Some(RequestState::Asking { target, bytes }) = self.requests.get(&send) else {
            return Ok(true);
        };
        let (target, length) = (*target, bytes.len() as u32);
        match self.transport.transfer(to, landing, bytes).await {
            Ok(None) => return Ok(false),
            Ok(Some(transfer)) => {
                self.transfers.insert(transfer, send);
                self.requests
                    .insert(send, RequestState::Transferring(target));
            }
            Err(error) => {
                self.end(send, error.into());
                let packet = about(to, EnvelopeKind::Withdrawn, (length, send, landing));
                self.waiting.push_back(DelayedPost::Packet(packet));
            }
        }
        Ok(true)
    }

    /// The receiver of a long message has no memory for it.
    pub(super) fn refused(&mut self, send: u32) {
        if let Some(RequestState::Asking { target, bytes }) = self.requests.get(&send) {
            let (rank, bytes) = (target.rank, bytes.len());
            self.end(send, MpiError::NoMemory { rank, bytes });
        }
    }

    /// The sender of a long message has no memory for it.
    pub(super) fn withdrawn(&mut self, landing: u64, length: u32) {
        if let Some(place) = self.landings.remove(&landing) {
            let (rank, bytes) = (place.label.source as usize, length as usize);
            self.end(place.request, MpiError::NoMemory { rank, bytes });
        }
    }

    /// A long message has come.
    pub(super) fn landed(&mut self, landing: u64, bytes: Vec<u8>) {
        if let Some(place) = self.landings.remove(&landing) {
            self.received(place.request, &place.label, place.mark, bytes);
        }
    }

    /// A long message has gone.
    pub(super) fn transferred(&mut self, transfer: u64) {
        if let Some(send) = self.transfers.remove(&transfer) {
            self.requests.insert(send, RequestState::Done(Ok(SENT)));
        }
    }

    fn end(&mut self, request: u32, error: MpiError) {
        self.requests
            .insert(request, RequestState::Done(Err(error)));
    }

    /// The other process and the tag of the message of a request.
    pub(super) fn awaited(&self, request: u32) -> (Partner, Option<i32>) {
        if let Some(RequestState::Asking { target, .. } | RequestState::Transferring(target)) =
            self.requests.get(&request)
        {
            return (Partner::Receiver(target.rank), target.tag);
        }
        let mut landings = self.landings.values();
        if let Some(landing) = landings.find(|landing| landing.request == request) {
            let source = landing.label.source as usize;
            return (Partner::Sender(Some(source)), tag_of(&landing.label));
        }
        let found = self.matching.posted().find(|(_, id)| *id == request);
        found.map_or((Partner::Several, None), |(pattern, _)| {
            let source = pattern.source.map(|source| source as usize);
            let tag = pattern.tag.filter(|_| pattern.context & COLLECTIVE == 0);
            (Partner::Sender(source), tag)
        })
    }
}
