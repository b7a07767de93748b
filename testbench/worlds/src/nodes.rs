//! Nodes: boards with an image's probes and a timing profile's costs, their addresses and their cables.

use emulator::board::{CpuId, ProbeTable};
use emulator::cpu::clock::TICKS_PER_CYCLE;
use emulator::image::{ELF_FORM, Image};
use emulator::profile::{Profile, ProfileError};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::link::Link;
use emulator::wire::myrinet;
use host_lib::emp::MacAddress;

use crate::boards::{self, BoardError, BoardType, KB, Parts};

/// SRAM of the boards of the EMP thesis (emp-022).
pub const EMP_SRAM_BYTES: u32 = 512 * KB;
/// Host memory of a node.
pub const HOST_MEGABYTES: u32 = 256;
/// Length of the cables between boards on Myrinet, in metres.
const MYRINET_METRES: u64 = 3;
/// Host programs begin at this time, when every board has booted.
pub const START: SimTime = SimTime::from_us(20_000);

/// The address of a node's board.
#[must_use]
pub fn mac_address(node: u16) -> MacAddress {
    let [high, low] = node.to_be_bytes();
    MacAddress([0x02, 0x4C, 0x61, 0x6E, high, low])
}

/// The node with this address, if it is one of [`mac_address`].
#[must_use]
pub fn node_of(address: [u8; 6]) -> Option<u16> {
    let node = u16::from_be_bytes([address[4], address[5]]);
    (mac_address(node).0 == address).then_some(node)
}

/// GM's route between two nodes over Ethernet; `None` from a node to itself.
#[must_use]
pub fn ethernet_route(from: usize, to: usize) -> Option<Vec<u8>> {
    let [sender, target] = [from, to].map(|node| mac_address(node as u16));
    (from != to).then(|| host_lib::gm::ethernet_route(sender, target))
}

/// Stretch factors of stages, by name.
pub type StageFactors = [(String, f64)];

/// A node whose board has the image's probes. The image is not loaded yet.
///
/// # Errors
/// If the profile or the size of the SRAM does not fit the board.
pub fn node(
    index: u16,
    image: &Image,
    profile: &Profile,
    factors: &StageFactors,
    sram_bytes: u32,
) -> Result<Node, BoardError> {
    let probes = probes(image, factors);
    boards::for_profile(profile).node(index, &parts(profile, Some(&probes), sram_bytes))
}

/// Parts of a node with the usual host memory.
#[must_use]
pub const fn parts<'a>(
    profile: &'a Profile,
    probes: Option<&'a ProbeTable>,
    sram_bytes: u32,
) -> Parts<'a> {
    Parts {
        profile,
        probes,
        sram_bytes,
        memory_megabytes: HOST_MEGABYTES,
        original: false,
    }
}

/// Whether an image is firmware of real adapters, as files of other forms than ELF are.
#[must_use]
pub fn is_original(image: &Image) -> bool {
    image.form != ELF_FORM
}

/// Table of the probes in the image of a board's firmware; `factors` stretch stages.
#[must_use]
pub fn probes(image: &Image, factors: &StageFactors) -> ProbeTable {
    let mut probes = ProbeTable::of(image);
    for (stage, factor) in factors {
        let ticks = (factor * TICKS_PER_CYCLE as f64).round().max(1.0);
        probes.set_stretch(stage, ticks as u64);
    }
    probes
}

/// A word of the memory of a node's firmware, as its first CPU sees it; 0 where no memory is.
#[must_use]
pub fn firmware_word(node: &Node, address: u32) -> u32 {
    let seen = node.inspect().peek(CpuId::new(0), address, node.now());
    seen.unwrap_or_default()
}

/// The cable of a profile.
///
/// # Errors
/// If the profile is for boards of another medium.
pub fn cable(profile: &Profile) -> Result<Link, ProfileError> {
    Link::read(&mut profile.reader())
}

/// The cable of Myrinet of a profile.
///
/// # Errors
/// If the profile has no speed of links.
pub fn profile_cable(profile: &Profile) -> Result<myrinet::Link, ProfileError> {
    let rate = profile.reader().rate("link.rate", "bit/s")?;
    let byte_time = SimTime::from_ps(8_000_000_000_000 / rate.max(1));
    Ok(myrinet::Link::new(byte_time, MYRINET_METRES))
}

/// The cable of Myrinet that boards of a type have.
#[must_use]
pub const fn myrinet_cable(board: &BoardType) -> myrinet::Link {
    match board.link_mbit {
        2000.. => myrinet::Link::at_2_gbps(MYRINET_METRES),
        _ => myrinet::Link::at_1_28_gbps(MYRINET_METRES),
    }
}
