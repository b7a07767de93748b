//! An exact fault as a fault layer.

use emulator::state;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::ethernet::link::Departure;
use emulator::wire::fault::{FaultKind, FaultLayer, Passage};

use super::{Action, EmpFrame, Fault, Strikes};

#[derive(Debug)]
pub(super) struct Exact {
    fault: Fault,
    strikes: Strikes,
}

impl Exact {
    pub(super) const fn new(fault: Fault, strikes: Strikes) -> Self {
        Self { fault, strikes }
    }

    fn strikes(&self, departure: &Departure) -> bool {
        EmpFrame::parse(departure.frame.bytes())
            .is_some_and(|frame| self.fault.fits(&frame, departure.first_bit))
            && self.strikes.take(self.fault.times)
    }
}

state!(Exact { strikes } fixed { fault });

impl FaultLayer for Exact {
    fn pass(&mut self, departure: Departure, passage: &mut Passage) {
        if !self.strikes(&departure) {
            return passage.forward(departure);
        }
        self.fault.action.strike(departure, passage);
    }
}

impl Action {
    /// Applies the action to a departing frame.
    pub fn strike(self, departure: Departure, passage: &mut Passage) {
        match self {
            Self::Drop => passage.report(FaultKind::Lost),
            Self::Duplicate => {
                passage.report(FaultKind::Duplicated);
                passage.forward(departure.clone());
                passage.forward(departure);
            }
            Self::Delay(by) => {
                passage.report(FaultKind::Delayed);
                let first_bit = departure.first_bit.saturating_add(by);
                passage.forward(Departure {
                    first_bit,
                    ..departure
                });
            }
            Self::Corrupt { byte, valid_fcs } => {
                passage.report(FaultKind::Corrupted);
                let frame = damaged(&departure.frame, byte, valid_fcs);
                passage.forward(Departure { frame, ..departure });
            }
        }
    }
}

fn damaged(frame: &Frame, byte: u32, valid_fcs: bool) -> Frame {
    let mut bytes = frame.bytes().to_vec();
    let place = (byte as usize).min(bytes.len().saturating_sub(1));
    if let Some(byte) = bytes.get_mut(place) {
        *byte = !*byte;
    }
    if valid_fcs {
        Frame::new(bytes)
    } else {
        Frame::with_fcs(bytes, frame.fcs())
    }
}
