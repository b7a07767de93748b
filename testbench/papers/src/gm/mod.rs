//! `lanigon reproduce gm`: GM on all boards that run it, beside the published figures (docs/gm.md).
//!
//! Each measurement is a world of its own: two nodes and one crossbar or, on Ethernet, one cable, with the built firmware. The costs are
//! those of the profiles: a figure on which its profile is calibrated is labelled so, the others are predictions.

pub mod bench;
pub mod explain;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::image::Image;
use emulator::profile::Profile;
use lanigon_experiments::Error;
use lanigon_experiments::conditions::{Conditions, about};
use lanigon_experiments::document::ExperimentOutcome;
use lanigon_experiments::error::profile;
use lanigon_experiments::execute::MeasuredPoints;
use lanigon_experiments::experiment::Experiment;
use lanigon_experiments::formula::{FormulaError, FormulaValue, Measurements};
use lanigon_experiments::grid::{AxisValue, PointKey};
use lanigon_experiments::interval::Estimate;
use lanigon_experiments::key;
use lanigon_experiments::means::Means;
use lanigon_experiments::paper::{Amount, Choice, ExplainEffect, Paper, ResultRequest, start};
use lanigon_experiments::published::{Published, PublishedTable};
use lanigon_experiments::row::{self, PREDICTED, Row};
use lanigon_experiments::statements::{PaperFile, Statements};
use lanigon_experiments::verdict::Sample;
use lanigon_worlds::boards::{self, BOARDS, GmFirmware, Medium};
use lanigon_worlds::gm::GmWorldError;
use serde::Serialize;
use serde_json::json;

pub use bench::Directions;

/// Numbers, figures and texts.
const STATEMENTS: PaperFile = file!("gm/statements.toml");
/// The published figures.
pub static TABLE: PublishedTable = table!("gm");

/// Entry in the list of papers.
pub static PAPER: Paper = Paper {
    name: "gm",
    about: "Latency and bandwidth of GM on boards of all types",
    subject: "GM",
    manual: "gm",
    accepts: &[Choice::Profile, Choice::Size],
    explains: ExplainEffect::Runs,
    table: &TABLE,
    calibrated: &[],
    start: start::<Gm>,
};

/// Profiles on Myrinet that are measured, fastest first.
const ON_MYRINET: [&str; 4] = ["lanai9.2-200", "lanai9.1-133", "lanai7.2-66", "lanai4.3-33"];

/// Profiles that are measured: those on Myrinet, then those of boards on Ethernet. Of boards that run the same image that is the first one.
#[must_use]
pub fn profiles() -> Vec<&'static str> {
    let mut images = Vec::new();
    let mut all = ON_MYRINET.to_vec();
    for board in &BOARDS {
        let is_on_ethernet = board.medium == Medium::Ethernet;
        let Some(gm) = board.gm.filter(|_| is_on_ethernet) else {
            continue;
        };
        if !images.contains(&gm.image) {
            images.push(gm.image);
            all.push(board.profile);
        }
    }
    all
}

/// Lengths of messages, in bytes. A packet holds up to 4,096.
pub const SIZES: &[u32] = &[
    0, 1, 8, 32, 64, 128, 129, 256, 512, 768, 1024, 1280, 1536, 2048, 3072, 4096, 4097, 8192,
    16_384, 65_536,
];
/// Lengths of the quick run.
pub const QUICK_SIZES: &[u32] = &[8, 128, 1024, 4096, 65_536];

/// The short message of the published latencies.
pub const SHORT: u32 = 8;
/// The long message of the published bandwidths.
pub const LONG: u32 = 65_536;

/// Measures of messages of a length.
const CURVES: [&str; 3] = ["latency", "one_way", "two_way"];
/// Processor time of the library for a send, its event, a receive and the next buffer, in us.
const HOST: &str = "host";
/// Begin of the names of calibrated profiles; that of the hardware's profile follows.
const CALIBRATED: &str = "gm-paper-";
/// Latencies for which the clock of such a profile was chosen; that of others was chosen for a barrier.
const LATENCIES: [&str; 2] = ["gm-001", "gm-006"];

/// An image on the boards of a profile.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub profile: Profile,
    /// Name of the image.
    pub image: &'static str,
    pub loaded: Image,
}

impl Subject {
    /// The usual image of a profile's boards.
    pub fn usual(profile: Profile) -> Result<Self, Error> {
        let (image, loaded) = image(&profile)?;
        Ok(Self {
            profile,
            image,
            loaded,
        })
    }

    pub fn setup<'a>(&'a self, interrupt: &'a Arc<AtomicBool>) -> bench::Setup<'a> {
        bench::Setup {
            image: &self.loaded,
            profile: &self.profile,
            interrupt,
        }
    }

    /// The point of a measure with messages of a length.
    fn key(&self, measure: &str, bytes: Option<u32>) -> PointKey {
        let mut key = key![measure, self.profile.name.as_str(), self.image];
        key.extend(bytes.map(AxisValue::from));
        key
    }

