//! `lanigon reproduce emp`: runs the thesis's benchmarks and compares the results with its numbers.
//!
//! A [`EmpPlan`] lists the tasks; each is an independent world.

pub mod answers;
pub mod explain;
pub mod key;
pub mod measure;
pub mod plan;
pub mod published;
pub mod results;
pub mod rows;
mod selection;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

use defs::emp::control::DEFAULT_FRAME_BYTES;
use defs::emp::descriptor::MESSAGE_LIMIT_BYTES;
use defs::emp::frame::header_frame_capacity;
use emulator::image::Image;
use lanigon_experiments::Error;
use lanigon_experiments::conditions::{Conditions, about};
use lanigon_experiments::document::Head;
use lanigon_experiments::drawing::NamedFigure;
use lanigon_experiments::error::profile;
use lanigon_experiments::execute::MeasuredPoints;
use lanigon_experiments::experiment::Experiment;
use lanigon_experiments::page;
use lanigon_experiments::paper::{Choice, ExplainEffect, Paper, ResultRequest, start};
use lanigon_experiments::row::{self, Row};
use lanigon_experiments::statements::{PaperFile, Statements};
use lanigon_experiments::verdict::JudgedClaim;
use lanigon_report::{Block, Section};
use lanigon_worlds::images::{self, FirmwareError};
use lanigon_worlds::{boards, nodes};
use serde::Serialize;

use measure::rounds::Rounds;
use measure::scheme::Scheme;
use plan::Calibrated;
pub use plan::{EmpPlan, Task, TaskResult};
use results::{ProfileResults, Results};
pub use selection::Selection;

/// Numbers and claims.
const STATEMENTS: PaperFile = file!("emp/statements.toml");

/// Entry in the list of papers.
pub static PAPER: Paper = Paper {
    name: "emp",
    about: "Latency and bandwidth of EMP on the Tigon2",
    subject: "EMP on the Alteon Tigon2",
    manual: "emp-results",
    accepts: &[
        Choice::Figure,
        Choice::MaxTime,
        Choice::Profile,
        Choice::Size,
    ],
    explains: ExplainEffect::Schemes,
    table: &published::TABLE,
    calibrated: &[],
    start: start::<Emp>,
};

/// Message sizes of the default run, including both sides of frame and page boundaries.
pub const SIZES: &[u32] = &[
    4, 10, 64, 256, 512, 1024, 1478, 1479, 2048, 2964, 2965, 4096, 4097, 6144, 8192, 8193, 10_240,
    12_288, 14_336, 16_384, 20_480, 24_576, 28_672, 32_768, 40_960, 49_152, 65_536,
];
/// Message sizes of `--quick`.
pub const QUICK_SIZES: &[u32] = &[4, 10, 256, 1478, 1479, 4096, 4097, 8192, 14_336, 65_536];

/// Size used for "small" messages of the thesis.
pub const SMALL: u32 = 10;
/// Size used for "large" messages of the thesis.
pub const LARGE: u32 = 65_536;

/// Length of a message that fills one frame.
pub const FRAME: u32 = header_frame_capacity(DEFAULT_FRAME_BYTES);
/// Message lengths with which other systems are compared, in bytes: none is below that of the shortest message of the thesis.
pub const OTHER_SIZES: [u32; 6] = [4, SMALL, 256, FRAME, 4096, LARGE_LATENCY];
/// The long message of the thesis's latencies (emp-011), in bytes.
pub const LARGE_LATENCY: u32 = 14_336;
/// Message lengths with a ledger: emp-004, and a full frame.
pub const LEDGERS: [u32; 2] = [SMALL, FRAME];

/// The experiment.
#[derive(Debug)]
pub struct Emp {
    statements: Statements,
    plan: EmpPlan,
    selection: Selection,
    /// The scheme that is explained.
    scheme: Option<Scheme>,
    sizes: Vec<u32>,
    /// The profiles, each with the stages' durations.
    calibrated: Vec<Calibrated>,
}

