//! Signals: messages of high priority call a handler of the process.
//!
//! A word of the port's control block says whether they do now ([`PORT_SIGNALS`]). It lies in the board's memory, so a change takes a
//! write over the bus, and no call of the kernel.

use defs::gm::port::{PORT_SIGNALS, SIGNALS, control_block};

use super::Gm;
use super::error::PortError;
use crate::window::{Computation, SignalHandler, System};

impl Gm {
    /// Registers the handler of the process's signals, which are disabled at first. Gives a way to compute that leaves everything else of
    /// the process to the handler; `None` if the machine has no signals. One port of a process has signals.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn on_signal(
        &mut self,
        port: u8,
        handler: SignalHandler,
    ) -> Result<Option<Computation>, PortError> {
        self.post_control(port, SIGNALS, 0, 0).await?;
        Ok(self.system.on_signal(handler).await)
    }

    /// Enables or disables signals of a port. A message that is complete after this call has enabled them is a signal; an earlier one may
    /// be none, so the process looks at its events afterwards.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn enable_signals(&mut self, port: u8, enabled: bool) -> Result<(), PortError> {
        self.port(port)?;
        let word = control_block(port.into()) + PORT_SIGNALS;
        self.board.write_sram(word, enabled.into()).await;
        if enabled {
            // The answer to a read comes behind the write.
            self.board.read_sram(word).await;
        }
        Ok(())
    }

    /// Takes a signal back: a message that is complete after this call raises a new one. The handler looks at the events afterwards.
    pub async fn end_signal(&mut self) {
        self.board.end_interrupt().await;
        // The answer to a read comes behind the write.
        self.board.read_sram(control_block(0) + PORT_SIGNALS).await;
    }
}
