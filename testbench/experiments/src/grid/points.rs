//! Measured points: formulas and documents take their numbers.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{AxisValue, PointKey, PointValues};
use crate::formula::{FormulaError, FormulaValue, Measurements};
use crate::verdict::Sample;

/// Measured points.
#[derive(Debug, Clone, Default)]
pub struct Points {
    /// The file's lists.
    pub(super) lists: BTreeMap<String, FormulaValue>,
    pub(super) axes: Vec<String>,
    /// Names, and whether there are several numbers.
    pub(super) measures: Vec<(String, bool)>,
    pub(super) order: Vec<PointKey>,
    pub(super) values: BTreeMap<PointKey, PointValues>,
}

impl Points {
    /// All numbers of a measure at a point.
    #[must_use]
    pub fn all(&self, key: &PointKey, measure: &str) -> Option<&[f64]> {
        let place = self.measures.iter().position(|(name, _)| name == measure)?;
        let point = self.values.get(key)?;
        point.get(place).map(Vec::as_slice)
    }

    /// The number of a measure at a point; the first one of several.
    #[must_use]
    pub fn at(&self, key: &PointKey, measure: &str) -> Option<f64> {
        self.all(key, measure)?.first().copied()
    }
}

impl Measurements for Points {
    fn find(&self, measure: &str, at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        if at.is_empty() {
            let list = self.lists.get(measure).cloned();
            return list.ok_or_else(|| FormulaError::unknown(measure));
        }
        let place = self.measures.iter().position(|(name, _)| name == measure);
        let place = place.ok_or_else(|| FormulaError::unknown(measure))?;
        if at.len() != self.axes.len() {
            let reason = format!("{measure}: a point is {}", self.axes.join(", "));
            return Err(FormulaError::Wrong(reason));
        }
        let key: PointKey = at.iter().map(AxisValue::from).collect();
        let numbers = self.values.get(&key).ok_or_else(FormulaError::missing)?;
        match (self.measures[place].1, numbers[place].first()) {
            (true, _) => Ok(numbers[place].clone().into()),
            (false, number) => Ok((*number.ok_or_else(FormulaError::missing)?).into()),
        }
    }
}

// Its values are those of single runs, without intervals.
impl Sample for Points {}

impl Serialize for Points {
    /// Pairs of objects: the axes' values, and the measures.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.order.iter().map(|key| {
            let axes = self.axes.iter().zip(key);
            (Object(axes), Object(self.numbers(key)))
        }))
    }
}

impl Points {
    fn numbers(&self, key: &PointKey) -> impl Iterator<Item = (&String, PointNumbers<'_>)> + Clone {
        let numbers = self.values.get(key).into_iter().flatten();
        let measures = self.measures.iter().zip(numbers);
        measures.map(
            |((name, several), numbers)| match (several, numbers.first()) {
                (false, number) => (name, PointNumbers::One(number.copied())),
                (true, _) => (name, PointNumbers::Several(numbers)),
            },
        )
    }
}

/// JSON of a number, or of several.
#[derive(Clone, Serialize)]
#[serde(untagged)]
enum PointNumbers<'a> {
    One(Option<f64>),
    Several(&'a [f64]),
}

/// Names with values.
struct Object<I>(I);

impl<'a, V: Serialize, I: Iterator<Item = (&'a String, V)> + Clone> Serialize for Object<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.clone())
    }
}
