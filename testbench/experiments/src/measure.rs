//! Measures: numbers that are taken from the result of a run.

use lanigon_worlds::scenario::ScenarioError;
use lanigon_worlds::scenario::table::{Item, Table};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::path::Path;

/// Largest factor of a measure.
const LARGEST: f64 = 1e15;

/// Function that makes one value of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// Mean of the values.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Sum of the values.
    Sum,
}

const OF: [(&str, Aggregate); 4] = [
    ("mean", Aggregate::Mean),
    ("min", Aggregate::Min),
    ("max", Aggregate::Max),
    ("sum", Aggregate::Sum),
];

/// A number to take from a run's document, which is that of `lanigon run --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Name of the measure.
    pub name: String,
    /// Unit, after the factor; may be empty.
    pub unit: String,
    /// Path in the document.
    pub path: String,
    /// For a path with `[*]`: how the values become one.
    pub of: Option<Aggregate>,
    /// Factor.
    pub times: f64,
    /// File, line and key that define it, for messages.
    pub place: String,
}

/// The measures of a file that names none: name, path and unit.
const USUAL: [(&str, &str, &str); 4] = [
    ("latency", "latency_us.p50", "us"),
    ("bandwidth", "bandwidth_mbit", "Mb/s"),
    ("delivered", "messages.delivered", ""),
    ("time", "simulated_us", "us"),
];

/// The usual measures.
#[must_use]
pub fn usual(place: &str) -> Vec<Measure> {
    let measure = |(name, path, unit): (&str, &str, &str)| Measure {
        name: name.into(),
        unit: unit.into(),
        path: path.into(),
        of: None,
        times: 1.0,
        place: place.into(),
    };
    USUAL.map(measure).into()
}

/// Reads an entry of `[measure]`: a path, or a table.
///
/// # Errors
/// If it is invalid; with the position.
pub fn read(name: &str, item: &Item<'_>) -> Result<Measure, ScenarioError> {
    let mut measure = Measure {
        name: name.into(),
        unit: String::new(),
        path: String::new(),
        of: None,
        times: 1.0,
        place: format!("{}: {}", item.place, item.place.key),
    };
    let check = |item: &Item<'_>| {
        let path = Path::parse(item.text()?).map_err(|reason| item.place.refuse(reason))?;
        Ok((path.to_string(), path.has_all()))
    };
    if item.is_text() {
        let (path, all) = check(item)?;
        if all {
            let reason = "[*] needs to know how values become one: { path = ..., of = \"mean\" }";
            return Err(item.place.refuse(reason));
        }
        measure.path = path;
        return Ok(measure);
    }
    let mut table: Table<'_> = item.table()?;
    let path = table.need("path")?;
    let (text, all) = check(&path)?;
    measure.path = text;
    if let Some(unit) = table.get("unit") {
        measure.unit = unit.text()?.into();
    }
    if let Some(times) = table.get("times") {
        measure.times = times.number(-LARGEST..=LARGEST)?;
    }
    if let Some(of) = table.get("of") {
        measure.of = Some(of.choice("function", &OF)?);
    }
    if all != measure.of.is_some() {
        let reason = "\"of\" says how the values of a path with [*] become one, and only those";
        return Err(path.place.refuse(reason));
    }
    table.finish()?;
    Ok(measure)
}

impl Measure {
    /// The value in a document; `None` if the run has no such value, such as the latency of no message.
    ///
    /// # Errors
    /// The reason for which the path leads nowhere.
    pub fn value(&self, document: &Value) -> Result<Option<f64>, String> {
        let path = Path::parse(&self.path)?;
        let mut values = Vec::new();
        for value in path.find(document)? {
            match value {
                Value::Null => {}
                Value::Bool(value) => values.push(f64::from(u8::from(*value))),
                other => match other.as_f64() {
                    Some(value) => values.push(value),
                    None => return Err(format!("{path} is no number")),
                },
            }
        }
        let count = values.len() as f64;
        let values = values.into_iter();
        let value = match self.of {
            _ if count == 0.0 => None,
            None => values.last(),
            Some(Aggregate::Mean) => Some(values.sum::<f64>() / count),
            Some(Aggregate::Sum) => Some(values.sum()),
            Some(Aggregate::Min) => values.reduce(f64::min),
            Some(Aggregate::Max) => values.reduce(f64::max),
        };
        Ok(value.map(|value| value * self.times))
    }

    /// Name of its column: the name, then the unit.
    #[must_use]
    pub fn column(&self) -> String {
        column(&self.name, &self.unit)
    }
}

/// A column's name: a name and a unit, of which only letters, digits and `_` remain.
#[must_use]
pub fn column(name: &str, unit: &str) -> String {
    if unit.is_empty() {
        return name.into();
    }
    let plain = |c: char| if c.is_alphanumeric() { c } else { '_' };
    let unit: String = unit.replace('%', "percent").chars().map(plain).collect();
    format!("{name}_{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_from_documents() {
        let document = r#"{"a": {"b": 2.5, "none": null}, "good": true, "end": "over",
            "boards": [{"cpu": 0.25}, {"cpu": 0.75}]}"#;
        let document: Value = serde_json::from_str(document).expect("JSON");
        let check = |path: &str, of, times, expected: Result<Option<f64>, &str>| {
            let measure = Measure {
                name: "m".into(),
                unit: String::new(),
                path: path.into(),
                of,
                times,
                place: String::new(),
            };
            let expected = expected.map_err(str::to_owned);
            assert_eq!(measure.value(&document), expected, "{path}");
        };
        check("a.b", None, 2.0, Ok(Some(5.0)));
        check("a.none", None, 1.0, Ok(None));
        check("good", None, 1.0, Ok(Some(1.0)));
        check("boards[1].cpu", None, 100.0, Ok(Some(75.0)));
        check(
            "boards[*].cpu",
            Some(Aggregate::Mean),
            100.0,
            Ok(Some(50.0)),
        );
        check("boards[*].cpu", Some(Aggregate::Sum), 1.0, Ok(Some(1.0)));
        check("boards[*].cpu", Some(Aggregate::Min), 1.0, Ok(Some(0.25)));
        check("boards[*].cpu", Some(Aggregate::Max), 1.0, Ok(Some(0.75)));
        check("end", None, 1.0, Err("end is no number"));
        check("a.c", None, 1.0, Err("no key \"c\"; did you mean \"b\"?"));
        check(
            "boards[2].cpu",
            None,
            1.0,
            Err("there are 2 items, from number 0 on"),
        );
        check("a[0]", None, 1.0, Err("brackets are for arrays"));
    }

    #[test]
    fn columns_have_their_units() {
        assert_eq!(column("bandwidth", "Mb/s"), "bandwidth_Mb_s");
        assert_eq!(column("load", "%"), "load_percent");
        assert_eq!(column("messages", ""), "messages");
    }
}
