//! The view of a Tigon2's memory, which the processes of a host share: one of them at a time moves it and uses it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Process that uses the view now, and process that used it last.
#[derive(Debug, Default)]
struct ViewState {
    taken: bool,
    last: u8,
}

/// The view of a board, as one process has it.
#[derive(Debug, Default)]
pub(super) struct View {
    state: Arc<Mutex<ViewState>>,
    process: u8,
}

/// The view is the process's until this is dropped.
#[derive(Debug)]
pub(super) struct ViewGuard(Arc<Mutex<ViewState>>);

impl View {
    /// Access of another process to this view.
    pub(super) fn for_process(&self, process: u8) -> Self {
        Self {
            state: Arc::clone(&self.state),
            process,
        }
    }

    /// Takes the view if no other process uses it; says too whether another process has moved it since.
    pub(super) fn try_take(&self) -> Option<(ViewGuard, bool)> {
        let mut state = lock(&self.state);
        if std::mem::replace(&mut state.taken, true) {
            return None;
        }
        let moved = std::mem::replace(&mut state.last, self.process) != self.process;
        Some((ViewGuard(Arc::clone(&self.state)), moved))
    }
}

impl Drop for ViewGuard {
    fn drop(&mut self) {
        lock(&self.0).taken = false;
    }
}

fn lock(state: &Mutex<ViewState>) -> MutexGuard<'_, ViewState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_has_the_view_and_knows_whether_it_was_moved() {
        let first = View::default();
        let second = first.for_process(1);
        let moved = |view: &View| view.try_take().map(|(_, moved)| moved);
        assert_eq!(moved(&first), Some(false));
        let (held, moved_before) = first.try_take().expect("free");
        assert!(!moved_before && second.try_take().is_none() && first.try_take().is_none());
        drop(held);
        assert_eq!(moved(&second), Some(true));
        assert_eq!(moved(&second), Some(false));
        assert_eq!(moved(&first), Some(true));
    }
}
