//! The registry of boards: the types that scenarios and commands can name. A new type is a file of this folder; what the emulator compiles for
//! it stands in `emulator::boards`.

mod driver;
mod lanai;
mod tigon2;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use emulator::board::ProbeTable;
use emulator::cpu::architecture::Architecture;
use emulator::host::machine::Machine;
use emulator::image::MemoryLimits;
use emulator::profile::{BoardProfiles, Catalog, Profile, ProfileError};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use host_lib::firmware::Firmware;
use host_lib::gm;
use host_lib::lanai::Family;

use crate::busy_nodes::{CodeMemory, Load};

pub use driver::{Driver, StartError};

/// Bytes of a kilobyte of local memory.
pub const KB: u32 = 1024;

/// Everything that a node is built from.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// Costs of board and host.
    pub profile: &'a Profile,
    /// Probes of the firmware.
    pub probes: Option<&'a ProbeTable>,
    /// Local memory of the board; one of its [sizes](BoardType::sram_sizes).
    pub sram_bytes: u32,
    /// Host memory, in megabytes.
    pub memory_megabytes: u32,
    /// The firmware is an original one of real adapters, for the own pipeline of the chip.
    pub original: bool,
}

/// A board cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// The timing profile is for another type of board.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// There is no board with this much local memory.
    #[error("the board has {} KB", .0.sram_kilobytes())]
    Sram(&'static BoardType),
    /// The kernel of busy boards is invalid.
    #[error("the benchmark kernel: {0}")]
    Kernel(String),
    /// There is no such program for measurements of this type of board.
    #[error("boards of this type have no firmware that polls once in 5 us")]
    NoProgram,
}

/// A host program that ends with an error or never.
pub type HostProgram = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// The medium that the port of a board fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Medium {
    /// Ethernet carries frames.
    #[default]
    Ethernet,
    /// Myrinet carries packets.
    Myrinet,
}

impl Medium {
    /// Name of the medium in texts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ethernet => "Ethernet",
            Self::Myrinet => "Myrinet",
        }
    }
}

/// A message protocol that programs of scenarios use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// EMP, on Ethernet.
    Emp,
    /// GM, on Myrinet or Ethernet.
    Gm,
    /// FM, on Myrinet.
    Fm,
    /// Frames of Ethernet, by the host protocol of AceNIC firmware.
    Acenic,
}

impl Protocol {
    /// Name of the protocol in texts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Emp => "EMP",
            Self::Gm => "GM",
            Self::Fm => "FM",
            Self::Acenic => "AceNIC firmware",
        }
    }
}

/// A host's view of a board through its PCI window: the driver in the host library that brings it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostView {
    /// `host_lib::board`.
    Tigon2,
    /// `host_lib::lanai`.
    Lanai(Family),
}

impl HostView {
    /// The family of boards with a LANai; `None` for other boards.
    #[must_use]
    pub const fn lanai(self) -> Option<Family> {
        match self {
            Self::Tigon2 => None,
            Self::Lanai(family) => Some(family),
        }
    }
}

/// AceNIC firmware for a type of board.
#[derive(Debug, Clone, Copy)]
pub struct AcenicFirmware {
    /// Name of the image.
    pub image: &'static str,
    /// Local memory of boards in scenarios.
    pub sram_bytes: u32,
}

/// An image file of another form than ELF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherForm {
    /// Name of the form, and the firmware's version.
    pub description: String,
    /// Parts that are loaded.
    pub firmware: Firmware,
}

/// Reads a file of another form than ELF for a board with this much local memory; `None` if the file is not of this form.
type ReadForm = fn(&[u8], u32) -> Option<Result<OtherForm, String>>;

