//! Invalid frames between valid messages: each is dropped and counted, without other effects.

use cases::cases;
use defs::emp::control::{COUNTER_COUNT, Counter};
use defs::emp::descriptor::MESSAGE_LIMIT_BYTES;
use defs::emp::frame::{
    ETHERTYPE, FLAG_GROUP_END, GROUP_BEFORE_SHIFT, KIND_SHIFT, Kind, WORD_FRAME_EPOCH,
    WORD_MESSAGE_LENGTH, WORD_OFFSET, WORD_SOURCE_MESSAGE, WORD_TAG_FRAMES, WORD_TYPE_KIND,
};
use emulator::observe::event::{DropReason, TraceKind};
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::frame::Frame;
use host_lib::emp::{Buffer, Emp, MacAddress, Source, Tag};
use host_lib::window::System;
use lanigon_worlds::nodes::{START, mac_address};
use proptest::collection::vec;
use proptest::prelude::*;

use super::support::{Counters, buffer, compare, message, pair, run_well, text};

/// Length of the valid messages: two frames.
const LENGTH: u32 = 2000;
/// Epoch of both nodes.
const EPOCH: u32 = 1;
/// Interval of valid messages.
const PERIOD: SimTime = SimTime::from_us(3000);
/// Delay of the invalid frames after a valid message, which is complete by then.
const QUIET: SimTime = SimTime::from_us(500);
/// Largest number of invalid frames between two valid messages.
const MOST: usize = 16;
/// Interval between the starts of two invalid frames: the longest takes 72 us.
const SPACING: SimTime = SimTime::from_us(100);

/// Start of slot `number`.
fn slot(number: usize) -> SimTime {
    START + SimTime::from_ps(PERIOD.ps() * number as u64)
}

/// A frame from node 0 to node 1, as words.
#[derive(Debug, Clone)]
struct Words([u32; 15]);

impl Words {
    /// A header frame of message `id`, in order.
    fn header(id: u32) -> Self {
        Self([0; 15])
            .to(mac_address(1))
            .with(2, mac_address(0).low())
            .kind(Kind::Header as u32, FLAG_GROUP_END)
            .with(WORD_SOURCE_MESSAGE, id)
            .with(WORD_FRAME_EPOCH, EPOCH)
            .with(WORD_OFFSET, id)
            .with(WORD_TAG_FRAMES, 0x77 << 16 | 1)
            .with(WORD_MESSAGE_LENGTH, 20)
    }

    /// Frame 1 of the message, in order.
    fn data(id: u32) -> Self {
        Self::header(id)
            .kind(Kind::Data as u32, FLAG_GROUP_END)
            .with(WORD_FRAME_EPOCH, 1 << 16 | EPOCH)
    }

    /// An ack of the message's first frame.
    fn ack(id: u32) -> Self {
        Self::header(id)
            .kind(Kind::Ack as u32, FLAG_GROUP_END)
            .with(WORD_OFFSET, EPOCH)
    }

    fn to(self, address: MacAddress) -> Self {
        let (high, low) = (address.high(), address.low());
        self.with(0, high << 16 | low >> 16)
            .with(1, low << 16 | mac_address(0).high())
    }

    fn with(mut self, word: usize, value: u32) -> Self {
        self.0[word] = value;
        self
    }

    fn kind(self, kind: u32, flags: u32) -> Self {
        let low = kind << KIND_SHIFT | flags;
        self.with(WORD_TYPE_KIND, u32::from(ETHERTYPE) << 16 | low)
    }

    fn bytes(self) -> Vec<u8> {
        self.0.map(u32::to_be_bytes).concat()
    }

    fn frame(self) -> Frame {
        Frame::new(self.bytes())
    }

    /// Followed by zeros, or truncated, to `length` bytes; intact.
    fn resized(self, length: usize) -> Frame {
        let mut bytes = self.bytes();
        bytes.resize(length, 0);
        let fcs = crc(&bytes);
        Frame::with_fcs(bytes, fcs)
    }

    /// With a wrong check sequence.
    fn damaged(self) -> Frame {
        let bytes = self.bytes();
        let fcs = !crc(&bytes);
        Frame::with_fcs(bytes, fcs)
    }
}

