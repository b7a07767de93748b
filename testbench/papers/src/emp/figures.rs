//! The thesis's figures about EMP, as sets of points.

use std::ops::RangeInclusive;

use super::key::{Experiment, Key};
use crate::emp::measure::scheme::Scheme;
use crate::emp::measure::testbed::Testbed;

/// A curve.
#[derive(Debug, Clone)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// A point of the curve; the others differ in size.
    pub point: Key,
}

/// A plot of a figure.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Title of the plot.
    pub title: String,
    /// Range of message sizes.
    pub sizes: RangeInclusive<u32>,
    /// Curves.
    pub series: Vec<Series>,
}

impl Panel {
    /// The points of a series for these sizes.
    pub fn keys<'a>(&self, series: &Series, sizes: &'a [u32]) -> impl Iterator<Item = Key> + 'a {
        let (range, point) = (self.sizes.clone(), series.point);
        let shown = sizes.iter().filter(move |size| range.contains(size));
        shown.map(move |&size| point.sized(size))
    }

    /// Unit of the vertical axis.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        let first = self.series.first();
        first.map_or("", |series| series.point.experiment.unit())
    }
}

/// A figure of the thesis about EMP.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Number of the figure in the thesis.
    pub id: &'static str,
    /// Title.
    pub title: &'static str,
    /// Plots.
    pub panels: Vec<Panel>,
}

impl Figure {
    /// All points for these sizes.
    pub fn keys<'a>(&'a self, sizes: &'a [u32]) -> impl Iterator<Item = Key> + 'a {
        self.panels.iter().flat_map(move |panel| {
            let series = panel.series.iter();
            series.flat_map(move |series| panel.keys(series, sizes))
        })
    }
}

/// Sizes in plots of small messages.
const SMALL: RangeInclusive<u32> = 0..=1478;
/// Sizes in plots of large messages' latency.
const LARGE: RangeInclusive<u32> = 0..=16_384;
/// All sizes.
const ANY: RangeInclusive<u32> = 0..=u32::MAX;

/// A panel with a curve for each of these schemes.
fn panel(
    what: &str,
    experiment: Experiment,
    testbed: Testbed,
    schemes: &[Scheme],
    sizes: RangeInclusive<u32>,
) -> Panel {
    let point = |scheme| Key::new(experiment, scheme, 0).with_testbed(testbed);
    let series = schemes.iter().map(|&scheme| Series {
        name: scheme.title().to_owned(),
        point: point(scheme),
    });
    Panel {
        title: format!("{what}; {}", testbed.title()),
        sizes,
        series: series.collect(),
    }
}

/// Panel of Figure 2.6: with and without flow control.
fn flow_control_panel(testbed: Testbed) -> Panel {
    let point = Key::new(Experiment::OneWay, Scheme::Base, 0).with_testbed(testbed);
    let series = |name: &str, point| Series {
        name: name.into(),
        point,
    };
    Panel {
        title: format!("one-way bandwidth; {}", testbed.title()),
        sizes: ANY,
        series: vec![
            series("no flow control", point),
            series("flow control", point.with_flow_control()),
        ],
    }
}

/// Panels of small and large latencies.
fn latency_panels(testbed: Testbed, schemes: &[Scheme]) -> [Panel; 2] {
    [
        ("latency, small messages", SMALL),
        ("latency, large messages", LARGE),
    ]
    .map(|(what, sizes)| panel(what, Experiment::Latency, testbed, schemes, sizes))
}

fn one_way(testbed: Testbed, schemes: &[Scheme]) -> Panel {
    let title = "one-way bandwidth";
    panel(title, Experiment::OneWay, testbed, schemes, ANY)
}

fn two_way(testbed: Testbed) -> Panel {
    let title = "two-way bandwidth";
    panel(title, Experiment::TwoWay, testbed, &Scheme::ALL, ANY)
}

/// Latency and bandwidth of the single-CPU firmware.
fn base_panels(testbed: Testbed) -> Vec<Panel> {
    let [small, large] = latency_panels(testbed, &[Scheme::Base]);
    vec![small, large, one_way(testbed, &[Scheme::Base])]
}

/// All reproduced figures.
#[must_use]
pub fn all() -> Vec<Figure> {
    use Testbed::{Direct700, Direct933, Switch700};
    let figure = |id, title, panels| Figure { id, title, panels };
    vec![
        figure(
            "2.6",
            "Bandwidth with and without flow control",
            [Direct933, Switch700].map(flow_control_panel).into(),
        ),
        figure(
            "2.7",
            "Latency and bandwidth of EMP",
            base_panels(Direct933),
        ),
        figure(
            "2.8",
            "Latency and bandwidth of EMP, with the switch",
            base_panels(Switch700),
        ),
        figure(
            "3.1",
            "One-way bandwidth",
            vec![one_way(Direct933, &Scheme::ALL)],
        ),
        figure(
            "3.2",
            "One-way bandwidth, with the switch",
            vec![one_way(Switch700, &Scheme::ALL)],
        ),
        figure(
            "3.3",
            "Latency",
            latency_panels(Direct933, &Scheme::ALL).into(),
        ),
        figure(
            "3.4",
            "Latency, with the switch",
            latency_panels(Switch700, &Scheme::ALL).into(),
        ),
        figure("3.5", "Two-way bandwidth", vec![two_way(Direct933)]),
        figure(
            "3.6",
            "Two-way bandwidth, with the switch",
            vec![two_way(Switch700)],
        ),
        figure(
            "3.7",
            "Two-way bandwidth, 700 MHz hosts without the switch",
            vec![two_way(Direct700)],
        ),
    ]
}

/// Finds a figure by number; "figure-3.5" and "fig3.5" are accepted too.
#[must_use]
pub fn by_id(id: &str) -> Option<Figure> {
    let number = id
        .strip_prefix("figure")
        .or_else(|| id.strip_prefix("fig"))
        .unwrap_or(id);
    let number = number.trim_start_matches(['-', ' ']);
    all().into_iter().find(|figure| figure.id == number)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn figures_are_found_by_number() {
        let title = |id| by_id(id).map(|figure| figure.title);
        assert_eq!(title("3.5"), Some("Two-way bandwidth"));
        assert_eq!(title("figure-3.5"), title("3.5"));
        assert_eq!(title("fig3.5"), title("3.5"));
        assert_eq!(title("3.8"), None);
        assert_eq!(title("figure"), None);
    }

    #[test]
    fn every_experiment_testbed_and_scheme_is_in_a_figure() {
        let keys: BTreeSet<Key> = all()
            .iter()
            .flat_map(|f| f.keys(&[10]).collect::<Vec<_>>())
            .collect();
        for scheme in Scheme::ALL {
            for experiment in Experiment::ALL {
                for testbed in [Testbed::Direct933, Testbed::Switch700] {
                    assert!(keys.contains(&Key::new(experiment, scheme, 10).with_testbed(testbed)));
                }
            }
            let two_way = Key::new(Experiment::TwoWay, scheme, 10);
            assert!(keys.contains(&two_way.with_testbed(Testbed::Direct700)));
        }
        assert_eq!(keys.iter().filter(|key| key.flow_control).count(), 2);
    }
}
