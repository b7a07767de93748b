//! The types of boards that scenarios and commands can name. A new type is registered here and nowhere else.

use emulator::cpu::architecture::Architecture;
use emulator::cpu::mips::architecture::Mips;
use emulator::image::MemoryLimits;
use emulator::sim::node::Node;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::inspect::debugger::NAME as TIGON2;
use emulator::tigon2::inspect::probes::ProbeTable;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Profile;

/// Everything that a node is built from.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// Costs of board and host.
    pub profile: &'a Profile,
    /// Probes of the firmware.
    pub probes: Option<&'a ProbeTable>,
    /// Local memory of the board.
    pub sram: SramSize,
    /// Host memory, in megabytes.
    pub memory_megabytes: u32,
}

/// A type of board.
#[derive(Debug, Clone, Copy)]
pub struct BoardType {
    /// Name in scenarios: `tigon2`.
    pub name: &'static str,
    /// One line about it.
    pub description: &'static str,
    /// Instruction set of its CPUs.
    pub architecture: &'static dyn Architecture,
    /// Timing profile of the plain hardware.
    pub profile: &'static str,
    build: fn(u16, &Parts<'_>) -> Node,
    limits: fn(SramSize) -> MemoryLimits,
}

/// All types; the first is the default.
pub const BOARDS: &[BoardType] = &[BoardType {
    name: TIGON2,
    description: "Alteon Tigon2: two MIPS CPUs, gigabit Ethernet",
    architecture: &Mips,
    profile: "tigon2-88mhz",
    build: tigon2,
    limits: |sram| Tigon2::image_limits(sram.bytes() as u32),
}];

/// The default type.
pub const DEFAULT: &BoardType = &BOARDS[0];

/// The type with this name.
#[must_use]
pub fn board_type(name: &str) -> Option<&'static BoardType> {
    BOARDS.iter().find(|board| board.name == name)
}

impl BoardType {
    /// Node number `index`, with a board of this type. The firmware is not loaded yet.
    #[must_use]
    pub fn node(&self, index: u16, parts: &Parts<'_>) -> Node {
        (self.build)(index, parts)
    }

    /// What an image must fit on a board with this much memory.
    #[must_use]
    pub fn image_limits(&self, sram: SramSize) -> MemoryLimits {
        (self.limits)(sram)
    }
}

fn tigon2(index: u16, parts: &Parts<'_>) -> Node {
    let mut board = Tigon2::new(parts.sram, parts.profile.timing);
    if let Some(probes) = parts.probes {
        board.probes = probes.clone();
    }
    let costs = &parts.profile.timing.host;
    Node::new(index, board, costs, parts.memory_megabytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_is_found_and_builds_what_it_says() {
        for known in BOARDS {
            let found = board_type(known.name).expect("a registered type");
            assert_eq!(found.name, known.name);
            let profile = Profile::built_in(found.profile).expect("its profile");
            let parts = Parts {
                profile: &profile,
                probes: None,
                sram: SramSize::K512,
                memory_megabytes: 8,
            };
            let node = found.node(0, &parts);
            assert_eq!(node.inspect().name(), known.name);
            let limits = found.image_limits(SramSize::K512);
            assert_eq!(limits.board, known.name);
            for cpu in node.inspect().cpus() {
                assert_eq!(cpu.architecture, known.architecture);
                assert_eq!(limits.architecture, known.architecture);
            }
        }
        assert!(board_type("tigon3").is_none());
    }
}
