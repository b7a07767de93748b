//! The host of the MyriAPI program of 1996: a mailbox in local memory with rings for frames
//! (docs/control-programs.md, section 2). Its steps, with the milestones that they reach:
//!
//! 1. `eeprom`: the chip is held in reset, the EEPROM gives address and size of memory.
//! 2. `loaded`: memory is cleared, the image written.
//! 3. `released`: address, burst sizes (0x3f: GUESS, only stored) and the mask of events (receive) are in the mailbox; interrupts are masked;
//!    the reset ends.
//! 4. `ready`: up to 25 times, 20 us apart, the host sets `shakedown`, raises WAKE and sets the channel's state to 1 unless it is; the state
//!    becomes 2. Linux's driver then gives up; this host says so and makes 200 further attempts, 500 us apart.
//! 5. The signal to the host may interrupt, 16 receive buffers are posted.
//! 6. `frame_taken`, within 200 ms: a frame of 100 bytes to the own address (two bytes 02 ab, then an Ethernet header) is in the send queue,
//!    and the program has advanced its index.
//! 7. `frame_received`, within 200 ms: it came back over the cable, each byte as sent.
//! 8. `longest_frame`: the same with 8432 bytes.
//!
//! The form of the destination in the send queue is not certain: tried in turn, with a remark, are two zero bytes and the address; once
//! more (the network may not have been mapped); Linux's form (ffff and the frame's first six bytes); all ones.

use super::adapter::{Adapter, Control};
use super::error::HostError;
use super::exchange::{self, Exchange};
use crate::address::MacAddress;
use crate::firmware::Firmware;
use crate::window::{System, VirtualAddress};

/// Layout of the mailbox. Words are big-endian; offsets count from [`layout::BASE`] unless they say otherwise.
pub mod layout {
    /// Local address of the mailbox.
    pub const BASE: u32 = 0x1_E000;
    /// The adapter's address: two zero bytes, then six of the EEPROM.
    pub const ADDRESS: u32 = BASE;
    /// Number of channels, written by the control program.
    pub const CHANNELS: u32 = BASE + 0x8;
    /// Burst sizes for DMA.
    pub const BURST: u32 = BASE + 0xC;
    /// The host asks for the handshake.
    pub const SHAKEDOWN: u32 = BASE + 0x10;
    /// The host has queued frames.
    pub const SEND: u32 = BASE + 0x14;
    /// Events that interrupt the host.
    pub const INTERRUPT_MASK: u32 = BASE + 0x18;
    /// First word of the first channel: its state.
    pub const STATE: u32 = BASE + 0x30;
    /// Send queue of the first channel: next entry that the host fills.
    pub const SEND_TAIL: u32 = STATE + 0x8;
    /// Send queue: next entry that the control program takes.
    pub const SEND_HEAD: u32 = STATE + 0xC;
    /// Send queue: entries.
    pub const SEND_ENTRIES: u32 = STATE + 0x18;
    /// Bytes of an entry of the send queue.
    pub const SEND_ENTRY_BYTES: u32 = 156;
    /// Number of entries of the send queue.
    pub const SEND_COUNT: u32 = 16;
    /// Queue of empty buffers: next one that the control program takes.
    pub const EMPTY_HEAD: u32 = STATE + 0x9D8;
    /// Queue of empty buffers: next entry that the host fills.
    pub const EMPTY_TAIL: u32 = EMPTY_HEAD + 4;
    /// Queue of empty buffers: entries.
    pub const EMPTY_ENTRIES: u32 = EMPTY_HEAD + 16;
    /// Queue of filled buffers: next one that the host takes.
    pub const FULL_HEAD: u32 = STATE + 0xEF4;
    /// Queue of filled buffers: next entry that the control program fills.
    pub const FULL_TAIL: u32 = FULL_HEAD + 4;
    /// Queue of filled buffers: entries.
    pub const FULL_ENTRIES: u32 = FULL_HEAD + 16;
    /// Bytes of an entry of the queues of buffers.
    pub const RECEIVE_ENTRY_BYTES: u32 = 76;
    /// Number of entries of the queues of buffers.
    pub const RECEIVE_COUNT: u32 = 17;
    /// Counters: received bytes, sent bytes, received messages, sent messages.
    pub const COUNTERS: u32 = STATE + 0x1410;

