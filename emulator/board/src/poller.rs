//! Idle polls: the reads with which the only program of a host polls words of the board's memory, in turn, without success.
//!
//! They are the most frequent actions of a host, and each does nothing but take the PCI bus and the SRAM bus for a moment, perhaps
//! after a write that moves the window's view to the word. So they are no events. The poller states when the next one is due, and
//! the node or the board carries it out when it comes to that time. A poll that succeeds becomes an event, like any other read; so does the
//! end of the timeout.

use super::events::{HostEvent, PollAccess, PollRequest, Read, Response};
use super::pci::PciBus;
use super::{Board, Context};
use emulator_base::time::SimTime;
use emulator_observe::event::Details;
use emulator_profile::costs::HostCosts;
use emulator_state::{Reader, State, StateError, Writer};
use emulator_state::{value_enum, value_struct};

/// The polls of the one program of a host.
#[derive(Debug)]
#[repr(C)] // What each visit of a node reads stands side by side.
pub struct Poller {
    polling: Option<Polling>,
    /// The words that are polled in turn.
    words: Vec<Polled>,
    /// Whether some of the words need a write before them.
    moves: bool,
    costs: HostCosts,
}

/// A word that is polled.
#[derive(Debug, Clone, Copy)]
pub struct Polled {
    /// A write, as offset and value, that must come before the read: it moves the window's view.
    pub before: Option<(u32, u32)>,
    /// The condition.
    pub poll: PollRequest,
}

value_struct!(Polled {
    before: before,
    poll: poll
});

impl State for Poller {
    fn save(&self, out: &mut Writer) {
        self.polling.save(out);
        // The words of a poll that is over do not count.
        self.words().to_vec().save(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.polling.load(from)?;
        self.words.load(from)?;
        self.moves = moves(&self.words);
        match self.polling {
            Some(polling) if polling.at >= self.words.len() => {
                Err(StateError::Value("a poll of several words"))
            }
            _ => Ok(()),
        }
    }
}

/// The poll that is under way.
#[derive(Debug, Clone, Copy)]
struct Polling {
    program: usize,
    /// Whether its signal handler polls.
    in_handler: bool,
    /// Index of the word whose turn it is.
    at: usize,
    /// Time at which the timeout is over; [`SimTime::MAX`] without one.
    deadline: SimTime,
    /// Time at which the processor asked; before that, when it is ready to ask.
    asked: SimTime,
    step: PollStep,
    /// Time at which the step is due.
    due: SimTime,
}

value_struct!(Polling {
    program: program,
    in_handler: in_handler,
    at: at,
    deadline: deadline,
    asked: asked,
    step: step,
    due: due
});

/// The next step of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PollStep {
    /// The write before it reaches the PCI bus.
    Write,
    /// The write before it reaches the board.
    Move,
    /// The request of a read reaches the PCI bus.
    Start,
    /// The board returns the value.
    Sample,
}

value_enum!(PollStep {
    Start {},
    Sample {},
    Write {},
    Move {}
});

impl Polling {
    /// Puts the write before a read on the bus.
    #[inline]
    fn start_write(&mut self, costs: &HostCosts, pci: &mut PciBus) {
        self.step = PollStep::Move;
        self.asked = self.due + costs.pio_write;
        self.due = pci.acquire(self.due, u64::from(costs.pio_write_setup_clocks) + 1);
    }

    /// Puts the request of a read on the bus.
    #[inline]
    fn start_read(&mut self, costs: &HostCosts, pci: &mut PciBus) {
        self.step = PollStep::Sample;
        self.due = pci.acquire(self.due, u64::from(costs.pio_read_bus_clocks));
    }
}

impl Poller {
    /// A poller without a program.
    #[must_use]
    pub const fn new(costs: &HostCosts) -> Self {
        Self {
            costs: *costs,
            polling: None,
            words: Vec::new(),
            moves: false,
        }
    }

    /// The time at which the next step of a poll is due; [`SimTime::MAX`] without a poll.
    #[must_use]
    #[inline]
    pub fn next_time(&self) -> SimTime {
        match &self.polling {
            Some(polling) => polling.due,
            None => SimTime::MAX,
        }
    }

    /// Ends the polls.
    pub fn stop(&mut self) {
        self.polling = None;
    }

    /// The conditions that are polled for, and the program.
    pub fn polls_mut(&mut self) -> impl Iterator<Item = (usize, &mut PollRequest)> {
        let program = self.polling.map(|polling| polling.program);
        let polls = program.map(|program| {
            let words = self.words.iter_mut();
            words.map(move |word| (program, &mut word.poll))
        });
        polls.into_iter().flatten()
    }

