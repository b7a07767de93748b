//! Stack use of an image: the deepest chain of calls, computed from the code.
//!
//! A function's frame is what its code takes of the stack ([`Architecture::frame_use`]); its callees are the
//! targets of its calls. Recursion has no bound, calls through a register have an unknown target, and a frame may have a computed size.
//!
//! [`Architecture::frame_use`]: emulator_cpu::architecture::Architecture::frame_use

use std::collections::BTreeMap;
use std::ops::Range;

use super::symbols::{Symbol, SymbolKind};
use super::{Image, ImageError};
use emulator_cpu::architecture::Transfer;

/// Symbol that the linker script sets to the size of each CPU's stack.
const STACK_BYTES: &str = "__stack_bytes";
/// Symbols around the stack, where the linker gives it the rest of the memory.
const STACK_ENDS: [&str; 2] = ["__bss_end", "__stack_top"];
/// Address in SRAM of the overflows of CPU A's stack, and the amount that the chip subtracts to get there: symbols of the linker script.
const OVERFLOW_MAP: [&str; 2] = ["__overflow_a", "__stack_map_a"];
/// Bytes of that part of the stack, and the option that sets them: symbols of the linker script.
const OVERFLOW_BYTES: [&str; 2] = ["__overflow_bytes", "__stack_sram_bytes"];
/// Bytes of the guard of a stack that lies beside data, if no frame is larger and there is room: whole pages of decoded code.
const GUARD_BYTES: u32 = 4096;
/// Bytes of the guard of a stack at whose end is nothing.
const FREE_GUARD_BYTES: u32 = 1 << 20;
/// Main functions called by the start code, CPU A first. Without these the stack begins at the image's entry.
const MAINS: [&str; 2] = ["__main_a", "__main_b"];
/// Main function of all CPUs but CPU A, in an image for any number of them.
const MAIN_OF_OTHERS: &str = "__main_any";
/// Longest chain of calls that is followed.
const DEPTH_LIMIT: usize = 100;

/// The deepest use of the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackUse {
    /// Bytes of the deepest known chain of calls.
    pub bytes: u32,
    /// The chain, outermost first.
    pub chain: Vec<String>,
    /// Functions with calls through a register, recursion, a frame of a computed size, or a chain too deep to follow:
    /// their stack use beyond `bytes` is unknown.
    pub unknown: Vec<String>,
}

/// Stack size of each CPU, if the image defines it.
#[must_use]
pub fn available_bytes(image: &Image) -> Option<u32> {
    let named = |name| Some(image.symbols.named(name)?.address);
    let rest = || {
        let [low, high] = STACK_ENDS.map(named);
        high?.checked_sub(low?)
    };
    named(STACK_BYTES).or_else(rest)
}

/// The addresses at which each CPU's stack may be, with those to which it may overflow; `None` if the image does not say it.
#[must_use]
pub fn region(image: &Image) -> Option<Range<u32>> {
    let top = image.symbols.named(STACK_ENDS[1])?.address;
    let low = guard(image)?.end;
    (low < top).then_some(low..top)
}

/// The addresses next to the end of the stack, where none of it may be. No frame is larger, so that a stack that grows beyond its region
/// comes here first. `None` if the image does not say where its stack is.
#[must_use]
pub fn guard(image: &Image) -> Option<Range<u32>> {
    let named = |name| Some(image.symbols.named(name)?.address);
    if let [Some(overflow), Some(map)] = OVERFLOW_MAP.map(named) {
        let end = overflow.wrapping_add(map);
        return Some(end.saturating_sub(FREE_GUARD_BYTES)..end);
    }
    let [Some(low), Some(high)] = STACK_ENDS.map(named) else {
        return None;
    };
    let frames = functions(image).into_values().map(|f| f.frame_bytes);
    let largest = frames.max().unwrap_or(0).max(8);
    let whole_pages = |at: u32| at.checked_next_multiple_of(GUARD_BYTES);
    let pages = || {
        let start = whole_pages(low)?;
        Some(start..start.checked_add(whole_pages(largest)?)?)
    };
    let pages = pages().filter(|pages| pages.end <= low.midpoint(high));
    Some(pages.unwrap_or_else(|| low..low.saturating_add(largest)))
}

/// Checks that the stack of each CPU holds its deepest known use.
///
/// # Errors
/// [`ImageError::StackTooSmall`].
pub(super) fn check(image: &Image) -> Result<(), ImageError> {
    let Some(available) = region(image).map(|region| region.end - region.start) else {
        return Ok(());
    };
    let functions = functions(image);
    for cpu in 0..MAINS.len() {
        let deepest = deepest(image, &functions, cpu);
        if deepest.bytes <= available {
            continue;
        }
        let named = |name: &&String| functions.values().find(|f| f.name == **name);
        let frames = deepest.chain.iter().filter_map(|name| named(&name));
        let largest = frames.max_by_key(|function| function.frame_bytes);
        return Err(ImageError::StackTooSmall {
            available_bytes: available,
            needed_bytes: deepest.bytes,
            function: largest.map_or_else(String::new, |function| function.name.clone()),
            frame_bytes: largest.map_or(0, |function| function.frame_bytes),
            chain: deepest.chain,
            remedy: remedy(image, deepest.bytes - available),
        });
    }
    Ok(())
}

