//! Breakpoints and watchpoints of gdb. They are not the session's stops: gdb removes its own at every stop,
//! and sets them again when it resumes.

use emulator::board::{Area, CpuId};
use emulator::observe::event::TraceEvent;
use gdbstub::target::ext::breakpoints::WatchKind;

use crate::debug::stop::{Access, Scope, Stop, StopCondition};

/// Largest number of registers covered by one watchpoint.
const MOST_REGISTERS: usize = 64;

/// Kind of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointKind {
    /// A software breakpoint.
    Software,
    /// A hardware breakpoint.
    Hardware,
    /// A watchpoint.
    Watch(WatchKind),
}

/// A breakpoint or watchpoint. Breakpoints apply to all CPUs of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GdbPoint {
    /// Kind of the breakpoint or watchpoint.
    pub kind: PointKind,
    /// First address.
    pub address: u32,
    /// Length in bytes.
    pub length: u32,
    /// CPU that sees the memory at this address.
    pub cpu: CpuId,
    /// Number of CPUs of the board.
    pub cpus: usize,
    /// The range of the CPU's address space with the address; `None` if it is unmapped.
    pub area: Option<Area>,
}

impl GdbPoint {
    /// Whether it matches gdb's description, which does not name the scratchpad's CPU.
    #[must_use]
    pub fn is_called(&self, kind: PointKind, address: u32, length: u32) -> bool {
        (self.kind, self.address, self.length) == (kind, address, length)
    }

    /// Stops of a session that implement it; empty if it cannot be watched.
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

    fn whats(&self) -> Vec<StopCondition> {
        let &Self {
            address,
            length,
            cpu,
            ..
        } = self;
        let kind = match self.kind {
            PointKind::Software | PointKind::Hardware => {
                return vec![StopCondition::Instruction(vec![vec![address]; self.cpus])];
            }
            PointKind::Watch(kind) => kind,
        };
        match (self.area, kind) {
            _ if length == 0 => Vec::new(),
            (
                Some(Area {
                    memory: true,
                    private,
                    ..
                }),
                WatchKind::Write,
            ) => vec![StopCondition::Write {
                address,
                length,
                cpu,
                private,
            }],
            (Some(Area { memory: false, .. }), _) => self.registers(kind),
            _ => Vec::new(),
        }
    }

    fn registers(&self, kind: WatchKind) -> Vec<StopCondition> {
        let access = match kind {
            WatchKind::Write => Access::Write,
            WatchKind::Read => Access::Read,
            WatchKind::ReadWrite => Access::Any,
        };
        let what = |address| StopCondition::Register { address, access };
        let last = self.address.saturating_add(self.length - 1) & !3;
        let words = (self.address & !3..=last).step_by(4);
        let words: Vec<_> = words.take(MOST_REGISTERS + 1).map(what).collect();
        match words.len() <= MOST_REGISTERS {
            true => words,
            false => Vec::new(),
        }
    }

    /// Whether an event meets it.
    #[must_use]
    pub fn is(&self, node: usize, event: &TraceEvent) -> bool {
        self.stops(node).iter().any(|stop| stop.is(event))
    }
}
