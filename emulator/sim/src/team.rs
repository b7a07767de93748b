//! Worker teams: threads that carry out small orders on many items, round after round.
//!
//! One thread leads: it gives out orders and waits until all are carried out. Between rounds it alone uses the items, and the
//! others look for the next orders without sleeping: a round lasts microseconds, in which no thread that sleeps would come. Each thread
//! begins with its own share of the items, which stay in its cache, and helps with the others' then.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// Spins of a waiting thread before it yields its core to other processes: a few microseconds, longer than most rounds.
const LOOKS: u32 = 400;

/// Waits until something is the case.
fn wait_until(is_so: impl Fn() -> bool) {
    let mut looks = 0;
    while !is_so() {
        if looks < LOOKS {
            looks += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

/// The orders of a thread: those from the first one that is not taken yet to `end`.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Share {
    next: AtomicUsize,
    end: usize,
}

/// Orders of a round: for which of the items, in ascending order.
#[derive(Debug)]
struct Orders<J> {
    all: Vec<(usize, J)>,
    shares: Vec<Share>,
}

impl<J: Copy> Orders<J> {
    /// Divides the orders among the threads, by the numbers of the items, of which there are `count`.
    fn divide(&mut self, count: usize) {
        let (threads, mut from) = (self.shares.len(), 0);
        for (number, share) in self.shares.iter_mut().enumerate() {
            let bound = (number + 1) * count / threads;
            share.end = self.all.partition_point(|&(item, _)| item < bound);
            share.next = AtomicUsize::new(from);
            from = share.end;
        }
    }

    /// Takes an order: of a thread's own share, then of the others.
    fn take(&self, thread: usize) -> Option<(usize, J)> {
        let (others, own) = self.shares.split_at(thread.min(self.shares.len()));
        own.iter().chain(others).find_map(|share| {
            // A load first: once a share is over, its cache line is not written any more.
            if share.next.load(Ordering::Relaxed) >= share.end {
                return None;
            }
            let at = share.next.fetch_add(1, Ordering::Relaxed);
            (at < share.end).then(|| self.all[at])
        })
    }
}

/// The orders that a thread has taken in a round, which count as done when this is dropped, even if carrying one out panics. A thread
/// counts only once in a round, because all threads write one counter, whose cache line would move between them otherwise.
struct TakenOrders<'a> {
    orders: usize,
    done: &'a AtomicUsize,
}

impl Drop for TakenOrders<'_> {
    fn drop(&mut self) {
        // Release: a leader that reads the full count sees what the orders changed.
        self.done.fetch_add(self.orders, Ordering::Release);
    }
}

fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The results of the orders that one thread carried out in a round, each with the number of its item. Aligned to a cache line, so that
/// threads do not write to the same one.
#[derive(Debug)]
#[repr(align(64))]
struct RoundResults<R>(Mutex<Vec<(usize, R)>>);

/// Items of type `T`, and threads that carry out orders `J` on them. Each order has a result `R`.
#[derive(Debug)]
pub(super) struct WorkerTeam<T, J, R, F> {
    items: Vec<Mutex<T>>,
    execute: F,
    orders: RwLock<Orders<J>>,
    /// The results of each thread.
    results: Vec<RoundResults<R>>,
    /// Number of the round.
    round: AtomicUsize,
    /// Orders of the round that are carried out.
    done: AtomicUsize,
    /// There are no more rounds.
    over: AtomicBool,
    /// Threads that have come, the leader among them.
    threads: AtomicUsize,
}

