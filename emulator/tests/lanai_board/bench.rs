//! A node with a LANai, its programs in the language of its assembler.

use emulator::board::{Board, CpuId, Inspect};
use emulator::cpu::lanai::asm::assemble;
use emulator::cpu::lanai::pipeline::Pipeline;
use emulator::lanai::board::Lanai;
use emulator::lanai::chip::Generation;
use emulator::lanai::timing::Timing;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use emulator::wire::medium::Sent;
use emulator::wire::myrinet::{Control, Link, Packet};
use emulator::wire::unit::{Arrival, Unit};

pub const MEMORY: u32 = 512 << 10;

/// The profile of each generation.
pub const PROFILES: [&str; 4] = ["lanai4.3-33", "lanai7.2-66", "lanai9.1-133", "lanai9.2-200"];

pub struct Bench {
    pub world: World,
    pub generation: Generation,
    /// The node that the methods act on.
    pub node: usize,
}

impl Bench {
    /// A board with the chip's own pipeline and no program.
    pub fn new(profile: &str) -> Self {
        let timing = Timing::built_in(profile).unwrap();
        Self::with_pipeline(profile, timing.generation.pipeline())
    }

    pub fn with_pipeline(profile: &str, pipeline: Pipeline) -> Self {
        Self::nodes(profile, pipeline, 1)
    }

    /// A number of nodes, whose boards have this pipeline and no program.
    pub fn nodes(profile: &str, pipeline: Pipeline, count: u16) -> Self {
        let timing = Timing::built_in(profile).unwrap();
        let node = |index| {
            let board = Lanai::new(MEMORY, timing, pipeline);
            Node::new(index, board, &timing.host, 1)
        };
        Self {
            world: World::new((0..count).map(node).collect()),
            generation: timing.generation,
            node: 0,
        }
    }

    /// Two nodes with the chip's own pipeline, joined by a cable.
    pub fn pair(profile: &str) -> Self {
        let timing = Timing::built_in(profile).unwrap();
        let mut pair = Self::nodes(profile, timing.generation.pipeline(), 2);
        let cable = pair.cable(6);
        pair.world.connect_myrinet(0, 1, cable).unwrap();
        pair
    }

    /// A board that executes `source` from address 0 on. `{NAME}` stands for the address of a special register.
    pub fn running(profile: &str, source: &str) -> Self {
        let mut bench = Self::new(profile);
        bench.load(source);
        bench.write(bench.control(), 1 << 31);
        bench
    }

    /// The cable of the board's generation.
    pub const fn cable(&self, metres: u64) -> Link {
        match self.generation {
            Generation::L9 => Link::at_2_gbps(metres),
            _ => Link::at_1_28_gbps(metres),
        }
    }

    /// Plugs the port into itself.
    pub fn loop_back(&mut self) {
        let cable = self.cable(6);
        self.world.connect_myrinet(0, 0, cable).unwrap();
    }

    /// A packet comes in without gaps, as from a network.
    pub fn arrive(&mut self, packet: Packet, head: SimTime) {
        let tail = head + self.cable(1).span(packet.length());
        self.world.nodes[self.node].with_board::<Lanai, _>(|board, ctx| {
            let arrival = Arrival {
                head,
                tail: None,
                unit: packet,
            };
            board.unit_arrives(arrival, ctx);
            let control = Control::Tail { whole: true };
            board.control_arrives(
                Sent {
                    time: tail,
                    control,
                },
                ctx,
            );
        });
    }

    pub fn load(&mut self, source: &str) {
        let rows = emulator::lanai::special::rows(self.generation);
        let base = self.generation.register_base();
        let mut text = source.to_owned();
        for row in rows {
            let address = (base + row.offset).cast_signed().to_string();
            text = text.replace(&format!("{{{}}}", row.name), &address);
        }
        assert!(!text.contains('{'), "{text}");
        let program = assemble(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let sram = &mut self.board().fabric.sram;
        for (address, word) in program.words() {
            sram.set_word(address, word);
        }
    }

    pub fn board(&mut self) -> &mut Lanai {
        self.world.nodes[self.node].board_mut()
    }

    pub const fn control(&self) -> u32 {
        match self.generation {
            Generation::L4 => 0xE_0000,
            _ => 0x80_0040,
        }
    }

    /// The window offset of a special register.
    pub fn register(&self, name: &str) -> u32 {
        let mut rows = emulator::lanai::special::rows(self.generation).iter();
        let row = rows.find(|row| row.name == name).unwrap();
        match self.generation {
            Generation::L4 => 0xC_0000 + row.offset,
            _ => 0x80_4000 + row.offset,
        }
    }

    pub fn write(&mut self, offset: u32, value: u32) {
        self.world.nodes[self.node].with_board::<Lanai, _>(|board, ctx| {
            board.window_write(offset, value, ctx);
        });
    }

    pub fn read(&mut self, offset: u32) -> u32 {
        self.world.nodes[self.node]
            .with_board::<Lanai, _>(|board, ctx| board.window_read(offset, ctx))
    }

    pub fn run_us(&mut self, us: u64) {
        let end = self.world.now() + SimTime::from_us(us);
        self.world.pass_time(&RunLimits {
            max_time: Some(end),
            ..RunLimits::default()
        });
    }

    pub fn word(&mut self, address: u32) -> u32 {
        self.board().fabric.sram.word(address)
    }

    pub fn status(&mut self) -> u32 {
        let offset = self.register("isr");
        self.read(offset)
    }

    pub fn state(&mut self) -> String {
        self.board().cpu(CpuId::new(0)).unwrap().state.to_string()
    }
}
