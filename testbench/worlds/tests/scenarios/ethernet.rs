//! Ethernet on any number of CPUs: frames in their order, losses, wrong keys, races, mutated firmware.

use std::fs;

use cases::runs_long;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_workloads::ethernet::EthernetUse;
use lanigon_worlds::files::own;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// Both ways to restore the order of frames, with the cost that each needs.
const ORDERS: [(&str, u32); 2] = [("locks", 0), ("bits", 1)];

/// A scenario on boards with so many CPUs.
fn text(image: &str, cpus: u32, (order, bits): (&str, u32), program: &str, more: &str) -> String {
    format!(
        "board = \"tigon-n\"\nimage = {image:?}\n{more}\n[network]\ntopology = \"pair\"\nlink = {{ speed_mbit = 10_000 }}\n\
         [costs]\ncore.cpus = {cpus}\ncore.clock = 166_000_000\ncore.semaphores = 4\ncore.bit_instructions = {bits}\n\
         sram.banks = 4\nsram.width = 16\npci.clock = 166_000_000\npci.width = 32\npci.burst_overhead = 0\n\
         dma.start = 20\ndma.read_latency = 50\nmac.transmit_start = 0\n\
         [[program]]\nrun = \"ethernet\"\nfrom = 0\nto = 1\norder = \"{order}\"\n{program}\n"
    )
}

/// The results of a run that ends well.
#[track_caller]
fn result(text: &str) -> EthernetUse {
    let outcome = super::good(text);
    let results = outcome.results::<EthernetUse>();
    assert_eq!(results.len(), 1);
    results[0].clone()
}

/// Every run checks the bytes and the order of its frames.
#[test]
fn frames_come_whole_and_in_order() {
    let programs = [
        "bytes = 1518\nbatch = 1\ninterval_ns = 4000",
        "bytes = 1518\nbatch = 8\nboth = true",
        "bytes = 700\nbatch = 3\nboth = true",
        "bytes = 64\nbatch = 1\ninterval_ns = 3000",
        "bytes = 65\nbatch = 16\ninterval_ns = 700\nboth = true",
    ];
    for cpus in [1, 2, 3, 6, 8] {
        for order in ORDERS {
            for (seed, program) in programs.iter().enumerate() {
                // More frames than entries of any ring of the host.
                let program = format!("frames = 600\n{program}");
                let text = text("ether-n", cpus, order, &program, &format!("seed = {seed}"));
                let result = result(&text);
                for way in &result.ways {
                    assert_eq!(
                        (way.sent, way.received, way.damaged),
                        (600, 600, 0),
                        "{text}"
                    );
                }
                assert_eq!(
                    result.ways.len(),
                    if program.contains("both") { 2 } else { 1 }
                );
                assert_eq!(result.lost, 0, "{text}");
            }
        }
    }
}

/// The published design: six CPUs of 166 MHz fill 10 Gb/s both ways with 812 744 frames a second each.
#[test]
fn six_cpus_fill_the_link() {
    for order in ORDERS {
        let program = "frames = 2000\nboth = true";
        let result = result(&text("ether-n", 6, order, program, ""));
        for way in &result.ways {
            assert!((811_000.0..814_500.0).contains(&way.per_second), "{way:?}");
        }
    }
}

#[test]
fn an_offered_load_leaves_cpus_idle() {
    let program = "frames = 100\ninterval_ns = 100_000\nboth = true";
    let text = text("ether-n", 2, ORDERS[1], program, "");
    let outcome = super::good(&text);
    let result = &outcome.results::<EthernetUse>()[0];
    for way in &result.ways {
        assert!((9_900.0..10_100.0).contains(&way.per_second), "{way:?}");
    }
    assert!(outcome.boards[0].share("cpu_a").unwrap() < 0.5);
}

/// Frames that come faster than they are taken are dropped by the board; what the network loses is lost. Both are told, and nothing else
/// is wrong.
#[test]
fn losses_are_counted() {
    let program = "frames = 4000\nbytes = 64\nboth = true\nbatch = 16";
    let overload = result(&text("ether-n", 8, ORDERS[1], program, ""));
    let lossy = result(&text(
        "ether-n",
        4,
        ORDERS[0],
        "frames = 500\nboth = true",
        "faults.loss = 0.05",
    ));
    for result in [&overload, &lossy] {
        let all = result.ways.iter().map(|way| way.received + way.lost);
        let sent = result.ways.iter().map(|way| way.sent);
        assert_eq!(all.sum::<u64>(), sent.sum::<u64>());
    }
    assert!(overload.lost > 100, "{overload:?}");
    assert!((20..90).contains(&lossy.lost), "{lossy:?}");
}

fn look(text: &str) -> RunSummary {
    let scenario = lanigon_workloads::parse("test.toml", text).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    simulation.look_for_races().unwrap();
    let options = RunOptions {
        max_time: Some(SimTime::from_us(5000)),
        ..RunOptions::default()
    };
    simulation.run(&options, |_| {})
}

