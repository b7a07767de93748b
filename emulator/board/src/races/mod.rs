//! Races: conflicting accesses to a word of a board that nothing orders.
//!
//! An agent accesses words: a CPU, a DMA channel, the transmitter, the receiver, the host. Two accesses of
//! different agents to the same bytes conflict if one of them writes. They race if neither happens before the other one, and not both are
//! made under the board's lock. What orders accesses is an *order*: an event bit, an index. An agent *publishes* all that it has done to an
//! order, and another one that *sees* the order comes after that. The lock is no order: which of two comes first under it is chance.
//!
//! Agents have a vector clock each: the counts of all agents that it knows. A clock counts what the agent publishes. An access is remembered
//! with the count of its agent, and happens before another one whose agent knows a count at least as high. So a race is found
//! whichever access comes first in this run, as long as both come. The board says who accesses what, and what orders them.

mod clock;
mod shadow;

use std::collections::BTreeMap;

use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;

pub use clock::AGENTS;
use clock::VectorClock;
use shadow::{Shadow, Stamp};

/// Most races that are told apart.
const MOST_RACES: usize = 1000;

/// CPUs that are told apart.
const MOST_CPUS: u8 = 8;
/// The agent of initiators that have none of their own. The agents of the CPUs behind the second one follow.
const OTHERS: u8 = 7;

/// Index of an agent: the [number](Initiator::number) of its initiator, below `OTHERS`, or that of a CPU behind the second one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Agent(u8);

impl Agent {
    /// The agent that is this initiator. CPUs behind the eighth one and initiators that have no agent share one.
    #[must_use]
    pub const fn of(initiator: Initiator) -> Self {
        match initiator {
            Initiator::Cpu(cpu @ 2..MOST_CPUS) => Self(OTHERS + cpu - 1),
            _ if initiator.number() < OTHERS as u16 => Self(initiator.number() as u8),
            _ => Self(OTHERS),
        }
    }

    /// The initiator.
    #[must_use]
    pub fn initiator(self) -> Initiator {
        match self.0.checked_sub(OTHERS) {
            Some(0) => Initiator::Debugger,
            Some(further) => Initiator::Cpu(further + 1),
            None => Initiator::from_number(self.0.into()).unwrap_or(Initiator::Debugger),
        }
    }

    const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index of an order of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order(pub u32);

/// Bytes of a word that an access touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordBytes {
    /// Index of the word, as the board counts its words.
    pub word: u32,
    /// A bit for each byte, the lowest one for that at the lowest address.
    pub bytes: u8,
}

impl WordBytes {
    /// A whole word.
    #[must_use]
    pub const fn whole(word: u32) -> Self {
        Self { word, bytes: 0xF }
    }

    /// The words of `length` bytes from `address` on, where word 0 is at address 0.
    pub fn range(address: u32, length: u32) -> impl Iterator<Item = Self> {
        let end = address.saturating_add(length);
        let words = address / 4..end.div_ceil(4);
        words.map(move |word| {
            let first = address.saturating_sub(4 * word);
            let behind = (end - 4 * word).min(4);
            let bytes = (0xF << first) & ((1 << behind) - 1);
            Self {
                word,
                bytes: bytes as u8,
            }
        })
    }
}

/// Who accesses words, where and when.
#[derive(Debug, Clone, Copy)]
pub struct WordAccess {
    /// Who.
    pub agent: Agent,
    /// The instruction, if a CPU accesses.
    pub pc: Option<u32>,
    /// When.
    pub time: SimTime,
}

/// A write of a word that needs the lock.
#[derive(Debug, Clone, Copy)]
pub struct GuardedWrite(Stamp);

/// Access that takes part in a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RaceSide {
    /// Who.
    pub agent: Agent,
    /// Whether it wrote.
    pub writes: bool,
    /// The instruction, if a CPU accessed.
    pub pc: Option<u32>,
}

/// Two places whose accesses race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RacePair {
    /// The access that came first in this run, and the other one.
    pub sides: [RaceSide; 2],
    /// Times of the two accesses that were found first.
    pub times: [SimTime; 2],
    /// The word that these accessed: the index that the board has given it, or, in what a board tells, its address as a CPU sees it.
    pub word: u32,
    /// Number of pairs of accesses at these places that raced.
    pub count: u64,
}

/// Finds the races among the accesses of a board's agents.
#[derive(Debug)]
pub struct RaceDetector {
    clocks: [VectorClock; AGENTS],
    /// The locks that each one holds, a bit for each.
    holds: [u8; AGENTS],
    orders: Vec<VectorClock>,
    shadow: Shadow,
    found: BTreeMap<[RaceSide; 2], RacePair>,
    omitted: u64,
}

impl RaceDetector {
    /// A detector for this number of words and orders. Nothing has been accessed.
    #[must_use]
    pub fn new(words: u32, orders: u32) -> Self {
        Self {
            clocks: std::array::from_fn(VectorClock::of_agent),
            holds: [0; AGENTS],
            orders: vec![VectorClock::default(); orders as usize],
            shadow: Shadow::new(words),
            found: BTreeMap::new(),
            omitted: 0,
        }
    }

    /// The races found so far, in the order of their first times.
    #[must_use]
    pub fn races(&self) -> Vec<RacePair> {
        let mut races: Vec<_> = self.found.values().copied().collect();
        races.sort_by_key(|race| (race.times[1], race.times[0], race.sides));
        races
    }

