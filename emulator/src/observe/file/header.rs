//! What a trace file says about the run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::image::{Image, SymbolTable};

/// What was run. Readers must do without what an older writer did not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// Who wrote the file.
    pub program: String,
    /// What was run: a scenario's file, or a command.
    pub run: String,
    /// Seed of all chance.
    pub seed: u64,
    /// When the host programs started.
    pub start_ps: u64,
    /// By number.
    pub nodes: Vec<NodeInfo>,
    /// Number of switches.
    pub switches: u16,
    /// What runs on the nodes.
    pub images: Vec<ImageInfo>,
    /// The details that were recorded, by name.
    pub details: Vec<String>,
    /// What was left out, in the words of the options; none if nothing was.
    pub selection: Option<String>,
}

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeInfo {
    /// The name that the scenario gives it.
    pub name: String,
    /// Which of the header's images runs on CPU A and on CPU B, if any does.
    pub images: [Option<usize>; 2],
}

/// An image, as far as a trace's readers need it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageInfo {
    /// File or name.
    pub name: String,
    /// Which one it was, and the names of its addresses.
    pub table: SymbolTable,
    /// Names of its event probes.
    pub probes: Vec<String>,
    /// Names of the stages that it marks.
    pub stages: Vec<String>,
}

/// What the end of a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    /// Events in the file.
    pub events: u64,
    /// What came of the run, by name.
    pub results: BTreeMap<String, String>,
}

impl ImageInfo {
    /// What a trace keeps of an image.
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
