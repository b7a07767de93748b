//! A board of the tests: the hardware and GM on one CPU, or its halves on two.
//!
//! Two CPUs are tested at the grain of words: before any access of a half the other one may carry out a step, and DMA may go on. Where SEND's
//! half is lent, the lock keeps RECV's CPU from packets within a step of SEND's, and SEND's from steps while RECV's has the lock.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::rc::{Rc, Weak};

use defs::gm::layout::Layout;
use gm::Gm;
use gm::nic::{HostAddress, Nic, Packet, Role};

use crate::nic::Fake;
use crate::world::Random;

const ALL: u8 = 0;
const SENDER: u8 = 1;
const RECEIVER: u8 = 2;
const LENDER: u8 = 3;
const TAKER: u8 = 4;
const BORROWER: u8 = 5;
/// As [`ALL`], in a large cluster.
const LARGE: u8 = 6;

/// Whether SDMA and SEND run in a role.
const fn sends(role: u8) -> bool {
    !matches!(role, RECEIVER | TAKER)
}

/// Whether RECV and RDMA run in a role.
const fn receives(role: u8) -> bool {
    !matches!(role, SENDER | LENDER)
}

/// The machines' CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpus {
    One,
    Two,
    /// Two, of which RECV's makes steps of collective operations under the lock of SEND's half.
    Lending,
    /// A single CPU, with the layout of large clusters.
    Large,
}

impl Cpus {
    pub const EVERY: [Self; 3] = [Self::One, Self::Two, Self::Lending];
    /// Every division of the CPUs, and the other layout.
    pub const EVERY_LAYOUT: [Self; 4] = [Self::One, Self::Two, Self::Lending, Self::Large];

    pub const fn layout(self) -> &'static Layout {
        match self {
            Self::Large => &Layout::LARGE,
            _ => &Layout::USUAL,
        }
    }

    /// Number of the node with an index among those of a world: of a large cluster mostly one that needs all bits.
    pub const fn node(self, index: u32) -> u32 {
        match self {
            Self::Large => Layout::LARGE.nodes() - 1 - 61 * index,
            _ => index,
        }
    }
}

/// The hardware as a CPU sees it.
pub struct Side<const ROLE: u8>(Weak<Shared>);

struct Shared {
    fake: RefCell<Fake>,
    random: RefCell<Random>,
    /// Accesses before which something else happens, among 256.
    chance: Cell<u32>,
    all: RefCell<Option<Gm<Side<ALL>>>>,
    large: RefCell<Option<Gm<Side<LARGE>>>>,
    sender: RefCell<Option<Gm<Side<SENDER>>>>,
    receiver: RefCell<Option<Gm<Side<RECEIVER>>>>,
    lender: RefCell<Option<Gm<Side<LENDER>>>>,
    taker: RefCell<Option<Gm<Side<TAKER>>>>,
    /// RECV's CPU has the lock of SEND's half.
    lent: Cell<bool>,
    /// SEND's CPU lets RECV's have the lock within a step.
    yields: Cell<bool>,
    /// SEND's CPU wants the event of a packet that has left.
    watched: Cell<bool>,
}

/// A step of a firmware that is not within one.
fn step<const ROLE: u8>(gm: &RefCell<Option<Gm<Side<ROLE>>>>) -> bool {
    let Ok(mut gm) = gm.try_borrow_mut() else {
        return false;
    };
    gm.as_mut().is_some_and(Gm::step)
}

impl Shared {
    /// Lets the host act at once with an access of the firmware.
    fn interleave(&self) {
        if self.random.borrow_mut().next(256) >= self.chance.get() {
            return;
        }
        let action = self.random.borrow_mut().next(8);
        match action {
            0 => {
                self.fake.borrow_mut().read();
            }
            1 => {
                self.fake.borrow_mut().write();
            }
            // The one that has made the access is borrowed.
            _ => {
                step(&self.sender);
                step(&self.receiver);
                self.step_lender();
                step(&self.taker);
            }
        }
    }

    /// A step of SEND's CPU, which needs the lock.
    fn step_lender(&self) -> bool {
        !self.lent.get() && step(&self.lender)
    }
}

