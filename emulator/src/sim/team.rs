//! Teams: threads that carry out small orders on many things, round after round.
//!
//! One thread leads: it gives out orders and waits until all are carried out. Between rounds it alone uses the things, and the
//! others look for the next orders without sleeping: a round lasts microseconds, in which no thread that sleeps would come. Each thread
//! begins with its own share of the things, which stay in its cache, and helps with the others' then.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// How often a thread that waits looks before it lets other processes have its core.
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

/// Orders of a round: for which of the things, in ascending order.
#[derive(Debug)]
struct Orders<J> {
    all: Vec<(usize, J)>,
    shares: Vec<Share>,
}

impl<J: Copy> Orders<J> {
    /// Divides the orders among the threads, by the numbers of the things, of which there are `count`.
    fn divide(&mut self, count: usize) {
        let (threads, mut from) = (self.shares.len(), 0);
        for (number, share) in self.shares.iter_mut().enumerate() {
            let bound = (number + 1) * count / threads;
            share.end = self.all.partition_point(|&(thing, _)| thing < bound);
            share.next = AtomicUsize::new(from);
            from = share.end;
        }
    }

    /// Takes an order: of a thread's own share, then of the others.
    fn take(&self, thread: usize) -> Option<(usize, J)> {
        let (others, own) = self.shares.split_at(thread.min(self.shares.len()));
        own.iter().chain(others).find_map(|share| {
            if share.next.load(Ordering::Relaxed) >= share.end {
                return None;
            }
            let at = share.next.fetch_add(1, Ordering::Relaxed);
            (at < share.end).then(|| self.all[at])
        })
    }
}

/// The orders that a thread has taken in a round, which count as done when this is dropped, even if carrying one out panics. A thread counts
/// only once in a round: all threads write the same count.
struct Taken<'a> {
    orders: usize,
    done: &'a AtomicUsize,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.done.fetch_add(self.orders, Ordering::Release);
    }
}

fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the orders that a thread carried out in a round gave, each with the number of its thing.
#[derive(Debug)]
#[repr(align(64))]
struct Given<R>(Mutex<Vec<(usize, R)>>);

/// Things of type `T`, and threads that carry out orders `J` on them, which give an `R` each.
#[derive(Debug)]
pub(super) struct Team<T, J, R, F> {
    things: Vec<Mutex<T>>,
    carry_out: F,
    orders: RwLock<Orders<J>>,
    /// For each thread.
    given: Vec<Given<R>>,
    /// Number of the round.
    round: AtomicUsize,
    /// Orders of the round that are carried out.
    done: AtomicUsize,
    /// There are no more rounds.
    over: AtomicBool,
    /// Threads that have come, the leader among them.
    threads: AtomicUsize,
}

impl<T, J, R, F> Team<T, J, R, F>
where
    T: Send,
    J: Copy + Send + Sync,
    R: Send,
    F: Fn(&mut T, J) -> R + Sync,
{
    /// A team of at most `threads`.
    pub(super) fn new(things: impl Iterator<Item = T>, threads: usize, carry_out: F) -> Self {
        let mut shares = Vec::new();
        shares.resize_with(threads.max(1), Share::default);
        let orders = Orders {
            all: Vec::new(),
            shares,
        };
        Self {
            things: things.map(Mutex::new).collect(),
            carry_out,
            given: (0..threads.max(1))
                .map(|_| Given(Mutex::default()))
                .collect(),
            orders: RwLock::new(orders),
            round: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            threads: AtomicUsize::new(1),
        }
    }

    /// Number of things.
    pub(super) fn len(&self) -> usize {
        self.things.len()
    }

    /// Uses a thing.
    pub(super) fn with<A>(&self, thing: usize, act: impl FnOnce(&mut T) -> A) -> A {
        act(&mut lock(&self.things[thing]))
    }

    /// For the leader: has orders carried out, each on the thing with its number, in ascending order; returns when all are. `told` hears
    /// what each gave, in any order.
    pub(super) fn give_out(
        &self,
        which: impl Iterator<Item = (usize, J)>,
        mut told: impl FnMut(usize, R),
    ) {
        let count = {
            let orders = self.orders.write();
            let mut orders = orders.unwrap_or_else(PoisonError::into_inner);
            orders.all.clear();
            orders.all.extend(which);
            orders.divide(self.things.len());
            self.done.store(0, Ordering::Relaxed);
            orders.all.len()
        };
        self.round.fetch_add(1, Ordering::Release);
        self.work(0);
        wait_until(|| self.done.load(Ordering::Acquire) >= count);
        for given in &self.given {
            for (thing, given) in lock(&given.0).drain(..) {
                told(thing, given);
            }
        }
    }

    /// For the leader: carries out a few orders itself. `told` hears what each gave.
    pub(super) fn carry_out(
        &self,
        which: impl Iterator<Item = (usize, J)>,
        mut told: impl FnMut(usize, R),
    ) {
        for (thing, order) in which {
            told(
                thing,
                self.with(thing, |thing| (self.carry_out)(thing, order)),
            );
        }
    }

    /// Carries out orders until none are left.
    fn work(&self, thread: usize) {
        let orders = self.orders.read().unwrap_or_else(PoisonError::into_inner);
        let mut taken = Taken {
            orders: 0,
            done: &self.done,
        };
        // Dropped first, so that the leader finds it unlocked.
        let mut given = lock(&self.given[thread].0);
        while let Some((thing, order)) = orders.take(thread) {
            taken.orders += 1;
            let gives = self.with(thing, |thing| (self.carry_out)(thing, order));
            given.push((thing, gives));
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

    /// For the leader: there are no more rounds once what this returns is dropped.
    pub(super) const fn lead(&self) -> Leading<'_> {
        Leading(&self.over)
    }
}

/// Ends the work of a team when it is dropped.
#[derive(Debug)]
pub(super) struct Leading<'a>(&'a AtomicBool);

impl Drop for Leading<'_> {
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
            let team = Team::new((0..50).map(|_| 0_u64), 4, add);
            std::thread::scope(|scope| {
                for _ in 0..helpers {
                    scope.spawn(|| team.help());
                }
                let _leading = team.lead();
                let mut expected = vec![0; 50];
                for round in 0..500 {
                    let which = (0..50).filter(|thing| (thing * 7 + round) % 3 != 0);
                    which
                        .clone()
                        .for_each(|thing| expected[thing] += round as u64);
                    let mut told = vec![None; 50];
                    let orders = which.clone().map(|thing| (thing, round as u64));
                    team.give_out(orders, |thing, sum| {
                        assert_eq!(told[thing].replace(sum), None, "told twice");
                    });
                    for thing in 0..50 {
                        let was_ordered = which.clone().any(|other| other == thing);
                        assert_eq!(told[thing], was_ordered.then_some(expected[thing]));
                    }
                    let sums: Vec<u64> =
                        (0..50).map(|thing| team.with(thing, |sum| *sum)).collect();
                    assert_eq!(sums, expected);
                }
            });
        }
    }
}
