//! EMP on two CPUs, scheme SR: both paths are split. CPU B moves frames; CPU A keeps their records.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

emp_common::emp_image!(Sr, two CPUs, acks in SRAM);
