//! Statements about measured points, as a file says (`statements.toml`): published numbers, claims and figures, all as formulas
//! ([`formula`](crate::formula)).
//!
//! | key | meaning |
//! |-----|---------|
//! | `define` | formulas by name, `name` or `name(a, b)`, for all others |
//! | `points` | lists of measured points, where they are no scenarios: a measure and the values of its axes; `quick`: whether the run is quick |
//! | `numbers` | the own value for published numbers: `value`, which knows the columns of the number by their names, the `parts` of its quantity and their `head`, for those whose columns are as given; the first one that fits counts. `note`: difference of the measurement from the publication's; `role`: where it is not predicted |
//! | `notes` | such a difference, by id of the number |
//! | `claims` | by id: `says`, with the interpretation in brackets; `holds`, which knows the `values`; `shows`: the evidence, without it the values |
//! | `figure` | `file`, `title`, and for each `panel` its `title`, axes `x` and `y` as label and scale, `curves` as pairs of a name and points (two numbers, and half of an error bar or `none`), `marks` as pairs of a published id and a horizontal position. With `for` a figure or panel is repeated |
//! | `line` | texts behind rows and claims, as `text`; with `for` repeated |
//! | `mark` | what is said of a published number in a figure; without it scheme and quantity |

use std::collections::BTreeMap;

use lanigon_figures::{Curve, Mark, Panel, Point, Scale};
use serde::Deserialize;

use crate::Error;
use crate::drawing::{NamedFigure, named, panel};
use crate::formula::{
    Definitions, Formula, FormulaError, FormulaValue, Measurements, Repetitions, Scope, Template,
};
use crate::published::{Published, PublishedTable};
use crate::row::CALIBRATED;
use crate::verdict::{self, JudgedClaim, Limits, Sample, Verdict};

/// A file of a paper, in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaperFile {
    /// Name, for messages: `atomics/experiment.toml`.
    pub name: &'static str,
    /// Text of the file.
    pub text: &'static str,
}

impl PaperFile {
    /// An error of the file.
    pub fn invalid(&self, reason: impl std::fmt::Display) -> Error {
        Error::Request(format!("{}: {reason}", self.name))
    }

    /// The contents of the file.
    ///
    /// # Errors
    /// It is invalid.
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, Error> {
        toml::from_str(self.text).map_err(|error| self.invalid(error))
    }
}

/// The statements of a file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Statements {
    define: Definitions,
    points: Vec<Formula>,
    numbers: Vec<NumberRule>,
    notes: BTreeMap<String, String>,
    claims: BTreeMap<String, ClaimRule>,
    figure: Vec<FigureRule>,
    line: Vec<LineRule>,
    mark: Option<Template>,
}

/// Role of a number that is not predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatedRole {
    /// The value is an entry of the profile.
    Input,
    /// The profile was adjusted to the published value.
    Calibrated,
}

