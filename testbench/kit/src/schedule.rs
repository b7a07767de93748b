//! Schedules of faults and of host timing: made at random, shrunk, printed as code.

use std::fmt;

use emulator::sim::time::SimTime;
use proptest::prelude::{Strategy, any, prop_oneof};

use super::fault::FrameFault;
use super::us;
use lanigon_worlds::faults::Action;

/// One thing that a [`Schedule`] does. Frames count from 1 for each node that sends them, pauses from 1 for
/// each node whose program makes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Something happens to the frame `number` that leaves the node `from`.
    Frame {
        /// Whose frame.
        from: u16,
        /// Which one.
        number: u32,
        /// What.
        action: Action,
    },
    /// The `number`-th [`pause`](super::HostNode::pause) of the node's program takes so long.
    Pause {
        /// Whose program.
        node: u16,
        /// Which pause.
        number: u32,
        /// How long.
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

    /// The frame is lost.
    #[must_use]
    pub const fn drop(from: u16, number: u32) -> Self {
        Self::frame(from, number, Action::Drop)
    }

    /// The frame leaves twice.
    #[must_use]
    pub const fn duplicate(from: u16, number: u32) -> Self {
        Self::frame(from, number, Action::Duplicate)
    }

    /// The frame leaves so many microseconds late.
    #[must_use]
    pub const fn delay(from: u16, number: u32, by_us: u64) -> Self {
        Self::frame(from, number, Action::Delay(us(by_us)))
    }

    /// A byte of the frame is damaged.
    #[must_use]
    pub const fn corrupt(from: u16, number: u32, byte: u32) -> Self {
        let valid_fcs = false;
        Self::frame(from, number, Action::Corrupt { byte, valid_fcs })
    }

    /// The program's pause takes so many microseconds.
    #[must_use]
    pub const fn pause(node: u16, number: u32, span_us: u64) -> Self {
        let span = us(span_us);
        Self::Pause { node, number, span }
    }
}

/// As code that makes it.
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

/// What goes wrong in a run, and when programs lose time. Its text is code that makes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule {
    /// The steps; their order says nothing.
    pub steps: Vec<Step>,
}

impl Schedule {
    /// These steps.
    #[must_use]
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        let steps = steps.into_iter().collect();
        Self { steps }
    }

    /// The same without the step at this place.
    #[must_use]
    pub fn without(&self, index: usize) -> Self {
        let mut steps = self.steps.clone();
        steps.remove(index);
        Self { steps }
    }

    /// The faults.
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

    /// The pauses of a node, the first one first.
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
                let index = number.saturating_sub(1) as usize;
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

/// Which schedules there can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedules {
    nodes: u16,
    frames: u32,
    pauses: u32,
    steps: usize,
    longest_us: u64,
}

/// Most pauses of a node that a schedule may name.
const MOST_PAUSES: u32 = 1_000;
/// Longest delay or pause.
const LONGEST_US: u64 = 1_000_000;
/// Bytes of a frame of which one may be damaged: every frame has so many.
const SHORTEST_FRAME: u32 = 60;

impl Schedules {
    /// Of so many nodes: up to 6 steps that concern the first 8 frames of each, and last up to 500 us.
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

    /// Faults strike the first so many frames of each node.
    #[must_use]
    pub fn frames(mut self, frames: u32) -> Self {
        self.frames = frames.max(1);
        self
    }

    /// The first so many pauses of each program may take time.
    #[must_use]
    pub fn pauses(mut self, pauses: u32) -> Self {
        self.pauses = pauses.min(MOST_PAUSES);
        self
    }

    /// At most so many steps.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps.max(1);
        self
    }

    /// Delays and pauses take at most so many microseconds.
    #[must_use]
    pub fn longest_us(mut self, longest_us: u64) -> Self {
        self.longest_us = longest_us.clamp(1, LONGEST_US);
        self
    }

    /// The proptest strategy. It shrinks to fewer steps, earlier frames, shorter times, and to losses rather than
    /// to what is stranger.
    pub fn strategy(self) -> impl Strategy<Value = Schedule> {
        let frame = (0..self.nodes, 1..=self.frames);
        let span = 1..=self.longest_us;
        let pause_weight = u32::from(self.pauses > 0);
        let step = prop_oneof![
            3 => frame.clone().prop_map(|(from, number)| Step::drop(from, number)),
            3 => frame.clone().prop_map(|(from, number)| Step::duplicate(from, number)),
            3 => (frame.clone(), span.clone())
                .prop_map(|((from, number), by)| Step::delay(from, number, by)),
            1 => (frame, any::<u32>())
                .prop_map(|((from, number), byte)| Step::corrupt(from, number, byte % SHORTEST_FRAME)),
            3 * pause_weight => (0..self.nodes, 1..=self.pauses.max(1), span)
                .prop_map(|(node, number, span)| Step::pause(node, number, span)),
        ];
        proptest::collection::vec(step, 1..=self.steps).prop_map(|steps| Schedule { steps })
    }
}
