//! Access of a board to the node around it, while the board acts.

use std::sync::{Arc, Mutex, PoisonError};

use super::events::{HostEvent, Words};
use super::memory::{HostMemory, NoMemory};
use super::pci::PciBus;
use super::poller::Poller;
use emulator_base::initiator::Initiator;
use emulator_base::queue::{EventQueue, Shorten};
use emulator_base::time::SimTime;
use emulator_observe::tracer::Tracer;
use emulator_state::{Reader, StateError, Value, Writer};

/// An event of a node.
#[derive(Debug)]
pub enum NodeEvent<E> {
    /// For the board.
    Board(E),
    /// For the host.
    Host(HostEvent),
    /// Machine reset; the machine restarts after the pause, or never.
    Reset {
        /// The pause.
        pause: Option<SimTime>,
    },
    /// The machine is on again.
    PowerOn,
    /// Reset of the board alone.
    BoardReset,
}

impl<E: Value> Value for NodeEvent<E> {
    fn write(&self, out: &mut Writer) {
        match self {
            Self::Board(event) => {
                out.bytes(&[0]);
                event.write(out);
            }
            Self::Host(event) => {
                out.bytes(&[1]);
                event.write(out);
            }
            Self::Reset { pause } => {
                out.bytes(&[2]);
                pause.write(out);
            }
            Self::PowerOn => out.bytes(&[3]),
            Self::BoardReset => out.bytes(&[4]),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(match u8::read(from)? {
            0 => Self::Board(E::read(from)?),
            1 => Self::Host(HostEvent::read(from)?),
            2 => Self::Reset {
                pause: Value::read(from)?,
            },
            3 => Self::PowerOn,
            4 => Self::BoardReset,
            _ => return Err(StateError::Value("an event")),
        })
    }
}

/// A word that the host writes.
#[derive(Debug, Clone, Copy)]
pub struct WordWrite {
    offset: u32,
    value: u32,
}

/// A host that is ahead of its bus has thousands of words on their way to its board.
impl<E> Shorten for NodeEvent<E> {
    type Short = WordWrite;

    fn short(&self) -> Option<WordWrite> {
        match *self {
            Self::Host(HostEvent::Store {
                offset,
                values: Words::One([value]),
            }) => Some(WordWrite { offset, value }),
            _ => None,
        }
    }

    fn from_short(WordWrite { offset, value }: WordWrite) -> Self {
        let values = Words::One([value]);
        Self::Host(HostEvent::Store { offset, values })
    }
}

/// Host memory, shared between a node and the programs that run on it.
pub type SharedMemory = Arc<Mutex<HostMemory>>;

/// Environment of a board's action: time, and the node's other parts.
#[derive(Debug)]
pub struct Context<'a, E> {
    /// The time of the action.
    pub now: SimTime,
    /// No input from outside the node arrives before this time.
    pub horizon: SimTime,
    /// Earliest PCI bus request of a transfer that starts now, relative to its start.
    pub bus_lead: SimTime,
    /// Pending events.
    pub queue: &'a mut EventQueue<NodeEvent<E>>,
    /// The polls of the host.
    pub poller: &'a mut Poller,
    /// Host memory.
    pub memory: &'a SharedMemory,
    /// The PCI bus.
    pub pci: &'a mut PciBus,
    /// The trace.
    pub trace: &'a mut Tracer,
}

impl<E> Context<'_, E> {
    /// Schedules a board event.
    pub fn schedule(&mut self, time: SimTime, initiator: Initiator, event: E) {
        self.queue
            .schedule(time, initiator, NodeEvent::Board(event));
    }

    /// Schedules an event of the host.
    pub fn schedule_host(&mut self, time: SimTime, event: HostEvent) {
        self.queue
            .schedule(time, Initiator::Host, NodeEvent::Host(event));
    }

    /// Writes host memory; a program that polls a word of it sees the write.
    ///
    /// # Errors
    /// The first address where no memory answers; bytes before it have been written.
    pub fn write_memory(&mut self, physical: u64, bytes: &[u8]) -> Result<(), NoMemory> {
        let (written, polled) = self.with_memory(|memory| {
            let written = memory.write_physical(physical, bytes);
            (written, memory.take_watched_write())
        });
        if polled {
            self.schedule_host(self.now, HostEvent::MemoryWritten);
        }
        written
    }

    /// Calls `act` with host memory.
    pub fn with_memory<T>(&self, act: impl FnOnce(&mut HostMemory) -> T) -> T {
        act(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
