//! The nodes of a scenario, and references to them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use defs::gm::layout::{LARGE_NODE_LIMIT, Layout};

use super::costs::{self, Cost};
use super::error::{Position, ScenarioError, unknown};
use super::programs::ProgramSpec;
use super::settings::ProtocolSettings;
use super::table::{Item, Table};
use crate::boards::{self, BoardType, KB, Protocol};
use crate::files::own::{self, DataLocation};

/// A type of board, and the timing profile that its name in the scenario means.
type NamedBoard = (&'static BoardType, &'static str);

/// Largest number of nodes: those that GM has routes to with [`LARGE_IMAGE`].
pub const MOST_NODES: usize = LARGE_NODE_LIMIT as usize;
/// Image of GM for large clusters.
pub const LARGE_IMAGE: &str = "gm-large";

/// Refuses more nodes than the firmware of one of these images serves.
pub(super) fn check_number<'a>(
    nodes: usize,
    images: impl IntoIterator<Item = &'a ImageName>,
    place: &Position,
) -> Result<(), ScenarioError> {
    let limits = images.into_iter().map(|image| image.layout().nodes());
    let limit = limits.min().unwrap_or(LARGE_NODE_LIMIT);
    if nodes <= limit as usize {
        return Ok(());
    }
    Err(place.refuse(format!(
        "{nodes} nodes are more than {limit}, for which GM's firmware keeps the state of peers (docs/large-clusters.md)"
    )))
}

/// Names of protocols.
pub(super) const PROTOCOLS: [(&str, Protocol); 4] = [
    ("emp", Protocol::Emp),
    ("gm", Protocol::Gm),
    ("fm", Protocol::Fm),
    ("acenic", Protocol::Acenic),
];
/// Host memory of a node, in megabytes. Only pages in use need memory of the real machine.
const DEFAULT_MEMORY_MB: u32 = 128;
/// A firmware image, by name or file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageName {
    /// Name as written.
    pub name: String,
    /// Whether the scenario names it; otherwise it follows from the board and the node's program.
    pub given: bool,
    /// Position in the scenario.
    pub place: Position,
}

impl ImageName {
    /// The image that boards of a type run if none is named.
    fn for_board(board: &BoardType, place: &Position) -> Self {
        Self {
            name: board.usual_image.into(),
            given: false,
            place: place.clone(),
        }
    }

    fn read(item: Item<'_>) -> Result<Self, ScenarioError> {
        Ok(Self {
            name: item.text()?.into(),
            given: true,
            place: item.place,
        })
    }

    /// The file, relative to the scenario's folder; `None` for a built-in image, whose name has neither a folder nor an extension.
    #[must_use]
    pub fn file(&self, folder: &Path) -> Option<PathBuf> {
        let file = self.name.contains(['/', '.']);
        file.then(|| folder.join(&self.name))
    }

    /// The limits of GM with this image. Those of a file are known when it has started.
    #[must_use]
    pub fn layout(&self) -> &'static Layout {
        match self.name == LARGE_IMAGE || self.name.contains(['/', '.']) {
            true => &Layout::LARGE,
            false => &Layout::USUAL,
        }
    }

    /// The file, or the built-in image for boards of this type.
    #[must_use]
    pub fn find(&self, board: &BoardType, folder: &Path) -> DataLocation {
        match self.file(folder) {
            Some(path) => DataLocation::File(path),
            None => own::image(board.images, &self.name),
        }
    }
}

/// A timing profile, by name or file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileName {
    /// Name as written.
    pub name: String,
    /// Position in the scenario.
    pub place: Position,
}

impl ProfileName {
    /// The profile that the name of a board means.
    fn from_profile((_, profile): NamedBoard, place: &Position) -> Self {
        Self {
            name: profile.into(),
            place: place.clone(),
        }
    }

    pub(super) fn read(item: Item<'_>) -> Result<Self, ScenarioError> {
        let name = item.text()?;
        let known = boards::profiles();
        if !is_file(name) && !known.names().any(|known| known == name) {
            let reason = unknown("profile", name, known.names());
            return Err(item.place.refuse(reason));
        }
        Ok(Self {
            name: name.into(),
            place: item.place,
        })
    }

    /// Whether it is a file instead of a built-in profile.
    #[must_use]
    pub fn is_file(&self) -> bool {
        is_file(&self.name)
    }
}

