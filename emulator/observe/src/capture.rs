//! Capture of frames on the wires, in the order of time, during a run.
//!
//! While frames are observed, every direction of a link has a tap, and so has every switch, for dropped frames. `World`
//! collects their contents between slices, as [`Stream`](super::stream::Stream) does with events.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use super::event::{DropReason, Place};
use emulator_base::loss::LossReason;
use emulator_base::time::SimTime;
use emulator_base::unit::{Defects, Departure, Unit};

/// Format of the frames of an interface, as a number of <https://www.tcpdump.org/linktypes.html>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkType(pub u16);

impl LinkType {
    /// Ethernet frames.
    pub const ETHERNET: Self = Self(1);
}

/// Place of a capture: one direction of a link, or a node or switch, for the frames that are dropped there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// A short name: `n0 -> s0`, `s0 port 3 -> n2`, `s0 drops`, `n1 drops`.
    pub name: String,
    /// Description in words.
    pub description: String,
    /// Speed of the link; `None` for a switch.
    pub bits_per_s: Option<u64>,
    /// Format of the frames.
    pub link_type: LinkType,
    /// Length of the check sequence that follows a frame.
    pub check_bytes: u8,
}

impl Interface {
    /// The place of units that are dropped at a node or switch.
    #[must_use]
    pub fn of_drops<U: Unit>(place: Place, link_type: LinkType) -> Self {
        let (name, description) = match place {
            Place::Node(node) => (format!("n{node} drops"), format!("dropped at node {node}")),
            Place::Switch(switch) => (
                format!("s{switch} drops"),
                format!("dropped in switch {switch}"),
            ),
        };
        Self {
            name,
            description,
            bits_per_s: None,
            link_type,
            check_bytes: U::CHECK_BYTES as u8,
        }
    }
}

/// Annotation of a captured frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Dropped by a fault layer: it is not on the wire.
    Dropped,
    /// Duplicated by a fault layer.
    Duplicated {
        /// Number of this copy, from 1.
        copy: usize,
        /// Number of copies.
        copies: usize,
    },
    /// Delayed by a fault layer, by this time.
    Delayed(SimTime),
    /// Changed by a fault layer.
    Damaged {
        /// Index of the first byte that differs; `None` if only FCS or length differ.
        first: Option<usize>,
        /// Number of bytes that differ.
        count: usize,
    },
    /// The frame does not reach the wire's other end, or does not leave a switch.
    Lost {
        /// Reason of the loss.
        reason: LossReason,
        /// Port of a switch.
        port: Option<usize>,
    },
    /// The board that it reaches drops it.
    Refused(DropReason),
    /// The link is cut during the frame.
    Interrupted,
}

impl Note {
    /// The faults of a layer that made `copies` of a frame, this one as number `copy`.
    pub fn of_fault<U: Unit>(
        before: &Departure<U>,
        after: &Departure<U>,
        copy: usize,
        copies: usize,
    ) -> impl Iterator<Item = Self> {
        let duplicated = (copies > 1).then_some(Self::Duplicated { copy, copies });
        let late = after.head.saturating_sub(before.head);
        let delayed = (late > SimTime::ZERO).then_some(Self::Delayed(late));
        let damaged = (before.unit != after.unit).then(|| {
            let pairs = before.unit.bytes().iter().zip(after.unit.bytes().iter());
            let mut differ = pairs.enumerate().filter(|(_, (a, b))| a != b);
            let first = differ.next().map(|(index, _)| index);
            let count = differ.count() + usize::from(first.is_some());
            Self::Damaged { first, count }
        });
        [duplicated, delayed, damaged].into_iter().flatten()
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dropped => write!(f, "dropped by a fault: it never got on the wire"),
            Self::Duplicated { copy, copies } => {
                write!(f, "duplicated by a fault: {copy} of {copies}")
            }
            Self::Delayed(by) => write!(f, "delayed by a fault: {by}"),
            Self::Damaged { first, count } => match first {
                Some(first) if *count == 1 => write!(f, "damaged by a fault: byte {first}"),
                Some(first) => {
                    write!(f, "damaged by a fault: {count} bytes from byte {first} on")
                }
                None => write!(f, "damaged by a fault: its FCS or its length"),
            },
            Self::Lost { reason, port } => {
                write!(f, "lost: {}", reason.name())?;
                port.map_or(Ok(()), |port| write!(f, " at port {port}"))
            }
            Self::Refused(reason) => write!(f, "lost: {}", reason.words()),
            Self::Interrupted => write!(f, "the link is cut while the frame is on it"),
        }
    }
}

