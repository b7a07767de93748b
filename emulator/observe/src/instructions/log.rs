//! Log of a core's instructions during a run.
//!
//! A core logs far more instructions than anything else, and most follow their predecessor and take equally long. So the log
//! holds what happens between instructions only: times spent, jumps and the like, each with the instruction that is
//! next. [`Cursor`] finds the instructions between them.

use super::cursor::Cursor;
use super::{Cause, Record};

/// Kind of an [`LogEvent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// Time spent for a cause: `number` ticks, after `other` ticks of contention.
    Spent,
    /// The instruction after the next one is at `number`.
    Jump,
    /// The next instruction is at `number`, and the one after it at `other`.
    Place,
    /// The note with index `number`.
    Note,
    /// Nothing.
    End,
}

/// Kind and cause of an event, and whether the next instruction is in the delay slot of a jump: one number, so that events
/// are quick to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventTag(u32);

impl EventTag {
    #[inline(always)]
    const fn new(kind: RecordKind, cause: Cause, in_slot: bool) -> Self {
        Self(kind as u32 | (cause as u32) << 8 | (in_slot as u32) << 16)
    }

    #[inline(always)]
    pub(super) const fn kind(self) -> RecordKind {
        match self.0 & 0xFF {
            0 => RecordKind::Spent,
            1 => RecordKind::Jump,
            2 => RecordKind::Place,
            3 => RecordKind::Note,
            _ => RecordKind::End,
        }
    }

    /// Cause of [`RecordKind::Spent`].
    #[inline(always)]
    pub(super) const fn cause(self) -> Cause {
        Cause::ALL[(self.0 >> 8 & 0xFF) as usize % Cause::ALL.len()]
    }

    /// Without a jump before it, an address occurs only once.
    #[inline(always)]
    pub(super) const fn in_slot(self) -> bool {
        self.0 >> 16 != 0
    }
}

/// An event between two instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogEvent {
    /// The next instruction.
    pub(super) pc: u32,
    pub(super) number: u32,
    pub(super) other: u32,
    pub(super) tag: EventTag,
}

/// An event that is rare, or has more numbers than an [`LogEvent`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Note {
    /// A record.
    Record(Record),
    /// Ticks of the own cycles of each instruction from now on.
    Pace(u64),
}

/// A core between two instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Address of the next instruction.
    pub pc: u32,
    /// Address of the instruction after it.
    pub next_pc: u32,
}

impl Default for Standing {
    fn default() -> Self {
        Self::at(0)
    }
}

impl Standing {
    /// Before the instruction at `pc`, not in the delay slot of a jump.
    #[inline(always)]
    #[must_use]
    pub const fn at(pc: u32) -> Self {
        Self {
            pc,
            next_pc: pc.wrapping_add(4),
        }
    }

    /// Whether the next instruction is in the delay slot of a jump.
    #[inline(always)]
    #[must_use]
    pub const fn in_slot(self) -> bool {
        self.next_pc != self.pc.wrapping_add(4)
    }
}

/// Room for the events of an instruction.
const ROOM: usize = 8;

/// State of a log at its core's last rollback point.
#[derive(Debug, Default)]
struct Mark {
    events: usize,
    notes: usize,
    pace: u64,
}

/// Log of a core's instructions, while an observer requests it.
///
/// A core either tells where it starts ([`begins`](Self::begins)), where it jumps and where it stops ([`ends`](Self::ends)), or
/// each instruction ([`executed`](Self::executed)).
#[derive(Debug, Default)]
pub struct InstructionLog {
    events: Vec<LogEvent>,
    notes: Vec<Note>,
    /// The core before the first event.
    start: Cursor,
    /// The core at its last stop, or after the last instruction that it has told.
    end: Standing,
    /// Whether the core runs, and has not told its stop yet.
    runs: bool,
    /// Ticks of the own cycles of the next instruction.
    pace: u64,
    /// Clock at the last stop.
    tick: u64,
    /// Clock rate, in ticks per second.
    ticks_per_second: u64,
    mark: Mark,
}

impl InstructionLog {
    /// Adds an event, for which there is room: a call to make some would cost the private loop registers of the host.
    #[inline(always)]
    fn push(&mut self, next: Standing, kind: RecordKind, cause: Cause, number: u32, other: u32) {
        debug_assert!(self.events.len() < self.events.capacity());
        if self.events.len() < self.events.capacity() {
            self.events.push(LogEvent {
                pc: next.pc,
                number,
                other,
                tag: EventTag::new(kind, cause, next.in_slot()),
            });
        }
    }