    /// Fields of an entry of the send queue: words before them are pairs of address and length.
    pub mod send {
        /// Number of pairs.
        pub const PAIRS: u32 = 128;
        /// Destination, four halves.
        pub const DESTINATION: u32 = 132;
        /// Channel.
        pub const CHANNEL: u32 = 140;
        /// Length of the frame.
        pub const LENGTH: u32 = 144;
        /// Offset for a checksum; all ones: none.
        pub const SUM_OFFSET: u32 = 148;
        /// Place for a checksum.
        pub const SUM_FIELD: u32 = 152;
    }

    /// Fields of an entry of the queues of buffers: words before them are pairs of address and length.
    pub mod receive {
        /// Length of the first pair.
        pub const LENGTH: u32 = 4;
        /// Checksum of the frame.
        pub const SUM: u32 = 64;
        /// The host's number of the buffer.
        pub const CONTEXT: u32 = 68;
        /// Number of pairs.
        pub const PAIRS: u32 = 72;
    }

    /// State of a channel: waits for the host.
    pub const WAITS_FOR_HOST: u32 = 0;
    /// State of a channel: waits for the network.
    pub const WAITS_FOR_NETWORK: u32 = 1;
    /// State of a channel: ready.
    pub const READY: u32 = 2;
}

use layout as at;

/// Milestones in order, of a host whose frames come back to it.
pub const MILESTONES: &[&str] = &[
    "eeprom",
    "loaded",
    "released",
    "ready",
    "frame_taken",
    "frame_received",
    "longest_frame",
];

/// Milestones in order, of a host that exchanges frames with others.
pub const EXCHANGE_MILESTONES: &[&str] = &[
    "eeprom",
    "loaded",
    "released",
    "ready",
    "frame_taken",
    "frame_received",
    "all_frames",
];

/// Longest frame, with two bytes in front of its header.
pub const LONGEST_BYTES: u32 = 8432;
/// Length of the first frame.
const FIRST_BYTES: u32 = 100;
/// Bytes of a receive buffer.
const BUFFER_BYTES: u32 = 8448;
/// Number of receive buffers: one entry of the queue stays empty.
const BUFFERS: u32 = at::RECEIVE_COUNT - 1;
/// The first bytes of each frame: their number and a mark.
pub(super) const PAD: [u8; 2] = [2, 0xAB];
/// Type of the test frames: Ethernet's configuration test.
const FRAME_TYPE: [u8; 2] = [0x90, 0x00];
/// Interrupt when a frame has arrived.
const INTERRUPT_ON_RECEIVE: u32 = 2;
/// Burst sizes that the host's bus allows: up to 32 bytes.
const BURSTS: u32 = 0x3F;
/// Attempts of the handshake in the Linux driver, and microseconds between them.
const ATTEMPTS: u32 = 25;
const ATTEMPT_US: u64 = 20;
/// Further attempts, at longer intervals.
const LATE_ATTEMPTS: u32 = 200;
const LATE_ATTEMPT_US: u64 = 500;
/// Time for a frame to come back.
pub(super) const FRAME_US: u64 = 200_000;

/// Forms of the destination of a send entry, in the order in which they are tried.
pub(super) const DESTINATIONS: [(&str, Destination); 4] = [
    ("the address", Destination::Address),
    ("the address again", Destination::Address),
    ("the form of the Linux driver", Destination::Linux),
    ("broadcast", Destination::Broadcast),
];

/// Form of the destination in an entry of the send queue.
#[derive(Debug, Clone, Copy)]
pub(super) enum Destination {
    /// Two zero bytes and the address.
    Address,
    /// Two bytes of ones and the first bytes of the frame.
    Linux,
    /// All ones.
    Broadcast,
}

