//! A random program as text. Every program ends, has no undefined behaviour and does not depend on the size of `usize`.

use std::fmt::Write as _;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Types of values.
pub const TYPES: [&str; 6] = ["u32", "i32", "u64", "u8", "u16", "i64"];

/// A type: its name.
pub type Type = &'static str;

/// A function of the program.
pub struct Function {
    pub name: String,
    pub parameters: Vec<Type>,
    /// About how many operations a call takes.
    pub cost: u64,
}

/// An array that code can see.
#[derive(Clone)]
pub struct Array {
    pub name: String,
    pub element: Type,
    pub length: u64,
    pub is_mutable: bool,
}

/// The names that a block sees.
#[derive(Default)]
pub struct Scope {
    /// Name, type; whether it can be assigned.
    pub values: Vec<(String, Type, bool)>,
    pub arrays: Vec<Array>,
    /// Structures by value, all of which can be assigned: name, number of the type.
    pub structures: Vec<(String, usize)>,
}

/// Generates one program.
pub struct Generator {
    random: ChaCha8Rng,
    pub text: String,
    pub functions: Vec<Function>,
    /// Fields of each structure.
    pub structures: Vec<Vec<Type>>,
    /// The number of elements of the table of functions, all of type `fn(u32, u32) -> u32`.
    pub table: u64,
    /// Cost of a call through the table.
    pub table_cost: u64,
    pub scope: Scope,
    /// Rounds of the loops around this place.
    pub rounds: u64,
    /// Cost of the function so far.
    pub cost: u64,
    /// Number for the next name.
    pub names: u32,
    /// Reads of the device may be compiled without what keeps their order.
    pub is_loose: bool,
}

/// Largest cost of a function.
pub const COST: u64 = 20_000;

impl Generator {
    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.random.next_u64() % end
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let length = u64::try_from(choices.len()).expect("few");
        choices[usize::try_from(self.below(length)).expect("few")]
    }

    /// Any type, words more often.
    pub fn any_type(&mut self) -> Type {
        self.one_of(&[
            "u32", "u32", "u32", "i32", "i32", "u64", "u64", "u8", "u16", "i64",
        ])
    }

    /// A number without upper bits.
    pub fn magnitude(&mut self) -> u64 {
        let shift = self.below(64);
        self.random.next_u64() >> shift
    }

    /// A new name.
    pub fn name(&mut self, start: &str) -> String {
        self.names += 1;
        format!("{start}{}", self.names)
    }

    /// Adds a line.
    pub fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text}");
    }

    /// Charges operations at this place.
    pub fn charge(&mut self, operations: u64) {
        self.cost += operations * self.rounds;
    }

    /// Whether this place can afford as many operations.
    pub fn affords(&self, operations: u64) -> bool {
        self.cost + operations * self.rounds < COST
    }
}

/// The program with this seed: a module `p<seed>` with `pub fn run(a: u32, b: u32) -> u64`.
pub fn text(seed: u64) -> String {
    let mut generator = Generator {
        random: ChaCha8Rng::seed_from_u64(seed),
        text: String::new(),
        functions: Vec::new(),
        structures: Vec::new(),
        table: 0,
        table_cost: 0,
        scope: Scope::default(),
        rounds: 1,
        cost: 0,
        names: 0,
        is_loose: false,
    };
    generator.line(&format!("pub mod p{seed} {{\nuse super::super::device;"));
    generator.is_loose = generator.chance(8);
    generator.globals();
    generator.all_functions();
    generator.line("}");
    generator.text
}
