//! EMP on one CPU: CPU A runs all roles, in the order of the chip's event priorities.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

emp_common::emp_image!(Base, one CPU);