    /// The profile of the hardware that the profile is about.
    fn hardware(&self) -> &str {
        let name = &self.profile.name;
        name.strip_prefix(CALIBRATED).unwrap_or(name)
    }

    /// The costs of the host's library were chosen for the published processor time; calibrated profiles have a clock that was
    /// chosen for one published time; nothing else was fitted.
    fn role(&self, number: &Published) -> &'static str {
        match number.experiment {
            HOST => "input",
            _ if self.profile.name.starts_with(CALIBRATED) && LATENCIES.contains(&number.id) => {
                row::CALIBRATED
            }
            _ => PREDICTED,
        }
    }
}

/// The experiment.
#[derive(Debug, Clone)]
pub struct Gm {
    statements: Statements,
    subjects: Arc<Vec<Subject>>,
    sizes: Vec<u32>,
    /// Rounds of a ping-pong.
    rounds: u32,
    /// Messages of a stream.
    messages: u32,
    interrupt: Arc<AtomicBool>,
}

/// The results of all profiles and images.
#[derive(Debug, Clone, Default)]
pub struct Results {
    subjects: Arc<Vec<Subject>>,
    sizes: Vec<u32>,
    /// Means by measure, profile, image and length.
    means: Means,
}

// There are no claims.
impl Sample for Results {}

impl Measurements for Results {
    fn find(&self, measure: &str, at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        let names = |of: &Subject| {
            vec![
                FormulaValue::from(of.profile.name.as_str()),
                of.image.into(),
            ]
        };
        Ok(match (measure, at) {
            ("sizes", []) => Vec::from_iter(self.sizes.iter().copied().map(f64::from)).into(),
            ("subjects", []) => Vec::from_iter(self.subjects.iter().map(names)).into(),
            ("hardware", []) => Vec::from_iter(self.subjects.iter().map(Subject::hardware)).into(),
            _ => return self.means.find(measure, at),
        })
    }

    fn interval(&self, measure: &str, at: &[FormulaValue]) -> Option<f64> {
        self.means.interval(measure, at)
    }
}

/// The results of a profile and an image.
struct OfSubject<'a>(&'a Results, &'a Subject);

impl Measurements for OfSubject<'_> {
    fn find(&self, measure: &str, at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        let Self(results, subject) = self;
        match (measure, at) {
            ("subject", []) => Ok(vec![
                FormulaValue::from(subject.profile.name.as_str()),
                subject.image.into(),
            ]
            .into()),
            _ => results.find(measure, at),
        }
    }
}

impl Experiment for Gm {
    /// The number of a profile's image, and its point.
    type Key = (usize, PointKey);
    type Point = Estimate;
    type Results = Results;

    fn new(paper: &'static Paper, request: &ResultRequest) -> Result<Self, Error> {
        let names = match &request.profile {
            Some(name) => vec![name.as_str()],
            None => profiles(),
        };
        let usual = if request.amount == Amount::Quick {
            QUICK_SIZES
        } else {
            SIZES
        };
        let limited = format!("a message has at most {LONG} bytes");
        let sizes = request.sizes(usual, 0..=LONG, &limited)?;
        let mut subjects = Vec::new();
        for name in names {
            let profile = profile(name)?;
            if request.explain.is_some() && boards::for_profile(&profile).medium != Medium::Myrinet
            {
                if request.profile.is_some() {
                    return Err(Error::Request(format!(
                        "--explain follows packets on Myrinet; {name} is no profile of boards on Myrinet"
                    )));
                }
                continue;
            }
            for image in images(&profile)? {
                subjects.push(Subject {
                    loaded: load(&profile, image)?,
                    profile: profile.clone(),
                    image,
                });
            }
        }
        Ok(Self {
            statements: Statements::read(&STATEMENTS, paper.table, &Results::default())?,
            subjects: Arc::new(subjects),
            sizes,
            rounds: request.amount.choose([10, 50, 1000]),
            messages: request.amount.choose([80, 300, 2000]),
            interrupt: Arc::clone(&request.interrupt),
        })
    }

    fn conditions(&self) -> Result<Conditions, Error> {
        let (rounds, messages) = (self.rounds, self.messages);
        let mut profiles = about(self.subjects.iter().map(|subject| &subject.profile));
        profiles.dedup();
        let images = self.subjects.iter();
        let images: BTreeMap<_, _> = images
            .map(|subject| (subject.image.to_owned(), subject.loaded.identity()))
            .collect();
        let repeats =
            format!("ping-pongs of {rounds} rounds, streams of up to {messages} messages");
        Ok(Conditions {
            sizes: self.sizes.clone(),
            ..Conditions::new(profiles, images.into_iter().collect(), repeats)
        })
    }

    fn keys(&self) -> Vec<(usize, PointKey)> {
        let mut keys = Vec::new();
        for (place, subject) in self.subjects.iter().enumerate() {
            for &bytes in &self.sizes {
                keys.extend(CURVES.map(|curve| (place, subject.key(curve, Some(bytes)))));
            }
            keys.push((place, subject.key(HOST, None)));
        }
        keys
    }

