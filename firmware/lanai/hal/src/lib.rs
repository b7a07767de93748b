//! Hardware abstraction layer for LANai firmware.
//!
//! | to ... | LANai 7, 9 | LANai 4 |
//! |--------|------------|---------|
//! | access words that the host or an engine shares | [`sram`] | [`sram`] |
//! | see events | [`l9::take_status`] | [`l4::take_status`] |
//! | move bytes from and to the host | [`l9::Dma`] | [`l4::Dma`] |
//! | send and receive packets | [`l9::send`], [`l9::arm`], [`l9::received`] | [`l4::send`], [`l4::arm`], [`l4::received`] |
//! | receive into several buffers | [`receive`] | [`receive`] |
//! | report events, lines, failures | [`probe!`], [`log!`], [`fail!`] | [`probe!`], [`log!`], [`fail!`] |
//! | keep time | [`l9::set_timer`] | [`l4::set_timer`] |
//!
//! Atomic loads and stores of up to 32 bits work. There are no atomic changes (`fetch_add`, `compare_exchange`) and no `AtomicU64`: no
//! instruction reads and writes memory at once. The one CPU shares words with its host and its engines only: [`sram`].
//!
//! Images forbid `unsafe`: unsafe code is in this crate and in `lanai_rt`. Rules for firmware are in
//! `docs/lanai-toolchain.md`, registers in `docs/lanai.md`.
#![no_std]
#![feature(asm_experimental_arch, allow_internal_unsafe)]
// `allow_internal_unsafe` lets macros of this crate expand to `unsafe` in images that forbid it.
#![allow(unsafe_code, internal_features)]
// Editors check firmware for the machine of its author, whose registers are wider.
#![cfg_attr(not(target_arch = "mips"), allow(asm_sub_register))]

pub mod l4;
pub mod l9;
pub mod probe;
pub mod receive;
pub mod sram;

pub use lanai_rt::{Register, entry, stop};

/// Kind of an event's probe.
#[doc(hidden)]
pub const KIND_EVENT: u32 = defs::probe::Kind::Event as u32;

/// Kind of a line.
#[doc(hidden)]
pub const KIND_LOG: u32 = defs::probe::Kind::Log as u32;

/// Kind of a failure.
#[doc(hidden)]
pub const KIND_PANIC: u32 = defs::probe::Kind::Panic as u32;

/// Kind of a note about boards.
#[doc(hidden)]
pub const KIND_BOARDS: u32 = defs::probe::Kind::Boards as u32;
