//! Formulas over measured points: what numbers, claims and figures are made of (`statements.toml`).
//!
//! | form | meaning |
//! |------|---------|
//! | `1.5`, `"text"`, `true`, `none` | values; in a text `{formula}` stands for a value, `{formula:+.2}` for a number with digits, `{formula:<8}` or `{formula:>8.2}` in a width |
//! | `[a, b]`, `[f(x) for x in list]`, `[f(x, y) for [x, y] in pairs for z in list if x < z]` | lists; `f(x)? for` leaves out items without a measurement |
//! | `measure["value", 2, none]` | number of a measure at a point: a value for each axis, in order; a list where there are several |
//! | `list[0]`, `list[-1]` | item of a list, from its begin or its end |
//! | `+ - * / < <= > >= == != and or not` | with lists, item by item; a list of flags is true if all are |
//! | `name(a, b)` | a definition of the file, or a function of [`functions`] |
//! | `x = a + b; x * x` | a name for a value |
//!
//! A name without value is a list of the experiment's file. A formula that needs a point which was not measured has no value.

mod evaluate;
pub mod functions;
mod parse;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

pub use evaluate::Scope;
use parse::{Clause, Piece, Term};

/// A value in a formula.
#[derive(Debug, Clone, PartialEq)]
pub enum FormulaValue {
    /// No value, such as that of an axis.
    None,
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Self>),
}

impl Serialize for FormulaValue {
    /// Whole numbers are integers.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_none(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) if *number == number.trunc() => {
                serializer.serialize_i64(*number as i64)
            }
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
        }
    }
}

impl<V: Into<Self>> From<Vec<V>> for FormulaValue {
    fn from(values: Vec<V>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl From<f64> for FormulaValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for FormulaValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<bool> for FormulaValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<toml::Value> for FormulaValue {
    fn from(value: toml::Value) -> Self {
        match value {
            toml::Value::Boolean(flag) => Self::Flag(flag),
            toml::Value::Integer(number) => Self::Number(number as f64),
            toml::Value::Float(number) => Self::Number(number),
            toml::Value::String(text) => Self::Text(text),
            toml::Value::Array(items) => items.into(),
            toml::Value::Table(_) | toml::Value::Datetime(_) => Self::None,
        }
    }
}

impl FormulaValue {
    /// The number.
    ///
    /// # Errors
    /// It is none.
    pub fn number(&self) -> Result<f64, FormulaError> {
        match self {
            Self::Number(number) => Ok(*number),
            other => Err(wrong(format!("{} is no number", other.named()))),
        }
    }

    /// The text.
    ///
    /// # Errors
    /// It is none.
    pub fn text(&self) -> Result<&str, FormulaError> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(wrong(format!("{} is no text", other.named()))),
        }
    }

    /// The items; of anything else it is the only one.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            single => std::slice::from_ref(single),
        }
    }

    /// The numbers of a list.
    ///
    /// # Errors
    /// An item is none.
    pub fn numbers(&self) -> Result<Vec<f64>, FormulaError> {
        self.items().iter().map(Self::number).collect()
    }

    /// Whether it is true: a list if all items are.
    ///
    /// # Errors
    /// It is no flag.
    pub fn is_true(&self) -> Result<bool, FormulaError> {
        match self {
            Self::Flag(flag) => Ok(*flag),
            Self::List(items) => items
                .iter()
                .try_fold(true, |all, item| Ok(all & item.is_true()?)),
            other => Err(wrong(format!(
                "{} is neither true nor false",
                other.named()
            ))),
        }
    }

    fn named(&self) -> String {
        match self {
            Self::Text(text) => format!("\"{text}\""),
            other => other.shown(""),
        }
    }

    /// The value in a text. `form`: `.2` or `+.2`, after `<8` or `>8` for a width; without digits, numbers in lists have two.
    fn shown(&self, form: &str) -> String {
        let digits = form.find(['.', '+']).unwrap_or(form.len());
        let (place, digits) = form.split_at(digits);
        let text = self.plain(digits);
        let width = place
            .get(1..)
            .and_then(|width| width.parse().ok())
            .unwrap_or(0);
        match place.starts_with('<') {
            true => format!("{text:<width$}"),
            false => format!("{text:>width$}"),
        }
    }

    fn plain(&self, form: &str) -> String {
        let list = |items: &[Self], separator| {
            let form = if form.is_empty() { ".2" } else { form };
            let texts: Vec<_> = items.iter().map(|item| item.plain(form)).collect();
            texts.join(separator)
        };
        match self {
            Self::None => "none".into(),
            Self::Flag(flag) => flag.to_string(),
            Self::Text(text) => text.clone(),
            Self::List(items) => match items.first() {
                Some(Self::List(_)) => list(items, "; "),
                _ => list(items, ", "),
            },
            Self::Number(number) => {
                let digits = |digits: &str| digits.parse().unwrap_or_default();
                match form.split_once('.') {
                    Some(("+", more)) => format!("{number:+.*}", digits(more)),
                    Some((_, more)) => format!("{number:.*}", digits(more)),
                    None => number.to_string(),
                }
            }
        }
    }
}

