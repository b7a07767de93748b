//! A picture as a list of things to draw, in order: what the painter makes, and each format writes.

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
    /// Text as an outline; `halo` has a white border, so that it can be read over lines.
    Text {
        text: String,
        path: Path,
        halo: bool,
    },
    /// A point or mark begins, with the text that is shown on hover.
    Begin(String),
    /// It ends.
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

    pub(crate) fn text(&mut self, text: &str, path: Path) {
        let (text, halo) = (text.to_owned(), false);
        self.items.push(Item::Text { text, path, halo });
    }
}
