//! The firmware images of a scenario.

use std::collections::BTreeSet;
use std::sync::Arc;

use emulator::image::{Image, Names};

use crate::files::input::Input;
use crate::images::ELF_MAGIC;
use crate::myrinet;
use crate::myrinet::program::{ControlProgram, is_control_program};
use crate::scenario::programs::ProgramSpec;
use crate::scenario::{ControlSettings, Node, Scenario, ScenarioError};

/// An image for a type of board.
#[derive(Debug, Clone)]
struct KnownImage {
    name: String,
    symbols: Option<String>,
    board: &'static str,
    /// Settings by which the file is read as a control program, if it is one.
    control: Option<ControlSettings>,
    image: Arc<Image>,
    /// Warning about the image, if there is one.
    warning: Option<String>,
}

/// The images of a scenario, each once, and the image of each node.
#[derive(Debug, Clone)]
pub struct Images {
    all: Vec<KnownImage>,
    /// Index of each node's image.
    nodes: Vec<usize>,
}

/// Reads the control program of a node; returns its image, and a warning if it is for another chip.
fn read_control(
    scenario: &Scenario,
    node: &Node,
    settings: &ControlSettings,
) -> Result<(Image, Option<String>), ScenarioError> {
    let sram_bytes = node.sram_bytes();
    let found = node.image.find(node.board, &scenario.folder);
    let refuse =
        |error: &dyn std::fmt::Display| node.image.place.refuse(format!("{found}: {error}"));
    let file = found.read(Input::Image).map_err(|error| refuse(&error))?;
    let ControlSettings {
        format, skip_bytes, ..
    } = *settings;
    let program = ControlProgram::parse(&file, format, skip_bytes, sram_bytes);
    let program = program.map_err(|error| refuse(&error))?;
    let generation = myrinet::generation(node.board);
    let warning = generation.and_then(|generation| program.warning(generation));
    let image = program.image(node.board, sram_bytes);
    Ok((image, warning.map(|warning| format!("{found}: {warning}"))))
}

/// Reads the image of a node, and its symbols.
fn read(scenario: &Scenario, node: &Node) -> Result<Image, ScenarioError> {
    let (board, folder) = (node.board, &scenario.folder);
    let sram_bytes = node.sram_bytes();
    let found = node.image.find(board, folder);
    let image = match &node.symbols {
        Some(_) => board.read_alone(&found, sram_bytes),
        None => board.read(&found, sram_bytes),
    };
    let place = &node.image.place;
    let image = image.map_err(|error| place.refuse(error.to_string()))?;
    let Some(symbols) = &node.symbols else {
        return Ok(image);
    };
    let found = symbols.find(board, folder);
    let named = board.with_symbols(image, &found, sram_bytes);
    named.map_err(|error| symbols.place.refuse(error.to_string()))
}

/// The warning of a control program that a host only starts, if it is for another chip than the node's.
fn other_chip(scenario: &Scenario, node: &Node) -> Option<String> {
    let generation = myrinet::generation(node.board)?;
    let found = node.image.find(node.board, &scenario.folder);
    let file = found.read(Input::Image).ok()?;
    if file.starts_with(ELF_MAGIC) || !is_control_program(&file) {
        return None;
    }
    let program = ControlProgram::parse(&file, None, None, node.sram_bytes()).ok()?;
    let warning = program.warning(generation)?;
    Some(format!("{found}: {warning}"))
}

impl Images {
    /// Reads the images.
    ///
    /// # Errors
    /// If one is invalid for its board; with the position in the scenario.
    pub(super) fn read(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let mut all = Vec::new();
        let mut nodes = Vec::new();
        for node in &scenario.nodes {
            let name = &node.image.name;
            let symbols = node.symbols.as_ref().map(|symbols| &symbols.name);
            let control = scenario.control(nodes.len());
            let control = control.and_then(ProgramSpec::control);
            let key = (name, symbols, node.board.name, control);
            let same = |known: &KnownImage| {
                let symbols = known.symbols.as_ref();
                (&known.name, symbols, known.board, known.control.as_ref()) == key
            };
            let index = match all.iter().position(same) {
                Some(index) => index,
                None => {
                    let (image, warning) = match control {
                        Some(settings) => read_control(scenario, node, settings)?,
                        None => (read(scenario, node)?, other_chip(scenario, node)),
                    };
                    all.push(KnownImage {
                        name: name.clone(),
                        symbols: symbols.cloned(),
                        board: node.board.name,
                        control: control.copied(),
                        image: Arc::new(image),
                        warning,
                    });
                    all.len() - 1
                }
            };
            nodes.push(index);
        }
        Ok(Self { all, nodes })
    }

    /// The image of a node.
    #[must_use]
    pub fn image_of(&self, node: usize) -> &Arc<Image> {
        &self.all[self.nodes[node]].image
    }

    /// The index of a node's image in [`all`](Self::all).
    #[must_use]
    pub fn index_of(&self, node: usize) -> usize {
        self.nodes[node]
    }

    /// Each image once, with its name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Arc<Image>)> {
        self.all.iter().map(|known| (&*known.name, &known.image))
    }

    /// Warnings about images: control programs for other chips.
    pub(super) fn warnings(&self) -> impl Iterator<Item = &str> {
        self.all.iter().filter_map(|known| known.warning.as_deref())
    }

    /// Identities of the images, in the order of the first nodes that run them. Symbols of their own add the identity of the
    /// marks of probes, which cost no time.
    #[must_use]
    pub fn identity(&self) -> String {
        let identity = |known: &KnownImage| match known.image.names {
            Names::Own | Names::Linked(_) => known.image.identity().to_string(),
            Names::Other(_) => format!(
                "{}+{}",
                known.image.identity(),
                known.image.marks_identity()
            ),
        };
        let identities = self.all.iter().map(identity);
        identities.collect::<Vec<_>>().join(" ")
    }

    /// Names of the images.
    #[must_use]
    pub fn names(&self) -> String {
        let names: BTreeSet<_> = self.all.iter().map(|known| &*known.name).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }
}
