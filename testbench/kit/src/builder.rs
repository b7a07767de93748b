//! Description of a test's world.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use emulator::boards::BOARD_NAMES;
use emulator::image::Image;
use emulator::observe::event::Details;
use emulator::observe::file::{Header, ImageInfo};
use emulator::observe::stream::Observer;
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::ethernet::switch::{Forwarding, SwitchConfig};
use emulator::wire::fault::{FaultError, FaultRates, RandomFaults};
use emulator::wire::myrinet::CrossbarConfig;

use super::error::KitError;
use super::failed::{FailureRecords, Origin};
use super::fault::KitFault;
use super::log::{EventLog, Tap};
use super::schedule::Schedule;
use super::{Kit, NodeState, START};
use lanigon_analysis::capture::Capture;
use lanigon_analysis::trace::record::{self, RecordOptions};
use lanigon_worlds::boards::{self, BoardType, Medium};
use lanigon_worlds::builder::{WorldBuilder, WorldError, add_layer, crossbar_ports, record_layers};
use lanigon_worlds::calibrate;
use lanigon_worlds::faults::Strikes;
use lanigon_worlds::images::{self, FirmwareError};
use lanigon_worlds::nodes;
use lanigon_worlds::races::look_for_races;

/// Default time limit after the start of the programs.
const DEFAULT_MAX_TIME: SimTime = SimTime::from_us(1_000_000);
/// Latency of a switch, and size of its output buffers.
pub(super) const SWITCH_LATENCY: SimTime = SimTime::from_ns(500);
pub(super) const SWITCH_BUFFER_BYTES: u64 = 128 << 10;

/// An observer, or the reason why it could not be started.
type StartedObserver = io::Result<Box<dyn Observer>>;

/// Starts an observer.
struct Begin(Box<dyn FnOnce(&Header) -> StartedObserver>);

impl fmt::Debug for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Begin")
    }
}

/// An image given by the test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ImageSource {
    File(PathBuf),
    Bytes(Vec<u8>),
}

/// Builder of a [`Kit`]; [`build`](Self::build) creates it.
#[derive(Debug)]
pub struct KitBuilder {
    nodes: usize,
    switch: bool,
    /// Nodes from this one on are never started.
    silent_from: usize,
    /// Images with their nodes (`None`: all nodes without their own image).
    images: Vec<(Option<usize>, ImageSource)>,
    /// Name of the type of board or of its profile.
    board: Option<String>,
    /// Name or file of the profile.
    profile: Option<String>,
    sram_bytes: Option<u32>,
    faults: Vec<KitFault>,
    chance: Option<(FaultRates, u64)>,
    schedule: Schedule,
    details: Details,
    races: bool,
    trace: Option<PathBuf>,
    capture: Option<PathBuf>,
    observers: Vec<Begin>,
    max_time: SimTime,
}

impl KitBuilder {
    pub(super) fn new(nodes: usize, switch: bool) -> Self {
        Self {
            nodes,
            switch,
            silent_from: nodes,
            images: Vec::new(),
            board: None,
            profile: None,
            sram_bytes: None,
            faults: Vec::new(),
            chance: None,
            schedule: Schedule::default(),
            details: Details::empty(),
            races: false,
            trace: None,
            capture: None,
            observers: Vec::new(),
            max_time: DEFAULT_MAX_TIME,
        }
    }

    /// One node, and a second board that is never started.
    pub(super) fn alone() -> Self {
        Self {
            silent_from: 1,
            ..Self::new(2, false)
        }
    }

    /// Sets the ELF image of all nodes without their own. A relative path is relative to the folder of the
    /// test run: with cargo, the folder of the test's package.
    #[must_use]
    pub fn firmware(mut self, path: impl AsRef<Path>) -> Self {
        let source = ImageSource::File(path.as_ref().into());
        self.images.push((None, source));
        self
    }

    /// Sets the ELF image of one node.
    #[must_use]
    pub fn firmware_on(mut self, node: usize, path: impl AsRef<Path>) -> Self {
        let source = ImageSource::File(path.as_ref().into());
        self.images.push((Some(node), source));
        self
    }

    /// Like [`firmware`](Self::firmware), with the bytes of an ELF image.
    #[must_use]
    pub fn firmware_bytes(mut self, elf: &[u8]) -> Self {
        self.images.push((None, ImageSource::Bytes(elf.into())));
        self
    }

    /// Sets the type of all boards, by its name or that of a built-in profile for it: `tigon2`, `lanai`, `lanai9.1-133`
    /// (`lanigon list`). Default: that of the profile, or `tigon2`.
    #[must_use]
    pub fn board(mut self, name: &str) -> Self {
        self.board = Some(name.into());
        self
    }

