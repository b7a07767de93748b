//! One board with the firmware and a driver; the test is the other end of the wire.

use lanigon_worlds::boards::KB;
use lanigon_worlds::profile::built_in;
use std::time::Duration;

use emulator::board::Board;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use emulator::wire::ethernet::frame::Frame;
use host_lib::acenic::{AceNic, Command, Config, Event, LinkChange, ServiceResults, Statistics};
use host_lib::address::MacAddress;
use lanigon_worlds::end::ResultSlot;
use lanigon_worlds::images;
use lanigon_worlds::nodes;

pub type Nic = AceNic;

/// Limit of simulated time of all tests.
const LIMIT: SimTime = SimTime::from_us(1_000_000);
/// Time at which programs have opened the interface: frames arrive from here on.
pub const FRAMES_FROM: SimTime = SimTime::from_us(30_000);

/// The board's own address.
pub const OWN: MacAddress = MacAddress([0x02, 0, 0, 0xAC, 0xE0, 0]);
/// The address of another node.
pub const OTHER: MacAddress = MacAddress([0x02, 0, 0, 0xAC, 0xE0, 1]);

/// Driver settings of the tests.
pub fn config() -> Config {
    Config {
        address: Some(OWN),
        // After most tests have ended.
        statistics_ticks: 300_000,
        ..Config::default()
    }
}

/// A board, and a host program that has not started.
pub struct Bench<T> {
    pub node: Node,
    result: ResultSlot<T>,
}

/// A board with this much memory; `program` runs once the firmware has been started.
pub fn bench_with<T, F>(
    sram: u32,
    config: Config,
    program: impl FnOnce(Nic) -> F + Send + 'static,
) -> Bench<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let image = images::own_image("acenic", sram).unwrap();
    let profile = built_in("tigon2-88mhz").unwrap();
    let mut node = nodes::node(0, &image, &profile, &[], sram).unwrap();
    let link = node.board::<Tigon2>().fabric.link;
    node.board_mut::<Tigon2>().plug_in(&link);
    let firmware = images::firmware(&image);
    let result = ResultSlot::default();
    let left = result.clone();
    node.programs.spawn("driver", |machine| async move {
        let nic = AceNic::start(machine.clone().into(), machine.into(), &firmware, config).await;
        left.set(program(nic.unwrap()).await);
    });
    Bench { node, result }
}

/// A board with 1 MB; `program` runs once the interface is up.
pub fn bench<T, F>(config: Config, program: impl FnOnce(Nic) -> F + Send + 'static) -> Bench<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    bench_with(1024 * KB, config, |mut nic| async move {
        open(&mut nic).await;
        program(nic).await
    })
}

/// Brings the interface up, from the start.
pub async fn open(nic: &mut Nic) {
    nic.wait_running().await.unwrap();
    nic.fill_rings().await.unwrap();
    nic.command_taken(Command::StackUp).await.unwrap();
    let up = Event::Link(LinkChange::Up);
    if !nic.history().iter().any(|reported| reported.event == up) {
        nic.wait_for(up, "the link", 500_000_000).await.unwrap();
    }
}

/// Receives frames until `at`.
pub async fn work_until(nic: &mut Nic, at: SimTime) -> ServiceResults {
    let mut all = ServiceResults::default();
    loop {
        let rest = nic.left_ns(at.ps().max(nic.system().now_ps()));
        if rest == 0 {
            assert_eq!(all.mistakes, []);
            return all;
        }
        let work = nic.wait(rest).await.unwrap();
        all.interrupted |= work.interrupted;
        all.received.extend(work.received);
        all.events.extend(work.events);
        all.mistakes.extend(work.mistakes);
        all.sent += work.sent;
    }
}

/// Receives frames for `us`.
pub async fn work_for(nic: &mut Nic, us: u64) -> ServiceResults {
    let end = SimTime::from_ps(nic.system().now_ps()) + SimTime::from_us(us);
    work_until(nic, end).await
}

/// Gives a command and collects its results for half a millisecond.
pub async fn command(nic: &mut Nic, command: Command) -> Vec<Event> {
    nic.command_taken(command).await.unwrap();
    let work = work_for(nic, 500).await;
    work.events.iter().map(|reported| reported.event).collect()
}

