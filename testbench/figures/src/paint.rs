//! Draws a figure.

use crate::drawing::{BLACK, Drawing, GRID, Item, Stroke};
use crate::font::{Anchor, Setting};
use crate::marks::Labels;
use crate::model::{Curve, Figure, Mark, Panel, Point};
use crate::number::number;
use crate::path::{PagePosition, Path};
use crate::style::{Style, open_symbol};
use crate::ticks::{Range, Tick, drawable};

/// Panels in a row.
const COLUMNS: usize = 2;
/// Width of a panel: a column of a paper.
const PANEL_WIDTH: f64 = 252.0;
/// Height of the area of the curves.
const PLOT_HEIGHT: f64 = 138.0;
/// Space around a panel.
const MARGIN: f64 = 6.0;
/// Height of the figure's title, and of a panel's.
const TITLE_HEIGHT: f64 = 18.0;
const PANEL_TITLE_HEIGHT: f64 = 13.0;
/// Height of a row of the legend, and of the labels of the horizontal axis.
const LEGEND_ROW: f64 = 10.0;
const X_LABELS: f64 = 26.0;
/// Length of a line in the legend.
const SWATCH: f64 = 18.0;
/// Length of a tick.
const TICK: f64 = 2.5;
/// Half of the width of the ends of error bars.
const CAP: f64 = 1.8;
/// Intervals between ticks, at most.
const X_INTERVALS: u32 = 8;
const Y_INTERVALS: u32 = 6;

const TITLE: Setting = Setting::new(10.0, Anchor::Middle).bold();
const PANEL_TITLE: Setting = Setting::new(8.0, Anchor::Middle).bold();
const AXIS: Setting = Setting::new(8.0, Anchor::Middle);
const SMALL: Setting = Setting::new(7.0, Anchor::Start);
/// Name of marks in the legend.
const PUBLISHED: &str = "published";

/// Draws a figure.
pub(crate) fn figure(figure: &Figure) -> Drawing {
    let columns = figure.panels.len().clamp(1, COLUMNS);
    let width = columns as f64 * PANEL_WIDTH;
    let mut to = Drawing {
        title: figure.title.clone(),
        width,
        ..Drawing::default()
    };
    let mut top = 0.0;
    if !figure.title.is_empty() {
        let setting = TITLE.within(&figure.title, width - 2.0 * MARGIN);
        to.text(setting.run(&figure.title, (width / 2.0, 13.0)));
        top = TITLE_HEIGHT;
    }
    for row in figure.panels.chunks(COLUMNS) {
        let heights = row
            .iter()
            .map(|panel| draw_panel(&mut Drawing::default(), panel, (0.0, 0.0)));
        let height = heights.fold(0.0, f64::max);
        for (column, panel) in row.iter().enumerate() {
            draw_panel(&mut to, panel, (column as f64 * PANEL_WIDTH, top));
        }
        top += height;
    }
    to.height = top.max(TITLE_HEIGHT);
    to
}

/// The area of the curves, and the ranges of its axes.
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
    x: Range,
    y: Range,
}

impl Area {
    /// The place of these values, if they have one.
    pub(crate) fn place(&self, x: f64, y: f64) -> Option<PagePosition> {
        let (across, up) = (self.x.part(x)?, self.y.part(y)?);
        Some((self.across(across), self.up(up)))
    }

    fn across(&self, part: f64) -> f64 {
        self.left + part * (self.right - self.left)
    }

    fn up(&self, part: f64) -> f64 {
        self.bottom - part * (self.bottom - self.top)
    }
}

/// The ranges of a panel's axes, from the points that have a place on both.
fn ranges(panel: &Panel) -> (Range, Range) {
    let shown = |&(x, y): &PagePosition| drawable(panel.x.scale, x) && drawable(panel.y.scale, y);
    let points = panel.curves.iter().flat_map(|curve| &curve.points);
    let points = points.filter(|point| shown(&(point.x, point.y)));
    let marks = panel.marks.iter().map(|mark| (mark.x, mark.y));
    let mut places: Vec<PagePosition> = points.clone().map(|point| (point.x, point.y)).collect();
    places.extend(marks.filter(shown));
    let x = Range::for_values(
        panel.x.scale,
        places.iter().map(|place| place.0),
        X_INTERVALS,
    );
    // An interval that includes values below zero is cut there, if no point is below: the quantity has no such values.
    let negative = places.iter().any(|place| place.1 < 0.0);
    let ends = points.filter_map(interval).flat_map(<[f64; 2]>::from);
    let ends = ends.map(|end| if negative { end } else { end.max(0.0) });
    let y = places.iter().map(|place| place.1).chain(ends);
    (x, Range::for_values(panel.y.scale, y, Y_INTERVALS))
}

