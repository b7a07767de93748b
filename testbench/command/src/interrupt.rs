//! Ctrl-C: the command's signal handler.

use anyhow::Context;
use lanigon_worlds::interrupt::Interrupt;

/// Exit code of a process that the user interrupted.
pub const EXIT_CODE: u8 = 130;

/// Installs the handler: Ctrl-C (or SIGTERM) sets the flag; a second one ends the process at once.
///
/// # Errors
/// If the handler cannot be installed.
pub fn on_ctrl_c(interrupt: &Interrupt) -> anyhow::Result<()> {
    let interrupt = interrupt.clone();
    let handler = move || {
        if interrupt.signal() {
            std::process::exit(EXIT_CODE.into());
        }
    };
    ctrlc::set_handler(handler).context("Ctrl-C cannot be handled")
}
