//! Plots: a measure over an axis, with a curve for each value of another axis.

use std::path::{Path, PathBuf};

use lanigon_experiments::drawing::{self, whole_panel};
use lanigon_figures::{Curve, Figure, Point, Scale};
use lanigon_worlds::scenario::table::{Item, Table};
use lanigon_worlds::scenario::{ScenarioError, unknown};
use serde::{Deserialize, Serialize};

use crate::axis;
use crate::error::SweepError;
use crate::plan::SweepPlan;
use crate::store::{Rows, replace};
use crate::table;
use lanigon_experiments::measure::Measure;

const SCALES: [(&str, Scale); 3] = [
    ("linear", Scale::Linear),
    ("log2", Scale::Log2),
    ("log10", Scale::Log10),
];

/// A plot. Axes and measures are numbers of those of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plot {
    /// Name of its files.
    pub name: String,
    title: String,
    x: usize,
    y: usize,
    curves: Option<usize>,
    panels: Option<usize>,
    /// Axes with one value in this plot: axis, and number of the value.
    fixed: Vec<(usize, usize)>,
    x_scale: Scale,
    y_scale: Scale,
}

impl Plot {
    /// Reads a `[[plot]]`; `groups` are the axes that move together.
    ///
    /// # Errors
    /// If it is invalid; with the position.
    pub fn read(
        mut table: Table<'_>,
        axes: &[axis::Axis],
        groups: &[Vec<usize>],
        measures: &[Measure],
    ) -> Result<Self, ScenarioError> {
        let name = axis::checked_name(&table.need("name")?)?.to_owned();
        let title = match table.get("title") {
            Some(item) => item.text()?.to_owned(),
            None => String::new(),
        };
        let x_item = need(&mut table, "x")?;
        let x = axis_of(&x_item, axes)?;
        if axes[x].shown.numbers.iter().any(Option::is_none) {
            let reason = format!(
                "the values of axis \"{}\" are no numbers",
                axes[x].shown.name
            );
            return Err(x_item.place.refuse(reason));
        }
        let item = need(&mut table, "y")?;
        let names = || measures.iter().map(|measure| measure.name.as_str());
        let y = position(&item, "measure", names)?;
        let mut other = |key| {
            let item = table.get(key);
            item.map(|item| axis_of(&item, axes)).transpose()
        };
        let (curves, panels) = (other("curves")?, other("panels")?);
        let fixed = match table.table("where")? {
            Some(table) => fixed(&table, axes)?,
            None => Vec::new(),
        };
        let mut scale = |key| match table.get(key) {
            Some(item) => item.choice("scale", &SCALES),
            None => Ok(Scale::Linear),
        };
        let (x_scale, y_scale) = (scale("x_scale")?, scale("y_scale")?);
        let place = table.place.clone();
        table.finish()?;
        let mut used: Vec<usize> = [Some(x), curves, panels].into_iter().flatten().collect();
        used.extend(fixed.iter().map(|(axis, _)| *axis));
        for group in groups {
            let count = used.iter().filter(|axis| group.contains(axis)).count();
            let name = &axes[group[0]].shown.name;
            if count > 1 {
                let reason = format!("axis \"{name}\" has two roles in this plot");
                return Err(place.refuse(reason));
            }
            if count == 0 && axes[group[0]].values.len() > 1 {
                let reason = format!(
                    "axis \"{name}\" has no role: it is to be x, curves or panels, or to have one value in \"where\""
                );
                return Err(place.refuse(reason));
            }
        }
        Ok(Self {
            name,
            title,
            x,
            y,
            curves,
            panels,
            fixed,
            x_scale,
            y_scale,
        })
    }

    /// Whether its axes and measures exist in a plan.
    pub(crate) fn fits(&self, plan: &SweepPlan) -> bool {
        let axes = [Some(self.x), self.curves, self.panels];
        let fixed = self.fixed.iter().map(|(axis, _)| *axis);
        let mut axes = axes.into_iter().flatten().chain(fixed);
        axes.all(|axis| axis < plan.axes.len()) && self.y < plan.measures.len()
    }