/// A frame and its place of capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFrame {
    /// Time of the first bit on the wire, or of the loss.
    pub time: SimTime,
    /// Index of the interface.
    pub interface: usize,
    /// Bytes of the frame as they go on the wire, after all faults, without the check sequence.
    pub bytes: Arc<[u8]>,
    /// The check sequence that follows them.
    pub check: u32,
    /// Errors of the frame.
    pub defects: Defects,
    /// Remarks.
    pub notes: Vec<Note>,
}

/// Observer of all frames of a world, sorted by time, then by interface, then in order of capture.
pub trait FrameObserver: Send {
    /// Called before the first frame.
    fn begin(&mut self, interfaces: &[Interface]);

    /// Called with further frames.
    fn frames(&mut self, frames: &[CapturedFrame]);

    /// Called after the last frame.
    ///
    /// # Errors
    /// The observer's first write error.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Captured frames of one interface, waiting for collection.
#[derive(Debug)]
pub struct Tap {
    interface: usize,
    /// The interface of what is dropped at the place where the direction of the link begins.
    drops: usize,
    frames: Vec<CapturedFrame>,
    /// Notes on units that are not captured yet.
    noted: BTreeMap<Noted, Vec<Note>>,
}

/// A unit that a tap has notes on before it captures it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Noted {
    /// The unit of an event, by the event's number on the lane.
    Event(u64),
    /// A packet, by its number.
    Packet(u64),
}

impl Tap {
    /// A tap of the interface with this number. `drops`: that of units which are dropped at its place.
    #[must_use]
    pub const fn new(interface: usize, drops: usize) -> Self {
        Self {
            interface,
            drops,
            frames: Vec::new(),
            noted: BTreeMap::new(),
        }
    }

    /// Keeps notes on a unit until it is captured.
    pub fn note(&mut self, unit: Noted, notes: Vec<Note>) {
        if !notes.is_empty() {
            self.noted.insert(unit, notes);
        }
    }

    /// Takes the notes on a unit.
    pub fn notes(&mut self, unit: Noted) -> Vec<Note> {
        self.noted.remove(&unit).unwrap_or_default()
    }

    /// Captures a frame.
    pub fn capture(&mut self, time: SimTime, unit: &impl Unit, notes: Vec<Note>) {
        self.capture_at(self.interface, time, unit, notes);
    }

    /// Captures a frame that is dropped at the tap's place.
    pub fn capture_drop(&mut self, time: SimTime, unit: &impl Unit, note: Note) {
        self.capture_at(self.drops, time, unit, vec![note]);
    }

    fn capture_at(&mut self, interface: usize, time: SimTime, unit: &impl Unit, notes: Vec<Note>) {
        self.frames.push(CapturedFrame {
            time,
            interface,
            bytes: Arc::clone(unit.bytes()),
            check: unit.check(),
            defects: unit.defects(),
            notes,
        });
    }
}

/// Merges the contents of all taps. Frames are captured ahead of their time, so they wait until no earlier
/// one can come.
#[derive(Default)]
pub struct Captures {
    observers: Vec<Box<dyn FrameObserver>>,
    waiting: Vec<CapturedFrame>,
}

impl fmt::Debug for Captures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Captures")
            .field("observers", &self.observers.len())
            .field("waiting", &self.waiting.len())
            .finish()
    }
}

impl Captures {
    /// Adds an observer of all frames from now on.
    pub fn add(&mut self, mut observer: Box<dyn FrameObserver>, interfaces: &[Interface]) {
        observer.begin(interfaces);
        self.observers.push(observer);
    }

    /// Passes on frames from before `time`, once every node has reached that time.
    pub fn pass_on_before<'a>(
        &mut self,
        time: SimTime,
        taps: impl IntoIterator<Item = &'a mut Tap>,
    ) {
        if self.observers.is_empty() {
            return;
        }
        for tap in taps {
            self.waiting.append(&mut tap.frames);
        }
        // Stable: frames of one interface and time keep their order.
        self.waiting
            .sort_by_key(|frame| (frame.time, frame.interface));
        let due = self.waiting.partition_point(|frame| frame.time < time);
        if due > 0 {
            for observer in &mut self.observers {
                observer.frames(&self.waiting[..due]);
            }
            self.waiting.drain(..due);
        }
    }

    /// Passes on all remaining frames and ends all observers; returns their errors, in the order in which
    /// observers were added.
    pub fn finish<'a>(&mut self, taps: impl IntoIterator<Item = &'a mut Tap>) -> Vec<io::Error> {
        // No frame has this time.
        self.pass_on_before(SimTime::MAX, taps);
        let observers = std::mem::take(&mut self.observers);
        let finished = observers.into_iter().map(|mut observer| observer.finish());
        finished.filter_map(Result::err).collect()
    }
}
