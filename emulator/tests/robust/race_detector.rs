//! Races by the accesses of agents and the orders between them.

use cases::cases;
use emulator::board::races::{Agent, Order, RaceDetector, WordAccess, WordBytes};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use proptest::prelude::*;

const A: Initiator = Initiator::Cpu(0);
const B: Initiator = Initiator::Cpu(1);
const DMA: Initiator = Initiator::DmaRead;

#[derive(Debug, Clone, Copy)]
enum Step {
    Read(Initiator, u32),
    Write(Initiator, u32),
    /// A write of one byte.
    WriteByte(Initiator, u32, u32),
    Look(Initiator, u32),
    Publish(Initiator, u32),
    See(Initiator, u32),
    HandOver(Initiator, Initiator),
    Separate,
    Take(Initiator),
    Release(Initiator),
}

use Step::{HandOver, Look, Publish, Read, Release, See, Separate, Take, Write, WriteByte};

/// Races after these steps, each as the words and the indices of both steps.
fn races(steps: &[Step]) -> Vec<(u32, [u64; 2])> {
    let mut detector = RaceDetector::new(1024, 4);
    for (index, step) in (0..).zip(steps) {
        let access = |who| WordAccess {
            agent: Agent::of(who),
            // Each step is a place of its own.
            pc: Some(4 * index),
            time: SimTime::from_ps(index.into()),
        };
        match *step {
            Read(who, word) => detector.read(&access(who), WordBytes::whole(word)),
            Write(who, word) => detector.write(&access(who), WordBytes::whole(word)),
            WriteByte(who, word, byte) => {
                for place in WordBytes::range(4 * word + byte, 1) {
                    detector.write(&access(who), place);
                }
            }
            Look(who, word) => detector.look(Agent::of(who), word),
            Publish(who, order) => detector.publish(Agent::of(who), Order(order)),
            See(who, order) => detector.see(Agent::of(who), Order(order)),
            HandOver(from, to) => detector.hand_over(Agent::of(from), Agent::of(to)),
            Separate => detector.separate_all(),
            Take(who) => detector.set_holding(Agent::of(who), 0, true),
            Release(who) => detector.set_holding(Agent::of(who), 0, false),
        }
    }
    let found = detector.races().into_iter();
    found
        .map(|race| (race.word, race.times.map(SimTime::ps)))
        .collect()
}

#[test]
fn accesses_race_without_an_order() {
    let check = |steps: &[Step], expected: &[[u64; 2]]| {
        let found: Vec<_> = races(steps).into_iter().map(|(_, pair)| pair).collect();
        assert_eq!(found, expected, "{steps:?}");
    };
    check(&[Write(A, 1), Read(B, 1)], &[[0, 1]]);
    check(&[Read(A, 1), Write(B, 1)], &[[0, 1]]);
    check(&[Write(A, 1), Write(DMA, 1)], &[[0, 1]]);
    check(&[Read(A, 1), Read(B, 1)], &[]);
    check(&[Write(A, 1), Write(A, 1)], &[]);
    check(&[Write(A, 1), Write(B, 2)], &[]);
    // Two readers, then a writer.
    check(&[Read(A, 1), Read(B, 1), Write(DMA, 1)], &[[0, 2], [1, 2]]);
    // Bytes of one word.
    check(&[WriteByte(A, 1, 0), WriteByte(B, 1, 3)], &[]);
    check(&[WriteByte(A, 1, 2), Read(B, 1)], &[[0, 1]]);
    // An order counts from its publication on, and for who sees it.
    let ordered = [Write(A, 1), Publish(A, 0), See(B, 0), Read(B, 1)];
    check(&ordered, &[]);
    check(
        &[Publish(A, 0), Write(A, 1), See(B, 0), Read(B, 1)],
        &[[1, 3]],
    );
    check(
        &[Write(A, 1), Publish(A, 0), See(B, 1), Read(B, 1)],
        &[[0, 3]],
    );
    check(
        &[Write(A, 1), Publish(A, 0), See(DMA, 0), Read(B, 1)],
        &[[0, 3]],
    );
    // Over a third one.
    let both = [Publish(A, 0), See(DMA, 0), Publish(DMA, 1), See(B, 1)];
    check(&[&[Write(A, 1)], &both[..], &[Write(B, 1)]].concat(), &[]);
    check(&[Write(A, 1), HandOver(A, B), Write(B, 1)], &[]);
    check(&[Write(A, 1), HandOver(B, A), Write(B, 1)], &[[0, 2]]);
    check(
        &[Write(A, 1), Separate, Write(B, 1), Read(DMA, 1)],
        &[[2, 3]],
    );
    // The lock protects accesses under it, and orders no others.
    let locked = |who, step| [Take(who), step, Release(who)];
    let (write, read) = (locked(A, Write(A, 1)), locked(B, Read(B, 1)));
    check(&[write, read].concat(), &[]);
    check(&[&write[..], &[Read(B, 1)]].concat(), &[[1, 3]]);
    let behind = [
        &[Write(A, 1)],
        &locked(A, Write(A, 2))[..],
        &locked(B, Read(B, 2)),
        &[Read(B, 1)],
    ];
    check(&behind.concat(), &[[0, 7]]);
    // A look is an order, and no access.
    check(
        &[Write(A, 1), Look(B, 1), Read(B, 1), Write(A, 1)],
        &[[2, 3]],
    );
    check(&[Write(A, 1), Look(B, 1), Write(A, 1)], &[]);
}

