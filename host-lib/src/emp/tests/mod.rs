//! EMP against the fake machine, whose NIC decodes posted descriptors.

mod calls;
mod complete;
mod device;
mod post;
mod start;

use defs::emp::descriptor::{Code, status_complete};

use super::*;
use crate::at_once::block_on;
use crate::fake::{Fake, Script, physical};
use crate::firmware::Firmware;
use crate::window::VirtualAddress;

type Node = Emp;

fn config() -> Config {
    let routes = (0..3).map(|node| MacAddress([2, 0, 0, 0, 0xAB, node]));
    Config::new(1, routes.collect())
}

fn firmware() -> Firmware {
    Firmware {
        segments: vec![(0x4000, vec![0x11; 8])],
        entry: 0x4004,
    }
}

fn try_start(fake: &Fake, config: Config) -> Result<Node, StartError> {
    block_on(Emp::start(
        fake.clone().into(),
        fake.clone().into(),
        Some(&firmware()),
        config,
    ))
}

/// A started node whose log is empty.
fn start() -> (Fake, Node) {
    let fake = Fake::new();
    let emp = try_start(&fake, config()).unwrap();
    fake.lock().writes.clear();
    (fake, emp)
}

const fn buffer(address: u64, length: u32) -> Buffer {
    Buffer {
        address: VirtualAddress(address),
        length,
    }
}

/// The NIC completes the next descriptor as sent.
const DONE: Script = Script::Status(status_complete(Code::Done, 0));
