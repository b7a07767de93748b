//! Breakpoints and watchpoints of a board. Hits are events
//! ([`Details::STOPS`](emulator_observe::event::Details::STOPS)), recorded while an observer requests them, without other effects.

use super::CpuId;

/// Bytes of memory to watch: writes to them are hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Watchpoint {
    /// Address of the first byte.
    pub address: u32,
    /// Number of bytes.
    pub length: u32,
    /// CPU whose address this is; relevant only in its private memory.
    pub cpu: CpuId,
}

/// The breakpoints and watchpoints of a board.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stops {
    /// Sorted instruction addresses per CPU, reported before execution. CPUs without breakpoints may be missing.
    breakpoints: Vec<Vec<u32>>,
    /// Watched memory, reported before writes.
    pub watches: Vec<Watchpoint>,
}

impl Stops {
    /// Breakpoints at these addresses of each CPU, in the order of the CPUs.
    #[must_use]
    pub fn at(breakpoints: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let mut stops = Self::default();
        for (cpu, addresses) in breakpoints.into_iter().enumerate() {
            for address in addresses {
                stops.add_breakpoint(CpuId::new(cpu), address);
            }
        }
        stops
    }

    /// Watchpoints on writes to memory.
    #[must_use]
    pub fn watching(watches: Vec<Watchpoint>) -> Self {
        Self {
            breakpoints: Vec::new(),
            watches,
        }
    }

    /// The breakpoints of a CPU.
    #[must_use]
    #[inline(always)]
    pub fn breakpoints(&self, cpu: CpuId) -> &[u32] {
        match self.breakpoints.get(cpu.index()) {
            Some(breakpoints) => breakpoints,
            None => &[],
        }
    }

    /// Adds a breakpoint.
    pub fn add_breakpoint(&mut self, cpu: CpuId, address: u32) {
        let cpus = self.breakpoints.len().max(cpu.index() + 1);
        self.breakpoints.resize(cpus, Vec::new());
        let own = &mut self.breakpoints[cpu.index()];
        if let Err(place) = own.binary_search(&address) {
            own.insert(place, address);
        }
    }
}
