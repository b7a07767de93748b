//! A figure as data.

use serde::{Deserialize, Serialize};

/// A figure: panels beside and below each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figure {
    /// Title above all panels; empty for none.
    pub title: String,
    /// The panels, two in a row.
    pub panels: Vec<Panel>,
}

/// A plot.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Panel {
    /// Title above the plot; empty for none.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves, in the order of the legend.
    pub curves: Vec<Curve>,
    /// Published numbers.
    pub marks: Vec<Mark>,
}

/// An axis. Its range follows from the data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Axis {
    /// Quantity and unit, such as "latency, us".
    pub label: String,
    /// Scale of the positions.
    pub scale: Scale,
}

/// Scale of an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal distances are equal differences. The range includes zero unless it is far from the data.
    #[default]
    Linear,
    /// Equal distances are equal factors; ticks are powers of two: 1, 4, 16, 64, 256, 1K. Values of zero and below are left out.
    Log2,
    /// Equal distances are equal factors; ticks are powers of ten. Values of zero and below are left out.
    Log10,
}

/// A curve: points joined by a line, in the order of their horizontal positions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// The points. Those with values that are not finite, or beyond 1e250, are left out.
    pub points: Vec<Point>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Point {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position.
    pub y: f64,
    /// Half of the width of the interval around `y`, drawn as an error bar.
    pub error: Option<f64>,
}

/// A published number: an open symbol with its id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mark {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position.
    pub y: f64,
    /// Id, drawn beside the symbol.
    pub id: String,
    /// Description, shown on hover.
    pub what: String,
}
