//! Recorded faults: what fault layers did to the units that passed them, and a layer that does the same again.
//!
//! A record names units by their number, so it serves any fault: random ones, and such as closures choose. In an equal world equal units
//! pass each layer.

use std::sync::{Arc, Mutex, PoisonError};

use super::fault::{FaultKind, FaultLayer, Passage};
use emulator_base::time::SimTime;
use emulator_base::unit::{Departure, Unit};
use emulator_state::{Reader, State, StateError, Value, Writer};
use emulator_state::{state, value_struct};

/// A unit that left a layer in place of one that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// Delay that the layer added.
    pub late: SimTime,
    /// Bytes and check sequence, if they differ from those of the unit that came.
    pub damaged: Option<(Arc<[u8]>, u32)>,
}

value_struct!(Replacement {
    late: late,
    damaged: damaged
});

/// Record of a unit that a layer did not just forward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strike {
    /// Number of the unit among those that came to the layer, from 0.
    pub unit: u64,
    /// The faults that the layer reported.
    pub faults: Vec<FaultKind>,
    /// The units that left in its place.
    pub left: Vec<Replacement>,
}

value_struct!(Strike {
    unit: unit,
    faults: faults,
    left: left
});

/// The strikes of a layer so far, in the order of units. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct StrikeLog(Arc<Mutex<Vec<Strike>>>);

impl StrikeLog {
    /// The strikes.
    #[must_use]
    pub fn strikes(&self) -> Vec<Strike> {
        let strikes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        strikes.clone()
    }

    fn push(&self, strike: Strike) {
        let mut strikes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        strikes.push(strike);
    }
}

/// A layer whose strikes are recorded.
#[derive(Debug)]
pub(super) struct Recorded<U> {
    inner: Box<dyn FaultLayer<U>>,
    units: u64,
    log: StrikeLog,
}

impl<U> State for Recorded<U> {
    fn save(&self, out: &mut Writer) {
        self.inner.save(out);
        self.units.write(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.inner.load(from)?;
        self.units.load(from)
    }
}

impl<U> Recorded<U> {
    pub(super) fn new(inner: Box<dyn FaultLayer<U>>, log: StrikeLog) -> Self {
        let units = 0;
        Self { inner, units, log }
    }
}

impl<U: Unit> FaultLayer<U> for Recorded<U> {
    fn pass(&mut self, departure: Departure<U>, passage: &mut Passage<U>) {
        let unit = self.units;
        self.units += 1;
        let first = passage.units.len();
        self.inner.pass(departure.clone(), passage);
        let left = &passage.units[first..];
        if passage.faults.is_empty() && *left == [departure.clone()] {
            return;
        }
        let leaves = |after: &Departure<U>| Replacement {
            late: after.head.saturating_sub(departure.head),
            damaged: (after.unit != departure.unit)
                .then(|| (Arc::clone(after.unit.bytes()), after.unit.check())),
        };
        self.log.push(Strike {
            unit,
            faults: passage.faults.clone(),
            left: left.iter().map(leaves).collect(),
        });
    }
}

/// A layer that repeats recorded strikes.
#[derive(Debug)]
pub struct RepeatedStrikes {
    /// Sorted by unit.
    strikes: Vec<Strike>,
    units: u64,
}

state!(RepeatedStrikes { units } fixed { strikes });

impl RepeatedStrikes {
    /// A layer with these strikes.
    #[must_use]
    pub fn new(mut strikes: Vec<Strike>) -> Self {
        strikes.sort_by_key(|strike| strike.unit);
        Self { strikes, units: 0 }
    }
}

impl<U: Unit> FaultLayer<U> for RepeatedStrikes {
    fn pass(&mut self, departure: Departure<U>, passage: &mut Passage<U>) {
        let unit = self.units;
        self.units += 1;
        let found = self
            .strikes
            .binary_search_by_key(&unit, |strike| strike.unit);
        let Ok(index) = found else {
            return passage.forward(departure);
        };
        let Strike { faults, left, .. } = &self.strikes[index];
        faults.iter().for_each(|fault| passage.report(*fault));
        for left in left {
            let unit = match &left.damaged {
                Some((bytes, check)) => U::with_check(bytes.to_vec(), *check),
                None => departure.unit.clone(),
            };
            passage.forward(Departure {
                head: departure.head.saturating_add(left.late),
                unit,
            });
        }
    }
}
