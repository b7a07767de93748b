//! Random programs against the independent model, and in different ways of execution.

use emulator::cpu::decoded::Place;

use cases::cases;
use emulator::cpu::lanai::Op;
use emulator::cpu::lanai::bus::{Bus, BusStop, Fault, Passed, Private, Width};
use emulator::cpu::lanai::disasm::disassemble;
use emulator::cpu::lanai::exec::{Core, Exit, run};
use emulator::cpu::lanai::isa::{self, Operand};
use emulator::cpu::lanai::pipeline::Pipeline;
use emulator::state::{Reader, State, Writer};
use proptest::prelude::*;

use super::encodings::{any_pipeline, encode};
use super::flat::FlatBus;
use super::reference::{Reference, Step};

const MEMORY_BYTES: usize = 0x1000;

/// A random program with random registers.
#[derive(Debug, Clone)]
struct Scene {
    pipeline: Pipeline,
    words: Vec<u32>,
    registers: Vec<u32>,
}

impl Scene {
    fn core(&self) -> Core {
        let mut core = Core::new(self.pipeline);
        core.set_flags(0);
        for (index, &value) in self.registers.iter().enumerate() {
            let special = self.pipeline.is_special(index as u8);
            if !special {
                core.set_register(index, value);
            }
        }
        core
    }

    fn bus<const FAST: bool>(&self) -> FlatBus<FAST> {
        let mut bus = FlatBus::new(MEMORY_BYTES);
        for (index, &word) in (0..).zip(&self.words) {
            bus.write(4 * index, Width::Word, word);
        }
        bus.status = 0x5555;
        bus
    }

    fn reference(&self) -> Reference {
        let words = self.words.iter();
        let mut memory: Vec<u8> = words.flat_map(|word| word.to_be_bytes()).collect();
        memory.resize(MEMORY_BYTES, 0);
        let mut reference = Reference::new(self.pipeline, &self.registers, memory);
        reference.status = 0x5555;
        reference
    }
}

/// Usually an instruction that the pipeline has, sometimes any word. Constants are mostly small, so that control and
/// data stay within the memory.
fn any_word() -> impl Strategy<Value = u32> {
    let near = prop_oneof![
        8 => (-6i16..12).prop_map(|words| 4 * words),
        2 => -40i16..40,
        1 => any::<i16>(),
    ];
    let row = prop::sample::select(isa::ROWS.to_vec());
    let encoded =
        (row, any::<u32>(), near, 0u32..96, 0u8..4).prop_map(|(row, bits, near, target, few)| {
            let near = u32::from(near.cast_unsigned());
            // Few registers, so that instructions depend on each other.
            let bits = if few == 0 {
                bits
            } else {
                bits & 0xf9b0_3fff | 0x0080_0000
            };
            encode(
                &row,
                match row.operands {
                    [Operand::Target] => bits & 0xfe00_0003 | target << 2,
                    [Operand::Direct, _] | [_, Operand::Direct] => {
                        bits & 0xff83_0000 | near & 0xfff
                    }
                    [
                        Operand::Rs1 | Operand::Displaced | Operand::DisplacedNarrow,
                        ..,
                    ]
                    | [_, Operand::Displaced | Operand::DisplacedNarrow] => {
                        bits & 0xffff_f000 | near & 0xfff
                    }
                    _ => bits,
                },
            )
        });
    prop_oneof![60 => encoded, 1 => any::<u32>()]
}

fn any_scene() -> impl Strategy<Value = Scene> {
    let value = prop_oneof![
        9 => (0i32..0x100).prop_map(|word| 4 * word),
        2 => -40i32..40,
        1 => any::<i32>(),
    ]
    .prop_map(|value: i32| value.cast_unsigned());
    let words = prop::collection::vec(any_word(), 1..128);
    (any_pipeline(), words, prop::collection::vec(value, 32)).prop_map(
        |(pipeline, mut words, registers)| {
            // What the pipeline lacks would end most programs.
            for word in &mut words[..] {
                if !isa::is_executable(*word, &pipeline) && *word & 15 != 0 {
                    *word = 1;
                }
            }
            Scene {
                pipeline,
                words,
                registers,
            }
        },
    )
}

fn step_of(exit: &Exit) -> Step {
    match exit {
        Exit::Limit => Step::Done,
        Exit::Fault(Fault::NoCode { .. }) => Step::NoCode,
        Exit::Fault(Fault::Illegal { .. } | Fault::Missing { .. }) => Step::Unknown,
        other => panic!("a flat bus never says {other:?}"),
    }
}

fn memory_of<const FAST: bool>(bus: &FlatBus<FAST>) -> Vec<u8> {
    (0..MEMORY_BYTES as u32)
        .map(|address| bus.read(address, Width::Byte) as u8)
        .collect()
}

