//! A host with a scripted board, and notes of its programs.

use std::future::Future;
use std::sync::{Arc, Mutex};

use emulator::host::accounts::CpuTime;
use emulator::host::machine::Machine;
use emulator::profile::costs::HostCosts;
use emulator::sim::initiator::Initiator;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use emulator::tigon2::timing::Timing;
use host_lib::window::{MemoryWatch, PolledWord, SystemPort, VirtualAddress, WindowWatch};

use crate::script::{Act, INTERRUPT, Script};

/// Notes of programs, each with its time in picoseconds.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<(String, u64)>>>);

impl Notes {
    pub fn add(&self, machine: &Machine, text: impl Into<String>) {
        self.0.lock().unwrap().push((text.into(), machine.now_ps()));
    }
}

pub struct Bench {
    pub world: World,
    pub notes: Notes,
    /// Virtual and physical address of a page.
    pub page: (u64, u64),
}

/// One CPU, and costs that are easy to add up.
pub fn costs() -> HostCosts {
    let timing = Timing::built_in("tigon2-88mhz").unwrap();
    HostCosts {
        cpus: 1,
        pci_clock_hz: 100_000_000,
        pio_read: ns(400),
        interrupt: INTERRUPT,
        interrupt_work: ns(500),
        wake_up: ns(300),
        context_switch: us(1),
        system_call: ns(300),
        signal: ns(1500),
        signal_return: ns(800),
        time_slice: us(100),
        memory_poll: ns(10),
        memory_miss: ns(100),
        ..timing.host
    }
}

pub const fn us(us: u64) -> SimTime {
    SimTime::from_us(us)
}

pub const fn ns(ns: u64) -> SimTime {
    SimTime::from_ns(ns)
}

/// A word of the page that is to be `expected`.
pub const fn memory(page: u64, word: u64, expected: u32) -> PolledWord {
    PolledWord::Memory(MemoryWatch {
        address: VirtualAddress(page + 4 * word),
        mask: u32::MAX,
        expected,
    })
}

/// A word of the window that is to be `expected`.
pub const fn window(word: u32, expected: u32) -> PolledWord {
    PolledWord::Window(WindowWatch {
        before: None,
        offset: 4 * word,
        mask: u32::MAX,
        expected,
    })
}

impl Bench {
    pub fn new(costs: &HostCosts) -> Self {
        let mut node = Node::new(0, Script::default(), costs, 1);
        let page = node.with_board::<Script, _>(|_, ctx| {
            ctx.with_memory(|memory| memory.allocate_contiguous(4096))
        });
        Self {
            world: World::new(vec![node]),
            notes: Notes::default(),
            page: page.unwrap(),
        }
    }

    /// The board acts at `time`.
    pub fn at(&mut self, time: SimTime, act: Act) {
        self.world.nodes[0].with_board::<Script, _>(|_, ctx| {
            ctx.schedule(time, Initiator::DmaWrite, act);
        });
    }

    /// The board writes a word of the page at `time`.
    pub fn write_at(&mut self, time: SimTime, word: u64, value: u32) {
        self.at(time, Act::Memory(self.page.1 + 4 * word, value));
    }

    pub fn spawn<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        name: &str,
        program: impl FnOnce(Machine, Notes) -> F,
    ) {
        let notes = self.notes.clone();
        let programs = &mut self.world.nodes[0].programs;
        programs.spawn(name, |machine| program(machine, notes));
    }

    /// Runs to the end; gives the notes by time.
    pub fn run(&mut self) -> Vec<(String, u64)> {
        let limits = RunLimits {
            max_time: Some(SimTime::from_us(100_000)),
            ..RunLimits::default()
        };
        let end = self.world.run(&limits);
        assert_eq!(end, RunEnd::Completed);
        self.noted()
    }

    pub fn noted(&self) -> Vec<(String, u64)> {
        let mut notes = self.notes.0.lock().unwrap().clone();
        notes.sort_by_key(|(_, ps)| *ps);
        notes
    }

    pub fn cpu_time(&self, name: &str) -> CpuTime {
        let node = &self.world.nodes[0];
        let mut times = node.programs.cpu_times(node.now());
        times.find(|(other, _)| *other == name).unwrap().1
    }
}

/// Notes with times in nanoseconds.
pub fn notes(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    let note = |(text, ns): &(&str, u64)| ((*text).to_owned(), *ns * 1000);
    expected.iter().map(note).collect()
}
