//! The defect of the image `race-two-cpus`, and its proof.

use emulator::tigon2::board::Tigon2;
use std::sync::{Arc, Mutex};

use defs::tigon2::map::GENERAL_BASE;
use emulator::board::Stops;
use emulator::image::Image;
use emulator::observe::event::{Details, TraceEvent, TraceKind};
use emulator::observe::stream::Observer;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_worlds::files::own;
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// Address of the pool's count.
const FREE: u32 = GENERAL_BASE;
const BUFFERS: u32 = 8;

/// An access to the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Access {
    cpu: Initiator,
    writes: bool,
    time: SimTime,
}

/// Simulation of the example, with this image.
fn simulation(image: &str) -> Simulation {
    let path = own::project_scenarios().join("race.toml");
    let mut scenario = lanigon_workloads::load(&path).unwrap();
    for node in &mut scenario.nodes {
        image.clone_into(&mut node.image.name);
    }
    Simulation::new(&scenario).unwrap()
}

/// Instructions of a function that read or write the count: those with an offset of 0.
fn accesses(image: &Image, function: &str) -> Vec<(u32, bool)> {
    let mut symbols = image.symbols.iter();
    let symbol = symbols.find(|symbol| symbol.name.ends_with(function));
    let symbol = symbol.expect(function);
    let (start, text) = image
        .load_parts()
        .find(|(start, bytes)| (*start..*start + bytes.len() as u32).contains(&symbol.address))
        .unwrap();
    let from = (symbol.address - start) as usize;
    let code = text[from..from + symbol.size_bytes as usize].chunks_exact(4);
    let code = code.map(|word| u32::from_be_bytes(word.try_into().unwrap()));
    let places = (symbol.address..).step_by(4).zip(code);
    let accesses = places.filter_map(|(pc, word)| match (word >> 26, word as u16) {
        (0x23, 0) => Some((pc, false)),
        (0x2B, 0) => Some((pc, true)),
        _ => None,
    });
    accesses.collect()
}

struct Keep(Vec<(u32, bool)>, Arc<Mutex<Vec<Access>>>);

impl Observer for Keep {
    fn details(&self) -> Details {
        Details::STOPS
    }

    fn event(&mut self, event: &TraceEvent) {
        let known = self.0.iter().find(|(pc, _)| Some(*pc) == event.pc);
        if let (TraceKind::Breakpoint, Some(&(_, writes))) = (&event.kind, known) {
            self.1.lock().unwrap().push(Access {
                cpu: event.initiator,
                writes,
                time: event.time,
            });
        }
    }
}

/// All accesses to the count until the end of the run, and the final count.
fn watched(image: &str) -> (Vec<Access>, u32, RunEnd) {
    let mut simulation = simulation(image);
    let take = accesses(simulation.images.image_of(0), "take_buffer");
    let give = accesses(simulation.images.image_of(0), "give_back");
    assert_eq!((take.len(), give.len()), (2, 2), "a read and a write each");
    let places = |of: &[(u32, bool)]| of.iter().map(|(pc, _)| *pc).collect();
    let stops = Stops::at([places(&take), places(&give)]);
    simulation.world.nodes[0].inspect_mut().set_stops(stops);
    let seen = Arc::default();
    let keep = Keep([take, give].concat(), Arc::clone(&seen));
    simulation.world.observe(Box::new(keep));
    let outcome = simulation.run(&RunOptions::default(), |_| {});
    simulation.world.finish_observing();
    let count = simulation.world.nodes[0]
        .board::<Tigon2>()
        .fabric
        .sram
        .word(FREE);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, count, outcome.end)
}

/// Effect of each access on the count; returns the final count, and the four accesses of each lost update:
/// both CPUs read before either writes.
fn replay(accesses: &[Access]) -> (u32, Vec<[Access; 4]>) {
    let mut count = BUFFERS;
    let mut read = [0; 2];
    let mut lost = Vec::new();
    for (index, access) in accesses.iter().enumerate() {
        let cpu = usize::from(access.cpu == Initiator::Cpu(1));
        if !access.writes {
            read[cpu] = count;
            continue;
        }
        if read[cpu] != count {
            let four = &accesses[index - 3..=index];
            lost.push(four.try_into().unwrap());
        }
        count = if cpu == 0 {
            read[cpu] - 1
        } else {
            read[cpu] + 1
        };
    }
    (count, lost)
}

#[test]
fn one_update_is_lost_and_found_out_later() {
    let (accesses, count, end) = watched("race-two-cpus");
    assert_eq!(end, RunEnd::Completed);
    let (replayed, lost) = replay(&accesses);
    assert_eq!(replayed, count, "nobody else changes the count");
    assert_ne!(count, BUFFERS);
    let [four] = lost[..] else {
        panic!("{} updates were lost, not one", lost.len());
    };
    let [first, second, third, last] = four;
    assert_eq!(four.map(|access| access.writes), [false, false, true, true]);
    assert_ne!(first.cpu, second.cpu);
    assert_ne!(third.cpu, last.cpu);
    // Most updates are correct, and several lost updates precede the detection.
    let rounds = accesses.iter().filter(|access| access.writes).count();
    assert!(rounds > 500, "{rounds}");
    let after = accesses.iter().filter(|access| access.time > last.time);
    assert!(after.count() >= 8);
}

#[test]
fn with_the_semaphore_on_both_sides_nothing_is_lost() {
    let (accesses, _, end) = watched("race-two-cpus-fixed");
    assert!(matches!(end, RunEnd::TimeLimit(_)), "{end:?}");
    let (_, lost) = replay(&accesses);
    assert!(accesses.len() > 10_000 && lost.is_empty(), "{lost:?}");
}
