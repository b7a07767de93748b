//! Whether a history of atomic operations on one word is linearizable: each operation takes effect at one moment between its call and
//! its return, and gives the word that stands there then.
//!
//! The search is that of Wing and Gong ("Testing and verifying concurrent objects", 1993) with Lowe's memory of configurations
//! ("Testing for linearizability", 2017): a configuration, the set of operations that have taken effect and the word after them, is
//! entered once. Words do not depend on each other, so a history of several is linearizable if that of each word is (Herlihy and Wing).

use std::collections::HashSet;

use host_lib::gm::atomic::AtomicOperation;

/// An operation as its caller saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedOperation {
    /// Effect on the word.
    pub operation: AtomicOperation,
    /// Time of the call.
    pub began_ps: u64,
    /// Time of the return and the word before the operation; `None`: the outcome is unknown. It takes effect after the call, or never.
    pub end: Option<(u64, u32)>,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linearity {
    /// There is an order in which each operation gives what it gave.
    Linearizable,
    /// No order of the operations gives their results.
    Not {
        /// Most operations of the history, by their calls, that can take effect in some order before one is left that cannot.
        explained: usize,
    },
    /// The search has entered as many configurations as it may.
    Undecided,
}

/// Configurations that a search enters at most.
pub const MOST_CONFIGURATIONS: usize = 2_000_000;

/// No entry of the list.
const NONE: usize = usize::MAX;

/// A call or a return, in a list ordered by time.
#[derive(Debug, Clone, Copy)]
struct HistoryEntry {
    operation: usize,
    is_return: bool,
    before: usize,
    after: usize,
}

/// The operations that have taken effect: all before `first`, a multiple of 64, and those whose bits are set, from `first` on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct DoneSet {
    first: usize,
    bits: Vec<u64>,
}

impl DoneSet {
    fn bit(&self, operation: usize) -> (usize, u32) {
        let at = operation - self.first;
        (at / 64, (at % 64) as u32)
    }

    fn with(&self, operation: usize) -> Self {
        let mut done = self.clone();
        let (word, bit) = done.bit(operation);
        if done.bits.len() <= word {
            done.bits.resize(word + 1, 0);
        }
        done.bits[word] |= 1 << bit;
        // Whole words of operations that have all taken effect are left out.
        let full = done.bits.iter().take_while(|word| **word == u64::MAX);
        let full = full.count();
        done.bits.drain(..full);
        done.first += 64 * full;
        done
    }
}

/// A search for an order of the operations.
struct OrderSearch<'a> {
    /// Operations in the order of their calls.
    operations: &'a [TimedOperation],
    /// Calls and returns; the last one is the head of the list.
    entries: Vec<HistoryEntry>,
    head: usize,
    /// The entry of each operation's return, if it has one.
    returns: Vec<usize>,
}

impl<'a> OrderSearch<'a> {
    fn new(operations: &'a [TimedOperation]) -> Self {
        // Of events at the same time the calls come first: such operations overlap.
        let calls = operations.iter().enumerate();
        let calls = calls.map(|(index, one)| (one.began_ps, false, index));
        let ends = operations.iter().enumerate();
        let ends = ends.filter_map(|(index, one)| Some((one.end?.0, true, index)));
        let mut events: Vec<_> = calls.chain(ends).collect();
        events.sort_unstable();
        let count = events.len();
        let mut returns = vec![NONE; operations.len()];
        let entry = |(at, &(_, is_return, operation)): (usize, &(u64, bool, usize))| {
            if is_return {
                returns[operation] = at;
            }
            HistoryEntry {
                operation,
                is_return,
                before: if at == 0 { count } else { at - 1 },
                after: if at + 1 == count { NONE } else { at + 1 },
            }
        };
        let mut entries: Vec<_> = events.iter().enumerate().map(entry).collect();
        entries.push(HistoryEntry {
            operation: NONE,
            is_return: false,
            before: NONE,
            after: if count == 0 { NONE } else { 0 },
        });
        Self {
            operations,
            entries,
            head: count,
            returns,
        }
    }

    fn unlink(&mut self, at: usize) {
        let HistoryEntry { before, after, .. } = self.entries[at];
        self.entries[before].after = after;
        if after != NONE {
            self.entries[after].before = before;
        }
    }

    fn link(&mut self, at: usize) {
        let HistoryEntry { before, after, .. } = self.entries[at];
        self.entries[before].after = at;
        if after != NONE {
            self.entries[after].before = at;
        }
    }

    /// Takes an operation out of the list: it has taken effect.
    fn lift(&mut self, call: usize) {
        self.unlink(call);
        let end = self.returns[self.entries[call].operation];
        if end != NONE {
            self.unlink(end);
        }
    }

