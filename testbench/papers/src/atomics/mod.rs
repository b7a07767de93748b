//! Atomic operations and locks: the measurements of Buntinas 2003, section 5.4, beside the published figures (docs/gm-atomics.md).
//!
//! The file `experiment.toml` holds the measured points, `statements.toml` what is stated of them.

use lanigon_experiments::paper::{ExplainEffect, Paper, start};
use lanigon_experiments::published::PublishedTable;
use lanigon_experiments::scenarios::{Scenarios, ScenariosOf};
use lanigon_experiments::statements::PaperFile;

/// The published figures.
static TABLE: PublishedTable = table!("atomics");

/// Entry in the list of papers.
pub static PAPER: Paper = Paper {
    name: "atomics",
    about: "Atomic operations and locks over GM, on hosts and on boards",
    subject: "Operations on words, atomics",
    manual: "gm-atomics",
    accepts: &[],
    explains: ExplainEffect::Nothing(
        "there is no critical path of atomic operations; `lanigon ledger` splits the messages to servers",
    ),
    table: &TABLE,
    calibrated: &["dissertation-189"],
    start: start::<ScenariosOf<Atomics>>,
};

/// The experiment.
#[derive(Debug)]
pub struct Atomics;

impl Scenarios for Atomics {
    const FILE: PaperFile = file!("atomics/experiment.toml");
    const STATEMENTS: PaperFile = file!("atomics/statements.toml");
}

#[cfg(test)]
mod tests {
    use lanigon_experiments::grid::{AxisValue, PointKey, PointValues};
    use lanigon_experiments::scenarios;

    use super::*;

    /// Boards without mutex are twice as fast as servers.
    fn point(key: &PointKey) -> PointValues {
        let us = match key[1] == "no-mutex".into() {
            true => 10.0,
            false => 20.0,
        };
        let pause_us = match key[5] {
            AxisValue::Count(us) if us > 0 => us as f64,
            _ => 1e6,
        };
        let uses = 1e6 / pause_us;
        let all = [us, us, 10_000.0, uses, 1e6, us * uses / 1e6];
        all.map(|value| vec![value]).into()
    }

    #[test]
    fn every_figure_and_claim_has_an_answer_in_each_amount() {
        let values = scenarios::check::<Atomics>(&PAPER, point);
        for id in ["dissertation-190", "dissertation-194", "dissertation-202"] {
            assert!((values[id] - 2.0).abs() < 1e-9, "{id}: {}", values[id]);
        }
    }
}
