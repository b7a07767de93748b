//! Broadcasts and reductions that go on while programs compute, beside usual ones (dissertation, chapter 6; the paper on reductions with
//! application bypass; docs/mpi.md, section 6): programs of message passing on the publications' cluster.

use lanigon_experiments::paper::{ExplainEffect, Paper, start};
use lanigon_experiments::published::PublishedTable;
use lanigon_experiments::scenarios::{Scenarios, ScenariosOf};
use lanigon_experiments::statements::PaperFile;

/// Reason for which late processes are not explained.
const LATE: ExplainEffect = ExplainEffect::Nothing(
    "late processes have no critical path; `mpi time` of `lanigon run scenarios/mpi-bypass.toml` tells where their time goes",
);

static BROADCASTS: PublishedTable = table!("ab-broadcast");
static REDUCTIONS: PublishedTable = table!("ab-reduction");

/// The paper of broadcasts.
pub static BROADCAST: Paper = Paper {
    name: "ab-broadcast",
    about: "Broadcasts of message passing that go on while programs compute",
    subject: "Collective operations, ab-broadcast",
    manual: "mpi",
    accepts: &[],
    explains: LATE,
    table: &BROADCASTS,
    calibrated: &["dissertation-228"],
    start: start::<ScenariosOf<Broadcast>>,
};

/// The paper of reductions.
pub static REDUCTION: Paper = Paper {
    name: "ab-reduction",
    about: "Reductions of message passing that go on while programs compute",
    subject: "Collective operations, ab-reduction",
    manual: "mpi",
    accepts: &[],
    explains: LATE,
    table: &REDUCTIONS,
    calibrated: &["ab-reduction-023"],
    start: start::<ScenariosOf<Reduction>>,
};

/// Experiment on broadcasts.
#[derive(Debug)]
pub struct Broadcast;

impl Scenarios for Broadcast {
    const FILE: PaperFile = file!("bypass/broadcast.toml");
    const STATEMENTS: PaperFile = file!("bypass/broadcast-statements.toml");
}

/// Experiment on reductions.
#[derive(Debug)]
pub struct Reduction;

impl Scenarios for Reduction {
    const FILE: PaperFile = file!("bypass/reduction.toml");
    const STATEMENTS: PaperFile = file!("bypass/reduction-statements.toml");
}

#[cfg(test)]
mod tests {
    use lanigon_experiments::grid::{PointKey, PointValues};
    use lanigon_experiments::scenarios;

    use super::*;

    /// With bypass, the last axis, an operation takes half of the time.
    fn point(key: &PointKey) -> PointValues {
        let us = match key.last() == Some(&true.into()) {
            true => 50.0,
            false => 100.0,
        };
        vec![vec![us], vec![us + 5.0]]
    }

    #[test]
    fn every_figure_and_claim_has_an_answer_in_each_amount() {
        scenarios::check::<Broadcast>(&BROADCAST, point);
        scenarios::check::<Reduction>(&REDUCTION, point);
    }
}
