//! Styles of curves: they differ by colour, by dashes and by symbol, so that they can be told apart in black and white too.

use crate::drawing::{BLACK, Colour, Drawing, Stroke};
use crate::path::{PagePosition, Path};

/// Colours that are distinguishable with colour vision deficiency (Okabe and Ito).
const COLOURS: [Colour; 7] = [
    BLACK,
    Colour(0, 114, 178),
    Colour(213, 94, 0),
    Colour(0, 158, 115),
    Colour(204, 121, 167),
    Colour(230, 159, 0),
    Colour(86, 180, 233),
];
const DASHES: [&[f64]; 5] = [
    &[],
    &[5.0, 2.0],
    &[1.5, 1.5],
    &[6.0, 1.5, 1.5, 1.5],
    &[3.0, 1.0],
];
const SYMBOLS: [Symbol; 6] = [
    Symbol::Circle,
    Symbol::Square,
    Symbol::Up,
    Symbol::Down,
    Symbol::Cross,
    Symbol::Plus,
];

/// Mark of a curve's points.
#[derive(Debug, Clone, Copy)]
enum Symbol {
    Circle,
    Square,
    Up,
    Down,
    Cross,
    Plus,
}

/// Style of a curve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) colour: Colour,
    pub(crate) line: Stroke,
    symbol: Symbol,
}

impl Style {
    /// Style of the curve with this number: the combination repeats after 210.
    pub(crate) const fn for_curve(curve: usize) -> Self {
        let colour = COLOURS[curve % COLOURS.len()];
        Self {
            colour,
            line: Stroke {
                colour,
                width: 0.9,
                dashes: DASHES[curve % DASHES.len()],
            },
            symbol: SYMBOLS[curve % SYMBOLS.len()],
        }
    }

    /// Draws the symbol.
    pub(crate) fn symbol(&self, to: &mut Drawing, (x, y): PagePosition) {
        let r = 1.7;
        let at = |dx: f64, dy: f64| (x + r * dx, y + r * dy);
        let line =
            |from: (f64, f64), to: (f64, f64)| Path::lines([at(from.0, from.1), at(to.0, to.1)]);
        let path = match self.symbol {
            Symbol::Circle => Path::circle((x, y), r),
            Symbol::Square => Path::polygon(
                [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)].map(|(dx, dy)| at(dx, dy)),
            ),
            Symbol::Up => Path::polygon([at(0.0, -1.2), at(1.1, 0.8), at(-1.1, 0.8)]),
            Symbol::Down => Path::polygon([at(0.0, 1.2), at(1.1, -0.8), at(-1.1, -0.8)]),
            Symbol::Cross => line((-1.0, -1.0), (1.0, 1.0)).with(line((-1.0, 1.0), (1.0, -1.0))),
            Symbol::Plus => line((-1.2, 0.0), (1.2, 0.0)).with(line((0.0, -1.2), (0.0, 1.2))),
        };
        match self.symbol {
            Symbol::Cross | Symbol::Plus => to.stroke(path, Stroke::solid(self.colour, 0.9)),
            _ => to.shape(path, Some(self.colour), None),
        }
    }
}

/// Draws the symbol of published numbers: an open diamond.
pub(crate) fn open_symbol(to: &mut Drawing, (x, y): PagePosition) {
    let r = 3.2;
    let path = Path::polygon([(x, y - r), (x + r, y), (x, y + r), (x - r, y)]);
    to.shape(path, None, Some(Stroke::solid(BLACK, 0.8)));
}
