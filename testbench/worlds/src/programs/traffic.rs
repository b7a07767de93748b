//! The engine of host programs over EMP: posts messages as planned, waits for completions, and checks received
//! messages.

use std::collections::VecDeque;

use host_lib::emp::{AnyHandle, Buffer, Completion, Emp, TransferError};
use host_lib::window::System;

use super::check::{Identity, ReportedMessage};
use super::content::{self, Flow};
use super::deliveries::Deliveries;
use super::plan::{PlannedMessage, ReceiveClass, SendPlan, TrafficPlan};

/// Executes a plan and records all messages in `deliveries`.
///
/// # Errors
/// An error of the program itself, not of a message.
pub async fn run(
    emp: Emp,
    who: Identity,
    plan: TrafficPlan,
    deliveries: Deliveries,
) -> Result<(), String> {
    let mut traffic = Traffic::new(emp, who, plan, deliveries)?;
    traffic.run().await
}

/// A message being sent.
struct OutgoingMessage {
    buffer: Buffer,
    flow: Flow,
    sequence: u32,
}

/// A posted transmit.
struct Transmit {
    handle: AnyHandle,
    message: OutgoingMessage,
}

/// A posted receive.
struct Posted {
    handle: AnyHandle,
    buffer: Buffer,
}

/// A send or receive of the program that has not ended.
enum PendingOperation {
    Transmit(OutgoingMessage),
    /// A receive of this class, into this buffer.
    Receive(usize, Buffer),
}

/// The receives of a class, oldest first: the order in which messages of one source and tag match them.
struct Receives {
    class: ReceiveClass,
    posted: VecDeque<Posted>,
    /// Number of receives posted so far.
    begun: u64,
    free: Vec<Buffer>,
}

struct Traffic {
    emp: Emp,
    who: Identity,
    deliveries: Deliveries,
    sends: SendPlan,
    /// Number of the next step.
    next: u64,
    start_ns: u64,
    window: usize,
    longest: u32,
    lockstep: bool,
    transmits: VecDeque<Transmit>,
    free: Vec<Buffer>,
    receives: Vec<Receives>,
    received: u64,
}

impl Traffic {
    fn new(
        mut emp: Emp,
        who: Identity,
        plan: TrafficPlan,
        deliveries: Deliveries,
    ) -> Result<Self, String> {
        let longest = plan.longest;
        let sending = if plan.sends.step(0).is_none() {
            0
        } else {
            plan.window
        };
        let free = buffers(&mut emp, sending, longest)?;
        let mut receives = Vec::with_capacity(plan.classes.len());
        for class in plan.classes {
            receives.push(Receives {
                free: buffers(&mut emp, class.ahead, longest)?,
                posted: VecDeque::new(),
                begun: 0,
                class,
            });
        }
        Ok(Self {
            emp,
            who,
            deliveries,
            sends: plan.sends,
            next: 0,
            start_ns: plan.start_ns,
            window: plan.window,
            longest,
            lockstep: plan.lockstep,
            transmits: VecDeque::new(),
            free,
            receives,
            received: 0,
        })
    }

    async fn run(&mut self) -> Result<(), String> {
        for class in 0..self.receives.len() {
            self.post_receives(class).await?;
        }
        if self.start_ns > 0 {
            self.emp.system_mut().compute(self.start_ns).await;
        }
        loop {
            self.post_transmits().await?;
            if self.transmits.is_empty() && !self.may_send() {
                self.deliveries.records().sending_over = true;
                let mut receives = self.receives.iter();
                if self.is_done() && receives.all(|receives| receives.posted.is_empty()) {
                    return Ok(());
                }
            }
            self.complete_one().await?;
        }
    }

    /// Whether all messages were posted.
    fn is_done(&self) -> bool {
        self.sends.step(self.next).is_none()
    }

    /// Whether a message can be sent without waiting for a received one.
    fn may_send(&self) -> bool {
        let step = self.sends.step(self.next);
        step.is_some_and(|step| self.received >= step.after)
    }

    /// Posts receives of a class up to the number in its plan.
    async fn post_receives(&mut self, class: usize) -> Result<(), String> {
        loop {
            let receives = &mut self.receives[class];
            let ReceiveClass {
                source,
                tag,
                expected,
                ..
            } = receives.class;
            if expected.is_some_and(|expected| receives.begun >= expected) {
                return Ok(());
            }
            let Some(buffer) = receives.free.pop() else {
                return Ok(());
            };
            receives.begun += 1;
            let handle = self.emp.post_receive(source, tag, buffer).await;
            let handle = handle.map_err(|error| error.to_string())?.into();
            self.receives[class]
                .posted
                .push_back(Posted { handle, buffer });
        }
    }

