//! Points that are scenarios, as a file says (`experiment.toml`): axes, a scenario, and what is taken from its document.
//!
//! | key | meaning |
//! |-----|---------|
//! | `profiles`, `images`, `repeats` | what results depend on; images are those of the first profile's boards |
//! | `lists` | values that differ by amount: quick, usual, full; the last one given is that of all greater amounts. `"@NAME"` stands for them, in other lists too |
//! | `scenario` | what all points have in common; `limit_s`: limit of its simulated time |
//! | `axis` | `name`; `set`: keys of the scenario with their values, in which `{}` is the axis' value; `values`: values with a `set` of their own instead. Names are listed there, in their order. A table chooses by the value of the first axis that has one of its keys. `first`: a list of the scenario, of which as many items are left as the value says |
//! | `node` | of the scenario: nodes without a name are n0, n1, ... |
//! | `measures` | names, with paths into the document of `lanigon run --json`; what a path with `?` at its end leads to may be missing |
//! | `points` | for each axis a value or several: all combinations are measured |

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use lanigon_worlds::boards;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;
use toml::{Table, Value as Toml};

use crate::Error;
use crate::conditions::{Conditions, about};
use crate::error::profile;
use crate::execute::MeasuredPoints;
use crate::formula::FormulaValue;
use crate::paper::{Amount, ResultRequest};
use crate::path::Path;
use crate::scenario;
use crate::statements::PaperFile;

mod points;

pub use points::Points;

/// The value of an axis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(untagged)]
pub enum AxisValue {
    /// Yes or no.
    Flag(bool),
    /// A number.
    Count(u64),
    /// A name; `none`: no value, which is `null` in documents.
    Name(String),
}

/// Name of no value.
const NONE: &str = "none";

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

impl Serialize for AxisValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Name(name) if name == NONE => serializer.serialize_none(),
            Self::Name(name) => serializer.serialize_str(name),
        }
    }
}

macro_rules! from {
    ($($from:ty, $value:ident => $into:expr;)*) => {
        $(impl From<$from> for AxisValue {
            fn from($value: $from) -> Self {
                $into
            }
        })*
    };
}

from! {
    bool, flag => Self::Flag(flag);
    u16, count => Self::Count(count.into());
    u32, count => Self::Count(count.into());
    &str, name => Self::Name(name.into());
    Option<u32>, count => count.map_or_else(|| NONE.into(), Self::from);
}

impl From<&FormulaValue> for AxisValue {
    fn from(value: &FormulaValue) -> Self {
        match value {
            FormulaValue::Flag(flag) => Self::Flag(*flag),
            FormulaValue::Number(number) => Self::Count(*number as u64),
            FormulaValue::Text(name) => Self::Name(name.clone()),
            FormulaValue::None | FormulaValue::List(_) => NONE.into(),
        }
    }
}

/// A point: a value for each axis, in their order.
pub type PointKey = Vec<AxisValue>;

/// The [`PointKey`] of these values.
#[macro_export]
macro_rules! key {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::grid::AxisValue::from($value)),*]
    };
}

/// Values of a point: for each measure a number, or several where its path has `[*]`.
pub type PointValues = Vec<Vec<f64>>;

/// An experiment as its file has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    profiles: Vec<String>,
    images: Vec<String>,
    repeats: String,
    limit_s: Option<u64>,
    #[serde(default)]
    lists: BTreeMap<String, Vec<Toml>>,
    scenario: Table,
    axis: Vec<GridAxis>,
    measures: Vec<(String, String)>,
    points: Vec<BTreeMap<String, Toml>>,
}

impl File {
    /// Checks that no axis, value of an axis or measure has the name of another one.
    fn check_names(&self) -> Result<(), String> {
        let axes = self.axis.iter().map(|axis| axis.name.clone());
        twice("axis", axes)?;
        for axis in &self.axis {
            let values = axis.values.iter().map(|special| special.is.to_string());
            twice(&format!("axis: {}: value", axis.name), values)?;
        }
        twice(
            "measure",
            self.measures.iter().map(|(name, _)| name.clone()),
        )
    }
}

/// Checks that nothing has the name of another one.
fn twice(what: &str, names: impl Iterator<Item = String>) -> Result<(), String> {
    let mut known = BTreeSet::new();
    let mut names = names;
    match names.find(|name| !known.insert(name.clone())) {
        Some(name) => Err(format!("{what} \"{name}\" is there twice")),
        None => Ok(()),
    }
}

/// An axis as the file has it: a name, and the values with what each sets in the scenario.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct GridAxis {
    name: String,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    values: Vec<Special>,
    first: Option<String>,
}

