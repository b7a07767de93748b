//! Multicasts over GM, which repeats lost packets: hosts send whole messages to their children.

use std::collections::VecDeque;

use defs::gm::port::SEND_TOKENS;
use host_lib::gm::{
    Buffer, Event, Gm, Priority, ReceivedMessage, SendRequest, Status, capacity, size_for,
};

use super::MulticastPlan;
use lanigon_worlds::emp::text;

/// The port of all nodes.
const PORT: u8 = 2;
/// Receive buffers: a message and answers.
const BUFFERS: u32 = 4;
/// Tag of receive buffers.
const NO_TAG: u16 = 0;
/// Longest wait for the routes of a mapper.
const LONGEST_MAPPING_NS: u64 = 60_000_000_000;

/// Bytes of all buffers of a node, for messages of this length.
pub(super) fn memory_bytes(bytes: u32) -> u64 {
    u64::from(1 + BUFFERS) * u64::from(capacity(size_for(bytes.max(1))))
}

/// A node.
pub(super) struct GmEngine {
    pub(super) gm: Gm,
    children: Vec<u16>,
    size: u8,
    /// Buffer of messages to send.
    out: Buffer,
    room: u32,
    /// Sends without an end.
    under_way: usize,
    /// Messages that have come.
    inbox: VecDeque<Vec<u8>>,
}

impl GmEngine {
    pub(super) async fn new(mut gm: Gm, plan: &MulticastPlan) -> Result<Self, String> {
        gm.open(PORT).await.map_err(text)?;
        let size = size_for(plan.settings.bytes.max(1));
        let room = capacity(size);
        let out = gm.allocate_dma(room).map_err(text)?;
        for _ in 0..BUFFERS {
            let buffer = gm.allocate_dma(room).map_err(text)?;
            provide(&mut gm, buffer, size).await?;
        }
        if gm.nodes() == 0 {
            gm.await_map(LONGEST_MAPPING_NS).await.map_err(text)?;
        }
        let children = plan.tree.children(plan.rank).iter();
        Ok(Self {
            gm,
            children: children.map(|&child| plan.members[child]).collect(),
            size,
            out,
            room,
            under_way: 0,
            inbox: VecDeque::new(),
        })
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.flush().await?;
        let written = self.gm.system_mut().write_memory(self.out.address, bytes);
        written.map_err(|at| format!("no memory at {:#x}", at.0))?;
        for index in 0..self.children.len() {
            self.post(self.children[index], bytes.len() as u32).await?;
        }
        Ok(())
    }

    pub(super) async fn receive(&mut self) -> Result<(Vec<u8>, u64), String> {
        let bytes = self.next_message().await?;
        let now_ps = self.gm.system().now_ps();
        self.send(&bytes).await?;
        Ok((bytes, now_ps))
    }

    pub(super) async fn answer(&mut self, root: u16) -> Result<(), String> {
        self.post(root, 0).await
    }

    pub(super) async fn await_answer(&mut self) -> Result<(), String> {
        match self.next_message().await?.len() {
            0 => Ok(()),
            length => Err(format!("an answer of {length} bytes")),
        }
    }

    /// Waits until all sends have ended.
    pub(super) async fn flush(&mut self) -> Result<(), String> {
        while self.under_way > 0 {
            self.handle_event().await?;
        }
        Ok(())
    }

    /// Sends the first bytes of the buffer, once there is a token.
    async fn post(&mut self, node: u16, length: u32) -> Result<(), String> {
        while self.under_way >= SEND_TOKENS as usize {
            self.handle_event().await?;
        }
        let request = SendRequest {
            buffer: Buffer { length, ..self.out },
            size: self.size,
            priority: Priority::Low,
            node,
            port: PORT,
        };
        self.gm.send(PORT, request).await.map_err(text)?;
        self.under_way += 1;
        Ok(())
    }

    async fn next_message(&mut self) -> Result<Vec<u8>, String> {
        loop {
            if let Some(bytes) = self.inbox.pop_front() {
                return Ok(bytes);
            }
            self.handle_event().await?;
        }
    }

    async fn handle_event(&mut self) -> Result<(), String> {
        match self.gm.receive(PORT).await.map_err(text)? {
            Event::Sent(results) => {
                for (_, status) in results {
                    self.under_way -= 1;
                    if status != Status::Success {
                        return Err(format!("a send failed: {}", status.name()));
                    }
                }
                Ok(())
            }
            Event::Received(message) => self.take_message(&message).await,
            Event::Alarm(_) | Event::Completed(_) => Ok(()),
            Event::Violation(violation) => Err(format!("{violation:?}")),
        }
    }

    async fn take_message(&mut self, message: &ReceivedMessage) -> Result<(), String> {
        let mut bytes = vec![0; message.length.min(self.room) as usize];
        let read = self.gm.system().read_memory(message.message, &mut bytes);
        read.map_err(|at| format!("no memory at {:#x}", at.0))?;
        self.inbox.push_back(bytes);
        let buffer = Buffer {
            address: message.buffer,
            length: self.room,
        };
        provide(&mut self.gm, buffer, self.size).await
    }
}

async fn provide(gm: &mut Gm, buffer: Buffer, size: u8) -> Result<(), String> {
    let provided = gm.provide_receive_buffer(PORT, buffer, size, Priority::Low, NO_TAG);
    provided.await.map_err(text)
}
