//! Formulas as text.

use super::{Formula, FormulaValue};

/// A part of a formula.
#[derive(Debug, Clone)]
pub(super) enum Term {
    Constant(FormulaValue),
    /// A text with formulas in it.
    Text(Vec<Piece>),
    List(Vec<Self>),
    /// A list of an item for each repetition; whether items without a measurement are left out.
    Each(Box<Self>, bool, Vec<Clause>),
    Name(String),
    Call(String, Vec<Self>),
    /// An item of a list, or a measure at a point.
    At(Box<Self>, Vec<Self>),
    Minus(Box<Self>),
    Not(Box<Self>),
    Both(Operator, Box<[Self; 2]>),
}

/// A part of a text.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Plain(String),
    /// A formula, and the form of its value.
    Value(Formula, String),
}

/// A repetition: names for an item, the list, and the condition for an item.
#[derive(Debug, Clone)]
pub(super) struct Clause {
    pub names: Vec<String>,
    pub list: Term,
    pub condition: Option<Term>,
}

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    Plus,
    Minus,
    Times,
    Over,
}

/// Operators by how tightly they bind, the loosest first.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Plus), ("-", Operator::Minus)],
    &[("*", Operator::Times), ("/", Operator::Over)],
];

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number(f64),
    Text(String),
    /// A name, a word or a sign.
    Word(String),
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = |is_inside: &dyn Fn(char) -> bool| {
            let end = rest.find(|c: char| !is_inside(c));
            end.unwrap_or(rest.len())
        };
        let count = if first.is_ascii_digit() {
            let count = length(&|c| c.is_ascii_digit() || matches!(c, '.' | '_'));
            let digits = rest[..count].replace('_', "");
            let number = digits.parse();
            all.push(Token::Number(
                number.map_err(|_| format!("{digits} is no number"))?,
            ));
            count
        } else if first == '"' {
            let inside = &rest[1..];
            let end = inside.find('"').ok_or("a quote is missing")?;
            all.push(Token::Text(inside[..end].into()));
            end + 2
        } else {
            let count = match first {
                'a'..='z' | 'A'..='Z' => length(&|c| c.is_ascii_alphanumeric() || c == '_'),
                '<' | '>' | '=' | '!' if rest[1..].starts_with('=') => 2,
                other => other.len_utf8(),
            };
            all.push(Token::Word(rest[..count].into()));
            count
        };
        rest = rest[count..].trim_start();
    }
    Ok(all)
}

struct Parser {
    /// In reverse order.
    tokens: Vec<Token>,
}

type Parsed<T> = Result<T, String>;

impl Parser {
    fn new(text: &str) -> Parsed<Self> {
        let mut tokens = tokens(text)?;
        tokens.reverse();
        Ok(Self { tokens })
    }

    /// Whether these words come next; they are taken.
    fn takes(&mut self, words: &[&str]) -> bool {
        let mut next = self.tokens.iter().rev();
        let there = words
            .iter()
            .all(|word| matches!(next.next(), Some(Token::Word(found)) if found == word));
        if there {
            self.tokens.truncate(self.tokens.len() - words.len());
        }
        there
    }

    fn need(&mut self, word: &str) -> Parsed<()> {
        match self.takes(&[word]) {
            true => Ok(()),
            false => Err(format!("\"{word}\" is missing before {}", self.next())),
        }
    }

    fn next(&self) -> String {
        match self.tokens.last() {
            None => "the end".into(),
            Some(Token::Number(number)) => number.to_string(),
            Some(Token::Text(text)) => format!("\"{text}\""),
            Some(Token::Word(word)) => word.clone(),
        }
    }

    fn end<T>(&self, parsed: T) -> Parsed<T> {
        match self.tokens.is_empty() {
            true => Ok(parsed),
            false => Err(format!("{} is not expected", self.next())),
        }
    }