/// GM's firmware for a type of board.
#[derive(Debug, Clone, Copy)]
pub struct GmFirmware {
    /// Name of the image.
    pub image: &'static str,
    /// Names of other images, for the same host: other ways to use the board's CPUs.
    pub variants: &'static [&'static str],
    /// Family of boards in the host library of GM.
    pub family: gm::Family,
    /// Local memory that it needs, one of the board's [sizes](BoardType::sram_sizes).
    pub sram_bytes: u32,
}

/// FM's firmware for a type of board.
#[derive(Debug, Clone, Copy)]
pub struct FmFirmware {
    /// Name of the image.
    pub image: &'static str,
    /// Local memory of boards in scenarios.
    pub sram_bytes: u32,
}

/// A type of board.
#[derive(Debug, Clone, Copy)]
pub struct BoardType {
    /// Name in scenarios: `tigon2`.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// The medium that its port fits.
    pub medium: Medium,
    /// Speed of its links, in Mbit/s.
    pub link_mbit: u32,
    /// Whether it can run EMP firmware.
    pub runs_emp: bool,
    /// View of the board that its host has.
    pub host_view: HostView,
    /// Firmware for GM, if the board has one.
    pub gm: Option<GmFirmware>,
    /// Firmware for FM, if the board has one.
    pub fm: Option<FmFirmware>,
    /// Firmware for Ethernet, if the board has one.
    pub acenic: Option<AcenicFirmware>,
    /// Name in texts: `Alteon Tigon2`.
    pub title: &'static str,
    /// Description of the board in one line.
    pub description: &'static str,
    /// Instruction set of its CPUs.
    pub architecture: &'static dyn Architecture,
    /// Timing profile of the plain hardware.
    pub profile: &'static str,
    /// All its timing profiles.
    pub profiles: &'static BoardProfiles,
    /// Sizes of local memory with which it is made, in bytes, smallest first.
    pub sram_sizes: &'static [u32],
    /// The size that is taken unless another one is asked for.
    pub usual_sram_bytes: u32,
    /// Image that nodes of a scenario run if it names none; nodes that exchange messages over GM run that of [`gm`](Self::gm).
    pub usual_image: &'static str,
    /// The size in scenarios and tests, where all firmware must fit.
    pub scenario_sram_bytes: u32,
    /// Family of boards that run the same firmware images: the name of their folder.
    pub images: &'static str,
    build: fn(&'static Self, u16, &Parts<'_>) -> Result<Node, BoardError>,
    /// Package with the interface for firmware.
    pub hal: &'static str,
    limits: fn(u32) -> MemoryLimits,
    other_form: Option<ReadForm>,
    start: fn(Machine, Arc<Firmware>, SimTime) -> HostProgram,
    load: fn(&mut Node, Load) -> Result<(), BoardError>,
    /// Measurements of its speed with busy CPUs.
    pub busy: &'static [BusyMeasurement],
}

/// A measurement of the speed of busy CPUs.
#[derive(Debug)]
pub struct BusyMeasurement {
    /// Name of the number.
    pub key: &'static str,
    /// Description of the CPUs' work.
    pub what: &'static str,
    /// The speed to reach, in million instructions a second.
    pub least_mips: f64,
    /// Memory that holds the code.
    pub code: CodeMemory,
}

/// All types; the first is the default.
pub static BOARDS: [BoardType; 5] = [
    tigon2::TIGON2,
    tigon2::TIGON_N,
    lanai::LANAI_4,
    lanai::LANAI_7,
    lanai::LANAI_9,
];

/// The default type.
pub static DEFAULT: &BoardType = &BOARDS[0];

/// The type with this name.
#[must_use]
pub fn board_type(name: &str) -> Option<&'static BoardType> {
    let known = |board: &&BoardType| board.name == name || board.aliases.contains(&name);
    BOARDS.iter().find(known)
}

/// The type of board with this name, and its usual profile; or the type that a built-in profile with this name is for, and that profile.
#[must_use]
pub fn named(name: &str) -> Option<(&'static BoardType, &'static str)> {
    let of_profile = |board: &'static BoardType| {
        let mut names = board.profiles.names();
        let found = names.find(|known| *known == name)?;
        Some((board, found))
    };
    match board_type(name) {
        Some(board) => Some((board, board.profile)),
        None => BOARDS.iter().find_map(of_profile),
    }
}

