//! Activities of a node's units over time, from its trace.

use std::sync::Arc;

use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use lanigon_worlds::wire_times::FrameTimes;

/// An activity of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitActivity {
    /// The unit: a CPU, a DMA channel, the transmitting MAC.
    pub unit: Initiator,
    /// Stage of a CPU, or its wait within a stage; kind of work of other units.
    pub what: Arc<str>,
    /// Start.
    pub from: SimTime,
    /// End.
    pub to: SimTime,
}

/// Units with activities in a trace.
const UNITS: [Initiator; 5] = [
    Initiator::Cpu(0),
    Initiator::Cpu(1),
    Initiator::DmaRead,
    Initiator::DmaWrite,
    Initiator::Transmitter,
];

/// Current activity of a unit.
#[derive(Debug, Default)]
struct UnitState {
    current: Option<(Arc<str>, SimTime)>,
    /// Stage to resume after a wait.
    stage: Option<Arc<str>>,
}

impl UnitState {
    /// Ends the current activity and starts another one, if any; returns the ended one.
    fn turn_to(&mut self, what: Option<Arc<str>>, now: SimTime) -> Option<(Arc<str>, SimTime)> {
        std::mem::replace(&mut self.current, what.map(|what| (what, now)))
    }

    /// New activity of the unit after an event; `None` if unchanged.
    fn next(&mut self, kind: &TraceKind) -> Option<Option<Arc<str>>> {
        Some(match kind {
            TraceKind::StageEnter { stage } => {
                self.stage = Some(Arc::clone(stage));
                self.stage.clone()
            }
            TraceKind::StageExit { .. } => {
                self.stage = None;
                None
            }
            TraceKind::WaitEnter { what } => Some(format!("wait: {what}").into()),
            TraceKind::WaitExit { .. } => self.stage.clone(),
            TraceKind::DmaStarted { .. } => Some("transfer".into()),
            TraceKind::DmaDone { .. } | TraceKind::DmaFailed { .. } => None,
            _ => return None,
        })
    }
}

/// Activities of a node's units from `start` to `end`, sorted by end; `events` are in order.
#[must_use]
pub fn of_node(
    events: &[TraceEvent],
    node: u16,
    times: &FrameTimes,
    [start, end]: [SimTime; 2],
) -> Vec<UnitActivity> {
    let mut states: [UnitState; UNITS.len()] = Default::default();
    let mut activities = Vec::new();
    let mut add = |unit, what, from: SimTime, to: SimTime| {
        let (from, to) = (from.max(start), to.min(end));
        if from < to {
            activities.push(UnitActivity {
                unit,
                what,
                from,
                to,
            });
        }
    };
    for event in events
        .iter()
        .filter(|event| event.place == Place::Node(node))
    {
        let Some(index) = UNITS.iter().position(|unit| *unit == event.initiator) else {
            continue;
        };
        if let TraceKind::FrameSent { length, .. } = event.kind {
            let sent = event.time + times.transmit_start + times.frame(length);
            add(event.initiator, "frame".into(), event.time, sent);
        } else if let Some(next) = states[index].next(&event.kind)
            && let Some((what, from)) = states[index].turn_to(next, event.time)
        {
            add(event.initiator, what, from, event.time);
        }
    }
    for (unit, state) in UNITS.into_iter().zip(states) {
        if let Some((what, from)) = state.current {
            add(unit, what, from, end);
        }
    }
    activities
}
