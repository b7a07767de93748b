//! Alignment of one place's events in two runs.

use std::collections::{BTreeMap, HashMap, VecDeque};

use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;

use crate::trace::message::{MessageName, named_by};

/// Number of differing events after which the runs are considered permanently apart.
const WINDOW: usize = 32;
/// Number of consecutive equal events after which the runs are considered aligned again.
const TOGETHER: usize = 3;

/// Class of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferenceClass {
    /// No difference.
    Equal,
    /// Different time only.
    Shifted,
    /// Equal kind of event with different values.
    Values,
    /// Two adjacent events in the opposite order.
    Swapped,
    /// Run B has no such event.
    OnlyA,
    /// Run A has no such event.
    OnlyB,
}

impl DifferenceClass {
    /// Number of classes.
    pub const COUNT: usize = 6;

    /// Whether more than the time differs.
    #[must_use]
    pub const fn is_structural(self) -> bool {
        !matches!(self, Self::Equal | Self::Shifted)
    }
}

/// Current context of a CPU or a block, derived from its events.
#[derive(Debug, Clone, Default)]
struct BlockContext {
    /// Open handlers, stages and waits, innermost last.
    within: Vec<String>,
    message: Option<MessageName>,
}

/// The first difference at a place.
#[derive(Debug, Clone)]
pub struct First {
    /// Class of the difference.
    pub class: DifferenceClass,
    /// Event in run A.
    pub a: Option<TraceEvent>,
    /// Event in run B.
    pub b: Option<TraceEvent>,
    /// Common events before it.
    pub before: Vec<TraceEvent>,
    /// Handlers, stages and waits that contain it, innermost last.
    pub within: Vec<String>,
    /// The message named last before it.
    pub message: Option<MessageName>,
}

/// The events of one place in both runs.
#[derive(Debug, Default)]
pub struct Aligner {
    a: VecDeque<TraceEvent>,
    b: VecDeque<TraceEvent>,
    /// Number of events to keep before the first difference.
    context: usize,
    before: VecDeque<TraceEvent>,
    doing: HashMap<Initiator, BlockContext>,
    /// The first difference.
    pub first: Option<First>,
    /// The first difference in more than time.
    pub first_structural: Option<First>,
    /// Events from the first difference on, by kind and [`DifferenceClass`].
    pub counts: BTreeMap<&'static str, [u64; DifferenceClass::COUNT]>,
    /// Range of the delay of run B, in picoseconds.
    pub shifts: Option<(i128, i128)>,
}

/// Whether the events are equal except for their times.
fn same(a: &TraceEvent, b: &TraceEvent) -> bool {
    a.initiator == b.initiator && a.kind == b.kind
}

/// Whether the events are of equal kind and initiator.
fn alike(a: &TraceEvent, b: &TraceEvent) -> bool {
    a.initiator == b.initiator && std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
}

impl Aligner {
    /// An empty aligner that keeps `context` events before the first difference.
    #[must_use]
    pub fn new(context: usize) -> Self {
        Self {
            context,
            ..Self::default()
        }
    }

    /// Appends an event of run A.
    pub fn push_a(&mut self, event: TraceEvent) {
        self.a.push_back(event);
        self.advance(false);
    }

    /// Appends an event of run B.
    pub fn push_b(&mut self, event: TraceEvent) {
        self.b.push_back(event);
        self.advance(false);
    }

    /// Ends both runs.
    pub fn finish(&mut self) {
        self.advance(true);
        while let Some(event) = self.a.pop_front() {
            self.step(DifferenceClass::OnlyA, Some(event), None);
        }
        while let Some(event) = self.b.pop_front() {
            self.step(DifferenceClass::OnlyB, None, Some(event));
        }
    }

    fn advance(&mut self, last: bool) {
        while let (Some(a), Some(b)) = (self.a.front(), self.b.front()) {
            if same(a, b) {
                let class = match a.time == b.time {
                    true => DifferenceClass::Equal,
                    false => DifferenceClass::Shifted,
                };
                self.pair(class);
            } else if last || self.a.len().min(self.b.len()) >= WINDOW + TOGETHER {
                self.part();
            } else {
                return;
            }
        }
    }

