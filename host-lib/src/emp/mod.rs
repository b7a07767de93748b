//! The host side of EMP: start-up, posts, completions.
//!
//! The host only posts. It writes a descriptor into NIC memory, passes its address to the NIC through a
//! mailbox, and later polls the descriptor's status in NIC memory. There are no interrupts, no copies, and
//! no system calls except the address translation. The host manages the descriptors' free lists.
//!
//! * a [`Device`] grants the board to one program at a time; [`Emp::start`] uses a board directly;
//! * [`Emp::post_transmit`], [`Emp::post_receive`] and their vectored forms post a message, which is
//!   gathered from and scattered over any memory of the program;
//! * [`Emp::wait`], [`Emp::test`] and [`Emp::wait_any`] return a transfer's result, [`Emp::cancel`] cancels
//!   a posted receive;
//! * [`Emp::prepare_transmit`] and [`Emp::prepare_receive`] prepare a transfer that can be started
//!   repeatedly;
//! * [`Emp::set`] changes settings at run time; [`Emp::counters`] reads the firmware's counters.
//!
//! Errors: [`StartError`] and [`ConfigError`] before anything runs, [`PostError`] when nothing was posted,
//! [`TransferError`] when a message failed.
//!
//! A server that answers two kinds of messages, whichever comes first (`testbench/worlds/examples/emp_messages.rs`
//! runs one like it on two emulated hosts):
//!
//! ```
//! use host_lib::emp::{AnyHandle, Buffer, Emp, PostError, Source, Tag};
//!
//! async fn serve(
//!     emp: &mut Emp,
//!     rooms: [Buffer; 2],
//! ) -> Result<(), PostError> {
//!     let mut receives: Vec<AnyHandle> = Vec::new();
//!     for (tag, room) in (1..).zip(rooms) {
//!         let receive = emp.post_receive(Source::Any, Tag::Value(tag), room).await?;
//!         receives.push(receive.into());
//!     }
//!     while let Some((_, result)) = emp.wait_any(&mut receives).await {
//!         match result {
//!             Ok(message) => {
//!                 let room = rooms[usize::from(message.tag) - 1];
//!                 let echo = Buffer { length: message.length, ..room };
//!                 let sent = emp.post_transmit(message.node, message.tag, echo).await?;
//!                 if let Err(error) = emp.wait(sent).await {
//!                     eprintln!("{error}: the other node is told nothing");
//!                 }
//!             }
//!             Err(error) => eprintln!("{error}"),
//!         }
//!     }
//!     Ok(())
//! }
//! ```

mod buffer;
mod call;
mod cancel;
mod complete;
mod config;
mod device;
mod error;
mod layout;
mod persistent;
mod pool;
mod post;
mod settings;
mod start;
#[cfg(test)]
mod tests;
mod transfer;

use defs::emp::control::{COUNTER_COUNT, COUNTERS, Counter};
use defs::emp::descriptor::DESCRIPTOR_BYTES;
use defs::tigon2::map::mailbox_low;

pub use buffer::Buffer;
pub use cancel::Cancellation;
pub use config::{Config, MAXIMUM_FRAME_PAYLOAD_BYTES, MINIMUM_FRAME_PAYLOAD_BYTES};
use device::Hold;
pub use device::{Device, OpenError};
pub use error::{ConfigError, Failure, PostError, StartError, TransferError};
use pool::{ListPage, Pool};
pub use settings::{
    MAXIMUM_RECEIVE_TIMEOUT_US, MAXIMUM_RETRY_LIMIT, ReceiveTimeout, Settings, TIMEOUT_US_RANGE,
};
pub use transfer::{
    AnyHandle, Completion, Direction, Either, Handle, Persistent, Progress, Receive, ReceiveHandle,
    SendHandle, Source, Started, Tag, Transmit,
};

pub use crate::address::MacAddress;
use crate::board::BoardWindow;
use crate::window::{AnySystem, SystemPort};

/// A node that runs EMP: its board, its host system, and the library's state.
#[derive(Debug)]
pub struct Emp {
    board: BoardWindow,
    system: AnySystem,
    /// Nodes of the route table.
    nodes: u16,
    /// Processor time of the library's own instructions in each post.
    post_overhead_ns: u64,
    /// Payload of a frame.
    frame_bytes: u32,
    settings: Settings,
    /// NIC address of the descriptor array.
    descriptors: u32,
    /// Free descriptors for transmits, and for receives.
    transmits: Pool,
    receives: Pool,
    /// Unused host pages for page lists.
    lists: Vec<ListPage>,
    /// The hold on the device through which it was opened.
    hold: Option<Hold>,
}

impl Emp {
    /// Number of nodes in the route table.
    pub const fn nodes(&self) -> u16 {
        self.nodes
    }

    /// Number of free descriptors of `direction`.
    pub fn free_descriptors(&self, direction: Direction) -> usize {
        match direction {
            Direction::Transmit => self.transmits.free(),
            Direction::Receive => self.receives.free(),
        }
    }

    /// The host system: memory and time.
    pub fn system(&self) -> &dyn SystemPort {
        &*self.system
    }

    /// The host system, mutable: to spend time on it or write its memory.
    pub fn system_mut(&mut self) -> &mut dyn SystemPort {
        &mut *self.system
    }

    /// The board, for inspection.
    pub const fn board_mut(&mut self) -> &mut BoardWindow {
        &mut self.board
    }

    /// Reads one of the firmware's counters (one PIO read).
    pub async fn counter(&mut self, counter: Counter) -> u32 {
        let address = COUNTERS + counter as u32 * WORD_BYTES;
        self.board.read_sram(address).await
    }

    /// Reads all counters, in the order of [`Counter`] (one PIO read each).
    pub async fn counters(&mut self) -> [u32; COUNTER_COUNT as usize] {
        let mut counters = [0; COUNTER_COUNT as usize];
        self.board.read_sram_block(COUNTERS, &mut counters).await;
        counters
    }

    const fn pool(&mut self, direction: Direction) -> &mut Pool {
        match direction {
            Direction::Transmit => &mut self.transmits,
            Direction::Receive => &mut self.receives,
        }
    }

    /// Writes a mailbox and waits until the NIC has acknowledged it; `why` describes the wait for the host's observers.
    async fn ring_mailbox(&mut self, mailbox: u32, value: u32, why: &'static str) {
        let mailbox = mailbox_low(mailbox);
        self.board.write_sram(mailbox, value).await;
        self.board.poll_sram(mailbox, u32::MAX, 0, why).await;
    }

    /// NIC address of a word of a descriptor.
    const fn word_address(&self, descriptor: u16, word: usize) -> u32 {
        self.descriptors + descriptor as u32 * DESCRIPTOR_BYTES + word as u32 * WORD_BYTES
    }
}

/// Bytes of a word.
const WORD_BYTES: u32 = 4;
