//! BoardOptions of a `tigon-n` (docs/tigon2-n.md): banks of the SRAM, further semaphores, bit instructions.

use super::bench::{Bench, BoardOptions, CODE, words};
use cases::cases;
use defs::tigon2::banks;
use defs::tigon2::map::WINDOW_LOW_SRAM;
use emulator::board::StopReason;
use emulator::observe::event::{Details, TraceEvent, TraceKind};
use emulator::observe::stream::{Observer, Stream};
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// Distance between the programs of two CPUs.
const PROGRAM_BYTES: u32 = 0x200;
/// Bits of the array in the tests.
const BITS: u32 = 256;

/// A board whose CPUs execute programs of their own; $28 points to the registers.
fn started(options: BoardOptions, programs: &[String]) -> Bench {
    let mut bench = Bench::with_options(SramSize::K512, programs.len(), options);
    for (cpu, program) in programs.iter().enumerate() {
        let place = CODE + PROGRAM_BYTES * cpu as u32;
        let program = format!("lui $gp, 0xC000\n {program}\n here: b here\n nop");
        bench.load(place, &words(&program));
        bench.start(cpu, place);
    }
    bench
}

fn general_word(bench: &mut Bench, number: u32) -> u32 {
    bench.read(WINDOW_LOW_SRAM + 0x200 + 4 * number)
}

/// Stores index + 7 to the word of each bit from `first` on, then sets the bit, then waits.
fn setter(first: usize, step: usize, delay: u32) -> String {
    format!(
        "li $s0, {first}\n li $s2, 0x800\n li $s3, 0x1000\n \
         again: sll $t0, $s0, 2\n addu $t0, $t0, $s3\n addiu $t1, $s0, 7\n sw $t1, 0($t0)\n setb $s2, $s0\n \
         li $t2, {delay}\n delay: bgtz $t2, delay\n addiu $t2, $t2, -1\n \
         addiu $s0, $s0, {step}\n slti $t3, $s0, {BITS}\n bne $t3, $zero, again\n nop"
    )
}

/// Takes runs of bits until it has all, adds their words, and stores the sum and the number of runs.
fn taker(take: &str) -> String {
    format!(
        "li $s2, 0x800\n li $s3, 0x1000\n li $s0, 0\n li $v0, 0\n li $v1, 0\n \
         poll: {take}\n beq $t0, $s0, poll\n nop\n addiu $v1, $v1, 1\n \
         sum: sll $t1, $s0, 2\n addu $t1, $t1, $s3\n lw $t2, 0($t1)\n addiu $s0, $s0, 1\n \
         bne $s0, $t0, sum\n addu $v0, $v0, $t2\n \
         slti $t3, $s0, {BITS}\n bne $t3, $zero, poll\n nop\n sw $v0, 0x200($zero)\n sw $v1, 0x204($zero)"
    )
}

proptest! {
    #![proptest_config(cases(48))]

    /// CPUs set bits in any order; one takes them in theirs. Each bit is taken once, behind what its setter did before.
    #[test]
    fn each_bit_is_taken_once_in_order(
        delays in vec(0..60u32, 1..7),
        banks in prop::sample::select(vec![1, 2, 4]),
    ) {
        let setters = delays.len();
        let mut programs: Vec<_> = delays.iter().enumerate().map(|(cpu, delay)| setter(cpu, setters, *delay)).collect();
        programs.push(taker("update $t0, $s2, $s0"));
        let mut bench = started(BoardOptions::all(banks, 8), &programs);
        bench.run(SimTime::from_us(2000));
        prop_assert_eq!(general_word(&mut bench, 0), (7..7 + BITS).sum::<u32>());
        let runs = general_word(&mut bench, 1);
        prop_assert!((BITS / 32..=BITS).contains(&runs), "{} runs", runs);
        let left: Vec<_> = (0..BITS / 32).map(|word| bench.0.board::<Tigon2>().fabric.sram.word(0x800 + 4 * word)).collect();
        prop_assert_eq!(left, [0; BITS as usize / 32]);
        prop_assert!(bench.0.inspect().races().0.is_empty());
    }
}