/// A value of an axis that sets other keys than the others do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Special {
    is: AxisValue,
    set: Option<Table>,
}

/// The points of an experiment.
#[derive(Debug, Clone)]
pub struct Grid {
    source: PaperFile,
    file: File,
    amount: Amount,
    interrupt: Arc<AtomicBool>,
    /// The profiles of the boards.
    pub profiles: Vec<Profile>,
}

impl Grid {
    /// The points that a file names, for a request.
    ///
    /// # Errors
    /// The file is invalid, or a profile is missing.
    pub fn new(source: PaperFile, request: &ResultRequest) -> Result<Self, Error> {
        let file: File = source.parse()?;
        file.check_names().map_err(|error| source.invalid(error))?;
        let profiles = file.profiles.iter().map(|name| profile(name));
        let grid = Self {
            profiles: profiles.collect::<Result<_, _>>()?,
            source,
            file,
            amount: request.amount,
            interrupt: Arc::clone(&request.interrupt),
        };
        grid.try_keys()?;
        Ok(grid)
    }

    /// Replaces a list of the file by one value.
    #[must_use]
    pub fn with(mut self, list: &str, value: impl Into<Toml>) -> Self {
        self.file.lists.insert(list.into(), vec![value.into()]);
        self
    }

    /// Everything on which the results depend.
    ///
    /// # Errors
    /// An image is missing.
    pub fn conditions(&self) -> Result<Conditions, Error> {
        let identity = |name: &String| {
            let profile = self.profiles.first();
            let profile = profile.ok_or_else(|| self.source.invalid("images without profiles"))?;
            let board = boards::for_profile(profile);
            let image = board.own_image(name, board.scenario_sram_bytes)?;
            Ok((name.clone(), image.identity()))
        };
        let images = self.file.images.iter().map(identity);
        let images = images.collect::<Result<_, Error>>()?;
        let mut repeats = self.file.repeats.clone();
        for name in self.file.lists.keys() {
            repeats = repeats.replace(&format!("@{name}"), &self.list(name)?.to_string());
        }
        Ok(Conditions::new(about(&self.profiles), images, repeats))
    }

    fn list(&self, name: &str) -> Result<&Toml, Error> {
        let place = self.amount as usize;
        let list = self.file.lists.get(name);
        let value = list.and_then(|list| list.get(place).or(list.last()));
        value.ok_or_else(|| self.source.invalid(format!("no list {name}")))
    }

    /// Checks that every point is a scenario.
    ///
    /// # Errors
    /// The first point that is none.
    pub fn check(&self) -> Result<(), Error> {
        for key in self.try_keys()? {
            lanigon_workloads::parse(&self.name_of(&key), &self.scenario(&key)?)?;
        }
        Ok(())
    }

    /// All points, in the order of the file.
    #[must_use]
    pub fn keys(&self) -> Vec<PointKey> {
        self.try_keys().unwrap_or_default()
    }

    fn try_keys(&self) -> Result<Vec<PointKey>, Error> {
        let (mut keys, mut known) = (Vec::new(), BTreeSet::new());
        for block in &self.file.points {
            let is_axis = |name: &String| self.file.axis.iter().any(|axis| axis.name == *name);
            if let Some(name) = block.keys().find(|name| !is_axis(name)) {
                return Err(self
                    .source
                    .invalid(format!("points: no axis has the name {name}")));
            }
            let mut all: Vec<PointKey> = vec![Vec::new()];
            for GridAxis { name, .. } in &self.file.axis {
                let values = block.get(name);
                let values =
                    values.ok_or_else(|| self.source.invalid(format!("points without {name}")))?;
                let values = match self.listed(values)? {
                    Toml::Array(values) => values,
                    single => vec![single],
                };
                let values: Vec<AxisValue> = values
                    .into_iter()
                    .map(|value| value.try_into().map_err(|error| self.source.invalid(error)))
                    .collect::<Result<_, _>>()?;
                let names = values.iter().map(ToString::to_string);
                twice(&format!("points: {name}"), names)
                    .map_err(|error| self.source.invalid(error))?;
                let longer = |key: &PointKey| {
                    let longer = |value: &AxisValue| [key, &[value.clone()][..]].concat();
                    values.iter().map(longer).collect::<Vec<_>>()
                };
                all = all.iter().flat_map(longer).collect();
            }
            keys.extend(all.into_iter().filter(|key| known.insert(key.clone())));
        }
        Ok(keys)
    }