#[test]
fn a_range_covers_its_bytes() {
    let check = |address, length, expected: &[(u32, u8)]| {
        let words = WordBytes::range(address, length);
        let words: Vec<_> = words.map(|place| (place.word, place.bytes)).collect();
        assert_eq!(words, expected, "{length} bytes at {address}");
    };
    check(8, 0, &[]);
    check(8, 4, &[(2, 0b1111)]);
    check(9, 2, &[(2, 0b0110)]);
    check(10, 7, &[(2, 0b1100), (3, 0b1111), (4, 0b0001)]);
}

#[test]
fn equal_places_are_one_race() {
    let mut detector = RaceDetector::new(16, 0);
    let access = |who, pc, time| WordAccess {
        agent: Agent::of(who),
        pc: Some(pc),
        time: SimTime::from_ps(time),
    };
    for round in 0..5 {
        detector.write(&access(A, 0x100, 10 * round), WordBytes::whole(3));
        detector.write(&access(B, 0x200, 10 * round + 1), WordBytes::whole(3));
    }
    let found = detector.races();
    let counts: Vec<_> = found
        .iter()
        .map(|race| (race.sides[0].pc, race.count))
        .collect();
    assert_eq!(counts, [(Some(0x100), 5), (Some(0x200), 4)]);
    assert_eq!(found[0].times, [0, 1].map(SimTime::from_ps));
}

/// Whether any two accesses to a word race, by all paths from publications to those who see them.
fn word_races(steps: &[Step], word: u32) -> bool {
    // before[i]: the steps that happen before step i.
    let mut before: Vec<Vec<bool>> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let mut known = vec![false; index];
        for (earlier, other) in steps[..index].iter().enumerate() {
            let same = who(other) == who(step);
            let seen = matches!((other, step), (Publish(_, to), See(_, of)) if to == of);
            if same || seen {
                known[earlier] = true;
                for (at, reached) in before[earlier].iter().enumerate() {
                    known[at] |= reached;
                }
            }
        }
        before.push(known);
    }
    let accesses = steps
        .iter()
        .enumerate()
        .filter_map(|(index, step)| match step {
            Read(who, at) if *at == word => Some((index, *who, false)),
            Write(who, at) if *at == word => Some((index, *who, true)),
            _ => None,
        });
    let accesses: Vec<_> = accesses.collect();
    accesses
        .iter()
        .enumerate()
        .any(|(place, (late, by, writes))| {
            accesses[..place].iter().any(|(early, other, wrote)| {
                by != other && (*writes || *wrote) && !before[*late][*early]
            })
        })
}

const fn who(step: &Step) -> Option<Initiator> {
    match step {
        Read(who, _) | Write(who, _) | Publish(who, _) | See(who, _) => Some(*who),
        _ => None,
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    let agent = || prop_oneof![Just(A), Just(B), Just(DMA)];
    prop_oneof![
        (agent(), 0_u32..2).prop_map(|(who, word)| Read(who, word)),
        (agent(), 0_u32..2).prop_map(|(who, word)| Write(who, word)),
        (agent(), 0_u32..3).prop_map(|(who, order)| Publish(who, order)),
        (agent(), 0_u32..3).prop_map(|(who, order)| See(who, order)),
    ]
}

proptest! {
    #![proptest_config(cases(256))]

    /// A word has a race if and only if two of its accesses race by definition.
    #[test]
    fn races_are_those_of_the_definition(steps in prop::collection::vec(any_step(), 0..40)) {
        let found = races(&steps);
        for word in 0..2 {
            let finds = found.iter().any(|(at, _)| *at == word);
            prop_assert_eq!(finds, word_races(&steps, word), "word {}", word);
        }
    }
}
