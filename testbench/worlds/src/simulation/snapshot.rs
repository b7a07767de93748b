//! Snapshots: a simulation saved in a file, to be continued with identical results.
//!
//! The file contains the scenario's text and the identity of its inputs, so that it can be shared and
//! checked; then, compressed, the world's state, the replay logs of host programs, and sampled counters:
//!
//! | bytes | content |
//! |-------|------|
//! | 8 | [`MAGIC`] |
//! | 4 | [`VERSION`], as all numbers least significant byte first |
//! | 4 and its value | length of the [`SnapshotLabel`], and the label as JSON |
//! | 4, 4 and the rest | checksum (CRC-32) of label and state, length of the state, and the state, compressed with LZ4 |

use std::path::Path;

use emulator::profile::Entry;
use emulator::sim::quiet::QuietWatch;
use emulator::sim::ranks::{RankError, Ranks};
use emulator::sim::saved::HostLogs;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, World};
use emulator::state::{Reader, State, StateError, Value, Writer};
use serde::{Deserialize, Serialize};

use super::{RunOptions, Simulation};
use crate::files::input::Input;
use crate::nodes::START;
use crate::scenario::{Scenario, ScenarioError};
use crate::workload::Workloads;

/// Magic bytes of a snapshot.
pub const MAGIC: &[u8; 8] = b"LANIGON\x01";
/// Version of the file format. Marks within the state detect versions of its parts.
pub const VERSION: u32 = 9;
/// Largest size of a state.
const MOST_BYTES: usize = 1 << 32;

/// Reads the file of a snapshot; of another file only the beginning.
///
/// # Errors
/// If it cannot be read, or is too large.
pub fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    Input::Snapshot.read_with_magic(path, MAGIC)
}

/// Description of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotLabel {
    /// Program that wrote it.
    pub program: String,
    /// File name of the scenario.
    pub scenario: String,
    /// Text of the scenario.
    pub text: String,
    /// Random seed.
    pub seed: u64,
    /// Names of the firmware images.
    pub image: String,
    /// Identities of the images: hashes of their loaded bytes.
    pub identity: String,
    /// Hash of the nodes' timing, and of the recordings that they repeat.
    pub timing: u32,
    /// Time relative to the start of the host programs, in ps; negative before it.
    pub time_ps: i128,
}

/// Error of saving or loading a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file is not a snapshot.
    #[error("this is no snapshot of a run")]
    Foreign,
    /// The file has another version.
    #[error("this snapshot has version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// The file is cut off or damaged.
    #[error("this snapshot is cut short or damaged: {0}")]
    Damaged(&'static str),
    /// The scenario in it is invalid here.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The snapshot was made with other inputs.
    #[error("this snapshot was made with another {what}: {hint}")]
    Other {
        /// The input that differs.
        what: &'static str,
        /// Advice for the user.
        hint: String,
    },
    /// The state cannot be loaded.
    #[error("this snapshot cannot be continued")]
    State(#[from] StateError),
    /// The run ended before the requested time.
    #[error(
        "the run was over, or interrupted, {0:.1} us after its start: there is nothing to save at the time that was asked for"
    )]
    Over(f64),
}

impl Simulation {
    /// Starts the replay logs that saving needs. Call it before the run.
    pub fn keep_logs(&mut self) {
        self.world.keep_logs();
    }

    /// Runs up to `time`, relative to the start of the programs, for saving.
    ///
    /// # Errors
    /// If the run ends earlier.
    pub fn run_to(
        &mut self,
        time: SimTime,
        options: &RunOptions,
        watch: impl FnMut(u64) + Send,
    ) -> Result<(), SnapshotError> {
        match self.advance(options, Some(START.saturating_add(time)), watch) {
            RunEnd::TimeLimit(_) => Ok(()),
            _ => Err(SnapshotError::Over(self.since_start_us())),
        }
    }

    /// As [`run_to`](Self::run_to), together with the other ranks. All ranks return the same.
    ///
    /// # Errors
    /// If another rank is gone; inside, if the run ends earlier.
    pub fn run_to_shared(
        &mut self,
        ranks: &mut Ranks,
        time: SimTime,
        options: &RunOptions,
        mut watch: impl FnMut(u64) + Send,
    ) -> Result<Result<(), SnapshotError>, RankError> {
        let last = Some(START.saturating_add(time));
        let end = self.advance_shared(ranks, options, last, &mut watch)?;
        Ok(match end {
            RunEnd::TimeLimit(_) => Ok(()),
            _ => Err(SnapshotError::Over(self.since_start_us())),
        })
    }

    fn since_start_us(&self) -> f64 {
        self.world.now().us() - START.us()
    }

    fn timing(&self) -> u32 {
        let entries = self.profiles.iter().flat_map(|profile| &profile.entries);
        let line =
            |(name, entry): (&String, &Entry)| format!("{name}={} {}\n", entry.value, entry.unit);
        let replays = self.replays.checksums();
        let replays = replays.map(|checksum| format!("replay {checksum:08x}\n"));
        let text: String = entries.map(line).chain(replays).collect();
        crc32fast::hash(text.as_bytes())
    }

    fn label(&self, now: SimTime, name: &str, text: &str, scenario: &Scenario) -> SnapshotLabel {
        SnapshotLabel {
            program: concat!("lanigon ", env!("CARGO_PKG_VERSION")).into(),
            scenario: name.into(),
            text: text.into(),
            seed: scenario.seed,
            image: self.images.names(),
            identity: self.images.identity(),
            timing: self.timing(),
            time_ps: i128::from(now.ps()) - i128::from(START.ps()),
        }
    }

