//! CPU A fills buffers from a pool, CPU B adds up what they hold and gives them back. Now and then the pool's books are wrong:
//! `docs/debugging.md` looks for the mistake.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

mod pool;
mod work;
