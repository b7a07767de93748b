//! EMP.
#![no_std]
