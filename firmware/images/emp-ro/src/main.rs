//! EMP on two CPUs, scheme RO: the receive path is split. CPU B delivers frames that CPU A has matched.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

emp_common::emp_image!(Ro, two CPUs);
