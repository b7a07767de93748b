//! Saved state of a world.

use super::world::World;
use emulator_host::log::HostLog;
use emulator_state::{PAGE_BYTES, Page, Reader, StateError, Value, Writer};
use std::sync::Arc;

/// The logs of all host programs of a world, by host. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Logs(pub(super) Vec<HostLog>);

emulator_state::value_struct!(Logs { 0: hosts });

/// A world's state in memory. It shares pages of host memory with the world, until they are written to, and with other
/// such states.
#[derive(Debug)]
pub struct Kept {
    bytes: Vec<u8>,
    pages: Vec<Page>,
}

impl Kept {
    /// Bytes of memory that it takes in addition to another state of the world.
    #[must_use]
    pub fn bytes_beside(&self, other: Option<&Self>) -> usize {
        let others = other.map_or(&[][..], |other| &other.pages);
        let pairs = self.pages.iter().zip(others);
        let shared = pairs.filter(|(own, other)| Arc::ptr_eq(own, other)).count();
        self.bytes.len() + (self.pages.len() - shared) * PAGE_BYTES
    }
}

impl World {
    /// Keeps the logs of host programs from now on, without which a world cannot be saved. To be called before
    /// they begin.
    pub fn keep_logs(&mut self) {
        for node in &mut self.nodes {
            node.programs.keep_log();
        }
    }

    /// The logs of host programs so far.
    #[must_use]
    pub fn logs(&self) -> Logs {
        Logs(self.nodes.iter().map(|node| node.programs.log()).collect())
    }

    /// The state of the world, which is at rest, without the logs of host programs.
    ///
    /// # Errors
    /// If a host program cannot be saved.
    pub fn save(&self) -> Result<Vec<u8>, StateError> {
        self.save_to(Writer::default()).map(Writer::into_bytes)
    }

    /// The state of the world, to be kept in memory.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    pub fn keep(&self) -> Result<Kept, StateError> {
        let (bytes, pages) = self.save_to(Writer::sharing())?.into_parts();
        Ok(Kept { bytes, pages })
    }

    fn save_to(&self, mut out: Writer) -> Result<Writer, StateError> {
        for node in &self.nodes {
            node.programs.check_log()?;
        }
        self.nodes.len().write(&mut out);
        self.nodes.iter().for_each(|node| node.save(&mut out));
        self.save_networks(&mut out);
        Ok(out)
    }

    fn save_networks(&self, out: &mut Writer) {
        self.networks().len().write(out);
        for network in self.networks() {
            network.save(out);
        }
    }

    /// As [`save`](Self::save), of a world whose nodes have these states.
    pub(super) fn state_of(&self, nodes: &[Vec<u8>]) -> Vec<u8> {
        let mut out = Writer::default();
        nodes.len().write(&mut out);
        nodes.iter().for_each(|node| out.bytes(node));
        self.save_networks(&mut out);
        out.into_bytes()
    }

    /// Loads the state of a world that was built as this one was; `logs` are of its programs, up to that state or later.
    /// This one must not have come further.
    ///
    /// # Errors
    /// If it is not the state of such a world. The world is unusable then.
    pub fn load(&mut self, state: &[u8], logs: &Logs) -> Result<(), StateError> {
        self.load_from(Reader::new(state), logs, false)
    }

    /// Loads a state whose programs repeat the requests in `logs`, which come from a world that ran, and do not run themselves. The
    /// time that it takes does not depend on how long they have run. Serves up to the end of those logs, and while no
    /// observer wants the calls of programs.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_repeating(&mut self, state: &Kept, logs: &Logs) -> Result<(), StateError> {
        let from = Reader::sharing(&state.bytes, &state.pages);
        self.load_from(from, logs, true)
    }

    fn load_from(
        &mut self,
        mut from: Reader<'_>,
        logs: &Logs,
        repeat: bool,
    ) -> Result<(), StateError> {
        let (what, saved, here) = ("nodes", usize::read(&mut from)?, self.nodes.len());
        if saved != here || logs.0.len() != here {
            return Err(StateError::Shape { what, saved, here });
        }
        for (node, log) in self.nodes.iter_mut().zip(&logs.0) {
            node.load(log, repeat, &mut from)?;
        }
        let (what, saved, here) = ("networks", usize::read(&mut from)?, self.networks().len());
        if saved != here {
            return Err(StateError::Shape { what, saved, here });
        }
        for network in self.networks_mut() {
            network.load(&mut from)?;
        }
        match from.is_empty() {
            true => Ok(()),
            false => Err(StateError::Layout("end")),
        }
    }

    /// Removes later entries from logs that are shared with other worlds: from now on this world may differ from them.
    pub fn forget_later(&self) {
        for node in &self.nodes {
            node.programs.forget_later();
        }
    }

    /// Checks that [replaying](Self::load_repeating) programs could be replayed up to now.
    ///
    /// # Errors
    /// If a program did something that is not in the logs.
    pub fn check_repeating(&self) -> Result<(), StateError> {
        let mut nodes = self.nodes.iter();
        nodes.try_for_each(|node| node.programs.check_repeating())
    }
}
