//! Results files: one line of JSON for each run that is complete.
//!
//! Lines are appended and never changed, so an interruption can only cut the last one; it is dropped. A lock on the file keeps a
//! second process from writing to it; it ends with the process.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use lanigon_worlds::files::output;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::SweepError;
use crate::plan::SweepPlan;
use lanigon_experiments::measure::Measure;

/// Name of the plan's file.
pub const PLAN: &str = "plan.json";

/// A part of a sweep: runs `index - 1`, `index - 1 + count`, ...
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Number of the part, from 1.
    pub index: usize,
    /// Number of parts.
    pub count: usize,
}

impl Shard {
    /// The whole sweep.
    pub const ALL: Self = Self { index: 1, count: 1 };

    /// Whether a run belongs to it.
    #[must_use]
    pub const fn has(self, run: usize) -> bool {
        run % self.count == self.index - 1
    }

    /// Name of its results file.
    #[must_use]
    pub fn file(self) -> String {
        match self {
            Self::ALL => "results.jsonl".into(),
            Self { index, count } => format!("results-{index}-of-{count}.jsonl"),
        }
    }
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunOutcome {
    /// The run ended: the document of its results.
    Document(Value),
    /// The run could not be built, or the emulator failed.
    Error(String),
}

/// A line of a results file.
#[derive(Debug, Serialize, Deserialize)]
struct ResultLine {
    key: String,
    #[serde(flatten)]
    outcome: RunOutcome,
}

/// A run's results, as tables need them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunRow {
    /// A value for each measure, if the run has one.
    pub values: Vec<Option<f64>>,
    /// For each measure the reason for which its path leads nowhere.
    pub missing: Vec<Option<String>>,
    /// Reason for which the run failed, if it did.
    pub failure: Option<String>,
    /// Hash of all events; empty if the run could not be built.
    pub trace_hash: String,
}

impl RunRow {
    pub(crate) fn new(outcome: &RunOutcome, measures: &[Measure]) -> Self {
        let document = match outcome {
            RunOutcome::Error(reason) => {
                return Self {
                    values: vec![None; measures.len()],
                    missing: vec![None; measures.len()],
                    failure: Some(reason.clone()),
                    trace_hash: String::new(),
                };
            }
            RunOutcome::Document(document) => document,
        };
        let values = measures.iter().map(|measure| measure.value(document));
        let values: Vec<_> = values.collect();
        let hash = document["trace_hash"].as_str().unwrap_or_default();
        Self {
            failure: failure(document),
            trace_hash: hash.into(),
            missing: values.iter().map(|value| value.clone().err()).collect(),
            values: values
                .into_iter()
                .map(|value| value.ok().flatten())
                .collect(),
        }
    }
}

/// Reason for which a run that ended is no success: its first problem, else its end, else its messages.
fn failure(document: &Value) -> Option<String> {
    if document["good"] == true {
        return None;
    }
    let first = |key: &str| document[key].get(0).and_then(Value::as_str);
    if let Some(problem) = first("problems") {
        return Some(problem.into());
    }
    if document["end"] == "deadlock" {
        let waiting = first("waiting").unwrap_or_default();
        return Some(format!("nothing can happen any more: {waiting}"));
    }
    let count = |key: &str| (key.to_owned(), document["messages"][key].as_u64());
    let counts = ["lost", "duplicated", "reordered", "corrupted"].map(count);
    let counts = counts.into_iter().filter_map(|(key, count)| {
        let count = count.filter(|&count| count > 0)?;
        Some(format!("{count} {key}"))
    });
    Some(format!(
        "messages: {}",
        counts.collect::<Vec<_>>().join(", ")
    ))
}

/// Results by the keys of their runs.
pub type Rows = HashMap<String, RunRow>;

/// The results file that a process writes.
#[derive(Debug)]
pub struct Store {
    file: File,
    path: PathBuf,
}

impl Store {
    /// Opens the results file of a part of the sweep, creates the folder, and takes the lock. A line that was cut is dropped.
    ///
    /// # Errors
    /// [`SweepError::Locked`]; if the file cannot be opened.
    pub fn open(folder: &Path, shard: Shard) -> Result<Self, SweepError> {
        output::create_folder(folder).map_err(SweepError::io(folder))?;
        let path = folder.join(shard.file());
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(SweepError::io(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SweepError::Locked(path)),
            Err(TryLockError::Error(error)) => return Err(SweepError::Io { path, error }),
        }
        let mut store = Self { file, path };
        let dropped = store.drop_cut_line();
        dropped.map_err(SweepError::io(&store.path))?;
        Ok(store)
    }

