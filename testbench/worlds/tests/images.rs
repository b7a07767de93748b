//! The example images, each with a host program as its driver.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use lanigon_worlds::boards::KB;
use lanigon_worlds::profile::built_in;
use std::time::Duration;

use defs::probe::Kind;
use defs::tigon2::map::{GENERAL_BASE, mailbox_low};
use emulator::board::Board;
use emulator::host::machine::Machine;
use emulator::image::{Image, LinesError};
use emulator::observe::event::TraceKind;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::wire::ethernet::frame::Frame;
use host_lib::board::BoardWindow;
use host_lib::window::{System, SystemPort, VirtualAddress};
use lanigon_worlds::end::ResultSlot;
use lanigon_worlds::images;
use lanigon_worlds::nodes;

const SRAM: u32 = 512 * KB;
/// Limit of simulated time of all images.
const LIMIT: SimTime = SimTime::from_us(100_000);

/// A board with an image, and a host program that has not started.
struct Bench<T> {
    node: Node,
    result: ResultSlot<T>,
}

/// A host program's access to board and machine.
struct Host {
    board: BoardWindow,
    machine: Machine,
}

impl Host {
    async fn wait(&mut self, span: Duration) {
        self.machine.compute(span.as_nanos() as u64).await;
    }

    /// Writes a mailbox and waits until the firmware has cleared it.
    async fn ask(&mut self, mailbox: u32, value: u32) {
        let word = mailbox_low(mailbox);
        self.board.write_sram(word, value).await;
        self.board.poll_sram(word, u32::MAX, 0, "the answer").await;
    }
}

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// A board; `program` runs once the image has been loaded and started.
fn bench<T, F>(name: &str, program: impl FnOnce(Host) -> F + Send + 'static) -> Bench<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let image: Image = images::own_image(name, SRAM).unwrap();
    let profile = built_in("tigon2-88mhz").unwrap();
    let mut node = nodes::node(0, &image, &profile, &[], SRAM).unwrap();
    let link = node.board::<Tigon2>().fabric.link;
    node.board_mut::<Tigon2>().plug_in(&link);
    node.trace.keep(true);
    let firmware = images::firmware(&image);
    let result = ResultSlot::default();
    let left = result.clone();
    node.programs.spawn("test", |machine| async move {
        let mut board = BoardWindow::new(machine.clone().into());
        board.reset().await.unwrap();
        firmware.load(&mut board).await.unwrap();
        board.start_cpu_a(firmware.entry).await;
        left.set(program(Host { board, machine }).await);
    });
    Bench { node, result }
}

impl<T> Bench<T> {
    /// Runs until the host program has ended; returns its result.
    fn run(&mut self) -> T {
        while !self.node.programs.all_ended() && self.node.now() < LIMIT {
            self.node.run_until(self.node.now() + SimTime::from_us(10));
        }
        self.result.take().expect("the program ends in time")
    }

    /// Log lines of the firmware.
    fn log(&mut self) -> Vec<String> {
        let events = self.node.trace.take().into_iter();
        events
            .filter_map(|event| match event.kind {
                TraceKind::Log { text } => Some(text.to_string()),
                TraceKind::GuestMistake { text } => panic!("{text}"),
                _ => None,
            })
            .collect()
    }
}

/// The number in a text after `before`.
fn number_after(text: &str, before: &str) -> u32 {
    let (_, rest) = text.split_once(before).expect(before);
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap();
    digits.parse().expect(text)
}

/// Line number (from 1) of the only occurrence of `what` in a source.
fn line_of(source: &str, what: &str) -> usize {
    let mut lines = (1..).zip(source.lines());
    let (line, _) = lines.find(|(_, text)| text.contains(what)).expect(what);
    line
}