/// A CPU that only looks at the bits knows nothing of what their setter did: its loads race.
#[test]
fn bits_that_are_not_taken_order_nothing() {
    // It finds any bit of the first word, and takes one for granted.
    let look = "lw $t0, 0($s2)\n sltu $t0, $zero, $t0\n addu $t0, $s0, $t0";
    let mut bench = started(BoardOptions::all(1, 8), &[setter(0, 1, 9), taker(look)]);
    bench.run(SimTime::from_us(500));
    let (races, _) = bench.0.inspect().races();
    let words: Vec<_> = races.iter().map(|race| race.word).collect();
    assert!(
        words.contains(&0x800),
        "{words:x?}: a load and a change at once"
    );
    assert!(words.iter().any(|word| *word >= 0x1000), "{words:x?}");
}

#[test]
fn the_chip_has_no_bit_instructions() {
    for options in [
        BoardOptions::CHIP,
        BoardOptions {
            semaphores: 2,
            ..BoardOptions::CHIP
        },
    ] {
        let programs = ["setb $zero, $zero", "update $v0, $zero, $zero"].map(String::from);
        let mut bench = started(options, &programs);
        bench.run(SimTime::from_us(5));
        let stops = [0, 1].map(|cpu| match bench.0.board::<Tigon2>().stop_reason(cpu) {
            Some(StopReason::Fault(text, _)) => text.to_string(),
            other => panic!("{other:?}"),
        });
        let expected = ["0x00000028", "0x00001029"];
        assert_eq!(
            stops,
            expected.map(|word| format!("the chip has no instruction {word}"))
        );
    }
}

#[test]
fn bits_are_in_memory_only() {
    let check = |base: &str, expected: &str| {
        let program =
            format!("{base}\n setb $t0, $zero\n update $v0, $t0, $zero\n sw $v0, 0x200($zero)");
        let mut bench = started(BoardOptions::all(1, 8), &[program]);
        bench.run(SimTime::from_us(5));
        match bench.0.board::<Tigon2>().stop_reason(0) {
            Some(StopReason::Fault(text, _)) => assert_eq!(&**text, expected),
            _ => assert_eq!((general_word(&mut bench, 0), ""), (1, expected)),
        }
    };
    check("li $t0, 0x700", "");
    check("lui $t0, 0xC0", "");
    check(
        "move $t0, $gp",
        "bit instruction at 0xc0000000, which is no memory",
    );
    check(
        "lui $t0, 0x4000",
        "bit instruction at 0x40000000, which is no memory",
    );
}

/// Kinds of events that name further semaphores.
#[derive(Clone, Default)]
struct Further(Arc<Mutex<Vec<(u32, u32)>>>);

impl Observer for Further {
    fn details(&self) -> Details {
        Details::SEMAPHORE
    }

    fn event(&mut self, event: &TraceEvent) {
        if let TraceKind::FurtherSemaphore { number, effect } = event.kind {
            self.0.lock().unwrap().push((number, effect));
        }
    }
}

/// Adds 1 to a word 20 times, with a semaphore held.
fn adder(number: usize, cpu: usize, word: u32) -> String {
    let side = banks::semaphore_of(number, cpu);
    format!(
        "li $s0, 20\n again: sw $zero, {side}($gp)\n lw $t2, {side}($gp)\n beq $t2, $zero, again\n nop\n \
         lw $t3, {word}($zero)\n addiu $s0, $s0, -1\n addiu $t3, $t3, 1\n sw $t3, {word}($zero)\n \
         bgtz $s0, again\n sw $zero, {side}($gp)"
    )
}

