//! Exact faults: what happens to the frames that a pattern describes.
//!
//! The emulator's fault layers know frames and times; these know EMP as well.
//!
//! ```
//! use lanigon_worlds::faults::Fault;
//! use emulator::sim::time::SimTime;
//!
//! // The third fragment of message 17 from node 2 is lost, the first time that it is sent.
//! let lost = Fault::drop().fragment(3).of_message(17).from(2);
//! // Byte 40 of the next ack to node 2 is damaged, from 5 ms on.
//! let damaged = Fault::corrupt(40).ack().to(2).after(SimTime::from_us(5_000));
//! // Node 0's header frames come 300 us late, all of them.
//! let late = Fault::delay(SimTime::from_us(300)).header().from(0).always();
//! # let _ = (lost, damaged, late);
//! ```

mod frame;
mod layer;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use defs::emp::frame::Kind;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::state::{Reader, State, StateError, Value, Writer};
use emulator::wire::ethernet::EthernetError;

pub use frame::EmpFrame;
use layer::Exact;

/// What is done to a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It is lost.
    Drop,
    /// It leaves twice.
    Duplicate,
    /// It leaves later; others overtake it.
    Delay(SimTime),
    /// The bits of a byte are turned over.
    Corrupt {
        /// Which byte of the frame, from 0; of a shorter frame its last one.
        byte: u32,
        /// The FCS is made to fit, so that nobody can notice.
        valid_fcs: bool,
    },
}

/// Which frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// All of EMP.
    Any,
    /// A message's first frame.
    Header,
    /// A message's other frames.
    Data,
    /// Both of these.
    Fragment,
    /// Acknowledgments.
    Ack,
}

impl FrameKind {
    const fn holds(self, kind: Kind) -> bool {
        match self {
            Self::Any => true,
            Self::Header => matches!(kind, Kind::Header),
            Self::Data => matches!(kind, Kind::Data),
            Self::Fragment => matches!(kind, Kind::Header | Kind::Data),
            Self::Ack => matches!(kind, Kind::Ack),
        }
    }
}

/// A fault that strikes the frames which fit its pattern; the first one only, unless told otherwise.
///
/// Messages are counted from 1 for each sender and receiver, fragments from 1 within their message. An ack counts to
/// the message that it acknowledges, and is sent by that message's receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    action: Action,
    kind: FrameKind,
    fragment: Option<u16>,
    message: Option<u16>,
    from: Option<u16>,
    to: Option<u16>,
    after: SimTime,
    /// `None`: however many.
    times: Option<u32>,
}

impl Fault {
    /// This happens to the first frame of EMP.
    #[must_use]
    pub const fn new(action: Action) -> Self {
        Self {
            action,
            kind: FrameKind::Any,
            fragment: None,
            message: None,
            from: None,
            to: None,
            after: SimTime::ZERO,
            times: Some(1),
        }
    }

    /// A frame is lost.
    #[must_use]
    pub const fn drop() -> Self {
        Self::new(Action::Drop)
    }

    /// A frame leaves twice.
    #[must_use]
    pub const fn duplicate() -> Self {
        Self::new(Action::Duplicate)
    }

    /// A frame leaves later.
    #[must_use]
    pub const fn delay(by: SimTime) -> Self {
        Self::new(Action::Delay(by))
    }

    /// A byte of a frame is damaged; the receiving MAC sees that the FCS is wrong.
    #[must_use]
    pub const fn corrupt(byte: u32) -> Self {
        let valid_fcs = false;
        Self::new(Action::Corrupt { byte, valid_fcs })
    }

    /// A byte of a frame is changed, and the FCS with it: nobody notices but who compares the bytes.
    #[must_use]
    pub const fn forge(byte: u32) -> Self {
        let valid_fcs = true;
        Self::new(Action::Corrupt { byte, valid_fcs })
    }

