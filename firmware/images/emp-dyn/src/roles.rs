//! The engines of the four roles, and how a CPU gets one for an event.

use defs::emp::control::{MAILBOX_CANCEL, MAILBOX_COMMAND, MAILBOX_RECEIVE};
use emp::nic::Arrival;
use emp::roles::{OnlyDeliverer, OnlyMatcher, OnlySender, OnlyTransmitter, Roles};
use emp::{Emp, MemoryPlan, Tables};
use tigon2_hal::claim::Claimed;
use tigon2_hal::cpu::Executing;
use tigon2_hal::{Singleton, event, log, regs, semaphore};

use crate::board::{self, First};
use crate::chip::Chip;
use crate::queues::claim_of;

/// A role's engine.
pub type Engine<R> = Emp<'static, Chip<R>>;
/// The sender's engine.
pub type Sender = Engine<OnlySender>;
/// The transmitter's engine.
pub type Transmitter = Engine<OnlyTransmitter>;
/// The matcher's engine.
pub type Matcher = Engine<OnlyMatcher>;
/// The deliverer's engine.
pub type Deliverer = Engine<OnlyDeliverer>;
/// A role's engine as the CPUs share it; `None` until CPU A has started the protocol.
pub type Shared<R, const CLAIM: u32> = Claimed<Option<Engine<R>>, CLAIM>;

/// The sender.
pub static SENDER: Shared<OnlySender, { claim_of(0) }> = Claimed::new(None);
/// The transmitter.
pub static TRANSMITTER: Shared<OnlyTransmitter, { claim_of(1) }> = Claimed::new(None);
/// The matcher.
pub static MATCHER: Shared<OnlyMatcher, { claim_of(2) }> = Claimed::new(None);
/// The deliverer.
pub static DELIVERER: Shared<OnlyDeliverer, { claim_of(3) }> = Claimed::new(None);

static SENDER_TABLES: Singleton<Tables<OnlySender>> = Singleton::new(Tables::new());
static TRANSMITTER_TABLES: Singleton<Tables<OnlyTransmitter>> = Singleton::new(Tables::new());
static MATCHER_TABLES: Singleton<Tables<OnlyMatcher>> = Singleton::new(Tables::new());
static DELIVERER_TABLES: Singleton<Tables<OnlyDeliverer>> = Singleton::new(Tables::new());

/// Events of a role, without those of mailboxes, which sender and matcher share.
const fn events_of<R: Roles>() -> u32 {
    let timer = 1 << event::TIMER;
    if R::SENDER {
        timer | 1 << event::SOFT_CUT | 1 << event::SOFT_REPORTS
    } else if R::TRANSMITTER {
        1 << event::READ_DMA_ATTENTION
            | 1 << event::READ_DMA_DONE
            | 1 << event::SOFT_ACKS
            | 1 << event::SOFT_SEND
            | 1 << event::SOFT_FRAMES
    } else if R::MATCHER {
        timer | 1 << event::RX_COMPLETE | 1 << event::SOFT_CLOSED
    } else {
        1 << event::WRITE_DMA_ATTENTION
            | 1 << event::WRITE_DMA_DONE
            | 1 << event::SOFT_PAGES
            | 1 << event::SOFT_ARRIVALS
            | 1 << event::SOFT_RESUME
    }
}

/// Events that a CPU handles unless it has masked some.
pub const EVENTS: u32 = 1 << event::MAILBOX
    | events_of::<OnlySender>()
    | events_of::<OnlyTransmitter>()
    | events_of::<OnlyMatcher>()
    | events_of::<OnlyDeliverer>();

/// Ends the mask.
#[inline(always)]
pub fn unmask() {
    event::set_mask(EVENTS);
}

/// Masks events whose role another CPU has.
#[inline(always)]
fn mask(events: u32) {
    event::set_mask(event::mask() & !events | 1 << event::SOFT_AGAIN);
}

/// Does `work` with a role's engine on CPU `C`, or masks the role's events if another CPU has it; returns whether it was free.
#[inline(always)]
pub fn serve<C: Executing, R: Roles, const CLAIM: u32>(
    role: &Shared<R, CLAIM>,
    work: fn(&mut Engine<R>),
) -> bool {
    let free = role.with::<C>(|engine| {
        if let Some(engine) = engine {
            engine.nic_mut().move_to::<C>();
            work(engine);
        }
    });
    if free {
        unmask();
    } else {
        mask(events_of::<R>());
    }
    free
}