    /// Sets the timing profile: a built-in one (`lanigon list`) or a file. Default: that of the
    /// plain hardware.
    #[must_use]
    pub fn profile(mut self, name_or_file: &str) -> Self {
        self.profile = Some(name_or_file.into());
        self
    }

    /// Sets the boards' memory, in bytes. Default: that of boards in scenarios, 512 KB for a Tigon2.
    #[must_use]
    pub const fn sram(mut self, bytes: u32) -> Self {
        self.sram_bytes = Some(bytes);
        self
    }

    /// Adds a fault: a [`FrameFault`](super::FrameFault), or a fault of EMP frames.
    #[must_use]
    pub fn fault(mut self, fault: impl Into<KitFault>) -> Self {
        self.faults.push(fault.into());
        self
    }

    /// Adds random faults on every link; equal seeds give equal faults.
    #[must_use]
    pub const fn random_faults(mut self, rates: FaultRates, seed: u64) -> Self {
        self.chance = Some((rates, seed));
        self
    }

    /// Adds the schedule of a [`Search`](super::Search).
    #[must_use]
    pub fn schedule(mut self, schedule: &Schedule) -> Self {
        self.schedule = schedule.clone();
        self
    }

    /// Records additional kinds of events, such as registers and handlers.
    #[must_use]
    pub fn details(mut self, details: Details) -> Self {
        self.details |= details;
        self
    }

    /// Looks for [races](Kit::races). The run stays the same, and takes longer.
    #[must_use]
    pub const fn look_for_races(mut self) -> Self {
        self.races = true;
        self
    }

    /// Writes the trace into this file, for `lanigon trace`; as text if its name ends in `.txt`.
    #[must_use]
    pub fn trace_to(mut self, path: impl AsRef<Path>) -> Self {
        self.trace = Some(path.as_ref().into());
        self
    }

    /// Writes the frames on all wires into this file (pcapng), for Wireshark.
    #[must_use]
    pub fn pcap_to(mut self, path: impl AsRef<Path>) -> Self {
        self.capture = Some(path.as_ref().into());
        self
    }

    /// Adds an observer of all events. `begin` makes it from the header of the world's trace when the world is built.
    /// `lanigon_timeline::to_file` draws a timeline.
    #[must_use]
    pub fn observe<F>(mut self, begin: F) -> Self
    where
        F: FnOnce(&Header) -> StartedObserver + 'static,
    {
        self.observers.push(Begin(Box::new(begin)));
        self
    }

    /// Sets the time limit after the start of the programs. Default: one second of simulated time.
    #[must_use]
    pub const fn max_time(mut self, span: SimTime) -> Self {
        self.max_time = span;
        self
    }

    /// Builds the world. The firmware is loaded when it runs.
    ///
    /// # Errors
    /// If there is no such board, or an image, the profile or a fault is invalid.
    pub fn build(self) -> Result<Kit, KitError> {
        let (board, profile) = self.board_and_profile()?;
        let sram_bytes = self.sram_bytes.unwrap_or(board.scenario_sram_bytes);
        let images = self.read_images(board, sram_bytes)?;
        let header = self.header(board, &images);
        let mut world = WorldBuilder::new();
        let mut states = Vec::new();
        for (index, image) in images.into_iter().enumerate() {
            let image = image.map(|(_, image)| image);
            let probes = image.as_ref().map(|image| {
                let factors = calibrate::factors(image, &profile)
                    .map_err(|error| KitError::Profile(error.to_string()))?;
                Ok::<_, KitError>(nodes::probes(image, &factors))
            });
            let probes = probes.transpose()?;
            let mut parts = nodes::parts(&profile, probes.as_ref(), sram_bytes);
            parts.original = image.as_ref().is_some_and(nodes::is_original);
            world.node(board, &parts).map_err(WorldError::from)?;
            states.push(NodeState::new(image, self.schedule.pauses(index as u16)));
        }
        let ports = self.switch.then_some(self.nodes);
        let mut world = match board.medium {
            Medium::Ethernet => on_ethernet(world, ports, &profile)?,
            Medium::Myrinet => on_myrinet(world, ports, board, &profile)?,
        };
        if self.races {
            look_for_races(&mut world)?;
        }
        let strikes = self.install_faults(&mut world, board)?;
        let records = self.records(&mut world, board, &profile, sram_bytes)?;
        let taps = Tap::install(&mut world, board.medium)?;
        let log = EventLog::observe(&mut world, self.details);
        let refuse = |error: anyhow::Error| KitError::Trace(format!("{error:#}"));
        let record = RecordOptions {
            trace: self.trace,
            details: self.details,
            ..RecordOptions::default()
        };
        let recording = record
            .begin(&mut world, || header.clone())
            .map_err(refuse)?;
        for Begin(begin) in self.observers {
            let observer = begin(&header).map_err(|error| KitError::Trace(error.to_string()))?;
            world.observe(observer);
        }
        let capture = self.capture.as_deref();
        let capture = capture.map(|path| Capture::start(path, &mut world));
        Ok(Kit {
            world,
            board,
            records,
            nodes: states,
            log,
            taps,
            strikes,
            end: START.saturating_add(self.max_time),
            recording,
            capture: capture.transpose().map_err(refuse)?,
        })
    }

