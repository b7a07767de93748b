//! Frames are sent and freed in ring order, however slow their DMA is: acks and dropped frames, which need
//! no DMA, must not overtake data that waits for one.

use emulator::observe::names::NO_BOARD;
use emulator::tigon2::board::Tigon2;
use std::ops::Range;

use defs::emp::control::Counter;
use defs::emp::frame::HEADER_PAYLOAD;
use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::profile::Profile;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use lanigon_worlds::boards;
use lanigon_worlds::emp::EmpPairs;

use super::support::{Counters, IMAGE, Streams};

/// The hardware profile with one changed entry.
fn profile(group: &str, entry: &str, value: u64, unit: &str) -> Profile {
    boards::profiles().parse(&format!(
        "name = \"slow\"\ndescription = \"one cost is higher\"\nbase = \"tigon2-88mhz\"\n\
         [{group}.{entry}]\nvalue = {value}\nunit = \"{unit}\"\nsource = \"GUESS\"\nwhy = \"slow\"\n"
    ))
    .unwrap()
}

/// DMA with a long start time, and a slow bus.
fn profiles() -> [Profile; 2] {
    [
        profile("dma", "start", 20_000, "ns"),
        profile("pci", "clock", 5_000_000, "Hz"),
    ]
}

/// For each byte of the transmit buffer: whether a DMA has written it since it was last sent.
struct TransmitBuffer {
    start: u32,
    fresh: Vec<bool>,
}

impl TransmitBuffer {
    fn new(region: Range<u32>) -> Self {
        Self {
            start: region.start,
            fresh: vec![false; region.len()],
        }
    }

    fn holds(&self, address: u32) -> bool {
        (address.wrapping_sub(self.start) as usize) < self.fresh.len()
    }

    /// Positions of `range` of the frame at `address`, which may wrap.
    fn places(&self, address: u32, range: Range<u32>) -> impl Iterator<Item = usize> + use<> {
        let (start, length) = (self.start, self.fresh.len());
        range.map(move |offset| (address - start + offset) as usize % length)
    }

    fn mark(&mut self, address: u32, range: Range<u32>, fresh: bool) {
        for place in self.places(address, range) {
            self.fresh[place] = fresh;
        }
    }
}

/// Order of events in a node's trace.
#[derive(Debug, Default)]
struct Seen {
    /// Sent frames with a payload.
    data_frames: usize,
    /// Sent frames whose DMA was not complete.
    too_early: Vec<String>,
    /// Acks built during a data DMA.
    acks_during_reads: usize,
    /// Frames dropped during a delivery.
    drops_during_writes: usize,
}

/// Follows a node's DMAs into the transmit buffer, and the MAC's reads from it.
fn follow(events: &[TraceEvent], transmit_buffer: Range<u32>) -> Seen {
    let mut seen = Seen::default();
    let mut buffer = TransmitBuffer::new(transmit_buffer);
    let mut reading = None;
    let mut writing = false;
    for event in events {
        match (&event.kind, event.initiator) {
            (TraceKind::DmaStarted { local, length, .. }, Initiator::DmaRead) => {
                reading = buffer.holds(*local).then_some((*local, *length));
            }
            (TraceKind::DmaDone { .. }, Initiator::DmaRead) => {
                if let Some((local, length)) = reading.take() {
                    buffer.mark(local, 0..length, true);
                }
            }
            (TraceKind::DmaStarted { .. }, Initiator::DmaWrite) => writing = true,
            (TraceKind::DmaDone { .. }, Initiator::DmaWrite) => writing = false,
            (TraceKind::Probe { name, .. }, _) if &**name == "ack sent" => {
                seen.acks_during_reads += usize::from(reading.is_some());
            }
            (TraceKind::Probe { name, .. }, _) if &**name == "frame dropped" => {
                seen.drops_during_writes += usize::from(writing);
            }
            (TraceKind::FrameSent { address, length }, _) if *length > HEADER_PAYLOAD => {
                // Of a data frame this omits the first 8 bytes.
                let payload = HEADER_PAYLOAD..*length;
                let mut places = buffer.places(*address, payload.clone());
                if !places.all(|place| buffer.fresh[place]) {
                    seen.too_early.push(event.to_string());
                }
                seen.data_frames += 1;
                buffer.mark(*address, 0..*length, false);
            }
            _ => {}
        }
    }
    seen
}