impl Emp {
    /// The experiment that carries out a plan.
    ///
    /// # Errors
    /// A profile cannot be calibrated.
    pub fn for_plan(plan: EmpPlan, selection: Selection) -> Result<Self, Error> {
        let profiles = plan.profiles.iter();
        let calibrated = profiles.map(|profile| plan.calibrate(profile));
        let calibrated: Vec<_> = calibrated.collect::<Result<_, _>>()?;
        let nothing = plan.results(&calibrated, MeasuredPoints::default());
        let nothing = nothing.judged().ok_or(Error::NoRound)?;
        Ok(Self {
            statements: Statements::read(&STATEMENTS, &published::TABLE, nothing)?,
            calibrated,
            selection,
            scheme: None,
            sizes: Vec::new(),
            plan,
        })
    }
}

/// The scheme that `--explain` names.
fn explained(request: &ResultRequest) -> Result<Option<Scheme>, Error> {
    let names = || Scheme::ALL.map(Scheme::name).join(", ");
    match request.explain.as_deref() {
        None => Ok(None),
        Some("") => Err(Error::Request(format!(
            "--explain: which scheme? There are {}",
            names()
        ))),
        Some(name) => Scheme::by_name(name).map(Some).ok_or_else(|| {
            let names = names();
            Error::Request(format!(
                "--explain {name}: there is no such scheme (there are: {names})"
            ))
        }),
    }
}

/// The selected results.
fn selection(
    request: &ResultRequest,
    scheme: Option<Scheme>,
    sizes: &[u32],
) -> Result<Selection, Error> {
    if let Some(scheme) = scheme {
        return Ok(Selection::explanation(scheme));
    }
    match &request.figure {
        Some(id) => Selection::by_id(id, sizes).ok_or_else(|| Error::Request(unknown_figure(id))),
        None if request.sizes.is_empty() => Ok(Selection::whole(sizes)),
        None => Ok(Selection::sizes(sizes)),
    }
}

fn unknown_figure(id: &str) -> String {
    let known = Selection::known();
    match published::TABLE.get(id) {
        Some(number) => format!(
            "--figure {id} ({}): a parameter of the thesis, nothing that could be reproduced (known: {known})",
            number.quantity
        ),
        None => format!(
            "--figure {id}: there is no such figure, table, number or claim (known: {known})"
        ),
    }
}

