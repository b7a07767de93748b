//! Exchange of frames: each side sends and receives a number of frames and checks every byte.
//!
//! A side may be ahead of the received frames by a limited window, so that no board's buffers overflow.
//! Interrupts drive the loop; a timeout ends it when frames are lost.

use host_lib::acenic::{SendOptions, ServiceResults};
use host_lib::emp::MacAddress;

use super::Nic;
use super::frames::{self, FrameKind};
use super::node::{ExchangePlan, NodeFailure, NodeLog};

/// Window in frames.
const WINDOW: u32 = 32;
/// Window in bytes: half of the smallest board's buffers.
const WINDOW_BYTES: u32 = 48 * 1024;
/// Interval between two greetings.
const GREETING_NS: u64 = 1_000_000;
/// Time of silence after which missing frames are considered lost.
pub const PATIENCE_NS: u64 = 500_000_000;

/// Counts of the exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExchangeCounts {
    /// Data frames queued to the firmware.
    pub sent: u32,
    /// Data frames received, without duplicates.
    pub received: u32,
    /// Frames with changed contents, or of unknown origin.
    pub corrupted: u32,
    /// Data frames received again.
    pub duplicated: u32,
    /// Descriptions of the first corrupted frames.
    pub damage: Vec<String>,
}

/// Largest number of descriptions.
const MOST_DAMAGE: usize = 8;

/// One side of the exchange.
struct ExchangeNode<'a> {
    nic: &'a mut Nic,
    plan: &'a ExchangePlan,
    log: &'a NodeLog,
    counts: ExchangeCounts,
    /// Address of the other side, once known.
    peer: Option<MacAddress>,
    /// The other side has received a greeting of this one.
    heard: bool,
    /// Received data frames, by number.
    seen: Vec<bool>,
    /// Highest received number plus one.
    ahead: u32,
    greeting_due_ps: u64,
    deadline_ps: u64,
}

/// Sends and receives the planned frames.
///
/// # Errors
/// [`NodeFailure`]: the driver cannot continue. Lost and damaged frames are counted, not errors.
pub async fn run(nic: &mut Nic, plan: &ExchangePlan, log: &NodeLog) -> Result<(), NodeFailure> {
    let deadline_ps = nic.deadline_ps(PATIENCE_NS);
    let mut side = ExchangeNode {
        nic,
        plan,
        log,
        counts: ExchangeCounts::default(),
        peer: None,
        heard: false,
        seen: vec![false; plan.frames as usize],
        ahead: 0,
        greeting_due_ps: 0,
        deadline_ps,
    };
    side.run().await
}

impl ExchangeNode<'_> {
    async fn run(&mut self) -> Result<(), NodeFailure> {
        while !self.is_done() {
            self.send().await?;
            self.log.counts(&self.counts);
            let work = self.nic.wait(self.longest_wait_ns()).await?;
            let interrupted = work.interrupted;
            if self.take_results(&work) {
                self.deadline_ps = self.nic.deadline_ps(PATIENCE_NS);
            }
            self.log.work(self.nic);
            if !interrupted && let Some(pc) = self.nic.board_mut().halted_at().await {
                return Err(NodeFailure::Halted(pc));
            }
            if self.nic.left_ns(self.deadline_ps) == 0 {
                break;
            }
        }
        self.log.counts(&self.counts);
        if self.plan.frames > 0 && !self.heard {
            return Err(NodeFailure::NoAnswer(PATIENCE_NS / 1_000_000));
        }
        Ok(())
    }

    /// Whether everything is sent and the other side's last frame has arrived: frames stay in order.
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

    async fn send(&mut self) -> Result<(), NodeFailure> {
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

    async fn greet(&mut self) -> Result<(), NodeFailure> {
        let kind = match self.peer {
            None => FrameKind::Greeting,
            Some(_) => FrameKind::Answer,
        };
        let everybody = MacAddress::BROADCAST;
        self.send_frame(everybody, kind, frames::SHORTEST_BYTES)
            .await
    }

    async fn send_data(&mut self, peer: MacAddress) -> Result<(), NodeFailure> {
        let longest = self.plan.size.unwrap_or(frames::LONGEST_BYTES);
        let window = (WINDOW_BYTES / longest).clamp(1, WINDOW);
        let end = self.plan.frames.min(self.ahead.saturating_add(window));
        while self.counts.sent < end && self.nic.send_free() > 0 {
            let number = self.counts.sent;
            let length = frames::length(self.plan.size, number);
            self.send_frame(peer, FrameKind::Data { number }, length)
                .await?;
            self.counts.sent += 1;
        }
        Ok(())
    }

    async fn send_frame(
        &mut self,
        destination: MacAddress,
        kind: FrameKind,
        length: u32,
    ) -> Result<(), NodeFailure> {
        let own = self.nic.address();
        let frame = frames::build(destination, own, self.plan.node, kind, length);
        self.nic.send(&frame, SendOptions::default()).await?;
        Ok(())
    }

    /// Processes received frames; returns whether there was progress.
    fn take_results(&mut self, work: &ServiceResults) -> bool {
        // A sent greeting is no progress: it may remain unanswered.
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

    fn take_frame(&mut self, frame: frames::ParsedFrame) -> bool {
        if self.peer.is_none() {
            self.peer = Some(frame.source);
            // The other side waits for an answer.
            self.greeting_due_ps = self.nic.system().now_ps();
        }
        let FrameKind::Data { number } = frame.kind else {
            let news = frame.kind == FrameKind::Answer && !self.heard;
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
