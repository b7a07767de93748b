//! Polls of several words in turn, of window and memory, each charged as a poll of its kind, until one of them is as expected.

use lanigon_window::window::{PolledWord, WindowWatch};

use super::dispatch::HostContext;
use super::machine::Machine;
use super::memory_poll::MemoryWord;
use super::program::Programs;
use emulator_base::time::SimTime;
use emulator_board::events::{HostEvent, PollRequest, Read, Response};
use emulator_board::poller::{self, Polled};
use emulator_board::{Board, SharedMemory};
use emulator_state::value_enum;
use emulator_state::{Reader, StateError, Value, Writer};

/// A word that is polled.
#[derive(Debug, Clone, Copy)]
enum Word {
    Window(WindowWatch),
    Memory(MemoryWord),
}

value_enum!(Word {
    Window { 0: watch },
    Memory { 0: word }
});

/// The words that a program polls in turn.
#[derive(Debug)]
pub(super) struct Rotation {
    /// The words; never empty.
    words: Vec<Word>,
    /// Reason of the poll, for reports.
    why: &'static str,
    /// Index of the word whose turn it is.
    turn: usize,
}

impl Value for Rotation {
    fn write(&self, out: &mut Writer) {
        self.words.write(out);
        self.turn.write(out);
    }

    /// Reads a rotation without its reason: a saved state has no texts of programs, the program's request has it.
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (words, turn): (Vec<Word>, usize) = Value::read(from)?;
        if turn >= words.len() {
            return Err(StateError::Value("a poll of several words"));
        }
        let why = "";
        Ok(Self { words, why, turn })
    }
}

impl Rotation {
    pub(super) const fn why(&self) -> &'static str {
        self.why
    }

    pub(super) const fn set_why(&mut self, why: &'static str) {
        self.why = why;
    }

    /// The index of the word whose turn it is.
    pub(super) const fn index(&self) -> usize {
        self.turn
    }

    fn advance(&mut self) {
        self.turn = (self.turn + 1) % self.words.len();
    }

    /// The word whose turn it is.
    fn word(&self) -> Word {
        self.words[self.turn]
    }

    /// Moves on to the word at this index, to which polls of the [`poller`] have come.
    pub(super) fn come_to(&mut self, at: usize) {
        if at < self.words.len() {
            self.turn = at;
        }
    }

    /// Whether the [`poller`] can poll the words: all are in the board's memory, and writes before them only move the window's view.
    fn fits_poller<B: Board>(&self, board: &B) -> bool {
        self.words.iter().all(|word| match word {
            Word::Window(watch) => {
                board.is_memory(watch.offset)
                    && watch.before.is_none_or(|write| board.moves_view(write))
            }
            Word::Memory(_) => false,
        })
    }

    /// The words of the window.
    fn polls(&self) -> impl Iterator<Item = Polled> {
        self.words
            .iter()
            .enumerate()
            .filter_map(|(at, word)| match word {
                Word::Window(watch) => Some(Polled {
                    before: watch.before,
                    poll: poll(*watch, at, self.why),
                }),
                Word::Memory(_) => None,
            })
    }

    /// Whether all words lie in memory: the board's or the host's.
    pub(super) fn is_of_memory<B: Board>(&self, board: &B) -> bool {
        self.words.iter().all(|word| match word {
            Word::Window(watch) => board.is_memory(watch.offset),
            Word::Memory(_) => true,
        })
    }

    /// Whether one of the words already is as expected, or may be: a view that a write moves cannot always be looked through.
    pub(super) fn will_end<B: Board>(
        &self,
        board: &B,
        memory: &SharedMemory,
        now: SimTime,
    ) -> bool {
        let mut write = None;
        self.words.iter().any(|word| match word {
            Word::Window(watch) => {
                write = watch.before.or(write);
                let value = match write {
                    Some(write) => board.window_peek_after(write, watch.offset, now),
                    None => Some(board.window_peek(watch.offset, now)),
                };
                value.is_none_or(|value| poll(*watch, 0, self.why).holds(value))
            }
            Word::Memory(word) => word.holds(word.value(&Machine::lock(memory))),
        })
    }
}

/// The poll of the word at the index `at`.
const fn poll(watch: WindowWatch, at: usize, why: &'static str) -> PollRequest {
    PollRequest {
        offset: watch.offset,
        mask: watch.mask,
        expected: watch.expected,
        at: at as u32,
        why,
    }
}

impl Programs {
    /// Begins to poll words in turn.
    pub(super) fn begin_rotation<E>(
        &mut self,
        index: usize,
        words: &[PolledWord],
        why: &'static str,
        ctx: &mut HostContext<'_, E>,
    ) {
        let of_memory = |word: &PolledWord| match word {
            PolledWord::Window(watch) => Ok(Word::Window(*watch)),
            PolledWord::Memory(watch) => {
                ctx.with_memory(|memory| MemoryWord::new(watch, memory).map(Word::Memory))
            }
        };
        match words.iter().map(of_memory).collect() {
            Ok(words) => {
                let turn = 0;
                self.programs[index].work.rotation = Some(Rotation { words, why, turn });
                self.poll_turn(index, ctx);
            }
            Err(address) => {
                let span = self.costs.memory_poll;
                self.resume_after(index, span, Response::BadAddress(address), ctx);
            }
        }
    }

