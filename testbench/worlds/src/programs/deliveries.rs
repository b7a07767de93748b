//! Records of the messages that one incarnation of a node's program sent and received.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::content::Flow;
use crate::workload::OwnRecords;

/// Result of sending a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// The message is in progress.
    Pending,
    /// Acknowledged by the peer's NIC.
    Done,
    /// Failed with an error status.
    Failed,
}

/// A posted message.
#[derive(Debug, Clone, Copy)]
pub struct SentEntry {
    /// Start of the post.
    pub posted_ps: u64,
    /// Length in bytes.
    pub length: u32,
    /// Result.
    pub end: Sending,
}

/// A received message.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedEntry {
    /// Position in its flow, as decoded by the receiver.
    pub sequence: u32,
    /// Message number, as far as the message contains it.
    pub number: u32,
    /// Time at which the program saw its completion.
    pub time_ps: u64,
    /// Length in bytes.
    pub length: u32,
    /// Whether all bytes are as sent.
    pub intact: bool,
}

/// An incarnation of a program that exchanges frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrameLife {
    /// Time at which the interface was open.
    pub opened_ps: Option<u64>,
    /// A reset has ended the program.
    pub is_cut: bool,
    /// Number of received frames that no program has sent, as far as their headers say.
    pub strangers: u64,
}

/// Records of one incarnation of a program.
#[derive(Debug, Default)]
pub struct LifeRecords {
    /// Posted messages, by flow and sequence number.
    pub sent: BTreeMap<Flow, Vec<SentEntry>>,
    /// Received messages, by flow, in the order of the receives.
    pub got: BTreeMap<Flow, Vec<ReceivedEntry>>,
    /// Records of a workload, of its own type.
    pub own: Option<Box<dyn OwnRecords>>,
    /// Number of received messages.
    pub received: u64,
    /// Error statuses of failed receives.
    pub failed_receives: Vec<String>,
    /// Error statuses of the first failed transmits.
    pub failures: Vec<String>,
    /// All posts have ended, and only answers to messages that have not arrived may be left to send.
    pub sending_over: bool,
    /// Processes of a workload that have operations left.
    pub operations_left: usize,
    /// Reception is over: messages that are not here are lost.
    pub receiving_over: bool,
    /// Record of a program that exchanges frames.
    pub frames: Option<FrameLife>,
    /// Others may wait for this program for ever: the run ends.
    pub ends_run: bool,
    /// Error of the program.
    pub problem: Option<String>,
}

/// Largest number of failures with a text.
const MOST_FAILURES: usize = 10;

/// Shared handle of a program's records.
#[derive(Debug, Clone, Default)]
pub struct Deliveries(Arc<Mutex<LifeRecords>>);

impl From<LifeRecords> for Deliveries {
    fn from(records: LifeRecords) -> Self {
        Self(Arc::new(Mutex::new(records)))
    }
}

impl Deliveries {
    /// Locks the records.
    pub fn records(&self) -> MutexGuard<'_, LifeRecords> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the records of a workload, which are empty at first. A job has one type of records.
    pub fn record<T: OwnRecords + Default>(&self, change: impl FnOnce(&mut T)) {
        let mut records = self.records();
        let own = records.own.get_or_insert_with(|| Box::new(T::default()));
        let own: &mut dyn Any = &mut **own;
        if let Some(own) = own.downcast_mut() {
            change(own);
        }
    }
}

impl LifeRecords {
    /// A copy of the records of a workload; empty ones if it has recorded nothing.
    #[must_use]
    pub fn own_copy<T: OwnRecords + Default + Clone>(&self) -> T {
        let own: Option<&dyn Any> = self.own.as_ref().map(|own| &**own as &dyn Any);
        let own = own.and_then(<dyn Any>::downcast_ref::<T>);
        own.cloned().unwrap_or_default()
    }

    /// Records a post; returns its sequence number.
    pub fn post(&mut self, flow: Flow, posted_ps: u64, length: u32) -> u32 {
        let sent = self.sent.entry(flow).or_default();
        sent.push(SentEntry {
            posted_ps,
            length,
            end: Sending::Pending,
        });
        sent.len() as u32 - 1
    }

    /// Records the end of a send.
    pub fn sent(&mut self, flow: Flow, sequence: u32, end: Result<(), String>) {
        let sent = self.sent.get_mut(&flow);
        let message = sent.and_then(|sent| sent.get_mut(sequence as usize));
        if let Some(message) = message {
            message.end = match end {
                Ok(()) => Sending::Done,
                Err(_) => Sending::Failed,
            };
        }
        if let Err(text) = end {
            self.failures.push(text);
            self.failures.truncate(MOST_FAILURES);
        }
    }

    /// Records a received message.
    pub fn receive(&mut self, flow: Flow, got: ReceivedEntry) {
        self.got.entry(flow).or_default().push(got);
        self.received += 1;
    }

    /// The next expected sequence number of the flow.
    pub fn expected(&self, flow: Flow) -> u32 {
        let got = self.got.get(&flow);
        let last = got.and_then(|got| got.last());
        last.map_or(0, |last| last.sequence.wrapping_add(1))
    }
}
