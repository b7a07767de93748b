//! A direction of an Ethernet link: a lane, and the wire on which frames follow each other.

use super::frame::{Frame, MAXIMUM_BYTES, MINIMUM_BYTES};
use super::link::Link;
use crate::lane::Lane;
use crate::port::Port;
use emulator_base::loss::LossReason;
use emulator_base::time::SimTime;
use emulator_observe::capture::{Interface, LinkType, Note};
use emulator_state::state;

/// A direction of a link.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) lane: Lane<Frame>,
    pub(super) link: Link,
    /// The next frame may begin then.
    free_at: SimTime,
}

state!(Line { lane, free_at } fixed { link });

impl Line {
    /// A line that has carried nothing.
    pub(super) fn new(from: Port, to: Port, link: Link) -> Self {
        Self {
            lane: Lane::new(from, to),
            link,
            free_at: SimTime::ZERO,
        }
    }

    /// The place that a capture shows.
    pub(super) fn interface(&self) -> Interface {
        let second = SimTime::from_us(1_000_000).ps();
        let bits_per_s = 8 * second / self.link.byte_time.ps().max(1);
        self.lane.interface(LinkType::ETHERNET, bits_per_s)
    }

    /// A frame goes on the wire at `time` or as soon as it is free. Returns when its first bit leaves, unless
    /// the frame is lost.
    pub(super) fn carry(
        &mut self,
        frame: &Frame,
        time: SimTime,
        mut notes: Vec<Note>,
    ) -> Option<SimTime> {
        if !(MINIMUM_BYTES..=MAXIMUM_BYTES).contains(&frame.bytes().len()) {
            self.lane
                .lose_unheard(time, LossReason::Length, frame, notes);
            return None;
        }
        let first_bit = time.max(self.free_at);
        let end = first_bit.saturating_add(self.link.frame_span(frame));
        self.free_at = end.saturating_add(self.link.gap());
        self.lane.carried(frame);
        let begins = first_bit.saturating_add(self.link.propagation);
        if self.lane.is_cut(first_bit, begins) {
            self.lane
                .lose_unheard(first_bit, LossReason::Cut, frame, notes);
            return None;
        }
        let ends = begins.saturating_add(self.link.frame_span(frame));
        if self.lane.is_cut(begins, ends) {
            notes.push(Note::Interrupted);
        }
        self.lane.capture(first_bit, frame, notes);
        Some(first_bit)
    }
}
