//! An instruction log contains each executed instruction with its address, word and time, and changes
//! nothing else.

use emulator::cpu::mips::bus::Width;
use emulator::observe::instructions::decode::Decoder;
use emulator::observe::instructions::encode::Encoder;
use emulator::observe::instructions::steps::{Action, Executed, Steps};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use proptest::collection::vec;
use proptest::prelude::*;

use super::act::{Act, play};
use super::bench::{Bench, CODE, words};
use super::order::{INSTANT, Outcome, SPAN, Scene, carry_on, is_promised, outcome, prepare, scene};
use super::{cases, polls};

/// An instruction: address, word, start and end.
type Told = (u32, Option<u32>, u64, u64);

/// Contents of one core's log.
#[derive(Default)]
struct Listener {
    encoder: Encoder,
    decoder: Decoder,
    steps: Steps,
    told: Vec<Told>,
}

impl Listener {
    /// Reads the records, with a round trip through their encoding.
    fn listen(&mut self, node: &mut Node, cpu: usize) {
        let log = node.trace.instructions_mut(cpu).unwrap();
        self.encoder.add(log);
        let mut records = Vec::new();
        self.decoder
            .decode(self.encoder.bytes(), |record| records.push(record))
            .unwrap();
        self.encoder.clear();
        let logged: Vec<_> = log.records().collect();
        assert_eq!(records, logged, "through bytes and back");
        log.clear();
        for record in records {
            match self.steps.follow(record) {
                Some(Action::Executed(step)) => self.tell(&step),
                Some(Action::Rounds {
                    start,
                    instructions,
                    rounds,
                    round_ticks,
                }) => {
                    let skipped: Vec<Executed> =
                        self.steps.skipped(start, instructions, rounds).collect();
                    skipped.iter().for_each(|step| self.tell(step));
                    assert_eq!(self.steps.tick(), start + rounds * round_ticks);
                }
                Some(Action::Probe { .. }) | None => {}
            }
        }
    }

    fn tell(&mut self, step: &Executed) {
        let word = self.steps.word(step.pc);
        let end = step.start + step.ticks;
        self.told.push((step.pc, word, step.start, end));
    }
}

/// Logs of both cores in a scene.
fn listen(
    scene: &Scene,
    skip_idle: bool,
    slice: impl FnMut() -> SimTime,
) -> (Vec<Vec<Told>>, Outcome) {
    let mut bench = prepare(scene);
    bench.0.board_mut::<Tigon2>().skip_idle = skip_idle;
    bench.0.trace.keep_instructions(true);
    let mut listeners = [Listener::default(), Listener::default()];
    carry_on(scene, &mut bench, slice, |node| {
        for (cpu, listener) in listeners.iter_mut().enumerate() {
            listener.listen(node, cpu);
        }
    });
    for (listener, unit) in listeners.iter().zip(&bench.0.board::<Tigon2>().cores) {
        assert_eq!(listener.told.len() as u64, unit.core.instructions());
    }
    (
        listeners.map(|listener| listener.told).into(),
        outcome(&bench),
    )
}

/// The word at `address` for a core.
fn word_at(board: &Tigon2, cpu: usize, address: u32) -> u32 {
    let own = board.cores[cpu]
        .private
        .scratchpad
        .get(address & !3, Width::Word);
    own.unwrap_or_else(|| board.fabric.sram.word(address))
}

/// An instruction observed from outside: address, end, and the words at its address since before its fetch.
/// The other core may write to it between fetch and access.
type Seen = (u32, u64, Vec<u32>);

/// Observations of the cores before and after each instruction.
fn step_by_step(scene: &Scene) -> (Vec<Vec<Seen>>, Outcome) {
    let mut bench = prepare(scene);
    bench.0.board_mut::<Tigon2>().skip_idle = false;
    let mut seen = vec![Vec::new(), Vec::new()];
    let mut next = [0, 1].map(|cpu| Next::of(bench.0.board::<Tigon2>(), cpu));
    carry_on(
        scene,
        &mut bench,
        || INSTANT,
        |node| {
            for (cpu, (seen, next)) in seen.iter_mut().zip(&mut next).enumerate() {
                next.words
                    .push(word_at(node.board::<Tigon2>(), cpu, next.pc));
                let core = &node.board::<Tigon2>().cores[cpu].core;
                match core.instructions() - next.count {
                    0 if core.pc() == next.pc => {}
                    0 => *next = Next::of(node.board::<Tigon2>(), cpu),
                    done => {
                        assert_eq!(done, 1);
                        let done = std::mem::replace(next, Next::of(node.board::<Tigon2>(), cpu));
                        seen.push((done.pc, core.clock.now, done.words));
                    }
                }
            }
        },
    );
    (seen, outcome(&bench))
}

/// The next instruction of a core.
struct Next {
    count: u64,
    pc: u32,
    words: Vec<u32>,
}

impl Next {
    fn of(board: &Tigon2, cpu: usize) -> Self {
        let core = &board.cores[cpu].core;
        Self {
            count: core.instructions(),
            pc: core.pc(),
            words: vec![word_at(board, cpu, core.pc())],
        }
    }
}