    /// Only frames of this kind.
    #[must_use]
    pub const fn kind(mut self, kind: FrameKind) -> Self {
        self.kind = kind;
        self
    }

    /// Only header frames.
    #[must_use]
    pub const fn header(self) -> Self {
        self.kind(FrameKind::Header)
    }

    /// Only data frames.
    #[must_use]
    pub const fn data(self) -> Self {
        self.kind(FrameKind::Data)
    }

    /// Only acks.
    #[must_use]
    pub const fn ack(self) -> Self {
        self.kind(FrameKind::Ack)
    }

    /// Only this fragment of a message: 1 is its header frame. Of acks: those that name this fragment, the last one of
    /// their group.
    #[must_use]
    pub const fn fragment(mut self, fragment: u16) -> Self {
        if matches!(self.kind, FrameKind::Any) {
            self.kind = FrameKind::Fragment;
        }
        self.fragment = Some(fragment);
        self
    }

    /// Only frames of this message: 1 is the first one of its sender to its receiver.
    #[must_use]
    pub const fn of_message(mut self, message: u16) -> Self {
        self.message = Some(message);
        self
    }

    /// Only frames that this node sends.
    #[must_use]
    pub const fn from(mut self, node: u16) -> Self {
        self.from = Some(node);
        self
    }

    /// Only frames to this node.
    #[must_use]
    pub const fn to(mut self, node: u16) -> Self {
        self.to = Some(node);
        self
    }

    /// Only frames that leave then or later.
    #[must_use]
    pub const fn after(mut self, time: SimTime) -> Self {
        self.after = time;
        self
    }

    /// It strikes so often.
    #[must_use]
    pub const fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// It strikes each frame that fits.
    #[must_use]
    pub const fn always(mut self) -> Self {
        self.times = None;
        self
    }

    /// The same, at times that are later by `span`.
    #[must_use]
    pub const fn later_by(mut self, span: SimTime) -> Self {
        self.after = self.after.saturating_add(span);
        self
    }

    /// Whether a frame that leaves at `time` fits the pattern.
    #[must_use]
    pub fn fits(&self, frame: &EmpFrame, time: SimTime) -> bool {
        let number = |number: u16| number.wrapping_add(1);
        time >= self.after
            && self.kind.holds(frame.kind)
            && self
                .fragment
                .is_none_or(|wanted| wanted == number(frame.frame))
            && self
                .message
                .is_none_or(|wanted| wanted == number(frame.message))
            && self.from.is_none_or(|wanted| wanted == frame.from)
            && self.to.is_none_or(|wanted| Some(wanted) == frame.to)
    }
}

/// How often a fault has struck, whichever node sent the frames.
#[derive(Debug, Clone, Default)]
pub struct Strikes(Arc<AtomicU32>);

impl Strikes {
    /// How often.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts one more, unless `most` is reached.
    pub fn take(&self, most: Option<u32>) -> bool {
        let may = most.is_none_or(|most| self.count() < most);
        if may {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        may
    }
}

impl State for Strikes {
    fn save(&self, out: &mut Writer) {
        self.count().save(out);
    }

    /// All who share the count find it as it was.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.0.store(Value::read(from)?, Ordering::Relaxed);
        Ok(())
    }
}

/// Puts a fault where the nodes' frames leave them. Where it may strike in parts of the world that have no way to each
/// other, it must name the sender: there is no order in what they do.
///
/// # Errors
/// If the sender does not exist or has no cable.
pub fn install(world: &mut World, fault: &Fault) -> Result<Strikes, EthernetError> {
    let strikes = Strikes::default();
    let senders = match fault.from {
        Some(node) => vec![usize::from(node)],
        None => (0..world.nodes.len())
            .filter(|&node| world.line_counts(node).is_ok())
            .collect(),
    };
    for node in senders {
        let layer = Exact::new(fault.clone(), strikes.clone());
        world.add_fault(node, Box::new(layer))?;
    }
    Ok(strikes)
}
