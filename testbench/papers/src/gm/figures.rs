//! The curves of GM as figures, with the published values of the same products.

use lanigon_experiments::drawing::{NamedFigure, named, whole_panel};
use lanigon_experiments::published::Published;
use lanigon_figures::{Curve, Mark, Panel, Point as Drawn, Scale};

use super::rows::hardware;
use super::{LONG, ProfileResults, SHORT, SizePoint, TABLE};
use crate::emp::plot::SIZE;

/// A quantity of a panel: its experiment among the published ones, and where it is in a point.
struct ShownQuantity {
    title: &'static str,
    axis: &'static str,
    scale: Scale,
    experiment: &'static str,
    index: usize,
    /// Largest message.
    up_to: u32,
}

const LATENCY: ShownQuantity = ShownQuantity {
    title: "latency, short messages",
    axis: "latency, us",
    scale: Scale::Linear,
    experiment: "latency",
    index: 0,
    up_to: 1024,
};
const LATENCY_OF_ALL: ShownQuantity = ShownQuantity {
    title: "latency, all messages",
    scale: Scale::Log10,
    up_to: LONG,
    ..LATENCY
};
const ONE_WAY: ShownQuantity = ShownQuantity {
    title: "bandwidth, one way",
    axis: "bandwidth, MB/s",
    scale: Scale::Linear,
    experiment: "one-way",
    index: 1,
    up_to: LONG,
};
const TWO_WAY: ShownQuantity = ShownQuantity {
    title: "bandwidth, sum of both ways",
    experiment: "two-way",
    index: 2,
    ..ONE_WAY
};

impl ShownQuantity {
    fn value(&self, point: &SizePoint) -> f64 {
        [point.latency_us, point.one_way, point.two_way][self.index]
    }

    /// The length of message of the published values.
    fn published_bytes(&self) -> u32 {
        match self.experiment {
            "latency" => SHORT,
            _ => LONG,
        }
    }

    fn panel(&self, results: &[ProfileResults]) -> Panel {
        let curves = results.iter().map(|of| self.curve(of)).collect();
        let (x, y) = ((SIZE, Scale::Log2), (self.axis, self.scale));
        let of_boards =
            |figure: &&Published| results.iter().any(|of| hardware(of) == figure.profile);
        let figures = TABLE.numbers().iter().filter(of_boards);
        let figures = figures.filter(|figure| figure.experiment == self.experiment);
        Panel {
            marks: figures.flat_map(|figure| self.marks(figure)).collect(),
            ..whole_panel(self.title, x, y, curves)
        }
    }

    fn curve(&self, of: &ProfileResults) -> Curve {
        let points = of.points.iter().filter(|point| point.bytes <= self.up_to);
        Curve {
            name: format!("{}, {}", of.profile, of.image),
            points: points
                .map(|point| Drawn {
                    x: point.bytes.into(),
                    y: self.value(point),
                    error: point.intervals[self.index],
                })
                .collect(),
        }
    }

    /// One mark, or two for the ends of a range.
    fn marks(&self, figure: &Published) -> Vec<Mark> {
        let (low, high) = (figure.value, figure.high);
        let ends = match low == high {
            true => vec![(low, "")],
            false => vec![(low, ", lowest"), (high, ", highest")],
        };
        let mark = |(value, end): (f64, &str)| Mark {
            x: self.published_bytes().into(),
            y: value,
            id: figure.id.into(),
            what: format!("{}, {}{end}", figure.scheme, figure.quantity),
        };
        ends.into_iter().map(mark).collect()
    }
}

/// The figures; none without results.
#[must_use]
pub fn figures(results: &[ProfileResults]) -> Vec<NamedFigure> {
    if results.iter().all(|of| of.points.is_empty()) {
        return Vec::new();
    }
    let figure = |file: &str, title: &str, panels: [&ShownQuantity; 2]| {
        named(file, title, panels.map(|shown| shown.panel(results)).into())
    };
    vec![
        figure("gm-latency", "Latency of GM", [&LATENCY, &LATENCY_OF_ALL]),
        figure("gm-bandwidth", "Bandwidth of GM", [&ONE_WAY, &TWO_WAY]),
    ]
}
