//! A program with manually counted cycles.

use defs::tigon2::map::SCRATCHPAD_BASE;
use emulator::cpu::clock::TICKS_PER_CYCLE;
use emulator::cpu::mips::architecture::MIPS;
use emulator::cpu::mips::asm::assemble;
use emulator::cpu::mips::bus::Width;
use emulator::image::{Symbol, SymbolKind, Symbols};
use emulator::observe::instructions::steps::{Action, Steps};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use lanigon_worlds::boards::KB;
use lanigon_worlds::profile::built_in;
use lanigon_worlds::{boards, nodes};

use super::report::{FunctionRow, busy, rows};
use super::{CoreProfile, Spending};

const MAIN: u32 = SCRATCHPAD_BASE + 0x400;
const LEAF: u32 = MAIN + 0x18;

/// Three calls. Beyond an instruction's own cycle, scratchpad accesses are free, a load from SRAM costs
/// three cycles, one from a register two.
const PROGRAM: &str = "
        addiu $t0, $zero, 3
again:  jal leaf
        addiu $t0, $t0, -1
        bgtz $t0, again
        nop
        break
leaf:   lw $t1, 0x1000($zero)
        lw $t2, 0x54($gp)
        jr $ra
        sw $t1, 0($s0)
";

fn run() -> Node {
    let profile = built_in("tigon2-88mhz").unwrap();
    let mut node = boards::DEFAULT
        .node(0, &nodes::parts(&profile, None, 512 * KB))
        .unwrap();
    node.trace.keep_instructions(true);
    let program = assemble(&format!(".org {MAIN:#x}\n{PROGRAM}")).unwrap();
    let unit = &mut node.board_mut::<Tigon2>().cores[0];
    for (address, word) in program.words() {
        unit.private.scratchpad.write(address, Width::Word, word);
    }
    unit.core.set_register(28, 0xC000_0000);
    unit.core.set_register(16, SCRATCHPAD_BASE);
    node.with_board::<Tigon2, _>(|board, ctx| board.start_core(0, MAIN, ctx));
    node.run_until(SimTime::from_us(10));
    node
}

fn symbols() -> Symbols {
    let function = |name: &str, address, size_bytes| Symbol {
        name: name.into(),
        address,
        size_bytes,
        kind: SymbolKind::Function,
        memory: None,
    };
    Symbols::new(vec![
        function("main", MAIN, LEAF - MAIN),
        function("leaf", LEAF, 16),
    ])
}

#[test]
fn every_instruction_has_its_time() {
    let mut node = run();
    let log = node.trace.instructions_mut(0).unwrap();
    let mut steps = Steps::default();
    let told: Vec<(u32, u64)> = log
        .records()
        .filter_map(|record| match steps.follow(record) {
            Some(Action::Executed(step)) => Some((step.pc - MAIN, step.start / TICKS_PER_CYCLE)),
            _ => None,
        })
        .collect();
    let round = |start: u64| {
        let places = [4, 8, 0x18, 0x1C, 0x20, 0x24, 0xC, 0x10];
        let cycles = [0, 1, 2, 6, 9, 10, 11, 12];
        places.into_iter().zip(cycles.map(|cycle| start + cycle))
    };
    let mut expected = vec![(0, 0)];
    expected.extend((0..3).flat_map(|call| round(1 + 13 * call)));
    expected.push((0x14, 40));
    assert_eq!(told, expected);
    assert_eq!(steps.tick(), 41 * TICKS_PER_CYCLE);
}

#[test]
fn a_profile_is_what_can_be_counted_by_hand() {
    let mut node = run();
    let log = node.trace.instructions_mut(0).unwrap();
    let mut profile = CoreProfile::new(0, &MIPS, &symbols(), &[]);
    profile.window(SimTime::ZERO, SimTime::MAX, log.ticks_per_second());
    profile.add(log.records());
    profile.finish();
    let cycles =
        |row: &FunctionRow, spending: Spending| row.own.ticks[spending as usize] / TICKS_PER_CYCLE;
    let rows = rows(&profile);
    let [leaf, main] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!(
        (&*leaf.name, leaf.calls, leaf.own.instructions),
        ("leaf", 3, 12)
    );
    assert_eq!(leaf.total, 27 * TICKS_PER_CYCLE);
    assert_eq!(leaf.own.total(), leaf.total);
    assert_eq!(cycles(leaf, Spending::Work), 12);
    assert_eq!(cycles(leaf, Spending::Sram), 9);
    assert_eq!(cycles(leaf, Spending::Register), 6);
    assert_eq!(
        (&*main.name, main.calls, main.own.instructions),
        ("main", 1, 14)
    );
    assert_eq!(main.own.total(), 14 * TICKS_PER_CYCLE);
    assert_eq!(main.total, 41 * TICKS_PER_CYCLE);
    assert_eq!(
        busy(&profile).total() + profile.idle.total() + profile.halted,
        profile.span()
    );
    assert_eq!(
        profile.span(),
        node.board::<Tigon2>().cores[0].core.clock.now
    );
}

/// A window counts exactly the cycles in it.
#[test]
fn a_window_cuts_within_instructions() {
    let mut node = run();
    let log = node.trace.instructions_mut(0).unwrap();
    let clock = emulator::sim::time::ClockDomain::new(log.ticks_per_second());
    for (from, until) in [(0, 41), (1, 2), (4, 30), (5, 6), (40, 60)] {
        let [from_time, until_time] =
            [from, until].map(|cycle| clock.time_of(cycle * TICKS_PER_CYCLE));
        let mut profile = CoreProfile::new(0, &MIPS, &symbols(), &[]);
        profile.window(from_time, until_time, log.ticks_per_second());
        profile.add(log.records());
        profile.finish();
        let ticks = busy(&profile).total();
        assert_eq!(ticks, profile.span(), "{from} to {until}");
        // Times are whole picoseconds, a tick is eleven.
        let expected = (until.min(41) - from) * TICKS_PER_CYCLE;
        assert!(ticks.abs_diff(expected) <= 1, "{from} to {until}: {ticks}");
    }
}
