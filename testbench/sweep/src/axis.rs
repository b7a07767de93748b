//! Axes: values for keys of the scenario.

use lanigon_worlds::scenario::table::{Item, Table};
use lanigon_worlds::scenario::{Position, ScenarioError};
use serde::{Deserialize, Serialize};
use toml::Value;

use lanigon_experiments::measure;
use lanigon_experiments::path::Path;

/// Largest number of values of an axis.
const MOST_VALUES: usize = 10_000;
/// Largest value or factor.
const LARGEST: f64 = 1e15;
/// Whole numbers up to here are exact.
const EXACT: f64 = 9.007_199_254_740_992e15;

/// Function from an axis' value to a key's value.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ValueMap {
    /// The value itself.
    Same,
    /// A multiple of it.
    Times(f64),
    /// A number over it: durations of a unit whose speed is the value.
    Over(f64),
}

/// A key that an axis sets.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyTarget {
    /// The key.
    pub path: Path,
    map: ValueMap,
    /// Position of the key in the sweep's file.
    pub place: Position,
}

impl KeyTarget {
    /// Value of the key, from that of the axis.
    fn value(&self, value: &Value) -> Result<Value, String> {
        let changed = |change: &dyn Fn(f64) -> f64| match as_number(value) {
            Some(value) => Ok(number(change(value))),
            None => Err("\"times\" and \"over\" are for numbers".to_owned()),
        };
        match self.map {
            ValueMap::Same => Ok(value.clone()),
            ValueMap::Times(factor) => changed(&|value| value * factor),
            ValueMap::Over(dividend) => changed(&|value| dividend / value),
        }
    }

    /// Sets the key in a scenario.
    ///
    /// # Errors
    /// If the scenario has no place for it, or the value is no number and must be one.
    pub fn apply(&self, scenario: &mut toml::Table, value: &Value) -> Result<(), ScenarioError> {
        let set = self
            .value(value)
            .and_then(|value| self.path.set(scenario, value));
        set.map_err(|reason| self.place.refuse(format!("{}: {reason}", self.path)))
    }
}

/// An axis, as tables show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedAxis {
    /// Name of the axis.
    pub name: String,
    /// Unit; may be empty.
    pub unit: String,
    /// Names of its values.
    pub labels: Vec<String>,
    /// Values of the axis, where they are numbers.
    pub numbers: Vec<Option<f64>>,
}

impl PlannedAxis {
    /// Name of its column.
    #[must_use]
    pub fn column(&self) -> String {
        measure::column(&self.name, &self.unit)
    }
}

/// An axis with its values, and the keys that it sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Description of the axis in tables.
    pub shown: PlannedAxis,
    /// Values of the axis, in order.
    pub values: Vec<Value>,
    /// The keys that it sets.
    pub targets: Vec<KeyTarget>,
    /// Axes with the same word here move together.
    pub zip: Option<String>,
    /// Position of the axis in the sweep's file.
    pub place: Position,
}

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

/// A whole number as an integer, which keys for integers need.
fn number(value: f64) -> Value {
    match value.fract() == 0.0 && value.abs() < EXACT {
        true => Value::Integer(value as i64),
        false => Value::Float(value),
    }
}

/// The name of a value: a text without quotes, anything else as in TOML.
pub(crate) fn label(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Axis {
    /// Reads an `[[axis]]`.
    ///
    /// # Errors
    /// If it is invalid; with the position.
    pub fn read(mut table: Table<'_>) -> Result<Self, ScenarioError> {
        let place = table.place.clone();
        let item = table.need("name")?;
        let name = checked_name(&item)?.to_owned();
        let unit = match table.get("unit") {
            Some(unit) => unit.text()?.to_owned(),
            None => String::new(),
        };
        let zip = table.get("zip");
        let zip = zip.map(|zip| zip.text().map(str::to_owned)).transpose()?;
        let targets = targets(&mut table)?;
        let values = values(&mut table, zip.is_some())?;
        let labels = match table.get("labels") {
            Some(item) => labels(&item, values.len())?,
            None => values.iter().map(label).collect(),
        };
        table.finish()?;
        Ok(Self {
            shown: PlannedAxis {
                name,
                unit,
                labels,
                numbers: values.iter().map(as_number).collect(),
            },
            values,
            targets,
            zip,
            place: Position {
                line: item.place.line,
                ..place
            },
        })
    }
}

/// A name of an axis or a measure, which becomes the name of a column.
///
/// # Errors
/// If it is none; with the position.
pub fn checked_name<'t>(item: &Item<'t>) -> Result<&'t str, ScenarioError> {
    let name = item.text()?;
    check_name(name).map_err(|reason| item.place.refuse(reason))?;
    Ok(name)
}

/// Names of other columns.
const TAKEN: [&str; 8] = [
    "run",
    "seed",
    "status",
    "reason",
    "trace_hash",
    "runs",
    "failed",
    "all",
];

/// Checks the name of a column.
///
/// # Errors
/// The reason.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts || name.len() > 40 || !name.chars().all(plain) {
        return Err(
            "a name starts with a letter, goes on with letters, digits, - and _, and has at most 40 characters".into(),
        );
    }
    match TAKEN.contains(&name) {
        true => Err(format!("\"{name}\" is the name of another column")),
        false => Ok(()),
    }
}

