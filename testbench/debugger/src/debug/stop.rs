//! Stops of a session: instructions, writes to memory, accesses to registers, and events.

use emulator::board::CpuId;
use std::sync::{Arc, Mutex, PoisonError};

use defs::emp::fields::Field;
use defs::emp::frame::{ETHERTYPE, Kind, WORD_TYPE_KIND};
use emulator::board::{Stops, Watchpoint};
use emulator::debug::Search;
use emulator::observe::event::{Details, FrameHead, Place, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;

use super::condition::Condition;
use lanigon_analysis::trace::filter::Filter;

/// The CPU that acts, if one does.
fn cpu_of(who: Initiator) -> Option<CpuId> {
    who.cpu().map(CpuId::new)
}

/// Scope of a stop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The nodes; `None`: all.
    pub nodes: Option<Vec<usize>>,
    /// The CPU; any without.
    pub cpu: Option<CpuId>,
}

impl Scope {
    fn has_node(&self, node: usize) -> bool {
        self.nodes
            .as_ref()
            .is_none_or(|nodes| nodes.contains(&node))
    }

    fn has_cpu(&self, cpu: CpuId) -> bool {
        self.cpu.is_none_or(|only| only == cpu)
    }

    fn has(&self, event: &TraceEvent) -> bool {
        let node = match event.place {
            Place::Node(node) => self.has_node(node.into()),
            Place::Switch(_) => self.nodes.is_none(),
        };
        let cpu = match (&event.kind, event.initiator) {
            // The register's CPU counts, not the initiator.
            (TraceKind::EventRaised { cpu, .. }, _) => Some(CpuId::new(*cpu as usize & 0xFF)),
            (_, who) => cpu_of(who),
        };
        node && (self.cpu.is_none() || self.cpu == cpu)
    }
}

/// Kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read accesses.
    Read,
    /// Write accesses.
    Write,
    /// Reads and writes.
    Any,
}

/// Addresses of instructions, by CPU.
pub type CodeAddresses = Vec<Vec<u32>>;

/// Condition of a stop.
#[derive(Debug)]
pub enum StopCondition {
    /// A CPU reaches one of these instructions, by CPU.
    Instruction(CodeAddresses),
    /// Memory is about to be written by any initiator.
    Write {
        /// First address.
        address: u32,
        /// Length in bytes.
        length: u32,
        /// CPU that sees the memory at this address.
        cpu: CpuId,
        /// Whether the memory belongs to that CPU alone.
        private: bool,
    },
    /// A CPU or the host accesses a register.
    Register {
        /// Address in the CPUs' address space.
        address: u32,
        /// Kind of access.
        access: Access,
    },
    /// One of these bits is set in an event register.
    Raised(u32),
    /// A MAC sends or has received a frame with this head.
    Frame(FrameHeads),
    /// An event matches a filter. (A filter caches symbols.)
    Event(Box<Mutex<Filter>>),
}

/// Pattern of a frame's head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrameHeads {
    /// Words by index, with values.
    pub words: Vec<(usize, u32)>,
    /// Fields of an EMP frame, with values.
    pub fields: Vec<(Field, u32)>,
}

impl FrameHeads {
    fn has(&self, head: &FrameHead) -> bool {
        let word = |index: usize| head.get(index).copied().unwrap_or(0);
        let words = || {
            self.words
                .iter()
                .all(|&(index, value)| word(index) == value)
        };
        let first = word(WORD_TYPE_KIND);
        let kind = Kind::from_word(first).filter(|_| first >> 16 == u32::from(ETHERTYPE));
        let holds = |(field, value): &(Field, u32)| {
            kind.is_some_and(|kind| field.is_in(kind)) && field.of(word) == *value
        };
        words() && self.fields.iter().all(holds)
    }
}

/// A stop of a session.
#[derive(Debug)]
pub struct Stop {
    /// Number for the user; 0 for a temporary stop of one command.
    pub number: u32,
    /// Text as given by the user.
    pub text: String,
    /// Nodes and CPUs to which the stop applies.
    pub scope: Scope,
    /// Condition of the event.
    pub what: StopCondition,
    /// Additional condition.
    pub condition: Option<Condition>,
}