    /// Undoes the last [`lift`](Self::lift).
    fn drop_back(&mut self, call: usize) {
        let end = self.returns[self.entries[call].operation];
        if end != NONE {
            self.link(end);
        }
        self.link(call);
    }

    fn run(&mut self, initial: u32, most: usize) -> Linearity {
        let mut left = self.returns.iter().filter(|end| **end != NONE).count();
        let completed = left;
        let (mut word, mut done, mut explained) = (initial, DoneSet::default(), 0);
        let mut known = HashSet::new();
        let mut taken: Vec<(usize, u32, DoneSet)> = Vec::new();
        let mut at = self.entries[self.head].after;
        while left > 0 {
            let HistoryEntry {
                operation,
                is_return,
                after,
                ..
            } = self.entries[at];
            if is_return {
                // This operation has to take effect before, and cannot: the last choice was wrong.
                let Some((call, word_before, done_before)) = taken.pop() else {
                    return Linearity::Not { explained };
                };
                (word, done) = (word_before, done_before);
                let back = self.entries[call].operation;
                left += usize::from(self.returns[back] != NONE);
                self.drop_back(call);
                at = self.entries[call].after;
                continue;
            }
            let one = &self.operations[operation];
            if one.end.is_none_or(|(_, before)| before == word) {
                let (next, next_done) = (one.operation.apply(word), done.with(operation));
                if known.insert((next_done.clone(), next)) {
                    if known.len() > most {
                        return Linearity::Undecided;
                    }
                    taken.push((at, word, std::mem::replace(&mut done, next_done)));
                    word = next;
                    left -= usize::from(self.returns[operation] != NONE);
                    explained = explained.max(completed - left);
                    self.lift(at);
                    at = self.entries[self.head].after;
                    continue;
                }
            }
            // A return comes behind: that of an operation which is left.
            at = after;
        }
        Linearity::Linearizable
    }
}

/// Checks the operations on one word, which was `initial` before them. They may stand in any order.
#[must_use]
pub fn check(initial: u32, operations: &[TimedOperation]) -> Linearity {
    check_within(initial, operations, MOST_CONFIGURATIONS)
}

