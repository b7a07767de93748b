//! What one life of a node's program sent and received.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::content::Flow;

/// How the sending of a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// It has not.
    Pending,
    /// The peer's NIC has acknowledged all of it.
    Done,
    /// With an error status.
    Failed,
}

/// A message that was posted.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// When the program began to post it.
    pub posted_ps: u64,
    /// Its length.
    pub length: u32,
    /// How its sending ended.
    pub end: Sending,
}

/// A message that was received.
#[derive(Debug, Clone, Copy)]
pub struct Got {
    /// Its place in its flow, as the receiver saw it.
    pub sequence: u32,
    /// As much of that place's number as there was room for in the message.
    pub number: u32,
    /// When the program saw that it was complete.
    pub time_ps: u64,
    /// Its length.
    pub length: u32,
    /// Whether each byte was as sent.
    pub intact: bool,
}

/// The records of one life of one program.
#[derive(Debug, Default)]
pub struct Records {
    /// What was posted, by flow and sequence number.
    pub sent: BTreeMap<Flow, Vec<Sent>>,
    /// What came, by flow, in the order of the receives.
    pub got: BTreeMap<Flow, Vec<Got>>,
    /// How many came.
    pub received: u64,
    /// Receives that ended with an error status: what the status was.
    pub failed_receives: Vec<String>,
    /// What the first transmits that failed ended with.
    pub failures: Vec<String>,
    /// What was posted has ended, and nothing is left to send but answers to messages that have not come.
    pub sending_over: bool,
    /// What kept the program from its work.
    pub problem: Option<String>,
}

/// Failures whose text is kept.
const MOST_FAILURES: usize = 10;

/// A program's hold on its records; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Ledger(Arc<Mutex<Records>>);

impl Ledger {
    /// The records.
    pub fn records(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Records {
    /// A message is about to be posted; gives its sequence number.
    pub fn post(&mut self, flow: Flow, posted_ps: u64, length: u32) -> u32 {
        let sent = self.sent.entry(flow).or_default();
        sent.push(Sent {
            posted_ps,
            length,
            end: Sending::Pending,
        });
        sent.len() as u32 - 1
    }

    /// The sending of a message has ended.
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

    /// A message came.
    pub fn receive(&mut self, flow: Flow, got: Got) {
        self.got.entry(flow).or_default().push(got);
        self.received += 1;
    }

    /// The sequence number that the flow's next message should have.
    pub fn expected(&self, flow: Flow) -> u32 {
        let got = self.got.get(&flow);
        let last = got.and_then(|got| got.last());
        last.map_or(0, |last| last.sequence.wrapping_add(1))
    }
}