/// The places at which two memories or states differ: a short text where a test fails.
fn differences(one: &[u8], other: &[u8]) -> Vec<(usize, u8, u8)> {
    let pairs = one.iter().zip(other).enumerate();
    let unequal = pairs.filter(|(_, (one, other))| one != other);
    unequal
        .map(|(at, (&one, &other))| (at, one, other))
        .collect()
}

/// Registers that are plain storage.
fn plain(core: &Core) -> Vec<u32> {
    let pipeline = core.pipeline();
    let numbers = (0..32).filter(|&number| !pipeline.is_special(number));
    numbers.map(|number| core.register(number.into())).collect()
}

fn saved(core: &Core) -> Vec<u8> {
    let mut out = Writer::default();
    core.save(&mut out);
    out.into_bytes()
}

fn compare_steps<const FAST: bool>(scene: &Scene) -> Result<(), TestCaseError> {
    let (mut core, mut bus) = (scene.core(), scene.bus::<FAST>());
    let mut reference = scene.reference();
    for _ in 0..300 {
        let text = disassemble(bus.read(reference.pc, Width::Word), &scene.pipeline);
        let step = reference.step();
        let exit = run(&mut core, &mut bus, u64::MAX, 1);
        prop_assert_eq!(&step_of(&exit), &step, "{}", &text);
        let expected: Vec<u32> = (0..32)
            .filter(|&number| !scene.pipeline.is_special(number))
            .map(|number| reference.registers[usize::from(number)])
            .collect();
        prop_assert_eq!(plain(&core), expected, "{}", &text);
        let state = (core.pc(), core.next_pc(), core.flags(), bus.status);
        let expected = (
            reference.pc,
            reference.next_pc(),
            reference.flag_bits(),
            reference.status,
        );
        prop_assert_eq!(state, expected, "{}", &text);
        if step != Step::Done {
            break;
        }
        prop_assert_eq!(core.clock.cycles, reference.cycles, "{}", &text);
    }
    prop_assert_eq!(differences(&memory_of(&bus), &reference.memory), []);
    Ok(())
}

/// A bus that charges for every access, logs probes, yields at stores above 0x800, and, with random waits
/// enabled, makes the core wait at random.
struct MoodyBus {
    inner: FlatBus<false>,
    moods: Option<u64>,
    probes: Vec<(u32, u64)>,
    /// The instruction has accessed memory.
    accessed: bool,
}

impl MoodyBus {
    fn mood(&mut self) -> Result<(), BusStop> {
        let Some(state) = &mut self.moods else {
            return Ok(());
        };
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        if *state >> 62 == 0 {
            Ok(())
        } else {
            Err(BusStop::Wait)
        }
    }
}

impl Bus for MoodyBus {
    type Code<'a> = &'a [Place<Op>];
    type Own<'a> = ();
    type Witness<'a> = ();

    const WITNESSED: bool = false;

    fn witness(&mut self) {}

    fn private(&mut self, _: &Core) -> Private<&[Place<Op>], (), ()> {
        Private::default()
    }

    fn fetch(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop> {
        self.mood()?;
        self.accessed = false;
        let op = self.inner.fetch(core, pc)?;
        core.clock.charge(3);
        Ok(op.with_probe())
    }

    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        self.mood()?;
        core.clock.charge(5);
        self.accessed = true;
        self.inner.load(core, address, width)
    }

    fn store(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        self.mood()?;
        core.clock.charge(7);
        self.accessed = true;
        self.inner.store(core, address, width, value)?;
        if address < 0x800 {
            Ok(())
        } else {
            Err(BusStop::Yield)
        }
    }

    fn interrupt_status(&mut self, core: &mut Core) -> Result<u32, BusStop> {
        self.mood()?;
        self.inner.interrupt_status(core)
    }

    fn set_interrupt_status(&mut self, core: &mut Core, value: u32) -> Result<(), BusStop> {
        if !self.accessed {
            self.mood()?;
        }
        self.inner.set_interrupt_status(core, value)
    }

    fn probe(&mut self, core: &mut Core, pc: u32) -> Passed {
        self.probes.push((pc, core.clock.now));
        match pc & 8 {
            0 => Passed::Probe,
            _ => Passed::Instruction,
        }
    }
}

/// The load into the program counter stands at address 8; the fast path executes it, and the general one.
#[test]
fn a_jump_through_memory_notes_its_own_address() {
    const NOP: u32 = 1;
    const LOAD_PC: u32 = 0xa114_0002; // ld [%r5], %pc
    let mut registers = vec![0; 32];
    registers[5] = 4;
    let scene = Scene {
        pipeline: Pipeline::LLVM,
        words: vec![NOP, NOP, LOAD_PC, NOP, NOP],
        registers,
    };
    let (mut fast, mut slow) = (scene.core(), scene.core());
    run(&mut fast, &mut scene.bus::<true>(), u64::MAX, 5);
    run(&mut slow, &mut scene.bus::<false>(), u64::MAX, 5);
    assert_eq!((fast.jumped_from(), slow.jumped_from()), (8, 8));
}

