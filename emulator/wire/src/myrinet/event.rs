//! Events of the fabric: everything happens in one total order, `(time, channel, step, the channel's own sequence)`.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Control;
use super::flow::Flow;
use super::packet::Packet;
use super::worm::HopId;
use emulator_base::time::SimTime;
use emulator_state::{Reader, State, StateError, Value, Writer};
use emulator_state::{value_enum, value_struct};

/// An event on a channel.
#[derive(Debug)]
pub(super) enum Step {
    /// The tail of a packet has left its beginning, if the hop has this version.
    TailOut(HopId, u64),
    /// STOP (`true`) or GO reaches its beginning, in a crossbar.
    Gate(bool),
    /// The node at its end sends a control.
    Heard(Control),
    /// The bytes that come in at its end change.
    Flow(HopId, Flow),
    /// The head is in at its end.
    Head(HopId),
    /// The fill of the buffer at its end is at a watermark, if the prediction is the last one.
    Watermark(u64),
    /// A transmitter has caught up with what comes in, if the hop has this version.
    Replan(HopId, u64),
    /// The head leaves for the node at its end, if the hop has this version.
    Begin(HopId, u64),
    /// Nothing can change any more when the tail leaves the node at its beginning, if the hop has this version.
    Settle(HopId, u64),
    /// The channel is free because a packet was taken out of the network.
    Free,
    /// A packet comes to the lane's fault layer of this number, or after the last one to the wire. Whether its sender is to hear
    /// when it has left.
    Leave(Packet, usize, bool),
    /// The cable is cut; with it the crossbar at its end, or not.
    Cut(bool),
    /// A packet that still waits for it has waited for too long.
    Watchdog(HopId),
    /// The channel's cable is pulled out and another one, of this channel, is plugged in.
    Replug(usize),
}

value_enum!(Step {
    TailOut { 0: hop, 1: version },
    Gate { 0: stop },
    Heard { 0: control },
    Flow { 0: hop, 1: flow },
    Head { 0: hop },
    Watermark { 0: prediction },
    Replan { 0: hop, 1: version },
    Begin { 0: hop, 1: version },
    Settle { 0: hop, 1: version },
    Free {},
    Leave { 0: packet, 1: layer, 2: reports },
    Cut { 0: crossbar },
    Watchdog { 0: hop },
    Replug { 0: new },
});

impl Step {
    /// The order at one time on one channel.
    const fn rank(&self) -> u8 {
        match self {
            Self::TailOut(..) => 0,
            Self::Gate(_) => 1,
            Self::Heard(_) => 2,
            Self::Flow(..) => 3,
            Self::Head(_) => 4,
            Self::Watermark(_) => 5,
            Self::Replan(..) => 6,
            Self::Begin(..) => 7,
            Self::Settle(..) => 8,
            Self::Free => 9,
            Self::Leave(..) => 10,
            Self::Cut(_) => 11,
            Self::Watchdog(_) => 12,
            Self::Replug(_) => 13,
        }
    }
}

/// A pending event.
#[derive(Debug)]
pub(super) struct Event {
    pub time: SimTime,
    pub channel: usize,
    pub step: Step,
    pub sequence: u64,
}

value_struct!(Event {
    time: time,
    channel: channel,
    step: step,
    sequence: sequence
});

impl Event {
    /// Position in the total order. At equal times channel and step decide before the order of scheduling.
    const fn key(&self) -> (SimTime, usize, u8, u64) {
        (self.time, self.channel, self.step.rank(), self.sequence)
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    /// The earliest is the greatest: a heap gives it first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Pending events.
#[derive(Debug, Default)]
pub(super) struct Pending(pub BinaryHeap<Event>);

impl State for Pending {
    fn save(&self, out: &mut Writer) {
        let mut events: Vec<&Event> = self.0.iter().collect();
        // The order within a heap depends on its past: sorted, equal states are equal bytes.
        events.sort_unstable();
        events.len().write(out);
        events.iter().for_each(|event| event.write(out));
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.0 = Vec::<Event>::read(from)?.into();
        Ok(())
    }
}