    /// Posts transmits as far as allowed now.
    async fn post_transmits(&mut self) -> Result<(), String> {
        while let Some(step) = self.sends.step(self.next)
            && self.transmits.len() < self.window
            && self.received >= step.after
            && let Some(space) = self.free.pop()
        {
            self.next += 1;
            if step.pause_ns > 0 {
                self.emp.system_mut().compute(step.pause_ns).await;
            }
            self.post_transmit(step, space).await?;
        }
        Ok(())
    }

    async fn post_transmit(&mut self, step: PlannedMessage, space: Buffer) -> Result<(), String> {
        let flow = Flow {
            from: self.who.node,
            to: step.to,
            tag: step.tag,
            life: self.who.life,
        };
        let now_ps = self.emp.system().now_ps();
        let sequence = self.deliveries.records().post(flow, now_ps, step.length);
        let bytes = content::bytes(self.who.seed, flow, sequence, step.length);
        let system = self.emp.system_mut();
        system
            .write_memory(space.address, &bytes)
            .map_err(|at| format!("no memory at {:#x}", at.0))?;
        let buffer = Buffer {
            length: step.length,
            ..space
        };
        let handle = self.emp.post_transmit(step.to, step.tag, buffer).await;
        let handle = handle.map_err(|error| error.to_string())?;
        let message = OutgoingMessage {
            buffer: space,
            flow,
            sequence,
        };
        self.transmits.push_back(Transmit {
            handle: handle.into(),
            message,
        });
        Ok(())
    }

    /// Waits for the end of the oldest transmit or of the oldest receive of any class.
    async fn complete_one(&mut self) -> Result<(), String> {
        let most = 1 + self.receives.len();
        let mut who = Vec::with_capacity(most);
        let mut handles = Vec::with_capacity(most);
        if let Some(transmit) = self.transmits.pop_front() {
            who.push(PendingOperation::Transmit(transmit.message));
            handles.push(transmit.handle);
        }
        for (class, receives) in self.receives.iter_mut().enumerate() {
            if let Some(Posted { handle, buffer }) = receives.posted.pop_front() {
                who.push(PendingOperation::Receive(class, buffer));
                handles.push(handle);
            }
        }
        let Some((index, result)) = self.emp.wait_any(&mut handles).await else {
            return Err("it waits for messages that no node will send".into());
        };
        let ended = who.remove(index);
        for (who, handle) in who.into_iter().zip(handles) {
            match who {
                PendingOperation::Transmit(message) => {
                    self.transmits.push_front(Transmit { handle, message });
                }
                PendingOperation::Receive(class, buffer) => {
                    let posted = &mut self.receives[class].posted;
                    posted.push_front(Posted { handle, buffer });
                }
            }
        }
        match ended {
            PendingOperation::Transmit(message) => self.transmitted(message, result),
            PendingOperation::Receive(class, buffer) => self.filled(class, buffer, result).await?,
        }
        Ok(())
    }

    /// Handles the end of a transmit.
    fn transmitted(&mut self, message: OutgoingMessage, result: Result<Completion, TransferError>) {
        self.free.push(message.buffer);
        if self.lockstep && result.is_err() {
            self.next = u64::MAX;
        }
        let end = result.map(|_| ()).map_err(|error| error.to_string());
        let mut records = self.deliveries.records();
        records.sent(message.flow, message.sequence, end);
    }

    /// Handles the end of a receive: checks its message and posts another receive.
    async fn filled(
        &mut self,
        class: usize,
        buffer: Buffer,
        result: Result<Completion, TransferError>,
    ) -> Result<(), String> {
        self.receives[class].free.push(buffer);
        match result {
            Ok(completion) => self.check(buffer, completion)?,
            Err(error) => {
                // The message did not arrive: post another receive instead.
                self.receives[class].begun -= 1;
                let mut records = self.deliveries.records();
                records.failed_receives.push(error.to_string());
            }
        }
        self.post_receives(class).await
    }

    fn check(&mut self, buffer: Buffer, completion: Completion) -> Result<(), String> {
        self.received += 1;
        let may_send = self.may_send();
        let mut records = self.deliveries.records();
        let arrival = ReportedMessage {
            address: buffer.address,
            length: completion.length,
            room: self.longest,
            from: completion.node,
            tag: completion.tag,
        };
        self.who.record(self.emp.system(), arrival, &mut records)?;
        // In the same step, so that a reader never sees a received message without its owed answer.
        records.sending_over &= !may_send;
        Ok(())
    }
}

/// Allocates `count` buffers of `length` bytes, the first one last.
fn buffers(emp: &mut Emp, count: usize, length: u32) -> Result<Vec<Buffer>, String> {
    let mut buffers = Vec::with_capacity(count);
    for _ in 0..count {
        let address = emp.system_mut().allocate(u64::from(length.max(1)));
        let address = address.ok_or("host memory is exhausted")?;
        buffers.push(Buffer { address, length });
    }
    buffers.reverse();
    Ok(buffers)
}
