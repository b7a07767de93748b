//! Polls of several words in turn, each charged as a poll, until one of them is as expected.

use host_lib::window::Watch;

use super::dispatch::{HostContext, schedule};
use super::program::Programs;
use super::request::{HostEvent, PollRequest, Read};
use crate::board::Board;
use crate::sim::time::SimTime;
use crate::state::{Reader, StateError, Value, Writer};

/// The words that a program polls in turn.
#[derive(Debug)]
pub(super) struct Rotation {
    /// Never empty.
    watches: Vec<Watch>,
    why: &'static str,
    at: usize,
}

impl Value for Rotation {
    fn write(&self, out: &mut Writer) {
        self.watches.write(out);
        self.at.write(out);
    }

    /// Without its reason, which the program that polls knows.
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (watches, at): (Vec<Watch>, usize) = Value::read(from)?;
        if at >= watches.len() {
            return Err(StateError::Value("a poll of several words"));
        }
        let why = "";
        Ok(Self { watches, why, at })
    }
}

impl Rotation {
    /// Says what it is for.
    pub(super) const fn set_why(&mut self, why: &'static str) {
        self.why = why;
    }

    pub(super) const fn new(watches: Vec<Watch>, why: &'static str) -> Self {
        let at = 0;
        Self { watches, why, at }
    }

    /// The index of the word whose turn it is.
    pub(super) const fn index(&self) -> usize {
        self.at
    }

    fn advance(&mut self) {
        self.at = (self.at + 1) % self.watches.len();
    }

    /// The word whose turn it is: what must be written before, and the poll.
    fn step(&self) -> (Option<(u32, u32)>, PollRequest) {
        let watch = self.watches[self.at];
        (watch.before, poll(watch, self.why))
    }

    /// Whether all words lie in the board's memory.
    pub(super) fn is_of_memory<B: Board>(&self, board: &B) -> bool {
        let mut offsets = self.watches.iter().map(|watch| watch.offset);
        offsets.all(|offset| board.is_memory(offset))
    }

    /// Whether one of the words already is as expected, or may be.
    pub(super) fn will_end<B: Board>(&self, board: &B, now: SimTime) -> bool {
        let mut write = None;
        self.watches.iter().any(|watch| {
            write = watch.before.or(write);
            let value = match write {
                Some(write) => board.window_peek_after(write, watch.offset, now),
                None => Some(board.window_peek(watch.offset, now)),
            };
            value.is_none_or(|value| poll(*watch, self.why).holds(value))
        })
    }
}

const fn poll(watch: Watch, why: &'static str) -> PollRequest {
    PollRequest {
        offset: watch.offset,
        mask: watch.mask,
        expected: watch.expected,
        why,
    }
}

impl Programs {
    /// A program turns to the word whose turn it is: it writes what must be written, and reads.
    pub(super) fn watch<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        let program = &mut self.programs[index];
        let Some((before, poll)) = program.rotation.as_ref().map(Rotation::step) else {
            return;
        };
        program.polling = Some(poll);
        let Some(write) = before else {
            return self.ask(index, read(poll), ctx.now, ctx);
        };
        let clocks = u64::from(self.costs.pio_write_setup_clocks) + 1;
        let arrives = ctx.pci.acquire(ctx.now, clocks);
        let event = HostEvent::Prepare {
            program: index,
            write,
            ready: ctx.now + self.costs.pio_write,
        };
        schedule(ctx, arrives, event);
    }

    /// The write has reached the board; the read does not overtake it.
    pub(super) fn watch_prepared<E>(
        &mut self,
        index: usize,
        ready: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        if let Some(poll) = self.programs[index].polling {
            let asked = ready.max(ctx.now.saturating_sub(self.costs.pio_read_request));
            self.ask(index, read(poll), asked, ctx);
        }
    }

    /// A poll was in vain; at `back` the program knows.
    pub(super) fn watch_next<E>(
        &mut self,
        index: usize,
        back: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        let program = &mut self.programs[index];
        let Some(rotation) = &mut program.rotation else {
            return;
        };
        rotation.advance();
        let (before, poll) = rotation.step();
        if before.is_some() {
            return schedule(ctx, back, HostEvent::Watch { program: index });
        }
        // Nothing but the read itself: it needs no event to begin.
        program.polling = Some(poll);
        self.ask(index, read(poll), back, ctx);
    }
}

const fn read(poll: PollRequest) -> Read {
    Read {
        offset: poll.offset,
        until: Some(poll),
    }
}
