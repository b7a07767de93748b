//! GM's images for the Tigon2: the protocol of `firmware/gm` on the chip's MAC and DMA rings.
#![no_std]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

pub mod chip;
mod frames;
pub mod lend;

pub use defs;
pub use gm;
pub use tigon2_hal;

use defs::gm::mac::{RX_BUFFER, TX_BUFFER};
use gm::nic::{Packet, Role};
use tigon2_hal::cpu::{A, B, Cpu};
use tigon2_hal::event;
use tigon2_hal::layout::Layout;

/// Places of rings and buffers. Packets are sent from where GM's map has them, so the transmit buffer is the whole map.
pub const LAYOUT: Layout = Layout {
    tx_buffer: TX_BUFFER,
    rx_buffer: RX_BUFFER,
};

/// A CPU and the machines of GM that run on it.
pub trait CpuMachines {
    /// The CPU.
    type Cpu: Cpu;
    /// The machines of GM that run on the CPU.
    const ROLE: Role;
    /// Whether a lock guards SEND's half ([`lend`]).
    const LENDS: bool = false;

    /// On CPU B: carries out what a packet asks of SEND's half, under its lock. Returns whether it had the lock.
    #[inline(always)]
    #[must_use]
    fn lend(_packet: &Packet, _waits: bool) -> bool {
        false
    }

    /// On SEND's CPU: lets the other one have the lock, if it waits for that.
    #[inline(always)]
    fn yield_lock() {}
}

/// All machines on CPU A; CPU B is halted.
#[derive(Debug, Clone, Copy)]
pub enum AllMachines {}
/// SDMA and SEND on CPU A.
#[derive(Debug, Clone, Copy)]
pub enum Sender {}
/// RECV and RDMA on CPU B.
#[derive(Debug, Clone, Copy)]
pub enum Receiver {}

impl CpuMachines for AllMachines {
    type Cpu = A;
    const ROLE: Role = Role::All;
}

impl CpuMachines for Sender {
    type Cpu = A;
    const ROLE: Role = Role::Sender;
}

impl CpuMachines for Receiver {
    type Cpu = B;
    const ROLE: Role = Role::Receiver;
}

/// Events that a CPU dispatches. Its timer's is enabled while the timer runs.
#[must_use]
pub const fn events<S: CpuMachines>() -> u32 {
    let sends = 1 << event::READ_DMA_DONE | 1 << event::READ_DMA_ATTENTION;
    let receives =
        1 << event::RX_COMPLETE | 1 << event::WRITE_DMA_DONE | 1 << event::WRITE_DMA_ATTENTION;
    let posts = 1 << event::MAILBOX;
    match S::ROLE {
        Role::All => posts | sends | receives,
        Role::Sender => posts | sends | 1 << event::SOFT_REPORTS,
        Role::Receiver | Role::Borrower => posts | receives | 1 << event::SOFT_REPORTS,
    }
}
