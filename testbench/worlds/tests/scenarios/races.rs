//! Races: found where firmware has them, and only there; mutated firmware is caught.

use std::fs;

use cases::runs_long;
use emulator::image::Image;
use emulator::sim::time::SimTime;
use lanigon_worlds::files::own;
use lanigon_worlds::races::RaceReport;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// A scenario of the project, with another image.
fn with_image(name: &str, image: &str) -> Simulation {
    let path = own::project_scenarios().join(format!("{name}.toml"));
    let mut scenario = lanigon_workloads::load(&path).unwrap();
    for node in &mut scenario.nodes {
        image.clone_into(&mut node.image.name);
    }
    Simulation::new(&scenario).unwrap()
}

fn look(mut simulation: Simulation) -> RunSummary {
    simulation.look_for_races().unwrap();
    simulation.run(&RunOptions::default(), |_| {})
}

/// The races of a run, each as both functions with what they do, without paths.
fn pairs(races: &RaceReport) -> Vec<String> {
    let rows = races.rows.iter();
    let pair = |row: &lanigon_worlds::races::RaceRow| {
        let side = |access: &lanigon_worlds::races::RacingAccess| {
            let function = access.function.as_deref().unwrap_or_default();
            let function = function.rsplit("::").next().unwrap_or_default();
            let verb = if access.writes { "writes" } else { "reads" };
            format!("{} {verb} in {function}", access.by)
        };
        let [first, second] = &row.accesses;
        format!("{}: {}, {}", row.place, side(first), side(second))
    };
    rows.map(pair).collect()
}

#[test]
fn the_race_of_two_cpus_is_found_long_before_it_does_harm() {
    // 400 us after the start of the programs each CPU has made a few updates, and none is lost.
    let mut simulation = with_image("race", "race-two-cpus");
    simulation.look_for_races().unwrap();
    let options = RunOptions {
        max_time: Some(SimTime::from_us(400)),
        ..RunOptions::default()
    };
    let outcome = simulation.run(&options, |_| {});
    assert!(outcome.problems.is_empty(), "{:?}", outcome.problems);
    assert!(!outcome.is_good());
    let found = pairs(outcome.races.as_ref().unwrap());
    assert_eq!(
        found,
        [
            "sram > 0x200: cpu_a writes in take_buffer, cpu_b reads in give_back",
            "sram > 0x200: cpu_a writes in take_buffer, cpu_b writes in give_back",
        ]
    );
}

#[test]
fn both_calls_of_a_race_are_told() {
    let path = own::project_scenarios().join("race.toml");
    let scenario = lanigon_workloads::load(&path).unwrap();
    let outcome = look(Simulation::new(&scenario).unwrap());
    let mut races = outcome.races.unwrap();
    races
        .add_calls(&scenario, &std::sync::Arc::default())
        .unwrap();
    let first = &races.rows[0];
    for (access, caller) in first.accesses.iter().zip(["on_timer", "on_buffer"]) {
        let calls = access.calls.join("\n");
        assert!(calls.contains(caller), "{calls}");
    }
}

/// Firmware without races, and scenarios in which its CPUs meet in all ways.
const FREE: [(&str, &str); 8] = [
    ("race", "race-two-cpus-fixed"),
    ("race", "queue-two-cpus"),
    ("race", "semaphore-two-cpus"),
    ("restart", "emp-so"),
    ("restart", "emp-ro"),
    ("restart", "emp-dsr"),
    ("restart", "emp-sr"),
    ("gm-ethernet", "gm-tigon2-two"),
];
/// More of them, which take longer.
const FREE_TOO: [(&str, &str); 9] = [
    ("star-with-loss", "emp-so"),
    ("star-with-loss", "emp-ro"),
    ("star-with-loss", "emp-dsr"),
    ("star-with-loss", "emp-sr"),
    ("flow-control", "emp-so"),
    ("flow-control", "emp-ro"),
    ("flow-control", "emp-dsr"),
    ("flow-control", "emp-sr"),
    ("acenic-star", "acenic"),
];

#[track_caller]
fn is_free(scenario: &str, image: &str) {
    let plain = with_image(scenario, image).run(&RunOptions::default(), |_| {});
    let outcome = look(with_image(scenario, image));
    assert_eq!(outcome.trace_hash, plain.trace_hash, "{scenario}, {image}");
    let races = outcome.races.unwrap();
    assert!(
        races.is_empty(),
        "{scenario}, {image}: {:#?}",
        pairs(&races)
    );
}

#[test]
fn our_firmware_for_two_cpus_has_no_race_and_results_do_not_change() {
    for (scenario, image) in FREE {
        is_free(scenario, image);
    }
}

#[test]
fn nor_has_it_under_losses() {
    if !runs_long("races under losses") {
        return;
    }
    for (scenario, image) in FREE_TOO {
        is_free(scenario, image);
    }
}

const NOP: u32 = 0;

