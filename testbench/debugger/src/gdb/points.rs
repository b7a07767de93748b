//! Breakpoints and watchpoints that gdb has set. They are not the session's own stops: gdb takes its own away whenever
//! something stops, and sets them again when it goes on.

use emulator::observe::event::TraceEvent;
use emulator::sim::initiator::Initiator;
use emulator::tigon2::map::{self, Place};
use gdbstub::target::ext::breakpoints::WatchKind;

use crate::debug::stop::{Access, Scope, Stop, What};

/// Registers that one watchpoint may cover.
const MOST_REGISTERS: usize = 64;

/// What gdb has set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A breakpoint in software, as gdb calls it.
    Software,
    /// One in hardware.
    Hardware,
    /// A watchpoint for this.
    Watch(WatchKind),
}

/// A breakpoint or watchpoint. Breakpoints hold for both CPUs of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Which kind.
    pub kind: Kind,
    /// The first byte.
    pub address: u32,
    /// Bytes.
    pub length: u32,
    /// Whose scratchpad is watched, if the address is in one.
    pub cpu: usize,
}

impl Point {
    /// Whether it is what gdb calls so: it does not say whose scratchpad it means.
    #[must_use]
    pub fn is_called(&self, kind: Kind, address: u32, length: u32) -> bool {
        (self.kind, self.address, self.length) == (kind, address, length)
    }

    /// What stops a node there. Nothing for what cannot be watched.
    #[must_use]
    pub fn stops(&self, node: usize) -> Vec<Stop> {
        let stop = |what| Stop {
            number: 0,
            text: String::new(),
            scope: Scope {
                nodes: Some(vec![node]),
                cpu: None,
            },
            what,
            condition: None,
        };
        self.whats().into_iter().map(stop).collect()
    }

    fn whats(&self) -> Vec<What> {
        let &Self {
            address,
            length,
            cpu,
            ..
        } = self;
        let kind = match self.kind {
            Kind::Software | Kind::Hardware => {
                return vec![What::Instruction([vec![address], vec![address]])];
            }
            Kind::Watch(kind) => kind,
        };
        match (map::place(Initiator::CpuA, address), kind) {
            _ if length == 0 => Vec::new(),
            (Place::Sram | Place::Scratchpad, WatchKind::Write) => vec![What::Write {
                address,
                length,
                cpu,
            }],
            (Place::Register(_), _) => self.registers(kind),
            _ => Vec::new(),
        }
    }

    fn registers(&self, kind: WatchKind) -> Vec<What> {
        let access = match kind {
            WatchKind::Write => Access::Write,
            WatchKind::Read => Access::Read,
            WatchKind::ReadWrite => Access::Any,
        };
        let what = |address| What::Register { address, access };
        let last = self.address.saturating_add(self.length - 1) & !3;
        let words = (self.address & !3..=last).step_by(4);
        let words: Vec<_> = words.take(MOST_REGISTERS + 1).map(what).collect();
        match words.len() <= MOST_REGISTERS {
            true => words,
            false => Vec::new(),
        }
    }

    /// Whether this is what an event meets.
    #[must_use]
    pub fn is(&self, node: usize, event: &TraceEvent) -> bool {
        self.stops(node).iter().any(|stop| stop.is(event))
    }
}