impl Destination {
    /// The words of the destination for a frame.
    fn words(self, frame: &[u8]) -> [u32; 2] {
        let byte = |index: usize| frame.get(index).copied().unwrap_or(0);
        let bytes = |from: usize| [0, 1, 2, 3].map(|index| byte(from + index));
        match self {
            Self::Address => [
                u32::from_be_bytes([0, 0, byte(2), byte(3)]),
                u32::from_be_bytes(bytes(4)),
            ],
            Self::Linux => [
                u32::from_be_bytes([0xFF, 0xFF, byte(0), byte(1)]),
                u32::from_be_bytes(bytes(2)),
            ],
            Self::Broadcast => [!0; 2],
        }
    }
}

/// Loads the program and goes through its start; lets frames come back over a looped cable, or exchanges them with others.
///
/// # Errors
/// [`HostError`], at the milestone that is not reached.
pub async fn run(
    adapter: &mut Adapter,
    image: &Firmware,
    plan: &Exchange,
) -> Result<(), HostError> {
    adapter.load(image).await?;
    let mut host = Mailbox {
        transmit: VirtualAddress(0),
        transmit_bus: 0,
        buffers: Vec::new(),
        adapter,
    };
    host.start().await?;
    host.fill_rings().await?;
    if plan.peers.is_empty() {
        host.frame(FIRST_BYTES, "frame_received").await?;
        host.frame(LONGEST_BYTES, "longest_frame").await?;
    } else {
        exchange::run(&mut host, plan).await?;
    }
    host.counters().await;
    Ok(())
}

/// The host of a control program with a mailbox.
pub(super) struct Mailbox<'a> {
    pub(super) adapter: &'a mut Adapter,
    transmit: VirtualAddress,
    transmit_bus: u32,
    buffers: Vec<(VirtualAddress, u32)>,
}

/// The index behind this one in a ring.
const fn next(index: u32, count: u32) -> u32 {
    if index + 1 >= count { 0 } else { index + 1 }
}

