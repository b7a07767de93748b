//! Implementation of [`emp::Nic`] for one role, on whichever CPU executes it. What differs from a role that stays on its CPU is here: the
//! side of the semaphore, queues, software events, mailboxes and timers. DMA and MAC are those of [`emp_common::chip`].

use core::cell::Cell;
use core::marker::PhantomData;

use defs::emp::control::{MAILBOX_CANCEL, MAILBOX_COMMAND, MAILBOX_RECEIVE};
use emp::jobs::Queue;
use emp::nic::{Arrival, Completion, Event, HostAddress, RxFrame, Stage};
use emp::roles::{Base, Roles};
use emp::{ACTIVE_SLOTS, Nic};
use emp_common::{chip, queues as common};
use tigon2_hal::cpu::{A, Cpu, Executing};
use tigon2_hal::queue::{Consumer, Memory, Producer, Sram};
use tigon2_hal::rings::Bell;
use tigon2_hal::{event, regs, semaphore, sram, timer};

use crate::board;
use crate::queues::{self, LANES};

/// Mailboxes of the matcher.
const MATCHER_MAILBOXES: u32 = 1 << MAILBOX_RECEIVE | 1 << MAILBOX_CANCEL;
/// Mailboxes of sender and matcher: the sender takes what is in the register of CPU A, the matcher what is in that of CPU B.
const BOTH_MAILBOXES: u32 = 1 << MAILBOX_COMMAND;
/// Time from now at which a disarmed timer expires: the latest, 35 minutes.
pub const NEVER_US: u32 = i32::MAX as u32;

/// DMA and MAC, the same for all roles: each uses its own part.
type Hardware = chip::Chip<A, Base>;

/// The chip as role `R` sees it.
pub struct Chip<R> {
    /// The executing CPU's side of the semaphore.
    side: u32,
    /// Number of jobs put into each lane, or taken from it.
    counts: [u32; LANES],
    /// The front job of a queue with two lanes is in the second one.
    in_second: Cell<bool>,
    hardware: Hardware,
    role: PhantomData<R>,
}

impl<R: Roles> Chip<R> {
    /// State after [`tigon2_hal::layout::initialise`] with the default layout, on CPU A.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            side: A::SEMAPHORE,
            counts: [0; LANES],
            in_second: Cell::new(false),
            hardware: Hardware::new(),
            role: PhantomData,
        }
    }

    /// Continues on CPU `C`.
    #[inline(always)]
    pub fn move_to<C: Executing>(&mut self) {
        self.side = C::semaphore();
    }

    #[inline(always)]
    fn producer(&self, queue: Queue) -> Producer {
        let lane = queues::lane::<R>(queue);
        Producer::at(queues::place(lane), self.counts[lane])
    }

    #[inline(always)]
    fn consumer(&self, lane: usize) -> Consumer {
        Consumer::at(queues::place(lane), self.counts[lane % LANES])
    }

    /// The bell of a queue, for the end at `lane`.
    #[inline(always)]
    fn bell(&self, queue: Queue, lane: usize) -> QueueBell {
        let other = queues::second(queue).map(|second| {
            if lane == second {
                self.end(queue as usize)
            } else {
                self.end(second)
            }
        });
        QueueBell {
            side: self.side,
            bit: common::event(queue),
            lane: self.end(lane),
            other,
        }
    }

    /// The producer's index of a lane is at this address; the lane is empty if it is this number.
    #[inline(always)]
    fn end(&self, lane: usize) -> (u32, u32) {
        (queues::place(lane).indices(), self.counts[lane % LANES])
    }

    /// The lane of the job that is in front.
    #[inline(always)]
    fn front_lane(&self, queue: Queue) -> usize {
        match queues::second(queue) {
            Some(second) if self.in_second.get() => second,
            _ => queue as usize,
        }
    }

    /// Written mailboxes of the role: its own, and those of which each role takes one CPU's event.
    #[inline(always)]
    fn mail() -> (u32, u32) {
        let (of_a, of_b) = (
            regs::read(regs::MAILBOX_EVENT_A),
            regs::read(regs::MAILBOX_EVENT_B),
        );
        if R::SENDER {
            let own = !(MATCHER_MAILBOXES | BOTH_MAILBOXES);
            ((of_a | of_b) & own, of_a & BOTH_MAILBOXES)
        } else {
            ((of_a | of_b) & MATCHER_MAILBOXES, of_b & BOTH_MAILBOXES)
        }
    }

    /// Whether mailboxes of the role are written: another CPU may have taken what this one has seen.
    #[inline(always)]
    pub fn has_mail(&self) -> bool {
        let (own, once) = Self::mail();
        own | once != 0
    }

    /// Software event for [`emp::Emp::on_send`].
    const SEND: u32 = if R::SENDER {
        event::SOFT_CUT
    } else if R::DELIVERER {
        event::SOFT_RESUME
    } else {
        event::SOFT_SEND
    };
}

