//! Ctrl-C: the command's signal handler.

use anyhow::Context;
use lanigon_worlds::interrupt::Interrupt;

/// Exit code of a process that the user interrupted.
pub const EXIT_CODE: u8 = 130;

/// Ctrl-C (and a polite kill) requests an end; the second time, the process ends at once.
///
/// # Errors
/// If the system refuses the handler.
pub fn on_ctrl_c(interrupt: &Interrupt) -> anyhow::Result<()> {
    let interrupt = interrupt.clone();
    let handler = move || {
        if interrupt.signal() {
            std::process::exit(EXIT_CODE.into());
        }
    };
    ctrlc::set_handler(handler).context("Ctrl-C cannot be handled")
}
