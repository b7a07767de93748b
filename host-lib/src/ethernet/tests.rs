//! A board that misinforms its driver, and calls that cannot be.

use super::*;
use crate::at_once::block_on;
use crate::fake::Fake;

/// A machine whose firmware does nothing.
fn machine() -> Fake {
    let fake = Fake::new();
    fake.lock().speaks_emp = false;
    fake
}

/// A driver whose board has all buffers. The memory of the fake machine lies too high for a real board.
fn driver() -> Ethernet {
    let fake = machine();
    let mut system: AnySystem = fake.clone().into();
    let mut region = |bytes| DmaRegion::allocate(&mut system, bytes).unwrap();
    let mut driver = Ethernet {
        send_ring: region(ether::RING_ENTRIES * ether::SEND_BYTES),
        send_buffers: region(ether::RING_ENTRIES * ether::BUFFER_BYTES),
        receive_ring: region(ether::RING_ENTRIES * ether::RECEIVE_BYTES),
        receive_buffers: region(ether::RING_ENTRIES * ether::BUFFER_BYTES),
        return_ring: region(ether::RING_ENTRIES * ether::RETURN_BYTES),
        status: region(ether::STATUS_BYTES),
        board: BoardWindow::new(fake.into()),
        system,
        queued: 0,
        posted: 0,
        sent: 0,
        provided: 0,
        offered: 0,
        taken: 0,
    };
    driver.provide_all();
    block_on(driver.ring_bells());
    driver
}

impl Ethernet {
    /// Writes the status, as the board would.
    fn report(&mut self, sent: u32, returned: u32) {
        let status = self.status;
        let words = [sent, returned];
        status.write_words(&mut self.system, 0, &words).unwrap();
    }

    fn return_frame(&mut self, entry: u32, word: u32, bytes: &[u8]) {
        let (ring, buffers) = (self.return_ring, self.receive_buffers);
        let at = entry * ether::RETURN_BYTES;
        ring.write_words(&mut self.system, at, &[word]).unwrap();
        let at = entry * ether::BUFFER_BYTES;
        buffers.write_bytes(&mut self.system, at, bytes).unwrap();
    }
}

#[test]
fn rings_wrap() {
    let mut driver = driver();
    for round in 0..3 * ether::RING_ENTRIES {
        let frame = vec![round as u8; 60 + round as usize % 100];
        driver.send(&frame).unwrap();
        block_on(driver.ring_bells());
        let word = ether::returned(round % 2, frame.len() as u32);
        driver.return_frame(round % ether::RING_ENTRIES, word, &frame);
        driver.report(round + 1, round + 1);
        let received = driver.poll().unwrap();
        let status = round % 2;
        let expected = Received {
            bytes: frame,
            status,
        };
        assert_eq!(received, [expected]);
        assert_eq!(
            (driver.sent(), driver.send_free()),
            (round + 1, ether::RING_ENTRIES)
        );
    }
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let mut driver = driver();
    for bytes in [0, 59, 1515] {
        let refused = driver.send(&vec![0; bytes]);
        assert_eq!(refused, Err(EthernetError::Length { bytes }));
    }
    for _ in 0..ether::RING_ENTRIES {
        driver.send(&[0; 60]).unwrap();
    }
    assert_eq!(driver.send(&[0; 60]), Err(EthernetError::RingFull));
}

#[test]
fn wrong_reports_are_refused() {
    let check = |sent, returned, word, expected| {
        let mut driver = driver();
        driver.send(&[0; 60]).unwrap();
        block_on(driver.ring_bells());
        driver.return_frame(0, word, &[]);
        driver.report(sent, returned);
        assert_eq!(driver.poll(), Err(EthernetError::Mistake(expected)));
    };
    check(2, 0, 0, Mistake::Sent { index: 2 });
    check(u32::MAX, 0, 0, Mistake::Sent { index: u32::MAX });
    let index = ether::RING_ENTRIES + 1;
    check(0, index, 0, Mistake::Returned { index });
    let word = ether::BUFFER_BYTES + 1;
    check(1, 1, word, Mistake::Length { entry: 0, word });
}

#[test]
fn memory_above_4_gb_and_wrong_settings_are_refused() {
    let start = |batch| {
        let fake = machine();
        let config = Config {
            address: MacAddress([2, 0, 0, 0, 0, 1]),
            ordering: Ordering::Locks,
            batch,
        };
        let firmware = Firmware::default();
        let started = Ethernet::start(fake.clone().into(), fake.into(), &firmware, config);
        block_on(started).map(drop)
    };
    assert_eq!(start(0), Err(EthernetError::Batch { batch: 0 }));
    assert_eq!(start(17), Err(EthernetError::Batch { batch: 17 }));
    assert_eq!(start(8), Err(EthernetError::HighMemory));
}
