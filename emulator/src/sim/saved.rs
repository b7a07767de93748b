//! A world's state as bytes.

use super::board::Board;
use super::world::World;
use crate::host::log::HostLog;
use crate::state::{Reader, State, StateError, Value, Writer};

/// What all host programs of a world were told, a host after the other. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Logs(Vec<HostLog>);

crate::value_struct!(Logs { 0: hosts });

impl<B: Board> World<B> {
    /// From now on keeps what host programs are told: only then they, and the world, can be saved. To be called before
    /// they begin.
    pub fn keep_logs(&mut self) {
        for node in &mut self.nodes {
            node.programs.keep_log();
        }
    }

    /// What host programs were told so far.
    #[must_use]
    pub fn logs(&self) -> Logs {
        Logs(self.nodes.iter().map(|node| node.programs.log()).collect())
    }

    /// The state of the world, which is at rest, but for what host programs were told.
    ///
    /// # Errors
    /// If a host program cannot be saved.
    pub fn save(&self) -> Result<Vec<u8>, StateError> {
        for node in &self.nodes {
            node.programs.check_log()?;
        }
        let mut out = Writer::default();
        self.nodes.len().write(&mut out);
        self.nodes.iter().for_each(|node| node.save(&mut out));
        self.topology().save(&mut out);
        Ok(out.into_bytes())
    }

    /// Takes up the state of a world that was built as this one was, and whose programs were told what is in `logs`, or more.
    /// This one must not have come further.
    ///
    /// # Errors
    /// If that is not the state of such a world. The world is of no use then.
    pub fn load(&mut self, state: &[u8], logs: &Logs) -> Result<(), StateError> {
        self.load_and(state, logs, false)
    }

    /// The same, but programs do not go on by themselves: they do what `logs`, which come from a world that ran, say that they
    /// did. That is quick, however long they have run; it serves up to the time at which those logs end, and as long as nobody
    /// asks for their calls.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_repeating(&mut self, state: &[u8], logs: &Logs) -> Result<(), StateError> {
        self.load_and(state, logs, true)
    }

    fn load_and(&mut self, state: &[u8], logs: &Logs, repeat: bool) -> Result<(), StateError> {
        let mut from = Reader::new(state);
        let (what, saved, here) = ("nodes", usize::read(&mut from)?, self.nodes.len());
        if saved != here || logs.0.len() != here {
            return Err(StateError::Shape { what, saved, here });
        }
        for (node, log) in self.nodes.iter_mut().zip(&logs.0) {
            node.load(log, repeat, &mut from)?;
        }
        self.topology_mut().load(&mut from)?;
        match from.is_empty() {
            true => Ok(()),
            false => Err(StateError::Layout("end")),
        }
    }

    /// Forgets what host programs of other worlds that share this one's logs were told later: from now on it may differ.
    pub fn forget_later(&self) {
        for node in &self.nodes {
            node.programs.forget_later();
        }
    }

    /// Whether programs that [repeat](Self::load_repeating) could do so up to now.
    ///
    /// # Errors
    /// If the logs did not say what one did.
    pub fn check_repeating(&self) -> Result<(), StateError> {
        let mut nodes = self.nodes.iter();
        nodes.try_for_each(|node| node.programs.check_repeating())
    }
}