    /// The plot of results. A point's error bar is its confidence interval.
    #[must_use]
    pub fn figure(&self, plan: &SweepPlan, rows: &Rows) -> Figure {
        let points = table::points(plan, rows);
        let measure = &plan.measures[self.y];
        let labels = |axis: Option<usize>| match axis {
            Some(axis) => plan.axes[axis]
                .labels
                .iter()
                .map(Some)
                .enumerate()
                .collect(),
            None => vec![(0, None)],
        };
        let has = |point: &[usize], axis: Option<usize>, at: usize| {
            axis.is_none_or(|axis| point[axis] == at)
        };
        let panel = |(panel, panel_label): (usize, Option<&String>)| {
            let curve = |(curve, label): (usize, Option<&String>)| {
                let inside = points.iter().filter(|found| {
                    let mut fixed = self.fixed.iter();
                    has(found.point, self.panels, panel)
                        && has(found.point, self.curves, curve)
                        && fixed.all(|&(axis, at)| has(found.point, Some(axis), at))
                });
                let point = |found: &table::PointResults<'_>| {
                    let sample = found.samples[self.y]?;
                    Some(Point {
                        x: plan.axes[self.x].numbers[found.point[self.x]]?,
                        y: sample.mean,
                        error: sample.interval,
                    })
                };
                Curve {
                    name: label.map_or(&measure.name, |label| label).clone(),
                    points: inside.filter_map(point).collect(),
                }
            };
            let title = self.panels.zip(panel_label).map(|(axis, label)| {
                let axis = &plan.axes[axis];
                let title = format!("{} {label} {}", axis.name, axis.unit);
                title.trim_end().to_owned()
            });
            let x = &plan.axes[self.x];
            whole_panel(
                &title.unwrap_or_default(),
                (&quantity(&x.name, &x.unit), self.x_scale),
                (&quantity(&measure.name, &measure.unit), self.y_scale),
                labels(self.curves).into_iter().map(curve).collect(),
            )
        };
        Figure {
            title: self.title.clone(),
            panels: labels(self.panels).into_iter().map(panel).collect(),
        }
    }
}

/// The value of a key of one letter, which resembles every other such key.
fn need<'t>(table: &mut Table<'t>, key: &'static str) -> Result<Item<'t>, ScenarioError> {
    let found = table.get(key);
    found.ok_or_else(|| table.place.refuse(format!("\"{key}\" is missing")))
}

/// A quantity and its unit, as figures name them: `latency, us`.
fn quantity(name: &str, unit: &str) -> String {
    match unit.is_empty() {
        true => name.into(),
        false => format!("{name}, {unit}"),
    }
}

/// Position of the name in `item` among `names`.
fn position<'n, N: Iterator<Item = &'n str>>(
    item: &Item<'_>,
    what: &str,
    names: impl Fn() -> N,
) -> Result<usize, ScenarioError> {
    let name = item.text()?;
    let found = names().position(|known| known == name);
    found.ok_or_else(|| item.place.refuse(unknown(what, name, names())))
}

fn axis_of(item: &Item<'_>, axes: &[axis::Axis]) -> Result<usize, ScenarioError> {
    position(item, "axis", || {
        axes.iter().map(|axis| axis.shown.name.as_str())
    })
}

/// Reads `where`: axes with the label or the value that they have in the plot.
fn fixed(table: &Table<'_>, axes: &[axis::Axis]) -> Result<Vec<(usize, usize)>, ScenarioError> {
    let mut fixed = Vec::new();
    for (name, item) in table.entries() {
        let names = || axes.iter().map(|axis| axis.shown.name.as_str());
        let index = names().position(|known| known == name);
        let index = index.ok_or_else(|| item.place.refuse(unknown("axis", &name, names())))?;
        let axis = &axes[index];
        let at = match item.is_text() {
            true => {
                let label = item.text()?;
                axis.shown.labels.iter().position(|known| known == label)
            }
            false => {
                let value = item.value()?;
                axis.values.iter().position(|known| *known == value)
            }
        };
        let at = at.ok_or_else(|| {
            let labels = axis.shown.labels.iter().map(String::as_str);
            let wanted = item.value().map(|value| axis::label(&value));
            let wanted = wanted.unwrap_or_default();
            let what = format!("value of axis {name}");
            item.place.refuse(unknown(&what, &wanted, labels))
        })?;
        fixed.push((index, at));
    }
    Ok(fixed)
}

/// Draws the plots of a plan into a folder, as SVG and PDF; returns their names.
///
/// # Errors
/// If one cannot be written.
pub fn write(folder: &Path, plan: &SweepPlan, rows: &Rows) -> Result<Vec<PathBuf>, SweepError> {
    let mut written = Vec::new();
    for plot in &plan.plots {
        let figure = plot.figure(plan, rows);
        for (kind, drawing) in drawing::files(&figure) {
            let path = folder.join(format!("{}.{kind}", plot.name));
            replace(&path, &drawing)?;
            written.push(path);
        }
    }
    Ok(written)
}