/// The ends of a point's interval.
fn interval(point: &Point) -> Option<(f64, f64)> {
    let half = point.error.map(f64::abs).filter(|half| half.is_finite())?;
    (half > 0.0).then_some((point.y - half, point.y + half))
}

/// Draws a panel; returns its height.
fn draw_panel(to: &mut Drawing, panel: &Panel, (left, top): PagePosition) -> f64 {
    let (x, y) = ranges(panel);
    let labels = y.ticks.iter().map(|tick| SMALL.width(&tick.label));
    let labels = labels.fold(0.0, f64::max).min(PANEL_WIDTH / 3.0);
    let title = if panel.title.is_empty() {
        0.0
    } else {
        PANEL_TITLE_HEIGHT
    };
    let area = Area {
        left: left + MARGIN + 11.0 + labels + TICK + 2.0,
        top: top + MARGIN + title,
        right: left + PANEL_WIDTH - MARGIN - 4.0,
        bottom: top + MARGIN + title + PLOT_HEIGHT,
        x,
        y,
    };
    let middle = (area.left + area.right) / 2.0;
    let text = |to: &mut Drawing, setting: Setting, text: &str, most: f64, at: PagePosition| {
        to.text(setting.within(text, most).run(text, at));
    };
    let (across, up) = (area.right - area.left, PLOT_HEIGHT);
    text(
        to,
        PANEL_TITLE,
        &panel.title,
        across,
        (middle, top + MARGIN + 7.0),
    );
    let at = (left + MARGIN + 7.0, (area.top + area.bottom) / 2.0);
    text(to, AXIS.upwards(), &panel.y.label, up, at);
    text(
        to,
        AXIS,
        &panel.x.label,
        across,
        (middle, area.bottom + 21.5),
    );
    draw_axes(to, &area);
    let mut labels = Labels::new(&area, panel);
    for (number, curve) in panel.curves.iter().enumerate() {
        draw_curve(to, &area, panel, curve, &Style::for_curve(number));
    }
    for mark in &panel.marks {
        draw_mark(to, &area, panel, mark);
    }
    for mark in &panel.marks {
        labels.draw(to, &area, mark);
    }
    let legend = area.bottom + X_LABELS;
    draw_legend(to, panel, left + MARGIN, legend) + MARGIN - top
}

/// Frame, grid and ticks.
fn draw_axes(to: &mut Drawing, area: &Area) {
    let places = |range: &Range, place: &dyn Fn(f64) -> f64| -> Vec<(f64, Tick)> {
        let ticks = range.ticks.iter();
        ticks
            .filter_map(|tick| Some((place(range.part(tick.at)?), tick.clone())))
            .collect()
    };
    let across = places(&area.x, &|part| area.across(part));
    let up = places(&area.y, &|part| area.up(part));
    let grid = Stroke::solid(GRID, 0.4);
    for (y, _) in &up {
        to.stroke(Path::lines([(area.left, *y), (area.right, *y)]), grid);
    }
    for (x, _) in &across {
        to.stroke(Path::lines([(*x, area.top), (*x, area.bottom)]), grid);
    }
    let line = Stroke::solid(BLACK, 0.6);
    let (left, top, right, bottom) = (area.left, area.top, area.right, area.bottom);
    to.stroke(
        Path::polygon([(left, top), (right, top), (right, bottom), (left, bottom)]),
        line,
    );
    for (y, tick) in &up {
        to.stroke(Path::lines([(left - TICK, *y), (left, *y)]), line);
        let setting = Setting {
            anchor: Anchor::End,
            ..SMALL
        };
        to.text(setting.run(&tick.label, (left - TICK - 2.0, y + 2.5)));
    }
    let spacing = (right - left) / across.len().max(2) as f64;
    for (x, tick) in &across {
        to.stroke(Path::lines([(*x, bottom), (*x, bottom + TICK)]), line);
        let setting = Setting {
            anchor: Anchor::Middle,
            ..SMALL
        }
        .within(&tick.label, spacing);
        to.text(setting.run(&tick.label, (*x, bottom + TICK + 8.0)));
    }
}

