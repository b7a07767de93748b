//! The work of both CPUs with the buffers.

use defs::tigon2::map::GENERAL_BASE;
use tigon2_hal::cpu::{self, A, B};
use tigon2_hal::queue::{Consumer, Inbox, Producer, Queue, Sram};
use tigon2_hal::{dispatch, entry_a, entry_b, event, fail, sram, timer};

use crate::pool;

/// Address of the number of buffers that CPU B has given back since the start.
const DONE: u32 = GENERAL_BASE + 4;
/// Queue of buffers for CPU B to add up: address and words of each.
const INBOX_B: Queue = Queue::new(GENERAL_BASE + 0x20, 16, 2);
const BIT_B: u32 = event::SOFT_ASSIST;
/// The buffers.
const BUFFER_BASE: u32 = 0x2_0000;
const BUFFER_BYTES: u32 = 256;
/// From one burst of work to the next.
const PERIOD_US: u32 = 26;

/// CPU A's side.
struct Filler {
    to_b: Producer,
    taken: u32,
    random: u32,
    next_us: u32,
}

/// CPU B's side.
struct Adder {
    inbox: Consumer,
    done: u32,
    sum: u32,
}

dispatch! {
    fn run_a(cpu: A, state: Filler = Filler {
        to_b: Producer::new(INBOX_B), taken: 0, random: 0x1234_5678, next_us: 0,
    });
    TIMER => Filler::on_timer,
}

dispatch! {
    fn run_b(cpu: B, state: Adder = Adder { inbox: Consumer::new(INBOX_B), done: 0, sum: 0 });
    SOFT_ASSIST => Adder::on_buffer,
}

entry_a!(main_a);
entry_b!(main_b);

fn main_a(cpu: A) -> ! {
    pool::fill();
    sram::write(DONE, 0);
    INBOX_B.reset(&mut Sram);
    cpu::start_b(&cpu);
    event::enable(event::TIMER);
    run_a(cpu, |filler| filler.rest(timer::now_us()))
}

fn main_b(cpu: B) -> ! {
    event::enable(BIT_B);
    run_b(cpu, |_| {})
}

impl Filler {
    /// A burst of work has come.
    fn on_timer(&mut self) {
        self.check_books();
        let wanted = 1 + (self.draw() & 3);
        let taken = (0..wanted).take_while(|_| pool::take_buffer()).count();
        for _ in 0..taken {
            self.fill_buffer();
        }
        self.rest(self.next_us);
    }

    /// Once CPU B has given back all that was taken, all must be free.
    #[inline(never)] // docs/debugging.md stops in this function by its name.
    fn check_books(&self) {
        if sram::read(DONE) == self.taken {
            let free = pool::free();
            if free != pool::BUFFERS {
                fail!(
                    "{} of {} buffers are free, and none is in use",
                    free,
                    pool::BUFFERS
                );
            }
        }
    }

    #[inline(never)] // A function of its own in profiles and backtraces.
    fn fill_buffer(&mut self) {
        let buffer = BUFFER_BASE + (self.taken & (pool::BUFFERS - 1)) * BUFFER_BYTES;
        let words = 1 + (self.draw() & 63);
        for word in 0..words {
            sram::write(buffer + 4 * word, self.taken + word);
        }
        self.taken += 1;
        self.to_b
            .put(&mut Inbox::<A, B>::new(BIT_B), [buffer, words]);
    }

    fn rest(&mut self, from_us: u32) {
        self.next_us = from_us.wrapping_add(PERIOD_US);
        timer::set_at::<A>(self.next_us);
    }

    /// A number by chance.
    fn draw(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random >> 8
    }
}

impl Adder {
    /// CPU A has filled a buffer.
    fn on_buffer(&mut self) {
        let Some(at) = self.inbox.front(&Sram) else {
            return self.inbox.rest(&mut Inbox::<B, B>::new(BIT_B));
        };
        let (buffer, words) = (sram::read(at), sram::read(at + 4));
        self.inbox.remove(&mut Inbox::<B, B>::new(BIT_B));
        for word in 0..words {
            self.sum = self.sum.wrapping_add(sram::read(buffer + 4 * word));
        }
        pool::give_back();
        self.done += 1;
        sram::write(DONE, self.done);
    }
}

// How far each CPU is, for the other one.
tigon2_hal::published!("buffers given back", DONE, 1);
tigon2_hal::published!("inbox of CPU B", INBOX_B.indices(), Queue::INDICES);
