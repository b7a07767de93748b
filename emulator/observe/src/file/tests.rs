//! Round trips; errors, never panics, for cut-off or damaged files.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::kinds::digest_event;
use super::*;
use crate::event::{Details, DropReason, Place, TraceEvent, TraceKind};
use crate::names::{NO_BOARD, details_of};
use crate::stream::Observer;
use emulator_base::digest::Digest;
use emulator_base::fault::FaultKind;
use emulator_base::initiator::Initiator;
use emulator_base::loss::LossReason;
use emulator_base::time::SimTime;

/// A file in memory.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Page {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn header() -> Header {
    Header {
        program: "a test".into(),
        run: "nothing".into(),
        seed: u64::MAX,
        ..Header::default()
    }
}

fn written(events: &[TraceEvent]) -> Vec<u8> {
    let page = Page::default();
    let mut trace = BinaryTrace::new(Box::new(page.clone()), &header(), Details::all()).unwrap();
    trace.results().set("end", "completed");
    for event in events {
        trace.event(event);
    }
    trace.finish().unwrap();
    page.bytes()
}

fn digest(event: &TraceEvent) -> u64 {
    let mut digest = Digest::NEW;
    digest_event(event, &mut digest);
    digest.value()
}

/// The hash of an event by hand: time, place, initiator, kind, fields.
#[test]
fn the_hash_of_an_event_is_defined_by_its_numbers() {
    let event = TraceEvent {
        time: SimTime::from_ps(5),
        place: Place::Node(3),
        names: &NO_BOARD,
        initiator: Initiator::Cpu(0),
        pc: Some(0x4000),
        kind: TraceKind::Probe {
            name: "ab".into(),
            arguments: vec![7, 8],
        },
    };
    let mut by_hand = Digest::NEW;
    for number in [5, 6, 5, 5] {
        by_hand.number(number);
    }
    by_hand.bytes(b"ab");
    for number in [2, 7, 8] {
        by_hand.number(number);
    }
    assert_eq!(digest(&event), by_hand.value());
    assert_eq!(digest(&event), 0xd4a1_a95b_8ecf_9ceb);
}

/// The events up to the first error, and the error.
fn read(bytes: &[u8]) -> (Vec<TraceEvent>, Result<End, TraceFileError>) {
    let mut events = match TraceReader::new(bytes, &[]) {
        Ok(reader) => reader.into_events(),
        Err(error) => return (Vec::new(), Err(error)),
    };
    let mut good = Vec::new();
    for event in &mut events {
        match event {
            Ok(event) => good.push(event),
            Err(error) => return (good, Err(error)),
        }
    }
    let end = events.end().expect("an end").clone();
    (good, Ok(end))
}

fn text() -> impl Strategy<Value = Arc<str>> {
    // Few texts, so that some occur repeatedly.
    prop_oneof![
        Just("".into()),
        Just("a b".into()),
        ".{0,9}".prop_map(Into::into)
    ]
}

macro_rules! kind {
    ($variant:ident { $($field:ident: $strategy:expr),* }) => {
        ($($strategy,)*).prop_map(|($($field,)*)| TraceKind::$variant { $($field),* }).boxed()
    };
    ($variant:ident) => { Just(TraceKind::$variant).boxed() };
}

fn word() -> impl Strategy<Value = u32> {
    any::<u32>()
}

/// Every kind, in the order of its number.
fn kinds() -> Vec<BoxedStrategy<TraceKind>> {
    [host_and_cpus(), dma_and_frames(), others()].concat()
}

fn host_and_cpus() -> Vec<BoxedStrategy<TraceKind>> {
    vec![
        kind!(HostCall { what: text() }),
        kind!(MailboxWrite {
            index: word(),
            value: word()
        }),
        kind!(PollSatisfied {
            why: text().prop_map(|why| why.to_string().into()),
            value: word()
        }),
        kind!(CoreStarted { pc: word() }),
        kind!(CoreStopped {
            pc: word(),
            reason: text()
        }),
        kind!(Probe {
            name: text(),
            arguments: vec(word(), 0..5)
        }),
        kind!(StageEnter { stage: text() }),
        kind!(StageExit { stage: text() }),
        kind!(WaitEnter { what: text() }),
        kind!(WaitExit { what: text() }),
        kind!(Log { text: text() }),
    ]
}

