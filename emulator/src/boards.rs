//! Parts of each type of board that are compiled once, below the registry: the names that traces and snapshots use, and nodes with a board. The
//! registry is `boards` of `testbench/worlds`; a test there fails if a registered type has no names here.

use emulator_lanai::board::Lanai;
use emulator_lanai::inspect::names::LANAI_NAMES;
use emulator_observe::names::Boards;
use emulator_profile::costs::HostCosts;
use emulator_sim::node::Node;
use emulator_tigon2::board::Tigon2;

/// The names of all types of boards.
pub const BOARD_NAMES: Boards = &[
    &emulator_tigon2::inspect::names::NAMES,
    &LANAI_NAMES[0],
    &LANAI_NAMES[1],
    &LANAI_NAMES[2],
    &emulator_tigon2::inspect::names::NAMES_N,
];

/// Nodes with a type of board. The code that runs nodes is generic: here it is compiled once for each type, as a part of what is
/// optimised most.
pub trait IntoNode {
    /// A node with this board.
    #[must_use]
    fn into_node(self, index: u16, costs: &HostCosts, memory_megabytes: u32) -> Node;
}

impl IntoNode for Tigon2 {
    fn into_node(self, index: u16, costs: &HostCosts, memory_megabytes: u32) -> Node {
        Node::new(index, self, costs, memory_megabytes)
    }
}

impl IntoNode for Lanai {
    fn into_node(self, index: u16, costs: &HostCosts, memory_megabytes: u32) -> Node {
        Node::new(index, self, costs, memory_megabytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use emulator_base::initiator::Initiator;
    use emulator_base::time::SimTime;
    use emulator_observe::event::{Place, TraceEvent, TraceKind};
    use emulator_observe::names::{BoardNames, COMMON_BLOCKS, KINDS, Name};

    fn is_listed(list: &[Name], name: &str) -> bool {
        list.iter().any(|one| one.name == name)
    }

    #[test]
    fn each_name_stands_once() {
        let blocks = BOARD_NAMES.iter().map(|names| names.blocks);
        for list in [KINDS, COMMON_BLOCKS].into_iter().chain(blocks) {
            for (i, one) in list.iter().enumerate() {
                assert!(!is_listed(&list[..i], one.name), "{}", one.name);
                assert!(!one.about.is_empty());
            }
        }
    }

    #[test]
    fn every_block_is_listed() {
        for names in BOARD_NAMES {
            for one in COMMON_BLOCKS {
                assert!(is_listed(names.blocks, one.name), "{}", one.name);
            }
            for (_, address) in (names.registers)() {
                let block = (names.block_of)(address);
                assert!(is_listed(names.blocks, block), "{block}");
            }
            for one in names.initiators {
                let block = event(names, one.initiator, TraceKind::Reset).block();
                assert_eq!(block, one.name);
                assert!(is_listed(names.blocks, block), "{block}");
            }
        }
    }

    fn event(names: &'static BoardNames, initiator: Initiator, kind: TraceKind) -> TraceEvent {
        TraceEvent {
            time: SimTime::ZERO,
            place: Place::Node(0),
            names,
            initiator,
            pc: None,
            kind,
        }
    }

    #[test]
    fn an_access_concerns_the_block_of_its_register() {
        let check = |address, block| {
            let kind = TraceKind::RegisterRead { address, value: 0 };
            let event = event(BOARD_NAMES[0], Initiator::Cpu(1), kind);
            assert_eq!((event.kind.name(), event.block()), ("register-read", block));
        };
        check(0xC000_0048, "semaphore");
        check(0xC000_00B0, "dma_read");
        check(0xC000_00A0, "dma_write");
        check(0xC000_00C4, "mac_rx");
        check(0xC000_00D8, "mac_tx");
        check(0xC000_0208, "mac");
        check(0xC000_0180, "cpu_a");
        check(0xC000_02FC, "cpu_b");
        check(0xC000_03FC, "storage");
        check(0xC000_1208, "event");
        check(0xC000_1744, "cpu_h");
    }
}