/// Runs streams, and follows both nodes.
fn run(profile: &Profile, streams: Streams, timeout_us: u32) -> [(Seen, Counters); 2] {
    let mut pair = EmpPairs::one(&IMAGE, profile, &[]).unwrap();
    for node in 0..2 {
        pair.config_mut(node).timeout_us = timeout_us;
        pair.config_mut(node).retry_limit = 254;
        pair.world.nodes[node].trace.keep(true);
    }
    let counters: [_; 2] = streams.run(&mut pair).into();
    let mut counters = counters.into_iter();
    [0, 1].map(|index| {
        let node = &mut pair.world.nodes[index];
        let mac = &node.board::<Tigon2>().fabric.mac;
        let region = mac.tx_buffer.base..mac.tx_limit();
        let seen = follow(&node.trace.take(), region);
        assert_eq!(seen.too_early, Vec::<String>::new(), "{}", profile.name);
        assert!(seen.data_frames > 50, "{}", seen.data_frames);
        (seen, counters.next().unwrap())
    })
}

#[test]
fn acks_do_not_overtake_data() {
    for profile in profiles() {
        let streams = Streams::new(11, 30, 20_000);
        for (seen, counters) in run(&profile, streams, 20_000) {
            assert!(seen.acks_during_reads > 10, "{seen:?}");
            assert_eq!(counters[Counter::BadPosts as usize], 0);
            assert_eq!(counters[Counter::DropDamaged as usize], 0);
            assert_eq!(counters[Counter::DropForeign as usize], 0);
        }
    }
}

#[test]
fn dropped_frames_do_not_free_what_is_being_delivered() {
    for profile in profiles() {
        let streams = Streams {
            receives_ahead: 1,
            late_us: 100,
            ..Streams::new(12, 40, 60_000)
        };
        for (seen, counters) in run(&profile, streams, 500) {
            assert!(seen.drops_during_writes > 5, "{seen:?}");
            let dropped = [Counter::DropUnmatched, Counter::DropEarly];
            let dropped = dropped.map(|counter| counters[counter as usize]);
            assert!(dropped.iter().all(|&count| count > 0), "{dropped:?}");
            assert!(counters[Counter::FramesResent as usize] > 0);
            assert_eq!(counters[Counter::DropForeign as usize], 0);
        }
    }
}

#[test]
fn a_frame_that_leaves_too_early_is_seen() {
    let event = |initiator, kind| TraceEvent {
        time: SimTime::ZERO,
        place: Place::Node(0),
        names: &NO_BOARD,
        initiator,
        pc: None,
        kind,
    };
    // The payload of a full frame that wraps at the buffer's end.
    let (address, length, local) = (0x1F00, 1514, 0x1F00 + HEADER_PAYLOAD);
    let payload = length - HEADER_PAYLOAD;
    let started = TraceKind::DmaStarted {
        host: 0,
        local,
        length: payload,
    };
    let done = TraceKind::DmaDone { local_end: 0x14EA };
    let sent = TraceKind::FrameSent { address, length };
    let events = [
        event(Initiator::DmaRead, started),
        event(Initiator::DmaRead, done),
        event(Initiator::Transmitter, sent),
    ];
    let check = |order: &[usize], too_early| {
        let events: Vec<_> = order.iter().map(|&index| events[index].clone()).collect();
        assert_eq!(follow(&events, 0x1000..0x2000).too_early.len(), too_early);
    };
    check(&[0, 1, 2], 0);
    check(&[0, 2, 1], 1);
    check(&[2], 1);
    check(&[0, 1, 2, 2], 1);
}
