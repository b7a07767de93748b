//! The exchange of frames: each side sends as many as it gets, and looks at every byte.
//!
//! A side may be ahead of what it has received by a window of frames only, so that neither board has
//! more to hold than it can. The loop is driven by interrupts; a timeout ends it when frames are lost.

use host_lib::acenic::{SendOptions, Work};
use host_lib::emp::MacAddress;
use host_lib::window::System;

use super::Nic;
use super::frames::{self, Kind};
use super::node::{Failure, Log, Plan};

/// Frames that a side may be ahead.
const WINDOW: u32 = 32;
/// Bytes that a side may be ahead: the smallest board holds twice as many.
const WINDOW_BYTES: u32 = 48 * 1024;
/// Time between two greetings.
const GREETING_NS: u64 = 1_000_000;
/// When nothing has come for so long, what is missing is lost.
pub const PATIENCE_NS: u64 = 500_000_000;

/// What the exchange has come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data frames handed to the firmware.
    pub sent: u32,
    /// Data frames received, each once.
    pub received: u32,
    /// Frames that were not as they had been sent, or nobody's.
    pub corrupted: u32,
    /// Data frames received again.
    pub duplicated: u32,
    /// What was wrong with the first of them.
    pub damage: Vec<String>,
}

/// Damages that are described.
const MOST_DAMAGE: usize = 8;

/// One side of the exchange.
struct Side<'a> {
    nic: &'a mut Nic,
    plan: &'a Plan,
    log: &'a Log,
    counts: Counts,
    /// The other side's address, once it is known.
    peer: Option<MacAddress>,
    /// The other side has heard this one.
    heard: bool,
    /// Data frames by number.
    seen: Vec<bool>,
    /// One more than the highest number received.
    ahead: u32,
    greeting_due_ps: u64,
    deadline_ps: u64,
}

/// Sends and receives the plan's frames.
///
/// # Errors
/// [`Failure`]: the driver cannot go on. Lost and damaged frames are counts, not errors.
pub async fn run(nic: &mut Nic, plan: &Plan, log: &Log) -> Result<(), Failure> {
    let deadline_ps = nic.deadline_ps(PATIENCE_NS);
    let mut side = Side {
        nic,
        plan,
        log,
        counts: Counts::default(),
        peer: None,
        heard: false,
        seen: vec![false; plan.frames as usize],
        ahead: 0,
        greeting_due_ps: 0,
        deadline_ps,
    };
    side.run().await
}

impl Side<'_> {
    async fn run(&mut self) -> Result<(), Failure> {
        while !self.is_done() {
            self.send().await?;
            self.log.counts(&self.counts);
            let work = self.nic.wait(self.longest_wait_ns()).await?;
            let interrupted = work.interrupted;
            if self.take(&work) {
                self.deadline_ps = self.nic.deadline_ps(PATIENCE_NS);
            }
            self.log.work(self.nic);
            if !interrupted && let Some(pc) = self.nic.board_mut().halted_at().await {
                return Err(Failure::Halted(pc));
            }
            if self.nic.left_ns(self.deadline_ps) == 0 {
                break;
            }
        }
        self.log.counts(&self.counts);
        if self.plan.frames > 0 && !self.heard {
            return Err(Failure::NoAnswer(PATIENCE_NS / 1_000_000));
        }
        Ok(())
    }

    /// Everything is sent, and the other side's last frame is in: frames do not overtake each other.
    const fn is_done(&self) -> bool {
        let all = self.plan.frames;
        self.counts.sent == all && self.ahead == all && self.nic.send_pending() == 0
    }

    fn longest_wait_ns(&self) -> u64 {
        let until_greeting = self.nic.left_ns(self.greeting_due_ps);
        if self.heard || until_greeting == 0 {
            GREETING_NS
        } else {
            until_greeting
        }
    }

    async fn send(&mut self) -> Result<(), Failure> {
        if self.heard
            && let Some(peer) = self.peer
        {
            return self.send_data(peer).await;
        }
        if self.nic.left_ns(self.greeting_due_ps) == 0 && self.nic.send_free() > 0 {
            self.greet().await?;
            self.greeting_due_ps = self.nic.deadline_ps(GREETING_NS);
        }
        Ok(())
    }

    async fn greet(&mut self) -> Result<(), Failure> {
        let kind = match self.peer {
            None => Kind::Greeting,
            Some(_) => Kind::Answer,
        };
        let everybody = MacAddress::BROADCAST;
        self.send_frame(everybody, kind, frames::SHORTEST_BYTES)
            .await
    }

    async fn send_data(&mut self, peer: MacAddress) -> Result<(), Failure> {
        let longest = self.plan.size.unwrap_or(frames::LONGEST_BYTES);
        let window = (WINDOW_BYTES / longest).clamp(1, WINDOW);
        let end = self.plan.frames.min(self.ahead.saturating_add(window));
        while self.counts.sent < end && self.nic.send_free() > 0 {
            let number = self.counts.sent;
            let length = frames::length(self.plan.size, number);
            self.send_frame(peer, Kind::Data { number }, length).await?;
            self.counts.sent += 1;
        }
        Ok(())
    }

    async fn send_frame(
        &mut self,
        destination: MacAddress,
        kind: Kind,
        length: u32,
    ) -> Result<(), Failure> {
        let own = self.nic.address();
        let frame = frames::build(destination, own, self.plan.node, kind, length);
        self.nic.send(&frame, SendOptions::default()).await?;
        Ok(())
    }

    /// Takes what came in; tells whether the exchange has come further.
    fn take(&mut self, work: &Work) -> bool {
        // A greeting that goes out is no progress: it may never be answered.
        let mut further = self.heard && work.sent > 0;
        for received in &work.received {
            let own = self.nic.address();
            let from = 1 - self.plan.node;
            let parsed = if received.errors.is_empty() {
                frames::check(&received.bytes, own, from, self.plan.size)
                    .map_err(|damage| damage.to_string())
            } else {
                Err(format!("a frame with errors {:?}", received.errors))
            };
            match parsed {
                Ok(parsed) => further |= self.take_frame(parsed),
                Err(damage) => {
                    self.counts.corrupted += 1;
                    if self.counts.damage.len() < MOST_DAMAGE {
                        self.counts.damage.push(damage);
                    }
                }
            }
        }
        further
    }

    fn take_frame(&mut self, frame: frames::Parsed) -> bool {
        if self.peer.is_none() {
            self.peer = Some(frame.source);
            // The other side waits for an answer.
            self.greeting_due_ps = self.nic.system().now_ps();
        }
        let Kind::Data { number } = frame.kind else {
            let news = frame.kind == Kind::Answer && !self.heard;
            self.heard |= news;
            return news;
        };
        self.heard = true;
        match self.seen.get_mut(number as usize) {
            Some(seen) if !*seen => {
                *seen = true;
                self.counts.received += 1;
                self.ahead = self.ahead.max(number + 1);
                true
            }
            _ => {
                self.counts.duplicated += 1;
                false
            }
        }
    }
}