    /// Removes what follows the last end of a line.
    fn drop_cut_line(&mut self) -> io::Result<()> {
        // Bytes that are searched at a time: more than a line of usual results.
        const BLOCK: u64 = 1 << 16;
        let mut end = self.file.metadata()?.len();
        while end > 0 {
            let start = end.saturating_sub(BLOCK);
            let mut block = vec![0; (end - start) as usize];
            self.file.seek(SeekFrom::Start(start))?;
            self.file.read_exact(&mut block)?;
            if let Some(at) = block.iter().rposition(|&byte| byte == b'\n') {
                end = start + at as u64 + 1;
                break;
            }
            end = start;
        }
        self.file.set_len(end)?;
        self.file.seek(SeekFrom::End(0))?;
        Ok(())
    }

    /// Removes all results.
    ///
    /// # Errors
    /// If the file cannot be changed.
    pub fn clear(&mut self) -> Result<(), SweepError> {
        let cleared = self.file.set_len(0).and_then(|()| self.file.rewind());
        cleared.map_err(SweepError::io(&self.path))
    }

    /// Appends a result. It is complete in the file when this returns.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(&mut self, key: &str, outcome: &RunOutcome) -> Result<(), SweepError> {
        let key = key.to_owned();
        let line = ResultLine {
            key,
            outcome: outcome.clone(),
        };
        let text = serde_json::to_string(&line).map_err(io::Error::from);
        let written = text.and_then(|text| self.append_line(&text));
        written.map_err(SweepError::io(&self.path))
    }

    /// Appends a line as it is.
    pub(crate) fn append_line(&mut self, line: &str) -> io::Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes())
    }

    /// Path of the results file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The results files in a folder, sorted.
///
/// # Errors
/// If the folder cannot be read.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, SweepError> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).map_err(SweepError::io(folder))?;
    for entry in entries {
        let path = entry.map_err(SweepError::io(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("results") && name.ends_with(".jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Calls `see` with the key and the text of each line of a results file. Lines that are damaged or cut are skipped.
pub(crate) fn lines(
    path: &Path,
    mut see: impl FnMut(&str, &str, &RunOutcome),
) -> Result<(), SweepError> {
    let file = File::open(path).map_err(SweepError::io(path))?;
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes);
        if read.map_err(SweepError::io(path))? == 0 {
            return Ok(());
        }
        let Some(text) = bytes.strip_suffix(b"\n") else {
            return Ok(());
        };
        let Ok(text) = std::str::from_utf8(text) else {
            continue;
        };
        if let Ok(line) = serde_json::from_str::<ResultLine>(text) {
            see(&line.key, text, &line.outcome);
        }
    }
}

/// Reads the results of all results files in a folder.
///
/// # Errors
/// If one cannot be read.
pub fn read(folder: &Path, measures: &[Measure]) -> Result<Rows, SweepError> {
    let mut rows = Rows::new();
    for file in files(folder)? {
        lines(&file, |key, _, outcome| {
            rows.insert(key.into(), RunRow::new(outcome, measures));
        })?;
    }
    Ok(rows)
}

/// Writes a file at once: it has the old content or the new one.
///
/// # Errors
/// If it cannot be written.
pub fn replace(path: &Path, text: &[u8]) -> Result<(), SweepError> {
    output::write(path, text).map_err(SweepError::io(path))
}

/// Writes the plan of a folder.
///
/// # Errors
/// If it cannot be written.
pub fn write_plan(folder: &Path, plan: &SweepPlan) -> Result<(), SweepError> {
    let path = folder.join(PLAN);
    let text = serde_json::to_vec(plan).map_err(io::Error::from);
    let text = text.map_err(SweepError::io(&path))?;
    replace(&path, &text)
}

/// Reads the plan of a folder.
///
/// # Errors
/// If there is none, or it is damaged.
pub fn read_plan(folder: &Path) -> Result<SweepPlan, SweepError> {
    let path = folder.join(PLAN);
    let text = fs::read(&path).map_err(|error| SweepError::SweepPlan {
        path: path.clone(),
        reason: format!("{error}: no sweep has been run in this folder"),
    })?;
    let plan: SweepPlan = serde_json::from_slice(&text).map_err(|error| SweepError::SweepPlan {
        path: path.clone(),
        reason: error.to_string(),
    })?;
    let fits = |run: &crate::plan::PlannedRun| {
        let values = run.point.iter().zip(&plan.axes);
        run.point.len() == plan.axes.len()
            && values.into_iter().all(|(&at, axis)| {
                at < axis.labels.len() && axis.labels.len() == axis.numbers.len()
            })
    };
    let plots = plan.plots.iter().all(|plot| plot.fits(&plan));
    match plots && plan.runs.iter().all(fits) {
        true => Ok(plan),
        false => Err(SweepError::SweepPlan {
            path,
            reason: "its runs or plots do not fit its axes".into(),
        }),
    }
}

/// Whether a run failed.
pub(crate) fn failed(outcome: &RunOutcome) -> bool {
    match outcome {
        RunOutcome::Document(document) => failure(document).is_some(),
        RunOutcome::Error(_) => true,
    }
}
