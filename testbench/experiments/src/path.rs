//! Paths into TOML and JSON: `program[0].bytes`, `costs.stages."send frame"`, `boards[*].cpu_a`.

use std::fmt;

use lanigon_worlds::scenario::unknown;
use serde_json::Value as Json;
use toml::{Table, Value};

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    Key(String),
    Index(usize),
    /// Every item of an array.
    All,
}

/// A path to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    text: String,
    steps: Vec<PathStep>,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Path {
    /// Parses a path.
    ///
    /// # Errors
    /// The reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |reason: &str| format!("\"{text}\" is no path: {reason}");
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            let (key, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted
                    .split_once('"')
                    .ok_or_else(|| wrong("a quote is missing"))?,
                None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
            };
            if key.is_empty() {
                return Err(wrong("a key is missing"));
            }
            steps.push(PathStep::Key(key.into()));
            rest = after;
            while let Some(inside) = rest.strip_prefix('[') {
                let (index, after) = inside
                    .split_once(']')
                    .ok_or_else(|| wrong("a \"]\" is missing"))?;
                steps.push(match index.parse() {
                    Ok(index) => PathStep::Index(index),
                    Err(_) if index == "*" => PathStep::All,
                    Err(_) => return Err(wrong("between brackets is a number, from 0, or *")),
                });
                rest = after;
            }
            match rest.strip_prefix('.') {
                Some(after) => rest = after,
                None if rest.is_empty() => break,
                None => return Err(wrong("after a key comes \".\" or \"[\"")),
            }
        }
        Ok(Self {
            text: text.into(),
            steps,
        })
    }

    /// The path of a key of the root.
    #[must_use]
    pub fn key(key: &str) -> Self {
        Self {
            text: key.into(),
            steps: vec![PathStep::Key(key.into())],
        }
    }

    /// Whether it names every item of an array.
    #[must_use]
    pub fn has_all(&self) -> bool {
        self.steps.contains(&PathStep::All)
    }

    /// Whether an error of the scenario at `key` (without indexes) is about this path.
    #[must_use]
    pub fn concerns(&self, key: &str) -> bool {
        let keys = self.steps.iter().filter_map(|step| match step {
            PathStep::Key(key) => Some(key.as_str()),
            _ => None,
        });
        let own = keys.collect::<Vec<_>>().join(".");
        let inside = |outer: &str, inner: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        !key.is_empty() && (inside(&own, key) || inside(key, &own))
    }

    /// Sets a value; tables on the way are created, items of arrays must exist.
    ///
    /// # Errors
    /// The reason.
    pub fn set(&self, root: &mut Table, value: Value) -> Result<(), String> {
        let (first, rest) = match self.steps.split_first() {
            Some((PathStep::Key(first), rest)) => (first, rest),
            _ => return Err("it begins with a key".into()),
        };
        let is_table = matches!(rest.first(), Some(PathStep::Key(_)));
        let mut place = enter(root, first, is_table, rest.is_empty())?;
        for (at, step) in rest.iter().enumerate() {
            let next = rest.get(at + 1);
            place = match (step, place) {
                (PathStep::Key(key), Value::Table(table)) => enter(
                    table,
                    key,
                    matches!(next, Some(PathStep::Key(_))),
                    next.is_none(),
                )?,
                (PathStep::Index(index), Value::Array(array)) => {
                    let count = array.len();
                    array.get_mut(*index).ok_or_else(|| {
                        format!("the scenario has {count} items there, from number 0 on")
                    })?
                }
                (PathStep::All, _) => return Err("[*] is for measures".into()),
                (PathStep::Key(key), _) => return Err(format!("\"{key}\" is not in a table")),
                (PathStep::Index(index), _) => return Err(format!("[{index}] is not in an array")),
            };
        }
        *place = value;
        Ok(())
    }

    /// The values in a JSON document.
    ///
    /// # Errors
    /// The reason for which there is none.
    pub fn find<'j>(&self, root: &'j Json) -> Result<Vec<&'j Json>, String> {
        let mut found = vec![root];
        for step in &self.steps {
            let mut next = Vec::new();
            for place in found {
                match (step, place) {
                    (PathStep::Key(key), Json::Object(table)) => {
                        let value = table.get(key);
                        next.push(value.ok_or_else(|| {
                            unknown("key", key, table.keys().map(String::as_str))
                        })?);
                    }
                    (PathStep::Index(index), Json::Array(items)) => {
                        let item = items.get(*index);
                        next.push(item.ok_or_else(|| {
                            format!("there are {} items, from number 0 on", items.len())
                        })?);
                    }
                    (PathStep::All, Json::Array(items)) => next.extend(items),
                    (PathStep::Key(key), _) => return Err(format!("\"{key}\" is not in a table")),
                    _ => return Err("brackets are for arrays".into()),
                }
            }
            found = next;
        }
        Ok(found)
    }
}

