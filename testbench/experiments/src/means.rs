//! Means that an experiment measures without a scenario, by their points.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};

use crate::formula::{FormulaError, FormulaValue, Measurements};
use crate::grid::{AxisValue, PointKey};
use crate::interval::Estimate;
use crate::verdict::Sample;

/// Means by point: the name of a measure, then the values of its axes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Means(BTreeMap<PointKey, Estimate>);

impl FromIterator<(PointKey, Estimate)> for Means {
    fn from_iter<I: IntoIterator<Item = (PointKey, Estimate)>>(means: I) -> Self {
        Self(means.into_iter().collect())
    }
}

impl Means {
    /// The mean at a point.
    #[must_use]
    pub fn get(&self, key: &PointKey) -> Option<&Estimate> {
        self.0.get(key)
    }

    fn at(&self, measure: &str, at: &[FormulaValue]) -> Option<&Estimate> {
        let axes = at.iter().map(AxisValue::from);
        self.get(&[measure.into()].into_iter().chain(axes).collect())
    }
}

/// The points that formulas list, sorted.
#[must_use]
pub fn points(listed: &[FormulaValue]) -> Vec<PointKey> {
    let point = |point: &FormulaValue| point.items().iter().map(AxisValue::from).collect();
    let points: BTreeSet<_> = listed.iter().map(point).collect();
    points.into_iter().collect()
}

/// A point in one line.
fn text(key: &PointKey) -> String {
    let words: Vec<_> = key.iter().map(AxisValue::to_string).collect();
    words.join(" ")
}

impl Measurements for Means {
    fn find(&self, measure: &str, at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        if at.is_empty() {
            return Err(FormulaError::unknown(measure));
        }
        let mean = self.at(measure, at).ok_or_else(FormulaError::missing)?;
        Ok(mean.value.into())
    }

    fn interval(&self, measure: &str, at: &[FormulaValue]) -> Option<f64> {
        self.at(measure, at)?.interval
    }
}

impl Sample for Means {
    fn means(&mut self) -> Vec<&mut Estimate> {
        self.0.values_mut().collect()
    }

    fn name(&self, place: usize) -> String {
        self.0.keys().nth(place).map(text).unwrap_or_default()
    }
}

impl Serialize for Means {
    /// Pairs of a point as text, and its mean.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(key, mean)| (text(key), mean)))
    }
}
