//! `lanigon reproduce gm`: GM on all boards that run it, beside the published figures (docs/gm.md).
//!
//! Each measurement is a world of its own: two nodes and one crossbar or, on Ethernet, one cable, with the built firmware. The costs are
//! those of the profiles: a figure on which its profile is calibrated is labelled so, the others are predictions.

pub mod bench;
pub mod explain;
mod figures;
mod rows;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::image::{Identity, Image};
use emulator::profile::Profile;
use lanigon_experiments::Error;
use lanigon_experiments::conditions::{Conditions, about};
use lanigon_experiments::document::{ExperimentOutcome, Head};
use lanigon_experiments::drawing::NamedFigure;
use lanigon_experiments::error::profile;
use lanigon_experiments::execute::MeasuredPoints;
use lanigon_experiments::experiment::Experiment;
use lanigon_experiments::formula::Measurements;
use lanigon_experiments::interval::Estimate;
use lanigon_experiments::paper::{Amount, Choice, ExplainEffect, Paper, ResultRequest, start};
use lanigon_experiments::published::PublishedTable;
use lanigon_experiments::row::Row;
use lanigon_experiments::statements::Statements;
use lanigon_experiments::verdict::Sample;
use lanigon_worlds::boards::{self, BOARDS, BoardType, GmFirmware, Medium};
use lanigon_worlds::gm::GmWorldError;
use serde::Serialize;

pub use bench::Directions;

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

/// Profiles that are measured: those on Myrinet, then those of boards on Ethernet.
#[must_use]
pub fn profiles() -> Vec<&'static str> {
    let on_ethernet = |board: &&BoardType| board.medium == Medium::Ethernet && board.gm.is_some();
    let others = BOARDS.iter().filter(on_ethernet);
    let others = others.map(|board| board.profile);
    ON_MYRINET.into_iter().chain(others).collect()
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

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SizePoint {
    /// Length of the messages.
    pub bytes: u32,
    /// Half of the mean round trip, in microseconds.
    pub latency_us: f64,
    /// Bandwidth in one direction, in 10^6 bytes a second.
    pub one_way: f64,
    /// Sum of both directions, when both are used at once.
    pub two_way: f64,
    /// Halves of the widths of the 95 % confidence intervals of the three, where there are enough repeats.
    pub intervals: [Option<f64>; 3],
}

/// A point with the boards on which it was measured.
#[derive(Debug, Serialize)]
struct NamedPoint {
    profile: String,
    image: &'static str,
    #[serde(flatten)]
    point: SizePoint,
}

/// The results of a profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileResults {
    /// Name of the profile.
    pub profile: String,
    /// Description of the profile.
    pub description: String,
    /// Name of the firmware's image.
    pub image: &'static str,
    /// A point for each length.
    #[serde(skip)]
    pub points: Vec<SizePoint>,
    /// Processor time of the library for a send, its event, a receive and the next buffer, in microseconds.
    pub host_us: f64,
}

impl ProfileResults {
    /// The point of a length.
    #[must_use]
    pub fn point_at(&self, bytes: u32) -> Option<&SizePoint> {
        self.points.iter().find(|point| point.bytes == bytes)
    }

    /// The length at which half of the bandwidth of the longest messages is reached, between the measured lengths; `None` if
    /// all of them, or none, reach it.
    #[must_use]
    pub fn half_power_bytes(&self) -> Option<f64> {
        let half = self.points.last()?.one_way / 2.0;
        let above = self.points.iter().position(|point| point.one_way >= half)?;
        let (before, after) = (self.points.get(above.checked_sub(1)?)?, self.points[above]);
        let share = (half - before.one_way) / (after.one_way - before.one_way);
        Some(f64::from(before.bytes) + share * f64::from(after.bytes - before.bytes))
    }
}

/// A measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// A ping-pong.
    Latency(u32),
    /// A stream.
    OneWay(u32),
    /// Two streams.
    TwoWay(u32),
    /// The library's processor time.
    Host,
}

/// An image on the boards of a profile.
#[derive(Debug, Clone)]
struct Subject {
    profile: Profile,
    image: &'static str,
    loaded: Image,
}

/// The experiment.
#[derive(Debug, Clone)]
pub struct Gm {
    /// None: the numbers are rows of several profiles.
    statements: Statements,
    subjects: Vec<Subject>,
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
    /// Results of each image of each profile.
    pub profiles: Vec<ProfileResults>,
}

impl Sample for Results {}

