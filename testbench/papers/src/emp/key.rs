//! Keys of measured points.

use std::fmt;

use crate::emp::measure::scheme::Scheme;
use crate::emp::measure::testbed::Testbed;
use lanigon_experiments::formula::{FormulaError, FormulaValue};

/// An experiment of the thesis; or the latency of a system that it compares with EMP, or runs over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Experiment {
    /// Half of a ping-pong's round trip.
    Latency,
    /// One-way bandwidth.
    OneWay,
    /// Bandwidth in both directions together.
    TwoWay,
    /// Latency of GM itself, without message passing.
    Gm,
    /// Latency of message passing over GM.
    MpiOverGm,
    /// Latency of message passing over EMP, base.
    MpiOverEmp,
}

impl Experiment {
    /// The experiments with EMP.
    pub const OWN: [Self; 3] = [Self::Latency, Self::OneWay, Self::TwoWay];
    /// The latencies of other systems.
    pub const OTHERS: [Self; 3] = [Self::Gm, Self::MpiOverGm, Self::MpiOverEmp];

    /// Names, measured quantities and their units.
    const WORDS: [[&'static str; 3]; 6] = [
        ["latency", "latency", "us"],
        ["one-way", "bandwidth", "Mb/s"],
        ["two-way", "bandwidth", "Mb/s"],
        ["gm", "latency", "us"],
        ["mpi-gm", "latency", "us"],
        ["mpi-emp", "latency", "us"],
    ];

    /// Name in rows, options and `data/published-emp.csv`; that of another system.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::WORDS[self as usize][0]
    }

    /// Whether it is the latency of another system.
    #[must_use]
    pub fn is_other(self) -> bool {
        Self::OTHERS.contains(&self)
    }

    /// Whether it runs on boards with a LANai.
    #[must_use]
    pub const fn is_on_gm(self) -> bool {
        matches!(self, Self::Gm | Self::MpiOverGm)
    }

    /// Measured quantity.
    #[must_use]
    pub const fn metric(self) -> &'static str {
        Self::WORDS[self as usize][1]
    }

    /// Unit.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        Self::WORDS[self as usize][2]
    }

    /// Finds an experiment by name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let mut all = Self::OWN.into_iter().chain(Self::OTHERS);
        all.find(|experiment| experiment.name() == name)
    }
}

/// A point: one experiment with one message size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Benchmark of the point.
    pub experiment: Experiment,
    /// Hosts and network of the point.
    pub testbed: Testbed,
    /// The scheme: division of work between the CPUs.
    pub scheme: Scheme,
    /// Whether senders slow down for receivers that are short of buffer space.
    pub flow_control: bool,
    /// Message length in bytes.
    pub size: u32,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (experiment, unit) = (self.experiment.name(), self.experiment.unit());
        let (scheme, testbed) = (self.scheme.title(), self.testbed.name());
        let flow_control = if self.flow_control {
            ", flow control"
        } else {
            ""
        };
        write!(
            f,
            "{experiment} {scheme}, {} bytes, {testbed}{flow_control}, {unit}",
            self.size
        )
    }
}

impl Key {
    /// The point of a measure at a testbed, a scheme and a message length; with flow control, it ends with `_controlled`. Other systems are at
    /// a message length.
    ///
    /// # Errors
    /// There is no such point.
    pub fn read(measure: &str, at: &[FormulaValue]) -> Result<Self, FormulaError> {
        let unknown = || FormulaError::unknown(measure);
        let name = measure.replace('_', "-");
        let found = Experiment::by_name(&name).filter(|found| found.is_other());
        if let (Some(other), [size]) = (found, at) {
            return Ok(Self::new(other, Scheme::Base, size.number()? as u32));
        }
        let [testbed, scheme, size] = at else {
            return Err(unknown());
        };
        let (name, flow_control) = match name.strip_suffix("-controlled") {
            Some(name) => (name, true),
            None => (name.as_str(), false),
        };
        Ok(Self {
            experiment: Experiment::by_name(name).ok_or_else(unknown)?,
            testbed: Testbed::by_name(testbed.text()?).ok_or_else(unknown)?,
            scheme: Scheme::by_name(scheme.text()?).ok_or_else(unknown)?,
            flow_control,
            size: size.number()? as u32,
        })
    }

    /// A point on the first testbed, without flow control.
    #[must_use]
    pub const fn new(experiment: Experiment, scheme: Scheme, size: u32) -> Self {
        Self {
            experiment,
            testbed: Testbed::Direct933,
            scheme,
            flow_control: false,
            size,
        }
    }
}