    /// Whether there is a poll.
    #[must_use]
    pub const fn is_polling(&self) -> bool {
        self.polling.is_some()
    }

    /// The words that are polled in turn; none without a poll.
    fn words(&self) -> &[Polled] {
        match self.polling {
            Some(_) => &self.words,
            None => &[],
        }
    }

    /// Whether one of the words is as expected, or may be.
    #[must_use]
    pub fn may_end<B: Board>(&self, board: &B, now: SimTime) -> bool {
        let mut write = None;
        self.words().iter().any(|word| {
            let offset = word.poll.offset;
            write = word.before.or(write);
            let value = match write {
                Some(write) => board.window_peek_after(write, offset, now),
                None => Some(board.window_peek(offset, now)),
            };
            value.is_none_or(|value| word.poll.holds(value))
        })
    }
}

#[inline]
fn moves(words: &[Polled]) -> bool {
    words.iter().any(|word| word.before.is_some())
}

/// Begins a poll at `asked`: `program` polls words of SRAM in turn, from the one at the index `at` on.
pub fn begin<E>(
    (program, in_handler): (usize, bool),
    (words, at): (impl Iterator<Item = Polled>, usize),
    asked: SimTime,
    deadline: SimTime,
    ctx: &mut Context<'_, E>,
) {
    let polling = Polling {
        program,
        in_handler,
        at,
        deadline,
        asked,
        step: PollStep::Start,
        due: ctx.now,
    };
    ctx.poller.words.clear();
    ctx.poller.words.extend(words);
    debug_assert!(at < ctx.poller.words.len());
    ctx.poller.moves = moves(&ctx.poller.words);
    ctx.poller.polling = Some(polling);
    continue_poll(asked, ctx.now, ctx);
}

/// Begins the next poll at `back`, when the processor is ready for it.
#[inline(always)]
fn continue_poll<E>(back: SimTime, now: SimTime, ctx: &mut Context<'_, E>) {
    match ctx.poller.moves {
        true => continue_poll_in_views(back, now, ctx),
        false => ask(back, now, ctx),
    }
}

/// [`continue_poll`], if some words need a write before them. That has an own step at its time, unless nothing can happen before:
/// no request that reaches the bus, and no interrupt that holds up the processor.
// Only for polls in several views of the window: kept out of the path of plain polls, which the loop inlines.
#[inline(never)]
fn continue_poll_in_views<E>(back: SimTime, now: SimTime, ctx: &mut Context<'_, E>) {
    let Poller {
        costs,
        polling,
        words,
        ..
    } = &mut *ctx.poller;
    let Some(polling) = polling else {
        return;
    };
    if words[polling.at].before.is_none() {
        return ask(back, now, ctx);
    }
    polling.step = PollStep::Write;
    polling.due = back;
    let alone = ctx.queue.next_time() > back && now + ctx.bus_lead > back;
    if alone && now + costs.interrupt > back {
        polling.start_write(costs, ctx.pci);
    }
}

/// The processor asks once more. The request's way to the bus is no step of its own if no other request can reach the
/// bus before it.
#[inline(always)]
fn ask<E>(asked: SimTime, now: SimTime, ctx: &mut Context<'_, E>) {
    let Poller { costs, polling, .. } = &mut *ctx.poller;
    let Some(polling) = polling else {
        return;
    };
    let start = asked + costs.pio_read_request;
    polling.asked = asked;
    polling.step = PollStep::Start;
    polling.due = start;
    if ctx.queue.next_time() > start && now + ctx.bus_lead > start {
        polling.start_read(costs, ctx.pci);
    }
}