/// The frame check sequence, bit by bit. (A [`Frame`] computes only that of frames of full length.)
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| crc >> 1 ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), step)
    })
}

/// Sleeps until `time`.
async fn sleep_until(emp: &mut Emp, time: SimTime) {
    let span = time.saturating_sub(SimTime::from_ps(emp.system().now_ps()));
    emp.system_mut().compute(span.ps() / 1000).await;
}

/// Sends a valid message at the start of each slot.
async fn send(mut emp: Emp, slots: usize) -> Result<(), String> {
    for number in 0..slots {
        sleep_until(&mut emp, slot(number)).await;
        let out = message(&mut emp, 0, number as u32, LENGTH);
        let transmit = emp.post_transmit(1, 1, out).await.map_err(text)?;
        emp.wait(transmit).await.map_err(text)?;
    }
    Ok(())
}

async fn post(
    emp: &mut Emp,
) -> Result<(Buffer, host_lib::emp::Handle<host_lib::emp::Receive>), String> {
    let space = buffer(emp, LENGTH);
    let receive = emp
        .post_receive(Source::Node(0), Tag::Value(1), space)
        .await;
    Ok((space, receive.map_err(text)?))
}

/// Receives a valid message in each slot, and reads the counters at its end.
async fn receive(mut emp: Emp, slots: usize) -> Result<Vec<Counters>, String> {
    let mut counters = Vec::new();
    for number in 0..slots {
        let (space, receive) = post(&mut emp).await?;
        let completion = emp.wait(receive).await.map_err(text)?;
        if completion.length != LENGTH {
            return Err(format!("message {number}: {completion:?}"));
        }
        compare(&emp, space, 0, number as u32)?;
        if SimTime::from_ps(emp.system().now_ps()) > slot(number) + QUIET {
            return Err(format!("message {number} comes late"));
        }
        sleep_until(&mut emp, slot(number + 1) - SimTime::from_us(100)).await;
        counters.push(emp.counters().await);
    }
    Ok(counters)
}

/// Expected results of the invalid frames of one slot.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Fate {
    /// Frames dropped by the firmware, by counter.
    dropped: [u32; DROPS.len()],
    /// Frames dropped by the MAC's filter.
    filtered: usize,
}

/// Counters of dropped frames.
const DROPS: [Counter; 7] = [
    Counter::DropUnmatched,
    Counter::DropDuplicate,
    Counter::DropEarly,
    Counter::DropDamaged,
    Counter::DropForeign,
    Counter::DropEpoch,
    Counter::DropResources,
];

impl Fate {
    /// One frame, dropped and counted by this counter.
    fn counted(counter: Counter) -> Self {
        Self {
            dropped: DROPS.map(|drop| u32::from(drop == counter)),
            filtered: 0,
        }
    }

    /// The frames with this result.
    fn frames(&self) -> usize {
        self.filtered + self.dropped.iter().sum::<u32>() as usize
    }
}

/// Sends `bad[i]` to node 1 after valid message `i`; one more valid message follows. Checks that the valid
/// messages are not affected.
fn run(bad: &[Vec<Frame>]) -> Vec<Fate> {
    let mut pair = pair();
    let slots = bad.len() + 1;
    let node = &mut pair.world.nodes[1];
    node.trace.keep(true);
    for (number, frames) in bad.iter().enumerate() {
        assert!(frames.len() <= MOST);
        for (position, frame) in (0..).zip(frames) {
            let at = SimTime::from_ps(SPACING.ps() * position);
            node.frame_arrives(frame.clone(), slot(number) + QUIET + at);
        }
    }
    let ((), counters) = run_well(
        &mut pair,
        move |emp| send(emp, slots),
        move |emp| receive(emp, slots),
    );
    let mut filtered = vec![0; slots];
    for event in pair.world.nodes[1].trace.take() {
        if let TraceKind::FrameDropped { reason } = event.kind {
            assert_eq!(reason, DropReason::Filtered);
            let since = event.time.saturating_sub(START);
            filtered[(since.ps() / PERIOD.ps()) as usize] += 1;
        }
    }
    let accepted = counters[slots - 1][Counter::FramesAccepted as usize];
    assert_eq!(accepted as usize, 2 * slots, "frames of good messages");
    let mut before = [0; COUNTER_COUNT as usize];
    let fates = counters.iter().zip(filtered).map(|(after, filtered)| {
        let dropped = DROPS.map(|drop| after[drop as usize] - before[drop as usize]);
        before = *after;
        Fate { dropped, filtered }
    });
    fates.collect()
}

