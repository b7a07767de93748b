//! vhost-user: a device of a guest whose back end is here.
//!
//! The guest connects, agrees on features, shares its memory and says where its queues are. Notifications are in-band: a guest that has put
//! requests into a queue sends a message, and goes on when that is acknowledged; a back end that has answered sends a message on a channel
//! of its own, and the guest acknowledges it.

use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use crate::calendar::is_gone;
use crate::memory::{MappedMemory, MemoryRegion};
use crate::ring::Virtqueue;
use crate::{GuestError, Violation};

/// Queues of a device.
pub const RINGS: usize = 2;
/// Bytes of a message's head: kind, flags, length of what follows.
pub const HEAD_BYTES: usize = 12;
/// Most bytes that follow.
const MOST_BYTES: u32 = 4096;
/// Most file descriptors of a message.
const MOST_FILES: usize = 8;
/// Bytes of a piece of memory in a message.
const REGION_BYTES: usize = 32;

/// Flags of a head: the version, and whether it is an answer or needs one.
const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;

/// Features: virtio 1, and protocol features.
const FEATURES: u64 = 1 << 32 | 1 << 30;
/// Protocol features: acknowledgments, a channel of the back end, in-band notifications. The last is what makes a run repeat.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 14;

/// Kinds of messages, by the numbers of the vhost-user protocol.
const GET_FEATURES: u32 = 1;
const SET_FEATURES: u32 = 2;
const SET_OWNER: u32 = 3;
const SET_MEM_TABLE: u32 = 5;
const SET_VRING_NUM: u32 = 8;
const SET_VRING_ADDR: u32 = 9;
const SET_VRING_BASE: u32 = 10;
const GET_PROTOCOL_FEATURES: u32 = 15;
const SET_PROTOCOL_FEATURES: u32 = 16;
const SET_VRING_ENABLE: u32 = 18;
const SET_BACKEND_CHANNEL: u32 = 21;
const VRING_KICK: u32 = 35;
/// The message of the back end that a queue has answers.
const VRING_CALL: u32 = 4;

/// A message of a guest.
#[derive(Debug)]
pub enum VhostMessage {
    /// Asks for the features.
    GetFeatures,
    /// Asks for the protocol features.
    GetProtocolFeatures,
    /// Says what needs no attention: the owner, chosen features, a queue that is enabled.
    Note,
    /// Shares memory.
    Memory(Vec<MemoryRegion>),
    /// The number of entries of a queue.
    Entries(usize, u32),
    /// The number of requests taken from a queue before.
    Base(usize, u16),
    /// Addresses of a queue: descriptors, available and used entries.
    Addresses(usize, [u64; 3]),
    /// The channel of the back end.
    Channel(OwnedFd),
    /// A queue has requests.
    Kick(usize),
}

/// The head of a message.
#[derive(Debug, Clone, Copy)]
struct Head {
    request: u32,
    needs_reply: bool,
    length: u32,
}

impl Head {
    fn parse(bytes: [u8; HEAD_BYTES]) -> Result<Self, Violation> {
        let [request, flags, length] = words(&bytes);
        match length {
            0..=MOST_BYTES => Ok(Self {
                request,
                needs_reply: flags & NEED_REPLY != 0,
                length,
            }),
            _ => Err(Violation::Size(length)),
        }
    }
}

/// The first words; zeros where there are none.
fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// The first double words; zeros where there are none.
fn doubles<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut doubles = [0; N];
    for (double, bytes) in doubles.iter_mut().zip(bytes.as_chunks().0) {
        *double = u64::from_le_bytes(*bytes);
    }
    doubles
}

