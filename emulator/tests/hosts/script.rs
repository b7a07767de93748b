//! A board without cores that acts by a script.

use emulator::board::events::{HostEvent, PollAccess, PollRequest};
use emulator::board::poller;
use emulator::board::{Board, Context, Inspect, NodeEvent, Ran};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::Ethernet;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::ethernet::link::Link;
use emulator::wire::medium::Outbox;
use emulator::wire::unit::Arrival;
use emulator::{state, value_enum};

/// Words of the window, all of them memory.
pub const WORDS: usize = 8;
/// A write to this offset of the window takes the interrupt back.
pub const ACKNOWLEDGE: u32 = 0x100;
/// A write to this offset of the window moves its view to the word with this offset.
pub const MOVE: u32 = 0x104;
/// Offset of the view, in which one word is seen.
pub const VIEW: u32 = 0x200;
/// From the rise of the interrupt line to the kernel.
pub const INTERRUPT: SimTime = SimTime::from_us(2);

/// An act of the board.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    /// The board writes a word of host memory.
    Memory(u64, u32),
    /// A word of its window changes.
    Window(u32, u32),
    /// The board raises its interrupt; the line falls when the host acknowledges.
    Interrupt,
    /// The board raises its interrupt and takes it back when the kernel has it.
    Pulse,
    /// The board takes its interrupt back.
    Clear,
}

value_enum!(Act {
    Memory { 0: address, 1: value },
    Window { 0: offset, 1: value },
    Interrupt {},
    Pulse {},
    Clear {}
});

#[derive(Debug, Default)]
pub struct Script {
    words: [u32; WORDS],
    /// Offset of the word in the view.
    seen: u32,
    line: bool,
    outbox: Outbox<Ethernet>,
}

state!(Script { words, seen, line } fixed { outbox });

impl Script {
    fn word(&self, offset: u32) -> u32 {
        let offset = if offset == VIEW { self.seen } else { offset };
        let word = self.words.get(offset as usize / 4);
        word.copied().unwrap_or_default()
    }

    fn raise(&mut self, ctx: &mut Context<'_, Act>) {
        self.line = true;
        let event = NodeEvent::Host(HostEvent::Interrupt);
        let taken = ctx.now + INTERRUPT;
        ctx.queue.schedule(taken, Initiator::Host, event);
    }
}

impl Board for Script {
    type Event = Act;
    type Medium = Ethernet;

    fn handle(&mut self, act: Act, ctx: &mut Context<'_, Act>) {
        match act {
            Act::Memory(address, value) => {
                ctx.write_memory(address, &value.to_le_bytes()).unwrap();
            }
            Act::Window(offset, value) => self.words[offset as usize / 4] = value,
            Act::Interrupt => self.raise(ctx),
            Act::Pulse => {
                self.raise(ctx);
                let end = ctx.now + INTERRUPT + SimTime::from_ps(1);
                ctx.schedule(end, Initiator::DmaWrite, Act::Clear);
            }
            Act::Clear => self.line = false,
        }
    }

    fn run_cores(&mut self, until: SimTime, ctx: &mut Context<'_, Act>) -> Ran {
        match poller::run_idle_polls(self, until, ctx) {
            true => Ran::There,
            false => Ran::Changed,
        }
    }

    fn next_activity(&self, _: SimTime) -> SimTime {
        SimTime::MAX
    }

    fn window_read(&mut self, offset: u32, _: &mut Context<'_, Act>) -> u32 {
        self.word(offset)
    }

    fn window_write(&mut self, offset: u32, value: u32, _: &mut Context<'_, Act>) {
        match offset {
            ACKNOWLEDGE => self.line = false,
            MOVE => self.seen = value,
            _ => {}
        }
    }

    fn window_peek(&self, offset: u32, _: SimTime) -> u32 {
        self.word(offset)
    }

    fn window_peek_after(&self, (_, seen): (u32, u32), offset: u32, _: SimTime) -> Option<u32> {
        Some(self.word(if offset == VIEW { seen } else { offset }))
    }

    fn interrupt_line(&self) -> bool {
        self.line
    }

    fn reset(&mut self, _: &mut Context<'_, Act>) {}

    fn outlives_reset(_: &Act) -> bool {
        true
    }

    fn unit_arrives(&mut self, _: Arrival<Frame>, _: &mut Context<'_, Act>) {}

    fn outbox(&mut self) -> &mut Outbox<Ethernet> {
        &mut self.outbox
    }

    fn plug_in(&mut self, _: &Link) {}

    fn schedule_carrier(&mut self, _: bool, _: SimTime, _: &mut Context<'_, Act>) {}

    fn is_memory(&self, _: u32) -> bool {
        true
    }

    fn moves_view(&self, (offset, _): (u32, u32)) -> bool {
        offset == MOVE
    }

    fn fruitless_poll(&mut self, access: PollAccess<'_>, _: SimTime) -> bool {
        match access {
            PollAccess::Read(poll) => self.word(poll.offset) & poll.mask != poll.expected,
            PollAccess::Move((_, seen)) => {
                self.seen = seen;
                true
            }
        }
    }

    fn skip_polls(&mut self, poll: &PollRequest, first: SimTime, _: u64, _: u64) -> bool {
        self.fruitless_poll(PollAccess::Read(poll), first)
    }

    fn bus_lead(&self) -> SimTime {
        SimTime::from_us(1)
    }
}

impl Inspect for Script {
    fn name(&self) -> &'static str {
        "script"
    }
}
