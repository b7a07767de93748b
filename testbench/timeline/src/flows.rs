//! A flow for each message: arrows from slice to slice.

use std::collections::BTreeMap;

use lanigon_analysis::messages::MessageName;

/// The number of each message's flow. Identifiers come again: every posted message starts a flow of its own.
#[derive(Debug, Default)]
pub struct Flows {
    last: u64,
    of: BTreeMap<MessageName, u64>,
}

impl Flows {
    /// Starts the flow of a message that is posted.
    pub fn begin(&mut self, message: MessageName) {
        self.last += 1;
        self.of.insert(message, self.last);
    }

    /// Starts the flow of a message that begins with its packet, unless the packet is sent again.
    pub fn begin_sent(&mut self, message: MessageName) {
        // Identifiers come again after 65,536 messages.
        const LATELY: u64 = 1 << 15;
        if self
            .number_of(message)
            .is_none_or(|flow| self.last - flow > LATELY)
        {
            self.begin(message);
        }
    }

    /// The message's flow, if its post was seen.
    pub fn number_of(&self, message: MessageName) -> Option<u64> {
        self.of.get(&message).copied()
    }
}

/// A message, and its frame if the event is about one, as a slice shows them.
pub fn shown(message: MessageName, frame: Option<u16>) -> String {
    match frame {
        Some(frame) => format!("msg {message} frag {frame}"),
        None => format!("msg {message}"),
    }
}