    /// Begins to record what a failed test writes.
    fn records(
        &self,
        world: &mut World,
        board: &'static BoardType,
        profile: &Profile,
        sram_bytes: u32,
    ) -> Result<Option<FailureRecords>, KitError> {
        if !FailureRecords::wanted() {
            return Ok(None);
        }
        let mut records = FailureRecords::new(self.origin(board, profile, sram_bytes)?);
        for node in 0..world.nodes.len() {
            world.nodes[node].programs.keep_tapes();
            let layers = record_layers(world, board.medium, node)?;
            records.add_node(layers);
        }
        Ok(Some(records))
    }

    /// The description of the world for a scenario.
    fn origin(
        &self,
        board: &'static BoardType,
        profile: &Profile,
        sram_bytes: u32,
    ) -> Result<Origin, KitError> {
        let cable = match board.medium {
            Medium::Ethernet => {
                let link = nodes::cable(profile).map_err(WorldError::from)?;
                (link.byte_time, link.propagation)
            }
            Medium::Myrinet => {
                let link = nodes::myrinet_cable(board);
                (link.byte_time, link.propagation)
            }
        };
        let named = self.board.as_deref().and_then(boards::named);
        let usual = named.map_or(boards::DEFAULT.profile, |(_, profile)| profile);
        let of_node = |node: usize| {
            let own = self.images.iter().rfind(|(of, _)| *of == Some(node));
            let all = || self.images.iter().rfind(|(of, _)| of.is_none());
            own.or_else(all).map(|(_, source)| source.clone())
        };
        let started = |node: &usize| *node < self.silent_from;
        let images = (0..self.nodes).map(|node| Some(node).filter(started).and_then(of_node));
        Ok(Origin {
            board,
            profile: self.profile.clone().unwrap_or_else(|| usual.into()),
            cable,
            sram_bytes,
            switch: self.switch,
            images: images.collect(),
        })
    }

    /// The type of the boards, and their costs.
    fn board_and_profile(&self) -> Result<(&'static BoardType, Profile), KitError> {
        let refuse = |error: anyhow::Error| KitError::Profile(format!("{error:#}"));
        let named = self.board.as_ref().map(|name| {
            boards::named(name).ok_or_else(|| KitError::NoSuchBoard {
                name: name.clone(),
                known: boards::names().collect::<Vec<_>>().join(", "),
            })
        });
        let named = named.transpose()?;
        let (usual, profile) = named.unwrap_or((boards::DEFAULT, boards::DEFAULT.profile));
        let profile = self.profile.as_deref().unwrap_or(profile);
        let profile = lanigon_worlds::profile::load(profile).map_err(refuse)?;
        let board = named.map_or_else(|| boards::for_profile(&profile), |_| usual);
        let fits = profile.for_board(board.name);
        fits.map_err(|error| KitError::Profile(error.to_string()))?;
        Ok((board, profile))
    }

    /// Description of the world for a trace.
    fn header(&self, board: &'static BoardType, images: &[Option<(String, Image)>]) -> Header {
        let names = (0..images.len()).map(|node| (node.to_string(), board));
        let seed = self.chance.map_or(0, |(_, seed)| seed);
        let mut header = record::header(&"a test", seed, names);
        for (node, image) in images.iter().enumerate() {
            let Some((name, image)) = image else { continue };
            let known = header.images.iter();
            let place = known.take_while(|info| info.name != *name).count();
            if place == header.images.len() {
                header.images.push(ImageInfo::new(name, image));
            }
            let info = &mut header.nodes[node];
            info.images = vec![Some(place); info.names(BOARD_NAMES).cpus.len()];
        }
        header.switches = u16::from(self.switch);
        header
    }

