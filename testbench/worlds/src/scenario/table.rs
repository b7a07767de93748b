//! Reader of TOML tables: values are requested by name and type; keys that were not requested are
//! refused. Each error has its position in the file.

use std::fmt::Debug;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use emulator::sim::time::SimTime;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::error::{LONGEST_NAME, Position, ScenarioError, is_near, unknown};
use super::reference::{self, Key, TableDoc, Values};
use crate::workload::Workloads;

/// The keys that the parser asked for and their defaults, for the test of the reference.
#[cfg(test)]
pub(super) mod asked {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    thread_local! {
        static ASKED: RefCell<BTreeMap<String, Option<String>>> = RefCell::default();
    }

    /// Notes a key, with its default if the parser has one.
    pub(in crate::scenario) fn note(key: String, default: Option<String>) {
        ASKED.with_borrow_mut(|asked| {
            let noted = asked.entry(key).or_default();
            *noted = default.or(noted.take());
        });
    }

    /// All notes so far.
    pub(in crate::scenario) fn take() -> BTreeMap<String, Option<String>> {
        ASKED.take()
    }
}

/// Name and line positions of a file.
#[derive(Debug)]
pub struct SourceText {
    file: Arc<str>,
    /// Positions of line ends.
    breaks: Vec<usize>,
}

impl SourceText {
    /// The file with this name and text.
    #[must_use]
    pub fn new(file: &str, text: &str) -> Self {
        let bytes = text.bytes().enumerate();
        Self {
            file: file.into(),
            breaks: bytes
                .filter(|&(_, byte)| byte == b'\n')
                .map(|(at, _)| at)
                .collect(),
        }
    }

    /// Parses the file's text.
    ///
    /// # Errors
    /// If it is no TOML.
    pub fn parse<'t>(&self, text: &'t str) -> Result<Spanned<DeTable<'t>>, ScenarioError> {
        DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let place = self.place(span.clone(), String::new());
            match text.get(span) {
                Some(key) if error.message() == DUPLICATE_KEY => {
                    let key = key.trim_matches(['"', '\'']).chars();
                    let key: String = key.take(LONGEST_NAME).collect();
                    place.refuse(format!("{DUPLICATE_KEY} \"{key}\""))
                }
                _ => place.refuse(error.message()),
            }
        })
    }

    /// A position in the file.
    #[must_use]
    pub fn place(&self, span: Range<usize>, key: String) -> Position {
        Position {
            file: Arc::clone(&self.file),
            line: self.breaks.partition_point(|&at| at < span.start) + 1,
            key,
        }
    }
}

/// Begin of the parser's message about a key that stands twice in a table.
const DUPLICATE_KEY: &str = "duplicate key";

/// A table being read.
#[derive(Debug)]
pub struct Table<'t> {
    source: &'t SourceText,
    entries: &'t DeTable<'t>,
    /// Position of the table; the key is its name with the enclosing tables.
    pub place: Position,
    /// The reference of its keys, by which their values are checked; a file of another kind has none.
    doc: Option<&'static TableDoc>,
    /// Requested keys.
    known: Vec<&'static str>,
}

/// A requested value.
#[derive(Debug, Clone)]
pub struct Item<'t> {
    source: &'t SourceText,
    value: &'t DeValue<'t>,
    /// Position of the value.
    pub place: Position,
    /// Key of the value in the reference.
    key: Option<&'static Key>,
}

impl<'t> Table<'t> {
    /// The root table of a file; `doc` is the reference of its keys.
    #[must_use]
    pub fn root(
        source: &'t SourceText,
        entries: &'t DeTable<'t>,
        doc: Option<&'static TableDoc>,
    ) -> Self {
        Self {
            source,
            entries,
            place: source.place(0..0, String::new()),
            doc,
            known: Vec::new(),
        }
    }

    fn name_of(&self, key: &str) -> String {
        match self.place.key.as_str() {
            "" => key.to_owned(),
            outer => format!("{outer}.{key}"),
        }
    }

