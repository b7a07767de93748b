//! Hardware abstraction layer for Tigon2 firmware.
//!
//! | to ... | use |
//! |--------|-----|
//! | begin | [`entry_a!`], [`entry_b!`], [`cpu::start_b`], [`layout::initialise`] |
//! | wait for events | [`dispatch!`], [`event`] |
//! | talk to the host | [`mailbox`], [`sram`], [`dma`] |
//! | send and receive frames | [`mac`], [`rings`] |
//! | run on any number of CPUs | [`any`] |
//! | share with the other CPU | [`semaphore`], [`event::raise`], [`queue`], [`claim`], [`dma::SoftwareAssist`] |
//! | keep time | [`timer`] |
//! | report events | [`probe`]: [`log!`], [`event!`], [`fail!`], [`stage_enter!`], [`wait_enter!`], [`panic_hook!`] |
//!
//! `firmware/images/hello` is the smallest complete image; `firmware/build.sh` builds all of them.
//! An image forbids `unsafe`: unsafe code is in this crate, each block with its reason. The crate root of
//! an image needs `#![no_std]`, `#![no_main]` and `#![feature(asm_experimental_arch)]`.
//!
//! # Memory
//! The linker script `tigon2.x` defines the layout. Handlers, the event loop and their shared state are in
//! the scratchpad of their CPU (fast, 16 KB for A, 8 KB for B); everything else is in SRAM.
//! [`scratchpad_a!`] and [`scratchpad_b!`] place further functions and statics; [`Singleton`] is for big
//! tables in SRAM.
//!
//! # What to avoid
//! The chip has no multiply, no divide, no unaligned access and no floating point. All of them work, in software, which the
//! linker `firmware/tigon2-link` adds; they cost 10 to 600 cycles each, so keep them off hot paths. Multiplication by a
//! constant becomes shifts where that is cheap; `/` and `%` by powers of two always do. Copies and comparisons of byte arrays become
//! unaligned accesses: aligned `u32` and `u16` are faster. `lanigon image` lists the functions that pay.
//!
//! Atomic loads and stores of up to 32 bits work. There are no atomic changes (`fetch_add`, `compare_exchange`) and no `AtomicU64`:
//! the chip has no instruction that reads and writes memory at once. Use [`semaphore`] or [`queue`]; boards with bit instructions
//! have [`bits`].
//!
//! `$k0` holds the event mask and `$k1` the result of multiplications and divisions: assembly must not change them.
#![no_std]
#![feature(asm_experimental_arch, allow_internal_unsafe)]
// `allow_internal_unsafe` lets macros of this crate expand to `unsafe` in images that forbid it.
#![allow(unsafe_code, internal_features)]
// Editors check firmware for the machine of its author, whose registers are wider.
#![cfg_attr(not(target_arch = "mips"), allow(asm_sub_register))]

pub mod any;
pub mod bits;
pub mod claim;
pub mod cpu;
pub mod dma;
pub mod event;
pub mod layout;
pub mod mac;
pub mod mailbox;
mod mem;
mod panic;
mod place;
pub mod probe;
pub mod queue;
pub mod regs;
pub mod semaphore;
mod software;
pub mod sram;
#[doc(hidden)]
pub mod start;
pub mod timer;

pub use place::Singleton;
/// Order and space in the frame buffers.
pub use rings;
