//! A picture as a list of things to draw, in order: what the painter makes, and each format writes.

use std::collections::BTreeSet;

use crate::font::{Glyph, TextRun};
use crate::path::Path;

/// Red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Colour(pub(crate) u8, pub(crate) u8, pub(crate) u8);

pub(crate) const BLACK: Colour = Colour(0, 0, 0);
pub(crate) const WHITE: Colour = Colour(255, 255, 255);
pub(crate) const GRID: Colour = Colour(222, 222, 222);

/// A line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    /// Lengths of dashes and gaps; empty for a solid line.
    pub(crate) dashes: &'static [f64],
}

impl Stroke {
    pub(crate) const fn solid(colour: Colour, width: f64) -> Self {
        let dashes = &[];
        Self {
            colour,
            width,
            dashes,
        }
    }
}

/// A thing to draw.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// An outline, filled and then stroked.
    Path {
        path: Path,
        fill: Option<Colour>,
        stroke: Option<Stroke>,
    },
    /// A line of text.
    Text(TextRun),
    /// A point or mark begins, with the text that is shown on hover.
    Begin(String),
    /// The point or mark ends.
    End,
}

/// A picture.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Drawing {
    /// Title, for readers that cannot see.
    pub(crate) title: String,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) items: Vec<Item>,
}

impl Drawing {
    pub(crate) fn stroke(&mut self, path: Path, stroke: Stroke) {
        self.items.push(Item::Path {
            path,
            fill: None,
            stroke: Some(stroke),
        });
    }

    pub(crate) fn shape(&mut self, path: Path, fill: Option<Colour>, stroke: Option<Stroke>) {
        self.items.push(Item::Path { path, fill, stroke });
    }

    pub(crate) fn text(&mut self, run: TextRun) {
        if !run.text.is_empty() {
            self.items.push(Item::Text(run));
        }
    }

    /// The glyphs of all texts.
    pub(crate) fn glyphs(&self) -> BTreeSet<Glyph> {
        let runs = self.items.iter().filter_map(|item| match item {
            Item::Text(run) => Some(run),
            _ => None,
        });
        runs.flat_map(|run| run.glyphs.iter().map(|(glyph, _)| *glyph))
            .collect()
    }
}
