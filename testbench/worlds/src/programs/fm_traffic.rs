//! The engine of host programs over FM: sends messages as planned and checks received messages.
//!
//! FM has no tags: all messages from one node to another are one flow, in which FM keeps the order. While it waits for credits the program
//! extracts what has come, so that nodes that send to each other do not wait in a circle.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use defs::fm::packet::MTU;
use defs::gm::packet::capacity;
use host_lib::fm::{Fm, Piece, ReceiveError};
use host_lib::window::System;

use super::check::Identity;
use super::content::{self, Flow};
use super::deliveries::Deliveries;
use super::plan::{PlannedMessage, SendPlan, TrafficPlan};
use crate::emp::text;

/// The handler of all messages.
const HANDLER: u16 = 1;
/// Tag of all flows.
const NO_TAG: u16 = 0;

/// Longest message of a program over FM, in bytes: as over GM.
pub const LONGEST_BYTES: u32 = capacity(24);

/// Executes a plan and records all messages in `deliveries`.
///
/// # Errors
/// An error of the program itself, or of a packet.
pub async fn run(
    mut fm: Fm,
    who: Identity,
    plan: TrafficPlan,
    deliveries: Deliveries,
) -> Result<(), String> {
    let inbox: Inbox = Arc::default();
    let filled = Arc::clone(&inbox);
    fm.set_handler(HANDLER, move |piece| collect(&filled, piece));
    let expected = plan.classes.iter().map(|class| class.expected).sum();
    let mut traffic = Traffic {
        fm,
        who,
        deliveries,
        inbox,
        sends: plan.sends,
        next: 0,
        expected,
        received: 0,
    };
    if plan.start_ns > 0 {
        traffic.fm.system().compute(plan.start_ns).await;
    }
    traffic.run().await
}

/// Messages that come.
#[derive(Debug, Default)]
struct IncomingMessages {
    /// Incomplete ones, by sender and number.
    open: BTreeMap<(u16, u16), Vec<u8>>,
    /// Complete ones, with their senders.
    done: VecDeque<(u16, Vec<u8>)>,
}

type Inbox = Arc<Mutex<IncomingMessages>>;

fn collect(inbox: &Inbox, piece: &Piece<'_>) {
    let mut messages = inbox.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (piece.sender, piece.message);
    let bytes = messages.open.entry(key).or_default();
    // A number comes again after 65,536 messages.
    bytes.truncate(piece.offset as usize);
    bytes.extend(piece.bytes);
    if piece.is_last() {
        let bytes = messages.open.remove(&key).unwrap_or_default();
        messages.done.push_back((piece.sender, bytes));
    }
}

/// A node that sends and receives messages of FM.
struct Traffic {
    fm: Fm,
    who: Identity,
    deliveries: Deliveries,
    inbox: Inbox,
    sends: SendPlan,
    /// Number of the next step.
    next: u64,
    /// Number of messages to receive; `None`: unknown.
    expected: Option<u64>,
    received: u64,
}

impl Traffic {
    async fn run(&mut self) -> Result<(), String> {
        loop {
            while let Some(step) = self.sends.step(self.next)
                && self.received >= step.after
            {
                self.next += 1;
                if step.pause_ns > 0 {
                    self.fm.system().compute(step.pause_ns).await;
                }
                self.send(step).await?;
                self.extract().await?;
            }
            self.deliveries.records().sending_over = true;
            let all_here = self.expected.is_some_and(|count| self.received >= count);
            if self.sends.step(self.next).is_none() && all_here {
                return Ok(());
            }
            // A message that is lost does not come: the end of the run says so.
            self.fm.wait(None).await.map_err(text)?;
            self.extract().await?;
        }
    }

    async fn send(&mut self, step: PlannedMessage) -> Result<(), String> {
        let flow = Flow {
            from: self.who.node,
            to: step.to,
            tag: NO_TAG,
            life: self.who.life,
        };
        let now_ps = self.fm.system().now_ps();
        let sequence = self.deliveries.records().post(flow, now_ps, step.length);
        let bytes = content::bytes(self.who.seed, flow, sequence, step.length);
        // Handlers only collect, so no message of the circle waits for one that a handler would send.
        let to = [step.to];
        let stream = self
            .fm
            .unsafe_begin_message_multi(&to, step.length, HANDLER);
        let mut stream = stream.await.map_err(text)?;
        for packet in bytes.chunks(MTU as usize) {
            self.await_credit(step.to).await?;
            let sent = self.fm.send_piece(&mut stream, packet).await;
            sent.map_err(text)?;
        }
        self.await_credit(step.to).await?;
        self.fm.end_message(stream).await.map_err(text)?;
        self.deliveries.records().sent(flow, sequence, Ok(()));
        Ok(())
    }

    /// Waits for a credit of a node, and extracts meanwhile.
    async fn await_credit(&mut self, node: u16) -> Result<(), String> {
        while self.fm.credits(node) == 0 {
            let waited = self.fm.await_credits_or_packet(&[node]).await;
            waited.map_err(text)?;
            self.extract().await?;
        }
        Ok(())
    }

    /// Extracts all packets that have come, and checks the messages that are complete.
    async fn extract(&mut self) -> Result<(), String> {
        match self.fm.extract(u32::MAX).await {
            Ok(_) => {}
            Err(error @ ReceiveError::Broken { .. }) => {
                self.deliveries
                    .records()
                    .failed_receives
                    .push(error.to_string());
            }
            Err(error) => return Err(error.to_string()),
        }
        loop {
            let message = {
                let mut messages = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
                messages.done.pop_front()
            };
            let Some((from, bytes)) = message else {
                return Ok(());
            };
            self.received += 1;
            let owes_answer = self
                .sends
                .step(self.next)
                .is_some_and(|step| self.received >= step.after);
            let now_ps = self.fm.system().now_ps();
            let mut records = self.deliveries.records();
            self.who
                .record_bytes(now_ps, from, NO_TAG, &bytes, &mut records);
            // In the same step, so that a reader never sees a received message without its owed answer.
            records.sending_over &= !owes_answer;
        }
    }
}
