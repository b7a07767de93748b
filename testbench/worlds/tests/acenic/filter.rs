//! The address filter: own address, groups, all frames.

use host_lib::acenic::{Command, Config, SendOptions};
use host_lib::emp::MacAddress;

use super::support::{address, command, frame, open, receive_until, run, send, sleep_until};

const GROUP: MacAddress = MacAddress([0x01, 0x00, 0x5E, 0x00, 0x00, 0x05]);
const OTHER_GROUP: MacAddress = MacAddress([0x33, 0x33, 0x00, 0x00, 0x00, 0x01]);
const STRANGER: MacAddress = MacAddress([0x02, 9, 9, 9, 9, 9]);

/// Duration of a step: commands, then a frame for each address.
const STEP_US: u64 = 10_000;
const BEGIN_US: u64 = 60_000;

/// Addresses whose frames arrive after each step's commands: own address, broadcast, group, other group,
/// stranger.
#[track_caller]
fn check(steps: Vec<(Vec<Command>, [bool; 5])>) {
    let addresses = || {
        [
            address(1),
            MacAddress::BROADCAST,
            GROUP,
            OTHER_GROUP,
            STRANGER,
        ]
    };
    let count = steps.len() as u64;
    let (commands, expected): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
    let ((), arrived) = run(
        [Config::default(), Config::default()],
        async move |mut nic| {
            open(&mut nic).await?;
            for step in 0..count {
                sleep_until(&mut nic, BEGIN_US + step * STEP_US + STEP_US / 2).await;
                for destination in addresses() {
                    send(&mut nic, &frame(destination, 60), SendOptions::default()).await?;
                }
            }
            Ok(())
        },
        async move |mut nic| {
            open(&mut nic).await?;
            let mut arrived = Vec::new();
            for (commands, step) in commands.into_iter().zip(0..) {
                sleep_until(&mut nic, BEGIN_US + step * STEP_US).await;
                for wish in commands {
                    command(&mut nic, wish).await?;
                }
                let end_us = BEGIN_US + (step + 1) * STEP_US;
                let received = receive_until(&mut nic, end_us).await?;
                arrived.push(addresses().map(|destination| {
                    received
                        .iter()
                        .any(|item| item.bytes.starts_with(&destination.0))
                }));
            }
            Ok(arrived)
        },
    );
    assert_eq!(arrived, expected);
}

const UNICAST: [bool; 5] = [true, true, false, false, false];
const WITH_GROUP: [bool; 5] = [true, true, true, false, false];
const EVERY_GROUP: [bool; 5] = [true, true, true, true, false];
const EVERYTHING: [bool; 5] = [true; 5];

#[test]
fn groups_come_and_go() {
    check(vec![
        (vec![], UNICAST),
        (vec![Command::AddMulticast(GROUP)], WITH_GROUP),
        (vec![Command::AddMulticast(OTHER_GROUP)], EVERY_GROUP),
        (vec![Command::RemoveMulticast(OTHER_GROUP)], WITH_GROUP),
        (vec![Command::RemoveMulticast(GROUP)], UNICAST),
        (vec![Command::AddMulticastExtended(GROUP)], WITH_GROUP),
        (vec![Command::RemoveMulticastExtended(GROUP)], UNICAST),
    ]);
}

#[test]
fn all_groups_and_everything() {
    check(vec![
        (vec![Command::AllMulticast(true)], EVERY_GROUP),
        (vec![Command::AllMulticast(false)], UNICAST),
        (vec![Command::Promiscuous(true)], EVERYTHING),
        (vec![Command::Promiscuous(false)], UNICAST),
        (
            vec![Command::AddMulticast(GROUP), Command::AllMulticast(true)],
            EVERY_GROUP,
        ),
        (vec![Command::AllMulticast(false)], WITH_GROUP),
    ]);
}

#[test]
fn a_board_can_have_another_address() {
    check(vec![
        (
            vec![Command::SetAddress(STRANGER)],
            [false, true, false, false, true],
        ),
        (vec![Command::SetAddress(address(1))], UNICAST),
    ]);
}