/// The next report of the statistics.
pub async fn statistics(nic: &mut Nic) -> Statistics {
    nic.next_statistics().await.unwrap()
}

/// Names in the firmware's trace.
pub async fn trace_names(nic: &mut Nic) -> Vec<String> {
    let records = nic.trace().await.unwrap().into_iter();
    records
        .map(|record| record.name.trim_end().into())
        .collect()
}

/// Bytes of a frame: addresses, an unknown type, and a pattern that depends on `seed`.
pub fn bytes(to: MacAddress, from: MacAddress, length: usize, seed: usize) -> Vec<u8> {
    let mut bytes = [&to.0[..], &from.0, &[0x88, 0xB5]].concat();
    bytes.extend((bytes.len()..length).map(|i| (i * 7 + i / 256 + seed * 13) as u8));
    bytes
}

/// A frame for the board.
pub fn arriving(length: usize, seed: usize) -> Vec<u8> {
    bytes(OWN, OTHER, length, seed)
}

/// A frame from the board.
pub fn leaving(length: usize, seed: usize) -> Vec<u8> {
    bytes(OTHER, OWN, length, seed)
}

/// One's-complement sum of big-endian halfwords.
pub fn sum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2);
    let sum: u64 = pairs
        .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)))
        .sum();
    match (sum % 0xFFFF) as u16 {
        0 if sum != 0 => 0xFFFF,
        rest => rest,
    }
}

/// Offsets of the IP header, and of the UDP or TCP header.
pub const IP: usize = 14;
pub const TRANSPORT: usize = 34;

/// A frame with a TCP or UDP packet whose checksum is 0, and its pseudo header.
pub fn packet(from: MacAddress, to: MacAddress, tcp: bool, payload: usize) -> (Vec<u8>, Vec<u8>) {
    let mut frame = [&to.0[..], &from.0, &[8, 0]].concat();
    let (protocol, header) = if tcp { (6, 20) } else { (17, 8) };
    let length = (header + payload) as u16;
    let [high, low] = (20 + length).to_be_bytes();
    let addresses = [10, 1, 2, 3, 10, 9, 8, 7];
    frame.extend([0x45, 0, high, low, 0, 1, 0x40, 0, 64, protocol, 0, 0]);
    frame.extend(addresses);
    let ip = (!sum(&frame[IP..])).to_be_bytes();
    frame[IP + 10..][..2].copy_from_slice(&ip);
    frame.extend((0..length).map(|i| (i * 5 + 1) as u8));
    let field = TRANSPORT + if tcp { 16 } else { 6 };
    frame[field..][..2].fill(0);
    let [high, low] = length.to_be_bytes();
    let pseudo = [&addresses[..], &[0, protocol, high, low]].concat();
    (frame, pseudo)
}

impl<T> Bench<T> {
    /// Frames reach the board from [`FRAMES_FROM`] on, one every `gap`.
    pub fn arrive(&mut self, frames: impl IntoIterator<Item = Frame>, gap: Duration) {
        let mut at = FRAMES_FROM;
        for frame in frames {
            let span = SimTime::from_ns(8 * (frame.length_with_fcs() + 20));
            self.node.frame_arrives(frame, at);
            at += span + SimTime::from_ns(gap.as_nanos() as u64);
        }
    }

    /// Runs until the program has ended; returns its result.
    pub fn run(&mut self) -> T {
        while !self.node.programs.all_ended() && self.node.now() < LIMIT {
            let next = self.node.now() + SimTime::from_us(10);
            self.node.run_until(next);
        }
        if let Some(result) = self.result.take() {
            return result;
        }
        panic!(
            "the program does not end: {:?}",
            self.node.programs.describe()
        );
    }

    /// Frames sent by the board.
    pub fn sent(&mut self) -> Vec<Vec<u8>> {
        let departures = self.node.take_departures().into_iter();
        departures
            .map(|departure| {
                assert!(departure.unit.is_intact());
                departure.unit.bytes().to_vec()
            })
            .collect()
    }
}
