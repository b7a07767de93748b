//! Collective operations of the process that the boards execute.

use lanigon_requests::{Request, ValueReduction};

use super::{Process, is_connected, lock};

/// Begins an operation of all ranks, a barrier if it is no reduction; its name.
pub fn begin_collective(reduction: Option<ValueReduction>) -> u64 {
    let process = &mut *lock();
    process.is_active();
    let (token, spent_ns) = (process.next_token, process.take_spent());
    process.next_token += 1;
    process.request(&Request::Collective {
        spent_ns,
        token,
        reduction,
    });
    process.has_asked = true;
    process.collectives.insert(token, None);
    token
}

/// Takes the result of an operation that has ended; 0 of a barrier. Without the world, nothing else ends it.
pub fn take_result(token: u64) -> Option<u64> {
    let collectives = &mut lock().collectives;
    let result = match is_connected() {
        true => (*collectives.get(&token)?)?,
        false => 0,
    };
    collectives.remove(&token);
    Some(result)
}

impl Process {
    /// Number of operations that have not ended.
    pub(super) fn running_collectives(&self) -> usize {
        self.collectives
            .values()
            .filter(|result| result.is_none())
            .count()
    }

    /// An operation has ended; `false` if there is none of this name.
    pub(super) fn collective_ended(&mut self, token: u64, value: u64) -> bool {
        let result = self
            .collectives
            .get_mut(&token)
            .map(|result| *result = Some(value));
        self.is_active();
        result.is_some()
    }
}