/// The linker's option that gives each CPU `more` bytes of stack; `None` if the image does not say how large it is in SRAM.
#[must_use]
pub fn option_for(image: &Image, more: u32) -> Option<String> {
    let [bytes, option] = OVERFLOW_BYTES;
    let enough = image.symbols.named(bytes)?.address.checked_add(more)?;
    let enough = enough.checked_next_multiple_of(64)?;
    Some(format!("-Clink-arg=--defsym={option}={enough}"))
}

/// Advice about a stack that lacks `missing` bytes.
fn remedy(image: &Image, missing: u32) -> String {
    match option_for(image, missing) {
        Some(option) => format!("make large local values `static`, or link with {option}"),
        None => {
            "make local values, or code and data, which leave it the rest of the memory, smaller"
                .into()
        }
    }
}

/// The deepest stack use of a CPU (0 for A, 1 for B), by its main function or by a handler. The event loop
/// empties the stack before each handler.
#[must_use]
pub fn worst_case(image: &Image, cpu: usize) -> StackUse {
    deepest(image, &functions(image), cpu)
}

/// The deepest stack use of a CPU of an image with these functions.
fn deepest(image: &Image, functions: &BTreeMap<u32, Function>, cpu: usize) -> StackUse {
    let mut walk = Walk {
        functions,
        known: BTreeMap::new(),
        unknown: Vec::new(),
    };
    let mains = MAINS.map(|name| Some(image.symbols.named(name)?.address));
    let main = match mains == [None; MAINS.len()] {
        true => (cpu == 0).then_some(image.entry),
        false => {
            let of_all = || Some(image.symbols.named(MAIN_OF_OTHERS)?.address);
            let own = mains.get(cpu).copied().flatten();
            own.or_else(|| of_all().filter(|_| cpu != 0))
        }
    };
    let handlers = image.handlers.iter().filter(|handler| handler.is_on(cpu));
    let mut worst = (0, Vec::new());
    for root in main
        .into_iter()
        .chain(handlers.map(|handler| handler.address))
    {
        worst = worst.max(walk.deepest(root, &mut Vec::new()));
    }
    let name = |address: &u32| functions.get(address).map(|f| f.name.clone());
    walk.unknown.sort_unstable();
    walk.unknown.dedup();
    StackUse {
        bytes: worst.0,
        chain: worst.1.iter().filter_map(name).collect(),
        unknown: walk.unknown.iter().filter_map(name).collect(),
    }
}

/// Frame size and calls of a function.
struct Function {
    name: String,
    frame_bytes: u32,
    callees: Vec<u32>,
    is_unknown: bool,
}

/// All functions by address.
fn functions(image: &Image) -> BTreeMap<u32, Function> {
    let symbols = image
        .symbols
        .iter()
        .filter(|symbol| symbol.kind == SymbolKind::Function);
    symbols
        .map(|symbol| (symbol.address, scan(image, symbol)))
        .collect()
}

fn scan(image: &Image, symbol: &Symbol) -> Function {
    let mut function = Function {
        name: symbol.name.clone(),
        frame_bytes: 0,
        callees: Vec::new(),
        is_unknown: false,
    };
    let architecture = image.architecture;
    let own = symbol.address..symbol.address.saturating_add(symbol.size_bytes);
    let addresses = own.clone().step_by(4);
    // The section limits the function, whatever the symbol's size is.
    let code = addresses.map_while(|at| image.instruction(at));
    let code: Vec<u32> = code.collect();
    let frame = architecture.frame_use(&code);
    function.frame_bytes = frame.bytes;
    function.is_unknown = !frame.is_all;
    let before = [0].iter().chain(&code);
    for ((at, &word), &before) in own.clone().step_by(4).zip(&code).zip(before) {
        let target = architecture.target(word, at);
        match (architecture.transfer_behind(before, word), target) {
            (Some(Transfer::Call), Some(callee)) => function.callees.push(callee),
            (Some(Transfer::Call), None) => function.is_unknown = true,
            // A jump out of the function is a tail call.
            (Some(Transfer::Jump), Some(target)) if !own.contains(&target) => {
                function.callees.push(target);
            }
            _ => {}
        }
    }
    function
}

/// Depth-first search over the calls.
struct Walk<'a> {
    functions: &'a BTreeMap<u32, Function>,
    /// Bytes and chain of visited functions.
    known: BTreeMap<u32, (u32, Vec<u32>)>,
    unknown: Vec<u32>,
}

impl Walk<'_> {
    /// The deepest chain from `address`; `path` leads to it.
    fn deepest(&mut self, address: u32, path: &mut Vec<u32>) -> (u32, Vec<u32>) {
        if let Some(known) = self.known.get(&address) {
            return known.clone();
        }
        let Some(function) = self.functions.get(&address) else {
            return (0, Vec::new());
        };
        if path.contains(&address) || path.len() == DEPTH_LIMIT {
            self.unknown.push(address);
            return (0, Vec::new());
        }
        if function.is_unknown {
            self.unknown.push(address);
        }
        path.push(address);
        let mut below = (0, Vec::new());
        for &callee in &function.callees {
            below = below.max(self.deepest(callee, path));
        }
        path.pop();
        let mut chain = vec![address];
        chain.extend(below.1);
        let total = (function.frame_bytes.saturating_add(below.0), chain);
        self.known.insert(address, total.clone());
        total
    }
}
