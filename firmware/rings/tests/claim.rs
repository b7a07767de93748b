//! All interleavings of claims: CPUs handle events of roles, each under the claim of its role, as those of `emp-dyn` do.
//!
//! An event is a number that is raised from outside, at any time; a role's number of those that were taken follows it. A CPU executes rounds: it
//! reads which roles have events, and claims the first one that it has not masked. With the role it takes what has come; without, it
//! masks the role. It unmasks all when it has handled something, or sees nothing else.
//!
//! The code of a round is a function of memory. It runs from the start of the round each time, with the values that it has read so far, up
//! to its next access: then another CPU may come first. So a state is memory, and what each CPU has read in its round.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rings::Memory;
use rings::claim::{OWNED, free, take, word_of};

/// Number of roles.
const ROLES: usize = 2;
const MOST_CPUS: usize = 3;
/// Words of memory: for each role the number of its events, and of those that were taken, then the claims.
const WORDS: usize = ROLES * (2 + MOST_CPUS);
/// Address of the register with a bit for each role that has an event.
const EVENTS: u32 = 0x1000;

/// Address of the number of events of a role.
const fn raised_of(role: u32) -> u32 {
    4 * role
}

/// Address of the number of events of a role that were taken.
const fn taken_of(role: u32) -> u32 {
    4 * (ROLES as u32 + role)
}

/// Address of the words of a role's claim.
const fn claim_of(role: u32) -> u32 {
    4 * (2 * ROLES as u32 + role * MOST_CPUS as u32)
}

/// A CPU at the start of a round: which roles it has masked.
type Mask = u8;

/// A CPU: its mask at the start of the round, what it has read since, and how many accesses it has made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Cpu {
    mask: Mask,
    read: Vec<u32>,
    accesses: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    memory: [u32; WORDS],
    cpus: Vec<Cpu>,
    /// Events of each role that are not raised yet.
    to_come: [u32; ROLES],
    /// Events that were handled.
    handled: [u32; ROLES],
    /// The CPUs that are in each role.
    inside: [Vec<usize>; ROLES],
}

impl State {
    /// Whether all events have come and were taken.
    fn is_done(&self) -> bool {
        self.to_come == [0; ROLES] && self.load(EVENTS) == 0
    }

    fn load(&self, address: u32) -> u32 {
        let word = |address: u32| self.memory[address as usize / 4];
        match address {
            EVENTS => (0..ROLES as u32)
                .filter(|role| word(raised_of(*role)) != word(taken_of(*role)))
                .fold(0, |events, role| events | 1 << role),
            _ => word(address),
        }
    }
}

/// The next access of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Load(u32),
    Store(u32, u32),
}

/// A mark in a round beside its accesses; not an access, since no other CPU sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note {
    Enters(usize),
    Leaves(usize, u32),
}

/// Memory that repeats the accesses of a round, and ends at the first new one.
struct Replay<'a> {
    cpu: &'a Cpu,
    reads: Cell<usize>,
    accesses: Cell<usize>,
    /// Notes behind the last access that was made before.
    notes: &'a RefCell<Vec<Note>>,
    next: &'a Cell<Option<Access>>,
}

/// The payload of a round that ends early.
struct Paused;

impl Replay<'_> {
    fn step(&self, access: Access) {
        if self.accesses.get() == self.cpu.accesses {
            self.next.set(Some(access));
            resume_unwind(Box::new(Paused));
        }
        self.accesses.set(self.accesses.get() + 1);
        self.notes.borrow_mut().clear();
    }

    fn note(&self, note: Note) {
        self.notes.borrow_mut().push(note);
    }
}

impl Memory for Replay<'_> {
    fn load(&self, address: u32) -> u32 {
        self.step(Access::Load(address));
        let index = self.reads.replace(self.reads.get() + 1);
        self.cpu.read[index]
    }

    fn store(&mut self, address: u32, value: u32) {
        self.step(Access::Store(address, value));
    }
}

/// A way to claim: the protocol, or a wrong one.
type Claim = fn(&mut Replay<'_>, u32, u32, u32) -> bool;

fn protocol(memory: &mut Replay<'_>, words: u32, cpu: u32, cpus: u32) -> bool {
    take(memory, words, cpu, cpus)
}

/// A round of a CPU; gives its mask for the next one.
fn round(memory: &mut Replay<'_>, claim: Claim, cpu: u32, cpus: u32, mask: Mask) -> Mask {
    let events = memory.load(EVENTS) & !u32::from(mask);
    if events == 0 {
        return 0;
    }
    let role = events.trailing_zeros();
    if !claim(memory, claim_of(role), cpu, cpus) {
        return mask | 1 << role;
    }
    memory.note(Note::Enters(role as usize));
    let (raised, taken) = (memory.load(raised_of(role)), memory.load(taken_of(role)));
    memory.store(taken_of(role), raised);
    memory.note(Note::Leaves(role as usize, raised.wrapping_sub(taken)));
    free(memory, claim_of(role), cpu);
    0
}

/// Runs a CPU's round up to its next access; what it is, or the mask at the end of the round, and what is noted before.
fn look(state: &State, claim: Claim, cpu: usize) -> (Result<Mask, Access>, Vec<Note>) {
    let (notes, next) = (RefCell::new(Vec::new()), Cell::new(None));
    let mut memory = Replay {
        cpu: &state.cpus[cpu],
        reads: Cell::new(0),
        accesses: Cell::new(0),
        notes: &notes,
        next: &next,
    };
    let (mask, cpus) = (state.cpus[cpu].mask, state.cpus.len() as u32);
    let run = || round(&mut memory, claim, cpu as u32, cpus, mask);
    let ended = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(mask) => Ok(mask),
        Err(payload) => match next.get() {
            Some(access) if payload.is::<Paused>() => Err(access),
            _ => resume_unwind(payload),
        },
    };
    (ended, notes.into_inner())
}

