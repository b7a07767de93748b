//! Figures for papers: curves with error bars, and published points beside them, drawn as SVG and as PDF.
//!
//! A [`Figure`] is data. [`svg()`] and [`pdf()`] draw the same picture: text is drawn as outlines of an embedded font, so it looks the same
//! everywhere and needs no font of the reader's. Output depends on the figure alone: equal figures give equal bytes.
//!
//! Lengths are in points (1/72 inch). A panel is as wide as a column of a two-column paper.

mod drawing;
mod font;
mod marks;
mod model;
mod number;
mod paint;
mod path;
mod pdf;
mod style;
mod svg;
mod ticks;

pub use model::{Axis, Curve, Figure, Mark, Panel, Point, Scale};
pub use number::number;

/// The figure as SVG. Points and marks are groups of class `point` with their values in a `title`, which viewers show on hover.
#[must_use]
pub fn svg(figure: &Figure) -> String {
    svg::write(&paint::figure(figure), true)
}

/// Figures as parts of one HTML page, which has the outlines of their letters once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inline {
    /// A hidden element `svg` with the letters, which must be in the page too.
    pub letters: String,
    /// An element `svg` for each figure.
    pub figures: Vec<String>,
}

/// Figures as parts of one HTML page.
#[must_use]
pub fn inline<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Inline {
    let drawings: Vec<_> = figures.into_iter().map(paint::figure).collect();
    let glyphs = drawings.iter().flat_map(drawing::Drawing::glyphs).collect();
    let letters = svg::definitions(&glyphs);
    Inline {
        letters: format!("<svg width=\"0\" height=\"0\" aria-hidden=\"true\">\n{letters}</svg>\n"),
        figures: drawings
            .iter()
            .map(|drawing| svg::write(drawing, false))
            .collect(),
    }
}

/// The figure as a PDF file of one page, with no fonts and no dates in it.
#[must_use]
pub fn pdf(figure: &Figure) -> Vec<u8> {
    pdf::write(&paint::figure(figure))
}

/// Text as part of XML or HTML: nothing in it is markup. Control characters, which XML does not allow, become spaces.
#[must_use]
pub fn escaped(text: &str) -> String {
    svg::escaped(text)
}

#[cfg(test)]
mod tests;
