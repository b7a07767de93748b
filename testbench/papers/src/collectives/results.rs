//! All measured points, as formulas take them.

use std::collections::BTreeMap;

use lanigon_experiments::formula::{FormulaError, FormulaValue, Measurements};
use lanigon_experiments::interval::Estimate;
use lanigon_experiments::verdict::Sample;

use super::beyond::MeasuredCase;
use super::key::Key;

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The measured points.
    pub points: BTreeMap<Key, Estimate>,
    /// Values of points that no publication has.
    pub beyond: Vec<MeasuredCase>,
}

impl Sample for Results {
    fn means(&mut self) -> Vec<&mut Estimate> {
        self.points.values_mut().collect()
    }

    fn name(&self, place: usize) -> String {
        let key = self.points.keys().nth(place);
        key.map(Key::to_string).unwrap_or_default()
    }
}

impl Measurements for Results {
    fn find(&self, measure: &str, at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        let found = self.points.get(&Key::read(measure, at)?);
        let value = found.map(|point| point.value.into());
        value.ok_or_else(FormulaError::missing)
    }
}
