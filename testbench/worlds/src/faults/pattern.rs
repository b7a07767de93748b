//! Parts that the patterns of all faults have in common: between which nodes, when, and how often.

use emulator::sim::time::SimTime;

/// Nodes, times and number of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The sender; `None`: any.
    pub(super) from: Option<u16>,
    /// The receiver; `None`: any.
    pub(super) to: Option<u16>,
    /// The first time.
    pub(super) after: SimTime,
    /// Number of hits; `None`: unlimited.
    pub(super) times: Option<u32>,
}

impl Pattern {
    /// Anything, once.
    pub(super) const fn new() -> Self {
        Self {
            from: None,
            to: None,
            after: SimTime::ZERO,
            times: Some(1),
        }
    }

    /// Whether both may be of one message: of its data, or of its answers, which go the other way.
    pub(super) fn may_meet(&self, other: &Self) -> bool {
        let same = agree(self.from, other.from) && agree(self.to, other.to);
        same || agree(self.from, other.to) && agree(self.to, other.from)
    }

    /// Whether something that leaves at `time` matches; `to` is `None` if its receiver is no node.
    pub(super) fn fits(&self, from: u16, to: Option<u16>, time: SimTime) -> bool {
        time >= self.after
            && self.from.is_none_or(|wanted| wanted == from)
            && self.to.is_none_or(|wanted| Some(wanted) == to)
    }
}

/// Whether one value fits both; `None`: any value.
pub(super) fn agree<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

/// The methods that set a fault's field `pattern`. The fault says in `meets` whether its number and another's may be of one message.
macro_rules! pattern_methods {
    () => {
        /// Whether this fault and another one may strike the same message, or what answers it.
        #[must_use]
        pub fn may_meet(&self, other: &Self) -> bool {
            self.meets(other) && self.pattern.may_meet(&other.pattern)
        }

        /// Matches what comes from this node only.
        #[must_use]
        pub const fn from(mut self, node: u16) -> Self {
            self.pattern.from = Some(node);
            self
        }

        /// Matches what is for this node only.
        #[must_use]
        pub const fn to(mut self, node: u16) -> Self {
            self.pattern.to = Some(node);
            self
        }

        /// Matches what leaves at `time` or later only.
        #[must_use]
        pub const fn after(mut self, time: SimTime) -> Self {
            self.pattern.after = time;
            self
        }

        /// Sets the number of hits.
        #[must_use]
        pub const fn times(mut self, times: u32) -> Self {
            self.pattern.times = Some(times);
            self
        }

        /// Removes the limit of hits.
        #[must_use]
        pub const fn always(mut self) -> Self {
            self.pattern.times = None;
            self
        }

        /// Number of losses and damages that the pattern causes, and of delays by at least `patience`, after which the sender sends again:
        /// `None` without end, 0 if the fault is another.
        #[must_use]
        pub fn losses(&self, patience: SimTime) -> Option<u32> {
            match self.action {
                Action::Drop | Action::Corrupt { .. } => self.pattern.times,
                Action::Delay(by) if by >= patience => self.pattern.times,
                Action::Duplicate | Action::Delay(_) => Some(0),
            }
        }

        /// The fault with times later by `span`.
        #[must_use]
        pub const fn later_by(mut self, span: SimTime) -> Self {
            self.pattern.after = self.pattern.after.saturating_add(span);
            self
        }
    };
}

pub(super) use pattern_methods;
