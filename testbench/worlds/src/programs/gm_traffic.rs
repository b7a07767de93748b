//! The engine of host programs over GM: sends messages as planned, provides receive buffers, and checks received messages.
//!
//! A program uses one port. GM has no tags: all messages from one node to another are one flow, in which GM keeps the order. All
//! receive buffers have the size that fits the plan's longest message, and every sender names it.

use std::collections::BTreeMap;

use defs::gm::port::{RECEIVE_TOKENS, SEND_TOKENS};
use host_lib::gm::{
    Buffer, Event, Gm, Priority, ReceivedMessage, SendId, SendRequest, Status, capacity, size_for,
};
use host_lib::window::{System, VirtualAddress};

use super::check::{Identity, ReportedMessage};
use super::content::{self, Flow};
use super::deliveries::Deliveries;
use super::plan::{PlannedMessage, SendPlan, TrafficPlan};
use crate::emp::text;

/// The port of all programs.
const PORT: u8 = 2;
/// Longest wait for the routes of a mapper.
const LONGEST_MAPPING_NS: u64 = 60_000_000_000;
/// Tag of all flows.
const NO_TAG: u16 = 0;
/// Bytes to which the places of buffers are aligned.
const ALIGNMENT: u32 = 64;

/// Executes a plan and records all messages in `deliveries`.
///
/// # Errors
/// An error of the program itself, not of a message.
pub async fn run(
    gm: Gm,
    who: Identity,
    plan: TrafficPlan,
    deliveries: Deliveries,
) -> Result<(), String> {
    let mut traffic = Traffic::new(gm, who, plan, deliveries).await?;
    traffic.run().await
}

/// A message being sent.
struct OutgoingMessage {
    space: Buffer,
    flow: Flow,
    sequence: u32,
}

struct Traffic {
    gm: Gm,
    who: Identity,
    deliveries: Deliveries,
    sends: SendPlan,
    /// Number of the next step.
    next: u64,
    start_ns: u64,
    lockstep: bool,
    /// Size of all messages for GM.
    size: u8,
    /// Bytes of a receive buffer.
    room: u32,
    under_way: BTreeMap<SendId, OutgoingMessage>,
    /// Buffers for further sends.
    free: Vec<Buffer>,
    /// Receive buffers that the board does not have.
    idle: Vec<Buffer>,
    /// Number of messages to receive; `None`: unknown.
    expected: Option<u64>,
    /// Number of buffers provided so far.
    provided: u64,
    received: u64,
}

impl Traffic {
    async fn new(
        mut gm: Gm,
        who: Identity,
        plan: TrafficPlan,
        deliveries: Deliveries,
    ) -> Result<Self, String> {
        gm.open(PORT).await.map_err(text)?;
        // The smallest size for a byte also takes empty messages.
        let size = size_for(plan.longest.max(1));
        let room = capacity(size);
        let sending = match plan.sends.step(0) {
            None => 0,
            Some(_) => plan.window.min(SEND_TOKENS as usize),
        };
        let ahead = plan.classes.iter().map(|class| class.ahead).sum::<usize>();
        let expected = plan.classes.iter().map(|class| class.expected).sum();
        Ok(Self {
            free: buffers(&mut gm, sending, room)?,
            idle: buffers(&mut gm, ahead.min(RECEIVE_TOKENS as usize), room)?,
            gm,
            who,
            deliveries,
            sends: plan.sends,
            next: 0,
            start_ns: plan.start_ns,
            lockstep: plan.lockstep,
            size,
            room,
            under_way: BTreeMap::new(),
            expected,
            provided: 0,
            received: 0,
        })
    }

    async fn run(&mut self) -> Result<(), String> {
        self.provide().await?;
        if self.gm.nodes() == 0 {
            // All nodes have opened their ports before the first one begins.
            let map = self.gm.await_map(LONGEST_MAPPING_NS).await;
            map.map_err(text)?;
        }
        if self.start_ns > 0 {
            self.gm.system_mut().compute(self.start_ns).await;
        }
        loop {
            self.post().await?;
            if self.under_way.is_empty() && !self.may_send() {
                self.deliveries.records().sending_over = true;
                let all_here = self.expected.is_some_and(|count| self.received >= count);
                if self.sends.step(self.next).is_none() && all_here {
                    return Ok(());
                }
            }
            match self.gm.receive(PORT).await.map_err(text)? {
                Event::Sent(results) => self.sent(results).await?,
                Event::Alarm(_) | Event::Completed(_) => {}
                Event::Violation(violation) => return Err(format!("{violation:?}")),
                Event::Received(message) => {
                    self.check(&message)?;
                    self.idle.push(Buffer {
                        address: message.buffer,
                        length: self.room,
                    });
                    self.provide().await?;
                }
            }
        }
    }

