//! Fault layers: they lose, double, delay and damage units between a port and its link.
//!
//! A layer is given each unit that leaves the port, and forwards any number of units in its place. It knows units and time, no
//! protocol. Layers stand one behind the other; the output of the last one goes on the wire, one unit after the other.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

pub use emulator_base::fault::FaultKind;
use emulator_base::time::SimTime;
use emulator_base::unit::{Departure, Unit};
use emulator_state::state;
use emulator_state::value_struct;
use emulator_state::{Reader, State, StateError, Value, Writer};

/// Number of faults of each kind that a layer made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultCounts([u64; FaultKind::ALL.len()]);

value_struct!(FaultCounts { 0: counts });

impl FaultCounts {
    /// Number of faults of this kind.
    #[must_use]
    pub const fn of(&self, kind: FaultKind) -> u64 {
        self.0[kind as usize]
    }

    /// Number of all faults.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(super) const fn count(&mut self, kind: FaultKind) {
        self.0[kind as usize] += 1;
    }
}

/// The units that leave a layer in place of one, and the faults of the layer.
#[derive(Debug)]
pub struct Passage<U> {
    pub(super) units: Vec<Departure<U>>,
    pub(super) faults: Vec<FaultKind>,
    can_duplicate: bool,
}

impl<U> Default for Passage<U> {
    fn default() -> Self {
        Self {
            units: Vec::new(),
            faults: Vec::new(),
            can_duplicate: true,
        }
    }
}

impl<U> Passage<U> {
    /// A passage where at most one unit leaves a layer: the unit is under way already.
    #[must_use]
    pub fn of_one() -> Self {
        Self {
            can_duplicate: false,
            ..Self::default()
        }
    }

    /// Whether more than one unit can leave. Otherwise, a second unit and a reported duplication are ignored.
    #[must_use]
    pub const fn can_duplicate(&self) -> bool {
        self.can_duplicate
    }

    /// Lets a unit leave, not before the one that came: an earlier time means at once.
    pub fn forward(&mut self, departure: Departure<U>) {
        if self.can_duplicate || self.units.is_empty() {
            self.units.push(departure);
        }
    }

    /// Reports a fault, which is counted and traced: a unit that is not forwarded as lost, and so on. A layer that
    /// forwards the unit unchanged reports nothing.
    pub fn report(&mut self, fault: FaultKind) {
        if self.can_duplicate || fault != FaultKind::Duplicated {
            self.faults.push(fault);
        }
    }

    /// The units that leave.
    #[must_use]
    pub fn units(&self) -> &[Departure<U>] {
        &self.units
    }

    /// Takes the units that leave.
    pub fn take_units(&mut self) -> impl Iterator<Item = Departure<U>> {
        self.units.drain(..)
    }

    /// The faults that were reported.
    #[must_use]
    pub fn faults(&self) -> &[FaultKind] {
        &self.faults
    }
}

/// A layer that units pass on their way to a link. Its state is what it remembers of earlier units.
pub trait FaultLayer<U>: State + std::fmt::Debug + Send {
    /// Passes on a unit that would begin to leave. Units come in the order of their times.
    fn pass(&mut self, departure: Departure<U>, passage: &mut Passage<U>);
}

/// The probability of each fault, from 0 to 1. A unit may suffer several.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FaultRates {
    /// The unit is lost.
    pub loss: f64,
    /// The unit leaves twice.
    pub duplication: f64,
    /// The unit is held back, so that later ones overtake it.
    pub delay: f64,
    /// The longest delay; the shortest is a thousandth of it.
    pub longest_delay: SimTime,
    /// A byte of the unit changes, so that its check sequence is wrong.
    pub corruption: f64,
}

/// Reason why fault rates are refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FaultError {
    /// A rate that is no probability.
    #[error("the rate of {what} is {rate}, which is not between 0 and 1")]
    Rate {
        /// The fault.
        what: &'static str,
        /// The value.
        rate: f64,
    },
    /// Delays that take no time, or more than a minute.
    #[error("frames are to be delayed by at most {0}: it must be more than 0 and at most a minute")]
    Delay(SimTime),
}

