//! Results of measurements.

use std::collections::BTreeMap;
use std::sync::Arc;

use emulator::profile::Profile;

use super::key::Key;
use crate::emp::measure::passing::System;
use crate::emp::measure::quiet::Quiet;
use crate::emp::measure::scheme::Scheme;
use crate::emp::measure::tcp::Tcp;
use crate::emp::measure::usage::{Directions, Usage};
use lanigon_experiments::interval::Estimate;
use lanigon_experiments::verdict::{Limits, Sample};
use lanigon_worlds::calibrate::StageTime;

/// Results of one scheme's firmware on the first testbed.
#[derive(Debug, Clone, Default)]
pub struct SchemeResults {
    /// Durations of stages on unmodified hardware.
    pub stages: Vec<StageTime>,
    /// Stretch factors of the profile.
    pub factors: Vec<(String, f64)>,
    /// Ledgers by message length.
    pub ledgers: BTreeMap<u32, Quiet>,
    /// Utilisation of resources.
    pub usages: Vec<Usage>,
}

impl SchemeResults {
    /// Stretch factor of a stage.
    #[must_use]
    pub fn factor(&self, stage: &str) -> Option<f64> {
        let found = self.factors.iter().find(|(name, _)| name == stage);
        found.map(|(_, factor)| *factor)
    }

    /// A stage with its stretch factor (1 by default).
    #[must_use]
    pub fn stage(&self, name: &str) -> Option<(&StageTime, f64)> {
        let stage = self.stages.iter().find(|stage| stage.stage == name)?;
        Some((stage, self.factor(name).unwrap_or(1.0)))
    }

    /// Utilisation with messages in this direction.
    #[must_use]
    pub fn usage(&self, flow: Directions) -> Option<&Usage> {
        self.usages.iter().find(|usage| usage.flow == flow)
    }
}

/// Results under one profile.
#[derive(Debug, Clone)]
pub struct ProfileResults {
    /// Profile of the boards.
    pub profile: Arc<Profile>,
    /// Results by scheme; schemes without an image are missing.
    pub schemes: BTreeMap<Scheme, SchemeResults>,
    /// The points, in their experiments' units.
    pub points: BTreeMap<Key, Estimate>,
    /// Latencies of other systems by message length, in us.
    pub others: BTreeMap<(System, u32), Estimate>,
    /// TCP with and without time of the hosts' processors.
    pub tcp: BTreeMap<bool, Tcp>,
}

impl Sample for ProfileResults {
    fn means(&mut self) -> Vec<&mut Estimate> {
        let others = self.others.values_mut();
        self.points.values_mut().chain(others).collect()
    }

    fn name(&self, place: usize) -> String {
        let others = self.others.keys();
        let others = others.map(|(system, bytes)| format!("{}, {bytes} bytes, us", system.name()));
        let mut names = self.points.keys().map(Key::to_string).chain(others);
        names.nth(place).unwrap_or_default()
    }
}

impl ProfileResults {
    /// The latency of another system.
    #[must_use]
    pub fn other(&self, system: System, size: u32) -> Option<f64> {
        self.others.get(&(system, size)).map(|mean| mean.value)
    }

    /// The value of a point.
    #[must_use]
    pub fn value(&self, key: Key) -> Option<f64> {
        self.points.get(&key).map(|point| point.value)
    }
}

/// All results.
#[derive(Debug, Clone)]
pub struct Results {
    /// Results by profile.
    pub profiles: Vec<ProfileResults>,
    /// Rounds of a point.
    pub limits: Limits,
    /// Schemes whose image is not built.
    pub missing: Vec<Scheme>,
    /// Why Linux cannot run on hosts, if it cannot.
    pub no_linux: Option<String>,
    /// The user interrupted the run: points are missing.
    pub partial: bool,
}

impl Sample for Results {}

impl Results {
    /// The profile for judging claims: one that stretches stages to the thesis's durations, because the
    /// claims are about that firmware; otherwise the first one.
    #[must_use]
    pub fn judged(&self) -> Option<&ProfileResults> {
        let stretched = |results: &&ProfileResults| !results.profile.stages.is_empty();
        self.profiles
            .iter()
            .find(stretched)
            .or(self.profiles.first())
    }
}
