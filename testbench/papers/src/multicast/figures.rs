//! The publication's figures, with the published points.

use lanigon_figures::{Mark, Panel, Scale};

use super::TABLE;
use super::results::{LONG, NODES, Results, method};
use lanigon_experiments::drawing::{NamedFigure, curve, named, panel};

const BYTES: (&str, Scale) = ("bytes of a message", Scale::Log2);
const TIME: (&str, Scale) = ("time, us", Scale::Log10);
const GAIN: (&str, Scale) = ("gain", Scale::Linear);

/// Figures of the publication, with the measured and the published points.
#[must_use]
pub fn figures(results: &Results) -> Vec<NamedFigure> {
    let optimal = |nodes, multi_send, pipelined, bytes| {
        let best = results.best(nodes, method(multi_send, pipelined), bytes);
        best.map(|(us, _)| us)
    };
    let against_binomial = |pipelined: bool, number, ids: &[&str]| {
        let times = [
            (
                "NA-optimal",
                &(|nodes, bytes| optimal(nodes, true, pipelined, bytes)) as CurveFunction<'_>,
            ),
            ("FM-binomial", &|nodes, bytes| {
                results.binomial_us(nodes, bytes)
            }),
        ];
        let gain = |nodes, bytes| results.gain(nodes, pipelined, bytes);
        drawn(results, number, times, &gain, ids)
    };
    let against_optimal = |pipelined: bool, number| {
        let times = [
            (
                "NA-optimal",
                &(|nodes, bytes| optimal(nodes, true, pipelined, bytes)) as CurveFunction<'_>,
            ),
            ("FM-optimal", &|nodes, bytes| {
                optimal(nodes, false, pipelined, bytes)
            }),
        ];
        let gain = |nodes, bytes| results.same_gain(nodes, pipelined, bytes);
        drawn(results, number, times, &gain, &[])
    };
    let stars = [
        (
            "multi-send",
            &(|nodes, bytes| results.star_us(nodes, true, bytes)) as CurveFunction<'_>,
        ),
        ("FM sends", &|nodes, bytes| {
            results.star_us(nodes, false, bytes)
        }),
    ];
    vec![
        drawn(
            results,
            "2.5",
            stars,
            &|nodes, bytes| results.star_gain(nodes, bytes),
            &["dissertation-042"],
        ),
        against_binomial(true, "2.6", &["dissertation-045", "dissertation-046"]),
        against_binomial(false, "2.7", &["dissertation-048", "dissertation-049"]),
        against_optimal(true, "2.8"),
        against_optimal(false, "2.9"),
    ]
}

/// A value by nodes and bytes.
type CurveFunction<'a> = &'a dyn Fn(u16, u32) -> Option<f64>;

/// Times of two schemes, and how many times the first one is faster.
fn drawn(
    results: &Results,
    number: &str,
    times: [(&str, CurveFunction<'_>); 2],
    gain: CurveFunction<'_>,
    ids: &[&str],
) -> NamedFigure {
    let along = |name: String, nodes, value: CurveFunction<'_>| {
        let sizes = results.sizes.iter().copied();
        curve(name, sizes, |bytes| value(nodes, bytes))
    };
    let curves = times.iter().flat_map(|(name, value)| {
        NODES.map(|nodes| along(format!("{name}, {nodes} nodes"), nodes, *value))
    });
    let gains = NODES.map(|nodes| along(format!("{nodes} nodes"), nodes, gain));
    let mut gains: Panel = panel("gain", BYTES, GAIN, gains.into());
    gains.marks = ids.iter().filter_map(|id| mark(id)).collect();
    let panels = vec![panel("time", BYTES, TIME, curves.collect()), gains];
    let title = match number {
        "2.5" => "A multi-send and many sends",
        "2.6" => "Multicasts, pipelined, and a binomial tree of sends",
        "2.7" => "Multicasts, not pipelined, and a binomial tree of sends",
        "2.8" => "Multicasts and sends along their best trees, pipelined",
        _ => "Multicasts and sends along their best trees, not pipelined",
    };
    named(
        &format!("multicast-{number}"),
        &format!("{title} (figure {number})"),
        panels,
    )
}

fn mark(id: &str) -> Option<Mark> {
    let figure = TABLE.get(id)?;
    Some(Mark {
        x: f64::from(LONG),
        y: figure.value,
        id: id.into(),
        what: format!("{} nodes, {}", figure.nodes, figure.quantity),
    })
}
