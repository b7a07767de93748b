//! The protocol with a bug, which a search over fault schedules finds (tests/schedules.rs).
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

#[path = "../echo.rs"]
mod echo;
#[path = "../layout.rs"]
mod layout;

/// Accept the answer to any request.
const CHECKS_NUMBERS: bool = false;
