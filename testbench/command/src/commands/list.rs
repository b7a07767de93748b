//! `lanigon list`: experiments, images, profiles and scenarios.

use std::path::Path;

use emulator::image::Image;
use serde::Serialize;

use super::Status;
use crate::cli::ListArgs;
use crate::output;
use lanigon_worlds::boards::{self, BOARDS, BoardType};
use lanigon_worlds::scenario::{self, Scenario};

/// Experiments with descriptions.
fn experiments() -> Vec<Named> {
    let board = boards::DEFAULT.title;
    let emp = format!("latency and bandwidth of EMP on the {board} (lanigon reproduce emp)");
    vec![Named {
        name: "emp".into(),
        description: emp,
    }]
}

/// Command that builds the images.
const HOW_TO_BUILD: &str = "make firmware";

/// JSON document of the list.
#[derive(Serialize)]
struct Document {
    boards: Vec<Named>,
    experiments: Vec<Named>,
    images: Vec<ImageRow>,
    profiles: Vec<Named>,
    scenarios: Vec<ScenarioRow>,
}

#[derive(Serialize)]
struct Named {
    name: String,
    description: String,
}

#[derive(Serialize)]
struct ScenarioRow {
    name: String,
    file: String,
    description: String,
    /// Reason for which it cannot be run.
    error: Option<String>,
}

#[derive(Serialize)]
struct ImageRow {
    name: String,
    file: String,
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
    let named = |(name, description): (&str, &str)| Named {
        name: name.into(),
        description: description.into(),
    };
    let catalog = boards::profiles();
    let profiles = catalog.names().map(|name| {
        let profile = catalog.built_in(name)?;
        Ok(named((name, &profile.description)))
    });
    let boards = BOARDS.iter().map(|board| Named {
        name: board.name.into(),
        description: format!("{}: {}", board.title, board.description),
    });
    let document = Document {
        boards: boards.collect(),
        experiments: experiments(),
        images: images(),
        profiles: profiles.collect::<anyhow::Result<_>>()?,
        scenarios: scenarios(&scenario::examples()),
    };
    if args.json {
        output::print_json(&document)?;
    } else {
        output::print(&document.text())?;
    }
    Ok(Status::Done)
}

/// Images of all types of boards, by folder and name. A folder that several types share is that of the first one.
fn images() -> Vec<ImageRow> {
    let mut known: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for board in &BOARDS {
        if known.contains(&board.images) {
            continue;
        }
        known.push(board.images);
        rows.extend(images_in(board));
    }
    rows
}

/// Images in the folder of a type of board, by name; empty if it does not exist.
fn images_in(board: &'static BoardType) -> Vec<ImageRow> {
    let entries = std::fs::read_dir(board.image_folder());
    let entries = entries.into_iter().flatten().flatten();
    let mut rows: Vec<_> = entries
        .filter_map(|entry| image(board, &entry.path()))
        .collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}

/// Row of a file if it is an image: images have no extension.
fn image(board: &'static BoardType, path: &Path) -> Option<ImageRow> {
    let name = path.file_name()?.to_str()?;
    if !path.is_file() || name.contains('.') {
        return None;
    }
    let largest = board.sram_sizes.last().copied();
    let read = board.read_image(path, largest.unwrap_or_default());
    let loaded_bytes = |image: &Image| image.load_parts().map(|(_, bytes)| bytes.len()).sum();
    Some(ImageRow {
        name: name.into(),
        file: path.canonicalize().ok()?.display().to_string(),
        loaded_bytes: read.as_ref().ok().map(loaded_bytes),
        error: read.err().map(|error| error.to_string()),
    })
}

/// Scenarios in the folder, by name; empty if it does not exist.
fn scenarios(folder: &Path) -> Vec<ScenarioRow> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let row = |entry: std::fs::DirEntry| {
        let path = entry.path().canonicalize().ok()?;
        let name = path.file_name()?.to_str()?.strip_suffix(".toml")?;
        let read = Scenario::load(&path);
        Some(ScenarioRow {
            name: name.into(),
            file: path.display().to_string(),
            error: read.as_ref().err().map(ToString::to_string),
            description: read.map_or_else(|_| String::new(), |scenario| scenario.description),
        })
    };
    let mut rows: Vec<_> = entries.filter_map(row).collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}

impl Document {
    fn text(&self) -> String {
        let rows = |rows: &[Named]| -> String {
            rows.iter()
                .map(|row| format!("  {:<24}{}\n", row.name, row.description))
                .collect()
        };
        let folder = |row: &ImageRow| Path::new(&row.file).parent().map(Path::to_path_buf);
        let images: String = self
            .images
            .chunk_by(|a, b| folder(a) == folder(b))
            .map(|rows| {
                let folder = rows.first().and_then(folder).unwrap_or_default();
                let rows: String = rows.iter().map(ImageRow::text).collect();
                format!("images in {}\n{rows}", folder.display())
            })
            .collect();
        let images = match images.is_empty() {
            true => format!("images: none yet; `{HOW_TO_BUILD}` builds them\n"),
            false => images,
        };
        let (experiments, profiles) = (rows(&self.experiments), rows(&self.profiles));
        let boards = rows(&self.boards);
        let scenarios = self.scenarios();
        format!(
            "boards\n{boards}\nexperiments\n{experiments}\n{images}\nprofiles\n{profiles}\n{scenarios}"
        )
    }

    fn scenarios(&self) -> String {
        let first = self.scenarios.first();
        let Some(folder) = first.and_then(|row| Path::new(&row.file).parent()) else {
            return "scenarios: none here\n".into();
        };
        let row = |row: &ScenarioRow| match &row.error {
            Some(error) => format!("  {:<24}not fit: {error}\n", row.name),
            None => format!("  {:<24}{}\n", row.name, row.description),
        };
        let rows: String = self.scenarios.iter().map(row).collect();
        format!(
            "scenarios in {} (lanigon run FILE)\n{rows}",
            folder.display()
        )
    }
}

impl ImageRow {
    fn text(&self) -> String {
        match (&self.error, self.loaded_bytes) {
            (Some(error), _) => format!("  {:<24}not fit: {error}\n", self.name),
            (None, bytes) => format!(
                "  {:<24}{} bytes to load\n",
                self.name,
                bytes.unwrap_or_default()
            ),
        }
    }
}