    /// A value, with those of lists in place of their names.
    fn listed(&self, value: &Toml) -> Result<Toml, Error> {
        Ok(match value {
            Toml::String(text) => match text.strip_prefix('@') {
                Some(name) => self.listed(self.list(name)?)?,
                None => value.clone(),
            },
            Toml::Array(items) => {
                let items = items.iter().map(|item| self.listed(item));
                items.collect::<Result<Vec<_>, _>>()?.into()
            }
            Toml::Table(table) => {
                let entries = table.iter();
                let entries = entries.map(|(key, item)| Ok((key.clone(), self.listed(item)?)));
                Toml::Table(entries.collect::<Result<_, Error>>()?)
            }
            other => other.clone(),
        })
    }

    /// Name of a point's scenario, for errors; lines are those of the text that the file gives it.
    fn name_of(&self, key: &PointKey) -> String {
        let values = self.file.axis.iter().zip(key);
        let values = values.map(|(axis, value)| format!("{} {value}", axis.name));
        let values: Vec<_> = values.collect();
        format!("{}: scenario of {}", self.source.name, values.join(", "))
    }

    /// The scenario of a point.
    ///
    /// # Errors
    /// The file is invalid.
    pub fn scenario(&self, key: &PointKey) -> Result<String, Error> {
        let Toml::Table(mut scenario) = self.listed(&self.file.scenario.clone().into())? else {
            return Err(self.source.invalid("scenario"));
        };
        for (axis, value) in self.file.axis.iter().zip(key) {
            let special = axis.values.iter().find(|special| special.is == *value);
            let own = special.and_then(|special| special.set.as_ref());
            for (path, target) in own.unwrap_or(&axis.set) {
                let path = Path::parse(path).map_err(|error| self.source.invalid(error))?;
                let target =
                    filled(target, value, key).map_err(|error| self.source.invalid(error))?;
                let target = self.listed(&target)?;
                path.set(&mut scenario, target)
                    .map_err(|error| self.source.invalid(error))?;
            }
            if let (Some(list), AxisValue::Count(count)) = (&axis.first, value) {
                match scenario.get_mut(list) {
                    Some(Toml::Array(items)) if items.len() as u64 >= *count => {
                        items.truncate(*count as usize);
                    }
                    _ => {
                        return Err(self
                            .source
                            .invalid(format!("{list} has fewer than {count} items")));
                    }
                }
            }
        }
        if let Some(Toml::Array(nodes)) = scenario.get_mut("node") {
            for (place, node) in nodes.iter_mut().enumerate() {
                if let Toml::Table(node) = node {
                    let name = || format!("n{place}").into();
                    node.entry("name").or_insert_with(name);
                }
            }
        }
        toml::to_string(&scenario).map_err(|error| self.source.invalid(error))
    }

    /// Measures a point.
    ///
    /// # Errors
    /// [`Error`].
    pub fn measure(&self, key: &PointKey) -> Result<PointValues, Error> {
        let limit = self.file.limit_s.map(|s| SimTime::from_us(s * 1_000_000));
        let (name, text) = (self.name_of(key), self.scenario(key)?);
        let document = scenario::measured(&name, &text, limit, &self.interrupt)?;
        let value = |(name, path): &(String, String)| {
            let wrong = |reason: String| {
                self.source
                    .invalid(format!("measures: {name}: {path}: {reason}"))
            };
            let (path, may_miss) = match path.strip_suffix('?') {
                Some(path) => (path, true),
                None => (&**path, false),
            };
            let path = Path::parse(path).map_err(wrong)?;
            let found = match path.find(&document) {
                Err(_) if may_miss => Vec::new(),
                found => found.map_err(wrong)?,
            };
            let number = |found: &Json| {
                let number = found.as_f64();
                number.ok_or_else(|| wrong(format!("{found} is no number")))
            };
            found.into_iter().map(number).collect()
        };
        self.file.measures.iter().map(value).collect()
    }

    /// The measured points, in the order of the axes' values.
    #[must_use]
    pub fn points(&self, found: MeasuredPoints<PointKey, PointValues>) -> Points {
        let rank = |axis: &GridAxis, value: &AxisValue| {
            let place = axis.values.iter().position(|special| special.is == *value);
            place.filter(|_| matches!(value, AxisValue::Name(_)))
        };
        let order = |(a, _): &(PointKey, PointValues), (b, _): &(PointKey, PointValues)| {
            let values = a.iter().zip(b).zip(&self.file.axis);
            let order = values.map(|((a, b), axis)| match (rank(axis, a), rank(axis, b)) {
                (Some(a), Some(b)) => a.cmp(&b),
                // No value comes first.
                (a_name, b_name) => b_name.cmp(&a_name).then(a.cmp(b)),
            });
            order.fold(Ordering::Equal, Ordering::then)
        };
        let mut points = found.points;
        points.sort_by(order);
        let measures = self.file.measures.iter();
        let lists = self.file.lists.keys().filter_map(|name| {
            let value = self.listed(self.list(name).ok()?).ok()?;
            Some((name.clone(), value.into()))
        });
        Points {
            lists: lists.collect(),
            axes: self
                .file
                .axis
                .iter()
                .map(|axis| axis.name.clone())
                .collect(),
            measures: measures
                .map(|(name, path)| (name.clone(), path.contains("[*]")))
                .collect(),
            order: points.iter().map(|(key, _)| key.clone()).collect(),
            values: points.into_iter().collect(),
        }
    }
}

