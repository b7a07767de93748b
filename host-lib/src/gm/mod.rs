//! The host side of GM, on boards with a LANai or a Tigon2: start-up, ports, sends, receives (docs/gm.md).
//!
//! A program owns its buffers. It names a send's buffer and gets it back in the send's callback; it provides receive
//! buffers and gets them back, one for each message, in the event of the message. Sends and receives each have a limited
//! number of tokens. A message finds a receive buffer of its own size and priority: the sender names both.
//!
//! * [`Gm::start`] brings the board up and loads the firmware;
//! * [`Gm::open`] and [`Gm::close`] open and close a port;
//! * [`Gm::allocate_dma`] and [`Gm::register`] give memory that the board may use;
//! * [`Gm::send`] and [`Gm::send_with_callback`] send, [`Gm::provide_receive_buffer`] provides a buffer;
//! * [`Gm::receive`], [`Gm::receive_pending`] and [`Gm::try_receive`] take events, [`Gm::blocking_receive`] sleeps until there is
//!   one, [`Gm::unknown`] handles those that a program does not know;
//! * [`Gm::put`] and [`Gm::get`] write and read memory of another node that [allows](Gm::allow_remote_memory_access) it;
//! * a failed send stops its stream until [`Gm::resume_sending`] or [`Gm::drop_sends`];
//! * [`Gm::set_alarm`] asks for an event after a time;
//! * [`Gm::process`] gives another process of the host memory and ports of its own;
//! * [`mapper`] finds out how the network is wired and gives routes, for which [`Gm::await_map`] waits.
//!
//! ```
//! use host_lib::gm::{Buffer, Event, Gm, Priority, SendRequest, size_for};
//!
//! async fn pong(
//!     gm: &mut Gm,
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     gm.open(2).await?;
//!     let room = gm.allocate_dma(4096)?;
//!     let size = size_for(1000);
//!     gm.provide_receive_buffer(2, room, size, Priority::Low, 0).await?;
//!     loop {
//!         if let Event::Received(message) = gm.receive(2).await? {
//!             gm.memorize_message(&message)?;
//!             let buffer = Buffer { address: message.buffer, length: message.length };
//!             let (node, port) = (message.node, message.port);
//!             let answer = SendRequest { buffer, size, priority: Priority::Low, node, port };
//!             gm.send(2, answer).await?;
//!             return Ok(());
//!         }
//!     }
//! }
//! ```
//!
//! A table of another node is read and one of its entries is written, without a program there:
//!
//! ```
//! use host_lib::gm::{Buffer, Event, Gm, Priority, Remote, Status};
//! use host_lib::window::VirtualAddress;
//!
//! /// Waits for the end of a put or get.
//! async fn done(
//!     gm: &mut Gm,
//! ) -> Result<Status, Box<dyn std::error::Error>> {
//!     loop {
//!         match gm.blocking_receive(2).await? {
//!             Event::Sent(sent) => return Ok(sent[0].1),
//!             other => gm.unknown(2, other).await?,
//!         }
//!     }
//! }
//!
//! async fn count(
//!     gm: &mut Gm,
//!     node: u16,
//!     table: VirtualAddress,
//! ) -> Result<Status, Box<dyn std::error::Error>> {
//!     let copy = gm.allocate_dma(4096)?;
//!     let mut there = Remote { node, port: 2, priority: Priority::Low, address: table };
//!     gm.get(2, copy, there).await?;
//!     if done(gm).await? != Status::Success {
//!         gm.resume_sending(2, node, 2, Priority::Low).await?;
//!         return Ok(Status::Dropped);
//!     }
//!     let mut entry = [0; 8];
//!     gm.system().read_memory(copy.address, &mut entry).map_err(|_| "not mapped")?;
//!     let next = u64::from_be_bytes(entry) + 1;
//!     gm.system_mut().write_memory(copy.address, &next.to_be_bytes()).map_err(|_| "not mapped")?;
//!     there.address = table;
//!     gm.put(2, Buffer { length: 8, ..copy }, there).await?;
//!     done(gm).await
//! }
//! ```