/// A layer of random faults, with a random stream of its own.
#[derive(Debug)]
pub struct RandomFaults {
    rates: FaultRates,
    random: ChaCha8Rng,
}

/// Longest delay of a fault: sums of times stay far from their limit.
const LONGEST_DELAY: SimTime = SimTime::from_us(60_000_000);

impl State for RandomFaults {
    fn save(&self, out: &mut Writer) {
        self.random.get_word_pos().save(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.random.set_word_pos(Value::read(from)?);
        Ok(())
    }
}

impl RandomFaults {
    /// A layer with these rates. Layers with one seed and different streams are independent of each other.
    ///
    /// # Errors
    /// If a rate or the delay is impossible.
    pub fn new(rates: FaultRates, seed: u64, stream: u64) -> Result<Self, FaultError> {
        for (what, rate) in [
            ("loss", rates.loss),
            ("duplication", rates.duplication),
            ("delay", rates.delay),
            ("corruption", rates.corruption),
        ] {
            if !(0.0..=1.0).contains(&rate) {
                return Err(FaultError::Rate { what, rate });
            }
        }
        let delays = SimTime::from_ps(1)..=LONGEST_DELAY;
        if rates.delay > 0.0 && !delays.contains(&rates.longest_delay) {
            return Err(FaultError::Delay(rates.longest_delay));
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(stream);
        Ok(Self { rates, random })
    }

    /// Draws whether a fault of this rate happens.
    fn happens(&mut self, rate: f64) -> bool {
        f64::from(self.random.next_u32()) < rate * (f64::from(u32::MAX) + 1.0)
    }

    /// Draws a delay.
    fn delay(&mut self) -> SimTime {
        let thousandth = self.rates.longest_delay.ps() / 1000;
        let rest = self.rates.longest_delay.ps() - thousandth;
        SimTime::from_ps(1.max(thousandth + self.random.next_u64() % (rest + 1)))
    }

    /// The unit with some bits of one byte turned over. No check sequence fails to see that.
    fn damaged<U: Unit>(&mut self, unit: &U) -> U {
        let mut bytes = unit.bytes().to_vec();
        let random = self.random.next_u64();
        let length = bytes.len().max(1) as u64;
        let bits = ((random >> 32) % 255 + 1) as u8;
        if let Some(byte) = bytes.get_mut(((random & 0xFFFF_FFFF) % length) as usize) {
            *byte ^= bits;
        }
        unit.with_bytes(bytes)
    }
}

impl<U: Unit> FaultLayer<U> for RandomFaults {
    fn pass(&mut self, departure: Departure<U>, passage: &mut Passage<U>) {
        let rates = self.rates;
        // Every unit draws for every fault, so that one rate does not shift the draws of another.
        let [lost, twice, late, damaged] =
            [rates.loss, rates.duplication, rates.delay, rates.corruption]
                .map(|rate| self.happens(rate));
        if lost {
            return passage.report(FaultKind::Lost);
        }
        if twice && passage.can_duplicate() {
            passage.report(FaultKind::Duplicated);
            passage.forward(departure.clone());
        }
        let mut leaving = departure;
        if damaged {
            passage.report(FaultKind::Corrupted);
            leaving.unit = self.damaged(&leaving.unit);
        }
        if late {
            passage.report(FaultKind::Delayed);
            leaving.head = leaving.head.saturating_add(self.delay());
        }
        passage.forward(leaving);
    }
}

/// Loses every unit that would leave within a span of time. The carrier stays.
#[derive(Debug, Clone, Copy)]
pub struct Outage {
    /// The first moment at which units are lost.
    pub from: SimTime,
    /// The first moment after it at which they are not.
    pub until: SimTime,
}

state!(Outage {} fixed { from, until });

impl<U> FaultLayer<U> for Outage {
    fn pass(&mut self, departure: Departure<U>, passage: &mut Passage<U>) {
        if (self.from..self.until).contains(&departure.head) {
            passage.report(FaultKind::Lost);
        } else {
            passage.forward(departure);
        }
    }
}
