//! The file of a sweep.

use std::path::{Path as FilePath, PathBuf};

use lanigon_worlds::files::input::Input;
use lanigon_worlds::files::own::{self, DataLocation};
use lanigon_worlds::files::wanted::{self, WantedArgument};
use lanigon_worlds::scenario::table::{Item, SourceText, Table};
use lanigon_worlds::scenario::{Position, ScenarioError};

use crate::axis::{Axis, check_name};
use crate::error::SweepError;
use crate::plot::Plot;
use lanigon_experiments::measure::{self, Measure};
use lanigon_experiments::path::Path;

/// Largest number of seeds of a point.
const MOST_SEEDS: u64 = 100_000;
/// Largest seed.
const LARGEST_SEED: u64 = i64::MAX as u64;

/// The scenario that a sweep changes.
#[derive(Debug, Clone)]
pub struct Base {
    /// Name of the scenario's file, for messages and results.
    pub name: String,
    /// Text of the scenario, if it is a file of its own.
    pub text: Option<String>,
    /// Folder of the files that it refers to.
    pub folder: PathBuf,
    /// Keys of the scenario.
    pub table: toml::Table,
}

/// A checked sweep.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// File name, as given.
    pub name: String,
    /// Description in one line.
    pub description: String,
    /// The scenario.
    pub base: Base,
    /// The axes, slowest first.
    pub axes: Vec<Axis>,
    /// Axes that move together, as indexes; each axis is in one group.
    pub groups: Vec<Vec<usize>>,
    /// The seeds of each point; one `None` if it does not set them.
    pub seeds: Vec<Option<i64>>,
    /// The key that gets the seed.
    pub seed_key: Path,
    /// Numbers that are taken from each run.
    pub measures: Vec<Measure>,
    /// Plots of the measures.
    pub plots: Vec<Plot>,
    /// Position of `scenario`, for errors of runs.
    pub place: Position,
}

impl Sweep {
    /// Reads a sweep, or the example that has the name if there is no such file, and its scenario.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid.
    pub fn load(path: &FilePath) -> Result<Self, SweepError> {
        let name = path.display().to_string();
        if let Some(reason) = wanted::refused(path, WantedArgument::Sweep) {
            return Err(SweepError::Read {
                path: path.into(),
                error: std::io::Error::other(reason),
            });
        }
        let example = path.to_str().filter(|_| !path.exists());
        let (file, text) = match example.and_then(own::sweep) {
            Some(DataLocation::Embedded(bytes)) => {
                (path.into(), Ok(String::from_utf8_lossy(bytes).into_owned()))
            }
            Some(DataLocation::File(file)) => {
                let text = Input::Sweep.read_text(&file);
                (file, text)
            }
            None => (path.into(), Input::Sweep.read_text(path)),
        };
        let text = text.map_err(|error| SweepError::Read {
            path: file.clone(),
            error,
        })?;
        let folder = file.parent().unwrap_or(FilePath::new(""));
        Self::parse(&name, &text, folder)
    }

    /// Parses the text of a sweep; `folder` is that of its scenario.
    ///
    /// # Errors
    /// The first error.
    pub fn parse(name: &str, text: &str, folder: &FilePath) -> Result<Self, SweepError> {
        let source = SourceText::new(name, text);
        let document = source.parse(text)?;
        let mut root = Table::root(&source, document.get_ref(), None);
        let description = match root.get("description") {
            Some(item) => item.text()?.trim().to_owned(),
            None => String::new(),
        };
        let scenario = root.need("scenario")?;
        let base = read_base(name, &scenario, folder)?;
        let axes = root.tables("axis")?;
        let axes: Vec<Axis> = axes.into_iter().map(Axis::read).collect::<Result<_, _>>()?;
        let (seeds, seed_key) = read_seeds(root.table("repeat")?)?;
        let measures = match root.table("measure")? {
            Some(table) => read_measures(&table)?,
            None => measure::usual(name),
        };
        let plots = root.tables("plot")?;
        root.finish()?;
        let groups = check_axes(&axes, &measures, seeds[0].map(|_| &seed_key))?;
        let plots = read_plots(plots, &axes, &groups, &measures)?;
        Ok(Self {
            name: name.into(),
            description,
            base,
            groups,
            axes,
            seeds,
            seed_key,
            plots,
            measures,
            place: scenario.place,
        })
    }
}

