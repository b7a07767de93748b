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

pub const MEMORY: u32 = 512 << 10;

/// The profile of each generation.
pub const PROFILES: [&str; 4] = ["lanai4.3-33", "lanai7.2-66", "lanai9.1-133", "lanai9.2-200"];

pub struct Bench {
    pub world: World,
    pub generation: Generation,
}

impl Bench {
    /// A board with the chip's own pipeline and no program.
    pub fn new(profile: &str) -> Self {
        let timing = Timing::built_in(profile).unwrap();
        Self::with_pipeline(profile, timing.generation.pipeline())
    }

    pub fn with_pipeline(profile: &str, pipeline: Pipeline) -> Self {
        let timing = Timing::built_in(profile).unwrap();
        let board = Lanai::new(MEMORY, timing, pipeline);
        Self {
            world: World::new(vec![Node::new(0, board, &timing.host, 1)]),
            generation: timing.generation,
        }
    }

    /// A board that executes `source` from address 0 on. `{NAME}` stands for the address of a special register.
    pub fn running(profile: &str, source: &str) -> Self {
        let mut bench = Self::new(profile);
        bench.load(source);
        bench.write(bench.control(), 1 << 31);
        bench
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
        self.world.nodes[0].board_mut()
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
        self.world.nodes[0].with_board::<Lanai, _>(|board, ctx| {
            board.window_write(offset, value, ctx);
        });
    }

    pub fn read(&mut self, offset: u32) -> u32 {
        self.world.nodes[0].with_board::<Lanai, _>(|board, ctx| board.window_read(offset, ctx))
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
