//! Sums and extremes of IEEE doubles by the reductions' code (`firmware/defs/src/gm/combine.rs`), compiled for the LANai, against this
//! machine's floating-point unit.

use std::env;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use defs::gm::collective::Operation;
use emulator::cpu::lanai::bus::Width;
use emulator::cpu::lanai::exec::{Core, run};
use emulator::cpu::lanai::pipeline::Pipeline;
use emulator::image::Image;

use super::flat::FlatBus;
use super::toolchain::{self, Toolchain};

const MEMORY: u32 = 0x20_0000;
/// End of the image's memory, where the data begin: number of pairs, number of results; then operation, two values in four words for each.
/// The result takes the place of the first value.
const IMAGE_END: u32 = 0x10_0000;
/// Words of a pair.
const WORDS: u32 = 5;
/// Pairs of a run of the program.
const BATCH: usize = 40_000;
/// Instructions between two looks at the number of results.
const STEP: u64 = 1_000_000;
/// Instructions that a batch may take.
const LIMIT: u64 = 1_000_000_000;

const PROGRAM: &str = "
#![no_std]
#![no_main]
use lanai_rt::{Register, entry, stop};
entry!(main);
fn main() -> ! {
    let count = Register::shared(0).read();
    for index in 0..count {
        let word = |at: u32| Register::shared(2 + 5 * index + at);
        let value = |at: u32| (word(at).read() as u64) << 32 | word(at + 1).read() as u64;
        let result = defs::gm::combine::combine(word(0).read(), value(1), value(3));
        word(1).write((result >> 32) as u32);
        word(2).write(result as u32);
        Register::shared(1).write(index + 1);
    }
    stop()
}
";

/// Two doubles and what is done with them.
#[derive(Debug, Clone, Copy)]
struct Pair {
    operation: Operation,
    a: f64,
    b: f64,
}

impl Pair {
    /// The result that the processor of this machine computes. All that are no numbers are one.
    fn expected(self) -> u64 {
        let Self { operation, a, b } = self;
        let both_zero = a == 0.0 && b == 0.0;
        let result = match operation {
            Operation::DoubleSum => a + b,
            _ if a.is_nan() || b.is_nan() => f64::NAN,
            Operation::DoubleMin if both_zero && a.is_sign_negative() => a,
            Operation::DoubleMax if both_zero && a.is_sign_positive() => a,
            _ if both_zero => b,
            Operation::DoubleMin => a.min(b),
            _ => a.max(b),
        };
        match result.is_nan() {
            true => 0x7FF8_0000_0000_0000,
            false => result.to_bits(),
        }
    }
}

/// Pairs of special values, of subnormal numbers, of numbers close to each other, and of any bits.
fn pairs(seed: u64) -> impl Iterator<Item = Pair> {
    const SPECIAL: [f64; 10] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
    ];
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut number = move |near: Option<f64>| {
        let bits = random.next_u64();
        match (random.next_u32() % 8, near) {
            (0, _) => SPECIAL[random.next_u32() as usize % SPECIAL.len()],
            (1, _) => f64::from_bits(bits & 0x800F_FFFF_FFFF_FFFF),
            // Of about the same size, with either sign: bits of a sum cancel, and ties come up.
            (2..=5, Some(near)) => {
                let exponent = near.to_bits() >> 52 & 0x7FF;
                let exponent = (exponent + u64::from(random.next_u32() % 120)).saturating_sub(60);
                let mantissa = bits & ((1 << 52) - 1) & !0 << (random.next_u32() % 53);
                f64::from_bits(bits & 1 << 63 | exponent.min(0x7FE) << 52 | mantissa)
            }
            _ => f64::from_bits(bits),
        }
    };
    let mut index = 0;
    std::iter::repeat_with(move || {
        index += 1;
        let a = number(None);
        let operation = match index % 4 {
            0 => Operation::DoubleMin,
            1 => Operation::DoubleMax,
            _ => Operation::DoubleSum,
        };
        let b = number(Some(a));
        Pair { operation, a, b }
    })
}

fn image() -> Option<Image> {
    let toolchain = Toolchain::new("software doubles on the LANai", &[])?;
    let folder = toolchain::folder("doubles");
    let source = folder.join("doubles.rs");
    std::fs::write(&source, PROGRAM).expect("written");
    let image = folder.join("doubles");
    let mut rustc = toolchain.linking(&["lanai_rt", "defs"], IMAGE_END);
    rustc.args(["--crate-name=doubles", "-Copt-level=2", "-o"]);
    rustc.arg(&image).arg(&source);
    toolchain::output(&mut rustc).unwrap_or_else(|error| panic!("{error}"));
    Some(toolchain::image(&image, MEMORY).unwrap_or_else(|error| panic!("{error}")))
}

/// The results of a batch.
fn results(image: &Image, bus: &mut FlatBus<true>, batch: &[Pair]) -> Vec<u64> {
    let place = |index: usize| IMAGE_END + 8 + 4 * WORDS * u32::try_from(index).expect("few");
    let count = u32::try_from(batch.len()).expect("few");
    bus.write(IMAGE_END, Width::Word, count);
    bus.write(IMAGE_END + 4, Width::Word, 0);
    for (index, pair) in batch.iter().enumerate() {
        let (a, b) = (pair.a.to_bits(), pair.b.to_bits());
        let values = [a >> 32, a & 0xFFFF_FFFF, b >> 32, b & 0xFFFF_FFFF];
        bus.write(place(index), Width::Word, pair.operation as u32);
        for (at, word) in (1..).zip(values) {
            let word = u32::try_from(word).expect("a word");
            bus.write(place(index) + 4 * at, Width::Word, word);
        }
    }
    let mut core = Core::new(Pipeline::LLVM);
    core.start_at(image.entry);
    while bus.read(IMAGE_END + 4, Width::Word) < count {
        let _ = run(&mut core, bus, u64::MAX, STEP);
        assert!(core.instructions() < LIMIT, "the program ends");
    }
    let word = |index, at: u32| u64::from(bus.read(place(index) + 4 * at, Width::Word));
    let value = |index| word(index, 1) << 32 | word(index, 2);
    (0..batch.len()).map(value).collect()
}

/// `LANIGON_DOUBLES` sets the number of pairs.
#[test]
fn doubles_are_those_of_a_floating_point_unit() {
    let Some(image) = image() else {
        return;
    };
    let asked = env::var("LANIGON_DOUBLES").ok();
    let count = asked.map_or(120_000, |count| count.parse().expect("a number"));
    let mut bus = toolchain::loaded(&image, MEMORY);
    let mut all = pairs(7).take(count);
    loop {
        let batch: Vec<_> = all.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            return;
        }
        let found = results(&image, &mut bus, &batch);
        for (pair, found) in batch.iter().zip(found) {
            let expected = pair.expected();
            assert_eq!(
                found, expected,
                "{pair:?}: {found:#018x}, not {expected:#018x}"
            );
        }
    }
}
