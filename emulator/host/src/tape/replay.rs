//! A program that replays the actions on a tape.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};

use lanigon_window::window::{SystemPort, VirtualAddress};

use super::super::log::MemoryAct;
use super::super::machine::Machine;
use super::super::request::Request;
use super::Actions;
use super::code::{LONGEST_TEXT_BYTES, MOST_TEXTS, TapeAction, TapeError, TapeReader};

/// Checked actions, ready to be replayed any number of times.
#[derive(Debug)]
pub struct Recording {
    texts: Vec<&'static str>,
    own: Vec<u8>,
    handlers: Vec<u8>,
}

/// A position on a track.
#[derive(Debug, Clone, Copy)]
enum Track {
    Own(usize),
    Handlers(usize),
}

impl Recording {
    /// Checks actions.
    ///
    /// # Errors
    /// If the bytes are no actions.
    pub fn new(actions: Actions) -> Result<Self, TapeError> {
        let Actions {
            texts,
            own,
            handlers,
        } = actions;
        let fits = |text: &Arc<str>| text.len() <= LONGEST_TEXT_BYTES;
        if texts.len() > MOST_TEXTS || !texts.iter().all(fits) {
            return Err(TapeError::Invalid("text"));
        }
        let recording = Self {
            texts: texts.iter().map(|text| lasting(text)).collect(),
            own,
            handlers,
        };
        for bytes in [&recording.own, &recording.handlers] {
            let mut reader = recording.reader(bytes);
            while reader.next()?.is_some() {}
        }
        Ok(recording)
    }

    fn reader<'a>(&'a self, bytes: &'a [u8]) -> TapeReader<'a> {
        TapeReader {
            bytes,
            texts: &self.texts,
        }
    }

    /// Takes the next action of a track; `None` at its end.
    fn next(&self, track: &mut Track) -> Option<TapeAction> {
        let (bytes, at) = match track {
            Track::Own(at) => (&self.own, at),
            Track::Handlers(at) => (&self.handlers, at),
        };
        let mut reader = self.reader(bytes.get(*at..)?);
        let action = reader.next().ok()?;
        *at = bytes.len() - reader.bytes.len();
        action
    }

    /// Performs the actions, as a host program. Behind the last one it waits for ever, unless the recorded program had ended.
    pub async fn replay(self: Arc<Self>, mut machine: Machine) {
        let handlers = Arc::new(Mutex::new(Track::Handlers(0)));
        let mut own = Track::Own(0);
        loop {
            match self.next(&mut own) {
                Some(TapeAction::End) => return,
                Some(TapeAction::Request(Request::Signals { enabled: true })) => {
                    let (recording, handlers) = (Arc::clone(&self), Arc::clone(&handlers));
                    let handler = move |machine| {
                        let (recording, handlers) = (Arc::clone(&recording), Arc::clone(&handlers));
                        async move { recording.handle(machine, &handlers).await }
                    };
                    machine.handle_interrupts(handler).await;
                }
                Some(TapeAction::Request(request)) => machine.perform(request).await,
                Some(TapeAction::Memory(act)) => replay_memory(&mut machine, act),
                Some(TapeAction::Stuck) => pending().await,
                None => {
                    machine.perform(Request::Interrupt { timeout: None }).await;
                }
            }
        }
    }

    /// Performs the actions of the next run of the signal handler.
    async fn handle(&self, mut machine: Machine, handlers: &Mutex<Track>) {
        loop {
            let next = {
                let mut track = handlers.lock().unwrap_or_else(PoisonError::into_inner);
                self.next(&mut track)
            };
            match next {
                Some(TapeAction::End) | None => return,
                Some(TapeAction::Request(request)) => machine.perform(request).await,
                Some(TapeAction::Memory(act)) => replay_memory(&mut machine, act),
                Some(TapeAction::Stuck) => pending().await,
            }
        }
    }
}

/// Repeats a change of memory as the program made it, so that replay logs hold it too.
fn replay_memory(machine: &mut Machine, act: MemoryAct) {
    match act {
        MemoryAct::Allocate(length) => drop(machine.allocate(length)),
        MemoryAct::AllocateContiguous(length) => drop(machine.allocate_contiguous(length)),
        MemoryAct::Write(address, bytes) => {
            let _ = machine.write_memory(VirtualAddress(address), &bytes);
        }
    }
}

/// A copy of the text that lives for the rest of the process, since requests hold texts of the program's code. Each text is kept once.
fn lasting(text: &str) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(text) {
        return known;
    }
    let kept: &'static str = Box::leak(text.into());
    texts.insert(kept);
    kept
}
