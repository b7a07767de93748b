//! Figures of measured curves, with published points.

use lanigon_figures::{Axis, Curve, Figure, Mark, Panel, Point, Scale};

use crate::published::PublishedTable;

/// A figure and the name of its files.
pub type NamedFigure = (String, Figure);

/// A horizontal position.
pub trait Position: Copy {
    /// Value as a number.
    fn number(self) -> f64;
}

macro_rules! positions {
    ($($of:ty),*) => {
        $(impl Position for $of {
            fn number(self) -> f64 {
                self as f64
            }
        })*
    };
}

positions!(u16, u32, u64, usize);

/// A curve through the points that were measured.
pub fn curve<X: Position>(
    name: impl Into<String>,
    along: impl IntoIterator<Item = X>,
    y: impl Fn(X) -> Option<f64>,
) -> Curve {
    let point = |x: X| {
        Some(Point {
            x: x.number(),
            y: y(x)?,
            error: None,
        })
    };
    Curve {
        name: name.into(),
        points: along.into_iter().filter_map(point).collect(),
    }
}

/// A panel without marks, of the curves that have points.
#[must_use]
pub fn panel(title: &str, x: (&str, Scale), y: (&str, Scale), mut curves: Vec<Curve>) -> Panel {
    curves.retain(|one| !one.points.is_empty());
    whole_panel(title, x, y, curves)
}

/// A panel without marks, of all these curves.
#[must_use]
pub fn whole_panel(title: &str, x: (&str, Scale), y: (&str, Scale), curves: Vec<Curve>) -> Panel {
    let axis = |(label, scale): (&str, Scale)| Axis {
        label: label.into(),
        scale,
    };
    Panel {
        title: title.into(),
        x: axis(x),
        y: axis(y),
        curves,
        marks: Vec::new(),
    }
}

/// A panel with published numbers, at a horizontal position each.
#[must_use]
pub fn marked(mut panel: Panel, table: &PublishedTable, places: &[(&str, f64)]) -> Panel {
    panel.marks = marks(table, places);
    panel
}

/// Published numbers of a table, at a horizontal position each.
#[must_use]
pub fn marks(table: &PublishedTable, places: &[(&str, f64)]) -> Vec<Mark> {
    let found = places.iter().filter_map(|&(id, x)| {
        let number = table.get(id)?;
        Some(Mark {
            x,
            y: number.value,
            id: id.into(),
            what: format!("{} {}", number.scheme, number.quantity),
        })
    });
    found.collect()
}

/// The files of a figure: how their names end, and what is in them.
#[must_use]
pub fn files(figure: &Figure) -> [(&'static str, Vec<u8>); 2] {
    [
        ("svg", lanigon_figures::svg(figure).into_bytes()),
        ("pdf", lanigon_figures::pdf(figure)),
    ]
}

/// A figure with the name of its files.
#[must_use]
pub fn named(file: &str, title: &str, panels: Vec<Panel>) -> NamedFigure {
    let figure = Figure {
        title: title.into(),
        panels,
    };
    (file.into(), figure)
}
