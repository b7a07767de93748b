//! The race example ([main.rs](main.rs)) with its defect fixed.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

#[path = "pool_fixed.rs"]
mod pool;
mod work;