/// The state after a CPU's next access.
fn after(state: &State, claim: Claim, cpu: usize) -> State {
    let mut next = state.clone();
    let (access, notes) = look(state, claim, cpu);
    let own = &mut next.cpus[cpu];
    match access {
        // A round begins with an access.
        Ok(_) => return next,
        Err(Access::Load(address)) => own.read.push(state.load(address)),
        Err(Access::Store(address, value)) => next.memory[address as usize / 4] = value,
    }
    own.accesses += 1;
    // What stands before the access is certain from here on.
    for note in notes {
        match note {
            Note::Enters(role) => next.inside[role].push(cpu),
            Note::Leaves(role, events) => {
                next.inside[role].retain(|inside| *inside != cpu);
                next.handled[role] = next.handled[role].wrapping_add(events);
            }
        }
    }
    match (access, look(&next, claim, cpu).0) {
        (_, Ok(mask)) => {
            next.cpus[cpu] = Cpu {
                mask,
                ..Cpu::default()
            };
            next
        }
        // A CPU that reads a word again because it has not changed is where it was.
        (Err(Access::Load(_)), again) if again == access => state.clone(),
        _ => next,
    }
}

/// Looks at all states that can be reached. Gives their number, or what is wrong.
fn explore(cpus: usize, to_come: [u32; ROLES], claim: Claim) -> Result<usize, String> {
    let first = State {
        memory: [0; WORDS],
        cpus: vec![Cpu::default(); cpus],
        to_come,
        handled: [0; ROLES],
        inside: Default::default(),
    };
    let mut known: HashMap<State, usize> = HashMap::from([(first.clone(), 0)]);
    let (mut before, mut done) = (vec![Vec::new()], Vec::new());
    let mut open = VecDeque::from([first]);
    while let Some(state) = open.pop_front() {
        let own = known[&state];
        if let Some(inside) = state.inside.iter().find(|inside| inside.len() > 1) {
            return Err(format!("CPUs {inside:?} have one role"));
        }
        if state.is_done() && state.inside.iter().all(Vec::is_empty) {
            if state.handled != to_come {
                return Err(format!("{:?} of {to_come:?} events", state.handled));
            }
            done.push(own);
        }
        let mut next: Vec<State> = (0..cpus).map(|cpu| after(&state, claim, cpu)).collect();
        for role in (0..ROLES).filter(|role| state.to_come[*role] > 0) {
            let mut raised = state.clone();
            raised.to_come[role] -= 1;
            raised.memory[role] += 1;
            next.push(raised);
        }
        for state in next {
            let number = *known.entry(state.clone()).or_insert_with(|| {
                open.push_back(state);
                before.push(Vec::new());
                before.len() - 1
            });
            before[number].push(own);
        }
    }
    // From each state one is reached in which all events are handled.
    let mut reaches = vec![false; before.len()];
    while let Some(number) = done.pop() {
        if !std::mem::replace(&mut reaches[number], true) {
            done.extend(&before[number]);
        }
    }
    match reaches.iter().all(|reaches| *reaches) {
        true => Ok(before.len()),
        false => Err("CPUs wait for ever".into()),
    }
}

#[test]
fn one_cpu_has_a_role_and_each_event_is_handled_once() {
    let check = |cpus, to_come| {
        let states = explore(cpus, to_come, protocol).unwrap_or_else(|wrong| panic!("{wrong}"));
        println!("{cpus} CPUs, {to_come:?} events: {states} states");
        // Fewer would not contain both orders of each pair of accesses.
        assert!(states > 100 * cpus, "{states}");
    };
    check(1, [2, 2]);
    check(2, [2, 2]);
    check(3, [2, 0]);
    check(3, [1, 1]);
}

/// The search finds what is wrong with other protocols.
#[test]
fn wrong_protocols_are_found() {
    let check = |claim: Claim, expected: &str| {
        let wrong = explore(2, [1, 1], claim).expect_err(expected);
        assert!(wrong.contains(expected), "{wrong}");
    };
    let looks_first: Claim = |memory, words, cpu, cpus| {
        let is_free = (0..cpus).all(|other| memory.load(word_of(words, other)) == 0);
        if is_free {
            memory.store(word_of(words, cpu), OWNED);
        }
        is_free
    };
    check(looks_first, "have one role");
    // Each waits for all others.
    let waits: Claim = |memory, words, cpu, cpus| {
        memory.store(word_of(words, cpu), OWNED);
        for other in (0..cpus).filter(|other| *other != cpu) {
            while memory.load(word_of(words, other)) != 0 {}
        }
        true
    };
    check(waits, "wait for ever");
    // One that withdraws leaves its word.
    let stays: Claim = |memory, words, cpu, cpus| {
        memory.store(word_of(words, cpu), OWNED);
        let mut others = (0..cpus).filter(|other| *other != cpu);
        others.all(|other| memory.load(word_of(words, other)) == 0)
    };
    check(stays, "wait for ever");
}
