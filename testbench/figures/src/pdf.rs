//! Drawings as PDF: one page of outlines, without fonts, dates and identifiers.

use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Finish, Pdf, Rect, Ref};

use crate::drawing::{BLACK, Colour, Drawing, Item, Stroke, WHITE};
use crate::path::{Path, Step};
use crate::svg::HALO;

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);

/// The drawing as a file.
pub(crate) fn write(drawing: &Drawing) -> Vec<u8> {
    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    let mut page = pdf.page(PAGE);
    page.media_box(Rect::new(
        0.0,
        0.0,
        single(drawing.width),
        single(drawing.height),
    ));
    page.parent(PAGES).contents(CONTENT);
    page.resources();
    page.finish();
    pdf.stream(CONTENT, &content(drawing));
    pdf.finish()
}

/// Coordinates with two decimals, as in SVG.
fn single(value: f64) -> f32 {
    ((value * 100.0).round() / 100.0) as f32
}

fn content(drawing: &Drawing) -> Vec<u8> {
    let mut content = Content::new();
    // PDF counts upwards from the bottom of the page.
    content.transform([1.0, 0.0, 0.0, -1.0, 0.0, single(drawing.height)]);
    content.set_line_join(LineJoinStyle::RoundJoin);
    content.set_line_cap(LineCapStyle::ButtCap);
    for item in &drawing.items {
        match item {
            Item::Path { path, fill, stroke } => draw(&mut content, path, *fill, *stroke),
            Item::Text { path, halo, .. } => {
                if *halo {
                    draw(&mut content, path, None, Some(Stroke::solid(WHITE, HALO)));
                }
                draw(&mut content, path, Some(BLACK), None);
            }
            // Pages have no hover.
            Item::Begin(_) | Item::End => {}
        }
    }
    content.finish().into_vec()
}

fn draw(content: &mut Content, path: &Path, fill: Option<Colour>, stroke: Option<Stroke>) {
    if path.0.is_empty() {
        return;
    }
    let part = |value: u8| (f32::from(value) / 255.0 * 1000.0).round() / 1000.0;
    if let Some(Colour(red, green, blue)) = fill {
        content.set_fill_rgb(part(red), part(green), part(blue));
    }
    if let Some(stroke) = stroke {
        let Colour(red, green, blue) = stroke.colour;
        content.set_stroke_rgb(part(red), part(green), part(blue));
        content.set_line_width(single(stroke.width));
        content.set_dash_pattern(stroke.dashes.iter().map(|&length| single(length)), 0.0);
    }
    for step in &path.0 {
        match *step {
            Step::Move((x, y)) => content.move_to(single(x), single(y)),
            Step::Line((x, y)) => content.line_to(single(x), single(y)),
            Step::Curve((x1, y1), (x2, y2), (x, y)) => content.cubic_to(
                single(x1),
                single(y1),
                single(x2),
                single(y2),
                single(x),
                single(y),
            ),
            Step::Close => content.close_path(),
        };
    }
    match (fill, stroke) {
        (Some(_), Some(_)) => content.fill_nonzero_and_stroke(),
        (Some(_), None) => content.fill_nonzero(),
        (None, Some(_)) => content.stroke(),
        (None, None) => content.end_path(),
    };
}
