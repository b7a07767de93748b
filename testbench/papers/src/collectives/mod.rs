//! Collective operations over GM, on hosts and on NICs: the measurements of Buntinas 2003 (sections 3.5.1, 3.5.4 to 3.5.6,
//! and 4.3) and of the paper on NIC-based all-to-all broadcast (section 6), beside the published figures
//! (docs/collectives.md, docs/mpi.md).
//!
//! The statements of each paper list the measured points: a measure, boards, place and number of nodes, and what the measure has (`measure`).
//! Scenarios beside them, which no publication has, are those of `beyond.toml`.

pub mod explain;
pub mod measure;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lanigon_experiments::Error;
use lanigon_experiments::conditions::{Conditions, about};
use lanigon_experiments::document::ExperimentOutcome;
use lanigon_experiments::drawing::NamedFigure;
use lanigon_experiments::error::profile;
use lanigon_experiments::execute::{MeasuredPoints, OneOf};
use lanigon_experiments::experiment::Experiment;
use lanigon_experiments::formula::{FormulaError, FormulaValue, Measurements};
use lanigon_experiments::grid::{AxisValue, Grid, PointKey, PointValues, Points};
use lanigon_experiments::interval::Estimate;
use lanigon_experiments::means::{self, Means};
use lanigon_experiments::paper::{Amount, ExplainEffect, Paper, ResultRequest, start};
use lanigon_experiments::published::PublishedTable;
use lanigon_experiments::statements::{PaperFile, Statements};
use lanigon_experiments::verdict::{Limits, Sample};
use lanigon_workloads::collective::ExecutedOn;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::gm::Subject;
use crate::gm::bench::Setup;
use measure::MeasuredProgram;

/// Operations of a measurement with `--full`.
const FULL_ROUNDS: u64 = 10_000;
/// Begin of the names of profiles of boards that are as fast as published; the name of the hardware's follows.
const CALIBRATED: &str = "gm-paper-";
/// Scenarios beside the publications, and what is told of them.
const BEYOND: [PaperFile; 2] = [
    file!("collectives/beyond.toml"),
    file!("collectives/beyond-statements.toml"),
];

static TABLES: [PublishedTable; 4] = [
    table!("barrier"),
    table!("reduction"),
    table!("gossip"),
    table!("mpi-barrier"),
];

macro_rules! paper {
    ($name:literal, $manual:literal, $about:literal, $table:expr) => {
        Paper {
            name: $name,
            about: $about,
            subject: concat!("Collective operations, ", $name),
            manual: $manual,
            accepts: &[],
            explains: ExplainEffect::Runs,
            table: $table,
            // A board's clock, and the time of a call of message passing. The other testbed's host barrier is the product of
            // dissertation-069 and 071.
            calibrated: &["dissertation-075", "dissertation-086"],
            start: start::<Collectives>,
        }
    };
}

/// Barriers over GM.
pub static BARRIER: Paper = paper!(
    "barrier",
    "collectives",
    "Barriers over GM, on hosts and on boards",
    &TABLES[0]
);
/// Reductions over GM.
pub static REDUCTION: Paper = paper!(
    "reduction",
    "collectives",
    "Reductions over GM, on hosts and on boards",
    &TABLES[1]
);
/// All-to-all broadcasts.
pub static GOSSIP: Paper = paper!(
    "gossip",
    "collectives",
    "All-to-all broadcasts over GM, on hosts and on boards",
    &TABLES[2]
);
/// Barriers of message passing.
pub static MPI_BARRIER: Paper = paper!(
    "mpi-barrier",
    "mpi",
    "Barriers of message passing over GM, on hosts and on boards",
    &TABLES[3]
);

/// The statements of a paper.
const fn statements(of: &'static str) -> PaperFile {
    match of.as_bytes() {
        b"barrier" => file!("collectives/barrier.toml"),
        b"reduction" => file!("collectives/reduction.toml"),
        b"gossip" => file!("collectives/gossip.toml"),
        _ => file!("collectives/mpi-barrier.toml"),
    }
}

/// The experiment.
#[derive(Debug, Clone)]
pub struct Collectives {
    paper: &'static Paper,
    statements: Statements,
    /// The points of the publication.
    points: Vec<PointKey>,
    /// Scenarios beside them, and what is told of them.
    beyond: (Grid, Statements),
    /// By the hardware's profile.
    boards: BTreeMap<String, Subject>,
    /// Operations of a measurement.
    rounds: u64,
    interrupt: Arc<AtomicBool>,
}

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The points of the publication.
    means: Means,
    /// Points that no publication has.
    beyond: Points,
}

impl Sample for Results {
    fn means(&mut self) -> Vec<&mut Estimate> {
        self.means.means()
    }

    fn name(&self, place: usize) -> String {
        self.means.name(place)
    }
}

impl Measurements for Results {
    fn find(&self, measure: &str, at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        self.means.find(measure, at)
    }
}