impl Mailbox<'_> {
    /// From the reset to a ready channel.
    async fn start(&mut self) -> Result<(), HostError> {
        let adapter = &mut *self.adapter;
        let address = adapter.address();
        let words = [address.high(), address.low()];
        adapter.set_words(at::ADDRESS, &words).await;
        adapter.set_word(at::BURST, BURSTS).await;
        adapter
            .set_word(at::INTERRUPT_MASK, INTERRUPT_ON_RECEIVE)
            .await;
        adapter.release().await;
        let what = "the end of state \"ready\" after the reset";
        let changed = |state| state != at::READY;
        adapter
            .wait_for(at::STATE, changed, what, 50_000, false)
            .await?;
        let attempts = self.shake_hands().await?;
        let adapter = &mut *self.adapter;
        let channels = adapter.word(at::CHANNELS).await;
        adapter.milestone(
            "ready",
            format!("channel ready after {attempts} attempts, {channels} channels"),
        );
        adapter.enable_interrupt().await;
        Ok(())
    }

    /// Wakes the chip until the channel is ready; returns the number of attempts.
    async fn shake_hands(&mut self) -> Result<u32, HostError> {
        let mut attempts = 0;
        loop {
            self.wake(at::SHAKEDOWN).await;
            let state = self.adapter.word(at::STATE).await;
            if state == at::READY {
                return Ok(attempts);
            }
            attempts += 1;
            if state != at::WAITS_FOR_NETWORK {
                self.adapter
                    .set_word(at::STATE, at::WAITS_FOR_NETWORK)
                    .await;
            }
            if attempts == ATTEMPTS {
                let text =
                    "not ready after as many attempts as the Linux driver makes; more follow";
                self.adapter.remark(text.into());
            }
            if attempts == ATTEMPTS + LATE_ATTEMPTS {
                return Err(HostError::TimedOut {
                    what: "state \"ready\" of the channel",
                    timeout_us: u64::from(ATTEMPTS) * ATTEMPT_US
                        + u64::from(LATE_ATTEMPTS) * LATE_ATTEMPT_US,
                });
            }
            let pause_us = if attempts < ATTEMPTS {
                ATTEMPT_US
            } else {
                LATE_ATTEMPT_US
            };
            self.adapter.system.sleep(pause_us * 1000).await;
        }
    }

    /// Sets a flag of the mailbox and raises WAKE.
    async fn wake(&mut self, flag: u32) {
        self.adapter.set_word(flag, 1).await;
        self.adapter.control(Control::Wake).await;
    }

    /// Posts all receive buffers.
    async fn fill_rings(&mut self) -> Result<(), HostError> {
        let adapter = &mut *self.adapter;
        (self.transmit, self.transmit_bus) = adapter.memory(BUFFER_BYTES.into())?;
        adapter.set_words(at::EMPTY_HEAD, &[0, 0]).await;
        for index in 0..BUFFERS {
            let buffer = adapter.memory(BUFFER_BYTES.into())?;
            self.buffers.push(buffer);
            let entry = at::EMPTY_ENTRIES + index * at::RECEIVE_ENTRY_BYTES;
            adapter.set_words(entry, &[buffer.1, BUFFER_BYTES]).await;
            adapter
                .set_words(entry + at::receive::CONTEXT, &[index, 1])
                .await;
        }
        adapter.set_word(at::EMPTY_HEAD, 0).await;
        adapter.set_word(at::EMPTY_TAIL, BUFFERS).await;
        adapter.remark(format!("{BUFFERS} receive buffers posted"));
        Ok(())
    }

    /// Lets a frame come back, with each form of its destination in turn.
    async fn frame(&mut self, length: u32, milestone: &'static str) -> Result<(), HostError> {
        let frame = frame(self.adapter.address(), length);
        let mut result = Ok(());
        for (name, destination) in DESTINATIONS {
            // Late frames of earlier attempts do not count.
            let head = self.adapter.word(at::FULL_TAIL).await;
            self.adapter.set_word(at::FULL_HEAD, head).await;
            self.send(&frame, destination).await?;
            let came = |tail| tail != head;
            let what = "the frame on its way back";
            let tail = self
                .adapter
                .wait_for(at::FULL_TAIL, came, what, FRAME_US, true)
                .await;
            match tail {
                Ok(_) => {
                    self.receive(&frame).await?;
                    let signals = self.adapter.signals;
                    self.adapter.milestone(
                        milestone,
                        format!("frame of {length} bytes came back unchanged (destination: {name}; {signals} interrupts so far)"),
                    );
                    return Ok(());
                }
                Err(error) => {
                    self.adapter
                        .remark(format!("no frame came back (destination: {name})"));
                    result = Err(error);
                }
            }
        }
        result
    }

    /// Queues a frame, and waits until the control program has taken it.
    pub(super) async fn send(
        &mut self,
        frame: &[u8],
        destination: Destination,
    ) -> Result<(), HostError> {
        let adapter = &mut *self.adapter;
        // The buffer was allocated with room for the longest frame.
        let _ = adapter.system.write_memory(self.transmit, frame);
        let tail = adapter.word(at::SEND_TAIL).await % at::SEND_COUNT;
        let entry = at::SEND_ENTRIES + tail * at::SEND_ENTRY_BYTES;
        let length = (frame.len() as u32).next_multiple_of(4);
        adapter.set_words(entry, &[self.transmit_bus, length]).await;
        let [high, low] = destination.words(frame);
        adapter
            .set_words(
                entry + at::send::PAIRS,
                &[1, high, low, 0, length, u32::MAX, 0],
            )
            .await;
        let new_tail = next(tail, at::SEND_COUNT);
        adapter.set_word(at::SEND_TAIL, new_tail).await;
        self.wake(at::SEND).await;
        let what = "the consumption of the queued frame";
        let taken = |head| head == new_tail;
        self.adapter
            .wait_for(at::SEND_HEAD, taken, what, FRAME_US, true)
            .await?;
        let text = format!("frame of {length} bytes taken from the send queue");
        self.adapter.first_milestone("frame_taken", text);
        Ok(())
    }

    /// Takes a filled buffer and compares it with the frame.
    async fn receive(&mut self, frame: &[u8]) -> Result<(), HostError> {
        let found = self.next_frame().await?;
        compare(frame, &found.unwrap_or_default())
    }

    /// Takes a filled buffer, if there is one, and posts it again; returns its frame.
    pub(super) async fn next_frame(&mut self) -> Result<Option<Vec<u8>>, HostError> {
        let adapter = &mut *self.adapter;
        let head = adapter.word(at::FULL_HEAD).await % at::RECEIVE_COUNT;
        if adapter.word(at::FULL_TAIL).await == head {
            return Ok(None);
        }
        let entry = at::FULL_ENTRIES + head * at::RECEIVE_ENTRY_BYTES;
        let length_bytes = adapter.word(entry + at::receive::LENGTH).await;
        let index = adapter.word(entry + at::receive::CONTEXT).await;
        let new_head = next(head, at::RECEIVE_COUNT);
        adapter.set_word(at::FULL_HEAD, new_head).await;
        let Some(&(buffer, bus)) = self.buffers.get(index as usize) else {
            return Err(HostError::UnknownBuffer { index });
        };
        if length_bytes > BUFFER_BYTES {
            return Err(HostError::FrameLength { length_bytes });
        }
        let mut frame = vec![0; length_bytes as usize];
        let _ = adapter.system.read_memory(buffer, &mut frame);
        let tail = adapter.word(at::EMPTY_TAIL).await % at::RECEIVE_COUNT;
        let entry = at::EMPTY_ENTRIES + tail * at::RECEIVE_ENTRY_BYTES;
        adapter.set_words(entry, &[bus, BUFFER_BYTES]).await;
        adapter
            .set_words(entry + at::receive::CONTEXT, &[index, 1])
            .await;
        let new_tail = next(tail, at::RECEIVE_COUNT);
        adapter.set_word(at::EMPTY_TAIL, new_tail).await;
        Ok(Some(frame))
    }

    /// Records the control program's counters.
    async fn counters(&mut self) {
        let names = [
            "received_bytes",
            "sent_bytes",
            "received_messages",
            "sent_messages",
        ];
        for (name, address) in names.into_iter().zip((at::COUNTERS..).step_by(4)) {
            let value = self.adapter.word(address).await;
            self.adapter.value(name, value.into());
        }
    }
}

