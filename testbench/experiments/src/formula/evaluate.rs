//! Values of formulas.

use super::parse::{Clause, Operator, Piece, Term};
use super::{
    Definitions, Formula, FormulaError, FormulaValue, Measurements, Repetitions, Template,
    functions, wrong,
};

type Evaluated = Result<FormulaValue, FormulaError>;

/// Deepest call of definitions.
const DEEPEST: usize = 64;

/// Everything that names in a formula mean.
#[derive(Clone)]
pub struct Scope<'a> {
    definitions: &'a Definitions,
    measured: &'a dyn Measurements,
    names: Vec<(String, FormulaValue)>,
    depth: usize,
}

impl<'a> Scope<'a> {
    /// The scope of a file's formulas.
    #[must_use]
    pub fn new(definitions: &'a Definitions, measured: &'a dyn Measurements) -> Self {
        Self {
            definitions,
            measured,
            names: Vec::new(),
            depth: 0,
        }
    }

    /// Gives a value a name.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<FormulaValue>) {
        self.names.push((name.into(), value.into()));
    }

    /// The value of a formula; its own names are known from then on.
    ///
    /// # Errors
    /// It has none.
    pub fn value(&mut self, formula: &Formula) -> Evaluated {
        for (name, term) in &formula.names {
            let value = self.term(term)?;
            self.set(name.as_str(), value);
        }
        self.term(&formula.result)
    }

    /// The text of a template.
    ///
    /// # Errors
    /// A formula in it has no value.
    pub fn text(&mut self, template: &Template) -> Result<String, FormulaError> {
        self.pieces(&template.0)
    }

    /// Calls `work` in the scope of each repetition, once without any.
    ///
    /// # Errors
    /// A list has no value; that of `work`.
    pub fn each<T>(
        &mut self,
        repetitions: Option<&Repetitions>,
        mut work: impl FnMut(&mut Self) -> Result<T, FormulaError>,
    ) -> Result<Vec<T>, FormulaError> {
        let mut all = Vec::new();
        let clauses = repetitions.map_or(&[][..], |repetitions| &repetitions.0);
        self.repeat(clauses, &mut |scope| {
            all.push(work(scope)?);
            Ok(())
        })?;
        Ok(all)
    }

    fn repeat(
        &mut self,
        clauses: &[Clause],
        work: &mut dyn FnMut(&mut Self) -> Result<(), FormulaError>,
    ) -> Result<(), FormulaError> {
        let Some((clause, rest)) = clauses.split_first() else {
            return work(self);
        };
        for item in self.term(&clause.list)?.items() {
            let known = self.names.len();
            match &clause.names[..] {
                [name] => self.set(name.as_str(), item.clone()),
                names if item.items().len() < names.len() => return Err(FormulaError::missing()),
                names => {
                    for (name, item) in names.iter().zip(item.items()) {
                        self.set(name.as_str(), item.clone());
                    }
                }
            }
            let condition = clause.condition.as_ref();
            if condition.map_or(Ok(true), |term| self.term(term)?.is_true())? {
                self.repeat(rest, work)?;
            }
            self.names.truncate(known);
        }
        Ok(())
    }

    fn known(&self, name: &str) -> Option<&FormulaValue> {
        let mut names = self.names.iter().rev();
        names
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    fn is_constant(&self, name: &str) -> bool {
        let definition = self.definitions.0.get(name);
        definition.is_some_and(|definition| definition.0.is_empty())
    }

    fn pieces(&mut self, pieces: &[Piece]) -> Result<String, FormulaError> {
        let piece = |piece: &Piece| match piece {
            Piece::Plain(text) => Ok(text.clone()),
            Piece::Value(formula, form) => Ok(self.clone().value(formula)?.shown(form)),
        };
        pieces.iter().map(piece).collect()
    }

    fn term(&mut self, term: &Term) -> Evaluated {
        Ok(match term {
            Term::Constant(value) => value.clone(),
            Term::Text(pieces) => FormulaValue::Text(self.pieces(pieces)?),
            Term::List(items) => FormulaValue::List(self.terms(items)?),
            Term::Each(item, optional, clauses) => {
                let mut all = Vec::new();
                self.repeat(clauses, &mut |scope| {
                    match scope.term(item) {
                        Err(FormulaError::Missing(_)) if *optional => {}
                        value => all.push(value?),
                    }
                    Ok(())
                })?;
                FormulaValue::List(all)
            }
            Term::Name(name) => match self.known(name) {
                Some(value) => value.clone(),
                None => match self.is_constant(name) {
                    true => self.call(name, Vec::new())?,
                    false => self.measured.find(name, &[])?,
                },
            },
            Term::Call(name, arguments) => {
                // What is not chosen need not have a value.
                if let ("choose", [flag, yes, no]) = (name.as_str(), &arguments[..]) {
                    let chosen = if self.term(flag)?.is_true()? { yes } else { no };
                    return self.term(chosen);
                }
                if let ("known", [first, other]) = (name.as_str(), &arguments[..]) {
                    return match self.term(first) {
                        Err(FormulaError::Missing(_)) => self.term(other),
                        value => value,
                    };
                }
                let arguments = self.terms(arguments)?;
                self.call(name, arguments)?
            }
            Term::At(of, at) => self.at(of, at)?,
            Term::Minus(of) => arithmetic(Operator::Minus, &0.0.into(), &self.term(of)?)?,
            Term::Not(of) => (!self.term(of)?.is_true()?).into(),
            Term::Both(Operator::And, of) => {
                (self.term(&of[0])?.is_true()? && self.term(&of[1])?.is_true()?).into()
            }
            Term::Both(Operator::Or, of) => {
                (self.term(&of[0])?.is_true()? || self.term(&of[1])?.is_true()?).into()
            }
            Term::Both(operator, of) => {
                let (left, right) = (self.term(&of[0])?, self.term(&of[1])?);
                arithmetic(*operator, &left, &right)?
            }
        })
    }

    fn terms(&mut self, terms: &[Term]) -> Result<Vec<FormulaValue>, FormulaError> {
        terms.iter().map(|term| self.term(term)).collect()
    }

    fn at(&mut self, of: &Term, at: &[Term]) -> Evaluated {
        let at = self.terms(at)?;
        let list = match of {
            Term::Name(name) if self.known(name).is_none() && !self.is_constant(name) => {
                match self.measured.find(name, &[]) {
                    Ok(list) => list,
                    Err(_) => return self.measured.find(name, &at),
                }
            }
            of => self.term(of)?,
        };
        let [place] = &at[..] else {
            return Err(wrong("one number finds an item"));
        };
        let (place, items) = (place.number()?, list.items());
        let place = match place < 0.0 {
            true => items.len() as f64 + place,
            false => place,
        };
        let found = (place >= 0.0).then(|| items.get(place as usize));
        found.flatten().cloned().ok_or_else(FormulaError::missing)
    }

    fn call(&mut self, name: &str, arguments: Vec<FormulaValue>) -> Evaluated {
        let Some(definition) = self.definitions.0.get(name) else {
            return match (name, &arguments[..]) {
                ("measure", [measure, at @ ..]) => self.measured.find(measure.text()?, at),
                ("interval", [measure, at @ ..]) => {
                    let half = self.measured.interval(measure.text()?, at);
                    Ok(half.map_or(FormulaValue::None, Into::into))
                }
                _ => functions::call(name, &arguments),
            };
        };
        if definition.0.len() != arguments.len() || self.depth == DEEPEST {
            let (count, given) = (definition.0.len(), arguments.len());
            return Err(wrong(format!("{name} takes {count} values, not {given}")));
        }
        let names = definition.0.iter().cloned().zip(arguments);
        let mut inside = Scope {
            names: names.collect(),
            depth: self.depth + 1,
            ..*self
        };
        inside.value(&definition.1)
    }
}