    fn measure(&self, (subject, key): &(usize, PointKey)) -> Result<Estimate, Error> {
        let setup = self.subjects[*subject].setup(&self.interrupt);
        let [AxisValue::Name(measure), .., AxisValue::Count(bytes)] = &key[..] else {
            return Ok(Estimate::single(setup.host()?));
        };
        let bytes = *bytes as u32;
        match measure.as_str() {
            "latency" => setup.latency(bytes, self.rounds),
            "one_way" => setup.stream(bytes, self.messages, Directions::OneWay),
            _ => setup.stream(bytes, self.messages, Directions::TwoWay),
        }
    }

    fn results(&self, found: MeasuredPoints<(usize, PointKey), Estimate>) -> Results {
        let means = found.points.into_iter().map(|((_, key), mean)| (key, mean));
        Results {
            subjects: Arc::clone(&self.subjects),
            sizes: self.sizes.clone(),
            means: means.collect(),
        }
    }

    fn statements(&self) -> &Statements {
        &self.statements
    }

    fn rows(&self, paper: &Paper, results: &Results) -> Vec<Row> {
        let row = |subject: &Subject, number: &Published| {
            let of = OfSubject(results, subject);
            let value = self.statements.value(number, &of);
            let note = self.statements.note(number, &of);
            Row {
                profile: subject.profile.name.clone(),
                testbed: subject.image,
                what: format!("{}: {}", number.experiment, number.quantity),
                ..Row::new(number, value, subject.role(number), note)
            }
        };
        let of_subject = |subject| {
            let numbers = paper.table.numbers().iter();
            numbers
                .filter(move |number| number.profile == Subject::hardware(subject))
                .map(move |number| row(subject, number))
        };
        self.subjects.iter().flat_map(of_subject).collect()
    }

    fn points(&self, results: &Results) -> impl Serialize {
        let point = |subject: &Subject, bytes: u32| {
            let mean = |curve| results.means.get(&subject.key(curve, Some(bytes)));
            let [latency, one_way, two_way] = CURVES.map(mean);
            let all = [latency?, one_way?, two_way?];
            Some(json!({
                "profile": subject.profile.name, "image": subject.image, "bytes": bytes,
                "latency_us": all[0].value, "one_way": all[1].value, "two_way": all[2].value,
                "intervals": all.map(|mean| mean.interval),
            }))
        };
        let of_subject = |subject| {
            self.sizes
                .iter()
                .filter_map(move |bytes| point(subject, *bytes))
        };
        Vec::from_iter(self.subjects.iter().flat_map(of_subject))
    }

    fn extra(&self, results: &Results) -> impl Serialize {
        let of_subject = |subject: &Subject| {
            let host = results.means.get(&subject.key(HOST, None))?;
            let Profile {
                name, description, ..
            } = &subject.profile;
            Some(json!({
                "profile": name, "description": description, "image": subject.image, "host_us": host.value,
            }))
        };
        let profiles = self.subjects.iter().filter_map(of_subject);
        BTreeMap::from([("profiles", profiles.collect::<Vec<_>>())])
    }

    /// Explains the latency of a short message on boards of each profile.
    fn explain(&self) -> Result<ExperimentOutcome, Error> {
        let first = |subject: &&Subject| {
            let own = gm(&subject.profile).map(|gm| gm.image);
            own.is_ok_and(|image| image == subject.image)
        };
        let subjects = self.subjects.iter().filter(first);
        let all = subjects.map(|subject| subject.setup(&self.interrupt).explain(self.rounds));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        ExperimentOutcome::explanation(&all, explain::write)
    }
}

/// Name of the usual image for the boards of a profile, and the image.
///
/// # Errors
/// It is missing.
pub fn image(profile: &Profile) -> Result<(&'static str, Image), Error> {
    let name = gm(profile)?.image;
    Ok((name, load(profile, name)?))
}

/// GM's firmware for the boards of a profile.
fn gm(profile: &Profile) -> Result<GmFirmware, Error> {
    let board = boards::for_profile(profile);
    Ok(board.gm.ok_or(GmWorldError::Board(board.name))?)
}

/// Names of all its images.
fn images(profile: &Profile) -> Result<Vec<&'static str>, Error> {
    let gm = gm(profile)?;
    Ok([&[gm.image], gm.variants].concat())
}

/// Loads one of a profile's images.
fn load(profile: &Profile, image: &str) -> Result<Image, Error> {
    Ok(boards::for_profile(profile).own_image(image, gm(profile)?.sram_bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let statements = Statements::read(&STATEMENTS, &TABLE, &Results::default());
        let statements = statements.unwrap();
        for number in TABLE.numbers() {
            assert!(statements.has(number), "{}", number.id);
        }
        assert_eq!(TABLE.numbers().len(), TABLE.text.lines().count() - 1);
        for figure in TABLE.numbers() {
            assert!(profiles().contains(&figure.profile), "{}", figure.id);
        }
    }
}
