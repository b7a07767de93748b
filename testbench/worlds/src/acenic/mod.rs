//! Two directly connected boards with Ethernet firmware, each driven by an AceNIC driver.

pub mod exchange;
pub mod frames;
pub mod node;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use defs::acenic::Link;
use emulator::board::ProbeTable;
use emulator::host::machine::Machine;
use emulator::image::{Image, ImageError, Symbols};
use emulator::profile::Profile;
use emulator::sim::world::World;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::serdes::LinkPartner;
use host_lib::acenic::{AceNic, Config};
use host_lib::firmware::Firmware;
use host_lib::firmware::linux::{FormError, LinuxFirmware, Version};

use crate::boards::{self, Parts};
use crate::builder::{WorldBuilder, WorldError};
use crate::files::input::read_at_most;
use crate::images;
use crate::nodes;
use crate::outcome;

/// The driver on an emulated machine.
pub type Nic = AceNic<Machine, Machine>;

/// Host memory of a node.
const HOST_MEGABYTES: u32 = 64;
/// Limit of a firmware file's size.
const MOST_FILE_BYTES: u64 = 64 << 20;
/// Magic bytes of an ELF file.
const ELF_MAGIC: &[u8] = b"\x7FELF";

/// A user's firmware in either format.
#[derive(Debug, Clone)]
pub struct AceFirmware {
    /// Image to load.
    pub firmware: Firmware,
    /// Version, if the format contains it.
    pub version: Option<Version>,
    /// Symbols, if the format contains them.
    pub symbols: Symbols,
    /// What the board knows of it.
    known: ProbeTable,
}

/// A file cannot be used as firmware.
#[derive(Debug, thiserror::Error)]
pub enum FirmwareError {
    /// The file cannot be read.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// Reason.
        error: std::io::Error,
    },
    /// The file is too long.
    #[error("{path}: longer than {} MB", MOST_FILE_BYTES >> 20)]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The file is no valid ELF image for the board.
    #[error("{path}: {error}")]
    Elf {
        /// The file.
        path: PathBuf,
        /// Reason.
        error: ImageError,
    },
    /// The file is no valid firmware in the Linux format.
    #[error("{path}: {error}")]
    Linux {
        /// The file.
        path: PathBuf,
        /// Reason.
        error: FormError,
    },
}

/// Reads a firmware file for boards with this SRAM: ELF or the Linux format.
///
/// # Errors
/// [`FirmwareError`].
pub fn read_firmware(path: &Path, sram_bytes: u32) -> Result<AceFirmware, FirmwareError> {
    let file = read_at_most(path, MOST_FILE_BYTES).map_err(|error| FirmwareError::File {
        path: path.into(),
        error,
    })?;
    if file.len() as u64 > MOST_FILE_BYTES {
        return Err(FirmwareError::TooLong { path: path.into() });
    }
    if file.starts_with(ELF_MAGIC) {
        return Image::parse(&file, &boards::DEFAULT.image_limits(sram_bytes))
            .map(AceFirmware::from)
            .map_err(|error| FirmwareError::Elf {
                path: path.into(),
                error,
            });
    }
    LinuxFirmware::parse(&file, sram_bytes)
        .map(AceFirmware::from)
        .map_err(|error| FirmwareError::Linux {
            path: path.into(),
            error,
        })
}

impl From<Image> for AceFirmware {
    fn from(image: Image) -> Self {
        Self {
            firmware: images::firmware(&image),
            version: None,
            known: ProbeTable::of(&image),
            symbols: image.symbols,
        }
    }
}

impl From<LinuxFirmware> for AceFirmware {
    fn from(file: LinuxFirmware) -> Self {
        Self {
            known: ProbeTable::loading(&file.firmware.segments),
            firmware: file.firmware,
            version: Some(file.version),
            symbols: Symbols::default(),
        }
    }
}

/// Two nodes with such boards, connected by a cable, with different addresses in their EEPROMs. With a
/// negotiated `link` each board has a negotiating partner.
///
/// # Errors
/// If the cable cannot be connected.
pub fn pair(
    firmware: &AceFirmware,
    profile: &Profile,
    sram_bytes: u32,
    link: Link,
) -> Result<World, WorldError> {
    let partner = if link.contains(Link::NEGOTIATE) {
        LinkPartner::FULL_DUPLEX_WITH_PAUSE
    } else {
        LinkPartner::Idle
    };
    let parts = Parts {
        original: false,
        profile,
        probes: Some(&firmware.known),
        sram_bytes,
        memory_megabytes: HOST_MEGABYTES,
    };
    let mut world = WorldBuilder::new();
    for index in 0..2 {
        let node = world.node(boards::DEFAULT, &parts)?;
        let fabric = &mut node.board_mut::<Tigon2>().fabric;
        let address = nodes::mac_address(index);
        fabric.eeprom.set_mac_address(address.0);
        fabric.serdes.partner = partner;
    }
    world.pairs(nodes::cable(profile)?);
    world.build()
}

/// Runs `program` on a node of `world`, with the driver of a board whose firmware has just been started.
/// The outcome is the program's result, or the message of an error at start-up.
pub fn spawn<T, P, F>(
    world: &mut World,
    node: usize,
    firmware: &Arc<Firmware>,
    config: Config,
    program: P,
) -> outcome::ResultSlot<Result<T, String>>
where
    T: Send + 'static,
    P: FnOnce(Nic) -> F + Send + 'static,
    F: Future<Output = Result<T, String>> + Send + 'static,
{
    let outcome = outcome::ResultSlot::default();
    let left = outcome.clone();
    let firmware = Arc::clone(firmware);
    world.nodes[node]
        .programs
        .spawn("driver", move |machine| async move {
            let nic = AceNic::start(machine.clone(), machine, &firmware, config).await;
            left.set(match nic {
                Ok(nic) => program(nic).await,
                Err(error) => Err(error.to_string()),
            });
        });
    outcome
}
