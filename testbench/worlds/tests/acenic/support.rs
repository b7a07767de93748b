//! Shared parts of the tests: a pair of boards, and two programs on them.

use lanigon_worlds::boards::KB;
use lanigon_worlds::profile::built_in;
use std::future::Future;
use std::sync::{Arc, LazyLock};

use defs::acenic::Link;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use host_lib::acenic::{Command, Config, Event, LinkChange, ReceivedFrame, SendOptions};
use host_lib::emp::MacAddress;
use host_lib::window::System;
use lanigon_worlds::acenic::{self, AceFirmware, Nic};
use lanigon_worlds::images::image_folder;

pub static FIRMWARE: LazyLock<AceFirmware> =
    LazyLock::new(|| acenic::read_firmware(&image_folder().join("acenic"), 512 * KB).unwrap());

/// Time at which both interfaces are open.
const OPEN_PS: u64 = 50_000_000_000;
/// Longest duration of a negotiation.
const LINK_NS: u64 = 200_000_000;
/// Time after which missing frames are considered lost.
pub const QUIET_NS: u64 = 20_000_000;

pub type TestResult<T> = Result<T, String>;

/// Converts an error to a program's error.
pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

pub fn pair(link: Link) -> World {
    let profile = built_in("tigon2-88mhz").unwrap();
    acenic::pair(&FIRMWARE, &profile, 1024 * KB, link).unwrap()
}

/// Runs a program on each node of `world` until both have ended; returns their results.
#[track_caller]
pub fn run_world<A, B, FA, FB>(
    world: &mut World,
    configs: [Config; 2],
    first: impl FnOnce(Nic) -> FA + Send + 'static,
    second: impl FnOnce(Nic) -> FB + Send + 'static,
) -> (A, B)
where
    A: Send + 'static,
    B: Send + 'static,
    FA: Future<Output = TestResult<A>> + Send + 'static,
    FB: Future<Output = TestResult<B>> + Send + 'static,
{
    let firmware = Arc::new(FIRMWARE.firmware.clone());
    let [config_a, config_b] = configs;
    let a = acenic::spawn(world, 0, &firmware, config_a, first);
    let b = acenic::spawn(world, 1, &firmware, config_b, second);
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(20_000_000)),
        ..RunLimits::default()
    };
    assert_eq!(world.run(&limits), RunEnd::Completed);
    let result = (a.take().unwrap(), b.take().unwrap());
    match result {
        (Ok(a), Ok(b)) => (a, b),
        (a, b) => panic!("first: {:?}, second: {:?}", a.err(), b.err()),
    }
}

/// Like [`run_both`], on boards of their own.
#[track_caller]
pub fn run<A, B, FA, FB>(
    configs: [Config; 2],
    first: impl FnOnce(Nic) -> FA + Send + 'static,
    second: impl FnOnce(Nic) -> FB + Send + 'static,
) -> (A, B)
where
    A: Send + 'static,
    B: Send + 'static,
    FA: Future<Output = TestResult<A>> + Send + 'static,
    FB: Future<Output = TestResult<B>> + Send + 'static,
{
    let mut world = pair(configs[0].link);
    run_world(&mut world, configs, first, second)
}

/// Opens the interface, and waits until both are open.
pub async fn open(nic: &mut Nic) -> TestResult<()> {
    nic.wait_running().await.map_err(text)?;
    nic.fill_rings().await.map_err(text)?;
    command(nic, Command::StackUp).await?;
    let up = Event::Link(LinkChange::Up);
    if !nic.history().iter().any(|reported| reported.event == up) {
        nic.wait_for(up, "the link", LINK_NS).await.map_err(text)?;
    }
    let rest_ps = OPEN_PS.saturating_sub(nic.system().now_ps());
    nic.system_mut().compute(rest_ps / 1000).await;
    Ok(())
}

/// Gives a command, and waits until it is taken.
pub async fn command(nic: &mut Nic, command: Command) -> TestResult<()> {
    nic.command_taken(command).await.map_err(text)
}

/// Sends a frame and waits until the firmware has it.
pub async fn send(nic: &mut Nic, frame: &[u8], options: SendOptions) -> TestResult<()> {
    nic.send(frame, options).await.map_err(text)?;
    drain(nic).await
}

/// Waits until the firmware has taken all frames.
pub async fn drain(nic: &mut Nic) -> TestResult<()> {
    while nic.send_pending() > 0 {
        let work = nic.wait(QUIET_NS).await.map_err(text)?;
        if !work.interrupted {
            return Err(format!(
                "{} descriptors are never taken",
                nic.send_pending()
            ));
        }
    }
    Ok(())
}

/// Receives frames until none arrives for a while.
pub async fn receive_all(nic: &mut Nic) -> TestResult<Vec<ReceivedFrame>> {
    let mut received = Vec::new();
    loop {
        let work = nic.wait(QUIET_NS).await.map_err(text)?;
        if !work.mistakes.is_empty() {
            return Err(format!("{:?}", work.mistakes));
        }
        if !work.interrupted {
            return Ok(received);
        }
        received.extend(work.received);
    }
}

/// Receives frames until `end_us`.
pub async fn receive_until(nic: &mut Nic, end_us: u64) -> TestResult<Vec<ReceivedFrame>> {
    let mut received = Vec::new();
    loop {
        let left_ns = nic.left_ns(end_us * 1_000_000);
        if left_ns == 0 {
            return Ok(received);
        }
        let work = nic.wait(left_ns).await.map_err(text)?;
        received.extend(work.received);
    }
}

/// Waits until `end_us`.
pub async fn sleep_until(nic: &mut Nic, end_us: u64) {
    let left_ns = nic.left_ns(end_us * 1_000_000);
    nic.system_mut().compute(left_ns).await;
}

/// Processes events until this event arrives.
pub async fn expect_event(nic: &mut Nic, event: Event) -> TestResult<()> {
    loop {
        let work = nic.wait(QUIET_NS).await.map_err(text)?;
        if work.has(event) {
            return Ok(());
        }
        if !work.interrupted {
            return Err(format!("no event {event:?}: {:?}", nic.history()));
        }
    }
}

/// The address of a node's board.
pub fn address(node: u16) -> MacAddress {
    lanigon_worlds::nodes::mac_address(node)
}

/// A frame of `length` bytes to `destination` with counting contents.
pub fn frame(destination: MacAddress, length: usize) -> Vec<u8> {
    let mut frame = Vec::from(destination.0);
    frame.extend(address(0).0);
    frame.extend([0x88, 0xB5]);
    frame.extend((0..length.saturating_sub(14)).map(|index| index as u8));
    frame.truncate(length);
    frame
}

/// An IPv4 packet with UDP in an Ethernet frame: the IP header's checksum is right, UDP's is 0.
pub fn udp_frame(destination: MacAddress, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::from(destination.0);
    frame.extend(address(0).0);
    frame.extend([0x08, 0x00]);
    let length = (20 + 8 + payload.len()) as u16;
    let mut ip = vec![0x45, 0];
    ip.extend(length.to_be_bytes());
    ip.extend([0x12, 0x34, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let sum = !ones_sum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(ip);
    frame.extend([0x30, 0x39, 0xD4, 0x31]);
    frame.extend((8 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(payload);
    frame
}

/// The one's-complement sum of big-endian halfwords.
pub fn ones_sum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)))
        .sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    ((folded & 0xFFFF) + (folded >> 16)) as u16
}