/// Reason for which a formula has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormulaError {
    /// A point was not measured.
    #[error("{0}")]
    Missing(String),
    /// The formula is wrong.
    #[error("{0}")]
    Wrong(String),
}

fn wrong(reason: impl Into<String>) -> FormulaError {
    FormulaError::Wrong(reason.into())
}

impl FormulaError {
    /// A point was not measured.
    #[must_use]
    pub fn missing() -> Self {
        Self::Missing("points are missing in this run".into())
    }

    /// A name means nothing.
    #[must_use]
    pub fn unknown(name: &str) -> Self {
        wrong(format!("nothing has the name {name}"))
    }
}

/// Measured values, as formulas take them.
pub trait Measurements {
    /// The number of a measure at a point, a list of several; without values of axes: a list of the experiment.
    ///
    /// # Errors
    /// It was not measured, or there is no such measure.
    fn find(&self, measure: &str, _at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        Err(FormulaError::unknown(measure))
    }

    /// Half of the width of the confidence interval of a mean.
    fn interval(&self, _measure: &str, _at: &[FormulaValue]) -> Option<f64> {
        None
    }
}

/// A formula.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Formula {
    names: Vec<(String, Term)>,
    result: Term,
}

impl Formula {
    /// Whether it is a measure at a point, as it is.
    #[must_use]
    pub fn is_measure(&self) -> bool {
        match &self.result {
            Term::At(of, _) => matches!(**of, Term::Name(_)),
            Term::Call(name, _) => name == "measure",
            _ => false,
        }
    }
}

/// A text with formulas in braces.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Template(Vec<Piece>);

/// Repetitions: `size in sizes for nodes in [2, 4]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Repetitions(Vec<Clause>);

macro_rules! parsed {
    ($($of:ty, $parse:expr;)*) => {
        $(impl TryFrom<String> for $of {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                $parse(&text)
            }
        })*
    };
}

parsed! {
    Formula, parse::formula;
    Template, |text| parse::template(text).map(Self);
    Repetitions, |text| parse::repetitions(text).map(Self);
}

/// Definitions of a file by name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, Formula>")]
pub struct Definitions(BTreeMap<String, Definition>);

/// Names of parameters, and what they give.
#[derive(Debug, Clone)]
struct Definition(Vec<String>, Formula);

impl TryFrom<BTreeMap<String, Formula>> for Definitions {
    type Error = String;

    /// Definitions by their heads: `name`, or `name(a, b)`.
    fn try_from(all: BTreeMap<String, Formula>) -> Result<Self, String> {
        let definition = |(head, formula): (String, Formula)| {
            let (name, parameters) = match head.split_once('(') {
                None => (head.as_str(), Vec::new()),
                Some((name, rest)) => {
                    let inside = rest.strip_suffix(')').ok_or(format!("{head}: no \")\""))?;
                    let names = inside.split(',').map(|name| name.trim().to_owned());
                    (name, names.collect())
                }
            };
            Ok((name.to_owned(), Definition(parameters, formula)))
        };
        let all = all.into_iter().map(definition);
        all.collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for FormulaValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown(""))
    }
}

#[cfg(test)]
mod tests;