impl<T, J, R, F> WorkerTeam<T, J, R, F>
where
    T: Send,
    J: Copy + Send + Sync,
    R: Send,
    F: Fn(&mut T, J) -> R + Sync,
{
    /// A team of at most `threads`.
    pub(super) fn new(items: impl Iterator<Item = T>, threads: usize, execute: F) -> Self {
        let mut shares = Vec::new();
        shares.resize_with(threads.max(1), Share::default);
        let orders = Orders {
            all: Vec::new(),
            shares,
        };
        Self {
            items: items.map(Mutex::new).collect(),
            execute,
            results: (0..threads.max(1))
                .map(|_| RoundResults(Mutex::default()))
                .collect(),
            orders: RwLock::new(orders),
            round: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            threads: AtomicUsize::new(1),
        }
    }

    /// Number of items.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Calls `act` with an item.
    pub(super) fn with<A>(&self, item: usize, act: impl FnOnce(&mut T) -> A) -> A {
        act(&mut lock(&self.items[item]))
    }

    /// For the leader: shares orders among all threads, each for the item with its number, in ascending order; returns when all are carried
    /// out. `on_result` receives the results, in any order.
    pub(super) fn run_on_team(
        &self,
        which: impl Iterator<Item = (usize, J)>,
        mut on_result: impl FnMut(usize, R),
    ) {
        let count = {
            let orders = self.orders.write();
            let mut orders = orders.unwrap_or_else(PoisonError::into_inner);
            orders.all.clear();
            orders.all.extend(which);
            orders.divide(self.items.len());
            self.done.store(0, Ordering::Relaxed);
            orders.all.len()
        };
        // Release: a thread that sees the new round sees its orders.
        self.round.fetch_add(1, Ordering::Release);
        self.work(0);
        wait_until(|| self.done.load(Ordering::Acquire) >= count);
        for results in &self.results {
            for (item, result) in lock(&results.0).drain(..) {
                on_result(item, result);
            }
        }
    }

    /// For the leader: carries out a few orders on its own thread. `on_result` receives their results.
    pub(super) fn run_on_leader(
        &self,
        which: impl Iterator<Item = (usize, J)>,
        mut on_result: impl FnMut(usize, R),
    ) {
        for (item, order) in which {
            let result = self.with(item, |item| (self.execute)(item, order));
            on_result(item, result);
        }
    }

    /// Carries out orders until none are left.
    fn work(&self, thread: usize) {
        let orders = self.orders.read().unwrap_or_else(PoisonError::into_inner);
        let mut taken = TakenOrders {
            orders: 0,
            done: &self.done,
        };
        // Dropped before `taken`, so that the leader finds it unlocked.
        let mut results = lock(&self.results[thread].0);
        while let Some((item, order)) = orders.take(thread) {
            taken.orders += 1;
            let result = self.with(item, |item| (self.execute)(item, order));
            results.push((item, result));
        }
    }

    /// For other threads: works until there are no more rounds.
    pub(super) fn help(&self) {
        let thread = self.threads.fetch_add(1, Ordering::Relaxed);
        let mut round = 0;
        loop {
            let now = || self.round.load(Ordering::Acquire);
            let over = || self.over.load(Ordering::Acquire);
            wait_until(|| over() || now() != round);
            if over() {
                return;
            }
            round = now();
            self.work(thread);
        }
    }

    /// For the leader: a guard that ends the rounds when it is dropped.
    pub(super) const fn lead(&self) -> TeamGuard<'_> {
        TeamGuard(&self.over)
    }
}

/// Ends the work of a team when it is dropped.
#[derive(Debug)]
pub(super) struct TeamGuard<'a>(&'a AtomicBool);

impl Drop for TeamGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every order of every round is carried out once, before the next round, however many threads come.
    #[test]
    fn each_order_is_carried_out_once() {
        for helpers in [0, 1, 3] {
            let add = |sum: &mut u64, order: u64| {
                *sum += order;
                *sum
            };
            let team = WorkerTeam::new((0..50).map(|_| 0_u64), 4, add);
            std::thread::scope(|scope| {
                for _ in 0..helpers {
                    scope.spawn(|| team.help());
                }
                let _leading = team.lead();
                let mut expected = vec![0; 50];
                for round in 0..500 {
                    let which = (0..50).filter(|item| (item * 7 + round) % 3 != 0);
                    which
                        .clone()
                        .for_each(|item| expected[item] += round as u64);
                    let mut told = vec![None; 50];
                    let orders = which.clone().map(|item| (item, round as u64));
                    team.run_on_team(orders, |item, sum| {
                        assert_eq!(told[item].replace(sum), None, "told twice");
                    });
                    for item in 0..50 {
                        let was_ordered = which.clone().any(|other| other == item);
                        assert_eq!(told[item], was_ordered.then_some(expected[item]));
                    }
                    let sums: Vec<u64> = (0..50).map(|item| team.with(item, |sum| *sum)).collect();
                    assert_eq!(sums, expected);
                }
            });
        }
    }
}