    /// Number of racing pairs at further places, beyond the most that are told apart.
    #[must_use]
    pub const fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Publishes all that an agent has done so far: it happens before what those do that see the order from now on.
    pub fn publish(&mut self, agent: Agent, order: Order) {
        if let Some(clock) = self.orders.get_mut(order.0 as usize) {
            clock.join(&self.clocks[agent.index()]);
            self.clocks[agent.index()].advance(agent.index());
        }
    }

    /// Sees an order: what was published to it happens before what the agent does from now on.
    pub fn see(&mut self, agent: Agent, order: Order) {
        if let Some(clock) = self.orders.get(order.0 as usize) {
            self.clocks[agent.index()].join(clock);
        }
    }

    /// Hands over: all that `from` has done so far happens before what `to` does from now on.
    pub fn hand_over(&mut self, from: Agent, to: Agent) {
        let clock = self.clocks[from.index()];
        self.clocks[to.index()].join(&clock);
        self.clocks[from.index()].advance(from.index());
    }

    /// All that was done so far happens before all that follows: a reset.
    pub fn separate_all(&mut self) {
        let mut all = VectorClock::default();
        for clock in &self.clocks {
            all.join(clock);
        }
        for (agent, clock) in self.clocks.iter_mut().enumerate() {
            clock.join(&all);
            clock.advance(agent);
        }
    }

    /// The agent takes or releases a lock of the board, by its number below 8. Accesses under the same one do not race with each other. It
    /// orders nothing else: who comes first is chance.
    pub const fn set_holding(&mut self, agent: Agent, lock: usize, holds: bool) {
        let bit = 1 << (lock % 8);
        match holds {
            true => self.holds[agent.index()] |= bit,
            false => self.holds[agent.index()] &= !bit,
        }
    }

    fn stamp(&self, access: &WordAccess, bytes: u8) -> Stamp {
        let agent = access.agent.index();
        Stamp::new(
            access,
            bytes,
            self.clocks[agent].at(agent),
            self.holds[agent].into(),
        )
    }

    /// The agent reads bytes.
    pub fn read(&mut self, access: &WordAccess, place: WordBytes) {
        let clock = self.clocks[access.agent.index()];
        let stamp = self.stamp(access, place.bytes);
        let word = self.shadow.word_mut(place.word);
        let write = word.write;
        word.remember_read(stamp, &clock);
        if stamp.races_with(&write, &clock) {
            self.add(place.word, (write, true), (stamp, false));
        }
    }

    /// The agent reads a word and takes its value for news: what the last writer has done until now happens before what the agent does from
    /// now on. So this read races with nothing.
    pub fn look(&mut self, agent: Agent, word: u32) {
        let writer = self.shadow.word_mut(word).write.agent();
        if let Some(writer) = writer.filter(|writer| *writer != agent) {
            self.hand_over(writer, agent);
        }
    }

    /// A word that must be written under a lock, the same for all, whatever orders the writes: the agent writes it. `before`: the last write by each other
    /// agent. Returns what to remember of this one.
    pub fn write_under_lock(
        &mut self,
        access: &WordAccess,
        word: u32,
        before: impl IntoIterator<Item = GuardedWrite>,
    ) -> GuardedWrite {
        let stamp = self.stamp(access, WordBytes::whole(word).bytes);
        for GuardedWrite(other) in before {
            if !stamp.both_locked(&other) {
                self.add(word, (other, true), (stamp, true));
            }
        }
        GuardedWrite(stamp)
    }

    /// The agent writes bytes.
    pub fn write(&mut self, access: &WordAccess, place: WordBytes) {
        let stamp = self.stamp(access, place.bytes);
        self.replace(access, place.word, stamp);
    }

    fn replace(&mut self, access: &WordAccess, number: u32, stamp: Stamp) {
        let clock = self.clocks[access.agent.index()];
        let word = self.shadow.word_mut(number);
        let (write, reads) = (word.write, word.reads);
        word.replace(stamp);
        if stamp.races_with(&write, &clock) {
            self.add(number, (write, true), (stamp, true));
        }
        for read in reads {
            if stamp.races_with(&read, &clock) {
                self.add(number, (read, false), (stamp, true));
            }
        }
    }

    /// The agent reads and writes a word at once. Such changes do not race with each other, and each one `sees` the order of the word
    /// before it, if it does, and is published to it.
    pub fn change(&mut self, access: &WordAccess, word: u32, order: Order, sees: bool) {
        if sees {
            self.see(access.agent, order);
        }
        let place = WordBytes::whole(word);
        let stamp = self.stamp(access, place.bytes);
        self.replace(access, word, stamp.at_once());
        self.publish(access.agent, order);
    }

    /// A new order.
    pub fn add_order(&mut self) -> Order {
        self.orders.push(VectorClock::default());
        Order(self.orders.len() as u32 - 1)
    }

    // Most accesses do not race: kept out of their way.
    #[cold]
    fn add(&mut self, word: u32, first: (Stamp, bool), second: (Stamp, bool)) {
        let sides = [first, second].map(|(stamp, writes)| RaceSide {
            agent: stamp.agent().unwrap_or(Agent(0)),
            writes,
            pc: stamp.pc(),
        });
        let full = self.found.len() >= MOST_RACES;
        match self.found.get_mut(&sides) {
            Some(race) => race.count += 1,
            None if full => self.omitted += 1,
            None => {
                let race = RacePair {
                    sides,
                    times: [first.0.time(), second.0.time()],
                    word,
                    count: 1,
                };
                self.found.insert(sides, race);
            }
        }
    }
}
