//! Saved state of a world that ranks share: each saves its own nodes, and rank 0 puts them together. The bytes are those of one process.

use super::{RankError, Ranks};
use crate::saved::HostLogs;
use crate::world::World;
use emulator_host::log::HostLog;
use emulator_state::value_struct;
use emulator_state::{Reader, StateError, Value, Writer};

/// A node, as the rank that executes it saves it.
#[derive(Debug)]
struct SavedNode {
    state: Vec<u8>,
    log: HostLog,
}

value_struct!(SavedNode {
    state: state,
    log: log
});

/// The nodes of a rank in ascending order, or the reason why one cannot be saved.
type SavedNodes = Result<Vec<SavedNode>, StateError>;

/// The state of a world and the logs of its host programs at rank 0, nothing at other ranks; or why a host program cannot be saved.
pub type Saved = Result<Option<(Vec<u8>, HostLogs)>, StateError>;

impl World {
    /// Saves the whole world, which is at rest. All ranks must call it at the same point of the run, and can go on then. Any number of
    /// ranks can [load](World::load) it, before they are [joined](Ranks::new).
    ///
    /// # Errors
    /// If another rank is gone.
    pub fn save_shared(&mut self, ranks: &mut Ranks) -> Result<Saved, RankError> {
        self.complete_shared(ranks)?;
        let mut out = Writer::default();
        match self.save_nodes(ranks) {
            Ok(nodes) => {
                true.write(&mut out);
                nodes.write(&mut out);
            }
            Err(error) => {
                false.write(&mut out);
                error.to_string().write(&mut out);
            }
        }
        let messages = ranks.collect(&out.into_bytes())?;
        let mut given = Vec::new();
        for (rank, message) in messages.iter().enumerate() {
            let taken = read_nodes(&mut Reader::new(message));
            given.push(taken.map_err(|error| RankError::Unreadable { rank, error })?);
        }
        if given.is_empty() {
            return Ok(Ok(None));
        }
        let given: Result<Vec<_>, StateError> = given.into_iter().collect();
        Ok(given.and_then(|given| self.put_together(ranks, given).map(Some)))
    }

    /// Saves the nodes of this rank.
    fn save_nodes(&self, ranks: &Ranks) -> SavedNodes {
        let nodes = self.nodes.iter().enumerate();
        let mine = nodes.filter(|(index, _)| ranks.owns(*index));
        let saved = mine.map(|(_, node)| {
            node.programs.check_log()?;
            let mut state = Writer::default();
            node.save(&mut state);
            Ok(SavedNode {
                state: state.into_bytes(),
                log: node.programs.log(),
            })
        });
        saved.collect()
    }

    /// Puts the states of nodes together that the ranks have given, in the order of the nodes.
    fn put_together(
        &self,
        ranks: &Ranks,
        given: Vec<Vec<SavedNode>>,
    ) -> Result<(Vec<u8>, HostLogs), StateError> {
        let mut given: Vec<_> = given.into_iter().map(Vec::into_iter).collect();
        let (mut states, mut logs) = (Vec::new(), Vec::new());
        for index in 0..self.nodes.len() {
            let next = given[ranks.owner(index)].next();
            let node = next.ok_or(StateError::Truncated("the nodes of a rank"))?;
            states.push(node.state);
            logs.push(node.log);
        }
        Ok((self.state_with_nodes(&states), HostLogs(logs)))
    }
}

/// Reads what a rank gave.
fn read_nodes(from: &mut Reader<'_>) -> Result<SavedNodes, StateError> {
    Ok(match bool::read(from)? {
        true => Ok(Value::read(from)?),
        false => Err(StateError::NoLog(String::read(from)?)),
    })
}
