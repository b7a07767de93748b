//! Polls of host memory.
//!
//! A program that polls words of host memory has them in its cache until the board writes them: a poll costs a few
//! nanoseconds and touches nothing else. So the polls are not carried out one by one. Their times follow from the first:
//! `next`, `next + memory_poll`, and so on, each of the next word in turn. An event is pending only for a poll that can end the
//! wait: once a word is as expected, the next poll; before that, the one with which the timeout is over. A write to one
//! of the words ([`HostEvent::MemoryWritten`]) looks again. The result is that of a program that reads, computes for the cost of a
//! poll, and looks at the clock, again and again.

use super::dispatch::HostContext;
use super::program::Programs;
use super::scheduler::Scheduling;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_board::events::{HostEvent, Response};
use emulator_board::memory::HostMemory;
use emulator_observe::event::TraceKind;
use emulator_state::value_struct;
use emulator_state::{Reader, StateError, Value, Writer};
use lanigon_window::window::MemoryWatch;

/// A condition on a word of physical memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemoryWord {
    physical: u64,
    mask: u32,
    expected: u32,
}

value_struct!(MemoryWord {
    physical: physical,
    mask: mask,
    expected: expected
});

impl MemoryWord {
    /// The word that a program watches.
    ///
    /// # Errors
    /// The address, if no word that a program can read is there.
    pub(super) fn new(watch: &MemoryWatch, memory: &HostMemory) -> Result<Self, u64> {
        let address = watch.address.0;
        let physical = memory
            .translate(address)
            .filter(|_| address.is_multiple_of(4));
        Ok(Self {
            physical: physical.ok_or(address)?,
            mask: watch.mask,
            expected: watch.expected,
        })
    }

    /// The word's present value.
    pub(super) fn value(&self, memory: &HostMemory) -> u32 {
        let mut bytes = [0; 4];
        // The page was mapped when the poll began, and pages stay mapped.
        let read = memory.read_physical(self.physical, &mut bytes);
        read.map_or(0, |()| u32::from_le_bytes(bytes))
    }

    /// Whether the condition holds for a value of the word.
    pub(super) const fn holds(&self, value: u32) -> bool {
        value & self.mask == self.expected
    }
}

/// A program's polls of words of host memory.
#[derive(Debug)]
pub(super) struct MemoryPoll {
    /// The words; never empty.
    words: Vec<MemoryWord>,
    /// Reason of the poll, for reports.
    why: &'static str,
    /// Index of the word that the next poll reads.
    turn: usize,
    /// Time at which the next poll reads it; while the program has no CPU, the CPU time until then.
    next: SimTime,
    /// Time at which the timeout is over; [`SimTime::MAX`] without one.
    deadline: SimTime,
    /// The time of the pending event, if there is one. An event at another time is left over, and does nothing.
    armed: Option<SimTime>,
}

impl Value for MemoryPoll {
    fn write(&self, out: &mut Writer) {
        self.words.write(out);
        (self.turn, self.next).write(out);
        (self.deadline, self.armed).write(out);
    }

    /// Reads a poll without its reason: a saved state has no texts of programs, the program's request has it.
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let words: Vec<MemoryWord> = Value::read(from)?;
        let (turn, next) = Value::read(from)?;
        let (deadline, armed) = Value::read(from)?;
        if turn >= words.len() {
            return Err(StateError::Value("a poll of host memory"));
        }
        Ok(Self {
            words,
            why: "",
            turn,
            next,
            deadline,
            armed,
        })
    }
}

impl MemoryPoll {
    pub(super) const fn why(&self) -> &'static str {
        self.why
    }

    pub(super) const fn set_why(&mut self, why: &'static str) {
        self.why = why;
    }

    /// Skips the polls before `time`: they are fruitless.
    fn skip(&mut self, time: SimTime, period: SimTime) {
        let behind = time.saturating_sub(self.next).ps();
        let polls = behind.div_ceil(period.ps());
        self.next += SimTime::from_ps(polls * period.ps());
        self.turn = ((self.turn as u64 + polls) % self.words.len() as u64) as usize;
    }

    /// The next poll that can end the wait.
    fn due(&self, memory: &HostMemory, period: SimTime) -> Option<SimTime> {
        if self.will_end(memory) {
            return Some(self.next);
        }
        if self.deadline == SimTime::MAX {
            return None;
        }
        // The first poll that ends at the deadline or behind it: a poll takes a period.
        let left = self.deadline.saturating_sub(self.next).ps();
        let polls = left.div_ceil(period.ps()).saturating_sub(1);
        Some(
            self.next
                .saturating_add(SimTime::from_ps(polls.saturating_mul(period.ps()))),
        )
    }

    /// Whether one of the words is as expected.
    fn will_end(&self, memory: &HostMemory) -> bool {
        let mut words = self.words.iter();
        words.any(|word| word.holds(word.value(memory)))
    }

    /// Delays the polls from `now` on by `span`, for which an interrupt takes the CPU.
    pub(super) fn delay(&mut self, now: SimTime, span: SimTime, period: SimTime) {
        self.skip(now, period);
        self.next += span;
        self.armed = None;
    }

    /// Stops the polls at `time`, when the program loses its CPU.
    pub(super) fn suspend(&mut self, time: SimTime, period: SimTime) {
        self.skip(time, period);
        self.next = self.next.saturating_sub(time);
        self.armed = None;
    }

    /// Continues the polls at `time`, when the program has a CPU again.
    pub(super) fn resume(&mut self, time: SimTime) {
        self.next += time;
    }
}

