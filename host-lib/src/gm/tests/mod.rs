//! The library against the protocol crate in one process: nodes whose windows show the SRAM that the firmware works on.

mod atomic;
mod calls;
mod nic;
mod remote;
mod start;

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};

use defs::gm::map::{READY, READY_MAGIC, SRAM_BYTES};
use defs::lanai::window::{RESET_OFF, RESET_ON, four, later, record};

use super::{Config, Gm};
use crate::at_once::{AnswersAtOnce, block_on, port_at_once};
use crate::lanai::Family;
use crate::window::{MachineAnswer, PhysicalAddress, PolledWord, SystemPort, VirtualAddress};
use nic::{Fake, HIGH};

/// Program addresses begin here; the pages behind are in reverse order in physical memory.
const VIRTUAL: u64 = 0x7000_0000;
const PAGE: u64 = 4096;
/// Pages of the program.
const PAGES: u64 = 64;
/// Contiguous memory begins here, in both spaces.
const CONTIGUOUS: u64 = 0x10_0000;

/// A node: its firmware, once it is released from reset.
struct Node {
    firmware: Option<gm::Gm<Fake>>,
    /// SRAM before that.
    held: Option<Fake>,
    allocated: u64,
    /// Writes to other parts of the window than SRAM.
    writes: Vec<(u32, u32)>,
    /// Whether the firmware starts.
    starts: bool,
}

/// All nodes. A packet's last route byte names its target.
struct World {
    nodes: Vec<Node>,
    time_ns: u64,
    translations: usize,
    /// Memory of each board, as its EEPROM says.
    sram_bytes: u32,
}

impl Node {
    fn fake(&mut self) -> &mut Fake {
        match (&mut self.firmware, &mut self.held) {
            (Some(firmware), _) => firmware.nic_mut(),
            (None, Some(held)) => held,
            (None, None) => panic!("a node has hardware"),
        }
    }

    fn control(&mut self, value: u32) {
        if value & RESET_ON != 0
            && let Some(firmware) = self.firmware.take()
        {
            let mut fake = Fake::new();
            fake.sram.clone_from(&firmware.nic().sram);
            fake.host.clone_from(&firmware.nic().host);
            self.held = Some(fake);
        }
        if value & RESET_OFF != 0
            && self.starts
            && let Some(fake) = self.held.take()
        {
            self.firmware = Some(gm::Gm::new(fake));
            assert_eq!(self.fake().word(READY), READY_MAGIC);
        }
    }
}

impl World {
    /// Runs everything that can happen without time.
    fn settle(&mut self) {
        loop {
            let mut any = false;
            for index in 0..self.nodes.len() {
                while self.act(index) {
                    any = true;
                }
            }
            if !any {
                return;
            }
        }
    }

    fn act(&mut self, index: usize) -> bool {
        let Some(firmware) = &mut self.nodes[index].firmware else {
            return false;
        };
        let fake = firmware.nic_mut();
        if fake.read() || fake.write() || fake.ack_tick() {
            return true;
        }
        if let Some(packet) = fake.leave() {
            let target = usize::from(packet.route.last().expect("a route") & 0x3F);
            if let Some(there) = &mut self.nodes[target].firmware {
                while !there.nic().has_room() {
                    let fake = there.nic_mut();
                    assert!(fake.write() || fake.read(), "backpressure ends");
                    there.step();
                }
                there.nic_mut().come(&packet);
                there.step();
            }
            return true;
        }
        firmware.step()
    }

    fn tick(&mut self) -> bool {
        let mut any = false;
        for node in &mut self.nodes {
            any |= node
                .firmware
                .as_mut()
                .is_some_and(|one| one.nic_mut().tick());
        }
        self.time_ns += 100_000;
        any
    }
}

/// A host's view of one node.
#[derive(Clone)]
struct Host {
    world: Arc<Mutex<World>>,
    node: usize,
    family: Family,
}

type Library = Gm;

impl Host {
    fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no test panics while it holds it")
    }

    /// A word of the EEPROM.
    fn eeprom(&self, offset: u32, sram_bytes: u32) -> u32 {
        let (base, version) = match self.family {
            Family::Four => (four::EEPROM, 0x0403),
            Family::Later => (later::EEPROM, 0x0901),
        };
        match offset - base {
            record::VERSION => version << 16,
            record::SRAM_BYTES => sram_bytes,
            _ => 0,
        }
    }

    fn physical(address: u64) -> Option<u64> {
        if address >= VIRTUAL {
            let page = (address - VIRTUAL) / PAGE;
            let place = (PAGES - page.min(PAGES)) * PAGE + address % PAGE;
            return (page < PAGES).then_some(place);
        }
        (address >= CONTIGUOUS).then_some(address)
    }

    fn host_index(address: VirtualAddress) -> Result<usize, VirtualAddress> {
        let place = Self::physical(address.0).ok_or(address)?;
        Ok(place as usize)
    }
}

/// The nodes' hosts, without firmware.
fn hosts(count: usize, family: Family) -> Vec<Host> {
    let node = || Node {
        firmware: None,
        held: Some(Fake::new()),
        allocated: 0,
        writes: Vec::new(),
        starts: true,
    };
    let world = Arc::new(Mutex::new(World {
        nodes: (0..count).map(|_| node()).collect(),
        time_ns: 0,
        translations: 0,
        sram_bytes: 1 << 20,
    }));
    let host = |node| Host {
        world: Arc::clone(&world),
        node,
        family,
    };
    (0..count).map(host).collect()
}

fn config(family: Family, node: usize, nodes: usize) -> Config {
    let route = |other: usize| (other != node).then(|| vec![0x85, 0x80 | other as u8]);
    Config::new(
        family,
        node as u16,
        (0..nodes).map(route).collect::<Vec<_>>(),
    )
}

