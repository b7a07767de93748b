//! Faults of single Ethernet frames of host programs ([`frames`](crate::programs::frames)).

use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::state;
use emulator::wire::ethernet::EthernetError;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::fault::{FaultLayer, Passage};
use emulator::wire::unit::Departure;

use super::{Action, Pattern, Strikes, agree, pattern_methods};
use crate::programs::frame::{OnWire, ProgramFrameKind, on_wire};

/// A fault of data frames of programs that match its pattern, where they leave their sender; by default of the first one only. Greetings and their
/// answers carry no data and match no pattern.
///
/// ```
/// use lanigon_worlds::faults::{Action, ProgramFault};
///
/// // Frame 16 from node 2 to node 0 is lost, counted from 0.
/// let lost = ProgramFault::new(Action::Drop).from(2).to(0).number(16);
/// // The hundredth frame that leaves node 1 comes twice, whatever its receiver.
/// let twice = ProgramFault::new(Action::Duplicate).from(1).nth(100);
/// # let _ = (lost, twice);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramFault {
    action: Action,
    number: Option<u32>,
    pattern: Pattern,
    nth: u32,
}

impl ProgramFault {
    /// A fault of the first data frame.
    #[must_use]
    pub const fn new(action: Action) -> Self {
        Self {
            action,
            number: None,
            pattern: Pattern::new(),
            nth: 1,
        }
    }

    /// Matches frames with this number only, counted from 0 for each program, sender and receiver.
    #[must_use]
    pub const fn number(mut self, number: u32) -> Self {
        self.number = Some(number);
        self
    }

    /// Skips matching frames before this one, counted from 1 for each sender.
    #[must_use]
    pub const fn nth(mut self, number: u32) -> Self {
        self.nth = number;
        self
    }

    pattern_methods!();

    /// Whether both faults may strike the same frame.
    fn meets(&self, other: &Self) -> bool {
        agree(self.number, other.number)
    }

    fn fits(&self, frame: &OnWire, time: SimTime) -> bool {
        self.pattern.fits(frame.from, Some(frame.to), time)
            && frame.kind == ProgramFrameKind::Data
            && self.number.is_none_or(|wanted| wanted == frame.number)
    }
}

/// The fault at one sender.
#[derive(Debug)]
struct Layer {
    fault: ProgramFault,
    /// Number of matching frames so far.
    seen: u32,
    strikes: Strikes,
}

state!(Layer { seen, strikes } fixed { fault });

impl Layer {
    fn strikes(&mut self, departure: &Departure<Frame>) -> bool {
        let frame = on_wire(departure.unit.bytes());
        if !frame.is_some_and(|frame| self.fault.fits(&frame, departure.head))
            || !self.fault.action.fits(&departure.unit)
        {
            return false;
        }
        self.seen = self.seen.saturating_add(1);
        self.seen >= self.fault.nth && self.strikes.try_count(self.fault.pattern.times)
    }
}

impl FaultLayer<Frame> for Layer {
    fn pass(&mut self, departure: Departure<Frame>, passage: &mut Passage<Frame>) {
        match self.strikes(&departure) {
            true => self.fault.action.strike(departure, passage),
            false => passage.forward(departure),
        }
    }
}

/// Installs a fault at the nodes' ports, as [`install`](super::install) does.
///
/// # Errors
/// If the sender does not exist or has no cable.
pub fn install_program(world: &mut World, fault: &ProgramFault) -> Result<Strikes, EthernetError> {
    let strikes = Strikes::default();
    let senders = match fault.pattern.from {
        Some(node) => vec![usize::from(node)],
        None => (0..world.nodes.len())
            .filter(|&node| world.line_counts(node).is_ok())
            .collect(),
    };
    for node in senders {
        let layer = Layer {
            fault: fault.clone(),
            seen: 0,
            strikes: strikes.clone(),
        };
        world.add_fault(node, Box::new(layer))?;
    }
    Ok(strikes)
}
