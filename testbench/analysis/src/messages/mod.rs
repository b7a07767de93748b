//! Decoders of messages, from the events of a run or of a trace file: those of EMP, and in [`gm`] those of GM.
//!
//! [`Messages`] is an [`Observer`]: it processes the stream of events once and assigns events to messages:
//!
//! | event | assigned by |
//! |-------|-------------------------|
//! | probes of the firmware | arguments: peer, identifier, frame number |
//! | frames that MACs send and receive | head ([`Details::FRAMES`]) |
//! | stages of the CPUs | the probe within them; the order in which queues hand on jobs |
//! | DMA | SRAM address: behind a frame's header, or the end of the frame's last piece |
//! | faults and losses on links | FCS of the frame |
//! | the host's post | the mailbox that the firmware took last |
//! | the poll that reads the completion | the status word, from the earliest time of its write |
//!
//! If a trace begins in the middle, a message is known from the first event that identifies it.

mod cpu;
mod frames;
pub mod gm;
mod host;
mod message;
mod names;
mod tracker;

use std::sync::{Arc, Mutex, PoisonError};

use emulator::observe::event::{Details, TraceEvent};
use emulator::observe::stream::Observer;
use emulator::profile::costs::HostCosts;

pub use message::{
    Cpu, DmaTransfer, Fate, FrameArrival, FrameSending, FrameWay, Message, MessageCompletion,
    MessageEnd, MessageId, MessageWork, Mishap, MishapKind, Post,
};
pub use names::emp::header as emp_header;
pub use names::{DecodedHead, DecodedProbe, MessageName, posts, said, seen};
use tracker::Tracker;

/// Decoder of all messages. Clones share its data: add one as an observer, and query another.
///
/// ```no_run
/// # use lanigon_analysis::messages::Messages;
/// # fn run(world: &mut emulator::sim::world::World,
/// #     costs: &emulator::profile::costs::HostCosts) {
/// let messages = Messages::new(costs);
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
    /// An empty decoder. `costs`: those of the hosts of the trace.
    #[must_use]
    pub fn new(costs: &HostCosts) -> Self {
        Self(Arc::new(Mutex::new(Tracker::new(costs))))
    }

    /// Takes all messages so far, in the order of their first events.
    #[must_use]
    pub fn take(&self) -> Vec<Message> {
        let mut tracker = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tracker.take_messages()
    }

    /// Takes all stages of all CPUs so far, in the order of their ends.
    #[must_use]
    pub fn take_works(&self) -> Vec<MessageWork> {
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
