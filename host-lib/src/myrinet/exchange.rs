//! Exchange of frames between adapters whose hosts have a mailbox.
//!
//! The form in which the control program expects the destination of a frame (`DESTINATIONS` of the mailbox) is not
//! certain. So a host *greets* each other one until it has heard it, with each form in turn, more than once: programs
//! map their network first, and drop what has no way yet. A frame says which form its sender has used, and which form
//! of the receiver's has arrived; so each host learns the form that works. Then each sends its next frame to another
//! host once the frames of that one have kept pace, so no queue runs over. Nothing is sent again: a lost frame ends the
//! exchange.

use super::error::HostError;
use super::mailbox::{DESTINATIONS, FRAME_US, Mailbox, PAD, header};
use crate::address::MacAddress;
use crate::window::System;

/// Length of a greeting. Any length from [`SHORTEST_BYTES`] on would do.
const GREETING_BYTES: u32 = 100;
/// Shortest frame: its header, the words of the exchange, and some contents.
pub const SHORTEST_BYTES: u32 = 64;
/// Offset of the sender's address in a frame.
const SOURCE: usize = PAD.len() + 6;
/// Silence after which a host gives up: each form of the destination was tried twice.
const SILENCE_US: u64 = 2 * DESTINATIONS.len() as u64 * FRAME_US;
/// Longest pause between two looks at the queues: less than a long frame takes on the wire.
const LOOK_NS: u64 = 20_000;

/// Plan of the frames that hosts with a mailbox send each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Addresses of the other adapters. If there are none, frames come back to their sender.
    pub peers: Vec<MacAddress>,
    /// Time of the first greetings, in nanoseconds since power-on.
    pub start_ns: u64,
    /// Frames to each of them.
    pub frames: u32,
    /// Lengths of the frames in bytes, in turn: multiples of 4 from [`SHORTEST_BYTES`] on.
    pub bytes: Vec<u32>,
}

impl Exchange {
    /// The length of a frame; frames count from 1, greetings are 0.
    fn length(&self, number: u32) -> u32 {
        let before = number.checked_sub(1);
        let before = before.and_then(|before| (before as usize).checked_rem(self.bytes.len()));
        before.map_or(GREETING_BYTES, |index| self.bytes[index])
    }
}

/// Head of a frame's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PayloadHead {
    /// Index of the form of the destination with which it was sent.
    form: u8,
    /// Index, plus one, of the form with which the receiver's last frame has arrived; 0: none has.
    heard: u8,
    /// Number of the frame; 0: a greeting.
    number: u32,
}

impl PayloadHead {
    /// Reads the head at this offset of a frame; `None` if the frame is too short.
    fn read_from(frame: &[u8], at: usize) -> Option<Self> {
        let words = frame.get(at..)?.first_chunk::<8>()?;
        let [form, heard, _, _, a, b, c, d] = *words;
        Some(Self {
            form,
            heard,
            number: u32::from_be_bytes([a, b, c, d]),
        })
    }
}

/// A frame of the exchange. Its contents differ from byte to byte and from frame to frame, so that mixed up or shifted bytes are found:
/// the multiplier (2^32 divided by the golden ratio) spreads the number over all bits of the seed.
fn build(to: MacAddress, from: MacAddress, head: PayloadHead, length: u32) -> Vec<u8> {
    let mut frame = header(to, from);
    frame.extend([head.form, head.heard, 0, 0]);
    frame.extend(head.number.to_be_bytes());
    let filled = frame.len() as u32..length;
    let seed = head.number.wrapping_mul(0x9E37_79B9) ^ u32::from(from.0[5]);
    frame.extend(filled.map(|index| (index.wrapping_mul(seed | 1) >> 7) as u8 ^ index as u8));
    frame
}

/// Another host.
struct Peer {
    address: MacAddress,
    /// Index of the form that reaches it, once it has said so.
    form: Option<u8>,
    /// Index, plus one, of the form with which its last frame has arrived; 0: none has.
    heard: u8,
    /// Set by a greeting of a host that has not heard this one yet: it gets a greeting back.
    asks: bool,
    sent: u32,
    received: u32,
}

