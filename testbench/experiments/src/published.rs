//! Tables of published numbers (`data/README.md`): those in the program, or in the user's data folder.

use std::str::FromStr;
use std::sync::OnceLock;

use lanigon_worlds::files::input::Input;
use lanigon_worlds::files::own;

/// Values of [`Published::kind`].
const KINDS: [&str; 4] = ["measured", "derived", "parameter", "recalled"];

/// Names of columns; `basis`, `system`, `low` are other names of `kind`, `scheme`, `value`.
const COLUMNS: [&str; 16] = [
    "id",
    "section",
    "kind",
    "basis",
    "profile",
    "nodes",
    "experiment",
    "scheme",
    "system",
    "quantity",
    "value",
    "low",
    "high",
    "unit",
    "message_bytes",
    "testbed",
];

/// A published number.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Id of the number.
    pub id: &'static str,
    /// Section and figure of the publication.
    pub section: &'static str,
    /// `measured`; `derived` by its author; `parameter` of an experiment; `recalled`: no document states it.
    pub kind: &'static str,
    /// The profile that is like the boards.
    pub profile: &'static str,
    /// Number of nodes; 0 without one.
    pub nodes: u16,
    /// The measurement.
    pub experiment: &'static str,
    /// Division of work, algorithm and place, or system.
    pub scheme: &'static str,
    /// Quantity.
    pub quantity: &'static str,
    /// Published value; the lowest one of a range.
    pub value: f64,
    /// The highest value of a range; otherwise the value.
    pub high: f64,
    /// Unit of the value; `x`: a factor by which one is better than another.
    pub unit: &'static str,
    /// Message size, if it has one.
    pub message_bytes: Option<u32>,
    /// Testbed, or `-`.
    pub testbed: &'static str,
}

impl Published {
    /// The difference of a value from the number or range, as a part of its nearest end; 0 within a range.
    #[must_use]
    pub fn error(&self, value: f64) -> f64 {
        value / value.clamp(self.value, self.high) - 1.0
    }
}

/// A table that the user gave cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TableError(String);

/// A table, which is read once.
#[derive(Debug)]
pub struct PublishedTable {
    /// Name of its file, without `.csv`.
    pub name: &'static str,
    /// The text in the program.
    pub text: &'static str,
    numbers: OnceLock<Result<Vec<Published>, TableError>>,
}

impl PublishedTable {
    /// The table with this name and text.
    #[must_use]
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Self {
            name,
            text,
            numbers: OnceLock::new(),
        }
    }

    fn read(&self) -> &Result<Vec<Published>, TableError> {
        self.numbers.get_or_init(|| load(self.name, self.text))
    }

    /// Numbers of the table; none if it cannot be read.
    pub fn numbers(&self) -> &[Published] {
        self.read().as_deref().unwrap_or_default()
    }

    /// Whether the table in the program has the number.
    #[must_use]
    pub fn is_known(&self, id: &str) -> bool {
        let mut ids = self.text.lines().map(|line| line.split(',').next());
        ids.any(|known| known == Some(id))
    }

    /// A number.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Published> {
        self.numbers().iter().find(|number| number.id == id)
    }

    /// Whether the file can be read.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn check(&self) -> Result<(), TableError> {
        self.read().as_ref().map(drop).map_err(Clone::clone)
    }
}

