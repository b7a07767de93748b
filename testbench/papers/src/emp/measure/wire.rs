//! Bandwidth where it is limited: on the wire.
//!
//! A host learns of the end of a message late, by polling, and by varying times. A window between two such moments may
//! contain the host's view of more frames than the wire carried in it, and the bandwidth would exceed the wire's. So the window lies
//! between the first bits of two messages: exactly the frames of the messages between them are in it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use defs::emp::frame::Kind;
use emulator::observe::event::{Details, Place, TraceEvent, TraceKind};
use emulator::observe::stream::Observer;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use lanigon_analysis::messages::emp_header;

/// First bits of the messages that each node sent, in order.
#[derive(Debug, Clone, Default)]
pub struct Starts(Arc<Mutex<BTreeMap<u16, Vec<SimTime>>>>);

impl Starts {
    /// The observer that finds them.
    #[must_use]
    pub fn observer(&self) -> Box<dyn Observer> {
        Box::new(StartObserver {
            starts: self.clone(),
            last: BTreeMap::new(),
        })
    }

    /// First bits of the messages of a node, from a time on.
    #[must_use]
    pub fn times_of(&self, node: u16, from: SimTime) -> Vec<SimTime> {
        let starts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = starts.get(&node).into_iter().flatten();
        all.copied().filter(|time| *time >= from).collect()
    }
}

/// Notes the first bits of messages, from the frames that leave.
struct StartObserver {
    starts: Starts,
    /// The newest message of each node: frames that are sent again start nothing.
    last: BTreeMap<u16, u16>,
}

impl Observer for StartObserver {
    fn details(&self) -> Details {
        Details::FRAMES
    }

    fn event(&mut self, event: &TraceEvent) {
        let (Place::Node(node), Initiator::Transmitter) = (event.place, event.initiator) else {
            return;
        };
        let TraceKind::FrameHead { head, .. } = &event.kind else {
            return;
        };
        let frame =
            emp_header(head).filter(|frame| matches!(frame.kind, Kind::Header | Kind::Data));
        let Some(frame) = frame else {
            return;
        };
        let is_newer = |last: &u16| (1..0x8000).contains(&frame.message.wrapping_sub(*last));
        if self.last.get(&node).is_none_or(is_newer) {
            self.last.insert(node, frame.message);
            let mut starts = self.starts.0.lock().unwrap_or_else(PoisonError::into_inner);
            starts.entry(node).or_default().push(event.time);
        }
    }
}