    fn item(&self, key: &str, value: &'t Spanned<DeValue<'t>>) -> Item<'t> {
        Item {
            source: self.source,
            place: self.source.place(value.span(), self.name_of(key)),
            value: value.get_ref(),
            key: self.doc.and_then(|doc| doc.key(key)),
        }
    }

    /// The value of `key`, if present.
    pub fn get(&mut self, key: &'static str) -> Option<Item<'t>> {
        #[cfg(test)]
        asked::note(self.name_of(key), None);
        self.known.push(key);
        let entries = self.entries;
        let mut found = entries.iter().filter(|(name, _)| name.get_ref() == key);
        found.next().map(|(_, value)| self.item(key, value))
    }

    /// The value of `key`. If it is missing, the error suggests a similar key.
    pub fn need(&mut self, key: &'static str) -> Result<Item<'t>, ScenarioError> {
        if let Some(item) = self.get(key) {
            return Ok(item);
        }
        Err(self.missing(key, &format!("\"{key}\" is missing")))
    }

    /// The error for a missing key: a similar key, or `reason`.
    #[must_use]
    pub fn missing(&self, key: &'static str, reason: &str) -> ScenarioError {
        let mut names = self.entries.iter().map(|(name, _)| name);
        // A key of two letters is near many others: "to" is no misspelling of "do".
        let alike = |name: &str| key.len() > 2 || name.starts_with(&key[..1]);
        let near = |name: &str| !self.known.contains(&name) && is_near(name, key) && alike(name);
        match names.find(|name| near(name.get_ref())) {
            Some(name) => {
                let place = self.source.place(name.span(), self.name_of(name.get_ref()));
                let names = std::iter::once(key);
                place.refuse(unknown("key", name.get_ref(), names))
            }
            None => self.place.refuse(reason),
        }
    }

    /// The error for the first key that its table does not have, if one that it has resembles it.
    #[must_use]
    pub fn misspelled(&self, doc: &TableDoc, workloads: Workloads) -> Option<ScenarioError> {
        self.entries.iter().find_map(|(key, value)| {
            let name: &str = key.get_ref();
            let Some(known) = doc.all(workloads).find(|known| known.name == name) else {
                doc.all(workloads).find(|known| is_near(name, known.name))?;
                let place = self.source.place(key.span(), self.name_of(name));
                let names = doc.all(workloads).map(|known| known.name);
                return Some(place.refuse(unknown("key", name, names)));
            };
            let (Values::Table(inner) | Values::Tables(inner)) = known.values else {
                return None;
            };
            let inner = reference::table(inner)?;
            let tables = self.item(known.name, value).list();
            let tables = tables.into_iter().filter_map(|item| item.table().ok());
            tables
                .into_iter()
                .find_map(|table| table.misspelled(inner, workloads))
        })
    }

    /// The value of a workload's key, if present.
    pub fn find(&mut self, key: &'static Key) -> Option<Item<'t>> {
        let item = self.get(key.name)?;
        Some(Item {
            key: Some(key),
            ..item
        })
    }

    /// The value of a workload's key that must be there.
    ///
    /// # Errors
    /// If it is missing.
    pub fn want(&mut self, key: &'static Key) -> Result<Item<'t>, ScenarioError> {
        let item = self.need(key.name)?;
        Ok(Item {
            key: Some(key),
            ..item
        })
    }

    /// The whole number of a key in its range, if present.
    ///
    /// # Errors
    /// If it is of another kind, or out of range.
    pub fn find_whole<T: TryFrom<u64>>(
        &mut self,
        key: &'static Key,
    ) -> Result<Option<T>, ScenarioError> {
        self.find(key).map(|item| item.whole()).transpose()
    }

    /// The whole number of a key in its range, or its default.
    ///
    /// # Errors
    /// If it is of another kind, or out of range.
    pub fn whole<T: TryFrom<u64>>(&mut self, key: &'static Key) -> Result<T, ScenarioError> {
        if let Some(value) = self.find_whole(key)? {
            return Ok(value);
        }
        let default = key.default.and_then(|text| text.parse::<u64>().ok());
        let default = default.and_then(|value| T::try_from(value).ok());
        default.ok_or_else(|| self.missing(key.name, &format!("\"{}\" is missing", key.name)))
    }

    /// Whether the flag of a key is set; false by default.
    ///
    /// # Errors
    /// If it is of another kind.
    pub fn is_set(&mut self, key: &'static Key) -> Result<bool, ScenarioError> {
        self.find(key).map_or(Ok(false), |item| item.flag())
    }

    /// The time of a key in us, as ns, if present.
    ///
    /// # Errors
    /// If it is of another kind, or out of range.
    pub fn find_time(&mut self, key: &'static Key) -> Result<Option<u64>, ScenarioError> {
        let item = self.find(key);
        item.map(|item| item.nanoseconds()).transpose()
    }

    /// The value that one of the names in `choices` means, if the key is present; `what` is what they are names of.
    ///
    /// # Errors
    /// If it is none of them.
    pub fn choose<T: Copy>(
        &mut self,
        key: &'static Key,
        what: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, ScenarioError> {
        let item = self.find(key);
        item.map(|item| item.choice(what, choices)).transpose()
    }

    /// The table `key`, if present.
    pub fn table(&mut self, key: &'static str) -> Result<Option<Self>, ScenarioError> {
        self.get(key).map(|item| item.table()).transpose()
    }

    /// The tables of `[[key]]`.
    pub fn tables(&mut self, key: &'static str) -> Result<Vec<Self>, ScenarioError> {
        match self.get(key) {
            Some(item) => item.list().into_iter().map(|item| item.table()).collect(),
            None => Ok(Vec::new()),
        }
    }

    /// All entries of a table with user-defined keys.
    #[must_use]
    pub fn entries(&self) -> Vec<(String, Item<'t>)> {
        let entries = self.entries.iter();
        entries
            .map(|(key, value)| (key.get_ref().to_string(), self.item(key.get_ref(), value)))
            .collect()
    }

    /// An integer in the key's range, or `default`.
    pub fn integer<T: TryFrom<u64> + Debug>(
        &mut self,
        key: &'static str,
        default: T,
    ) -> Result<T, ScenarioError> {
        #[cfg(test)]
        asked::note(self.name_of(key), Some(format!("{default:?}")));
        self.get(key).map_or(Ok(default), |item| item.whole())
    }

    /// A boolean, or `default`.
    pub fn flag(&mut self, key: &'static str, default: bool) -> Result<bool, ScenarioError> {
        #[cfg(test)]
        asked::note(self.name_of(key), Some(format!("{default:?}")));
        self.get(key).map_or(Ok(default), |item| item.flag())
    }

    /// Meaning of one of the names in `choices`, or `default`; `what` is what they are names of.
    pub fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        what: &str,
        choices: &[(&str, T)],
        default: T,
    ) -> Result<T, ScenarioError> {
        self.get(key)
            .map_or(Ok(default), |item| item.choice(what, choices))
    }

    /// A time in the key's range and in its unit, or `default`.
    pub fn time(&mut self, key: &'static str, default: SimTime) -> Result<SimTime, ScenarioError> {
        self.get(key).map_or(Ok(default), |item| item.time())
    }

    /// A time in whole ns, or `default`.
    pub fn nanoseconds(&mut self, key: &'static str, default: u64) -> Result<u64, ScenarioError> {
        self.get(key).map_or(Ok(default), |item| item.nanoseconds())
    }

    /// Ends the reading of a table: refuses keys that were not requested.
    pub fn finish(self) -> Result<(), ScenarioError> {
        for (key, _) in self.entries.iter() {
            let name: &str = key.get_ref();
            if !self.known.contains(&name) {
                let place = self.source.place(key.span(), self.name_of(name));
                return Err(place.refuse(unknown("key", name, self.known.into_iter())));
            }
        }
        Ok(())
    }
}

impl<'t> Item<'t> {
    fn wrong_kind(&self, expected: &str) -> ScenarioError {
        let kind = self.value.type_str();
        self.place
            .refuse(format!("expected {expected}, found a value of kind {kind}"))
    }

    /// An integer in the range of its key.
    pub fn whole<T: TryFrom<u64>>(&self) -> Result<T, ScenarioError> {
        self.integer(self.key.map_or(0..=u64::MAX, Key::range))
    }

    /// A number in the range of its key.
    pub fn amount(&self) -> Result<f64, ScenarioError> {
        self.number(self.key.map_or(f64::MIN..=f64::MAX, Key::amounts))
    }

    /// A time in the range of its key, in the unit that its name ends with.
    pub fn time(&self) -> Result<SimTime, ScenarioError> {
        let ps = match self.key.and_then(Key::unit) {
            Some("ns") => 1e3,
            _ => 1e6,
        };
        Ok(SimTime::from_ps((self.amount()? * ps).round() as u64))
    }

    /// Value of the key as a time, in whole ns.
    pub fn nanoseconds(&self) -> Result<u64, ScenarioError> {
        Ok((self.time()?.ps() + 500) / 1000)
    }

    /// An integer in a narrower range than its key's.
    pub fn integer<T: TryFrom<u64>>(&self, range: RangeInclusive<u64>) -> Result<T, ScenarioError> {
        let DeValue::Integer(digits) = self.value else {
            return Err(self.wrong_kind("a whole number"));
        };
        u64::from_str_radix(digits.as_str(), digits.radix())
            .ok()
            .filter(|value| range.contains(value))
            .and_then(|value| T::try_from(value).ok())
            .ok_or_else(|| {
                let (low, high) = (range.start(), range.end());
                let reason = format!("{digits} is not between {low} and {high}");
                self.place.refuse(reason)
            })
    }

    /// A number in a narrower range than its key's, integer or not.
    pub fn number(&self, range: RangeInclusive<f64>) -> Result<f64, ScenarioError> {
        let value = match self.value {
            DeValue::Float(digits) => digits.as_str().parse().ok(),
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix())
                .ok()
                .map(|value| value as f64),
            _ => return Err(self.wrong_kind("a number")),
        };
        value.filter(|value| range.contains(value)).ok_or_else(|| {
            let (low, high) = (range.start(), range.end());
            self.place
                .refuse(format!("it must lie between {low} and {high}"))
        })
    }

    /// A boolean.
    pub fn flag(&self) -> Result<bool, ScenarioError> {
        match self.value {
            DeValue::Boolean(value) => Ok(*value),
            _ => Err(self.wrong_kind("true or false")),
        }
    }

    /// A string.
    pub fn text(&self) -> Result<&'t str, ScenarioError> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong_kind("a text in quotes")),
        }
    }

    /// One of the names in `choices`.
    pub fn choice<T: Copy>(&self, what: &str, choices: &[(&str, T)]) -> Result<T, ScenarioError> {
        let text = self.text()?;
        let found = choices.iter().find(|(name, _)| *name == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names = choices.iter().map(|(name, _)| *name);
            self.place.refuse(unknown(what, text, names))
        })
    }

    /// The value as a table.
    pub fn table(&self) -> Result<Table<'t>, ScenarioError> {
        match self.value {
            DeValue::Table(entries) => Ok(Table {
                source: self.source,
                entries,
                place: self.place.clone(),
                doc: self.key.and_then(Key::table),
                known: Vec::new(),
            }),
            _ => Err(self.wrong_kind("a table")),
        }
    }

    /// Whether the value is a string.
    #[must_use]
    pub const fn is_text(&self) -> bool {
        matches!(self.value, DeValue::String(_))
    }

    /// The items of a list; any other value is a list of one.
    #[must_use]
    pub fn list(&self) -> Vec<Self> {
        let DeValue::Array(array) = self.value else {
            return vec![self.clone()];
        };
        let items = array.iter().map(|value| Self {
            source: self.source,
            place: self.source.place(value.span(), self.place.key.clone()),
            value: value.get_ref(),
            key: self.key,
        });
        items.collect()
    }

    /// The value as it is, of any kind.
    ///
    /// # Errors
    /// If a number does not fit TOML's types.
    pub fn value(&self) -> Result<Value, ScenarioError> {
        let out_of_range = |digits: &dyn std::fmt::Display| {
            let reason = format!("{digits} is out of range");
            self.place.refuse(reason)
        };
        Ok(match self.value {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(value) => Value::Boolean(*value),
            DeValue::Datetime(time) => Value::Datetime(*time),
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix())
                .map(Value::Integer)
                .map_err(|_| out_of_range(digits))?,
            DeValue::Float(digits) => digits
                .as_str()
                .parse()
                .map(Value::Float)
                .map_err(|_| out_of_range(digits))?,
            DeValue::Array(_) => {
                let items = self.list();
                let items = items.iter().map(Self::value);
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            DeValue::Table(_) => {
                let entries = self.table()?.entries();
                let entries = entries
                    .into_iter()
                    .map(|(key, item)| Ok((key, item.value()?)));
                Value::Table(entries.collect::<Result<_, ScenarioError>>()?)
            }
        })
    }
}
