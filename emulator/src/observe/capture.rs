//! Frames on the wires, in the order of time, while the run goes on.
//!
//! Every line has a tap if somebody wants to see frames, and so has every switch, for those that it drops.
//! `World` collects what they hold between slices, as [`Stream`](super::stream::Stream) does with events.

use std::fmt;
use std::io;

use crate::sim::time::SimTime;
use crate::wire::ethernet::frame::Frame;
use crate::wire::ethernet::link::Departure;
use crate::wire::loss::LossReason;

/// Where frames are captured: one direction of a link, or a switch, whose frames are those that it dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// A short name: `n0 -> s0`, `s0 port 3 -> n2`, `s0 drops`.
    pub name: String,
    /// The same in words.
    pub description: String,
    /// How fast the link is; none for a switch.
    pub bits_per_s: Option<u64>,
}

/// What is remarkable about a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A fault layer lost it: it is not on the wire.
    Dropped,
    /// A fault layer made more of it.
    Duplicated {
        /// Which one this is, from 1.
        copy: usize,
        /// So many there are.
        copies: usize,
    },
    /// A fault layer held it back for so long.
    Delayed(SimTime),
    /// A fault layer changed it.
    Damaged {
        /// The first byte that differs, from 0, if one does: else its FCS or its length.
        first: Option<usize>,
        /// So many differ.
        count: usize,
    },
    /// It does not get to the wire's other end, or out of a switch.
    Lost {
        /// Why.
        reason: LossReason,
        /// At which port of a switch.
        port: Option<usize>,
    },
    /// The link is cut while the frame is on it.
    Interrupted,
}

impl Note {
    /// What a fault layer did to a frame of which it made `copies`, this one as number `copy`.
    pub(crate) fn of_fault(
        before: &Departure,
        after: &Departure,
        copy: usize,
        copies: usize,
    ) -> impl Iterator<Item = Self> {
        let duplicated = (copies > 1).then_some(Self::Duplicated { copy, copies });
        let late = after.first_bit.saturating_sub(before.first_bit);
        let delayed = (late > SimTime::ZERO).then_some(Self::Delayed(late));
        let damaged = (before.frame != after.frame).then(|| {
            let pairs = before.frame.bytes().iter().zip(after.frame.bytes());
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
            Self::Interrupted => write!(f, "the link is cut while the frame is on it"),
        }
    }
}

/// A frame where it was captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFrame {
    /// When its first bit goes on the wire, or when it was lost.
    pub time: SimTime,
    /// Where: an index into the list of interfaces.
    pub interface: usize,
    /// As it goes on the wire, after all faults.
    pub frame: Frame,
    /// What is remarkable about it.
    pub notes: Vec<Note>,
}

/// Sees the frames of a world, in the order of time, then of interface, then as they went.
pub trait FrameObserver: Send {
    /// Before all frames.
    fn begin(&mut self, interfaces: &[Interface]);

    /// Some more frames.
    fn frames(&mut self, frames: &[CapturedFrame]);

    /// There are no more frames.
    ///
    /// # Errors
    /// The first one of all that it could not write.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Frames of one interface that wait for being collected.
#[derive(Debug)]
pub(crate) struct Tap {
    interface: usize,
    frames: Vec<CapturedFrame>,
}

impl Tap {
    pub(crate) const fn new(interface: usize) -> Self {
        Self {
            interface,
            frames: Vec::new(),
        }
    }

    /// Captures a frame.
    pub(crate) fn capture(&mut self, time: SimTime, frame: &Frame, notes: Vec<Note>) {
        self.frames.push(CapturedFrame {
            time,
            interface: self.interface,
            frame: frame.clone(),
            notes,
        });
    }
}

/// Merges what all taps hold. Frames are captured ahead of their time: they wait until no earlier one can come.
#[derive(Default)]
pub(crate) struct Captures {
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
    /// Adds somebody who sees all frames from now on.
    pub(crate) fn add(&mut self, mut observer: Box<dyn FrameObserver>, interfaces: &[Interface]) {
        observer.begin(interfaces);
        self.observers.push(observer);
    }

    /// Hands on what was captured of the time before `time`, when everybody has come so far.
    pub(crate) fn pass_on_before<'a>(
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
        // Stable: what one interface saw at the same time keeps its order.
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

    /// Hands on everything that is left, and lets all observers go; gives what they could not do, in the order in
    /// which they came.
    pub(crate) fn finish<'a>(
        &mut self,
        taps: impl IntoIterator<Item = &'a mut Tap>,
    ) -> Vec<io::Error> {
        // Nothing happens at the end of time.
        self.pass_on_before(SimTime::MAX, taps);
        let observers = std::mem::take(&mut self.observers);
        let finished = observers.into_iter().map(|mut observer| observer.finish());
        finished.filter_map(Result::err).collect()
    }
}
