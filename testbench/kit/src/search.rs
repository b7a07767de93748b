//! Search for a schedule under which a protocol fails, with shrinking.

use std::fmt::{self, Display};
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::failed::{WritePolicy, leaving};
use super::schedule::{Schedule, Schedules};

/// A search over schedules. Equal seeds try equal schedules.
///
/// ```
/// use lanigon_kit::{Schedule, Schedules, Search, Step};
///
/// // A protocol that does not survive the loss of node 0's third frame.
/// let survives = |schedule: &Schedule| match schedule.steps.contains(&Step::drop(0, 2)) {
///     true => Err("the third frame was lost"),
///     false => Ok(()),
/// };
/// let found = Search::new(Schedules::new(2)).find(survives).expect("a schedule");
/// assert_eq!(found.schedule, Schedule::of([Step::drop(0, 2)]));
/// ```
#[derive(Debug, Clone)]
pub struct Search {
    schedules: Schedules,
    cases: u32,
    seed: u64,
}

/// A schedule under which a test failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedSchedule {
    /// The smallest one: without any of its steps the test passes.
    pub schedule: Schedule,
    /// The test's error.
    pub reason: String,
    /// The schedule found first.
    pub first: Schedule,
    /// Number of runs until it was found ...
    pub tried: u32,
    /// ... and number of runs to shrink it.
    pub shrunk_in: u32,
}

impl Display for FailedSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, left) = (self.first.steps.len(), self.schedule.steps.len());
        let code = self.schedule.to_string().replace('\n', "\n    ");
        write!(
            f,
            "a schedule fails: {}\nfound as number {}, shrunk in {} runs, steps: {first}, now {left}. As code:\n\n    \
             let schedule = {code};\n",
            self.reason, self.tried, self.shrunk_in
        )
    }
}

impl Search {
    /// A search over 100 of these schedules.
    #[must_use]
    pub const fn new(schedules: Schedules) -> Self {
        Self {
            schedules,
            cases: 100,
            seed: 1,
        }
    }

    /// Sets the number of schedules to try.
    #[must_use]
    pub const fn cases(mut self, cases: u32) -> Self {
        self.cases = cases;
        self
    }

    /// Sets the seed.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Finds and shrinks a schedule for which `test` returns an error or panics; `None` if all pass.
    pub fn find<E: Display>(
        &self,
        mut test: impl FnMut(&Schedule) -> Result<(), E>,
    ) -> Option<FailedSchedule> {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), random);
        let strategy = self.schedules.strategy();
        let mut test = |schedule: &Schedule| leaving(WritePolicy::Nothing, || test(schedule));
        for case in 1..=self.cases {
            // The strategy rejects no values, so there always is one.
            let mut tree = strategy.new_tree(&mut runner).ok()?;
            let first = tree.current();
            if let Some(reason) = outcome(&mut test, &first) {
                let mut failure = FailedSchedule {
                    schedule: first.clone(),
                    reason,
                    first,
                    tried: case,
                    shrunk_in: 0,
                };
                failure.simplify(&mut tree, &mut test);
                failure.leave_out(&mut test);
                return Some(failure);
            }
        }
        None
    }

    /// Like [`find`](Self::find), as an assertion.
    ///
    /// # Panics
    /// If a schedule fails; shows it as code.
    #[track_caller]
    pub fn check<E: Display>(&self, mut test: impl FnMut(&Schedule) -> Result<(), E>) {
        if let Some(failure) = self.find(&mut test) {
            // Once more, for its world.
            leaving(WritePolicy::All, || outcome(&mut test, &failure.schedule));
            panic!("{failure}");
        }
    }
}

impl FailedSchedule {
    /// Replaces the smallest failing schedule if the test fails with this one too.
    fn replace<E: Display>(
        &mut self,
        schedule: Schedule,
        test: &mut impl FnMut(&Schedule) -> Result<(), E>,
    ) -> bool {
        self.shrunk_in += 1;
        match outcome(test, &schedule) {
            Some(reason) => {
                (self.schedule, self.reason) = (schedule, reason);
                true
            }
            None => false,
        }
    }

    /// Shrinks with proptest's method.
    fn simplify<E: Display>(
        &mut self,
        tree: &mut impl ValueTree<Value = Schedule>,
        test: &mut impl FnMut(&Schedule) -> Result<(), E>,
    ) {
        let mut more = tree.simplify();
        while more {
            more = match self.replace(tree.current(), test) {
                true => tree.simplify(),
                false => tree.complicate(),
            };
        }
    }

    /// Removes steps until each remaining one is needed.
    fn leave_out<E: Display>(&mut self, test: &mut impl FnMut(&Schedule) -> Result<(), E>) {
        let mut index = 0;
        while index < self.schedule.steps.len() {
            if self.replace(self.schedule.without(index), test) {
                index = 0;
            } else {
                index += 1;
            }
        }
    }
}

/// The test's error for this schedule, if it fails.
fn outcome<E: Display>(
    test: &mut impl FnMut(&Schedule) -> Result<(), E>,
    schedule: &Schedule,
) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| test(schedule))) {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(panic) => Some(match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(panic) => match panic.downcast::<&str>() {
                Ok(text) => (*text).to_owned(),
                Err(_) => "the test panicked".to_owned(),
            },
        }),
    }
}
