//! Builds worlds: nodes with a board, firmware and host programs, joined by cables.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use emulator::cpu::clock::TICKS_PER_CYCLE;
use emulator::host::machine::Machine;
use emulator::image::{Image, ImageError, MemoryLimits};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{World, WorldError};
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::inspect::probes::ProbeTable;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Profile;
use emulator::wire::ethernet::link::Link;
use emulator::wire::ethernet::switch::SwitchConfig;
use host_lib::emp::{Config, Emp, MacAddress};
use host_lib::firmware::Firmware;
use host_lib::window::System;

/// EMP on an emulated machine.
pub type EmpNode = Emp<Machine, Machine>;

/// SRAM of the boards of the EMP thesis (emp-022).
pub const EMP_SRAM: SramSize = SramSize::K512;
/// Host memory of a node.
pub const HOST_MEGABYTES: u32 = 256;
/// Host programs begin at this time, when every board has booted.
pub const START: SimTime = SimTime::from_us(20_000);

/// Why a firmware image cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FirmwareError {
    /// The file cannot be read.
    #[error("{path}: {error}{hint}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
        /// What may help.
        hint: &'static str,
    },
    /// The image is not fit for the board.
    #[error("{path}: {error}")]
    Image {
        /// The file.
        path: PathBuf,
        /// Why.
        error: ImageError,
    },
}

/// Where the firmware's build leaves the images.
#[must_use]
pub fn image_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../firmware/target/tigon2/release")
}

/// Reads an image file for a board with this SRAM.
///
/// # Errors
/// If the file cannot be read or is not fit for the board.
pub fn read_image(path: &Path, sram: SramSize) -> Result<Image, FirmwareError> {
    let bytes = std::fs::read(path).map_err(|error| FirmwareError::File {
        path: path.into(),
        hint: match error.kind() {
            std::io::ErrorKind::NotFound if path.starts_with(image_folder()) => {
                " (build the firmware first: make firmware)"
            }
            _ => "",
        },
        error,
    })?;
    let limits = MemoryLimits::tigon2(sram.bytes() as u32);
    Image::parse(&bytes, &limits).map_err(|error| FirmwareError::Image {
        path: path.into(),
        error,
    })
}

/// Reads one of the project's own images.
///
/// # Errors
/// As [`read_image`].
pub fn own_image(name: &str, sram: SramSize) -> Result<Image, FirmwareError> {
    read_image(&image_folder().join(name), sram)
}

/// The address of a node's board.
#[must_use]
pub fn mac_address(node: u16) -> MacAddress {
    let [high, low] = node.to_be_bytes();
    MacAddress([0x02, 0x4C, 0x61, 0x6E, high, low])
}

/// The node whose board has this address, if it is one that [`mac_address`] gives.
#[must_use]
pub fn node_of(address: [u8; 6]) -> Option<u16> {
    let node = u16::from_be_bytes([address[4], address[5]]);
    (mac_address(node).0 == address).then_some(node)
}

/// Stretches stages: factor for each stage, by name.
pub type StageFactors = [(String, f64)];

/// A node whose board knows the image's probes. The image is not loaded yet.
#[must_use]
pub fn node(
    index: u16,
    image: &Image,
    profile: &Profile,
    factors: &StageFactors,
    sram: SramSize,
) -> Node {
    let board = board(image, profile, factors, sram);
    Node::new(index, board, &profile.timing.host, HOST_MEGABYTES)
}

/// A board that knows the image's probes.
fn board(image: &Image, profile: &Profile, factors: &StageFactors, sram: SramSize) -> Tigon2 {
    let mut board = Tigon2::new(sram, profile.timing);
    board.probes = probes(image, factors);
    board
}

/// The image's probes; `factors` stretch its stages.
#[must_use]
pub fn probes(image: &Image, factors: &StageFactors) -> ProbeTable {
    let mut probes = ProbeTable::new(image.probes.clone());
    for (stage, factor) in factors {
        let ticks = (factor * TICKS_PER_CYCLE as f64).round().max(1.0);
        probes.set_stretch(stage, ticks as u64);
    }
    probes
}

/// The cable that a profile describes.
#[must_use]
pub const fn cable(profile: &Profile) -> Link {
    Link {
        byte_time: profile.timing.byte_time(),
        propagation: profile.timing.wire_propagation,
    }
}

/// The image in the form in which the host library loads it.
#[must_use]
pub fn firmware(image: &Image) -> Firmware {
    Firmware {
        segments: image
            .load_parts()
            .map(|(address, bytes)| (address, bytes.to_vec()))
            .collect(),
        entry: image.entry,
    }
}

