//! Saved state of a world.

use super::world::World;
use emulator_host::log::HostLog;
use emulator_state::{PAGE_BYTES, Page, Reader, StateError, Value, Writer};
use std::sync::Arc;

/// The logs of all host programs of a world, by host: what each program was told and what it did. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct HostLogs(pub(super) Vec<HostLog>);

emulator_state::value_struct!(HostLogs { 0: hosts });

/// A world's state, kept in memory to come back to. It shares pages of host memory with the world, until they are written to, and with
/// other checkpoints.
#[derive(Debug)]
pub struct WorldCheckpoint {
    bytes: Vec<u8>,
    pages: Vec<Page>,
}

impl WorldCheckpoint {
    /// Bytes of memory that it takes in addition to another checkpoint of the world.
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
    pub fn logs(&self) -> HostLogs {
        HostLogs(self.nodes.iter().map(|node| node.programs.log()).collect())
    }

    /// The state of the world as bytes, without the logs of host programs. The world must be at rest.
    ///
    /// # Errors
    /// If a host program cannot be saved.
    pub fn save(&self) -> Result<Vec<u8>, StateError> {
        self.save_to(Writer::default()).map(Writer::into_bytes)
    }

    /// The state of the world, to be kept in memory. The world must be at rest.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    pub fn checkpoint(&self) -> Result<WorldCheckpoint, StateError> {
        let (bytes, pages) = self.save_to(Writer::sharing())?.into_parts();
        Ok(WorldCheckpoint { bytes, pages })
    }

    /// Writes the state of the world.
    fn save_to(&self, mut out: Writer) -> Result<Writer, StateError> {
        for node in &self.nodes {
            node.programs.check_log()?;
        }
        self.nodes.len().write(&mut out);
        self.nodes.iter().for_each(|node| node.save(&mut out));
        self.save_networks(&mut out);
        Ok(out)
    }

    /// Writes the states of all networks.
    fn save_networks(&self, out: &mut Writer) {
        self.networks().len().write(out);
        for network in self.networks() {
            network.save(out);
        }
    }

    /// As [`save`](Self::save), with these states in place of the nodes' own: other ranks execute some of the nodes.
    pub(super) fn state_with_nodes(&self, nodes: &[Vec<u8>]) -> Vec<u8> {
        let mut out = Writer::default();
        nodes.len().write(&mut out);
        nodes.iter().for_each(|node| out.bytes(node));
        self.save_networks(&mut out);
        out.into_bytes()
    }

    /// Loads the state of a world that was built as this one was; `logs` are of its programs, up to that state or later.
    /// This world must not be at a later time than that state: programs cannot go back.
    ///
    /// # Errors
    /// If it is not the state of such a world. The world is unusable then.
    pub fn load(&mut self, state: &[u8], logs: &HostLogs) -> Result<(), StateError> {
        self.load_from(Reader::new(state), logs, false)
    }

    /// Loads a checkpoint into a world whose programs do not run: they replay what `logs` say that they did in the world that made the
    /// checkpoint. So loading takes as long for a long run as for a short one. The world can run up to the end of those logs, and while
    /// no observer wants the calls of programs.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_replaying(
        &mut self,
        state: &WorldCheckpoint,
        logs: &HostLogs,
    ) -> Result<(), StateError> {
        let from = Reader::sharing(&state.bytes, &state.pages);
        self.load_from(from, logs, true)
    }

    /// Loads a state; with `replay`, programs replay their logs.
    fn load_from(
        &mut self,
        mut from: Reader<'_>,
        logs: &HostLogs,
        replay: bool,
    ) -> Result<(), StateError> {
        let (what, saved, here) = ("nodes", usize::read(&mut from)?, self.nodes.len());
        if saved != here || logs.0.len() != here {
            return Err(StateError::Shape { what, saved, here });
        }
        for (node, log) in self.nodes.iter_mut().zip(&logs.0) {
            node.load(log, replay, &mut from)?;
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

    /// Removes the steps that programs took after this world's time, from logs that are shared with other worlds: from now on this world
    /// may differ from them.
    pub fn forget_later_steps(&self) {
        for node in &self.nodes {
            node.programs.forget_later_steps();
        }
    }

    /// Checks that programs that [replay](Self::load_replaying) found all they did up to now in the logs.
    ///
    /// # Errors
    /// If a program did something that is not in the logs.
    pub fn check_replay(&self) -> Result<(), StateError> {
        let mut nodes = self.nodes.iter();
        nodes.try_for_each(|node| node.programs.check_replay())
    }
}
