//! The single-step bit of a CPU's state register (docs/tigon2.md, section 1).

use defs::tigon2::regs as r;
use defs::tigon2::regs::CpuState;
use emulator::board::Board;
use emulator::cpu::mips::asm;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Timing;

const STEP: u32 = CpuState::STEP.bits();
const HALT: u32 = CpuState::HALT.bits();

/// A taken branch with its delay slot; the address after each step.
#[test]
fn a_host_steps_a_cpu_through_a_branch() {
    let timing = Timing::built_in("tigon2-88mhz").expect("a built-in profile");
    for cpu in [0, r::CPU_B] {
        let mut node = Node::new(0, Tigon2::new(SramSize::M1, timing), &timing.host, 1);
        let program = "again: addiu $t0, $t0, 1\nb again\naddiu $t1, $t1, 1\nnop";
        let program = asm::assemble(&format!(".org 0x4000\n{program}")).expect("it assembles");
        for (address, word) in program.words() {
            node.board_mut::<Tigon2>()
                .fabric
                .sram
                .set_word(address, word);
        }
        let write = |node: &mut Node, offset, value| {
            node.with_board::<Tigon2, _>(|board, ctx| board.window_write(offset + cpu, value, ctx));
        };
        write(&mut node, r::CPU_PC, 0x4000);
        for expected in [0x4004, 0x4008, 0x4000, 0x4004] {
            write(&mut node, r::CPU_STATE, STEP);
            node.run_until(node.now() + SimTime::from_us(1));
            let read = |offset| node.board::<Tigon2>().window_peek(offset + cpu, node.now());
            assert_eq!(read(r::CPU_PC), expected);
            assert_eq!(read(r::CPU_STATE), STEP | HALT);
        }
        let unit = &node.board::<Tigon2>().cores[usize::from(cpu != 0)];
        assert_eq!(unit.core.instructions(), 4);
        assert_eq!((unit.core.register(8), unit.core.register(9)), (2, 1));
    }
}

/// The debugger's address and data registers reach SRAM and the CPU's own scratchpad.
#[test]
fn a_host_reaches_a_cpus_memory() {
    let timing = Timing::built_in("tigon2-88mhz").expect("a built-in profile");
    let mut node = Node::new(0, Tigon2::new(SramSize::M1, timing), &timing.host, 1);
    let mut access = |cpu: u32, address: u32, value: Option<u32>| {
        node.with_board::<Tigon2, _>(|board, ctx| {
            board.window_write(r::SCRATCH_ADDRESS + cpu, address, ctx);
            if let Some(value) = value {
                board.window_write(r::SCRATCH_DATA + cpu, value, ctx);
            }
            board.window_read(r::SCRATCH_DATA + cpu, ctx)
        })
    };
    assert_eq!(access(0, 0xC0_0010, Some(1)), 1);
    assert_eq!(access(r::CPU_B, 0xC0_0010, Some(2)), 2);
    assert_eq!(access(0, 0xC0_0010, None), 1, "each CPU has its own");
    assert_eq!(access(0, 0x2_0000, Some(3)), 3);
    assert_eq!(
        access(r::CPU_B, 0x12_0000, None),
        3,
        "SRAM is one, and repeats"
    );
    assert_eq!(access(r::CPU_B, 0xC0_2000, Some(4)), 0, "B has 8 KB");
}
