//! Selection of messages.

use std::str::FromStr;

use crate::messages::MessageId;

use super::Ledger;
use super::follow::Outline;

/// A message as the user names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageName {
    /// The sending node.
    pub from: u16,
    /// The receiving node, if given.
    pub to: Option<u16>,
    /// The message's number.
    pub number: u32,
    /// Number of earlier resets of the sender.
    pub life: u16,
}

impl FromStr for MessageName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str =
            "expected FROM:NUMBER or FROM:TO:NUMBER, with #LIFE behind it after a reset";
        let (name, life) = text.split_once('#').unwrap_or((text, "0"));
        let parts: Vec<_> = name.split(':').collect();
        let (from, to, number) = match parts[..] {
            [from, number] => (from, None, number),
            [from, to, number] => (from, Some(to), number),
            _ => return Err(FORM),
        };
        let to = to.map(str::parse).transpose();
        let parsed = (from.parse(), to, number.parse(), life.parse());
        let (Ok(from), Ok(to), Ok(number), Ok(life)) = parsed else {
            return Err(FORM);
        };
        Ok(Self {
            from,
            to,
            number,
            life,
        })
    }
}

impl MessageName {
    fn names(&self, id: &MessageId) -> bool {
        (self.from, self.number, self.life) == (id.from, id.number, id.life)
            && self.to.is_none_or(|to| to == id.to)
    }

    /// Distance of a message from the requested one, for suggestions: messages of the sender first.
    const fn distance(&self, id: &MessageId) -> (bool, bool, u32) {
        let other_receiver = match self.to {
            Some(to) => to != id.to,
            None => false,
        };
        (
            self.from != id.from,
            other_receiver,
            self.number.abs_diff(id.number),
        )
    }
}

/// Reason for an empty selection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// The run has no messages.
    #[error("there is no message in it")]
    NoMessages,
    /// No selected message was delivered.
    #[error("of {0} messages none was delivered to its host: there is nothing to account for")]
    NoneDelivered(usize),
    /// The message does not exist.
    #[error("there is no message {name}; the nearest ones are {nearest}")]
    NoSuchMessage {
        /// The requested name.
        name: String,
        /// Similar messages.
        nearest: String,
    },
    /// Several messages match the name.
    #[error("{name} can be any of {candidates}")]
    Ambiguous {
        /// The requested name.
        name: String,
        /// Matching messages.
        candidates: String,
    },
    /// The message was not delivered.
    #[error("message {id} was not delivered to its host ({end})")]
    NotDelivered {
        /// Identity of the message.
        id: MessageId,
        /// End of the message.
        end: String,
    },
    /// No message has this source and destination.
    #[error("no message goes {way}; there are messages {ways}")]
    NoSuchWay {
        /// The requested source and destination.
        way: String,
        /// Existing ones.
        ways: String,
    },
}

/// Largest number of messages in an error.
const MOST_NAMED: usize = 5;

fn list(ids: impl IntoIterator<Item = impl ToString>) -> String {
    let all: Vec<_> = ids.into_iter().map(|id| id.to_string()).collect();
    let more = if all.len() > MOST_NAMED { ", ..." } else { "" };
    all[..all.len().min(MOST_NAMED)].join(", ") + more
}

/// The ledger of the selected message.
///
/// # Errors
/// [`SelectError`].
pub fn one(
    name: &MessageName,
    messages: &[Outline],
    ledgers: Vec<Ledger>,
) -> Result<Ledger, SelectError> {
    let shown = match name.to {
        Some(to) => format!("{}:{to}:{}", name.from, name.number),
        None => format!("{}:{}", name.from, name.number),
    };
    let mut all: Vec<_> = messages.iter().collect();
    let named: Vec<_> = all
        .iter()
        .filter(|message| name.names(&message.id))
        .collect();
    match named[..] {
        [message] => {
            let (id, end) = (message.id, message.end.clone());
            let mut ledgers = ledgers.into_iter();
            let found = ledgers.find(|ledger| ledger.id == id);
            found.ok_or(SelectError::NotDelivered { id, end })
        }
        [] if all.is_empty() => Err(SelectError::NoMessages),
        [] => {
            all.sort_by_key(|message| (name.distance(&message.id), message.id));
            let nearest = list(all.iter().take(3).map(|message| message.id));
            let name = shown;
            Err(SelectError::NoSuchMessage { name, nearest })
        }
        _ => {
            let candidates = list(named.iter().map(|message| message.id));
            let name = shown;
            Err(SelectError::Ambiguous { name, candidates })
        }
    }
}

/// Ledgers of all messages from and to these nodes.
///
/// # Errors
/// [`SelectError`].
pub fn many(
    from: Option<u16>,
    to: Option<u16>,
    messages: &[Outline],
    ledgers: Vec<Ledger>,
) -> Result<Vec<Ledger>, SelectError> {
    let is_meant =
        |id: &MessageId| from.is_none_or(|from| from == id.from) && to.is_none_or(|to| to == id.to);
    if messages.is_empty() {
        return Err(SelectError::NoMessages);
    }
    let meant = messages
        .iter()
        .filter(|message| is_meant(&message.id))
        .count();
    if meant == 0 {
        let ways: std::collections::BTreeSet<_> = messages
            .iter()
            .map(|message| format!("from {} to {}", message.id.from, message.id.to))
            .collect();
        let end = |name, node: Option<u16>| node.map(|node| format!("{name} {node}"));
        let way: Vec<_> = [end("from", from), end("to", to)]
            .into_iter()
            .flatten()
            .collect();
        return Err(SelectError::NoSuchWay {
            way: way.join(" "),
            ways: list(ways),
        });
    }
    let ledgers: Vec<_> = ledgers
        .into_iter()
        .filter(|ledger| is_meant(&ledger.id))
        .collect();
    if ledgers.is_empty() {
        return Err(SelectError::NoneDelivered(meant));
    }
    Ok(ledgers)
}
