//! Two directly connected boards with Ethernet firmware, each driven by an AceNIC driver.

pub mod exchange;
pub mod frames;
pub mod node;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use defs::acenic::Link;
use emulator::board::ProbeTable;
use emulator::image::{Image, foreign};
use emulator::profile::Profile;
use emulator::sim::node::Node;
use emulator::sim::world::World;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::serdes::LinkPartner;
use host_lib::acenic::{AceNic, Config};
use host_lib::emp::MacAddress;
use host_lib::firmware::Firmware;
use host_lib::firmware::linux::{LinuxFirmware, Version};

use crate::boards::{DEFAULT, Parts};
use crate::builder::{WorldBuilder, WorldError};
use crate::end;
use crate::images::{self, ELF_MAGIC, FirmwareError};
use crate::nodes;

/// The driver on an emulated machine.
pub type Nic = AceNic;

/// Host memory of a node.
const HOST_MEGABYTES: u32 = 64;

/// A user's firmware in either format.
#[derive(Debug, Clone)]
pub struct AceFirmware {
    /// Image to load.
    pub firmware: Firmware,
    /// Version, if the format contains it.
    pub version: Option<Version>,
    /// The image, if the format has more than bytes to load.
    pub image: Option<Image>,
    /// Probes of the firmware's image.
    known: ProbeTable,
}

/// Reads firmware for boards with this SRAM: a file, ELF or in the Linux format, or else the built-in image of this name.
///
/// # Errors
/// [`FirmwareError`].
pub fn read_firmware(path: &Path, sram_bytes: u32) -> Result<AceFirmware, FirmwareError> {
    let found = DEFAULT.find(path);
    let bytes = DEFAULT.read_bytes(&found)?;
    if bytes.starts_with(ELF_MAGIC) {
        return DEFAULT.read(&found, sram_bytes).map(AceFirmware::from);
    }
    let read = match foreign::form(&bytes) {
        Some(form) => Err(format!(
            "not a firmware in the Linux form, and not an ELF file, but {form}"
        )),
        None => LinuxFirmware::parse(&bytes, sram_bytes).map_err(|error| error.to_string()),
    };
    let path = path.into();
    read.map(AceFirmware::from)
        .map_err(|reason| FirmwareError::OtherForm { path, reason })
}

impl From<Image> for AceFirmware {
    fn from(image: Image) -> Self {
        Self {
            firmware: images::firmware(&image),
            version: None,
            known: ProbeTable::of(&image),
            image: Some(image),
        }
    }
}

impl From<LinuxFirmware> for AceFirmware {
    fn from(file: LinuxFirmware) -> Self {
        Self {
            known: ProbeTable::loading(&file.firmware.segments),
            firmware: file.firmware,
            version: Some(file.version),
            image: None,
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
        let node = world.node(DEFAULT, &parts)?;
        let fabric = &mut node.board_mut::<Tigon2>().fabric;
        let address = nodes::mac_address(index);
        fabric.eeprom.set_mac_address(address.0);
        fabric.serdes.partner = partner;
    }
    world.pairs(nodes::cable(profile)?);
    world.build()
}

/// Gives a node's board what a driver finds that knows nothing of the other boards: an address in the EEPROM, and a partner that negotiates.
/// Boards of other types stay as they are.
pub fn equip(node: &mut Node, address: MacAddress) {
    if let Some(board) = node.try_board_mut::<Tigon2>() {
        board.fabric.eeprom.set_mac_address(address.0);
        board.fabric.serdes.partner = LinkPartner::FULL_DUPLEX_WITH_PAUSE;
    }
}

/// Runs `program` on a node of `world`, with the driver of a board whose firmware has just been started.
/// The outcome is the program's result, or the message of an error at start-up.
pub fn spawn<T, P, F>(
    world: &mut World,
    node: usize,
    firmware: &Arc<Firmware>,
    config: Config,
    program: P,
) -> end::ResultSlot<Result<T, String>>
where
    T: Send + 'static,
    P: FnOnce(Nic) -> F + Send + 'static,
    F: Future<Output = Result<T, String>> + Send + 'static,
{
    let outcome = end::ResultSlot::default();
    let left = outcome.clone();
    let firmware = Arc::clone(firmware);
    world.nodes[node]
        .programs
        .spawn("driver", move |machine| async move {
            let nic =
                AceNic::start(machine.clone().into(), machine.into(), &firmware, config).await;
            left.set(match nic {
                Ok(nic) => program(nic).await,
                Err(error) => Err(error.to_string()),
            });
        });
    outcome
}