#[test]
fn hello_greets_counts_and_panics() {
    let mut bench = bench("hello", |mut host| async move {
        host.wait(us(50)).await;
        host.ask(3, 77).await;
        host.ask(31, 0xFFFF_FFFF).await;
        let before = host.board.halted_at().await;
        host.board.write_sram(mailbox_low(0), 0).await;
        host.wait(us(50)).await;
        (before, host.board.halted_at().await)
    });
    let (before, after) = bench.run();
    assert_eq!(before, None);
    assert!(after.is_some(), "a panic halts the CPU");
    assert!(bench.node.board::<Tigon2>().stop_reason(0).is_some());
    let log = bench.log();
    let source = include_str!("../../../firmware/images/hello/src/main.rs");
    let panics = line_of(source, "assert!(word != 0");
    assert_eq!(log.len(), 4, "{log:?}");
    assert!(number_after(&log[0], "hello at ") < 1000, "{log:?}");
    assert_eq!(log[1], "word 1 in mailbox 3: 0x4d");
    assert_eq!(log[2], "word 2 in mailbox 31: 0xffffffff");
    assert!(log[3].starts_with("panic at "), "{log:?}");
    let place = format!("images/hello/src/main.rs:{panics}");
    assert!(log[3].ends_with(&place), "{}: not {place}", log[3]);
}

#[test]
fn timer_ticks_without_drift() {
    let mut bench = bench("timer-tick", |mut host| async move {
        host.wait(us(10_500)).await;
    });
    bench.run();
    let log = bench.log();
    assert_eq!(log.len(), 10, "{log:?}");
    let first = number_after(&log[0], "at ");
    for (line, tick) in log.iter().zip(0..) {
        let expected = format!("tick {} at {} us", tick + 1, first + 1000 * tick);
        assert_eq!(*line, expected);
    }
}

#[test]
fn every_mailbox_echoes() {
    let values = [41, 0xFFFF_FFFF, 0x8000_0000, 1];
    let mut bench = bench("mailbox-echo", move |mut host| async move {
        let mut echoes = Vec::new();
        for mailbox in 0..32 {
            let value = values[mailbox as usize % values.len()];
            host.ask(mailbox, value).await;
            let echo = host.board.read_sram(GENERAL_BASE + 4 * mailbox).await;
            echoes.push((value, echo));
        }
        echoes
    });
    for (value, echo) in bench.run() {
        assert_eq!(echo, value.wrapping_add(1));
    }
}

/// Size of the margins around a copy's target, which must not change.
const MARGIN: u64 = 64;

/// Requests a copy of `length` bytes between buffers with these page offsets; returns the source bytes, and
/// the target bytes with margins.
async fn copy(host: &mut Host, from: u64, to: u64, length: u32) -> (Vec<u8>, Vec<u8>) {
    let bytes: Vec<u8> = (0..length).map(|i| (i * 7 + length) as u8).collect();
    let source = host.machine.allocate(4096).unwrap().0 + from;
    let target = host.machine.allocate(4096).unwrap().0 + to;
    host.machine
        .write_memory(VirtualAddress(source), &bytes)
        .unwrap();
    for (word, place) in [(0, source), (4, target)] {
        let place = VirtualAddress(place);
        let pages = host.machine.translate(place, 1).await.unwrap();
        let low = u32::try_from(pages[0].0).unwrap();
        host.board.write_sram(GENERAL_BASE + word, low).await;
    }
    host.board.write_sram(GENERAL_BASE + 8, length).await;
    host.ask(2, 1).await;
    let mut copied = vec![0; length as usize + 2 * MARGIN as usize];
    host.machine
        .read_memory(VirtualAddress(target - MARGIN), &mut copied)
        .unwrap();
    (bytes, copied)
}

#[test]
fn dma_copies_every_byte_and_no_other() {
    const CASES: [(u64, u64, u32); 7] = [
        (0, 64, 4),
        (3, 65, 2000),
        (63, 127, 1),
        (1, 2048, 65),
        (4095, 100, 1),
        (100, 4096 - 64 - 3, 3),
        (8, 72, 3900),
    ];
    let mut bench = bench("dma-copy", |mut host| async move {
        host.wait(us(50)).await;
        let mut results = Vec::new();
        for (from, to, length) in CASES {
            results.push(copy(&mut host, from, to, length).await);
        }
        results
    });
    for ((bytes, copied), case) in bench.run().into_iter().zip(CASES) {
        let margin = vec![0; MARGIN as usize];
        let expected = [&margin[..], &bytes, &margin].concat();
        assert!(copied == expected, "{case:?}");
    }
    let lines: Vec<_> = CASES.map(|(.., n)| format!("copied {n} bytes")).into();
    assert_eq!(bench.log(), lines);
}