    fn name(&mut self) -> Parsed<String> {
        match self.tokens.pop() {
            Some(Token::Word(name)) if name.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                Ok(name)
            }
            _ => Err("a name is missing".into()),
        }
    }

    fn formula(&mut self) -> Parsed<Formula> {
        let mut names = Vec::new();
        while let [.., Token::Word(equals), Token::Word(_)] = &self.tokens[..]
            && equals == "="
        {
            let name = self.name()?;
            self.need("=")?;
            names.push((name, self.term(0)?));
            self.need(";")?;
        }
        let result = self.term(0)?;
        Ok(Formula { names, result })
    }

    fn term(&mut self, level: usize) -> Parsed<Term> {
        let Some(operators) = LEVELS.get(level) else {
            return self.single();
        };
        let mut left = self.term(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.takes(&[sign])) {
            left = Term::Both(*operator, Box::new([left, self.term(level + 1)?]));
        }
        Ok(left)
    }

    fn single(&mut self) -> Parsed<Term> {
        if self.takes(&["-"]) {
            return Ok(Term::Minus(Box::new(self.single()?)));
        }
        if self.takes(&["not"]) {
            return Ok(Term::Not(Box::new(self.single()?)));
        }
        let mut term = self.plain()?;
        while self.takes(&["["]) {
            term = Term::At(Box::new(term), self.terms("]")?);
        }
        Ok(term)
    }

    fn plain(&mut self) -> Parsed<Term> {
        if self.takes(&["("]) {
            let inside = self.term(0)?;
            self.need(")")?;
            return Ok(inside);
        }
        if self.takes(&["["]) {
            return self.list();
        }
        match self.tokens.last() {
            Some(Token::Number(number)) => {
                let number = *number;
                self.tokens.pop();
                return Ok(Term::Constant(number.into()));
            }
            Some(Token::Text(text)) => {
                let pieces = template(text)?;
                self.tokens.pop();
                return Ok(Term::Text(pieces));
            }
            _ => {}
        }
        let next = self.next();
        let name = self.name().map_err(|_| format!("{next} is not expected"))?;
        Ok(match name.as_str() {
            "true" | "false" => Term::Constant((name == "true").into()),
            "none" => Term::Constant(FormulaValue::None),
            _ if self.takes(&["("]) => Term::Call(name, self.terms(")")?),
            _ => Term::Name(name),
        })
    }

    /// A list behind its bracket.
    fn list(&mut self) -> Parsed<Term> {
        if self.takes(&["]"]) {
            return Ok(Term::List(Vec::new()));
        }
        let first = self.term(0)?;
        let optional = self.takes(&["?"]);
        if self.takes(&["for"]) {
            let clauses = self.clauses()?;
            self.need("]")?;
            return Ok(Term::Each(Box::new(first), optional, clauses));
        }
        let mut items = vec![first];
        if self.takes(&[","]) {
            items.extend(self.terms("]")?);
        } else {
            self.need("]")?;
        }
        Ok(Term::List(items))
    }

    /// Terms up to a bracket.
    fn terms(&mut self, end: &str) -> Parsed<Vec<Term>> {
        let mut all = Vec::new();
        while !self.takes(&[end]) {
            all.push(self.term(0)?);
            if !self.takes(&[","]) {
                self.need(end)?;
                break;
            }
        }
        Ok(all)
    }

    /// Repetitions behind the first "for".
    fn clauses(&mut self) -> Parsed<Vec<Clause>> {
        let mut all = Vec::new();
        loop {
            let names = match self.takes(&["["]) {
                false => vec![self.name()?],
                true => {
                    let mut names = vec![self.name()?];
                    while self.takes(&[","]) {
                        names.push(self.name()?);
                    }
                    self.need("]")?;
                    names
                }
            };
            self.need("in")?;
            let list = self.term(0)?;
            let condition = self.takes(&["if"]).then(|| self.term(0)).transpose()?;
            all.push(Clause {
                names,
                list,
                condition,
            });
            if !self.takes(&["for"]) {
                return Ok(all);
            }
        }
    }
}

/// Parses a formula.
pub(super) fn formula(text: &str) -> Parsed<Formula> {
    let mut parser = Parser::new(text)?;
    let formula = parser.formula()?;
    parser.end(formula)
}

/// Parses repetitions without their first "for".
pub(super) fn repetitions(text: &str) -> Parsed<Vec<Clause>> {
    let mut parser = Parser::new(text)?;
    let clauses = parser.clauses()?;
    parser.end(clauses)
}

/// Parses a text with formulas in braces.
pub(super) fn template(text: &str) -> Parsed<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((plain, inside)) = rest.split_once('{') {
        let (inside, after) = inside.split_once('}').ok_or("\"}\" is missing")?;
        let (value, form) = inside.rsplit_once(':').unwrap_or((inside, ""));
        pieces.push(Piece::Plain(plain.into()));
        pieces.push(Piece::Value(formula(value)?, form.into()));
        rest = after;
    }
    pieces.push(Piece::Plain(rest.into()));
    Ok(pieces)
}
