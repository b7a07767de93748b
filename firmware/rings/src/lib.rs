//! Order and space in the chip's frame buffers (docs/tigon2-io.md, sections 5 and 6), and queues between its
//! CPUs.
//!
//! Both buffers are rings of SRAM. A move of a buffer's pointer releases everything before it. Two parties
//! move it: the CPU, by a register write, and a DMA channel, when a transfer with `RELEASE_TX` or `FREE_RX`
//! completes. [`ReleaseOrder`] keeps the pointer from moving backwards and from passing a frame whose DMA
//! is in progress. [`TxSpace`] allocates space in the transmit buffer. [`Region`] is the arithmetic of
//! addresses that wrap.
//!
//! [`Queue`] passes entries from one CPU to the other through SRAM. [`claim`] gives a value to one CPU at a time. [`sequence`] releases
//! pieces of work in their order that several CPUs do in any.
//!
//! Nothing here accesses hardware: register values are arguments and results.
#![no_std]

pub mod claim;
mod order;
mod queue;
mod region;
pub mod sequence;
mod space;

pub use order::ReleaseOrder;
pub use queue::{Bell, Consumer, Memory, Producer, Queue};
pub use region::Region;
pub use space::TxSpace;