/// Whether a name refers to a file.
pub(super) fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// A node of a scenario.
#[derive(Debug, Clone)]
pub struct Node {
    /// Name of the node.
    pub name: String,
    /// Type of its board.
    pub board: &'static BoardType,
    /// The message protocol of its firmware, unless its program starts any firmware.
    pub protocol: Option<Protocol>,
    /// Whether the scenario says the protocol.
    pub protocol_given: bool,
    /// Firmware of the board.
    pub image: ImageName,
    /// The ELF file with the symbols of its firmware, if that has none of its own.
    pub symbols: Option<ImageName>,
    /// Settings of the message protocols.
    pub settings: ProtocolSettings,
    /// Timing profile of board and host.
    pub profile: ProfileName,
    /// Values that replace entries of the profile.
    pub costs: Vec<Cost>,
    /// Host memory in MB.
    pub memory_mb: u32,
    /// Local memory of the board, if the scenario names a size.
    pub board_memory_bytes: Option<u32>,
}

impl Node {
    /// Local memory of its board.
    #[must_use]
    pub const fn sram_bytes(&self) -> u32 {
        match self.board_memory_bytes {
            Some(bytes) => bytes,
            None => self.board.sram_bytes_for(self.protocol),
        }
    }
}

/// Values of every node that does not say otherwise.
#[derive(Debug, Clone)]
pub(super) struct Defaults {
    board: &'static BoardType,
    protocol: Option<Protocol>,
    protocol_given: bool,
    pub(super) image: ImageName,
    symbols: Option<ImageName>,
    settings: ProtocolSettings,
    pub(super) profile: ProfileName,
    pub(super) costs: Vec<Cost>,
    pub(super) memory_mb: u32,
    pub(super) board_memory_bytes: Option<u32>,
}

impl Defaults {
    /// These settings with those of a `[[node]]`.
    fn changed_by(&self, table: &mut Table<'_>) -> Result<Self, ScenarioError> {
        let settings = self.settings.read(table)?;
        let only = settings.only_protocol_beyond(&self.settings);
        let asked = asked(table, only)?;
        let own_board = board(table)?;
        let other_board = own_board.filter(|board| board.0.name != self.board.name);
        let board = own_board.map_or(self.board, |board| board.0);
        let own_image = table.get("image");
        let own_symbols = table.get("symbols");
        let same_image = own_image.is_none() && other_board.is_none();
        Ok(Self {
            board,
            protocol_given: asked.is_some() || self.protocol_given,
            protocol: protocol(board, asked, self.protocol)?,
            symbols: match own_symbols {
                Some(item) => Some(ImageName::read(item)?),
                // The symbols of the other nodes are for their image.
                None => self.symbols.clone().filter(|_| same_image),
            },
            image: match (own_image, other_board) {
                (Some(item), _) => ImageName::read(item)?,
                (None, Some((board, _))) => ImageName::for_board(board, &table.place),
                (None, None) => self.image.clone(),
            },
            settings,
            profile: match (table.get("profile"), own_board) {
                (Some(item), _) => ProfileName::read(item)?,
                (None, Some(board)) => ProfileName::from_profile(board, &table.place),
                (None, None) => self.profile.clone(),
            },
            costs: costs::read(&self.costs, table.table("costs")?)?,
            memory_mb: memory(table, self.memory_mb)?,
            board_memory_bytes: board_memory(table, board)?
                .or_else(|| self.board_memory_bytes.filter(|_| other_board.is_none())),
        })
    }

    pub(super) fn read(root: &mut Table<'_>) -> Result<Self, ScenarioError> {
        let none = ProtocolSettings::default();
        let settings = none.read(root)?;
        let asked = asked(root, settings.only_protocol_beyond(&none))?;
        let named = board(root)?.unwrap_or((boards::DEFAULT, boards::DEFAULT.profile));
        let board = named.0;
        Ok(Self {
            board,
            protocol_given: asked.is_some(),
            protocol: protocol(board, asked, None)?,
            image: match root.get("image") {
                Some(item) => ImageName::read(item)?,
                None => ImageName::for_board(board, &root.place),
            },
            symbols: root.get("symbols").map(ImageName::read).transpose()?,
            settings,
            profile: match root.get("profile") {
                Some(item) => ProfileName::read(item)?,
                None => ProfileName::from_profile(named, &root.place),
            },
            costs: costs::read(&[], root.table("costs")?)?,
            memory_mb: memory(root, DEFAULT_MEMORY_MB)?,
            board_memory_bytes: board_memory(root, board)?,
        })
    }
}

/// The board that a table names, if it names one: by its type or by one of its profiles.
fn board(table: &mut Table<'_>) -> Result<Option<NamedBoard>, ScenarioError> {
    let Some(item) = table.get("board") else {
        return Ok(None);
    };
    let name = item.text()?;
    let refused = || item.place.refuse(unknown("board", name, boards::names()));
    boards::named(name).map(Some).ok_or_else(refused)
}

/// The protocol that a table asks for, by its name or by the settings of one protocol only; the place of the name.
fn asked(
    table: &mut Table<'_>,
    only: Option<Protocol>,
) -> Result<Option<(Protocol, Option<Position>)>, ScenarioError> {
    if let Some(item) = table.get("protocol") {
        let protocol = item.choice("protocol", &PROTOCOLS)?;
        return Ok(Some((protocol, Some(item.place))));
    }
    Ok(only.map(|protocol| (protocol, None)))
}

