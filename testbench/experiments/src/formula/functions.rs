//! Functions of formulas.
//!
//! | function | value |
//! |----------|-------|
//! | `choose(flag, yes, no)` | one of both |
//! | `known(value, other)` | the value, or the other one if it was not measured |
//! | `measure(name, ...)` | a measure at a point, by its name as a text |
//! | `interval(name, ...)` | half of the width of its confidence interval; `none` without one |
//! | `open(reason)` | no value, for a reason |
//! | `all(list)`, `any(list)` | whether all items are true, or one |
//! | `min(list)`, `max(list)`, `sum(list)`, `mean(list)`, `count(list)` | of its numbers |
//! | `rises(list)`, `falls(list)` | whether each number is above, or below, the one before |
//! | `skip(list, count)`, `take(list, count)`, `reverse(list)`, `flat(list)` | items; those of its lists |
//! | `range(first, last)` | whole numbers, both included |
//! | `zip(a, b)` | pairs of items |
//! | `place(list, value)` | number of the first item that is equal, from 0 |
//! | `crossing(xs, ys, limit)` | where a curve passes a limit first, between its points; its end if it does not |
//! | `line(xs, ys)` | the line with the least squares: its value at 0, and its slope |
//! | `abs(number)`, `log2(number)`, `number(text)` | a number |
//! | `concat(list)`, `join(list, text)` | the items as a text, with another one between them |
//! | `lower(text)`, `word(text, number)`, `starts(text, with)` | of a text; words count from 0, or from its end |

use super::{FormulaError, FormulaValue, wrong};

pub(super) fn call(name: &str, arguments: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
    let missing = FormulaError::missing;
    Ok(match (name, arguments) {
        ("all", [of]) => of.is_true()?.into(),
        ("any", [of]) => {
            let flags = of.items().iter().map(FormulaValue::is_true);
            let flags: Vec<_> = flags.collect::<Result<_, _>>()?;
            flags.contains(&true).into()
        }
        ("min", [of]) => reduced(of, f64::min)?,
        ("max", [of]) => reduced(of, f64::max)?,
        ("sum", [of]) => of.numbers()?.iter().sum::<f64>().into(),
        ("mean", [of]) => {
            let numbers = of.numbers()?;
            (numbers.iter().sum::<f64>() / numbers.len() as f64).into()
        }
        ("count", [of]) => (of.items().len() as f64).into(),
        ("rises", [of]) => of.numbers()?.is_sorted_by(|a, b| a < b).into(),
        ("falls", [of]) => of.numbers()?.is_sorted_by(|a, b| a > b).into(),
        ("crossing", [xs, ys, limit]) => {
            let (xs, ys) = (xs.numbers()?, ys.numbers()?);
            crossing(&xs, &ys, limit.number()?)
                .ok_or_else(missing)?
                .into()
        }
        ("line", [xs, ys]) => {
            let points = xs.numbers()?.into_iter().zip(ys.numbers()?);
            let line = line(&points.collect::<Vec<_>>()).ok_or_else(missing)?;
            Vec::from(line).into()
        }
        ("abs", [FormulaValue::List(items)]) => {
            let items = items
                .iter()
                .map(|item| call(name, std::slice::from_ref(item)));
            FormulaValue::List(items.collect::<Result<_, _>>()?)
        }
        ("abs", [of]) => of.number()?.abs().into(),
        ("log2", [of]) => of.number()?.log2().into(),
        ("number", [of]) => {
            let number = of.text()?.parse::<f64>();
            number
                .map_err(|_| wrong(format!("\"{of}\" is no number")))?
                .into()
        }
        ("open", [reason]) => return Err(FormulaError::Missing(reason.text()?.into())),
        ("concat", [of]) => joined(of, "").as_str().into(),
        ("join", [of, with]) => joined(of, with.text()?).as_str().into(),
        ("lower", [of]) => of.text()?.to_lowercase().as_str().into(),
        ("word", [of, place]) => {
            let (place, mut words) = (place.number()?, of.text()?.split(' '));
            let word = match place < 0.0 {
                true => words.nth_back((-place) as usize - 1),
                false => words.nth(place as usize),
            };
            word.ok_or_else(missing)?.into()
        }
        ("starts", [of, with]) => of.text()?.starts_with(with.text()?).into(),
        _ => return of_lists(name, arguments),
    })
}

/// Functions whose values are lists, or places in lists.
fn of_lists(name: &str, arguments: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
    use FormulaValue::List;
    Ok(match (name, arguments) {
        ("skip", [of, count]) => {
            let items = of.items().iter().skip(count.number()? as usize);
            List(items.cloned().collect())
        }
        ("take", [of, count]) => {
            let items = of.items().iter().take(count.number()? as usize);
            List(items.cloned().collect())
        }
        ("reverse", [of]) => List(of.items().iter().rev().cloned().collect()),
        ("flat", [of]) => {
            let items = of.items().iter().flat_map(FormulaValue::items);
            List(items.cloned().collect())
        }
        ("range", [first, last]) => {
            let (first, last) = (first.number()? as i64, last.number()? as i64);
            (first..=last)
                .map(|number| number as f64)
                .collect::<Vec<_>>()
                .into()
        }
        ("zip", [a, b]) => {
            let pairs = a.items().iter().zip(b.items());
            List(
                pairs
                    .map(|(a, b)| List(vec![a.clone(), b.clone()]))
                    .collect(),
            )
        }
        ("place", [of, value]) => {
            let place = of.items().iter().position(|item| item == value);
            (place.ok_or_else(FormulaError::missing)? as f64).into()
        }
        _ => {
            let count = arguments.len();
            return Err(wrong(format!(
                "there is no function {name} of {count} values"
            )));
        }
    })
}

fn joined(of: &FormulaValue, with: &str) -> String {
    let items = of.items().iter().map(FormulaValue::to_string);
    items.collect::<Vec<_>>().join(with)
}

fn reduced(of: &FormulaValue, by: fn(f64, f64) -> f64) -> Result<FormulaValue, FormulaError> {
    let number = of.numbers()?.into_iter().reduce(by);
    number.map(Into::into).ok_or_else(FormulaError::missing)
}

/// The horizontal position at which a curve is first above a limit; its last one if it never is.
fn crossing(xs: &[f64], ys: &[f64], limit: f64) -> Option<f64> {
    let (mut x, mut y) = (*xs.first()?, *ys.first()?);
    for (&next_x, &next_y) in xs.iter().zip(ys) {
        if next_y > limit {
            return Some(x + (next_x - x) * (limit - y) / (next_y - y));
        }
        (x, y) = (next_x, next_y);
    }
    Some(x)
}

/// The line with the least squares: its value at 0, and its slope.
#[must_use]
pub fn line(points: &[(f64, f64)]) -> Option<[f64; 2]> {
    let count = points.len() as f64;
    let sum = |value: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>();
    let (x, y) = (sum(&|point| point.0), sum(&|point| point.1));
    let (xx, xy) = (
        sum(&|point| point.0 * point.0),
        sum(&|point| point.0 * point.1),
    );
    let below = count * xx - x * x;
    if below == 0.0 {
        return None;
    }
    let slope = (count * xy - x * y) / below;
    Some([(y - slope * x) / count, slope])
}