impl VhostMessage {
    /// Reads a message: its kind, what follows its head, and its files.
    ///
    /// # Errors
    /// If it is none that may come.
    pub fn parse(request: u32, payload: &[u8], mut files: Vec<OwnedFd>) -> Result<Self, Violation> {
        let needs = |needed: usize| match payload.len() {
            length if length < needed => Err(Violation::Payload {
                request,
                length,
                needed,
            }),
            _ => Ok(()),
        };
        let no_files = |needed| Violation::Files {
            request,
            found: 0,
            needed,
        };
        Ok(match request {
            GET_FEATURES => Self::GetFeatures,
            GET_PROTOCOL_FEATURES => Self::GetProtocolFeatures,
            SET_OWNER | SET_FEATURES | SET_PROTOCOL_FEATURES | SET_VRING_ENABLE => Self::Note,
            SET_MEM_TABLE => {
                needs(8)?;
                let [count] = words(payload);
                let needed = (count as usize).min(MOST_FILES + 1);
                if files.len() != needed {
                    return Err(Violation::Files {
                        request,
                        found: files.len(),
                        needed,
                    });
                }
                needs(8 + needed * REGION_BYTES)?;
                let pieces = payload[8..].chunks_exact(REGION_BYTES).zip(files);
                let piece = |(bytes, file)| {
                    // The third is the address in the guest's process.
                    let [address, length, _, offset] = doubles(bytes);
                    MemoryRegion {
                        address,
                        length,
                        offset,
                        file: File::from(file),
                    }
                };
                Self::Memory(pieces.map(piece).collect())
            }
            SET_VRING_NUM | SET_VRING_BASE => {
                needs(8)?;
                let [ring, value] = words(payload);
                match request {
                    SET_VRING_NUM => Self::Entries(ring_index(ring)?, value),
                    _ => Self::Base(ring_index(ring)?, value as u16),
                }
            }
            SET_VRING_ADDR => {
                needs(40)?;
                let [ring] = words(payload);
                let [_, descriptors, used, available] = doubles(payload);
                Self::Addresses(ring_index(ring)?, [descriptors, available, used])
            }
            SET_BACKEND_CHANNEL => Self::Channel(files.pop().ok_or(no_files(1))?),
            VRING_KICK => {
                needs(4)?;
                let [ring] = words(payload);
                Self::Kick(ring_index(ring)?)
            }
            other => return Err(Violation::Request(other)),
        })
    }
}

fn ring_index(ring: u32) -> Result<usize, Violation> {
    let index = ring as usize;
    (index < RINGS)
        .then_some(index)
        .ok_or(Violation::Queue(ring))
}

/// Message that a device has received.
#[derive(Debug)]
pub enum DeviceEvent {
    /// A message that the device has handled itself.
    Nothing,
    /// The guest has shared its memory.
    Memory,
    /// A queue has requests. The guest waits until that is acknowledged, if it is to be.
    Kick {
        /// The queue.
        ring: usize,
        /// Whether it is to be acknowledged.
        needs_reply: bool,
    },
    /// The guest has closed its end.
    Closed,
}

/// The back end of a virtio device.
#[derive(Debug)]
pub struct VhostDevice {
    socket: UnixStream,
    channel: Option<UnixStream>,
    /// The guest's memory.
    pub memory: MappedMemory,
    /// Queues of the device.
    pub rings: [Virtqueue; RINGS],
    /// The longest time that a peer may take for the rest of a message.
    patience: Duration,
}

impl VhostDevice {
    /// A device whose guest has connected.
    ///
    /// # Errors
    /// If the socket cannot be set up.
    pub fn new(socket: UnixStream, patience: Duration) -> io::Result<Self> {
        socket.set_read_timeout(Some(patience))?;
        Ok(Self {
            socket,
            channel: None,
            memory: MappedMemory::default(),
            rings: Default::default(),
            patience,
        })
    }

    /// The socket, to wait for messages.
    #[must_use]
    pub const fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// The channel of the back end, once the guest has given it.
    #[must_use]
    pub const fn channel(&self) -> Option<&UnixStream> {
        self.channel.as_ref()
    }

