//! Firmware for two CPUs without one of its critical sections, or with an index that is written too early: the detector of races tells.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cases::runs_long;
use emulator::image::Image;
use emulator::sim::time::SimTime;
use lanigon_worlds::files::own;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// A change of a file: offsets of words, and the new words.
type Mutation = Vec<(usize, u32)>;

/// Code of an image.
struct Code {
    /// Words of the code, and their place in the file of the image.
    words: Vec<u32>,
    start: usize,
    address: u32,
}

impl Code {
    /// All code of an image.
    fn of(file: &[u8], image: &Image) -> Vec<Self> {
        let segments = image.segments.iter();
        let segments = segments.filter(|segment| !segment.bytes.is_empty());
        let code = segments.map(|segment| {
            let mut places = file.windows(segment.bytes.len());
            let words = segment.bytes.chunks_exact(4);
            let word = |word: &[u8]| u32::from_be_bytes(word.try_into().unwrap());
            Self {
                words: words.map(word).collect(),
                start: places.position(|part| part == segment.bytes).unwrap(),
                address: segment.run_address,
            }
        });
        code.collect()
    }

    /// Offset of a word in the file.
    const fn offset(&self, index: usize) -> usize {
        self.start + 4 * index
    }
}

const NOP: u32 = 0;

/// `sw $zero, offset(base)` that may be that of a semaphore's register: at an offset of the chip, or at none, where the base is the address
/// of the executing CPU's side.
fn may_toggle(word: u32) -> bool {
    word >> 26 == 0x2B && word >> 16 & 31 == 0 && matches!(word & 0xFFFF, 0 | 0x48 | 0x4C)
}

/// Base and offset of a load or store.
const fn place(word: u32) -> (u32, u32) {
    (word >> 21 & 31, word & 0xFFFF)
}

/// Whether code at `look` reads the register that the toggle at `at` writes. At no offset, a branch back to the toggle follows too.
fn looks_at(words: &[u32], look: usize, at: usize) -> bool {
    let reads = words[look] >> 26 == 0x23 && place(words[look]) == place(words[at]);
    let back = (at as u32).wrapping_sub(look as u32 + 2) & 0xFFFF;
    let branch = 0x1000_0000 | (words[look] >> 16 & 31) << 21 | back;
    reads && (place(words[at]).1 != 0 || words.get(look + 1) == Some(&branch))
}

/// Mutations of an image's file that each remove one critical section: the semaphore is neither taken nor released there.
fn without_semaphore(file: &[u8], image: &Image) -> Vec<Mutation> {
    let mut mutations: Vec<Mutation> = Vec::new();
    for code in Code::of(file, image) {
        let words = &code.words;
        let function = |index: usize| {
            let address = code.address + 4 * index as u32;
            let mut symbols = image.symbols.iter();
            symbols.find(|symbol| address.wrapping_sub(symbol.address) < symbol.size_bytes)
        };
        // In these runs, one CPU alone counts each of the rare events.
        let counts = |index: usize| {
            function(index).is_some_and(|symbol| symbol.name.contains("count_rarely"))
        };
        // The open section, and the toggle that takes the semaphore for it.
        let mut open: Option<(Mutation, usize)> = None;
        let toggles = (0..words.len()).filter(|&index| may_toggle(words[index]));
        for at in toggles.filter(|&index| !counts(index)) {
            let mut behind = at + 1..words.len().min(at + 4);
            match behind.find(|&look| looks_at(words, look, at)) {
                // It is taken: the look at it always succeeds.
                Some(look) => {
                    mutations.extend(open.take().map(|open| open.0));
                    let taken = 0x2400_0001 | words[look] & 31 << 16;
                    open = Some((vec![(code.offset(at), NOP), (code.offset(look), taken)], at));
                }
                None => {
                    // At no offset, the same register has the same address in one function only.
                    let is_own = |taken: usize| {
                        place(words[at]).1 != 0
                            || place(words[at]) == place(words[taken])
                                && function(at).map(|symbol| symbol.address)
                                    == function(taken).map(|symbol| symbol.address)
                    };
                    if let Some((open, _)) = open.as_mut().filter(|open| is_own(open.1)) {
                        open.push((code.offset(at), NOP));
                    }
                }
            }
        }
        mutations.extend(open.map(|open| open.0));
    }
    // Code whose release was not found would only take the semaphore the other way round.
    mutations.retain(|mutation| mutation.len() > 2);
    mutations
}

/// Offsets of registers whose writes hand descriptors to the chip: the producer indices of the MAC's transmit ring and of the two DMA rings.
const INDEX_REGISTERS: [u32; 3] = [0x0F0, 0x100, 0x120];
const STACK_POINTER: u32 = 29;