impl Collectives {
    fn setup(&self, board: &str) -> Result<Setup<'_>, Error> {
        let boards = self.boards.get(board).ok_or(Error::NoRound)?;
        Ok(boards.setup(&self.interrupt))
    }
}

/// The boards of a point.
fn board(key: &PointKey) -> String {
    key.get(1).map(AxisValue::to_string).unwrap_or_default()
}

impl Experiment for Collectives {
    /// A point of a publication, or a scenario that no publication has.
    type Key = OneOf<PointKey, PointKey>;
    type Point = OneOf<Estimate, PointValues>;
    type Results = Results;

    fn new(paper: &'static Paper, request: &ResultRequest) -> Result<Self, Error> {
        let file = statements(paper.name);
        let statements = Statements::read(&file, paper.table, &Results::default())?;
        let rounds = request.amount.choose([40, 200, FULL_ROUNDS]);
        let listed = statements.points(request.amount == Amount::Quick, &Results::default());
        let points = means::points(&listed.map_err(|error| file.invalid(error))?);
        let mut boards = BTreeMap::new();
        for key in &points {
            if MeasuredProgram::read(key, rounds).is_none() {
                return Err(file.invalid(format!("points: there is no {key:?}")));
            }
            let board = board(key);
            let name = format!("{CALIBRATED}{board}");
            if let Entry::Vacant(entry) = boards.entry(board) {
                entry.insert(Subject::usual(profile(&name)?)?);
            }
        }
        let grid = Grid::new(BEYOND[0], request)?;
        let nothing = grid.points(MeasuredPoints::default());
        let told = Statements::read(&BEYOND[1], paper.table, &nothing)?;
        Ok(Self {
            paper,
            statements,
            points,
            beyond: (grid, told),
            boards,
            rounds,
            interrupt: Arc::clone(&request.interrupt),
        })
    }

    fn conditions(&self) -> Result<Conditions, Error> {
        let boards = self.boards.values();
        let images = boards.map(|boards| (boards.image.to_owned(), boards.loaded.identity()));
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
        let mut beyond = self.beyond.0.keys();
        // The last axis tells reductions from barriers; other operations have no such scenarios.
        let reduction = AxisValue::Flag(self.paper.name == REDUCTION.name);
        let has_some = [BARRIER.name, REDUCTION.name].contains(&self.paper.name);
        beyond.retain(|key| has_some && key.last() == Some(&reduction));
        let points = self.points.iter().cloned().map(OneOf::First);
        points
            .chain(beyond.into_iter().map(OneOf::Second))
            .collect()
    }

    fn measure(&self, key: &Self::Key) -> Result<Self::Point, Error> {
        Ok(match key {
            OneOf::First(key) => OneOf::First(self.setup(&board(key))?.measure(key, self.rounds)?),
            OneOf::Second(key) => OneOf::Second(self.beyond.0.measure(key)?),
        })
    }

    fn results(&self, found: MeasuredPoints<Self::Key, Self::Point>) -> Results {
        let (means, beyond) = found.split();
        Results {
            means: means.points.into_iter().collect(),
            beyond: self.beyond.0.points(beyond),
        }
    }

    fn statements(&self) -> &Statements {
        &self.statements
    }

    /// Rounds of most points: all-to-all broadcasts have a fourth of the others'.
    fn limits(&self) -> Limits {
        let share = match self.paper.name == GOSSIP.name {
            true => 4,
            false => 1,
        };
        Limits {
            run: (self.rounds / share) as usize,
            full: (FULL_ROUNDS / share) as usize,
        }
    }

    fn figures(&self, paper: &Paper, results: &Results) -> Vec<NamedFigure> {
        let mut all = self.statements.figures(paper.table, results);
        all.extend(self.beyond.1.figures(paper.table, &results.beyond));
        all
    }

    fn points(&self, results: &Results) -> impl Serialize {
        results.means.clone()
    }

    fn extra(&self, results: &Results) -> impl Serialize {
        let pairs = serde_json::to_value(&results.beyond);
        let pairs = pairs.and_then(serde_json::from_value::<Vec<[Map<String, Value>; 2]>>);
        let flat = |[mut axes, mut measures]: [Map<String, Value>; 2]| {
            let measure = match axes["reduction"] == true {
                true => "p50_us",
                false => "period_us",
            };
            axes.extend(measures.remove(measure).map(|us| ("us".into(), us)));
            axes
        };
        let beyond: Vec<_> = pairs.unwrap_or_default().into_iter().map(flat).collect();
        BTreeMap::from([("beyond", beyond)])
    }

    fn more(&self, results: &Results) -> String {
        self.beyond.1.text(&results.beyond)
    }