/// Two bytes and the header of a frame.
pub(super) fn header(to: MacAddress, from: MacAddress) -> Vec<u8> {
    let mut frame = PAD.to_vec();
    frame.extend(to.0);
    frame.extend(from.0);
    frame.extend(FRAME_TYPE);
    frame
}

/// Compares a frame with that which was sent.
pub(super) fn compare(sent: &[u8], found: &[u8]) -> Result<(), HostError> {
    if sent == found {
        return Ok(());
    }
    let differs = found.iter().zip(sent).position(|(a, b)| a != b);
    Err(HostError::FrameData {
        sent_bytes: sent.len() as u32,
        received_bytes: found.len() as u32,
        offset: differs.unwrap_or(found.len().min(sent.len())),
    })
}

/// A frame to the adapter's own address.
fn frame(own: MacAddress, length: u32) -> Vec<u8> {
    let mut frame = header(own, own);
    let filled = frame.len() as u32..length;
    frame.extend(filled.map(|index| (index.wrapping_mul(31) >> 3) as u8 ^ index as u8));
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_stand_where_the_program_has_them() {
        assert_eq!(at::SEND_HEAD, 0x1_E03C);
        assert_eq!(at::EMPTY_HEAD, 0x1_EA08);
        assert_eq!(at::FULL_HEAD, 0x1_EF24);
        let send_end = at::SEND_ENTRIES + at::SEND_COUNT * at::SEND_ENTRY_BYTES;
        assert_eq!(send_end, at::EMPTY_HEAD);
        let entries_bytes = at::RECEIVE_COUNT * at::RECEIVE_ENTRY_BYTES;
        assert_eq!(at::EMPTY_ENTRIES + entries_bytes, at::FULL_HEAD);
        assert_eq!(at::FULL_ENTRIES + entries_bytes, at::COUNTERS);
    }

    #[test]
    fn destinations() {
        let frame = frame(MacAddress([0, 0x60, 0xDD, 1, 2, 3]), 100);
        assert_eq!(frame.len(), 100);
        let check = |form: Destination, words| assert_eq!(form.words(&frame), words);
        check(Destination::Address, [0x60, 0xDD01_0203]);
        check(Destination::Linux, [0xFFFF_02AB, 0x0060_DD01]);
        check(Destination::Broadcast, [!0; 2]);
    }
}
