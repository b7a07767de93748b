//! Two CPUs that send each other entries in both directions, with any interleaving of their accesses.
//! Nothing is lost, duplicated or out of order, no CPU waits for ever, and each event bit is correct in the
//! end.
//!
//! Each CPU is a thread that waits for its turn before each access to memory, event registers or semaphore.
//! A random list gives the first turns; then the CPUs alternate, which is fair as hardware is.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};

use proptest::prelude::*;
use rings::{Bell, Consumer, Memory, Producer, Queue};

const ENTRIES: u32 = 4;
/// The queue towards each CPU.
const QUEUES: [Queue; 2] = [Queue::new(0x100, ENTRIES, 2), Queue::new(0x200, ENTRIES, 2)];
/// The bit of each queue; bit 0 is the CPU's own software event.
const BIT: u32 = 1 << 5;
const OWN_BIT: u32 = 1 << 0;
/// Access limit: a run that exceeds it is deadlocked.
const TURN_LIMIT: u32 = 200_000;

/// State shared by the CPUs.
#[derive(Default)]
struct Chip {
    words: BTreeMap<u32, u32>,
    events: [u32; 2],
    owner: Option<usize>,
    schedule: Vec<bool>,
    turns: u32,
    ended: [bool; 2],
}

impl Chip {
    /// The CPU that has the turn.
    fn turn(&self) -> usize {
        let listed = self.schedule.get(self.turns as usize).copied();
        let next = usize::from(listed.unwrap_or(self.turns % 2 == 1));
        if self.ended[next] { 1 - next } else { next }
    }
}

#[derive(Clone)]
struct Board {
    chip: Arc<(Mutex<Chip>, Condvar)>,
}

impl Board {
    /// Executes one access of `cpu` in its turn.
    fn access<R>(&self, cpu: usize, what: impl FnOnce(&mut Chip) -> R) -> R {
        let (chip, changed) = &*self.chip;
        let mut chip = chip.lock().expect("no thread panics with it");
        while chip.turn() != cpu {
            chip = changed.wait(chip).expect("no thread panics with it");
        }
        let result = what(&mut chip);
        chip.turns += 1;
        changed.notify_all();
        result
    }

    fn end(&self, cpu: usize) {
        let (chip, changed) = &*self.chip;
        if let Ok(mut chip) = chip.lock() {
            chip.ended[cpu] = true;
        }
        changed.notify_all();
    }
}

/// Hands all turns to the other CPU when this one has ended, also by a failed check.
struct Life(Board, usize);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}

/// `cpu`'s access to the bell of `owner`'s queue.
struct Side {
    board: Board,
    cpu: usize,
    owner: usize,
}

impl Memory for Side {
    fn load(&self, address: u32) -> u32 {
        self.board.access(self.cpu, |chip| {
            chip.words.get(&address).copied().unwrap_or(0)
        })
    }

    fn store(&mut self, address: u32, value: u32) {
        self.board.access(self.cpu, |chip| {
            chip.words.insert(address, value);
        });
    }
}

impl Side {
    fn change(&self, change: impl FnOnce(u32) -> u32) {
        let (cpu, owner) = (self.cpu, self.owner);
        let old = self.board.access(cpu, |chip| chip.events[owner]);
        self.board
            .access(cpu, |chip| chip.events[owner] = change(old));
    }
}

impl Bell for Side {
    fn lock(&mut self) {
        let cpu = self.cpu;
        // The chip's protocol: write, then read, until the read shows that this side owns it.
        loop {
            self.board.access(cpu, |chip| match chip.owner {
                None => chip.owner = Some(cpu),
                Some(owner) => assert_ne!(owner, cpu, "locked twice"),
            });
            let turns = self.board.access(cpu, |chip| match chip.owner {
                Some(owner) if owner == cpu => None,
                _ => Some(chip.turns),
            });
            match turns {
                None => break,
                Some(turns) => assert!(turns < TURN_LIMIT, "the semaphore is never released"),
            }
        }
    }

    fn unlock(&mut self) {
        let cpu = self.cpu;
        self.board.access(cpu, |chip| {
            assert_eq!(chip.owner.take(), Some(cpu), "not locked");
        });
    }

