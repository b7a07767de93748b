//! The paper's figures 8 to 14, with the published points.

use lanigon_figures::{Curve, Panel, Scale};

use super::TABLE;
use super::results::{APPLICATIONS, LARGE, NODES, PAPERS, PROTOCOLS, Results, SMALL, TESTBEDS};
use lanigon_experiments::drawing::{NamedFigure, curve, marks, named, panel};

const BY_NODES: (&str, Scale) = ("nodes", Scale::Log2);
const TIME: (&str, Scale) = ("time, us", Scale::Linear);

/// Figures of the paper, with the measured and the published points.
#[must_use]
pub fn figures(results: &Results) -> Vec<NamedFigure> {
    if results.points.is_empty() {
        return Vec::new();
    }
    let mut all = vec![fetches(results)];
    for &size in results.sizes() {
        let by_nodes = |number: u32, title: &str, y: &'static str, of: &str| {
            let panels = APPLICATIONS.map(|(program, name)| {
                let value =
                    |nodes, ardmar| results.mean((PAPERS, program, size, nodes), ardmar, of);
                let curves = curves(&value);
                panel(name, BY_NODES, (y, Scale::Linear), curves)
            });
            drawn(number, title, size, panels.into())
        };
        all.extend([
            speed_ups(results, size),
            by_nodes(10, "Execution time", "time, us", "total_us"),
            gains(results, size),
            by_nodes(12, "Time in handlers", "time, us", "handler_us"),
            by_nodes(13, "Page time", "time, us", "page_us"),
            by_nodes(14, "Page faults", "faults", "faults"),
        ]);
    }
    all
}

fn drawn(number: u32, title: &str, size: &str, panels: Vec<Panel>) -> NamedFigure {
    let size = size.to_lowercase();
    named(
        &format!("ardmar-{number}-{size}"),
        &format!("{title} by nodes, {size} sizes (figure {number})"),
        panels,
    )
}

/// A curve for each protocol.
fn curves(value: &dyn Fn(u16, bool) -> Option<f64>) -> Vec<Curve> {
    let of = |(ardmar, name): (bool, &str)| curve(name, NODES, |nodes| value(nodes, ardmar));
    PROTOCOLS.map(of).into()
}

/// Figure 8.
fn fetches(results: &Results) -> NamedFigure {
    let panels = TESTBEDS.map(|(testbed, name)| {
        let curves = curves(&|nodes, ardmar| results.fetch_us(testbed, nodes, ardmar));
        let mut panel = panel(name, BY_NODES, TIME, curves);
        if testbed == PAPERS {
            panel.marks = marks(&TABLE, &[("ardmar-023", 2.0), ("ardmar-026", 2.0)]);
        }
        panel
    });
    named("ardmar-8", "Time of a page fetch (figure 8)", panels.into())
}

/// Figure 9.
fn speed_ups(results: &Results, size: &str) -> NamedFigure {
    let panels = APPLICATIONS.map(|(program, name)| {
        let value = |nodes, ardmar| results.speed_up(program, size, nodes, ardmar);
        let y = ("speed-up", Scale::Linear);
        panel(name, BY_NODES, y, curves(&value))
    });
    drawn(9, "Speed-up over one node", size, panels.into())
}

/// The factors that the text on figure 10 states.
fn gains(results: &Results, size: &str) -> NamedFigure {
    let of = |(program, name): (&str, &str)| {
        let gain = |nodes| results.gain((PAPERS, program, size, nodes));
        curve(name, NODES, gain)
    };
    let all = APPLICATIONS.map(of);
    let y = ("async / ardmar", Scale::Linear);
    let mut panel = panel("execution time", BY_NODES, y, all.into());
    let ids: &[&str] = match size {
        LARGE => &[
            "ardmar-040",
            "ardmar-042",
            "ardmar-043",
            "ardmar-044",
            "ardmar-045",
        ],
        SMALL => &["ardmar-041"],
        _ => &[],
    };
    let places: Vec<_> = ids.iter().map(|id| (*id, 16.0)).collect();
    panel.marks = marks(&TABLE, &places);
    let size = size.to_lowercase();
    named(
        &format!("ardmar-10-gain-{size}"),
        &format!("Gain by nodes, {size} sizes (section 5.3.1)"),
        vec![panel],
    )
}