impl Stop {
    /// Whether an event meets the stop.
    #[must_use]
    pub fn is(&self, event: &TraceEvent) -> bool {
        self.scope.has(event) && self.meets(event)
    }

    fn meets(&self, event: &TraceEvent) -> bool {
        match (&self.what, &event.kind) {
            (StopCondition::Instruction(addresses), TraceKind::Breakpoint) => {
                let cpu = cpu_of(event.initiator).unwrap_or_default();
                let own = addresses.get(cpu.index());
                let (own, pc) = (own.map_or(&[][..], Vec::as_slice), event.pc);
                pc.is_some_and(|pc| own.contains(&pc))
            }
            (
                StopCondition::Write {
                    address,
                    length,
                    cpu,
                    private,
                },
                TraceKind::MemoryWrite {
                    address: first,
                    length: bytes,
                },
            ) => {
                let writer = cpu_of(event.initiator).unwrap_or_default();
                (!*private || *cpu == writer)
                    && *first < address.saturating_add(*length)
                    && *address < first.saturating_add(*bytes)
            }
            (
                StopCondition::Register { address, access },
                TraceKind::RegisterRead {
                    address: register, ..
                },
            ) => *access != Access::Write && address == register,
            (
                StopCondition::Register { address, access },
                TraceKind::RegisterWrite {
                    address: register, ..
                },
            ) => *access != Access::Read && address == register,
            (StopCondition::Raised(bits), TraceKind::EventRaised { bits: raised, .. }) => {
                bits & raised != 0
            }
            (StopCondition::Frame(heads), TraceKind::FrameHead { head, .. }) => heads.has(head),
            (StopCondition::Event(filter), _) => {
                let mut filter = filter.lock().unwrap_or_else(PoisonError::into_inner);
                filter.passes(event)
            }
            _ => false,
        }
    }

    /// Details that must be recorded for the stop.
    fn details(&self) -> Details {
        match &self.what {
            StopCondition::Instruction(_) | StopCondition::Write { .. } => Details::STOPS,
            StopCondition::Register { .. } => Details::REGISTERS,
            StopCondition::Raised(_) => Details::EVENTS,
            StopCondition::Frame(_) => Details::FRAMES,
            StopCondition::Event(filter) => {
                let filter = filter.lock().unwrap_or_else(PoisonError::into_inner);
                filter.details()
            }
        }
    }

    /// Adds breakpoints and watchpoints of a node's board.
    fn arm(&self, node: usize, stops: &mut Stops) {
        if !self.scope.has_node(node) {
            return;
        }
        match &self.what {
            StopCondition::Instruction(addresses) => {
                for (index, addresses) in addresses.iter().enumerate() {
                    let cpu = CpuId::new(index);
                    let addresses = addresses.iter().filter(|_| self.scope.has_cpu(cpu));
                    for &address in addresses {
                        stops.add_breakpoint(cpu, address);
                    }
                }
            }
            &StopCondition::Write {
                address,
                length,
                cpu,
                ..
            } => stops.watches.push(Watchpoint {
                address,
                length,
                cpu,
            }),
            StopCondition::Register { .. }
            | StopCondition::Raised(_)
            | StopCondition::Frame(_)
            | StopCondition::Event(_) => {}
        }
    }
}

/// Breakpoints and watchpoints of a node's board for these stops.
#[must_use]
pub fn stops_of(node: usize, stops: &[Arc<Stop>]) -> Stops {
    let mut all = Stops::default();
    stops.iter().for_each(|stop| stop.arm(node, &mut all));
    all
}

/// Search for any of the stops.
#[must_use]
pub fn search(stops: &[Arc<Stop>]) -> Search {
    let details = stops.iter().map(|stop| stop.details());
    let details = details.fold(Details::empty(), |all, one| all | one);
    let stops = stops.to_vec();
    Search {
        details,
        is: Arc::new(move |event| stops.iter().any(|stop| stop.is(event))),
    }
}