    /// Receives a message and does what it says.
    ///
    /// # Errors
    /// If it is none that may come.
    pub fn receive(&mut self) -> Result<DeviceEvent, GuestError> {
        let Some((head, files)) = self.receive_head()? else {
            return Ok(DeviceEvent::Closed);
        };
        let mut payload = vec![0; head.length as usize];
        self.socket.read_exact(&mut payload)?;
        let Head {
            request,
            needs_reply,
            ..
        } = head;
        let received = match VhostMessage::parse(request, &payload, files)? {
            VhostMessage::GetFeatures => return self.reply(request, FEATURES),
            VhostMessage::GetProtocolFeatures => return self.reply(request, PROTOCOL_FEATURES),
            VhostMessage::Kick(ring) => return Ok(DeviceEvent::Kick { ring, needs_reply }),
            VhostMessage::Note => DeviceEvent::Nothing,
            VhostMessage::Memory(regions) => {
                self.memory = MappedMemory::map(regions)?;
                DeviceEvent::Memory
            }
            VhostMessage::Entries(ring, entries) => {
                self.rings[ring].set_entries(entries)?;
                DeviceEvent::Nothing
            }
            VhostMessage::Base(ring, taken) => {
                self.rings[ring].set_taken(taken);
                DeviceEvent::Nothing
            }
            VhostMessage::Addresses(ring, [descriptors, available, used]) => {
                self.rings[ring].set_addresses(descriptors, available, used);
                DeviceEvent::Nothing
            }
            VhostMessage::Channel(file) => {
                let channel = UnixStream::from(file);
                channel.set_read_timeout(Some(self.patience))?;
                self.channel = Some(channel);
                DeviceEvent::Nothing
            }
        };
        if needs_reply {
            self.reply(request, 0)?;
        }
        Ok(received)
    }

    /// The head of the next message, and its files; `None` if the guest has closed its end.
    fn receive_head(&mut self) -> Result<Option<(Head, Vec<OwnedFd>)>, GuestError> {
        let mut bytes = [0; HEAD_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(
            &self.socket,
            &mut [IoSliceMut::new(&mut bytes)],
            &mut ancillary,
            flags,
        );
        let count = match received.map_err(io::Error::from) {
            Ok(received) => received.bytes,
            Err(error) if is_gone(&error) => 0,
            Err(error) => return Err(error.into()),
        };
        if count == 0 {
            return Ok(None);
        }
        let mut files = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                files.extend(rights);
            }
        }
        self.socket.read_exact(&mut bytes[count..])?;
        Ok(Some((Head::parse(bytes)?, files)))
    }

    /// Acknowledges that a queue has been looked at.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn acknowledge_kick(&mut self) -> Result<(), GuestError> {
        self.reply(VRING_KICK, 0).map(drop)
    }

    fn reply(&mut self, request: u32, value: u64) -> Result<DeviceEvent, GuestError> {
        let mut message = [0; HEAD_BYTES + 8];
        for (to, word) in message
            .as_chunks_mut()
            .0
            .iter_mut()
            .zip([request, VERSION | REPLY, 8])
        {
            *to = word.to_le_bytes();
        }
        message[HEAD_BYTES..].copy_from_slice(&value.to_le_bytes());
        send(&mut self.socket, &message)?;
        Ok(DeviceEvent::Nothing)
    }

    /// Tells the guest that a queue has answers; it acknowledges that on the [channel](Self::channel). False if there is no channel.
    ///
    /// # Errors
    /// If the channel fails.
    pub fn call(&mut self, ring: usize) -> io::Result<bool> {
        let Some(channel) = &mut self.channel else {
            return Ok(false);
        };
        let mut message = [0; HEAD_BYTES + 8];
        let words = [VRING_CALL, VERSION | NEED_REPLY, 8, ring as u32];
        for (to, word) in message.as_chunks_mut().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        send(channel, &message)?;
        Ok(true)
    }

    /// Takes the guest's acknowledgment of a call.
    ///
    /// # Errors
    /// If it refuses the call.
    pub fn call_acknowledged(&mut self) -> Result<(), GuestError> {
        let mut answer = [0; HEAD_BYTES + 8];
        if let Some(channel) = &mut self.channel {
            channel.read_exact(&mut answer)?;
        }
        match answer[HEAD_BYTES..] == [0; 8] {
            true => Ok(()),
            false => Err(Violation::Acknowledgment("a refusal of an interrupt".into()).into()),
        }
    }
}