/// The built images. Base, or the one requested scheme, is required.
fn images(asked: Option<Scheme>) -> Result<BTreeMap<Scheme, Arc<Image>>, Error> {
    let needed = asked.unwrap_or(Scheme::Base);
    let mut images = BTreeMap::new();
    for scheme in Scheme::ALL {
        match images::own_image(scheme.image(), nodes::EMP_SRAM_BYTES) {
            Ok(image) => {
                images.insert(scheme, Arc::new(image));
            }
            Err(FirmwareError::File { error, .. })
                if error.kind() == ErrorKind::NotFound && scheme != needed => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(images)
}

impl Experiment for Emp {
    /// The place of a profile, and what is measured under it.
    type Key = (usize, Task);
    type Point = TaskResult;
    type Results = Results;

    fn new(_: &'static Paper, request: &ResultRequest) -> Result<Self, Error> {
        let scheme = explained(request)?;
        let usual = request.amount.choose([QUICK_SIZES, SIZES, SIZES]);
        let limited = format!("a message has between 1 and {MESSAGE_LIMIT_BYTES} bytes");
        let sizes = request.sizes(usual, 1..=MESSAGE_LIMIT_BYTES, &limited)?;
        let selection = selection(request, scheme, &sizes)?;
        let names = match &request.profile {
            Some(name) => vec![name.as_str()],
            None => boards::DEFAULT.profiles.names().collect(),
        };
        let profiles = names.into_iter().map(profile);
        let plan = EmpPlan {
            profiles: profiles.collect::<Result<_, _>>()?,
            images: images(scheme)?,
            gm: EmpPlan::gm_boards()?,
            no_linux: EmpPlan::no_linux(),
            tasks: selection.tasks.clone(),
            rounds: request
                .amount
                .choose([Rounds::QUICK, Rounds::USUAL, Rounds::FULL]),
            max_time: request.max_time,
            interrupt: Arc::clone(&request.interrupt),
        };
        Ok(Self {
            scheme,
            sizes,
            ..Self::for_plan(plan, selection)?
        })
    }

    fn conditions(&self) -> Result<Conditions, Error> {
        let images = self.plan.images.iter();
        let images = images.map(|(scheme, image)| (scheme.image().to_owned(), image.identity()));
        let gm = self.plan.gm.iter();
        let images = images.chain(gm.map(|(_, image)| ("gm".to_owned(), image.identity())));
        let Rounds {
            least,
            most,
            skipped,
            ..
        } = self.plan.rounds;
        let repeats = format!(
            "{least} to {most} rounds of each benchmark, until its mean is stable, after {skipped} that are ignored"
        );
        Ok(Conditions {
            sizes: self.sizes.clone(),
            ..Conditions::new(about(&self.plan.profiles), images.collect(), repeats)
        })
    }

    fn keys(&self) -> Vec<(usize, Task)> {
        let profiles = 0..self.calibrated.len();
        let tasks = self.plan.possible().into_iter();
        tasks
            .flat_map(|task| profiles.clone().map(move |profile| (profile, task)))
            .filter(|&(profile, task)| {
                !matches!(task, Task::NetPipe(_)) || self.plan.netpipe_of(profile) == profile
            })
            .collect()
    }

    fn measure(&self, &(profile, task): &(usize, Task)) -> Result<TaskResult, Error> {
        self.plan.run_task(&self.calibrated[profile], task)
    }

    fn results(&self, found: MeasuredPoints<(usize, Task), TaskResult>) -> Results {
        self.plan.results(&self.calibrated, found)
    }

    fn statements(&self) -> &Statements {
        &self.statements
    }

    fn rows(&self, _: &Paper, results: &Results) -> Vec<Row> {
        let profiles = results.profiles.iter();
        profiles
            .flat_map(|profile| rows::of_profile(results, profile, &self.selection))
            .collect()
    }

    fn claims(&self, results: &Results) -> Vec<JudgedClaim> {
        let Some(profile) = results.judged() else {
            return Vec::new();
        };
        let mut claims = self.statements.judge(profile, results.limits);
        claims.retain(|claim| self.selection.claims.contains(&claim.id.as_str()));
        for claim in &mut claims {
            let statement = published::claim(&claim.id).unwrap_or_default();
            claim.claim = match claim.claim.as_str() {
                "" => statement.into(),
                taken => format!("{statement} [{taken}]"),
            };
        }
        claims
    }

    fn figures(&self, paper: &Paper, results: &Results) -> Vec<NamedFigure> {
        let wanted = |file: &str| {
            let mut numbers = self.selection.figures.iter();
            numbers.any(|number| file.starts_with(&format!("figure-{number}-")))
        };
        let profiles = results.profiles.iter();
        let drawn = |of: &ProfileResults| self.statements.some_figures(paper.table, of, &wanted);
        profiles.flat_map(drawn).collect()
    }

    fn points(&self, results: &Results) -> impl Serialize {
        self.table(&[], results)
    }

    fn extra(&self, results: &Results) -> impl Serialize {
        rows::extra(results, &self.selection)
    }

    fn text(&self, head: &Head, results: &Results) -> String {
        match self.scheme {
            Some(scheme) => explain::render(results, scheme),
            None => page::text(head, &self.more(results)),
        }
    }

    fn more(&self, results: &Results) -> String {
        let mut text = String::new();
        for of in &results.profiles {
            text += &self.statements.text(of);
            for median in rows::medians(&rows::of_profile(results, of, &self.selection)) {
                text += &format!("{median}\n");
            }
            text += &explain::costs_and_ledger(of);
        }
        for scheme in &results.lacks.missing {
            let (title, image) = (scheme.title(), scheme.image());
            text += &format!("{title}: not measured: no image {image} (make firmware)\n");
        }
        text
    }

    fn table(&self, rows: &[Row], results: &Results) -> Vec<Row> {
        let profiles = results.profiles.iter();
        let points = profiles.flat_map(|profile| rows::points(results, profile, &self.selection));
        rows.iter().cloned().chain(points).collect()
    }

    fn sections(&self, head: &Head, figures: Vec<NamedFigure>, results: &Results) -> Vec<Section> {
        let mut sections = page::sections(head, figures);
        let more = self.more(results);
        let lines = Block::Lines(more.trim_matches('\n').to_owned());
        sections.push(page::section("Tables", vec![lines]));
        let points = row::block("Measured points", &self.table(&[], results));
        sections.push(page::section("Points", vec![points]));
        sections
    }
}

#[cfg(test)]
mod tests;
