//! EMP on two CPUs, scheme SO: the send path is split. CPU B is the transmitter for CPU A.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

emp_common::emp_image!(So, two CPUs);