#[test]
fn semaphores_are_independent() {
    let programs: Vec<_> = (0..6)
        .map(|cpu| adder(cpu % 3, cpu, 0x200 + 4 * (cpu as u32 % 3)))
        .collect();
    let mut bench = started(BoardOptions::all(1, 8), &programs);
    let further = Further::default();
    let mut stream = Stream::default();
    stream.add(Box::new(further.clone()), [&mut bench.0.trace]);
    bench.run(SimTime::from_us(600));
    assert!(stream.finish([&mut bench.0.trace]).is_empty());
    assert_eq!(
        [0, 1, 2].map(|word| general_word(&mut bench, word)),
        [40; 3]
    );
    assert!(bench.0.inspect().races().0.is_empty());
    assert_eq!(bench.read(banks::SEMAPHORE_COUNT), 3);
    let told = further.0.lock().unwrap();
    for number in [1, 2] {
        for effect in [0, 1] {
            let times = told.iter().filter(|one| **one == (number, effect)).count();
            assert_eq!(times, 40, "semaphore {number}, effect {effect}");
        }
    }
}

/// Two CPUs change one word under different semaphores; and there is no fourth semaphore.
#[test]
fn another_semaphore_does_not_protect() {
    let programs = [adder(1, 0, 0x200), adder(2, 1, 0x200)];
    let mut bench = started(BoardOptions::all(1, 8), &programs);
    bench.run(SimTime::from_us(100));
    let (races, _) = bench.0.inspect().races();
    assert!(races.iter().any(|race| race.word == 0x200), "{races:?}");
    let line = bench.0.inspect().semaphore().unwrap();
    assert_eq!(
        line,
        "the semaphore is free, semaphore 2 is free, semaphore 3 is free"
    );
    let fourth = banks::semaphore_of(3, 0);
    bench.write(fourth, 0);
    assert_eq!(bench.read(fourth), 0);
    bench.write(banks::semaphore_of(2, 1), 0);
    assert_eq!(
        [0, 1].map(|cpu| bench.read(banks::semaphore_of(2, cpu))),
        [0, 1]
    );
    let line = bench.0.inspect().semaphore().unwrap();
    assert!(
        line.ends_with("semaphore 2 is free, CPU B has semaphore 3"),
        "{line}"
    );
}

/// Instructions of all CPUs in 20 us, each of which loads a word of its own all the time.
fn loads(banks: u32, distance: u32) -> Vec<u64> {
    let program = |cpu| {
        let load = "lw $t0, 0($s0)\n".repeat(8);
        format!(
            "li $s0, {}\n again: {load} b again\n nop",
            0x1000 + distance * cpu
        )
    };
    let programs: Vec<_> = (0..8).map(program).collect();
    let mut bench = started(
        BoardOptions {
            banks: BoardOptions::all(banks, 8).banks,
            ..BoardOptions::CHIP
        },
        &programs,
    );
    // The lines of the programs come first.
    bench.run(SimTime::from_us(2));
    let counts = |bench: &Bench| -> Vec<u64> {
        let cores = &bench.0.board::<Tigon2>().cores;
        cores.iter().map(|unit| unit.core.instructions()).collect()
    };
    let before = counts(&bench);
    bench.run(SimTime::from_us(20));
    counts(&bench)
        .iter()
        .zip(before)
        .map(|(now, before)| now - before)
        .collect()
}

#[test]
fn words_in_different_banks_are_loaded_at_once() {
    // Eight loads of 1 + 3 cycles and a branch with its slot: 10 instructions in 34 cycles, at 88 cycles in a microsecond.
    let free = 20 * 88 * 10 / 34;
    for rate in loads(8, 8) {
        assert!(rate.abs_diff(free) <= 10, "{rate} instructions, not {free}");
    }
    // One bank serves a load in a cycle, and eight CPUs ask for 64 in the time of a round, which is 10 instructions.
    let shared = 20 * 88 * 10 / 64;
    for rate in [loads(1, 8), loads(8, 64)].concat() {
        assert!(
            rate.abs_diff(shared) <= 10,
            "{rate} instructions, not {shared}"
        );
    }
}