impl Programs {
    /// Begins to poll words of memory.
    pub(super) fn begin_memory_poll<E>(
        &mut self,
        index: usize,
        watches: &[MemoryWatch],
        why: &'static str,
        ctx: &mut HostContext<'_, E>,
    ) {
        let words = self.memory_words(watches.iter(), ctx);
        match words {
            Err(address) => self.resume_after(
                index,
                self.costs.memory_poll,
                Response::BadAddress(address),
                ctx,
            ),
            Ok(words) => {
                let work = &mut self.programs[index].work;
                work.memory_poll = Some(MemoryPoll {
                    words,
                    why,
                    turn: 0,
                    next: ctx.now,
                    deadline: work.deadline,
                    armed: None,
                });
                self.watch_polled_words();
                self.poll_memory(index, ctx);
            }
        }
    }

    /// The words of physical memory that these watches mean, or the first bad address.
    pub(super) fn memory_words<'a, E>(
        &self,
        watches: impl Iterator<Item = &'a MemoryWatch>,
        ctx: &HostContext<'_, E>,
    ) -> Result<Vec<MemoryWord>, u64> {
        ctx.with_memory(|memory| {
            watches
                .map(|watch| MemoryWord::new(watch, memory))
                .collect()
        })
    }

    /// Asks memory to report writes to the words that are polled, and to those whose polls stand still for a handler.
    pub(super) fn watch_polled_words(&self) {
        let polls = self.programs.iter().flat_map(|program| {
            let suspended = program.suspended.iter();
            let suspended = suspended.flat_map(|work| work.memory_poll.iter());
            program.memory_polls().chain(suspended)
        });
        let words = polls.flat_map(|poll| &poll.words);
        let watched = words.map(|word| word.physical).collect();
        super::machine::Machine::lock(&self.memory).set_watched(watched);
    }

    /// Schedules the next poll of memory that can end the wait of a program that has a CPU.
    pub(super) fn arm_memory_poll<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        let period = self.costs.memory_poll;
        let program = &mut self.programs[index];
        let (Scheduling::Running(_), Some(poll)) =
            (program.scheduling, &mut program.work.memory_poll)
        else {
            return;
        };
        poll.skip(ctx.now, period);
        let due = ctx.with_memory(|memory| poll.due(memory, period));
        if let Some(due) = due
            && poll.armed != Some(due)
        {
            poll.armed = Some(due);
            ctx.schedule_host(due, HostEvent::MemoryPoll { program: index });
        }
    }

    /// Handles the event of a poll of memory. An event that was replaced by another one does nothing.
    pub(super) fn memory_poll_due<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        let period = self.costs.memory_poll;
        let poll = &mut self.programs[index].work.memory_poll;
        if let Some(poll) = poll.as_mut().filter(|poll| poll.armed == Some(ctx.now)) {
            poll.armed = None;
            poll.skip(ctx.now, period);
            if ctx.now >= poll.deadline {
                // The poll before this one took longer than it would without interrupts and other programs.
                self.end_memory_poll(index);
                return self.timed_out(index, ctx.now, ctx);
            }
            self.poll_memory(index, ctx);
        }
    }

    /// Polls one word of memory, now.
    fn poll_memory<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        let end = ctx.now + self.costs.memory_poll;
        let work = &mut self.programs[index].work;
        let Some(poll) = &mut work.memory_poll else {
            return;
        };
        let word = poll.words[poll.turn];
        let value = ctx.with_memory(|memory| word.value(memory));
        if word.holds(value) {
            let (found, why) = (poll.turn, poll.why);
            self.end_memory_poll(index);
            self.found_in_memory(index, found, value, why, ctx);
        } else if end >= poll.deadline {
            self.end_memory_poll(index);
            self.timed_out(index, end, ctx);
        } else {
            poll.turn = (poll.turn + 1) % poll.words.len();
            poll.next = end;
            self.arm_memory_poll(index, ctx);
        }
    }

    /// Ends a program's polls of memory, whose words need not be watched any more.
    fn end_memory_poll(&mut self, index: usize) {
        self.programs[index].work.memory_poll = None;
        self.watch_polled_words();
    }

    /// A poll that began now finds its word of memory as expected. It takes a cache miss longer than other polls, since the board's write
    /// has taken the word out of the cache.
    pub(super) fn found_in_memory<E>(
        &mut self,
        index: usize,
        found: usize,
        value: u32,
        why: &'static str,
        ctx: &mut HostContext<'_, E>,
    ) {
        let why = why.into();
        let kind = TraceKind::PollSatisfied { why, value };
        ctx.trace.record(ctx.now, Initiator::Host, kind);
        let span = self.costs.memory_poll + self.costs.memory_miss;
        self.resume_after(index, span, Response::Found(found, value), ctx);
    }

    /// A fruitless poll ends at `time`, when the timeout is over.
    pub(super) fn timed_out<E>(
        &mut self,
        index: usize,
        time: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        self.resume_at(index, time, Response::TimedOut, ctx);
    }

    /// A word of memory that is polled was written.
    pub(super) fn memory_written<E>(&mut self, ctx: &mut HostContext<'_, E>) {
        for index in 0..self.programs.len() {
            self.arm_memory_poll(index, ctx);
        }
    }

    /// Notices writes to polled words by other actors than the board: programs, a debugger, a test.
    pub(super) fn notice_writes<E>(&self, ctx: &mut HostContext<'_, E>) {
        let polls = |program: &super::program::Program| program.memory_polls().next().is_some();
        if self.programs.iter().any(polls) && ctx.with_memory(HostMemory::take_watched_write) {
            ctx.schedule_host(ctx.now, HostEvent::MemoryWritten);
        }
    }
}