#[test]
fn no_run_has_a_race() {
    for cpus in [1, 2, 4, 6, 8] {
        for order in ORDERS {
            for program in ["batch = 8", "batch = 1", "batch = 4\nbytes = 64"] {
                let program = format!("frames = 300\nboth = true\n{program}");
                let outcome = look(&text("ether-n", cpus, order, &program, ""));
                let is_done = outcome.end == RunEnd::Completed;
                assert!(
                    is_done && outcome.is_good(),
                    "{cpus} {order:?} {program}: {outcome:?}"
                );
            }
        }
    }
}

/// A change of a file: offsets of words, and the new words.
type Mutation = Vec<(usize, u32)>;

const NOP: u32 = 0;

/// Mutations of the instructions that keep the order: a bit is not set, a run is never taken, or is taken before it is done.
fn without_order(words: &[u32]) -> Vec<Mutation> {
    /// `setb $2, $3` and `update $2, $2, $3`.
    const SETB: u32 = 0x0043_0028;
    const UPDATE: u32 = 0x0043_1029;
    /// `addu $2, $3, $0` and `addiu $2, $3, 1`.
    const TAKES_NOTHING: u32 = 0x0060_1021;
    const TAKES_ONE: u32 = 0x2462_0001;
    let changes = [(SETB, NOP), (UPDATE, TAKES_NOTHING), (UPDATE, TAKES_ONE)];
    let of = |(from, to): (u32, u32)| {
        let places = words
            .iter()
            .enumerate()
            .filter(move |(_, word)| **word == from);
        places.map(move |(index, _)| vec![(4 * index, to)])
    };
    changes.into_iter().flat_map(of).collect()
}

/// Mutations in which a CPU takes a semaphore whether it is free or not: `sw $zero, 0(base)`, and soon `lw` from there.
fn without_locks(words: &[u32]) -> Vec<Mutation> {
    let mut mutations = Vec::new();
    for (index, window) in words.windows(4).enumerate() {
        let base = window[0] >> 21 & 31;
        let takes = window[0] & 0xFC1F_FFFF == 0xAC00_0000 && base != 29;
        let look = |word: &u32| word & 0xFFE0_FFFF == 0x8C00_0000 | base << 21;
        if let Some(behind) = window[1..].iter().position(look).filter(|_| takes) {
            let taken = 0x2400_0001 | window[behind + 1] & 0x001F_0000;
            mutations.push(vec![(4 * index, NOP), (4 * (index + behind + 1), taken)]);
        }
    }
    mutations
}

/// Images without what keeps their order: the checks of frames, or the search for races, tell.
#[test]
fn mutated_firmware_is_caught() {
    if !runs_long("mutated Ethernet firmware") {
        return;
    }
    let file = fs::read(own::project_images("tigon2").join("ether-n")).unwrap();
    let words: Vec<u32> = file
        .chunks_exact(4)
        .map(|word| u32::from_be_bytes(word.try_into().unwrap()))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mutated.elf");
    let kinds = [
        (without_order(&words), ORDERS[1]),
        (without_locks(&words), ORDERS[0]),
    ];
    for (mutations, order) in kinds {
        assert!(mutations.len() >= 4, "{mutations:x?}");
        let is_caught = |mutation: &&Mutation| {
            let mut file = file.clone();
            for &(place, word) in *mutation {
                file[place..place + 4].copy_from_slice(&word.to_be_bytes());
            }
            fs::write(&path, file).unwrap();
            let program = "frames = 300\nboth = true\nbatch = 2";
            let outcome = look(&text(path.to_str().unwrap(), 6, order, program, ""));
            !outcome.is_good() || outcome.end != RunEnd::Completed
        };
        let caught = mutations.iter().filter(is_caught).count();
        eprintln!("{caught} of {}", mutations.len());
        // A look for a further run, behind the own one, need not find any.
        assert!(
            3 * caught >= 2 * mutations.len(),
            "{caught} of {mutations:x?}"
        );
    }
}

#[test]
fn wrong_programs_are_told() {
    let refused = |program: &str, expected: &str| {
        let text = text("ether-n", 2, ORDERS[0], program, "");
        let text = text.replace(
            "to = 1",
            if program.is_empty() {
                "to = 0"
            } else {
                "to = 1"
            },
        );
        let error = lanigon_workloads::parse("test.toml", &text).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    refused("", "a node sends no frames to itself");
    refused("bytes = 63", "64");
    refused("batch = 17", "16");
    let text = text("ether-n", 2, ORDERS[0], "", "");
    let error = lanigon_workloads::parse("test.toml", &text.replace("image = \"ether-n\"\n", ""));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("image = \"ether-n\""), "{error}");
}

/// Boards without bit instructions stop at the first one; other firmware does not serve the rings.
#[test]
fn unfit_boards_and_images_are_told() {
    let problems = |text: &str| {
        let outcome = super::run(text, &RunOptions::default());
        assert!(!outcome.is_good());
        format!("{:?}", outcome.problems)
    };
    let without = problems(&text("ether-n", 2, ("bits", 0), "frames = 10", ""));
    assert!(without.contains("no instruction"), "{without}");
    let other = problems(&text("emp-dyn-n", 2, ORDERS[0], "frames = 10", ""));
    assert!(other.contains("is it an Ethernet firmware"), "{other}");
}