/// Registers that an instruction writes, as bits; `None` for jumps, branches and instructions beyond the usual ones.
const fn written(word: u32) -> Option<u32> {
    let (target, destination) = (word >> 16 & 31, word >> 11 & 31);
    match (word >> 26, word & 63) {
        (0, 0..=7 | 0x20..=0x2B) => Some(1 << destination),
        (8..=15 | 0x20..=0x26, _) => Some(1 << target),
        (0x28..=0x2B | 0x2E, _) => Some(0),
        _ => None,
    }
}

/// Value, base and offset of a `sw`.
fn store(word: u32) -> Option<(u32, u32, u32)> {
    (word >> 26 == 0x2B).then_some((word >> 16 & 31, word >> 21 & 31, word & 0xFFFF))
}

/// Places to which code jumps or branches.
fn targets(code: &Code) -> BTreeSet<usize> {
    let words = code.words.iter().enumerate();
    let target = |(index, word): (usize, &u32)| match word >> 26 {
        1 | 4..=7 => Some((index + 1).wrapping_add_signed((*word as u16).cast_signed().into())),
        2 | 3 => {
            let address = code.address & 0xF000_0000 | (word & 0x03FF_FFFF) << 2;
            Some(address.wrapping_sub(code.address) as usize / 4)
        }
        _ => None,
    };
    words.filter_map(target).collect()
}

/// Places where code writes a producer index: of a ring of the chip, or of a queue between the CPUs at one of these addresses.
fn index_stores(code: &Code, queues: &[u32]) -> Vec<usize> {
    let mut known = [None; 32];
    let mut found = Vec::new();
    for (index, &word) in code.words.iter().enumerate() {
        let (base, target) = (known[(word >> 21 & 31) as usize], word >> 16 & 31);
        let offset = (word as u16).cast_signed() as u32;
        if let Some((value, register, offset_bits)) = store(word) {
            let is_of_queue =
                base.is_some_and(|base: u32| queues.contains(&(base.wrapping_add(offset))));
            let is_of_chip = INDEX_REGISTERS.contains(&offset_bits) && register != STACK_POINTER;
            found.extend((value != 0 && (is_of_queue || is_of_chip)).then_some(index));
        }
        let constant = match word >> 26 {
            0xF => Some(word << 16),
            9 => base.map(|base| base.wrapping_add(offset)),
            0xD => base.map(|base| base | word & 0xFFFF),
            _ => None,
        };
        match written(word) {
            Some(registers) => (0..32)
                .filter(|register| registers >> register & 1 != 0)
                .for_each(|register| known[register] = None),
            // A function may change any register.
            None if word >> 26 == 3 || word >> 26 == 0 => known = [None; 32],
            None => {}
        }
        if constant.is_some() {
            known[target as usize] = constant;
        }
    }
    found
}

/// The mutation that writes an index before the last word of what it stands for, in the same straight line of code.
fn before_the_last_word(code: &Code, targets: &BTreeSet<usize>, at: usize) -> Option<Mutation> {
    let words = &code.words;
    // The index may be written in the slot behind a jump.
    let jump = written(words[at - 1]).is_none().then_some(at - 1);
    let mut between = 0;
    for place in (0..jump.unwrap_or(at)).rev() {
        if targets.contains(&(place + 1)) {
            return None;
        }
        let registers = written(words[place])?;
        if let Some((value, base, _)) = store(words[place])
            && base != STACK_POINTER
            && (1 << value | 1 << base) & between == 0
        {
            let rest = (place + 1..=at).filter(|index| Some(*index) != jump);
            let order = rest.chain([place]).map(|index| words[index]);
            let places = (place..=at).filter(|index| Some(*index) != jump);
            return Some(places.map(|index| code.offset(index)).zip(order).collect());
        }
        between |= registers;
    }
    None
}

/// Mutations of an image's file that each write an index too early.
fn early_indices(file: &[u8], image: &Image) -> Vec<Mutation> {
    let queues = image
        .published
        .iter()
        .filter(|words| words.name.starts_with("queue"));
    let queues: Vec<u32> = queues.map(|words| words.address).collect();
    let mut mutations = Vec::new();
    for code in Code::of(file, image) {
        let targets = targets(&code);
        let stores = index_stores(&code, &queues);
        mutations.extend(
            stores
                .iter()
                .filter_map(|at| before_the_last_word(&code, &targets, *at)),
        );
    }
    mutations
}

/// Images that the same runs execute.
struct Family {
    images: &'static [&'static str],
    /// The runs, as scenarios without a line for the image.
    runs: fn() -> Vec<String>,
}

fn emp_runs() -> Vec<String> {
    let runs = ["restart", "star-with-loss"].map(|name| {
        let path = own::project_scenarios().join(format!("{name}.toml"));
        fs::read_to_string(path).unwrap()
    });
    runs.into()
}

