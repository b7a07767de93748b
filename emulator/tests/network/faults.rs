//! Effects of fault layers.

use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::state::{Reader, State, StateError, Writer};
use emulator::wire::ethernet::frame::Departure;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::ethernet::switch::Forwarding::{CutThrough, StoreAndForward};
use emulator::wire::fault::{
    FaultCounts, FaultError, FaultKind, FaultLayer, FaultRates, Outage, Passage, RandomFaults,
};
use emulator::wire::loss::LossReason;

use crate::station::{
    GIGABIT, Station, address, arrivals, dropped, frame, happenings, run_us, send_at, star,
    stations, switch,
};

/// Two stations on a cable; the first one sends `frames` frames, 10 us apart.
fn pair(layers: Vec<Box<dyn FaultLayer<Frame>>>, frames: u8) -> World {
    let mut world = stations(2);
    world
        .connect(0, 1, GIGABIT)
        .expect("a world that can be built");
    for layer in layers {
        world
            .add_fault(0, layer)
            .expect("a world that can be built");
    }
    world.traces().for_each(|trace| trace.keep(true));
    for tag in 0..frames {
        let data = frame(address(1), 0, tag, 64);
        send_at(&mut world, 0, 10_000 * u64::from(tag), data);
    }
    run_us(&mut world, 10_000, 1);
    world
}

fn random(rates: FaultRates) -> Box<dyn FaultLayer<Frame>> {
    Box::new(RandomFaults::new(rates, 5, 0).expect("a world that can be built"))
}

fn counts(world: &World) -> Vec<FaultCounts> {
    world
        .fault_counts(0)
        .expect("a world that can be built")
        .collect()
}

#[test]
fn certain_faults_happen_to_every_frame() {
    let none = FaultRates::default();
    let delay = FaultRates {
        delay: 1.0,
        longest_delay: SimTime::from_us(3),
        ..none
    };
    let check = |rates, kind: Option<FaultKind>, arrive: usize, intact: bool| {
        let mut world = pair(vec![random(rates)], 20);
        let received = &world.nodes[1].board::<Station>().received;
        assert_eq!(received.len(), arrive, "{rates:?}");
        assert!(received.iter().all(|frame| frame.intact == intact));
        let counts = counts(&world)[0];
        for other in FaultKind::ALL {
            let expected = if kind == Some(other) { 20 } else { 0 };
            assert_eq!(counts.of(other), expected, "{rates:?}: {other:?}");
        }
        assert_eq!(happenings(&mut world).len() as u64, counts.total());
    };
    check(none, None, 20, true);
    check(delay, Some(FaultKind::Delayed), 20, true);
    let rates = FaultRates { loss: 1.0, ..none };
    check(rates, Some(FaultKind::Lost), 0, true);
    let duplication = 1.0;
    let rates = FaultRates {
        duplication,
        ..none
    };
    check(rates, Some(FaultKind::Duplicated), 40, true);
    let corruption = 1.0;
    let rates = FaultRates { corruption, ..none };
    check(rates, Some(FaultKind::Corrupted), 20, false);
}

#[test]
fn a_second_copy_follows_the_first_one() {
    let duplication = 1.0;
    let world = pair(
        vec![random(FaultRates {
            duplication,
            ..FaultRates::default()
        })],
        1,
    );
    let second = 100 + 576 + 96;
    assert_eq!(arrivals(&world, 1), [(100, 0), (second, 0)]);
}

/// Delays the frame with one tag.
#[derive(Debug)]
struct HoldBack(u8, SimTime);

impl State for HoldBack {
    fn save(&self, _: &mut Writer) {}