/// Places of a curve's points, from left to right.
pub(crate) fn places(area: &Area, curve: &Curve) -> Vec<(Point, PagePosition)> {
    let points = curve.points.iter();
    let mut places: Vec<_> = points
        .filter_map(|point| Some((*point, area.place(point.x, point.y)?)))
        .collect();
    places.sort_by(|a, b| a.0.x.total_cmp(&b.0.x));
    places
}

fn draw_curve(to: &mut Drawing, area: &Area, panel: &Panel, curve: &Curve, style: &Style) {
    let places = places(area, curve);
    if places.len() > 1 {
        to.stroke(
            Path::lines(places.iter().map(|(_, place)| *place)),
            style.line,
        );
    }
    for (point, place) in &places {
        let mut label = format!("{}: {}", curve.name, values(panel, point.x, point.y));
        if let Some(error) = point.error {
            label += &format!(" ± {}", number(error.abs()));
        }
        to.items.push(Item::Begin(label));
        if let Some((low, high)) = interval(point) {
            // An end without a place, zero on a logarithmic axis, is beyond the bottom.
            let y = |value| area.y.part(value).map_or(area.bottom, |part| area.up(part));
            let (x, low, high) = (place.0, y(low), y(high));
            let line = Stroke::solid(style.colour, 0.7);
            to.stroke(Path::lines([(x, low), (x, high)]), line);
            for y in [low, high] {
                to.stroke(Path::lines([(x - CAP, y), (x + CAP, y)]), line);
            }
        }
        style.symbol(to, *place);
        to.items.push(Item::End);
    }
}

fn draw_mark(to: &mut Drawing, area: &Area, panel: &Panel, mark: &Mark) {
    let Some(place) = area.place(mark.x, mark.y) else {
        return;
    };
    let values = values(panel, mark.x, mark.y);
    let label = format!("{}, {PUBLISHED}: {}: {values}", mark.id, mark.what);
    to.items.push(Item::Begin(label));
    open_symbol(to, place);
    to.items.push(Item::End);
}

/// "1024 bytes, 20.6 us", from labels such as "message size, bytes".
fn values(panel: &Panel, x: f64, y: f64) -> String {
    let unit = |label: &str| -> String {
        let unit = label.rsplit_once(", ").map_or("", |(_, unit)| unit);
        if unit.is_empty() {
            String::new()
        } else {
            format!(" {unit}")
        }
    };
    let (of_x, of_y) = (unit(&panel.x.label), unit(&panel.y.label));
    format!("{}{of_x}, {}{of_y}", number(x), number(y))
}

/// Draws the names of curves in rows; returns the height of their lower end.
fn draw_legend(to: &mut Drawing, panel: &Panel, left: f64, top: f64) -> f64 {
    let width = PANEL_WIDTH - 2.0 * MARGIN;
    let published = (!panel.marks.is_empty()).then_some((None, PUBLISHED));
    let curves = panel.curves.iter().enumerate();
    let curves =
        curves.map(|(number, curve)| (Some(Style::for_curve(number)), curve.name.as_str()));
    let (mut x, mut y) = (0.0, top);
    for (style, name) in curves.chain(published) {
        let setting = SMALL.within(name, width - SWATCH - 4.0);
        let needed = SWATCH + 4.0 + setting.width(name);
        if x > 0.0 && x + needed > width {
            (x, y) = (0.0, y + LEGEND_ROW);
        }
        let middle = y + LEGEND_ROW / 2.0;
        let centre = (left + x + SWATCH / 2.0, middle);
        match style {
            Some(style) => {
                let ends = [(left + x, middle), (left + x + SWATCH, middle)];
                to.stroke(Path::lines(ends), style.line);
                style.symbol(to, centre);
            }
            None => open_symbol(to, centre),
        }
        to.text(setting.run(name, (left + x + SWATCH + 3.0, middle + 2.5)));
        x += needed + 10.0;
    }
    match x > 0.0 {
        true => y + LEGEND_ROW,
        false => y,
    }
}