pub struct Board(Rc<Shared>);

impl Board {
    pub fn new(cpus: Cpus, seed: u64) -> Self {
        let shared = Rc::new(Shared {
            fake: RefCell::new(Fake::new(cpus)),
            random: RefCell::new(Random(seed)),
            chance: Cell::new(0),
            all: RefCell::new(None),
            large: RefCell::new(None),
            sender: RefCell::new(None),
            receiver: RefCell::new(None),
            lender: RefCell::new(None),
            taker: RefCell::new(None),
            lent: Cell::new(false),
            yields: Cell::new(false),
            watched: Cell::new(false),
        });
        let side = || Rc::downgrade(&shared);
        match cpus {
            Cpus::One => *shared.all.borrow_mut() = Some(Gm::new(Side(side()))),
            Cpus::Large => *shared.large.borrow_mut() = Some(Gm::new(Side(side()))),
            Cpus::Two => {
                *shared.sender.borrow_mut() = Some(Gm::new(Side(side())));
                *shared.receiver.borrow_mut() = Some(Gm::new(Side(side())));
                shared.chance.set(24);
            }
            Cpus::Lending => {
                *shared.lender.borrow_mut() = Some(Gm::new(Side(side())));
                *shared.taker.borrow_mut() = Some(Gm::new(Side(side())));
                shared.chance.set(24);
            }
        }
        Self(shared)
    }

    pub fn nic(&self) -> Ref<'_, Fake> {
        self.0.fake.borrow()
    }

    pub fn nic_mut(&self) -> RefMut<'_, Fake> {
        self.0.fake.borrow_mut()
    }

    pub fn word(&self, address: u32) -> u32 {
        self.nic().word(address)
    }

    pub fn set_word(&self, address: u32, value: u32) {
        self.nic_mut().set_word(address, value);
    }

    /// A step of each CPU. Returns whether there was anything to do.
    pub fn step(&self) -> bool {
        let all = step(&self.0.all) | step(&self.0.large);
        let sender = step(&self.0.sender) | self.0.step_lender();
        step(&self.0.receiver) | step(&self.0.taker) | sender | all
    }

    /// A step of one CPU: the first or the second.
    pub fn step_one(&self, second: bool) -> bool {
        if second {
            step(&self.0.receiver) | step(&self.0.taker)
        } else {
            step(&self.0.sender) | step(&self.0.all) | step(&self.0.large) | self.0.step_lender()
        }
    }
}

impl<const ROLE: u8> Side<ROLE> {
    fn shared(&self) -> Rc<Shared> {
        self.0.upgrade().expect("the board is there")
    }
}

impl<const ROLE: u8> Nic for Side<ROLE> {
    const ROLE: Role = match ROLE {
        ALL | LARGE => Role::All,
        SENDER | LENDER => Role::Sender,
        BORROWER => Role::Borrower,
        _ => Role::Receiver,
    };
    const RECEIVED: u32 = Fake::RECEIVED;
    const SENT: u32 = Fake::SENT;
    const DMA: u32 = Fake::READ | Fake::WRITE;
    const TICK: u32 = Fake::TICK;
    const ACK_TICK: u32 = Fake::ACK_TICK;
    const JOB: u32 = match ROLE {
        ALL | LARGE => 0,
        SENDER | LENDER => Fake::SENDER_JOB,
        _ => Fake::RECEIVER_JOB,
    };
    const LENDS: bool = matches!(ROLE, LENDER | TAKER | BORROWER);
    const EVENT_BEHIND_PAYLOAD: bool = matches!(ROLE, ALL | LARGE);
    const PASSES_RECEIVED: bool = matches!(ROLE, ALL | LARGE);
    const LAYOUT: Layout = match ROLE {
        LARGE => Layout::LARGE,
        _ => Layout::USUAL,
    };

    fn load(&self, address: u32) -> u32 {
        let shared = self.shared();
        shared.interleave();
        shared.fake.borrow().load(address)
    }

    fn store(&mut self, address: u32, value: u32) {
        let shared = self.shared();
        shared.interleave();
        shared.fake.borrow_mut().store(address, value);
    }

