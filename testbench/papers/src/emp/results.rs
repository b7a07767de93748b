//! Results of measurements.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use emulator::profile::Profile;
use host_lib::emp::OpenError;

use super::answers;
use super::key::Key;
use crate::emp::measure::netpipe::{NetPipe, Stack};
use crate::emp::measure::quiet::Quiet;
use crate::emp::measure::scheme::Scheme;
use crate::emp::measure::usage::Usage;
use lanigon_experiments::formula::{FormulaError, FormulaValue, Measurements};
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
}

/// Results under one profile.
#[derive(Debug, Clone)]
pub struct ProfileResults {
    /// Profile of the boards.
    pub profile: Arc<Profile>,
    /// Results by scheme; schemes without an image are missing.
    pub schemes: BTreeMap<Scheme, SchemeResults>,
    /// The points, in their experiments' units: EMP's, and the latencies of other systems.
    pub points: BTreeMap<Key, Estimate>,
    /// NetPIPE, by the network below its sockets.
    pub netpipe: BTreeMap<Stack, NetPipe>,
    /// Parts that the run lacks.
    pub lacks: Arc<Lacks>,
}

/// Parts that a run lacks, and why.
#[derive(Debug, Clone, Default)]
pub struct Lacks {
    /// Schemes whose image is not built.
    pub missing: Vec<Scheme>,
    /// Why Linux cannot run on hosts, if it cannot.
    pub no_linux: Option<String>,
    /// The user interrupted the run: points are missing.
    pub partial: bool,
}

impl Lacks {
    /// Reason for a missing value.
    #[must_use]
    pub fn of(&self, scheme: Option<Scheme>) -> String {
        match scheme.filter(|scheme| self.missing.contains(scheme)) {
            Some(scheme) => format!("no image {}", scheme.image()),
            None if self.partial => "interrupted".into(),
            None => "this firmware does not tell it apart".into(),
        }
    }

    /// Reason for a missing value of another system.
    #[must_use]
    pub fn of_other(&self) -> String {
        match self.partial {
            true => "interrupted".into(),
            false => "no image gm".into(),
        }
    }

    /// Reason for a missing value of NetPIPE.
    #[must_use]
    pub fn of_tcp(&self) -> String {
        self.no_linux
            .clone()
            .unwrap_or_else(|| "interrupted".into())
    }
}

impl Sample for ProfileResults {
    fn means(&mut self) -> Vec<&mut Estimate> {
        self.points.values_mut().collect()
    }

    fn name(&self, place: usize) -> String {
        self.points
            .keys()
            .nth(place)
            .map(Key::to_string)
            .unwrap_or_default()
    }
}

impl ProfileResults {
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
    /// Parts that the run lacks.
    pub lacks: Arc<Lacks>,
}

impl Sample for Results {}

impl Measurements for Results {}

impl Measurements for ProfileResults {
    /// A value of EMP at a testbed, a scheme and a message length, also with flow control; of another system at a message length; of a
    /// scheme's utilisation.
    fn find(&self, measure: &str, at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        if let Some(found) = answers::find(self, measure, at) {
            return found;
        }
        let not_measured = |why: String| FormulaError::Missing(format!("not measured: {why}"));
        match at {
            [] if measure == "profile" => Ok(self.profile.name.as_str().into()),
            // Why two processes on a host are not measured: the error of the second one.
            [] if measure == "second_process" => Ok(OpenError::Busy.to_string().as_str().into()),
            [] if measure == "sizes" => {
                let own = self.points.keys().filter(|key| !key.experiment.is_other());
                let sizes: BTreeSet<_> = own.map(|key| key.size).collect();
                Ok(Vec::from_iter(sizes.into_iter().map(f64::from)).into())
            }
            [size] if ["tcp", "sockets"].contains(&measure) => {
                let size = size.number()? as u32;
                let stack = match measure {
                    "tcp" => Stack::Tcp,
                    _ => Stack::Emp,
                };
                let found = self.netpipe.get(&stack);
                let found = found.and_then(|netpipe| netpipe.latencies.get(&size).copied());
                let missing = || not_measured(self.lacks.of_tcp());
                found.map(Into::into).ok_or_else(missing)
            }
            [scheme, flow] => {
                let (scheme, flow) = (Scheme::by_name(scheme.text()?), flow.text()?);
                let results = scheme.and_then(|scheme| self.schemes.get(&scheme));
                let mut usages = results.into_iter().flat_map(|results| &results.usages);
                let usage = usages.find(|usage| usage.flow.name() == flow);
                usage
                    .ok_or_else(|| not_measured(self.lacks.of(scheme)))?
                    .find(measure)
            }
            at => {
                let key = Key::read(measure, at)?;
                let why = match key.experiment.is_other()
                    || self.lacks.missing.contains(&key.scheme)
                    || self.lacks.partial
                {
                    true if key.experiment.is_other() => self.lacks.of_other(),
                    true => self.lacks.of(Some(key.scheme)),
                    false => {
                        let (name, size) = (key.experiment.name(), key.size);
                        format!("no {name} of {size} bytes in this run")
                    }
                };
                let value = self.value(key);
                value.map(Into::into).ok_or_else(|| not_measured(why))
            }
        }
    }

    fn interval(&self, measure: &str, at: &[FormulaValue]) -> Option<f64> {
        self.points.get(&Key::read(measure, at).ok()?)?.interval
    }
}

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