/// One host.
struct ExchangeHost<'m, 'a> {
    mailbox: &'m mut Mailbox<'a>,
    plan: &'m Exchange,
    own: MacAddress,
    peers: Vec<Peer>,
    /// Rounds of greetings so far, which choose the form.
    rounds: usize,
    greeting_due_ps: u64,
    /// Time at which the host gives up; each frame that comes moves it.
    deadline_ps: u64,
    /// Frames that were for other hosts: broadcasts, for example, are one form of the destination.
    others: u32,
}

/// Sends all frames and receives those of the other hosts.
///
/// # Errors
/// [`HostError`]: a frame is lost or damaged, or the control program does not go on.
pub(super) async fn run(mailbox: &mut Mailbox<'_>, plan: &Exchange) -> Result<(), HostError> {
    let peer = |address: &MacAddress| Peer {
        address: *address,
        form: None,
        heard: 0,
        asks: false,
        sent: 0,
        received: 0,
    };
    let system = &mut mailbox.adapter.system;
    let early_ns = plan.start_ns.saturating_sub(system.now_ps() / 1000);
    system.sleep(early_ns).await;
    let own = mailbox.adapter.address();
    let mut side = ExchangeHost {
        plan,
        own,
        peers: plan.peers.iter().map(peer).collect(),
        rounds: 0,
        greeting_due_ps: 0,
        deadline_ps: mailbox.adapter.system.now_ps() + SILENCE_US * 1_000_000,
        others: 0,
        mailbox,
    };
    let end = side.run().await;
    let sum = |count: fn(&Peer) -> u32| side.peers.iter().map(count).sum::<u32>();
    let counts = [
        ("frames_sent", sum(|peer| peer.sent)),
        ("frames_received", sum(|peer| peer.received)),
        ("frames_for_others", side.others),
    ];
    for (name, count) in counts {
        side.mailbox.adapter.value(name, count.into());
    }
    end
}

impl ExchangeHost<'_, '_> {
    async fn run(&mut self) -> Result<(), HostError> {
        loop {
            self.receive().await?;
            if self.peers.iter().all(|peer| self.is_done(peer)) {
                let (frames, peers) = (self.plan.frames, self.peers.len());
                let text = format!("{frames} frames of each of {peers} adapters came unchanged");
                self.mailbox.adapter.milestone("all_frames", text);
                return Ok(());
            }
            self.send().await?;
            if self.now_ps() >= self.deadline_ps {
                return Err(self.silence());
            }
            let system = &mut self.mailbox.adapter.system;
            let _ = system.wait_interrupt(Some(LOOK_NS)).await;
            self.mailbox.adapter.take_signal().await;
        }
    }

    /// The host's clock, in ps.
    fn now_ps(&self) -> u64 {
        self.mailbox.adapter.system.now_ps()
    }

    /// Whether all frames to and from a host have been exchanged.
    const fn is_done(&self, peer: &Peer) -> bool {
        peer.sent == self.plan.frames && peer.received == self.plan.frames
    }

    /// The error of a host to which nothing comes: it names a host that has not sent all.
    fn silence(&self) -> HostError {
        let missing = self.peers.iter().find(|peer| !self.is_done(peer));
        HostError::Silent {
            address: missing.map_or(self.own, |peer| peer.address),
            received: missing.map_or(0, |peer| peer.received),
            frames: self.plan.frames,
            silence_us: SILENCE_US,
        }
    }

    /// Takes all frames that have arrived.
    async fn receive(&mut self) -> Result<(), HostError> {
        while let Some(frame) = self.mailbox.next_frame().await? {
            let is_mine = frame.get(PAD.len()..SOURCE) == Some(&self.own.0[..]);
            let sources = self.peers.iter();
            let mut sources =
                sources.map(|peer| frame.get(SOURCE..SOURCE + 6) == Some(&peer.address.0[..]));
            let Some(index) = sources.position(|is| is).filter(|_| is_mine) else {
                self.others += 1;
                continue;
            };
            self.accept_frame(index, &frame)?;
            self.deadline_ps = self.now_ps() + SILENCE_US * 1_000_000;
        }
        Ok(())
    }

