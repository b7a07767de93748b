//! Keys of measured points.

use std::fmt;

use crate::emp::measure::scheme::Scheme;
use crate::emp::measure::testbed::Testbed;

/// An experiment of the thesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Experiment {
    /// Half of a ping-pong's round trip.
    Latency,
    /// One-way bandwidth.
    OneWay,
    /// Bandwidth in both directions together.
    TwoWay,
}

impl Experiment {
    /// All experiments.
    pub const ALL: [Self; 3] = [Self::Latency, Self::OneWay, Self::TwoWay];

    /// Name in rows, options and `data/published-emp.csv`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::OneWay => "one-way",
            Self::TwoWay => "two-way",
        }
    }

    /// Measured quantity.
    #[must_use]
    pub const fn metric(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::OneWay | Self::TwoWay => "bandwidth",
        }
    }

    /// Unit.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Latency => "us",
            Self::OneWay | Self::TwoWay => "Mb/s",
        }
    }

    /// Finds an experiment by name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
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

    /// The point on another testbed.
    #[must_use]
    pub const fn with_testbed(self, testbed: Testbed) -> Self {
        Self { testbed, ..self }
    }

    /// The point with flow control.
    #[must_use]
    pub const fn with_flow_control(self) -> Self {
        Self {
            flow_control: true,
            ..self
        }
    }

    /// The point of another scheme.
    #[must_use]
    pub const fn with_scheme(self, scheme: Scheme) -> Self {
        Self { scheme, ..self }
    }

    /// The point for another size.
    #[must_use]
    pub const fn sized(self, size: u32) -> Self {
        Self { size, ..self }
    }
}
