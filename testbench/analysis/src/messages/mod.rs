//! The way of every EMP message, from the events of a run or of a trace file.
//!
//! [`Messages`] is an [`Observer`]: it sees the stream of events once and finds out which of them belong to which
//! message. What identifies them:
//!
//! | event | belongs to a message by |
//! |-------|-------------------------|
//! | probes of the firmware | their arguments: peer, identifier, frame number |
//! | frames that MACs send and receive | their heads ([`Details::FRAMES`]) |
//! | stages of the CPUs | the probe within them; the order in which queues hand on jobs |
//! | DMA | the place in SRAM: behind a frame's header, or where the frame's last piece ended |
//! | faults and losses on links | the frame's FCS |
//! | the host's post | the mailbox that the firmware took last |
//! | the poll that saw the end | the status word, from when the firmware may have written it |
//!
//! Of a trace that begins in the middle the messages are known from the first event that names them.

mod cpu;
mod frames;
mod host;
mod message;
mod tracker;

use std::sync::{Arc, Mutex, PoisonError};

use emulator::observe::event::{Details, TraceEvent};
use emulator::observe::stream::Observer;
use emulator::tigon2::timing::Timing;

pub use message::{
    Arrival, Completion, Cpu, Dma, End, Fate, FrameWay, Message, MessageId, Mishap, MishapKind,
    Post, Sending, Work,
};
use tracker::Tracker;

/// Follows all messages. Clones share what they have seen: one is the observer, another one is asked.
///
/// ```no_run
/// # use lanigon_analysis::messages::Messages;
/// # fn run(world: &mut emulator::sim::world::World<emulator::tigon2::board::Tigon2>,
/// #     timing: &emulator::tigon2::timing::Timing) {
/// let messages = Messages::new(timing);
/// world.observe(Box::new(messages.clone()));
/// // ... the world runs ...
/// world.finish_observing();
/// for message in messages.take() {
///     println!("{}: {:?}", message.id, message.end());
/// }
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Messages(Arc<Mutex<Tracker>>);

impl Messages {
    /// Has seen nothing. `timing`: what the trace's boards and hosts were like.
    #[must_use]
    pub fn new(timing: &Timing) -> Self {
        Self(Arc::new(Mutex::new(Tracker::new(timing))))
    }

    /// All messages so far, in the order in which they were first heard of; leaves none.
    #[must_use]
    pub fn take(&self) -> Vec<Message> {
        let mut tracker = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tracker.take()
    }

    /// All stages of all CPUs so far, by their ends; leaves none.
    #[must_use]
    pub fn take_works(&self) -> Vec<Work> {
        let mut tracker = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut tracker.works)
    }
}

impl Observer for Messages {
    fn details(&self) -> Details {
        Details::FRAMES | Details::HOST
    }

    fn event(&mut self, event: &TraceEvent) {
        let mut tracker = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tracker.event(event);
    }
}
