//! `lanigon reproduce gm`: GM on all boards that run it, beside the published figures (docs/gm.md).
//!
//! Each measurement is a world of its own: two nodes and one crossbar or, on Ethernet, one cable, with the built firmware. The costs are
//! those of the profiles: a figure on which its profile is calibrated is labelled so, the others are predictions.

pub mod bench;
pub mod explain;
pub mod page;
pub mod plot;
pub mod published;
pub mod report;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::image::{Identity, Image};
use emulator::profile::{Profile, ProfileError};
use lanigon_worlds::boards::{self, BOARDS, BoardType, GmFirmware, Medium};
use lanigon_worlds::gm::GmWorldError;
use lanigon_worlds::images::FirmwareError;
use lanigon_worlds::outcome::RunError;
use rayon::prelude::*;
use serde::Serialize;

use crate::interval::Estimate;
pub use bench::Flow;

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

/// An experiment with GM failed.
#[derive(Debug, thiserror::Error)]
pub enum GmError {
    /// The world cannot be built.
    #[error(transparent)]
    World(#[from] GmWorldError),
    /// The image.
    #[error(transparent)]
    Firmware(#[from] FirmwareError),
    /// The profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The run did not complete.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The profiles.
    pub profiles: Vec<Profile>,
    /// Lengths of messages.
    pub sizes: Vec<u32>,
    /// Rounds of a ping-pong.
    pub rounds: u32,
    /// Messages of a stream.
    pub messages: u32,
    /// Set when the user interrupts.
    pub interrupt: Arc<AtomicBool>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
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

/// The results of a profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Name of the profile.
    pub profile: String,
    /// Its description.
    pub description: String,
    /// Name of the firmware's image.
    pub image: &'static str,
    /// A point for each length.
    pub points: Vec<Point>,
    /// Processor time of the library for a send, its event, a receive and the next buffer, in microseconds.
    pub host_us: f64,
}

impl Measured {
    /// The point of a length.
    #[must_use]
    pub fn at(&self, bytes: u32) -> Option<&Point> {
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
enum Task {
    Latency(u32),
    OneWay(u32),
    TwoWay(u32),
    Host,
}

/// The results of all profiles and images.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Results {
    /// Of each image of each profile.
    pub profiles: Vec<Measured>,
    /// Whether the user interrupted: the profiles before that are there.
    pub partial: bool,
}

impl Plan {
    fn tasks(&self) -> Vec<Task> {
        let sizes = self.sizes.iter();
        let curves = sizes.flat_map(|&bytes| {
            [
                Task::Latency(bytes),
                Task::OneWay(bytes),
                Task::TwoWay(bytes),
            ]
        });
        curves.chain([Task::Host]).collect()
    }

    /// Names and identities of the images that are measured.
    ///
    /// # Errors
    /// [`GmError`], if one of them is missing.
    pub fn identities(&self) -> Result<Vec<(String, Identity)>, GmError> {
        let mut found = BTreeMap::new();
        for profile in &self.profiles {
            for image in images(profile)? {
                found.insert(image.to_owned(), load(profile, image)?.identity());
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Number of measurements.
    #[must_use]
    pub fn steps(&self) -> usize {
        let runs = self
            .profiles
            .iter()
            .map(|profile| images(profile).map_or(0, |all| all.len()));
        self.tasks().len() * runs.sum::<usize>()
    }

    /// Carries out all measurements, those of a profile on all threads; `done` is called after each.
    ///
    /// # Errors
    /// [`GmError`]. An interrupt is no error.
    pub fn run(&self, done: impl Fn() + Sync) -> Result<Results, GmError> {
        let mut results = Results::default();
        for profile in &self.profiles {
            for image in images(profile)? {
                match self.measure(profile, image, &done) {
                    Ok(measured) => results.profiles.push(measured),
                    Err(GmError::Run(RunError::Interrupted)) => {
                        results.partial = true;
                        return Ok(results);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(results)
    }

    /// Explains the latency of a short message on boards of each profile.
    ///
    /// # Errors
    /// [`GmError`].
    pub fn explain(&self) -> Result<Vec<explain::Explanation>, GmError> {
        let explain = |profile: &Profile| {
            let setup = bench::Setup {
                image: &load(profile, gm(profile)?.image)?,
                profile,
                interrupt: &self.interrupt,
            };
            setup.explain(self.rounds)
        };
        self.profiles.iter().map(explain).collect()
    }

    /// The measurements of a profile with one of its board's images.
    fn measure(
        &self,
        profile: &Profile,
        image: &'static str,
        done: &(impl Fn() + Sync),
    ) -> Result<Measured, GmError> {
        let setup = bench::Setup {
            image: &load(profile, image)?,
            profile,
            interrupt: &self.interrupt,
        };
        let carry_out = |task: Task| {
            let value = match task {
                Task::Latency(bytes) => setup.latency(bytes, self.rounds)?,
                Task::OneWay(bytes) => setup.stream(bytes, self.messages, Flow::OneWay)?,
                Task::TwoWay(bytes) => setup.stream(bytes, self.messages, Flow::TwoWay)?,
                Task::Host => Estimate::single(setup.host()?),
            };
            done();
            Ok((task, value))
        };
        let found = self.tasks().into_par_iter().map(carry_out);
        let found: BTreeMap<_, _> = found.collect::<Result<_, GmError>>()?;
        let point = |&bytes: &u32| {
            let tasks = [
                Task::Latency(bytes),
                Task::OneWay(bytes),
                Task::TwoWay(bytes),
            ];
            let [latency, one_way, two_way] = tasks.map(|task| found[&task]);
            Point {
                bytes,
                latency_us: latency.value,
                one_way: one_way.value,
                two_way: two_way.value,
                intervals: [latency, one_way, two_way].map(|value| value.interval),
            }
        };
        Ok(Measured {
            profile: profile.name.clone(),
            description: profile.description.clone(),
            image,
            points: self.sizes.iter().map(point).collect(),
            host_us: found[&Task::Host].value,
        })
    }
}

/// GM's firmware for the boards of a profile.
fn gm(profile: &Profile) -> Result<GmFirmware, GmError> {
    let board = boards::of(profile);
    Ok(board.gm.ok_or(GmWorldError::Board(board.name))?)
}

/// Names of all its images.
fn images(profile: &Profile) -> Result<Vec<&'static str>, GmError> {
    let gm = gm(profile)?;
    Ok([&[gm.image], gm.variants].concat())
}

/// One of its images.
fn load(profile: &Profile, image: &str) -> Result<Image, GmError> {
    Ok(boards::of(profile).own_image(image, gm(profile)?.sram_bytes)?)
}
