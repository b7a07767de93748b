//! `lanigon list`: experiments, images, profiles, scenarios and sweeps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use emulator::image::Image;
use serde::Serialize;

use super::Status;
use crate::cli::ListArgs;
use crate::output;
use lanigon_experiments::paper::Paper;
use lanigon_papers::PAPERS;
use lanigon_sweep::file::Sweep;
use lanigon_worlds::boards::{self, BOARDS, BoardType};
use lanigon_worlds::files::own::{self, DataLocation};

/// Experiments with descriptions: what `lanigon reproduce` knows.
fn experiments() -> Vec<NamedItem> {
    let row = |paper: &Paper| NamedItem {
        name: paper.name.into(),
        description: format!("{} (lanigon reproduce {})", paper.about, paper.name),
    };
    PAPERS.iter().copied().map(row).collect()
}

/// Command that builds the images.
const HOW_TO_BUILD: &str = "make firmware";

/// JSON document of the list.
#[derive(Serialize)]
struct ListDocument {
    boards: Vec<NamedItem>,
    experiments: Vec<NamedItem>,
    images: Vec<ImageRow>,
    profiles: Vec<NamedItem>,
    scenarios: Vec<TextRow>,
    sweeps: Vec<TextRow>,
}

#[derive(Serialize)]
struct NamedItem {
    name: String,
    description: String,
}

/// A scenario or a sweep.
#[derive(Serialize)]
struct TextRow {
    name: String,
    /// Absent if it is in the program.
    file: Option<String>,
    description: String,
    /// Reason for which it cannot be run.
    error: Option<String>,
}