/// The value that a key gets: `{}` is that of the axis, a table chooses by the value of another one.
fn filled(target: &Toml, value: &AxisValue, key: &PointKey) -> Result<Toml, &'static str> {
    let text = value.to_string();
    Ok(match target {
        Toml::String(whole) if whole == "{}" => match value {
            AxisValue::Flag(flag) => (*flag).into(),
            AxisValue::Count(count) => Toml::Integer((*count).cast_signed()),
            AxisValue::Name(name) => name.clone().into(),
        },
        Toml::String(part) => part.replace("{}", &text).into(),
        Toml::Array(items) => {
            let items = items.iter().map(|item| filled(item, value, key));
            items.collect::<Result<Vec<_>, _>>()?.into()
        }
        Toml::Table(table) => {
            let chosen = key.iter().find_map(|value| table.get(&value.to_string()));
            let chosen = chosen.ok_or("no value is chosen")?;
            filled(chosen, value, key)?
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
profiles = []
images = []
repeats = "@rounds rounds"
measures = [["one", "a[0].b"], ["all", "a[*].b"]]
[lists]
rounds = [2, 10]
[scenario]
rounds = "@rounds"
[[axis]]
name = "kind"
values = [{ is = "z", set = { x = "other" } }, { is = "a" }]
set = { x = "{}" }
[[axis]]
name = "size"
values = [{ is = "none" }]
set = { "t.y" = { z = 7, a = 8 }, s = ["0..{}", "{}"] }
[[points]]
kind = ["a", "z"]
size = ["none", 3]
"#;

    fn file(text: &str) -> PaperFile {
        PaperFile {
            name: "test/experiment.toml",
            text: String::from(text).leak(),
        }
    }

    #[test]
    fn points_that_are_none_are_refused_at_once() {
        for (from, to, reason) in [
            (
                "kind = [\"a\"",
                "kinds = [\"a\"",
                "points: no axis has the name kinds",
            ),
            ("size = [\"none\", 3]", "", "points without size"),
            ("[\"none\", 3]", "\"@sizes\"", "no list sizes"),
            (
                "[\"none\", 3]",
                "[3, \"none\", 3]",
                "points: size \"3\" is there twice",
            ),
            (
                "\"size\"\nvalues",
                "\"kind\"\nvalues",
                "axis \"kind\" is there twice",
            ),
            ("[\"all\", ", "[\"one\", ", "measure \"one\" is there twice"),
        ] {
            let error = Grid::new(file(&FILE.replace(from, to)), &ResultRequest::default());
            let error = error.map(|_| ()).unwrap_err().to_string();
            let expected = format!("test/experiment.toml: {reason}");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn points_are_scenarios_in_the_order_of_values() -> Result<(), Error> {
        let grid = Grid::new(file(FILE), &ResultRequest::default())?;
        let keys = grid.keys();
        assert_eq!(keys.len(), 4);
        for (key, expected) in [
            (
                key!["z", 3_u16],
                "rounds = 10\nx = \"other\"\ns = [\"0..3\", 3]\nt.y = 7",
            ),
            (
                key!["a", 3_u16],
                "rounds = 10\nx = \"a\"\ns = [\"0..3\", 3]\nt.y = 8",
            ),
        ] {
            assert!(keys.contains(&key));
            let found: Option<Table> = grid.scenario(&key)?.parse().ok();
            assert_eq!(found, expected.parse().ok());
        }
        let point = |key: PointKey| (key, vec![vec![1.5], vec![2.0]]);
        let points = grid.points(MeasuredPoints {
            points: keys.into_iter().map(point).collect(),
            partial: false,
        });
        assert_eq!(points.at(&key!["a", None::<u32>], "all"), Some(2.0));
        let written = serde_json::to_value(&points).unwrap_or_default();
        let expected = serde_json::json!({"one": 1.5, "all": [2.0]});
        for (place, kind, size) in [
            (0, "z", Json::Null),
            (1, "z", 3.into()),
            (2, "a", Json::Null),
        ] {
            let axes = serde_json::json!({"kind": kind, "size": size});
            assert_eq!(written[place], Json::Array(vec![axes, expected.clone()]));
        }
        Ok(())
    }
}
