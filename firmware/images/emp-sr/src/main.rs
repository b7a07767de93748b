//! EMP on two CPUs, scheme SR: both paths are split. CPU B moves the frames of which CPU A keeps the books.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

emp_common::emp_image!(Sr, two CPUs, acks in SRAM);