/// Carries out the next step of a poll. `polled` carries out the access at the board, if that is
/// [fruitless](Board::fruitless_poll). If it is not, the step becomes an event; tells whether it did not.
#[inline]
pub fn step<E>(
    ctx: &mut Context<'_, E>,
    polled: impl FnOnce(PollAccess<'_>, SimTime) -> bool,
) -> bool {
    let Poller {
        costs,
        polling,
        words,
        ..
    } = &mut *ctx.poller;
    let Some(polling) = polling else {
        return true;
    };
    match polling.step {
        PollStep::Start => polling.start_read(costs, ctx.pci),
        PollStep::Write => polling.start_write(costs, ctx.pci),
        PollStep::Move => {
            let moved = words[polling.at].before.is_some_and(|write| {
                !ctx.trace.wants(Details::REGISTERS) && polled(PollAccess::Move(write), polling.due)
            });
            if !moved {
                hand_over(ctx);
                return false;
            }
            // The read does not overtake the write.
            let now = polling.due;
            let asked = now.saturating_sub(costs.pio_read_request);
            ask(polling.asked.max(asked), now, ctx);
        }
        PollStep::Sample if polled(PollAccess::Read(&words[polling.at].poll), polling.due) => {
            let sampled = polling.due;
            let back = costs.back_at(polling.asked, sampled);
            if back >= polling.deadline {
                time_out(*polling, back, ctx);
                return false;
            }
            polling.at += 1;
            if polling.at == words.len() {
                polling.at = 0;
            }
            continue_poll(back, sampled, ctx);
        }
        PollStep::Sample => {
            hand_over(ctx);
            return false;
        }
    }
    true
}

/// Makes the end of the timeout an event, after the last fruitless poll before it.
fn time_out<E>(polling: Polling, back: SimTime, ctx: &mut Context<'_, E>) {
    ctx.poller.polling = None;
    let event = HostEvent::Resume {
        program: polling.program,
        in_handler: polling.in_handler,
        response: Response::TimedOut,
    };
    ctx.schedule_host(back, event);
}

/// The next step of a poll becomes an event: something else happens at that time, or the poll is not idle.
pub fn hand_over<E>(ctx: &mut Context<'_, E>) {
    let Some(polling) = ctx.poller.polling.take() else {
        return;
    };
    let (program, asked) = (polling.program, polling.asked);
    let Polled { before, poll } = ctx.poller.words[polling.at];
    let read = Read {
        offset: poll.offset,
        until: Some(poll),
    };
    let event = match (polling.step, before) {
        (PollStep::Move, Some(write)) => HostEvent::Prepare {
            program,
            write,
            poll,
            ready: asked,
        },
        (PollStep::Write | PollStep::Move, _) => HostEvent::PollAgain {
            program,
            at: Some(polling.at),
        },
        (PollStep::Start, _) => HostEvent::ReadStart {
            program,
            read,
            asked,
        },
        (PollStep::Sample, _) => HostEvent::ReadSample {
            program,
            read,
            asked,
        },
    };
    ctx.schedule_host(polling.due, event);
}

/// Executes all polls before `until`, up to which SRAM does not change. Returns whether all are idle.
pub fn run_idle_polls<B: Board>(
    board: &mut B,
    until: SimTime,
    ctx: &mut Context<'_, B::Event>,
) -> bool {
    while ctx.poller.next_time() < until {
        if !step(ctx, |access, now| board.fruitless_poll(access, now)) {
            return false;
        }
        skip(board, until, ctx);
    }
    true
}

/// The last poll was fruitless, and so are all before `until`: skips those of them that find the buses free.
fn skip<B: Board>(board: &mut B, until: SimTime, ctx: &mut Context<'_, B::Event>) {
    let Some(mut polling) = ctx.poller.polling else {
        return;
    };
    let costs = &ctx.poller.costs;
    let span = ctx.pci.span_of(u64::from(costs.pio_read_bus_clocks));
    let start = polling.asked + costs.pio_read_request;
    // A poll that had to wait for the PCI bus is not like the next one.
    if polling.step != PollStep::Sample || polling.due != start + span || start >= until {
        return;
    }
    let period = (costs.back_at(polling.asked, polling.due) - polling.asked).ps();
    let period = period.max(1);
    // The last poll that is skipped ends before the timeout is over.
    let in_time = polling.deadline.saturating_sub(polling.asked).ps();
    let span_left = (until - start).ps().min(in_time);
    let times = span_left.saturating_sub(1) / period;
    let words = &ctx.poller.words;
    let fails = |Polled { poll, .. }: &Polled| {
        board.is_memory(poll.offset) && !poll.holds(board.window_peek(poll.offset, until))
    };
    // A single word is looked at by the board.
    let skips = times > 0 && !ctx.poller.moves && (words.len() == 1 || words.iter().all(fails));
    if !skips || !board.skip_polls(&words[polling.at].poll, polling.due, period, times) {
        return;
    }
    polling.at = ((polling.at as u64 + times) % words.len() as u64) as usize;
    let skipped = SimTime::from_ps(period * times);
    ctx.pci.repeat(start + skipped, times, span);
    polling.asked += skipped;
    polling.due += skipped;
    ctx.poller.polling = Some(polling);
}
