//! Fault layers: what happens to frames between the port that they leave and their link.
//!
//! A layer is given each frame that leaves, and says what leaves instead. It knows frames and time, no
//! protocol. Layers stand one behind the other; what comes out of the last one goes on the wire, one frame
//! after the other.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::ethernet::frame::Frame;
use super::ethernet::link::Departure;
use crate::sim::time::SimTime;
use crate::state;
use crate::state::{Reader, State, StateError, Value, Writer};
use crate::value_struct;

/// What a layer did to a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// It does not leave.
    Lost,
    /// It leaves once more.
    Duplicated,
    /// It leaves later, and others may overtake it.
    Delayed,
    /// It leaves with other bytes than it should.
    Corrupted,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Lost, Self::Duplicated, Self::Delayed, Self::Corrupted];

    /// The name in traces and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Duplicated => "duplicated",
            Self::Delayed => "delayed",
            Self::Corrupted => "corrupted",
        }
    }
}

/// How many faults of each kind a layer made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultCounts([u64; FaultKind::ALL.len()]);

value_struct!(FaultCounts { 0: counts });

impl FaultCounts {
    /// How many of this kind.
    #[must_use]
    pub const fn of(&self, kind: FaultKind) -> u64 {
        self.0[kind as usize]
    }

    /// How many in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) const fn count(&mut self, kind: FaultKind) {
        self.0[kind as usize] += 1;
    }
}

/// What leaves a layer in place of a frame, and which faults that are.
#[derive(Debug, Default)]
pub struct Passage {
    pub(crate) frames: Vec<Departure>,
    pub(crate) faults: Vec<FaultKind>,
}

impl Passage {
    /// A frame leaves, not before the one that came: an earlier time means at once.
    pub fn forward(&mut self, departure: Departure) {
        self.frames.push(departure);
    }

    /// Something happened: it is counted and traced. A frame that is not forwarded should be reported
    /// as lost, and so on; who forwards what came reports nothing.
    pub fn report(&mut self, fault: FaultKind) {
        self.faults.push(fault);
    }

    /// What leaves.
    #[must_use]
    pub fn frames(&self) -> &[Departure] {
        &self.frames
    }

    /// What was reported.
    #[must_use]
    pub fn faults(&self) -> &[FaultKind] {
        &self.faults
    }
}

/// Something that frames pass on their way to a link. Its state is what it remembers of earlier frames.
pub trait FaultLayer: State + std::fmt::Debug + Send {
    /// A frame would begin to leave. Frames come in the order of their times.
    fn pass(&mut self, departure: Departure, passage: &mut Passage);
}

/// How probable each fault is, from 0 to 1. A frame may suffer several.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FaultRates {
    /// It is lost.
    pub loss: f64,
    /// It leaves twice.
    pub duplication: f64,
    /// It is held back, so that later ones overtake it.
    pub delay: f64,
    /// It is held back at most so long (and at least a thousandth of it).
    pub longest_delay: SimTime,
    /// A byte of it changes, and its FCS does not fit any more.
    pub corruption: f64,
}

/// Why there cannot be such rates.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FaultError {
    /// A probability that is none.
    #[error("the rate of {what} is {rate}, which is not between 0 and 1")]
    Rate {
        /// Of what.
        what: &'static str,
        /// The value.
        rate: f64,
    },
    /// Delays that take no time, or more than a minute.
    #[error("frames are to be delayed by at most {0}: it must be more than 0 and at most a minute")]
    Delay(SimTime),
}

/// Faults at random, from a stream of numbers of their own.
#[derive(Debug)]
pub struct RandomFaults {
    rates: FaultRates,
    random: ChaCha8Rng,
}

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
    /// Faults with these rates. Layers with one seed and different streams are independent of each other.
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

    /// Whether something happens that has this probability.
    fn happens(&mut self, rate: f64) -> bool {
        f64::from(self.random.next_u32()) < rate * (f64::from(u32::MAX) + 1.0)
    }

    /// A span between a thousandth of the longest delay and all of it.
    fn delay(&mut self) -> SimTime {
        let thousandth = self.rates.longest_delay.ps() / 1000;
        let rest = self.rates.longest_delay.ps() - thousandth;
        SimTime::from_ps(1.max(thousandth + self.random.next_u64() % (rest + 1)))
    }

    /// The frame with some bits of one byte turned over. No such damage escapes an FCS.
    fn damaged(&mut self, frame: &Frame) -> Frame {
        let mut bytes = frame.bytes().to_vec();
        let random = self.random.next_u64();
        let length = bytes.len().max(1) as u64;
        let bits = ((random >> 32) % 255 + 1) as u8;
        if let Some(byte) = bytes.get_mut(((random & 0xFFFF_FFFF) % length) as usize) {
            *byte ^= bits;
        }
        Frame::with_fcs(bytes, frame.fcs())
    }
}

impl FaultLayer for RandomFaults {
    fn pass(&mut self, departure: Departure, passage: &mut Passage) {
        let rates = self.rates;
        // Every frame draws for every fault, so that one rate does not shift what another one does.
        let [lost, twice, late, damaged] =
            [rates.loss, rates.duplication, rates.delay, rates.corruption]
                .map(|rate| self.happens(rate));
        if lost {
            return passage.report(FaultKind::Lost);
        }
        let Departure { first_bit, frame } = departure;
        if twice {
            passage.report(FaultKind::Duplicated);
            let frame = frame.clone();
            passage.forward(Departure { first_bit, frame });
        }
        let mut leaving = Departure { first_bit, frame };
        if damaged {
            passage.report(FaultKind::Corrupted);
            leaving.frame = self.damaged(&leaving.frame);
        }
        if late {
            passage.report(FaultKind::Delayed);
            leaving.first_bit = first_bit.saturating_add(self.delay());
        }
        passage.forward(leaving);
    }
}

/// Loses whatever would leave from a time until another, without a word to anybody: the signal stays.
#[derive(Debug, Clone, Copy)]
pub struct Outage {
    /// The first moment at which frames are lost.
    pub from: SimTime,
    /// The first moment after it at which they are not.
    pub until: SimTime,
}

state!(Outage {} fixed { from, until });

impl FaultLayer for Outage {
    fn pass(&mut self, departure: Departure, passage: &mut Passage) {
        if (self.from..self.until).contains(&departure.first_bit) {
            passage.report(FaultKind::Lost);
        } else {
            passage.forward(departure);
        }
    }
}