    fn load(&mut self, _: &mut Reader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

impl FaultLayer<Frame> for HoldBack {
    fn pass(&mut self, mut departure: Departure, passage: &mut Passage<Frame>) {
        if departure.unit.bytes()[14] == self.0 {
            passage.report(FaultKind::Delayed);
            departure.head += self.1;
        }
        passage.forward(departure);
    }
}

#[test]
fn later_frames_overtake_one_that_is_held_back() {
    let world = pair(vec![Box::new(HoldBack(0, SimTime::from_us(25)))], 4);
    let times = [(10_100, 1), (20_100, 2), (25_100, 0), (30_100, 3)];
    assert_eq!(arrivals(&world, 1), times);
    // Its transmission would start during another one.
    let world = pair(vec![Box::new(HoldBack(0, SimTime::from_ns(10_100)))], 2);
    assert_eq!(arrivals(&world, 1), [(10_100, 1), (10_100 + 576 + 96, 0)]);
}

#[test]
fn layers_stand_behind_each_other() {
    // The first layer delays a frame into the interval in which the second one loses everything.
    let (from, until) = (SimTime::from_us(24), SimTime::from_us(26));
    let mut world = pair(
        vec![
            Box::new(HoldBack(0, SimTime::from_us(25))),
            Box::new(Outage { from, until }),
        ],
        4,
    );
    assert_eq!(arrivals(&world, 1), [(10_100, 1), (20_100, 2), (30_100, 3)]);
    let kinds = [FaultKind::Delayed, FaultKind::Lost];
    for (counts, kind) in counts(&world).iter().zip(kinds) {
        assert_eq!((counts.of(kind), counts.total()), (1, 1));
    }
    let fcs = frame(address(1), 0, 0, 64).fcs();
    assert_eq!(
        happenings(&mut world),
        [
            format!("         0.000000 n0 wire      fault: delayed length=64 fcs={fcs:#010x}"),
            format!("        25.000000 n0 wire      fault: lost length=64 fcs={fcs:#010x}"),
        ]
    );
}

/// Truncates frames.
#[derive(Debug)]
struct Shorten;

emulator::state!(Shorten {});

impl FaultLayer<Frame> for Shorten {
    fn pass(&mut self, departure: Departure, passage: &mut Passage<Frame>) {
        let bytes = departure.unit.bytes()[..20].to_vec();
        let unit = Frame::with_fcs(bytes, 0);
        passage.report(FaultKind::Corrupted);
        passage.forward(Departure { unit, ..departure });
    }
}

#[test]
fn frames_of_impossible_length_do_not_reach_the_wire() {
    let world = pair(vec![Box::new(Shorten)], 3);
    assert_eq!(arrivals(&world, 1), []);
    let counts = world.line_counts(0).unwrap();
    assert_eq!((counts.units, counts.lost.of(LossReason::Length)), (0, 3));
}

#[test]
fn rates_are_kept_and_streams_differ() {
    let rates = FaultRates {
        loss: 0.1,
        ..FaultRates::default()
    };
    let lost = |seed, stream| {
        let mut layer = RandomFaults::new(rates, seed, stream).unwrap();
        let frame = frame(address(1), 0, 0, 64);
        (0..10_000u32)
            .filter(|_| {
                let mut world = Passage::default();
                let head = SimTime::ZERO;
                let unit = frame.clone();
                layer.pass(Departure { head, unit }, &mut world);
                !world.faults().is_empty()
            })
            .count()
    };
    let [a, b, c] = [(1, 0), (1, 1), (2, 0)].map(|(seed, stream)| lost(seed, stream));
    for lost in [a, b, c] {
        assert!((900..1100).contains(&lost), "{lost}");
    }
    assert!(a != b || b != c);
    assert_eq!(a, lost(1, 0));
}

#[test]
fn a_unit_that_cannot_be_duplicated_suffers_the_other_faults() {
    let rates = FaultRates {
        duplication: 1.0,
        corruption: 1.0,
        ..FaultRates::default()
    };
    let sent = frame(address(1), 0, 0, 64);
    let check = |mut passage: Passage<Frame>, kinds: &[FaultKind], damaged: &[bool]| {
        let departure = Departure {
            head: SimTime::ZERO,
            unit: sent.clone(),
        };
        random(rates).pass(departure, &mut passage);
        assert_eq!(passage.faults(), kinds);
        let left = passage.take_units().map(|after| after.unit != sent);
        assert_eq!(left.collect::<Vec<_>>(), damaged);
    };
    let (twice, damage) = (FaultKind::Duplicated, FaultKind::Corrupted);
    check(Passage::default(), &[twice, damage], &[false, true]);
    check(Passage::of_one(), &[damage], &[true]);
}

#[test]
fn a_layer_that_duplicates_nonetheless_adds_nothing() {
    let sent = frame(address(1), 0, 0, 64);
    let mut passage = Passage::of_one();
    for _ in 0..2 {
        passage.report(FaultKind::Duplicated);
        passage.forward(Departure {
            head: SimTime::ZERO,
            unit: sent.clone(),
        });
    }
    assert_eq!((passage.faults().len(), passage.units().len()), (0, 1));
}

#[test]
fn impossible_rates_are_refused() {
    let rates = |loss| FaultRates {
        loss,
        ..FaultRates::default()
    };
    for rate in [-0.1, 1.5, f64::INFINITY] {
        let what = "loss";
        let error = RandomFaults::new(rates(rate), 0, 0).unwrap_err();
        assert_eq!(error, FaultError::Rate { what, rate });
    }
    assert!(RandomFaults::new(rates(f64::NAN), 0, 0).is_err());
    let late = FaultRates {
        delay: 0.5,
        ..FaultRates::default()
    };
    let error = RandomFaults::new(late, 0, 0).unwrap_err();
    assert_eq!(error, FaultError::Delay(SimTime::ZERO));
}

#[test]
fn a_cut_link_carries_nothing_and_its_node_knows() {
    for forwarding in [StoreAndForward, CutThrough] {
        let mut world = star(2, &switch(forwarding, 2));
        world.traces().for_each(|trace| trace.keep(true));
        // Before the cut; on the wire at the cut; during it; after it.
        for (tag, time_ns) in [(0, 0), (1, 9_500), (2, 15_000), (3, 20_000)] {
            send_at(&mut world, 0, time_ns, frame(address(1), 0, tag, 64));
        }
        let [from, until] = [10, 20].map(SimTime::from_us);
        world.unplug((0, 0), from, Some(until)).unwrap();
        run_us(&mut world, 100, 1);
        let received = &world.nodes[1].board::<Station>().received;
        let found: Vec<_> = received
            .iter()
            .map(|frame| (frame.tag, frame.intact))
            .collect();
        let switch_lost = dropped(&world, (0, 0).into()).of(LossReason::Damaged);
        match forwarding {
            StoreAndForward => {
                assert_eq!((&found[..], switch_lost), (&[(0, true), (3, true)][..], 1))
            }
            // The header had passed before.
            CutThrough => assert_eq!(found, [(0, true), (1, false), (3, true)]),
        }
        let lost = world.line_counts(0).unwrap().lost;
        assert_eq!((lost.of(LossReason::Cut), lost.total()), (1, 1));
        let board = world.nodes[0].board::<Station>();
        assert_eq!(board.signal, [(from, false), (until, true)]);
        assert_eq!(world.nodes[1].board::<Station>().signal, []);
    }
}