impl Measurements for Results {}

impl Subject {
    fn setup<'a>(&'a self, interrupt: &'a Arc<AtomicBool>) -> bench::Setup<'a> {
        bench::Setup {
            image: &self.loaded,
            profile: &self.profile,
            interrupt,
        }
    }

    /// Results of the subject, if all were measured.
    fn measured(&self, sizes: &[u32], found: &BTreeMap<Task, Estimate>) -> Option<ProfileResults> {
        let point = |&bytes: &u32| {
            let tasks = curves(bytes).map(|task| found.get(&task));
            let [latency, one_way, two_way] = tasks;
            let all = [latency?, one_way?, two_way?];
            Some(SizePoint {
                bytes,
                latency_us: all[0].value,
                one_way: all[1].value,
                two_way: all[2].value,
                intervals: all.map(|value| value.interval),
            })
        };
        Some(ProfileResults {
            profile: self.profile.name.clone(),
            description: self.profile.description.clone(),
            image: self.image,
            points: sizes.iter().map(point).collect::<Option<_>>()?,
            host_us: found.get(&Task::Host)?.value,
        })
    }
}

/// The measurements with messages of a length.
const fn curves(bytes: u32) -> [Task; 3] {
    [
        Task::Latency(bytes),
        Task::OneWay(bytes),
        Task::TwoWay(bytes),
    ]
}

impl Experiment for Gm {
    type Key = (usize, Task);
    type Point = Estimate;
    type Results = Results;

    fn new(_: &'static Paper, request: &ResultRequest) -> Result<Self, Error> {
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
            statements: Statements::default(),
            subjects,
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

    fn keys(&self) -> Vec<(usize, Task)> {
        let tasks = self.sizes.iter().copied().flat_map(curves);
        let tasks: Vec<_> = tasks.chain([Task::Host]).collect();
        let all = 0..self.subjects.len();
        all.flat_map(|subject| tasks.iter().map(move |task| (subject, *task)))
            .collect()
    }

    fn measure(&self, &(subject, task): &(usize, Task)) -> Result<Estimate, Error> {
        let setup = self.subjects[subject].setup(&self.interrupt);
        match task {
            Task::Latency(bytes) => setup.latency(bytes, self.rounds),
            Task::OneWay(bytes) => setup.stream(bytes, self.messages, Directions::OneWay),
            Task::TwoWay(bytes) => setup.stream(bytes, self.messages, Directions::TwoWay),
            Task::Host => Ok(Estimate::single(setup.host()?)),
        }
    }

    fn results(&self, found: MeasuredPoints<(usize, Task), Estimate>) -> Results {
        let mut of_subjects = vec![BTreeMap::new(); self.subjects.len()];
        for ((subject, task), value) in found.points {
            of_subjects[subject].insert(task, value);
        }
        let all = self.subjects.iter().zip(&of_subjects);
        Results {
            profiles: all
                .filter_map(|(subject, found)| subject.measured(&self.sizes, found))
                .collect(),
        }
    }

    fn statements(&self) -> &Statements {
        &self.statements
    }

    fn rows(&self, _: &Paper, results: &Results) -> Vec<Row> {
        results.profiles.iter().flat_map(rows::rows).collect()
    }

    fn figures(&self, _: &Paper, results: &Results) -> Vec<NamedFigure> {
        figures::figures(&results.profiles)
    }

    fn points(&self, results: &Results) -> impl Serialize {
        let named = |of: &ProfileResults| {
            let ProfileResults { profile, image, .. } = of.clone();
            let points = of.points.clone().into_iter();
            points.map(move |point| NamedPoint {
                profile: profile.clone(),
                image,
                point,
            })
        };
        results.profiles.iter().flat_map(named).collect::<Vec<_>>()
    }

    fn extra(&self, results: &Results) -> impl Serialize {
        BTreeMap::from([("profiles", results.profiles.clone())])
    }

    fn text(&self, _: &Head, results: &Results) -> String {
        text::render(&results.profiles)
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

/// Names and identities of the images for the boards of these profiles.
///
/// # Errors
/// One of them is missing.
pub fn identities<'a>(
    profiles: impl IntoIterator<Item = &'a Profile>,
) -> Result<Vec<(String, Identity)>, Error> {
    let mut found = BTreeMap::new();
    for profile in profiles {
        let (name, image) = image(profile)?;
        found.insert(name.to_owned(), image.identity());
    }
    Ok(found.into_iter().collect())
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