/// `sw $zero, offset(base)` of a semaphore's register.
fn is_toggle(word: u32) -> bool {
    word >> 26 == 0x2B && word >> 16 & 31 == 0 && matches!(word & 0xFFFF, 0x48 | 0x4C)
}

/// `lw rt, offset(base)` of the register that the toggle writes.
fn looks_at(word: u32, toggle: u32) -> bool {
    let place = |word: u32| (word >> 21 & 31, word & 0xFFFF);
    word >> 26 == 0x23 && place(word) == place(toggle)
}

/// A change of a file: offsets of words, and the new words.
type Mutation = Vec<(usize, u32)>;

/// Mutations of an image's file that each remove one critical section: the semaphore is neither taken nor released there.
fn without_semaphore(file: &[u8], image: &Image) -> Vec<Mutation> {
    let mut mutations: Vec<Mutation> = Vec::new();
    for segment in image
        .segments
        .iter()
        .filter(|segment| !segment.bytes.is_empty())
    {
        let mut places = file.windows(segment.bytes.len());
        let start = places.position(|part| part == segment.bytes).unwrap();
        let words = segment.bytes.chunks_exact(4);
        let words: Vec<_> = words
            .map(|word| u32::from_be_bytes(word.try_into().unwrap()))
            .collect();
        let offset = |index: usize| start + 4 * index;
        // In these runs, one CPU alone counts each of the rare events.
        let counts = |index: usize| {
            let address = segment.run_address + 4 * index as u32;
            let mut symbols = image.symbols.iter();
            let symbol =
                symbols.find(|symbol| address.wrapping_sub(symbol.address) < symbol.size_bytes);
            symbol.is_some_and(|symbol| symbol.name.contains("count_rarely"))
        };
        let mut open: Option<Mutation> = None;
        let toggles = (0..words.len()).filter(|&index| is_toggle(words[index]));
        for at in toggles.filter(|&index| !counts(index)) {
            let mut behind = at + 1..words.len().min(at + 4);
            match behind.find(|&look| looks_at(words[look], words[at])) {
                // It is taken: the look at it always succeeds.
                Some(look) => {
                    mutations.extend(open.take());
                    let taken = 0x2400_0001 | words[look] & 31 << 16;
                    open = Some(vec![(offset(at), NOP), (offset(look), taken)]);
                }
                None => {
                    if let Some(open) = &mut open {
                        open.push((offset(at), NOP));
                    }
                }
            }
        }
        mutations.extend(open);
    }
    mutations
}

/// Scenarios for mutated firmware.
const RUNS: [&str; 2] = ["restart", "star-with-loss"];
/// `break`, which stops the CPU.
const BREAK: u32 = 0xD;

/// The result of a scenario with a changed file.
fn mutated(scenario: &str, file: &[u8], mutation: &[(usize, u32)]) -> RunSummary {
    let mut file = file.to_vec();
    for &(offset, word) in mutation {
        file[offset..offset + 4].copy_from_slice(&word.to_be_bytes());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mutated.elf");
    fs::write(&path, file).unwrap();
    let text = own::project_scenarios().join(format!("{scenario}.toml"));
    let text = format!("image = {path:?}\n{}", fs::read_to_string(text).unwrap());
    let scenario = lanigon_workloads::parse("test.toml", &text).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    simulation.look_for_races().unwrap();
    // What is broken may run for ever.
    let options = RunOptions {
        max_time: Some(SimTime::from_us(5000)),
        ..RunOptions::default()
    };
    simulation.run(&options, |_| {})
}

/// Whether the scenario executes what the mutation changes.
fn is_executed(scenario: &str, file: &[u8], mutation: &Mutation) -> bool {
    let stops = [(mutation[0].0, BREAK)];
    !mutated(scenario, file, &stops).stopped.is_empty()
}

fn is_caught(scenario: &str, file: &[u8], mutation: &Mutation) -> bool {
    let races = mutated(scenario, file, mutation).races;
    races.is_some_and(|races| !races.is_empty())
}

#[test]
fn a_missing_semaphore_is_caught() {
    if !runs_long("removed semaphores") {
        return;
    }
    let (mut caught, mut escaped) = (0, Vec::new());
    for image in ["emp-so", "emp-ro", "emp-dsr", "emp-sr"] {
        let file = fs::read(own::project_images("tigon2").join(image)).unwrap();
        let original = with_image("restart", image);
        for mutation in without_semaphore(&file, original.images.image_of(0)) {
            let mut runs = RUNS.iter();
            if !runs.clone().any(|run| is_executed(run, &file, &mutation)) {
                continue;
            }
            match runs.any(|run| is_caught(run, &file, &mutation)) {
                true => caught += 1,
                false => escaped.push((image, mutation.clone())),
            }
        }
    }
    let all = caught + escaped.len();
    assert!(
        all >= 20 && 20 * caught >= 19 * all,
        "{caught} of {all} are caught, not {escaped:x?}"
    );
}
