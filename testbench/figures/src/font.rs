//! Text as outlines of an embedded font, DejaVu Sans Condensed.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

use crate::path::{OutlineStep, PagePosition, Path};

/// Weight of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    Regular,
    Bold,
}

/// Point of a text that is put at its place.
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

    /// The glyphs of a text at a place.
    pub(crate) fn run(self, text: &str, at: PagePosition) -> TextRun {
        let face = face(self.weight);
        let before = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5,
            Anchor::End => 1.0,
        };
        let mut along = -before * self.width(text) / self.scale();
        let mut glyphs = Vec::new();
        for letter in text.chars() {
            let id = glyph(face, letter);
            let weight = self.weight;
            glyphs.push((Glyph { weight, id: id.0 }, along));
            along += advance(face, id);
        }
        TextRun {
            text: text.to_owned(),
            glyphs,
            at,
            scale: self.scale(),
            upwards: self.upwards,
            halo: false,
        }
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

/// A letter's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Glyph {
    weight: Weight,
    id: u16,
}

impl Glyph {
    /// A name that no other glyph has.
    pub(crate) fn name(self) -> String {
        let weight = match self.weight {
            Weight::Regular => 'r',
            Weight::Bold => 'b',
        };
        format!("{weight}{}", self.id)
    }

    /// Outline of the glyph in units of the font, upwards; empty for a space.
    pub(crate) fn outline(self) -> Path {
        let mut pen = Pen(Path::default());
        // A space has no outline.
        let _ = face(self.weight).outline_glyph(GlyphId(self.id), &mut pen);
        pen.0
    }

    /// A rectangle around its outline: left, bottom, right, top.
    pub(crate) fn bounds(self) -> [f64; 4] {
        let bounds = face(self.weight).glyph_bounding_box(GlyphId(self.id));
        bounds.map_or([0.0; 4], |bounds| {
            [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(f64::from)
        })
    }
}

/// A text in its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TextRun {
    pub(crate) text: String,
    /// Glyphs, with distances from the place in units of the font.
    pub(crate) glyphs: Vec<(Glyph, f64)>,
    pub(crate) at: PagePosition,
    /// Points per unit of the font.
    pub(crate) scale: f64,
    pub(crate) upwards: bool,
    /// Whether it has a white border, so that it can be read over lines.
    pub(crate) halo: bool,
}

/// Turns a glyph into a path.
struct Pen(Path);

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.0.push(OutlineStep::Move((x.into(), y.into())));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.0.push(OutlineStep::Line((x.into(), y.into())));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (control, end) = ((x1.into(), y1.into()), (x.into(), y.into()));
        self.0.0.push(OutlineStep::Quadratic(control, end));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let controls = ((x1.into(), y1.into()), (x2.into(), y2.into()));
        self.0.0.push(OutlineStep::Curve(
            controls.0,
            controls.1,
            (x.into(), y.into()),
        ));
    }

    fn close(&mut self) {
        self.0.0.push(OutlineStep::Close);
    }
}
