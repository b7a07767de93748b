//! All interleavings of CPUs that end pieces of work, and random ones of more CPUs: pieces are released once, in their order, and none is
//! forgotten.
//!
//! The end of a piece is a function of marks and numbers. It runs from its start each time, with the values that it has read so far, up to
//! its next access: then another CPU may come first.

use std::cell::Cell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use proptest::prelude::*;
use rings::sequence::{Sequence, finish, finish_locked};

/// Pieces in a word of marks: a run of marks that is taken ends there.
const WORD: u32 = 2;

/// Marks, the first piece that is not released, the hardware index, and the mistake that was made first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Shared {
    marked: Vec<bool>,
    /// Pieces that were ever marked.
    done: Vec<bool>,
    next: u32,
    released: u32,
    mistake: Option<&'static str>,
}

/// An access to what CPUs share.
#[derive(Debug, Clone, Copy)]
enum Access {
    Mark(u32),
    Take(u32),
    Next,
    Release(u32),
    SetNext(u32),
}

impl Shared {
    fn new(pieces: usize) -> Self {
        Self {
            marked: vec![false; pieces],
            done: vec![false; pieces],
            ..Self::default()
        }
    }

    fn carry_out(&mut self, access: Access) -> u32 {
        match access {
            Access::Mark(piece) => {
                self.marked[piece as usize] = true;
                self.done[piece as usize] = true;
            }
            Access::Take(from) => return self.take(from),
            Access::Next => return self.next,
            Access::Release(end) => self.release(end),
            Access::SetNext(end) => self.next = end,
        }
        0
    }

    fn take(&mut self, from: u32) -> u32 {
        let mut end = from;
        while self.marked.get(end as usize) == Some(&true) {
            self.marked[end as usize] = false;
            end += 1;
            if end.is_multiple_of(WORD) {
                break;
            }
        }
        end
    }

    fn release(&mut self, end: u32) {
        if end <= self.released {
            self.mistake = self.mistake.or(Some("the index moves back"));
        }
        if self.done[..end as usize].contains(&false) {
            self.mistake = self
                .mistake
                .or(Some("a piece is released that is not done"));
        }
        self.released = end;
    }
}

/// A CPU: its pieces, how many of them have ended, and what its accesses for the next one gave.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Cpu {
    pieces: Vec<u32>,
    ended: usize,
    seen: Vec<u32>,
}

/// Accesses of a CPU, which are repeated up to the first new one.
struct Replay<'a> {
    seen: &'a [u32],
    count: Cell<usize>,
    new: Cell<Option<Access>>,
}

/// The payload of a run that ends at a new access.
struct Paused;

impl Replay<'_> {
    fn access(&self, access: Access) -> u32 {
        let count = self.count.replace(self.count.get() + 1);
        match self.seen.get(count) {
            Some(value) => *value,
            None => {
                self.new.set(Some(access));
                resume_unwind(Box::new(Paused))
            }
        }
    }
}

impl Sequence for Replay<'_> {
    fn mark(&mut self, piece: u32) {
        self.access(Access::Mark(piece));
    }

    fn take(&mut self, next: u32) -> u32 {
        self.access(Access::Take(next))
    }

    fn next(&self) -> u32 {
        self.access(Access::Next)
    }

    fn release(&mut self, end: u32) {
        self.access(Access::Release(end));
    }

    fn set_next(&mut self, end: u32) {
        self.access(Access::SetNext(end));
    }
}

