//! Boards with a LANai in scenarios: names, networks of Myrinet, the start of firmware.

use std::io::Write as _;

use emulator::board::CpuId;
use emulator::sim::world::RunEnd;
use lanigon_worlds::boards;
use lanigon_worlds::nodes::{firmware_word, mac_address};
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// A mark of the image `hello`, above its stack, when its results are complete.
const MARK: (u32, u32) = (0x3_F008, 0x600D_600D);

/// Whether the image exists: it is built where LLVM's tools are.
fn built() -> bool {
    let board = boards::board_type("lanai").unwrap();
    let exists = board.own_image("hello", board.usual_sram_bytes).is_ok();
    if !exists {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED for lack of the image hello for the LANai (`make firmware` builds it where llc of LLVM 22 is installed)"
        );
    }
    exists
}

fn text(board: &str, network: &str) -> String {
    format!(
        "board = \"{board}\"\n[network]\n{network}\n[[program]]\nrun = \"start\"\nnodes = \"all\"\n"
    )
}

fn simulation(text: &str) -> Simulation {
    let scenario = lanigon_workloads::parse("test.toml", text).unwrap();
    Simulation::new(&scenario).unwrap()
}

#[test]
fn every_board_starts_firmware_on_every_network() {
    if !built() {
        return;
    }
    let check = |board: &str, own: &str, profile: &str, network: &str, nodes: usize| {
        let mut simulation = simulation(&text(board, network));
        assert_eq!(simulation.world.nodes.len(), nodes);
        assert_eq!(simulation.profiles[0].name, profile);
        let outcome = simulation.run(&RunOptions::default(), |_| {});
        assert_eq!(outcome.end, RunEnd::Completed, "{board} {network}");
        assert!(outcome.is_good(), "{board} {network}: {outcome:?}");
        for node in &simulation.world.nodes {
            assert_eq!(node.inspect().name(), own);
            assert_eq!(firmware_word(node, MARK.0), MARK.1, "{board} {network}");
        }
    };
    let pair = "topology = \"pair\"";
    check("lanai", "lanai9", "lanai9.1-133", pair, 2);
    check("lanai9.1-133", "lanai9", "lanai9.1-133", pair, 2);
    check(
        "lanai9.2-200",
        "lanai9",
        "lanai9.2-200",
        "topology = \"none\"\nnodes = 1",
        1,
    );
    check(
        "lanai7.2-66",
        "lanai7",
        "lanai7.2-66",
        "topology = \"loop\"\nnodes = 2",
        2,
    );
    check(
        "lanai4.3-33",
        "lanai4",
        "lanai4.3-33",
        "topology = \"star\"\nnodes = 9",
        9,
    );
    check(
        "lanai4",
        "lanai4",
        "lanai4.3-33",
        "topology = \"tree\"\nports = 8\nnodes = 9",
        9,
    );
    check(
        "lanai7",
        "lanai7",
        "lanai7.2-66",
        "topology = \"clos\"\nports = 8\nnodes = 10",
        10,
    );
}

#[test]
fn nodes_of_one_network_may_have_different_chips() {
    if !built() {
        return;
    }
    let text = "[network]\ntopology = \"star\"\n[network.switch]\nlatency_ns = 150\nstop_bytes = 64\nwatchdog_us = 50\n\
                [[node]]\nname = \"old\"\nboard = \"lanai4.3-33\"\n[[node]]\nname = \"new\"\nboard = \"lanai9.2-200\"\n\
                [[program]]\nrun = \"start\"\nnodes = \"all\"\n[faults]\nloss = 0.1\n";
    let mut simulation = simulation(text);
    let names: Vec<_> = simulation
        .profiles
        .iter()
        .map(|profile| profile.name.clone())
        .collect();
    assert_eq!(names, ["lanai4.3-33", "lanai9.2-200"]);
    let outcome = simulation.run(&RunOptions::default(), |_| {});
    assert!(outcome.is_good(), "{outcome:?}");
    for (index, eeprom) in [(0, 0x8_0000), (1, 0xA0_0000)] {
        let node = &mut simulation.world.nodes[index];
        let words = node.with_board::<emulator::lanai::board::Lanai, _>(|board, ctx| {
            [4, 8]
                .map(|offset| emulator::board::Board::window_peek(board, eeprom + offset, ctx.now))
        });
        let [a, b, c, d, e, f] = mac_address(index as u16).0;
        let [version, high, low] = [words[0] >> 16, words[0] & 0xFFFF, words[1]];
        assert_eq!(version, [0x0403, 0x0902][index]);
        assert_eq!(high, u32::from_be_bytes([0, 0, a, b]));
        assert_eq!(low, u32::from_be_bytes([c, d, e, f]));
        assert!(node.inspect().cpu(CpuId::new(0)).is_some());
    }
}

#[test]
fn mistakes_in_scenarios_are_named() {
    let check = |text: &str, expected: &str| {
        let error = lanigon_workloads::parse("test.toml", text)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    };
    check(
        &text("lanai9.1-134", "topology = \"pair\""),
        "did you mean \"lanai9.1-133\"",
    );
    check(
        &text("tigon2", "topology = \"loop\"\nnodes = 1"),
        "it is for Myrinet",
    );
    check(
        &text("lanai", "topology = \"star\"\nnodes = 33"),
        "at most 32 ports",
    );
    check(
        &text("lanai", "topology = \"clos\"\nports = 12\nnodes = 3"),
        "8, 16 or 32 ports",
    );
    check(
        &text("lanai", "topology = \"clos\"\nports = 8\nnodes = 129"),
        "at most 128 nodes",
    );
    check(
        &text(
            "lanai",
            "topology = \"star\"\nnodes = 3\nswitch = { forwarding = \"cut-through\" }",
        ),
        "no key \"forwarding\"",
    );
    check(
        &text(
            "lanai",
            "topology = \"star\"\nnodes = 3\nswitch = { stop_bytes = 8, go_bytes = 8 }",
        ),
        "not between 0 and 7",
    );
    let mixed = "[network]\ntopology = \"star\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\nboard = \"lanai\"\n\
                 [[program]]\nrun = \"start\"\nnodes = \"all\"\n";
    check(mixed, "a network has one medium");
    let exact = text("lanai", "topology = \"pair\"") + "[[fault]]\ndo = \"drop\"\nfragment = 1\n";
    check(&exact, "no key \"fragment\"");
    let stall =
        "[[fault]]\ndo = \"stall-dma\"\nnode = 0\nchannel = \"read\"\nat_us = 1\nfor_us = 1\n";
    let stall = text("lanai", "topology = \"pair\"") + stall;
    check(
        &stall,
        "fault.node: the DMA channels of lanai9 do not stall",
    );
}
