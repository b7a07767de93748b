//! Recording of a run's trace in a file.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use emulator::boards::BOARD_NAMES;
use emulator::image::Image;
use emulator::observe::event::{Details, TraceEvent};
use emulator::observe::file::InstructionTrace;
use emulator::observe::file::{BinaryTrace, ChunkWriter, Header, ImageInfo, NodeInfo, Results};
use emulator::observe::stream::Observer;
use emulator::observe::text::TextTrace;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;

use super::select::{Selected, Selection, Terms, Window};
use crate::output::WriteError;
use lanigon_worlds::boards::BoardType;
use lanigon_worlds::files::output::{self, Destination};
use lanigon_worlds::nodes::START;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::Images;

/// Details by name.
pub const DETAILS: [(&str, Details); 7] = [
    ("registers", Details::REGISTERS),
    ("handlers", Details::HANDLERS),
    ("semaphore", Details::SEMAPHORE),
    ("rings", Details::RINGS),
    ("host", Details::HOST),
    ("frames", Details::FRAMES),
    ("events", Details::EVENTS),
];

/// All details. (Breakpoints and watchpoints exist in a debugger only.)
fn every() -> Details {
    let all = DETAILS.iter().map(|entry| entry.1);
    all.fold(Details::empty(), |all, one| all | one)
}

/// Parses `--details LIST`.
///
/// # Errors
/// If a name is unknown.
pub fn details(list: &str) -> Result<Details, String> {
    let mut all = Details::empty();
    for name in list.split(',') {
        all |= match DETAILS.iter().find(|entry| entry.0 == name) {
            Some(entry) => entry.1,
            None if name == "all" => every(),
            None => {
                let names = DETAILS.map(|entry| entry.0).join(", ");
                return Err(format!("there is no \"{name}\" (there are: {names}, all)"));
            }
        };
    }
    Ok(all)
}

/// Options of a recording.
#[derive(Debug, Default)]
pub struct RecordOptions {
    /// The trace file, if requested; as text if its name ends in `.txt`.
    pub trace: Option<PathBuf>,
    /// Kinds of events that are recorded on request only.
    pub details: Details,
    /// Also records every instruction of every CPU.
    pub instructions: bool,
    /// The trace begins at the first event that matches.
    pub trigger: Option<Terms>,
    /// Events in this span before the trigger are recorded too.
    pub before: Option<SimTime>,
    /// The trace ends this span after the trigger.
    pub span: Option<SimTime>,
}

/// A recording in progress, if requested.
#[derive(Debug, Default)]
pub struct Recording {
    path: Option<PathBuf>,
    results: Option<Results>,
    failed: Failed,
    destination: Option<Destination>,
}

impl RecordOptions {
    /// Starts the recording, if requested.
    ///
    /// # Errors
    /// If the file cannot be written, or the trigger contains an unknown name.
    pub fn begin(
        &self,
        world: &mut World,
        header: impl FnOnce() -> Header,
    ) -> anyhow::Result<Recording> {
        let Some(path) = &self.trace else {
            return Ok(Recording::default());
        };
        let details = self.details;
        let mut header = header();
        let named = DETAILS.iter().filter(|entry| details.contains(entry.1));
        header.details = named.map(|entry| entry.0.into()).collect();
        header.selection = self.selection();
        let window = Window {
            trigger: self.trigger.clone(),
            before: self.before,
            span: self.span,
            ..Window::default()
        };
        let selection = Selection::new(&window.into(), &header).context("--trace-trigger")?;
        let shown = || path.display().to_string();
        let (file, destination) = output::create(path).with_context(shown)?;
        let is_text = path.extension().is_some_and(|end| end == TEXT_SUFFIX);
        let (observer, results, instructions) = match is_text {
            true => (text(file, details), None, None),
            false => binary(file, &header, details, self.instructions).with_context(shown)?,
        };
        if self.instructions {
            let place = || format!("{}: --instructions", path.display());
            let chunks = instructions.context("they have no form as text (.txt)");
            // It finishes before the other writer, which reports errors of both.
            let trace = InstructionTrace::new(chunks.with_context(place)?);
            world.observe(Box::new(trace));
        }
        let failed = Failed::default();
        let kept = KeptError {
            observer,
            failed: failed.clone(),
        };
        match self.trigger {
            Some(_) => world.observe(Box::new(Selected::new(kept, selection))),
            None => world.observe(Box::new(kept)),
        }
        Ok(Recording {
            path: Some(path.clone()),
            results,
            failed,
            destination: Some(destination),
        })
    }