/// An operator between values; with a list item by item.
fn arithmetic(operator: Operator, left: &FormulaValue, right: &FormulaValue) -> Evaluated {
    use FormulaValue::{List, Number};
    let each = |pairs: &mut dyn Iterator<Item = (&FormulaValue, &FormulaValue)>| {
        let items = pairs.map(|(left, right)| arithmetic(operator, left, right));
        items.collect::<Result<_, _>>().map(List)
    };
    match (left, right) {
        (List(a), List(b)) if a.len() == b.len() => each(&mut a.iter().zip(b)),
        (List(_), List(_)) => Err(wrong("lists of different lengths")),
        (List(a), b) => each(&mut a.iter().map(|a| (a, b))),
        (a, List(b)) => each(&mut b.iter().map(|b| (a, b))),
        (Number(a), Number(b)) => Ok(match operator {
            Operator::Less => (a < b).into(),
            Operator::LessOrEqual => (a <= b).into(),
            Operator::Greater => (a > b).into(),
            Operator::GreaterOrEqual => (a >= b).into(),
            Operator::Equal => (a == b).into(),
            Operator::NotEqual => (a != b).into(),
            Operator::Plus => (a + b).into(),
            Operator::Minus => (a - b).into(),
            Operator::Times => (a * b).into(),
            Operator::Over => (a / b).into(),
            Operator::Or | Operator::And => false.into(),
        }),
        (a, b) => match operator {
            Operator::Equal => Ok((a == b).into()),
            Operator::NotEqual => Ok((a != b).into()),
            _ => Err(a
                .number()
                .and(b.number())
                .err()
                .unwrap_or_else(|| wrong("no numbers"))),
        },
    }
}
