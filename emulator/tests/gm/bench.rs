//! Nodes with GM's control program, joined by a crossbar.

use std::fs;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use emulator::board::CpuId;
use emulator::cpu::lanai::architecture::LANAI;
use emulator::cpu::lanai::pipeline::Pipeline;
use emulator::image::{Image, MemoryLimits, stack};
use emulator::lanai::board::Lanai;
use emulator::lanai::chip::Generation;
use emulator::lanai::timing::Timing;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use emulator::wire::myrinet::topology::Topology;
use emulator::wire::myrinet::{CrossbarConfig, Link};
use host_lib::firmware::Firmware;
use host_lib::gm::mapper::{Mapper, Settings};
use host_lib::gm::{Config, Gm};
use host_lib::lanai::Family;

pub const SRAM_BYTES: u32 = 1 << 20;

/// A host's library on its emulated machine.
pub type Host = Gm;

/// Results of programs, shared with the test.
pub type Shared<T> = Arc<Mutex<T>>;

/// Nodes of one profile.
pub struct Bench {
    pub world: World,
    image: Image,
    firmware: Firmware,
    family: Family,
    nodes: u16,
}

/// Reads an image, if it was built.
pub fn image(name: &str) -> Option<Image> {
    let path = format!(
        "{}/../firmware/target/lanai/release/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    let Ok(file) = fs::read(&path) else {
        // Past the capture of the test harness, which hides the output of tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED for lack of the image {name} (`make firmware` builds it where llc of LLVM 22 is installed)"
        );
        return None;
    };
    let limits = MemoryLimits {
        // Images say for which boards they are.
        board: if name == "gm-l4" { "lanai4" } else { "lanai9" },
        architecture: &LANAI,
        sram_bytes: SRAM_BYTES,
        scratchpad_base: u32::MAX,
        scratchpad_a_bytes: 0,
        scratchpad_b_bytes: 0,
        dispatch_tables: (&[], 0),
    };
    Some(Image::parse(&file, &limits).unwrap_or_else(|error| panic!("{path}: {error}")))
}

fn firmware(image: &Image) -> Firmware {
    let parts = image.load_parts();
    Firmware {
        segments: parts.map(|(at, bytes)| (at, bytes.to_vec())).collect(),
        entry: image.entry,
    }
}

impl Bench {
    /// Boards of a profile on one crossbar; `None` without the image.
    pub fn new(profile: &str, nodes: u16) -> Option<Self> {
        let ports = if nodes > 8 { 16 } else { 8 };
        Self::joined(profile, &Topology::one_crossbar(ports, nodes.into()))
    }

    /// Boards of a profile in a network; `None` without the image.
    pub fn joined(profile: &str, topology: &Topology) -> Option<Self> {
        let nodes = topology.nodes().len() as u16;
        let timing = Timing::built_in(profile).expect("a profile");
        let (name, family, link) = match timing.generation {
            Generation::L4 => ("gm-l4", Family::Four, Link::at_1_28_gbps(3)),
            Generation::L7 => ("gm", Family::Later, Link::at_1_28_gbps(3)),
            Generation::L9 => ("gm", Family::Later, Link::at_2_gbps(3)),
        };
        let image = image(name)?;
        let firmware = firmware(&image);
        let node = |index| {
            let mut board = Lanai::new(SRAM_BYTES, timing, Pipeline::LLVM);
            let address = [2, 0, 0, 0, 1, index as u8];
            board.fabric.set_address(address, u32::from(index) + 1);
            Node::new(index, board, &timing.host, 1)
        };
        let mut world = World::new((0..nodes).map(node).collect());
        world
            .build_myrinet(topology, &CrossbarConfig::new(8), link)
            .expect("free ports");
        Some(Self {
            world,
            image,
            firmware,
            family,
            nodes,
        })
    }

    fn config(&self, node: u16) -> Config {
        let route = |other: u16| {
            let delta = other.wrapping_sub(node) as u8;
            Some(vec![0x80 | delta & 0x3F])
        };
        let routes: Vec<_> = (0..self.nodes).map(route).collect();
        Config::new(self.family, node, routes)
    }

    /// Runs a program on a node: start-up, then `run`.
    pub fn program<F>(&mut self, node: u16, run: impl FnOnce(Host) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let config = self.config(node);
        let firmware = self.firmware.clone();
        let programs = &mut self.world.nodes[usize::from(node)].programs;
        programs.spawn("gm", |machine| async move {
            let gm = Gm::start(
                machine.clone().into(),
                machine.into(),
                Some(&firmware),
                config,
            )
            .await;
            run(gm.unwrap_or_else(|error| panic!("{error}"))).await;
        });
    }

    /// Runs a program on a node that gets number and routes from a mapper: start-up, then `run`, which waits for the map.
    pub fn mapped<F>(&mut self, node: u16, run: impl FnOnce(Host) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut config = Config::mapped(self.family, None);
        config.resend_ticks = 10;
        let firmware = self.firmware.clone();
        let programs = &mut self.world.nodes[usize::from(node)].programs;
        programs.spawn("gm", |machine| async move {
            let gm = Gm::start(
                machine.clone().into(),
                machine.into(),
                Some(&firmware),
                config,
            )
            .await;
            run(gm.unwrap_or_else(|error| panic!("{error}"))).await;
        });
    }

    /// Runs a mapper on a node, beside its other program: `run` once the firmware has been started.
    pub fn mapper<F>(
        &mut self,
        node: u16,
        settings: Settings,
        run: impl FnOnce(Mapper) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let family = self.family;
        let programs = &mut self.world.nodes[usize::from(node)].programs;
        programs.spawn("mapper", move |machine| async move {
            let mut mapper = Mapper::new(machine.clone().into(), machine.into(), family, settings);
            mapper.await_start().await;
            run(mapper).await;
        });
    }

    /// Bytes of a node's stack that its firmware has used: those above the lowest word that is not 0.
    fn used_stack(&self, node: &Node) -> u32 {
        /// More than any image uses.
        const WINDOW: u32 = 0x1000;
        let top = self.image.symbols.named("__stack_top").expect("a stack");
        let is_used = |address: &u32| {
            let word = node
                .inspect()
                .peek(CpuId::new(0), *address, self.world.now());
            word != Some(0)
        };
        let window = (top.address - WINDOW..top.address).step_by(4);
        top.address - window.into_iter().find(is_used).unwrap_or(top.address)
    }

    /// Runs until all programs have ended. No firmware may have used more stack than its code says.
    pub fn run(&mut self) {
        let limits = RunLimits {
            max_time: Some(SimTime::from_us(3_000_000)),
            ..RunLimits::default()
        };
        let end = self.world.run(&limits);
        assert_eq!(end, RunEnd::Completed);
        let bound = stack::worst_case(&self.image, 0);
        assert!(bound.unknown.is_empty(), "{bound:?}");
        for node in &self.world.nodes {
            let used = self.used_stack(node);
            println!("{used} bytes of stack used, at most {}", bound.bytes);
            assert!((100..=bound.bytes).contains(&used), "{used}: {bound:?}");
        }
    }
}
