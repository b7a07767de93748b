//! An exact fault as a fault layer.

use emulator::state;
use emulator::wire::ethernet::frame::Departure;
use emulator::wire::ethernet::frame::Frame;
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
        EmpFrame::parse(departure.unit.bytes())
            .is_some_and(|frame| self.fault.fits(&frame, departure.head))
            && self.strikes.take(self.fault.times)
    }
}

state!(Exact { strikes } fixed { fault });

impl FaultLayer<Frame> for Exact {
    fn pass(&mut self, departure: Departure, passage: &mut Passage<Frame>) {
        if !self.strikes(&departure) {
            return passage.forward(departure);
        }
        self.fault.action.strike(departure, passage);
    }
}

impl Action {
    /// Applies the action to a departing frame.
    pub fn strike(self, departure: Departure, passage: &mut Passage<Frame>) {
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