/// The names that [`named`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    let types = BOARDS.iter();
    let types =
        types.flat_map(|board| std::iter::once(board.name).chain(board.aliases.iter().copied()));
    types.chain(BOARDS.iter().flat_map(|board| board.profiles.names()))
}

/// The first type whose CPUs execute code for this machine, as ELF files number them.
#[must_use]
pub fn for_machine(machine: u16) -> Option<&'static BoardType> {
    let fits = |board: &&BoardType| board.architecture.elf_machine() == machine;
    let usual = |board: &&BoardType| !board.aliases.is_empty() || std::ptr::eq(*board, DEFAULT);
    let fitting = || BOARDS.iter().filter(fits);
    fitting().find(usual).or_else(|| fitting().next())
}

/// The type of board that a profile is for.
#[must_use]
pub fn for_profile(profile: &Profile) -> &'static BoardType {
    // Profiles of other types come from other catalogs; no node takes them.
    board_type(profile.board()).unwrap_or(DEFAULT)
}

/// The timing profiles of all types.
#[must_use]
pub fn profiles() -> Catalog {
    Catalog::new(BOARDS.iter().map(|board| board.profiles))
}

impl BoardType {
    /// Node number `index`, with a board of this type. The firmware is not loaded yet.
    ///
    /// # Errors
    /// If the profile or the size of the local memory does not fit the board.
    pub fn node(&'static self, index: u16, parts: &Parts<'_>) -> Result<Node, BoardError> {
        parts.profile.for_board(self.name)?;
        self.check_sram(parts.sram_bytes)?;
        (self.build)(self, index, parts)
    }

    /// Checks that the board is made with this much local memory.
    ///
    /// # Errors
    /// [`BoardError::Sram`].
    pub fn check_sram(&'static self, bytes: u32) -> Result<u32, BoardError> {
        match self.sram_sizes.contains(&bytes) {
            true => Ok(bytes),
            false => Err(BoardError::Sram(self)),
        }
    }

    /// The sizes of its local memory in kilobytes, as text: `512, 1024 or 2048`.
    #[must_use]
    pub fn sram_kilobytes(&self) -> String {
        let mut sizes = self.sram_sizes.iter().map(|bytes| (bytes / KB).to_string());
        let last = sizes.next_back().unwrap_or_default();
        let others = sizes.collect::<Vec<_>>().join(", ");
        match others.is_empty() {
            true => last,
            false => format!("{others} or {last}"),
        }
    }

    /// The message protocol whose firmware it usually runs, if there is one.
    #[must_use]
    pub const fn protocol(&self) -> Option<Protocol> {
        match (self.runs_emp, self.gm) {
            (true, _) => Some(Protocol::Emp),
            (false, Some(_)) => Some(Protocol::Gm),
            (false, None) => None,
        }
    }

    /// Whether it can run a protocol's firmware.
    #[must_use]
    pub const fn runs(&self, protocol: Protocol) -> bool {
        match protocol {
            Protocol::Emp => self.runs_emp,
            Protocol::Gm => self.gm.is_some(),
            Protocol::Fm => self.fm.is_some(),
            Protocol::Acenic => self.acenic.is_some(),
        }
    }

    /// Whether it accepts the packets of another board with the same protocol. GM's firmware for the LANai 4 checks them in
    /// another way than that for later chips.
    #[must_use]
    pub fn understands(&self, other: &Self) -> bool {
        let images = |board: &Self| (board.gm.map(|gm| gm.image), board.fm.map(|fm| fm.image));
        images(self) == images(other)
    }

