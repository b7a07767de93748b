//! Measurements that no publication has: the same operations on boards of Ethernet, with each image, and among up to 1,024 nodes.
//!
//! Each measurement is a scenario of its own: nodes on one switch of Ethernet, or on a Clos network of Myrinet.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use defs::gm::collective::CHILD_LIMIT;
use lanigon_figures::{Curve, Point, Scale};
use lanigon_workloads::collective::CollectiveUse;
use lanigon_worlds::boards::{BOARDS, Medium};
use serde::Serialize;

use super::chapter::Chapter;
use lanigon_experiments::drawing::{NamedFigure, named, whole_panel};
use lanigon_experiments::{Error, scenario};

use super::ExecutedOn;

/// Rounds: the first one is a warm-up.
const ROUNDS: u32 = 11;
/// Profile of the boards whose operations are scaled.
const SCALED: &str = "gm-paper-lanai9.1-133";
/// Nodes on a switch of Ethernet.
const SWITCHED: [u16; 4] = [2, 4, 8, 16];
/// Largest factor between the times for each step at most and least nodes with which time still grows with the steps.
const SAME_SLOPE: f64 = 2.0;

/// Comparison that a measurement belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtraSeries {
    /// Boards of Ethernet with their images.
    Ethernet,
    /// More and more nodes.
    Scaling,
}

/// A measurement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Case {
    /// Comparison that the measurement belongs to.
    pub part: ExtraSeries,
    /// Profile of the boards.
    pub profile: &'static str,
    /// Image of the boards.
    pub image: &'static str,
    /// Number of nodes.
    pub nodes: u16,
    /// Executor of the operation.
    pub on: &'static str,
    /// Whether it is a reduction; otherwise a barrier.
    pub reduction: bool,
}

/// A measured value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredCase {
    /// The measurement.
    #[serde(flatten)]
    pub case: Case,
    /// Time in us: of a barrier the mean from the end of one to that of the next, of a reduction the median from the last call to the
    /// result at the root.
    pub us: f64,
}

/// The measurements beside a table; scaling up to `most` nodes. All-to-all broadcasts have none.
#[must_use]
pub fn cases(table: Chapter, most: u16) -> Vec<Case> {
    let reduction = match table {
        Chapter::Barrier => false,
        Chapter::Reduction => true,
        Chapter::Gossip | Chapter::MpiBarrier => return Vec::new(),
    };
    // A root of a binomial tree has as many children as there are steps.
    let most = match reduction {
        true => most.min(1 << CHILD_LIMIT),
        false => most,
    };
    let mut all = Vec::new();
    for on in [ExecutedOn::Host.name(), ExecutedOn::Nic.name()] {
        let case = |part, profile, image, nodes| Case {
            part,
            profile,
            image,
            nodes,
            on,
            reduction,
        };
        for board in BOARDS
            .iter()
            .filter(|board| board.medium == Medium::Ethernet)
        {
            let Some(gm) = &board.gm else {
                continue;
            };
            for &image in [gm.image].iter().chain(gm.variants) {
                let of = |nodes| case(ExtraSeries::Ethernet, board.profile, image, nodes);
                all.extend(SWITCHED.map(of));
            }
        }
        let nodes = (1..=10).map(|steps| 1 << steps);
        let nodes = nodes.take_while(|nodes| *nodes <= most);
        all.extend(nodes.map(|nodes| case(ExtraSeries::Scaling, SCALED, "gm", nodes)));
    }
    all
}

impl Case {
    /// Scenario of the measurement.
    fn scenario(&self) -> String {
        let (profile, image, nodes, on) = (self.profile, self.image, self.nodes, self.on);
        // One crossbar has 32 ports at most.
        let shape = match self.part {
            ExtraSeries::Scaling if nodes > 32 => "topology = \"clos\", ports = 32",
            ExtraSeries::Ethernet | ExtraSeries::Scaling => "topology = \"star\"",
        };
        let work = match self.reduction {
            true => "run = \"reduction\", skew_us = 0",
            false => "run = \"barrier\"",
        };
        format!(
            "description = \"collective operations\"\nboard = \"{profile}\"\nprotocol = \"gm\"\nimage = \"{image}\"\nseed = 1\n\
             network = {{ {shape}, nodes = {nodes} }}\nprogram = [{{ {work}, nodes = \"all\", rounds = {ROUNDS}, on = \"{on}\" }}]\n"
        )
    }

    /// Measures it.
    ///
    /// # Errors
    /// [`Error`].
    pub fn measure(&self, interrupt: &Arc<AtomicBool>) -> Result<MeasuredCase, Error> {
        let outcome = scenario::run(&self.scenario(), None, interrupt)?;
        let used = outcome.result::<CollectiveUse>();
        let used = used.ok_or(Error::NoRound)?;
        let us = match self.reduction {
            true => used.p50_us,
            false => used.period_us,
        };
        let case = self.clone();
        Ok(MeasuredCase { case, us })
    }
}