    /// Images of the nodes.
    fn read_images(
        &self,
        board: &BoardType,
        sram_bytes: u32,
    ) -> Result<Vec<Option<(String, Image)>>, KitError> {
        let mut images = vec![None; self.nodes];
        for (node, source) in &self.images {
            let image = (source.name(), source.read(board, sram_bytes)?);
            match node {
                Some(node) => {
                    let last = self.silent_from - 1;
                    let place = images[..self.silent_from].get_mut(*node);
                    let node = *node;
                    *place.ok_or(KitError::NoSuchNode { node, last })? = Some(image);
                }
                None => {
                    for (index, place) in images.iter_mut().enumerate().take(self.silent_from) {
                        let own = self.images.iter().any(|(node, _)| *node == Some(index));
                        if !own {
                            *place = Some(image.clone());
                        }
                    }
                }
            }
        }
        if images.iter().all(Option::is_none) {
            return Err(KitError::NoFirmware);
        }
        Ok(images)
    }

    fn install_faults(
        &self,
        world: &mut World,
        board: &BoardType,
    ) -> Result<Vec<Strikes>, KitError> {
        if let Some((rates, seed)) = self.chance {
            for node in 0..world.nodes.len() {
                let layer = RandomFaults::new(rates, seed, node as u64)
                    .map_err(|error: FaultError| KitError::Profile(error.to_string()))?;
                add_layer(world, board.medium, node, layer)?;
            }
        }
        let scheduled = self.schedule.faults().map(KitFault::from);
        let faults = self.faults.iter().cloned().chain(scheduled);
        faults.map(|fault| fault.install(world, board)).collect()
    }
}

/// The world with its nodes joined in pairs by cables, or all by a switch with so many ports.
fn on_ethernet(
    mut world: WorldBuilder,
    switch: Option<usize>,
    profile: &Profile,
) -> Result<World, WorldError> {
    let link = nodes::cable(profile)?;
    let Some(ports) = switch else {
        world.pairs(link);
        return world.build();
    };
    let config = SwitchConfig {
        ports,
        forwarding: Forwarding::StoreAndForward,
        latency: SWITCH_LATENCY,
        buffer_bytes: SWITCH_BUFFER_BYTES,
        routes: Vec::new(),
    };
    world.star(config, link);
    world.build()
}

/// The world with its nodes joined in pairs by cables of Myrinet, or all by a crossbar with at least so many ports.
fn on_myrinet(
    mut world: WorldBuilder,
    crossbar: Option<usize>,
    board: &BoardType,
    profile: &Profile,
) -> Result<World, KitError> {
    let link = nodes::myrinet_cable(board);
    match crossbar {
        None => world.myrinet_pairs(link),
        Some(nodes) => {
            let ports = crossbar_ports(nodes).ok_or(KitError::Crossbar(nodes))?;
            let crossbar = CrossbarConfig::read(ports, &mut profile.reader());
            world.myrinet_star(crossbar.map_err(WorldError::from)?, link);
        }
    }
    Ok(world.build()?)
}

impl ImageSource {
    fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Bytes(_) => "bytes".into(),
        }
    }

    /// A file name for a copy.
    pub(super) fn file_name(&self) -> String {
        let name = match self {
            Self::File(path) => path.file_name(),
            Self::Bytes(_) => None,
        };
        name.map_or_else(
            || "bytes".into(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Copies the image into a file.
    pub(super) fn copy_to(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::File(file) => std::fs::copy(file, path).map(drop),
            Self::Bytes(bytes) => std::fs::write(path, bytes),
        }
    }

    fn read(&self, board: &BoardType, sram_bytes: u32) -> Result<Image, KitError> {
        let path = match self {
            Self::Bytes(bytes) => {
                let image = board.parse_image("the image given as bytes", bytes, sram_bytes);
                return image.map_err(|error| match error {
                    FirmwareError::Image { error, .. } => error.into(),
                    other => other.into(),
                });
            }
            Self::File(path) => path,
        };
        board
            .read_image(path, sram_bytes)
            .map_err(|error| match error {
                FirmwareError::File { error, .. }
                    if error.kind() == std::io::ErrorKind::NotFound =>
                {
                    KitError::NoImage {
                        path: path.clone(),
                        hint: how_to_build(path),
                    }
                }
                other => other.into(),
            })
    }
}

/// Advice for building a missing image.
fn how_to_build(path: &Path) -> String {
    if path.starts_with(images::image_folder()) {
        return "build the project's firmware first: make firmware".into();
    }
    let mut folders = path.ancestors().skip(1);
    let script = folders
        .find(|folder| folder.ends_with("target"))
        .and_then(Path::parent)
        .map(|folder| folder.join("build.sh"));
    match script {
        Some(script) if script.is_file() => format!("build it first: {}", script.display()),
        _ => "build it first (docs/tutorial.md), and mind that a relative path counts from the folder in which \
              the test runs"
            .into(),
    }
}