    /// Handles a difference: finds the next aligned events.
    fn part(&mut self) {
        if self.agree(0, 1) && self.agree(1, 0) {
            self.pair(DifferenceClass::Swapped);
            return self.pair(DifferenceClass::Swapped);
        }
        let most = 2 * (WINDOW - 1);
        let ways = (1..=most).flat_map(|sum| (0..=sum).map(move |i| (i, sum - i)));
        let mut ways = ways.filter(|&(i, j)| i < WINDOW && j < WINDOW);
        let (mut only_a, mut only_b) = ways.find(|&(i, j)| self.together(i, j)).unwrap_or((1, 1));
        while only_a > 0 && only_b > 0 {
            let both = self.a.front().zip(self.b.front());
            if both.is_some_and(|(a, b)| alike(a, b)) {
                self.pair(DifferenceClass::Values);
                (only_a, only_b) = (only_a - 1, only_b - 1);
            } else {
                break;
            }
        }
        self.alone(only_a, only_b);
    }

    /// Reports events of a single run, sorted by time: a cause before its effect in the other run.
    fn alone(&mut self, mut only_a: usize, mut only_b: usize) {
        while only_a + only_b > 0 {
            let time = |run: &VecDeque<TraceEvent>| run.front().map(|event| event.time);
            let earlier = time(&self.a) <= time(&self.b);
            if only_b == 0 || (only_a > 0 && earlier) {
                only_a -= 1;
                let event = self.a.pop_front();
                self.step(DifferenceClass::OnlyA, event, None);
            } else {
                only_b -= 1;
                let event = self.b.pop_front();
                self.step(DifferenceClass::OnlyB, None, event);
            }
        }
    }

    fn agree(&self, i: usize, j: usize) -> bool {
        matches!((self.a.get(i), self.b.get(j)), (Some(a), Some(b)) if same(a, b))
    }

    /// Whether the runs agree from these positions on. At the end there may be fewer events.
    fn together(&self, i: usize, j: usize) -> bool {
        let left = (self.a.len().saturating_sub(i)).min(self.b.len().saturating_sub(j));
        left > 0 && (0..TOGETHER.min(left)).all(|next| self.agree(i + next, j + next))
    }

    fn pair(&mut self, class: DifferenceClass) {
        let (a, b) = (self.a.pop_front(), self.b.pop_front());
        self.step(class, a, b);
    }

    fn step(&mut self, class: DifferenceClass, a: Option<TraceEvent>, b: Option<TraceEvent>) {
        let Some(event) = a.as_ref().or(b.as_ref()) else {
            return;
        };
        let kind = event.kind.name();
        let equal = class == DifferenceClass::Equal;
        if class == DifferenceClass::Shifted
            && let (Some(a), Some(b)) = (&a, &b)
        {
            let shift = i128::from(b.time.ps()) - i128::from(a.time.ps());
            let (least, most) = self.shifts.unwrap_or((shift, shift));
            self.shifts = Some((least.min(shift), most.max(shift)));
        }
        if self.first.is_none() && equal {
            return self.note(a.or(b));
        }
        self.counts.entry(kind).or_default()[class as usize] += 1;
        if !equal && self.first.is_none() {
            self.first = Some(self.describe(class, a.clone(), b.clone()));
        }
        if class.is_structural() && self.first_structural.is_none() {
            self.first_structural = Some(self.describe(class, a, b));
        } else if self.first_structural.is_none() {
            self.note(a.or(b));
        }
    }

    fn describe(
        &self,
        class: DifferenceClass,
        a: Option<TraceEvent>,
        b: Option<TraceEvent>,
    ) -> First {
        let initiator = a.as_ref().or(b.as_ref()).map(|event| event.initiator);
        let doing = initiator.and_then(|initiator| self.doing.get(&initiator));
        let doing = doing.cloned().unwrap_or_default();
        First {
            class,
            a,
            b,
            before: self.before.iter().cloned().collect(),
            within: doing.within,
            message: doing.message,
        }
    }

    /// Records a common event in the context of the following ones.
    fn note(&mut self, event: Option<TraceEvent>) {
        let Some(event) = event else { return };
        let doing = self.doing.entry(event.initiator).or_default();
        match &event.kind {
            TraceKind::StageEnter { stage } => doing.within.push(format!("stage \"{stage}\"")),
            TraceKind::WaitEnter { what } => doing.within.push(format!("wait \"{what}\"")),
            TraceKind::HandlerEnter { address, .. } => {
                doing.within = vec![format!("handler {address:#x}")]
            }
            TraceKind::StageExit { .. } | TraceKind::WaitExit { .. } => {
                doing.within.pop();
            }
            TraceKind::HandlerExit | TraceKind::CoreStarted { .. } => doing.within.clear(),
            _ => {}
        }
        if let Some(message) = named_by(&event) {
            doing.message = Some(message);
        }
        if self.before.len() == self.context {
            self.before.pop_front();
        }
        if self.context > 0 {
            self.before.push_back(event);
        }
    }
}