    /// Saves the simulation as the bytes of a file. `name` and `text` are those of its scenario.
    ///
    /// # Errors
    /// If a host program cannot be saved.
    pub fn save(
        &self,
        name: &str,
        text: &str,
        scenario: &Scenario,
    ) -> Result<Vec<u8>, SnapshotError> {
        self.save_world(&self.world, name, text, scenario)
    }

    /// Like [`save`](Self::save), for another world with an equal description whose counters were sampled.
    ///
    /// # Errors
    /// If a host program cannot be saved.
    pub fn save_world(
        &self,
        world: &World,
        name: &str,
        text: &str,
        scenario: &Scenario,
    ) -> Result<Vec<u8>, SnapshotError> {
        let label = self.label(world.now(), name, text, scenario);
        let parts = (&*world.save()?, &world.logs(), world.watch());
        self.file(parts, &label)
    }

    /// Like [`save`](Self::save), together with the other ranks, all of which stand at the same time: rank 0 has the file, the others have
    /// nothing. The file is that of one process.
    ///
    /// # Errors
    /// If another rank is gone; inside, if a host program cannot be saved.
    pub fn save_shared(
        &mut self,
        ranks: &mut Ranks,
        name: &str,
        text: &str,
        scenario: &Scenario,
    ) -> Result<Result<Option<Vec<u8>>, SnapshotError>, RankError> {
        self.counters.gather(ranks)?;
        self.world.watch_mut().gather(ranks)?;
        let saved = self.world.save_shared(ranks)?;
        let label = self.label(self.world.now(), name, text, scenario);
        let file = saved.map(|saved| {
            saved.map(|(world, logs)| self.file((&world, &logs, self.world.watch()), &label))
        });
        Ok(file
            .map_err(SnapshotError::from)
            .and_then(Option::transpose))
    }

    /// The bytes of a file.
    fn file(
        &self,
        (world, logs, watch): (&[u8], &HostLogs, &QuietWatch),
        label: &SnapshotLabel,
    ) -> Result<Vec<u8>, SnapshotError> {
        let mut state = Writer::default();
        world.len().write(&mut state);
        state.bytes(world);
        logs.write(&mut state);
        self.counters.save(&mut state);
        self.looks.write(&mut state);
        watch.save(&mut state);
        let state = state.into_bytes();
        let label = serde_json::to_vec(label).map_err(|_| SnapshotError::Damaged("label"))?;
        let mut file = MAGIC.to_vec();
        file.extend(VERSION.to_le_bytes());
        file.extend((label.len() as u32).to_le_bytes());
        file.extend(&label);
        file.extend(hash(&label, &state).to_le_bytes());
        file.extend(lz4_flex::compress_prepend_size(&state));
        Ok(file)
    }

    /// Loads a simulation and its scenario, whose programs may be these workloads. Files of the scenario are relative to `folder`.
    ///
    /// # Errors
    /// If the bytes are no valid snapshot, or other inputs are installed here.
    pub fn load(
        workloads: Workloads,
        file: &[u8],
        folder: &Path,
    ) -> Result<(Self, Scenario, SnapshotLabel), SnapshotError> {
        let (label, state) = parts(file)?;
        let mut scenario = workloads.parse(&label.scenario, &label.text)?;
        scenario.folder = folder.into();
        scenario.seed = label.seed;
        let mut simulation = Self::new(&scenario)?;
        let here = simulation.images.identity();
        if here != label.identity {
            let hint = format!("{} was {}, and is {here} here", label.image, label.identity);
            let what = "firmware";
            return Err(SnapshotError::Other { what, hint });
        }
        if simulation.timing() != label.timing {
            let hint = "a profile or a recording that the scenario names was changed".into();
            let what = "timing";
            return Err(SnapshotError::Other { what, hint });
        }
        let mut from = Reader::new(&state);
        let length = usize::read(&mut from)?;
        let world = from.take(length, "the world")?;
        let logs = HostLogs::read(&mut from)?;
        simulation.counters.load(&mut from)?;
        simulation.looks = Value::read(&mut from)?;
        simulation.world.load(world, &logs)?;
        simulation.world.watch_mut().load(&mut from)?;
        Ok((simulation, scenario, label))
    }
}

/// Splits a file into its label and its state.
fn parts(file: &[u8]) -> Result<(SnapshotLabel, Vec<u8>), SnapshotError> {
    let rest = file.strip_prefix(MAGIC).ok_or(SnapshotError::Foreign)?;
    let (version, rest) = number(rest, "version")?;
    if version != VERSION {
        return Err(SnapshotError::Version(version));
    }
    let (length, rest) = number(rest, "label")?;
    let cut = rest.split_at_checked(length as usize);
    let (label, rest) = cut.ok_or(SnapshotError::Damaged("label"))?;
    let (expected, rest) = number(rest, "state")?;
    let damaged = || SnapshotError::Damaged("state");
    // An impossible size must not cause an allocation.
    let (size, _) = number(rest, "state")?;
    if size as usize > MOST_BYTES.min(rest.len().saturating_mul(256)) {
        return Err(damaged());
    }
    let state = lz4_flex::decompress_size_prepended(rest).map_err(|_| damaged())?;
    if hash(label, &state) != expected {
        return Err(damaged());
    }
    let label = serde_json::from_slice(label).map_err(|_| SnapshotError::Damaged("label"))?;
    Ok((label, state))
}

/// Checksum of the file's contents.
fn hash(label: &[u8], state: &[u8]) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    hash.update(label);
    hash.update(state);
    hash.finalize()
}

fn number<'a>(bytes: &'a [u8], what: &'static str) -> Result<(u32, &'a [u8]), SnapshotError> {
    let cut = bytes.split_first_chunk();
    let (number, rest) = cut.ok_or(SnapshotError::Damaged(what))?;
    Ok((u32::from_le_bytes(*number), rest))
}
