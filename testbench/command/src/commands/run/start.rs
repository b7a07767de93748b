//! Start of a run, and snapshots on the way.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use emulator::sim::ranks::{RankError, Ranks};
use emulator::sim::time::SimTime;

use crate::cli::run::RunArgs;
use crate::output::NewFile;
use lanigon_analysis::capture;
use lanigon_processes::Output;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::nodes::START;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::snapshot::{self, SnapshotError};
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// A simulation ready to run.
pub(super) struct Start {
    /// The scenario's file.
    pub(super) name: String,
    /// Text of the file.
    pub(super) text: String,
    pub(super) scenario: Scenario,
    pub(super) simulation: Simulation,
    /// The checksum of the snapshot's file, if it begins with one.
    pub(super) snapshot: Option<u32>,
}

/// Builds a scenario, or loads a snapshot.
pub(super) fn begin(args: &RunArgs, interrupt: &Interrupt) -> anyhow::Result<Start> {
    let shown = |path: &Path| path.display().to_string();
    if let Some(path) = &args.from {
        let file = snapshot::read(path).with_context(|| shown(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let (simulation, scenario, label) =
            Simulation::load(lanigon_workloads::ALL, &file, folder).with_context(|| shown(path))?;
        return Ok(Start {
            name: label.scenario,
            text: label.text,
            scenario,
            simulation,
            snapshot: Some(crc32fast::hash(&file)),
        });
    }
    let Some(path) = &args.scenario else {
        bail!("neither a scenario nor a snapshot is named");
    };
    let (mut scenario, text) = lanigon_workloads::ALL.load_with_text(path)?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    let is_taken = args.json || args.pcap.as_deref().is_some_and(capture::is_stdout);
    lanigon_processes::prepare(&mut scenario, || interrupt.flag(), Output::beside(is_taken))?;
    Ok(Start {
        name: shown(path),
        text,
        simulation: Simulation::new(&scenario)?,
        scenario,
        snapshot: None,
    })
}

/// A snapshot to save: time relative to the start of the programs, and file.
pub(super) struct SaveAt {
    pub(super) time: SimTime,
    pub(super) file: PathBuf,
}

impl SaveAt {
    pub(super) fn parse(words: &[String]) -> anyhow::Result<Self> {
        let [us, file] = words else {
            bail!("--snapshot-at takes a time in us and a file");
        };
        let time = us
            .parse::<f64>()
            .ok()
            .filter(|us| (0.0..=1e12).contains(us));
        let time = time.with_context(|| {
            format!("--snapshot-at: \"{us}\" is no time in us from the start of the programs on")
        })?;
        Ok(Self {
            time: SimTime::from_ps((time * 1e6) as u64),
            file: file.into(),
        })
    }

    /// Checks that the run can be saved, and reaches that time.
    pub(super) fn check(
        &self,
        simulation: &Simulation,
        scenario: &Scenario,
        max_time: Option<SimTime>,
    ) -> anyhow::Result<()> {
        scenario.check_saving()?;
        let us = self.time.us();
        let begin = simulation.world.now();
        ensure!(
            START.saturating_add(self.time) >= begin || begin <= START,
            "--snapshot-at {us}: the run begins later, at {} us",
            begin.us() - START.us()
        );
        let last = [max_time, scenario.max_time].into_iter().flatten().min();
        if let Some(last) = last.filter(|&last| last < self.time) {
            bail!(
                "--snapshot-at {us}: the run ends before, at {} us",
                last.us()
            );
        }
        Ok(())
    }

    /// Runs the simulation to that time and saves it. The simulation can always continue.
    pub(super) fn run_and_save(
        &self,
        file: NewFile<'_>,
        simulation: &mut Simulation,
        options: &RunOptions,
        watch: impl FnMut(u64) + Send,
        save: impl FnOnce(&Simulation) -> Result<Vec<u8>, SnapshotError>,
    ) -> anyhow::Result<()> {
        simulation.run_to(self.time, options, watch)?;
        let bytes = save(simulation)?;
        Ok(file.write(&bytes)?)
    }

    /// As [`run_and_save`](Self::run_and_save), together with the other ranks. Rank 0 has the file. The simulation can go on unless a rank is gone.
    pub(super) fn run_and_save_shared(
        &self,
        file: Option<NewFile<'_>>,
        start: &mut Start,
        ranks: &mut Ranks,
        options: &RunOptions,
        watch: impl FnMut(u64) + Send,
    ) -> Result<anyhow::Result<()>, RankError> {
        let simulation = &mut start.simulation;
        if let Err(over) = simulation.run_to_shared(ranks, self.time, options, watch)? {
            return Ok(Err(over.into()));
        }
        let saved = simulation.save_shared(ranks, &start.name, &start.text, &start.scenario)?;
        Ok(match (saved, file) {
            (Ok(Some(bytes)), Some(file)) => file.write(&bytes).map_err(Into::into),
            (Ok(_), _) => Ok(()),
            (Err(error), _) => Err(error.into()),
        })
    }
}
