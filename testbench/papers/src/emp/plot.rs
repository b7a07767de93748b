//! The thesis's figures as drawn ones: measured curves, and the published numbers that are points of them.

use lanigon_figures::{self as drawn, Curve, Mark, Scale};

use super::answers::{Comparison, answer};
use super::figures::{Figure, Panel};
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
    let series = panel.series();
    let curves = series.iter().map(|series| curve(panel, *series, results));
    let curves: Vec<_> = curves.filter(|curve| !curve.points.is_empty()).collect();
    let sizes = curves.iter().flat_map(|curve| &curve.points);
    let sizes: Vec<_> = sizes.map(|point| point.x).collect();
    let least = sizes.iter().copied().fold(f64::MAX, f64::min);
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    // A latency grows with the size by equal amounts: large sizes are shown on an axis of equal amounts, where that is a line.
    let is_line = panel.experiment == Experiment::Latency && panel.most > super::FRAME;
    let scale = match largest < WIDE * least || is_line {
        true => Scale::Linear,
        false => Scale::Log2,
    };
    // On a linear axis, marks of the smallest sizes would cover each other: the panel of small messages shows them.
    let apart = |mark: &Mark| scale != Scale::Linear || mark.x * WIDE >= largest;
    let marks = published::TABLE.numbers().iter();
    let marks = marks
        .filter_map(|number| mark(panel, number, results))
        .filter(apart);
    let marks = match curves.is_empty() {
        true => Vec::new(),
        false => marks.collect(),
    };
    let experiment = panel.experiment;
    let y = format!("{}, {}", experiment.metric(), experiment.unit());
    drawn::Panel {
        marks,
        ..whole_panel(&panel.title(), (SIZE, scale), (&y, Scale::Linear), curves)
    }
}

fn curve(panel: &Panel, (name, point): (&str, Key), results: &ProfileResults) -> Curve {
    let on_curve = |key: &Key| is_shown(panel, point, *key);
    let points = results.points.iter().filter(|(key, _)| on_curve(key));
    Curve {
        name: name.into(),
        points: points
            .map(|(key, value)| drawn::Point {
                x: key.size.into(),
                y: value.value,
                error: value.interval,
            })
            .collect(),
    }
}

fn is_shown(panel: &Panel, point: Key, key: Key) -> bool {
    key.sized(0) == point && key.size <= panel.most
}

/// The mark of a published number, if it is a point of a measured curve of the panel. A highest value has no published size: it is at the
/// size of the highest measured value.
fn mark(panel: &Panel, number: &'static Published, results: &ProfileResults) -> Option<Mark> {
    let answer = answer(number)?;
    let (key, highest) = match (answer.point(), answer.peak()) {
        (_, Some(curve)) => (peak(curve, results)?, true),
        (Some(key), None) => (key, false),
        _ => return None,
    };
    let series = panel.series();
    let shown = series.iter().any(|(_, point)| is_shown(panel, *point, key));
    let comparable = answer.comparison() == Comparison::Error;
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
