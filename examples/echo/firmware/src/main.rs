//! An echo protocol for the Tigon2.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

mod echo;
mod layout;

/// Accept an answer only if it has the number of the pending request.
const CHECKS_NUMBERS: bool = true;
