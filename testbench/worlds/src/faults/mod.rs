//! Exact faults: actions on frames that match a pattern.
//!
//! The emulator's fault layers match frames and times; exact faults match EMP fields as well ([`Fault`]), or GM's ([`PacketFault`]), or
//! the numbers of programs' Ethernet frames ([`ProgramFault`]).
//!
//! ```
//! use lanigon_worlds::faults::Fault;
//! use emulator::sim::time::SimTime;
//!
//! // Fragment 2, the third, of message 16 from node 2 is lost, the first time that it is sent.
//! let lost = Fault::drop().fragment(2).of_message(16).from(2);
//! // Byte 40 of the next ack to node 2 is damaged, from 5 ms on.
//! let damaged = Fault::corrupt(40).ack().to(2).after(SimTime::from_us(5_000));
//! // Node 0's header frames come 300 us late, all of them.
//! let late = Fault::delay(SimTime::from_us(300)).header().from(0).always();
//! # let _ = (lost, damaged, late);
//! ```

mod frame;
mod layer;
mod packet;
mod pattern;
mod program;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use defs::emp::frame::Kind;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::state::{Reader, State, StateError, Value, Writer};
use emulator::wire::ethernet::EthernetError;

pub use frame::EmpFrame;
use layer::Exact;
pub use layer::Forge;
pub use packet::{GmPacket, PacketFault, PacketKind, install_packet};
use pattern::{Pattern, agree, pattern_methods};
pub use program::{ProgramFault, install_program};

/// Action on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The frame is lost.
    Drop,
    /// The frame is sent twice.
    Duplicate,
    /// The frame is delayed; later frames overtake it.
    Delay(SimTime),
    /// The bits of a byte are inverted.
    Corrupt {
        /// Index of the byte, from 0; in a shorter frame its last byte.
        byte: u32,
        /// The FCS is recomputed, so that no receiver can detect the damage.
        valid_fcs: bool,
    },
}

/// Selection of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// All EMP frames.
    Any,
    /// A message's first frame.
    Header,
    /// A message's other frames.
    Data,
    /// All frames of a message, its header frame included.
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

/// A fault of frames that match its pattern; by default of the first one only.
///
/// Messages are counted from 0 per sender and receiver, fragments from 0 within their message, as everywhere. An ack
/// belongs to the message that it acknowledges; its sender is that message's receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    action: Action,
    kind: FrameKind,
    fragment: Option<u16>,
    message: Option<u16>,
    pattern: Pattern,
}

impl Fault {
    /// A fault of the first EMP frame.
    #[must_use]
    pub const fn new(action: Action) -> Self {
        Self {
            action,
            kind: FrameKind::Any,
            fragment: None,
            message: None,
            pattern: Pattern::new(),
        }
    }

    /// Drops a frame.
    #[must_use]
    pub const fn drop() -> Self {
        Self::new(Action::Drop)
    }

    /// Duplicates a frame.
    #[must_use]
    pub const fn duplicate() -> Self {
        Self::new(Action::Duplicate)
    }

    /// Delays a frame.
    #[must_use]
    pub const fn delay(by: SimTime) -> Self {
        Self::new(Action::Delay(by))
    }

    /// Damages a byte of a frame; the receiving MAC detects it by the FCS.
    #[must_use]
    pub const fn corrupt(byte: u32) -> Self {
        let valid_fcs = false;
        Self::new(Action::Corrupt { byte, valid_fcs })
    }

    /// Changes a byte of a frame, and its FCS too: only a comparison of the bytes detects it.
    #[must_use]
    pub const fn forge(byte: u32) -> Self {
        let valid_fcs = true;
        Self::new(Action::Corrupt { byte, valid_fcs })
    }

    /// Matches frames of this kind only.
    #[must_use]
    pub const fn kind(mut self, kind: FrameKind) -> Self {
        self.kind = kind;
        self
    }

    /// Matches header frames only.
    #[must_use]
    pub const fn header(self) -> Self {
        self.kind(FrameKind::Header)
    }

    /// Matches data frames only.
    #[must_use]
    pub const fn data(self) -> Self {
        self.kind(FrameKind::Data)
    }

    /// Matches acks only.
    #[must_use]
    pub const fn ack(self) -> Self {
        self.kind(FrameKind::Ack)
    }

    /// Matches this fragment of a message only: 0 is its header frame. Of acks: those for this fragment,
    /// the last one of its group.
    #[must_use]
    pub const fn fragment(mut self, fragment: u16) -> Self {
        if matches!(self.kind, FrameKind::Any) {
            self.kind = FrameKind::Fragment;
        }
        self.fragment = Some(fragment);
        self
    }

    /// Matches frames of this message only: 0 is the first one from its sender to its receiver.
    #[must_use]
    pub const fn of_message(mut self, message: u16) -> Self {
        self.message = Some(message);
        self
    }

    pattern_methods!();

    /// Whether both faults may strike the same message, or what answers it.
    fn meets(&self, other: &Self) -> bool {
        agree(self.message, other.message)
    }

    /// Whether a frame that leaves at `time` matches the pattern.
    #[must_use]
    pub fn fits(&self, frame: &EmpFrame, time: SimTime) -> bool {
        self.pattern.fits(frame.from, frame.to, time)
            && self.kind.holds(frame.kind)
            && self.fragment.is_none_or(|wanted| wanted == frame.frame)
            && self.message.is_none_or(|wanted| wanted == frame.message)
    }
}

/// Hit counter of a fault, over all nodes.
#[derive(Debug, Clone, Default)]
pub struct Strikes(Arc<AtomicU32>);

impl Strikes {
    /// Number of hits.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts a hit, unless `most` is reached.
    pub fn try_count(&self, most: Option<u32>) -> bool {
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

    /// All holders of the counter see the loaded value.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.0.store(Value::read(from)?, Ordering::Relaxed);
        Ok(())
    }
}

/// Installs a fault at the nodes' ports. If it can hit frames in parts of the world that are not connected,
/// it must name the sender: their events have no common order.
///
/// # Errors
/// If the sender does not exist or has no cable.
pub fn install(world: &mut World, fault: &Fault) -> Result<Strikes, EthernetError> {
    let strikes = Strikes::default();
    let senders = match fault.pattern.from {
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
