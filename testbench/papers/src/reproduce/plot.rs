//! Figures as SVG.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::figures::{Figure, Panel};
use super::key::Key;
use super::results::ProfileResults;

/// Size of a panel in pixels.
const PANEL: (u32, u32) = (560, 420);
/// Height of the figure's title in pixels.
const TITLE_HEIGHT: u32 = 40;
/// Generic font family.
const FONT: &str = "sans-serif";
/// Colours of curves, distinguishable with colour vision deficiency.
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
];

/// A figure cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[error("figure {id}: {reason}")]
pub struct PlotError {
    id: &'static str,
    reason: String,
}

/// A curve: kilobytes and value of each point.
type Curve = Vec<(f64, f64)>;

/// Measured points of each curve of a panel.
fn curves(panel: &Panel, results: &ProfileResults) -> Vec<Curve> {
    let points = |template: Key| -> Curve {
        let on_curve = |key: &Key| key.sized(0) == template && panel.sizes.contains(&key.size);
        let points = results.points.iter().filter(|(key, _)| on_curve(key));
        points
            .map(|(key, point)| (f64::from(key.size) / 1024.0, point.value))
            .collect()
    };
    let series = panel.series.iter();
    series.map(|series| points(series.point.sized(0))).collect()
}

/// Draws a figure; `None` without any measured point.
///
/// # Errors
/// [`PlotError`], if the plotting library cannot draw it.
pub fn svg(figure: &Figure, results: &ProfileResults) -> Result<Option<String>, PlotError> {
    let curves: Vec<_> = figure
        .panels
        .iter()
        .map(|panel| curves(panel, results))
        .collect();
    if curves.iter().flatten().all(Vec::is_empty) {
        return Ok(None);
    }
    let size = (PANEL.0 * figure.panels.len() as u32, PANEL.1 + TITLE_HEIGHT);
    let mut text = String::new();
    let drawn = {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw(&root, figure, results, &curves)
            .and_then(|()| root.present().map_err(|error| error.to_string()))
    };
    match drawn {
        Ok(()) => Ok(Some(text)),
        Err(reason) => Err(PlotError {
            id: figure.id,
            reason,
        }),
    }
}

fn draw(
    root: &DrawingArea<SVGBackend<'_>, Shift>,
    figure: &Figure,
    results: &ProfileResults,
    curves: &[Vec<Curve>],
) -> Result<(), String> {
    let text = |error: DrawingAreaErrorKind<_>| error.to_string();
    root.fill(&WHITE).map_err(text)?;
    let title = format!(
        "Figure {}: {} ({})",
        figure.id, figure.title, results.profile.name
    );
    let rest = root.titled(&title, (FONT, 20)).map_err(text)?;
    let areas = rest.split_evenly((1, figure.panels.len()));
    for ((area, panel), curves) in areas.iter().zip(&figure.panels).zip(curves) {
        draw_panel(area, panel, curves).map_err(text)?;
    }
    Ok(())
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    panel: &Panel,
    curves: &[Curve],
) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
    let all = || curves.iter().flatten();
    let most = |value: fn(&(f64, f64)) -> f64| all().map(value).fold(f64::MIN_POSITIVE, f64::max);
    let (right, top) = (most(|point| point.0), 1.05 * most(|point| point.1));
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, (FONT, 15))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("message size, KB")
        .y_desc(panel.unit())
        .label_style((FONT, 12))
        .draw()?;
    for ((series, curve), colour) in panel.series.iter().zip(curves).zip(COLOURS.iter().cycle()) {
        if curve.is_empty() {
            continue;
        }
        let line = LineSeries::new(curve.iter().copied(), colour.stroke_width(2)).point_size(2);
        let style = colour.stroke_width(2);
        chart
            .draw_series(line)?
            .label(series.name.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .label_font((FONT, 12))
        .draw()
}
