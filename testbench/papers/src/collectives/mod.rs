//! Collective operations over GM, on hosts and on NICs: the measurements of Buntinas 2003 (sections 3.5.1, 3.5.4 to 3.5.6,
//! and 4.3) and of the paper on NIC-based all-to-all broadcast (section 6), beside the published figures
//! (docs/collectives.md, docs/mpi.md).
//!
//! A measurement is a function of a [`Setup`]: profile, image, and the place where the operation is executed.

pub mod beyond;
pub mod chapter;
pub mod explain;
pub mod key;
pub mod measure;
pub mod results;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::image::Image;
use emulator::profile::Profile;
use lanigon_experiments::Error;
use lanigon_experiments::conditions::{Conditions, about};
use lanigon_experiments::document::ExperimentOutcome;
use lanigon_experiments::drawing::NamedFigure;
use lanigon_experiments::error::profile;
use lanigon_experiments::execute::{MeasuredPoints, OneOf};
use lanigon_experiments::experiment::Experiment;
use lanigon_experiments::interval::Estimate;
use lanigon_experiments::paper::{Amount, Paper, ResultRequest};
use lanigon_experiments::statements::Statements;
use lanigon_experiments::verdict::Limits;
use serde::Serialize;

pub use lanigon_workloads::collective::ExecutedOn;

use crate::gm;
use beyond::{Case, MeasuredCase};
use chapter::Chapter;
use key::Key;
use results::Results;

/// Operations of a measurement with `--full`.
const FULL_ROUNDS: u64 = 10_000;
/// Begin of the names of profiles of boards that are as fast as published; the name of the hardware's follows.
const CALIBRATED: &str = "gm-paper-";

/// Firmware, costs and executor of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// The firmware.
    pub image: &'a Image,
    /// The costs.
    pub profile: &'a Profile,
    /// Executor of the operation.
    pub on: ExecutedOn,
    /// Set when the user interrupts.
    pub interrupt: &'a Arc<AtomicBool>,
}

/// Boards that are measured: their costs, and their image with its name.
#[derive(Debug, Clone)]
struct Boards {
    profile: Profile,
    name: &'static str,
    image: Image,
}

/// The experiment.
#[derive(Debug, Clone)]
pub struct Collectives {
    chapter: Chapter,
    statements: Statements,
    /// The points of the publication.
    points: Vec<Key>,
    amount: Amount,
    /// By the hardware's profile.
    boards: BTreeMap<&'static str, Boards>,
    /// Operations of a measurement.
    rounds: u64,
    interrupt: Arc<AtomicBool>,
}

impl Collectives {
    fn setup(&self, board: &str, on: ExecutedOn) -> Setup<'_> {
        let boards = &self.boards[board];
        Setup {
            image: &boards.image,
            profile: &boards.profile,
            on,
            interrupt: &self.interrupt,
        }
    }
}

impl Experiment for Collectives {
    /// A point of a publication, or one that no publication has.
    type Key = OneOf<Key, Case>;
    type Point = OneOf<Estimate, MeasuredCase>;
    type Results = Results;

    fn new(paper: &'static Paper, request: &ResultRequest) -> Result<Self, Error> {
        let chapter = Chapter::from_paper(paper).ok_or(Error::NoRound)?;
        let statements = chapter.statements()?;
        let mut collectives = Self {
            chapter,
            points: chapter.points(&statements, request.amount)?,
            statements,
            amount: request.amount,
            boards: BTreeMap::new(),
            rounds: request.amount.choose([40, 200, FULL_ROUNDS]),
            interrupt: Arc::clone(&request.interrupt),
        };
        for Key { board, .. } in &collectives.points {
            if !collectives.boards.contains_key(board) {
                let profile = profile(&format!("{CALIBRATED}{board}"))?;
                let (name, image) = gm::image(&profile)?;
                let boards = Boards {
                    profile,
                    name,
                    image,
                };
                collectives.boards.insert(board, boards);
            }
        }
        Ok(collectives)
    }

    fn conditions(&self) -> Result<Conditions, Error> {
        let boards = self.boards.values();
        let images = boards.map(|boards| (boards.name.to_owned(), boards.image.identity()));
        let images: BTreeMap<_, _> = images.collect();
        Ok(Conditions::new(
            about(self.boards.values().map(|boards| &boards.profile)),
            images.into_iter().collect(),
            format!(
                "{} operations after 20 that are ignored; all-to-all broadcasts a fourth of them",
                self.rounds
            ),
        ))
    }

    fn keys(&self) -> Vec<Self::Key> {
        let mut cases = beyond::cases(self.chapter, self.amount.choose([64, 256, 1_024]));
        // Long runs first: threads end at about the same time.
        cases.sort_by_key(|case| std::cmp::Reverse(case.nodes));
        let points = self.points.iter().copied().map(OneOf::First);
        points.chain(cases.into_iter().map(OneOf::Second)).collect()
    }

    fn measure(&self, key: &Self::Key) -> Result<Self::Point, Error> {
        Ok(match key {
            OneOf::First(key) => {
                let setup = self.setup(key.board, key.on);
                OneOf::First(key.measure(&setup, self.rounds)?)
            }
            OneOf::Second(case) => OneOf::Second(case.measure(&self.interrupt)?),
        })
    }