fn dma_and_frames() -> Vec<BoxedStrategy<TraceKind>> {
    let drops = || prop::sample::select(DropReason::ALL.to_vec());
    let faults = || prop::sample::select(FaultKind::ALL.to_vec());
    let losses = || prop::sample::select(LossReason::ALL.to_vec());
    let port = || option::of(any::<u16>());
    vec![
        kind!(DmaStarted {
            host: any::<u64>(),
            local: word(),
            length: word()
        }),
        kind!(DmaDone { local_end: word() }),
        kind!(DmaFailed { host: any::<u64>() }),
        kind!(FrameSent {
            address: word(),
            length: word()
        }),
        kind!(FrameReceived {
            address: word(),
            length: word(),
            status: word()
        }),
        kind!(FrameDropped { reason: drops() }),
        kind!(Fault {
            port: port(),
            fault: faults(),
            length: word(),
            fcs: word()
        }),
        kind!(FrameLost {
            port: port(),
            reason: losses(),
            length: word(),
            fcs: word()
        }),
    ]
}

fn others() -> Vec<BoxedStrategy<TraceKind>> {
    vec![
        kind!(Interrupt {
            asserted: any::<bool>()
        }),
        kind!(InterruptTaken),
        kind!(Signal {
            present: any::<bool>()
        }),
        kind!(GuestMistake { text: text() }),
        kind!(Reset),
        kind!(PowerOn),
        kind!(DmaRests {
            until: any::<u64>().prop_map(SimTime::from_ps)
        }),
        kind!(RegisterRead {
            address: word(),
            value: word()
        }),
        kind!(RegisterWrite {
            address: word(),
            value: word()
        }),
        kind!(HandlerEnter {
            address: word(),
            event: word()
        }),
        kind!(HandlerExit),
        kind!(SemaphoreTaken),
        kind!(SemaphoreRefused),
        kind!(SemaphoreReleased),
        kind!(RingIndex {
            address: word(),
            value: word()
        }),
        kind!(HostReturn { what: text() }),
        kind!(FrameHead {
            fcs: word(),
            head: any::<[u32; 9]>()
        }),
        kind!(ProgramEnded { name: text() }),
        kind!(Breakpoint),
        kind!(MemoryWrite {
            address: word(),
            length: word()
        }),
        kind!(EventRaised {
            cpu: word(),
            bits: word()
        }),
        kind!(FurtherSemaphore {
            number: word(),
            effect: word()
        }),
    ]
}

fn event(kind: impl Strategy<Value = TraceKind>) -> impl Strategy<Value = TraceEvent> {
    let place = (any::<bool>(), 0..=u16::MAX).prop_map(|(node, number)| match node {
        true => Place::Node(number),
        false => Place::Switch(number),
    });
    let initiator = prop_oneof![(0u16..10), (0u16..515)]
        .prop_map(|number| Initiator::from_number(number).expect("a number in use"));
    let pc = option::of(any::<u32>());
    (any::<u64>(), place, initiator, pc, kind).prop_map(|(ps, place, initiator, pc, kind)| {
        let time = SimTime::from_ps(ps);
        TraceEvent {
            time,
            place,
            names: &NO_BOARD,
            initiator,
            pc,
            kind,
        }
    })
}

fn events(most: usize) -> impl Strategy<Value = Vec<TraceEvent>> {
    vec(event(prop::strategy::Union::new(kinds())), 0..most)
}

