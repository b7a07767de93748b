//! Records the trace of a run into a file.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use emulator::image::Image;
use emulator::observe::event::Details;
use emulator::observe::file::{BinaryTrace, Header, ImageInfo, NodeInfo, Results};
use emulator::observe::stream::Observer;
use emulator::observe::text::TextTrace;
use emulator::sim::board::Board;
use emulator::sim::world::World;

use super::args::RecordArgs;
use crate::cluster::START;
use crate::output::WriteError;

/// Details by name.
pub const DETAILS: [(&str, Details); 6] = [
    ("registers", Details::REGISTERS),
    ("handlers", Details::HANDLERS),
    ("semaphore", Details::SEMAPHORE),
    ("rings", Details::RINGS),
    ("host", Details::HOST),
    ("frames", Details::FRAMES),
];

/// `--details LIST`.
///
/// # Errors
/// If a name is none.
pub fn details(list: &str) -> Result<Details, String> {
    let mut all = Details::empty();
    for name in list.split(',') {
        all |= match DETAILS.iter().find(|entry| entry.0 == name) {
            Some(entry) => entry.1,
            None if name == "all" => Details::all(),
            None => {
                let names = DETAILS.map(|entry| entry.0).join(", ");
                return Err(format!("there is no \"{name}\" (there are: {names}, all)"));
            }
        };
    }
    Ok(all)
}

/// Where a trace goes.
#[derive(Debug, Default)]
pub struct Recording {
    path: Option<PathBuf>,
    results: Option<Results>,
}

impl RecordArgs {
    /// Begins to record, if that is asked for.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin<B: Board>(
        &self,
        world: &mut World<B>,
        header: impl FnOnce() -> Header,
    ) -> anyhow::Result<Recording> {
        let Some(path) = &self.trace else {
            return Ok(Recording::default());
        };
        let details = self.details.unwrap_or_default();
        let (observer, results) =
            observer(path, header, details).with_context(|| path.display().to_string())?;
        world.observe(observer);
        Ok(Recording {
            path: Some(path.clone()),
            results,
        })
    }
}

/// A file whose name ends so is written as text.
const TEXT_SUFFIX: &str = "txt";

fn observer(
    path: &Path,
    header: impl FnOnce() -> Header,
    details: Details,
) -> io::Result<(Box<dyn Observer>, Option<Results>)> {
    let file = Box::new(File::create(path)?);
    if path.extension().is_some_and(|end| end == TEXT_SUFFIX) {
        let text = TextTrace::new(file).with_details(details);
        return Ok((Box::new(text), None));
    }
    let named = DETAILS.iter().filter(|entry| details.contains(entry.1));
    let header = Header {
        details: named.map(|entry| entry.0.into()).collect(),
        ..header()
    };
    let trace = BinaryTrace::new(file, &header, details)?;
    let results = trace.results();
    Ok((Box::new(trace), Some(results)))
}

impl Recording {
    /// What came of the run: for the end of the file.
    pub fn results(&self, results: impl IntoIterator<Item = (&'static str, String)>) {
        for (name, value) in results {
            if let Some(slot) = &self.results {
                slot.set(name, value);
            }
        }
    }

    /// The end, when the results were shown.
    ///
    /// # Errors
    /// If the file could not be written.
    pub fn finish(&self, failed: Option<io::Error>) -> Result<(), WriteError> {
        match (&self.path, failed) {
            (Some(path), Some(error)) => Err(WriteError::new(path.display(), error)),
            _ => Ok(()),
        }
    }
}

/// A header for a run of nodes with these names.
pub fn header(run: &impl Display, seed: u64, names: impl IntoIterator<Item = String>) -> Header {
    let node = |name| NodeInfo {
        name,
        images: [None; 2],
    };
    Header {
        program: concat!("lanigon ", env!("CARGO_PKG_VERSION")).into(),
        run: run.to_string(),
        seed,
        start_ps: START.ps(),
        nodes: names.into_iter().map(node).collect(),
        ..Header::default()
    }
}

/// The header of a run in which every CPU runs this image.
#[must_use]
pub fn with_image(mut header: Header, name: &str, image: &Image) -> Header {
    header.images.push(ImageInfo::new(name, image));
    let last = header.images.len() - 1;
    for node in &mut header.nodes {
        node.images = [Some(last); 2];
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_details() {
        assert_eq!(details("rings,host"), Ok(Details::RINGS | Details::HOST));
        assert_eq!(details("all"), Ok(Details::all()));
        let every = DETAILS
            .iter()
            .fold(Details::empty(), |all, entry| all | entry.1);
        assert_eq!(every, Details::all(), "each has a name");
        for wrong in ["", "ring", "rings,", "ALL"] {
            assert!(details(wrong).is_err(), "{wrong}");
        }
    }
}
