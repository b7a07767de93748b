//! Interrupts, events and waits.

use super::*;

const RUNNING: u32 = 0x0100_0000;

#[test]
fn the_handler_takes_what_came_and_says_when_it_is_at_work() {
    let (fake, mut nic) = started(config());
    let before = fake.lock().accesses.len();
    interrupt(&fake, |machine| machine.event(0, RUNNING));
    let work = block_on(nic.wait_running()).unwrap();
    assert!(work.has(Event::FirmwareRunning) && work.interrupted);
    let machine = fake.lock();
    let expected = ["R 040", "W 504 1", "W 628 1", "W 504 0", "R 504"];
    assert_eq!(machine.accesses[before..], expected);
    assert_eq!(nic.history()[0].word, RUNNING);
}

#[test]
fn what_comes_while_the_handler_ends_is_not_lost() {
    let (fake, mut nic) = started(config());
    interrupt(&fake, |machine| machine.event(0, RUNNING));
    fake.lock()
        .handler_ends
        .push_back(Box::new(|machine| machine.event(1, 0x0600_1000)));
    let work = block_on(nic.wait(1_000)).unwrap();
    assert_eq!(work.events.len(), 2, "no second interrupt comes");
}

/// The vendor's firmware interrupts before its first event has arrived, and again afterwards.
#[test]
fn an_interrupt_may_come_before_its_reason() {
    let (fake, mut nic) = started(config());
    interrupt(&fake, |_| {});
    interrupt(&fake, |machine| machine.event(0, RUNNING));
    let work = block_on(nic.wait_running()).unwrap();
    assert!(work.has(Event::FirmwareRunning));
}

/// A firmware with an endless stream of reports: the program runs in between, and nothing is lost.
#[test]
fn endless_news_come_in_portions() {
    let (fake, mut nic) = started(config());
    interrupt(&fake, |machine| machine.event(0, RUNNING));
    for index in 1..10 {
        fake.lock()
            .handler_ends
            .push_back(Box::new(move |machine| machine.event(index, RUNNING)));
    }
    let mut portions = Vec::new();
    for _ in 0..4 {
        portions.push(block_on(nic.wait(1_000)).unwrap().events.len());
    }
    assert_eq!(portions, [4, 4, 2, 0]);
}

#[test]
fn without_an_interrupt_there_is_no_work() {
    let (fake, mut nic) = started(config());
    fake.lock().event(0, RUNNING);
    let work = block_on(nic.wait(1_000)).unwrap();
    assert!(work.is_empty() && !work.interrupted);
    assert_eq!(block_on(nic.collect()).unwrap().events.len(), 1);
}

#[test]
fn another_boards_interrupt_is_left_alone() {
    let (fake, mut nic) = started(config());
    fake.lock().event(0, RUNNING);
    let before = fake.lock().accesses.len();
    let work = block_on(nic.handle_interrupt()).unwrap();
    assert!(work.is_empty());
    assert_eq!(fake.lock().accesses[before..], ["R 040"]);
}

#[test]
fn the_event_ring_wraps() {
    let (fake, mut nic) = started(config());
    for number in 0..600 {
        fake.lock().event(number, 0x0400_0000 | number);
        let work = block_on(nic.collect()).unwrap();
        assert_eq!(work.events[0].index(), number & 0xFFF);
        assert_eq!(fake.lock().word(0x228), (number + 1) % 256);
    }
}

#[test]
fn waits_end_with_a_reason() {
    let check = |prepare: fn(&Fake), expected: &str| {
        let (fake, mut nic) = started(Config {
            start_timeout_ns: 50_000_000,
            ..config()
        });
        fake.lock().registers.insert(0x140, 0);
        prepare(&fake);
        let error = block_on(nic.wait_running()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        |_| {},
        "waited 50 ms for the firmware to report that it runs",
    );
    check(
        |fake| fake.lock().event(0, RUNNING),
        "waited 50 ms for the firmware to report that it runs (its event ring has news, but no \
         interrupt came)",
    );
    check(
        |fake| {
            let mut machine = fake.lock();
            machine.registers.insert(0x140, 0x1_0000);
            machine.registers.insert(0x144, 0x4980);
        },
        "CPU A has halted at pc 0x4980, while waiting for the firmware to report that it runs",
    );
    check(
        |fake| interrupt(fake, |machine| machine.event(0, 0x0700_3000)),
        "the firmware reports: error: bad configuration (wrong chip revision, or settings that do \
         not go together), while waiting for the firmware to report that it runs",
    );
}

#[test]
fn a_jumbo_ring_that_was_reset_is_filled_anew() {
    let (fake, mut nic) = started(Config {
        jumbo_buffers: 8,
        mtu: JUMBO_MTU,
        ..config()
    });
    block_on(async {
        nic.fill_rings().await.unwrap();
        assert_eq!(fake.lock().word(0x124), 8);
        fake.lock().event(0, 0x0900_0000);
        let work = nic.collect().await.unwrap();
        assert!(work.has(Event::JumboReset));
        assert_eq!(fake.lock().word(0x124), 0, "the ring begins anew");
        nic.fill_rings().await.unwrap();
        assert_eq!(fake.lock().word(0x124), 8);
    });
}

const STATISTICS: u32 = 0x0400_0000;

/// The firmware writes its statistics, in which it has taken so many send descriptors, and then event `index`.
fn report_statistics(machine: &mut Machine, index: u32, descriptors: u32) {
    let block = machine.info_address(info::STATISTICS_POINTER);
    machine.set_host_word(block + 4 * 102, descriptors);
    machine.event(index, STATISTICS);
}

/// The vendor's firmware: command 0x11 reports nothing, and a report comes every two seconds.
#[test]
fn statistics_are_waited_for_and_not_asked_for() {
    let (fake, mut nic) = started(config());
    block_on(nic.command(Command::LoadStatistics)).unwrap();
    let commands = fake.lock().word(0x10C);
    // This one was on its way before the driver began to wait.
    interrupt(&fake, |machine| report_statistics(machine, 0, 5));
    interrupt(&fake, |machine| {
        machine.time_ns += 1_990_000_000;
        report_statistics(machine, 1, 77);
    });
    let statistics = block_on(nic.next_statistics()).unwrap();
    assert_eq!(statistics.get("nic_send_bds"), Some(77));
    assert_eq!(fake.lock().word(0x10C), commands, "no command was given");
}

#[test]
fn a_wait_for_statistics_ends() {
    let waited = |statistics_ticks| {
        let (_fake, mut nic) = started(Config {
            statistics_ticks,
            ..config()
        });
        let error = block_on(nic.next_statistics()).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        waited(2_000_000),
        "waited 5000 ms for the firmware to report its statistics"
    );
    assert_eq!(
        waited(0),
        "the firmware reports no statistics: statistics_ticks is 0"
    );
}

#[test]
fn statistics_and_trace_are_read_where_the_firmware_puts_them() {
    let (fake, mut nic) = started(config());
    {
        let mut machine = fake.lock();
        let block = machine.info_address(info::STATISTICS_POINTER);
        machine.set_host_word(block + 4 * 102, 77);
        for (address, value) in [
            (0x250, 0x1_9010),
            (0x1_9030, 0x2A2A_4441),
            (0x1_9034, 0x574E_5F41),
            (0x1_903C, 1048),
        ] {
            machine.sram.insert(address, value);
        }
    }
    assert_eq!(nic.statistics().unwrap().get("nic_send_bds"), Some(77));
    let records = block_on(nic.trace()).unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!((&*records[0].name, records[0].time_us), ("**DAWN_A", 1048));
}