    /// Whether there is no room for the events of another instruction.
    #[inline(always)]
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.events.capacity() - self.events.len() < ROOM
    }

    /// Makes room for the events of an instruction.
    #[inline(always)]
    pub fn make_room(&mut self) {
        if self.is_full() {
            self.grow();
        }
    }

    // Rare, and a call that reserves memory: inlined, it would cost the private loop registers of the host.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.events.reserve(2 * ROOM);
    }

    #[cold]
    fn push_note(&mut self, next: Standing, note: Note) {
        let index = self.notes.len() as u32;
        self.notes.push(note);
        self.grow();
        self.push(next, RecordKind::Note, Cause::Branch, index, 0);
    }

    /// Adds a record that takes no time. If the core has not started to run yet, it does not know `next`.
    pub fn note_before(&mut self, next: Standing, record: Record) {
        let next = if self.runs { next } else { self.end };
        self.push_note(next, Note::Record(record));
    }

    /// Adds a record that takes no time. The core has stopped, or tells each instruction.
    pub fn note(&mut self, record: Record) {
        debug_assert!(!self.runs, "the next instruction is not known");
        self.push_note(self.end, Note::Record(record));
    }

    /// Starts the log of a core of a board with this clock rate and SRAM size.
    pub fn board(&mut self, ticks_per_second: u64, sram_bytes: u32) {
        self.ticks_per_second = ticks_per_second;
        self.note(Record::Board {
            ticks_per_second,
            sram_bytes,
        });
    }

    /// Clock at the last stop.
    #[must_use]
    pub const fn tick(&self) -> u64 {
        self.tick
    }

    /// Clock rate, in ticks per second; 0 while the log is empty.
    #[must_use]
    pub const fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }

    /// The core starts to run at `tick`.
    #[inline(always)]
    pub fn begins_at(&mut self, tick: u64) {
        if tick != self.tick {
            self.note(Record::Clock { tick });
            self.tick = tick;
        }
    }

    /// Whether the core runs, and has not told its stop yet.
    #[inline(always)]
    #[must_use]
    pub const fn runs(&self) -> bool {
        self.runs
    }

    /// The core starts to run at `tick`, and tells its jumps.
    // Once for each run of a core, and so kept out of its loop.
    #[cold]
    #[inline(never)]
    pub fn begins(&mut self, tick: u64, next: Standing) {
        self.begins_at(tick);
        self.make_room();
        self.push(
            self.end,
            RecordKind::Place,
            Cause::Branch,
            next.pc,
            next.next_pc,
        );
        self.runs = true;
    }

    /// Ends the run of the core at `tick`.
    pub const fn ends(&mut self, tick: u64, next: Standing) {
        self.tick = tick;
        self.end = next;
        self.runs = false;
    }

    /// Sets the ticks that the own cycles of an instruction take from now on.
    #[inline(always)]
    pub fn paces(&mut self, next: Standing, ticks: u64) {
        if ticks != self.pace {
            self.pace = ticks;
            self.push_note(next, Note::Pace(ticks));
        }
    }

    /// Adds a jump: the instruction after the next one, which is at `pc`, is at `target`.
    #[inline(always)]
    pub fn jumps(&mut self, pc: u32, target: u32) {
        self.push(Standing::at(pc), RecordKind::Jump, Cause::Branch, target, 0);
    }

    /// Adds a move: the core goes on at `to` instead of `next`.
    #[inline(always)]
    pub fn moves(&mut self, next: Standing, to: Standing) {
        self.push(next, RecordKind::Place, Cause::Branch, to.pc, to.next_pc);
    }

    /// Adds time of contention, and then time spent for `cause`.
    #[inline(always)]
    pub fn spent(&mut self, next: Standing, stalled: u64, cause: Cause, spent: u64) {
        let all = stalled | spent;
        if all > u64::from(u32::MAX) {
            self.spent_apart(next, stalled, cause, spent);
        } else if all > 0 {
            self.push(next, RecordKind::Spent, cause, spent as u32, stalled as u32);
        }
    }

    /// As [`spent`](Self::spent), if the numbers do not fit an event.
    #[cold]
    fn spent_apart(&mut self, next: Standing, stalled: u64, cause: Cause, spent: u64) {
        for (cause, ticks) in [(Cause::Contention, stalled), (cause, spent)] {
            if ticks > 0 {
                self.note_before(next, Record::Spent { cause, ticks });
            }
        }
    }

    /// Position of a core that tells each instruction, after the last one.
    #[inline(always)]
    #[must_use]
    pub const fn end(&self) -> Standing {
        self.end
    }

    /// Adds an executed instruction, whose own cycles took `ticks`.
    #[inline(always)]
    pub fn executed(&mut self, pc: u32, ticks: u64) {
        if pc != self.end.pc || ticks != self.pace {
            self.turn(pc, ticks);
        }
        self.end = Standing::at(pc.wrapping_add(4));
    }

    /// Notes that the next instruction is elsewhere, or takes another time.
    // Most instructions follow their predecessor and take equally long: this case is kept out of the loop.
    #[inline(never)]
    fn turn(&mut self, pc: u32, ticks: u64) {
        self.make_room();
        self.paces(self.end, ticks);
        self.moves(self.end, Standing::at(pc));
    }

    /// Adds skipped rounds of an idle loop.
    pub fn rounds(&mut self, instructions: u64, rounds: u64, round_ticks: u64) {
        self.note(Record::Rounds {
            instructions: u32::try_from(instructions).unwrap_or(u32::MAX),
            rounds,
        });
        self.tick += rounds * round_ticks;
    }

    /// Sets the rollback point.
    pub const fn mark(&mut self) {
        self.mark = Mark {
            events: self.events.len(),
            notes: self.notes.len(),
            pace: self.pace,
        };
    }

    /// Rolls back to the last rollback point, at which the clock was at `tick`. Recorded instruction words stay.
    pub fn go_back(&mut self, tick: u64, next: Standing) {
        self.events.truncate(self.mark.events);
        (self.pace, self.tick, self.end) = (self.mark.pace, tick, next);
        let kept = self.mark.notes.min(self.notes.len());
        for note in self.notes.split_off(kept) {
            if matches!(note, Note::Record(Record::Word { .. })) {
                self.push_note(next, note);
            }
        }
    }

    /// Whether there are no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records().next().is_none()
    }

    /// The records. They cannot be rolled back after this call.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let mut cursor = self.start;
        let all = self.events.iter().copied().chain([self.last()]);
        all.flat_map(move |event| {
            let instructions = cursor.pass_to(&event).records();
            cursor.follow(&event, self);
            instructions.chain(self.heads(&event))
        })
    }

    /// The records of an event without the instructions before it.
    fn heads(&self, event: &LogEvent) -> impl Iterator<Item = Record> + use<> {
        let spent = |cause, ticks: u32| {
            (ticks > 0).then_some(Record::Spent {
                cause,
                ticks: ticks.into(),
            })
        };
        let heads = match (event.tag.kind(), self.note_of(event)) {
            (RecordKind::Spent, _) => [
                spent(Cause::Contention, event.other),
                spent(event.tag.cause(), event.number),
            ],
            (_, Some(Note::Record(record))) => [Some(record), None],
            _ => [None, None],
        };
        heads.into_iter().flatten()
    }

    /// The core before the first event.
    pub(super) const fn start(&self) -> Cursor {
        self.start
    }

    /// All events; [`last`](Self::last) follows them.
    pub(super) fn events(&self) -> &[LogEvent] {
        &self.events
    }

    /// The end.
    pub(super) const fn last(&self) -> LogEvent {
        LogEvent {
            pc: self.end.pc,
            number: 0,
            other: 0,
            tag: EventTag::new(RecordKind::End, Cause::Branch, self.end.in_slot()),
        }
    }

    /// The note of an event, if it has one.
    pub(super) fn note_of(&self, event: &LogEvent) -> Option<Note> {
        match event.tag.kind() {
            RecordKind::Note => self.notes.get(event.number as usize).copied(),
            _ => None,
        }
    }

    /// Clears the log. The core has stopped, or tells each instruction.
    pub fn clear(&mut self) {
        debug_assert!(!self.runs, "the next instruction is not known");
        self.start = Cursor::new(self.end, self.pace);
        self.events.clear();
        self.notes.clear();
        self.mark = Mark {
            pace: self.pace,
            ..Mark::default()
        };
    }
}