/// Reads `scenario`: a file's name, that of an example, or the scenario itself.
fn read_base(sweep: &str, item: &Item<'_>, folder: &FilePath) -> Result<Base, SweepError> {
    if !item.is_text() {
        let toml::Value::Table(table) = item.value()? else {
            let reason = "expected the name of a file, or a table [scenario]";
            return Err(item.place.refuse(reason).into());
        };
        return Ok(Base {
            name: sweep.into(),
            text: None,
            folder: folder.into(),
            table,
        });
    }
    let mut path = folder.join(item.text()?);
    let mut example = None;
    if path.symlink_metadata().is_err() {
        match own::scenario(item.text()?) {
            Some(DataLocation::File(file)) => path = file,
            Some(DataLocation::Embedded(bytes)) => {
                path = item.text()?.into();
                example = Some(String::from_utf8_lossy(bytes).into_owned());
            }
            None => {}
        }
    }
    let refuse = |error: &dyn std::fmt::Display| {
        let reason = format!("{}: {error}", path.display());
        item.place.refuse(reason)
    };
    let text = match example {
        Some(text) => text,
        None => Input::Scenario
            .read_text(&path)
            .map_err(|error| refuse(&error))?,
    };
    let name = path.display().to_string();
    let table = match text.parse::<toml::Table>() {
        Ok(table) => table,
        // The scenario's own reader gives a position.
        Err(error) => {
            lanigon_workloads::parse(&name, &text)?;
            return Err(refuse(&error).into());
        }
    };
    Ok(Base {
        name,
        folder: path.parent().unwrap_or(FilePath::new("")).into(),
        text: Some(text),
        table,
    })
}

/// Reads `[repeat]`: the seeds, and their key.
fn read_seeds(table: Option<Table<'_>>) -> Result<(Vec<Option<i64>>, Path), ScenarioError> {
    let Some(mut table) = table else {
        return Ok((vec![None], Path::key("seed")));
    };
    let item = table.need("seeds")?;
    let first: i64 = match table.get("first") {
        Some(item) => item.integer(0..=LARGEST_SEED / 2)?,
        None => 1,
    };
    let seeds = match item.value()? {
        toml::Value::Array(_) => listed_seeds(&item)?,
        _ => {
            let count: i64 = item.integer(1..=MOST_SEEDS)?;
            (first..first + count).map(Some).collect()
        }
    };
    let key = match table.get("key") {
        Some(item) => Path::parse(item.text()?).map_err(|reason| item.place.refuse(reason))?,
        None => Path::key("seed"),
    };
    table.finish()?;
    Ok((seeds, key))
}

fn listed_seeds(item: &Item<'_>) -> Result<Vec<Option<i64>>, ScenarioError> {
    let mut seeds = Vec::new();
    for item in item.list() {
        let seed = Some(item.integer(0..=LARGEST_SEED)?);
        if seeds.contains(&seed) {
            return Err(item.place.refuse("names a seed twice"));
        }
        seeds.push(seed);
    }
    match seeds.is_empty() {
        true => Err(item.place.refuse("no seed")),
        false => Ok(seeds),
    }
}

fn read_measures(table: &Table<'_>) -> Result<Vec<Measure>, ScenarioError> {
    let mut entries = table.entries();
    // In the order of the file.
    entries.sort_by_key(|(_, item)| item.place.line);
    let measures = entries.iter().map(|(name, item)| {
        check_name(name).map_err(|reason| item.place.refuse(reason))?;
        measure::read(name, item)
    });
    let measures: Vec<_> = measures.collect::<Result<_, _>>()?;
    match measures.is_empty() {
        true => Err(table.place.refuse("names no measure")),
        false => Ok(measures),
    }
}

fn read_plots(
    tables: Vec<Table<'_>>,
    axes: &[Axis],
    groups: &[Vec<usize>],
    measures: &[Measure],
) -> Result<Vec<Plot>, ScenarioError> {
    let mut plots: Vec<Plot> = Vec::new();
    for table in tables {
        let place = table.place.clone();
        let plot = Plot::read(table, axes, groups, measures)?;
        if plots.iter().any(|other| other.name == plot.name) {
            let reason = format!("there is a plot \"{}\" already", plot.name);
            return Err(place.refuse(reason));
        }
        plots.push(plot);
    }
    Ok(plots)
}

/// Checks that names and keys are different; returns the groups of axes that move together.
fn check_axes(
    axes: &[Axis],
    measures: &[Measure],
    seed_key: Option<&Path>,
) -> Result<Vec<Vec<usize>>, ScenarioError> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut keys: Vec<&Path> = seed_key.into_iter().collect();
    let mut columns: Vec<String> = measures.iter().map(Measure::column).collect();
    for (index, axis) in axes.iter().enumerate() {
        let column = axis.shown.column();
        let named = axes[..index]
            .iter()
            .any(|other| other.shown.name == axis.shown.name);
        if named || columns.contains(&column) {
            let reason = format!(
                "there is an axis or measure \"{}\" already",
                axis.shown.name
            );
            return Err(axis.place.refuse(reason));
        }
        columns.push(column);
        for target in &axis.targets {
            if keys.contains(&&target.path) {
                let reason = format!("{} is set twice", target.path);
                return Err(target.place.refuse(reason));
            }
            keys.push(&target.path);
        }
        let same = |group: &&mut Vec<usize>| axis.zip.is_some() && axes[group[0]].zip == axis.zip;
        match groups.iter_mut().find(same) {
            None => groups.push(vec![index]),
            Some(group) => {
                let first = &axes[group[0]];
                if first.values.len() != axis.values.len() {
                    let reason = format!(
                        "axes that move together have equally many values: \"{}\" has {}, \"{}\" has {}",
                        first.shown.name,
                        first.values.len(),
                        axis.shown.name,
                        axis.values.len()
                    );
                    return Err(axis.place.refuse(reason));
                }
                group.push(index);
            }
        }
    }
    Ok(groups)
}