impl StatedRole {
    /// The role as rows have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Calibrated => CALIBRATED,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
struct NumberRule {
    value: Formula,
    note: Option<Template>,
    role: Option<StatedRole>,
    #[serde(flatten)]
    columns: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimRule {
    says: String,
    values: Option<Formula>,
    holds: Formula,
    shows: Option<Template>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureRule {
    r#for: Option<Repetitions>,
    file: Template,
    title: Template,
    panel: Vec<PanelRule>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PanelRule {
    r#for: Option<Repetitions>,
    title: Template,
    x: (Template, Scale),
    y: (Template, Scale),
    curves: Formula,
    marks: Option<Formula>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineRule {
    r#for: Option<Repetitions>,
    text: Template,
}

/// The columns of a published number.
fn columns(number: &Published) -> [(&'static str, FormulaValue); 13] {
    let bytes = number.message_bytes.map(f64::from);
    let parts = |ends: &[char]| {
        let parts = number.quantity.split(ends).map(str::trim_start);
        parts.collect::<Vec<_>>()
    };
    [
        ("id", number.id.into()),
        ("section", number.section.into()),
        ("kind", number.kind.into()),
        ("profile", number.profile.into()),
        ("nodes", f64::from(number.nodes).into()),
        ("experiment", number.experiment.into()),
        ("scheme", number.scheme.into()),
        ("quantity", number.quantity.into()),
        ("head", parts(&[':', ';'])[0].into()),
        ("parts", parts(&[';']).into()),
        ("unit", number.unit.into()),
        ("testbed", number.testbed.into()),
        (
            "message_bytes",
            bytes.map_or(FormulaValue::None, Into::into),
        ),
    ]
}

impl Statements {
    /// The statements of a file, which are tried on measurements without points.
    ///
    /// # Errors
    /// The file is invalid, or a formula means nothing.
    pub fn read(
        file: &PaperFile,
        table: &PublishedTable,
        nothing: &dyn Measurements,
    ) -> Result<Self, Error> {
        let statements: Self = file.parse()?;
        let made_up = MadeUp(nothing);
        statements
            .attempt(table, &made_up)
            .map_err(|reason| file.invalid(reason))?;
        Ok(statements)
    }

    /// Evaluates all formulas: the first one that is wrong.
    fn attempt(&self, table: &PublishedTable, measured: &dyn Measurements) -> Result<(), String> {
        let wrong = |place: String, error| match error {
            FormulaError::Wrong(reason) => Err(format!("{place}: {reason}")),
            FormulaError::Missing(_) => Ok(()),
        };
        for number in table.numbers() {
            let value = self.number(number, measured);
            let note = value.and_then(|_| self.noted(number, measured));
            note.map(drop)
                .or_else(|error| wrong(format!("numbers: {}", number.id), error))?;
        }
        for (id, claim) in &self.claims {
            let judged = self.judged(claim, measured);
            judged
                .map(drop)
                .or_else(|error| wrong(format!("claims.{id}"), error))?;
        }
        for figure in &self.figure {
            let drawn = self.drawn(figure, table, measured, &|_| true);
            drawn
                .map(drop)
                .or_else(|error| wrong("figure".into(), error))?;
        }
        for line in &self.line {
            let lines = self.lines(line, measured);
            lines
                .map(drop)
                .or_else(|error| wrong("line".into(), error))?;
        }
        Ok(())
    }

    /// The points that are measured.
    ///
    /// # Errors
    /// A formula has no value.
    pub fn points(
        &self,
        quick: bool,
        measured: &dyn Measurements,
    ) -> Result<Vec<FormulaValue>, FormulaError> {
        let mut scope = Scope::new(&self.define, measured);
        scope.set("quick", quick);
        let mut points = Vec::new();
        for formula in &self.points {
            points.extend_from_slice(scope.value(formula)?.items());
        }
        Ok(points)
    }

    fn rule(&self, number: &Published) -> Option<&NumberRule> {
        let own = columns(number);
        let fits = |(name, wanted): (&String, &String)| {
            let has = |(known, value): &(&str, FormulaValue)| {
                known == name && value.to_string() == *wanted
            };
            own.iter().any(has)
        };
        self.numbers
            .iter()
            .find(|rule| rule.columns.iter().all(fits))
    }

    fn scope<'a>(&'a self, number: &Published, measured: &'a dyn Measurements) -> Scope<'a> {
        let mut scope = Scope::new(&self.define, measured);
        for (name, value) in columns(number) {
            scope.set(name, value);
        }
        scope
    }

    fn number(&self, number: &Published, measured: &dyn Measurements) -> Result<f64, FormulaError> {
        let rule = self.rule(number).ok_or_else(FormulaError::missing)?;
        self.scope(number, measured).value(&rule.value)?.number()
    }

    /// Whether a rule says what the own value for a number is.
    #[must_use]
    pub fn has(&self, number: &Published) -> bool {
        self.rule(number).is_some()
    }

    /// Whether the own value is that of one point.
    #[must_use]
    pub fn is_point(&self, number: &Published) -> bool {
        let rule = self.rule(number);
        rule.is_some_and(|rule| rule.value.is_measure())
    }

    /// The role of a number, where it is not predicted.
    #[must_use]
    pub fn role(&self, number: &Published) -> Option<StatedRole> {
        self.rule(number)?.role
    }

    /// The own value for a published number, if it was measured.
    pub fn value(&self, number: &Published, measured: &dyn Measurements) -> Option<f64> {
        self.number(number, measured).ok()
    }

    fn noted(
        &self,
        number: &Published,
        measured: &dyn Measurements,
    ) -> Result<String, FormulaError> {
        if let Some(note) = self.notes.get(number.id) {
            return Ok(note.clone());
        }
        let note = self.rule(number).and_then(|rule| rule.note.as_ref());
        note.map_or(Ok(String::new()), |note| {
            self.scope(number, measured).text(note)
        })
    }

    /// Difference of the measurement from the publication's; empty if there is none.
    pub fn note(&self, number: &Published, measured: &dyn Measurements) -> String {
        self.noted(number, measured).unwrap_or_default()
    }

    fn judged(
        &self,
        claim: &ClaimRule,
        measured: &dyn Measurements,
    ) -> Result<(bool, String), FormulaError> {
        let mut scope = Scope::new(&self.define, measured);
        let mut evidence = String::new();
        if let Some(values) = &claim.values {
            let values = scope.value(values)?;
            evidence = values.to_string();
            scope.set("values", values);
        }
        let holds = scope.value(&claim.holds)?.is_true()?;
        if let Some(shows) = &claim.shows {
            evidence = scope.text(shows)?;
        }
        Ok((holds, evidence))
    }

    /// The judged claims, by id.
    pub fn judge<S: Sample + Measurements>(&self, sample: &S, limits: Limits) -> Vec<JudgedClaim> {
        let claims = self.claims.iter().map(|(id, claim)| {
            let judge = move |sample: &S| -> Verdict {
                let judged = self.judged(claim, sample);
                judged.map_err(|error| error.to_string())
            };
            (id.clone(), claim.says.clone(), judge)
        });
        verdict::judge(sample, limits, claims)
    }

    /// The figures, with published numbers as marks.
    pub fn figures(&self, table: &PublishedTable, measured: &dyn Measurements) -> Vec<NamedFigure> {
        self.some_figures(table, measured, &|_| true)
    }

    /// The figures of which files are wanted.
    pub fn some_figures(
        &self,
        table: &PublishedTable,
        measured: &dyn Measurements,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Vec<NamedFigure> {
        let drawn = self.figure.iter();
        let drawn = drawn.map(|figure| self.drawn(figure, table, measured, wanted));
        let drawn = drawn.filter_map(Result::ok).flatten();
        drawn
            .filter(|(_, figure)| figure.panels.iter().any(|panel| !panel.curves.is_empty()))
            .collect()
    }

    /// The text behind rows and claims.
    pub fn text(&self, measured: &dyn Measurements) -> String {
        let lines = self
            .line
            .iter()
            .map(|line| self.lines(line, measured).unwrap_or_default());
        lines.collect::<Vec<_>>().concat()
    }

    fn lines(&self, line: &LineRule, measured: &dyn Measurements) -> Result<String, FormulaError> {
        let mut scope = Scope::new(&self.define, measured);
        let lines = scope.each(line.r#for.as_ref(), |scope| scope.text(&line.text))?;
        Ok(lines.concat())
    }

    fn drawn(
        &self,
        figure: &FigureRule,
        table: &PublishedTable,
        measured: &dyn Measurements,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<NamedFigure>, FormulaError> {
        Scope::new(&self.define, measured).each(figure.r#for.as_ref(), |scope| {
            let file = scope.text(&figure.file)?;
            let mut panels = Vec::new();
            for rule in figure.panel.iter().filter(|_| wanted(&file)) {
                panels.extend(scope.each(rule.r#for.as_ref(), |scope| {
                    self.panel(rule, table, measured, &mut scope.clone())
                })?);
            }
            Ok(named(&file, &scope.text(&figure.title)?, panels))
        })
    }

    fn panel(
        &self,
        rule: &PanelRule,
        table: &PublishedTable,
        measured: &dyn Measurements,
        scope: &mut Scope<'_>,
    ) -> Result<Panel, FormulaError> {
        let curves = scope.value(&rule.curves)?;
        let curves = curves.items().iter().map(curve).collect::<Result<_, _>>()?;
        let mut marks = Vec::new();
        if let Some(rule) = &rule.marks {
            for mark in scope.value(rule)?.items() {
                marks.extend(self.marked(mark, table, measured)?);
            }
        }
        let (x, y) = (scope.text(&rule.x.0)?, scope.text(&rule.y.0)?);
        Ok(Panel {
            marks,
            ..panel(
                &scope.text(&rule.title)?,
                (&x, rule.x.1),
                (&y, rule.y.1),
                curves,
            )
        })
    }

    /// The mark of a published number, if the table has it; two for the ends of a range.
    fn marked(
        &self,
        mark: &FormulaValue,
        table: &PublishedTable,
        measured: &dyn Measurements,
    ) -> Result<Vec<Mark>, FormulaError> {
        let [id, x] = mark.items() else {
            return Err(FormulaError::Wrong("a mark is an id and a position".into()));
        };
        let id = id.text()?;
        let Some(number) = table.get(id) else {
            // A table of the user may have fewer numbers.
            return match table.is_known(id) {
                true => Ok(Vec::new()),
                false => Err(FormulaError::Wrong(format!("no number {id} is published"))),
            };
        };
        let mut scope = self.scope(number, measured);
        let usual = || Ok(format!("{} {}", number.scheme, number.quantity));
        let what = self.mark.as_ref();
        let what = what.map_or_else(usual, |mark| scope.text(mark))?;
        let ends = match number.value == number.high {
            true => vec![(number.value, "")],
            false => vec![(number.value, ", lowest"), (number.high, ", highest")],
        };
        let x = x.number()?;
        let mark = |(y, end)| Mark {
            x,
            y,
            id: number.id.into(),
            what: format!("{what}{end}"),
        };
        Ok(ends.into_iter().map(mark).collect())
    }
}

/// A curve: a name, and points.
fn curve(value: &FormulaValue) -> Result<Curve, FormulaError> {
    let [name, points] = value.items() else {
        return Err(FormulaError::Wrong("a curve is a name and points".into()));
    };
    let point = |point: &FormulaValue| match point.items() {
        [x, y, error @ ..] if error.len() < 2 => Ok(Point {
            x: x.number()?,
            y: y.number()?,
            error: error.first().and_then(|half| half.number().ok()),
        }),
        _ => Err(FormulaError::Wrong("a point is two numbers".into())),
    };
    Ok(Curve {
        name: name.text()?.into(),
        points: points.items().iter().map(point).collect::<Result<_, _>>()?,
    })
}

/// Measurements in which each missing number is 1.
struct MadeUp<'a>(&'a dyn Measurements);

impl Measurements for MadeUp<'_> {
    fn find(&self, measure: &str, at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        match self.0.find(measure, at) {
            Err(FormulaError::Missing(_)) => Ok(1.0.into()),
            found => found,
        }
    }
}
