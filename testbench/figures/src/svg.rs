//! Drawings as SVG.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::drawing::{BLACK, Colour, Drawing, Item, Stroke, WHITE};
use crate::font::{Glyph, TextRun};
use crate::number::coordinate;
use crate::path::{OutlineStep, Path};

/// Width of the white border of a text with a halo.
pub(crate) const HALO: f64 = 1.6;

/// Points of a figure for each unit of a page's letters.
const PER_REM: f64 = 8.5;

/// The drawing as a document, or as an element of a page that has its glyphs already.
pub(crate) fn write(drawing: &Drawing, glyphs: bool) -> String {
    let (width, height) = (coordinate(drawing.width), coordinate(drawing.height));
    let title = escaped(&drawing.title);
    // On a page, the letters of a figure are about as large as those around it.
    let size = match glyphs {
        true => format!("width=\"{width}pt\" height=\"{height}pt\""),
        false => format!("width=\"{}rem\"", coordinate(drawing.width / PER_REM)),
    };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" role=\"img\" aria-label=\"{title}\" \
         {size} viewBox=\"0 0 {width} {height}\">\n"
    );
    if glyphs {
        text += &definitions(&drawing.glyphs());
    }
    text += &format!("<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n");
    for item in &drawing.items {
        match item {
            Item::Path { path, fill, stroke } => {
                let (data, paint) = (data(path), paint(*fill, *stroke));
                text += &format!("<path d=\"{data}\"{paint}/>\n");
            }
            Item::Text(run) => text += &words(run),
            Item::Begin(label) => {
                let label = escaped(label);
                text +=
                    &format!("<g class=\"point\" pointer-events=\"all\"><title>{label}</title>\n");
            }
            Item::End => text += "</g>\n",
        }
    }
    text + "</svg>\n"
}

/// Outlines of glyphs, which texts refer to by name.
pub(crate) fn definitions(glyphs: &BTreeSet<Glyph>) -> String {
    let mut text = String::from("<defs>\n");
    for glyph in glyphs {
        let (name, data) = (glyph.name(), data(&glyph.outline()));
        if !data.is_empty() {
            text += &format!("<path id=\"{name}\" d=\"{data}\"/>\n");
        }
    }
    text + "</defs>\n"
}

fn words(run: &TextRun) -> String {
    let (x, y) = run.at;
    let turn = if run.upwards { " rotate(-90)" } else { "" };
    let scale = format!("{:.6}", run.scale);
    let mut text = format!(
        "<g aria-label=\"{}\" transform=\"translate({} {}){turn} scale({scale} -{scale})\"",
        escaped(&run.text),
        coordinate(x),
        coordinate(y)
    );
    if run.halo {
        // Strokes are scaled too.
        text += &paint(Some(BLACK), Some(Stroke::solid(WHITE, HALO / run.scale)));
        text += " paint-order=\"stroke\" stroke-linejoin=\"round\"";
    }
    text.push('>');
    for (glyph, along) in &run.glyphs {
        // A space has no outline.
        if glyph.bounds() != [0.0; 4] {
            text += &format!(
                "<use href=\"#{}\" x=\"{}\"/>",
                glyph.name(),
                coordinate(along.round())
            );
        }
    }
    text + "</g>\n"
}

fn paint(fill: Option<Colour>, stroke: Option<Stroke>) -> String {
    let mut text = match fill {
        None => String::from(" fill=\"none\""),
        Some(BLACK) => String::new(),
        Some(colour) => format!(" fill=\"{}\"", hex(colour)),
    };
    if let Some(stroke) = stroke {
        let width = coordinate(stroke.width);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            " stroke=\"{}\" stroke-width=\"{width}\"",
            hex(stroke.colour)
        );
        let dashes: Vec<_> = stroke
            .dashes
            .iter()
            .map(|&length| coordinate(length))
            .collect();
        if !dashes.is_empty() {
            let _ = write!(text, " stroke-dasharray=\"{}\"", dashes.join(" "));
        }
    }
    text
}

fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The outline, in absolute coordinates.
fn data(path: &Path) -> String {
    let mut text = String::new();
    let place = |(x, y): (f64, f64)| format!("{} {}", coordinate(x), coordinate(y));
    for step in &path.0 {
        match *step {
            OutlineStep::Move(to) => text.push_str(&format!("M{}", place(to))),
            OutlineStep::Line(to) => text.push_str(&format!("L{}", place(to))),
            OutlineStep::Quadratic(control, to) => {
                text.push_str(&format!("Q{} {}", place(control), place(to)));
            }
            OutlineStep::Curve(first, second, to) => {
                text.push_str(&format!(
                    "C{} {} {}",
                    place(first),
                    place(second),
                    place(to)
                ));
            }
            OutlineStep::Close => text.push('Z'),
        }
    }
    text
}

/// Text as part of XML. Characters that XML does not allow become spaces.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                out.push(' ')
            }
            letter => out.push(letter),
        }
    }
    out
}