/// Runs for `budget` instructions, and resumes after every wait.
fn run_patiently(core: &mut Core, bus: &mut MoodyBus, budget: u64) -> (Exit, u64) {
    let mut yields = 0;
    for _ in 0..100_000 {
        match run(core, bus, u64::MAX, budget - core.instructions()) {
            Exit::Wait => {}
            Exit::Yield => yields += 1,
            exit => return (exit, yields),
        }
    }
    panic!("the core does not get on");
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn executes_as_the_reference_does(scene in any_scene()) {
        compare_steps::<false>(&scene)?;
        compare_steps::<true>(&scene)?;
    }

    /// The fast path and the general one, in slices and at once, with costs of accesses: equal state.
    #[test]
    fn all_ways_of_execution_agree(
        scene in any_scene(),
        slices in prop::collection::vec(0u64..9, 40),
        costs in (0u32..3, 0u32..3),
        ticks_per_cycle in 1024u64..2048,
    ) {
        let total: u64 = slices.iter().sum();
        let begin = || {
            let mut core = scene.core();
            core.clock.ticks_per_cycle = ticks_per_cycle;
            core
        };
        let (mut fast, mut bus) = (begin(), scene.bus::<true>());
        bus.costs = costs;
        run(&mut fast, &mut bus, u64::MAX, total);
        let memory = memory_of(&bus);

        let (mut slow, mut bus) = (begin(), scene.bus::<false>());
        bus.costs = costs;
        run(&mut slow, &mut bus, u64::MAX, total);
        prop_assert_eq!(differences(&saved(&fast), &saved(&slow)), []);
        prop_assert_eq!(differences(&memory, &memory_of(&bus)), []);

        let (mut sliced, mut bus) = (begin(), scene.bus::<true>());
        bus.costs = costs;
        for slice in slices {
            if run(&mut sliced, &mut bus, u64::MAX, slice) != Exit::Limit {
                break;
            }
            // A core that was loaded from its state goes on alike.
            let mut loaded = Core::new(scene.pipeline);
            let bytes = saved(&sliced);
            prop_assert!(loaded.load(&mut Reader::new(&bytes)).is_ok());
            sliced = loaded;
        }
        prop_assert_eq!(differences(&saved(&fast), &saved(&sliced)), []);
        prop_assert_eq!(differences(&memory, &memory_of(&bus)), []);
    }

    #[test]
    fn waiting_leaves_no_trace(scene in any_scene(), seed: u64) {
        let [calm, moody] = [None, Some(seed)].map(|moods| {
            let mut core = scene.core();
            let mut bus = MoodyBus { inner: scene.bus(), moods, probes: Vec::new(), accessed: false };
            let end = run_patiently(&mut core, &mut bus, 100);
            let state = [saved(&core), memory_of(&bus.inner)].concat();
            ((end, bus.inner.status), bus.probes, state)
        });
        prop_assert_eq!(differences(&calm.2, &moody.2), []);
        prop_assert_eq!((calm.0, calm.1), (moody.0, moody.1));
    }

    /// With three `nop` behind each instruction no pipeline differs from another.
    #[test]
    fn pipelines_agree_without_hazards(words in prop::collection::vec(any_word(), 1..40), registers in prop::collection::vec(0u32..0x400, 32)) {
        let general = |register: u32| matches!(register, 4..=27);
        // Stores could change the program.
        let stores = |word| {
            let row = isa::lookup(word, &Pipeline::LLVM);
            row.is_some_and(|row| matches!(row.action, isa::Action::Store(_)))
        };
        let plain_word = |word: &u32| {
            !stores(*word) && Pipeline::ALL.iter().all(|pipeline| isa::is_executable(*word, pipeline))
                && *word >> 28 != 0xe
                && [23, 18, 11].into_iter().all(|bit| general(*word >> bit & 31))
        };
        let words: Vec<u32> = words
            .into_iter()
            .filter(plain_word)
            .flat_map(|word| [word, 1, 1, 1])
            .collect();
        let count = words.len() as u64;
        let ends = Pipeline::ALL.map(|pipeline| {
            let scene = Scene { pipeline, words: words.clone(), registers: registers.clone() };
            let (mut core, mut bus) = (scene.core(), scene.bus::<true>());
            run(&mut core, &mut bus, u64::MAX, count);
            let registers: Vec<u32> = (4..28).map(|index| core.register(index)).collect();
            (registers, core.flags(), core.pc())
        });
        for end in &ends[1..] {
            prop_assert_eq!(&ends[0], end);
        }
    }
}