mod alarm;
pub mod atomic;
mod board;
mod call;
pub(crate) mod channel;
pub mod collective;
mod config;
mod driver;
mod error;
mod mapped;
pub mod mapper;
mod memory;
mod port;
mod receive;
mod send;
mod signals;
mod start;
mod table;
#[cfg(test)]
mod tests;
mod view;

use defs::gm::layout::Layout;
use defs::gm::map::{COUNTERS, Counter, RECEIVER_COUNTERS};

pub use alarm::AlarmId;
pub use board::{Family, ethernet_route};
pub use call::Call;
pub use channel::ChannelError;
pub use config::Config;
pub use defs::gm::event::Status;
pub use error::{MemoryError, PortError, ReceiveError, SendError, StartError};
pub use memory::Buffer;
pub use receive::{Event, NO_EVENT, ReceivedMessage, SPIN_NS, Violation};
pub use send::{MOST_BYTES, Priority, Remote, SendId, SendRequest};

use crate::window::{AnySystem, SystemPort, VirtualAddress};
use board::Board;
use driver::Driver;
use memory::Regions;
use port::OpenPort;

/// Bytes that a message of a size holds at most.
#[doc(alias = "gm_max_length_for_size")]
#[must_use]
pub const fn capacity(size: u8) -> u32 {
    defs::gm::packet::capacity(size as u32)
}

/// The smallest size that holds `length` bytes.
#[doc(alias = "gm_min_size_for_length")]
#[must_use]
pub const fn size_for(length: u32) -> u8 {
    defs::gm::packet::size_for(length) as u8
}

/// A process on a node that runs GM: the board, the host system, and the library's state.
#[derive(Debug)]
pub struct Gm {
    board: Board,
    system: AnySystem,
    node: u16,
    nodes: u16,
    overhead_ns: u64,
    /// Places and limits of the firmware.
    layout: &'static Layout,
    /// State that all processes of the host share.
    driver: Driver,
    process: u8,
    family: Family,
    regions: Regions,
    ports: [Option<OpenPort>; defs::gm::port::PORT_COUNT as usize],
    next_send: u64,
    next_alarm: u64,
    /// Whether the board has memory for collective operations.
    has_collectives: bool,
    /// Memory into which the board writes the results of vectors.
    vectors: Option<VirtualAddress>,
}

impl Gm {
    /// The own node.
    #[doc(alias = "gm_get_node_id")]
    pub const fn node(&self) -> u16 {
        self.node
    }

    /// Number of nodes.
    #[doc(alias = "gm_max_node_id")]
    pub const fn nodes(&self) -> u16 {
        self.nodes
    }

    /// The host system: memory and time.
    pub fn system(&self) -> &dyn SystemPort {
        &*self.system
    }

    /// The host system, mutable: to spend time on it or write its memory.
    pub fn system_mut(&mut self) -> &mut dyn SystemPort {
        &mut *self.system
    }

    /// Reads one of the firmware's counters (one PIO read; two on a Tigon2, each of whose CPUs may count).
    pub async fn counter(&mut self, counter: Counter) -> u32 {
        let offset = 4 * counter as u32;
        let count = self.board.read_sram(COUNTERS + offset).await;
        match self.family {
            Family::Lanai(_) => count,
            Family::Tigon2 => {
                let more = self.board.read_sram(RECEIVER_COUNTERS + offset).await;
                count.wrapping_add(more)
            }
        }
    }

    fn port(&mut self, number: u8) -> Result<&mut OpenPort, PortError> {
        let port = self.ports.get_mut(usize::from(number));
        let port = port.ok_or(PortError::Unknown { port: number })?;
        port.as_mut().ok_or(PortError::NotOpen { port: number })
    }
}
