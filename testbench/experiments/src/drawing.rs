//! Figures of measured curves.

use lanigon_figures::{Axis, Curve, Figure, Panel, Scale};

/// A figure and the name of its files.
pub type NamedFigure = (String, Figure);

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
