//! The state of a chip whose control program has failed: where it loops, and its last accesses.

use std::collections::BTreeSet;

use emulator::board::{Board, CpuId};
use emulator::lanai::board::Lanai;
use emulator::lanai::chip::Generation;
use emulator::lanai::isr;
use emulator::lanai::recent::RegisterWrite;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};

/// Number of instructions that are followed.
const FOLLOWED: u32 = 400;
/// Time that each of them has at least: longer than any instruction takes.
const STEP: SimTime = SimTime::from_us(2);

/// An instruction of the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopLine {
    /// Address of the instruction.
    pub address: u32,
    /// Instruction word.
    pub word: u32,
    /// Assembly.
    pub text: String,
}

/// The state of a chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// State of the CPU.
    pub state: String,
    /// Program counter.
    pub pc: u32,
    /// Interrupt status.
    pub status: u32,
    /// Names of its set bits.
    pub status_names: Vec<&'static str>,
    /// Registers of the CPU with their names.
    pub registers: Vec<(&'static str, u32)>,
    /// The last writes of special registers, oldest first.
    pub writes: Vec<RegisterWrite>,
    /// The instructions that the CPU executes, by address.
    pub executed: Vec<LoopLine>,
}

/// The window offset of the interrupt status.
const fn status_offset(generation: Generation) -> u32 {
    match generation {
        Generation::L4 => 0xC_0028,
        Generation::L7 | Generation::L9 => 0x80_4050,
    }
}

impl Diagnosis {
    /// The state of the only node's chip. Lets it execute some instructions.
    #[must_use]
    pub fn examine(world: &mut World) -> Self {
        let now = world.now();
        let board = world.nodes[0].board::<Lanai>();
        let generation = board.generation();
        let view = board_view(board);
        let status = board.window_peek(status_offset(generation), now);
        let bits = (0..32).rev().filter(|bit| status >> bit & 1 != 0);
        let status_names = bits.filter_map(|bit| isr::name(generation, bit)).collect();
        let inspect = world.nodes[0].inspect();
        let names = inspect
            .cpus()
            .first()
            .map(|cpu| cpu.architecture.registers());
        let registers = names.unwrap_or_default().iter().copied();
        let registers = registers
            .zip(inspect.registers(CpuId::new(0)).iter().copied())
            .collect();
        let writes = board.fabric.recent.iter().copied().collect();
        Self {
            state: view.0,
            pc: view.1,
            status,
            status_names,
            registers,
            writes,
            executed: follow(world),
        }
    }
}

fn board_view(board: &Lanai) -> (String, u32) {
    use emulator::board::Inspect;
    let view = board.cpu(CpuId::new(0));
    view.map_or_else(Default::default, |view| (view.state.to_string(), view.pc))
}

/// The instructions that the CPU executes next.
fn follow(world: &mut World) -> Vec<LoopLine> {
    let mut addresses = BTreeSet::new();
    for _ in 0..FOLLOWED {
        let board = world.nodes[0].board_mut::<Lanai>();
        if !board.is_running() {
            break;
        }
        board.skip_idle = false;
        board.instruction_limit = board.core.instructions() + 1;
        addresses.insert(board.core.pc());
        world.pass_time(&RunLimits {
            max_time: Some(world.now() + STEP),
            ..RunLimits::default()
        });
    }
    let inspect = world.nodes[0].inspect();
    let architecture = inspect.cpus().first().map(|cpu| cpu.architecture);
    let memory = &world.nodes[0].board::<Lanai>().fabric.sram;
    let line = |address| {
        let word = memory.word(address);
        let text = architecture.map(|architecture| architecture.disassemble(word, address));
        LoopLine {
            address,
            word,
            text: text.unwrap_or_default(),
        }
    };
    addresses.into_iter().map(line).collect()
}
