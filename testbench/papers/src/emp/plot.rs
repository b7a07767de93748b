//! The thesis's figures as drawn ones: measured curves, and the published numbers that are points of them.

use lanigon_figures::{self as drawn, Curve, Mark, Scale};

use super::answers::{Comparison, Quantity, answer};
use super::figures::{Figure, Panel, Series};
use super::key::{Experiment, Key};
use super::published;
use super::results::ProfileResults;
use lanigon_experiments::drawing::whole_panel;
use lanigon_experiments::published::Published;

/// Sizes over this factor are drawn on a logarithmic axis.
const WIDE: f64 = 64.0;
/// Label of the horizontal axis.
pub(crate) const SIZE: &str = "message size, bytes";

/// A figure under a profile; `None` without any measured point.
#[must_use]
pub fn figure(figure: &Figure, results: &ProfileResults) -> Option<drawn::Figure> {
    let panels: Vec<_> = figure.panels.iter().map(|of| panel(of, results)).collect();
    let mut curves = panels.iter().flat_map(|panel| &panel.curves);
    curves
        .any(|curve| !curve.points.is_empty())
        .then(|| drawn::Figure {
            title: format!(
                "Figure {}: {} ({})",
                figure.id, figure.title, results.profile.name
            ),
            panels,
        })
}

fn panel(panel: &Panel, results: &ProfileResults) -> drawn::Panel {
    let curves: Vec<_> = panel
        .series
        .iter()
        .map(|series| curve(panel, series, results))
        .filter(|curve| !curve.points.is_empty())
        .collect();
    let first = panel.series.first().map(|series| series.point);
    let metric = first.map_or("", |point| point.experiment.metric());
    let scale = scale(panel, first, &curves);
    let sizes = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .map(|point| point.x);
    let largest = sizes.fold(0.0, f64::max);
    // On a linear axis, marks of the smallest sizes would cover each other: the panel of small messages shows them.
    let apart = |mark: &Mark| scale != Scale::Linear || mark.x * WIDE >= largest;
    let marks = published::emp().iter();
    let marks = marks
        .filter_map(|number| mark(panel, number, results))
        .filter(apart);
    let marks = match curves.is_empty() {
        true => Vec::new(),
        false => marks.collect(),
    };
    let y = format!("{metric}, {}", panel.unit());
    drawn::Panel {
        marks,
        ..whole_panel(&panel.title, (SIZE, scale), (&y, Scale::Linear), curves)
    }
}

/// A latency grows with the size by equal amounts: large sizes are shown on an axis of equal amounts, where that is a line.
fn scale(panel: &Panel, first: Option<Key>, curves: &[Curve]) -> Scale {
    let sizes = || {
        curves
            .iter()
            .flat_map(|curve| &curve.points)
            .map(|point| point.x)
    };
    let (least, most) = (
        sizes().fold(f64::MAX, f64::min),
        sizes().fold(0.0, f64::max),
    );
    let latency = first.is_some_and(|key| key.experiment == Experiment::Latency);
    let large = *panel.sizes.end() > super::FRAME;
    if most < WIDE * least || (latency && large) {
        Scale::Linear
    } else {
        Scale::Log2
    }
}

fn curve(panel: &Panel, series: &Series, results: &ProfileResults) -> Curve {
    let on_curve = |key: &Key| is_shown(panel, series, *key);
    let points = results.points.iter().filter(|(key, _)| on_curve(key));
    Curve {
        name: series.name.clone(),
        points: points
            .map(|(key, value)| drawn::Point {
                x: key.size.into(),
                y: value.value,
                error: value.interval,
            })
            .collect(),
    }
}

fn is_shown(panel: &Panel, series: &Series, key: Key) -> bool {
    key.sized(0) == series.point.sized(0) && panel.sizes.contains(&key.size)
}

/// The mark of a published number, if it is a point of a measured curve of the panel. A highest value has no published size: it is at the
/// size of the highest measured value.
fn mark(panel: &Panel, number: &Published, results: &ProfileResults) -> Option<Mark> {
    let answer = answer(number)?;
    let (key, highest) = match answer.quantity {
        Quantity::Point(key) => (key, false),
        Quantity::Peak(key) => (peak(key, results)?, true),
        _ => return None,
    };
    let shown = panel
        .series
        .iter()
        .any(|series| is_shown(panel, series, key));
    let comparable = answer.comparison == Comparison::Error;
    if !shown
        || !comparable
        || number.unit != key.experiment.unit()
        || !results.points.contains_key(&key)
    {
        return None;
    }
    let highest = if highest { ", highest value" } else { "" };
    Some(Mark {
        x: key.size.into(),
        y: number.value,
        id: number.id.to_owned(),
        what: format!("{} {}{highest}", key.scheme.title(), key.experiment.name()),
    })
}

/// The point of a curve with the highest value.
fn peak(of: Key, results: &ProfileResults) -> Option<Key> {
    let points = results.points.iter();
    let points = points.filter(|(key, _)| key.sized(0) == of.sized(0));
    let highest = points.max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    highest.map(|(key, _)| *key)
}
