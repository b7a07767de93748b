//! Drawings as SVG.

use std::fmt::Write;

use crate::drawing::{BLACK, Colour, Drawing, Item, Stroke, WHITE};
use crate::number::coordinate;
use crate::path::{Path, Step};

/// Width of the white border of a text with a halo.
pub(crate) const HALO: f64 = 1.6;

/// The drawing as an element `svg`, which is a document of its own, or part of a page.
pub(crate) fn write(drawing: &Drawing) -> String {
    let (width, height) = (coordinate(drawing.width), coordinate(drawing.height));
    let title = escaped(&drawing.title);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" role=\"img\" aria-label=\"{title}\" \
         width=\"{width}pt\" height=\"{height}pt\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for item in &drawing.items {
        // Writing to a string cannot fail.
        let _ = match item {
            Item::Path { path, fill, stroke } => {
                writeln!(
                    text,
                    "<path d=\"{}\"{}/>",
                    data(path),
                    paint(*fill, *stroke)
                )
            }
            Item::Text {
                text: shown,
                path,
                halo,
            } => {
                let halo = halo.then_some(Stroke::solid(WHITE, HALO));
                let order =
                    halo.map_or("", |_| " paint-order=\"stroke\" stroke-linejoin=\"round\"");
                let (shown, data) = (escaped(shown), data(path));
                writeln!(
                    text,
                    "<g aria-label=\"{shown}\"><path d=\"{data}\"{}{order}/></g>",
                    paint(Some(BLACK), halo)
                )
            }
            Item::Begin(label) => {
                writeln!(text, "<g class=\"point\"><title>{}</title>", escaped(label))
            }
            Item::End => writeln!(text, "</g>"),
        };
    }
    text + "</svg>\n"
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
            Step::Move(to) => text.push_str(&format!("M{}", place(to))),
            Step::Line(to) => text.push_str(&format!("L{}", place(to))),
            Step::Curve(first, second, to) => {
                text.push_str(&format!(
                    "C{} {} {}",
                    place(first),
                    place(second),
                    place(to)
                ));
            }
            Step::Close => text.push('Z'),
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
