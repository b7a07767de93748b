//! A simulation in a file: saved at some moment, to be gone on from with the same bits.
//!
//! The file holds the scenario's text and what it was built from, so that it can be shared and recognised, and then, compressed, the
//! world's state, what host programs were told, and what was counted before:
//!
//! | bytes | what |
//! |-------|------|
//! | 8 | [`MAGIC`] |
//! | 4 | [`VERSION`], as all numbers least significant byte first |
//! | 4 and so many | length of the [`Label`], and the label as JSON |
//! | 4, 4 and the rest | hash (CRC-32) of label and state, length of the state, and the state, compressed with LZ4 |

use std::path::Path;

use emulator::sim::saved::Logs;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, World};
use emulator::state::{Reader, StateError, Value, Writer};
use emulator::tigon2::board::Tigon2;
use serde::{Deserialize, Serialize};

use super::{RunOptions, Simulation};
use crate::nodes::START;
use crate::scenario::{Scenario, ScenarioError};

/// How a snapshot begins.
pub const MAGIC: &[u8; 8] = b"LANIGON\x01";
/// The version of the file's form. Marks within the state tell versions of its parts.
pub const VERSION: u32 = 3;
/// No state has more bytes.
const MOST_BYTES: usize = 1 << 32;

/// What a snapshot says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Who wrote it.
    pub program: String,
    /// The scenario's file.
    pub scenario: String,
    /// Its text.
    pub text: String,
    /// The seed of all chance.
    pub seed: u64,
    /// The firmware's name.
    pub image: String,
    /// Which firmware that was: a hash of the bytes that it loads.
    pub identity: String,
    /// The timing of the nodes, as a hash.
    pub timing: u32,
    /// The time, from the start of the host programs on, in ps; negative before.
    pub time_ps: i128,
}

/// Why there is no snapshot, or none that can be gone on from.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It is none.
    #[error("this is no snapshot of a run")]
    Foreign,
    /// Another program wrote it.
    #[error("this snapshot has version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// It is cut short or damaged.
    #[error("this snapshot is cut short or damaged: {0}")]
    Damaged(&'static str),
    /// Its scenario is wrong here.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It was made with something else.
    #[error("this snapshot was made with another {what}: {hint}")]
    Other {
        /// With what.
        what: &'static str,
        /// What to do.
        hint: String,
    },
    /// Its state does not fit.
    #[error("this snapshot cannot be gone on from")]
    State(#[from] StateError),
    /// The run was over before.
    #[error(
        "the run was over, or interrupted, {0:.1} us after its start: there is nothing to save at the time that was asked for"
    )]
    Over(f64),
}

impl Simulation {
    /// From now on keeps what is needed to save it. To be called before it runs.
    pub fn keep_logs(&mut self) {
        self.world.keep_logs();
    }

    /// Runs up to `time`, counted from the start of the programs, so that it can be saved there.
    ///
    /// # Errors
    /// If it comes to its end before.
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

    fn since_start_us(&self) -> f64 {
        self.world.now().us() - START.us()
    }

    fn timing(&self) -> u32 {
        let nodes = self.world.nodes.iter();
        let timing = nodes.map(|node| format!("{:?}", node.board::<Tigon2>().fabric.timing));
        crc32fast::hash(timing.collect::<String>().as_bytes())
    }

    fn label(&self, now: SimTime, name: &str, text: &str, scenario: &Scenario) -> Label {
        Label {
            program: concat!("lanigon ", env!("CARGO_PKG_VERSION")).into(),
            scenario: name.into(),
            text: text.into(),
            seed: scenario.seed,
            image: scenario.image.clone(),
            identity: self.image.identity().to_string(),
            timing: self.timing(),
            time_ps: i128::from(now.ps()) - i128::from(START.ps()),
        }
    }

    /// The simulation as the bytes of a file. `name` and `text` are those of its scenario.
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

    /// The same for another world that was built as this one's, and whose counters were looked at in time.
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
        let mut state = Writer::default();
        let saved = world.save()?;
        saved.len().write(&mut state);
        state.bytes(&saved);
        world.logs().write(&mut state);
        self.counters.write(&mut state);
        self.looks.write(&mut state);
        let state = state.into_bytes();
        let label = self.label(world.now(), name, text, scenario);
        let label = serde_json::to_vec(&label).map_err(|_| SnapshotError::Damaged("label"))?;
        let mut file = MAGIC.to_vec();
        file.extend(VERSION.to_le_bytes());
        file.extend((label.len() as u32).to_le_bytes());
        file.extend(&label);
        file.extend(hash(&label, &state).to_le_bytes());
        file.extend(lz4_flex::compress_prepend_size(&state));
        Ok(file)
    }

    /// The simulation that was saved, and its scenario; files that the scenario names are looked for from `folder` on.
    ///
    /// # Errors
    /// If the bytes are no snapshot, or one of something else.
    pub fn load(file: &[u8], folder: &Path) -> Result<(Self, Scenario, Label), SnapshotError> {
        let (label, state) = parts(file)?;
        let mut scenario = Scenario::parse(&label.scenario, &label.text)?;
        scenario.folder = folder.into();
        scenario.seed = label.seed;
        let mut simulation = Self::new(&scenario)?;
        let here = simulation.image.identity().to_string();
        if here != label.identity {
            let hint = format!("{} was {}, and is {here} here", label.image, label.identity);
            let what = "firmware";
            return Err(SnapshotError::Other { what, hint });
        }
        if simulation.timing() != label.timing {
            let hint = "a profile that the scenario names was changed".into();
            let what = "timing";
            return Err(SnapshotError::Other { what, hint });
        }
        let mut from = Reader::new(&state);
        let length = usize::read(&mut from)?;
        let world = from.take(length, "the world")?;
        let logs = Logs::read(&mut from)?;
        simulation.counters = Value::read(&mut from)?;
        simulation.looks = Value::read(&mut from)?;
        simulation.world.load(world, &logs)?;
        Ok((simulation, scenario, label))
    }
}

/// The label of a file, and its state.
fn parts(file: &[u8]) -> Result<(Label, Vec<u8>), SnapshotError> {
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
    // Nobody makes room for what cannot be.
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

/// The hash of all that a file holds.
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
