//! Followers: what ledgers need of a protocol. A new protocol is an entry of a table.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use emulator::observe::event::{Details, TraceEvent};
use emulator::observe::stream::Observer;
use emulator::profile::{Profile, ProfileError};
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::wire_times::{FrameTimes, PacketTimes};

use super::{Activities, Ledger, gm};
use crate::messages::gm::Tracker;
use crate::messages::{Message, MessageEnd, MessageId, Messages};

/// A message of any protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// Identity.
    pub id: MessageId,
    /// Description of its end.
    pub end: String,
}

impl From<&Message> for Outline {
    fn from(message: &Message) -> Self {
        let end = match message.end() {
            MessageEnd::Failed(code) => format!("{code:?}"),
            MessageEnd::Completed | MessageEnd::Unfinished => "unfinished".into(),
        };
        Self {
            id: message.id,
            end,
        }
    }
}

/// All messages of a run, and the ledgers of those that were delivered, in the same order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// Outlines of all messages.
    pub messages: Vec<Outline>,
    /// Ledgers of the messages that were delivered.
    pub ledgers: Vec<Ledger>,
}

/// Follows the messages of one protocol.
trait Follow: Send {
    fn event(&mut self, event: &TraceEvent);

    /// Takes what was followed. `profile`: that of the boards.
    fn account(&mut self, profile: &Profile) -> Result<Account, ProfileError>;
}

/// Observer that follows the messages of one protocol. Clones share its data: add one to a world, and query another.
#[derive(Clone)]
pub struct Follower(Arc<Mutex<Box<dyn Follow>>>);

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}

impl Follower {
    /// A follower of a protocol's messages on boards with this profile.
    #[must_use]
    pub fn new(protocol: Protocol, profile: &Profile) -> Self {
        let follow: Box<dyn Follow> = match protocol {
            // No message is in plain frames of Ethernet, and those of FM are not followed: none is found.
            Protocol::Emp | Protocol::Fm | Protocol::Acenic => {
                Box::new(Messages::new(&profile.host))
            }
            Protocol::Gm => Box::new(Tracker::default()),
        };
        Self(Arc::new(Mutex::new(follow)))
    }

    /// Takes all messages so far, and their ledgers.
    ///
    /// # Errors
    /// If the profile is for boards of another medium.
    pub fn account(&self, profile: &Profile) -> Result<Account, ProfileError> {
        let mut follow = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        follow.account(profile)
    }
}

impl Observer for Follower {
    fn details(&self) -> Details {
        Details::FRAMES | Details::HOST
    }

    fn event(&mut self, event: &TraceEvent) {
        let mut follow = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        follow.event(event);
    }
}

impl Follow for Messages {
    fn event(&mut self, event: &TraceEvent) {
        Observer::event(self, event);
    }

    fn account(&mut self, profile: &Profile) -> Result<Account, ProfileError> {
        let times = FrameTimes::from_profile(profile)?;
        let works = self.take_works();
        let messages = self.take();
        Ok(Account {
            ledgers: Activities::new(&times, &messages, works).ledgers(&messages),
            messages: messages.iter().map(Outline::from).collect(),
        })
    }
}

impl Follow for Tracker {
    fn event(&mut self, event: &TraceEvent) {
        Self::event(self, event);
    }

    fn account(&mut self, profile: &Profile) -> Result<Account, ProfileError> {
        let times = PacketTimes::from_profile(profile)?;
        let found = self.take_messages();
        let outline = |message: &crate::messages::gm::GmMessage| Outline {
            id: message.id,
            end: message.end().into(),
        };
        Ok(Account {
            messages: found.messages.iter().map(outline).collect(),
            ledgers: gm::ledgers(&times, &found),
        })
    }
}
