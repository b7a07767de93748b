//! Outlines.

/// A position in points, from the top left corner.
pub(crate) type Place = (f64, f64);

/// A part of an outline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Step {
    Move(Place),
    Line(Place),
    /// A quadratic curve: the control point, and the end.
    Quadratic(Place, Place),
    /// A cubic curve: both control points, and the end.
    Curve(Place, Place, Place),
    Close,
}

/// An outline.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Path(pub(crate) Vec<Step>);

/// Distance of the control points of a quarter of a circle.
const QUARTER: f64 = 0.5523;

impl Path {
    pub(crate) fn lines(places: impl IntoIterator<Item = Place>) -> Self {
        let mut path = Self::default();
        for place in places {
            let step = if path.0.is_empty() {
                Step::Move(place)
            } else {
                Step::Line(place)
            };
            path.0.push(step);
        }
        path
    }

    pub(crate) fn polygon(places: impl IntoIterator<Item = Place>) -> Self {
        let mut path = Self::lines(places);
        path.0.push(Step::Close);
        path
    }

    pub(crate) fn circle((x, y): Place, radius: f64) -> Self {
        let (r, c) = (radius, radius * QUARTER);
        Self(vec![
            Step::Move((x + r, y)),
            Step::Curve((x + r, y + c), (x + c, y + r), (x, y + r)),
            Step::Curve((x - c, y + r), (x - r, y + c), (x - r, y)),
            Step::Curve((x - r, y - c), (x - c, y - r), (x, y - r)),
            Step::Curve((x + c, y - r), (x + r, y - c), (x + r, y)),
            Step::Close,
        ])
    }

    pub(crate) fn with(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}
