//! Two CPUs that send each other 1000 numbers through queues of four entries. Each CPU's event loop takes
//! numbers from its inbox; when the inbox is empty it sends the next number if there is room. CPU A logs
//! both sums after CPU B has stored its sum in SRAM.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

use defs::tigon2::map::GENERAL_BASE;
use tigon2_hal::cpu::{self, A, B, Cpu};
use tigon2_hal::queue::{Consumer, Inbox, Producer, Queue, Sram};
use tigon2_hal::{dispatch, entry_a, entry_b, event, log, published, sram};

/// Sum of the numbers that CPU B took; written when it has taken all.
const SUM_B: u32 = GENERAL_BASE;
/// Set by CPU A when both CPUs have finished.
const DONE: u32 = GENERAL_BASE + 4;
const INBOX_A: Queue = Queue::new(GENERAL_BASE + 0x20, 4, 1);
const INBOX_B: Queue = Queue::new(GENERAL_BASE + 0x40, 4, 1);
published!("sum of CPU B", SUM_B, 1);
published!("inbox of CPU A", INBOX_A.indices(), Queue::INDICES);
published!("inbox of CPU B", INBOX_B.indices(), Queue::INDICES);
const BIT: u32 = 5;
const NUMBERS: u32 = 1000;

/// One CPU's ends of the two queues.
struct Side {
    inbox: Consumer,
    out: Producer,
    sent: u32,
    taken: u32,
    sum: u32,
}

dispatch! {
    fn run_a(cpu: A, state: Side = Side::new(INBOX_A, INBOX_B));
    SOFT_ASSIST => Side::take::<A>,
    idle => Side::idle_a,
}

dispatch! {
    fn run_b(cpu: B, state: Side = Side::new(INBOX_B, INBOX_A));
    SOFT_ASSIST => Side::take::<B>,
    idle => Side::idle_b,
}

entry_a!(main_a);
entry_b!(main_b);

fn main_a(cpu: A) -> ! {
    sram::write(SUM_B, 0);
    INBOX_A.reset(&mut Sram);
    INBOX_B.reset(&mut Sram);
    cpu::start_b(&cpu);
    event::enable(BIT);
    run_a(cpu, |_| {})
}

fn main_b(cpu: B) -> ! {
    event::enable(BIT);
    run_b(cpu, |_| {})
}

impl Side {
    const fn new(inbox: Queue, out: Queue) -> Self {
        Self {
            inbox: Consumer::new(inbox),
            out: Producer::new(out),
            sent: 0,
            taken: 0,
            sum: 0,
        }
    }

    fn take<Me: Cpu>(&mut self) {
        let Some(at) = self.inbox.front(&Sram) else {
            log!("called for nothing");
            return;
        };
        self.sum += sram::read(at);
        self.taken += 1;
        self.inbox.remove(&mut Inbox::<Me, Me>::new(BIT));
    }

    fn put<Me: Cpu, Other: Cpu>(&mut self) {
        if self.sent < NUMBERS && self.out.room(&Sram) > 0 {
            self.sent += 1;
            self.out.put(&mut Inbox::<Me, Other>::new(BIT), [self.sent]);
        }
    }

    fn idle_a(&mut self) {
        self.put::<A, B>();
        let sum_b = sram::read(SUM_B);
        if self.taken == NUMBERS && sum_b != 0 {
            log!("sums {} and {}", self.sum, sum_b);
            self.taken = 0;
            sram::write(DONE, 1);
        }
    }

    fn idle_b(&mut self) {
        self.put::<B, A>();
        if self.taken == NUMBERS {
            sram::write(SUM_B, self.sum);
        }
    }
}
