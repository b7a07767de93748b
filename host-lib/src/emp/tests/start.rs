//! Start-up and its errors.

use defs::emp::control::{
    ACK_GROUP, COMMAND, EPOCH, FLOW_CONTROL, FRAME_BYTES, NODE, RECEIVE_TIMEOUT_US, RETRY_LIMIT,
    ROUTE_COUNT, TIMEOUT_US,
};
use defs::tigon2::regs::{
    CPU_PC, CPU_STATE, CpuState, HOST_CONTROL, MAC_ADDRESS_HIGH, MAC_ADDRESS_LOW,
};

use super::*;
use crate::board::ChipError;
use crate::fake::ROUTE_BASE;
use crate::firmware::ImageError;

#[test]
fn start_writes_all_that_the_firmware_waits_for() {
    let fake = Fake::new();
    fake.lock().sram.insert(COMMAND, 9);
    let mut config = config();
    config.epoch = 0xBEEF;
    config.ack_group = 5;
    config.frame_bytes = 9000;
    config.timeout_us = 77;
    config.retry_limit = 4;
    config.flow_control = true;
    config.receive_timeout = ReceiveTimeout::AfterUs(1 << 30);
    let emp = try_start(&fake, config).unwrap();
    assert_eq!(emp.nodes(), 3);
    assert_eq!(emp.free_descriptors(Direction::Transmit), 200);
    assert_eq!(emp.free_descriptors(Direction::Receive), 440);
    let machine = fake.lock();
    assert_eq!(machine.starts, 1);
    for (address, expected) in [
        (0x4000, 0x1111_1111),
        (NODE, 1),
        (ROUTE_COUNT, 3),
        (EPOCH, 0xBEEF),
        (ACK_GROUP, 5),
        (FRAME_BYTES, 9000),
        (TIMEOUT_US, 77),
        (RETRY_LIMIT, 4),
        (FLOW_CONTROL, 1),
        (RECEIVE_TIMEOUT_US, 1 << 30),
        (COMMAND, 0),
        (ROUTE_BASE, 0x0200),
        (ROUTE_BASE + 4, 0x0000_AB00),
        (ROUTE_BASE + 8, 0),
        (ROUTE_BASE + 16, 0x0200),
        (ROUTE_BASE + 36, 0x0000_AB02),
    ] {
        assert_eq!(machine.word(address), expected, "{address:#x}");
    }
    assert_eq!(machine.registers[&CPU_PC], 0x4004);
    assert_eq!(machine.registers[&MAC_ADDRESS_HIGH], 0x0200);
    assert_eq!(machine.registers[&MAC_ADDRESS_LOW], 0x0000_AB01);
}

#[test]
fn a_running_firmware_is_used_as_it_is() {
    let fake = Fake::new();
    fake.lock().boot();
    let emp = block_on(Emp::start(
        fake.clone().into(),
        fake.clone().into(),
        None,
        config(),
    ));
    assert!(emp.is_ok());
    assert!(!fake.lock().registers.contains_key(&CPU_PC));
}

/// Starts with machine and settings changed by `prepare`, and checks the error.
fn check_refused(prepare: impl Fn(&Fake, &mut Config), expected: impl Into<StartError>) {
    let fake = Fake::new();
    let mut config = config();
    prepare(&fake, &mut config);
    assert_eq!(try_start(&fake, config).err(), Some(expected.into()));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    check_refused(
        |_, config| config.node = 3,
        ConfigError::Node { node: 3, nodes: 3 },
    );
    for ack_group in [0, 17] {
        check_refused(
            |_, config| config.ack_group = ack_group,
            ConfigError::AckGroup { ack_group },
        );
    }
    for timeout_us in [0, 31, (1 << 26) + 1] {
        check_refused(
            |_, config| config.timeout_us = timeout_us,
            ConfigError::Timeout { timeout_us },
        );
    }
    check_refused(
        |_, config| config.retry_limit = 255,
        ConfigError::RetryLimit { retry_limit: 255 },
    );
    for receive_timeout_us in [0, (1 << 30) + 1] {
        check_refused(
            |_, config| config.receive_timeout = ReceiveTimeout::AfterUs(receive_timeout_us),
            ConfigError::ReceiveTimeout { receive_timeout_us },
        );
    }
    for frame_bytes in [45, 9001] {
        check_refused(
            |_, config| config.frame_bytes = frame_bytes,
            ConfigError::FrameBytes { frame_bytes },
        );
    }
    check_refused(
        |_, config| config.routes = vec![MacAddress([0; 6]); 257],
        StartError::TooManyRoutes {
            routes: 257,
            capacity: 256,
        },
    );
}

#[test]
fn a_board_that_does_not_answer_is_refused() {
    let silent = |waited_for| StartError::Silent {
        waited_for,
        polls: 10_000,
    };
    let bad_table = |address| StartError::TableAddress {
        table: "descriptors",
        address,
    };
    check_refused(
        |fake, _| {
            fake.lock().registers.insert(HOST_CONTROL, 4 << 28);
        },
        ChipError::Revision { revision: 4 },
    );
    check_refused(
        |fake, _| fake.lock().halts = false,
        ChipError::NotHalted {
            cpu: crate::board::Cpu::A,
            state: 0,
        },
    );
    check_refused(
        // A READY word of an earlier run must be ignored.
        |fake, _| {
            let mut machine = fake.lock();
            machine.boot();
            machine.boots = false;
        },
        silent("the firmware to be ready"),
    );
    check_refused(
        |fake, _| fake.lock().takes_commands = false,
        silent("the firmware to take the start command"),
    );
    for address in [0x1002, 0x7F_F000] {
        check_refused(
            |fake, _| fake.lock().descriptor_base = address,
            bad_table(address),
        );
    }
}

#[test]
fn start_reports_a_cpu_that_stops_and_an_image_that_does_not_fit() {
    let fake = Fake::new();
    {
        let mut machine = fake.lock();
        machine.registers.insert(CPU_STATE, CpuState::HALT.bits());
        machine.registers.insert(CPU_PC, 0x5678);
    }
    let result = block_on(Emp::start(fake.clone().into(), fake.into(), None, config()));
    assert_eq!(
        result.err(),
        Some(StartError::Halted {
            waited_for: "the firmware to be ready",
            program_counter: 0x5678,
        })
    );
    let fake = Fake::new();
    let image = Firmware {
        segments: vec![(2, vec![0])],
        entry: 0,
    };
    let result = block_on(Emp::start(
        fake.clone().into(),
        fake.into(),
        Some(&image),
        config(),
    ));
    assert_eq!(
        result.err(),
        Some(ImageError::Unaligned { address: 2 }.into())
    );
}