    /// A program that polls the window goes on to its next poll, unless it gives its CPU up. `at`: the index of the word, if
    /// the [`poller`] has come to it.
    pub(super) fn poll_again<E>(
        &mut self,
        index: usize,
        at: Option<usize>,
        ctx: &mut HostContext<'_, E>,
    ) {
        if let (Some(rotation), Some(at)) = (&mut self.programs[index].work.rotation, at) {
            rotation.come_to(at);
        }
        let stolen = std::mem::take(&mut self.programs[index].work.stolen);
        if stolen > SimTime::ZERO {
            let back = ctx.now + stolen;
            return schedule_poll(back, index, ctx);
        }
        if self.deliver(index, None, ctx) || self.give_way(index, None, ctx) {
            return;
        }
        let work = &self.programs[index].work;
        if ctx.now >= work.deadline {
            return self.timed_out(index, ctx.now, ctx);
        }
        match (&work.rotation, work.polling) {
            (Some(_), _) => self.poll_turn(index, ctx),
            (None, Some(poll)) => self.ask(index, read(poll), ctx.now, ctx),
            (None, None) => {}
        }
    }

    /// A program polls the word whose turn it is: it writes what must be written before, and reads.
    fn poll_turn<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        let work = &mut self.programs[index].work;
        let Some(rotation) = &work.rotation else {
            return;
        };
        let watch = match rotation.word() {
            Word::Window(watch) => watch,
            Word::Memory(word) => return self.poll_word_of_memory(index, word, ctx),
        };
        let poll = poll(watch, rotation.turn, rotation.why);
        work.polling = Some(poll);
        let Some(write) = watch.before else {
            return self.ask(index, read(poll), ctx.now, ctx);
        };
        let clocks = u64::from(self.costs.pio_write_setup_clocks) + 1;
        let arrives = ctx.pci.acquire(ctx.now, clocks);
        let event = HostEvent::Prepare {
            program: index,
            write,
            poll,
            ready: ctx.now + self.costs.pio_write,
        };
        ctx.schedule_host(arrives, event);
    }

    /// A program polls a word of memory in its turn.
    fn poll_word_of_memory<E>(
        &mut self,
        index: usize,
        word: MemoryWord,
        ctx: &mut HostContext<'_, E>,
    ) {
        let value = ctx.with_memory(|memory| word.value(memory));
        let end = ctx.now + self.costs.memory_poll;
        let work = &mut self.programs[index].work;
        work.polling = None;
        if word.holds(value) {
            if let Some(rotation) = work.rotation.take() {
                self.found_in_memory(index, rotation.turn, value, rotation.why, ctx);
            }
        } else if end >= work.deadline {
            self.timed_out(index, end, ctx);
        } else {
            if let Some(rotation) = &mut work.rotation {
                rotation.advance();
            }
            schedule_poll(end, index, ctx);
        }
    }

    /// The write before a poll has reached the board: the read is asked for now, which must not overtake it.
    pub(super) fn poll_prepared<E>(
        &mut self,
        index: usize,
        poll: PollRequest,
        ready: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        let work = &mut self.programs[index].work;
        if let Some(rotation) = &mut work.rotation {
            rotation.come_to(poll.at as usize);
            work.polling = Some(poll);
            // The read is under way already, behind the write: its request takes this long to the bus.
            let asked = ready.max(ctx.now.saturating_sub(self.costs.pio_read_request));
            self.ask(index, read(poll), asked, ctx);
        }
    }

    /// A poll was fruitless; at `back` the program has its value. If it is the only program and all words are in the board's memory,
    /// the [`poller`] goes on, at less cost than events. Tells whether it does.
    pub(super) fn poll_idly<B: Board>(
        &mut self,
        index: usize,
        back: SimTime,
        board: &B,
        ctx: &mut HostContext<'_, B::Event>,
    ) -> bool {
        if self.programs.len() != 1 || self.stops_soon(index) {
            return false;
        }
        let who = (index, self.programs[index].signals.handling);
        let work = &mut self.programs[index].work;
        let deadline = work.deadline;
        let Some(rotation) = work.rotation.as_mut().filter(|it| it.fits_poller(board)) else {
            return false;
        };
        rotation.advance();
        let (words, turn) = (rotation.polls(), rotation.turn);
        poller::begin(who, (words, turn), back, deadline, ctx);
        true
    }

    /// A poll was fruitless; at `back` the program has its value, and goes on with the next word.
    pub(super) fn poll_next<E>(
        &mut self,
        index: usize,
        back: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        let will_stop = self.stops_soon(index);
        let work = &mut self.programs[index].work;
        let Some(rotation) = &mut work.rotation else {
            return;
        };
        rotation.advance();
        match rotation.word() {
            // Nothing but the read itself: it needs no event to begin.
            Word::Window(watch) if watch.before.is_none() && !will_stop => {
                let poll = poll(watch, rotation.turn, rotation.why);
                work.polling = Some(poll);
                self.ask(index, read(poll), back, ctx);
            }
            _ => schedule_poll(back, index, ctx),
        }
    }
}

/// Schedules a program's next poll.
fn schedule_poll<E>(time: SimTime, program: usize, ctx: &mut HostContext<'_, E>) {
    ctx.schedule_host(time, HostEvent::PollAgain { program, at: None });
}

/// The access to the window that a poll makes.
const fn read(poll: PollRequest) -> Read {
    Read {
        offset: poll.offset,
        until: Some(poll),
    }
}
