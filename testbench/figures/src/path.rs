//! Outlines.

/// A position in points, from the top left corner.
pub(crate) type PagePosition = (f64, f64);

/// A part of an outline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum OutlineStep {
    Move(PagePosition),
    Line(PagePosition),
    /// A quadratic curve: the control point, and the end.
    Quadratic(PagePosition, PagePosition),
    /// A cubic curve: both control points, and the end.
    Curve(PagePosition, PagePosition, PagePosition),
    Close,
}

/// An outline.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Path(pub(crate) Vec<OutlineStep>);

/// Distance of the control points of a quarter of a circle.
const QUARTER: f64 = 0.5523;

impl Path {
    pub(crate) fn lines(places: impl IntoIterator<Item = PagePosition>) -> Self {
        let mut path = Self::default();
        for place in places {
            let step = if path.0.is_empty() {
                OutlineStep::Move(place)
            } else {
                OutlineStep::Line(place)
            };
            path.0.push(step);
        }
        path
    }

    pub(crate) fn polygon(places: impl IntoIterator<Item = PagePosition>) -> Self {
        let mut path = Self::lines(places);
        path.0.push(OutlineStep::Close);
        path
    }

    pub(crate) fn circle((x, y): PagePosition, radius: f64) -> Self {
        let (r, c) = (radius, radius * QUARTER);
        Self(vec![
            OutlineStep::Move((x + r, y)),
            OutlineStep::Curve((x + r, y + c), (x + c, y + r), (x, y + r)),
            OutlineStep::Curve((x - c, y + r), (x - r, y + c), (x - r, y)),
            OutlineStep::Curve((x - r, y - c), (x - c, y - r), (x, y - r)),
            OutlineStep::Curve((x + c, y - r), (x + r, y - c), (x + r, y)),
            OutlineStep::Close,
        ])
    }

    pub(crate) fn with(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}
