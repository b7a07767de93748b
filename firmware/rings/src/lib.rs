//! Order and space in the chip's frame buffers (docs/tigon2.md, sections 5 and 6), and queues between its
//! CPUs.
//!
//! Both buffers are rings of SRAM. Whoever moves a buffer's pointer gives away everything before it,
//! and two parties move it: the CPU, by writing the register, and a DMA channel, which writes it when a
//! transfer with `RELEASE_TX` or `FREE_RX` completes. [`ReleaseOrder`] keeps the pointer from going
//! backwards and from passing a frame whose DMA is under way; [`TxSpace`] gives out places in the
//! transmit buffer; [`Region`] is the arithmetic of addresses that wrap.
//!
//! [`Queue`] is what one CPU leaves for the other one in SRAM.
//!
//! Nothing here touches hardware: registers come in as values and go out as values.
#![no_std]

mod order;
mod queue;
mod region;
mod space;

pub use order::ReleaseOrder;
pub use queue::{Bell, Consumer, Memory, Producer, Queue};
pub use region::Region;
pub use space::TxSpace;
