//! Random Rust programs, compiled for the LANai and for this machine, must compute the same.
//!
//! Many programs are one image. Where the linker refuses functions by name, their programs are left out, and counted.

mod board;
mod compile;
mod expressions;
mod functions;
mod program;
mod statements;

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::io::Write as _;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use compile::{Builder, Refusals};
use emulator::image::Image;

/// A run of a program: its number in the image, and its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    index: usize,
    a: u32,
    b: u32,
}

/// Runs of each program.
const CALLS: usize = 8;

/// Results of a set of programs.
#[derive(Debug, Default)]
struct Outcome {
    /// Runs with equal results.
    equal: usize,
    /// Programs that ran.
    programs: usize,
    /// Refused programs, by the linker's reason.
    refused: BTreeMap<String, usize>,
    /// Instructions of the core.
    instructions: u64,
}

impl Outcome {
    fn add(&mut self, other: Outcome) {
        self.equal += other.equal;
        self.programs += other.programs;
        self.instructions += other.instructions;
        for (reason, count) in other.refused {
            *self.refused.entry(reason).or_default() += count;
        }
    }
}

/// Inputs of the program with this seed: special values and random ones of all magnitudes.
fn inputs(seed: u64) -> impl Iterator<Item = (u32, u32)> {
    let mut random = ChaCha8Rng::seed_from_u64(!seed);
    let mut number = move || match random.next_u32() % 8 {
        0 => [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF][random.next_u32() as usize % 5],
        _ => random.next_u32() >> (random.next_u32() & 31),
    };
    std::iter::repeat_with(move || (number(), number())).take(CALLS)
}

/// The report of a difference: the program's text, and the first differing call.
fn difference(level: &str, seed: u64, call: Call, expected: u64, actual: Option<u64>) -> String {
    let mut text = program::text(seed);
    let _ = write!(
        text,
        "\nThe program above is number {seed}: generated::program::text({seed}).\n\
         At opt-level {level}, run({:#x}, {:#x}) is {expected:#018x} on this machine and {} on the LANai.",
        call.a,
        call.b,
        actual.map_or("without an end".to_owned(), |actual| format!(
            "{actual:#018x}"
        )),
    );
    text
}

/// The image of the programs that the linker does not refuse, and their places in `seeds`. Counts the others.
fn image(
    builder: &Builder,
    level: &str,
    seeds: &[u64],
    outcome: &mut Outcome,
) -> Result<(Image, Vec<usize>), String> {
    let mut places: Vec<usize> = (0..seeds.len()).collect();
    loop {
        let left: Vec<u64> = places.iter().map(|place| seeds[*place]).collect();
        match builder.image(level, &left)? {
            Ok(image) => return Ok((image, places)),
            Err(Refusals(refused)) => {
                for reason in refused.values().flatten() {
                    *outcome.refused.entry(reason.clone()).or_default() += 1;
                }
                places.retain(|place| !refused.contains_key(&seeds[*place]));
            }
        }
    }
}

/// Compiles the programs with these seeds as one image, without those that the linker refuses, and compares all runs.
fn compare(builder: &Builder, level: &str, seeds: &[u64]) -> Result<Outcome, String> {
    let mut outcome = Outcome::default();
    let (native, compiled) = std::thread::scope(|scope| {
        let native = scope.spawn(|| builder.native(level, seeds));
        let compiled = image(builder, level, seeds, &mut outcome);
        (native.join().expect("no panic"), compiled)
    });
    let (native, (image, places)) = (native?, compiled?);
    let calls = |index: usize, seed: u64| inputs(seed).map(move |(a, b)| Call { index, a, b });
    let numbered = places.iter().enumerate();
    let actual: Vec<Call> = numbered
        .flat_map(|(index, place)| calls(index, seeds[*place]))
        .collect();
    let expected: Vec<Call> = (places.iter())
        .flat_map(|place| calls(*place, seeds[*place]))
        .collect();
    let (actual, instructions) = board::results(&image, &actual);
    let results = compile::native_results(&native, &expected)?;
    for ((call, expected), actual) in expected.iter().zip(results).zip(actual) {
        if actual != Some(expected) {
            let seed = seeds[call.index];
            return Err(difference(level, seed, *call, expected, actual));
        }
        outcome.equal += 1;
    }
    outcome.programs = places.len();
    outcome.instructions = instructions;
    Ok(outcome)
}

/// Compares `count` programs from seed `first` on, `size` to an image, each image at the next of `levels`.
fn check(first: u64, count: u64, size: usize, levels: &[&str]) {
    let Some(builder) = Builder::new() else {
        return;
    };
    let seeds: Vec<u64> = (first..first + count).collect();
    let mut total: BTreeMap<&str, Outcome> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (seeds, first) in seeds.chunks(size).zip((first..).step_by(size)) {
        let number = usize::try_from(first).expect("few") / size;
        let level = levels[number % levels.len()];
        match compare(&builder, level, seeds) {
            Ok(outcome) => total.entry(level).or_default().add(outcome),
            Err(text) => wrong.push(text),
        }
    }
    for (level, outcome) in &total {
        println!(
            "opt-level {level}: {} programs, {} equal results, {} instructions; refused: {:?}",
            outcome.programs, outcome.equal, outcome.instructions, outcome.refused
        );
    }
    assert!(
        wrong.is_empty(),
        "{}\n{} of {} images are wrong",
        wrong.join("\n\n"),
        wrong.len(),
        seeds.len().div_ceil(size)
    );
    let (programs, refused) = total.values().fold((0, 0), |(programs, refused), outcome| {
        (
            programs + outcome.programs,
            refused + outcome.refused.values().sum::<usize>(),
        )
    });
    assert!(
        programs > 2 * refused,
        "{programs} programs ran, {refused} were refused: the generator makes too few that run"
    );
}

/// 50 programs; more, at all levels of optimisation, if the environment names the first seed and a number:
/// `LANIGON_PROGRAMS=1000:2000`.
#[test]
fn generated_programs_compute_the_same() {
    let Ok(range) = env::var("LANIGON_PROGRAMS") else {
        return check(0, 50, 50, &["2"]);
    };
    let (first, count) = range.split_once(':').expect("FIRST:COUNT");
    let number = |text: &str| text.parse().expect("a number");
    let _ = writeln!(std::io::stderr(), "programs {range}");
    let levels = ["0", "1", "2", "3", "s"];
    check(number(first), number(count), 100, &levels);
}