    /// Explains operations: the critical path of each, on hosts and on boards.
    fn explain(&self) -> Result<ExperimentOutcome, Error> {
        let mut all = Vec::new();
        for (board, nodes, mut settings) in explain::subjects(self.paper) {
            for on in [ExecutedOn::Host, ExecutedOn::Nic] {
                settings.on = on;
                if explain::is_on(settings.work, on) {
                    all.push(self.setup(board)?.explain_operation(nodes, &settings)?);
                }
            }
        }
        ExperimentOutcome::explanation(&all, explain::write)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    static PAPERS: [&Paper; 4] = [&BARRIER, &REDUCTION, &GOSSIP, &MPI_BARRIER];

    /// An experiment, and results in which the NIC is twice as fast as the host everywhere, or `nic` times as slow.
    fn made_up(paper: &'static Paper, amount: Amount, nic: f64) -> (Collectives, Results) {
        let request = ResultRequest {
            amount,
            ..ResultRequest::default()
        };
        let file = statements(paper.name);
        let statements = Statements::read(&file, paper.table, &Results::default()).unwrap();
        let listed = statements.points(amount == Amount::Quick, &Results::default());
        let points = means::points(&listed.unwrap());
        let value = |key: &PointKey| match (&key[2], &key[3]) {
            (on, AxisValue::Count(nodes)) => {
                let factor = if *on == "nic".into() { nic } else { 1.0 };
                factor * 100.0 * *nodes as f64
            }
            _ => panic!("{key:?}"),
        };
        let means = points.iter().map(|key| {
            assert!(MeasuredProgram::read(key, 40).is_some(), "{key:?}");
            (key.clone(), Estimate::single(value(key)))
        });
        let results = Results {
            means: means.collect(),
            ..Results::default()
        };
        let collectives = Collectives {
            paper,
            statements,
            points,
            beyond: (
                Grid::new(BEYOND[0], &request).unwrap(),
                Statements::default(),
            ),
            boards: BTreeMap::new(),
            rounds: 200,
            interrupt: Arc::default(),
        };
        (collectives, results)
    }

    #[test]
    fn every_figure_has_an_answer_in_a_whole_and_a_quick_run() {
        for (paper, amount) in PAPERS
            .into_iter()
            .flat_map(|paper| [(paper, Amount::Usual), (paper, Amount::Quick)])
        {
            let (collectives, results) = made_up(paper, amount, 0.5);
            for row in collectives.rows(paper, &results) {
                assert!(row.measured.is_some(), "{row:?}");
            }
            let open = collectives.claims(&results);
            let missing = open.iter().filter(|one| one.evidence.contains("missing"));
            assert_eq!(missing.count(), 0, "{open:?}");
            for row in collectives.rows(paper, &Results::default()) {
                assert_eq!((row.measured, row.role), (None, "not measured"));
            }
            collectives.beyond.0.check().unwrap();
        }
    }

    #[test]
    fn a_gain_is_the_host_against_the_nic() {
        let (collectives, results) = made_up(&BARRIER, Amount::Usual, 0.5);
        let row = |id: &str| {
            let mut all = collectives.rows(&BARRIER, &results).into_iter();
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
            let (collectives, results) = made_up(&REDUCTION, Amount::Usual, nic);
            let judged = collectives.claims(&results);
            judged.into_iter().find(|one| one.id == id).unwrap().holds
        };
        assert_eq!(holds(2.0, "dissertation-153"), Some(true));
        assert_eq!(holds(0.5, "dissertation-153"), Some(false));
    }

    #[test]
    fn only_growth_with_the_steps_holds() {
        let (grid, _) = made_up(&BARRIER, Amount::Usual, 1.0).0.beyond;
        let nothing = grid.points(MeasuredPoints::default());
        let told = Statements::read(&BEYOND[1], BARRIER.table, &nothing).unwrap();
        let text = |us: fn(f64) -> f64| {
            let point = |key: PointKey| match key[3] {
                AxisValue::Count(nodes) => (key, vec![vec![us(nodes as f64)]; 2]),
                _ => panic!("{key:?}"),
            };
            let points = grid.keys().into_iter().map(point).collect();
            told.text(&grid.points(MeasuredPoints {
                points,
                partial: false,
            }))
        };
        assert!(text(|nodes| 3.0 + 7.0 * nodes.log2()).contains("\nholds: time grows"));
        assert!(text(|nodes| 7.0 * nodes).contains("\nfails: time grows"));
        assert!(text(|_| 7.0).contains("\nfails: time grows"));
        assert_eq!(told.text(&nothing).matches("time grows").count(), 0);
    }

    #[test]
    fn every_line_is_read() {
        let mut ids = BTreeSet::new();
        for paper in PAPERS {
            let PublishedTable { name, text, .. } = paper.table;
            assert_eq!(
                paper.table.numbers().len(),
                text.lines().count() - 1,
                "{name}"
            );
            for figure in paper.table.numbers() {
                assert!(ids.insert(figure.id), "{} twice", figure.id);
                let profile = format!("gm-paper-{}", figure.profile);
                let known = lanigon_worlds::profile::built_in(&profile);
                assert!(known.is_ok(), "{}: {profile}", figure.id);
                assert!((2..=32).contains(&figure.nodes), "{}", figure.id);
                assert!(figure.value.is_finite() && figure.value > 0.0);
            }
        }
    }
}