/// A way to end a piece: that of the library, or a wrong one.
type Finish = fn(&mut Replay<'_>, u32);

fn right(sequence: &mut Replay<'_>, piece: u32) {
    finish(sequence, piece);
}

/// The steps of the locked form, without the lock.
fn without_lock(sequence: &mut Replay<'_>, piece: u32) {
    finish_locked(sequence, piece);
}

/// Lets others go on before the own run is released.
fn too_early(sequence: &mut Replay<'_>, piece: u32) {
    sequence.mark(piece);
    loop {
        let next = sequence.next();
        let end = sequence.take(next);
        if end == next {
            return;
        }
        sequence.set_next(end);
        sequence.release(end);
    }
}

/// Looks for marks, and marks only then.
fn too_late(sequence: &mut Replay<'_>, piece: u32) {
    let next = sequence.next();
    sequence.mark(piece);
    let end = sequence.take(next);
    if end != next {
        sequence.release(end);
        sequence.set_next(end);
    }
}

impl Cpu {
    /// Makes the next access; returns whether there was one.
    fn step(&mut self, shared: &mut Shared, finish: Finish) -> bool {
        while let Some(&piece) = self.pieces.get(self.ended) {
            let mut replay = Replay {
                seen: &self.seen,
                count: Cell::new(0),
                new: Cell::new(None),
            };
            let run = catch_unwind(AssertUnwindSafe(|| finish(&mut replay, piece)));
            match (run, replay.new.get()) {
                (Ok(()), _) => {
                    self.ended += 1;
                    self.seen.clear();
                }
                (Err(_), Some(access)) => {
                    self.seen.push(shared.carry_out(access));
                    return true;
                }
                (Err(panic), None) => resume_unwind(panic),
            }
        }
        false
    }
}

/// The mistake of a state, in which no CPU goes on if `ended`.
fn mistake(shared: &Shared, ended: bool) -> Option<&'static str> {
    let forgotten = ended && shared.released as usize != shared.done.len();
    let forgotten = forgotten.then_some("a piece is forgotten");
    shared.mistake.or(forgotten)
}

fn cpus(pieces: &[&[u32]]) -> Vec<Cpu> {
    let cpu = |pieces: &&[u32]| Cpu {
        pieces: pieces.to_vec(),
        ended: 0,
        seen: Vec::new(),
    };
    pieces.iter().map(cpu).collect()
}

/// The first mistake in any interleaving.
fn search(pieces: &[&[u32]], finish: Finish) -> Option<&'static str> {
    let count = pieces.iter().map(|pieces| pieces.len()).sum();
    let mut left = vec![(Shared::new(count), cpus(pieces))];
    let mut known = HashSet::new();
    while let Some((shared, cpus)) = left.pop() {
        let mut ended = true;
        for index in 0..cpus.len() {
            let (mut shared, mut cpus) = (shared.clone(), cpus.clone());
            if cpus[index].step(&mut shared, finish) {
                ended = false;
                if known.insert((shared.clone(), cpus.clone())) {
                    left.push((shared, cpus));
                }
            }
        }
        if let Some(mistake) = mistake(&shared, ended) {
            return Some(mistake);
        }
    }
    None
}

const TWO: &[&[u32]] = &[&[0, 3], &[1, 2]];
const THREE: &[&[u32]] = &[&[0, 3], &[1], &[2]];

#[test]
fn every_interleaving_releases_all_in_order() {
    for pieces in [TWO, THREE] {
        assert_eq!(search(pieces, right), None, "{pieces:?}");
    }
}

#[test]
fn wrong_steps_are_found() {
    assert_eq!(search(TWO, without_lock), Some("a piece is forgotten"));
    assert_eq!(search(THREE, too_early), Some("the index moves back"));
    assert_eq!(search(TWO, too_late), Some("a piece is forgotten"));
}

proptest! {
    #![proptest_config(cases::cases(256))]

    /// Many CPUs, whose pieces and steps are random.
    #[test]
    fn random_interleavings_release_all_in_order(
        owners in prop::collection::vec(0..8_usize, 1..60),
        steps in prop::collection::vec(0..8_usize, 0..600),
    ) {
        let mut pieces = vec![Vec::new(); 8];
        for (piece, owner) in owners.iter().enumerate() {
            pieces[*owner].push(piece as u32);
        }
        let pieces: Vec<&[u32]> = pieces.iter().map(Vec::as_slice).collect();
        let mut cpus = cpus(&pieces);
        let mut shared = Shared::new(owners.len());
        for index in steps {
            cpus[index].step(&mut shared, right);
        }
        for cpu in &mut cpus {
            while cpu.step(&mut shared, right) {}
        }
        prop_assert_eq!(mistake(&shared, true), None);
    }
}