    fn is_rung(&self) -> bool {
        let owner = self.owner;
        self.board.access(self.cpu, |chip| chip.events[owner]) & BIT != 0
    }

    fn ring(&mut self) {
        self.change(|old| old | BIT);
    }

    fn quieten(&mut self) {
        self.change(|old| old & !BIT);
    }
}

/// The program of one CPU: it sends `to_send` numbers as room allows, and takes `to_take` numbers as its
/// bell rings. For each number taken it also raises or clears its own event, a bit of the same register.
fn live(board: Board, cpu: usize, to_send: u32, to_take: u32) -> Vec<u32> {
    let _life = Life(board.clone(), cpu);
    let side = |owner| Side {
        board: board.clone(),
        cpu,
        owner,
    };
    let (mut mine, mut other) = (side(cpu), side(1 - cpu));
    let mut out = Producer::new(QUEUES[1 - cpu]);
    let mut inbox = Consumer::new(QUEUES[cpu]);
    let (mut sent, mut taken) = (0, Vec::new());
    while sent < to_send || taken.len() < to_take as usize {
        let turns = board.access(cpu, |chip| chip.turns);
        assert!(
            turns < TURN_LIMIT,
            "CPU {cpu}: {sent} sent, {taken:?} taken"
        );
        if mine.is_rung() {
            let at = inbox.front(&mine).expect("the bit means: not empty");
            let value = mine.load(at);
            assert_eq!(mine.load(at + 4), !value, "half an entry");
            inbox.remove(&mut mine);
            taken.push(value);
            mine.lock();
            mine.change(|old| old ^ OWN_BIT);
            mine.unlock();
        } else if sent < to_send && out.room(&other) > 0 {
            out.put(&mut other, [sent, !sent]);
            sent += 1;
        }
    }
    taken
}

proptest! {
    #[test]
    fn both_directions_at_once(
        schedule in prop::collection::vec(any::<bool>(), 0..3000),
        counts in (0u32..40, 0u32..40),
    ) {
        let counts = [counts.0, counts.1];
        let chip = Chip { schedule, ..Chip::default() };
        let board = Board { chip: Arc::new((Mutex::new(chip), Condvar::new())) };
        let lives = [0, 1].map(|cpu| {
            let board = board.clone();
            std::thread::spawn(move || live(board, cpu, counts[cpu], counts[1 - cpu]))
        });
        let taken = lives.map(|life| life.join().expect("it comes to an end"));
        for cpu in [0, 1] {
            let expected: Vec<u32> = (0..counts[1 - cpu]).collect();
            prop_assert_eq!(&taken[cpu], &expected);
        }
        let chip = board.chip.0.lock().expect("no thread panics with it");
        for cpu in [0, 1] {
            // The queues are empty, and no change of one bit has undone a change of another.
            prop_assert_eq!(chip.events[cpu], counts[1 - cpu] % 2 * OWN_BIT);
        }
        prop_assert_eq!(chip.owner, None);
    }
}

#[test]
fn room_and_order_of_one_queue() {
    let board = Board {
        chip: Arc::new((Mutex::new(Chip::default()), Condvar::new())),
    };
    board.end(1);
    let mut side = Side {
        board,
        cpu: 0,
        owner: 0,
    };
    let queue = Queue::new(0x100, 4, 2);
    assert_eq!(queue.bytes(), 8 + 4 * 8);
    queue.reset(&mut side);
    let (mut producer, mut consumer) = (Producer::new(queue), Consumer::new(queue));
    for round in 0..10 {
        for place in 0..4 {
            assert_eq!(producer.room(&side), 4 - place);
            producer.put(&mut side, [round, place]);
        }
        assert_eq!(producer.room(&side), 0);
        for place in 0..4 {
            assert!(side.is_rung());
            let at = consumer.front(&side).expect("an entry");
            assert_eq!([side.load(at), side.load(at + 4)], [round, place]);
            consumer.remove(&mut side);
        }
        assert!(!side.is_rung());
        assert_eq!(consumer.front(&side), None);
    }
}
