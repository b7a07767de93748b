//! A node's firmware on one or two CPUs, in any scheme. Two CPUs alternate at random, one handler at a
//! time: the effects of a handler are atomic for the other CPU. The queues' own tests (`rings`) interleave
//! single accesses.

use std::cell::Cell;

use emp::jobs::Queue;
use emp::roles::{A, B, Base, Dsr, Ro, Roles, RolesOn, Scheme, So, Sr};
use emp::{Emp, MemoryPlan, Tables};

use super::memory::Random;
use super::nic::{Chip, SHARED_BASE, Side};

/// Number of schemes.
pub const SCHEMES: usize = 5;

thread_local! {
    /// The scheme of this thread's nodes.
    static SCHEME: Cell<usize> = const { Cell::new(0) };
}

/// Sets the scheme of this thread's nodes.
pub fn use_scheme(number: usize) {
    SCHEME.set(number);
}

/// The records of a node's CPUs, by scheme.
pub enum Records {
    Base(Box<Both<Base>>),
    So(Box<Both<So>>),
    Ro(Box<Both<Ro>>),
    Dsr(Box<Both<Dsr>>),
    Sr(Box<Both<Sr>>),
}

/// The records of both CPUs.
pub struct Both<S: Scheme> {
    a: Tables<RolesOn<A, S>>,
    b: Tables<RolesOn<B, S>>,
}

impl<S: Scheme + 'static> Both<S> {
    fn new() -> Box<Self> {
        Box::new(Self {
            a: Tables::new(),
            b: Tables::new(),
        })
    }

    fn engine(&mut self, mut chip: Chip) -> Box<dyn Engine + '_> {
        let memory = MemoryPlan::at(SHARED_BASE);
        chip.b_listens = RolesOn::<B, S>::MATCHER;
        let a = Side::new(Some(Box::new(chip)), 0);
        let mut node = Cpus {
            a: Emp::new(a, &mut self.a, memory),
            b: Emp::new(Side::new(None, 1), &mut self.b, memory),
            random: Random::new(1),
        };
        node.a.publish();
        Box::new(node)
    }
}

impl Records {
    pub fn new() -> Self {
        match SCHEME.get() {
            0 => Self::Base(Both::new()),
            1 => Self::So(Both::new()),
            2 => Self::Ro(Both::new()),
            3 => Self::Dsr(Both::new()),
            _ => Self::Sr(Both::new()),
        }
    }

    /// A node with these records, not started.
    pub fn engine(&mut self, chip: Chip) -> Box<dyn Engine + '_> {
        match self {
            Self::Base(both) => both.engine(chip),
            Self::So(both) => both.engine(chip),
            Self::Ro(both) => both.engine(chip),
            Self::Dsr(both) => both.engine(chip),
            Self::Sr(both) => both.engine(chip),
        }
    }
}

/// A node's firmware.
pub trait Engine {
    fn nic(&self) -> &Chip;
    fn nic_mut(&mut self) -> &mut Chip;
    /// Starts if the host has requested it; returns whether it has.
    fn start(&mut self) -> bool;
    /// Whether no message is in progress.
    fn is_at_rest(&mut self) -> bool;
    /// Lets each CPU with `works` run a handler, in random order; `false` if neither had an event.
    fn dispatch(&mut self, works: [bool; 2]) -> bool;
}

/// The engines of both CPUs. CPU A owns the chip between handlers.
struct Cpus<'a, S: Scheme + 'static> {
    a: Emp<'a, Side<RolesOn<A, S>>>,
    b: Emp<'a, Side<RolesOn<B, S>>>,
    random: Random,
}

impl<'a, S: Scheme + 'static> Cpus<'a, S> {
    /// Runs a function on CPU B's engine.
    fn on_b<T>(&mut self, what: impl FnOnce(&mut Emp<'a, Side<RolesOn<B, S>>>) -> T) -> T {
        let chip = self.a.nic_mut().give();
        self.b.nic_mut().get(chip);
        let result = what(&mut self.b);
        let chip = self.b.nic_mut().give();
        self.a.nic_mut().get(chip);
        result
    }
}

impl<S: Scheme + 'static> Engine for Cpus<'_, S> {
    fn nic(&self) -> &Chip {
        self.a.nic()
    }

    fn nic_mut(&mut self) -> &mut Chip {
        self.a.nic_mut()
    }

    fn start(&mut self) -> bool {
        let started = self.a.poll_start();
        if started {
            self.on_b(|emp| emp.begin());
        }
        started
    }

    fn is_at_rest(&mut self) -> bool {
        let rests = self.a.is_at_rest();
        self.on_b(|emp| emp.is_at_rest()) && rests
    }

    fn dispatch(&mut self, [a_works, b_works]: [bool; 2]) -> bool {
        let b_first = self.random.chance(50);
        let early = b_works && b_first && self.on_b(|emp| dispatch(emp, 1));
        let acted = a_works && dispatch(&mut self.a, 0);
        let late = b_works && !b_first && self.on_b(|emp| dispatch(emp, 1));
        early | acted | late
    }
}

/// Runs the handler of a CPU's most urgent event; `false` if no event is set.
fn dispatch<R: Roles>(emp: &mut Emp<'_, Side<R>>, cpu: usize) -> bool {
    let nic = emp.nic();
    let takes_jobs = |here: bool, queue| here && nic.has_jobs(queue);
    if nic.timer_due(cpu) {
        emp.on_timer();
    } else if (R::SENDER || R::MATCHER) && nic.mailbox_written(cpu) {
        emp.on_mailbox(|emp| emp.post_transmit(Emp::on_send), Emp::post_receive);
    } else if R::TRANSMITTER && nic.read_stopped() {
        emp.on_read_attention();
    } else if R::DELIVERER && nic.write_stopped() {
        emp.on_write_attention();
    } else if R::TRANSMITTER && nic.read_done() {
        emp.on_read_done();
    } else if R::DELIVERER && nic.write_done() {
        emp.on_write_done();
    } else if takes_jobs(R::MATCHER, Queue::Closed) {
        emp.on_closed();
    } else if takes_jobs(R::DELIVERER, Queue::Pages) {
        emp.on_pages();
    } else if takes_jobs(R::SENDER, Queue::Reports) {
        emp.on_reports();
    } else if takes_jobs(R::TRANSMITTER, Queue::Acks) {
        emp.on_acks();
    } else if takes_jobs(R::DELIVERER, Queue::Arrivals) {
        emp.on_arrivals();
    } else if R::MATCHER && nic.frame_received() {
        emp.on_receive(Emp::take_ack, Emp::take_frame);
    } else if nic.send_raised(cpu) {
        emp.on_send();
    } else if takes_jobs(R::TRANSMITTER, Queue::Frames) {
        emp.on_frames();
    } else {
        return false;
    }
    true
}