    /// Takes a frame of another host.
    fn accept_frame(&mut self, index: usize, frame: &[u8]) -> Result<(), HostError> {
        let peer = &mut self.peers[index];
        let at = header(self.own, peer.address).len();
        let head = PayloadHead::read_from(frame, at).filter(|head| head.number <= self.plan.frames);
        let head = head.ok_or(HostError::FrameData {
            sent_bytes: GREETING_BYTES,
            received_bytes: frame.len() as u32,
            offset: at,
        })?;
        let sent = build(self.own, peer.address, head, self.plan.length(head.number));
        super::mailbox::compare(&sent, frame)?;
        peer.heard = head.form.saturating_add(1);
        if let Some(form) = head.heard.checked_sub(1) {
            peer.form = Some(form);
        }
        if head.number == 0 {
            peer.asks |= head.heard == 0;
            return Ok(());
        }
        if head.number != peer.received + 1 {
            return Err(HostError::FrameOrder {
                address: peer.address,
                found: head.number,
                expected: peer.received + 1,
            });
        }
        peer.received += 1;
        if peer.received == 1 {
            let text = format!("first frame of {} came unchanged", peer.address);
            self.mailbox.adapter.first_milestone("frame_received", text);
        }
        Ok(())
    }

    /// Greets hosts that have not answered yet; sends the next frame to those that keep pace.
    async fn send(&mut self) -> Result<(), HostError> {
        let greets = self.now_ps() >= self.greeting_due_ps;
        for index in 0..self.peers.len() {
            let peer = &self.peers[index];
            let (asks, unknown) = (peer.asks, peer.form.is_none());
            let may_send = peer.sent < self.plan.frames && peer.sent <= peer.received;
            if asks || unknown && greets {
                self.peers[index].asks = false;
                self.send_to(index, 0).await?;
            }
            if !unknown && may_send {
                self.peers[index].sent += 1;
                self.send_to(index, self.peers[index].sent).await?;
            }
        }
        if greets {
            self.rounds += 1;
            self.greeting_due_ps = self.now_ps() + FRAME_US * 1_000_000;
        }
        Ok(())
    }

    /// Sends a frame to a host; number 0 is a greeting. While no form is known to reach it, each round tries the next one.
    async fn send_to(&mut self, index: usize, number: u32) -> Result<(), HostError> {
        let peer = &self.peers[index];
        let form = peer.form.map_or(self.rounds, usize::from) % DESTINATIONS.len();
        let head = PayloadHead {
            form: form as u8,
            heard: peer.heard,
            number,
        };
        let frame = build(peer.address, self.own, head, self.plan.length(number));
        self.mailbox.send(&frame, DESTINATIONS[form].1).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const B: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

    #[test]
    fn a_frame_says_its_form_and_its_number() {
        let plan = Exchange {
            frames: 5,
            bytes: vec![64, 1024],
            ..Exchange::default()
        };
        let lengths = [0, 1, 2, 3].map(|number| plan.length(number));
        assert_eq!(lengths, [GREETING_BYTES, 64, 1024, 64]);
        let head = PayloadHead {
            form: 2,
            heard: 1,
            number: 0x0102_0304,
        };
        let frame = build(B, A, head, 64);
        assert_eq!(frame.len(), 64);
        assert_eq!(&frame[SOURCE..SOURCE + 6], &A.0);
        assert_eq!(
            PayloadHead::read_from(&frame, header(B, A).len()),
            Some(head)
        );
        assert_eq!(PayloadHead::read_from(&frame, 60), None);
        let other = build(B, A, PayloadHead { number: 7, ..head }, 64);
        assert_ne!(other[24..], frame[24..]);
    }
}
