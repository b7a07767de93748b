//! Programs that are hosts of control programs of real Myrinet adapters.
//!
//! A control program is the firmware of a real adapter, which is no part of this project (docs/control-programs.md). It expects a host that
//! speaks its interface ([`HostKind`]). Hosts with a mailbox exchange frames if a scenario has several of them.

use host_lib::myrinet::Exchange;
use host_lib::myrinet::exchange::SHORTEST_BYTES;
use host_lib::myrinet::mailbox::LONGEST_BYTES;

use super::error::ScenarioError;
use super::nodes::{Node, Nodes};
use super::programs::{Program, ProgramSpec, Sizes};
use super::table::Table;
use crate::myrinet::program::Format;
use crate::myrinet::{self, HostKind};
use crate::nodes::{START, mac_address};

/// Names of the formats of files with control programs.
pub(super) const FORMATS: [(&str, Format); 2] = [("raw", Format::Raw), ("coff", Format::Coff)];

/// Settings of nodes that run a control program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlSettings {
    /// Host that the control program expects.
    pub host: HostKind,
    /// Format of the program's file; `None`: the file tells.
    pub format: Option<Format>,
    /// Bytes of a raw file in front of the image; `None`: the file tells.
    pub skip_bytes: Option<usize>,
}

/// Reads the nodes and settings of hosts of this kind.
pub(super) fn read(
    host: HostKind,
    table: &mut Table<'_>,
    nodes: &Nodes,
) -> Result<Program, ScenarioError> {
    let format = table.get("format");
    let format = format.map(|item| item.choice("format", &FORMATS));
    let skip_bytes = table.get("skip_bytes");
    let skip_bytes = skip_bytes.map(|item| item.whole());
    Ok(Program::Control {
        nodes: nodes.resolve(&table.need("nodes")?)?,
        settings: ControlSettings {
            host,
            format: format.transpose()?,
            skip_bytes: skip_bytes.transpose()?,
        },
    })
}

/// Reads number and lengths of the frames that hosts with a mailbox exchange, if there are several.
pub(super) fn read_exchange(
    spec: &mut ProgramSpec,
    table: &mut Table<'_>,
) -> Result<(), ScenarioError> {
    spec.messages = table.integer("frames", 1)?;
    let Some(item) = table.get("bytes") else {
        spec.sizes = Sizes::List(vec![SHORTEST_BYTES]);
        return Ok(());
    };
    let lengths = item.list().into_iter().map(|item| {
        let length: u32 = item.integer(SHORTEST_BYTES.into()..=LONGEST_BYTES.into())?;
        match length.is_multiple_of(4) {
            true => Ok(length),
            false => Err(item.place.refuse("frames have multiples of 4 bytes")),
        }
    });
    let lengths: Vec<_> = lengths.collect::<Result<_, _>>()?;
    if lengths.is_empty() {
        return Err(item.place.refuse("no length"));
    }
    spec.sizes = Sizes::List(lengths);
    Ok(())
}

/// Checks that a node can run a control program.
pub(super) fn check(spec: &ProgramSpec, node: &Node) -> Result<(), ScenarioError> {
    let name = &node.name;
    let reason = match myrinet::generation(node.board) {
        None => format!(
            "{} needs a Myrinet adapter; the board of node {name} is {}",
            spec.name, node.board.title
        ),
        Some(_) if !node.image.given => format!(
            "{} needs the control program of node {name}: image = \"FILE\"",
            spec.name
        ),
        Some(_) => return Ok(()),
    };
    Err(spec.place.refuse(reason))
}

impl ProgramSpec {
    /// Settings of a control program, if the nodes run one.
    #[must_use]
    pub const fn control(&self) -> Option<&ControlSettings> {
        match &self.program {
            Program::Control { settings, .. } => Some(settings),
            _ => None,
        }
    }

    /// Whether its nodes exchange frames by control programs with a mailbox.
    #[must_use]
    pub fn exchanges_frames(&self) -> bool {
        let mailbox = |settings: &ControlSettings| settings.host == HostKind::Mailbox;
        self.control().is_some_and(mailbox) && self.nodes().len() > 1
    }

    /// Frames that a node exchanges with the other ones.
    #[must_use]
    pub fn exchange(&self, node: usize) -> Exchange {
        let nodes = self.nodes();
        let others = nodes
            .iter()
            .filter(|other| **other != node && self.exchanges_frames());
        Exchange {
            peers: others.map(|other| mac_address(*other as u16)).collect(),
            start_ns: START.ps() / 1000 + self.start_ns,
            frames: self.messages as u32,
            bytes: match &self.sizes {
                Sizes::List(sizes) => sizes.clone(),
                Sizes::UpTo(_) => Vec::new(),
            },
        }
    }
}
