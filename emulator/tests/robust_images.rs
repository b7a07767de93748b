//! No image can make emulator or driver fail: files of any bytes in the Linux format, and firmware that
//! reports invalid data to its driver.
//!
//! `src/image/tests` changes ELF images at random. Seeds are in `corpus/images/`: a file in hexadecimal;
//! `#` starts a comment, the first one is the seed's title.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

#[path = "robust_images/hostile.rs"]
mod hostile;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cases::cases;
use emulator::image::Image;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Timing;
use host_lib::acenic::{AceNic, Command, Config, SendOptions};
use host_lib::firmware::Firmware;
use host_lib::firmware::linux::LinuxFirmware;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const SIZES: [SramSize; 3] = [SramSize::K512, SramSize::M1, SramSize::M2];
/// Timeout of a firmware's start report, which few of these reach.
const START_TIMEOUT_NS: u64 = 2_000_000;
/// Time by which every driver program has ended.
const END: SimTime = SimTime::from_us(2_000_000);

/// Starts a firmware with its driver and uses all functions of the driver. Returns the number of mistakes
/// that the driver found.
fn drive(sram: SramSize, firmware: Firmware) -> u64 {
    let timing = Timing::built_in("tigon2-88mhz").unwrap();
    let mut board = Tigon2::new(sram, timing);
    board.fabric.eeprom.set_mac_address([2, 0, 0, 0, 0, 1]);
    let mut world = World::new(vec![Node::new(0, board, &timing.host, 16)]);
    let config = Config {
        start_timeout_ns: START_TIMEOUT_NS,
        ..Config::default()
    };
    let complaints = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&complaints);
    world.nodes[0]
        .programs
        .spawn("driver", |machine| async move {
            let nic =
                AceNic::start(machine.clone().into(), machine.into(), &firmware, config).await;
            let mut nic = nic.expect("whatever the firmware is, it is loaded");
            // The firmware may fail; the driver must continue.
            let _ = nic.wait_running().await;
            let _ = nic.fill_rings().await;
            let commands = [
                Command::StackUp,
                Command::ResetJumbo,
                Command::LoadStatistics,
            ];
            for command in commands.into_iter().cycle().take(12) {
                let _ = nic.command(command).await;
                let _ = nic.send(&[7; 100], SendOptions::default()).await;
                let work = nic.wait(100_000).await.expect("memory is mapped");
                count.fetch_add(work.mistakes.len() as u64, Ordering::Relaxed);
                nic.statistics().expect("memory is mapped");
                let _ = nic.trace().await;
            }
            let _ = nic.halt().await;
        });
    let limits = RunLimits {
        max_time: Some(END),
        ..RunLimits::default()
    };
    assert_eq!(world.run(&limits), RunEnd::Completed);
    complaints.load(Ordering::Relaxed)
}

/// Checks a file, which may be refused or contain any firmware.
fn check(file: &[u8], sram: SramSize) {
    let limits = Tigon2::image_limits(sram.bytes() as u32);
    let _ = Image::parse(file, &limits);
    if let Ok(linux) = LinuxFirmware::parse(file, sram.bytes() as u32) {
        let firmware = linux.firmware;
        for (address, bytes) in &firmware.segments {
            assert!(*address as usize + bytes.len() <= sram.bytes());
        }
        drive(sram, firmware);
    }
}

/// A file in the Linux format.
fn linux_file(payload: &[u8]) -> Vec<u8> {
    let header = [0x0C04_0B00, hostile::BASE, hostile::BASE];
    let header = header.iter().flat_map(|word: &u32| word.to_be_bytes());
    header.chain(payload.iter().copied()).collect()
}

#[test]
fn seeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/images");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        println!("{}", path.display());
        let text = fs::read_to_string(path).unwrap();
        assert!(text.starts_with("# "), "a seed says what it covers");
        let lines = text.lines().map(|line| line.split('#').next().unwrap());
        let file: Vec<u8> = lines
            .flat_map(str::split_whitespace)
            .flat_map(|word| (0..word.len()).step_by(2).map(move |at| &word[at..at + 2]))
            .map(|digits| u8::from_str_radix(digits, 16).unwrap())
            .collect();
        SIZES.iter().for_each(|sram| check(&file, *sram));
    }
}

/// The driver detects invalid data: otherwise the test would prove nothing.
#[test]
fn lies_are_noticed() {
    let mut runner = TestRunner::deterministic();
    let mut complaints = || {
        let payload = hostile::payload().new_tree(&mut runner).unwrap().current();
        let file = LinuxFirmware::parse(&linux_file(&payload), SramSize::M1.bytes() as u32);
        drive(SramSize::M1, file.unwrap().firmware)
    };
    let noticed = (0..16).filter(|_| complaints() > 0).count();
    assert!(noticed > 8, "{noticed}");
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_bytes(
        header in vec(prop_oneof![any::<u32>(), (0x1000..0x8_0000u32), Just(0x0C04_0B00)], 0..4),
        rest in vec(any::<u8>(), 0..40),
    ) {
        let words = header.iter().flat_map(|word| word.to_be_bytes());
        let file: Vec<u8> = words.chain(rest).collect();
        check(&file, SramSize::K512);
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn a_firmware_that_lies(payload in hostile::payload()) {
        let file = linux_file(&payload);
        let linux = LinuxFirmware::parse(&file, SramSize::K512.bytes() as u32).unwrap();
        drive(SramSize::K512, linux.firmware);
    }

    #[test]
    fn a_firmware_with_changed_bytes(
        payload in hostile::payload(),
        changes in vec((any::<Index>(), any::<u8>()), 1..12),
    ) {
        let mut file = linux_file(&payload);
        for (index, byte) in changes {
            let at = index.index(0x100);
            file[at] = byte;
        }
        check(&file, SramSize::M1);
    }
}