proptest! {
    #[test]
    fn what_is_written_comes_back(events in events(80)) {
        let (back, end) = read(&written(&events));
        prop_assert_eq!(end.unwrap().events, events.len() as u64);
        prop_assert_eq!(back, events);
    }

    /// Every field enters the hash, but for the instruction's address.
    #[test]
    fn different_events_have_different_hashes(
        pair in prop::sample::select(kinds()).prop_flat_map(|kind| [event(kind.clone()), event(kind)]),
    ) {
        let [mut a, b] = pair;
        a.pc = b.pc;
        prop_assert_eq!(digest(&a) == digest(&b), a == b);
        let (time, place, initiator) = (b.time, b.place, b.initiator);
        let kind = TraceEvent { time, place, initiator, ..a.clone() };
        prop_assert_eq!(digest(&kind) == digest(&b), kind == b);
        let pc = TraceEvent { pc: None, ..b.clone() };
        prop_assert_eq!(digest(&pc), digest(&b));
    }

    #[test]
    fn each_kind_comes_back(events in kinds().into_iter().map(event).collect::<Vec<_>>()) {
        let codes: Vec<_> = events.iter().map(|event| kind_code(&event.kind)).collect();
        let all: Vec<_> = (0..KIND_NAMES.len() as u8).collect();
        prop_assert_eq!(codes, all, "a strategy for each kind, by number");
        let names: Vec<_> = events.iter().map(|event| event.kind.name()).collect();
        prop_assert_eq!(names, KIND_NAMES);
        for event in &events {
            prop_assert_eq!(details_of(event.kind.name()), event.kind.details());
        }
        prop_assert_eq!(read(&written(&events)).0, events);
    }

    /// A changed byte is detected, or changes only data that no reader uses.
    #[test]
    fn damage_is_found(events in events(30), at in any::<prop::sample::Index>(), bits in 1..=u8::MAX) {
        let mut bytes = written(&events);
        let at = at.index(bytes.len());
        bytes[at] ^= bits;
        let (back, end) = read(&bytes);
        prop_assert!(end.is_err(), "byte {}", at);
        prop_assert!(events.starts_with(&back));
    }

    /// Random bytes with correct checksums.
    #[test]
    fn nonsense_does_no_harm(bytes in vec(any::<u8>(), 0..200), count in any::<u64>(), compressed: bool) {
        let page = Page::default();
        let chunks = ChunkWriter::new(Box::new(page.clone()), &header()).unwrap();
        let chunk = Chunk { count, compressed, ..Chunk::new(ChunkKind::EVENTS) };
        chunks.chunk(&chunk, &bytes).unwrap();
        chunks.finish(|_| {}).unwrap();
        let bytes = page.bytes();
        read(&bytes).0.iter().for_each(|event| assert!(!event.to_string().is_empty()));
    }
}

/// Some events of two nodes and a switch, in two chunks.
fn some_events() -> Vec<TraceEvent> {
    let name: Arc<str> = "frame sent".into();
    let event = |number: u32| TraceEvent {
        time: SimTime::from_ns(u64::from(number) * 10),
        place: [Place::Node(0), Place::Node(1), Place::Switch(0)][number as usize % 3],
        names: &NO_BOARD,
        initiator: Initiator::Cpu(0),
        pc: Some(0x4000 + 4 * number),
        kind: TraceKind::Probe {
            name: name.clone(),
            arguments: vec![number.wrapping_mul(0x9E37_79B9), number, u32::MAX],
        },
    };
    (0..12_000).map(event).collect()
}

#[test]
fn a_file_cut_off_anywhere_says_so() {
    let events = &some_events()[..40];
    let bytes = written(events);
    for length in 0..bytes.len() {
        let (back, end) = read(&bytes[..length]);
        let error = end.expect_err("cut off");
        assert!(
            matches!(error, TraceFileError::Truncated { .. }),
            "{length}: {error}"
        );
        assert!(back.is_empty() || back == events);
    }
    assert!(read(&bytes).1.is_ok());
}

#[test]
fn what_lies_before_the_cut_is_read() {
    let events = some_events();
    let bytes = written(&events);
    let (back, end) = read(&bytes[..bytes.len() - 2000]);
    let Err(TraceFileError::Truncated {
        whole_until,
        events: whole,
    }) = end
    else {
        panic!("{end:?}");
    };
    assert!(!back.is_empty() && back.len() < events.len());
    assert_eq!(whole, back.len() as u64);
    assert_eq!(back.last().map(|event| event.time), Some(whole_until));
    assert!(events.starts_with(&back));
}

