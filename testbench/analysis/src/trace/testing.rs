//! Small traces for the tests.

use emulator::boards::BOARD_NAMES;
use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;

/// An event of CPU A.
pub fn event(ns: u64, node: u16, kind: TraceKind) -> TraceEvent {
    TraceEvent {
        time: SimTime::from_ns(ns),
        place: Place::Node(node),
        names: BOARD_NAMES[0],
        initiator: Initiator::Cpu(0),
        pc: None,
        kind,
    }
}

/// A probe of CPU A.
pub fn probe(ns: u64, node: u16, name: &str, arguments: &[u32]) -> TraceEvent {
    let (name, arguments) = (name.into(), arguments.to_vec());
    event(ns, node, TraceKind::Probe { name, arguments })
}