    fn events(&mut self) -> u32 {
        let shared = self.shared();
        let mut fake = shared.fake.borrow_mut();
        let sender = Fake::READ | Fake::TICK | Fake::SENDER_JOB;
        let receiver = Fake::WRITE | Fake::ACK_TICK | Fake::RECEIVER_JOB;
        match ROLE {
            ALL | LARGE => fake.events(u32::MAX),
            SENDER => fake.events(Fake::SENT | sender),
            LENDER => {
                let sent = shared.watched.get() && fake.is_sent();
                shared.watched.set(shared.watched.get() && !sent);
                fake.events(Fake::SENT | sender) & !Fake::SENT | if sent { Fake::SENT } else { 0 }
            }
            // Within a step of SEND's CPU RECV's would wait with a packet for the lock.
            TAKER if shared.lender.try_borrow().is_err() && !shared.yields.get() => {
                fake.events(receiver)
            }
            _ => fake.events(Fake::RECEIVED | receiver),
        }
    }

    fn start_read(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
        assert!(sends(ROLE));
        self.shared()
            .fake
            .borrow_mut()
            .start_read(host, local, length, cookie);
    }

    fn read_done(&mut self) -> u32 {
        assert!(sends(ROLE) && ROLE != BORROWER);
        self.shared().fake.borrow_mut().read_done()
    }

    fn fetch(&mut self, host: HostAddress, local: u32, length: u32) {
        let shared = self.shared();
        shared.interleave();
        shared.fake.borrow_mut().fetch(host, local, length);
        shared.interleave();
    }

    fn start_write(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
        assert!(receives(ROLE));
        self.shared()
            .fake
            .borrow_mut()
            .start_write(host, local, length, cookie);
    }

    fn await_writes(&mut self) {
        assert!(receives(ROLE));
        let shared = self.shared();
        shared.interleave();
        shared.fake.borrow_mut().await_writes();
        shared.interleave();
    }

    fn write_done(&mut self) -> u32 {
        assert!(receives(ROLE));
        self.shared().fake.borrow_mut().write_done()
    }

    fn send(&mut self, start: u32, header: u32, end: u32) {
        assert!(sends(ROLE));
        self.shared().fake.borrow_mut().send(start, header, end);
    }

    fn receive(&mut self) -> Option<(u32, u32)> {
        assert!(receives(ROLE));
        self.shared().fake.borrow_mut().receive()
    }

    fn release(&mut self, packet: u32) {
        assert!(receives(ROLE));
        self.shared().fake.borrow_mut().release(packet);
    }

    fn set_timer(&mut self) {
        assert!(sends(ROLE) && ROLE != BORROWER);
        self.shared().fake.borrow_mut().set_timer();
    }

    fn set_ack_timer(&mut self) {
        assert!(receives(ROLE));
        self.shared().fake.borrow_mut().set_ack_timer();
    }

    fn interrupt(&mut self) {
        self.shared().fake.borrow_mut().interrupts += 1;
    }

    fn wake(&mut self) {
        assert!(ROLE != ALL);
        let job = if matches!(ROLE, SENDER | LENDER) {
            Fake::RECEIVER_JOB
        } else {
            Fake::SENDER_JOB
        };
        self.shared().fake.borrow_mut().raise(job);
    }

    fn lend(&mut self, packet: &Packet, waits: bool) -> bool {
        let shared = self.shared();
        let mut random = shared.random.borrow_mut();
        let is_free = waits || random.next(4) != 0;
        drop(random);
        if is_free {
            shared.lent.set(true);
            Gm::attach(Side::<BORROWER>(self.0.clone())).carry_out(packet);
            shared.lent.set(false);
        }
        is_free
    }

    fn yield_lock(&mut self) {
        let shared = self.shared();
        shared.yields.set(true);
        step(&shared.taker);
        shared.yields.set(false);
    }

    fn is_sent(&self) -> bool {
        self.shared().fake.borrow().is_sent()
    }

    fn watch_sent(&mut self) {
        self.shared().watched.set(true);
    }
}
