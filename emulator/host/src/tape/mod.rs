//! Tapes: the actions of a program as bytes, without its inputs, so that another process can replay them.
//!
//! A replay log ([`log`](super::log)) serves the program that made it: it holds what the program was told. A tape serves where the
//! program itself is not available, such as a closure of a test. It holds what the program did between two answers: changes of host
//! memory, and the next request. [`Recording::replay`] performs these actions in order, as a program does; it waits for each answer and
//! ignores its content. In an equal world the answers, and so the times of all actions, are equal.
//!
//! The actions of a signal handler are on a track of their own, since only the world decides when a handler runs.

mod code;
mod replay;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use code::{LONGEST_TEXT_BYTES, MOST_TEXTS, TapeError};
pub use replay::Recording;

use super::log::MemoryAct;
use super::request::Request;
use emulator_base::time::SimTime;
use emulator_state::value_struct;

/// Bytes of actions after which a tape is full: bounds the memory that the record of a long run takes.
pub const MOST_BYTES: usize = 64 << 20;

/// The actions of a program as bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Actions {
    /// Texts that state what polls wait for. Polls name them by their index.
    pub texts: Vec<Arc<str>>,
    /// Actions of the program itself.
    pub own: Vec<u8>,
    /// Actions of its signal handlers, one run after the other.
    pub handlers: Vec<u8>,
}

value_struct!(Actions {
    texts: texts,
    own: own,
    handlers: handlers
});

/// Recorded actions of a tape.
#[derive(Debug, Default)]
struct Content {
    actions: Actions,
    /// Time at which the tape was full.
    full: Option<SimTime>,
}

/// The actions of a program from its begin on. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Tape(Arc<Mutex<Content>>);

impl Tape {
    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The actions so far.
    #[must_use]
    pub fn actions(&self) -> Actions {
        self.content().actions.clone()
    }

    /// The time at which the tape was full: later actions are missing.
    #[must_use]
    pub fn full_since(&self) -> Option<SimTime> {
        self.content().full
    }

    /// Records the actions between two answers.
    pub(super) fn record(
        &self,
        now: SimTime,
        in_handler: bool,
        memory: &[MemoryAct],
        request: Option<&Request>,
        ended: bool,
    ) {
        let mut content = self.content();
        let Content { actions, full } = &mut *content;
        if full.is_some() {
            return;
        }
        if actions.own.len() + actions.handlers.len() >= MOST_BYTES {
            *full = Some(now);
            return;
        }
        let track = match in_handler {
            true => &mut actions.handlers,
            false => &mut actions.own,
        };
        memory.iter().for_each(|act| code::write_act(act, track));
        match request {
            Some(request) => code::write_request(request, &mut actions.texts, track),
            None if ended => code::write_end(track),
            None => code::write_stuck(track),
        }
    }
}