/// A frame, given the identifier of the next message, and its result.
type Case = (&'static str, fn(u32) -> Frame, Counter);

/// Position in the ack group: frames before and after.
const fn place(before: u32, after: u32) -> u32 {
    before << GROUP_BEFORE_SHIFT | after
}

fn header(frames: u32, length: u32, flags: u32, id: u32) -> Frame {
    Words::header(id)
        .kind(Kind::Header as u32, FLAG_GROUP_END | flags)
        .with(WORD_TAG_FRAMES, 0x77 << 16 | frames)
        .with(WORD_MESSAGE_LENGTH, length)
        .frame()
}

const FOREIGN: Counter = Counter::DropForeign;

#[rustfmt::skip]
const CASES: [Case; 33] = [
    ("nobody waits for it", |id| Words::header(id).frame(), Counter::DropUnmatched),
    ("out of turn", |id| Words::header(id + 1).with(WORD_OFFSET, id).frame(), Counter::DropEarly),
    ("had before", |id| Words::header(id - 1).kind(Kind::Header as u32, 0).frame(), Counter::DropDuplicate),
    ("had before, asks for an ack", |id| Words::header(id - 1).frame(), Counter::DropDuplicate),
    ("data before its header", |id| Words::data(id).frame(), Counter::DropEarly),
    ("data had before", |id| Words::data(id - 1).kind(Kind::Data as u32, 0).frame(), Counter::DropDuplicate),
    ("header of an earlier life", |id| Words::header(id).with(WORD_FRAME_EPOCH, 0).frame(), Counter::DropEpoch),
    ("data of an earlier life", |id| Words::data(id).with(WORD_FRAME_EPOCH, 0).frame(), Counter::DropEpoch),
    ("data of another life", |id| Words::data(id).with(WORD_FRAME_EPOCH, 9).frame(), Counter::DropEpoch),
    ("header of a stranger", |id| Words::header(id).with(WORD_SOURCE_MESSAGE, 2 << 16 | id).frame(), FOREIGN),
    ("data of a stranger", |id| Words::data(id).with(WORD_SOURCE_MESSAGE, 0xFFFF << 16).frame(), FOREIGN),
    ("ack of a stranger", |id| Words::ack(id).with(WORD_SOURCE_MESSAGE, 2 << 16).frame(), FOREIGN),
    ("ack of an earlier life", |id| Words::ack(id).with(WORD_OFFSET, 0).frame(), Counter::DropEpoch),
    ("ack of nothing", |id| Words::ack(id).frame(), Counter::DropDuplicate),
    ("void", |id| Words::header(id).kind(Kind::Void as u32, 0).frame(), FOREIGN),
    ("nack of nothing", |id| Words::ack(id).kind(Kind::Nack as u32, 0).frame(), Counter::DropDuplicate),
    ("no kind", |id| Words::header(id).kind(15, 0).frame(), FOREIGN),
    ("another Ethertype", |id| Words::header(id).with(WORD_TYPE_KIND, 0x0800_1100).frame(), FOREIGN),
    ("an ack of another Ethertype", |id| Words::ack(id).with(WORD_TYPE_KIND, 0x0800_3100).frame(), FOREIGN),
    ("a broadcast", |id| Words::header(id).with(WORD_TYPE_KIND, 0x0806_0001).to(MacAddress([0xFF; 6])).frame(), FOREIGN),
    ("a message of no frames", |id| header(0, 20, 0, id), FOREIGN),
    ("a message of 65535 frames", |id| header(0xFFFF, 20, 0, id), FOREIGN),
    ("over 2 MB", |id| header(1, MESSAGE_LIMIT_BYTES + 1, 0, id), FOREIGN),
    ("longest of all", |id| header(1, u32::MAX, 0, id), FOREIGN),
    ("a group that begins before it", |id| header(1, 20, place(1, 0), id), FOREIGN),
    ("a group that ends behind it", |id| header(2, 20, place(0, 2), id), FOREIGN),
    ("a header that is not frame 0", |id| Words::header(id).with(WORD_FRAME_EPOCH, 1 << 16 | EPOCH).with(WORD_TAG_FRAMES, 2).frame(), FOREIGN),
    ("a header cut off", |id| Words::header(id).resized(35), FOREIGN),
    ("data cut off", |id| Words::data(id).resized(27), FOREIGN),
    ("an ack cut off", |id| Words::ack(id).resized(27), FOREIGN),
    ("nothing but an address", |id| Words::header(id).resized(6), FOREIGN),
    ("a jumbo", |id| Words::header(id).resized(9018), Counter::DropUnmatched),
    ("damaged", |id| Words::header(id).damaged(), Counter::DropDamaged),
];

#[test]
pub fn every_bad_frame_is_counted_for_what_it_is() {
    let bad: Vec<_> = (1..)
        .zip(CASES)
        .map(|(id, (_, frame, _))| vec![frame(id)])
        .collect();
    for (fate, (name, _, counter)) in run(&bad).into_iter().zip(CASES) {
        assert_eq!(fate, Fate::counted(counter), "{name}: not {counter:?}");
    }
}

#[test]
fn the_filter_keeps_away_what_is_not_for_the_board() {
    let addresses = [
        mac_address(0),
        mac_address(2),
        MacAddress([1, 0, 0x5E, 0, 0, 1]),
        MacAddress([0; 6]),
    ];
    let mut frames: Vec<_> = addresses.map(|to| Words::header(1).to(to).frame()).into();
    frames.push(Words::header(1).resized(5));
    frames.push(Words::header(1).resized(0));
    let filtered = frames.len();
    let fate = Fate {
        filtered,
        ..Fate::default()
    };
    assert_eq!(run(&[frames])[0], fate);
}

/// Any frame except one of a later epoch, which would be accepted.
fn any_frame() -> impl Strategy<Value = Frame> {
    let address = prop_oneof![
        8 => Just(mac_address(1)),
        1 => Just(MacAddress([0xFF; 6])),
        1 => any::<[u8; 6]>().prop_map(MacAddress),
    ];
    let length = prop_oneof![4 => 14..200usize, 2 => 0..1515usize, 1 => 0..9018usize];
    let sender = prop_oneof![Just(0u32), 2..0x1_0000u32];
    let number = prop_oneof![0..4u32, 0..0x1_0000u32];
    let ethertype = prop_oneof![6 => Just(ETHERTYPE), 1 => any::<u16>()];
    let header = (
        address,
        ethertype,
        any::<u16>(),
        sender,
        number,
        any::<u16>(),
    );
    let tail = vec(any::<u8>(), 0..64);
    (header, length, tail, 0..8u32).prop_map(|(header, length, tail, damage)| {
        let (to, ethertype, kind, sender, number, id) = header;
        let head = Words::header(0)
            .to(to)
            .with(WORD_TYPE_KIND, u32::from(ethertype) << 16 | u32::from(kind))
            .with(WORD_SOURCE_MESSAGE, sender << 16 | u32::from(id))
            .with(WORD_FRAME_EPOCH, number << 16);
        let mut bytes = head.bytes();
        bytes.truncate(4 * WORD_OFFSET);
        bytes.extend(tail.iter().cycle().take(length).copied());
        bytes.resize(length, 0xA5);
        let fcs = crc(&bytes) ^ u32::from(damage == 0);
        Frame::with_fcs(bytes, fcs)
    })
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_frames_are_counted_and_harm_nobody(bad in vec(vec(any_frame(), 0..=MOST), 1..4)) {
        for (fate, frames) in run(&bad).iter().zip(&bad) {
            assert_eq!(fate.frames(), frames.len(), "{fate:?}");
        }
    }
}
