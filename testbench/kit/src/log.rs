//! Recorders of a kit: events, and sent frames.

use std::sync::{Arc, Mutex, PoisonError};

use emulator::observe::event::{Details, TraceEvent};
use emulator::observe::stream::Observer;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::state::{Reader, State, StateError, Writer};
use emulator::wire::fault::{FaultLayer, Passage};
use emulator::wire::unit::{Departure, Unit};
use lanigon_worlds::boards::Medium;
use lanigon_worlds::builder::{WorldError, add_layer};

/// All events so far.
#[derive(Debug, Clone)]
pub(super) struct EventLog(Arc<Mutex<Vec<TraceEvent>>>);

/// The observer that fills a log.
struct Recorder {
    log: EventLog,
    details: Details,
}

impl Observer for Recorder {
    fn details(&self) -> Details {
        self.details
    }

    fn event(&mut self, event: &TraceEvent) {
        // Other observers may have requested further details.
        if self.details.contains(event.kind.details()) {
            let mut events = self.log.0.lock().unwrap_or_else(PoisonError::into_inner);
            events.push(event.clone());
        }
    }
}

impl EventLog {
    pub(super) fn observe(world: &mut World, details: Details) -> Self {
        let log = Self(Arc::default());
        world.observe(Box::new(Recorder {
            log: log.clone(),
            details,
        }));
        log
    }

    pub(super) fn events(&self) -> Vec<TraceEvent> {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.clone()
    }
}

/// A frame, or a packet of Myrinet, on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentFrame {
    /// Time of the first bit.
    pub time: SimTime,
    /// A frame from the destination address on, without FCS; a packet from its route on, without CRC-8.
    pub bytes: Vec<u8>,
}

/// The frames that left a node, after all faults.
#[derive(Debug, Clone, Default)]
pub(super) struct Tap(Arc<Mutex<Vec<SentFrame>>>);

impl Tap {
    /// Installs one per node.
    pub(super) fn install(world: &mut World, medium: Medium) -> Result<Vec<Self>, WorldError> {
        let nodes = 0..world.nodes.len();
        let tap = |node| {
            let tap = Self::default();
            add_layer(world, medium, node, tap.clone())?;
            Ok(tap)
        };
        nodes.map(tap).collect()
    }

    pub(super) fn frames(&self) -> Vec<SentFrame> {
        let frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        frames.clone()
    }
}

/// Recorded frames are not part of the state.
impl State for Tap {
    fn save(&self, _: &mut Writer) {}

    fn load(&mut self, _: &mut Reader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

impl<U: Unit> FaultLayer<U> for Tap {
    fn pass(&mut self, departure: Departure<U>, passage: &mut Passage<U>) {
        let mut frames = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        frames.push(SentFrame {
            time: departure.head,
            bytes: departure.unit.bytes().to_vec(),
        });
        passage.forward(departure);
    }
}
