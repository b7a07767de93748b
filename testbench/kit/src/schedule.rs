//! Schedules of faults and of host delays: random, shrinkable, printed as code.

use std::fmt;

use emulator::sim::time::SimTime;
use proptest::prelude::{Strategy, any, prop_oneof};

use super::fault::FrameFault;
use super::us;
use lanigon_worlds::faults::Action;

/// One step of a [`Schedule`]. Frames are numbered from 0 per sending node, pauses from 0 per node of the
/// program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A fault of frame `number` that leaves the node `from`.
    Frame {
        /// Sender of the frame.
        from: u16,
        /// Number of the frame.
        number: u32,
        /// The fault.
        action: Action,
    },
    /// This [`pause`](super::HostNode::pause) of the node's program takes this time.
    Pause {
        /// Node of the program.
        node: u16,
        /// Number of the pause.
        number: u32,
        /// Length of the pause.
        span: SimTime,
    },
}

impl Step {
    const fn frame(from: u16, number: u32, action: Action) -> Self {
        Self::Frame {
            from,
            number,
            action,
        }
    }

    /// Drops a frame.
    #[must_use]
    pub const fn drop(from: u16, number: u32) -> Self {
        Self::frame(from, number, Action::Drop)
    }

    /// Duplicates a frame.
    #[must_use]
    pub const fn duplicate(from: u16, number: u32) -> Self {
        Self::frame(from, number, Action::Duplicate)
    }

    /// Delays a frame by microseconds.
    #[must_use]
    pub const fn delay(from: u16, number: u32, by_us: u64) -> Self {
        Self::frame(from, number, Action::Delay(us(by_us)))
    }

    /// Damages a byte of a frame.
    #[must_use]
    pub const fn corrupt(from: u16, number: u32, byte: u32) -> Self {
        let valid_fcs = false;
        Self::frame(from, number, Action::Corrupt { byte, valid_fcs })
    }

    /// Delays a program at a pause, by microseconds.
    #[must_use]
    pub const fn pause(node: u16, number: u32, span_us: u64) -> Self {
        let span = us(span_us);
        Self::Pause { node, number, span }
    }
}

/// Prints the step as code.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |span: SimTime| span.ps() / 1_000_000;
        match *self {
            Self::Pause { node, number, span } => {
                write!(f, "Step::pause({node}, {number}, {})", us(span))
            }
            Self::Frame {
                from,
                number,
                action,
            } => match action {
                Action::Drop => write!(f, "Step::drop({from}, {number})"),
                Action::Duplicate => write!(f, "Step::duplicate({from}, {number})"),
                Action::Delay(by) => write!(f, "Step::delay({from}, {number}, {})", us(by)),
                Action::Corrupt { byte, .. } => {
                    write!(f, "Step::corrupt({from}, {number}, {byte})")
                }
            },
        }
    }
}

/// Faults of a run, and delays of programs. Its text is code that creates it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule {
    /// The steps; their order is irrelevant.
    pub steps: Vec<Step>,
}

impl Schedule {
    /// A schedule of these steps.
    #[must_use]
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        let steps = steps.into_iter().collect();
        Self { steps }
    }

    /// A copy without the step at `index`.
    #[must_use]
    pub fn without(&self, index: usize) -> Self {
        let mut steps = self.steps.clone();
        steps.remove(index);
        Self { steps }
    }

    /// The faults of the schedule.
    pub(super) fn faults(&self) -> impl Iterator<Item = FrameFault> {
        self.steps.iter().filter_map(|step| match *step {
            Step::Frame {
                from,
                number,
                action,
            } => Some(FrameFault::new(action).from(from).frame(number)),
            Step::Pause { .. } => None,
        })
    }

    /// Lengths of a node's pauses, in order.
    pub(super) fn pauses(&self, node: u16) -> Vec<SimTime> {
        let mut pauses = Vec::new();
        for step in &self.steps {
            if let Step::Pause {
                node: of,
                number,
                span,
            } = *step
                && of == node
            {
                let index = number as usize;
                pauses.resize(pauses.len().max(index + 1), SimTime::ZERO);
                pauses[index] = span;
            }
        }
        pauses
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Schedule::of([")?;
        for step in &self.steps {
            writeln!(f, "    {step},")?;
        }
        write!(f, "])")
    }
}

/// A space of schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedules {
    nodes: u16,
    frames: u32,
    pauses: u32,
    steps: usize,
    longest_us: u64,
}

/// Largest number of pauses per node.
const MOST_PAUSES: u32 = 1_000;
/// Longest delay or pause.
const LONGEST_US: u64 = 1_000_000;
/// Range of bytes that may be damaged: every frame has them.
const SHORTEST_FRAME: u32 = 60;

impl Schedules {
    /// Schedules for `nodes` nodes: up to 6 steps on the first 8 frames of each node, with delays up to 500
    /// us.
    #[must_use]
    pub const fn new(nodes: u16) -> Self {
        Self {
            nodes: if nodes == 0 { 1 } else { nodes },
            frames: 8,
            pauses: 0,
            steps: 6,
            longest_us: 500,
        }
    }

    /// Sets the number of frames per node that faults may hit.
    #[must_use]
    pub fn frames(mut self, frames: u32) -> Self {
        self.frames = frames.max(1);
        self
    }

    /// Sets the number of pauses per program that may take time.
    #[must_use]
    pub fn pauses(mut self, pauses: u32) -> Self {
        self.pauses = pauses.min(MOST_PAUSES);
        self
    }

    /// Sets the largest number of steps.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps.max(1);
        self
    }

    /// Sets the longest delay or pause in microseconds.
    #[must_use]
    pub fn longest_us(mut self, longest_us: u64) -> Self {
        self.longest_us = longest_us.clamp(1, LONGEST_US);
        self
    }

    /// The proptest strategy. It shrinks to fewer steps, earlier frames, shorter times, and to losses
    /// rather than other faults.
    pub fn strategy(self) -> impl Strategy<Value = Schedule> {
        let frame = (0..self.nodes, 0..self.frames);
        let span = 1..=self.longest_us;
        let pause_weight = u32::from(self.pauses > 0);
        let step = prop_oneof![
            3 => frame.clone().prop_map(|(from, number)| Step::drop(from, number)),
            3 => frame.clone().prop_map(|(from, number)| Step::duplicate(from, number)),
            3 => (frame.clone(), span.clone())
                .prop_map(|((from, number), by)| Step::delay(from, number, by)),
            1 => (frame, any::<u32>())
                .prop_map(|((from, number), byte)| Step::corrupt(from, number, byte % SHORTEST_FRAME)),
            3 * pause_weight => (0..self.nodes, 0..self.pauses.max(1), span)
                .prop_map(|(node, number, span)| Step::pause(node, number, span)),
        ];
        proptest::collection::vec(step, 1..=self.steps).prop_map(|steps| Schedule { steps })
    }
}