/// Reads `key` with `times` or `over`, or `keys`.
fn targets(table: &mut Table<'_>) -> Result<Vec<KeyTarget>, ScenarioError> {
    let (one, several) = (table.get("key"), table.get("keys"));
    match (one, several) {
        (Some(_), Some(item)) => Err(item.place.refuse("the key is given by \"key\" already")),
        (None, None) => Err(table.missing(
            "key",
            "\"key\" is missing: what the axis sets, as in key = \"network.nodes\"",
        )),
        (Some(item), None) => {
            let map = map(table)?;
            Ok(vec![target(&item, map)?])
        }
        (None, Some(item)) => {
            let mut targets = Vec::new();
            for item in item.list() {
                if item.is_text() {
                    targets.push(target(&item, ValueMap::Same)?);
                    continue;
                }
                let mut table = item.table()?;
                let key = table.need("key")?;
                let map = map(&mut table)?;
                table.finish()?;
                targets.push(target(&key, map)?);
            }
            match targets.is_empty() {
                true => Err(item.place.refuse("names no key")),
                false => Ok(targets),
            }
        }
    }
}

fn map(table: &mut Table<'_>) -> Result<ValueMap, ScenarioError> {
    let factor = |item: Item<'_>| item.number(-LARGEST..=LARGEST);
    match (table.get("times"), table.get("over")) {
        (Some(_), Some(item)) => Err(item.place.refuse("one of \"times\" and \"over\" is enough")),
        (Some(item), None) => Ok(ValueMap::Times(factor(item)?)),
        (None, Some(item)) => Ok(ValueMap::Over(factor(item)?)),
        (None, None) => Ok(ValueMap::Same),
    }
}

fn target(item: &Item<'_>, map: ValueMap) -> Result<KeyTarget, ScenarioError> {
    let path = Path::parse(item.text()?).map_err(|reason| item.place.refuse(reason))?;
    if path.has_all() {
        return Err(item
            .place
            .refuse("[*] is for measures; list the keys in \"keys\""));
    }
    Ok(KeyTarget {
        path,
        map,
        place: item.place.clone(),
    })
}

/// Reads `values`, or `from` and `to` with `step` or `factor`. Values of axes that move together may be equal.
fn values(table: &mut Table<'_>, together: bool) -> Result<Vec<Value>, ScenarioError> {
    let given = table.get("values");
    let from = table.get("from");
    match (given, from) {
        (Some(_), Some(item)) => Err(item
            .place
            .refuse("the values are given by \"values\" already")),
        (None, None) => Err(table.missing(
            "values",
            "\"values\" is missing, or \"from\" and \"to\" with \"step\" or \"factor\"",
        )),
        (Some(item), None) => {
            let items = item.list();
            if items.is_empty() || items.len() > MOST_VALUES {
                let reason = format!("an axis has between 1 and {MOST_VALUES} values");
                return Err(item.place.refuse(reason));
            }
            let values: Vec<_> = items.iter().map(Item::value).collect::<Result<_, _>>()?;
            let again = (1..values.len()).find(|&at| values[..at].contains(&values[at]));
            match again.filter(|_| !together) {
                Some(at) => Err(item
                    .place
                    .refuse(format!("has {} twice", label(&values[at])))),
                None => Ok(values),
            }
        }
        (None, Some(from)) => range(table, &from),
    }
}

/// The values from `from` to `to`, both included.
fn range(table: &mut Table<'_>, from: &Item<'_>) -> Result<Vec<Value>, ScenarioError> {
    let read = |item: &Item<'_>| item.number(-LARGEST..=LARGEST);
    let to = table.need("to")?;
    let (first, last) = (read(from)?, read(&to)?);
    let next: Box<dyn Fn(usize) -> f64> = match (table.get("step"), table.get("factor")) {
        (Some(item), None) => {
            let step = read(&item)?;
            if step == 0.0 || (last - first) * step < 0.0 {
                return Err(item
                    .place
                    .refuse("it does not lead from \"from\" to \"to\""));
            }
            Box::new(move |at| first + step * at as f64)
        }
        (None, Some(item)) => {
            let factor = read(&item)?;
            let leads = factor > 0.0 && (factor > 1.0) == (last > first) && factor != 1.0;
            if first <= 0.0 || last <= 0.0 || !leads {
                return Err(item
                    .place
                    .refuse("it does not lead from \"from\" to \"to\""));
            }
            Box::new(move |at| first * factor.powf(at as f64))
        }
        _ => {
            let reason = "one of \"step\" and \"factor\" is needed";
            return Err(from.place.refuse(reason));
        }
    };
    // Sums and products of fractions are not exact.
    let slack = 1e-9 * first.abs().max(last.abs());
    let mut values = Vec::new();
    for at in 0.. {
        let value = next(at);
        let is_past = match last >= first {
            true => value > last + slack,
            false => value < last - slack,
        };
        if is_past {
            break;
        }
        if values.len() == MOST_VALUES {
            let reason = format!("an axis has at most {MOST_VALUES} values");
            return Err(to.place.refuse(reason));
        }
        let near = value.round();
        values.push(number(if (value - near).abs() <= slack {
            near
        } else {
            value
        }));
        if value == last {
            break;
        }
    }
    Ok(values)
}

fn labels(item: &Item<'_>, count: usize) -> Result<Vec<String>, ScenarioError> {
    let labels: Vec<String> = item
        .list()
        .iter()
        .map(|item| item.text().map(str::to_owned))
        .collect::<Result<_, _>>()?;
    if labels.len() != count {
        let reason = format!("{} labels for {count} values", labels.len());
        return Err(item.place.refuse(reason));
    }
    let again = (1..count).find(|&at| labels[..at].contains(&labels[at]));
    match again {
        Some(at) => Err(item
            .place
            .refuse(format!("\"{}\" names two values", labels[at]))),
        None => Ok(labels),
    }
}