/// What a program leaves for the one who started it.
#[derive(Debug)]
pub struct Outcome<T>(Arc<Mutex<Option<T>>>);

impl<T> Clone for Outcome<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Outcome<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Outcome<T> {
    /// Leaves a value.
    pub fn set(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    /// Takes the value, if one was left.
    pub fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Looks at the value.
    pub fn with<R>(&self, look: impl FnOnce(&mut Option<T>) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Pairs of nodes, back to back, on which EMP programs run. In its pair a node is number 0 or 1.
#[derive(Debug)]
pub struct EmpPairs {
    /// The world: nodes 0 and 1 are a pair, 2 and 3, ...
    pub world: World,
    firmware: Arc<Firmware>,
    configs: Vec<Config>,
}

impl EmpPairs {
    /// One pair, with boards like those of the EMP thesis, this image and profile; `factors`
    /// stretch its stages.
    ///
    /// # Errors
    /// If the cable cannot be connected.
    pub fn one(
        image: &Image,
        profile: &Profile,
        factors: &StageFactors,
    ) -> Result<Self, WorldError> {
        Self::new(1, EMP_SRAM, image, profile, factors)
    }

    /// One pair with a switch between its nodes, whose ports 0 and 1 they are plugged into.
    ///
    /// # Errors
    /// If there cannot be such a switch.
    pub fn switched(
        image: &Image,
        profile: &Profile,
        factors: &StageFactors,
        config: &SwitchConfig,
    ) -> Result<Self, WorldError> {
        let mut pair = Self::unconnected(1, EMP_SRAM, image, profile, factors);
        let switch = pair.world.add_switch(config)?;
        for node in 0..pair.world.nodes.len() {
            pair.world.connect(node, (switch, node), cable(profile))?;
        }
        Ok(pair)
    }

    /// So many pairs.
    ///
    /// # Errors
    /// If the cables cannot be connected.
    pub fn new(
        pairs: u16,
        sram: SramSize,
        image: &Image,
        profile: &Profile,
        factors: &StageFactors,
    ) -> Result<Self, WorldError> {
        let mut cluster = Self::unconnected(pairs, sram, image, profile, factors);
        for first in (0..cluster.world.nodes.len()).step_by(2) {
            cluster.world.connect(first, first + 1, cable(profile))?;
        }
        Ok(cluster)
    }

    /// Nodes without cables.
    fn unconnected(
        pairs: u16,
        sram: SramSize,
        image: &Image,
        profile: &Profile,
        factors: &StageFactors,
    ) -> Self {
        let indices = 0..pairs.saturating_mul(2);
        let nodes = indices
            .clone()
            .map(|index| node(index, image, profile, factors, sram));
        let world = World::new(nodes.collect());
        let config = |index: u16| {
            let first = index & !1;
            let routes = vec![mac_address(first), mac_address(first + 1)];
            let mut config = Config::new(index & 1, routes);
            config.post_overhead_ns = profile.timing.host.post.ps() / 1000;
            config
        };
        Self {
            world,
            firmware: Arc::new(firmware(image)),
            configs: indices.map(config).collect(),
        }
    }

    /// A node's settings, to be changed before its program is spawned.
    pub fn config_mut(&mut self, node: usize) -> &mut Config {
        &mut self.configs[node]
    }

    /// Runs `program` on a node once its board has booted. What it returns is the outcome; so is
    /// the message of an error at start-up.
    pub fn spawn<T, P, F>(
        &mut self,
        node: usize,
        name: &str,
        program: P,
    ) -> Outcome<Result<T, String>>
    where
        T: Send + 'static,
        P: FnOnce(EmpNode) -> F + Send + 'static,
        F: Future<Output = Result<T, String>> + Send + 'static,
    {
        let outcome = Outcome::default();
        let left = outcome.clone();
        let firmware = Arc::clone(&self.firmware);
        let config = self.configs[node].clone();
        self.world.nodes[node]
            .programs
            .spawn(name, move |machine| async move {
                let result = match boot(machine, &firmware, config).await {
                    Ok(emp) => program(emp).await,
                    Err(error) => Err(error),
                };
                left.set(result);
            });
        outcome
    }
}

/// Loads and starts the firmware, and waits for [`START`].
///
/// # Errors
/// If board or firmware do not come up.
pub async fn boot(
    machine: Machine,
    firmware: &Firmware,
    config: Config,
) -> Result<EmpNode, String> {
    let mut clock = machine.clone();
    let emp = Emp::start(machine.clone(), machine, Some(firmware), config)
        .await
        .map_err(|error| error.to_string())?;
    let rest = START.saturating_sub(SimTime::from_ps(clock.now_ps()));
    clock.compute(rest.ps() / 1000).await;
    Ok(emp)
}