/// Reads the table `name`, or its `built_in` text; the first line has the names of the columns. Lines without text are skipped.
fn load(name: &str, built_in: &'static str) -> Result<Vec<Published>, TableError> {
    let (place, text) = match own::published(name) {
        None => (format!("{name}.csv"), built_in),
        Some(path) => {
            let place = path.display().to_string();
            let text = Input::Published.read_text(&path);
            let text = text.map_err(|error| TableError(format!("{place}: {error}")))?;
            // Read once, and kept to the end.
            (place, &*Box::leak(text.into_boxed_str()))
        }
    };
    let invalid = |index, reason| TableError(format!("{place}:{}: {reason}", index + 1));
    let columns = text.lines().next().unwrap_or_default();
    check_columns(columns).map_err(|reason| invalid(0, reason))?;
    let mut numbers: Vec<Published> = Vec::new();
    let lines = text.lines().enumerate().skip(1);
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let number = parse(columns, line).map_err(|reason| invalid(index, reason))?;
        if numbers.iter().any(|known| known.id == number.id) {
            return Err(invalid(index, format!("{} is there already", number.id)));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

/// Checks the line with the names of the columns.
fn check_columns(columns: &str) -> Result<(), String> {
    let mut names = columns.split(',');
    if let Some(unknown) = names.clone().find(|name| !COLUMNS.contains(name)) {
        let known = COLUMNS.join(", ");
        return Err(format!("unknown column \"{unknown}\"; there are {known}"));
    }
    match names.any(|name| name == "id") {
        true => Ok(()),
        false => Err("no column \"id\"".into()),
    }
}

/// A line of a table with these columns; an error is the reason why it is none.
fn parse(columns: &str, line: &'static str) -> Result<Published, String> {
    let mut number = Published {
        id: "",
        section: "",
        kind: "",
        profile: "",
        nodes: 0,
        experiment: "",
        scheme: "",
        quantity: "",
        value: f64::NAN,
        high: f64::NAN,
        unit: "",
        message_bytes: None,
        testbed: "-",
    };
    let fields: Vec<_> = line.split(',').collect();
    let names: Vec<_> = columns.split(',').collect();
    if fields.len() != names.len() {
        let (fields, names) = (fields.len(), names.len());
        return Err(format!("{fields} fields for {names} columns: \"{line}\""));
    }
    for (name, field) in names.into_iter().zip(fields) {
        match name {
            "id" => number.id = field,
            "section" => number.section = field,
            "kind" | "basis" if KINDS.contains(&field) => number.kind = field,
            "kind" | "basis" => {
                let kinds = KINDS.join(", ");
                return Err(format!("{name}: \"{field}\" is none of {kinds}"));
            }
            "profile" => number.profile = field,
            "nodes" => number.nodes = parsed(name, field)?,
            "experiment" => number.experiment = field,
            "scheme" | "system" => number.scheme = field,
            "quantity" => number.quantity = field,
            "value" | "low" => number.value = parsed(name, field)?,
            "high" => number.high = parsed(name, field)?,
            "unit" => number.unit = field,
            "message_bytes" if field == "-" => {}
            "message_bytes" => number.message_bytes = Some(parsed(name, field)?),
            "testbed" => number.testbed = field,
            // The first line has been checked.
            _ => {}
        }
    }
    if number.high.is_nan() {
        number.high = number.value;
    }
    match number.value <= number.high {
        true => Ok(number),
        false => Err(format!("no value, or a range from high to low: \"{line}\"")),
    }
}

/// The number in a field.
fn parsed<T: FromStr>(column: &str, field: &str) -> Result<T, String> {
    let number = field.parse();
    number.map_err(|_| format!("{column}: \"{field}\" is no such number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_columns_of_the_first_one() {
        let range = parse("id,low,high,basis", "a-1,8.5,10,recalled");
        let range = range.unwrap_or_else(|reason| panic!("{reason}"));
        assert_eq!(
            (range.value, range.high, range.kind),
            (8.5, 10.0, "recalled")
        );
        let single = parse("id,value,message_bytes", "a-2,3,-");
        assert_eq!(
            single.map(|one| (one.high, one.message_bytes)),
            Ok((3.0, None))
        );
        let columns = "id,low,high,basis";
        for (columns, wrong, reason) in [
            (columns, "a-1,8.5,10", "3 fields for 4 columns"),
            (
                columns,
                "a-1,8.5,x,measured",
                "high: \"x\" is no such number",
            ),
            (
                columns,
                "a-1,8.5,10,guessed",
                "basis: \"guessed\" is none of measured",
            ),
            (columns, "a-1,9,8,measured", "a range from high to low"),
            ("id,unit", "a-1,us", "no value"),
        ] {
            let error = parse(columns, wrong).map(|_| ()).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        for (columns, reason) in [
            ("id,lenght", "unknown column \"lenght\"; there are id, "),
            ("value,unit", "no column \"id\""),
        ] {
            let error = check_columns(columns).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn an_error_is_the_distance_from_the_range() {
        let number = parse("id,low,high", "a-1,11,14").unwrap_or_else(|reason| panic!("{reason}"));
        assert_eq!(number.error(12.0), 0.0);
        assert!((number.error(15.4) - 0.1).abs() < 1e-9);
        assert!((number.error(9.9) + 0.1).abs() < 1e-9);
    }
}
