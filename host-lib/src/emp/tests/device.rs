//! One board, several programs.

use defs::emp::control::EPOCH;
use defs::tigon2::regs::{CPU_STATE, CpuState};

use super::*;

fn open(device: &Device, fake: &Fake) -> Result<Node, OpenError> {
    block_on(device.open(
        fake.clone().into(),
        fake.clone().into(),
        &firmware(),
        config(),
    ))
}

#[test]
fn one_program_at_a_time_has_the_board() {
    let (device, fake) = (Device::new(), Fake::new());
    let first = open(&device, &fake).unwrap();
    assert_eq!(open(&device.clone(), &fake).err(), Some(OpenError::Busy));
    assert_eq!(fake.lock().starts, 1, "a refused program touches nothing");
    block_on(first.close());
    let state = fake.lock().registers[&CPU_STATE];
    assert!(CpuState::from_bits_retain(state).contains(CpuState::HALT));
    // A program that ends without closing the device closes it too.
    drop(open(&device, &fake).unwrap());
    assert!(open(&device, &fake).is_ok());
    assert_eq!(fake.lock().starts, 3);
}

#[test]
fn each_opening_has_a_later_epoch() {
    let (device, fake) = (Device::after_epoch(0xFFFE), Fake::new());
    for epoch in [0xFFFF, 0, 1] {
        let mut emp = open(&device, &fake).unwrap();
        assert_eq!(fake.lock().word(EPOCH), u32::from(epoch));
        assert_eq!(device.epoch(), epoch);
        // Its transfer is in progress when the program dies.
        let posted = block_on(emp.post_receive(Source::Any, Tag::Any, buffer(0, 1)));
        assert!(posted.is_ok());
        assert_eq!(emp.free_descriptors(Direction::Receive), 439);
    }
    let emp = open(&device, &fake).unwrap();
    assert_eq!(emp.free_descriptors(Direction::Receive), 440);
}

#[test]
fn a_board_that_does_not_start_is_closed_again() {
    let (device, fake) = (Device::new(), Fake::new());
    fake.lock().halts = false;
    assert!(matches!(open(&device, &fake), Err(OpenError::Start(_))));
    fake.lock().halts = true;
    assert!(open(&device, &fake).is_ok());
}
