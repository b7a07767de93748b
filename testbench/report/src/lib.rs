//! Reports of measurements: text, tables, figures, claims with their evidence.
//!
//! A [`Report`] is data. [`html()`] writes one page that needs nothing else, neither files nor a network: tables sort and filter, figures show
//! values on hover. [`markdown()`] writes the same as text, with links to the figures' files. All text is escaped: nothing in a report is
//! taken as markup. Output depends on the report alone.

mod html;
mod markdown;

use lanigon_figures::Figure;

/// A report of measurements: sections under a title.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Title of the page.
    pub title: String,
    /// Sections of the page, in order.
    pub sections: Vec<Section>,
}

/// A section: blocks under a heading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// Heading of the section.
    pub title: String,
    /// Content of the section, in order.
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Lines that are shown as they are, in letters of one width.
    Lines(String),
    /// Names with values, such as the conditions of a run.
    Facts(Vec<(String, String)>),
    /// Names of pages, and where they are.
    Links(Vec<(String, String)>),
    /// Rows and columns of cells.
    Table(Table),
    /// A figure with its caption.
    Figure(Picture),
    /// Judged claims.
    Claims(Vec<Claim>),
}

/// A table. Readers of the page can sort and filter it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Heading of the table.
    pub title: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    /// Text that is shown.
    pub text: String,
    /// The number by which rows are sorted; cells without one come last, in the order of their texts.
    pub number: Option<f64>,
    /// Whether it is good or bad news; `None`: neither.
    pub good: Option<bool>,
}

impl Cell {
    /// A cell with text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A cell with a number, shown as this text.
    pub fn number(number: f64, text: impl Into<String>) -> Self {
        Self {
            number: Some(number),
            ..Self::text(text)
        }
    }

    /// A cell with a number; empty without one.
    #[must_use]
    pub fn optional_number(number: Option<f64>) -> Self {
        let cell = |number| Self::number(number, lanigon_figures::number(number));
        number.map_or_else(Self::default, cell)
    }

    /// The cell as good or bad news.
    #[must_use]
    pub fn news(self, good: Option<bool>) -> Self {
        Self { good, ..self }
    }
}

/// A figure of a report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Picture {
    /// Curves and marks.
    pub figure: Figure,
    /// Text below it.
    pub caption: String,
    /// Name of its files beside the report, without `.svg` and `.pdf`.
    pub file: String,
}

/// A judged claim.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Claim {
    /// Id of the claim.
    pub id: String,
    /// Text of the claim.
    pub text: String,
    /// Whether it holds; `None` if that cannot be judged.
    pub holds: Option<bool>,
    /// The numbers that decide, or what is missing.
    pub evidence: String,
}

impl Claim {
    /// The verdict in a word.
    #[must_use]
    pub const fn verdict(&self) -> &'static str {
        match self.holds {
            Some(true) => "holds",
            Some(false) => "fails",
            None => "open",
        }
    }
}

/// "3 hold, 1 fails, 2 are open."
fn counts(claims: &[Claim]) -> String {
    let count = |holds| claims.iter().filter(|claim| claim.holds == holds).count();
    let (hold, fail, open) = (count(Some(true)), count(Some(false)), count(None));
    format!(
        "{} claims: {hold} hold, {fail} fail, {open} are open.",
        claims.len()
    )
}

/// The report as one HTML page that needs nothing else.
#[must_use]
pub fn html(report: &Report) -> String {
    html::page(report)
}

/// The report as Markdown, with links to the figures' SVG and PDF files.
#[must_use]
pub fn markdown(report: &Report) -> String {
    markdown::document(report)
}

#[cfg(test)]
mod tests;
