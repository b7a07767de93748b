//! Drawings as PDF: one page of outlines, without fonts, dates and identifiers.

use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref};

use crate::drawing::{BLACK, Colour, Drawing, Item, Stroke, WHITE};
use crate::font::TextRun;
use crate::path::{OutlineStep, PagePosition, Path};
use crate::svg::HALO;

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);

/// The first glyph; the others follow.
const FIRST_GLYPH: i32 = 5;

/// The drawing as a file.
pub(crate) fn write(drawing: &Drawing) -> Vec<u8> {
    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    let glyphs = drawing.glyphs();
    let forms = || (FIRST_GLYPH..).map(Ref::new).zip(&glyphs);
    let mut page = pdf.page(PAGE);
    let (width, height) = (single(drawing.width), single(drawing.height));
    page.media_box(Rect::new(0.0, 0.0, width, height));
    page.parent(PAGES).contents(CONTENT);
    let mut resources = page.resources();
    let mut objects = resources.x_objects();
    for (form, glyph) in forms() {
        objects.pair(Name(glyph.name().as_bytes()), form);
    }
    objects.finish();
    resources.finish();
    page.finish();
    pdf.stream(CONTENT, &content(drawing));
    for (form, glyph) in forms() {
        let mut outline = Content::new();
        draw(&mut outline, &glyph.outline(), None);
        if glyph.bounds() != [0.0; 4] {
            outline.fill_nonzero();
        }
        let outline = outline.finish();
        let [left, bottom, right, top] = glyph.bounds().map(single);
        let mut form = pdf.form_xobject(form, &outline);
        form.bbox(Rect::new(left, bottom, right, top)).resources();
    }
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
            Item::Path { path, fill, stroke } => shape(&mut content, path, *fill, *stroke),
            Item::Text(run) => words(&mut content, run),
            // Pages have no hover.
            Item::Begin(_) | Item::End => {}
        }
    }
    content.finish().into_vec()
}

fn words(content: &mut Content, run: &TextRun) {
    let scale = run.scale as f32;
    let (x, y) = (single(run.at.0), single(run.at.1));
    content.save_state();
    content.transform(match run.upwards {
        true => [0.0, -scale, -scale, 0.0, x, y],
        false => [scale, 0.0, 0.0, -scale, x, y],
    });
    if run.halo {
        stroke(content, Stroke::solid(WHITE, HALO / run.scale));
        for (glyph, along) in &run.glyphs {
            let outline = glyph.outline();
            if !outline.0.is_empty() {
                draw(content, &outline, Some(*along));
                content.stroke();
            }
        }
    }
    fill(content, BLACK);
    let mut before = 0.0;
    for (glyph, along) in &run.glyphs {
        let along = along.round();
        content.transform([1.0, 0.0, 0.0, 1.0, single(along - before), 0.0]);
        content.x_object(Name(glyph.name().as_bytes()));
        before = along;
    }
    content.restore_state();
}

fn part(value: u8) -> f32 {
    (f32::from(value) / 255.0 * 1000.0).round() / 1000.0
}

fn fill(content: &mut Content, Colour(red, green, blue): Colour) {
    content.set_fill_rgb(part(red), part(green), part(blue));
}

fn stroke(content: &mut Content, stroke: Stroke) {
    let Colour(red, green, blue) = stroke.colour;
    content.set_stroke_rgb(part(red), part(green), part(blue));
    content.set_line_width(single(stroke.width));
    content.set_dash_pattern(stroke.dashes.iter().map(|&length| single(length)), 0.0);
}

fn shape(content: &mut Content, path: &Path, inside: Option<Colour>, line: Option<Stroke>) {
    if path.0.is_empty() {
        return;
    }
    if let Some(colour) = inside {
        fill(content, colour);
    }
    if let Some(line) = line {
        stroke(content, line);
    }
    draw(content, path, None);
    match (inside, line) {
        (Some(_), Some(_)) => content.fill_nonzero_and_stroke(),
        (Some(_), None) => content.fill_nonzero(),
        (None, Some(_)) => content.stroke(),
        (None, None) => content.end_path(),
    };
}

/// Describes an outline, moved to the right by `along`.
fn draw(content: &mut Content, path: &Path, along: Option<f64>) {
    let along = along.unwrap_or(0.0);
    let place = |(x, y): PagePosition| (single(x + along), single(y));
    let mut last = (0.0, 0.0);
    for step in &path.0 {
        match *step {
            OutlineStep::Move(to) => {
                let (x, y) = place(to);
                content.move_to(x, y);
                last = to;
            }
            OutlineStep::Line(to) => {
                let (x, y) = place(to);
                content.line_to(x, y);
                last = to;
            }
            OutlineStep::Quadratic(control, to) => {
                // PDF has cubic curves only.
                let towards = |from: PagePosition| {
                    let part = |from: f64, to: f64| from + (to - from) * 2.0 / 3.0;
                    (part(from.0, control.0), part(from.1, control.1))
                };
                let ((x1, y1), (x2, y2)) = (place(towards(last)), place(towards(to)));
                let (x, y) = place(to);
                content.cubic_to(x1, y1, x2, y2, x, y);
                last = to;
            }
            OutlineStep::Curve(first, second, to) => {
                let ((x1, y1), (x2, y2)) = (place(first), place(second));
                let (x, y) = place(to);
                content.cubic_to(x1, y1, x2, y2, x, y);
                last = to;
            }
            OutlineStep::Close => {
                content.close_path();
            }
        }
    }
}