#[test]
fn frames_come_back_with_exchanged_addresses() {
    const LENGTHS: [usize; 8] = [60, 61, 64, 100, 1514, 63, 1500, 9018];
    let mut bench = bench("frame-echo", |mut host| async move {
        host.wait(us(80_000)).await;
    });
    // More frames than the transmit buffer's 64 KB can hold: it wraps.
    let frames: Vec<Frame> = (0..200)
        .map(|number| {
            let length = LENGTHS[number % LENGTHS.len()];
            Frame::new((0..length).map(|i| (i * 3 + number) as u8).collect())
        })
        .collect();
    let mut at = SimTime::from_us(3_000);
    for frame in &frames {
        bench.node.frame_arrives(frame.clone(), at);
        at += SimTime::from_ns(5_000 + 100 * frame.length_with_fcs());
    }
    assert!(at < SimTime::from_us(75_000));
    bench.run();
    assert_eq!(bench.log(), Vec::<String>::new());
    let echoes = bench.node.take_departures();
    assert_eq!(echoes.len(), frames.len());
    for (echo, frame) in echoes.iter().zip(&frames) {
        let bytes = frame.bytes();
        let expected = [&bytes[6..12], &bytes[..6], &bytes[12..]].concat();
        assert!(echo.unit.is_intact());
        assert!(echo.unit.bytes() == expected, "{} bytes", bytes.len());
    }
}

#[test]
fn damaged_frames_do_not_come_back() {
    let mut bench = bench("frame-echo", |mut host| async move {
        host.wait(us(4_000)).await;
    });
    let bytes = vec![0x55; 100];
    let damaged = Frame::with_fcs(bytes.clone(), 1);
    bench.node.frame_arrives(damaged, SimTime::from_us(3_000));
    bench
        .node
        .frame_arrives(Frame::new(bytes), SimTime::from_us(3_100));
    bench.run();
    assert_eq!(bench.log(), ["dropped 100 bytes, status 0x1"]);
    assert_eq!(bench.node.take_departures().len(), 1);
}

#[test]
fn two_cpus_add_under_the_semaphore() {
    let mut bench = bench("semaphore-two-cpus", |mut host| async move {
        host.wait(us(8_000)).await;
        host.board.read_sram(GENERAL_BASE).await
    });
    assert_eq!(bench.run(), 2000);
    assert_eq!(bench.log(), ["sum 2000 of 2000"]);
    for (core, name) in bench.node.board::<Tigon2>().cores.iter().zip(["A", "B"]) {
        assert!(core.core.instructions() > 10_000, "CPU {name}");
    }
}

#[test]
fn two_cpus_pass_each_other_numbers_both_ways_at_once() {
    let mut bench = bench("queue-two-cpus", |mut host| async move {
        let done = GENERAL_BASE + 4;
        host.board.poll_sram(done, u32::MAX, 1, "the end").await;
    });
    bench.run();
    assert_eq!(bench.log(), ["sums 500500 and 500500"]);
}

#[test]
fn code_knows_its_lines() {
    let image = images::own_image("timer-tick", SRAM).unwrap();
    let lines = image.lines().unwrap();
    let files = lines.files().unwrap();
    assert!(files.iter().all(|file| !file.starts_with('/')), "{files:?}");
    let source = include_str!("../../../firmware/images/timer-tick/src/main.rs");
    let logs = line_of(source, "log!(") as u32;
    let probe = image.probes.iter().find(|probe| probe.kind == Kind::Log);
    let address = probe.unwrap().address;
    let frames = lines.at(address).unwrap();
    let names: Vec<_> = frames
        .iter()
        .map(|frame| frame.function.as_deref())
        .collect();
    assert_eq!(names, [Some("on_timer"), Some("TIMER")]);
    let file = "images/timer-tick/src/main.rs";
    assert_eq!(frames[0].to_string(), format!("on_timer at {file}:{logs}"));
    for file in [file, "timer-tick/src/main.rs"] {
        let from = lines.addresses(file, logs).unwrap();
        assert!(from.iter().any(|&from| from <= address), "{from:x?}");
        assert!(matches!(
            lines.addresses(file, 1),
            Err(LinesError::NoCode { next: Some(_), .. })
        ));
    }
    let nowhere = lines.addresses("timer-tick/src/other.rs", logs);
    assert!(matches!(nowhere, Err(LinesError::NoFile { .. })));
    assert!(lines.at(0x8000).unwrap().is_empty());
}
