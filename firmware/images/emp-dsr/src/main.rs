//! EMP on two CPUs, scheme DSR: CPU A sends, CPU B receives.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

emp_common::emp_image!(Dsr, two CPUs);