/// Raises a software event, which all CPUs see: its bits in their event registers are always the same. Under the semaphore.
#[inline(always)]
fn raise(bit: u32) {
    board::each_event_register(|register| regs::set(register, 1 << bit));
}

/// Clears a software event. Under the semaphore.
#[inline(always)]
fn clear(bit: u32) {
    board::each_event_register(|register| regs::clear(register, 1 << bit));
}

// One copy of each of these, for the little memory that is left.

/// [`raise`] by itself.
#[inline(never)]
fn raise_alone(side: u32, bit: u32) {
    semaphore::locked_at(side, || {
        if !event::is_raised::<A>(bit) {
            raise(bit);
        }
    });
}

/// [`clear`] by itself.
#[inline(never)]
fn clear_alone(side: u32, bit: u32) {
    semaphore::locked_at(side, || clear(bit));
}

/// Ends a queue's event if its lane is empty. The lane is checked under the semaphore, which its producer needs too.
#[inline(never)]
fn rest(side: u32, bit: u32, (at, index): (u32, u32)) {
    semaphore::locked_at(side, || {
        if sram::read(at) == index {
            clear(bit);
        }
    });
}

/// [`rest`] of a queue with two lanes.
#[inline(never)]
fn rest_both(side: u32, bit: u32, (at, index): (u32, u32), (other_at, other): (u32, u32)) {
    semaphore::locked_at(side, || {
        if sram::read(at) == index && sram::read(other_at) == other {
            clear(bit);
        }
    });
}

/// The event of a queue, at one of its ends. The functions above take the semaphore.
struct QueueBell {
    side: u32,
    bit: u32,
    /// A consumer's end, and that of the queue's other lane.
    lane: (u32, u32),
    other: Option<(u32, u32)>,
}

impl Memory for QueueBell {
    #[inline(always)]
    fn load(&self, address: u32) -> u32 {
        sram::read(address)
    }

    #[inline(always)]
    fn store(&mut self, address: u32, value: u32) {
        sram::write(address, value);
    }
}

impl Bell for QueueBell {
    #[inline(always)]
    fn lock(&mut self) {}

    #[inline(always)]
    fn unlock(&mut self) {}

    #[inline(always)]
    fn is_rung(&self) -> bool {
        false
    }

    #[inline(always)]
    fn ring(&mut self) {
        raise_alone(self.side, self.bit);
    }

    #[inline(always)]
    fn quieten(&mut self) {
        match self.other {
            None => rest(self.side, self.bit, self.lane),
            Some(other) => rest_both(self.side, self.bit, self.lane, other),
        }
    }
}

