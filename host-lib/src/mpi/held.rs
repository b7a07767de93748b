//! The library's state, which a handler of signals has while the program computes.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The place where a handler finds the state.
#[derive(Debug)]
pub(super) struct HeldState<E> {
    state: Mutex<Option<Box<E>>>,
    /// A handler has found nothing: the program was in a call. Relaxed: the state itself is behind the mutex.
    missed: AtomicBool,
}

impl<E> HeldState<E> {
    fn lock(&self) -> MutexGuard<'_, Option<Box<E>>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the state for a handler; notes that there is none.
    pub(super) fn take_state(&self) -> Option<Box<E>> {
        let state = self.lock().take();
        if state.is_none() {
            self.missed.store(true, Ordering::Relaxed);
        }
        state
    }

    /// Puts the state back.
    pub(super) fn put_back(&self, state: Box<E>) {
        *self.lock() = Some(state);
    }

    /// Whether a handler has found nothing since the last call.
    pub(super) fn has_missed(&self) -> bool {
        self.missed.swap(false, Ordering::Relaxed)
    }
}

/// The state. The program has it but while it is lent.
#[derive(Debug)]
pub(super) struct LentState<E> {
    own: Option<Box<E>>,
    place: Arc<HeldState<E>>,
}

impl<E> LentState<E> {
    pub(super) fn new(state: E) -> Self {
        Self {
            own: Some(Box::new(state)),
            place: Arc::new(HeldState {
                state: Mutex::new(None),
                missed: AtomicBool::new(false),
            }),
        }
    }

    pub(super) fn place(&self) -> Arc<HeldState<E>> {
        Arc::clone(&self.place)
    }

    /// Lends the state to handlers until the loan is dropped.
    pub(super) fn lend(&mut self) -> Loan<'_, E> {
        *self.place.lock() = self.own.take();
        Loan(self)
    }
}

/// A loan of the state. It is dropped when no handler runs: a program stands still meanwhile.
pub(super) struct Loan<'a, E>(&'a mut LentState<E>);

impl<E> Drop for Loan<'_, E> {
    fn drop(&mut self) {
        self.0.own = self.0.place.lock().take();
    }
}

impl<E> Deref for LentState<E> {
    type Target = E;

    fn deref(&self) -> &E {
        match &self.own {
            Some(state) => state,
            None => unreachable!("a loan has the only reference to its owner"),
        }
    }
}

impl<E> DerefMut for LentState<E> {
    fn deref_mut(&mut self) -> &mut E {
        match &mut self.own {
            Some(state) => state,
            None => unreachable!("a loan has the only reference to its owner"),
        }
    }
}
