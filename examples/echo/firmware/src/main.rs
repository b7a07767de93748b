//! An echo protocol for the Tigon2.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

mod echo;
mod layout;

/// An answer counts only if it carries the number of the request that waits.
const CHECKS_NUMBERS: bool = true;