/// A row: what is the same on both places, and the times of hosts and of boards.
type ComparedRow = (&'static str, u16, [Option<f64>; 2]);

fn rows(values: &[MeasuredCase], part: ExtraSeries) -> Vec<ComparedRow> {
    let mut rows: Vec<ComparedRow> = Vec::new();
    for value in values.iter().filter(|value| value.case.part == part) {
        let Case {
            image, nodes, on, ..
        } = value.case;
        let place = usize::from(on == ExecutedOn::Nic.name());
        match rows.iter_mut().find(|row| (row.0, row.1) == (image, nodes)) {
            Some(row) => row.2[place] = Some(value.us),
            None => {
                let mut times = [None; 2];
                times[place] = Some(value.us);
                rows.push((image, nodes, times));
            }
        }
    }
    rows
}

const PARTS: [(ExtraSeries, &str); 2] = [
    (
        ExtraSeries::Ethernet,
        "Boards of Ethernet, around one switch (no published values)",
    ),
    (
        ExtraSeries::Scaling,
        "Scaling, on gm-paper-lanai9.1-133 (no published values)",
    ),
];

/// The values as text; empty without any.
#[must_use]
pub fn render(values: &[MeasuredCase]) -> String {
    let mut text = String::new();
    for (part, title) in PARTS {
        let rows = rows(values, part);
        if rows.is_empty() {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\n{title}:\n\n{:<16} {:>6} {:>10} {:>10} {:>11}",
            "image", "nodes", "host, us", "NIC, us", "host / NIC"
        );
        for (image, nodes, [host, nic]) in rows {
            let time = |us: Option<f64>| us.map_or_else(|| "-".into(), |us| format!("{us:.2}"));
            let gain = host.zip(nic).map(|(host, nic)| host / nic);
            let (host, nic, gain) = (time(host), time(nic), time(gain));
            let _ = writeln!(
                text,
                "{image:<16} {nodes:>6} {host:>10} {nic:>10} {gain:>11}"
            );
        }
    }
    if let Some((holds, evidence)) = judge(values) {
        let verdict = if holds { "holds" } else { "fails" };
        let _ = writeln!(
            text,
            "\n{verdict}: time grows with the number of steps [time / log2 nodes, of the most nodes against 4, at most {SAME_SLOPE} times]\n       {evidence}"
        );
    }
    text
}

/// Whether time grows with the logarithm of the nodes; `None`: there are too few.
fn judge(values: &[MeasuredCase]) -> Option<(bool, String)> {
    let rows = rows(values, ExtraSeries::Scaling);
    let step = |row: &ComparedRow, place: usize| Some(row.2[place]? / f64::from(row.1.ilog2()));
    let few = rows.iter().find(|row| row.1 == 4)?;
    let many = rows.last().filter(|row| row.1 > 4)?;
    let mut holds = true;
    let mut text = Vec::new();
    for (place, name) in ["host", "NIC"].into_iter().enumerate() {
        let (few_us, many_us) = (step(few, place)?, step(many, place)?);
        holds &= many_us < SAME_SLOPE * few_us && few_us < SAME_SLOPE * many_us;
        text.push(format!(
            "{name}: {few_us:.2} us for each step with 4 nodes, {many_us:.2} us with {}",
            many.1
        ));
    }
    Some((holds, text.join("; ")))
}

/// The figure of scaling; none without values.
#[must_use]
pub fn figures(values: &[MeasuredCase]) -> Vec<NamedFigure> {
    let rows = rows(values, ExtraSeries::Scaling);
    if rows.is_empty() {
        return Vec::new();
    }
    let curves = ["host", "NIC"].into_iter().enumerate();
    let curves = curves.map(|(place, name)| {
        let point = |row: &ComparedRow| {
            Some(Point {
                x: row.1.into(),
                y: row.2[place]?,
                error: None,
            })
        };
        Curve {
            name: name.into(),
            points: rows.iter().filter_map(point).collect(),
        }
    });
    let (x, y) = (("nodes", Scale::Log2), ("time, us", Scale::Linear));
    let panel = whole_panel(SCALED, x, y, curves.collect());
    vec![named("scaling", "Scaling", vec![panel])]
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn every_case_is_a_scenario() {
        for table in Chapter::ALL {
            for case in cases(table, 1_024) {
                let text = case.scenario();
                let scenario = lanigon_workloads::parse("case", &text);
                assert!(scenario.is_ok(), "{text}: {:?}", scenario.err());
            }
        }
        let most = cases(Chapter::Barrier, 1_024).into_iter();
        assert_eq!(most.map(|case| case.nodes).max(), Some(1_024));
    }

    #[test]
    fn only_growth_with_the_steps_holds() {
        let judged = |us: fn(f64) -> f64| {
            let all = cases(Chapter::Barrier, 256).into_iter();
            let value = |case: Case| MeasuredCase {
                us: us(f64::from(case.nodes)),
                case,
            };
            judge(&all.map(value).collect::<Vec<_>>()).map(|verdict| verdict.0)
        };
        assert_eq!(judged(|nodes| 3.0 + 7.0 * nodes.log2()), Some(true));
        assert_eq!(judged(|nodes| 7.0 * nodes), Some(false));
        assert_eq!(judged(|_| 7.0), Some(false));
        assert_eq!(judge(&[]), None);
    }
}
