//! Messages between clients and the server: requests and answers.

use std::collections::BTreeMap;

use host_lib::gm::atomic::Wait;
use host_lib::gm::collective::Endpoint;
use host_lib::gm::{
    Buffer, Event, Gm, Priority, ReceivedMessage, SendId, SendRequest, Status, size_for,
};
use host_lib::window::{System, VirtualAddress};

use super::FilePlan;
use lanigon_worlds::emp::text;

/// Bytes of a message before the data.
const HEAD_BYTES: u32 = 12;
/// Send buffers.
const SENDS: u32 = 32;
/// Most receive buffers.
const MOST_RECEIVES: u32 = 64;

/// Kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Request: the region's data, unless it has this version.
    Read,
    /// Request: the region gets this data.
    Write,
    /// The client has ended.
    Done,
    /// Answer: the region has this version, with the data unless the client has it.
    Answer,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Done, Self::Answer];
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: Kind,
    pub(super) region: u32,
    pub(super) version: u32,
    pub(super) data: Vec<u8>,
}

impl Message {
    pub(super) const fn new(kind: Kind, region: u32, version: u32, data: Vec<u8>) -> Self {
        Self {
            kind,
            region,
            version,
            data,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let words = [self.kind as u32, self.region, self.version];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
        bytes.extend(&self.data);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, data) = bytes.split_first_chunk::<{ HEAD_BYTES as usize }>()?;
        let word = |at: usize| {
            let word = head.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_be_bytes(word))
        };
        let kind = *Kind::ALL.get(word(0)? as usize)?;
        Some(Self::new(kind, word(4)?, word(8)?, data.to_vec()))
    }
}

/// The messages of a node. The port is used for nothing else while it waits for one.
pub(super) struct Mailbox {
    size: u8,
    free: Vec<Buffer>,
    under_way: BTreeMap<SendId, Buffer>,
    /// Messages whose receive buffers the board does not have.
    taken: Vec<ReceivedMessage>,
    /// Time of its waits for events, in ps.
    pub(super) waited_ps: u64,
}

impl Mailbox {
    pub(super) async fn new(gm: &mut Gm, plan: &FilePlan) -> Result<Self, String> {
        let room = HEAD_BYTES + plan.settings.region_bytes;
        let size = size_for(room);
        let receives = match plan.place {
            0 => (2 * plan.nodes.len() as u32).min(MOST_RECEIVES),
            _ => 2,
        };
        let mut free = buffers(gm, SENDS + receives, room)?;
        for buffer in free.split_off(SENDS as usize) {
            gm.provide_receive_buffer(super::PORT, buffer, size, Priority::Low, 0)
                .await
                .map_err(text)?;
        }
        Ok(Self {
            size,
            free,
            under_way: BTreeMap::new(),
            taken: Vec::new(),
            waited_ps: 0,
        })
    }

    /// Sends a message. `copied`: its data is copied into the buffer; else the program has made it there.
    pub(super) async fn send(
        &mut self,
        gm: &mut Gm,
        to: Endpoint,
        message: &Message,
        copied: bool,
    ) -> Result<(), String> {
        let buffer = self.free.pop().ok_or("no buffer for a message")?;
        let bytes = message.bytes();
        let written = gm.system_mut().write_memory(buffer.address, &bytes);
        written.map_err(|_| "a send buffer is not mapped")?;
        let charged = match copied {
            true => bytes.len(),
            false => HEAD_BYTES as usize,
        };
        gm.system_mut().charge_copy(charged).await;
        let request = SendRequest {
            buffer: Buffer {
                address: buffer.address,
                length: bytes.len() as u32,
            },
            size: self.size,
            priority: Priority::Low,
            node: to.node,
            port: to.port,
        };
        let id = gm.send(super::PORT, request).await.map_err(text)?;
        self.under_way.insert(id, buffer);
        Ok(())
    }

    /// True if there is a buffer for another message.
    pub(super) const fn can_send(&self) -> bool {
        !self.free.is_empty()
    }

    /// Waits for an event; the message that it brings.
    pub(super) async fn event(
        &mut self,
        gm: &mut Gm,
        wait: Wait,
    ) -> Result<Option<(Endpoint, Message)>, String> {
        for message in self.taken.drain(..) {
            let event = Event::Received(message);
            gm.unknown(super::PORT, event).await.map_err(text)?;
        }
        let begin_ps = gm.system().now_ps();
        let event = wait.next(gm, super::PORT).await.map_err(text)?;
        self.waited_ps += gm.system().now_ps() - begin_ps;
        match event {
            Event::Received(message) => {
                let mut bytes = vec![0; message.length as usize];
                let read = gm.system().read_memory(message.message, &mut bytes);
                read.map_err(|_| "a receive buffer is not mapped")?;
                let from = Endpoint {
                    node: message.node,
                    port: message.port,
                };
                self.taken.push(message);
                let message = Message::from_bytes(&bytes);
                let message =
                    message.ok_or_else(|| format!("a damaged message of node {}", from.node))?;
                Ok(Some((from, message)))
            }
            Event::Sent(all) => {
                for (id, status) in all {
                    self.free.extend(self.under_way.remove(&id));
                    if status != Status::Success {
                        return Err(format!("a message failed: {}", status.name()));
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Waits until all messages have arrived.
    pub(super) async fn flush(&mut self, gm: &mut Gm) -> Result<(), String> {
        while !self.under_way.is_empty() {
            if self.event(gm, Wait::Poll).await?.is_some() {
                return Err("a message that nobody asked for".into());
            }
        }
        Ok(())
    }
}

/// Allocates buffers.
fn buffers(gm: &mut Gm, count: u32, room: u32) -> Result<Vec<Buffer>, String> {
    let step = host_lib::gm::capacity(size_for(room)).next_multiple_of(64);
    let all = gm.allocate_dma(step * count).map_err(text)?;
    let buffer = |place: u32| Buffer {
        address: VirtualAddress(all.address.0 + u64::from(place * step)),
        length: step,
    };
    Ok((0..count).map(buffer).collect())
}

/// Bytes of the buffers of a server's messages, of which no node has more.
pub(super) fn mailbox_bytes(region_bytes: u32) -> u64 {
    let step = host_lib::gm::capacity(size_for(HEAD_BYTES + region_bytes)).next_multiple_of(64);
    u64::from(step) * u64::from(SENDS + MOST_RECEIVES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_written() {
        for kind in Kind::ALL {
            let message = Message::new(kind, 7, 12, vec![1, 2, 3]);
            assert_eq!(Message::from_bytes(&message.bytes()), Some(message));
        }
        assert_eq!(Message::from_bytes(&[0; 11]), None);
        assert_eq!(Message::from_bytes(&[9; 12]), None);
    }
}