const EMP: Family = Family {
    images: &["emp-so", "emp-ro", "emp-dsr", "emp-sr"],
    runs: emp_runs,
};

/// Behind each index of its queues comes an event, which orders too.
const DYNAMIC_EMP: Family = Family {
    images: &["emp-dyn"],
    runs: emp_runs,
};

/// Images for any number of CPUs, which read the addresses of their registers from their scratchpads.
const EMP_OF_ANY_CPUS: Family = Family {
    images: &["emp-dyn-n"],
    runs: || {
        let with_board =
            |run: String| format!("board = \"tigon-n\"\n{run}\n[costs]\n\"core.cpus\" = 3\n");
        emp_runs().into_iter().map(with_board).collect()
    },
};

const GM: Family = Family {
    images: &["gm-tigon2-two", "gm-tigon2-coll"],
    runs: || {
        let run = |operation: &str| {
            format!(
                "board = \"tigon2\"\nprotocol = \"gm\"\n[network]\ntopology = \"star\"\nnodes = 4\n[faults]\nloss = 0.02\n\
                 [[program]]\nnodes = \"all\"\non = \"nic\"\nrounds = 20\n{operation}\n\
                 [[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 30\nmax_bytes = 5000\n"
            )
        };
        ["run = \"barrier\"", "run = \"reduction\"\nall = true"]
            .map(run)
            .into()
    },
};

/// `break`, which stops the CPU.
const BREAK: u32 = 0xD;

/// A run with a file of an image.
fn simulation(run: &str, image: &Path) -> Simulation {
    let text = format!("image = {image:?}\n{run}");
    let scenario = lanigon_workloads::parse("test.toml", &text).unwrap();
    Simulation::new(&scenario).unwrap()
}

/// The result of a run with a changed file.
fn mutated(run: &str, file: &[u8], mutation: &[(usize, u32)]) -> RunSummary {
    let mut file = file.to_vec();
    for &(offset, word) in mutation {
        file[offset..offset + 4].copy_from_slice(&word.to_be_bytes());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mutated.elf");
    fs::write(&path, file).unwrap();
    let mut simulation = simulation(run, &path);
    simulation.look_for_races().unwrap();
    // What is broken may run for ever.
    let options = RunOptions {
        max_time: Some(SimTime::from_us(5000)),
        ..RunOptions::default()
    };
    simulation.run(&options, |_| {})
}

/// Whether the run executes what the mutation changes.
fn is_executed(run: &str, file: &[u8], mutation: &Mutation) -> bool {
    let stops = [(mutation[0].0, BREAK)];
    !mutated(run, file, &stops).stopped.is_empty()
}

fn is_caught(run: &str, file: &[u8], mutation: &Mutation) -> bool {
    let races = mutated(run, file, mutation).races;
    races.is_some_and(|races| !races.is_empty())
}

/// Mutates each image in all these ways that a run executes; at least 19 of 20 are to be caught.
#[track_caller]
fn check(families: &[Family], mutations: fn(&[u8], &Image) -> Vec<Mutation>) {
    let (mut caught, mut escaped) = (0, Vec::new());
    let images = families
        .iter()
        .flat_map(|family| family.images.iter().map(move |image| (family, image)));
    for (family, image) in images {
        let runs = (family.runs)();
        let path = own::project_images("tigon2").join(image);
        let file = fs::read(&path).unwrap();
        let original = simulation(&runs[0], &path);
        for mutation in mutations(&file, original.images.image_of(0)) {
            let mut runs = runs.iter();
            if !runs.clone().any(|run| is_executed(run, &file, &mutation)) {
                continue;
            }
            match runs.any(|run| is_caught(run, &file, &mutation)) {
                true => caught += 1,
                false => escaped.push((image, mutation)),
            }
        }
    }
    let all = caught + escaped.len();
    eprintln!("{caught} of {all}");
    assert!(
        all != 0 && 20 * caught >= 19 * all,
        "{caught} of {all} are caught, not {escaped:x?}"
    );
}

#[test]
fn a_missing_semaphore_is_caught() {
    if runs_long("removed semaphores") {
        check(&[EMP], without_semaphore);
    }
}

#[test]
fn a_missing_semaphore_of_dynamic_scheduling_is_caught() {
    if runs_long("removed semaphores") {
        check(&[DYNAMIC_EMP, EMP_OF_ANY_CPUS], without_semaphore);
    }
}

#[test]
fn a_missing_semaphore_of_gm_is_caught() {
    if runs_long("removed semaphores") {
        check(&[GM], without_semaphore);
    }
}

#[test]
fn an_index_that_is_written_too_early_is_caught() {
    if runs_long("early indices") {
        check(&[EMP], early_indices);
    }
}

#[test]
fn an_index_of_gm_that_is_written_too_early_is_caught() {
    if runs_long("early indices") {
        check(&[GM], early_indices);
    }
}
