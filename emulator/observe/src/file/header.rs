//! Header and end of a trace file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Place;
use crate::names::{BoardNames, Boards, NO_BOARD, names_of};
use emulator_image::{Image, SymbolTable};

/// Description of the run. Fields are optional: an older writer may not have known them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// Program that wrote the file.
    pub program: String,
    /// The run: file of the scenario, or a command.
    pub run: String,
    /// Random seed.
    pub seed: u64,
    /// Start time of the host programs.
    pub start_ps: u64,
    /// Nodes by number.
    pub nodes: Vec<NodeInfo>,
    /// Number of switches.
    pub switches: u16,
    /// Images on the nodes.
    pub images: Vec<ImageInfo>,
    /// Names of the recorded details.
    pub details: Vec<String>,
    /// Filter of the recording, as command-line options; `None` if all events were recorded.
    pub selection: Option<String>,
}

/// Description of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeInfo {
    /// Name from the scenario.
    pub name: String,
    /// Name of the type of board; empty in old files, which know one type.
    pub board: String,
    /// Index of each CPU's image.
    pub images: Vec<Option<usize>>,
}

impl NodeInfo {
    /// Names of the board among those of all `known` types.
    #[must_use]
    pub fn names(&self, known: Boards) -> &'static BoardNames {
        match self.board.as_str() {
            "" => known.first().copied(),
            board => names_of(known, board),
        }
        .unwrap_or(&NO_BOARD)
    }

    /// Index of a CPU's image.
    #[must_use]
    pub fn image(&self, cpu: usize) -> Option<usize> {
        self.images.get(cpu).copied().flatten()
    }
}

/// The names of the board at each place of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct PlaceNames(Vec<&'static BoardNames>);

impl PlaceNames {
    /// The names at a place.
    pub(super) fn at(&self, place: Place) -> &'static BoardNames {
        match place {
            Place::Node(node) => self.0.get(usize::from(node)).copied(),
            Place::Switch(_) => None,
        }
        .unwrap_or(&NO_BOARD)
    }
}

impl Header {
    /// The names of the board at each place.
    pub(super) fn place_names(&self, known: Boards) -> PlaceNames {
        PlaceNames(self.nodes.iter().map(|node| node.names(known)).collect())
    }

    /// The names of the types of boards in the run; of all `known` types if the header does not say.
    #[must_use]
    pub fn boards(&self, known: Boards) -> Vec<&'static BoardNames> {
        let mut boards: Vec<_> = self.nodes.iter().map(|node| node.names(known)).collect();
        boards.dedup();
        if boards.is_empty() {
            boards.extend(known);
        }
        boards
    }
}

/// Data of an image for readers of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageInfo {
    /// File name or built-in name.
    pub name: String,
    /// Identity and symbols.
    pub table: SymbolTable,
    /// Names of event probes.
    pub probes: Vec<String>,
    /// Names of stages.
    pub stages: Vec<String>,
}

/// Contents of the end chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    /// Number of events in the file.
    pub events: u64,
    /// Results of the run, by name.
    pub results: BTreeMap<String, String>,
}

impl ImageInfo {
    /// Extracts the data of an image for a trace.
    #[must_use]
    pub fn new(name: &str, image: &Image) -> Self {
        use defs::probe::Kind;
        let texts = |wanted: Kind| {
            let probes = image.probes.iter().filter(|probe| probe.kind == wanted);
            let mut texts: Vec<String> = probes.map(|probe| probe.text.to_string()).collect();
            texts.sort_unstable();
            texts.dedup();
            texts
        };
        Self {
            name: name.into(),
            table: image.symbol_table(),
            probes: texts(Kind::Event),
            stages: texts(Kind::StageEnter),
        }
    }
}
