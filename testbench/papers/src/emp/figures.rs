//! The thesis's figures about EMP, as sets of points (`figures.toml`).

use std::sync::LazyLock;

use lanigon_experiments::statements::PaperFile;
use serde::Deserialize;

use super::key::{Experiment, Key};
use crate::emp::measure::scheme::Scheme;
use crate::emp::measure::testbed::Testbed;

const FILE: PaperFile = file!("emp/figures.toml");

/// The figures as their file has them.
#[derive(Debug, Default, Deserialize)]
struct Figures {
    figure: Vec<Figure>,
}

/// A plot of a figure: a curve for each scheme, or without and with flow control.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    what: String,
    /// The benchmark of all curves.
    pub experiment: Experiment,
    testbed: Testbed,
    schemes: Vec<Scheme>,
    #[serde(default)]
    flow_control: bool,
    /// The longest message.
    #[serde(default = "longest")]
    pub most: u32,
}

const fn longest() -> u32 {
    u32::MAX
}

impl Panel {
    /// Title of the plot.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{}; {}", self.what, self.testbed.title())
    }

    /// The curves: a name in the legend, and a point; the others differ in size.
    #[must_use]
    pub fn series(&self) -> Vec<(&'static str, Key)> {
        let point = |scheme| Key::new(self.experiment, scheme, 0).with_testbed(self.testbed);
        let schemes = self.schemes.iter();
        match self.flow_control {
            false => schemes
                .map(|&scheme| (scheme.title(), point(scheme)))
                .collect(),
            true => schemes
                .flat_map(|&scheme| {
                    let point = point(scheme);
                    [
                        ("no flow control", point),
                        ("flow control", point.with_flow_control()),
                    ]
                })
                .collect(),
        }
    }
}

/// A figure of the thesis about EMP.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Number of the figure in the thesis.
    pub id: String,
    /// Title.
    pub title: String,
    /// Plots.
    pub panels: Vec<Panel>,
}

impl Figure {
    /// All points for these sizes.
    #[must_use]
    pub fn keys(&self, sizes: &[u32]) -> Vec<Key> {
        let of_panel = |panel: &Panel| {
            let sizes = sizes.iter().copied().filter(|size| *size <= panel.most);
            let sizes: Vec<_> = sizes.collect();
            let keys = panel.series().into_iter();
            keys.flat_map(move |(_, point)| {
                sizes.clone().into_iter().map(move |size| point.sized(size))
            })
            .collect::<Vec<_>>()
        };
        self.panels.iter().flat_map(of_panel).collect()
    }
}

/// All reproduced figures.
#[must_use]
pub fn all() -> &'static [Figure] {
    static ALL: LazyLock<Figures> = LazyLock::new(|| FILE.parse().unwrap_or_default());
    &ALL.figure
}

/// Finds a figure by number; "figure-3.5" and "fig3.5" are accepted too.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Figure> {
    let number = id
        .strip_prefix("figure")
        .or_else(|| id.strip_prefix("fig"))
        .unwrap_or(id);
    let number = number.trim_start_matches(['-', ' ']);
    all().iter().find(|figure| figure.id == number)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn figures_are_found_by_number() {
        let title = |id| by_id(id).map(|figure| figure.title.as_str());
        assert_eq!(title("3.5"), Some("Two-way bandwidth"));
        assert_eq!(title("figure-3.5"), title("3.5"));
        assert_eq!(title("fig3.5"), title("3.5"));
        assert_eq!(title("3.8"), None);
        assert_eq!(title("figure"), None);
    }

    #[test]
    fn every_experiment_testbed_and_scheme_is_in_a_figure() {
        let keys: BTreeSet<Key> = all().iter().flat_map(|figure| figure.keys(&[10])).collect();
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