    /// The size of local memory in scenarios and tests of nodes with this protocol.
    #[must_use]
    pub const fn sram_bytes_for(&self, protocol: Option<Protocol>) -> u32 {
        let bytes = match (protocol, self.gm, self.fm, self.acenic) {
            (Some(Protocol::Gm), Some(gm), _, _) => Some(gm.sram_bytes),
            (Some(Protocol::Fm), _, Some(fm), _) => Some(fm.sram_bytes),
            (Some(Protocol::Acenic), _, _, Some(acenic)) => Some(acenic.sram_bytes),
            _ => None,
        };
        match bytes {
            Some(bytes) => bytes,
            None => self.scenario_sram_bytes,
        }
    }

    /// The program that resets the board, loads any firmware, starts it at `time`, or at once if that is past, and waits
    /// for ever. The board's interrupts are masked: there is no handler for them.
    #[must_use]
    pub fn start(&self, machine: Machine, firmware: Arc<Firmware>, time: SimTime) -> HostProgram {
        (self.start)(machine, firmware, time)
    }

    /// Loads and starts a program for measurements on the CPUs of a node.
    ///
    /// # Errors
    /// [`BoardError::Kernel`], [`BoardError::NoProgram`].
    pub fn load(&self, node: &mut Node, load: Load) -> Result<(), BoardError> {
        (self.load)(node, load)
    }

    /// Reads a file of the form that firmware for the board has besides ELF; `None` if the file is not of this form.
    ///
    /// # Errors
    /// If the file is damaged or does not fit the board.
    #[must_use]
    pub fn other_form(&self, file: &[u8], sram_bytes: u32) -> Option<Result<OtherForm, String>> {
        self.other_form.and_then(|read| read(file, sram_bytes))
    }

    /// Memory that an image must fit on a board with so many bytes.
    #[must_use]
    pub fn image_limits(&self, sram_bytes: u32) -> MemoryLimits {
        (self.limits)(sram_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn build(
        board: &'static BoardType,
        profile: &str,
        sram_bytes: u32,
    ) -> Result<Node, BoardError> {
        board.node(
            0,
            &Parts {
                profile: &profiles().built_in(profile).expect("its profile"),
                probes: None,
                sram_bytes,
                memory_megabytes: 8,
                original: false,
            },
        )
    }

    #[test]
    fn each_type_is_found_and_builds_what_it_says() {
        for known in &BOARDS {
            let found = board_type(known.name).expect("a registered type");
            assert_eq!(found.name, known.name);
            assert_eq!(found.profiles.board, known.name);
            for bytes in [found.usual_sram_bytes, found.scenario_sram_bytes] {
                assert!(found.sram_sizes.contains(&bytes));
            }
            for &bytes in found.sram_sizes {
                let node = build(found, found.profile, bytes).expect("a node");
                assert_eq!(node.inspect().name(), known.name);
                let limits = found.image_limits(bytes);
                assert_eq!(limits.board, known.name);
                for cpu in node.inspect().cpus() {
                    assert_eq!(cpu.architecture, known.architecture);
                    assert_eq!(limits.architecture, known.architecture);
                }
            }
        }
        assert!(board_type("tigon3").is_none());
    }

    #[test]
    fn each_type_has_names_for_files() {
        let registered = BOARDS.iter().map(|board| board.name);
        let named = emulator::boards::BOARD_NAMES
            .iter()
            .map(|names| names.board);
        assert_eq!(
            registered.collect::<BTreeSet<_>>(),
            named.collect::<BTreeSet<_>>()
        );
    }

    #[test]
    fn profiles_have_different_names() {
        let names: Vec<_> = profiles().names().collect();
        let different: BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), different.len(), "{names:?}");
    }

    #[test]
    fn a_wrong_size_of_memory_is_refused() {
        let error = build(DEFAULT, DEFAULT.profile, 300 * KB).expect_err("no such board");
        assert_eq!(error.to_string(), "the board has 512, 1024 or 2048 KB");
    }
}
