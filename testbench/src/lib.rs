//! Testbench.