/// Methods that are those of the hardware.
macro_rules! of_hardware {
    ($(fn $name:ident(&$(($mutable:tt))? self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {
        $(
            #[inline(always)]
            fn $name(&$($mutable)? self $(, $argument: $type)*) $(-> $result)? {
                self.hardware.$name($($argument),*)
            }
        )*
    };
}

impl<R: Roles> Nic for Chip<R> {
    type Roles = R;

    #[inline(always)]
    fn room(&self, queue: Queue) -> u32 {
        let room = self.producer(queue).room(&Sram);
        match queue {
            // The protocol keeps room for fetches, which have a lane of their own.
            Queue::Acks => room + ACTIVE_SLOTS as u32,
            _ => room,
        }
    }

    // A consumer that takes the job before the event is called once more, for nothing.
    #[inline(always)]
    fn put<const WORDS: usize>(&mut self, queue: Queue, job: [u32; WORDS]) {
        self.leave(queue, job);
        self.ring(queue);
    }

    #[inline(always)]
    fn leave<const WORDS: usize>(&mut self, queue: Queue, job: [u32; WORDS]) {
        let mut producer = self.producer(queue);
        producer.leave(&mut Sram, job);
        self.counts[queues::lane::<R>(queue)] = producer.index();
    }

    #[inline(always)]
    fn ring(&mut self, queue: Queue) {
        raise_alone(self.side, common::event(queue));
    }

    #[inline(always)]
    fn front(&self, queue: Queue) -> Option<u32> {
        let first = self.consumer(queue as usize).front(&Sram);
        let Some(second) = queues::second(queue) else {
            return first;
        };
        self.in_second.set(first.is_none());
        first.or_else(|| self.consumer(second).front(&Sram))
    }

    #[inline(always)]
    fn remove(&mut self, queue: Queue) {
        let lane = self.front_lane(queue);
        let mut consumer = self.consumer(lane);
        self.counts[lane % LANES] = consumer.index().wrapping_add(1);
        consumer.remove(&mut self.bell(queue, lane));
    }

    // The queue is empty, so there is time for it.
    #[cold]
    fn rest(&mut self, queue: Queue) {
        self.bell(queue, queue as usize).quieten();
    }

    #[inline(always)]
    fn lock(&mut self) {
        semaphore::spin_lock_at(self.side);
    }

    #[inline(always)]
    fn unlock(&mut self) {
        semaphore::spin_unlock_at(self.side);
    }

    #[inline(always)]
    fn arm_timer(&mut self, at_us: u32) {
        board::arm_timer::<R>(at_us);
    }

    #[inline(always)]
    fn disarm_timer(&mut self) {
        self.arm_timer(timer::now_us().wrapping_add(NEVER_US));
    }

    #[inline(always)]
    fn take_mailboxes(&mut self) -> u32 {
        // A mailbox that is written in between stays in one register, at least.
        let (own, once) = Self::mail();
        let (in_a, in_b) = if R::SENDER { (once, 0) } else { (0, once) };
        regs::write(regs::MAILBOX_EVENT_A, own | in_a);
        regs::write(regs::MAILBOX_EVENT_B, own | in_b);
        board::clear_further_mailboxes(own | once);
        own | once
    }

    #[inline(always)]
    fn raise_send(&mut self) {
        raise_alone(self.side, Self::SEND);
    }

    #[inline(always)]
    fn clear_send(&mut self) {
        clear_alone(self.side, Self::SEND);
    }

    of_hardware! {
        fn load(&self, address: u32) -> u32;
        fn store(&(mut) self, address: u32, value: u32);
        fn own_mac(&self) -> (u32, u32);
        fn now_us(&self) -> u32;
        fn read_slots(&self) -> u32;
        fn push_read(&(mut) self, host: HostAddress, local: u32, length: u32, release_tx: bool, cookie: u32);
        fn take_read(&(mut) self) -> Option<Completion>;
        fn failed_read(&self) -> Option<u32>;
        fn skip_failed_read(&(mut) self);
        fn write_slots(&self) -> u32;
        fn push_write(&(mut) self, host: HostAddress, local: u32, length: u32, free_rx: bool, cookie: u32);
        fn next_write(&(mut) self) -> Option<Completion>;
        fn retire_write(&(mut) self);
        fn write_failed(&self) -> bool;
        fn skip_failed_write(&(mut) self);
        fn tx_consumer(&self) -> u32;
        fn tx_backlog(&self, consumer: u32) -> u32;
        fn reserve_tx(&(mut) self, length: u32, consumer: u32) -> Option<u32>;
        fn tx_advance(&self, address: u32, bytes: u32) -> u32;
        fn push_tx(&(mut) self, start: u32, length: u32);
        fn release_cpu_frame(&(mut) self, end: u32);
        fn next_rx(&self) -> Option<Arrival>;
        fn take_rx(&(mut) self, arrival: Arrival) -> RxFrame;
        fn rx_advance(&self, address: u32, bytes: u32) -> u32;
        fn free_rx(&(mut) self, end: u32);
        fn rx_pressure(&self) -> u32;
        fn stage_enter(&self, stage: Stage);
        fn stage_exit(&self, stage: Stage);
        fn stage_idle(&self, stage: Stage);
        fn wait_enter(&self);
        fn wait_exit(&self);
        fn bad_post(&self, address: u32);
        fn event(&self, event: Event, node: u32, message: u32, third: u32);
    }
}