    /// Whether a message can be sent without waiting for a received one.
    fn may_send(&self) -> bool {
        let step = self.sends.step(self.next);
        step.is_some_and(|step| self.received >= step.after)
    }

    /// Provides buffers for all messages that are expected, as far as there are buffers.
    async fn provide(&mut self) -> Result<(), String> {
        while self.expected.is_none_or(|count| self.provided < count)
            && let Some(buffer) = self.idle.pop()
        {
            self.provided += 1;
            let provide =
                self.gm
                    .provide_receive_buffer(PORT, buffer, self.size, Priority::Low, NO_TAG);
            provide.await.map_err(text)?;
        }
        Ok(())
    }

    /// Posts sends as far as allowed now.
    async fn post(&mut self) -> Result<(), String> {
        while let Some(step) = self.sends.step(self.next)
            && self.received >= step.after
            && let Some(space) = self.free.pop()
        {
            self.next += 1;
            if step.pause_ns > 0 {
                self.gm.system_mut().compute(step.pause_ns).await;
            }
            self.send(step, space).await?;
        }
        Ok(())
    }

    async fn send(&mut self, step: PlannedMessage, space: Buffer) -> Result<(), String> {
        let flow = Flow {
            from: self.who.node,
            to: step.to,
            tag: NO_TAG,
            life: self.who.life,
        };
        let now_ps = self.gm.system().now_ps();
        let sequence = self.deliveries.records().post(flow, now_ps, step.length);
        let bytes = content::bytes(self.who.seed, flow, sequence, step.length);
        let system = self.gm.system_mut();
        system
            .write_memory(space.address, &bytes)
            .map_err(|at| format!("no memory at {:#x}", at.0))?;
        let request = SendRequest {
            buffer: Buffer {
                length: step.length,
                ..space
            },
            size: self.size,
            priority: Priority::Low,
            node: step.to,
            port: PORT,
        };
        let id = self.gm.send(PORT, request).await.map_err(text)?;
        let message = OutgoingMessage {
            space,
            flow,
            sequence,
        };
        self.under_way.insert(id, message);
        Ok(())
    }

    /// Handles the ends of sends.
    async fn sent(&mut self, results: Vec<(SendId, Status)>) -> Result<(), String> {
        for (id, status) in results {
            let Some(message) = self.under_way.remove(&id) else {
                continue;
            };
            self.free.push(message.space);
            let end = match status {
                Status::Success => Ok(()),
                status => Err(status.name().into()),
            };
            if self.lockstep && end.is_err() {
                self.next = u64::MAX;
            }
            let failed = end.is_err();
            let to = message.flow.to;
            self.deliveries
                .records()
                .sent(message.flow, message.sequence, end);
            if failed {
                // The stream has stopped. Each message stands for itself: the next ones are sent.
                self.gm
                    .resume_sending(PORT, to, PORT, Priority::Low)
                    .await
                    .map_err(text)?;
            }
        }
        Ok(())
    }

    fn check(&mut self, message: &ReceivedMessage) -> Result<(), String> {
        self.received += 1;
        let may_send = self.may_send();
        let mut records = self.deliveries.records();
        let arrival = ReportedMessage {
            address: message.message,
            length: message.length,
            room: self.room,
            from: message.node,
            tag: NO_TAG,
        };
        self.who.record(self.gm.system(), arrival, &mut records)?;
        // In the same step, so that a reader never sees a received message without its owed answer.
        records.sending_over &= !may_send;
        Ok(())
    }
}

/// Allocates `count` buffers of `length` bytes, the first one last.
fn buffers(gm: &mut Gm, count: usize, length: u32) -> Result<Vec<Buffer>, String> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let step = length.next_multiple_of(ALIGNMENT);
    let all = gm.allocate_dma(step * count as u32).map_err(text)?;
    let places = (0..count as u64).rev();
    let buffer = |place| Buffer {
        address: VirtualAddress(all.address.0 + place * u64::from(step)),
        length,
    };
    Ok(places.map(buffer).collect())
}
