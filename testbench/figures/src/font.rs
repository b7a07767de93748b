//! Text as outlines of an embedded font, DejaVu Sans Condensed.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::path::{Path, Place, Step};

/// Weight of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Regular,
    Bold,
}

/// Which part of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Size and place of a text. The place is on the base line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) weight: Weight,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    /// Whether the text runs upwards.
    pub(crate) upwards: bool,
}

impl Setting {
    pub(crate) const fn new(size: f64, anchor: Anchor) -> Self {
        Self {
            weight: Weight::Regular,
            size,
            anchor,
            upwards: false,
        }
    }

    pub(crate) const fn bold(self) -> Self {
        Self {
            weight: Weight::Bold,
            ..self
        }
    }

    pub(crate) const fn upwards(self) -> Self {
        Self {
            upwards: true,
            ..self
        }
    }

    /// The setting with letters small enough for this width.
    pub(crate) fn within(self, text: &str, width: f64) -> Self {
        let needed = self.width(text);
        if needed <= width {
            return self;
        }
        Self {
            size: self.size * width / needed,
            ..self
        }
    }

    /// Width of a text.
    pub(crate) fn width(self, text: &str) -> f64 {
        let face = face(self.weight);
        let advances = text
            .chars()
            .map(|letter| advance(face, glyph(face, letter)));
        advances.sum::<f64>() * self.scale()
    }

    /// Outline of a text at a place.
    pub(crate) fn outline(self, text: &str, at: Place) -> Path {
        let face = face(self.weight);
        let before = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5,
            Anchor::End => 1.0,
        };
        let mut pen = Pen {
            setting: self,
            at,
            along: -before * self.width(text),
            last: (0.0, 0.0),
            path: Path::default(),
        };
        for letter in text.chars() {
            let glyph = glyph(face, letter);
            // Spaces have no outline.
            let _ = face.outline_glyph(glyph, &mut pen);
            pen.along += advance(face, glyph) * self.scale();
        }
        pen.path
    }

    fn scale(self) -> f64 {
        self.size / f64::from(face(self.weight).units_per_em())
    }
}

static REGULAR: LazyLock<Face<'static>> = LazyLock::new(|| {
    Face::parse(dejavu::sans_condensed::regular(), 0).expect("the embedded font is a font")
});
static BOLD: LazyLock<Face<'static>> = LazyLock::new(|| {
    Face::parse(dejavu::sans_condensed::bold(), 0).expect("the embedded font is a font")
});

fn face(weight: Weight) -> &'static Face<'static> {
    match weight {
        Weight::Regular => &REGULAR,
        Weight::Bold => &BOLD,
    }
}

/// The glyph of a letter; glyph 0, a box, for letters that the font does not have.
fn glyph(face: &Face<'_>, letter: char) -> GlyphId {
    face.glyph_index(letter).unwrap_or(GlyphId(0))
}

fn advance(face: &Face<'_>, glyph: GlyphId) -> f64 {
    face.glyph_hor_advance(glyph).map_or(0.0, f64::from)
}

/// Turns glyphs, in units of the font, into a path.
struct Pen {
    setting: Setting,
    at: Place,
    /// Distance of the next glyph from `at`.
    along: f64,
    /// The end of the last step, in units of the font.
    last: Place,
    path: Path,
}

impl Pen {
    fn place(&self, (x, y): Place) -> Place {
        let scale = self.setting.scale();
        let (along, up) = (self.along + x * scale, y * scale);
        if self.setting.upwards {
            (self.at.0 - up, self.at.1 - along)
        } else {
            (self.at.0 + along, self.at.1 - up)
        }
    }

    fn add(&mut self, step: Step, end: Place) {
        self.path.0.push(step);
        self.last = end;
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let end = (x.into(), y.into());
        self.add(Step::Move(self.place(end)), end);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let end = (x.into(), y.into());
        self.add(Step::Line(self.place(end)), end);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        // PDF has cubic curves only.
        let (control, end): (Place, Place) = ((x1.into(), y1.into()), (x.into(), y.into()));
        let towards = |from: Place| {
            let part = |from: f64, to: f64| from + (to - from) * 2.0 / 3.0;
            self.place((part(from.0, control.0), part(from.1, control.1)))
        };
        let step = Step::Curve(towards(self.last), towards(end), self.place(end));
        self.add(step, end);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let place = |x: f32, y: f32| self.place((x.into(), y.into()));
        let step = Step::Curve(place(x1, y1), place(x2, y2), place(x, y));
        self.add(step, (x.into(), y.into()));
    }

    fn close(&mut self) {
        self.path.0.push(Step::Close);
    }
}
