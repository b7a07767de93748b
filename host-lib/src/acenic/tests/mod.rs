//! Tests of the driver against a fake machine.

mod garbage;
mod rings;
mod service;
mod start;

use defs::acenic::info;
use defs::acenic::message::EVENT_BYTES;
use defs::acenic::{COMMAND_CONSUMER, INFO_HIGH, INFO_LOW};

use super::*;
use crate::at_once::block_on;
use crate::fake::{Fake, Interrupt, Machine};
use crate::firmware::Firmware;

const OWN: MacAddress = MacAddress([0x00, 0x60, 0xCF, 0x20, 0x12, 0x34]);

type FakeNic = AceNic;

fn firmware() -> Firmware {
    Firmware {
        segments: vec![(0x4000, vec![0x3C, 0x1C, 0xC0, 0x00, 1, 2, 3, 4])],
        entry: 0x4000,
    }
}

fn config() -> Config {
    Config {
        address: Some(OWN),
        ..Config::default()
    }
}

/// A driver with a started firmware.
fn started(config: Config) -> (Fake, FakeNic) {
    let fake = Fake::new();
    {
        let mut machine = fake.lock();
        machine.speaks_emp = false;
        machine.takes_commands = false;
    }
    let nic = block_on(AceNic::start(
        fake.clone().into(),
        fake.clone().into(),
        &firmware(),
        config,
    ));
    (fake, nic.expect("a sound board"))
}

impl Machine {
    /// A word of host memory, as the board sees it.
    fn host_word(&self, address: u64) -> u32 {
        let byte = |offset| self.memory.get(&(address + offset)).copied();
        u32::from_le_bytes([0, 1, 2, 3].map(|offset| byte(offset).unwrap_or(0)))
    }

    /// The board writes a word of host memory.
    fn set_host_word(&mut self, address: u64, value: u32) {
        self.memory.extend((address..).zip(value.to_le_bytes()));
    }

    /// A word of the general information block.
    fn info(&self, offset: u32) -> u32 {
        let [high, low] = [INFO_HIGH, INFO_LOW].map(|word| self.word(word));
        let base = u64::from(high) << 32 | u64::from(low);
        self.host_word(base + u64::from(offset))
    }

    /// An address in the general information block.
    fn info_address(&self, offset: u32) -> u64 {
        u64::from(self.info(offset)) << 32 | u64::from(self.info(offset + 4))
    }

    /// The firmware reports an index.
    fn report(&mut self, pointer: u32, value: u32) {
        let address = self.info_address(pointer);
        self.set_host_word(address, value);
    }

    /// The firmware writes an event, the `index`th, and reports it.
    fn event(&mut self, index: u32, word: u32) {
        let ring = self.info_address(info::EVENT_RING);
        self.set_host_word(ring + u64::from(index % 256 * EVENT_BYTES), word);
        self.report(info::EVENT_PRODUCER_POINTER, (index + 1) % 256);
    }

    /// The firmware returns a frame in entry `entry` of the return ring.
    fn return_frame(&mut self, entry: u32, words: [u32; 8], bytes: &[u8]) {
        let buffer = u64::from(words[0]) << 32 | u64::from(words[1]);
        self.memory.extend((buffer..).zip(bytes.iter().copied()));
        let ring = self.info_address(info::RETURN_RING) + u64::from(entry * 32);
        for (at, word) in (ring..).step_by(4).zip(words) {
            self.set_host_word(at, word);
        }
    }

    /// A posted descriptor of a receive ring.
    fn posted_buffer(&self, ring: u32, entry: u32) -> [u32; 8] {
        let at = self.info_address(ring) + u64::from(entry * 32);
        [0, 4, 8, 12, 16, 20, 24, 28].map(|offset| self.host_word(at + offset))
    }

    /// Marks all commands as taken by the firmware.
    fn take_commands(&mut self, producer: u32) {
        self.sram.insert(COMMAND_CONSUMER, producer);
    }
}

/// Queues `act` and an interrupt.
fn interrupt(fake: &Fake, act: impl FnOnce(&mut Machine) + Send + 'static) {
    let act: Interrupt = Box::new(act);
    fake.lock().interrupts.push_back(act);
}