    fn results(&self, found: MeasuredPoints<Self::Key, Self::Point>) -> Results {
        let (points, beyond) = found.split();
        let beyond = beyond.points.into_iter().map(|(_, value)| value);
        let mut results = Results {
            points: points.points.into_iter().collect(),
            beyond: beyond.collect(),
        };
        // Threads end in any order.
        results.beyond.sort_by(|a, b| a.case.cmp(&b.case));
        results
    }

    fn statements(&self) -> &Statements {
        &self.statements
    }

    /// Rounds of most points: all-to-all broadcasts have a fourth of the others'.
    fn limits(&self) -> Limits {
        let share = if self.chapter == Chapter::Gossip {
            4
        } else {
            1
        };
        Limits {
            run: (self.rounds / share) as usize,
            full: (FULL_ROUNDS / share) as usize,
        }
    }

    fn figures(&self, paper: &Paper, results: &Results) -> Vec<NamedFigure> {
        let mut all = self.statements.figures(paper.table, results);
        all.extend(beyond::figures(&results.beyond));
        all
    }

    fn points(&self, results: &Results) -> impl Serialize {
        Vec::from_iter(results.points.clone())
    }

    fn extra(&self, results: &Results) -> impl Serialize {
        BTreeMap::from([("beyond", results.beyond.clone())])
    }

    fn more(&self, results: &Results) -> String {
        beyond::render(&results.beyond)
    }

    /// Explains operations: the critical path of each, on hosts and on boards.
    fn explain(&self) -> Result<ExperimentOutcome, Error> {
        let mut all = Vec::new();
        for (board, nodes, settings) in explain::subjects(self.chapter) {
            let places = [ExecutedOn::Host, ExecutedOn::Nic].into_iter();
            for on in places.filter(|on| explain::is_on(settings.work, *on)) {
                all.push(self.setup(board, on).explain(nodes, &settings)?);
            }
        }
        ExperimentOutcome::explanation(&all, explain::write)
    }
}

#[cfg(test)]
mod tests {
    use lanigon_experiments::row::Row;
    use lanigon_experiments::verdict::JudgedClaim;

    use super::chapter::PAPERS;
    use super::key::keys;
    use super::*;

    fn of(chapter: Chapter) -> Collectives {
        Collectives {
            chapter,
            statements: chapter.statements().unwrap(),
            points: Vec::new(),
            amount: Amount::Usual,
            boards: BTreeMap::new(),
            rounds: 200,
            interrupt: std::sync::Arc::default(),
        }
    }

    fn points(chapter: Chapter, quick: bool) -> Vec<Key> {
        keys(&chapter.statements().unwrap(), quick).unwrap()
    }

    fn rows(chapter: Chapter, results: &Results) -> Vec<Row> {
        of(chapter).rows(&PAPERS[chapter as usize], results)
    }

    fn judge(chapter: Chapter, results: &Results) -> Vec<JudgedClaim> {
        of(chapter).claims(results)
    }

    /// Results in which the NIC is twice as fast as the host everywhere, or `nic` times as slow.
    fn results(table: Chapter, nic: f64) -> Results {
        let value = |key: Key| match key.on {
            ExecutedOn::Host => 100.0 * f64::from(key.nodes),
            ExecutedOn::Nic => nic * 100.0 * f64::from(key.nodes),
        };
        let points = points(table, false);
        Results {
            points: points
                .into_iter()
                .map(|key| (key, Estimate::single(value(key))))
                .collect(),
            ..Results::default()
        }
    }

    #[test]
    fn every_figure_has_an_answer_in_a_whole_and_a_quick_run() {
        for table in Chapter::ALL {
            let whole = results(table, 0.5);
            let quick = points(table, true);
            let quick = Results {
                points: whole
                    .points
                    .clone()
                    .into_iter()
                    .filter(|(key, _)| quick.contains(key))
                    .collect(),
                ..Results::default()
            };
            for results in [&whole, &quick] {
                for row in rows(table, results) {
                    assert!(row.measured.is_some(), "{row:?}");
                }
                let open = judge(table, results);
                let missing = open.iter().filter(|one| one.evidence.contains("missing"));
                assert_eq!(missing.count(), 0, "{open:?}");
            }
            for row in rows(table, &Results::default()) {
                assert_eq!((row.measured, row.role), (None, "not measured"));
            }
        }
    }

    #[test]
    fn a_gain_is_the_host_against_the_nic() {
        let results = results(Chapter::Barrier, 0.5);
        let row = |id: &str| {
            let mut all = rows(Chapter::Barrier, &results).into_iter();
            all.find(|row| row.id == Some(id)).unwrap()
        };
        assert_eq!(row("dissertation-071").measured, Some(2.0));
        assert_eq!(row("dissertation-074").measured, Some(400.0));
        assert_eq!(row("dissertation-075").measured, Some(800.0));
        assert_eq!(row("dissertation-075").role, "calibrated");
    }

    #[test]
    fn claims_can_hold_and_fail() {
        let holds = |nic, id: &str| {
            let judged = judge(Chapter::Reduction, &results(Chapter::Reduction, nic));
            judged.into_iter().find(|one| one.id == id).unwrap().holds
        };
        assert_eq!(holds(2.0, "dissertation-153"), Some(true));
        assert_eq!(holds(0.5, "dissertation-153"), Some(false));
    }
}