/// An image: the firmware is the crate, so it has no bytes that matter.
fn image() -> crate::firmware::Firmware {
    crate::firmware::Firmware {
        segments: vec![(0, vec![1, 2, 3, 4])],
        entry: 0,
    }
}

/// Two started nodes.
fn pair() -> [Library; 2] {
    let mut hosts = hosts(2, Family::Later).into_iter();
    let mut start = || {
        let host = hosts.next().expect("two");
        let config = config(host.family, host.node, 2);
        let image = image();
        let start = Gm::start(host.clone().into(), host.into(), Some(&image), config);
        block_on(start).expect("it starts")
    };
    [start(), start()]
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host {}", self.node)
    }
}

impl Host {
    fn write(&self, offset: u32, value: u32) {
        let control = match self.family {
            Family::Four => four::CONTROL,
            Family::Later => later::CONTROL,
        };
        let mut world = self.lock();
        let node = &mut world.nodes[self.node];
        if offset < SRAM_BYTES {
            node.fake().set_word(offset, value);
            return;
        }
        node.writes.push((offset, value));
        if offset == control {
            node.control(value);
        }
    }
}

impl AnswersAtOnce for Host {
    fn read(&self, offset: u32) -> u32 {
        let mut world = self.lock();
        world.settle();
        if offset >= SRAM_BYTES {
            return self.eeprom(offset, world.sram_bytes);
        }
        world.nodes[self.node].fake().word(offset)
    }

    fn write_burst(&self, offset: u32, values: &[u32]) {
        for (offset, value) in (offset..).step_by(4).zip(values) {
            self.write(offset, *value);
        }
    }

    fn pass(&self, nanoseconds: u64) {
        self.lock().time_ns += nanoseconds;
    }

    fn translate(&self, address: VirtualAddress, length: u64) -> Option<Vec<PhysicalAddress>> {
        self.lock().translations += 1;
        let pages = address.0 / PAGE..=(address.0 + length - 1) / PAGE;
        let place = |page: u64| Self::physical((page * PAGE).max(address.0));
        pages
            .map(|page| place(page).map(|at| PhysicalAddress(u64::from(HIGH) << 32 | at)))
            .collect()
    }

    fn memory_word(&self, address: VirtualAddress) -> Result<u32, VirtualAddress> {
        let mut bytes = [0; 4];
        self.read_memory(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Polls a word, while the world goes on.
    fn poll(
        &self,
        words: &[PolledWord],
        timeout_ns: Option<u64>,
        why: &'static str,
    ) -> MachineAnswer {
        let watch = match words {
            [PolledWord::Memory(watch)] => watch,
            [] | [_, _, ..] => panic!("one word is polled"),
            [PolledWord::Window(watch)] => {
                let value = self.read(watch.offset);
                let found = value & watch.mask == watch.expected;
                assert!(found, "would wait for ever for {why}");
                return MachineAnswer::Word(value);
            }
        };
        let mut begin_ns = None;
        loop {
            self.lock().settle();
            let value = match self.memory_word(watch.address) {
                Ok(value) => value,
                Err(address) => return MachineAnswer::BadAddress(address),
            };
            if value & watch.mask == watch.expected {
                return MachineAnswer::Word(value);
            }
            let begin = *begin_ns.get_or_insert(self.lock().time_ns);
            if timeout_ns.is_some_and(|most| self.lock().time_ns - begin >= most) {
                return MachineAnswer::TimedOut;
            }
            let ticked = self.lock().tick();
            assert!(
                ticked || timeout_ns.is_some(),
                "would wait for ever for {why}"
            );
        }
    }

    fn wait_interrupt(&self, _: Option<u64>) -> bool {
        loop {
            let mut world = self.lock();
            world.settle();
            if std::mem::take(&mut world.nodes[self.node].fake().interrupts) > 0 {
                return true;
            }
            if !world.tick() {
                return false;
            }
        }
    }
}

port_at_once!(Host);

impl SystemPort for Host {
    fn allocate(&mut self, _: u64) -> Option<VirtualAddress> {
        None
    }

    fn allocate_contiguous(&mut self, length: u64) -> Option<(VirtualAddress, PhysicalAddress)> {
        let mut world = self.lock();
        let node = &mut world.nodes[self.node];
        let at = CONTIGUOUS + node.allocated;
        node.allocated += length.next_multiple_of(PAGE);
        let end = CONTIGUOUS + node.allocated;
        let fits = end <= nic::HOST_BYTES as u64;
        fits.then(|| {
            (
                VirtualAddress(at),
                PhysicalAddress(u64::from(HIGH) << 32 | at),
            )
        })
    }

    fn write_memory(
        &mut self,
        address: VirtualAddress,
        bytes: &[u8],
    ) -> Result<(), VirtualAddress> {
        for (at, byte) in (address.0..).zip(bytes) {
            let at = Self::host_index(VirtualAddress(at))?;
            self.lock().nodes[self.node].fake().host[at] = *byte;
        }
        Ok(())
    }

    fn read_memory(&self, address: VirtualAddress, bytes: &mut [u8]) -> Result<(), VirtualAddress> {
        for (at, byte) in (address.0..).zip(bytes) {
            let at = Self::host_index(VirtualAddress(at))?;
            *byte = self.lock().nodes[self.node].fake().host[at];
        }
        Ok(())
    }

    fn now_ps(&self) -> u64 {
        self.lock().time_ns * 1000
    }
}

/// The host of a library.
fn host_of(library: &Library) -> &Host {
    let system: &dyn Any = library.system();
    system.downcast_ref().expect("a host of these tests")
}

/// Runs a call, which never waits.
fn run<F: Future>(call: F) -> F::Output {
    block_on(call)
}
