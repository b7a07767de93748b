//! Costs of the host's side of a node; a board's timing profile supplies the values.

use emulator_base::time::SimTime;

/// Costs of the PCI bus as the processor sees it, and of the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCosts {
    /// Clock of the PCI bus.
    pub pci_clock_hz: u64,
    /// A programmed read, from the instruction to its result.
    pub pio_read: SimTime,
    /// The way of a read from the processor to the bus.
    pub pio_read_request: SimTime,
    /// Bus clocks of it.
    pub pio_read_bus_clocks: u32,
    /// The way back from the bus to the processor, at least.
    pub pio_read_return: SimTime,
    /// Processor time of each word of a programmed write.
    pub pio_write: SimTime,
    /// Bus clocks of a write transaction; each word adds one.
    pub pio_write_setup_clocks: u32,
    /// The system call that translates the pages of a buffer: the first page.
    pub translate: SimTime,
    /// Each further page of the same call.
    pub translate_page: SimTime,
    /// CPUs of the host.
    pub cpus: u32,
    /// Time from the rise of the interrupt line to the kernel's handler.
    pub interrupt: SimTime,
    /// CPU time that the kernel's handler takes until it wakes the programs that wait for the interrupt.
    pub interrupt_work: SimTime,
    /// Time from the wake of a program that sleeps until it is runnable.
    pub wake_up: SimTime,
    /// CPU time to exchange the program of a CPU.
    pub context_switch: SimTime,
    /// The time for which a program keeps its CPU while others wait for one.
    pub time_slice: SimTime,
    /// A system call that does next to nothing, such as the registration of a signal handler.
    pub system_call: SimTime,
    /// CPU time to deliver a signal: from the kernel to the first instruction of the handler.
    pub signal: SimTime,
    /// CPU time to return from a signal handler.
    pub signal_return: SimTime,
    /// Handlers of light interrupts.
    pub trap: TrapCosts,
    /// Time of a poll of a word of host memory that is in the cache; not zero.
    pub memory_poll: SimTime,
    /// Additional cost of a poll that finds a write of the board.
    pub memory_miss: SimTime,
    /// The host library's own instructions of one post.
    pub post: SimTime,
    /// Copies from memory to memory.
    pub copy: CopyCosts,
    /// Processor time of a message-passing library for each send and each receive, beside copies. Zero if a profile does not state it.
    pub mpi_call: SimTime,
    /// Processor times of shared memory over the network, besides the times above.
    pub dsm: DsmCosts,
    /// Processor times of an operating system's network.
    pub kernel: KernelCosts,
}

/// Processor times of an operating system that is a host outside, for its network. Zero, all, if a profile does not state them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KernelCosts {
    /// A driver's handler of an interrupt, beside its accesses to the board.
    pub interrupt: SimTime,
    /// A frame that is sent, from the socket to the driver.
    pub send: SimTime,
    /// A frame that is received, from the driver to the socket.
    pub receive: SimTime,
    /// Time of a byte that the kernel copies to or from a process.
    pub copy_byte: SimTime,
    /// Time of a byte that the kernel adds to a checksum.
    pub sum_byte: SimTime,
}

/// Processor times of a light interrupt, which changes no context, and of the arithmetic in its handler. Zero, all, if a profile does not
/// state them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrapCosts {
    /// From the rise of the interrupt line to the first instruction of the handler.
    pub entry: SimTime,
    /// From the end of the handler to the next instruction of the program that it has interrupted.
    pub exit: SimTime,
    /// An operand of 64 bits that the board has written: the load, the operation.
    pub operand: SimTime,
}

/// Processor times of shared memory over the network. Zero, all, if a profile does not state them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DsmCosts {
    /// A post of a write into another node's memory, or of a message, of no bytes, beside the library's own instructions.
    pub post: SimTime,
    /// Each byte of it.
    pub post_byte: SimTime,
    /// Additional time of a post that calls a handler.
    pub immediate: SimTime,
    /// A handler gives back the place of the request that it has received.
    pub receive: SimTime,
    /// Additional time of an atomic operation, besides the board's own time.
    pub atomic: SimTime,
    /// Additional time for each byte of a read of another node's memory, besides the board's own time.
    pub get_byte: SimTime,
}

/// Costs of a copy from memory to memory that a library makes. Zero, both, if a profile does not state them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyCosts {
    /// A copy of no bytes: the call, the first miss of the cache.
    pub start: SimTime,
    /// Each byte.
    pub byte: SimTime,
}

impl CopyCosts {
    /// Processor time of a copy.
    pub fn copy_time(self, bytes: usize) -> SimTime {
        let ps = self.byte.ps().saturating_mul(bytes as u64);
        SimTime::from_ps(self.start.ps().saturating_add(ps))
    }
}

impl HostCosts {
    /// The costs of a host whose kernel gives each interrupt of the board to a light handler at once: it takes the place of the signal, and
    /// nothing comes before it.
    #[must_use]
    pub const fn with_light_interrupts(self) -> Self {
        Self {
            interrupt: SimTime::ZERO,
            interrupt_work: SimTime::ZERO,
            signal: self.trap.entry,
            signal_return: self.trap.exit,
            ..self
        }
    }

    /// The time at which a value that was asked for and sampled at these times is back at the processor.
    #[inline]
    pub fn back_at(&self, asked: SimTime, sampled: SimTime) -> SimTime {
        (asked + self.pio_read).max(sampled + self.pio_read_return)
    }
}
