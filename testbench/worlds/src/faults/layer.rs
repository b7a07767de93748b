//! Exact faults as fault layers: a layer at a sender's port sees each frame that leaves, and may lose, double, delay or damage it.

use emulator::state;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::fault::{FaultKind, FaultLayer, Passage};
use emulator::wire::myrinet::Packet;
use emulator::wire::unit::{Departure, Unit};

use super::{Action, EmpFrame, Fault, Strikes};

/// The layer of a fault of EMP's frames.
#[derive(Debug)]
pub(super) struct Exact {
    fault: Fault,
    /// Hits of the fault so far, at all senders.
    strikes: Strikes,
}

impl Exact {
    pub(super) const fn new(fault: Fault, strikes: Strikes) -> Self {
        Self { fault, strikes }
    }

    /// Whether the fault hits this frame; then the hit is counted.
    fn hits(&self, departure: &Departure<Frame>) -> bool {
        EmpFrame::parse(departure.unit.bytes())
            .is_some_and(|frame| self.fault.fits(&frame, departure.head))
            && self.fault.action.fits(&departure.unit)
            && self.strikes.try_count(self.fault.pattern.times)
    }
}

state!(Exact { strikes } fixed { fault });

impl FaultLayer<Frame> for Exact {
    fn pass(&mut self, departure: Departure<Frame>, passage: &mut Passage<Frame>) {
        if !self.hits(&departure) {
            return passage.forward(departure);
        }
        self.fault.action.strike(departure, passage);
    }
}

/// A unit whose check sequence can be made to fit any bytes.
pub trait Forge: Unit {
    /// A unit with these bytes and the check sequence that fits them.
    #[must_use]
    fn forged(bytes: Vec<u8>) -> Self;
}

impl Forge for Frame {
    fn forged(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

/// The CRC-8 fits; a CRC-32, which is part of the bytes, does not.
impl Forge for Packet {
    fn forged(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

impl Action {
    /// Whether a frame or packet is one to which this can happen: it has the byte that is to be damaged.
    #[must_use]
    pub fn fits(&self, unit: &impl Unit) -> bool {
        match *self {
            Self::Corrupt { byte, .. } => (byte as usize) < unit.bytes().len(),
            Self::Drop | Self::Duplicate | Self::Delay(_) => true,
        }
    }

    /// Applies the action to a departing frame or packet.
    pub fn strike<U: Forge>(self, departure: Departure<U>, passage: &mut Passage<U>) {
        match self {
            Self::Drop => passage.report(FaultKind::Lost),
            Self::Duplicate => {
                passage.report(FaultKind::Duplicated);
                passage.forward(departure.clone());
                passage.forward(departure);
            }
            Self::Delay(by) => {
                passage.report(FaultKind::Delayed);
                let head = departure.head.saturating_add(by);
                passage.forward(Departure { head, ..departure });
            }
            Self::Corrupt { byte, valid_fcs } => {
                passage.report(FaultKind::Corrupted);
                let unit = damaged(&departure.unit, byte, valid_fcs);
                passage.forward(Departure { unit, ..departure });
            }
        }
    }
}

/// The unit with all bits of a byte inverted; with a check sequence that fits these bytes, or with its own.
fn damaged<U: Forge>(unit: &U, byte: u32, valid_check: bool) -> U {
    let mut bytes = unit.bytes().to_vec();
    if let Some(byte) = bytes.get_mut(byte as usize) {
        *byte = !*byte;
    }
    match valid_check {
        true => U::forged(bytes),
        false => unit.with_bytes(bytes),
    }
}