/// The value of a key; a missing one is created: as a table if the path goes on with a key, as a placeholder at its end.
fn enter<'t>(
    table: &'t mut Table,
    key: &str,
    is_table: bool,
    is_last: bool,
) -> Result<&'t mut Value, String> {
    if !table.contains_key(key) {
        if !is_table && !is_last {
            return Err(format!("the scenario has no array \"{key}\""));
        }
        table.insert(key.into(), Value::Table(Table::new()));
    }
    table
        .get_mut(key)
        .ok_or_else(|| format!("the scenario has no \"{key}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_set_where_the_path_leads() {
        let check = |path: &str, expected: Result<&str, &str>| {
            let mut root: Table = "a = 1\n[t]\nb = 2\n[[l]]\nc = [5, 6]"
                .parse()
                .expect("TOML");
            let done = Path::parse(path).and_then(|path| path.set(&mut root, Value::Integer(9)));
            let found = done.map(|()| root);
            let expected = expected
                .map(|text| text.parse::<Table>().expect("TOML"))
                .map_err(str::to_owned);
            assert_eq!(found, expected, "{path}");
        };
        check("a", Ok("a = 9\n[t]\nb = 2\n[[l]]\nc = [5, 6]"));
        check("t.b", Ok("a = 1\n[t]\nb = 9\n[[l]]\nc = [5, 6]"));
        check("t", Ok("a = 1\nt = 9\n[[l]]\nc = [5, 6]"));
        check("l[0].c[1]", Ok("a = 1\n[t]\nb = 2\n[[l]]\nc = [5, 9]"));
        check("l[0].d", Ok("a = 1\n[t]\nb = 2\n[[l]]\nc = [5, 6]\nd = 9"));
        check(
            "n.\"x y\".z",
            Ok("a = 1\nn.\"x y\".z = 9\n[t]\nb = 2\n[[l]]\nc = [5, 6]"),
        );
        check(
            "l[1].c",
            Err("the scenario has 1 items there, from number 0 on"),
        );
        check("m[0].c", Err("the scenario has no array \"m\""));
        check("a.b", Err("\"b\" is not in a table"));
        check("t[0]", Err("[0] is not in an array"));
        check("l[*].c", Err("[*] is for measures"));
        check("", Err("\"\" is no path: a key is missing"));
        check("a..b", Err("\"a..b\" is no path: a key is missing"));
        check(
            "a[x]",
            Err("\"a[x]\" is no path: between brackets is a number, from 0, or *"),
        );
        check("a[0", Err("\"a[0\" is no path: a \"]\" is missing"));
        check(
            "a[0]b",
            Err("\"a[0]b\" is no path: after a key comes \".\" or \"[\""),
        );
        check("\"a", Err("\"\"a\" is no path: a quote is missing"));
    }

    #[test]
    fn errors_concern_paths() {
        let check = |path: &str, key: &str, expected| {
            let path = Path::parse(path).expect("a path");
            assert_eq!(path.concerns(key), expected, "{path} {key}");
        };
        check("program[0].bytes", "program.bytes", true);
        check("program[0].bytes", "program", true);
        check("faults", "faults.loss", true);
        check("faults.loss", "faults.losses", false);
        check("a", "", false);
    }
}