    /// The options that filter the recording.
    fn selection(&self) -> Option<String> {
        let terms = self.trigger.as_ref()?;
        let terms = terms.0.iter().map(|(key, value)| format!("{key}={value}"));
        let mut text = format!("from the first {}", terms.collect::<Vec<_>>().join(" "));
        if let Some(span) = self.before {
            text += &format!(", {span} before");
        }
        if let Some(span) = self.span {
            text += &format!(", {span} after");
        }
        Some(text)
    }
}

/// An observer's error, for its owner.
type Failed = Arc<Mutex<Option<io::Error>>>;

/// Separates an observer's error from those of others.
struct KeptError {
    observer: Box<dyn Observer>,
    failed: Failed,
}

impl Observer for KeptError {
    fn details(&self) -> Details {
        self.observer.details()
    }

    fn event(&mut self, event: &TraceEvent) {
        self.observer.event(event);
    }

    fn finish(&mut self) -> io::Result<()> {
        let error = self.observer.finish().err();
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = error;
        Ok(())
    }
}

/// Suffix of files that are written as text.
const TEXT_SUFFIX: &str = "txt";

/// A trace writer, its results, and the shared file for instructions.
type OpenedWriter = (Box<dyn Observer>, Option<Results>, Option<ChunkWriter>);

fn text(file: File, details: Details) -> Box<dyn Observer> {
    Box::new(TextTrace::new(Box::new(file)).with_details(details))
}

fn binary(
    file: File,
    header: &Header,
    details: Details,
    with_instructions: bool,
) -> io::Result<OpenedWriter> {
    let chunks = ChunkWriter::new(Box::new(file), header)?;
    let instructions = with_instructions.then(|| chunks.share());
    let trace = BinaryTrace::into_chunks(chunks, details);
    let results = trace.results();
    Ok((Box::new(trace), Some(results), instructions))
}

impl Recording {
    /// Sets results of the run, which are written at the end of the file.
    pub fn results(&self, results: impl IntoIterator<Item = (&'static str, String)>) {
        for (name, value) in results {
            if let Some(slot) = &self.results {
                slot.set(name, value);
            }
        }
    }

    /// Ends the recording, after the world has finished observing.
    ///
    /// # Errors
    /// If the file could not be written.
    pub fn finish(self) -> Result<(), WriteError> {
        let failed = self
            .failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let written = match (failed, self.destination) {
            (Some(error), _) => Err(error),
            (None, destination) => destination.map_or(Ok(()), Destination::finish),
        };
        written.map_err(|error| {
            let path = self.path.unwrap_or_default();
            WriteError::new(path.display(), error)
        })
    }
}

/// A header for a run of nodes with these names and boards.
pub fn header(
    run: &impl Display,
    seed: u64,
    nodes: impl IntoIterator<Item = (String, &'static BoardType)>,
) -> Header {
    let node = |(name, board): (String, &BoardType)| NodeInfo {
        name,
        board: board.name.into(),
        images: Vec::new(),
    };
    Header {
        program: concat!("lanigon ", env!("CARGO_PKG_VERSION")).into(),
        run: run.to_string(),
        seed,
        start_ps: START.ps(),
        nodes: nodes.into_iter().map(node).collect(),
        ..Header::default()
    }
}

/// Adds the image of all CPUs to a header.
#[must_use]
pub fn with_image(mut header: Header, name: &str, image: &Image) -> Header {
    header.images.push(ImageInfo::new(name, image));
    let last = header.images.len() - 1;
    for node in &mut header.nodes {
        node.images = vec![Some(last); node.names(BOARD_NAMES).cpus.len()];
    }
    header
}

/// The header of a scenario's run. `name` is that of its file.
#[must_use]
pub fn of_scenario(name: &str, scenario: &Scenario, images: &Images) -> Header {
    let nodes = scenario.nodes.iter();
    let nodes = nodes.map(|node| (node.name.clone(), node.board));
    let mut header = header(&name, scenario.seed, nodes);
    let known = images.all();
    header.images = known
        .map(|(name, image)| ImageInfo::new(name, image))
        .collect();
    for (index, node) in header.nodes.iter_mut().enumerate() {
        let image = Some(images.index_of(index));
        node.images = vec![image; node.names(BOARD_NAMES).cpus.len()];
    }
    header.switches = scenario.network.switches.len() as u16;
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_details() {
        assert_eq!(details("rings,host"), Ok(Details::RINGS | Details::HOST));
        assert_eq!(details("all"), Ok(every()));
        let named = every() | Details::STOPS;
        assert_eq!(named, Details::all(), "each has a name");
        for wrong in ["", "ring", "rings,", "ALL"] {
            assert!(details(wrong).is_err(), "{wrong}");
        }
    }
}