/// Handles written mailboxes on CPU `C`: those of each role, if no other CPU has it. The arguments do work with an engine.
#[inline(always)]
pub fn serve_mailboxes<C: Executing>(
    sender: fn(fn(&mut Sender)) -> bool,
    matcher: fn(fn(&mut Matcher)) -> bool,
) {
    let written = regs::read(C::mailbox_event());
    let both = 1 << MAILBOX_COMMAND;
    let own = 1 << MAILBOX_RECEIVE | 1 << MAILBOX_CANCEL;
    // Which role has taken the commands: see `take_mailboxes`.
    let (for_sender, for_matcher) = board::sees_common_mail(C::index());
    let of_sender = !own & if for_sender { u32::MAX } else { !both };
    let of_matcher = own | if for_matcher { both } else { 0 };
    let sent = written & of_sender == 0 || sender(on_transmit_mailbox);
    let received = written & of_matcher == 0 || matcher(on_receive_mailbox);
    if !(sent && received) {
        mask(1 << event::MAILBOX);
    }
}

/// Starts all engines on CPU A once the host requests it, with the memory from `base` to `end`.
#[cold]
pub fn start(base: u32, end: u32) {
    let memory = MemoryPlan::at(base);
    SENDER.reset::<First>();
    TRANSMITTER.reset::<First>();
    MATCHER.reset::<First>();
    DELIVERER.reset::<First>();
    SENDER.with::<First>(|engine| {
        let engine = engine.insert(Emp::new(Chip::new(), SENDER_TABLES.take(), memory));
        engine.publish();
        log!(
            "EMP ready: descriptors at {x}, memory used up to {x}",
            base,
            end
        );
        // Others may run already: what several change, each changes under the semaphore.
        while !semaphore::locked_at(First::semaphore(), || engine.poll_start()) {}
    });
    begin(
        &TRANSMITTER,
        Emp::new(Chip::new(), TRANSMITTER_TABLES.take(), memory),
    );
    begin(
        &MATCHER,
        Emp::new(Chip::new(), MATCHER_TABLES.take(), memory),
    );
    begin(
        &DELIVERER,
        Emp::new(Chip::new(), DELIVERER_TABLES.take(), memory),
    );
}

/// Starts an engine after the sender's.
#[cold]
fn begin<R: Roles, const CLAIM: u32>(role: &Shared<R, CLAIM>, mut engine: Engine<R>) {
    engine.begin();
    role.with::<First>(|place| *place = Some(engine));
}

/// Handlers in SRAM: all CPUs execute the same code.
macro_rules! handlers {
    ($($name:ident),*) => {
        $(
            #[doc = concat!("Handles the event of [`Emp::", stringify!($name), "`].")]
            #[inline(never)]
            pub fn $name<R: Roles>(engine: &mut Engine<R>) {
                engine.$name();
            }
        )*
    };
}

handlers! {
    on_timer, on_read_attention, on_write_attention, on_closed, on_pages, on_send, on_reports, on_acks
}

#[inline(never)]
fn on_transmit_mailbox(engine: &mut Sender) {
    if engine.nic().has_mail() {
        engine.on_mailbox(|engine| engine.post_transmit(on_send), |_| {});
    }
}

#[inline(never)]
fn on_receive_mailbox(engine: &mut Matcher) {
    if engine.nic().has_mail() {
        engine.on_mailbox(|_| {}, |engine| engine.post_receive());
    }
}

/// Handles an ack.
#[inline(never)]
fn take_ack(engine: &mut Matcher, arrival: Arrival) {
    engine.take_ack(arrival);
}

/// Handles a received frame.
#[inline(never)]
pub fn on_receive(engine: &mut Matcher) {
    engine.on_receive(take_ack, take_frame);
}

#[inline(never)]
fn take_frame(engine: &mut Matcher, arrival: Arrival, type_kind: u32) {
    engine.take_frame(arrival, type_kind);
}