#[derive(Serialize)]
struct ImageRow {
    name: String,
    /// Absent if it is in the program.
    file: Option<String>,
    /// Family of boards.
    family: &'static str,
    /// Types of boards that it fits.
    boards: Vec<&'static str>,
    /// Loaded bytes; absent if the image is invalid.
    loaded_bytes: Option<usize>,
    /// Reason for which it is invalid.
    error: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// If a built-in profile is invalid, or the result cannot be written.
pub fn run(args: &ListArgs) -> anyhow::Result<Status> {
    let named = |(name, description): (&str, &str)| NamedItem {
        name: name.into(),
        description: description.into(),
    };
    let catalog = boards::profiles();
    let profiles = catalog.names().map(|name| {
        let profile = catalog.built_in(name)?;
        Ok(named((name, &profile.description)))
    });
    let boards = BOARDS.iter().map(|board| NamedItem {
        name: board.name.into(),
        description: format!("{}: {}", board.title, board.description),
    });
    let document = ListDocument {
        boards: boards.collect(),
        experiments: experiments(),
        images: images(),
        profiles: profiles.collect::<anyhow::Result<_>>()?,
        scenarios: texts(own::scenarios(), |path| {
            Ok(lanigon_workloads::load(path)?.description)
        }),
        sweeps: texts(own::sweeps(), |path| Ok(Sweep::load(path)?.description)),
    };
    if args.json {
        output::print_json(&document)?;
    } else {
        output::print(&document.text())?;
    }
    Ok(Status::Done)
}

/// Images of all families of boards, by name.
fn images() -> Vec<ImageRow> {
    let families: BTreeSet<_> = BOARDS.iter().map(|board| board.images).collect();
    let names = families.into_iter().flat_map(|family| {
        let images = own::images(family).into_iter();
        images.map(move |(name, found)| image(family, name, &found))
    });
    names.collect()
}

fn image(family: &'static str, name: String, found: &DataLocation) -> ImageRow {
    let boards = BOARDS.iter().filter(|board| board.images == family);
    let read = boards.map(|board: &BoardType| {
        let most = board.sram_sizes.last().copied().unwrap_or_default();
        (board, board.own_image(&name, most))
    });
    let (fit, unfit): (Vec<_>, Vec<_>) = read.partition(|(_, read)| read.is_ok());
    let first = fit.first().and_then(|(_, read)| read.as_ref().ok());
    let loaded_bytes = |image: &Image| image.load_parts().map(|(_, bytes)| bytes.len()).sum();
    let error = unfit.iter().find_map(|(_, read)| read.as_ref().err());
    ImageRow {
        file: file(found),
        family,
        loaded_bytes: first.map(loaded_bytes),
        error: error.filter(|_| fit.is_empty()).map(ToString::to_string),
        boards: fit.iter().map(|(board, _)| board.name).collect(),
        name,
    }
}

/// Path of a file; `None` for data in the program.
fn file(found: &DataLocation) -> Option<String> {
    match found {
        DataLocation::File(path) => Some(path.display().to_string()),
        DataLocation::Embedded(_) => None,
    }
}

/// Examples, by name; `load` returns an example's description.
fn texts(
    all: BTreeMap<String, DataLocation>,
    load: impl Fn(&Path) -> anyhow::Result<String>,
) -> Vec<TextRow> {
    let row = |(name, found): (String, DataLocation)| {
        let path = match &found {
            DataLocation::File(path) => path.clone(),
            DataLocation::Embedded(_) => Path::new(&name).into(),
        };
        let read = load(&path);
        TextRow {
            name,
            file: file(&found),
            error: read.as_ref().err().map(ToString::to_string),
            description: read.unwrap_or_default(),
        }
    };
    all.into_iter().map(row).collect()
}

/// Place of a group of files: their folder, or the program.
fn place(file: Option<&str>) -> String {
    let folder = file.and_then(|file| Path::new(file).parent());
    folder.map_or("this program".into(), |folder| folder.display().to_string())
}

impl ListDocument {
    fn text(&self) -> String {
        let rows = |rows: &[NamedItem]| -> String {
            output::aligned(rows.iter().map(|row| (&row.name, &row.description)))
        };
        let group = |row: &ImageRow| (row.family, place(row.file.as_deref()));
        let mut rows_of_images: Vec<_> = self.images.iter().collect();
        rows_of_images.sort_by_key(|row| group(row));
        let images: String = rows_of_images
            .chunk_by(|a, b| group(a) == group(b))
            .map(|rows| {
                let (family, place) = rows.first().map(|row| group(row)).unwrap_or_default();
                let rows = rows.iter().map(|row| (&row.name, row.text()));
                let rows = output::aligned(rows);
                format!("images for {family} in {place}\n{rows}")
            })
            .collect();
        let images = match images.is_empty() {
            true => format!("images: none yet; `{HOW_TO_BUILD}` builds them\n"),
            false => images,
        };
        let (experiments, profiles) = (rows(&self.experiments), rows(&self.profiles));
        let boards = rows(&self.boards);
        let scenarios = grouped("scenarios", "lanigon run NAME", &self.scenarios);
        let sweeps = grouped("sweeps", "lanigon sweep NAME", &self.sweeps);
        format!(
            "boards\n{boards}\nexperiments\n{experiments}\n{images}\nprofiles\n{profiles}\n{scenarios}\n{sweeps}"
        )
    }
}

/// Lines of examples, by the place where they are.
fn grouped(kind: &str, command: &str, all: &[TextRow]) -> String {
    let group = |row: &TextRow| place(row.file.as_deref());
    let text = |row: &TextRow| match &row.error {
        Some(error) => format!("not fit: {error}"),
        None => row.description.clone(),
    };
    let mut all: Vec<_> = all.iter().collect();
    all.sort_by_key(|row| group(row));
    let groups = all.chunk_by(|a, b| group(a) == group(b)).map(|rows| {
        let place = rows.first().map(|row| group(row)).unwrap_or_default();
        let rows = output::aligned(rows.iter().map(|row| (&row.name, text(row))));
        format!("{kind} in {place} ({command})\n{rows}")
    });
    match all.is_empty() {
        true => format!("{kind}: none here\n"),
        false => groups.collect(),
    }
}

impl ImageRow {
    fn text(&self) -> String {
        match (&self.error, self.loaded_bytes) {
            (Some(error), _) => format!("not fit: {error}"),
            (None, bytes) => format!(
                "{:>6} bytes to load, for {}",
                bytes.unwrap_or_default(),
                self.boards.join(", ")
            ),
        }
    }
}