/// Sends bytes. A guest that has closed its end will be found to have ended.
fn send(socket: &mut UnixStream, bytes: &[u8]) -> io::Result<()> {
    match socket.write_all(bytes) {
        Err(error) if is_gone(&error) => Ok(()),
        sent => sent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cases::cases;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::os::unix::net::UnixStream;

    /// A device, and the guest's end of its socket.
    fn device() -> (VhostDevice, UnixStream) {
        let (here, there) = UnixStream::pair().unwrap();
        let device = VhostDevice::new(here, Duration::from_millis(100)).unwrap();
        (device, there)
    }

    /// Kinds of messages, most of them known.
    fn request() -> impl Strategy<Value = u32> {
        prop_oneof![8 => 0..40_u32, 1 => any::<u32>()]
    }

    proptest! {
        #![proptest_config(cases(400))]

        /// Whatever comes, there is an answer or an error: one that says what was wrong, not that something is missing here.
        #[test]
        fn any_message_is_understood_or_refused(
            request in request(),
            flags in any::<u32>(),
            payload in vec(prop_oneof![0..4_u8, any::<u8>()], 0..100),
            lie in prop_oneof![9 => Just(0_u32), 1 => any::<u32>()],
        ) {
            let (mut device, mut guest) = device();
            let mut message = Vec::new();
            for word in [request, flags, payload.len() as u32 ^ lie] {
                message.extend(word.to_le_bytes());
            }
            message.extend(&payload);
            guest.write_all(&message).unwrap();
            drop(guest);
            match device.receive() {
                Ok(_) => {}
                Err(GuestError::Violation(error)) => prop_assert!(!error.to_string().is_empty()),
                // It ends in the middle.
                Err(GuestError::Io(error)) => prop_assert!(is_gone(&error), "{error}"),
                Err(other) => prop_assert!(false, "{other}"),
            }
        }

        /// Queues at any addresses, with any contents: no request is taken from outside of the memory.
        #[test]
        fn any_queue_is_served_or_refused(
            bytes in vec(prop_oneof![0..4_u8, any::<u8>()], 4096),
            entries in 0..12_u32,
            addresses in (any::<u64>(), 0..5000_u64, 0..5000_u64),
            near in any::<bool>(),
        ) {
            let file = tempfile::tempfile().unwrap();
            (&file).write_all(&bytes).unwrap();
            let region = MemoryRegion { address: 0, length: 4096, offset: 0, file };
            let memory = MappedMemory::map(vec![region]).unwrap();
            let mut ring = Virtqueue::default();
            let _ = ring.set_entries(1 << entries);
            let (first, available, used) = addresses;
            ring.set_addresses(if near { first % 5000 } else { first }, available, used);
            for _ in 0..20 {
                match ring.take_request(&memory) {
                    Ok(Some(request)) => {
                        let _ = crate::pci::DriverAccess::parse(&request.bytes);
                        let _ = ring.answer(&memory, &request, &[1, 2, 3, 4]);
                    }
                    Ok(None) | Err(_) => break,
                }
            }
        }
    }

    #[test]
    fn messages_that_were_not_offered_are_refused_by_name() {
        let refused = |request, payload: &[u8]| {
            VhostMessage::parse(request, payload, Vec::new()).unwrap_err()
        };
        assert_eq!(refused(24, &[0; 12]), Violation::Request(24));
        assert_eq!(refused(VRING_KICK, &[2, 0, 0, 0]), Violation::Queue(2));
        assert_eq!(
            refused(VRING_KICK, &[0]).to_string(),
            "vhost-user message 35 has 1 bytes instead of 4"
        );
        let pieces = [255, 255, 255, 255, 0, 0, 0, 0];
        assert_eq!(
            refused(SET_MEM_TABLE, &pieces).to_string(),
            "vhost-user message 5 has 0 file descriptors instead of 9"
        );
        assert_eq!(
            refused(SET_BACKEND_CHANNEL, &[]).to_string(),
            "vhost-user message 21 has 0 file descriptors instead of 1"
        );
    }
}
