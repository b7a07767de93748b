//! Nodes with FM's control program, joined by a crossbar.

use std::fs;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use emulator::cpu::lanai::architecture::LANAI;
use emulator::cpu::lanai::pipeline::Pipeline;
use emulator::image::{Image, MemoryLimits};
use emulator::lanai::board::Lanai;
use emulator::lanai::timing::Timing;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use emulator::wire::myrinet::topology::Topology;
use emulator::wire::myrinet::{CrossbarConfig, Link};
use host_lib::firmware::Firmware;
use host_lib::fm::{Config, Fm};
use host_lib::window::System;

const SRAM_BYTES: u32 = 1 << 20;
/// When all boards have been started, in nanoseconds.
const STARTED_NS: u64 = 20_000_000;

/// A host's library on its emulated machine.
pub type Host = Fm;

/// Results of programs, shared with the test.
pub type Shared<T> = Arc<Mutex<T>>;

/// Reads the image, if it was built.
pub fn image() -> Option<Image> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../firmware/target/lanai/release/fm"
    );
    let Ok(file) = fs::read(path) else {
        // Past the capture of the test harness, which hides the output of tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED for lack of the image fm (`make firmware` builds it where llc of LLVM 22 is installed)"
        );
        return None;
    };
    let limits = MemoryLimits {
        board: "lanai4",
        architecture: &LANAI,
        sram_bytes: SRAM_BYTES,
        scratchpad_base: u32::MAX,
        scratchpad_a_bytes: 0,
        scratchpad_b_bytes: 0,
        dispatch_tables: (&[], 0),
    };
    Some(Image::parse(&file, &limits).unwrap_or_else(|error| panic!("{path}: {error}")))
}

/// Boards with a LANai 4.3 on one crossbar.
pub struct Bench {
    pub world: World,
    firmware: Firmware,
    nodes: u16,
    /// Whether hosts combine writes to the window.
    pub combines_writes: bool,
}

impl Bench {
    /// `None` without the image.
    pub fn new(nodes: u16) -> Option<Self> {
        let image = image()?;
        let parts = image.load_parts();
        let firmware = Firmware {
            segments: parts.map(|(at, bytes)| (at, bytes.to_vec())).collect(),
            entry: image.entry,
        };
        let timing = Timing::built_in("lanai4.3-33").expect("a profile");
        let node = |index| {
            let mut board = Lanai::new(SRAM_BYTES, timing, Pipeline::LLVM);
            let address = [2, 0, 0, 0, 1, index as u8];
            board.fabric.set_address(address, u32::from(index) + 1);
            Node::new(index, board, &timing.host, 1)
        };
        let mut world = World::new((0..nodes).map(node).collect());
        let topology = Topology::one_crossbar(16, nodes.into());
        let link = Link::at_1_28_gbps(3);
        world
            .build_myrinet(&topology, &CrossbarConfig::new(8), link)
            .expect("free ports");
        Some(Self {
            world,
            firmware,
            nodes,
            combines_writes: true,
        })
    }

    /// Runs a program on a node: start-up, then `run`, on all nodes at the same time.
    pub fn program<F>(&mut self, node: u16, run: impl FnOnce(Host) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let route = |other: u16| {
            let delta = other.wrapping_sub(node) as u8;
            Some(vec![0x80 | delta & 0x3F])
        };
        let mut config = Config::new(node, (0..self.nodes).map(route).collect());
        config.combines_writes = self.combines_writes;
        let firmware = self.firmware.clone();
        let programs = &mut self.world.nodes[usize::from(node)].programs;
        programs.spawn("fm", |machine| async move {
            let fm = Fm::start(machine.clone().into(), machine.into(), &firmware, config).await;
            let mut fm = fm.unwrap_or_else(|error| panic!("{error}"));
            let now_ns = fm.system().now_ps() / 1000;
            fm.system().sleep(STARTED_NS - now_ns).await;
            run(fm).await;
        });
    }

    /// Runs until all programs have ended.
    pub fn run(&mut self) {
        let limits = RunLimits {
            max_time: Some(SimTime::from_us(3_000_000)),
            ..RunLimits::default()
        };
        let end = self.world.run(&limits);
        assert_eq!(end, RunEnd::Completed);
    }
}