/// The protocol of a board: the one that is asked for, else that of the other nodes, else its usual one. Only a name is refused if
/// the board does not run it.
fn protocol(
    board: &BoardType,
    asked: Option<(Protocol, Option<Position>)>,
    others: Option<Protocol>,
) -> Result<Option<Protocol>, ScenarioError> {
    if let Some((protocol, Some(place))) = &asked
        && !board.runs(*protocol)
    {
        let reason = format!(
            "boards of type {} do not run {}",
            board.name,
            protocol.name()
        );
        return Err(place.refuse(reason));
    }
    let asked = asked.map(|(protocol, _)| protocol);
    let mut wanted = asked.into_iter().chain(others);
    let found = wanted.find(|&protocol| board.runs(protocol));
    Ok(found.or_else(|| board.protocol()))
}

fn memory(table: &mut Table<'_>, default: u32) -> Result<u32, ScenarioError> {
    table.integer("host_memory_mb", default)
}

/// The size of a board's local memory in bytes, if a table names it: one with which the board is made.
fn board_memory(table: &mut Table<'_>, board: &BoardType) -> Result<Option<u32>, ScenarioError> {
    let Some(item) = table.get("board_memory_kb") else {
        return Ok(None);
    };
    let kilobytes: u32 = item.whole()?;
    let bytes = kilobytes * KB;
    match board.sram_sizes.contains(&bytes) {
        true => Ok(Some(bytes)),
        false => {
            let sizes = board.sram_kilobytes();
            Err(item.place.refuse(format!("the board has {sizes} KB")))
        }
    }
}

/// The nodes and their groups.
#[derive(Debug, Clone, Default)]
pub struct Nodes {
    /// The nodes by number.
    pub all: Vec<Node>,
    /// Names of groups, with their nodes.
    groups: Vec<(String, Range<usize>)>,
}

impl Nodes {
    /// `count` nodes named by their numbers.
    pub(super) fn numbered(count: usize, defaults: &Defaults) -> Self {
        let node = |index: usize| defaults.node(index.to_string());
        Self {
            all: (0..count).map(node).collect(),
            groups: Vec::new(),
        }
    }

    /// Adds the nodes of a `[[node]]` table.
    pub(super) fn add_group(
        &mut self,
        mut table: Table<'_>,
        defaults: &Defaults,
    ) -> Result<(), ScenarioError> {
        let name = table.need("name")?;
        let group = checked_name(&name)?;
        if self.find(group).is_some() {
            let reason = format!("there is a node or group \"{group}\" already");
            return Err(name.place.refuse(reason));
        }
        let count = table.get("count");
        let number = match &count {
            Some(item) => item.whole()?,
            None => 1usize,
        };
        let first = self.all.len();
        let at = count.as_ref().map_or(&name.place, |item| &item.place);
        let own = defaults.changed_by(&mut table)?;
        let others = self.all.iter().map(|node| &node.image);
        let images = others.chain([&own.image]);
        check_number(first.saturating_add(number), images, at)?;
        table.finish()?;
        let single = count.is_none();
        let names = (0..number).map(|index| match single {
            true => group.to_owned(),
            false => format!("{group}{index}"),
        });
        let taken = self.push(group, names.collect(), &own);
        taken.map_err(|reason| name.place.refuse(reason))
    }

    /// Adds the nodes of a group, unless one has the name of another node or group.
    fn push(&mut self, group: &str, names: Vec<String>, own: &Defaults) -> Result<(), String> {
        if let Some(known) = names.iter().find(|known| self.find(known).is_some()) {
            return Err(format!(
                "its node \"{known}\" has the name of another node or group"
            ));
        }
        let first = self.all.len();
        self.all
            .extend(names.into_iter().map(|name| own.node(name)));
        self.groups.push((group.into(), first..self.all.len()));
        Ok(())
    }

    /// Chooses the protocol of nodes for which the scenario says none: nodes of a program that sends frames use that of frames, as do
    /// those of a workload that runs over nothing else.
    /// Control programs of real adapters have none, and a local memory of their own.
    pub(super) fn choose_protocols(&mut self, programs: &[ProgramSpec]) {
        for spec in programs {
            for node in spec.control().map_or(Vec::new(), |_| spec.nodes()) {
                let node = &mut self.all[node];
                let usual = spec
                    .control()
                    .map(|control| control.host.sram_bytes(node.board));
                node.protocol = None;
                node.board_memory_bytes = node.board_memory_bytes.or(usual);
            }
        }
        let of_frames = |spec: &&ProgramSpec| {
            let workload = spec.workload();
            let only = workload.map(|workload| workload.protocols() == [Protocol::Acenic]);
            spec.sends_frames() || only == Some(true)
        };
        for node in programs.iter().filter(of_frames) {
            for node in node.nodes() {
                let node = &mut self.all[node];
                if !node.protocol_given && node.board.runs(Protocol::Acenic) {
                    node.protocol = Some(Protocol::Acenic);
                }
            }
        }
    }