#[test]
fn chunks_say_what_is_in_them() {
    let bytes = written(&some_events());
    let mut seen = Vec::new();
    let mut chunks = ChunkReader::new(&bytes[..]).unwrap();
    while let Some(chunk) = chunks.next_chunk().unwrap() {
        if chunk.kind == ChunkKind::EVENTS {
            seen.push(chunk);
        }
    }
    assert!(seen.len() > 1);
    let whole = seen.iter().map(|chunk| chunk.count).sum::<u64>();
    assert_eq!(whole, 12_000);
    for chunk in seen {
        assert_eq!(chunk.kinds, 1 << 5);
        assert_eq!(chunk.initiators, 1 << 5);
        assert_eq!(chunk.places, 0b111);
        assert!(chunk.first < chunk.last && chunk.compressed);
    }
    // Chunks that are not selected are skipped, and the end is found.
    let reader = TraceReader::new(&bytes[..], &[]).unwrap();
    let mut events = reader.into_events();
    let mut count = 0;
    while let Some(event) = events.next_of(|chunk| chunk.first > SimTime::ZERO).unwrap() {
        assert!(event.time > SimTime::ZERO);
        count += 1;
    }
    assert!((1..12_000).contains(&count));
    assert_eq!(events.end().map(|end| end.events), Some(12_000));
}

#[test]
fn foreign_files_and_other_versions_are_refused() {
    let check = |bytes: &[u8], reason: &str| {
        let error = TraceReader::new(bytes, &[])
            .expect_err("refused")
            .to_string();
        assert!(error.contains(reason), "{error}");
    };
    check(b"  20000.000000 n0 host call", "no trace file");
    check(b"\x7fELF", "no trace file");
    check(b"", "cut off");
    let mut other = written(&[]);
    other[8] = 9;
    check(&other, "version 9; this program reads version 1");
    let mut more = written(&[]);
    more.push(0);
    let error = read(&more).1.expect_err("too long").to_string();
    assert!(error.contains("something follows the end"), "{error}");
}

/// Two observers may write into one file; the last one to finish writes the end.
#[test]
fn others_may_write_into_the_same_file() {
    let page = Page::default();
    let chunks = ChunkWriter::new(Box::new(page.clone()), &header()).unwrap();
    let other = chunks.share();
    let mut trace = BinaryTrace::into_chunks(chunks, Details::empty());
    let events = &some_events()[..3];
    events.iter().for_each(|event| trace.event(event));
    trace.finish().unwrap();
    let mut form = Chunk::new(ChunkKind::INSTRUCTIONS);
    (form.cpu, form.place, form.count) = (Some(1), Some(Place::Switch(7)), 2);
    other.chunk(&form, b"lw sw").unwrap();
    other.finish(|_| {}).unwrap();
    let bytes = page.bytes();
    assert_eq!(read(&bytes).0, events);
    let mut found = None;
    let mut chunks = ChunkReader::new(&bytes[..]).unwrap();
    while let Some(chunk) = chunks.next_chunk().unwrap() {
        if chunk.kind == ChunkKind::INSTRUCTIONS {
            let mut bytes = Vec::new();
            chunks.read_bytes(&mut bytes).unwrap();
            found = Some((chunk, bytes));
        }
    }
    assert_eq!(found, Some((form, b"lw sw".to_vec())));
}

#[test]
fn details_that_others_asked_for_are_left_out() {
    let page = Page::default();
    let details = Details::SEMAPHORE;
    let mut trace = BinaryTrace::new(Box::new(page.clone()), &header(), details).unwrap();
    for kind in [
        TraceKind::SemaphoreTaken,
        TraceKind::HandlerExit,
        TraceKind::Reset,
    ] {
        let time = SimTime::ZERO;
        let (place, initiator) = (Place::Node(0), Initiator::Cpu(1));
        trace.event(&TraceEvent {
            time,
            place,
            names: &NO_BOARD,
            initiator,
            pc: None,
            kind,
        });
    }
    trace.finish().unwrap();
    let bytes = page.bytes();
    let kinds: Vec<_> = read(&bytes).0.into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [TraceKind::SemaphoreTaken, TraceKind::Reset]);
}