fn check(scene: &Scene, slices_ns: &[u64]) {
    if !is_promised(scene) {
        return;
    }
    let (seen, plain) = step_by_step(scene);
    let (whole, logged) = listen(scene, true, || SPAN);
    assert_eq!(logged, plain, "looking changes nothing");
    for (whole, seen) in whole.iter().zip(&seen) {
        for (told, (pc, end, words)) in whole.iter().zip(seen) {
            assert_eq!((told.0, told.3), (*pc, *end), "told, and seen step by step");
            assert!(
                told.1.is_some_and(|word| words.contains(&word)),
                "{pc:#x} at {end}: {:x?}, not {words:x?}",
                told.1
            );
        }
        assert_eq!(whole.len(), seen.len());
    }
    let mut slices = slices_ns.iter().cycle();
    let (sliced, _) = listen(scene, true, || SimTime::from_ns(*slices.next().unwrap()));
    for (whole, sliced) in whole.iter().zip(&sliced) {
        let differs = whole
            .iter()
            .zip(sliced)
            .find(|(whole, sliced)| whole != sliced);
        assert_eq!(differs, None, "in one run, and in slices");
    }
}

/// Logs of both cores during acts, and the final state.
fn poll(programs: &[polls::Polling; 2], acts: &[Act], skip_idle: bool) -> Vec<Vec<Told>> {
    let mut bench = Bench::new(SramSize::K512);
    bench.0.board_mut::<Tigon2>().skip_idle = skip_idle;
    bench.0.trace.keep_instructions(true);
    polls::load(programs, &mut bench);
    let mut listeners = [Listener::default(), Listener::default()];
    for act in acts.iter().chain(&[Act::Run(100_000)]) {
        play(&mut bench, std::slice::from_ref(act));
        for (cpu, listener) in listeners.iter_mut().enumerate() {
            listener.listen(&mut bench.0, cpu);
        }
    }
    for (listener, unit) in listeners.iter().zip(&bench.0.board::<Tigon2>().cores) {
        assert_eq!(listener.told.len() as u64, unit.core.instructions());
    }
    listeners.map(|listener| listener.told).into()
}

/// CPU A executes code that CPU B rewrites all the time, with frequent rollbacks.
#[test]
fn what_was_taken_back_is_told_once() {
    let count = words("lw $t0, 0($v1)\n addiu $t0, $t0, 1\n nop\n sw $t0, 0($v1)");
    let mut values = vec![0; 16];
    values[5] = count[1];
    let scene = Scene {
        programs: vec![count, words("nop\n nop\n sw $a1, 4($at)\n nop")],
        in_scratchpad: vec![false; 2],
        shown: vec![false; 2],
        values,
        patches: Vec::new(),
        options: super::bench::BoardOptions::CHIP,
    };
    check(&scene, &[100, 7, 1]);
}

/// An observer is added after code has been decoded.
#[test]
fn words_are_known_to_whoever_comes_late() {
    let mut bench = Bench::new(SramSize::K512);
    let program = words("again: addiu $t0, $t0, 1\n b again\n nop");
    bench.load(CODE, &program);
    bench.start(0, CODE);
    bench.run(SimTime::from_us(1));
    bench.0.trace.keep_instructions(true);
    bench.run(SimTime::from_us(1));
    let mut listener = Listener::default();
    listener.listen(&mut bench.0, 0);
    assert!(listener.told.len() > 80);
    for (pc, word, ..) in listener.told {
        assert_eq!(word, Some(program[(pc - CODE) as usize / 4]));
    }
}

/// Number of instructions of both cores.
fn executed(bench: &Bench) -> [u64; 2] {
    let cores = &bench.0.board::<Tigon2>().cores;
    [0, 1].map(|cpu: usize| cores[cpu].core.instructions())
}

/// Encoded instructions of both cores, which copy and search in SRAM, from logs of so many ticks each.
fn encoded(slice: SimTime, slices: usize) -> Vec<Vec<u8>> {
    let mut bench = Bench::new(SramSize::K512);
    let program = words(
        "again: addiu $a0, $zero, 24
         copy: lw $t0, 0x2000($a0)
         addiu $a0, $a0, -4
         sw $t0, 0x2100($a0)
         bgtz $a0, copy
         addiu $t1, $t1, 1
         andi $t2, $t1, 3
         bnel $t2, $zero, again
         lw $t3, 0x2000($zero)
         b again
         addiu $t1, $t1, 1",
    );
    bench.load(CODE, &program);
    bench.start(0, CODE);
    bench.start(1, CODE);
    // When a core's log receives words that the other one decodes depends on the slices.
    bench.run(SimTime::from_us(5));
    let before: u64 = executed(&bench).iter().sum();
    bench.0.trace.keep_instructions(true);
    let mut encoders = [Encoder::default(), Encoder::default()];
    let mut instructions = 0;
    for _ in 0..slices {
        bench.run(slice);
        for (cpu, encoder) in encoders.iter_mut().enumerate() {
            let log = bench.0.trace.instructions_mut(cpu).unwrap();
            instructions += encoder.add(log);
            log.clear();
        }
    }
    assert_eq!(instructions, executed(&bench).iter().sum::<u64>() - before);
    encoders.map(|mut encoder| encoder.bytes().to_vec()).into()
}

/// The encoder passes over equal rounds of a loop, if it sees two of them in one log.
#[test]
fn rounds_are_encoded_as_their_instructions_one_by_one() {
    let at_once = encoded(SimTime::from_us(200), 1);
    assert_eq!(at_once, encoded(SimTime::from_ns(50), 4_000));
    assert!(at_once.iter().all(|bytes| bytes.len() > 1_000));
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_log_tells_what_is_seen_step_by_step(
        scene in scene(),
        slices_ns in vec(1..400u64, 1..20),
    ) {
        check(&scene, &slices_ns);
    }

    #[test]
    fn rounds_that_are_skipped_are_told_as_if_stepped(
        a in polls::polling(),
        b in polls::polling(),
        acts in polls::acts(),
    ) {
        let programs = [a, b];
        assert_eq!(poll(&programs, &acts, true), poll(&programs, &acts, false));
    }
}