    /// Chooses the images of nodes for which the scenario names none: boards that run GM or frames run its firmware when a program
    /// exchanges messages, unless their own program starts firmware of any kind.
    pub(super) fn choose_images(&mut self, programs: &[ProgramSpec]) {
        if !programs.iter().any(ProgramSpec::uses_protocol) {
            return;
        }
        let other = programs.iter().filter(|spec| !spec.uses_protocol());
        let started: Vec<usize> = other.flat_map(ProgramSpec::nodes).collect();
        for (index, node) in self.all.iter_mut().enumerate() {
            let image = match node.protocol {
                Some(Protocol::Gm) => node.board.gm.map(|gm| gm.image),
                Some(Protocol::Fm) => node.board.fm.map(|fm| fm.image),
                Some(Protocol::Acenic) => node.board.acenic.map(|acenic| acenic.image),
                Some(Protocol::Emp) | None => None,
            };
            if let Some(image) = image
                && !node.image.given
                && !started.contains(&index)
            {
                node.image.name = image.into();
            }
        }
    }

    /// The nodes with a name: a group, a node, or `all`.
    fn find(&self, name: &str) -> Option<Range<usize>> {
        if name == "all" {
            return Some(0..self.all.len());
        }
        let group = self.groups.iter().find(|(group, _)| group == name);
        group.map(|(_, range)| range.clone()).or_else(|| {
            let index = self.all.iter().position(|node| node.name == name)?;
            Some(index..index + 1)
        })
    }

    /// The range `4..8` means nodes 4 to 7.
    fn range(&self, name: &str) -> Option<Range<usize>> {
        let (from, to) = name.split_once("..")?;
        let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        (from < to && to <= self.all.len()).then_some(from..to)
    }

    fn resolve_item(&self, item: &Item<'_>) -> Result<Range<usize>, ScenarioError> {
        if item.is_text() {
            let name = item.text()?;
            let found = self.find(name).or_else(|| self.range(name));
            return found.ok_or_else(|| {
                let groups = self.groups.iter().map(|(group, _)| group.as_str());
                let nodes = self.all.iter().map(|node| node.name.as_str());
                let names = groups.chain(nodes).chain(std::iter::once("all"));
                item.place.refuse(unknown("node", name, names))
            });
        }
        let most = self.all.len().saturating_sub(1);
        let index: usize = item.integer(0..=most as u64).map_err(|mut error| {
            error.reason += " (the numbers of the nodes)";
            error
        })?;
        Ok(index..index + 1)
    }

    /// The nodes in a list of numbers, names, groups and ranges, without duplicates.
    pub fn resolve(&self, item: &Item<'_>) -> Result<Vec<usize>, ScenarioError> {
        let mut nodes: Vec<usize> = Vec::new();
        for item in item.list() {
            for node in self.resolve_item(&item)? {
                if nodes.contains(&node) {
                    let name = &self.all[node].name;
                    return Err(item.place.refuse(format!("names node {name} twice")));
                }
                nodes.push(node);
            }
        }
        if nodes.is_empty() {
            return Err(item.place.refuse("names no node"));
        }
        Ok(nodes)
    }

    /// The node with a number or a name.
    pub fn resolve_one(&self, item: &Item<'_>) -> Result<usize, ScenarioError> {
        match self.resolve(item)?.as_slice() {
            [node] => Ok(*node),
            several => {
                let reason = format!("names {} nodes, expected one", several.len());
                Err(item.place.refuse(reason))
            }
        }
    }
}

impl Defaults {
    fn node(&self, name: String) -> Node {
        Node {
            name,
            board: self.board,
            protocol: self.protocol,
            protocol_given: self.protocol_given,
            image: self.image.clone(),
            symbols: self.symbols.clone(),
            settings: self.settings.clone(),
            profile: self.profile.clone(),
            costs: self.costs.clone(),
            memory_mb: self.memory_mb,
            board_memory_bytes: self.board_memory_bytes,
        }
    }
}

/// Checks a name from the user: it must not look like a number, a range or a keyword.
pub(super) fn checked_name<'t>(item: &Item<'t>) -> Result<&'t str, ScenarioError> {
    let name = item.text()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts || name == "all" || name.len() > 40 || !name.chars().all(plain) {
        let reason = "a name starts with a letter, goes on with letters, digits, - and _, \
                      has at most 40 characters, and is not \"all\"";
        return Err(item.place.refuse(reason));
    }
    Ok(name)
}
