//! What was measured.

use std::collections::BTreeMap;
use std::sync::Arc;

use emulator::tigon2::timing::Profile;

use super::key::Key;
use crate::experiments::ledger::Ledger;
use crate::experiments::scheme::Scheme;
use crate::experiments::usage::{Flow, Usage};
use lanigon_worlds::calibrate::StageTime;

/// One measured value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// The value, in the experiment's unit.
    pub value: f64,
    /// Rounds that it is the mean of.
    pub rounds: usize,
}

/// What was found out about one scheme's firmware, on the first testbed.
#[derive(Debug, Clone, Default)]
pub struct SchemeResults {
    /// What the stages take on the hardware as it is.
    pub stages: Vec<StageTime>,
    /// By what the profile stretches them.
    pub factors: Vec<(String, f64)>,
    /// Where the time of one message went, by message length.
    pub ledgers: BTreeMap<u32, Ledger>,
    /// How busy the resources were.
    pub usages: Vec<Usage>,
}

impl SchemeResults {
    /// By what a stage is stretched.
    #[must_use]
    pub fn factor(&self, stage: &str) -> Option<f64> {
        let found = self.factors.iter().find(|(name, _)| name == stage);
        found.map(|(_, factor)| *factor)
    }

    /// A stage, and by what it is stretched: 1 if it is not.
    #[must_use]
    pub fn stage(&self, name: &str) -> Option<(&StageTime, f64)> {
        let stage = self.stages.iter().find(|stage| stage.stage == name)?;
        Some((stage, self.factor(name).unwrap_or(1.0)))
    }

    /// How busy the resources were while messages flowed so.
    #[must_use]
    pub fn usage(&self, flow: Flow) -> Option<&Usage> {
        self.usages.iter().find(|usage| usage.flow == flow)
    }
}

/// Everything that was measured under one profile.
#[derive(Debug, Clone)]
pub struct ProfileResults {
    /// The profile.
    pub profile: Arc<Profile>,
    /// By scheme; those without an image are not there.
    pub schemes: BTreeMap<Scheme, SchemeResults>,
    /// The points.
    pub points: BTreeMap<Key, Value>,
}

impl ProfileResults {
    /// The value of a point.
    #[must_use]
    pub fn value(&self, key: Key) -> Option<f64> {
        self.points.get(&key).map(|point| point.value)
    }
}

/// Everything.
#[derive(Debug, Clone)]
pub struct Results {
    /// By profile.
    pub profiles: Vec<ProfileResults>,
    /// Schemes whose image is not built.
    pub missing: Vec<Scheme>,
    /// The user interrupted: points are missing.
    pub partial: bool,
}

impl Results {
    /// The profile under which claims are judged: one that stretches stages to the thesis's durations, since the
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
