//! Places of marks' labels: near the symbol, away from other labels and, if possible, from curves.

use crate::drawing::{BLACK, Drawing, Stroke};
use crate::font::{Anchor, Setting, TextRun};
use crate::model::{Mark, Panel};
use crate::paint::{Area, places};
use crate::path::{PagePosition, Path};

/// Setting of a label.
const LABEL: Setting = Setting::new(6.0, Anchor::Start);
/// Height of a label.
const HEIGHT: f64 = 6.0;
/// Distances of labels from their symbols. From the second one on a line joins them.
const DISTANCES: [f64; 4] = [5.0, 11.0, 18.0, 27.0];
/// Directions that are tried, in this order.
const DIRECTIONS: [PagePosition; 10] = [
    (1.0, 0.0),
    (-1.0, 0.0),
    (0.0, -1.0),
    (0.0, 1.0),
    (0.8, -0.8),
    (0.8, 0.8),
    (-0.8, -0.8),
    (-0.8, 0.8),
    (-1.0, -0.4),
    (-1.0, 0.4),
];
/// Costs of what a label could cover.
const OF_LABEL: f64 = 100.0;
const OF_MARK: f64 = 40.0;
const OF_CURVE: f64 = 4.0;
/// Cost of each further distance.
const OF_DISTANCE: f64 = 3.0;

/// A rectangle: left, top, right, bottom.
type Rectangle = [f64; 4];

fn meet(a: Rectangle, b: Rectangle) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

fn around((x, y): PagePosition, half: f64) -> Rectangle {
    [x - half, y - half, x + half, y + half]
}

/// Areas that labels should keep free, with the cost of covering each.
pub(crate) struct Labels(Vec<(Rectangle, f64)>);

impl Labels {
    pub(crate) fn new(area: &Area, panel: &Panel) -> Self {
        let mut taken = Vec::new();
        for curve in &panel.curves {
            let places = places(area, curve);
            let places: Vec<PagePosition> = places.into_iter().map(|(_, place)| place).collect();
            taken.extend(places.iter().map(|&place| (around(place, 2.0), OF_CURVE)));
            for ends in places.windows(2) {
                let ((x1, y1), (x2, y2)) = (ends[0], ends[1]);
                let parts = ((x2 - x1).hypot(y2 - y1) / 4.0).ceil().clamp(1.0, 400.0);
                for part in 1..parts as u32 {
                    let part = f64::from(part) / parts;
                    let place = (x1 + part * (x2 - x1), y1 + part * (y2 - y1));
                    taken.push((around(place, 0.5), OF_CURVE));
                }
            }
        }
        let marks = panel.marks.iter();
        let marks = marks.filter_map(|mark| area.place(mark.x, mark.y));
        taken.extend(marks.map(|place| (around(place, 3.2), OF_MARK)));
        Self(taken)
    }

    /// Cost of what a label at this place covers.
    fn covered(&self, place: Rectangle) -> f64 {
        let covered = self.0.iter().filter(|(other, _)| meet(*other, place));
        covered.map(|(_, cost)| cost).sum()
    }

    /// Cost of other marks and labels between a mark and its label.
    fn crossed(&self, (x, y): PagePosition, (dx, dy): PagePosition, distance: f64) -> f64 {
        // In steps of two points, from outside the symbol on.
        let steps = (4..).map(|step| 2.0 * f64::from(step));
        let way = steps.take_while(|way| *way < distance);
        let places = way.map(|way| around((x + dx * way, y + dy * way), 0.1));
        places
            .map(|place| self.covered(place))
            .filter(|cost| *cost >= OF_MARK)
            .sum()
    }

    /// Draws the label of a mark at the place that covers least.
    pub(crate) fn draw(&mut self, to: &mut Drawing, area: &Area, mark: &Mark) {
        let Some((x, y)) = area.place(mark.x, mark.y) else {
            return;
        };
        let width = LABEL.width(&mark.id);
        let mut best: Option<(f64, usize, Rectangle)> = None;
        for (step, distance) in DISTANCES.into_iter().enumerate() {
            for (dx, dy) in DIRECTIONS {
                let aside = if dx == 0.0 { 0.0 } else { dx.signum() };
                let centre_x = x + dx * distance + aside * width / 2.0;
                let centre_y = y + dy * (distance + 1.0);
                let (left, top) = (centre_x - width / 2.0, centre_y - HEIGHT / 2.0);
                let place = [left, top, left + width, top + HEIGHT];
                let inside = left >= area.left && place[2] <= area.right;
                if !inside || top < area.top || place[3] > area.bottom {
                    continue;
                }
                let cost = self.covered(place) + self.crossed((x, y), (dx, dy), distance);
                let cost = cost + step as f64 * OF_DISTANCE;
                if best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, step, place));
                }
            }
        }
        // A label that fits nowhere is wider than the panel: it stays beside its symbol.
        let beside = [x + 5.0, y - HEIGHT / 2.0, x + 5.0 + width, y + HEIGHT / 2.0];
        let (_, step, place) = best.unwrap_or((0.0, 0, beside));
        if step > 0 {
            let end = (x.clamp(place[0], place[2]), y.clamp(place[1], place[3]));
            let distance = (end.0 - x).hypot(end.1 - y).max(3.2);
            // From the symbol's edge on.
            let part = |from: f64, to: f64| from + (to - from) * 3.2 / distance;
            let start = (part(x, end.0), part(y, end.1));
            to.stroke(Path::lines([start, end]), Stroke::solid(BLACK, 0.3));
        }
        self.0.push((place, OF_LABEL));
        let run = LABEL.run(&mark.id, (place[0], place[3] - 0.8));
        to.text(TextRun { halo: true, ..run });
    }
}