/// Checks a history with a limit of configurations.
fn check_within(initial: u32, operations: &[TimedOperation], most: usize) -> Linearity {
    let mut operations = operations.to_vec();
    operations.sort_by_key(|one| (one.began_ps, one.end.map_or(u64::MAX, |end| end.0)));
    OrderSearch::new(&operations).run(initial, most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn add(began_ps: u64, ended_ps: u64, before: u32) -> TimedOperation {
        TimedOperation {
            operation: AtomicOperation::FetchAdd(1),
            began_ps,
            end: Some((ended_ps, before)),
        }
    }

    const fn write(value: u32, began_ps: u64, ended_ps: u64, before: u32) -> TimedOperation {
        TimedOperation {
            operation: AtomicOperation::FetchWrite(value),
            ..add(began_ps, ended_ps, before)
        }
    }

    const fn swap(
        compared: (u32, u32),
        began_ps: u64,
        ended_ps: u64,
        before: u32,
    ) -> TimedOperation {
        TimedOperation {
            operation: AtomicOperation::CompareSwap {
                expected: compared.0,
                new: compared.1,
            },
            ..add(began_ps, ended_ps, before)
        }
    }

    const fn unknown(one: TimedOperation) -> TimedOperation {
        TimedOperation { end: None, ..one }
    }

    #[test]
    fn known_histories_are_accepted() {
        let good: &[&[TimedOperation]] = &[
            &[],
            &[add(0, 1, 0), add(2, 3, 1)],
            // Operations that overlap take effect in any order.
            &[add(0, 9, 1), add(0, 9, 0)],
            &[add(0, 9, 2), add(1, 5, 0), add(3, 9, 1)],
            &[write(7, 0, 10, 0), swap((7, 8), 5, 20, 7), add(15, 30, 8)],
            &[swap((3, 4), 0, 1, 0), add(2, 3, 0)],
            // At the same time is not after.
            &[add(0, 5, 1), add(5, 9, 0)],
            // An operation of unknown outcome has happened, or not, or happens much later.
            &[unknown(add(0, 0, 0)), add(5, 6, 1)],
            &[unknown(add(0, 0, 0)), add(5, 6, 0)],
            &[
                unknown(write(9, 0, 0, 0)),
                add(5, 6, 0),
                add(8, 9, 1),
                add(10, 11, 9),
            ],
        ];
        for history in good {
            assert_eq!(check(0, history), Linearity::Linearizable, "{history:?}");
        }
    }

    #[test]
    fn known_histories_are_refused() {
        let not = |explained| Linearity::Not { explained };
        let bad: &[(&[TimedOperation], Linearity)] = &[
            (&[add(0, 1, 1)], not(0)),
            // The same value twice: an operation was lost, or executed twice.
            (&[add(0, 9, 0), add(0, 9, 0)], not(1)),
            (&[add(0, 1, 0), add(2, 3, 2)], not(1)),
            // A read of an old value after a later one.
            (&[write(7, 0, 1, 0), swap((9, 9), 2, 3, 0)], not(1)),
            // The later operation cannot come first.
            (&[add(0, 4, 1), add(5, 9, 0)], not(0)),
            // An operation of unknown outcome does not begin before its call.
            (&[add(0, 1, 1), unknown(add(5, 0, 0))], not(0)),
            // It happens once at most.
            (&[unknown(add(0, 0, 0)), add(5, 6, 2)], not(0)),
        ];
        for (history, expected) in bad {
            assert_eq!(check(0, history), *expected, "{history:?}");
        }
    }

    #[test]
    fn a_long_history_of_many_callers_is_checked_quickly() {
        let count = 5_000;
        let mut all: Vec<_> = (0..count)
            .map(|at| add(10 * at, 10 * at + 150, at as u32))
            .collect();
        all.push(unknown(add(30_000, 0, 0)));
        assert_eq!(check_within(0, &all, 200_000), Linearity::Linearizable);
        all[4_000].end = Some((41_000, 3_900));
        assert!(matches!(
            check_within(0, &all, 200_000),
            Linearity::Not { .. }
        ));
    }

    #[test]
    fn a_search_without_end_is_undecided() {
        let all: Vec<_> = (0..40).map(|_| unknown(add(0, 0, 0))).collect();
        let mut all: Vec<_> = all
            .into_iter()
            .enumerate()
            .map(|(at, one)| TimedOperation {
                operation: AtomicOperation::FetchAdd(1 << (at % 20)),
                ..one
            })
            .collect();
        all.push(add(1, 2, u32::MAX));
        assert_eq!(check_within(0, &all, 1000), Linearity::Undecided);
    }

    /// All orders of all operations and of all choices of those with unknown outcome.
    fn brute(word: u32, done: u32, all: &[TimedOperation]) -> bool {
        let is_left = |at: &usize| done >> at & 1 == 0;
        let left: Vec<usize> = (0..all.len()).filter(is_left).collect();
        if left.iter().all(|at| all[*at].end.is_none()) {
            return true;
        }
        left.iter().any(|&at| {
            let one = all[at];
            let before_it = |other: &usize| all[*other].end.is_some_and(|end| end.0 < one.began_ps);
            let fits = one.end.is_none_or(|(_, before)| before == word);
            fits && !left.iter().any(before_it)
                && brute(one.operation.apply(word), done | 1 << at, all)
        })
    }

    fn operation() -> impl Strategy<Value = AtomicOperation> {
        prop_oneof![
            (0..3_u32).prop_map(AtomicOperation::FetchAdd),
            (0..3_u32).prop_map(AtomicOperation::FetchWrite),
            (0..3_u32, 0..3_u32)
                .prop_map(|(expected, new)| AtomicOperation::CompareSwap { expected, new }),
        ]
    }

    fn operated() -> impl Strategy<Value = TimedOperation> {
        let end = prop::option::weighted(0.9, (0..8_u64, 0..4_u32));
        (operation(), 0..12_u64, end).prop_map(|(operation, began_ps, end)| TimedOperation {
            operation,
            began_ps,
            end: end.map(|(span, before)| (began_ps + span, before)),
        })
    }

    proptest! {
        #[test]
        fn the_search_agrees_with_all_orders(all in prop::collection::vec(operated(), 0..7)) {
            let expected = brute(0, 0, &all);
            prop_assert_eq!(check(0, &all) == Linearity::Linearizable, expected);
        }

        /// Histories that are made from an order, so that they are linearizable.
        #[test]
        fn what_happened_in_an_order_is_accepted(
            all in prop::collection::vec((operation(), 0..40_u64, 0..40_u64), 0..40),
        ) {
            let mut word = 0;
            let mut history = Vec::new();
            for (at, (operation, early, late)) in (1..).zip(all) {
                let moment = 10 * at;
                history.push(TimedOperation {
                    operation,
                    began_ps: 1000 + moment - early,
                    end: Some((1000 + moment + late, word)),
                });
                word = operation.apply(word);
            }
            prop_assert_eq!(check(0, &history), Linearity::Linearizable);
        }
    }
}
